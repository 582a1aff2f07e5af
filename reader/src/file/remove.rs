//! Removing a file.

use super::{FileError, Node};

/// What was removed.
#[derive(Clone, Debug)]
pub struct Removed {
    /// Objects deleted, in all.
    pub objects: u64,
    /// Nodes that could not be reached, by label, with the reason; what they have of the file stays there.
    pub left: Vec<(String, String)>,
}

/// Removes the file `name` from all nodes: the manifests first.
///
/// # Errors
///
/// [`FileError`].
pub async fn remove(_name: &str, _nodes: &[Node]) -> Result<Removed, FileError> {
    todo!()
}
