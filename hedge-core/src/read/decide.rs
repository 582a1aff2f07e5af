//! What a read concludes from its state: done, lost, what to launch, whom to ask for leave.

use super::StripeReadView;
use super::state::{About, Asking, Decode, NOT_CONNECTED};
use super::testing::Fault;
use crate::{CellSet, HedgeResult, Instant, LegEnd, NodeId, Outcome, Span, Why};

impl StripeReadView {
    /// The one place that decides, after every input.
    pub(super) fn settle(&mut self, timeout: bool) {
        let state = &self.state;
        if state.outcome.is_some() {
            return;
        }
        let missing = state.wanted - state.held;
        let deaf = self.seeded(Fault::DeafWhileDecoding) && state.decode.exists();
        let enough = self.seeded(Fault::CountsDeliveries) && state.held.len() >= state.wanted.len();
        if (missing.is_empty() || enough) && !deaf {
            return self.finish(Outcome::Ok { delivered: state.wanted, decoded: CellSet::EMPTY });
        }
        if state.deadline != Instant::MAX
            && state.now >= state.deadline
            && (timeout || state.now > state.deadline)
        {
            return self.finish(Outcome::DeadlinePassed);
        }
        if state.decode.exists() && state.decode_polled {
            return;
        }
        if self.may_decode() && state.held.len() >= state.k {
            let sources = self.first_k(state.zero, state.held);
            self.state.decode = Decode { wanted: missing, sources };
            self.state.decode_polled = false;
            self.state.to_hint = false;
            self.drop_petition();
            return self.drop_planned();
        }
        loop {
            let flying = self.state.flying;
            let gone = missing - flying;
            if !gone.is_empty() && !self.replace(gone) {
                return;
            }
            // A wanted cell that is on its way again may be what the others can be rebuilt from.
            if self.state.flying == flying {
                break;
            }
        }
        self.void_hopeless();
        if timeout {
            self.look_at_the_clock();
        }
        self.choose_petition();
        if self.state.hints {
            self.choose_hint();
        }
    }

    /// Reads on without leave where wanted cells are neither there nor on their way. False if the read is lost.
    fn replace(&mut self, gone: CellSet) -> bool {
        let state = &self.state;
        let hope = self.hope();
        let reachable = state.held | state.flying | hope;
        // Without the cells that are gone, if that can be done.
        if self.may_decode() && (reachable - gone).len() >= state.k {
            let need = self.needed(CellSet::EMPTY);
            let avoided = self.avoided() - state.soft;
            if (hope - gone - avoided).len() < need && !(gone & hope & avoided).is_empty() {
                // A rebuild would wait for nodes that are not to be waited for: then rather for the cell's own.
                self.read_again(gone & hope & avoided);
                return true;
            }
            let launched = self.launch(need, Why::Degraded, 0, hope - gone);
            if launched.len() < need {
                // What is reachable leans on stragglers.
                self.read_again(gone & hope);
            }
            return true;
        }
        // Not without the cells themselves. Those beyond hope can be rebuilt from the others, or not at all.
        let stuck = gone - hope;
        let decodable = self.may_decode() && reachable.len() >= state.k;
        if !stuck.is_empty() && !decodable {
            self.finish(Outcome::Lost { cells: stuck });
            return false;
        }
        self.read_again(gone & hope);
        if !stuck.is_empty() {
            self.launch(self.needed(CellSet::EMPTY), Why::Degraded, 0, hope);
        }
        true
    }

    /// Cells on nodes that are not waited for.
    fn avoided(&self) -> CellSet {
        (0..self.state.n).filter(|&cell| self.slot(cell).avoid).collect()
    }

    /// Reads wanted cells themselves: for the first time if they were avoided, or once more.
    fn read_again(&mut self, cells: CellSet) {
        for cell in cells - self.state.leased {
            let first = self.slot(cell).tries == 0;
            self.plan_leg(cell, if first { Why::Original } else { Why::Degraded }, 0);
        }
    }

    /// Voids hedges that can't complete any more, because an eager leg that they rest on has failed, where further cells could
    /// help: their stragglers ask again.
    fn void_hopeless(&mut self) {
        for straggler in self.state.hedged & self.state.flying {
            let need = self.needed(CellSet::EMPTY);
            if need == 0 || self.fresh().len() < need || !self.may_decode() {
                break;
            }
            self.void(straggler);
        }
    }

    fn look_at_the_clock(&mut self) {
        let (now, running) = (self.state.now, self.state.flying & self.state.started);
        for cell in running - self.state.late_legs {
            if self.late_at(cell).is_some_and(|at| at <= now) {
                self.state.late_legs.insert(cell);
                self.slot_mut(cell).mark = now;
            }
        }
    }

    /// When a leg that runs is late; `None`: never.
    pub(super) fn late_at(&self, cell: u8) -> Option<Instant> {
        let (state, slot) = (&self.state, self.slot(cell));
        let mut threshold = if slot.why == Why::Hedge { state.late_hedge } else { state.late };
        if slot.suspect {
            threshold = threshold.min(state.late_suspect);
        }
        let mut start = slot.start;
        if !state.connect_counts {
            if slot.connect_micros == NOT_CONNECTED {
                return None;
            }
            start += Span::from_micros(u64::from(slot.connect_micros));
        }
        if self.seeded(Fault::SiblingsRearmTheClock) {
            let last = self.state.held.iter().map(|other| self.slot(other).mark).max();
            start = start.max(last.unwrap_or(start));
        }
        let by_threshold = (threshold != Span::MAX).then(|| start + threshold);
        let by_stall = (state.stall != Span::MAX).then(|| slot.mark + state.stall);
        match (by_threshold, by_stall) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Which petition is to be made, unless the executor has one already.
    fn choose_petition(&mut self) {
        if self.is_owed_a_verdict() {
            return;
        }
        if self.state.eager > 0 && self.eager_cells(u8::MAX) == 0 {
            // Only at the start; later it would be a hedge that nobody counts.
            self.state.eager = 0;
        }
        let state = &self.state;
        let mut late = (state.late_legs & state.flying) - state.hedged - state.refused;
        let about = if state.eager > 0 {
            Some(About::Eager)
        } else {
            loop {
                match late.pop() {
                    Some(cell) if self.slot(cell).mark <= state.now => {
                        break Some(About::Straggler(self.leg(cell)));
                    }
                    Some(_) => {}
                    None => break None,
                }
            }
        };
        self.state.asking = about.map(|about| Asking { about, polled: false });
    }

    /// The decode to expect, as things stand.
    fn choose_hint(&mut self) {
        if core::mem::take(&mut self.state.to_hint) {
            // Nobody has polled it.
            self.state.hint = (CellSet::EMPTY, CellSet::EMPTY);
        }
        let state = &self.state;
        let missing = state.wanted - state.held;
        let wanted = (missing - state.flying) | (missing & state.hedged);
        let coming = (state.held | (state.flying - state.hedged)) - wanted;
        if wanted.is_empty() || !self.may_decode() || coming.len() < state.k {
            return;
        }
        let sources = self.first_k(state.held, coming);
        if self.state.hint != (wanted, sources) {
            self.state.hint = (wanted, sources);
            self.state.to_hint = true;
        }
    }

    /// k cells of `all`: those of zeros first, then those of `preferred`, then the lowest.
    fn first_k(&self, preferred: CellSet, all: CellSet) -> CellSet {
        let mut chosen = CellSet::EMPTY;
        for set in [self.state.zero, preferred, all] {
            for cell in (set & all) - chosen {
                if chosen.len() == self.state.k {
                    return chosen;
                }
                chosen.insert(cell);
            }
        }
        chosen
    }

    pub(super) fn may_decode(&self) -> bool {
        !self.state.no_decode
    }

    /// Whether a grant that arrives now may still launch anything.
    pub(super) fn may_launch(&self) -> bool {
        let state = &self.state;
        state.outcome.is_none() && !state.decode.exists() && !state.dry_run && self.may_decode()
    }

    /// How many more cells make the stripe decodable without the legs of `without` and without hedged stragglers.
    fn needed(&self, without: CellSet) -> u8 {
        let state = &self.state;
        let coming = state.held | (state.flying - state.hedged - without);
        state.k.saturating_sub(coming.len())
    }

    /// Cells never tried in this read.
    fn fresh(&self) -> CellSet {
        let state = &self.state;
        CellSet::first_n(state.n) - state.held - state.flying - state.erased - state.leased - state.soft
    }

    /// Cells that may yet be read without leave, now or once a given-up leg of theirs has stopped: fresh ones, and those
    /// that failed softly and have tries left.
    fn hope(&self) -> CellSet {
        let state = &self.state;
        let mut hope = CellSet::first_n(state.n) - state.held - state.flying - state.erased;
        for cell in hope & state.soft {
            if self.slot(cell).tries >= state.max_tries {
                hope.remove(cell);
            }
        }
        hope
    }

    /// What a hedge of this late leg costs: the cells needed, and the spares on top. (0, 0): none is needed, or there
    /// are too few.
    pub(super) fn cost(&self, cell: u8) -> (u8, u8) {
        let state = &self.state;
        if !self.may_decode() || !(state.flying & state.late_legs).contains(cell) {
            return (0, 0);
        }
        let need = self.needed(CellSet::one(cell));
        let fresh = self.fresh().len();
        if need == 0 || fresh < need {
            return (0, 0);
        }
        let spare = if need > 1 { state.spare.min(self.dispensable().saturating_sub(need)) } else { 0 };
        (need, spare)
    }

    /// Cells that an eager start would add, with leave for so many. 0 also if they would not make a leg superfluous.
    pub(super) fn eager_cells(&self, leave: u8) -> u8 {
        let state = &self.state;
        if !self.may_decode() || state.decode.exists() {
            return 0;
        }
        let coming = (state.held | state.flying).len();
        let wish = state.k.saturating_add(state.eager).saturating_sub(coming);
        let cells = wish.min(self.dispensable()).min(leave);
        if coming + cells > state.k { cells } else { 0 }
    }

    /// How many fresh cells a read may take that it can do without: not those to avoid.
    fn dispensable(&self) -> u8 {
        self.fresh().iter().filter(|&cell| !self.slot(cell).avoid).count() as u8
    }

    /// Plans legs that were granted; they are charged until work on them begins. Returns how many.
    pub(super) fn launch_granted(&mut self, cells: u8, why: Why, straggler: u8) -> u8 {
        let launched = self.launch(cells, why, straggler, self.fresh());
        self.state.charged |= launched;
        launched.len()
    }

    /// Plans up to `cells` legs out of `from`, in the order of sources: first on nodes that are not avoided and that no other leg of
    /// this read is on, then on nodes where none is late, then any; cells that failed before come last.
    fn launch(&mut self, cells: u8, why: Why, straggler: u8, from: CellSet) -> CellSet {
        let mut launched = CellSet::EMPTY;
        for round in 0..5 {
            let from = from - self.state.leased - launched;
            let from = match round {
                0..4 => from - self.state.soft,
                _ => from,
            };
            if from.is_empty() {
                continue;
            }
            for i in 0..usize::from(self.state.n) {
                if launched.len() >= cells {
                    return launched;
                }
                let cell = self.slots[i].order;
                let avoid = self.slot(cell).avoid;
                let crowded = |others| self.shares_node(cell, others);
                let choose = from.contains(cell)
                    && match round {
                        0 => !avoid && !crowded(self.state.flying | self.state.leased),
                        1 => !avoid && !crowded(self.state.late_legs & self.state.flying),
                        2 => !avoid,
                        _ => true,
                    };
                if choose {
                    self.plan_leg(cell, why, straggler);
                    launched.insert(cell);
                }
            }
        }
        launched
    }

    fn shares_node(&self, cell: u8, others: CellSet) -> bool {
        let node = self.slot(cell).node;
        node != NodeId::UNKNOWN && others.iter().any(|other| other != cell && self.slot(other).node == node)
    }

    pub(super) fn plan_leg(&mut self, cell: u8, why: Why, straggler: u8) {
        let slot = self.slot_mut(cell);
        slot.why = why;
        slot.grant = straggler;
        let state = &mut self.state;
        state.flying.insert(cell);
        state.to_launch.insert(cell);
        state.soft.remove(cell);
        state.settled.remove(cell);
        state.started.remove(cell);
        state.late_legs.remove(cell);
        state.refused.remove(cell);
    }

    /// Forgets launches that nobody has polled, since they are not needed any more.
    fn drop_planned(&mut self) {
        let planned = core::mem::take(&mut self.state.to_launch);
        self.state.flying -= planned;
        for cell in planned & self.state.charged {
            self.refund_leg(cell);
        }
    }

    /// Forgets a petition that nobody has polled.
    fn drop_petition(&mut self) {
        self.state.asking = self.state.asking.filter(|asking| asking.polled);
    }

    pub(super) fn finish(&mut self, outcome: Outcome) {
        if self.seeded(Fault::LaunchesAfterTheEnd) {
            self.state.flying -= self.state.to_launch;
        } else {
            self.drop_planned();
        }
        let now = self.state.now;
        let hedged = core::mem::take(&mut self.state.hedged);
        for straggler in hedged {
            let result = match outcome {
                _ if self.slot(straggler).cells == 0 => HedgeResult::Unused,
                Outcome::Ok { decoded, .. } if decoded.is_empty() => HedgeResult::Lost,
                Outcome::Ok { .. } if self.state.held.contains(straggler) => HedgeResult::Lost,
                Outcome::Ok { .. } => HedgeResult::Won,
                _ => HedgeResult::Void,
            };
            if result == HedgeResult::Won {
                // What a won hedge cost is given back as a whole: nothing of it may be refunded, too.
                for cell in self.state.charged {
                    if self.is_charged_to(cell, straggler) {
                        self.state.charged.remove(cell);
                    }
                }
            }
            self.settle_hedge(straggler, result);
        }
        for cell in self.state.flying {
            self.tell(cell, LegEnd::Cut);
        }
        let state = &mut self.state;
        state.finished_at = now;
        state.outcome = Some(outcome);
        state.to_finish = true;
        state.to_report = true;
        state.to_hint = false;
        state.to_cancel |= state.flying;
        if self.seeded(Fault::CancelFreesTheBuffer) {
            self.state.to_release |= self.state.flying;
        }
        let state = &mut self.state;
        state.flying = CellSet::EMPTY;
        if !matches!(outcome, Outcome::Ok { decoded, .. } if !decoded.is_empty()) {
            let used = if matches!(outcome, Outcome::Ok { .. }) { state.wanted } else { CellSet::EMPTY };
            state.wasted = (state.extra - used).len();
        }
        if !state.decode_polled {
            state.decode = Decode::NONE;
        }
        self.drop_petition();
        let mut busy = self.state.decode.sources;
        if self.seeded(Fault::ReleaseIgnoresTheDecode) {
            busy = CellSet::EMPTY;
        }
        let free = self.state.held - self.state.zero - self.kept() - busy;
        self.state.to_release |= free;
    }
}
