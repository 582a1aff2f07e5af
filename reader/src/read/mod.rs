//! `StripedReader`: reads of a striped file that don't wait for the slow node.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hedge_core::{Mode, NodeId};
use hedgerow_codec::{Layout, Matrix};

use crate::{Client, Records};

/// Where the internal blocks of a file lie.
pub trait CellMap: Send + Sync + 'static {
    /// The node and the object of the internal block `cell` of block group `group`; `None` if it is nowhere.
    fn place(&self, group: u64, cell: u8) -> Option<Place>;

    /// The records in which it is stored; `None` for bare bytes, which nothing checks.
    fn records(&self, group: u64, cell: u8) -> Option<Records>;
}

/// Where an internal block lies.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The node, as the client numbers it.
    pub node: NodeId,
    /// The object on that node.
    pub object: String,
}

/// A striped file: how it is cut, and where its cells lie.
#[derive(Clone)]
pub struct StripedFile {
    /// Its name in messages.
    pub name: String,
    /// How it is cut into cells.
    pub layout: Layout,
    /// Which parity it has.
    pub matrix: Matrix<'static>,
    /// Its length in bytes.
    pub length: u64,
    /// Where its cells lie.
    pub cells: Arc<dyn CellMap>,
}

/// How one read is to be done.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// What to do about late legs.
    pub mode: Mode,
    /// The read fails after so long; `None`: what the client says.
    pub deadline: Option<Duration>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { mode: Mode::Hedge, deadline: None }
    }
}

/// Why a read failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The range ends beyond the file, or before its start.
    Outside {
        /// The range.
        range: Range<u64>,
        /// The length of the file.
        length: u64,
    },
}

/// Reads a striped file. A handle: clones read the same file.
#[derive(Clone)]
pub struct StripedReader {
    #[allow(dead_code)]
    file: Arc<StripedFile>,
    #[allow(dead_code)]
    client: Client,
}

impl StripedReader {
    /// A reader of `file`.
    ///
    /// # Errors
    ///
    /// [`ReadError`] for a schema with more than 64 cells.
    pub fn new(client: &Client, file: StripedFile) -> Result<Self, ReadError> {
        Ok(Self { file: Arc::new(file), client: client.clone() })
    }

    /// The length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.file.length
    }

    /// Reads `length` bytes at `offset`.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub async fn read_at(&self, _offset: u64, _length: u64) -> Result<Bytes, ReadError> {
        todo!()
    }

    /// [`read_at`](Self::read_at), with options.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub async fn read_with(
        &self,
        _offset: u64,
        _length: u64,
        _options: ReadOptions,
    ) -> Result<Bytes, ReadError> {
        todo!()
    }

    /// Reads many ranges, in any order; what lies close together is read as one.
    ///
    /// # Errors
    ///
    /// [`ReadError`] of the first that failed.
    pub async fn read_ranges(&self, _ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        todo!()
    }

    /// The file as a stream of bytes that can seek, read ahead.
    #[must_use]
    pub fn stream(&self, _options: ReadOptions) -> StripedStream {
        todo!()
    }
}

/// A file as [`tokio::io::AsyncRead`] and [`tokio::io::AsyncSeek`].
pub struct StripedStream {}
