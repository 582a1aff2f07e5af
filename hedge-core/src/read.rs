//! `StripeRead`: one read of one byte range of one stripe. This file is its face.
//!
//! `inputs.rs` takes in what happened, `decide.rs` draws the conclusions, `outputs.rs` hands them out. There is no queue of
//! outputs: each is derived from the state of its cell (`state.rs`), so that nothing can overflow.

mod decide;
mod inputs;
mod outputs;
mod state;
mod testing;

use core::ops::{Deref, DerefMut};

use crate::{
    Cause, CellSet, CheckedPlan, Evidence, Input, Instant, LegId, Mode, Outcome, Output, PlanError, ReadPlan,
    Span, Why,
};
use state::{NOT_CONNECTED, State, count};

pub use outputs::Due;
pub use state::{Slot, Tally};
#[cfg(feature = "testing")]
pub use testing::Fault;

/// One read of one byte range of one stripe: values in, values out, on the caller's clock.
///
/// It knows cells, not bytes: each of its legs reads the same range of another cell. Create it from a
/// [`ReadPlan`], do what [`poll_output`](StripeReadView::poll_output) says, and tell
/// [`handle`](StripeReadView::handle) what happens. The methods are those of [`StripeReadView`], to which this type derefs.
pub type StripeRead<const N: usize> = StripeReadInner<[Slot; N]>;

/// A [`StripeRead`] of any capacity, behind a reference: code that takes it is compiled once.
pub type StripeReadView = StripeReadInner<[Slot]>;

/// What [`StripeRead`] and [`StripeReadView`] have in common; `S` is the room for cells.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct StripeReadInner<S: ?Sized> {
    state: State,
    slots: S,
}

impl<const N: usize> StripeRead<N> {
    const NEW: Self = Self { state: State::NEW, slots: [Slot::NEW; N] };

    /// A read that begins at `now`.
    ///
    /// # Errors
    ///
    /// What [`ReadPlan::check`] says.
    #[inline]
    pub fn new(now: Instant, plan: &ReadPlan<N>) -> Result<Self, PlanError> {
        plan.checked().map(|plan| Self::begin(now, plan))
    }

    /// A read that begins at `now`, from a plan that was checked. It comes back by itself and not in a `Result`, which spares
    /// moving it about: a quarter of the time that an unhedged read takes.
    #[must_use]
    #[inline]
    pub fn begin(now: Instant, plan: CheckedPlan<'_, N>) -> Self {
        // The compiler puts a constant where it belongs; a literal with all the plan's values it would build elsewhere and move.
        let mut read = Self::NEW;
        read.set_up(now, plan.get());
        read
    }

    /// Begins another read in the place of this one, of which nothing is left: as [`begin`](Self::begin), for executors that keep
    /// reads in slots of their own and would rather not move one there.
    #[inline]
    pub fn begin_again(&mut self, now: Instant, plan: CheckedPlan<'_, N>) {
        *self = Self::NEW;
        self.set_up(now, plan.get());
    }

    fn set_up(&mut self, now: Instant, plan: &ReadPlan<N>) {
        for ((slot, &node), &order) in self.slots.iter_mut().zip(&plan.node).zip(&plan.order) {
            slot.node = node;
            slot.order = order;
        }
        for cell in plan.avoid {
            self.slot_mut(cell).avoid = true;
        }
        for cell in plan.suspect {
            self.slot_mut(cell).suspect = true;
        }
        let state = &mut self.state;
        state.now = now;
        state.k = plan.k;
        state.n = plan.n;
        state.wanted = plan.wanted;
        state.zero = plan.zero;
        state.held = plan.zero;
        state.erased = plan.missing;
        state.deadline = plan.deadline.unwrap_or(Instant::MAX);
        state.size_class = plan.size_class;
        state.spare = plan.spare;
        state.max_tries = plan.max_tries;
        state.hints = plan.hints;
        if plan.mode != Mode::Off {
            let clocks = &plan.clocks;
            state.hedging = true;
            state.dry_run = plan.mode == Mode::DryRun;
            state.eager = if let Mode::Eager(extra) = plan.mode { extra } else { 0 };
            state.late = clocks.late.unwrap_or(Span::MAX);
            state.late_hedge = clocks.late_hedge.unwrap_or(state.late);
            state.late_suspect = clocks.late_suspect.unwrap_or(state.late);
            state.stall = clocks.stall.unwrap_or(Span::MAX);
            state.retry_floor = clocks.retry_floor.max(Span::from_nanos(1));
            state.connect_counts = clocks.connect_counts;
        }
        for cell in plan.wanted - plan.zero - plan.missing - plan.avoid {
            self.plan_leg(cell, Why::Original, 0);
        }
        self.settle(false);
    }
}

impl<const N: usize> Clone for StripeRead<N> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), slots: self.slots }
    }
}

impl<const N: usize> Deref for StripeRead<N> {
    type Target = StripeReadView;
    #[inline]
    fn deref(&self) -> &StripeReadView {
        self
    }
}

impl<const N: usize> DerefMut for StripeRead<N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut StripeReadView {
        self
    }
}

impl StripeReadView {
    /// Takes an input: what happened at `now`. Legal at any time, also between two polls; poll afterwards.
    ///
    /// At one instant inputs count before the clock: lateness and the deadline act on [`Input::Timeout`], and the deadline also
    /// on any later input that is more than a start or a sign of life. A `now` before an earlier one counts as that one.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.state.now = self.state.now.max(now);
        let mut timeout = false;
        match input {
            Input::Started { leg, request }
                if self.is_live(leg) && !self.state.started.contains(leg.cell) =>
            {
                return self.started(leg.cell, request);
            }
            Input::Connected(leg) if self.is_running(leg) => {
                // Of a leg that was given up, or cut at the end, all was said.
                let in_time = self.state.flying.contains(leg.cell);
                let (now, slot) = (self.state.now, self.slot_mut(leg.cell));
                if in_time && slot.connect_micros == NOT_CONNECTED {
                    let micros = (now - slot.start).as_nanos().div_ceil(1_000);
                    slot.connect_micros = micros.min(u64::from(NOT_CONNECTED - 1)) as u32;
                }
                return self.progressed(leg.cell);
            }
            Input::Progress(leg) if self.is_running(leg) => return self.progressed(leg.cell),
            Input::Delivered(leg) if self.is_live(leg) => self.delivered(leg.cell),
            Input::Failed(leg, cause) if self.is_live(leg) => {
                count(&mut self.state.tally.failed);
                self.ended(leg.cell, cause);
            }
            Input::Stopped(leg) if self.is_live(leg) => {
                count(&mut self.state.tally.stopped);
                self.ended(leg.cell, Cause::Cancelled);
            }
            Input::GaveUp(leg, cause) if self.is_live(leg) && self.state.flying.contains(leg.cell) => {
                self.state.to_cancel.insert(leg.cell);
                self.lose(leg.cell, cause);
            }
            Input::Verdict { id, verdict } if self.state.petition_id == id && self.is_owed_a_verdict() => {
                self.judged(verdict);
            }
            Input::Decoded(ok) if self.state.decode.exists() && self.state.decode_polled => self.decoded(ok),
            Input::Timeout => timeout = true,
            Input::Abort if self.state.outcome.is_none() => self.finish(Outcome::Aborted),
            _ => {
                count(&mut self.state.tally.ignored);
                return;
            }
        }
        self.settle(timeout);
    }

    /// Whether the read is over and nothing of it is under way: no leg, no decode, no petition. It may be dropped
    /// once [`poll_output`](Self::poll_output) has returned `None`.
    #[must_use]
    pub fn drained(&self) -> bool {
        self.state.outcome.is_some()
            && self.state.leased.is_empty()
            && !self.state.decode.exists()
            && self.state.asking.is_none()
    }

    /// Cells whose buffers a leg may still write to.
    #[must_use]
    pub fn leased(&self) -> CellSet {
        self.state.leased
    }

    /// Cells that were delivered or are zeros; meaningful until the read is over.
    #[must_use]
    pub fn held(&self) -> CellSet {
        self.state.held
    }

    /// Cells with a leg planned or in flight. Legs that the executor gave up don't count.
    #[must_use]
    pub fn in_flight(&self) -> CellSet {
        self.state.flying
    }

    /// How the read ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.state.outcome
    }

    /// How many legs and hedges there have been.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.state.tally
    }

    /// Stragglers with a live grant.
    #[must_use]
    pub fn hedged(&self) -> CellSet {
        self.state.hedged
    }

    /// Ends the read for an executor that drops it: passes on what the governor has to know, and returns what the
    /// executor must see to by itself.
    ///
    /// Should the verdict that is still owed be a grant, the executor gives it back: [`Evidence::Refund`] of all its cells, and
    /// for a late leg [`Evidence::Hedge`] with [`HedgeResult::Unused`](crate::HedgeResult::Unused).
    pub fn abandon(&mut self, now: Instant, mut record: impl FnMut(Evidence)) -> Abandoned {
        // Nobody will tell of these legs any more, and nobody will start them.
        for cell in self.state.charged {
            self.refund_leg(cell);
        }
        self.handle(now, Input::Abort);
        while let Some(output) = self.poll_output() {
            if let Output::Tell(evidence) = output {
                record(evidence);
            }
        }
        Abandoned {
            leased: self.state.leased,
            decoding: self.state.decode.sources - self.state.zero,
            owed: self.is_owed_a_verdict().then_some(self.state.petition_id),
        }
    }

    fn slot(&self, cell: u8) -> &Slot {
        &self.slots[usize::from(cell)]
    }

    fn slot_mut(&mut self, cell: u8) -> &mut Slot {
        &mut self.slots[usize::from(cell)]
    }

    fn leg(&self, cell: u8) -> LegId {
        LegId { cell, attempt: self.slot(cell).attempt }
    }

    /// Whether this very leg was launched and has not ended.
    fn is_live(&self, leg: LegId) -> bool {
        self.state.leased.contains(leg.cell) && self.slot(leg.cell).attempt == leg.attempt
    }

    fn is_running(&self, leg: LegId) -> bool {
        self.is_live(leg) && self.state.started.contains(leg.cell)
    }

    fn is_owed_a_verdict(&self) -> bool {
        self.state.asking.is_some_and(|asking| asking.polled)
    }
}

/// What an executor that dropped a read has to see to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Abandoned {
    /// Cells whose buffers a leg may still write to: stop it and wait for it before they are used again.
    pub leased: CellSet,
    /// Cells whose buffers the running decode reads: wait for it before they are used again.
    pub decoding: CellSet,
    /// The petition whose verdict is still owed.
    pub owed: Option<u8>,
}
