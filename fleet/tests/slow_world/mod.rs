//! A fleet whose nodes measure each other, in virtual time, with some of them slow for a while: for the tests of slow nodes and the
//! example that compares rules.
//!
//! The noise is assumed: nodes differ by a lognormal factor (sigma 0.15), each wanders by another (sigma 0.10, correlated 0.8 from one bucket
//! to the next), and a pair has about 40 transfers a bucket, each with a coefficient of variation of 1 around the node's mean of 2 ms.

pub(crate) mod volumes;

use hedge_core::{Instant, NodeId, Span};
use hedgerow_fleet::{Measured, Report, Rule, SlowConfig, SlowNodes, Times, TimesConfig, judge};
use hedgerow_sim::Random;

/// The length of a bucket and of a round.
const MINUTES: u32 = 5;

/// What happens, in buckets of five minutes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    pub(crate) nodes: u32,
    /// Downstream peers of each node.
    pub(crate) peers: u32,
    /// How many nodes are slow, and how many times as slow.
    pub(crate) slow: u32,
    pub(crate) factor: f64,
    /// How many times as slow all nodes are meanwhile.
    pub(crate) fleet: f64,
    /// Reporters that lie, from node 0 on.
    pub(crate) liars: u32,
    /// The last so many reporters are cut off from a third of the fleet, and see those nodes 10 times as slow.
    pub(crate) cut_off: u32,
    pub(crate) from: u32,
    pub(crate) until: u32,
    pub(crate) end: u32,
}

impl Scene {
    /// A hundredth of the nodes is slow for four hours, after four hours without trouble.
    pub(crate) fn new(nodes: u32, factor: f64) -> Self {
        Self {
            nodes,
            peers: 30,
            slow: nodes / 100,
            factor,
            fleet: 1.0,
            liars: 0,
            cut_off: 0,
            from: 48,
            until: 96,
            end: 144,
        }
    }

    /// The same, but over soon after it began.
    pub(crate) fn short(self) -> Self {
        Self { from: 12, until: 24, end: 36, ..self }
    }
}

/// A way to find slow nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) buckets: u32,
    pub(crate) rule: Rule,
    pub(crate) config: SlowConfig,
}

/// The published ways and the default.
pub(crate) fn ways() -> Vec<Way> {
    let all = SlowConfig::published(u32::MAX);
    vec![
        Way { name: "median + 3 raw MAD, 3 h", buckets: 36, rule: Rule::RAW_MAD, config: all },
        Way {
            name: "the same, the 10 with most reporters",
            buckets: 36,
            rule: Rule::RAW_MAD,
            config: SlowConfig::published(10),
        },
        Way { name: "median + 3 x 1.4826 MAD, 3 h", buckets: 36, rule: Rule::SCALED_MAD, config: all },
        Way { name: "HDFS's rule, 3 h", buckets: 36, rule: Rule::HDFS, config: all },
        Way { name: "HDFS's rule, 30 min", buckets: 6, rule: Rule::HDFS, config: all },
        the_default(),
    ]
}

pub(crate) fn the_default() -> Way {
    Way {
        name: "the default: HDFS's rule, 15 min, a third of the observers",
        buckets: TimesConfig::default().buckets,
        rule: Rule::HDFS,
        config: SlowConfig::default(),
    }
}

/// How a way did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Minutes until each slow node was demoted, of those that were.
    pub(crate) delays: Vec<u32>,
    /// Slow nodes that never were.
    pub(crate) missed: u32,
    /// Minutes after its recovery until each demoted slow node was so no longer; `u32::MAX` if it still is.
    pub(crate) leaving: Vec<u32>,
    /// Healthy nodes that at least one reporter accused: the most in a round.
    pub(crate) accused: u32,
    /// Healthy nodes demoted: the most in a round, and the sum over the rounds.
    pub(crate) demoted: u32,
    pub(crate) demoted_sum: u64,
    /// All nodes demoted: the most in a round, and the most once the trouble was as old as the window.
    pub(crate) most: u32,
    pub(crate) most_steady: u32,
    pub(crate) rounds: u64,
    /// Rounds in which so many were accused that nobody was demoted.
    pub(crate) fleet_wide: u32,
}

impl Found {
    /// Takes in what was found with another seed.
    pub(crate) fn add(&mut self, other: &Self) {
        self.delays.extend(&other.delays);
        self.leaving.extend(&other.leaving);
        self.missed += other.missed;
        self.accused = self.accused.max(other.accused);
        self.demoted = self.demoted.max(other.demoted);
        self.demoted_sum += other.demoted_sum;
        self.most = self.most.max(other.most);
        self.most_steady = self.most_steady.max(other.most_steady);
        self.rounds += other.rounds;
        self.fleet_wide += other.fleet_wide;
        self.delays.sort_unstable();
        self.leaving.sort_unstable();
    }
}

/// Runs a scene once for all ways, on the same random numbers.
pub(crate) fn run(scene: Scene, seed: u64, ways: &[Way]) -> Vec<Found> {
    let mut world = World::new(scene, seed);
    let mut watchers: Vec<Watcher> = ways.iter().map(|way| Watcher::new(*way, scene)).collect();
    let mut windows: Vec<(u32, Vec<Times<NodeId>>)> = Vec::new();
    for way in ways {
        if windows.iter().all(|(buckets, _)| *buckets != way.buckets) {
            let mut config = TimesConfig::default();
            config.buckets = way.buckets;
            windows.push((way.buckets, (0..scene.nodes).map(|_| Times::new(config).unwrap()).collect()));
        }
    }
    for bucket in 0..scene.end {
        // The reports come as a bucket ends.
        let now = Instant::from_secs(60 * u64::from(MINUTES * (bucket + 1)) - 1);
        world.turn(bucket);
        for reporter in 0..scene.nodes {
            let measures: Vec<_> = (0..scene.peers).map(|place| world.measure(reporter, place)).collect();
            for (buckets, times) in &mut windows {
                let times = &mut times[reporter as usize];
                for &(peer, count, total) in &measures {
                    times.record_many(now, NodeId(peer), count, total);
                }
                let measured = times.measured(now, |_| 0);
                for watcher in watchers.iter_mut().filter(|watcher| watcher.way.buckets == *buckets) {
                    watcher.report(now, reporter, &measured, &world);
                }
            }
        }
        for watcher in &mut watchers {
            watcher.round(now, bucket, &world);
        }
    }
    watchers.into_iter().map(|watcher| watcher.finish(&world)).collect()
}

struct World {
    scene: Scene,
    random: Random,
    counts: Counts,
    /// By reporter.
    peers: Vec<Vec<u32>>,
    slow: Vec<bool>,
    own: Vec<f64>,
    wander: Vec<f64>,
    mean: Vec<f64>,
    trouble: bool,
}

impl World {
    fn new(scene: Scene, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let own = (0..scene.nodes).map(|_| libm::exp(0.15 * normal(&mut random))).collect();
        let wander = (0..scene.nodes).map(|_| normal(&mut random)).collect();
        let mut different = |count: u32, but: Option<u32>| {
            let mut drawn: Vec<u32> = Vec::new();
            while (drawn.len() as u32) < count {
                let node = random.below(scene.nodes);
                if Some(node) != but && !drawn.contains(&node) {
                    drawn.push(node);
                }
            }
            drawn
        };
        let peers = (0..scene.nodes).map(|node| different(scene.peers, Some(node))).collect();
        let mut slow = vec![false; scene.nodes as usize];
        for node in different(scene.slow, None) {
            slow[node as usize] = true;
        }
        let counts = Counts::new(40.0);
        Self { scene, random, counts, peers, slow, own, wander, mean: Vec::new(), trouble: false }
    }

    /// Goes on to the next bucket.
    fn turn(&mut self, bucket: u32) {
        self.trouble = (self.scene.from..self.scene.until).contains(&bucket);
        self.mean.clear();
        for node in 0..self.scene.nodes as usize {
            self.wander[node] = 0.8 * self.wander[node] + 0.6 * normal(&mut self.random);
            let mut mean = 2.0 * self.own[node] * libm::exp(0.10 * self.wander[node]);
            if self.trouble {
                mean *= self.scene.fleet * if self.slow[node] { self.scene.factor } else { 1.0 };
            }
            self.mean.push(mean);
        }
    }

    /// What a reporter measured of one of its peers in this bucket: how many transfers, and what they took together.
    fn measure(&mut self, reporter: u32, place: u32) -> (u32, u64, Span) {
        let peer = self.peers[reporter as usize][place as usize];
        let count = self.counts.draw(&mut self.random);
        let mut millis = self.mean[peer as usize] * gamma(&mut self.random, f64::from(count.max(1)));
        let cut_off = reporter >= self.scene.nodes - self.scene.cut_off && peer.is_multiple_of(3);
        if self.trouble && cut_off {
            millis *= 10.0;
        }
        let total = if count == 0 { Span::ZERO } else { Span::from_nanos((millis * 1e6) as u64) };
        (peer, u64::from(count), total)
    }
}

struct Watcher {
    way: Way,
    board: SlowNodes,
    found: Found,
    demoted_at: Vec<Option<u32>>,
    left_at: Vec<Option<u32>>,
    steady: u32,
}

impl Watcher {
    fn new(way: Way, scene: Scene) -> Self {
        Self {
            way,
            board: SlowNodes::new(way.config, scene.nodes).unwrap(),
            found: Found::default(),
            demoted_at: vec![None; scene.nodes as usize],
            left_at: vec![None; scene.nodes as usize],
            steady: scene.from + way.buckets,
        }
    }

    fn report(&mut self, now: Instant, reporter: u32, measured: &[Measured<NodeId>], world: &World) {
        let mut report = Report::from(&judge(&self.way.rule, measured));
        if reporter < world.scene.liars {
            report = lie(reporter, world);
        }
        self.board.report(now, NodeId(reporter), &report).unwrap();
    }

    fn round(&mut self, now: Instant, bucket: u32, world: &World) {
        self.board.round(now);
        // The first hour has too little to judge by.
        if bucket < 11 {
            return;
        }
        let Scene { from, until, .. } = world.scene;
        let healthy = |node: NodeId| !world.slow[node.0 as usize];
        let accused = self.board.suspects().iter().filter(|suspect| healthy(suspect.node)).count() as u32;
        let demoted = self.board.slow().iter().filter(|slow| healthy(slow.node)).count() as u32;
        let all = self.board.slow().len() as u32;
        let found = &mut self.found;
        found.accused = found.accused.max(accused);
        found.demoted = found.demoted.max(demoted);
        found.demoted_sum += u64::from(demoted);
        found.most = found.most.max(all);
        if (self.steady..until).contains(&bucket) {
            found.most_steady = found.most_steady.max(all);
        }
        found.rounds += 1;
        found.fleet_wide += u32::from(self.board.fleet_wide().is_some());
        for node in (0..world.scene.nodes).filter(|&node| world.slow[node as usize]) {
            let inside = self.board.slow_node(NodeId(node)).is_some();
            let place = node as usize;
            if inside && (from..until).contains(&bucket) {
                self.demoted_at[place].get_or_insert(MINUTES * (bucket - from + 1));
            }
            if !inside && bucket >= until && self.demoted_at[place].is_some() {
                self.left_at[place].get_or_insert(MINUTES * (bucket - until + 1));
            }
        }
    }

    fn finish(mut self, world: &World) -> Found {
        for node in (0..world.scene.nodes as usize).filter(|&node| world.slow[node]) {
            match self.demoted_at[node] {
                Some(delay) => {
                    self.found.delays.push(delay);
                    self.found.leaving.push(self.left_at[node].unwrap_or(u32::MAX));
                }
                None => self.found.missed += 1,
            }
        }
        self.found.delays.sort_unstable();
        self.found.leaving.sort_unstable();
        self.found
    }
}

/// The worst that a report may say: half of those it names are slow. On ten of them all liars agree, whether they have measured them or not;
/// the others are peers of the liar.
fn lie(reporter: u32, world: &World) -> Report {
    let agreed: Vec<u32> = (1..=10).map(|victim| world.scene.nodes - victim).collect();
    let own = world.peers[reporter as usize].iter().filter(|peer| !agreed.contains(peer));
    let judged: Vec<NodeId> = agreed.iter().chain(own).map(|&node| NodeId(node)).collect();
    let suspects = judged.iter().take(judged.len() / 2).map(|&node| (node, 10.0)).collect();
    Report { judged, suspects }
}

/// A standard normal number (Box and Muller).
pub(crate) fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(2.0 * random.exponential());
    radius * libm::cos(2.0 * std::f64::consts::PI * random.unit())
}

/// A gamma distributed number of this shape, 1 or more, with a scale of 1 (Marsaglia and Tsang, "A simple method for generating
/// gamma variables").
fn gamma(random: &mut Random, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let z = normal(random);
        let v = 1.0 + c * z;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if libm::log(random.unit()) < 0.5 * z * z + d * (1.0 - v + libm::log(v)) {
            return d * v;
        }
    }
}

/// Poisson numbers of one mean, by a table of their distribution.
struct Counts {
    up_to: Vec<f64>,
}

impl Counts {
    fn new(mean: f64) -> Self {
        let (mut share, mut sum) = (libm::exp(-mean), 0.0);
        let up_to = (0..200)
            .map(|count| {
                if count > 0 {
                    share *= mean / f64::from(count);
                }
                sum += share;
                sum
            })
            .collect();
        Self { up_to }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let unit = random.unit();
        self.up_to.partition_point(|&up_to| up_to < unit) as u32
    }
}
