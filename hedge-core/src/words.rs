//! The plain values that a read, the governor and the executor exchange.

use crate::{CellSet, Instant, Span};

/// A storage node, as a small dense number that the embedder gives it: 0, 1, 2, ...
///
/// A [`Governor`](crate::Governor) for `NODES` nodes knows the numbers below `NODES`; to it every other
/// number, and [`NodeId::UNKNOWN`], is an unknown node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// A node that nobody can name. Two unknown nodes count as different ones.
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// A network request, which may carry several legs: a number of the executor's choice.
///
/// Legs of one request are one observation: late together, they are one late request, not several.
/// [`RequestId::NONE`] stands for a request of the leg's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RequestId(pub u32);

impl RequestId {
    /// A request that carries this leg alone.
    pub const NONE: Self = Self(0);
}

/// One attempt to read one cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LegId {
    /// The cell, 0 to n-1.
    pub cell: u8,
    /// Which launch of that cell this is, from 1.
    pub attempt: u8,
}

/// Why a leg was launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Why {
    /// The cell itself is wanted.
    #[default]
    Original,
    /// A source that the read needs because a wanted cell is lost, or lies on a demoted node.
    Degraded,
    /// A source with which a straggler is rebuilt, by leave of the governor.
    Hedge,
    /// A source read ahead of any lateness, by leave of the governor.
    Eager,
}

/// Why a leg ended without its cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// A timer of the executor ran out. The cell may be tried again.
    Timeout,
    /// The node refused. The cell may be tried again.
    Refused,
    /// The node could not be reached. The cell may be tried again.
    Unreachable,
    /// Stopped from this side. The cell may be tried again.
    Cancelled,
    /// The node does not have the cell: it is erased for this read.
    Missing,
    /// The bytes are not those that were written: the cell is erased for this read.
    Corrupt,
}

impl Cause {
    /// Whether the cell is erased for the rest of this read. Only [`Missing`](Self::Missing) and
    /// [`Corrupt`](Self::Corrupt) are facts about the cell; the others are about the way to it.
    #[must_use]
    pub const fn erases(self) -> bool {
        matches!(self, Self::Missing | Self::Corrupt)
    }
}

/// What happened: an input of [`StripeRead::handle`](crate::StripeReadView::handle).
///
/// Every input is legal at any time. One about a leg that has ended, or never was, is ignored and counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// Work on the leg began: the request that carries it is sent, or its connection is being opened.
    /// Before this a leg has no clock.
    Started {
        /// The leg.
        leg: LegId,
        /// The request that it rides on.
        request: RequestId,
    },
    /// The connection for this leg is open.
    Connected(LegId),
    /// Bytes of this leg arrived: the stall timer starts anew.
    Progress(LegId),
    /// The cell is complete and checked, and nothing writes to its buffer any more.
    Delivered(LegId),
    /// The leg ended without its cell, and nothing writes to its buffer any more.
    Failed(LegId, Cause),
    /// The executor no longer believes in this leg, whose writer may live: counts as failed, and is
    /// cancelled. Its buffer stays leased until [`Stopped`](Self::Stopped), [`Failed`](Self::Failed) or
    /// [`Delivered`](Self::Delivered) says that its writer is gone.
    GaveUp(LegId, Cause),
    /// Nothing of this leg writes any more. Without a [`Output::Cancel`] before it, the same as
    /// `Failed` with [`Cause::Cancelled`].
    Stopped(LegId),
    /// The governor's answer to the petition of this number.
    Verdict {
        /// [`Petition::id`].
        id: u8,
        /// The answer.
        verdict: Verdict,
    },
    /// The decode that was asked for ended; false if it failed. Then this read decodes no more, and only the wanted cells
    /// themselves can complete it.
    Decoded(bool),
    /// The instant of [`next_deadline`](crate::StripeReadView::next_deadline) has come. At any other time it
    /// does no harm.
    Timeout,
    /// The caller no longer wants the read.
    Abort,
}

/// What to do: an output of [`StripeRead::poll_output`](crate::StripeReadView::poll_output).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// For [`Governor::record`](crate::GovernorView::record).
    Tell(Evidence),
    /// The leg's buffer may be used again.
    Release(LegId),
    /// The read is over. Legs may still have to end: see [`drained`](crate::StripeReadView::drained).
    Finish(Outcome),
    /// Please stop this leg, and say when it has stopped.
    Cancel(LegId),
    /// Rebuild `wanted` from `sources`, exactly k cells, into fresh memory; answer with [`Input::Decoded`].
    Decode {
        /// The cells to rebuild.
        wanted: CellSet,
        /// The cells to read: cells of zeros first, then the lowest that were delivered.
        sources: CellSet,
    },
    /// A hint, if [`ReadPlan::hints`](crate::ReadPlan::hints) asked for it: the decode now expected. Replaced by the next
    /// `Plan` or `Decode`.
    Plan {
        /// The cells that will be rebuilt.
        wanted: CellSet,
        /// The k cells that they will be rebuilt from.
        sources: CellSet,
    },
    /// Read this cell.
    Launch {
        /// The leg: the cell and the attempt.
        leg: LegId,
        /// The node that has the cell.
        node: NodeId,
        /// What for.
        why: Why,
    },
    /// For [`Governor::decide`](crate::GovernorView::decide); answer with [`Input::Verdict`].
    Petition(Petition),
}

/// May this read spend further cells? One petition is one hedge of one straggler, or one eager start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Petition {
    /// The number to answer to.
    pub id: u8,
    /// What for.
    pub subject: Subject,
    /// How many cells it would read: a spare included, 0 if no set of cells helps or none is needed.
    pub cells: u8,
    /// The size class of the read's legs.
    pub size_class: u8,
    /// When the read ends whatever happens.
    pub deadline: Option<Instant>,
    /// The read only asks what would be granted ([`Mode::DryRun`](crate::Mode::DryRun)).
    pub dry_run: bool,
}

/// What a petition is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Subject {
    /// This leg is late.
    Late {
        /// The straggler.
        leg: LegId,
        /// Its node.
        node: NodeId,
        /// Why the straggler was launched.
        why: Why,
        /// The request that it rides on.
        request: RequestId,
        /// Whether this leg asked before, so that its lateness is known already.
        again: bool,
    },
    /// The read would like to start with more legs than it needs.
    Eager,
}

/// The governor's answer to a petition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// Go on, with at most so many cells. What of them is not launched comes back as [`Evidence::Refund`].
    Grant {
        /// At most so many cells.
        cells: u8,
        /// To be handed back with the hedge's end.
        permit: Permit,
    },
    /// No.
    Refuse {
        /// Why.
        reason: Reason,
        /// When it is worth asking again; `None`: not for this leg.
        retry_at: Option<Instant>,
    },
}

/// A grant's mark: when it was given, and on which lease of a half-open breaker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Permit {
    /// The breaker's epoch at the time.
    pub epoch: u32,
    /// The probe lease that the grant holds.
    pub probe: Option<u8>,
}

/// Why a petition was refused. The order is that of the gates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// Hedging is off.
    Off,
    /// The straggler's node has no number that the governor knows.
    UnknownNode,
    /// The breaker is open, or half-open with every probe out.
    Breaker,
    /// No set of cells helps, or none is needed.
    NoCells,
    /// The read's deadline is too near for a hedge to come in time.
    DeadlineNear,
    /// As many hedges were granted in the last second as are allowed.
    Rate,
    /// Too many cells were spent without use.
    Budget,
    /// It would have been granted, but nothing is to be launched.
    DryRun,
    /// The executor has no memory for the cells: [`no_memory`](crate::GovernorView::no_memory).
    Memory,
}

impl Reason {
    /// How many reasons there are.
    pub const COUNT: usize = 9;
    /// All of them, in the order of the gates.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Off,
        Self::UnknownNode,
        Self::Breaker,
        Self::NoCells,
        Self::DeadlineNear,
        Self::Rate,
        Self::Budget,
        Self::DryRun,
        Self::Memory,
    ];
}

/// How a read ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Every wanted cell is there.
    Ok {
        /// Wanted cells that were delivered (or are zeros): their buffers are the caller's now.
        delivered: CellSet,
        /// Wanted cells that were rebuilt.
        decoded: CellSet,
    },
    /// These wanted cells can't be had.
    Lost {
        /// Wanted cells that could be neither read nor rebuilt.
        cells: CellSet,
    },
    /// The read's own deadline passed first.
    DeadlinePassed,
    /// [`Input::Abort`].
    Aborted,
}

/// What the governor learns from a read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Evidence {
    /// A leg that was started ended, or was still out when the read ended. Once a leg.
    Leg {
        /// Its node.
        node: NodeId,
        /// The request that it rode on.
        request: RequestId,
        /// Why it was launched.
        why: Why,
        /// The size class of the read's legs.
        size_class: u8,
        /// From start to open connection, in microseconds (up to 71 minutes), where that stage was seen.
        connect_micros: Option<u32>,
        /// From start to end.
        took: Span,
        /// How it ended.
        end: LegEnd,
    },
    /// A hedge is settled. Exactly one for each grant to a late leg.
    Hedge {
        /// The grant's.
        permit: Permit,
        /// How many of the granted cells it cost: those that work began on, and of a hedge that won all that were
        /// launched and not refunded.
        cells: u8,
        /// What came of it.
        result: HedgeResult,
    },
    /// Granted cells that cost nothing: never launched, or ended before work on them began.
    Refund {
        /// How many.
        cells: u8,
    },
    /// A read is over. Once a read.
    Read {
        /// Cells delivered by then, cells of zeros not counted.
        cells: u8,
        /// Cells read by leave (hedge and eager legs that work began on) that no rebuild used.
        wasted: u8,
        /// Whether the wanted bytes are there.
        ok: bool,
    },
    /// A straggler that was beaten by a rebuild came after all: the time that its hedge saved.
    Saved {
        /// The straggler's node.
        node: NodeId,
        /// How much later than the end of the read it came.
        by: Span,
    },
    /// Whoever sees the whole fleet calls a node slow: prior evidence. Reads prefer other sources, their legs to it are late sooner, and one
    /// bad request of its own is enough to demote it if it has no good ones; it counts for nothing else.
    Accused {
        /// The node; it need not have been seen.
        node: NodeId,
        /// Until when, unless it is said again. An instant that is not to come takes back what was said before.
        until: Instant,
    },
}

/// How a leg ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LegEnd {
    /// With its cell.
    Delivered,
    /// Without.
    Failed(Cause),
    /// It was still out when the read ended: it would have taken at least so long.
    Cut,
}

/// What came of a granted hedge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HedgeResult {
    /// The read is Ok, and the straggler was rebuilt.
    Won,
    /// The read is Ok without it.
    Lost,
    /// The read is not Ok, or more of the legs that the hedge rests on failed than it had to spare.
    Void,
    /// It cost nothing: the leave came too late or was not needed any more, or the read was abandoned before work on any of its
    /// legs began.
    Unused,
}
