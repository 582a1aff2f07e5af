//! The adaptive threshold as a whole: what it does when nodes die, and when all slow down.

use hedge_core::{
    Config, Evidence, Governor, Instant, LegEnd, LegId, NodeId, Petition, ReadPlan, RequestId, Span, Subject,
    Why,
};

const NODES: u32 = 9;

/// Seeded random numbers (splitmix).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ mixed >> 31) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Exponential with a p99 of 10 ms.
    fn healthy(&mut self) -> f64 {
        -self.unit().ln() * 10e6 / 100_f64.ln()
    }
}

/// A client that reads one cell at a time, 75 a second; a hedge takes 15 ms. `latency` of a node in nanoseconds.
struct Client {
    governor: Governor<{ NODES as usize }>,
    random: Random,
    read: u64,
}

impl Client {
    fn new() -> Self {
        Self { governor: Governor::new(Config::default()).unwrap(), random: Random(7), read: 0 }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.read * 1_000_000_000 / 75)
    }

    /// The threshold, in milliseconds.
    fn threshold(&mut self) -> f64 {
        let mut plan = ReadPlan::<9>::new(6, 9);
        let now = self.now();
        self.governor.prepare(now, &mut plan);
        plan.clocks.late.expect("hedging is on").as_nanos() as f64 / 1e6
    }

    /// One read of one node; returns the threshold that it had.
    fn read(&mut self, latency: impl Fn(u32, f64) -> f64) -> f64 {
        self.read += 1;
        let (now, threshold) = (self.now(), self.threshold());
        let node = (self.random.unit() * f64::from(NODES)) as u32;
        let took = {
            let healthy = self.random.healthy();
            latency(node, healthy)
        };
        let cut = took.min((threshold + 15.0) * 1e6);
        if took > threshold * 1e6 {
            let subject = Subject::Late {
                leg: LegId { cell: 0, attempt: 1 },
                node: NodeId(node),
                why: Why::Original,
                request: RequestId::NONE,
                again: false,
            };
            let petition =
                Petition { id: 1, subject, cells: 7, size_class: 0, deadline: None, dry_run: false };
            let _ = self.governor.decide(now, &petition);
        }
        self.governor.record(
            now,
            &Evidence::Leg {
                node: NodeId(node),
                request: RequestId::NONE,
                why: Why::Original,
                size_class: 0,
                connect_micros: None,
                took: Span::from_nanos(cut as u64),
                end: if cut < took { LegEnd::Cut } else { LegEnd::Delivered },
            },
        );
        self.governor.record(now, &Evidence::Read { cells: 1, wasted: 0, ok: true });
        threshold
    }
}

/// Scylla 7342 and 3746, tower 484: the estimator eats its own output, and hedging dies.
#[test]
fn a_dead_node_of_nine_moves_the_threshold_at_no_time() {
    let reads = if cfg!(miri) { 1_500 } else { 100_000 };
    let mut client = Client::new();
    for _ in 0..reads / 10 {
        client.read(|_, healthy| healthy);
    }
    let before = client.threshold();
    assert!(
        cfg!(miri) || (28.0..33.0).contains(&before),
        "p99 x 3 of a healthy fleet is 30 ms, not {before}"
    );
    let (mut least, mut most) = (f64::MAX, 0_f64);
    for _ in 0..reads {
        let threshold = client.read(|node, healthy| if node == 0 { f64::INFINITY } else { healthy });
        (least, most) = (least.min(threshold), most.max(threshold));
    }
    assert!(least > 12.0, "the threshold fell to {least} ms");
    assert!(cfg!(miri) || most < 66.0, "the threshold rose to {most} ms");
    println!("before {before:.1} ms; with a dead node {least:.1} to {most:.1} ms");
}

/// What all nodes do is the new normal, and the threshold follows within two windows.
#[test]
#[cfg_attr(miri, ignore)] // The same path as above, for longer.
fn a_slowdown_of_all_nodes_is_followed_within_two_minutes() {
    let mut client = Client::new();
    for _ in 0..75 * 180 {
        client.read(|_, healthy| healthy);
    }
    let before = client.threshold();
    for _ in 0..75 * 120 {
        client.read(|_, healthy| healthy * 2.0);
    }
    let after = client.threshold() / before;
    assert!((1.7..2.6).contains(&after), "twice the latency, {after} times the threshold");
    for _ in 0..75 * 120 {
        client.read(|_, healthy| healthy);
    }
    let after = client.threshold() / before;
    assert!((0.8..1.25).contains(&after), "back to normal, {after} times the threshold");
}
