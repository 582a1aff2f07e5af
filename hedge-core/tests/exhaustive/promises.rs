//! The promises that are checked in every state.

use hedge_core::{Cause, CellSet, Input, Instant, LegId, Mode, Outcome, Permit, RequestId, Verdict};

use crate::broken::{Held, promise};
use crate::case::{Case, LATE, Read};
use crate::event::Event;
use crate::shadow::{Shadow, at};

impl Shadow {
    /// The promises of every state, whatever has been polled.
    pub(crate) fn check(&self, case: &Case, read: &Read, events: &[Event]) -> Held {
        let tally = read.tally();
        let ends = tally.delivered + tally.failed + tally.stopped;
        promise!(
            "P9",
            tally.launched == ends + u16::from(read.leased().len()),
            "{} legs launched, {ends} ended, {} out",
            tally.launched,
            read.leased()
        );
        let settled = tally.won + tally.lost + tally.void + tally.unused;
        promise!(
            "P9",
            tally.hedges == settled + u16::from(read.hedged().len()),
            "{} hedges, {settled} settled, {} open",
            tally.hedges,
            read.hedged()
        );
        promise!("P9", u32::from(tally.hedges) == self.grants_given, "{} hedges", tally.hedges);
        promise!(
            "Accessors",
            read.leased() == self.out,
            "leased are {}, out are {}",
            read.leased(),
            self.out
        );
        promise!(
            "Rule 8",
            read.hedged() == self.stragglers(),
            "{} have a live grant, not {}",
            self.stragglers(),
            read.hedged()
        );
        promise!(
            "Rule 8",
            read.hedged().len() <= case.n - case.k,
            "{} stragglers are hedged at once",
            read.hedged()
        );
        promise!("P10", self.over == read.outcome() && *read == read.clone(), "a clone is not the same");
        if self.over.is_none() {
            promise!(
                "Accessors",
                read.held() == self.got | case.zero,
                "held are {}, not {}",
                read.held(),
                self.got
            );
            let flying = self.flying() | read.planned();
            promise!(
                "Accessors",
                read.in_flight() == flying,
                "in flight are {}, not {flying}",
                read.in_flight()
            );
        }
        self.check_bogus(case, read)?;
        self.check_abandon(case, read)?;
        if self.unpolled { Ok(()) } else { self.check_at_rest(case, read, events) }
    }

    /// The promises of a state in which everything has been polled.
    fn check_at_rest(&self, case: &Case, read: &Read, events: &[Event]) -> Held {
        promise!("P1", self.over.is_none() || self.finished.is_some(), "it is over without a Finish");
        promise!("P7", self.refund_due == 0, "{} granted cells were not refunded", self.refund_due);
        promise!(
            "Evidence of legs",
            self.leg_due.iter().all(Option::is_none),
            "not told: {:?}",
            self.leg_due
        );
        promise!(
            "Evidence of hedges",
            self.hedge_due.iter().all(Option::is_none),
            "not told: {:?}",
            self.hedge_due
        );
        promise!("Evidence of reads", self.read_due.is_none(), "not told: {:?}", self.read_due);
        promise!(
            "Evidence of time saved",
            self.saved_due.iter().all(Option::is_none),
            "not told: {:?}",
            self.saved_due
        );
        let next = read.next_deadline();
        let waits = !self.out.is_empty() || self.petition.is_some() || self.decoding.is_some();
        promise!("P6", read.drained() || waits || next.is_some(), "it waits for nothing");
        promise!("P6", read.drained() == (self.over.is_some() && !waits), "drained is {}", read.drained());
        if read.drained() {
            let kept = match self.finished {
                Some(Outcome::Ok { delivered, .. }) => delivered - case.zero,
                _ => CellSet::EMPTY,
            };
            promise!("P5", self.lent == kept, "{} were never released", self.lent - kept);
            promise!("P7", self.unbegun.is_empty(), "{} were granted and never refunded", self.unbegun);
            promise!("P6", next.is_none(), "a deadline after the end");
        }
        promise!("P1", !events.is_empty() || read.drained(), "nothing can happen, and it is not over");
        if self.now > self.told {
            return Ok(());
        }
        if next.is_none_or(|(due, _)| due > self.now) {
            let mut same = read.clone();
            same.handle(self.now, Input::Timeout);
            promise!(
                "All is done at once",
                same == *read && same.poll_output().is_none(),
                "a timeout before its time does something that was not done before"
            );
        }
        if self.over.is_some() || self.decoding.is_some() {
            return Ok(());
        }
        let next = next.map_or(Instant::MAX, |(due, _)| due);
        if case.mode != Mode::Off {
            let running = self.flying() & self.started;
            for cell in running - self.late {
                let late_at = self.start[at(cell)] + LATE;
                promise!(
                    "Rule 6",
                    next <= late_at,
                    "cell {cell} is late at {late_at:?}, and nobody will look"
                );
            }
            let stragglers = self.stragglers() & self.flying();
            if !self.decode_failed && !stragglers.is_empty() {
                let needed = self.needed(case, self.flying(), CellSet::EMPTY);
                let enough = self.fresh(case).len() >= needed;
                promise!(
                    "Rule 8",
                    needed == 0 || !enough,
                    "the hedge of {stragglers} can't complete, and is not void"
                );
            }
            if self.petition.is_none() {
                for cell in (running & self.late) - self.stragglers() - self.refused {
                    let retry = self.not_before[at(cell)];
                    promise!("Rule 3", next <= retry, "cell {cell} is late and forgotten");
                }
            }
        }
        Ok(())
    }

    /// P4: what is about nothing changes nothing but a count.
    fn check_bogus(&self, case: &Case, read: &Read) -> Held {
        let mut same = read.clone();
        let mut ignored = read.tally().ignored;
        let mut bogus = |input| {
            same.handle(self.told, input);
            ignored += 1;
        };
        for cell in 0..case.n {
            let leg = self.leg(cell);
            let stale = LegId { attempt: leg.attempt.wrapping_sub(1), ..leg };
            bogus(Input::Delivered(stale));
            bogus(Input::Failed(stale, Cause::Missing));
            if !self.out.contains(cell) {
                bogus(Input::Started { leg, request: RequestId::NONE });
                bogus(Input::Connected(leg));
                bogus(Input::Progress(leg));
                bogus(Input::Delivered(leg));
                bogus(Input::Failed(leg, Cause::Corrupt));
                bogus(Input::Stopped(leg));
            }
            if self.over.is_some() || !self.flying().contains(cell) {
                bogus(Input::GaveUp(leg, Cause::Unreachable));
            }
            if self.started.contains(cell) {
                bogus(Input::Started { leg, request: RequestId::NONE });
            }
        }
        bogus(Input::Stopped(LegId { cell: 77, attempt: 1 }));
        let grant = Verdict::Grant { cells: 2, permit: Permit::default() };
        bogus(Input::Verdict { id: self.last_id.wrapping_add(1), verdict: grant });
        if self.petition.is_none() {
            bogus(Input::Verdict { id: self.last_id, verdict: grant });
        }
        if self.decoding.is_none() {
            bogus(Input::Decoded(true));
        }
        if self.over.is_some() {
            bogus(Input::Abort);
        }
        promise!("P4", same.tally().ignored == ignored, "not every event about nothing was ignored");
        promise!(
            "P4",
            same.with_ignored(read.tally().ignored) == *read,
            "an event about nothing changed the state"
        );
        Ok(())
    }

    /// An executor that drops the read now knows what it has to see to, and the governor has heard all.
    fn check_abandon(&self, case: &Case, read: &Read) -> Held {
        if case.n > 3 {
            return Ok(());
        }
        let (mut dropped, mut heard) = (read.clone(), self.clone());
        let mut evidence = Vec::new();
        let left = dropped.abandon(self.now, |told| evidence.push(told));
        heard.aborted = true;
        // Nobody would tell of their ends.
        for cell in heard.unbegun {
            heard.refund(cell);
        }
        heard.conclude(case, &dropped, Input::Abort, CellSet::EMPTY)?;
        for told in evidence {
            heard.see_evidence(case, told)?;
        }
        promise!(
            "Abandon",
            left.leased == self.out,
            "{} are named as leased, {} are out",
            left.leased,
            self.out
        );
        let decoding = self.decoding.map_or(CellSet::EMPTY, |(_, sources)| sources - case.zero);
        promise!(
            "Abandon",
            left.decoding == decoding,
            "{} are named, the decode reads {decoding}",
            left.decoding
        );
        promise!("Abandon", left.owed == self.petition.map(|p| p.id), "{:?} is named as owed", left.owed);
        promise!(
            "Abandon",
            heard.refund_due == 0
                && heard.read_due.is_none()
                && heard.hedge_due.iter().all(Option::is_none)
                && heard.leg_due.iter().all(Option::is_none),
            "evidence is kept back"
        );
        Ok(())
    }
}
