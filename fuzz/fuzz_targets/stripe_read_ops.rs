//! Reads under watch: any plan, any inputs in any order, right or wrong, polled or not; the promises hold after each.
#![no_main]

// The read's shadow, the same as in the tests.
#[allow(dead_code)]
#[path = "../../hedge-core/tests/world/watched.rs"]
mod watched;

use arbitrary::Arbitrary;
use hedge_core::{
    Cause, CellSet, Input, Instant, LegId, Mode, NodeId, Output, Permit, ReadPlan, Reason, RequestId, Span,
    StripeRead, Verdict,
};
use libfuzzer_sys::fuzz_target;
use watched::Watched;

#[derive(Debug, Arbitrary)]
struct Script {
    k: u8,
    n: u8,
    wanted: u64,
    zero: u64,
    missing: u64,
    avoid: u64,
    suspect: u64,
    /// Where on the clock the read begins, and cells to a node.
    start: u64,
    crowd: u8,
    order: u64,
    mode: u8,
    late: Option<u16>,
    late_hedge: Option<u16>,
    late_suspect: Option<u16>,
    stall: Option<u16>,
    connect_counts: bool,
    deadline: Option<u16>,
    retry_floor: u8,
    spare: u8,
    max_tries: u8,
    hints: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Wait(u16),
    Jump(u64),
    Back(u64),
    Poll,
    PollAll,
    Started(Leg, u32),
    Connected(Leg),
    Progress(Leg),
    Delivered(Leg),
    Failed(Leg, u8),
    GaveUp(Leg, u8),
    Stopped(Leg),
    Grant(u8, bool),
    Refuse(u8, Option<u16>, bool),
    Decoded(bool),
    Timeout,
    NextDeadline,
    Abort,
}

/// A leg: that of this cell launched last, or another attempt, or of no cell.
#[derive(Debug, Arbitrary)]
struct Leg {
    cell: u8,
    off: bool,
    attempt: u8,
}

const CELLS: usize = 14;

fuzz_target!(|script: Script| {
    let plan = plan(&script);
    if plan.check().is_err() {
        assert!(StripeRead::new(Instant::from_nanos(script.start), &plan).is_err());
        return;
    }
    run(&script, &plan);
});

fn plan(script: &Script) -> ReadPlan<CELLS> {
    let micros = |span: Option<u16>| span.map(|span| Span::from_micros(span.into()));
    // Mostly stripes that can be read; 15 cells don't fit.
    let n = script.n % 16;
    let k = script.k % n.max(1) + u8::from(script.k < 250);
    let all = CellSet::first_n(n);
    let stray = if script.crowd == 255 { CellSet::from_bits(script.order) } else { CellSet::EMPTY };
    let mut plan = ReadPlan::<CELLS>::new(k, n);
    plan.wanted = (CellSet::from_bits(script.wanted) & all) | stray;
    plan.zero = CellSet::from_bits(script.zero) & CellSet::from_bits(script.zero >> 16) & all;
    plan.missing =
        CellSet::from_bits(script.missing) & CellSet::from_bits(script.missing >> 16) & (all - plan.zero);
    plan.avoid = CellSet::from_bits(script.avoid) & CellSet::from_bits(script.avoid >> 16) & all;
    plan.suspect = CellSet::from_bits(script.suspect) & all;
    let crowd = u32::from(script.crowd % 4) + 1;
    plan.node =
        std::array::from_fn(
            |cell| if script.crowd == 99 { NodeId::UNKNOWN } else { NodeId(cell as u32 / crowd) },
        );
    let mut order = script.order;
    for i in (1..usize::from(n).min(CELLS)).rev() {
        plan.order.swap(i, (order % (i as u64 + 1)) as usize);
        order /= i as u64 + 1;
    }
    plan.mode = [Mode::Hedge, Mode::Hedge, Mode::Off, Mode::Eager(script.spare), Mode::DryRun]
        [usize::from(script.mode) % 5];
    plan.clocks.late = micros(script.late);
    plan.clocks.late_hedge = micros(script.late_hedge);
    plan.clocks.late_suspect = micros(script.late_suspect);
    plan.clocks.stall = micros(script.stall);
    plan.clocks.connect_counts = script.connect_counts;
    plan.clocks.retry_floor = Span::from_nanos(script.retry_floor.into());
    plan.deadline = script
        .deadline
        .map(|deadline| Instant::from_nanos(script.start) + Span::from_micros(deadline.into()));
    plan.spare = script.spare % 4;
    plan.max_tries = script.max_tries % 8;
    plan.hints = script.hints;
    plan
}

fn run(script: &Script, plan: &ReadPlan<CELLS>) {
    let mut now = Instant::from_nanos(script.start);
    let mut read = Watched::new(now, plan);
    for step in &script.steps {
        match *step {
            Step::Wait(micros) => now += Span::from_micros(micros.into()),
            Step::Jump(nanos) => now += Span::from_nanos(nanos),
            Step::Back(nanos) => now = Instant::from_nanos(now.as_nanos().saturating_sub(nanos)),
            Step::Poll => drop(read.poll_output()),
            Step::PollAll => drop(read.poll_all()),
            Step::Started(ref leg, request) => {
                let leg = leg.of(&read);
                read.handle(now, Input::Started { leg, request: RequestId(request) });
            }
            Step::Connected(ref leg) => read.handle(now, Input::Connected(leg.of(&read))),
            Step::Progress(ref leg) => read.handle(now, Input::Progress(leg.of(&read))),
            Step::Delivered(ref leg) => read.handle(now, Input::Delivered(leg.of(&read))),
            Step::Failed(ref leg, why) => read.handle(now, Input::Failed(leg.of(&read), cause(why))),
            Step::GaveUp(ref leg, why) => read.handle(now, Input::GaveUp(leg.of(&read), cause(why))),
            Step::Stopped(ref leg) => read.handle(now, Input::Stopped(leg.of(&read))),
            Step::Grant(cells, all) => {
                let owed = read.owed();
                let cells = if all { owed.map_or(cells, |petition| petition.cells) } else { cells % 64 };
                let verdict = Verdict::Grant { cells, permit: Permit::default() };
                read.handle(now, Input::Verdict { id: owed.map_or(cells, |petition| petition.id), verdict });
            }
            Step::Refuse(reason, retry, right) => {
                let id = read.owed().map_or(reason, |petition| petition.id).wrapping_add(u8::from(!right));
                let reason = Reason::ALL[usize::from(reason) % Reason::COUNT];
                let retry_at = retry.map(|retry| now + Span::from_micros(retry.into()));
                read.handle(now, Input::Verdict { id, verdict: Verdict::Refuse { reason, retry_at } });
            }
            Step::Decoded(ok) => read.handle(now, Input::Decoded(ok)),
            Step::Timeout => read.handle(now, Input::Timeout),
            Step::NextDeadline => {
                if let Some((at, _)) = read.read.next_deadline() {
                    now = now.max(at);
                    read.handle(now, Input::Timeout);
                }
            }
            Step::Abort => read.handle(now, Input::Abort),
        }
    }
    wind_up(read, now);
}

/// Whatever happened, the read comes to its end once everything under way has.
fn wind_up(mut read: Watched<CELLS>, now: Instant) {
    read.handle(now, Input::Abort);
    for _ in 0..4 {
        while let Some(output) = read.poll_output() {
            assert!(!matches!(output, Output::Launch { .. }), "a launch after the end");
        }
        for cell in read.read.leased() {
            read.handle(now, Input::Stopped(read.leg(cell)));
        }
        if let Some(petition) = read.owed() {
            let verdict = Verdict::Grant { cells: petition.cells, permit: Permit::default() };
            read.handle(now, Input::Verdict { id: petition.id, verdict });
        }
        if read.is_decoding() {
            read.handle(now, Input::Decoded(true));
        }
    }
    assert!(read.read.drained(), "an aborted read of which everything has stopped is over");
}

impl Leg {
    fn of(&self, read: &Watched<CELLS>) -> LegId {
        if self.off {
            LegId { cell: self.cell, attempt: self.attempt }
        } else {
            read.leg(self.cell % CELLS as u8)
        }
    }
}

fn cause(which: u8) -> Cause {
    [Cause::Timeout, Cause::Refused, Cause::Unreachable, Cause::Cancelled, Cause::Missing, Cause::Corrupt]
        [usize::from(which) % 6]
}
