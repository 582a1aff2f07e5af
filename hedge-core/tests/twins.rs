//! Never worse: whatever is granted, a read that succeeds when every petition is refused succeeds, and no later. Each script of
//! fates runs twice, once with every petition refused.

mod world;

use hedge_core::{Cause, CellSet, Fault, Instant, Mode, Outcome, Petition, ReadPlan, Reason, Verdict};
use world::{Begun, End, Fate, Habits, Random, Script, World, grant, ms, plan, refuse};

/// How the governor answers the twin that may hedge.
#[derive(Clone, Copy, Default)]
struct Leave {
    /// Every so many petitions one is refused; 0: none.
    refuse_every: u64,
    /// A refused leg may ask again: after so many milliseconds.
    retry: Option<u64>,
    /// At most so many cells are granted; 0: as many as asked for.
    at_most: u8,
}

/// One kind of twin.
#[derive(Clone, Copy, Default)]
struct Case {
    leave: Leave,
    habits: Habits,
    spare: u8,
    mode: Mode,
    late_hedge: Option<u64>,
    stall: Option<u64>,
    max_tries: Option<u8>,
    /// Legs of other cells than the first that are started in milliseconds 10 to 13 are refused within one.
    outage: bool,
}

struct Twin<const N: usize> {
    fates: [Fate; N],
    leave: Option<Leave>,
    outage: bool,
    asked: u64,
}

impl<const N: usize> Script for Twin<N> {
    fn fate(&mut self, begun: &Begun) -> Fate {
        let millis = begun.now.as_nanos() / 1_000_000;
        if self.outage && (10..14).contains(&millis) && begun.leg.cell > 0 {
            return Fate::failed(1, Cause::Refused);
        }
        self.fates[usize::from(begun.leg.cell)]
    }

    fn decide(&mut self, now: Instant, _: usize, petition: &Petition) -> Verdict {
        let Some(leave) = self.leave else { return refuse(Reason::Off) };
        if petition.cells == 0 {
            return refuse(Reason::NoCells);
        }
        self.asked += 1;
        if leave.refuse_every > 0 && self.asked.is_multiple_of(leave.refuse_every) {
            let retry_at = leave.retry.map(|millis| now + ms(millis));
            return Verdict::Refuse { reason: Reason::Rate, retry_at };
        }
        grant(if leave.at_most > 0 { petition.cells.min(leave.at_most) } else { petition.cells })
    }
}

fn run<const N: usize>(
    plan: &ReadPlan<N>,
    fates: &[Fate; N],
    case: &Case,
    leave: Option<Leave>,
) -> Option<(Instant, bool)> {
    let twin = Twin { fates: *fates, leave, outage: case.outage, asked: 0 };
    let mut world = World::new(twin, case.habits);
    world.add(Instant::ZERO, plan);
    world.run()[0].map(|(end, outcome)| (end, matches!(outcome, Outcome::Ok { .. })))
}

/// What came of many twins.
#[derive(Debug, Default)]
struct Count {
    runs: u64,
    better: u64,
    saved: u64,
    later: u64,
    lost: u64,
    example: Option<String>,
}

impl Count {
    fn twins<const N: usize>(&mut self, plan: &ReadPlan<N>, fates: &[Fate; N], case: &Case) {
        self.runs += 1;
        let refused = run(plan, fates, case, None);
        let granted = run(plan, fates, case, Some(case.leave));
        match (refused, granted) {
            (Some((by, true)), Some((end, true))) if end <= by => self.better += u64::from(end < by),
            (Some((_, true)), other) => {
                let ok = matches!(other, Some((_, true)));
                *(if ok { &mut self.later } else { &mut self.lost }) += 1;
                self.example.get_or_insert_with(|| {
                    let n = usize::from(plan.n);
                    let wanted = plan.wanted;
                    format!(
                        "({}, {n}) wanted {wanted}: {refused:?} became {granted:?}; {:?}",
                        plan.k,
                        &fates[..n]
                    )
                });
            }
            (_, Some((_, true))) => self.saved += 1,
            _ => {}
        }
    }

    fn report(self, name: &str) -> Self {
        let Self { runs, better, saved, later, lost, .. } = self;
        println!("{name}: {runs} runs, {better} better, {saved} saved, {later} later, {lost} lost");
        self
    }

    /// None worse, and enough of them better for that to mean something.
    fn never_worse(self, name: &str, least_better_percent: u64) {
        let count = self.report(name);
        assert_eq!((count.later, count.lost), (0, 0), "{name}: {}", count.example.unwrap_or_default());
        let least = (count.runs * least_better_percent).div_ceil(100);
        assert!(count.better >= least, "{name}: only {} of {} were better", count.better, count.runs);
    }
}

/// The fates of the exhaustive sweeps; legs are late after 10 ms.
const FATES: [Fate; 7] = [
    Fate::delivered(1),
    Fate::delivered(12),
    Fate::delivered(25),
    Fate::failed(1, Cause::Timeout),
    Fate::failed(25, Cause::Timeout),
    Fate::failed(12, Cause::Missing),
    Fate::SILENT,
];

/// The stripes of the exhaustive sweeps: k, n, and the wanted cells as bits.
const STRIPES: [(u8, u8, u64); 8] =
    [(1, 2, 1), (1, 3, 1), (2, 3, 0b1), (2, 3, 0b11), (2, 4, 0b1), (2, 4, 0b11), (3, 5, 0b1), (3, 5, 0b11)];

fn arranged<const N: usize>(k: u8, n: u8, wanted: CellSet, case: &Case) -> ReadPlan<N> {
    let mut plan = plan(k, n, wanted);
    plan.spare = case.spare;
    plan.mode = case.mode;
    plan.clocks.late_hedge = case.late_hedge.map(ms);
    plan.clocks.stall = case.stall.map(ms);
    plan.max_tries = case.max_tries.unwrap_or(1);
    plan
}

/// Every combination of fates of every stripe.
fn sweep(case: &Case) -> Count {
    sweep_of(case, &STRIPES)
}

fn sweep_of(case: &Case, stripes: &[(u8, u8, u64)]) -> Count {
    let mut count = Count::default();
    for &(k, n, wanted) in stripes {
        let plan = arranged::<5>(k, n, CellSet::from_bits(wanted), case);
        for mut code in 0..FATES.len().pow(u32::from(n)) {
            let fates = core::array::from_fn(|_| {
                let fate = FATES[code % FATES.len()];
                code /= FATES.len();
                fate
            });
            count.twins(&plan, &fates, case);
        }
    }
    count
}

fn random_fate(random: &mut Random) -> Fate {
    let after = 1 + random.below(40);
    let end = match random.below(12) {
        0..7 => End::Delivered,
        7 => End::Failed(Cause::Timeout),
        8 => End::Failed(Cause::Refused),
        9 => End::Failed(Cause::Missing),
        10 => End::GaveUp(Cause::Timeout),
        _ => End::Silent,
    };
    let connects = (random.below(3) == 0).then(|| random.below(after));
    let progress = (random.below(3) == 0).then(|| 1 + random.below(9));
    Fate { connects, progress, after, end }
}

/// So many random scripts on stripes of k and n, with everything about the read drawn, too.
fn sample<const N: usize>(k: u8, n: u8, scripts: u64, seed: u64) -> Count {
    let mut count = Count::default();
    let mut random = Random::new(seed);
    for _ in 0..scripts {
        let case = Case {
            leave: Leave {
                refuse_every: random.below(4),
                retry: (random.below(2) == 0).then(|| random.below(4)),
                at_most: if random.below(4) == 0 { 1 + random.below(4) as u8 } else { 0 },
            },
            habits: Habits {
                start: random.below(2) * random.below(3),
                decode: random.below(2) * random.below(8),
                stop: random.below(2) * random.below(9),
                verdict: random.below(2) * random.below(4),
                duplicates: random.below(4) == 0,
                lazy: (random.below(4) == 0).then(|| random.next()),
                mixed: (random.below(4) == 0).then(|| random.next()),
                ..Habits::default()
            },
            spare: random.below(3) as u8,
            mode: if random.below(5) == 0 { Mode::Eager(1 + random.below(2) as u8) } else { Mode::Hedge },
            late_hedge: (random.below(2) == 0).then(|| 1 + random.below(10)),
            stall: (random.below(3) == 0).then(|| 2 + random.below(8)),
            max_tries: Some(1 + random.below(3) as u8),
            outage: false,
        };
        let mut wanted: CellSet = CellSet::first_n(k).iter().filter(|_| random.below(3) == 0).collect();
        wanted.insert(random.below(u64::from(k)) as u8);
        let mut plan = arranged::<N>(k, n, wanted, &case);
        for cell in 0..n {
            match random.below(24) {
                0 => plan.zero.insert(cell),
                1 => plan.missing.insert(cell),
                2 => plan.suspect.insert(cell),
                _ => {}
            }
        }
        plan.clocks.late_suspect = Some(ms(6));
        plan.clocks.connect_counts = random.below(4) > 0;
        let fates = core::array::from_fn(|_| random_fate(&mut random));
        count.twins(&plan, &fates, &case);
    }
    count
}

/// Small enough for an interpreter.
#[test]
fn a_grant_never_makes_a_read_of_a_tiny_stripe_worse() {
    let case = Case { spare: 1, ..Case::default() };
    sweep_of(&case, &STRIPES[..1]).never_worse("one copy more", 10);
    sample::<9>(6, 9, 20, 7).never_worse("RS-6-3, a few", 1);
}

macro_rules! sweeps {
    ($($name:ident, $least:literal, $case:expr;)*) => {$(
        #[test]
        #[cfg_attr(miri, ignore)]
        fn $name() {
            sweep(&$case).never_worse(stringify!($name), $least);
        }
    )*};
}

const ONE: Leave = Leave { refuse_every: 0, retry: None, at_most: 0 };

sweeps! {
    never_worse_when_every_petition_is_granted, 8, Case::default();
    never_worse_when_a_decode_takes_time, 8,
        Case { habits: Habits { decode: 5, ..Habits::default() }, ..Case::default() };
    never_worse_when_every_second_petition_is_refused, 5,
        Case { leave: Leave { refuse_every: 2, ..ONE }, ..Case::default() };
    never_worse_when_every_third_petition_is_refused, 8,
        Case { leave: Leave { refuse_every: 3, ..ONE }, ..Case::default() };
    never_worse_when_refused_legs_ask_again, 8,
        Case { leave: Leave { refuse_every: 2, retry: Some(2), ..ONE }, ..Case::default() };
    never_worse_when_less_is_granted_than_asked_for, 5,
        Case { leave: Leave { at_most: 1, ..ONE }, ..Case::default() };
    never_worse_with_a_spare, 8, Case { spare: 1, ..Case::default() };
    never_worse_with_an_eager_start, 10, Case { mode: Mode::Eager(1), ..Case::default() };
    never_worse_with_an_eager_start_and_slow_decodes, 10,
        Case { mode: Mode::Eager(2), habits: Habits { decode: 5, ..Habits::default() }, ..Case::default() };
    never_worse_when_hedge_legs_are_late_sooner, 8,
        Case { late_hedge: Some(4), habits: Habits { decode: 2, ..Habits::default() }, ..Case::default() };
    never_worse_when_cells_are_tried_twice, 8, Case { max_tries: Some(2), spare: 1, ..Case::default() };
    never_worse_when_stops_take_time, 8,
        Case { habits: Habits { stop: 7, decode: 3, ..Habits::default() }, ..Case::default() };
    never_worse_when_verdicts_take_time, 4,
        Case { habits: Habits { verdict: 3, decode: 3, ..Habits::default() }, ..Case::default() };
    never_worse_when_legs_start_late, 8,
        Case { habits: Habits { start: 2, ..Habits::default() }, ..Case::default() };
    never_worse_when_outputs_are_polled_now_and_then, 8,
        Case { habits: Habits { lazy: Some(1), mixed: Some(2), ..Habits::default() }, ..Case::default() };
    never_worse_when_stalls_count, 8, Case { stall: Some(5), ..Case::default() };
    never_worse_when_every_decode_fails, 0,
        Case { habits: Habits { decode: 2, decode_fails: true, ..Habits::default() }, max_tries: Some(2), ..Case::default() };
    never_worse_when_an_outage_meets_the_hedges, 0, Case { outage: true, ..Case::default() };
}

#[test]
#[cfg_attr(miri, ignore)]
fn never_worse_on_stripes_of_the_field() {
    sample::<9>(6, 9, 20_000, 1).never_worse("RS-6-3", 6);
    sample::<14>(10, 14, 10_000, 2).never_worse("RS-10-4", 4);
    sample::<3>(1, 3, 10_000, 3).never_worse("three copies", 6);
}

/// The measure has teeth: ignoring an original that comes while a decode runs costs time.
#[test]
#[cfg_attr(miri, ignore)]
fn deafness_while_decoding_is_found() {
    let habits = Habits { decode: 5, fault: Some(Fault::DeafWhileDecoding), ..Habits::default() };
    let count = sweep(&Case { habits, ..Case::default() }).report("deaf while decoding");
    assert!(count.later > 100, "{count:?}");
}

/// The measure has teeth: letting a hedge leg's soft failure spend its cell loses reads.
#[test]
#[cfg_attr(miri, ignore)]
fn a_hedge_that_spends_cells_is_found() {
    let habits = Habits { fault: Some(Fault::HedgeFailureSpendsTheCell), ..Habits::default() };
    let count =
        sweep(&Case { habits, outage: true, ..Case::default() }).report("a failed hedge spends its cell");
    assert!(count.lost > 100, "{count:?}");
}
