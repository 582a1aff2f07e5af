//! The engines: what is run, on how many threads, and what comes of it.

mod decider;
mod flights;
mod fork_join;
mod full;
mod nodes;
mod queue;
mod speed;
mod tally;
mod thinned;
mod timeline;
mod watch;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::flights::Laws;
pub use self::fork_join::{ForkJoin, ForkJoinTimes, Times, fork_join};
use self::nodes::Services;
pub use self::speed::speed;
use self::tally::{Tally, row};
use self::timeline::Timeline;
use crate::{Cluster, Policy, Row, Sampler, Scenario, Shape};

/// A day in nanoseconds.
const DAY: u64 = 86_400_000_000_000;

/// How long a policy is simulated, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Length {
    horizon: u64,
    /// Of what came before this nothing is counted.
    warm_up: u64,
}

impl Length {
    fn of(scenario: &Scenario, policy: &Policy, cluster: &Cluster) -> Self {
        let plain = (scenario.seconds, scenario.warm_up);
        let learns = scenario.engine == Engine::Thinned && thinned::floor(policy, cluster).is_none();
        let (seconds, warm_up) = if learns { scenario.learning.unwrap_or(plain) } else { plain };
        Self { horizon: timeline::nanos(seconds * 1e3), warm_up: timeline::nanos(warm_up * 1e3) }
    }
}

/// The streams of random numbers of a seed.
const DAYS: u64 = 1;
const ARRIVALS: u64 = 2;
const CANDIDATES: u64 = 3;
const PLACEMENTS: u64 = 4;
const READS: u64 = 5;

/// How reads are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Every read goes through the state machine, the nodes and their queues.
    Full,
    /// Only reads that meet an incident, or are slow by themselves, do. Exact where no read delays another: with [`Queue::None`](crate::Queue::None),
    /// and reads of one cell.
    Thinned,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Pieces of work done, of `all`.
    pub done: u64,
    /// Pieces of work in all.
    pub all: u64,
}

/// Runs a scenario on so many threads; the rows stand in the order of shapes, then policies. `tell` is called now and then, from any thread.
///
/// The answer does not depend on the number of threads.
#[must_use]
pub fn run(scenario: &Scenario, threads: usize, tell: &(dyn Fn(Progress) + Sync)) -> Vec<Row> {
    run_watched::<false>(scenario, threads, tell)
}

/// As [`run`], and every promise of the hedge core that shows in one read is asserted of every read that is driven through it.
///
/// # Panics
///
/// Where one is broken.
#[must_use]
pub fn run_and_watch(scenario: &Scenario, threads: usize, tell: &(dyn Fn(Progress) + Sync)) -> Vec<Row> {
    run_watched::<true>(scenario, threads, tell)
}

/// One piece of work: some clients of one seed of one policy on one shape.
struct Piece<'a> {
    shape: &'a Shape,
    policy: &'a Policy,
    seed: u64,
    laws: &'a Laws,
    /// The timeline of this seed of the shape.
    timeline: &'a Timeline,
    clients: std::ops::Range<u32>,
    /// Whose counts these are: shape, policy, seed.
    place: (usize, usize, usize),
}

/// Clients of a piece of thinned work.
const CLIENTS_A_PIECE: u32 = 5;

fn run_watched<const WATCH: bool>(
    scenario: &Scenario,
    threads: usize,
    tell: &(dyn Fn(Progress) + Sync),
) -> Vec<Row> {
    let seeds: Vec<u64> =
        (0..u64::from(scenario.seeds.max(1))).map(|next| scenario.seed.wrapping_add(next)).collect();
    let laws: Vec<Laws> = scenario.shapes.iter().map(laws).collect();
    let timelines: Vec<Vec<Timeline>> = scenario
        .shapes
        .iter()
        .map(|shape| seeds.iter().map(|&seed| Timeline::new(scenario, shape, seed)).collect())
        .collect();
    let mut pieces = Vec::new();
    for (at_shape, (shape, laws)) in scenario.shapes.iter().zip(&laws).enumerate() {
        for (at_policy, policy) in scenario.policies.iter().enumerate() {
            for (at_seed, (&seed, timeline)) in seeds.iter().zip(&timelines[at_shape]).enumerate() {
                let all = shape.cluster.clients;
                let step = if scenario.engine == Engine::Full { all } else { CLIENTS_A_PIECE };
                for first in (0..all).step_by(step.max(1) as usize) {
                    let clients = first..first.saturating_add(step).min(all);
                    let place = (at_shape, at_policy, at_seed);
                    pieces.push(Piece { shape, policy, seed, laws, timeline, clients, place });
                }
            }
        }
    }

    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let all = pieces.len() as u64;
    let empty = || Mutex::new((0..seeds.len()).map(|_| None).collect::<Vec<Option<Tally>>>());
    let tallies: Vec<Vec<Mutex<Vec<Option<Tally>>>>> =
        scenario.shapes.iter().map(|_| scenario.policies.iter().map(|_| empty()).collect()).collect();
    let work = || {
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tally = piece.run::<WATCH>(scenario);
            let (shape, policy, seed) = piece.place;
            // A worker that panics takes the whole run with it.
            let mut seeds = tallies[shape][policy].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match &mut seeds[seed] {
                Some(sum) => sum.add(tally),
                none => *none = Some(tally),
            }
            drop(seeds);
            let done = done.fetch_add(1, Ordering::Relaxed) as u64 + 1;
            tell(Progress { done, all });
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, 256) {
            scope.spawn(work);
        }
        work();
    });

    let mut rows = Vec::new();
    for (shape, tallies) in scenario.shapes.iter().zip(tallies) {
        for (policy, tallies) in scenario.policies.iter().zip(tallies) {
            let tallies = tallies.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            let seeds = tallies.into_iter().flatten().collect();
            let length = Length::of(scenario, policy, &shape.cluster);
            rows.push(row(length, &policy.name, &shape.name, shape.cluster.clients, seeds));
        }
    }
    rows
}

fn laws(shape: &Shape) -> Laws {
    let cluster = &shape.cluster;
    Laws {
        service: Sampler::new(&cluster.service),
        own: Services::new(&cluster.laws),
        connect: Sampler::new(&cluster.connect),
        rebuild: Sampler::new(&cluster.rebuild),
    }
}

impl Piece<'_> {
    fn run<const WATCH: bool>(&self, scenario: &Scenario) -> Tally {
        let length = Length::of(scenario, self.policy, &self.shape.cluster);
        let codes = [Some(self.shape.cluster.code), self.policy.code];
        let of_codes = codes.into_iter().flatten().map(|code| code.k + code.m);
        let of_files = self.shape.cluster.files.iter().map(|class| class.nodes.len() as u8);
        let cells = of_codes.chain(of_files).max().unwrap_or_default();
        match cells {
            0..=9 => self.sized::<9, WATCH>(scenario.engine, length),
            10..=16 => self.sized::<16, WATCH>(scenario.engine, length),
            _ => self.sized::<32, WATCH>(scenario.engine, length),
        }
    }

    fn sized<const N: usize, const WATCH: bool>(&self, engine: Engine, length: Length) -> Tally {
        match engine {
            Engine::Full => full::run::<N, WATCH>(self, length),
            Engine::Thinned => thinned::run::<N, WATCH>(self, length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both engines, every form of law, something of everything that can happen.
    const EVERYTHING: &str = r#"
        title = "everything"
        engine = "full"
        seconds = 60
        warm_up_seconds = 5
        seeds = 2
        day_factor = 0.2
        policies = ["none", "hubspot-100", "default", "eager-1", "tower-p95", "finagle-1%"]
        [cluster]
        nodes = 15
        racks = 5
        clients = 3
        reads_per_second = 120
        new_connections = 0.03
        connect = { shifted_exponential = { shift_ms = 0.2, mean_ms = 0.3 } }
        rebuild = { lognormal = { median_ms = 2, sigma = 0.5 } }
        [[incident]]
        name = "freezes"
        effect = "freeze"
        place = "any-node"
        per_day = 20_000
        lasts = { lognormal = { median_ms = 240, sigma = 0.9 } }
        [[incident]]
        name = "takes no connection"
        effect = "no-connect"
        place = "any-node"
        per_day = 10_000
        lasts = { exponential = { mean_ms = 4000 } }
        [[incident]]
        name = "a slow disk"
        effect = { extra = { share = 0.2, law = { pareto = { least_ms = 100, index = 1.1 } } } }
        place = "any-rack"
        per_day = 5_000
        lasts = 5_000
        [[incident]]
        name = "a client freezes"
        effect = "freeze"
        place = "any-client"
        per_day = 5_000
        lasts = { lognormal = { median_ms = 500, sigma = 0.4 } }
        [[shape]]
        name = "heavy"
        cluster = { service = "heavy" }
        [[shape]]
        name = "mixture"
        cluster = { service = "mixture" }
    "#;

    fn fingerprint(engine: Engine) -> (u64, u64) {
        let mut scenario = Scenario::parse("everything", EVERYTHING, false).expect("a scenario");
        scenario.engine = engine;
        let rows = run(&scenario, 2, &|_| {});
        let reads = rows.iter().map(|row| row.reads).sum();
        let text: String =
            rows.iter().flat_map(Row::figures).map(|(name, figure)| format!("{name} {figure:?}\n")).collect();
        (reads, text.bytes().fold(0, |hash, byte| crate::random::mix(hash ^ u64::from(byte))))
    }

    #[test]
    fn a_seed_gives_the_same_figures_to_the_last_bit_on_every_machine() {
        assert_eq!(fingerprint(Engine::Full), (159_780, 3_966_212_471_498_243_795));
        assert_eq!(fingerprint(Engine::Thinned), (157_726, 1_757_026_273_721_575_342));
    }
}
