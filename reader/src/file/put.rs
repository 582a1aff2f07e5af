//! Writing a file: a stripe at a time, to all nodes at once.

use tokio::io::AsyncRead;

use super::{FileError, Manifest, Node, Progress};
use crate::Existing;

/// How a file is to be written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PutOptions {
    /// Data cells of a stripe.
    pub k: u8,
    /// Parity cells of a stripe.
    pub m: u8,
    /// Bytes of a full cell.
    pub cell_bytes: u32,
    /// Bytes of a full record.
    pub record_bytes: u32,
    /// Stripes of a full block group: cells of a full object.
    pub stripes_per_group: u32,
    /// What to do if there is such a file.
    pub existing: Existing,
    /// The length of the source in bytes, if it is known.
    pub length: Option<u64>,
}

impl Default for PutOptions {
    fn default() -> Self {
        Self {
            k: 6,
            m: 3,
            cell_bytes: 1 << 20,
            record_bytes: 4096,
            stripes_per_group: 64,
            existing: Existing::Keep,
            length: None,
        }
    }
}

/// Writes `source` as the file `name`.
///
/// # Errors
///
/// [`FileError`]; then nothing of it is left, as far as the nodes can be reached.
pub async fn put(
    _name: &str,
    _nodes: &[Node],
    _source: &mut (dyn AsyncRead + Send + Unpin),
    _options: &PutOptions,
    _progress: Progress<'_>,
) -> Result<Manifest, FileError> {
    todo!()
}
