//! What a read is created from.

use core::fmt;

use crate::{CellSet, Instant, NodeId, Span};

/// What a read may do about late legs; chosen per read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Nothing: legs are never late. Lost cells are still rebuilt. For bulk scans.
    Off,
    /// Ask leave to rebuild what is late.
    #[default]
    Hedge,
    /// As [`Hedge`](Self::Hedge), and ask leave to start with so many cells more than k, and keep the first k. Not asked for where
    /// that would still leave no leg to spare.
    Eager(u8),
    /// Ask, be counted, launch nothing for it.
    DryRun,
}

/// A read's timers. `None`: never.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clocks {
    /// A leg is late so long after its start; zero: at once.
    pub late: Option<Span>,
    /// The same for hedge legs; `None`: as [`late`](Self::late).
    pub late_hedge: Option<Span>,
    /// The same for legs to nodes of [`ReadPlan::suspect`]; `None`: as [`late`](Self::late).
    pub late_suspect: Option<Span>,
    /// A leg is late so long after its last sign of life, too.
    pub stall: Option<Span>,
    /// Whether a leg's clock runs while it connects. If not, it starts with [`Input::Connected`](crate::Input::Connected), without
    /// which the leg is never late, nor stalled: say it also of a connection that was open before.
    pub connect_counts: bool,
    /// A refused leg asks again no earlier than this after the refusal; at least one nanosecond.
    pub retry_floor: Span,
}

impl Default for Clocks {
    /// No timer; connecting counts; a refused leg waits at least a millisecond.
    fn default() -> Self {
        Self {
            late: None,
            late_hedge: None,
            late_suspect: None,
            stall: None,
            connect_counts: true,
            retry_floor: Span::from_millis(1),
        }
    }
}

/// Everything a read of one byte range of one stripe is created from: plain data with public fields.
///
/// `N` is the capacity in cells, up to 64; n may be less. Replicated data is k = 1: every cell is a copy.
///
/// [`Governor::prepare`](crate::GovernorView::prepare) fills in what the governor knows: the clocks, the
/// order of sources, the suspects and the nodes not to wait for.
///
/// ```
/// use hedge_core::{CellSet, NodeId, ReadPlan};
///
/// // RS-6-3; cells 0 and 1 are wanted, cell 5 lies beyond the end of the file.
/// let mut plan = ReadPlan::<9>::new(6, 9);
/// plan.wanted = CellSet::from([0, 1]);
/// plan.zero = CellSet::from([5]);
/// plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReadPlan<const N: usize> {
    /// Data cells of the stripe: so many cells rebuild any other.
    pub k: u8,
    /// Cells of the stripe, data and parity.
    pub n: u8,
    /// The cells whose bytes the caller wants: at least one.
    pub wanted: CellSet,
    /// Cells known to be zeros, which nobody has to read.
    pub zero: CellSet,
    /// Cells known to be lost.
    pub missing: CellSet,
    /// Cells on nodes that are not waited for: read only if the read can't do without.
    pub avoid: CellSet,
    /// Cells on nodes suspected of being slow.
    pub suspect: CellSet,
    /// The node of each cell.
    pub node: [NodeId; N],
    /// The cells in the order in which sources are taken: a permutation of 0 to n-1 in its first n entries.
    pub order: [u8; N],
    /// What size the legs have, for thresholds: a class of the embedder's choice. Classes beyond the
    /// governor's last count as the last.
    pub size_class: u8,
    /// When the read ends, whatever happens.
    pub deadline: Option<Instant>,
    /// What to do about late legs.
    pub mode: Mode,
    /// The timers.
    pub clocks: Clocks,
    /// How many sources more than needed a hedge takes, where it costs more than one cell and others than those to
    /// [`avoid`](Self::avoid) are left.
    pub spare: u8,
    /// How often a cell that the read needs is tried, hedge and eager legs not counted: 1 to [`MOST_TRIES`](Self::MOST_TRIES).
    pub max_tries: u8,
    /// Whether to give [`Output::Plan`](crate::Output::Plan).
    pub hints: bool,
}

impl<const N: usize> ReadPlan<N> {
    /// A plan for stripes of `n` cells, `k` of them data: nothing wanted yet, no timers, nodes unknown, sources
    /// in the order of their cells, no spare, two tries.
    #[must_use]
    pub fn new(k: u8, n: u8) -> Self {
        let mut order = [0; N];
        for (cell, entry) in (0..=u8::MAX).zip(&mut order) {
            *entry = cell;
        }
        Self {
            k,
            n,
            wanted: CellSet::EMPTY,
            zero: CellSet::EMPTY,
            missing: CellSet::EMPTY,
            avoid: CellSet::EMPTY,
            suspect: CellSet::EMPTY,
            node: [NodeId::UNKNOWN; N],
            order,
            size_class: 0,
            deadline: None,
            mode: Mode::Hedge,
            clocks: Clocks::default(),
            spare: 0,
            max_tries: 2,
            hints: false,
        }
    }

    /// This plan, checked: what [`StripeRead::begin`](crate::StripeRead::begin) takes.
    ///
    /// # Errors
    ///
    /// What [`check`](Self::check) says.
    #[inline]
    pub fn checked(&self) -> Result<CheckedPlan<'_, N>, PlanError> {
        self.check()?;
        Ok(CheckedPlan(self))
    }

    /// Whether a read can be created from this plan.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks, with the numbers.
    pub fn check(&self) -> Result<(), PlanError> {
        let Self { k, n, .. } = *self;
        if usize::from(n) > N.min(64) {
            return Err(PlanError::TooManyCells { n, capacity: N.min(64) as u8 });
        }
        if k == 0 || k > n {
            return Err(PlanError::Schema { k, n });
        }
        if self.wanted.is_empty() {
            return Err(PlanError::NothingWanted);
        }
        let cells = CellSet::first_n(n);
        if !(self.wanted | self.zero | self.missing | self.avoid | self.suspect).is_subset(cells) {
            return Err(self.stray_cell(cells));
        }
        if let Some(cell) = (self.zero & self.missing).first() {
            return Err(PlanError::ZeroAndMissing { cell });
        }
        let order = &self.order[..usize::from(n)];
        if order.iter().fold(CellSet::EMPTY, |seen, &cell| seen | CellSet::one(cell)) != cells {
            return Err(Self::not_a_permutation(order));
        }
        if self.max_tries == 0 || self.max_tries > Self::MOST_TRIES {
            return Err(PlanError::Tries { max_tries: self.max_tries, most: Self::MOST_TRIES });
        }
        Ok(())
    }

    #[cold]
    fn stray_cell(&self, cells: CellSet) -> PlanError {
        let sets = [
            ("wanted", self.wanted),
            ("zero", self.zero),
            ("missing", self.missing),
            ("avoid", self.avoid),
            ("suspect", self.suspect),
        ];
        let stray = |(field, set): (_, CellSet)| (set - cells).first().map(|cell| (field, cell));
        let (field, cell) = sets.into_iter().find_map(stray).unwrap_or(("wanted", 0));
        PlanError::NoSuchCell { field, cell, n: self.n }
    }

    #[cold]
    fn not_a_permutation(order: &[u8]) -> PlanError {
        let n = order.len() as u8;
        let mut seen = CellSet::EMPTY;
        for &cell in order {
            if cell >= n {
                return PlanError::NoSuchCell { field: "order", cell, n };
            }
            if seen.contains(cell) {
                return PlanError::OrderTwice { cell };
            }
            seen.insert(cell);
        }
        PlanError::OrderTwice { cell: 0 }
    }

    /// The most that [`max_tries`](Self::max_tries) may be.
    pub const MOST_TRIES: u8 = 200;
}

/// A plan from which a read can be created: made by [`ReadPlan::checked`], for any number of reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CheckedPlan<'a, const N: usize>(&'a ReadPlan<N>);

impl<'a, const N: usize> CheckedPlan<'a, N> {
    /// The plan.
    #[must_use]
    pub const fn get(self) -> &'a ReadPlan<N> {
        self.0
    }
}

/// Why no read can be created from a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// The stripe has more cells than the read has room for.
    TooManyCells {
        /// Cells of the stripe.
        n: u8,
        /// Cells that fit.
        capacity: u8,
    },
    /// k must be at least 1 and at most n.
    Schema {
        /// Data cells.
        k: u8,
        /// All cells.
        n: u8,
    },
    /// No cell is wanted.
    NothingWanted,
    /// A field names a cell that the stripe does not have.
    NoSuchCell {
        /// The field of the plan.
        field: &'static str,
        /// The cell.
        cell: u8,
        /// Cells of the stripe.
        n: u8,
    },
    /// A cell can't be zeros and lost.
    ZeroAndMissing {
        /// The cell.
        cell: u8,
    },
    /// The order names a cell twice.
    OrderTwice {
        /// The cell.
        cell: u8,
    },
    /// `max_tries` is 0 or too large.
    Tries {
        /// What was asked for.
        max_tries: u8,
        /// The most there can be.
        most: u8,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooManyCells { n, capacity } => {
                write!(f, "a stripe of {n} cells does not fit a read with room for {capacity}")
            }
            Self::Schema { k, n } => write!(f, "k must be at least 1 and at most n: k is {k}, n is {n}"),
            Self::NothingWanted => write!(f, "no cell is wanted"),
            Self::NoSuchCell { field, cell, n } => {
                write!(f, "{field} names cell {cell}, but the stripe has cells 0 to {}", n.saturating_sub(1))
            }
            Self::ZeroAndMissing { cell } => write!(f, "cell {cell} is given as zeros and as missing"),
            Self::OrderTwice { cell } => write!(f, "order names cell {cell} twice"),
            Self::Tries { max_tries, most } => write!(f, "max_tries must be 1 to {most}: it is {max_tries}"),
        }
    }
}

impl core::error::Error for PlanError {}
