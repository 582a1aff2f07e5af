//! What the readers of one process share: the governor, the limits, the counters.

use std::sync::Arc;
use std::time::Duration;

use hedge_core::{Config, NodeId, Snapshot};

use crate::CellStore;

/// What an operator decides about a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// When and how much to hedge.
    pub governor: Config,
    /// Requests under way at a time, in all.
    pub requests: usize,
    /// Requests under way at a time to one node.
    pub requests_per_node: usize,
    /// Bytes of cells in memory at a time, in all: what is being read, and what waits to be decoded.
    pub memory: u64,
    /// Bytes of cells beside [`memory`](Self::memory), kept for reads that must replace failed legs.
    pub reserve: u64,
    /// Opening a connection fails after so long.
    pub connect_timeout: Duration,
    /// A request without a sign of life for so long has failed.
    pub silence: Duration,
    /// A read fails after so long, whatever happens; `None`: never.
    pub deadline: Option<Duration>,
    /// Long reads go in windows of so many stripes.
    pub window_stripes: u32,
    /// Decode back and compare one of so many decodes; 0: none.
    pub check_decodes: u32,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            governor: Config::default(),
            requests: 256,
            requests_per_node: 32,
            memory: 256 << 20,
            reserve: 64 << 20,
            connect_timeout: Duration::from_secs(5),
            silence: Duration::from_secs(10),
            deadline: Some(Duration::from_secs(60)),
            window_stripes: 4,
            check_decodes: 0,
        }
    }
}

/// What the readers of one process share. A handle: clones are the same client.
#[derive(Clone)]
pub struct Client {
    #[allow(dead_code)]
    shared: Arc<Shared>,
}

struct Shared {}

/// Why there is no such client, or not with this configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The governor's configuration.
    Governor(hedge_core::ConfigError),
}

impl Client {
    /// A client without nodes.
    ///
    /// # Errors
    ///
    /// [`ClientError`].
    pub fn new(_config: ClientConfig) -> Result<Self, ClientError> {
        todo!()
    }

    /// Another node: what messages call it, and how it is read.
    ///
    /// # Errors
    ///
    /// [`ClientError`] if there are too many.
    pub fn add_node(&self, _label: &str, _store: Arc<dyn CellStore>) -> Result<NodeId, ClientError> {
        todo!()
    }

    /// Another configuration of the governor, at once.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; then nothing has changed.
    pub fn reconfigure(&self, _governor: Config) -> Result<(), ClientError> {
        todo!()
    }

    /// What operators want to see.
    #[must_use]
    pub fn snapshot(&self) -> ClientSnapshot {
        todo!()
    }

    /// Refuses new reads, and returns when nothing of the old ones goes on anywhere.
    pub async fn shutdown(&self) {
        todo!()
    }
}

/// The state of a client, for operators.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientSnapshot {
    /// The governor's: breaker, threshold, and the counters of hedges and refusals by reason.
    pub governor: Snapshot,
    /// Reads that ended, well or not.
    pub reads: u64,
    /// Those of them that failed.
    pub reads_failed: u64,
    /// Bytes handed to callers.
    pub bytes: u64,
    /// Requests under way, and waiting for their turn.
    pub requests: u64,
    /// Requests that wait for their turn.
    pub queued: u64,
    /// Requests of which something still goes on, also beyond their reads.
    pub leases: u64,
    /// Bytes of memory in use.
    pub memory: u64,
    /// Hedges granted and not begun for want of memory.
    pub refused_memory: u64,
    /// Legs launched by hedges: cells beyond what the reads needed.
    pub hedge_cells: u64,
    /// Records whose checksum was wrong.
    pub bad_records: u64,
    /// Decodes that were compared back, and those of them that were wrong.
    pub decodes_checked: (u64, u64),
}
