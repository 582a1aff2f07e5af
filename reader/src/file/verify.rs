//! Reading all of a file, parity too, to find what is missing or wrong.

use super::{FileError, Node, Opened, Progress};

/// How a file is to be verified.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Bytes a second at most, in all; `None`: as fast as it goes.
    pub rate: Option<u64>,
}

/// What is wrong with a part of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The node does not have it.
    Missing,
    /// These records of it are wrong: the first, and how many.
    Corrupt {
        /// The first of them.
        first: u64,
        /// How many.
        records: u64,
    },
    /// The object is so long, and should be so long.
    Length {
        /// Found.
        found: u64,
        /// Expected.
        expected: u64,
    },
    /// It could not be read.
    Unreadable(String),
    /// Every record is right by itself, but this parity is not that of the data.
    Parity {
        /// The first stripe of the group in which it differs.
        stripe: u64,
    },
    /// The node's copy of the manifest is missing, old or damaged.
    Manifest(String),
}

/// A part of a file with something wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The node's label.
    pub node: String,
    /// The block group and the cell; `None` for the manifest.
    pub cell: Option<(u64, u8)>,
    /// What is wrong.
    pub fault: Fault,
}

/// What was verified.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Objects looked at.
    pub objects: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// Block groups that can't be read any more.
    pub lost: Vec<u64>,
}

/// Reads all of the file, parity too, and compares it.
///
/// # Errors
///
/// [`FileError`]; what is wrong with the file is no error, but a finding.
pub async fn verify(
    _file: &Opened,
    _nodes: &[Node],
    _options: &VerifyOptions,
    _progress: Progress<'_>,
) -> Result<Verified, FileError> {
    todo!()
}
