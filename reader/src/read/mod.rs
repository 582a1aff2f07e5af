//! `StripedReader`: reads of a striped file that don't wait for the slow node.

mod band;
mod error;
mod fetch;
mod output;
mod ranges;
mod stream;
mod window;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use hedge_core::{Mode, NodeId, Outcome};
use hedgerow_codec::{Code, GroupReads, Kernel, Layout, Matrix};
use tokio::time::Instant;

pub use error::{LostCell, ReadError};
pub use stream::StripedStream;

use crate::client::{Alive, Shared, count};
use crate::{Client, Records};
use window::{Group, Need, Window};

/// Where the internal blocks of a file lie.
pub trait CellMap: Send + Sync + 'static {
    /// The node that has the internal block `cell` of block group `group`, as the client numbers it; `None` if it is nowhere.
    fn node(&self, group: u64, cell: u8) -> Option<NodeId>;

    /// The name of its object there.
    fn object(&self, group: u64, cell: u8) -> String;

    /// The records in which it is stored; `None` for bare bytes, which nothing checks.
    fn records(&self, group: u64, cell: u8) -> Option<Records>;
}

/// A striped file: how it is cut, and where its cells lie.
#[derive(Clone)]
pub struct StripedFile {
    /// Its name in messages.
    pub name: String,
    /// How it is cut into cells.
    pub layout: Layout,
    /// Which parity it has: any matrix of which every k cells decode.
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

impl ReadOptions {
    /// With this mode.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// With this deadline.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

/// Reads a striped file. A handle: clones read the same file.
///
/// The future of a read does all the work, and borrows nothing but the reader: dropping it drops the requests. It should be
/// polled when it is woken; a caller that does not may read in a task of its own.
#[derive(Clone)]
pub struct StripedReader {
    file: Arc<File>,
    client: Client,
}

/// A file, with what its reads need of it.
pub(crate) struct File {
    name: String,
    layout: Layout,
    length: u64,
    k: u8,
    n: u8,
    code: Code<Box<[u8]>>,
    cells: Arc<dyn CellMap>,
    /// Bytes of a record; 0 without.
    record: u64,
}

/// Windows of a long read that are under way at a time.
const WINDOWS: usize = 2;

impl StripedReader {
    /// A reader of `file`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Schema`] for more than 64 cells a stripe, and for a matrix of which not every k cells are known to decode.
    pub fn new(client: &Client, file: StripedFile) -> Result<Self, ReadError> {
        let StripedFile { name, layout, matrix, length, cells } = file;
        let (k, m) = (layout.k(), layout.m());
        if k + m > band::LARGE {
            return Err(ReadError::Schema(format!(
                "{name}: {} cells a stripe, where at most {} can be read",
                k + m,
                band::LARGE
            )));
        }
        if matches!(matrix, Matrix::RowsUnproven(_)) {
            let why = format!("{name}: not every {k} cells are known to decode, which hedged reads rely on");
            return Err(ReadError::Schema(why));
        }
        let code = Code::new(Kernel::detect(), k, m, matrix);
        let code = code.map_err(|error| ReadError::Schema(format!("{name}: {error}")))?;
        let record = cells.records(0, 0).map_or(0, |records| records.bytes());
        // k + m is at most 64.
        let (k, n) = (k as u8, (k + m) as u8);
        let file = File { name, layout, length, k, n, code, cells, record };
        Ok(Self { file: Arc::new(file), client: client.clone() })
    }

    /// The length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.file.length
    }

    /// The client that the reader reads with.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Reads `length` bytes at `offset`: all of them, or an error.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub async fn read_at(&self, offset: u64, length: u64) -> Result<Bytes, ReadError> {
        self.read_with(offset, length, ReadOptions::default()).await
    }

    /// [`read_at`](Self::read_at), with options.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub async fn read_with(
        &self,
        offset: u64,
        length: u64,
        options: ReadOptions,
    ) -> Result<Bytes, ReadError> {
        let end = offset.checked_add(length).filter(|&end| end <= self.file.length);
        let Some(end) = end else {
            let range = offset..offset.saturating_add(length);
            return Err(ReadError::Outside { range, length: self.file.length });
        };
        let _alive = self.begin()?;
        let begun = Instant::now();
        let result = self.read_range(offset..end, &options, begun).await;
        self.report(begun, &result);
        result
    }

    /// Counts as a read under way, which a shutdown waits for; none begins after it.
    fn begin(&self) -> Result<Alive, ReadError> {
        let alive = Alive::read(&self.client.shared);
        if self.client.shared.closed().is_cancelled() { Err(ReadError::Closed) } else { Ok(alive) }
    }

    async fn read_range(
        &self,
        range: Range<u64>,
        options: &ReadOptions,
        begun: Instant,
    ) -> Result<Bytes, ReadError> {
        let shared = &self.client.shared;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let deadline = self.file.deadline(options, shared, begun);
        let first = self.file.window(range.clone(), shared)?;
        if first.end == range.end {
            return self.read_window(first, options, deadline).await;
        }
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut all = Vec::new();
        if all.try_reserve_exact(length).is_err() {
            return Err(ReadError::Memory { needed: range.end - range.start, most: shared.memory.most() });
        }
        let windows = futures_util::stream::iter(self.file.windows(range, shared))
            .map(|window| async { self.read_window(window?, options, deadline).await });
        let mut windows = std::pin::pin!(windows.buffered(WINDOWS));
        while let Some(bytes) = windows.next().await {
            all.extend_from_slice(&bytes?);
        }
        Ok(all.into())
    }

    async fn read_window(
        &self,
        range: Range<u64>,
        options: &ReadOptions,
        deadline: Option<Instant>,
    ) -> Result<Bytes, ReadError> {
        let (shared, file) = (&self.client.shared, &*self.file);
        let mut window = window::begin(shared, file, &range, options, deadline).await?;
        window.run().await;
        for index in 0..window.bands.len() {
            match window.bands[index].outcome {
                Some(Outcome::Ok { .. }) => {}
                Some(Outcome::DeadlinePassed) => return Err(file.too_late(options, shared)),
                Some(Outcome::Lost { .. } | Outcome::Aborted) | None => return Err(window.lost(index)),
            }
        }
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let bytes = window.assemble(length);
        if bytes.len() != length {
            let (found, name) = (bytes.len(), &file.name);
            return Err(ReadError::Schema(format!(
                "{name}: the cells give {found} bytes where {length} were to be read"
            )));
        }
        Ok(bytes)
    }

    fn report(&self, begun: Instant, result: &Result<Bytes, ReadError>) {
        let counters = &self.client.shared.counters;
        count(&counters.reads, 1);
        metrics::counter!("hedgerow_reads_total").increment(1);
        match result {
            Ok(bytes) => {
                count(&counters.bytes, bytes.len() as u64);
                metrics::counter!("hedgerow_read_bytes_total").increment(bytes.len() as u64);
                metrics::histogram!("hedgerow_read_seconds").record(begun.elapsed().as_secs_f64());
            }
            Err(error) => {
                count(&counters.reads_failed, 1);
                metrics::counter!("hedgerow_failed_reads_total").increment(1);
                tracing::warn!("{error}");
            }
        }
    }

    /// Reads many ranges, in any order; what overlaps or lies close together is read as one. The answers are in the order
    /// of the ranges.
    ///
    /// # Errors
    ///
    /// [`ReadError`] of the first that failed.
    pub async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        self.read_ranges_with(ranges, ReadOptions::default()).await
    }

    /// [`read_ranges`](Self::read_ranges), with options.
    ///
    /// # Errors
    ///
    /// [`ReadError`] of the first that failed.
    pub async fn read_ranges_with(
        &self,
        ranges: &[Range<u64>],
        options: ReadOptions,
    ) -> Result<Vec<Bytes>, ReadError> {
        ranges::read(self, ranges, options).await
    }

    /// The file as a stream of bytes that can seek, read ahead by a task of its own.
    #[must_use]
    pub fn stream(&self, options: ReadOptions) -> StripedStream {
        StripedStream::new(self.clone(), options)
    }
}

impl fmt::Debug for StripedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StripedReader")
            .field("file", &self.file.name)
            .field("length", &self.file.length)
            .finish_non_exhaustive()
    }
}

impl File {
    fn group_reads(&self, range: &Range<u64>) -> Result<GroupReads, ReadError> {
        let read = self.layout.read(self.length, range.clone());
        read.map_err(|_| ReadError::Outside { range: range.clone(), length: self.length })
    }

    fn deadline(&self, options: &ReadOptions, shared: &Shared, begun: Instant) -> Option<Instant> {
        begun.checked_add(options.deadline.or(shared.config.deadline)?)
    }

    fn too_late(&self, options: &ReadOptions, shared: &Shared) -> ReadError {
        let after = options.deadline.or(shared.config.deadline).unwrap_or(Duration::MAX);
        ReadError::DeadlinePassed { file: self.name.clone(), after }
    }

    /// How many bytes of an internal block a leg over `range` reads at most: whole records.
    fn widest(&self, range: &Range<u64>) -> u64 {
        let length = range.end - range.start;
        if self.record == 0 { length } else { length.saturating_add(2 * self.record) }
    }

    /// What of the internal block `cell` must be read to check `range` of it.
    fn widened(&self, group: &Group, cell: u8, range: &Range<u64>) -> Range<u64> {
        let Some(records) = self.cells.records(group.number, cell) else { return range.clone() };
        let length = self.layout.block_len(group.length, usize::from(cell)).unwrap_or(range.end);
        records.widened(range, length.max(range.end))
    }

    /// The first window of a range: a few stripes, and less if the memory of a read demands it.
    fn window(&self, range: Range<u64>, shared: &Shared) -> Result<Range<u64>, ReadError> {
        let stripe = self.layout.cell_bytes().saturating_mul(u64::from(self.k));
        let stripes = u64::from(shared.config.window_stripes);
        // Windows end where stripes do, so that no cell is cut needlessly.
        let end = (range.start / stripe).saturating_add(stripes).saturating_mul(stripe);
        let mut end = end.min(range.end);
        loop {
            let need = Need::of(self, &(range.start..end))?;
            if need.most <= shared.memory.most() {
                return Ok(range.start..end);
            }
            let half = (end - range.start) / 2;
            if half == 0 {
                return Err(ReadError::Memory { needed: need.most, most: shared.memory.most() });
            }
            end = range.start + half;
        }
    }

    fn windows(
        &self,
        range: Range<u64>,
        shared: &Shared,
    ) -> impl Iterator<Item = Result<Range<u64>, ReadError>> {
        let mut rest = range;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let window = self.window(rest.clone(), shared);
            rest.start = window.as_ref().map_or(rest.end, |window| window.end);
            Some(window)
        })
    }
}

const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Window<'static>>();
};
