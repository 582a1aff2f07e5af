//! Which files there are.

use super::{FileError, Node};

/// A file that was found.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What it is called.
    pub name: String,
    /// How many of the given nodes have a copy of its manifest.
    pub copies: usize,
}

/// The files whose names begin with the folder `prefix` (empty: all), by name, on all nodes that can list.
///
/// # Errors
///
/// [`FileError`] if no node can.
pub async fn list(_nodes: &[Node], _prefix: &str) -> Result<Vec<Listed>, FileError> {
    todo!()
}
