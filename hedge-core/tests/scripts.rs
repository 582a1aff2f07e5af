//! Random scripts: reads of RS-6-3 and RS-10-4 under any inputs, legal and bogus, polled in part, at any times; and many reads that
//! share one governor, its nodes and its workers. Every read is watched.

mod world;

use std::collections::VecDeque;

use hedge_core::{
    Budget, Cause, CellSet, Config, Evidence, Fault, Governor, Input, Instant, Mode, NodeId, Outcome, Permit,
    Petition, ReadPlan, Reason, RequestId, Span, Subject, Threshold, Verdict,
};
use proptest::prelude::*;
use world::{Begun, End, Fate, Habits, Random, Script, Watched, World, at, ms};

const CAUSES: [Cause; 6] =
    [Cause::Timeout, Cause::Refused, Cause::Unreachable, Cause::Cancelled, Cause::Missing, Cause::Corrupt];

/// One step of a script, as raw numbers: what they mean depends on the read's state.
#[derive(Clone, Copy, Debug)]
struct Step {
    what: u8,
    cell: u8,
    detail: u8,
    /// Milliseconds that pass first; high values step back.
    pass: u8,
    /// How many outputs are polled then.
    polls: u8,
}

fn step() -> impl Strategy<Value = Step> {
    (0..=99_u8, any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>())
        .prop_map(|(what, cell, detail, pass, polls)| Step { what, cell, detail, pass, polls })
}

/// A legal plan for stripes of k and n with everything else drawn.
fn any_plan<const N: usize>(k: u8, n: u8, seed: u64) -> (Instant, ReadPlan<N>) {
    let mut random = Random::new(seed);
    let mut plan = ReadPlan::new(k, n);
    let one_in =
        |random: &mut Random, share| -> CellSet { (0..n).filter(|_| random.below(share) == 0).collect() };
    let share = 1 + random.below(5);
    plan.wanted = one_in(&mut random, share);
    plan.wanted.insert(random.below(u64::from(n)) as u8);
    plan.zero = one_in(&mut random, 9);
    plan.missing = one_in(&mut random, 12) - plan.zero;
    plan.avoid = one_in(&mut random, 10);
    plan.suspect = one_in(&mut random, 6);
    let nodes = 1 + random.below(20) as u32;
    plan.node = core::array::from_fn(|_| match random.below(12) {
        0 => NodeId::UNKNOWN,
        _ => NodeId(random.below(u64::from(nodes)) as u32),
    });
    for last in (1..n).rev() {
        plan.order.swap(usize::from(last), random.below(u64::from(last) + 1) as usize);
    }
    let origin = match random.below(3) {
        0 => Instant::ZERO,
        1 => Instant::from_nanos(random.next() >> 8),
        _ => Instant::from_nanos(u64::MAX - random.below(100_000_000)),
    };
    plan.deadline = (random.below(3) == 0).then(|| origin + ms(random.below(80)));
    plan.mode = match random.below(10) {
        0 => Mode::Off,
        1 => Mode::DryRun,
        2 | 3 => Mode::Eager(random.below(4) as u8),
        _ => Mode::Hedge,
    };
    let mut span = |share| (random.below(share) > 0).then(|| ms(random.below(12)));
    plan.clocks.late = span(8);
    plan.clocks.late_hedge = span(2);
    plan.clocks.late_suspect = span(2);
    plan.clocks.stall = span(2);
    plan.clocks.connect_counts = random.below(3) > 0;
    plan.clocks.retry_floor = Span::from_nanos(random.below(3) * 1_000_000);
    plan.spare = random.below(3) as u8;
    plan.max_tries = 1 + random.below(3) as u8;
    plan.hints = random.below(2) == 0;
    (origin, plan)
}

struct Player<const N: usize> {
    watched: Watched<N>,
    n: u8,
    now: Instant,
}

impl<const N: usize> Player<N> {
    fn step(&mut self, step: Step) {
        let watched = &self.watched;
        self.now = match step.pass {
            0..170 => self.now + ms(u64::from(step.pass % 5)),
            170..235 => self.now + Span::from_nanos(u64::from(step.pass)),
            _ => Instant::from_nanos(self.now.as_nanos().saturating_sub(u64::from(step.pass) << 20)),
        };
        let mut leg = watched.leg(step.cell % self.n);
        if step.detail == 255 {
            leg.attempt = leg.attempt.wrapping_sub(1);
        } else if step.detail == 254 {
            leg.cell = step.cell;
        }
        let live = watched.read.leased();
        if !live.contains(leg.cell) && step.detail < 230 {
            // Rather one that is out.
            let out = live.iter().nth(usize::from(step.cell) % usize::from(live.len().max(1)));
            leg = out.map_or(leg, |cell| watched.leg(cell));
        }
        let cause = CAUSES[usize::from(step.detail) % CAUSES.len()];
        let owed = watched.owed();
        let input = match step.what {
            0..24 => Input::Started { leg, request: RequestId(step.detail.into()) },
            24..30 => Input::Connected(leg),
            30..38 => Input::Progress(leg),
            38..50 => Input::Delivered(leg),
            50..57 => Input::Failed(leg, cause),
            57..61 => Input::GaveUp(leg, cause),
            61..65 => Input::Stopped(leg),
            65..78 => self.verdict(owed, step),
            78..83 => Input::Decoded(!step.detail.is_multiple_of(4)),
            83..98 => {
                if let (Some((due, _)), true) = (watched.read.next_deadline(), step.what < 96) {
                    self.now = self.now.max(due);
                }
                Input::Timeout
            }
            _ if step.detail < 40 => Input::Abort,
            _ => Input::Timeout,
        };
        self.watched.handle(self.now, input);
        let polls = if step.polls < 160 { u8::MAX } else { step.polls % 4 };
        for _ in 0..polls {
            if self.watched.poll_output().is_none() {
                break;
            }
        }
    }

    fn verdict(&self, owed: Option<Petition>, step: Step) -> Input {
        let asked = owed.map_or(6, |petition| petition.cells);
        let id = owed.map_or(step.cell, |petition| petition.id).wrapping_add(u8::from(step.detail > 240));
        let reason = Reason::ALL[usize::from(step.cell) % Reason::COUNT];
        let permit = Permit { epoch: step.cell.into(), probe: Some(step.detail) };
        let verdict = match step.detail % 10 {
            0..6 => Verdict::Grant { cells: asked, permit },
            6 => Verdict::Grant { cells: asked.saturating_sub(1), permit },
            7 => Verdict::Grant { cells: asked + 3, permit },
            8 => Verdict::Refuse { reason, retry_at: Some(self.now + ms(u64::from(step.cell % 4))) },
            _ => Verdict::Refuse { reason, retry_at: None },
        };
        Input::Verdict { id, verdict }
    }

    /// Whatever has happened, an abort and facts about what is out bring the read to its end.
    fn end(mut self) -> Watched<N> {
        self.watched.poll_all();
        self.watched.handle(self.now, Input::Abort);
        self.watched.poll_all();
        for cell in self.watched.read.leased() {
            self.watched.handle(self.now, Input::Stopped(self.watched.leg(cell)));
        }
        if self.watched.is_decoding() {
            self.watched.handle(self.now, Input::Decoded(false));
        }
        if let Some(Petition { id, cells, .. }) = self.watched.owed() {
            self.watched.handle(self.now, Input::Verdict { id, verdict: world::grant(cells) });
        }
        self.watched.poll_all();
        assert!(self.watched.read.drained());
        self.watched
    }
}

fn play<const N: usize>(k: u8, n: u8, seed: u64, steps: &[Step]) -> Watched<N> {
    play_with(None, k, n, seed, steps)
}

fn play_with<const N: usize>(fault: Option<Fault>, k: u8, n: u8, seed: u64, steps: &[Step]) -> Watched<N> {
    let (origin, plan) = any_plan::<N>(k, n, seed);
    play_plan(fault, origin, &plan, seed, steps)
}

fn play_plan<const N: usize>(
    fault: Option<Fault>,
    origin: Instant,
    plan: &ReadPlan<N>,
    seed: u64,
    steps: &[Step],
) -> Watched<N> {
    let mut watched = Watched::new(origin, plan).with_fault(fault);
    if !seed.is_multiple_of(4) {
        watched.poll_all();
    }
    let mut player = Player { watched, n: plan.n, now: origin };
    for step in steps {
        player.step(*step);
    }
    player.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore)]
    fn the_promises_hold_for_any_script_on_rs_6_3(
        seed in any::<u64>(),
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        play::<9>(6, 9, seed, &steps);
    }

    #[test]
    #[cfg_attr(miri, ignore)]
    fn the_promises_hold_for_any_script_on_rs_10_4(
        seed in any::<u64>(),
        steps in proptest::collection::vec(step(), 0..160),
    ) {
        play::<14>(10, 14, seed, &steps);
    }
}

fn random_steps(random: &mut Random, count: u64) -> Vec<Step> {
    let mut step = || {
        let bytes = random.next().to_le_bytes();
        Step { what: bytes[0] % 100, cell: bytes[1], detail: bytes[2], pass: bytes[3], polls: bytes[4] }
    };
    (0..count).map(|_| step()).collect()
}

/// Plays stripes of any k and n that there is room for, with each number of the plan as great as it can be, or every cell
/// of a kind, in some of them.
fn play_at_the_limits<const N: usize>(scripts: u64, count: u64) {
    let mut random = Random::new(14);
    for _ in 0..scripts {
        let n = 1 + random.below(N.min(64) as u64) as u8;
        let n = if random.below(3) == 0 { N.min(64) as u8 } else { n };
        let k = [1, n, 1 + random.below(u64::from(n)) as u8][random.below(3) as usize];
        let seed = random.next();
        let (origin, mut plan) = any_plan::<N>(k, n, seed);
        let all = CellSet::first_n(n);
        let mut at_its_limit = || random.below(4) == 0;
        if at_its_limit() {
            plan.wanted = all;
        }
        if at_its_limit() {
            plan.zero = CellSet::first_n(k);
            plan.missing -= plan.zero;
        }
        if at_its_limit() {
            plan.missing = plan.wanted - plan.zero;
        }
        if at_its_limit() {
            plan.avoid = all;
        }
        if at_its_limit() {
            plan.mode = Mode::Eager(u8::MAX);
        }
        if at_its_limit() {
            plan.spare = u8::MAX;
        }
        if at_its_limit() {
            plan.max_tries = ReadPlan::<N>::MOST_TRIES;
        }
        if at_its_limit() {
            plan.clocks.retry_floor = Span::MAX;
        }
        let steps = random_steps(&mut random, count);
        play_plan(None, origin, &plan, seed, &steps);
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn the_promises_hold_at_the_limits_of_a_plan() {
    play_at_the_limits::<1>(1_000, 30);
    play_at_the_limits::<9>(4_000, 100);
    play_at_the_limits::<64>(1_000, 400);
    play_at_the_limits::<70>(500, 200);
}

/// Small enough for an interpreter.
#[test]
fn the_promises_hold_for_a_few_scripts() {
    let mut random = Random::new(11);
    for _ in 0..6 {
        let steps = random_steps(&mut random, 60);
        play::<9>(6, 9, random.next(), &steps);
    }
}

/// The scripts reach what they are for: hedges of every result, and every way to end.
#[test]
#[cfg_attr(miri, ignore)]
fn random_scripts_reach_every_end_and_every_result() {
    let mut random = Random::new(12);
    let (mut ends, mut results, mut ignored) = ([0_u32; 5], [0_u32; 4], 0);
    for _ in 0..4_000 {
        let steps = random_steps(&mut random, 120);
        let watched = play::<9>(6, 9, random.next(), &steps);
        let tally = watched.read.tally();
        for (sum, count) in results.iter_mut().zip([tally.won, tally.lost, tally.void, tally.unused]) {
            *sum += u32::from(count);
        }
        ignored += watched.ignored;
        ends[match watched.read.outcome().expect("it has ended") {
            Outcome::Ok { decoded, .. } if decoded.is_empty() => 0,
            Outcome::Ok { .. } => 1,
            Outcome::Lost { .. } => 2,
            Outcome::DeadlinePassed => 3,
            Outcome::Aborted => 4,
        }] += 1;
    }
    println!("ends {ends:?}, hedges {results:?}, ignored {ignored}");
    assert!(ends.iter().all(|&count| count > 20), "{ends:?}");
    assert!(results.iter().all(|&count| count > 5), "{results:?}");
    assert!(ignored > 1_000);
}

/// The watch has teeth.
#[test]
#[cfg_attr(miri, ignore)]
fn every_seeded_fault_is_caught() {
    let faults = [
        Fault::DeafWhileDecoding,
        Fault::HedgeFailureSpendsTheCell,
        Fault::ReleaseIgnoresTheDecode,
        Fault::NoRetryFloor,
        Fault::SiblingsRearmTheClock,
    ];
    for fault in faults {
        let mut random = Random::new(13);
        let caught = (0..3_000).any(|_| {
            let (steps, seed) = (random_steps(&mut random, 120), random.next());
            std::panic::catch_unwind(|| play_with::<9>(Some(fault), 6, 9, seed, &steps)).is_err()
        });
        assert!(caught, "{fault:?}");
    }
}

const NODES: usize = 12;

/// Nodes that answer well, some of them badly for a while, and one governor for all reads.
struct Cluster {
    governor: Box<Governor<NODES>>,
    random: Random,
    /// These nodes are slow from and until then.
    slow: [Option<(Instant, Instant)>; NODES],
    grants: VecDeque<Instant>,
    granted: u64,
    back: u64,
    read: u64,
}

impl Cluster {
    fn new(config: Config, seed: u64) -> Self {
        Self {
            governor: Box::new(Governor::new(config).expect("a legal configuration")),
            random: Random::new(seed),
            slow: [None; NODES],
            grants: VecDeque::new(),
            granted: 0,
            back: 0,
            read: 0,
        }
    }

    fn config(&self) -> &Config {
        self.governor.config()
    }
}

impl Script for Cluster {
    fn prepare<const N: usize>(&mut self, now: Instant, plan: &mut ReadPlan<N>) {
        self.governor.prepare(now, plan);
    }

    fn fate(&mut self, begun: &Begun) -> Fate {
        let slow = self.slow.get(begun.node.0 as usize).copied().flatten();
        let is_slow = slow.is_some_and(|(from, until)| (from..until).contains(&begun.now));
        let after = if is_slow { 40 + self.random.below(400) } else { 1 + self.random.below(9) };
        let end = match self.random.below(60) {
            0 => End::Failed(CAUSES[self.random.below(6) as usize]),
            1 => End::GaveUp(Cause::Timeout),
            2 if is_slow => End::Silent,
            _ => End::Delivered,
        };
        Fate { connects: Some(self.random.below(after)), progress: None, after, end }
    }

    fn decide(&mut self, now: Instant, _: usize, petition: &Petition) -> Verdict {
        let verdict = self.governor.decide(now, petition);
        match verdict {
            Verdict::Grant { cells, .. } => {
                assert_eq!(cells, petition.cells, "the governor grants what is asked for");
                assert!(cells > 0, "P7: a grant costs something");
                self.granted += u64::from(cells);
                if petition.subject != Subject::Eager {
                    self.grants.push_back(now);
                }
                while self.grants.front().is_some_and(|&first| now - first >= Span::from_secs(1)) {
                    self.grants.pop_front();
                }
                assert!(self.grants.len() <= self.config().max_per_second as usize, "P7: the rate");
            }
            Verdict::Refuse { retry_at, .. } => assert!(retry_at.is_none_or(|at| at > now), "{retry_at:?}"),
        }
        if let Some(budget) = &self.config().budget {
            let lost = 1_000_000 * self.granted.saturating_sub(self.back);
            let earned = u64::from(budget.burst_cells) * 1_000_000 + self.read * u64::from(budget.share_ppm);
            assert!(lost <= earned, "P7: {lost} of {earned} millionths of cells were spent");
        }
        verdict
    }

    fn record(&mut self, now: Instant, _: usize, evidence: &Evidence) {
        match *evidence {
            Evidence::Hedge { cells, result: hedge_core::HedgeResult::Won, .. }
            | Evidence::Refund { cells } => {
                self.back += u64::from(cells);
            }
            Evidence::Read { cells, .. } => self.read += u64::from(cells),
            _ => {}
        }
        self.governor.record(now, evidence);
    }
}

/// A budget that earns nothing: what it has lost is exactly what was granted and did not come back.
fn strict_budget() -> Budget {
    Budget {
        share_ppm: 0,
        burst_cells: 60,
        burst_span: Span::ZERO,
        alone_cells: 0,
        alone_span: Span::ZERO,
        gross_percent: 0,
    }
}

fn config(random: &mut Random) -> Config {
    let mut config = Config::default();
    config.threshold = Threshold::Fixed(ms(12));
    config.spare = random.below(2) as u8;
    config.max_per_second = [3, 40, 200][random.below(3) as usize];
    config.budget = match random.below(3) {
        0 => None,
        1 => Some(strict_budget()),
        _ => Some(Budget {
            share_ppm: 20_000,
            burst_cells: 12,
            burst_span: Span::ZERO,
            alone_cells: 0,
            alone_span: Span::ZERO,
            gross_percent: 10,
        }),
    };
    config.breaker.cooldown = ms(300);
    config
}

fn many_reads(reads: u64, config: Config, habits: Habits, seed: u64) -> World<Cluster, 9> {
    let mut random = Random::new(seed);
    let mut cluster = Cluster::new(config, seed ^ 1);
    for node in 0..random.below(4) {
        let from = at(random.below(500));
        cluster.slow[3 * node as usize] = Some((from, from + ms(500)));
    }
    let mut world = World::new(cluster, habits);
    for _ in 0..reads {
        let mut plan = ReadPlan::<9>::new(6, 9);
        plan.wanted = (0..6).filter(|_| random.below(3) == 0).collect();
        plan.wanted.insert(random.below(6) as u8);
        let first = random.below(NODES as u64) as u32;
        plan.node = core::array::from_fn(|cell| NodeId((first + cell as u32) % NODES as u32));
        plan.mode = if random.below(8) == 0 { Mode::Eager(1) } else { Mode::Hedge };
        let begin = at(random.below(1_000));
        plan.deadline = (random.below(4) == 0).then(|| begin + ms(20 + random.below(300)));
        let read = world.add(begin, &plan);
        if random.below(10) == 0 {
            world.inject(begin + ms(1 + random.below(30)), read, Input::Abort);
        }
    }
    let results = world.run();
    let begun = results.len() as u64;
    let snapshot = world.script.governor.snapshot(at(1_000_000));
    let counters = snapshot.counters;
    assert_eq!(counters.reads, begun, "every read is told once");
    assert_eq!(counters.open(), 0, "every grant is settled");
    assert_eq!(counters.cells_granted + counters.cells_eager, world.script.granted);
    assert_eq!(counters.cells_refunded + counters.cells_won_back, world.script.back);
    if world.script.config().budget == Some(strict_budget()) {
        let lost = world.script.granted - world.script.back;
        let left = u64::from(strict_budget().burst_cells) - lost;
        assert_eq!(
            snapshot.tokens,
            Some(1_000_000 * left),
            "what came back may be spent again: {counters:?}"
        );
    }
    world
}

fn any_habits(random: &mut Random) -> Habits {
    Habits {
        slots: [4, 12, usize::MAX][random.below(3) as usize],
        hedge_lane: random.below(2) == 0,
        start: random.below(2),
        decode: random.below(3),
        stop: random.below(3) * 4,
        verdict: random.below(2),
        duplicates: random.below(4) == 0,
        lazy: (random.below(4) == 0).then(|| random.next()),
        mixed: (random.below(4) == 0).then(|| random.next()),
        horizon: at(100_000),
        ..Habits::default()
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn many_reads_against_one_governor_keep_the_promises() {
    let mut random = Random::new(21);
    let (mut granted, mut won, mut refused) = (0, 0, 0);
    for _ in 0..120 {
        let (config, habits) = (config(&mut random), any_habits(&mut random));
        let mut world = many_reads(120, config, habits, random.next());
        let counters = world.script.governor.snapshot(at(1_000_000)).counters;
        granted += counters.granted;
        won += counters.won;
        refused += counters.refused_in_all();
    }
    println!("{granted} granted, {won} won, {refused} refused");
    assert!(granted > 500 && won > 100 && refused > 500, "{granted} granted, {won} won, {refused} refused");
}

/// The same, small enough for an interpreter.
#[test]
fn a_few_reads_against_one_governor_keep_the_promises() {
    let mut config = Config::default();
    config.threshold = Threshold::Fixed(ms(12));
    many_reads(4, config, Habits { slots: 6, ..Habits::default() }, 3);
}

/// Hedge legs that waited in a queue until their read was over cost nothing, and the governor gets all of them back.
#[test]
fn what_a_queue_kept_from_starting_is_refunded_in_full() {
    let mut config = Config::default();
    config.threshold = Threshold::Fixed(ms(12));
    config.budget = Some(strict_budget());
    let habits = Habits { slots: 1, ..Habits::default() };
    let mut cluster = Cluster::new(config, 5);
    cluster.slow[0] = Some((Instant::ZERO, at(1)));
    let mut world = World::<_, 9>::new(cluster, habits);
    let mut plan = world::plan::<9>(6, 9, [0]);
    plan.node[0] = NodeId(0);
    world.add(Instant::ZERO, &plan);
    world.run();
    let snapshot = world.script.governor.snapshot(at(1_000));
    let cost = world.script.granted - world.script.back;
    assert!(snapshot.counters.lost == 1 && cost == 0, "{:?}", snapshot.counters);
    assert_eq!(snapshot.tokens, Some(1_000_000 * (60 - cost)));
}
