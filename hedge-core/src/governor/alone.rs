//! Whether a late leg is alone with its lateness: no two other nodes have been late lately.
//!
//! A node that freezes makes single legs late; load, or a client that froze itself, makes many late at once, of many nodes. Hedging the
//! former helps and costs little; hedging the latter is what a budget is there to stop. One other node is borne with: healthy
//! nodes are late now and then, too.

use crate::{Instant, NodeId, Span};

/// The nodes whose legs were late last, each once, the last one first. Legs of hedges are left out: each hedge makes some late.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Alone {
    last: [Option<(NodeId, Instant)>; 3],
}

impl Alone {
    /// A leg to this node is late.
    pub(crate) fn late(&mut self, now: Instant, node: NodeId) {
        let known = |entry: &Option<(NodeId, Instant)>| entry.is_none_or(|(other, _)| other == node);
        let place = self.last.iter().position(known).unwrap_or(2);
        self.last[..=place].rotate_right(1);
        self.last[0] = Some((node, now));
    }

    /// Whether at most one other node was late within the span.
    pub(crate) fn is(&self, now: Instant, node: NodeId, span: Span) -> bool {
        let others =
            self.last.iter().flatten().filter(|&&(other, at)| other != node && now.since(at) <= span);
        others.count() <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span::from_secs(2);

    fn secs(secs: u64) -> Instant {
        Instant::from_secs(secs)
    }

    #[test]
    fn a_node_is_alone_until_two_others_are_late_and_again_when_that_is_long_ago() {
        let [one, two, three] = [1, 2, 3].map(NodeId);
        let mut alone = Alone::default();
        for at in 0..5 {
            assert!(alone.is(secs(at), one, SPAN), "its own lateness does not count");
            alone.late(secs(at), one);
        }
        alone.late(secs(5), two);
        assert!([one, two].iter().all(|&node| alone.is(secs(5), node, SPAN)), "one other is borne with");
        assert!(!alone.is(secs(5), three, SPAN));
        alone.late(secs(5), three);
        assert!([one, two, three].iter().all(|&node| !alone.is(secs(6), node, SPAN)));
        assert!(alone.is(secs(7), two, SPAN), "the first was late at 4");
        assert!(!alone.is(secs(7), one, SPAN), "and the others at 5");
        assert!(alone.is(secs(8), one, SPAN));
    }

    #[test]
    fn of_many_nodes_none_is_alone() {
        let mut alone = Alone::default();
        for at in 0..90 {
            alone.late(Instant::from_millis(at), NodeId(at as u32 % 9));
        }
        assert!((0..12).all(|node| !alone.is(secs(1), NodeId(node), SPAN)));
    }
}
