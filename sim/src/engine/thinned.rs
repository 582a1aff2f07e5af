//! The thinned engine: one client after the other, and only those reads that meet an incident or are slow by themselves.
//!
//! Exact as long as no read delays another: then the clients have nothing to do with each other, and a read that
//! comes back before it is late changes nothing but what its governor learns. Of a policy that learns nothing from such reads they
//! are not even drawn: the times at which others come are those of a Poisson process of their own, and their latencies are known in closed
//! form. Of a policy that learns, each is drawn and told to the governor, but not driven through the machine: when it comes and not when it
//! ends, some milliseconds early. What the governor says of healthy legs is asked for ten times a second.

use hedge_core::{Evidence, Instant, LegEnd, LegId, NodeId, RequestId, Span, Why};

use super::decider::{Decider, blind};
use super::flights::{Arrival, Laws, Placements, Run};
use super::nodes::Forced;
use super::tally::Tally;
use super::timeline::{Happening, Trouble, nanos};
use super::{ARRIVALS, CANDIDATES, Length, Piece, READS};
use crate::random::mix;
use crate::{Cluster, Kind, Law, Policy, Random, Sampler, Shape};

/// What a governor last said of healthy legs counts for so long.
const OUTLOOK: u64 = 100_000_000;
/// More reads than this of one client are not held in memory: then all are drawn, one after the other.
const MOST_CANDIDATES: f64 = 4e6;
/// Of a policy that hedges nothing, one read in a million is simulated as slow by itself: all that matters for the slowest of a day.
const SLOWEST: f64 = 1e-6;

/// Some clients of one seed of one policy.
pub(super) fn run<const N: usize, const WATCH: bool>(piece: &Piece<'_>, length: Length) -> Tally {
    let &Piece { shape, policy, seed, laws, timeline, .. } = piece;
    let cluster = &shape.cluster;
    let code = policy.code.unwrap_or(cluster.code);
    let placements = Placements::<N>::new(cluster.nodes, code.k + code.m, seed);
    let floor = floor(policy, cluster);
    let mut tally = Tally::new(length);
    for client in piece.clients.clone() {
        let run = Run::<N, WATCH>::new(
            cluster,
            policy,
            timeline,
            &placements,
            laws,
            client..client + 1,
            Tally::new(length),
        );
        let one = Client { shape, laws, seed, client, k: code.k, horizon: length.horizon, run };
        tally.add(match floor {
            Some(floor) if one.expected(floor) <= MOST_CANDIDATES => one.thinned(floor),
            _ => one.learning(),
        });
    }
    tally
}

/// Reads that take no longer than so many nanoseconds by themselves change nothing under this policy; none if it learns from all, or if
/// healthy connections are no trifle, which are left out of what quiet reads take.
pub(super) fn floor(policy: &Policy, cluster: &Cluster) -> Option<u64> {
    let floor = match &policy.kind {
        // Rounded up, and one more: a law that jumps there has nothing above it.
        Kind::None => nanos(cluster.service.quantile_above(SLOWEST)).saturating_add(2),
        Kind::Core(config) if policy.eager == 0 => blind(config)?.as_nanos(),
        _ => return None,
    };
    let trifle = cluster.new_connections * cluster.connect.mean() <= cluster.service.mean() / 100.0
        && nanos(cluster.connect.quantile_above(SLOWEST)) <= floor / 10;
    (trifle || cluster.new_connections == 0.0).then_some(floor)
}

struct Client<'a, const N: usize, const WATCH: bool> {
    shape: &'a Shape,
    laws: &'a Laws,
    seed: u64,
    client: u32,
    k: u8,
    horizon: u64,
    run: Run<'a, N, WATCH>,
}

impl<'a, const N: usize, const WATCH: bool> Client<'a, N, WATCH> {
    /// Reads of this client a nanosecond.
    fn rate(&self) -> f64 {
        self.shape.cluster.rate / f64::from(self.shape.cluster.clients) / 1e9
    }

    /// Every read is drawn; the plain ones are told to the decider, the others simulated.
    fn learning(mut self) -> Tally {
        let mut random = Random::of(self.seed, ARRIVALS, 1 + u64::from(self.client));
        let keys = mix(mix(self.seed ^ READS) ^ u64::from(self.client));
        let gap = Sampler::new(&Law::Exponential { mean: 1e-6 / self.rate() });
        let (mut number, mut now) = (0_u64, 0_u64);
        let (mut known, mut late) = (0, None);
        loop {
            now = now.saturating_add(gap.sample(random.bits()));
            if now >= self.horizon {
                break;
            }
            while self.run.events.next() <= now {
                self.run.step();
                known = 0;
            }
            number += 1;
            let arrival =
                Arrival::of_one_cell(now, self.client, mix(keys ^ number), self.k, self.run.placements);
            let counts = self.run.tally.counts(now);
            self.run.tally.came += u64::from(counts);
            let at = Instant::from_nanos(now);
            if now >= known {
                let plan = *self.run.plan();
                late = self.run.deciders[0].plain(at, &plan);
                known = now + OUTLOOK;
            }
            let quick = late.and_then(|late: Option<Span>| {
                let end = self.run.plain(&arrival)?;
                late.is_none_or(|late| end - now < late.as_nanos()).then_some(end)
            });
            let Some(end) = quick else {
                self.run.arrive(&arrival);
                known = 0;
                continue;
            };
            let decider = &mut self.run.deciders[0];
            tell(decider, at, arrival.node(), end - now);
            if counts {
                self.run.tally.wanted += 1;
                self.run.tally.sent += 1;
                self.run.tally.finished(self.client, now, end, false, true);
            }
        }
        self.finish()
    }

    /// Only reads that meet something, or take longer than the floor by themselves.
    fn thinned(mut self, floor: u64) -> Tally {
        let mut random = Random::of(self.seed, CANDIDATES, u64::from(self.client));
        let mut candidates = self.candidates(floor, &mut random);
        candidates.sort_by_key(|&(at, key, ..)| (at, key));
        let counted = candidates.iter().filter(|&&(at, ..)| self.run.tally.counts(at)).count() as u64;
        for (at, key, node, forced) in candidates {
            while self.run.events.next() <= at {
                self.run.step();
            }
            let arrival = Arrival::of_one_cell(at, self.client, key, self.k, self.run.placements);
            let mut arrival = arrival.on_node(node, self.run.placements);
            arrival.forced = Forced { cell: arrival.wanted.first().unwrap_or_default(), ..forced };
            self.run.arrive(&arrival);
        }
        // The others: how many, and what they took.
        let counted_time = self.horizon as f64 - self.run.tally.warm_up() as f64;
        let others = random.poisson(self.rate() * counted_time - counted as f64);
        self.quiet(floor, others);
        self.run.tally.came += counted + others;
        self.finish()
    }

    /// So many reads took no longer than the floor.
    fn quiet(&mut self, floor: u64, reads: u64) {
        const STEPS: u64 = 2_000;
        let beyond = self.laws.service.above(floor);
        self.run.tally.wanted += reads;
        self.run.tally.sent += reads;
        self.run.tally.in_time += reads;
        // Even steps up to 95 %, then each next hundredth of what is left.
        let total = 1.0 - beyond;
        let (mut left, mut done) = (total, 0_u64);
        while done < reads && left > 0.0 {
            let step = (total / STEPS as f64).min(left / 100.0).max(1e-12).min(left);
            let middle = (beyond + left - step / 2.0).clamp(f64::MIN_POSITIVE, 1.0);
            left -= step;
            let upto = reads - (left / total * reads as f64) as u64;
            let millis = self.shape.cluster.service.quantile_above(middle);
            self.run.tally.all.record(nanos(millis), upto.saturating_sub(done));
            done = upto.max(done);
        }
        self.run.tally.all.record(floor, reads.saturating_sub(done));
    }

    /// When reads come that are to be simulated, what they draw, where their cell lies, and what is settled.
    fn candidates(&self, floor: u64, random: &mut Random) -> Vec<(u64, u64, u32, Forced)> {
        let nodes = self.shape.cluster.nodes;
        let rate = self.rate() / f64::from(nodes);
        let mut found = Vec::new();
        let whole: Vec<Vec<(u64, u64)>> = (0..nodes)
            .map(|node| {
                windows(self.run.timeline.of_node(node).iter().filter_map(befalls_all), floor, self.horizon)
            })
            .collect();
        for (node, whole) in (0..nodes).zip(&whole) {
            for &(from, until) in whole {
                for _ in 0..random.poisson(rate * (until - from) as f64) {
                    let at = from + (random.unit() * (until - from) as f64) as u64;
                    found.push((at, random.bits(), node, Forced::default()));
                }
            }
        }
        // What was drawn above must not come a second time.
        let frozen = windows(self.run.timeline.of_client(self.client).iter().copied(), floor, self.horizon);
        let drawn = |node: u32, at: u64| whole.get(node as usize).is_some_and(|whole| inside(whole, at));
        for &(from, until) in &frozen {
            for _ in 0..random.poisson(self.rate() * (until - from) as f64) {
                let at = from + (random.unit() * (until - from) as f64) as u64;
                let (bits, node) = (random.bits(), random.below(nodes));
                if !drawn(node, at) {
                    found.push((at, bits, node, Forced::default()));
                }
            }
        }
        let drawn = |node: u32, at: u64| drawn(node, at) || inside(&frozen, at);
        let within = 1.0 - self.laws.service.above(floor);
        for node in 0..nodes {
            for happening in self.run.timeline.of_node(node) {
                let (share, settled) = match happening.what {
                    Trouble::Extra(share, _) if share < 1.0 => {
                        (share, Forced { meets: Some(happening.number), ..Forced::default() })
                    }
                    Trouble::NoConnect => (
                        self.shape.cluster.new_connections,
                        Forced { connects: Some(true), ..Forced::default() },
                    ),
                    _ => continue,
                };
                let length = happening.until.min(self.horizon).saturating_sub(happening.from) as f64;
                for _ in 0..random.poisson(rate * length * share * within) {
                    let at = happening.from + (random.unit() * length) as u64;
                    let (bits, service) =
                        (random.bits(), self.laws.service.sample_within(floor, random.bits()));
                    // One that meets an earlier happening, too, was found there.
                    let twice = || self.meets_earlier(node, at, bits, happening);
                    if !drawn(node, at) && !twice() {
                        found.push((at, bits, node, Forced { service: Some(service), ..settled }));
                    }
                }
            }
        }
        let slow = self.rate() * self.horizon as f64 * self.laws.service.above(floor);
        for _ in 0..random.poisson(slow) {
            let at = (random.unit() * self.horizon as f64) as u64;
            let (bits, node) = (random.bits(), random.below(nodes));
            let service = self.laws.service.sample_above(floor, random.bits());
            if !drawn(node, at) {
                found.push((at, bits, node, Forced { service: Some(service), ..Forced::default() }));
            }
        }
        found
    }

    /// Whether a read with these draws meets something at a node that comes before this happening in the list.
    fn meets_earlier(&self, node: u32, at: u64, key: u64, happening: &Happening) -> bool {
        let arrival = Arrival::of_one_cell(at, self.client, key, self.k, self.run.placements);
        let draws = arrival.draws(LegId { cell: arrival.wanted.first().unwrap_or_default(), attempt: 1 });
        let earlier =
            self.run.timeline.of_node(node).iter().take_while(|other| other.number != happening.number);
        earlier.filter(|other| other.from <= at && at < other.until).any(|other| match other.what {
            Trouble::Extra(share, _) => draws.meets(other, share),
            Trouble::NoConnect => draws.connects(self.shape.cluster.new_connections),
            _ => false,
        })
    }

    /// About how many reads would be simulated.
    fn expected(&self, floor: u64) -> f64 {
        let timeline = self.run.timeline;
        let length =
            |windows: Vec<(u64, u64)>| windows.iter().map(|(from, until)| (until - from) as f64).sum::<f64>();
        let nodes = 0..self.shape.cluster.nodes;
        let whole: f64 = nodes
            .map(|node| {
                let happenings = timeline.of_node(node);
                let shares = happenings.iter().map(|happening| {
                    let share = if let Trouble::Extra(share, _) = happening.what { share } else { 0.02 };
                    share * (happening.until.min(self.horizon).saturating_sub(happening.from)) as f64
                });
                length(windows(happenings.iter().filter_map(befalls_all), floor, self.horizon))
                    + shares.sum::<f64>()
            })
            .sum();
        let frozen = length(windows(timeline.of_client(self.client).iter().copied(), floor, self.horizon));
        let slow = self.horizon as f64 * self.laws.service.above(floor);
        self.rate() * (whole / f64::from(self.shape.cluster.nodes) + frozen + slow)
    }

    fn finish(mut self) -> Tally {
        let end = self.horizon + 60_000_000_000;
        while self.run.events.next() <= end {
            self.run.step();
        }
        self.run.end(end)
    }
}

/// When a happening befalls all legs of its node.
fn befalls_all(happening: &Happening) -> Option<(u64, u64)> {
    let all = match happening.what {
        Trouble::Extra(share, _) => share >= 1.0,
        Trouble::NoConnect => false,
        _ => true,
    };
    all.then_some((happening.from, happening.until))
}

/// Times in which every read is simulated, from those in which something happens, in order of beginning: these, and as long before as a read
/// that is caught by it can have been under way. Apart from each other, in order.
fn windows(times: impl Iterator<Item = (u64, u64)>, floor: u64, horizon: u64) -> Vec<(u64, u64)> {
    let mut apart: Vec<(u64, u64)> = Vec::new();
    for (from, until) in times {
        let (from, until) = (from.saturating_sub(floor), until.min(horizon));
        match apart.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ if from < until => apart.push((from, until)),
            _ => {}
        }
    }
    apart
}

fn inside(apart: &[(u64, u64)], at: u64) -> bool {
    let next = apart.partition_point(|&(from, _)| from <= at);
    next.checked_sub(1).and_then(|last| apart.get(last)).is_some_and(|&(_, until)| at < until)
}

/// What a read of one cell that came back in time tells: as the machine would.
#[inline]
fn tell(decider: &mut Decider, at: Instant, node: u32, took: u64) {
    let leg = Evidence::Leg {
        node: NodeId(node),
        request: RequestId::NONE,
        why: Why::Original,
        size_class: 0,
        connect_micros: None,
        took: Span::from_nanos(took),
        end: LegEnd::Delivered,
    };
    decider.record(at, &leg);
    decider.record(at, &Evidence::Read { cells: 1, wasted: 0, ok: true });
    decider.finished(at, took);
}
