//! A read under watch: a shadow that knows only what an executor knows, and asserts the promises after every input and output.

use hedge_core::{
    Cause, CellSet, Evidence, Fault, HedgeResult, Input, Instant, LegId, Mode, NodeId, Outcome, Output,
    Petition, ReadPlan, Reason, RequestId, Span, StripeRead, Subject, Verdict, Why,
};

/// What the shadow knows of a leg.
#[derive(Clone, Copy, Debug)]
struct Leg {
    attempt: u8,
    why: Why,
    live: bool,
    started: bool,
    given_up: bool,
    cancelled: bool,
    asked: bool,
    late: bool,
    start: Instant,
    /// The last sign of life.
    sign: Instant,
    connected: Option<Instant>,
}

/// Who has a cell's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Buffer {
    Free,
    Lent(u8),
}

/// A read, and the shadow that watches it.
#[derive(Clone, Debug)]
pub(crate) struct Watched<const N: usize> {
    pub(crate) read: StripeRead<N>,
    plan: ReadPlan<N>,
    now: Instant,
    legs: [Option<Leg>; N],
    buffers: [Buffer; N],
    held: CellSet,
    erased: CellSet,
    soft: CellSet,
    decode: Option<(CellSet, CellSet)>,
    rebuilt: CellSet,
    no_decode: bool,
    finished: Option<Outcome>,
    owed: Option<Petition>,
    asked: u8,
    rank: u8,
    /// Inputs since the outputs were last polled to the end.
    unpolled: u32,
    launched: u32,
    ended: [u32; 3],
    late_grants: u32,
    settled: u32,
    granted: u32,
    spent: u32,
    refunded: u32,
    won_cells: u32,
    settled_cells: u32,
    begun: u32,
    to_be_told: u32,
    told: u32,
    reported: bool,
    pub(crate) ignored: u32,
    /// Let a read that is deaf to its originals go on: its run is compared with another.
    pub(crate) lets_deafness_pass: bool,
}

impl<const N: usize> Watched<N> {
    pub(crate) fn new(now: Instant, plan: &ReadPlan<N>) -> Self {
        let read = StripeRead::new(now, plan).expect("a legal plan");
        let watched = Self {
            read,
            plan: *plan,
            now,
            legs: [None; N],
            buffers: [Buffer::Free; N],
            held: plan.zero,
            erased: plan.missing,
            soft: CellSet::EMPTY,
            decode: None,
            rebuilt: CellSet::EMPTY,
            no_decode: false,
            finished: None,
            owed: None,
            asked: 0,
            rank: 0,
            unpolled: 0,
            launched: 0,
            ended: [0; 3],
            late_grants: 0,
            settled: 0,
            granted: 0,
            spent: 0,
            refunded: 0,
            won_cells: 0,
            settled_cells: 0,
            begun: 0,
            to_be_told: 0,
            told: 0,
            reported: false,
            ignored: 0,
            lets_deafness_pass: false,
        };
        watched.audit();
        watched
    }

    /// The same with a fault in it.
    pub(crate) fn with_fault(mut self, fault: Option<Fault>) -> Self {
        if let Some(fault) = fault {
            self.read = self.read.with_fault(fault);
        }
        self
    }

    /// The leg of this cell that was launched last.
    pub(crate) fn leg(&self, cell: u8) -> LegId {
        LegId { cell, attempt: self.legs[usize::from(cell)].map_or(0, |leg| leg.attempt) }
    }

    /// Whether this leg was launched and has not ended.
    pub(crate) fn is_live(&self, leg: LegId) -> bool {
        self.known(leg).is_some_and(|leg| leg.live)
    }

    /// The petition whose verdict is owed.
    pub(crate) fn owed(&self) -> Option<Petition> {
        self.owed
    }

    pub(crate) fn is_decoding(&self) -> bool {
        self.decode.is_some()
    }

    fn known(&self, leg: LegId) -> Option<&Leg> {
        self.legs.get(usize::from(leg.cell))?.as_ref().filter(|known| known.attempt == leg.attempt)
    }

    fn cells(&self, holds: impl Fn(&Leg) -> bool) -> CellSet {
        (0..)
            .zip(&self.legs)
            .filter(|(_, leg)| leg.as_ref().is_some_and(&holds))
            .map(|(cell, _)| cell)
            .collect()
    }

    fn leased(&self) -> CellSet {
        self.cells(|leg| leg.live)
    }

    fn in_flight(&self) -> CellSet {
        if self.read.outcome().is_some() {
            CellSet::EMPTY
        } else {
            self.cells(|leg| leg.live && !leg.given_up)
        }
    }

    /// Hands the read an input, and checks what it may and may not have changed.
    pub(crate) fn handle(&mut self, now: Instant, input: Input) {
        let was_over = self.read.outcome().is_some();
        let ignored = !self.expects(input);
        let (before, deadline) = (self.read.tally().ignored, self.read.next_deadline());
        let in_flight = self.in_flight();
        self.now = self.now.max(now);
        self.rank = 0;
        self.unpolled += 1;
        self.read.handle(now, input);
        let after = self.read.tally().ignored;
        if ignored {
            self.ignored += 1;
            assert_eq!(
                after,
                before.saturating_add(1),
                "P4: an input about nothing is ignored and counted: {input:?}"
            );
            assert_eq!(
                self.read.next_deadline(),
                deadline,
                "P4: an ignored input moves no deadline: {input:?}"
            );
            assert_eq!(
                self.read.outcome().is_some(),
                was_over,
                "P4: an ignored input ends nothing: {input:?}"
            );
        } else {
            assert_eq!(after, before, "an input that matters is not ignored: {input:?}");
            self.note(input, was_over, in_flight);
        }
        if input == Input::Timeout
            && let Some((at, due)) = self.read.next_deadline()
        {
            assert!(
                at > self.now,
                "P6: right after Timeout at {:?} the next deadline is {at:?} for {due:?}",
                self.now
            );
        }
        self.audit();
    }

    /// Whether this input is about something.
    fn expects(&self, input: Input) -> bool {
        match input {
            Input::Started { leg, .. } => self.known(leg).is_some_and(|leg| leg.live && !leg.started),
            Input::Connected(leg) | Input::Progress(leg) => {
                self.known(leg).is_some_and(|leg| leg.live && leg.started)
            }
            Input::Delivered(leg) | Input::Failed(leg, _) | Input::Stopped(leg) => self.is_live(leg),
            Input::GaveUp(leg, _) => self.is_live(leg) && self.in_flight().contains(leg.cell),
            Input::Verdict { id, .. } => self.owed.is_some_and(|petition| petition.id == id),
            Input::Decoded(_) => self.decode.is_some(),
            Input::Timeout => true,
            Input::Abort => self.read.outcome().is_none(),
        }
    }

    fn note(&mut self, input: Input, was_over: bool, in_flight: CellSet) {
        let was_decoding = self.can_decode();
        match input {
            Input::Started { leg, .. } => {
                let known = self.legs[usize::from(leg.cell)].as_mut().expect("a live leg");
                known.started = true;
                (known.start, known.sign) = (self.now, self.now);
                self.begun += u32::from(matches!(known.why, Why::Hedge | Why::Eager));
            }
            Input::Delivered(leg) => {
                let known = self.end(leg, 0);
                self.begun += u32::from(!known.started && matches!(known.why, Why::Hedge | Why::Eager));
                if !was_over && !self.erased.contains(leg.cell) {
                    self.soft.remove(leg.cell);
                    self.held.insert(leg.cell);
                }
            }
            Input::Failed(leg, cause) => {
                self.end(leg, 1);
                self.lose(leg.cell, cause, was_over);
            }
            Input::Stopped(leg) => {
                self.end(leg, 2);
                self.lose(leg.cell, Cause::Cancelled, was_over);
            }
            Input::GaveUp(leg, cause) => {
                self.legs[usize::from(leg.cell)].as_mut().expect("a live leg").given_up = true;
                self.lose(leg.cell, cause, was_over);
            }
            Input::Verdict { verdict, .. } => {
                let petition = self.owed.take().expect("a verdict is owed");
                if let Verdict::Grant { cells, .. } = verdict {
                    self.granted += u32::from(cells);
                    self.late_grants += u32::from(petition.subject != Subject::Eager);
                }
            }
            Input::Decoded(ok) => {
                let (wanted, _) = self.decode.take().expect("a decode runs");
                if ok && !was_over {
                    self.rebuilt = wanted;
                }
                self.no_decode |= !ok;
            }
            Input::Connected(leg) | Input::Progress(leg) => {
                let known = self.legs[usize::from(leg.cell)].as_mut().expect("a live leg");
                known.sign = self.now;
                if matches!(input, Input::Connected(_)) {
                    known.connected.get_or_insert(self.now);
                }
            }
            Input::Timeout if !was_decoding && self.read.outcome().is_none() => {
                for cell in self.in_flight() {
                    let late = self.due(cell).is_some_and(|due| due <= self.now);
                    self.legs[usize::from(cell)].as_mut().expect("a leg").late |= late;
                }
            }
            Input::Timeout | Input::Abort => {}
        }
        // Legs that are told of: those that left the flight, if work on them had begun.
        if !was_over {
            let left = in_flight - self.in_flight();
            for cell in left {
                self.to_be_told += u32::from(self.legs[usize::from(cell)].expect("a leg").started);
            }
        }
    }

    fn end(&mut self, leg: LegId, how: usize) -> Leg {
        self.ended[how] += 1;
        let known = self.legs[usize::from(leg.cell)].as_mut().expect("a live leg");
        known.live = false;
        *known
    }

    fn lose(&mut self, cell: u8, cause: Cause, was_over: bool) {
        if was_over || self.erased.contains(cell) {
            return;
        }
        if cause.erases() {
            self.soft.remove(cell);
            self.erased.insert(cell);
        } else {
            self.soft.insert(cell);
        }
    }

    /// Whether a decode is to do, or runs.
    fn can_decode(&self) -> bool {
        self.decode.is_some() || (!self.no_decode && self.held.len() >= self.plan.k)
    }

    /// When a leg becomes late, from its own start alone.
    fn due(&self, cell: u8) -> Option<Instant> {
        let leg = self.legs[usize::from(cell)].filter(|leg| leg.live && leg.started)?;
        let clocks = &self.plan.clocks;
        let mut late = if leg.why == Why::Hedge { clocks.late_hedge.or(clocks.late) } else { clocks.late };
        if self.plan.suspect.contains(cell) {
            late = late.into_iter().chain(clocks.late_suspect.or(clocks.late)).min();
        }
        let start = if clocks.connect_counts {
            leg.start
        } else {
            let micros = (leg.connected? - leg.start).as_nanos().div_ceil(1_000);
            leg.start + Span::from_micros(micros)
        };
        let ever = |span: &Span| *span != Span::MAX;
        let by_threshold = late.filter(ever).map(|span| start + span);
        let by_stall = clocks.stall.filter(ever).map(|span| leg.sign + span);
        by_threshold.into_iter().chain(by_stall).min()
    }

    /// What has to hold at any moment.
    fn audit(&self) {
        let tally = self.read.tally();
        assert_eq!(u32::from(tally.launched), self.launched, "P9: launches");
        let ends = [tally.delivered, tally.failed, tally.stopped].map(u32::from);
        assert_eq!(ends, self.ended, "P9: ends");
        assert_eq!(
            self.launched,
            self.ended.iter().sum::<u32>() + u32::from(self.leased().len()),
            "P9: legs"
        );
        assert_eq!(self.read.leased(), self.leased(), "the leases are those of live legs");
        assert_eq!(u32::from(tally.hedges), self.late_grants, "P9: hedges are grants to late legs");
        let settled = [tally.won, tally.lost, tally.void, tally.unused].map(u32::from).iter().sum::<u32>();
        assert_eq!(settled + u32::from(self.read.hedged().len()), self.late_grants, "P9: hedges");
        assert!(self.read.hedged().len() <= self.plan.n - self.plan.k, "rule 8: at most m live grants");
        if self.read.outcome().is_none() {
            assert_eq!(self.read.in_flight(), self.in_flight() | self.read.planned());
            assert_eq!(self.read.held(), self.held, "held is what was delivered, and zeros");
            let done = self.plan.wanted.is_subset(self.held);
            assert!(!done || self.lets_deafness_pass, "rule 2: what is there is there");
            if self.plan.mode != Mode::Off && !self.can_decode() {
                let next = self.read.next_deadline().map(|(next, _)| next);
                for cell in self.in_flight() - self.cells(|leg| leg.late) {
                    if let Some(due) = self.due(cell) {
                        let seen = next.is_some_and(|next| next <= due);
                        assert!(seen, "rule 6: cell {cell} is late at {due:?}, and the deadline is {next:?}");
                    }
                }
            }
        }
    }

    /// The next output, checked.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        let over = self.read.outcome();
        let Some(output) = self.read.poll_output() else {
            self.unpolled = 0;
            self.rest();
            return None;
        };
        let rank = match output {
            Output::Tell(_) => 1,
            Output::Release(_) => 2,
            Output::Finish(_) => 3,
            Output::Cancel(_) => 4,
            Output::Decode { .. } => 5,
            Output::Plan { .. } => 6,
            Output::Launch { .. } => 7,
            Output::Petition(_) => 8,
        };
        assert!(rank >= self.rank, "outputs of one round come in their order: {output:?}");
        self.rank = rank;
        match output {
            Output::Tell(evidence) => self.told(evidence),
            Output::Release(leg) => self.released(leg),
            Output::Finish(outcome) => self.finished(outcome),
            Output::Cancel(leg) => {
                assert!(self.is_live(leg), "never cancel what has ended: {leg:?}");
                let known = self.legs[usize::from(leg.cell)].as_mut().expect("a live leg");
                assert!(!known.cancelled, "cancelled once: {leg:?}");
                assert!(
                    over.is_some() || known.given_up,
                    "no leg is cancelled while the read may need it: {leg:?}"
                );
                known.cancelled = true;
            }
            Output::Decode { wanted, sources } => self.decodes(over, wanted, sources),
            Output::Plan { wanted, sources } => {
                assert!(over.is_none() && self.decode.is_none(), "no hint when it is too late");
                let wanted_now =
                    if self.unpolled <= 1 { self.plan.wanted - self.held } else { self.plan.wanted };
                assert!(!wanted.is_empty() && wanted.is_subset(wanted_now));
                assert_eq!(sources.len(), self.plan.k, "a hint names k sources");
                assert!((sources & wanted).is_empty() && (sources & self.erased).is_empty());
            }
            Output::Launch { leg, node, why } => self.launches(over, leg, node, why),
            Output::Petition(petition) => self.petitions(petition),
        }
        self.audit();
        Some(output)
    }

    fn launches(&mut self, over: Option<Outcome>, leg: LegId, node: NodeId, why: Why) {
        let cell = usize::from(leg.cell);
        assert!(over.is_none(), "P3: launch after the end: {leg:?}");
        assert!(leg.cell < self.plan.n, "a cell of the stripe: {leg:?}");
        assert_eq!(
            self.buffers[cell],
            Buffer::Free,
            "P5: a buffer is lent out again only after its release: {leg:?}"
        );
        assert_eq!(leg.attempt, self.legs[cell].map_or(1, |last| last.attempt.wrapping_add(1)));
        assert_eq!(node, self.plan.node[cell]);
        assert!(!(self.held | self.erased).contains(leg.cell), "nobody reads what is there or lost: {leg:?}");
        if matches!(why, Why::Hedge | Why::Eager) {
            assert!(!self.soft.contains(leg.cell), "leave is for cells that did not fail: {leg:?}");
            self.spent += 1;
            assert!(self.spent <= self.granted, "P7: not more than was granted");
        }
        self.soft.remove(leg.cell);
        self.launched += 1;
        self.buffers[cell] = Buffer::Lent(leg.attempt);
        self.legs[cell] = Some(Leg {
            attempt: leg.attempt,
            why,
            live: true,
            started: false,
            given_up: false,
            cancelled: false,
            asked: false,
            late: false,
            start: self.now,
            sign: self.now,
            connected: None,
        });
    }

    fn released(&mut self, leg: LegId) {
        let cell = usize::from(leg.cell);
        assert_eq!(self.buffers[cell], Buffer::Lent(leg.attempt), "P5: one release a launch: {leg:?}");
        assert!(!self.is_live(leg), "P5: released while something may write: {leg:?}");
        if let Some((_, sources)) = self.decode {
            assert!(
                !sources.contains(leg.cell) || !self.held.contains(leg.cell),
                "P5: the decode reads it: {leg:?}"
            );
        }
        if self.held.contains(leg.cell) {
            let outcome = self.read.outcome().expect("P5: a delivered cell is released after the end");
            if let Outcome::Ok { delivered, .. } = outcome {
                assert!(!delivered.contains(leg.cell), "P5: this buffer is the caller's now: {leg:?}");
            }
        }
        self.buffers[cell] = Buffer::Free;
    }

    fn decodes(&mut self, over: Option<Outcome>, wanted: CellSet, sources: CellSet) {
        assert!(over.is_none() && self.decode.is_none() && !self.no_decode);
        assert!((self.plan.wanted - self.held).is_subset(wanted) && wanted.is_subset(self.plan.wanted));
        assert_eq!(sources.len(), self.plan.k, "exactly k sources");
        assert!(sources.is_subset(self.held), "rule 1: sources are there");
        assert_eq!((sources & self.plan.zero).len(), self.plan.zero.len().min(self.plan.k), "zeros first");
        if self.unpolled <= 1 {
            // Nothing came between the decision and its poll.
            assert_eq!(wanted, self.plan.wanted - self.held, "what is not there is rebuilt");
            let zeros = self.plan.zero.iter().chain(self.held - self.plan.zero);
            assert_eq!(sources, zeros.take(usize::from(self.plan.k)).collect(), "then the lowest");
        }
        self.decode = Some((wanted, sources));
    }

    fn finished(&mut self, outcome: Outcome) {
        assert_eq!(self.finished, None, "P1: a second Finish");
        assert_eq!(self.read.outcome(), Some(outcome));
        assert!(self.reported, "the tally is told before the end");
        self.finished = Some(outcome);
        let wanted = self.plan.wanted;
        match outcome {
            Outcome::Ok { delivered, decoded } => {
                assert_eq!(delivered | decoded, wanted, "P2: every wanted cell");
                assert!(delivered.is_subset(self.held), "P2: delivered cells were delivered");
                assert!(decoded.is_subset(self.rebuilt), "P2: decoded cells were decoded");
                assert!((delivered & decoded).is_empty());
            }
            Outcome::Lost { cells } => {
                assert!(!cells.is_empty() && cells.is_subset(wanted - self.held));
                assert!((cells & self.leased() & self.cells(|leg| !leg.given_up)).is_empty());
            }
            Outcome::DeadlinePassed => {
                assert!(self.plan.deadline.is_some_and(|deadline| deadline <= self.now));
            }
            Outcome::Aborted => {}
        }
    }

    fn petitions(&mut self, petition: Petition) {
        assert_eq!(self.owed, None, "one petition at a time");
        self.asked = self.asked.wrapping_add(1);
        assert_eq!(petition.id, self.asked, "petitions are numbered");
        assert!(self.read.outcome().is_none() && self.plan.mode != Mode::Off);
        assert_eq!(petition.size_class, self.plan.size_class);
        assert_eq!(petition.deadline, self.plan.deadline.filter(|deadline| *deadline != Instant::MAX));
        assert_eq!(petition.dry_run, self.plan.mode == Mode::DryRun);
        let (k, flying) = (self.plan.k, self.in_flight());
        let fresh = CellSet::first_n(self.plan.n) - self.held - self.leased() - self.erased - self.soft;
        if let Subject::Late { leg, node, why, again, .. } = petition.subject {
            assert!(self.is_live(leg) && flying.contains(leg.cell));
            let known = self.legs[usize::from(leg.cell)].as_mut().expect("a live leg");
            assert!(known.started && known.late, "rule 5: this leg is not late: {leg:?}");
            assert_eq!((why, again), (known.why, known.asked));
            known.asked = true;
            assert_eq!(node, self.plan.node[usize::from(leg.cell)]);
            let coming = self.held | (flying - self.read.hedged() - CellSet::one(leg.cell));
            let need = k.saturating_sub(coming.len());
            let cells = if need > fresh.len() || self.no_decode {
                0
            } else if need > 1 {
                need + self.plan.spare.min((fresh - self.plan.avoid).len().saturating_sub(need))
            } else {
                need
            };
            assert_eq!(petition.cells, cells, "rule 7: the cheapest set");
        } else {
            let Mode::Eager(extra) = self.plan.mode else { panic!("an eager petition of another mode") };
            let coming = (self.held | flying).len();
            let wish = k.saturating_add(extra).saturating_sub(coming).min((fresh - self.plan.avoid).len());
            assert_eq!(petition.cells, wish, "rule 11: k + d");
            assert!(coming + wish > k, "rule 11: no leg becomes superfluous");
        }
        self.owed = Some(petition);
    }

    fn told(&mut self, evidence: Evidence) {
        match evidence {
            Evidence::Leg { .. } => {
                self.told += 1;
                assert!(self.told <= self.to_be_told, "a leg is told of once");
            }
            Evidence::Hedge { cells, result, .. } => {
                self.settled += 1;
                assert!(self.settled <= self.late_grants, "a hedge settles once");
                self.settled_cells += u32::from(cells);
                self.won_cells += u32::from(if result == HedgeResult::Won { cells } else { 0 });
                assert!(result != HedgeResult::Unused || cells == 0, "what was not launched cost nothing");
            }
            Evidence::Refund { cells } => {
                assert!(cells > 0, "no empty refund");
                self.refunded += u32::from(cells);
            }
            Evidence::Read { cells, ok, .. } => {
                assert!(!self.reported, "one tally a read");
                self.reported = true;
                assert_eq!(cells, (self.held - self.plan.zero).len());
                assert_eq!(ok, matches!(self.read.outcome(), Some(Outcome::Ok { .. })));
            }
            Evidence::Saved { .. } => {
                let ok =
                    matches!(self.read.outcome(), Some(Outcome::Ok { decoded, .. }) if !decoded.is_empty());
                assert!(ok, "time is saved where a rebuild won");
            }
            Evidence::Accused { .. } => panic!("a read does not see the fleet"),
        }
        let settled = self.settled_cells + self.refunded;
        assert!(settled <= self.granted, "P7: no cell is settled twice, or settled and refunded");
    }

    /// Nothing to do until the next input: somebody else must have something to do.
    fn rest(&self) {
        if self.read.drained() {
            return self.over();
        }
        let busy = !self.leased().is_empty() || self.owed.is_some() || self.decode.is_some();
        assert!(busy || self.read.next_deadline().is_some(), "P6: the read sleeps for ever: {:?}", self.read);
    }

    /// All is said and done.
    fn over(&self) {
        let outcome = self.finished.expect("P1: a drained read has finished");
        let kept = match outcome {
            Outcome::Ok { delivered, .. } => delivered - self.plan.zero,
            _ => CellSet::EMPTY,
        };
        for (cell, buffer) in (0..).zip(&self.buffers) {
            assert_eq!(
                kept.contains(cell),
                *buffer != Buffer::Free,
                "P5: the buffer of cell {cell} is {buffer:?}"
            );
        }
        assert_eq!(self.settled, self.late_grants, "P9: each grant to a late leg is settled");
        assert_eq!(self.told, self.to_be_told, "each leg that ran is told of");
        let cost = self.granted - self.refunded;
        assert!(cost >= self.begun, "cells on which work began are not refunded");
        if self.won_cells == 0 {
            assert_eq!(cost, self.begun, "cells on which no work began are refunded");
        }
    }

    /// Everything there is to do now.
    pub(crate) fn poll_all(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        while let Some(output) = self.poll_output() {
            outputs.push(output);
            assert!(outputs.len() < 1_000, "a round of outputs ends");
        }
        outputs
    }
}

/// An instant so many milliseconds after the clock's origin.
pub(crate) fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// So many milliseconds.
pub(crate) fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// A grant of so many cells.
pub(crate) fn grant(cells: u8) -> Verdict {
    Verdict::Grant { cells, permit: hedge_core::Permit::default() }
}

/// A refusal for good.
pub(crate) fn refuse(reason: Reason) -> Verdict {
    Verdict::Refuse { reason, retry_at: None }
}

/// Work on a leg begins, in a request of its own.
pub(crate) fn started(leg: LegId) -> Input {
    Input::Started { leg, request: RequestId::NONE }
}

/// A plan with every cell on a node of its own, and legs late after ten milliseconds.
pub(crate) fn plan<const N: usize>(k: u8, n: u8, wanted: impl IntoIterator<Item = u8>) -> ReadPlan<N> {
    let mut plan = ReadPlan::new(k, n);
    plan.wanted = wanted.into_iter().collect();
    plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
    plan.clocks.late = Some(ms(10));
    plan
}
