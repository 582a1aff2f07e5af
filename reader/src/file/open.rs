//! Opening: the manifest of the highest generation, from as few nodes as are sure to have it.

use super::{FileError, Manifest, Node};
use crate::{Client, Failed, StripedReader};

/// A file whose manifest was found.
pub struct Opened {
    /// What the file is called.
    pub name: String,
    /// Its manifest.
    pub manifest: Manifest,
    /// For each node of the manifest, which of the given nodes it is.
    pub node: Vec<Option<usize>>,
    /// For each given node, the generation of its copy of the manifest; `None` where nobody asked.
    pub copies: Vec<Option<Result<u64, Failed>>>,
}

/// Opens the file `name`: reads manifests until it is sure to have the highest generation.
///
/// # Errors
///
/// [`FileError`].
pub async fn open(_name: &str, _nodes: &[Node]) -> Result<Opened, FileError> {
    todo!()
}

impl Opened {
    /// Reads the file with `client`; its nodes are added to the client under their labels, once.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn reader(&self, _client: &Client, _nodes: &[Node]) -> Result<StripedReader, FileError> {
        todo!()
    }
}
