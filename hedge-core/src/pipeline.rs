//! Slow nodes of write pipelines: which node to eject, and when. Kept apart from what is known for reads.

use core::fmt;

use crate::measure::{Smooth, shift, total, turned};
use crate::{Instant, NodeId, Span};

/// What an acknowledgement of a write pipeline says of one node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AckTimes {
    /// The node.
    pub node: NodeId,
    /// From forwarding the packet to the acknowledgement of the next node; zero for the last node.
    pub downstream: Span,
    /// What its own disk took.
    pub disk: Span,
}

/// A node to take out of its pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Eject {
    /// The node.
    pub node: NodeId,
    /// Its place in the pipeline, 0 next to the writer.
    pub position: u8,
    /// How many slow acknowledgements counted against it.
    pub slow_acks: u32,
    /// Its own share of this acknowledgement's time.
    pub own: Span,
}

/// When a node of a write pipeline is slow, and when it is ejected: plain data with public fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct PipelineConfig {
    /// A node whose own share of an acknowledgement is longer makes it a slow one.
    pub slow: Span,
    /// More than so many slow acknowledgements ...
    pub limit: u16,
    /// ... within the window make a slow node.
    pub window: Span,
    /// Slow acknowledgements of a node less than this after the last that counted do not count: packets that
    /// wait for one stall come out of it together. Zero: all count.
    pub stall: Span,
    /// No node is ejected for so long after an ejection.
    pub cooldown: Span,
    /// No ejection leaves a pipeline of fewer nodes: 1 or more.
    pub least_nodes: u8,
}

impl Default for PipelineConfig {
    /// More than 10 in 60 s above 300 ms, half a second apart; one ejection in 60 s, down to two nodes.
    fn default() -> Self {
        Self {
            slow: Span::from_millis(300),
            limit: 10,
            window: Span::from_secs(60),
            stall: Span::from_millis(500),
            cooldown: Span::from_secs(60),
            least_nodes: 2,
        }
    }
}

impl PipelineConfig {
    /// Whether a watch can follow it.
    ///
    /// # Errors
    ///
    /// The first field that is out of bounds, with its value.
    pub fn check(&self) -> Result<(), PipelineConfigError> {
        for (field, span) in [("slow", self.slow), ("window", self.window), ("cooldown", self.cooldown)] {
            if span == Span::ZERO {
                return Err(PipelineConfigError::Zero { field });
            }
        }
        let least = self.stall.as_nanos().saturating_mul(self.limit.into());
        if least > self.window.as_nanos() / 2 {
            let Self { stall, limit, window, .. } = *self;
            return Err(PipelineConfigError::NeverSlow { stall, limit, window });
        }
        if self.least_nodes == 0 {
            return Err(PipelineConfigError::Zero { field: "least_nodes" });
        }
        Ok(())
    }
}

/// Why no watch can follow a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PipelineConfigError {
    /// The field is 0.
    Zero {
        /// The field of the configuration.
        field: &'static str,
    },
    /// `limit` times `stall` is more than half of `window`: so few slow acknowledgements count that they may never
    /// be enough.
    NeverSlow {
        /// The stall.
        stall: Span,
        /// The limit.
        limit: u16,
        /// The window.
        window: Span,
    },
}

impl fmt::Display for PipelineConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Zero { field } => write!(f, "{field} must be more than 0: it is 0"),
            Self::NeverSlow { stall, limit, window } => write!(
                f,
                "limit times stall must be at most half of window: limit is {limit}, stall is {stall:?}, \
                 window is {window:?}"
            ),
        }
    }
}

impl core::error::Error for PipelineConfigError {}

/// How one node does in write pipelines, for operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct WriteHealth {
    /// Slow acknowledgements that count against it within the window.
    pub slow_acks: u32,
    /// Its own share of an acknowledgement's time, smoothed over the last eight or so; `None` before the first.
    pub own: Option<Span>,
    /// How often it was ejected.
    pub ejected: u16,
}

const MOST_NODES: usize = 64;

/// Finds the slow nodes of write pipelines, of all node numbers below `NODES`.
///
/// A writer that keeps one watch for all its pipelines ejects at most one node in a cooldown from all of
/// them. HDFS's clients know the idea as `dfs.client.mark.slownode.as.badnode.threshold`.
///
/// ```
/// use hedge_core::{AckTimes, Instant, NodeId, PipelineConfig, PipelineWatch, Span};
///
/// let mut watch = PipelineWatch::<16>::new(PipelineConfig::default())?;
/// let millis = Span::from_millis;
/// let acks = [
///     AckTimes { node: NodeId(3), downstream: millis(905), disk: millis(2) },
///     AckTimes { node: NodeId(7), downstream: millis(4), disk: millis(1) }, // 901 ms are its own
///     AckTimes { node: NodeId(9), downstream: Span::ZERO, disk: millis(2) },
/// ];
/// let mut second = 0;
/// let eject = loop {
///     second += 1;
///     if let Some(eject) = watch.record(Instant::from_millis(second * 1_000), None, &acks) {
///         break eject;
///     }
/// };
/// assert_eq!((second, eject.node, eject.position), (11, NodeId(7), 1));
/// # Ok::<(), hedge_core::PipelineConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PipelineWatch<const NODES: usize> {
    watch: Watch,
    states: [WriteState; NODES],
}

impl<const NODES: usize> PipelineWatch<NODES> {
    /// Pipelines of more nodes are ignored.
    pub const MOST_NODES: usize = MOST_NODES;

    /// A watch that has seen nothing.
    ///
    /// # Errors
    ///
    /// If the configuration is not [good](PipelineConfig::check).
    pub fn new(config: PipelineConfig) -> Result<Self, PipelineConfigError> {
        config.check()?;
        let watch = Watch { config, now: Instant::ZERO, ejected_at: None, ignored: 0 };
        Ok(Self { watch, states: [WriteState::NEW; NODES] })
    }

    /// Follows another configuration from now on; what was counted stays counted.
    ///
    /// # Errors
    ///
    /// If the configuration is not [good](PipelineConfig::check); then the old one stays.
    pub fn reconfigure(&mut self, config: PipelineConfig) -> Result<(), PipelineConfigError> {
        config.check()?;
        self.watch.config = config;
        Ok(())
    }

    /// An acknowledgement came: which node of its pipeline to eject now, if any.
    ///
    /// `acks` has one entry for each node, in the order of the pipeline, beginning next to the writer. `took` is
    /// what the writer itself saw, from sending the packet to its acknowledgement; without it the first node is
    /// judged by its disk alone.
    ///
    /// A node's own share is what its upstream saw less what it saw itself, or its disk time if that is longer.
    /// (Where the disk holds the acknowledgement up, the upstream sees it too, so the two are not added.)
    ///
    /// The node that is ejected has more slow acknowledgements in the window than the limit, this one among
    /// them, and of such nodes is the nearest to the writer. None is ejected when most nodes of the pipeline are
    /// slow, or were in this acknowledgement: then others would be no better. An ejection uses up the evidence
    /// against the node.
    ///
    /// Nodes that the watch does not know take part in the sums, and are never ejected. An acknowledgement of
    /// no node, of more than [`MOST_NODES`](Self::MOST_NODES), or that names a node twice is ignored and counted.
    pub fn record(&mut self, now: Instant, took: Option<Span>, acks: &[AckTimes]) -> Option<Eject> {
        self.watch.record(&mut self.states, now, took, acks)
    }

    /// How a node does; `None` for one that the watch does not know.
    #[must_use]
    pub fn node(&self, now: Instant, node: NodeId) -> Option<WriteHealth> {
        let state = self.states.get(usize::try_from(node.0).ok()?)?;
        Some(WriteHealth {
            slow_acks: state.slow_acks(self.watch.now.max(now), &self.watch.config),
            own: state.own.span(),
            ejected: state.ejected,
        })
    }

    /// How many acknowledgements were ignored.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.watch.ignored
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &PipelineConfig {
        &self.watch.config
    }
}

/// What a watch remembers of all nodes, with the logic, which is the same for any number of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    config: PipelineConfig,
    /// The latest instant that was given: a clock that steps back stands still.
    now: Instant,
    ejected_at: Option<Instant>,
    ignored: u64,
}

impl Watch {
    fn record(
        &mut self,
        states: &mut [WriteState],
        now: Instant,
        took: Option<Span>,
        acks: &[AckTimes],
    ) -> Option<Eject> {
        self.now = self.now.max(now);
        let now = self.now;
        if acks.is_empty() || acks.len() > MOST_NODES || names_one_twice(acks) {
            self.ignored = self.ignored.saturating_add(1);
            return None;
        }
        let config = &self.config;
        let mut slow_nodes = 0;
        let mut found = None;
        let mut upstream = took.unwrap_or(Span::ZERO);
        for (position, ack) in (0..).zip(acks) {
            let own = upstream.saturating_sub(ack.downstream).max(ack.disk);
            upstream = ack.downstream;
            let slow = own > config.slow;
            let state = usize::try_from(ack.node.0).ok().and_then(|index| states.get_mut(index));
            let Some(state) = state else {
                slow_nodes += usize::from(slow);
                continue;
            };
            state.own.take(own);
            if slow {
                state.count(now, config);
            }
            let slow_acks = state.slow_acks(now, config);
            let over = slow_acks > config.limit.into();
            slow_nodes += usize::from(slow || over);
            if slow && over && found.is_none() {
                found = Some(Eject { node: ack.node, position, slow_acks, own });
            }
        }
        let eject = found?;
        let rested = self.ejected_at.is_none_or(|at| now.since(at) >= config.cooldown);
        let most_are_slow = slow_nodes * 2 > acks.len();
        if !rested || most_are_slow || acks.len() <= config.least_nodes.into() {
            return None;
        }
        let state = usize::try_from(eject.node.0).ok().and_then(|index| states.get_mut(index))?;
        state.eject();
        self.ejected_at = Some(now);
        Some(eject)
    }
}

/// Unknown nodes are different ones.
fn names_one_twice(acks: &[AckTimes]) -> bool {
    let twice = |(at, ack): (usize, &AckTimes)| {
        ack.node != NodeId::UNKNOWN && acks[..at].iter().any(|other| other.node == ack.node)
    };
    acks.iter().enumerate().any(twice)
}

/// What a watch remembers of one node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct WriteState {
    /// When the current half of the window began.
    since: Instant,
    counted_at: Option<Instant>,
    slow: [u16; 2],
    own: Smooth,
    ejected: u16,
}

impl WriteState {
    const NEW: Self =
        Self { since: Instant::ZERO, counted_at: None, slow: [0; 2], own: Smooth::NONE, ejected: 0 };

    fn count(&mut self, now: Instant, config: &PipelineConfig) {
        if self.counted_at.is_some_and(|at| now.since(at) < config.stall) {
            return;
        }
        let (since, halves) = turned(self.since, now, config.window);
        self.since = since;
        shift(&mut self.slow, halves);
        self.slow[0] = self.slow[0].saturating_add(1);
        self.counted_at = Some(now);
    }

    fn slow_acks(&self, now: Instant, config: &PipelineConfig) -> u32 {
        let (_, halves) = turned(self.since, now, config.window);
        total(self.slow, halves)
    }

    fn eject(&mut self) {
        self.slow = [0; 2];
        self.counted_at = None;
        self.ejected = self.ejected.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    const MS: Span = Span::from_millis(1);

    /// Every slow acknowledgement counts; three are not enough, four are.
    fn config() -> PipelineConfig {
        PipelineConfig {
            slow: Span::from_millis(100),
            limit: 3,
            window: Span::from_secs(10),
            stall: Span::ZERO,
            cooldown: Span::from_secs(30),
            least_nodes: 2,
        }
    }

    fn watch(config: PipelineConfig) -> PipelineWatch<16> {
        PipelineWatch::new(config).unwrap()
    }

    /// An acknowledgement in which each node in turn took so many milliseconds of its own, with what the writer saw.
    fn ack(own: &[(u32, u64)]) -> (Option<Span>, Vec<AckTimes>) {
        let mut downstream = 0;
        let mut acks = Vec::new();
        for &(node, millis) in own.iter().rev() {
            acks.push(AckTimes { node: NodeId(node), downstream: Span::from_millis(downstream), disk: MS });
            downstream += millis;
        }
        acks.reverse();
        (Some(Span::from_millis(downstream)), acks)
    }

    /// Feeds the same acknowledgement each 100 ms from `from` on; the first ejection, with its number.
    fn feed(
        watch: &mut PipelineWatch<16>,
        from: u64,
        times: u64,
        own: &[(u32, u64)],
    ) -> Option<(u64, Eject)> {
        let (took, acks) = ack(own);
        (1..=times).find_map(|number| {
            let now = Instant::from_millis(from + number * 100);
            Some((number, watch.record(now, took, &acks)?))
        })
    }

    #[test]
    fn a_node_is_ejected_at_the_first_slow_acknowledgement_beyond_the_limit() {
        for slow in 0..3 {
            let mut own = [(5, 3), (6, 3), (7, 3)];
            own[slow].1 = 101;
            let (number, eject) = feed(&mut watch(config()), 0, 50, &own).unwrap();
            assert_eq!(number, 4);
            let wanted = Eject {
                node: NodeId(own[slow].0),
                position: slow as u8,
                slow_acks: 4,
                own: Span::from_millis(101),
            };
            assert_eq!(eject, wanted);
        }
    }

    #[test]
    fn exactly_as_slow_as_allowed_is_not_slow() {
        assert_eq!(feed(&mut watch(config()), 0, 100, &[(5, 100), (6, 100), (7, 100)]), None);
    }

    #[test]
    fn a_slow_node_is_not_blamed_on_those_before_it() {
        let mut watch = watch(config());
        feed(&mut watch, 0, 100, &[(1, 3), (2, 3), (3, 3), (4, 900)]);
        for node in 1..=3 {
            assert_eq!(watch.node(Instant::from_millis(10_000), NodeId(node)).unwrap().slow_acks, 0);
        }
    }

    #[test]
    fn of_two_slow_in_a_row_the_first_goes_first_and_the_second_after_the_cooldown() {
        let mut watch = watch(config());
        let (_, first) = feed(&mut watch, 0, 50, &[(1, 3), (2, 200), (3, 500), (4, 3), (5, 3)]).unwrap();
        assert_eq!((first.node, first.position), (NodeId(2), 1));
        // Four nodes are left, and one of them is slow.
        let (number, second) = feed(&mut watch, 400, 900, &[(1, 3), (3, 500), (4, 3), (5, 3)]).unwrap();
        assert_eq!((second.node, second.position), (NodeId(3), 1));
        assert_eq!(number, 300, "30 s after the first");
    }

    #[test]
    fn nobody_is_ejected_while_most_of_the_pipeline_is_slow() {
        assert_eq!(feed(&mut watch(config()), 0, 500, &[(1, 200), (2, 200), (3, 3)]), None);
        assert_eq!(feed(&mut watch(config()), 0, 500, &[(1, 200), (2, 200), (3, 200)]), None);
        // Half is not most.
        let half = PipelineConfig { least_nodes: 1, ..config() };
        assert!(feed(&mut watch(half), 0, 500, &[(1, 200), (2, 3)]).is_some());
    }

    #[test]
    fn slow_now_or_slow_before_others_count_as_slow() {
        // The other slow one is slow for the first time in the acknowledgement that would eject the first.
        let mut one = watch(config());
        assert_eq!(feed(&mut one, 0, 3, &[(1, 3), (2, 200), (3, 3)]), None);
        assert_eq!(feed(&mut one, 300, 1, &[(1, 200), (2, 200), (3, 3)]), None);
        assert!(feed(&mut one, 400, 1, &[(1, 3), (2, 200), (3, 3)]).is_some());
        // The other slow one happens to be quick this time.
        let mut two = watch(config());
        assert_eq!(feed(&mut two, 0, 9, &[(1, 200), (2, 200), (3, 3)]), None);
        assert_eq!(feed(&mut two, 900, 9, &[(1, 3), (2, 200), (3, 3)]), None);
    }

    #[test]
    fn an_ejection_uses_up_the_evidence() {
        let mut watch = watch(PipelineConfig { cooldown: Span::from_secs(1), ..config() });
        let own = [(1, 3), (2, 200), (3, 3)];
        feed(&mut watch, 0, 4, &own).unwrap();
        let health = watch.node(Instant::from_millis(400), NodeId(2)).unwrap();
        assert_eq!((health.slow_acks, health.ejected), (0, 1));
        assert_eq!(feed(&mut watch, 2_000, 3, &own), None);
        assert!(feed(&mut watch, 2_300, 1, &own).is_some());
    }

    #[test]
    fn a_pipeline_is_never_cut_below_its_least_length() {
        for least_nodes in 1..=5 {
            let mut watch = watch(PipelineConfig { least_nodes, ..config() });
            let mut own = std::vec![(0, 500), (1, 3), (2, 3), (3, 3), (4, 3)];
            for round in 0..6 {
                while let Some((_, eject)) = feed(&mut watch, round * 100_000, 5, &own) {
                    assert!(own.len() > usize::from(least_nodes));
                    own.remove(usize::from(eject.position));
                    own[0].1 = 500;
                }
            }
            assert_eq!(own.len(), usize::from(least_nodes));
        }
    }

    #[test]
    fn one_ejection_a_cooldown_however_many_are_slow() {
        let mut watch = watch(config());
        let mut ejected = Vec::new();
        for step in 0..150 {
            let now = Instant::from_millis(step * 1_000);
            // Five pipelines, each with a slow node of its own.
            for pipeline in 0..5 {
                let (took, acks) = ack(&[(pipeline * 3, 3), (pipeline * 3 + 1, 300), (pipeline * 3 + 2, 3)]);
                if watch.record(now, took, &acks).is_some() {
                    ejected.push(now);
                }
            }
        }
        assert_eq!(ejected.len(), 5, "150 s");
        assert!(ejected.windows(2).all(|pair| pair[1] - pair[0] >= config().cooldown));
    }

    #[test]
    fn slow_acknowledgements_are_forgotten_after_the_window() {
        let mut watch = watch(config());
        // One slow one in four seconds: at most three in ten seconds.
        for step in 0..400 {
            let (took, acks) = ack(&[(1, 3), (2, if step % 40 == 0 { 500 } else { 3 }), (3, 3)]);
            assert_eq!(watch.record(Instant::from_millis(step * 100), took, &acks), None);
        }
    }

    #[test]
    fn packets_that_waited_for_one_stall_count_once() {
        let mut watch = watch(PipelineConfig { stall: Span::from_millis(500), ..config() });
        let (took, acks) = ack(&[(1, 3), (2, 700), (3, 3)]);
        for packet in 0..80 {
            assert_eq!(watch.record(Instant::from_millis(1_000 + packet), took, &acks), None);
        }
        assert_eq!(watch.node(Instant::from_millis(1_080), NodeId(2)).unwrap().slow_acks, 1);
        assert!(feed(&mut watch, 1_100, 50, &[(1, 3), (2, 700), (3, 3)]).is_some());
    }

    #[test]
    fn a_fast_acknowledgement_ejects_nobody() {
        let mut watch = watch(config());
        // Node 2 is over the limit, but in cooldown's shadow.
        feed(&mut watch, 0, 4, &[(4, 3), (5, 300), (6, 3)]).unwrap();
        assert_eq!(feed(&mut watch, 29_000, 10, &[(1, 3), (2, 300), (3, 3)]), None);
        assert_eq!(feed(&mut watch, 31_000, 10, &[(1, 3), (2, 3), (3, 3)]), None);
        assert!(feed(&mut watch, 32_000, 1, &[(1, 3), (2, 300), (3, 3)]).is_some());
    }

    #[test]
    fn a_slow_disk_is_slow_also_where_no_upstream_tells() {
        let mut acks = [1, 2, 3].map(|node| AckTimes { node: NodeId(node), downstream: MS, disk: MS });
        acks[0].disk = Span::from_millis(101);
        let mut watch = watch(config());
        let eject = (0..4).find_map(|step| watch.record(Instant::from_millis(step), None, &acks));
        assert_eq!(eject.map(|eject| eject.node), Some(NodeId(1)));
    }

    #[test]
    fn a_disk_that_the_upstream_saw_too_is_not_counted_twice() {
        let mut watch = watch(config());
        let acks = [
            AckTimes { node: NodeId(1), downstream: Span::from_millis(62), disk: MS },
            AckTimes { node: NodeId(2), downstream: MS, disk: Span::from_millis(60) },
            AckTimes { node: NodeId(3), downstream: Span::ZERO, disk: MS },
        ];
        for step in 0..100 {
            assert_eq!(watch.record(Instant::from_millis(step), None, &acks), None);
        }
        let own = watch.node(Instant::ZERO, NodeId(2)).unwrap().own;
        assert_eq!(own, Some(Span::from_millis(61)));
    }

    #[test]
    fn an_acknowledgement_that_makes_no_sense_is_ignored_and_counted() {
        let mut watch = watch(config());
        let before = watch.clone();
        let entry = |node| AckTimes { node: NodeId(node), downstream: Span::ZERO, disk: Span::from_secs(9) };
        let twice = [entry(1), entry(2), entry(1)];
        let long: Vec<_> = (0..65).map(entry).collect();
        for _ in 0..10 {
            assert_eq!(watch.record(Instant::ZERO, None, &[]), None);
            assert_eq!(watch.record(Instant::ZERO, None, &twice), None);
            assert_eq!(watch.record(Instant::ZERO, None, &long), None);
        }
        assert_eq!(watch.ignored(), 30);
        assert_eq!(watch.states, before.states);
    }

    #[test]
    fn unknown_nodes_take_part_in_the_sums_and_are_never_ejected() {
        let unknown = NodeId::UNKNOWN.0;
        // Behind an unknown slow node the known ones are not blamed.
        let mut one = watch(config());
        assert_eq!(feed(&mut one, 0, 100, &[(1, 3), (16, 500), (2, 3), (3, 3)]), None);
        assert_eq!(one.node(Instant::ZERO, NodeId(16)), None);
        // Two nobody can name are two nodes, and slow ones among the many.
        let mut two = watch(config());
        assert_eq!(feed(&mut two, 0, 100, &[(unknown, 500), (unknown, 500), (3, 500), (4, 3)]), None);
        assert!(feed(&mut two, 20_000, 100, &[(unknown, 3), (unknown, 3), (3, 500), (4, 3)]).is_some());
        assert_eq!(two.ignored(), 0);
    }

    #[test]
    fn times_that_contradict_each_other_blame_nobody() {
        let mut watch = watch(config());
        let acks = [1, 2, 3].map(|node| AckTimes {
            node: NodeId(node),
            downstream: Span::from_secs(node.into()),
            disk: Span::ZERO,
        });
        for step in 0..100 {
            assert_eq!(watch.record(Instant::from_millis(step), Some(Span::ZERO), &acks[..2]), None);
        }
    }

    #[test]
    fn bad_fields_are_refused_by_name_and_leave_the_old_ones_in_force() {
        let mut watch = watch(config());
        for (bad, message) in [
            (PipelineConfig { slow: Span::ZERO, ..config() }, "slow must be more than 0: it is 0"),
            (PipelineConfig { window: Span::ZERO, ..config() }, "window must be more than 0: it is 0"),
            (PipelineConfig { cooldown: Span::ZERO, ..config() }, "cooldown must be more than 0: it is 0"),
            (PipelineConfig { least_nodes: 0, ..config() }, "least_nodes must be more than 0: it is 0"),
            (
                PipelineConfig { stall: Span::from_secs(2), ..config() },
                "limit times stall must be at most half of window: limit is 3, stall is 2s, window is 10s",
            ),
        ] {
            assert_eq!(watch.reconfigure(bad).unwrap_err().to_string(), message);
            assert_eq!(PipelineWatch::<1>::new(bad).unwrap_err().to_string(), message);
            assert_eq!(watch.config(), &config());
        }
        assert_eq!(PipelineConfig::default().check(), Ok(()));
        watch.reconfigure(PipelineConfig { limit: 0, ..config() }).unwrap();
        assert_eq!(feed(&mut watch, 0, 9, &[(1, 3), (2, 101), (3, 3)]).unwrap().0, 1);
    }

    #[test]
    fn any_times_at_any_instant_give_an_answer() {
        let edges = [0, 1, 1_000_000_000, u64::MAX - 1, u64::MAX];
        let mut watch = PipelineWatch::<4>::new(PipelineConfig { limit: 0, ..config() }).unwrap();
        let mut ejected = 0;
        for now in edges.into_iter().chain(edges.into_iter().rev()) {
            for downstream in edges {
                for disk in edges {
                    let acks = [0, 3, 4, u32::MAX].map(|node| AckTimes {
                        node: NodeId(node),
                        downstream: Span::from_nanos(if node == 3 { downstream } else { disk }),
                        disk: Span::from_nanos(disk / 2),
                    });
                    for took in [None, Some(Span::MAX)] {
                        let eject = watch.record(Instant::from_nanos(now), took, &acks);
                        ejected += u32::from(eject.is_some());
                    }
                }
            }
        }
        assert!(ejected >= 1);
        let mut none = PipelineWatch::<0>::new(config()).unwrap();
        let (took, acks) = ack(&[(0, 500), (1, 3)]);
        assert_eq!(none.record(Instant::MAX, took, &acks), None);
    }
}
