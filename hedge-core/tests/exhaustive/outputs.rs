//! What an executor checks of each output.

use hedge_core::{CellSet, Evidence, LegId, Mode, NodeId, Outcome, Output, Petition, Subject, Why};

use crate::broken::{Held, broken, promise};
use crate::case::{Case, LATE, Read};
use crate::shadow::{Settled, Shadow, at};

impl Shadow {
    /// Takes note of an output, and checks what can be checked of it.
    pub(crate) fn see(&mut self, case: &Case, read: &Read, output: Output) -> Held {
        let (place, name) = match output {
            Output::Tell(_) => (0, "Tell"),
            Output::Release(_) => (1, "Release"),
            Output::Finish(_) => (2, "Finish"),
            Output::Cancel(_) => (3, "Cancel"),
            Output::Decode { .. } => (4, "Decode"),
            Output::Plan { .. } => (5, "Plan"),
            Output::Launch { .. } => (6, "Launch"),
            Output::Petition(_) => (7, "Petition"),
        };
        promise!("The order of outputs", place >= self.place, "{name} comes after what should follow it");
        self.place = place;
        match output {
            Output::Tell(evidence) => self.see_evidence(case, evidence),
            Output::Release(leg) => self.see_release(leg),
            Output::Finish(outcome) => self.see_finish(case, outcome),
            Output::Cancel(leg) => {
                let cell = leg.cell;
                promise!(
                    "Rule 4",
                    self.out.contains(cell) && leg == self.leg(cell),
                    "{leg:?} is not out, and is cancelled"
                );
                promise!("Rule 4", !self.cancelled.contains(cell), "{leg:?} is cancelled twice");
                promise!(
                    "Rule 4",
                    self.over.is_some() || self.given_up.contains(cell),
                    "{leg:?} is cancelled though it may yet be of use"
                );
                self.cancelled.insert(cell);
                Ok(())
            }
            Output::Decode { wanted, sources } => {
                promise!("P3", self.over.is_none(), "a decode after the end");
                promise!(
                    "Decode",
                    self.decoding.is_none() && !self.decode_failed,
                    "a second decode, or one after a failure"
                );
                let there = self.got | case.zero;
                promise!(
                    "P2",
                    sources.is_subset(there),
                    "it would decode from {sources}, but only {there} are there"
                );
                let expected = lowest(case, self.got);
                promise!("Decode", sources == expected, "sources are {sources} instead of {expected}");
                promise!("Decode", wanted == case.wanted - there, "it would rebuild {wanted}");
                self.decoding = Some((wanted, sources));
                Ok(())
            }
            Output::Plan { wanted, sources } => {
                promise!("Plan", case.hints && self.over.is_none(), "a hint that nobody asked for");
                promise!("Plan", sources.len() == case.k, "the hint names {sources}, not k cells");
                promise!(
                    "Plan",
                    !wanted.is_empty() && wanted.is_subset(case.wanted - self.got - case.zero),
                    "the hint would rebuild {wanted}"
                );
                let coming = self.got | case.zero | self.flying() | read.planned();
                promise!(
                    "Plan",
                    sources.is_subset(coming - wanted),
                    "the hint reads {sources}, only {coming} come"
                );
                Ok(())
            }
            Output::Launch { leg, node, why } => self.see_launch(case, read, leg, node, why),
            Output::Petition(petition) => self.see_petition(case, petition),
        }
    }

    fn see_launch(&mut self, case: &Case, read: &Read, leg: LegId, node: NodeId, why: Why) -> Held {
        let cell = leg.cell;
        promise!("P3", self.over.is_none() && !self.aborted, "{leg:?} is launched after the end");
        promise!("P5", !self.lent.contains(cell), "cell {cell} is launched into a buffer not yet released");
        let there = self.got | case.zero | self.erased;
        promise!("No useless launch", !there.contains(cell), "cell {cell} is launched: it is held or erased");
        promise!("P4", leg.attempt == self.attempt[at(cell)] + 1, "{leg:?} after {:?}", self.leg(cell));
        let plan = case.plan();
        promise!("Launch", node == plan.node[at(cell)], "cell {cell} is not on {node:?}");
        let granted = matches!(why, Why::Hedge | Why::Eager);
        promise!(
            "Rule 9",
            granted == self.unbegun.contains(cell),
            "{why:?} launch of cell {cell}, granted {}",
            self.unbegun
        );
        if !granted {
            self.tries[at(cell)] += 1;
            promise!(
                "Rule 9",
                self.tries[at(cell)] <= case.max_tries,
                "cell {cell} is tried {} times",
                self.tries[at(cell)]
            );
        }
        if !case.partial_polls && !case.wanted.contains(cell) {
            let planned = read.planned();
            let candidates = self.fresh(case) - planned - case.avoid - CellSet::one(cell);
            let node_of = |cell: u8| plan.node[at(cell)];
            let shares =
                |cell: u8, others: CellSet| others.iter().any(|o| o != cell && node_of(o) == node_of(cell));
            let alone =
                candidates.iter().find(|&other| !shares(other, self.out | planned | CellSet::one(cell)));
            if let (true, Some(other)) = (shares(cell, self.out), alone) {
                return broken(
                    "Rule 7",
                    format!("cell {cell} shares its node with another leg, and cell {other} is left"),
                );
            }
        }
        if case.avoid.contains(cell) {
            let others = (self.got | case.zero | (self.flying() - self.late) | self.fresh(case)) - case.avoid;
            promise!(
                "Rule 9",
                others.len() < case.k || case.partial_polls || self.decode_failed,
                "avoided cell {cell} is read, and {others} would do"
            );
        }
        self.attempt[at(cell)] = leg.attempt;
        self.why[at(cell)] = why;
        self.out.insert(cell);
        self.lent.insert(cell);
        for set in [
            &mut self.started,
            &mut self.given_up,
            &mut self.cancelled,
            &mut self.soft,
            &mut self.late,
            &mut self.asked_before,
            &mut self.refused,
            &mut self.no_cells,
        ] {
            set.remove(cell);
        }
        Ok(())
    }

    fn see_release(&mut self, leg: LegId) -> Held {
        let cell = leg.cell;
        promise!("P5", leg == self.leg(cell), "{leg:?} is released instead of {:?}", self.leg(cell));
        promise!("P5", !self.out.contains(cell), "cell {cell} is released while its leg is out");
        promise!("P5", self.lent.contains(cell), "cell {cell} is released twice");
        if let Some((_, sources)) = self.decoding {
            promise!(
                "P5",
                !sources.contains(cell),
                "cell {cell} is released while the decode reads {sources}"
            );
        }
        promise!(
            "P5",
            self.over.is_some() || !self.got.contains(cell),
            "cell {cell} is released, delivered, before the end"
        );
        if let Some(Outcome::Ok { delivered, .. }) = self.finished {
            promise!("P5", !delivered.contains(cell), "cell {cell} is the caller's, and released");
        }
        self.lent.remove(cell);
        Ok(())
    }

    fn see_finish(&mut self, case: &Case, outcome: Outcome) -> Held {
        promise!("P1", self.finished.is_none(), "a second Finish");
        self.finished = Some(outcome);
        let there = self.got | case.zero;
        match outcome {
            Outcome::Ok { delivered, decoded } => {
                promise!(
                    "P2",
                    delivered | decoded == case.wanted && (delivered & decoded).is_empty(),
                    "{delivered} and {decoded} are not the wanted cells"
                );
                promise!(
                    "P2",
                    delivered.is_subset(there),
                    "{delivered} are called delivered, but only {there} are"
                );
                promise!("P2", decoded.is_subset(self.decoded), "{decoded} were never decoded");
                promise!(
                    "P5",
                    (delivered - case.zero).is_subset(self.lent),
                    "a delivered cell's buffer was released"
                );
            }
            Outcome::Lost { cells } => {
                promise!(
                    "Lost",
                    !cells.is_empty() && cells.is_subset(case.wanted),
                    "{cells} were not wanted"
                );
                let again = self.soft.iter().filter(|&cell| self.tries[at(cell)] < case.max_tries);
                let alive = there | self.flying() | self.fresh(case) | again.collect();
                promise!("Lost", (alive & cells).is_empty(), "{cells} are called lost, but {alive} may come");
                promise!(
                    "Lost",
                    alive.len() < case.k || self.decode_failed,
                    "{cells} are called lost, but {alive} would rebuild them"
                );
            }
            Outcome::DeadlinePassed => {
                let deadline = case.plan().deadline;
                promise!(
                    "Deadline",
                    deadline.is_some_and(|at| at <= self.over_at),
                    "it has not come: {:?}",
                    self.over_at
                );
            }
            Outcome::Aborted => promise!("P1", self.aborted, "nobody aborted"),
        }
        Ok(())
    }

    fn see_petition(&mut self, case: &Case, petition: Petition) -> Held {
        promise!("P3", self.over.is_none(), "a petition after the end");
        promise!("Rule 3", self.petition.is_none(), "a petition while another is out");
        promise!("Rule 3", petition.id != self.last_id, "a petition's number is used again");
        self.last_id = petition.id;
        match petition.subject {
            Subject::Late { leg, node, why, request, again } => {
                let cell = leg.cell;
                promise!("Mode", case.mode != Mode::Off, "hedging is off");
                promise!(
                    "Rule 5",
                    (self.flying() & self.started).contains(cell) && leg == self.leg(cell),
                    "{leg:?} does not run"
                );
                promise!(
                    "Rule 6",
                    self.start[at(cell)] + LATE <= self.now,
                    "{leg:?} is not late at {:?}",
                    self.now
                );
                promise!("Rule 3", self.grants[at(cell)].is_none(), "{leg:?} is hedged already");
                promise!(
                    "Rule 3",
                    !self.refused.contains(cell) && again == self.asked_before.contains(cell),
                    "{leg:?} asks again"
                );
                promise!(
                    "The retry floor",
                    self.not_before[at(cell)] <= self.now,
                    "{leg:?} asks again at {:?}, not later than {:?}",
                    self.now,
                    self.not_before[at(cell)]
                );
                promise!(
                    "Petition",
                    node == case.plan().node[at(cell)]
                        && why == self.why[at(cell)]
                        && request == self.request(cell),
                    "it says {node:?} {why:?} {request:?}"
                );
                promise!(
                    "Rule 7",
                    petition.cells == self.cost(case, cell),
                    "a hedge of {leg:?} costs {}, not {}",
                    self.cost(case, cell),
                    petition.cells
                );
                self.asked_before.insert(cell);
            }
            Subject::Eager => {
                promise!("Rule 11", !self.eager_answered, "it asks a second time to start eagerly");
                let Mode::Eager(extra) = case.mode else { return broken("Mode", "not an eager read") };
                let coming = (self.got | case.zero | self.flying()).len();
                let fresh = self.fresh(case) - case.avoid;
                let most = (case.k + extra).saturating_sub(coming).min(fresh.len());
                promise!("Rule 11", petition.cells == most, "an eager start of {} cells", petition.cells);
                promise!("Rule 11", coming + most > case.k, "an eager start that makes no leg superfluous");
            }
        }
        self.petition = Some(petition);
        Ok(())
    }

    pub(crate) fn see_evidence(&mut self, case: &Case, evidence: Evidence) -> Held {
        match evidence {
            Evidence::Leg { node, request, why, took, end, .. } => {
                let cell = (request.0 & 0xff).wrapping_sub(1) as u8;
                promise!(
                    "Evidence of legs",
                    cell < case.n && request == self.request(cell) && node == case.plan().node[at(cell)],
                    "a leg of {request:?} on {node:?}"
                );
                let due = self.leg_due[at(cell)].take();
                promise!(
                    "Evidence of legs",
                    due == Some((end, took, why)),
                    "cell {cell} {end:?} after {took:?} as {why:?}, but due is {due:?}"
                );
            }
            Evidence::Hedge { permit, cells, result } => {
                let told = Settled { permit, cells, result };
                let due = self.hedge_due.iter_mut().find(|due| **due == Some(told));
                match due {
                    Some(due) => *due = None,
                    None => {
                        return broken(
                            "Evidence of hedges",
                            format!("{told:?}, but due are {:?}", self.hedge_due),
                        );
                    }
                }
            }
            Evidence::Refund { cells } => {
                promise!(
                    "P7",
                    cells > 0 && cells <= self.refund_due,
                    "{cells} cells are refunded, {} are due",
                    self.refund_due
                );
                self.refund_due -= cells;
            }
            Evidence::Read { cells, wasted, ok } => {
                let due = self.read_due.take();
                promise!(
                    "Evidence of reads",
                    due == Some((cells, wasted, ok)),
                    "{cells} cells, {wasted} wasted, ok {ok}, but due is {due:?}"
                );
                promise!("Evidence of reads", self.finished.is_none(), "it comes after the end");
            }
            Evidence::Saved { node, by } => {
                let due = (0..case.n)
                    .find(|&cell| case.plan().node[at(cell)] == node && self.saved_due[at(cell)] == Some(by));
                match due {
                    Some(cell) => self.saved_due[at(cell)] = None,
                    None => {
                        return broken(
                            "Evidence of time saved",
                            format!("{by:?} on {node:?}, but due are {:?}", self.saved_due),
                        );
                    }
                }
            }
            Evidence::Accused { node, .. } => {
                return broken(
                    "Evidence of a read",
                    format!("{node:?} is accused, by one who sees only a stripe"),
                );
            }
        }
        Ok(())
    }
}

/// k cells of zeros and of `got`: zeros first, then the lowest.
fn lowest(case: &Case, got: CellSet) -> CellSet {
    case.zero.iter().chain(got).take(usize::from(case.k)).collect()
}
