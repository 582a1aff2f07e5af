//! For the exhaustive tests: faults to seed, and the part of the state that the future depends on.

use super::StripeReadView;
#[cfg(feature = "testing")]
use super::{
    StripeRead,
    state::{About, NOT_CONNECTED, Slot, Tally},
};
#[cfg(feature = "testing")]
use crate::{CellSet, HedgeResult, Instant, LegEnd, Outcome, RequestId, Span, Why};

/// Wrong readings of the rules. Each has been somebody's honest first idea; the tests seed them one by one and
/// must catch each.
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub))]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// A read that decodes ignores an original that comes meanwhile.
    DeafWhileDecoding,
    /// A hedge leg that failed softly erases its cell.
    HedgeFailureSpendsTheCell,
    /// At the finish, what a running decode reads is released, too.
    ReleaseIgnoresTheDecode,
    /// A refused leg may ask again at once.
    NoRetryFloor,
    /// A leg's clock starts anew when a sibling is delivered.
    SiblingsRearmTheClock,
    /// The read is done when as many cells were delivered as are wanted, whichever they are.
    CountsDeliveries,
    /// A cancelled leg's buffer is released at once.
    CancelFreesTheBuffer,
    /// Launches that nobody has polled outlive the read's end.
    LaunchesAfterTheEnd,
    /// A granted leg on which no work began is not given back.
    KeepsTheRefund,
    /// An answer about a leg that has ended is taken for one about the next leg to its cell.
    AnswersTheNextLeg,
}

impl StripeReadView {
    /// Whether this fault is seeded; never outside the tests.
    #[cfg_attr(not(feature = "testing"), expect(clippy::unused_self))]
    pub(super) fn seeded(&self, fault: Fault) -> bool {
        #[cfg(feature = "testing")]
        return self.state.fault == Some(fault);
        #[cfg(not(feature = "testing"))]
        {
            let _ = fault;
            false
        }
    }
}

#[cfg(feature = "testing")]
impl<const N: usize> StripeRead<N> {
    /// The same read with a fault in it.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.state.fault = Some(fault);
        self
    }

    /// The same read with another count of ignored inputs.
    #[must_use]
    pub fn with_ignored(mut self, ignored: u16) -> Self {
        self.state.tally.ignored = ignored;
        self
    }

    /// The part of the state that the future depends on: times relative to now, no counters, no identities,
    /// nothing about legs that have ended. What only evidence depends on is left out, too.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let mut read = self.clone();
        let (now, state) = (read.state.now, &mut read.state);
        let relative = |at: Instant| Instant::from_nanos((at - now).as_nanos());
        let age = |at: Instant| Instant::from_nanos((now - at).as_nanos());
        state.petition_id = 0;
        // Whether there is one to poll.
        state.refund = state.refund.min(1);
        state.wasted = 0;
        state.tally = Tally::NONE;
        state.finished_at = Instant::ZERO;
        state.charged = CellSet::EMPTY;
        state.settled = CellSet::EMPTY;
        state.extra = CellSet::EMPTY;
        state.started &= state.flying;
        state.late_legs &= state.flying;
        state.refused &= state.flying;
        state.hedged &= state.flying | state.soft;
        for (cell, slot) in (0..=u8::MAX).zip(&mut read.slots) {
            let state = &read.state;
            let (flying, late) = (state.flying.contains(cell), state.late_legs.contains(cell));
            let runs = state.started.contains(cell) && !late;
            let waits = late && !(state.hedged | state.refused).contains(cell);
            let undecided = !(state.held | state.erased).contains(cell);
            *slot = Slot {
                start: if runs { age(slot.start) } else { Instant::ZERO },
                mark: if waits {
                    relative(slot.mark)
                } else if runs && state.stall != Span::MAX {
                    age(slot.mark)
                } else {
                    Instant::ZERO
                },
                connect_micros: if runs && !state.connect_counts {
                    slot.connect_micros
                } else {
                    NOT_CONNECTED
                },
                request: RequestId::NONE,
                epoch: 0,
                probe: None,
                result: HedgeResult::Unused,
                cells: 0,
                spares: if state.hedged.contains(cell) { slot.spares } else { 0 },
                why: if flying { slot.why } else { Why::Original },
                grant: if flying && slot.why == Why::Hedge { slot.grant } else { 0 },
                attempt: 0,
                tries: if undecided { slot.tries.min(state.max_tries) } else { 0 },
                ended_why: Why::Original,
                end: LegEnd::Cut,
                asked: false,
                no_cells: slot.no_cells && state.refused.contains(cell),
                ..*slot
            };
        }
        if let Some(About::Straggler(leg)) = read.state.asking.as_mut().map(|asking| &mut asking.about) {
            // A leg to the same cell since then is another leg.
            leg.attempt = u8::from(self.is_straggling(*leg));
        }
        let kept = read.kept();
        let state = &mut read.state;
        if state.deadline != Instant::MAX {
            state.deadline = relative(state.deadline);
        }
        state.now = Instant::ZERO;
        if state.outcome.is_some() {
            if let Some(asking) = &mut state.asking {
                asking.about = About::Eager;
            }
            if state.decode.exists() {
                state.decode.sources -= kept | state.zero;
                state.decode.wanted = CellSet::one(0);
            }
            state.deadline = Instant::MAX;
            if !state.to_finish {
                state.outcome = Some(Outcome::Aborted);
            }
            for set in [&mut state.held, &mut state.erased, &mut state.soft, &mut state.hedged] {
                *set = CellSet::EMPTY;
            }
            state.no_decode = false;
            state.hint = (CellSet::EMPTY, CellSet::EMPTY);
            read.slots.fill(Slot::NEW);
        }
        read
    }
}
