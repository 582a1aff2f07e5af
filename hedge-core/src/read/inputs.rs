//! What an input does to a read's legs, hedges and decode, before `decide.rs` draws the conclusions.

use super::StripeReadView;
use super::state::{About, Decode, NOT_CONNECTED, Slot, count};
use super::testing::Fault;
use crate::{
    Cause, CellSet, HedgeResult, Instant, LegEnd, LegId, Outcome, Permit, Reason, RequestId, Verdict, Why,
};

impl StripeReadView {
    pub(super) fn started(&mut self, cell: u8, request: RequestId) {
        let now = self.state.now;
        self.state.started.insert(cell);
        self.work_began(cell);
        let slot = self.slot_mut(cell);
        slot.start = now;
        slot.mark = now;
        slot.request = request;
        slot.connect_micros = NOT_CONNECTED;
    }

    /// A granted leg costs what was granted for it.
    fn work_began(&mut self, cell: u8) {
        if self.state.charged.contains(cell) {
            self.state.charged.remove(cell);
            self.state.extra.insert(cell);
        }
    }

    /// A sign of life. It does not make a late leg punctual.
    pub(super) fn progressed(&mut self, cell: u8) {
        if self.state.flying.contains(cell) && !self.state.late_legs.contains(cell) {
            self.slot_mut(cell).mark = self.state.now;
        }
    }

    pub(super) fn delivered(&mut self, cell: u8) {
        count(&mut self.state.tally.delivered);
        let in_time = self.state.flying.contains(cell);
        // Delivered, so work was done, whatever was said of its beginning.
        self.work_began(cell);
        self.end(cell);
        if let Some(outcome) = self.state.outcome {
            let beaten = matches!(outcome, Outcome::Ok { decoded, .. } if decoded.contains(cell));
            if beaten && self.state.started.contains(cell) {
                self.slot_mut(cell).mark = self.state.now;
                self.state.to_save.insert(cell);
            }
            self.state.to_release.insert(cell);
        } else if in_time {
            if self.state.hedged.contains(cell) {
                self.ask_again_for_cells();
            }
            self.tell(cell, LegEnd::Delivered);
            self.state.flying.remove(cell);
            self.state.held.insert(cell);
        } else if self.state.erased.contains(cell) {
            self.state.to_release.insert(cell);
        } else {
            // Given up too early: a cell is a cell.
            self.state.soft.remove(cell);
            self.state.held.insert(cell);
            self.ask_again_for_cells();
        }
    }

    /// The leg's writer is gone, and the cell did not come.
    pub(super) fn ended(&mut self, cell: u8, cause: Cause) {
        self.end(cell);
        self.state.to_release.insert(cell);
        if self.state.charged.contains(cell) {
            self.refund_leg(cell);
        }
        if self.state.outcome.is_some() {
            return;
        }
        if self.state.flying.contains(cell) {
            self.lose(cell, cause);
        } else if cause.erases() {
            self.state.soft.remove(cell);
            self.state.erased.insert(cell);
        }
    }

    fn end(&mut self, cell: u8) {
        self.state.leased.remove(cell);
        self.state.to_cancel.remove(cell);
    }

    /// A granted leg cost nothing, because work on it never began.
    pub(super) fn refund_leg(&mut self, cell: u8) {
        if !self.seeded(Fault::KeepsTheRefund) {
            self.state.refund = self.state.refund.saturating_add(1);
        }
        let straggler = self.slot(cell).grant;
        if self.is_charged_to(cell, straggler) && self.state.hedged.contains(straggler) {
            let slot = self.slot_mut(straggler);
            slot.cells = slot.cells.saturating_sub(1);
        }
        self.state.charged.remove(cell);
    }

    /// Whether this leg, on which no work began, is on the account of the straggler's hedge that is not settled.
    pub(super) fn is_charged_to(&self, cell: u8, straggler: u8) -> bool {
        let slot = self.slot(cell);
        (self.state.charged - self.state.settled).contains(cell)
            && slot.why == Why::Hedge
            && slot.grant == straggler
    }

    /// The leg in flight is to be told of.
    pub(super) fn tell(&mut self, cell: u8, end: LegEnd) {
        let now = self.state.now;
        let slot = self.slot_mut(cell);
        slot.end = end;
        slot.ended_why = slot.why;
        slot.mark = now;
        if self.state.started.contains(cell) {
            self.state.to_tell.insert(cell);
        }
    }

    /// The leg in flight will not bring its cell.
    pub(super) fn lose(&mut self, cell: u8, cause: Cause) {
        self.tell(cell, LegEnd::Failed(cause));
        self.state.flying.remove(cell);
        if cause.erases()
            || (self.seeded(Fault::HedgeFailureSpendsTheCell) && self.slot(cell).why == Why::Hedge)
        {
            self.state.erased.insert(cell);
        } else {
            self.state.soft.insert(cell);
        }
        let Slot { why, grant, .. } = *self.slot(cell);
        if why == Why::Hedge && self.state.hedged.contains(grant) {
            let straggler = self.slot_mut(grant);
            match straggler.spares.checked_sub(1) {
                Some(left) => straggler.spares = left,
                None => self.void(grant),
            }
        }
        self.ask_again_for_cells();
    }

    /// The straggler's hedge can't complete any more: it may ask for another at once.
    pub(super) fn void(&mut self, straggler: u8) {
        self.state.hedged.remove(straggler);
        self.settle_hedge(straggler, HedgeResult::Void);
        for cell in self.state.charged {
            if self.is_charged_to(cell, straggler) {
                self.state.settled.insert(cell);
            }
        }
        if (self.state.flying & self.state.late_legs).contains(straggler) {
            self.slot_mut(straggler).mark = self.state.now;
        }
    }

    pub(super) fn settle_hedge(&mut self, straggler: u8, result: HedgeResult) {
        let tally = &mut self.state.tally;
        count(match result {
            HedgeResult::Won => &mut tally.won,
            HedgeResult::Lost => &mut tally.lost,
            HedgeResult::Void => &mut tally.void,
            HedgeResult::Unused => &mut tally.unused,
        });
        if result != HedgeResult::Won {
            // Legs that have not begun may yet be refunded: what is settled can't be.
            let idle = self.state.charged.iter().filter(|&cell| self.is_charged_to(cell, straggler));
            let idle = idle.count() as u8;
            let slot = self.slot_mut(straggler);
            slot.cells = slot.cells.saturating_sub(idle);
        }
        self.slot_mut(straggler).result = result;
        self.state.to_settle.insert(straggler);
    }

    /// "No cells" is an answer about its moment, and the moment has passed.
    pub(super) fn ask_again_for_cells(&mut self) {
        for cell in self.state.refused {
            if self.slot(cell).no_cells {
                self.state.refused.remove(cell);
            }
        }
    }

    pub(super) fn judged(&mut self, verdict: Verdict) {
        let Some(asking) = self.state.asking.take() else { return };
        match (asking.about, verdict) {
            (About::Eager, Verdict::Grant { cells, .. }) => {
                let wish = if self.may_launch() { self.eager_cells(cells) } else { 0 };
                let launched = self.launch_granted(wish, Why::Eager, 0);
                self.state.refund = self.state.refund.saturating_add(cells - launched);
                self.state.eager = 0;
            }
            (About::Eager, Verdict::Refuse { .. }) => self.state.eager = 0,
            (About::Straggler(leg), Verdict::Grant { cells, permit }) => self.granted(leg, cells, permit),
            (About::Straggler(leg), Verdict::Refuse { reason, retry_at }) => {
                if !self.is_straggling(leg) {
                    return;
                }
                let cell = leg.cell;
                if let Some(at) = retry_at {
                    self.ask_again_at(cell, at);
                } else {
                    self.state.refused.insert(cell);
                    self.slot_mut(cell).no_cells = reason == Reason::NoCells;
                }
            }
        }
    }

    /// Whether this leg is in flight and late. A later leg to the same cell is another.
    pub(super) fn is_straggling(&self, leg: LegId) -> bool {
        (self.state.flying & self.state.late_legs).contains(leg.cell)
            && (leg == self.leg(leg.cell) || self.seeded(Fault::AnswersTheNextLeg))
    }

    fn granted(&mut self, leg: LegId, cells: u8, permit: Permit) {
        let cell = leg.cell;
        let late = self.is_straggling(leg);
        let cost = if late && self.may_launch() { self.cost(cell) } else { (0, 0) };
        let (need, spare) = cost;
        let affordable = if need <= cells { need + spare.min(cells - need) } else { 0 };
        let launched = if affordable > 0 { self.launch_granted(affordable, Why::Hedge, cell) } else { 0 };
        self.state.refund = self.state.refund.saturating_add(cells - launched);
        count(&mut self.state.tally.hedges);
        let slot = self.slot_mut(cell);
        slot.epoch = permit.epoch;
        slot.probe = permit.probe;
        slot.cells = launched;
        slot.spares = launched.saturating_sub(need);
        if launched > 0 {
            self.state.hedged.insert(cell);
        } else {
            if late {
                self.ask_again_at(cell, Instant::ZERO);
            }
            self.settle_hedge(cell, HedgeResult::Unused);
        }
    }

    /// Puts a late leg off until then, and at least for the floor; at the end of the clock, for good.
    fn ask_again_at(&mut self, cell: u8, at: Instant) {
        let floor = self.state.now + self.state.retry_floor;
        let at = if self.seeded(Fault::NoRetryFloor) { at } else { at.max(floor) };
        if at == Instant::MAX {
            self.state.refused.insert(cell);
            self.slot_mut(cell).no_cells = false;
        } else {
            self.slot_mut(cell).mark = at;
        }
    }

    pub(super) fn decoded(&mut self, ok: bool) {
        let decode = core::mem::replace(&mut self.state.decode, Decode::NONE);
        if self.state.outcome.is_none() {
            if ok {
                let decoded = decode.wanted - self.state.held;
                let delivered = self.state.wanted & self.state.held;
                self.state.wasted = (self.state.extra - decode.sources - delivered).len();
                self.finish(Outcome::Ok { delivered, decoded });
            } else {
                self.state.no_decode = true;
            }
        } else {
            self.state.to_release |= decode.sources - self.kept() - self.state.zero;
        }
    }

    /// Buffers that an Ok read hands to its caller.
    pub(super) fn kept(&self) -> CellSet {
        match self.state.outcome {
            Some(Outcome::Ok { delivered, .. }) => delivered - self.state.zero,
            _ => CellSet::EMPTY,
        }
    }
}
