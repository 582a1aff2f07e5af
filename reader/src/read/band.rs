//! A band of a read: one `StripeRead` of hedge-core, and the bytes that belong to it.

use std::ops::Range;

use hedge_core::{CellSet, CheckedPlan, LegId, Outcome, ReadPlan, StripeRead, StripeReadView};

use crate::Failure;

/// A plan of either capacity, checked and turned into a read. Most schemas fit the small one.
pub(super) fn begin<const N: usize>(
    now: hedge_core::Instant,
    plan: CheckedPlan<'_, N>,
) -> Box<StripeReadView> {
    Box::new(StripeRead::begin(now, plan))
}

pub(super) struct Band {
    pub(super) read: Box<StripeReadView>,
    /// Where its bytes belong in the file.
    pub(super) layout: hedgerow_codec::Band,
    /// The block group, as an index in the window.
    pub(super) group: usize,
    /// The bytes of each internal block.
    pub(super) range: Range<u64>,
    pub(super) zeros: CellSet,
    /// For each cell, the fetch that has or had its bytes.
    pub(super) fetch: Vec<Option<(usize, LegId)>>,
    pub(super) decoded: Vec<(u8, Vec<u8>)>,
    pub(super) outcome: Option<Outcome>,
    /// How legs failed, the latest last.
    pub(super) failures: Vec<(u8, Failure, String)>,
}

impl Band {
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX)
    }
}

/// The room that a read of `n` cells gets.
pub(super) const SMALL: usize = 16;
pub(super) const LARGE: usize = 64;

/// What every plan has in common, whatever its capacity.
pub(super) fn plan_for<const N: usize>(k: u8, n: u8, turn: u64) -> ReadPlan<N> {
    let mut plan = ReadPlan::new(k, n);
    // Another first source each time, so that hedges spread over the nodes.
    let first = (turn % u64::from(n)) as usize;
    let cells = usize::from(n).min(N);
    if let Some(order) = plan.order.get_mut(..cells) {
        order.rotate_left(first);
    }
    plan
}
