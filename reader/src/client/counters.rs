//! What a client counts, beside what its governor does.

use std::sync::atomic::{AtomicU64, Ordering};

use hedge_core::{Reason, Snapshot};

use super::Shared;

/// Counts since the client was created.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) reads: AtomicU64,
    pub(crate) reads_failed: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) queued: AtomicU64,
    pub(crate) legs: AtomicU64,
    pub(crate) hedge_cells: AtomicU64,
    pub(crate) degraded_legs: AtomicU64,
    pub(crate) bad_records: AtomicU64,
    pub(crate) decodes: AtomicU64,
    pub(crate) decodes_checked: AtomicU64,
    pub(crate) decodes_wrong: AtomicU64,
    pub(crate) late_timers: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// The state of a client, for operators.
///
/// Beside it the same is told to whatever recorder the `metrics` facade has: see the crate's page for the names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientSnapshot {
    /// The governor's: breaker, threshold, and the counters of hedges and refusals by reason. Its `saved` and `time_saved` stay
    /// near 0: what a rebuild has beaten is stopped, so nobody learns how much later it would have come.
    pub governor: Snapshot,
    /// Calls for bytes that ended, well or not.
    pub reads: u64,
    /// Those of them that failed.
    pub reads_failed: u64,
    /// Bytes handed to callers.
    pub bytes: u64,
    /// Requests that were begun.
    pub requests: u64,
    /// Requests that wait for their turn now.
    pub queued: u64,
    /// Reads under way now; a stream that reads ahead is one.
    pub reading: u64,
    /// Requests of which something still goes on now, also beyond their reads.
    pub leases: u64,
    /// Bytes of memory in use now.
    pub memory: u64,
    /// Legs launched, of all kinds.
    pub legs: u64,
    /// Legs launched by hedges and eager starts: cells beyond what the reads needed.
    pub hedge_cells: u64,
    /// Legs launched because a wanted cell was lost, or lies on a demoted node.
    pub degraded_legs: u64,
    /// Records whose checksum was wrong.
    pub bad_records: u64,
    /// Decodes.
    pub decodes: u64,
    /// Decodes that were decoded back and compared.
    pub decodes_checked: u64,
    /// Those of them that were wrong.
    pub decodes_wrong: u64,
    /// Timers that fired late because the runtime was busy, and blamed nobody.
    pub late_timers: u64,
}

impl ClientSnapshot {
    pub(super) fn of(shared: &Shared) -> Self {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &shared.counters;
        Self {
            governor: shared.oversight.snapshot(shared.now()),
            reads: of(&counters.reads),
            reads_failed: of(&counters.reads_failed),
            bytes: of(&counters.bytes),
            requests: of(&counters.requests),
            queued: of(&counters.queued),
            reading: shared.reading(),
            leases: shared.leases(),
            memory: shared.memory.used(),
            legs: of(&counters.legs),
            hedge_cells: of(&counters.hedge_cells),
            degraded_legs: of(&counters.degraded_legs),
            bad_records: of(&counters.bad_records),
            decodes: of(&counters.decodes),
            decodes_checked: of(&counters.decodes_checked),
            decodes_wrong: of(&counters.decodes_wrong),
            late_timers: of(&counters.late_timers),
        }
    }

    /// Petitions refused, by reason, with those reasons that occurred.
    pub fn refused(&self) -> impl Iterator<Item = (Reason, u64)> {
        let counters = self.governor.counters;
        Reason::ALL
            .into_iter()
            .map(move |reason| (reason, counters.refused_for(reason)))
            .filter(|&(_, count)| count > 0)
    }
}
