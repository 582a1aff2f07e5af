//! What can be wrong with a call, with the numbers that matter. On every error the caller's memory is untouched.

use core::fmt;

/// Why a call was refused. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// A schema needs at least one data cell, at least one parity cell, and at most 256 in all.
    Schema {
        /// Data cells asked for.
        k: usize,
        /// Parity cells asked for.
        m: usize,
    },
    /// The storage given for a code, a plan or an absorber is too small: its bytes, or the positions, sources or lost cells that it
    /// has room for.
    Storage {
        /// Elements needed.
        needed: usize,
        /// Elements found.
        found: usize,
    },
    /// A matrix has another size than the schema's m rows of k coefficients.
    MatrixSize {
        /// k x m.
        expected: usize,
        /// Coefficients found.
        found: usize,
    },
    /// This kind of matrix is defined for other schemas only.
    MatrixSchema {
        /// Data cells asked for.
        k: usize,
        /// Parity cells asked for.
        m: usize,
    },
    /// The chosen cells do not determine all data cells: their rows of the generator matrix are dependent.
    Singular {
        /// Rank of the equations that stand in for the absent data cells.
        rank: usize,
        /// Rank that would be needed.
        needed: usize,
    },
    /// A matrix that must decode from every k cells has too many k-subsets to try them all.
    Unproven {
        /// Subsets of k out of k + m, saturating.
        subsets: u64,
        /// The most that are tried.
        limit: u64,
    },
    /// Another number of sources than the plan or code reads.
    SourceCount {
        /// Sources expected.
        expected: usize,
        /// Sources found.
        found: usize,
    },
    /// Another number of outputs than the plan or code writes.
    OutputCount {
        /// Outputs expected.
        expected: usize,
        /// Outputs found.
        found: usize,
    },
    /// A source has another length than the cells of this call.
    SourceLength {
        /// Position among the sources given.
        position: usize,
        /// Bytes expected (at least, where a range is read).
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// An output has another length than the cells of this call.
    OutputLength {
        /// Position among the outputs given.
        position: usize,
        /// Bytes expected.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// A byte range ends beyond what can be addressed.
    Range {
        /// First byte.
        start: usize,
        /// Bytes asked for.
        len: usize,
    },
    /// No such cell.
    CellIndex {
        /// Index given.
        index: usize,
        /// Cells there are: k + m, or what the call says.
        cells: usize,
    },
    /// A cell is named twice: among the sources, among the lost, or in both.
    Duplicate {
        /// The cell.
        index: usize,
    },
    /// Fewer than k cells to rebuild from.
    TooFewSources {
        /// Cells needed: k.
        needed: usize,
        /// Cells found.
        found: usize,
    },
    /// More cells named as lost than there are parity cells, or none.
    LostCount {
        /// The most there can be: m.
        limit: usize,
        /// Cells named.
        found: usize,
    },
    /// A cell is both lost and known to be zero.
    LostZero {
        /// The cell.
        index: usize,
    },
    /// A piece starts after the byte that its source must deliver next.
    Gap {
        /// Position among the plan's sources.
        source: usize,
        /// Offset expected.
        expected: usize,
        /// Offset found.
        found: usize,
    },
    /// A piece starts before the byte that its source must deliver next.
    Overlap {
        /// Position among the plan's sources.
        source: usize,
        /// Offset expected.
        expected: usize,
        /// Offset found.
        found: usize,
    },
    /// A piece ends beyond the cells.
    PastEnd {
        /// Position among the plan's sources.
        source: usize,
        /// Where the piece would end, saturating.
        end: usize,
        /// Length of the cells.
        len: usize,
    },
    /// A slice length of zero would never end.
    SliceLength,
    /// A layout needs cells and blocks of at least one byte, and sizes that fit 64 bits.
    Layout {
        /// Bytes of a cell.
        cell: u64,
        /// Stripes of a block group.
        stripes: u64,
    },
    /// A byte range that is not inside the file or block group.
    Outside {
        /// First byte.
        start: u64,
        /// End (exclusive).
        end: u64,
        /// Length of what it must lie in.
        len: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Schema { k, m } => write!(
                f,
                "a schema needs at least 1 data cell, 1 parity cell and at most 256 cells in all: found k = {k}, m = {m}"
            ),
            Self::Storage { needed, found } => {
                write!(f, "storage too small: {needed} elements needed, {found} found")
            }
            Self::MatrixSize { expected, found } => {
                write!(f, "a matrix of {expected} coefficients expected, {found} found")
            }
            Self::MatrixSchema { k, m } => {
                write!(f, "this matrix is not defined for k = {k}, m = {m}")
            }
            Self::Singular { rank, needed } => {
                write!(f, "the cells do not determine all data cells: rank {rank} of {needed}")
            }
            Self::Unproven { subsets, limit } => write!(
                f,
                "{subsets} subsets of cells would have to be tried to prove that all decode, {limit} is the limit"
            ),
            Self::SourceCount { expected, found } => write!(f, "{expected} sources expected, {found} found"),
            Self::OutputCount { expected, found } => write!(f, "{expected} outputs expected, {found} found"),
            Self::SourceLength { position, expected, found } => {
                write!(f, "source {position} has {found} bytes, {expected} expected")
            }
            Self::OutputLength { position, expected, found } => {
                write!(f, "output {position} has {found} bytes, {expected} expected")
            }
            Self::Range { start, len } => write!(f, "{len} bytes from {start} can't be addressed"),
            Self::CellIndex { index, cells } => write!(f, "cell {index} of {cells}: no such cell"),
            Self::Duplicate { index } => write!(f, "cell {index} is named twice"),
            Self::TooFewSources { needed, found } => {
                write!(f, "{needed} cells needed to rebuild, {found} found")
            }
            Self::LostCount { limit, found } => {
                write!(f, "{found} cells named as lost: at least 1 and at most {limit} can be rebuilt")
            }
            Self::LostZero { index } => write!(f, "cell {index} is named both as lost and as zero"),
            Self::Gap { source, expected, found } => {
                write!(f, "source {source}: a gap, the next piece starts at {found} instead of {expected}")
            }
            Self::Overlap { source, expected, found } => {
                write!(
                    f,
                    "source {source}: an overlap, the next piece starts at {found} instead of {expected}"
                )
            }
            Self::PastEnd { source, end, len } => {
                write!(f, "source {source}: a piece ends at {end}, the cells at {len}")
            }
            Self::SliceLength => write!(f, "slices of 0 bytes"),
            Self::Layout { cell, stripes } => {
                write!(
                    f,
                    "no layout has cells of {cell} bytes and {stripes} stripes a block group (or it is too large)"
                )
            }
            Self::Outside { start, end, len } => {
                write!(f, "bytes {start} to {end} are not inside the {len} bytes there are")
            }
        }
    }
}

impl core::error::Error for Error {}
