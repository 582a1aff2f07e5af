//! Rebuilding what is missing or wrong.

use super::{FileError, Finding, Manifest, Node, Opened, Progress};

/// How a file is to be repaired.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RepairOptions {
    /// Labels of nodes to give up: what they have is rebuilt onto others.
    pub leave: Vec<String>,
    /// Bytes a second at most, read and written together; `None`: as fast as it goes.
    pub rate: Option<u64>,
}

/// What was repaired.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// What was found.
    pub findings: Vec<Finding>,
    /// Objects written.
    pub objects: u64,
    /// Bytes written.
    pub bytes: u64,
    /// The manifest now in force; `None` if nothing was wrong.
    pub manifest: Option<Manifest>,
}

/// Finds what is missing or wrong, and rebuilds it on the node that has it, or on another of `nodes`.
///
/// # Errors
///
/// [`FileError`]; then the file is as it was.
pub async fn repair(
    _file: &Opened,
    _nodes: &[Node],
    _options: &RepairOptions,
    _progress: Progress<'_>,
) -> Result<Repaired, FileError> {
    todo!()
}
