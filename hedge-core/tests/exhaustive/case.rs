//! What is explored: a stripe, a plan for a read of it, and which events may happen.

use std::fmt;

use hedge_core::{CellSet, Instant, Mode, NodeId, ReadPlan, Span, StripeRead};

/// Room for cells in the reads explored.
pub(crate) const ROOM: usize = 5;
pub(crate) type Read = StripeRead<ROOM>;

/// A leg is late so long after its start, in nanoseconds; the others are of the same unit.
pub(crate) const LATE: Span = Span::from_nanos(10);
pub(crate) const RETRY_FLOOR: Span = Span::from_nanos(3);
const DEADLINE: Instant = Instant::from_nanos(25);

/// One configuration.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) k: u8,
    pub(crate) n: u8,
    pub(crate) wanted: CellSet,
    pub(crate) zero: CellSet,
    pub(crate) missing: CellSet,
    pub(crate) avoid: CellSet,
    /// Two cells on one node.
    pub(crate) together: Option<(u8, u8)>,
    pub(crate) mode: Mode,
    pub(crate) deadline: bool,
    pub(crate) max_tries: u8,
    pub(crate) spare: u8,
    pub(crate) hints: bool,

    /// Legs may fail in a way that may pass.
    pub(crate) soft: bool,
    /// Legs may be given up, and end later.
    pub(crate) give_up: bool,
    /// So many refusals name a time to ask again.
    pub(crate) retries: u8,
    /// Grants of fewer cells than asked.
    pub(crate) fewer: bool,
    pub(crate) abort: bool,
    pub(crate) decode_fails: bool,
    /// Inputs come between two polls.
    pub(crate) partial_polls: bool,
    /// The executor may sleep past a deadline.
    pub(crate) oversleep: bool,
    /// Legs may stop unasked, and deliver without a word of their start.
    pub(crate) unruly: bool,
    /// States that differ only in what evidence they owe count as different.
    pub(crate) ledger: bool,
}

impl Case {
    /// Everything that may happen to a leg but giving it up; aborts; one refusal with a time to ask again.
    pub(crate) fn new<const W: usize>(k: u8, n: u8, wanted: [u8; W]) -> Self {
        Self {
            k,
            n,
            wanted: CellSet::from(wanted),
            zero: CellSet::EMPTY,
            missing: CellSet::EMPTY,
            avoid: CellSet::EMPTY,
            together: None,
            mode: Mode::Hedge,
            deadline: false,
            max_tries: 1,
            spare: 0,
            hints: false,
            soft: true,
            give_up: false,
            retries: 1,
            fewer: false,
            abort: true,
            decode_fails: true,
            partial_polls: false,
            oversleep: false,
            unruly: false,
            ledger: false,
        }
    }

    pub(crate) fn plan(&self) -> ReadPlan<ROOM> {
        let mut plan = ReadPlan::new(self.k, self.n);
        plan.wanted = self.wanted;
        plan.zero = self.zero;
        plan.missing = self.missing;
        plan.avoid = self.avoid;
        plan.node = std::array::from_fn(|cell| NodeId(cell as u32));
        if let Some((one, other)) = self.together {
            plan.node[usize::from(other)] = plan.node[usize::from(one)];
        }
        plan.deadline = self.deadline.then_some(DEADLINE);
        plan.mode = self.mode;
        plan.max_tries = self.max_tries;
        plan.spare = self.spare;
        plan.hints = self.hints;
        plan.clocks.late = Some(LATE);
        plan.clocks.retry_floor = RETRY_FLOOR;
        plan
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{}) wanted {}", self.k, self.n, self.wanted)?;
        for (name, set) in [("zero", self.zero), ("missing", self.missing), ("avoid", self.avoid)] {
            if !set.is_empty() {
                write!(f, " {name} {set}")?;
            }
        }
        if let Some((one, other)) = self.together {
            write!(f, " {one} and {other} on one node")?;
        }
        match self.mode {
            Mode::Hedge => {}
            Mode::Off => write!(f, " off")?,
            Mode::DryRun => write!(f, " dry run")?,
            Mode::Eager(extra) => write!(f, " eager {extra}")?,
        }
        if self.max_tries > 1 {
            write!(f, " tries {}", self.max_tries)?;
        }
        if self.spare > 0 {
            write!(f, " spare {}", self.spare)?;
        }
        for (name, on) in [
            ("deadline", self.deadline),
            ("hints", self.hints),
            ("hard failures only", !self.soft),
            ("refused for good", self.retries == 0),
            ("refused twice for now", self.retries > 1),
            ("no aborts", !self.abort),
            ("decodes succeed", !self.decode_fails),
            ("given up", self.give_up),
            ("granted fewer", self.fewer),
            ("partial polls", self.partial_polls),
            ("oversleeping", self.oversleep),
            ("unruly", self.unruly),
            ("ledger", self.ledger),
        ] {
            if on {
                write!(f, " {name}")?;
            }
        }
        Ok(())
    }
}
