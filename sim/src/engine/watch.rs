//! The promises of the hedge core, asserted of every read of a watched run.

use hedge_core::{CellSet, Input, LegId, Mode, Outcome, Output, ReadPlan, StripeReadView, Verdict, Why};

/// What is known of one read; nothing, if it is not watched.
#[derive(Default)]
pub(super) struct Watch(Option<Box<Seen>>);

struct Seen {
    k: u8,
    wanted: CellSet,
    /// Cells with a leg under way, and their last attempts.
    live: CellSet,
    attempt: [u8; 64],
    /// Launched and not yet released.
    held: CellSet,
    delivered: CellSet,
    /// The decode that was asked for, and whether it has ended.
    decode: Option<(CellSet, CellSet, bool)>,
    outcome: Option<Outcome>,
    /// A cell that was delivered was released before the end.
    early: bool,
    /// Whether the read may ask for anything; cells that it had leave for, and those that it read by leave.
    hedging: bool,
    granted: u32,
    hedged: u32,
}

impl Watch {
    pub(super) fn new<const N: usize>(plan: &ReadPlan<N>) -> Self {
        Self(Some(Box::new(Seen {
            k: plan.k,
            wanted: plan.wanted,
            live: CellSet::EMPTY,
            attempt: [0; 64],
            held: CellSet::EMPTY,
            delivered: CellSet::EMPTY,
            decode: None,
            outcome: None,
            early: false,
            hedging: plan.mode != Mode::Off,
            granted: 0,
            hedged: 0,
        })))
    }

    /// What happened, before the read is told.
    pub(super) fn input(&mut self, now: u64, input: Input) {
        let Some(seen) = &mut self.0 else { return };
        match input {
            Input::Delivered(leg) if seen.is_live(leg) => {
                seen.live.remove(leg.cell);
                seen.delivered.insert(leg.cell);
            }
            Input::Failed(leg, _) if seen.is_live(leg) => seen.live.remove(leg.cell),
            Input::Decoded(ok) => {
                assert!(ok, "{now}: no decode fails here");
                if let Some(decode) = &mut seen.decode {
                    decode.2 = true;
                }
            }
            _ => {}
        }
    }

    /// What a petition of the read is answered.
    pub(super) fn verdict(&mut self, verdict: &Verdict) {
        if let (Some(seen), &Verdict::Grant { cells, .. }) = (&mut self.0, verdict) {
            seen.granted += u32::from(cells);
        }
    }

    /// What the read asks for. A leg that is to be cancelled has stopped at once.
    pub(super) fn output(&mut self, now: u64, output: &Output) {
        let Some(seen) = &mut self.0 else { return };
        match *output {
            Output::Launch { leg, why, .. } => {
                let cell = leg.cell;
                if matches!(why, Why::Hedge | Why::Eager) {
                    seen.hedged += 1;
                    assert!(
                        seen.hedging && seen.hedged <= seen.granted,
                        "{now}: {leg:?} is launched without leave"
                    );
                }
                assert!(seen.outcome.is_none(), "{now}: {leg:?} is launched after the end");
                assert!(
                    !seen.live.contains(cell) && !seen.held.contains(cell),
                    "{now}: cell {cell} has two legs"
                );
                assert!(!seen.delivered.contains(cell), "{now}: cell {cell} is there, and read again");
                seen.attempt[usize::from(cell)] += 1;
                assert_eq!(seen.attempt[usize::from(cell)], leg.attempt, "{now}: {leg:?}");
                seen.live.insert(cell);
                seen.held.insert(cell);
            }
            Output::Cancel(leg) => {
                assert!(seen.is_live(leg), "{now}: {leg:?} is cancelled after its end");
                seen.live.remove(leg.cell);
            }
            Output::Release(leg) => {
                let cell = leg.cell;
                assert!(seen.held.contains(cell), "{now}: {leg:?} is released twice");
                assert!(!seen.live.contains(cell), "{now}: {leg:?} is released while it runs");
                let read = seen.decode.is_some_and(|(_, sources, over)| !over && sources.contains(cell));
                assert!(!read, "{now}: {leg:?} is released while a decode reads it");
                // The end may follow in the same round.
                seen.early |= seen.delivered.contains(cell) && seen.outcome.is_none();
                seen.held.remove(cell);
            }
            Output::Decode { wanted, sources } => {
                assert!(seen.decode.is_none_or(|(_, _, over)| over), "{now}: two decodes at one time");
                assert_eq!(sources.len(), seen.k, "{now}: sources {sources:?}");
                assert!(
                    sources.is_subset(seen.delivered),
                    "{now}: a decode reads {sources:?} of {:?}",
                    seen.delivered
                );
                seen.decode = Some((wanted, sources, false));
            }
            Output::Finish(outcome) => {
                assert!(seen.outcome.is_none(), "{now}: a second end, {outcome:?}");
                if let Outcome::Ok { delivered, decoded } = outcome {
                    assert_eq!(delivered | decoded, seen.wanted, "{now}");
                    assert!(
                        delivered.is_subset(seen.delivered),
                        "{now}: {delivered:?} of {:?}",
                        seen.delivered
                    );
                    let rebuilt = match seen.decode {
                        Some((wanted, _, true)) => wanted,
                        _ => CellSet::EMPTY,
                    };
                    assert!(decoded.is_subset(rebuilt), "{now}: {decoded:?} was never rebuilt");
                }
                seen.outcome = Some(outcome);
            }
            Output::Tell(_) | Output::Petition(_) | Output::Plan { .. } => {}
        }
    }

    /// The read has nothing more to say for now, and is not over.
    pub(super) fn waits(&self, now: u64, read: &StripeReadView) {
        let Some(seen) = &self.0 else { return };
        let done = seen.wanted.is_subset(seen.delivered);
        assert!(!done || seen.outcome.is_some(), "{now}: the originals are there, and the read goes on");
        assert!(
            !seen.early || seen.outcome.is_some(),
            "{now}: a delivered cell is released, and the read goes on"
        );
        let decoding = seen.decode.is_some_and(|(_, _, over)| !over);
        let due = read.next_deadline().map(|(due, _)| due.as_nanos());
        assert!(!seen.live.is_empty() || decoding || due.is_some(), "{now}: nothing will ever happen");
        assert!(due.is_none_or(|due| due >= now), "{now}: due at {due:?}");
    }

    /// The read is over and drained.
    pub(super) fn over(&self, read: &StripeReadView) {
        let Some(seen) = &self.0 else { return };
        assert_eq!(seen.outcome, read.outcome());
        assert!(seen.live.is_empty(), "legs {:?} are left", seen.live);
        let kept = match seen.outcome {
            Some(Outcome::Ok { delivered, .. }) => delivered,
            Some(_) => CellSet::EMPTY,
            None => panic!("drained without an end"),
        };
        assert_eq!(seen.held, kept, "buffers that were not released, and those of the caller");
        let tally = read.tally();
        assert_eq!(tally.launched, tally.delivered + tally.failed + tally.stopped, "{tally:?}");
        assert_eq!(tally.hedges, tally.won + tally.lost + tally.void + tally.unused, "{tally:?}");
    }
}

impl Seen {
    fn is_live(&self, leg: LegId) -> bool {
        self.live.contains(leg.cell) && self.attempt[usize::from(leg.cell)] == leg.attempt
    }
}
