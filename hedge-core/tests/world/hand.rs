//! A watched read driven by hand, for fixed scripts: each call hands in one input and polls all outputs.

use hedge_core::{
    Cause, CellSet, Evidence, HedgeResult, Input, Instant, LegId, Outcome, Output, Petition, ReadPlan,
    Reason, Subject, Verdict, Why,
};

use super::{Watched, at, grant, plan, started};

#[derive(Clone, Debug)]
pub(crate) struct Hand<const N: usize> {
    pub(crate) watched: Watched<N>,
    /// What the last call led to.
    pub(crate) outputs: Vec<Output>,
    pub(crate) origin: Instant,
}

impl<const N: usize> Hand<N> {
    /// A read that begins at 0 ms.
    pub(crate) fn new(plan: &ReadPlan<N>) -> Self {
        Self::beginning_at(Instant::ZERO, plan)
    }

    pub(crate) fn beginning_at(origin: Instant, plan: &ReadPlan<N>) -> Self {
        let mut watched = Watched::new(origin, plan);
        let outputs = watched.poll_all();
        Self { watched, outputs, origin }
    }

    /// A read whose first legs have all started at 0 ms.
    pub(crate) fn running(plan: &ReadPlan<N>) -> Self {
        let mut hand = Self::new(plan);
        hand.start(0);
        hand
    }

    pub(crate) fn leg(&self, cell: u8) -> LegId {
        self.watched.leg(cell)
    }

    /// Hands in an input, this many milliseconds after the beginning.
    pub(crate) fn input(&mut self, millis: u64, input: Input) -> &mut Self {
        self.watched.handle(self.origin + super::ms(millis), input);
        self.outputs = self.watched.poll_all();
        self
    }

    /// Starts every leg that the last call launched.
    pub(crate) fn start(&mut self, millis: u64) -> &mut Self {
        for (cell, _) in self.launched() {
            self.watched.handle(self.origin + super::ms(millis), started(self.leg(cell)));
            assert_eq!(self.watched.poll_all(), [], "a start asks for nothing");
        }
        self
    }

    pub(crate) fn deliver(&mut self, millis: u64, cell: u8) -> &mut Self {
        self.input(millis, Input::Delivered(self.leg(cell)))
    }

    pub(crate) fn fail(&mut self, millis: u64, cell: u8, cause: Cause) -> &mut Self {
        self.input(millis, Input::Failed(self.leg(cell), cause))
    }

    pub(crate) fn give_up(&mut self, millis: u64, cell: u8, cause: Cause) -> &mut Self {
        self.input(millis, Input::GaveUp(self.leg(cell), cause))
    }

    pub(crate) fn stop(&mut self, millis: u64, cell: u8) -> &mut Self {
        self.input(millis, Input::Stopped(self.leg(cell)))
    }

    pub(crate) fn timeout(&mut self, millis: u64) -> &mut Self {
        self.input(millis, Input::Timeout)
    }

    pub(crate) fn abort(&mut self, millis: u64) -> &mut Self {
        self.input(millis, Input::Abort)
    }

    pub(crate) fn decoded(&mut self, millis: u64) -> &mut Self {
        self.input(millis, Input::Decoded(true))
    }

    fn owed(&self) -> Petition {
        self.watched.owed().expect("a verdict is owed")
    }

    /// Grants what the petition that is out asks for.
    pub(crate) fn grant(&mut self, millis: u64) -> &mut Self {
        self.grant_cells(millis, self.owed().cells)
    }

    pub(crate) fn grant_cells(&mut self, millis: u64, cells: u8) -> &mut Self {
        self.input(millis, Input::Verdict { id: self.owed().id, verdict: grant(cells) })
    }

    pub(crate) fn refuse(&mut self, millis: u64, reason: Reason, retry: Option<u64>) -> &mut Self {
        let retry_at = retry.map(|millis| self.origin + super::ms(millis));
        self.input(
            millis,
            Input::Verdict { id: self.owed().id, verdict: Verdict::Refuse { reason, retry_at } },
        )
    }

    pub(crate) fn launched(&self) -> Vec<(u8, Why)> {
        let launched = |output: &Output| match *output {
            Output::Launch { leg, why, .. } => Some((leg.cell, why)),
            _ => None,
        };
        self.outputs.iter().filter_map(launched).collect()
    }

    /// The cells that the last call launched, all of them for this.
    pub(crate) fn launched_for(&self, why: Why) -> CellSet {
        let launched = self.launched();
        assert!(launched.iter().all(|&(_, other)| other == why), "{launched:?}");
        launched.into_iter().map(|(cell, _)| cell).collect()
    }

    pub(crate) fn cancelled(&self) -> CellSet {
        let cancelled = |output: &Output| match *output {
            Output::Cancel(leg) => Some(leg.cell),
            _ => None,
        };
        self.outputs.iter().filter_map(cancelled).collect()
    }

    pub(crate) fn released(&self) -> CellSet {
        let released = |output: &Output| match *output {
            Output::Release(leg) => Some(leg.cell),
            _ => None,
        };
        self.outputs.iter().filter_map(released).collect()
    }

    pub(crate) fn petition(&self) -> Option<Petition> {
        self.outputs.iter().find_map(|output| match *output {
            Output::Petition(petition) => Some(petition),
            _ => None,
        })
    }

    pub(crate) fn decode(&self) -> Option<(CellSet, CellSet)> {
        self.outputs.iter().find_map(|output| match *output {
            Output::Decode { wanted, sources } => Some((wanted, sources)),
            _ => None,
        })
    }

    pub(crate) fn hint(&self) -> Option<(CellSet, CellSet)> {
        self.outputs.iter().find_map(|output| match *output {
            Output::Plan { wanted, sources } => Some((wanted, sources)),
            _ => None,
        })
    }

    pub(crate) fn finish(&self) -> Option<Outcome> {
        self.outputs.iter().find_map(|output| match *output {
            Output::Finish(outcome) => Some(outcome),
            _ => None,
        })
    }

    pub(crate) fn evidence(&self) -> Vec<Evidence> {
        let evidence = |output: &Output| match *output {
            Output::Tell(evidence) => Some(evidence),
            _ => None,
        };
        self.outputs.iter().filter_map(evidence).collect()
    }

    pub(crate) fn hedges(&self) -> Vec<(u8, HedgeResult)> {
        let hedge = |evidence: Evidence| match evidence {
            Evidence::Hedge { cells, result, .. } => Some((cells, result)),
            _ => None,
        };
        self.evidence().into_iter().filter_map(hedge).collect()
    }

    pub(crate) fn refunded(&self) -> u8 {
        let refund = |evidence: Evidence| match evidence {
            Evidence::Refund { cells } => cells,
            _ => 0,
        };
        self.evidence().into_iter().map(refund).sum()
    }

    /// Ends what is left of a read that is over.
    pub(crate) fn drain(&mut self, millis: u64) {
        assert!(self.watched.read.outcome().is_some(), "the read is over");
        for cell in self.watched.read.leased() {
            self.stop(millis, cell);
        }
        if self.watched.is_decoding() {
            self.decoded(millis);
        }
        if self.watched.owed().is_some() {
            self.refuse(millis, Reason::Off, None);
        }
        assert!(self.watched.read.drained());
    }
}

/// Every wanted cell was delivered.
pub(crate) fn delivered<const N: usize>(cells: [u8; N]) -> Option<Outcome> {
    Some(Outcome::Ok { delivered: cells.into(), decoded: CellSet::EMPTY })
}

pub(crate) fn set<const N: usize>(cells: [u8; N]) -> CellSet {
    cells.into()
}

pub(crate) fn ok<const D: usize, const R: usize>(delivered: [u8; D], decoded: [u8; R]) -> Option<Outcome> {
    Some(Outcome::Ok { delivered: delivered.into(), decoded: decoded.into() })
}

/// RS-6-3 with these cells wanted.
pub(crate) fn rs_6_3<const W: usize>(wanted: [u8; W]) -> ReadPlan<9> {
    plan(6, 9, wanted)
}

/// The petition that the timeout at 10 ms leads to.
pub(crate) fn asked<const N: usize>(hand: &mut Hand<N>, straggler: u8) -> u8 {
    let petition = hand.petition().expect("a petition");
    assert!(matches!(petition.subject, Subject::Late { leg, .. } if leg.cell == straggler), "{petition:?}");
    petition.cells
}
