//! What a slow set is used for: the order of a block's locations for a read, and the nodes that take a write.

use alloc::vec::Vec;
use core::cmp::Ordering;

use hedge_core::{Instant, NodeId, Span};

use super::SlowNode;

/// How good a node is as the place of a read or a write.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Condition {
    /// Nothing is known against it.
    Healthy,
    /// It is in the slow set.
    Slow {
        /// How many times as slow as its peers it is.
        factor: f64,
    },
    /// It was not heard of for too long.
    Stale {
        /// For so long.
        silent: Span,
    },
    /// It is being emptied: it may be read from if need be, and takes no writes.
    Decommissioning,
}

impl Condition {
    fn group(&self) -> u8 {
        match self {
            Self::Healthy => 0,
            Self::Slow { .. } => 1,
            Self::Stale { .. } => 2,
            Self::Decommissioning => 3,
        }
    }

    /// Less is better, within a group, too.
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Slow { factor: a }, Self::Slow { factor: b }) => a.total_cmp(b),
            (Self::Stale { silent: a }, Self::Stale { silent: b }) => a.cmp(b),
            _ => self.group().cmp(&other.group()),
        }
    }
}

/// What is known of a node where a read or a write is placed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NodeFacts {
    /// Its entry in the slow set, if it has one.
    pub slow: Option<SlowNode>,
    /// When it was last heard of, if ever.
    pub last_heard: Option<Instant>,
    /// Whether it is being emptied.
    pub decommissioning: bool,
}

/// A node's condition: the worst that applies. It is stale if it was never heard of, or not for longer than `stale_after`.
#[must_use]
pub fn condition(now: Instant, stale_after: Span, facts: &NodeFacts) -> Condition {
    if facts.decommissioning {
        return Condition::Decommissioning;
    }
    let silent = facts.last_heard.map_or(Span::MAX, |heard| now.since(heard));
    if silent > stale_after || facts.last_heard.is_none() {
        return Condition::Stale { silent };
    }
    match facts.slow {
        Some(slow) => Condition::Slow { factor: slow.evidence.factor },
        None => Condition::Healthy,
    }
}

/// Orders the locations of a read: healthy ones first, then slow, stale, decommissioning; within each group the order that the
/// caller gave them (by distance, say) stays. HDFS orders them so since HDFS-16076.
pub fn order_locations<T>(locations: &mut [T], mut condition: impl FnMut(&T) -> Condition) {
    // Asked once for each: the answers may cost something, and must not change meanwhile.
    locations.sort_by_cached_key(|location| condition(location).group());
}

/// The candidates that take a write, in the order given: the healthy ones; if these are fewer than `least`, the least slow ones with them, then
/// the stale ones last heard of, until there are `least`. Those being emptied take none, so there may be fewer. HDFS
/// leaves slow nodes out since HDFS-15879.
#[must_use]
pub fn write_targets(
    candidates: &[NodeId],
    least: usize,
    mut condition: impl FnMut(NodeId) -> Condition,
) -> Vec<NodeId> {
    let mut all: Vec<(usize, NodeId, Condition)> = candidates
        .iter()
        .enumerate()
        .map(|(place, &node)| (place, node, condition(node)))
        .filter(|(_, _, condition)| *condition != Condition::Decommissioning)
        .collect();
    all.sort_by(|a, b| a.2.compare(&b.2));
    let healthy = all.iter().take_while(|one| one.2 == Condition::Healthy).count();
    all.truncate(healthy.max(least));
    all.sort_by_key(|one| one.0);
    all.into_iter().map(|(_, node, _)| node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlowEvidence;

    const STALE_AFTER: Span = Span::from_secs(30);

    fn slow(factor: f64) -> Condition {
        Condition::Slow { factor }
    }

    fn stale(secs: u64) -> Condition {
        Condition::Stale { silent: Span::from_secs(secs) }
    }

    fn facts(slow: bool, heard: Option<u64>, decommissioning: bool) -> NodeFacts {
        let slow = slow.then_some(SlowNode {
            node: NodeId(1),
            since: Instant::ZERO,
            evidence: SlowEvidence { reporters: 3, observers: 9, factor: 4.0 },
            clean: 0,
            needed: 6,
        });
        NodeFacts { slow, last_heard: heard.map(Instant::from_secs), decommissioning }
    }

    #[test]
    fn the_worst_that_applies_is_a_nodes_condition() {
        let is = |facts: NodeFacts| condition(Instant::from_secs(100), STALE_AFTER, &facts);
        assert_eq!(is(facts(false, Some(100), false)), Condition::Healthy);
        assert_eq!(is(facts(false, Some(70), false)), Condition::Healthy);
        assert_eq!(is(facts(true, Some(100), false)), slow(4.0));
        assert_eq!(is(facts(true, Some(69), false)), stale(31));
        assert_eq!(is(facts(false, None, false)), Condition::Stale { silent: Span::MAX });
        assert_eq!(is(facts(true, None, true)), Condition::Decommissioning);
        assert_eq!(is(facts(false, Some(100), true)), Condition::Decommissioning);
        // Heard of in the future, by a clock that has stepped back.
        assert_eq!(is(facts(false, Some(200), false)), Condition::Healthy);
        // Never heard of is stale, however long one may be silent.
        let never = condition(Instant::from_secs(100), Span::MAX, &facts(false, None, false));
        assert_eq!(never, Condition::Stale { silent: Span::MAX });
    }

    #[test]
    fn locations_keep_their_order_within_their_group() {
        let conditions = [
            Condition::Decommissioning,
            slow(9.0),
            Condition::Healthy,
            stale(99),
            slow(4.0),
            Condition::Healthy,
            stale(40),
            Condition::Decommissioning,
            Condition::Healthy,
        ];
        let mut locations = [0, 1, 2, 3, 4, 5, 6, 7, 8];
        order_locations(&mut locations, |&location: &usize| conditions[location]);
        assert_eq!(locations, [2, 5, 8, 1, 4, 3, 6, 0, 7]);
        order_locations(&mut [], |_: &u8| Condition::Healthy);
    }

    #[test]
    fn writes_go_to_healthy_nodes_unless_these_are_too_few() {
        let conditions = [slow(9.0), Condition::Healthy, stale(50), slow(3.0), stale(40), Condition::Healthy];
        let nodes: [NodeId; 7] = core::array::from_fn(|node| NodeId(node as u32));
        let targets = |least| -> Vec<u32> {
            let condition =
                |node: NodeId| conditions.get(node.0 as usize).copied().unwrap_or(Condition::Decommissioning);
            write_targets(&nodes, least, condition).iter().map(|node| node.0).collect()
        };
        assert_eq!(targets(0), [1, 5]);
        assert_eq!(targets(2), [1, 5]);
        assert_eq!(targets(3), [1, 3, 5]);
        assert_eq!(targets(4), [0, 1, 3, 5]);
        assert_eq!(targets(5), [0, 1, 3, 4, 5]);
        assert_eq!(targets(6), [0, 1, 2, 3, 4, 5]);
        assert_eq!(targets(7), [0, 1, 2, 3, 4, 5]);
        assert!(write_targets(&[], 3, |_| Condition::Healthy).is_empty());
    }
}
