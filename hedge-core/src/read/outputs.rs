//! What a read hands out: its outputs, one a poll, and its next deadline.

use super::StripeReadView;
use super::state::{About, Decode, NOT_CONNECTED, count};
use super::testing::Fault;
use crate::{CellSet, Evidence, Instant, LegId, Outcome, Output, Petition, Subject, Why};

/// What [`StripeReadView::next_deadline`] waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Due {
    /// This leg becomes late.
    Late(LegId),
    /// This late leg, refused before, may ask again.
    Retry(LegId),
    /// The read's own deadline.
    Deadline,
}

impl StripeReadView {
    /// The next thing to do, or `None` until the next input.
    ///
    /// In one round the outputs come in this order: `Tell`, `Release`, `Finish`, `Cancel`, `Decode`, `Plan`, `Launch`, `Petition`.
    /// Inputs may be handled between two polls.
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(evidence) = self.poll_evidence() {
            return Some(Output::Tell(evidence));
        }
        let state = &mut self.state;
        if let Some(cell) = state.to_release.pop() {
            return Some(Output::Release(self.leg(cell)));
        }
        if let (true, Some(outcome)) = (state.to_finish, state.outcome) {
            state.to_finish = false;
            return Some(Output::Finish(outcome));
        }
        if let Some(cell) = state.to_cancel.pop() {
            return Some(Output::Cancel(self.leg(cell)));
        }
        if state.decode.exists() && !state.decode_polled {
            state.decode_polled = true;
            let Decode { wanted, sources } = state.decode;
            return Some(Output::Decode { wanted, sources });
        }
        if state.to_hint {
            state.to_hint = false;
            let (wanted, sources) = state.hint;
            return Some(Output::Plan { wanted, sources });
        }
        if let Some(cell) = state.to_launch.pop() {
            return Some(self.poll_launch(cell));
        }
        match state.asking.as_mut().filter(|asking| !asking.polled) {
            Some(asking) => {
                asking.polled = true;
                let about = asking.about;
                Some(Output::Petition(self.poll_petition(about)))
            }
            None => None,
        }
    }

    fn poll_evidence(&mut self) -> Option<Evidence> {
        let state = &mut self.state;
        if let Some(cell) = state.to_tell.pop() {
            let (size_class, slot) = (state.size_class, self.slot(cell));
            return Some(Evidence::Leg {
                node: slot.node,
                request: slot.request,
                why: slot.ended_why,
                size_class,
                connect_micros: (slot.connect_micros != NOT_CONNECTED).then_some(slot.connect_micros),
                took: slot.mark - slot.start,
                end: slot.end,
            });
        }
        if let Some(cell) = state.to_save.pop() {
            let (finished_at, slot) = (state.finished_at, self.slot(cell));
            return Some(Evidence::Saved { node: slot.node, by: slot.mark - finished_at });
        }
        if let Some(straggler) = state.to_settle.pop() {
            let slot = self.slot(straggler);
            return Some(Evidence::Hedge { permit: slot.permit(), cells: slot.cells, result: slot.result });
        }
        if state.refund > 0 {
            return Some(Evidence::Refund { cells: core::mem::take(&mut state.refund) });
        }
        if state.to_report {
            state.to_report = false;
            let ok = matches!(state.outcome, Some(Outcome::Ok { .. }));
            let cells = (state.held - state.zero).len();
            return Some(Evidence::Read { cells, wasted: state.wasted, ok });
        }
        None
    }

    fn poll_launch(&mut self, cell: u8) -> Output {
        self.state.leased.insert(cell);
        count(&mut self.state.tally.launched);
        let slot = self.slot_mut(cell);
        slot.attempt = slot.attempt.wrapping_add(1);
        if matches!(slot.why, Why::Original | Why::Degraded) {
            slot.tries = slot.tries.saturating_add(1);
        }
        slot.asked = false;
        let (node, why) = (slot.node, slot.why);
        Output::Launch { leg: self.leg(cell), node, why }
    }

    fn poll_petition(&mut self, about: About) -> Petition {
        self.state.petition_id = self.state.petition_id.wrapping_add(1);
        let (subject, cells) = match about {
            About::Eager => {
                let cells = self.eager_cells(u8::MAX);
                (Subject::Eager, cells)
            }
            About::Straggler(leg) => {
                let cell = leg.cell;
                let (need, spare) = self.cost(cell);
                let slot = self.slot_mut(cell);
                let again = core::mem::replace(&mut slot.asked, true);
                let (node, why, request) = (slot.node, slot.why, slot.request);
                (Subject::Late { leg, node, why, request, again }, need + spare)
            }
        };
        let state = &self.state;
        Petition {
            id: state.petition_id,
            subject,
            cells,
            size_class: state.size_class,
            deadline: self.deadline(),
            dry_run: state.dry_run,
        }
    }

    /// When to call [`handle`](Self::handle) with [`Input::Timeout`](crate::Input::Timeout) at the latest, and what for; `None`: only an
    /// event can move the read on. Right after that call it is later than its instant.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Instant, Due)> {
        let state = &self.state;
        if state.outcome.is_some() {
            return None;
        }
        let mut next = self.deadline().map(|deadline| (deadline, Due::Deadline));
        let mut see = |at, due| {
            if next.is_none_or(|(sooner, _)| at < sooner) {
                next = Some((at, due));
            }
        };
        if state.decode.exists() || !state.hedging {
            return next;
        }
        for cell in (state.flying & state.started) - state.late_legs {
            if let Some(at) = self.late_at(cell) {
                see(at, Due::Late(self.leg(cell)));
            }
        }
        // While a petition is out, its verdict moves the read on. A retry whose instant has passed stays due: inputs that are only
        // noted, or ignored, may have come first.
        if state.asking.is_none() || (self.seeded(Fault::NoRetryFloor) && !self.is_owed_a_verdict()) {
            for cell in (state.late_legs & state.flying) - state.hedged - state.refused {
                see(self.slot(cell).mark, Due::Retry(self.leg(cell)));
            }
        }
        next
    }

    fn deadline(&self) -> Option<Instant> {
        (self.state.deadline != Instant::MAX).then_some(self.state.deadline)
    }

    /// Cells that wait to be launched, for audits: planned, and not yet polled.
    #[must_use]
    pub fn planned(&self) -> CellSet {
        self.state.to_launch
    }
}
