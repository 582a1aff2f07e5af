//! Hedged reads of erasure-coded files on tokio: reads that don't wait for the slow node.
//!
//! A file is cut into stripes of k data cells, to which m parity cells are computed; each cell lies on a node of its own. A read
//! that needs a cell from a slow node reads other cells of the stripe instead, and rebuilds the late one; whichever is ready first
//! ends the read. When that is worth it, [`hedge_core`] decides; which bytes come of it, [`hedgerow_codec`].
//!
//! - [`CellStore`] is a node as a reader sees it, thirty lines for a client of one's own.
//! - [`Client`] is what the readers of a process share: governor, limits, counters.
//! - [`StripedReader`] reads a [`StripedFile`]: [`read_at`](StripedReader::read_at), many ranges, or as a stream.
//! - [`put()`], [`open()`], [`verify()`], [`repair()`], [`list()`] and [`remove()`] are for files of our own format, on nodes that are
//!   [`NodeStore`]s.
//!
//! # What is promised
//!
//! - **No wrong byte.** Bytes of our own format pass the checksums of their records before anything is made of them; bytes that
//!   another format checks can be checked in its [`CellStore`].
//! - **A request that is no longer wanted is dropped**, and what belongs to it, its memory and its turn among the requests, is
//!   given back when its store says that nothing of it goes on, not before.
//! - **Waiting for a turn blames no node.** Clocks start when a request does. A timer that fires late because the runtime was
//!   busy makes nobody late.
//! - **Memory is bounded**: [`ClientConfig::memory`] and [`ClientConfig::reserve`]. Reads wait for it in their order, hedges only
//!   try; a read that has begun always gets what it needs to end.
//!
//! # Metrics
//!
//! Told to the `metrics` facade: counters `hedgerow_reads_total`, `hedgerow_failed_reads_total`, `hedgerow_read_bytes_total`,
//! `hedgerow_hedges_total`, `hedgerow_refused_total` (by `reason`), `hedgerow_extra_cells_total`, `hedgerow_degraded_cells_total`,
//! `hedgerow_failed_requests_total` (by `failure`), `hedgerow_bad_records_total`, `hedgerow_decodes_total`,
//! `hedgerow_wrong_decodes_total`; the histogram `hedgerow_read_seconds`. [`Client::snapshot`] has the same and the
//! governor's counters. To those of HDFS's `DFSHedgedReadMetrics` they map so: `hedgedReadOps` is
//! [`hedged_read_ops`](hedge_core::Counters::hedged_read_ops), `hedgedReadOpsWin` is
//! [`hedged_read_ops_win`](hedge_core::Counters::hedged_read_ops_win), `hedgedReadOpsInCurThread` is
//! [`hedged_read_ops_in_cur_thread`](hedge_core::Counters::hedged_read_ops_in_cur_thread).
//!
//! Events go to `tracing`: refused and granted hedges and failed requests at `debug`, wrong records, silent requests and failed reads
//! at `warn`, wrong decodes at `error`.
//!
//! # Features
//!
//! `http` (default), `tls`, `s3`, `gcs`, `azure`: the nodes that [`NodeStore`]s can be made for.
#![forbid(unsafe_code)]

mod client;
mod file;
mod read;
mod store;

pub use client::{Client, ClientConfig, ClientError, ClientSnapshot};
pub use file::{
    BadRecord, Fault, FileError, FileId, Finding, Listed, Listing, Manifest, ManifestError, NameRule, Node,
    NodeEntry, NodeFailure, Opened, Opener, Progress, PutOptions, Records, RemoveOptions, Removed,
    RepairError, RepairOptions, Repaired, Sealer, Verified, VerifyOptions, list, open, put, remove, repair,
    verify,
};
pub use read::{CellMap, LostCell, ReadError, ReadOptions, StripedFile, StripedReader, StripedStream};
pub use store::{
    Address, AddressError, Body, CellStore, Entry, Existing, Failed, Failure, Lease, Leg, LocalStore,
    MemoryStore, NodeOptions, NodeStore, Work, connect, read_object,
};
#[cfg(feature = "http")]
pub use store::{Connector, ConnectorOptions, ObjectNode, quiet};
