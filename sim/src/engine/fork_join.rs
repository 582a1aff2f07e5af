//! Reads without hedging, whose legs meet in the queues of nodes: how often a read, and a node's request, takes x or longer. No state
//! machine and no events, so that tails of one in a million come within seconds.

use super::nodes::{Draws, End, Nodes, Services};
use super::timeline::Timeline;
use super::{ARRIVALS, READS};
use crate::files::{Shares, draws};
use crate::random::mix;
use crate::scenario::check;
use crate::{FileClass, Law, Queue, Random, Sampler, ScenarioError};

/// What [`fork_join`] simulates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ForkJoin<'a> {
    /// What each node takes to serve a request, in milliseconds: at most 1,024 nodes.
    pub laws: &'a [Law],
    /// What is read: at most a million classes, each of at most 64 cells.
    pub classes: &'a [FileClass],
    /// Reads a second, of all classes together: a Poisson process. All reads must come within a hundred years.
    pub rate: f64,
    /// The times, in milliseconds, that are to be compared with: at most 1.25 * 10^8 for all classes and nodes together.
    pub xs: &'a [f64],
    /// How many reads are counted: 1 to 10^12.
    pub reads: u64,
    /// How many come before, and are not: until the queues are as long as they use to be. At most 10^12.
    pub warm_up: u64,
    /// The seed. The same gives the same reads, whatever the weights are.
    pub seed: u64,
}

/// What became of the reads, and of the requests that they are made of.
#[derive(Clone, PartialEq, Debug)]
pub struct ForkJoinTimes {
    /// The reads of each class.
    pub classes: Vec<Times>,
    /// The requests of each node, from their arrival to their end: waiting and service.
    pub nodes: Vec<Times>,
    /// All reads.
    pub all: Times,
}

/// How long some of them took.
#[derive(Clone, PartialEq, Debug)]
pub struct Times {
    /// How many they are.
    pub count: u64,
    /// Their mean, in milliseconds; 0 if there are none.
    pub mean_ms: f64,
    /// For each x, in the order in which they were given: how many took x or longer.
    pub reached: Vec<u64>,
}

/// Simulates reads that are not hedged, on nodes that serve one request after the other: each read draws k cells of its class by the
/// weights, as [`hedge_core::draw_read`] does, and is done when all k have come.
///
/// The answer is the same on every machine, and what [`run`](crate::run) finds under the policy `none` with one server a node and
/// the same seed. Some millions of reads a second of real time, for k = 4 and a dozen nodes.
///
/// ```
/// use hedgerow_sim::{FileClass, ForkJoin, Law, fork_join};
///
/// // One node of two, drawn evenly: two M/M/1 queues, each half busy, in which a request is for 4 ms in the mean.
/// let times = fork_join(&ForkJoin {
///     laws: &[Law::Exponential { mean: 2.0 }, Law::Exponential { mean: 2.0 }],
///     classes: &[FileClass { share: 1.0, k: 1, nodes: vec![0, 1], weights: vec![1, 1] }],
///     rate: 500.0,
///     xs: &[20.0],
///     reads: 200_000,
///     warm_up: 1_000,
///     seed: 1,
/// })?;
/// assert!((times.all.mean_ms / 4.0 - 1.0).abs() < 0.02);
/// // exp(-20 / 4) of them are for 20 ms or longer.
/// assert!((times.all.reached[0] as f64 / 200_000.0 / 0.0067 - 1.0).abs() < 0.1);
/// # Ok::<(), hedgerow_sim::ScenarioError>(())
/// ```
///
/// # Errors
///
/// A number is out of its bounds, or a class names a node that is not there, or one twice, or can't draw k cells.
pub fn fork_join(input: &ForkJoin<'_>) -> Result<ForkJoinTimes, ScenarioError> {
    check::fork_join(input)?;
    let timeline = Timeline::quiet(input.laws.len());
    let services = Services::new(input.laws);
    let at_once = Sampler::new(&Law::Constant(0.0));
    let mut nodes: Nodes<'_, ()> =
        Nodes::new(Queue::Fifo { servers: 1 }, &timeline, services.of_nodes(), 0.0, &at_once);
    let (shares, lines) = (Shares::new(input.classes), Lines::new(input.classes));
    let gap = Sampler::new(&Law::Exponential { mean: 1e3 / input.rate });
    let mut random = Random::of(input.seed, ARRIVALS, 0);
    let keys = mix(input.seed ^ READS);

    let xs = Xs::new(input.xs);
    let mut of_classes = vec![Counts::new(&xs); input.classes.len()];
    let mut of_nodes = vec![Counts::new(&xs); input.laws.len()];
    let mut all = Counts::new(&xs);
    let mut now = 0_u64;
    for number in 1..=input.warm_up.saturating_add(input.reads) {
        now = now.saturating_add(gap.sample(random.bits()));
        let key = mix(keys ^ number);
        let class = shares.pick(draws::class(key));
        let counts = number > input.warm_up;
        let mut last = now;
        lines.draw(class, draws::cells(key), |cell, node| {
            let End::Delivered(end) = nodes.arrive(now, node, Draws::of_leg(key, cell, 1)) else { return };
            last = last.max(end);
            if counts && let Some(of_node) = of_nodes.get_mut(node as usize) {
                of_node.add(end - now, &xs);
            }
        });
        if counts {
            all.add(last - now, &xs);
            if let Some(of_class) = of_classes.get_mut(class) {
                of_class.add(last - now, &xs);
            }
        }
    }
    let times = |counts: Vec<Counts>| counts.into_iter().map(|counts| counts.times(&xs)).collect();
    Ok(ForkJoinTimes { classes: times(of_classes), nodes: times(of_nodes), all: all.times(&xs) })
}

/// The times to compare with, in nanoseconds, in ascending order, and which of those given each was.
struct Xs(Vec<(u64, usize)>);

impl Xs {
    fn new(xs: &[f64]) -> Self {
        let whole = |x: f64| libm::ceil(x * 1e6) as u64;
        let mut xs: Vec<_> = xs.iter().enumerate().map(|(place, &x)| (whole(x), place)).collect();
        xs.sort_unstable();
        Self(xs)
    }
}

#[derive(Clone)]
struct Counts {
    /// How many reached so many of the xs, and no more.
    steps: Vec<u64>,
    nanos: u128,
}

impl Counts {
    fn new(xs: &Xs) -> Self {
        Self { steps: vec![0; xs.0.len() + 1], nanos: 0 }
    }

    #[inline]
    fn add(&mut self, took: u64, xs: &Xs) {
        let reached = xs.0.partition_point(|&(x, _)| took >= x);
        if let Some(step) = self.steps.get_mut(reached) {
            *step += 1;
        }
        self.nanos += u128::from(took);
    }

    fn times(&self, xs: &Xs) -> Times {
        let count = self.steps.iter().sum::<u64>();
        let mean_ms = if count == 0 { 0.0 } else { self.nanos as f64 / count as f64 / 1e6 };
        let mut reached = vec![0; xs.0.len()];
        let mut left = count;
        for (&step, &(_, place)) in self.steps.iter().zip(&xs.0) {
            left -= step;
            reached[place] = left;
        }
        Times { count, mean_ms, reached }
    }
}

/// A cell and its stretch of a class's line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stretch {
    /// Where it ends; of a cell that is always drawn, 0.
    end: u64,
    node: u32,
    cell: u8,
}

/// Where a class's stretches are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Line {
    /// The cells that are always drawn, then the others up to `end`.
    certain: u32,
    others: u32,
    end: u32,
    /// The distance of two marks.
    step: u64,
}

/// The rule of [`hedge_core::draw_read`], with all worked out beforehand that does not depend on the random number.
struct Lines {
    lines: Vec<Line>,
    stretches: Vec<Stretch>,
}

impl Lines {
    /// Of classes that were checked.
    fn new(classes: &[FileClass]) -> Self {
        let mut this = Self { lines: Vec::with_capacity(classes.len()), stretches: Vec::new() };
        for class in classes {
            this.add(class);
        }
        this
    }

    fn add(&mut self, class: &FileClass) {
        let weight = |cell: u8| class.weights.get(usize::from(cell)).copied().map_or(0, u64::from);
        let stretch = |cell: u8, end| {
            let node = class.nodes.get(usize::from(cell)).copied().unwrap_or_default();
            Stretch { end, node, cell }
        };
        let certain = self.stretches.len() as u32;
        let mut open: Vec<u8> = (0..class.weights.len() as u8).filter(|&cell| weight(cell) > 0).collect();
        let mut left = u64::from(class.k);
        let mut sum;
        loop {
            sum = open.iter().map(|&cell| weight(cell)).sum::<u64>();
            let before = open.len();
            let certainly = |cell: u8| left > 0 && weight(cell) * left >= sum;
            self.stretches.extend(open.iter().filter(|&&cell| certainly(cell)).map(|&cell| stretch(cell, 0)));
            open.retain(|&cell| !certainly(cell));
            if open.len() == before {
                break;
            }
            left = left.saturating_sub((before - open.len()) as u64);
        }
        let others = self.stretches.len() as u32;
        let mut end = 0;
        if left > 0 {
            self.stretches.extend(open.iter().map(|&cell| {
                end += weight(cell) * left;
                stretch(cell, end)
            }));
        }
        self.lines.push(Line { certain, others, end: self.stretches.len() as u32, step: sum });
    }

    /// Tells each cell that is drawn, and its node.
    #[inline]
    fn draw(&self, class: usize, random: u64, mut drawn: impl FnMut(u8, u32)) {
        let Some(line) = self.lines.get(class) else { return };
        let of = |from: u32, to: u32| self.stretches.get(from as usize..to as usize).unwrap_or_default();
        for stretch in of(line.certain, line.others) {
            drawn(stretch.cell, stretch.node);
        }
        let mut mark = ((u128::from(random) * u128::from(line.step)) >> 64) as u64;
        for stretch in of(line.others, line.end) {
            if mark < stretch.end {
                drawn(stretch.cell, stretch.node);
                mark += line.step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hedge_core::{CellSet, ReadPlan, draw_read};
    use proptest::prelude::*;

    use super::*;

    fn some_class() -> impl Strategy<Value = FileClass> {
        let weight = prop_oneof![Just(0), 1..4_u32, 1..1_u32 << 30, any::<u32>()];
        (proptest::collection::vec(weight, 1..20), any::<prop::sample::Index>()).prop_filter_map(
            "fewer than k cells can be drawn",
            |(weights, k)| {
                let nodes = (0..weights.len() as u32).rev().collect();
                let k = k.index(weights.len()) as u8 + 1;
                let drawable = weights.iter().filter(|&&weight| weight > 0).count();
                (drawable >= usize::from(k)).then_some(FileClass { share: 1.0, k, nodes, weights })
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_cells_are_those_that_the_hedge_core_draws(
            classes in proptest::collection::vec(some_class(), 1..4),
            draws in proptest::collection::vec(any::<u64>(), 16),
        ) {
            let lines = Lines::new(&classes);
            for (place, class) in classes.iter().enumerate() {
                let mut plan = ReadPlan::<20>::new(class.k, class.nodes.len() as u8);
                plan.wanted = CellSet::first_n(class.k);
                for &random in draws.iter().chain(&[0, u64::MAX]) {
                    let expected = draw_read(&mut plan.clone(), &class.weights, random).unwrap();
                    let mut drawn = CellSet::EMPTY;
                    lines.draw(place, random, |cell, node| {
                        assert!(!drawn.contains(cell), "cell {cell} is drawn twice");
                        drawn.insert(cell);
                        assert_eq!(node, class.nodes[usize::from(cell)]);
                    });
                    prop_assert_eq!(drawn, expected);
                }
            }
        }
    }
}
