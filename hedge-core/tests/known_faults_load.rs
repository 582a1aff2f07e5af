//! Faults of hedging under load that others shipped, each as a test of ours: fifty nodes that serve one leg after the other, so that
//! every leg too many is waited for by all. What is cancelled is served all the same. Every comment says in our words what went wrong there.

mod fleet;

use fleet::{Fleet, Latency, exponential};
use hedge_core::{Config, Instant, NodeId, Span, Threshold};

const NODES: usize = 50;
const CLIENTS: usize = 20;
/// What a leg keeps its node busy for, on average.
const SERVICE: Span = Span::from_millis(2);
/// Reads a second that keep all nodes busy all the time.
const FULL: u64 = NODES as u64 * 500;

/// When each node will have served what it has.
struct Queues([Instant; NODES]);

impl Latency for Queues {
    fn end(&mut self, now: Instant, node: NodeId, draw: f64) -> Option<Instant> {
        let free = &mut self.0[node.0 as usize];
        *free = now.max(*free) + exponential(SERVICE, draw);
        Some(*free)
    }
}

type Busy = Fleet<Queues, NODES>;

fn busy(config: Config, percent: u64) -> Busy {
    Fleet::new(config, CLIENTS, FULL * percent / 100, Queues([Instant::ZERO; NODES]))
}

fn changed(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

fn unhedged() -> Config {
    changed(|config| config.enabled = false)
}

/// A quarter of all legs at 90 % load are late.
fn far_too_low() -> Config {
    changed(|config| config.threshold = Threshold::Fixed(Span::from_millis(28)))
}

/// No breaker, no demotion, no fuse: the budget alone is left.
fn budget_alone() -> Config {
    let mut config = far_too_low();
    config.breaker.max_impaired_nodes = u16::MAX;
    config.breaker.useful = None;
    config.health.demote = false;
    config.max_per_second = u32::MAX;
    config
}

/// What a run came to.
#[derive(Debug)]
struct Run {
    /// The time that one read in a hundred exceeded, in milliseconds.
    p99: f64,
    /// Legs beyond one a read, per read.
    extra: f64,
    late: u64,
}

/// The nodes at 90 % for a while, once their queues are what they will be.
fn at_ninety_percent(config: Config, span: Span) -> Run {
    let mut fleet = busy(config, 90);
    fleet.run(Span::from_secs(3));
    fleet.took.clear();
    let (legs, reads) = (fleet.legs, fleet.reads);
    fleet.run(span);
    let p99 = fleet.quantile(990_000).as_nanos() as f64 / 1e6;
    let extra = (fleet.legs - legs) as f64 / (fleet.reads - reads) as f64 - 1.0;
    let late = fleet.sum(|counters| counters.granted + counters.refused_in_all());
    if let Some(budget) = config.budget {
        stays_within(&mut fleet, budget.share_ppm);
    }
    Run { p99, extra, late }
}

/// What was granted and neither won back nor refunded is at most the share and each client's burst: what it reads in 0.1 s.
fn stays_within(fleet: &mut Busy, share_ppm: u32) {
    let lost =
        fleet.sum(|counters| counters.cells_granted - counters.cells_refunded - counters.cells_won_back);
    let share = fleet.sum(|counters| counters.cells_read) * u64::from(share_ppm) / 1_000_000;
    let burst = (FULL * 9 / 10).div_ceil(10 * CLIENTS as u64) * 12 / 10;
    assert!(lost <= share + burst * CLIENTS as u64, "{lost} cells were lost, {share} is the share");
}

/// Scylla 3156 and 13322: speculative retries piled load on replicas that were slow with load already, and were all the more late.
#[test]
#[cfg_attr(miri, ignore = "millions of legs; for_a_moment is its sibling")]
fn hedging_does_not_pile_load_on_busy_nodes() {
    let none = at_ninety_percent(unhedged(), Span::from_secs(15));
    assert_eq!((none.extra, none.late), (0.0, 0));
    let default = at_ninety_percent(Config::default(), Span::from_secs(15));
    assert!(default.extra < 0.001 && default.p99 < none.p99 * 1.01, "{default:?}, {none:?}");
    // Every gate in force, and a breaker that has to open.
    let low = at_ninety_percent(far_too_low(), Span::from_secs(15));
    assert!(low.late > 50_000, "{low:?}");
    assert!(low.extra < 0.001 && low.p99 < none.p99 * 1.01, "{low:?}, {none:?}");
    // The budget alone costs a twentieth of the p99.
    let budget = at_ninety_percent(budget_alone(), Span::from_secs(15));
    assert!(budget.late > 50_000, "{budget:?}");
    assert!((0.003..0.01).contains(&budget.extra) && budget.p99 < none.p99 * 1.10, "{budget:?}, {none:?}");
}

/// Why it takes a budget: the same without one.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand legs")]
fn without_a_budget_busy_nodes_collapse() {
    let mut config = budget_alone();
    config.budget = None;
    let collapsed = at_ninety_percent(config, Span::from_secs(1));
    assert!(collapsed.extra > 4.0 && collapsed.p99 > 1_000.0, "{collapsed:?}");
}

/// The first, small enough for an interpreter.
#[test]
fn for_a_moment_hedging_does_not_pile_load_on_busy_nodes() {
    let mut fleet = busy(changed(|config| config.threshold = Threshold::Fixed(Span::from_millis(4))), 90);
    fleet.run(Span::from_millis(8));
    fleet.drain();
    stays_within(&mut fleet, 5_000);
    assert!(fleet.sum(|counters| counters.granted) > 0);
}

/// Scylla 3156 and 13322 again, by another way: nodes that an overload made slow were read around, at six cells a read, and it was that
/// load which kept them slow.
#[test]
#[cfg_attr(miri, ignore = "a million legs")]
fn an_overload_that_passes_is_over() {
    let p99_after = |config: Config| {
        let mut fleet = busy(config, 52);
        fleet.run(Span::from_secs(10));
        fleet.set_rate(FULL * 120 / 100);
        fleet.run(Span::from_secs(3));
        fleet.set_rate(FULL * 52 / 100);
        fleet.run(Span::from_secs(10));
        fleet.took.clear();
        fleet.run(Span::from_secs(5));
        fleet.quantile(990_000).as_nanos() as f64 / 1e6
    };
    let (none, hedged) = (p99_after(unhedged()), p99_after(Config::default()));
    assert!(hedged < none * 1.02, "{hedged} ms, {none} ms without hedges");
}

/// Nor are busy nodes read around while the load is there: when it rises to 90 %, all are late for a moment, some more than others.
#[test]
#[cfg_attr(miri, ignore = "a million legs")]
fn a_load_that_rises_does_not_lead_to_a_collapse() {
    let p99 = |config: Config| {
        let mut fleet = busy(config, 30);
        fleet.run(Span::from_secs(20));
        fleet.set_rate(FULL * 90 / 100);
        fleet.took.clear();
        fleet.run(Span::from_secs(10));
        fleet.quantile(990_000)
    };
    let (none, hedged) = (p99(unhedged()), p99(Config::default()));
    // What remains is the burst: a tenth of a second of each client's own reads.
    assert!(hedged.as_nanos() < 5 * none.as_nanos(), "{hedged:?}, {none:?} without hedges");
}

/// Nor are they read around where a threshold, right until then, is too low from now on.
#[test]
#[cfg_attr(miri, ignore = "a million legs")]
fn a_threshold_that_is_too_low_at_half_load_does_not_lead_to_a_collapse() {
    for millis in [12, 16, 20] {
        let mut fleet =
            busy(changed(|config| config.threshold = Threshold::Fixed(Span::from_millis(millis))), 56);
        fleet.run(Span::from_secs(8));
        fleet.took.clear();
        fleet.run(Span::from_secs(4));
        let p99 = fleet.quantile(990_000);
        assert!(p99 < Span::from_millis(500), "{p99:?} with a threshold of {millis} ms");
    }
}
