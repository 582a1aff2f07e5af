//! Nothing of this crate takes memory: whole reads, the governor, the pipeline watch, the draw, the log and its text, under an allocator
//! that counts.

mod governor_bench;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::{self, Write};
use std::hint::black_box;

use hedge_core::{
    AckTimes, Cause, CellSet, Config, ConfigError, EventLog, Evidence, Governor, GovernorEvent, GovernorStep,
    HedgeResult, Input, Instant, LegEnd, LegId, LogError, Mode, NodeId, Outcome, Output, Permit, Petition,
    PipelineConfig, PipelineWatch, ReadEvent, ReadPlan, ReadStep, RequestId, Span, StripeRead, Subject,
    Threshold, Verdict, Why, draw_sources,
};

/// The system's allocator, with a count of how often this thread took memory.
struct Counting;

thread_local! {
    static TAKEN: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: every call is the system allocator's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: as for this call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: as for this call.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: as for this call.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as for this call.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` returns, if it takes no memory.
#[track_caller]
fn without_memory<T>(work: impl FnOnce() -> T) -> T {
    let before = TAKEN.get();
    let result = work();
    assert_eq!(TAKEN.get() - before, 0, "memory was taken");
    result
}

const LATE: Span = Span::from_millis(10);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// RS-6-3, cell 0 wanted.
fn plan() -> ReadPlan<9> {
    let mut plan = ReadPlan::new(6, 9);
    plan.wanted = CellSet::one(0);
    plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
    plan.hints = true;
    plan
}

fn config() -> Config {
    let mut config = Config::default();
    config.threshold = Threshold::Fixed(LATE);
    config
}

/// What becomes of the legs of a read: cell 0 comes after so long, the others after 2 ms.
#[derive(Clone, Copy)]
enum Script {
    After(u64),
    Fails(Cause),
    AbortedAt(u64),
    AbandonedAt(u64),
}

/// Drives a read through to its end: how it ended, how many hedges it had, and all that happened, written down.
fn drive(
    governor: &mut Governor<9>,
    plan: &mut ReadPlan<9>,
    script: Script,
    log: &mut EventLog<ReadEvent, 64>,
) -> (Option<Outcome>, u16) {
    log.clear();
    governor.prepare(Instant::ZERO, plan);
    let mut read = StripeRead::new(Instant::ZERO, plan).expect("a legal plan");
    let mut ends = [None::<(u64, LegId)>; 9];
    for millis in 0..400 {
        let now = at(millis);
        let mut input = |read: &mut StripeRead<9>, input| {
            log.push(ReadEvent { at: now, what: ReadStep::Input(input) }).expect("room for it");
            read.handle(now, input);
        };
        match script {
            Script::AbortedAt(when) if when == millis => input(&mut read, Input::Abort),
            Script::AbandonedAt(when) if when == millis => {
                let _ = read.abandon(now, |evidence| governor.record(now, &evidence));
                return (read.outcome(), read.tally().hedges);
            }
            _ => {}
        }
        for end in &mut ends {
            match (end.take_if(|(when, _)| *when == millis), script) {
                (Some((_, leg)), Script::Fails(cause)) if leg.cell == 0 => {
                    input(&mut read, Input::Failed(leg, cause));
                }
                (Some((_, leg)), _) => input(&mut read, Input::Delivered(leg)),
                (None, _) => {}
            }
        }
        if read.next_deadline().is_some_and(|(due, _)| due <= now) {
            input(&mut read, Input::Timeout);
        }
        while let Some(output) = read.poll_output() {
            match output {
                Output::Launch { leg, .. } => {
                    input(&mut read, Input::Started { leg, request: RequestId::NONE });
                    let after = match script {
                        Script::After(after) if leg.cell == 0 => after,
                        Script::AbortedAt(_) | Script::AbandonedAt(_) => 300,
                        _ => 2,
                    };
                    ends[usize::from(leg.cell)] = Some((millis + after, leg));
                }
                Output::Cancel(leg) => {
                    ends[usize::from(leg.cell)] = None;
                    input(&mut read, Input::Stopped(leg));
                }
                Output::Petition(petition) => {
                    let verdict = governor.decide(now, &petition);
                    input(&mut read, Input::Verdict { id: petition.id, verdict });
                }
                Output::Decode { .. } => input(&mut read, Input::Decoded(true)),
                Output::Tell(evidence) => governor.record(now, &evidence),
                Output::Release(_) | Output::Finish(_) | Output::Plan { .. } => {}
            }
        }
        if read.drained() {
            break;
        }
    }
    (read.outcome(), read.tally().hedges)
}

#[test]
fn the_counter_counts() {
    let before = TAKEN.get();
    let mut memory = black_box(Vec::<u8>::with_capacity(10));
    memory.extend([0; 100]);
    drop(black_box(memory));
    assert_eq!(TAKEN.get() - before, 2);
    drop(black_box(vec![0_u8; 100]));
    assert_eq!(TAKEN.get() - before, 3);
}

#[test]
fn a_read_takes_no_memory_however_it_goes() {
    let mut log = EventLog::new();
    let decoded = Some(Outcome::Ok { delivered: CellSet::EMPTY, decoded: CellSet::one(0) });
    let delivered = Some(Outcome::Ok { delivered: CellSet::one(0), decoded: CellSet::EMPTY });
    let aborted = Some(Outcome::Aborted);
    for (name, script, ended) in [
        ("unhedged", Script::After(3), (delivered, 0)),
        ("won by a hedge", Script::After(100), (decoded, 1)),
        ("won by the original", Script::After(11), (delivered, 1)),
        ("failed and decoded", Script::Fails(Cause::Missing), (decoded, 0)),
        ("aborted", Script::AbortedAt(5), (aborted, 0)),
        ("aborted with its hedge", Script::AbortedAt(12), (aborted, 1)),
        ("dropped with its hedge", Script::AbandonedAt(12), (aborted, 1)),
    ] {
        let mut governor = Box::new(Governor::<9>::new(config()).unwrap());
        let found = without_memory(|| drive(&mut governor, &mut plan(), script, &mut log));
        assert_eq!(found, ended, "{name}");
        assert!(log.events().len() >= 2, "{name}");
    }
    for mode in [Mode::Off, Mode::Eager(2), Mode::DryRun] {
        let mut governor = Box::new(Governor::<9>::new(config()).unwrap());
        let mut plan = plan();
        plan.mode = mode;
        let (outcome, hedges) =
            without_memory(|| drive(&mut governor, &mut plan, Script::After(100), &mut log));
        assert!(
            matches!(outcome, Some(Outcome::Ok { .. })) && hedges == 0,
            "{mode:?}: {outcome:?}, {hedges}"
        );
    }
}

fn petition(node: u32) -> Petition {
    Petition { deadline: Some(at(1 << 30)), ..governor_bench::petition(node) }
}

#[test]
fn a_governor_takes_no_memory_whatever_it_is_asked() {
    let mut governor = Box::new(Governor::<9>::new(Config::default()).unwrap());
    let rounds = if cfg!(miri) { 30 } else { 3_000 };
    without_memory(|| {
        for round in 0..rounds {
            let (now, node) = (at(10 * round), round as u32 % 9);
            let leg = Evidence::Leg {
                node: NodeId(node),
                request: RequestId(round as u32),
                why: Why::Original,
                size_class: 0,
                connect_micros: Some(300),
                took: Span::from_millis(1 << (round % 10)),
                end: if node == 4 { LegEnd::Failed(Cause::Timeout) } else { LegEnd::Delivered },
            };
            governor.record(now, &leg);
            governor.record(now, &Evidence::Read { cells: 6, wasted: 0, ok: true });
            if let Verdict::Grant { cells, permit } = governor.decide(now, &petition(node)) {
                governor.record(now, &Evidence::Refund { cells: 1 });
                let result = if round % 3 == 0 { HedgeResult::Won } else { HedgeResult::Lost };
                governor.record(now, &Evidence::Hedge { permit, cells: cells - 1, result });
            }
            governor.record(now, &Evidence::Saved { node: NodeId(node), by: LATE });
            governor.record(now, &Evidence::Accused { node: NodeId(node), until: now + LATE });
            let _ = governor.decide(now, &Petition { subject: Subject::Eager, cells: 1, ..petition(0) });
            let mut plan = plan();
            governor.prepare(now, &mut plan);
            black_box((plan.check().is_ok(), governor.node(now, NodeId(node))));
        }
        black_box(governor.snapshot(at(10 * rounds)));
        let mut other = *governor.config();
        let pairs = [("threshold.millis", "12.5"), ("max.impaired.nodes", "4"), ("budget.share.ppm", "off")];
        other.set_all(pairs).expect("good values");
        governor.reconfigure(at(0), other).expect("a good configuration");
        let refused = other.set("cooldown.millis", "-1");
        assert!(matches!(refused, Err(ConfigError::Negative { .. })));
        assert!(Governor::<9>::clone(&governor) == *governor);
    });
    assert!(governor.snapshot(at(0)).epoch > 0 || cfg!(miri), "it was driven through some states");
}

#[test]
fn a_pipeline_watch_takes_no_memory() {
    let ejected = without_memory(|| {
        let mut watch = PipelineWatch::<9>::new(PipelineConfig::default()).expect("a good configuration");
        let mut ejected = 0;
        for second in 0..100 {
            let acks = [3, 7, 8].map(|node| AckTimes {
                node: NodeId(node),
                downstream: Span::ZERO,
                disk: Span::from_millis(if node == 7 { 900 } else { 2 }),
            });
            ejected += u32::from(watch.record(at(second * 1_000), Some(LATE), &acks).is_some());
            black_box(watch.node(at(second * 1_000), NodeId(7)));
        }
        watch.reconfigure(PipelineConfig::default()).expect("a good configuration");
        ejected
    });
    assert!(ejected > 0);
}

#[test]
fn a_draw_of_sources_takes_no_memory() {
    without_memory(|| {
        let mut plan = plan();
        plan.missing = CellSet::one(0);
        assert_eq!(draw_sources(&mut plan, &[0, 1, 2, 3, 4, 5, 6, 7, 8], 1 << 60).map(CellSet::len), Ok(6));
        assert!(draw_sources(&mut plan, &[1; 8], 0).is_err());
    });
}

/// Room for a text.
struct Page {
    bytes: [u8; 4096],
    len: usize,
}

impl Page {
    fn text(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).expect("what was written is text")
    }
}

impl Write for Page {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

fn page(value: impl fmt::Display) -> Page {
    let mut page = Page { bytes: [0; 4096], len: 0 };
    write!(page, "{value}").expect("room for it");
    page
}

#[test]
fn logs_and_their_text_take_no_memory() {
    let mut governor = Box::new(Governor::<9>::new(config()).unwrap());
    without_memory(|| {
        let mut log = EventLog::<ReadEvent, 64>::new();
        drive(&mut governor, &mut plan(), Script::After(100), &mut log);
        let text = page(&log);
        assert_eq!(text.text().parse(), Ok(log));

        let mut log = EventLog::<GovernorEvent, 2>::new();
        for what in [
            GovernorStep::Decide(petition(3)),
            GovernorStep::Record(Evidence::Hedge {
                permit: Permit::default(),
                cells: 6,
                result: HedgeResult::Won,
            }),
        ] {
            log.push(GovernorEvent { at: at(5), what }).expect("room for it");
        }
        assert!(log.push(log.events()[0]).is_err());
        let text = page(&log);
        assert_eq!(text.text().parse(), Ok(log));

        let plan = plan();
        assert_eq!(page(plan).text().parse(), Ok(plan));
        let bad = "5 started leg=3 request=7".parse::<EventLog<ReadEvent, 4>>();
        let Err(error @ LogError::Line { line: 1, .. }) = bad else { panic!("{bad:?}") };
        assert!(page(error).len > 0);
        let config = config();
        for (name, value) in config.pairs() {
            assert!(config.get(name) == Some(value) && page(value).len > 0);
        }
    });
}
