//! What a read remembers: of itself, and of each cell.

#[cfg(feature = "testing")]
use super::testing::Fault;
use crate::{CellSet, HedgeResult, Instant, LegEnd, LegId, NodeId, Outcome, Permit, RequestId, Span, Why};

/// What a read knows of one cell: opaque, and here only because a read's size depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot {
    /// When work on the leg began.
    pub(super) start: Instant,
    /// Until the leg is late, its last sign of life; then when it may ask (again); once it has ended, when.
    pub(super) mark: Instant,
    /// From start to open connection, rounded up; `NOT_CONNECTED` before.
    pub(super) connect_micros: u32,
    pub(super) node: NodeId,
    pub(super) request: RequestId,
    /// Of the last grant to this cell as a straggler.
    pub(super) epoch: u32,
    pub(super) probe: Option<u8>,
    pub(super) result: HedgeResult,
    /// What that grant cost so far, and how many of its legs may fail without harm.
    pub(super) cells: u8,
    pub(super) spares: u8,
    /// Of the leg that is in flight or planned: why, and for which straggler if it is a hedge.
    pub(super) why: Why,
    pub(super) grant: u8,
    pub(super) attempt: u8,
    /// Launches that a read without hedges would have made, too.
    pub(super) tries: u8,
    /// Of the leg that has to be told of.
    pub(super) ended_why: Why,
    pub(super) end: LegEnd,
    /// Whether its lateness has been reported, and whether it asks no more only until another leg ends.
    pub(super) asked: bool,
    pub(super) no_cells: bool,
    /// The cell that is the slot's number-th choice as a source.
    pub(super) order: u8,
    /// Whether its node is not waited for, and whether it is suspected of being slow.
    pub(super) avoid: bool,
    pub(super) suspect: bool,
}

pub(super) const NOT_CONNECTED: u32 = u32::MAX;

impl Slot {
    pub(super) const NEW: Self = Self {
        start: Instant::ZERO,
        mark: Instant::ZERO,
        connect_micros: NOT_CONNECTED,
        node: NodeId::UNKNOWN,
        request: RequestId::NONE,
        epoch: 0,
        probe: None,
        result: HedgeResult::Unused,
        cells: 0,
        spares: 0,
        why: Why::Original,
        grant: 0,
        attempt: 0,
        tries: 0,
        ended_why: Why::Original,
        end: LegEnd::Cut,
        asked: false,
        no_cells: false,
        order: 0,
        avoid: false,
        suspect: false,
    };

    pub(super) fn permit(&self) -> Permit {
        Permit { epoch: self.epoch, probe: self.probe }
    }
}

/// What a petition is about, and whether the executor has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asking {
    pub(super) about: About,
    pub(super) polled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum About {
    Straggler(LegId),
    Eager,
}

/// A decode, to do or running; one without wanted cells is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Decode {
    pub(super) wanted: CellSet,
    pub(super) sources: CellSet,
}

impl Decode {
    pub(super) const NONE: Self = Self { wanted: CellSet::EMPTY, sources: CellSet::EMPTY };

    pub(super) fn exists(&self) -> bool {
        !self.wanted.is_empty()
    }
}

/// How many legs and hedges a read has had, for audits: `launched = delivered + failed + stopped + leased`, and
/// `hedges = won + lost + void + unused + open`. Counts stop at 65,535.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tally {
    /// Legs launched.
    pub launched: u16,
    /// Legs that ended with their cell.
    pub delivered: u16,
    /// Legs that ended with a failure.
    pub failed: u16,
    /// Legs that stopped.
    pub stopped: u16,
    /// Hedges begun by a grant.
    pub hedges: u16,
    /// Hedges won.
    pub won: u16,
    /// Hedges lost.
    pub lost: u16,
    /// Hedges void.
    pub void: u16,
    /// Hedges of which nothing was launched.
    pub unused: u16,
    /// Inputs that were about nothing: a leg that has ended, a petition that was answered.
    pub ignored: u16,
}

/// Counts one more, up to the most that fits.
pub(super) fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}

impl Tally {
    pub(super) const NONE: Self = Self {
        launched: 0,
        delivered: 0,
        failed: 0,
        stopped: 0,
        hedges: 0,
        won: 0,
        lost: 0,
        void: 0,
        unused: 0,
        ignored: 0,
    };
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub(super) now: Instant,
    pub(super) finished_at: Instant,
    /// `Instant::MAX` is never, as `Span::MAX` below.
    pub(super) deadline: Instant,
    pub(super) late: Span,
    pub(super) late_hedge: Span,
    pub(super) late_suspect: Span,
    pub(super) stall: Span,
    pub(super) retry_floor: Span,

    pub(super) wanted: CellSet,
    pub(super) zero: CellSet,
    /// Delivered, or zeros.
    pub(super) held: CellSet,
    /// Missing or corrupt: never to be had.
    pub(super) erased: CellSet,
    /// Failed in a way that may pass.
    pub(super) soft: CellSet,
    /// Planned or launched, and neither ended nor given up.
    pub(super) flying: CellSet,
    /// Launched and not ended: something may write to the leg's buffer.
    pub(super) leased: CellSet,
    /// Work on the leg in flight has begun.
    pub(super) started: CellSet,
    /// Late legs.
    pub(super) late_legs: CellSet,
    /// Stragglers with a live grant.
    pub(super) hedged: CellSet,
    /// Stragglers that ask no more.
    pub(super) refused: CellSet,
    /// Cells of legs that were granted and whose work has not begun.
    pub(super) charged: CellSet,
    /// Those of them whose hedge is settled: what becomes of them is not on the account of the straggler's next hedge.
    pub(super) settled: CellSet,
    /// Cells of granted legs whose work has begun.
    pub(super) extra: CellSet,

    pub(super) to_launch: CellSet,
    pub(super) to_cancel: CellSet,
    pub(super) to_release: CellSet,
    pub(super) to_tell: CellSet,
    pub(super) to_settle: CellSet,
    pub(super) to_save: CellSet,

    pub(super) decode: Decode,
    /// The hint last given.
    pub(super) hint: (CellSet, CellSet),
    pub(super) asking: Option<Asking>,
    pub(super) outcome: Option<Outcome>,

    pub(super) k: u8,
    pub(super) n: u8,
    pub(super) size_class: u8,
    pub(super) spare: u8,
    pub(super) max_tries: u8,
    /// How many legs more than k to start with: asked for once.
    pub(super) eager: u8,
    pub(super) petition_id: u8,
    pub(super) refund: u8,
    pub(super) wasted: u8,
    pub(super) connect_counts: bool,
    pub(super) hedging: bool,
    pub(super) dry_run: bool,
    pub(super) hints: bool,
    pub(super) decode_polled: bool,
    pub(super) to_hint: bool,
    pub(super) to_finish: bool,
    pub(super) to_report: bool,
    /// A decode failed: only the wanted cells themselves can help.
    pub(super) no_decode: bool,
    pub(super) tally: Tally,
    #[cfg(feature = "testing")]
    pub(super) fault: Option<Fault>,
}

impl State {
    pub(super) const NEW: Self = Self {
        now: Instant::ZERO,
        finished_at: Instant::ZERO,
        deadline: Instant::MAX,
        late: Span::MAX,
        late_hedge: Span::MAX,
        late_suspect: Span::MAX,
        stall: Span::MAX,
        retry_floor: Span::from_nanos(1),
        wanted: CellSet::EMPTY,
        zero: CellSet::EMPTY,
        held: CellSet::EMPTY,
        erased: CellSet::EMPTY,
        soft: CellSet::EMPTY,
        flying: CellSet::EMPTY,
        leased: CellSet::EMPTY,
        started: CellSet::EMPTY,
        late_legs: CellSet::EMPTY,
        hedged: CellSet::EMPTY,
        refused: CellSet::EMPTY,
        charged: CellSet::EMPTY,
        settled: CellSet::EMPTY,
        extra: CellSet::EMPTY,
        to_launch: CellSet::EMPTY,
        to_cancel: CellSet::EMPTY,
        to_release: CellSet::EMPTY,
        to_tell: CellSet::EMPTY,
        to_settle: CellSet::EMPTY,
        to_save: CellSet::EMPTY,
        decode: Decode::NONE,
        hint: (CellSet::EMPTY, CellSet::EMPTY),
        asking: None,
        outcome: None,
        k: 0,
        n: 0,
        size_class: 0,
        spare: 0,
        max_tries: 0,
        eager: 0,
        petition_id: 0,
        refund: 0,
        wasted: 0,
        connect_counts: true,
        hedging: false,
        dry_run: false,
        hints: false,
        decode_polled: false,
        to_hint: false,
        to_finish: false,
        to_report: false,
        no_decode: false,
        tally: Tally::NONE,
        #[cfg(feature = "testing")]
        fault: None,
    };
}
