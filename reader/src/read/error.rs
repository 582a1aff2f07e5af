//! Why a read failed.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use crate::Failure;

/// Why a read failed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The range ends beyond the file, or before its start.
    Outside {
        /// The range.
        range: Range<u64>,
        /// The length of the file.
        length: u64,
    },
    /// Too few cells could be read.
    Lost {
        /// The file.
        file: String,
        /// The block group, from 0.
        group: u64,
        /// The bytes of the internal blocks that were to be read.
        range: Range<u64>,
        /// Cells that are not known to be lost, zeros beyond the end of the file counted.
        found: usize,
        /// Cells that are needed: k.
        needed: usize,
        /// What became of the others.
        lost: Vec<LostCell>,
    },
    /// The read's deadline passed.
    DeadlinePassed {
        /// The file.
        file: String,
        /// So long after its start.
        after: Duration,
    },
    /// A range of this file can't be read with the memory that the client has.
    Memory {
        /// What the smallest range needs, in bytes.
        needed: u64,
        /// What a read can have.
        most: u64,
    },
    /// The client was shut down.
    Closed,
    /// The task that read ahead for a stream has ended, by a panic in a store or with its runtime.
    Ended,
    /// The schema, layout or matrix is none that this reader can read.
    Schema(String),
}

/// A cell that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostCell {
    /// The cell, 0 to n - 1.
    pub cell: u8,
    /// The label of its node; `None` if it is nowhere.
    pub node: Option<String>,
    /// How it failed, the last time that it was tried.
    pub failure: Failure,
    /// More about it; may be empty.
    pub detail: String,
}

impl fmt::Display for LostCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "cell {} on {node}: ", self.cell)?,
            None => write!(f, "cell {}: ", self.cell)?,
        }
        f.write_str(if self.detail.is_empty() { self.failure.name() } else { &self.detail })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside { range, length } => {
                write!(f, "bytes {} to {} are not in a file of {length} bytes", range.start, range.end)
            }
            Self::Lost { file, group, range, found, needed, lost } => {
                let (start, end) = (range.start, range.end);
                write!(
                    f,
                    "{file}: at most {found} of the {needed} cells that are needed can be read of block group {group}, "
                )?;
                write!(f, "bytes {start} to {end} of each block")?;
                for (index, cell) in lost.iter().enumerate() {
                    write!(f, "{} {cell}", if index == 0 { ":" } else { ";" })?;
                }
                Ok(())
            }
            Self::DeadlinePassed { file, after } => write!(f, "{file}: not read within {after:?}"),
            Self::Memory { needed, most } => {
                write!(f, "the smallest range needs {needed} bytes of memory, and a read can have {most}")
            }
            Self::Closed => f.write_str("the client is shut down"),
            Self::Ended => f.write_str("the task that reads ahead has ended"),
            Self::Schema(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<ReadError> for std::io::Error {
    fn from(error: ReadError) -> Self {
        use std::io::ErrorKind;
        let kind = match &error {
            ReadError::Outside { .. } => ErrorKind::InvalidInput,
            ReadError::DeadlinePassed { .. } => ErrorKind::TimedOut,
            ReadError::Memory { .. } => ErrorKind::OutOfMemory,
            ReadError::Lost { .. } | ReadError::Closed | ReadError::Ended | ReadError::Schema(_) => {
                ErrorKind::Other
            }
        };
        Self::new(kind, error)
    }
}
