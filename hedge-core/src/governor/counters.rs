//! What the governor counts: plain numbers for operators, and how they map to the counters of HDFS.

use crate::{HedgeResult, Reason, Span};

/// Counts since the governor was created; at their maximum they stay there.
///
/// `granted` = `won` + `lost` + `void` + `unused` + those still [open](Self::open).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Hedges granted.
    pub granted: u64,
    /// Hedges that rebuilt their straggler in a read that ended well.
    pub won: u64,
    /// Hedges whose read ended well without them: the original won.
    pub lost: u64,
    /// Hedges whose read did not end well, or that failed by themselves.
    pub void: u64,
    /// Hedges of which nothing was launched.
    pub unused: u64,
    /// Petitions refused, by [`Reason`], in the order of [`Reason::ALL`].
    pub refused: [u64; Reason::COUNT],
    /// Eager starts granted.
    pub eager: u64,
    /// Cells granted to hedges.
    pub cells_granted: u64,
    /// Cells granted to eager starts.
    pub cells_eager: u64,
    /// Granted cells that cost nothing.
    pub cells_refunded: u64,
    /// What won hedges cost.
    pub cells_won_back: u64,
    /// Cells read by leave that no rebuild used.
    pub cells_wasted: u64,
    /// Cells delivered to finished reads.
    pub cells_read: u64,
    /// Reads finished.
    pub reads: u64,
    /// Those of them without the wanted bytes.
    pub reads_not_ok: u64,
    /// Reads prepared to start rebuilt, around a demoted node: each costs k cells where one or a few would do.
    pub reads_around: u64,
    /// Stragglers that came after the rebuild that beat them.
    pub saved: u64,
    /// By how much they came later, in sum.
    pub time_saved: Span,
    /// How often the breaker opened, or stayed open for another cooldown, for too many impaired nodes.
    pub trips_impaired: u64,
    /// How often the breaker opened because hedges were of no use.
    pub trips_useless: u64,
    /// How long the breaker was open: cooldowns that have ended.
    pub time_open: Span,
    /// Outcomes of hedges that were granted before the breaker last moved.
    pub stale_outcomes: u64,
    /// Legs of unknown nodes, of which nothing is learnt.
    pub ignored: u64,
}

impl Counters {
    /// How many petitions were refused for this reason.
    #[must_use]
    pub const fn refused_for(&self, reason: Reason) -> u64 {
        self.refused[reason as usize]
    }

    /// How many petitions would have been granted, but for a dry run.
    #[must_use]
    pub const fn would_grant(&self) -> u64 {
        self.refused_for(Reason::DryRun)
    }

    /// How many petitions were refused.
    #[must_use]
    pub fn refused_in_all(&self) -> u64 {
        self.refused.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Hedges granted that are not settled.
    #[must_use]
    pub const fn open(&self) -> u64 {
        let settled =
            self.won.saturating_add(self.lost).saturating_add(self.void).saturating_add(self.unused);
        self.granted.saturating_sub(settled)
    }

    /// `hedgedReadOps` of HDFS: how often a hedge was started (`DFSHedgedReadMetrics`).
    #[must_use]
    pub const fn hedged_read_ops(&self) -> u64 {
        self.granted
    }

    /// `hedgedReadOpsWin` of HDFS: how often the hedge, not the original, gave the bytes (`DFSHedgedReadMetrics`).
    #[must_use]
    pub const fn hedged_read_ops_win(&self) -> u64 {
        self.won
    }

    /// `hedgedReadOpsInCurThread` of HDFS: how often there was no room for a hedge, which HDFS then runs in
    /// the reader's own thread (`DFSHedgedReadMetrics`). Here: refused for the rate or the budget.
    #[must_use]
    pub const fn hedged_read_ops_in_cur_thread(&self) -> u64 {
        self.refused_for(Reason::Rate).saturating_add(self.refused_for(Reason::Budget))
    }

    pub(super) fn refuse(&mut self, reason: Reason) {
        add(&mut self.refused[reason as usize], 1);
    }

    pub(super) fn settle(&mut self, result: HedgeResult) {
        let counter = match result {
            HedgeResult::Won => &mut self.won,
            HedgeResult::Lost => &mut self.lost,
            HedgeResult::Void => &mut self.void,
            HedgeResult::Unused => &mut self.unused,
        };
        add(counter, 1);
    }
}

pub(super) const fn add(counter: &mut u64, by: u64) {
    *counter = counter.saturating_add(by);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_counter_of_its_own() {
        let mut counters = Counters::default();
        for (already, reason) in (0..).zip(Reason::ALL) {
            assert_eq!(counters.refused_in_all(), already);
            counters.refuse(reason);
            assert_eq!(counters.refused_for(reason), 1, "{reason:?}");
        }
        assert_eq!(counters.hedged_read_ops_in_cur_thread(), 2);
    }

    #[test]
    fn what_is_granted_is_settled_once_or_open() {
        let mut counters = Counters { granted: 5, ..Counters::default() };
        let results = [HedgeResult::Won, HedgeResult::Lost, HedgeResult::Void, HedgeResult::Unused];
        for (settled, result) in (1..).zip(results) {
            counters.settle(result);
            assert_eq!(counters.open(), 5 - settled, "{result:?}");
        }
        assert_eq!((counters.won, counters.lost, counters.void, counters.unused), (1, 1, 1, 1));
        assert_eq!((counters.hedged_read_ops(), counters.hedged_read_ops_win()), (5, 1));
    }

    #[test]
    fn a_counter_at_its_maximum_stays_there() {
        let mut counters = Counters { won: u64::MAX, ..Counters::default() };
        counters.refused = [u64::MAX; Reason::COUNT];
        counters.settle(HedgeResult::Won);
        counters.refuse(Reason::Rate);
        assert_eq!((counters.won, counters.refused_in_all(), counters.open()), (u64::MAX, u64::MAX, 0));
    }
}
