//! What an executor knows of a read, kept beside it.
//!
//! It learns from the inputs that it gives and the outputs that it gets, and from nothing else but the read's accessors.

use hedge_core::{
    Cause, CellSet, HedgeResult, Input, Instant, LegEnd, LegId, Mode, Outcome, Permit, Petition, Reason,
    RequestId, Span, Subject, Verdict, Why,
};

use crate::broken::{Held, promise};
use crate::case::{Case, LATE, RETRY_FLOOR, ROOM, Read};

/// A grant that is not settled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Grant {
    pub(crate) permit: Permit,
    /// Legs planned for it and not refunded.
    pub(crate) cells: u8,
    /// How many of them may fail without harm.
    pub(crate) spares: u8,
}

/// A hedge whose end the read must report.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Settled {
    pub(crate) permit: Permit,
    pub(crate) cells: u8,
    pub(crate) result: HedgeResult,
}

const NOBODY: u8 = u8::MAX;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shadow {
    pub(crate) now: Instant,
    /// The last instant that the read was told.
    pub(crate) told: Instant,

    pub(crate) attempt: [u8; ROOM],
    pub(crate) why: [Why; ROOM],
    pub(crate) tries: [u8; ROOM],
    pub(crate) start: [Instant; ROOM],
    /// A late leg asks no sooner.
    pub(crate) not_before: [Instant; ROOM],
    /// Launched and not ended.
    pub(crate) out: CellSet,
    pub(crate) started: CellSet,
    pub(crate) given_up: CellSet,
    pub(crate) cancelled: CellSet,
    /// Launched and not released: the buffer is in use.
    pub(crate) lent: CellSet,
    pub(crate) got: CellSet,
    pub(crate) erased: CellSet,
    /// Failed in a way that may pass, and not launched since.
    pub(crate) soft: CellSet,
    pub(crate) late: CellSet,
    pub(crate) asked_before: CellSet,
    pub(crate) refused: CellSet,
    pub(crate) no_cells: CellSet,

    pub(crate) petition: Option<Petition>,
    pub(crate) last_id: u8,
    pub(crate) decoding: Option<(CellSet, CellSet)>,
    pub(crate) decoded: CellSet,
    pub(crate) rebuilt_from: CellSet,
    pub(crate) decode_failed: bool,
    pub(crate) finished: Option<Outcome>,
    /// Whether the read has told that it is over, which shows before its `Finish` is polled.
    pub(crate) over: Option<Outcome>,
    pub(crate) over_at: Instant,
    pub(crate) aborted: bool,
    pub(crate) retries: u8,
    pub(crate) eager_answered: bool,

    /// Whether polling has not come to its end since the last input, and the place of the last output in a round.
    pub(crate) unpolled: bool,
    pub(crate) place: u8,

    /// Granted legs, planned or out, whose work has not begun.
    pub(crate) unbegun: CellSet,
    pub(crate) begun: CellSet,
    /// Those of the unbegun whose hedge is settled: they are refunded on their own account.
    pub(crate) settled: CellSet,
    /// The straggler that the leg was granted to.
    pub(crate) for_straggler: [u8; ROOM],
    pub(crate) grants: [Option<Grant>; ROOM],
    pub(crate) grants_given: u32,
    /// Evidence that the read owes.
    pub(crate) refund_due: u8,
    pub(crate) leg_due: [Option<(LegEnd, Span, Why)>; ROOM],
    pub(crate) hedge_due: [Option<Settled>; ROOM],
    pub(crate) saved_due: [Option<Span>; ROOM],
    pub(crate) read_due: Option<(u8, u8, bool)>,
}

pub(crate) fn at(cell: u8) -> usize {
    usize::from(cell)
}

impl Shadow {
    pub(crate) fn new(case: &Case) -> Self {
        Self {
            now: Instant::ZERO,
            told: Instant::ZERO,
            attempt: [0; ROOM],
            why: [Why::Original; ROOM],
            tries: [0; ROOM],
            start: [Instant::ZERO; ROOM],
            not_before: [Instant::ZERO; ROOM],
            out: CellSet::EMPTY,
            started: CellSet::EMPTY,
            given_up: CellSet::EMPTY,
            cancelled: CellSet::EMPTY,
            lent: CellSet::EMPTY,
            got: CellSet::EMPTY,
            erased: case.missing,
            soft: CellSet::EMPTY,
            late: CellSet::EMPTY,
            asked_before: CellSet::EMPTY,
            refused: CellSet::EMPTY,
            no_cells: CellSet::EMPTY,
            petition: None,
            last_id: 0,
            decoding: None,
            decoded: CellSet::EMPTY,
            rebuilt_from: CellSet::EMPTY,
            decode_failed: false,
            finished: None,
            over: None,
            over_at: Instant::ZERO,
            aborted: false,
            retries: case.retries,
            eager_answered: !matches!(case.mode, Mode::Eager(_)),
            unpolled: true,
            place: 0,
            unbegun: CellSet::EMPTY,
            begun: CellSet::EMPTY,
            settled: CellSet::EMPTY,
            for_straggler: [NOBODY; ROOM],
            grants: [None; ROOM],
            grants_given: 0,
            refund_due: 0,
            leg_due: [None; ROOM],
            hedge_due: [None; ROOM],
            saved_due: [None; ROOM],
            read_due: None,
        }
    }

    /// The part of this that the future depends on. With `ledger`, evidence is part of the future.
    pub(crate) fn canonical(&self, case: &Case) -> Self {
        let fresh = Self::new(case);
        let mut seen = Self {
            now: Instant::from_nanos((self.now - self.told).as_nanos()),
            out: self.out,
            started: self.started & self.out,
            given_up: self.given_up & self.out,
            cancelled: self.cancelled & self.out,
            lent: self.lent,
            petition: self.petition.map(|petition| Petition {
                id: 0,
                subject: match petition.subject {
                    Subject::Late { leg, node, .. } => Subject::Late {
                        leg: LegId { attempt: 0, ..leg },
                        node,
                        why: Why::Original,
                        request: RequestId::NONE,
                        again: false,
                    },
                    Subject::Eager => Subject::Eager,
                },
                deadline: None,
                ..petition
            }),
            decoding: self.decoding.map(|(_, sources)| (CellSet::EMPTY, sources)),
            finished: self.finished.map(|_| Outcome::Aborted),
            over: self.over.map(|_| Outcome::Aborted),
            unpolled: self.unpolled,
            place: self.place,
            ..fresh
        };
        if case.ledger {
            seen.unbegun = self.unbegun;
            seen.settled = self.settled & self.unbegun;
            seen.hedge_due = self.hedge_due;
            seen.grants = self.grants;
            for settled in seen.hedge_due.iter_mut().flatten() {
                settled.permit = Permit::default();
            }
            for grant in seen.grants.iter_mut().flatten() {
                grant.permit = Permit::default();
            }
            for cell in self.unbegun | self.flying() {
                seen.for_straggler[at(cell)] = self.for_straggler[at(cell)];
            }
            if self.over.is_none() {
                seen.begun = self.begun;
            }
            seen.over = self.over;
        }
        if let Some(Outcome::Ok { delivered, .. }) = self.finished {
            seen.lent -= delivered;
        }
        if self.over.is_some() {
            if let (false, Some(petition)) = (case.ledger, &mut seen.petition) {
                petition.subject = Subject::Eager;
            }
            return seen;
        }
        seen.got = self.got;
        seen.erased = self.erased;
        seen.soft = self.soft;
        for cell in CellSet::first_n(case.n) - self.got - self.erased {
            seen.tries[at(cell)] = self.tries[at(cell)];
        }
        seen.decode_failed = self.decode_failed;
        seen.decoded = self.decoded;
        seen.retries = self.retries;
        seen.eager_answered = self.eager_answered;
        seen
    }

    pub(crate) fn leg(&self, cell: u8) -> LegId {
        LegId { cell, attempt: self.attempt[at(cell)] }
    }

    pub(crate) fn request(&self, cell: u8) -> RequestId {
        RequestId((u32::from(self.attempt[at(cell)]) << 8) | (u32::from(cell) + 1))
    }

    /// Legs that still count.
    pub(crate) fn flying(&self) -> CellSet {
        self.out - self.given_up
    }

    pub(crate) fn stragglers(&self) -> CellSet {
        (0..ROOM as u8).filter(|&cell| self.grants[at(cell)].is_some()).collect()
    }

    /// Takes note of an input about to be given.
    pub(crate) fn note(&mut self, case: &Case, input: Input) {
        match input {
            Input::Started { leg: LegId { cell, .. }, .. } => {
                self.started.insert(cell);
                self.start[at(cell)] = self.now;
                self.begin(cell);
            }
            Input::Delivered(LegId { cell, .. }) => {
                self.begin(cell);
                let counts = self.flying().contains(cell);
                self.out.remove(cell);
                if let Some(outcome) = self.over {
                    let beaten = matches!(outcome, Outcome::Ok { decoded, .. } if decoded.contains(cell));
                    if beaten && self.started.contains(cell) {
                        self.saved_due[at(cell)] = Some(self.now - self.over_at);
                    }
                    return;
                }
                if counts {
                    self.tell(cell, LegEnd::Delivered);
                }
                if !self.erased.contains(cell) {
                    self.soft.remove(cell);
                    self.got.insert(cell);
                }
                if !counts || self.grants[at(cell)].is_some() {
                    self.ask_again_for_cells();
                }
            }
            Input::Failed(leg, cause) => self.ends(leg.cell, cause),
            Input::Stopped(leg) => self.ends(leg.cell, Cause::Cancelled),
            Input::GaveUp(leg, cause) => {
                self.lose(leg.cell, cause);
                self.given_up.insert(leg.cell);
            }
            Input::Verdict { verdict: Verdict::Refuse { reason, retry_at }, .. } => {
                match self.petition.take().map(|petition| petition.subject) {
                    // The answer is about that leg, not about a later one to the same cell.
                    Some(Subject::Late { leg, .. }) if leg != self.leg(leg.cell) => {}
                    Some(Subject::Late { leg, .. }) => {
                        if retry_at.is_some() {
                            self.not_before[at(leg.cell)] = self.now + RETRY_FLOOR;
                        } else {
                            self.refused.insert(leg.cell);
                            if reason == Reason::NoCells {
                                self.no_cells.insert(leg.cell);
                            }
                        }
                    }
                    _ => self.eager_answered = true,
                }
                self.retries -= u8::from(retry_at.is_some());
            }
            Input::Decoded(ok) => {
                if let Some((wanted, sources)) = self.decoding.take() {
                    if ok {
                        self.rebuilt_from = sources;
                        self.decoded |= wanted;
                    } else {
                        self.decode_failed = true;
                    }
                }
            }
            Input::Timeout if self.decoding.is_none() && case.mode != Mode::Off => {
                for cell in self.flying() & self.started {
                    if self.start[at(cell)] + LATE <= self.now && !self.late.contains(cell) {
                        self.late.insert(cell);
                        self.not_before[at(cell)] = self.now;
                    }
                }
            }
            Input::Abort => self.aborted = true,
            _ => {}
        }
    }

    /// Work on a leg began: if it was granted, it costs.
    fn begin(&mut self, cell: u8) {
        if self.unbegun.contains(cell) {
            self.unbegun.remove(cell);
            self.begun.insert(cell);
        }
    }

    fn ends(&mut self, cell: u8, cause: Cause) {
        let counts = self.flying().contains(cell);
        self.out.remove(cell);
        self.refund(cell);
        if self.over.is_some() {
            return;
        }
        if counts {
            self.lose(cell, cause);
        } else if cause.erases() {
            self.soft.remove(cell);
            self.erased.insert(cell);
        }
    }

    /// A granted leg came to nothing before work on it began.
    pub(crate) fn refund(&mut self, cell: u8) {
        if !self.unbegun.contains(cell) {
            return;
        }
        self.unbegun.remove(cell);
        self.refund_due += 1;
        if self.settled.contains(cell) {
            self.settled.remove(cell);
        } else if let Some(Some(grant)) = self.grants.get_mut(at(self.for_straggler[at(cell)])) {
            grant.cells -= 1;
        }
    }

    fn lose(&mut self, cell: u8, cause: Cause) {
        self.tell(cell, LegEnd::Failed(cause));
        if cause.erases() {
            self.erased.insert(cell);
        } else {
            self.soft.insert(cell);
        }
        self.ask_again_for_cells();
        let straggler = self.for_straggler[at(cell)];
        if let Some(Some(grant)) = self.grants.get_mut(at(straggler)) {
            if grant.spares > 0 {
                grant.spares -= 1;
            } else {
                self.settle(straggler, HedgeResult::Void);
                self.not_before[at(straggler)] = self.now;
            }
        }
        self.for_straggler[at(cell)] = NOBODY;
    }

    /// "No cells" was about its moment.
    fn ask_again_for_cells(&mut self) {
        self.refused -= self.no_cells;
        self.no_cells = CellSet::EMPTY;
    }

    fn tell(&mut self, cell: u8, end: LegEnd) {
        if self.started.contains(cell) {
            self.leg_due[at(cell)] = Some((end, self.now - self.start[at(cell)], self.why[at(cell)]));
        }
    }

    fn settle(&mut self, straggler: u8, result: HedgeResult) {
        let Some(Grant { permit, mut cells, .. }) = self.grants[at(straggler)].take() else { return };
        for cell in 0..ROOM as u8 {
            if self.for_straggler[at(cell)] == straggler && (self.unbegun - self.settled).contains(cell) {
                if result == HedgeResult::Won {
                    // Given back with the hedge.
                    self.unbegun.remove(cell);
                } else {
                    // Refunded on its own, unless work on it begins after all.
                    self.settled.insert(cell);
                    cells -= 1;
                }
            }
        }
        self.hedge_due[at(straggler)] = Some(Settled { permit, cells, result });
    }

    /// What an input must have led to.
    pub(crate) fn conclude(&mut self, case: &Case, read: &Read, input: Input, before: CellSet) -> Held {
        if let Input::Verdict { verdict: Verdict::Grant { cells, permit }, .. } = input {
            let Some(petition) = self.petition.take() else { return Ok(()) };
            let launched = read.in_flight() - before;
            promise!("P7", launched.len() <= cells, "{cells} cells were granted, {launched} are launched");
            self.refund_due += cells - launched.len();
            self.unbegun |= launched;
            self.settled -= launched;
            for cell in launched {
                self.for_straggler[at(cell)] = NOBODY;
            }
            if let Subject::Late { leg, .. } = petition.subject {
                let need = self.needed(case, before, CellSet::one(leg.cell));
                self.grants_given += 1;
                let (cells, spares) = (launched.len(), launched.len().saturating_sub(need));
                self.grants[at(leg.cell)] = Some(Grant { permit, cells, spares });
                for cell in launched {
                    self.for_straggler[at(cell)] = leg.cell;
                }
                if cells == 0 {
                    self.settle(leg.cell, HedgeResult::Unused);
                    if leg == self.leg(leg.cell) {
                        self.not_before[at(leg.cell)] = self.now + RETRY_FLOOR;
                    }
                }
            } else {
                self.eager_answered = true;
            }
        }
        // Launches that were planned and are not needed any more.
        for cell in self.unbegun - self.out - read.planned() {
            self.refund(cell);
            self.for_straggler[at(cell)] = NOBODY;
        }
        if read.outcome().is_none() && !self.decode_failed {
            let flying = read.in_flight();
            for straggler in self.stragglers() & flying {
                // What a hedge rests on has failed, and more cells could help: it is void.
                let need = self.needed(case, flying, CellSet::EMPTY);
                if need == 0 || (self.fresh(case) - flying).len() < need {
                    break;
                }
                self.settle(straggler, HedgeResult::Void);
                self.not_before[at(straggler)] = self.now;
            }
        }
        let Some(outcome) = read.outcome().filter(|_| self.over.is_none()) else {
            let there = self.got | case.zero;
            promise!(
                "Rule 2",
                self.over.is_some() || !case.wanted.is_subset(there),
                "every wanted cell is there, and the read goes on"
            );
            return Ok(());
        };
        self.over = Some(outcome);
        self.over_at = self.now;
        for cell in self.flying() {
            self.tell(cell, LegEnd::Cut);
        }
        let (ok, rebuilt) = match outcome {
            Outcome::Ok { decoded, .. } => (true, !decoded.is_empty()),
            _ => (false, false),
        };
        for straggler in self.stragglers() {
            let result = match self.grants[at(straggler)] {
                Some(Grant { cells: 0, .. }) => HedgeResult::Unused,
                _ if !ok => HedgeResult::Void,
                _ if rebuilt && !self.got.contains(straggler) => HedgeResult::Won,
                _ => HedgeResult::Lost,
            };
            self.settle(straggler, result);
        }
        let used = match outcome {
            Outcome::Ok { delivered, decoded } if decoded.is_empty() => delivered,
            Outcome::Ok { delivered, .. } => delivered | self.rebuilt_from,
            _ => CellSet::EMPTY,
        };
        self.read_due = Some((self.got.len(), (self.begun - used).len(), ok));
        Ok(())
    }

    /// How many more cells rule 7 asks for, without the legs of `without`.
    pub(crate) fn needed(&self, case: &Case, flying: CellSet, without: CellSet) -> u8 {
        let coming = self.got | case.zero | (flying - self.stragglers() - without);
        case.k.saturating_sub(coming.len())
    }

    /// Cells never tried.
    pub(crate) fn fresh(&self, case: &Case) -> CellSet {
        CellSet::first_n(case.n) - case.zero - self.got - self.out - self.erased - self.soft
    }

    pub(crate) fn cost(&self, case: &Case, cell: u8) -> u8 {
        let need = self.needed(case, self.flying(), CellSet::one(cell));
        let fresh = self.fresh(case);
        match need {
            _ if self.decode_failed || fresh.len() < need => 0,
            0 | 1 => need,
            _ => need + case.spare.min((fresh - case.avoid).len().saturating_sub(need)),
        }
    }
}
