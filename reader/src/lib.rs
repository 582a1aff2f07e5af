//! Hedged reads of erasure-coded files on tokio.
#![forbid(unsafe_code)]

mod client;
mod file;
mod read;
mod store;

pub use client::{Client, ClientConfig, ClientError, ClientSnapshot};
pub use file::{
    BadRecord, Fault, FileError, FileId, Finding, Listed, Manifest, ManifestError, NameRule, Node, NodeEntry,
    NodeFailure, Opened, Opener, Progress, PutOptions, Records, Removed, RepairError, RepairOptions,
    Repaired, Sealer, Verified, VerifyOptions, list, open, put, remove, repair, verify,
};
pub use read::{CellMap, Place, ReadError, ReadOptions, StripedFile, StripedReader, StripedStream};
pub use store::{
    Body, CellStore, Entry, Existing, Failed, Failure, Lease, Leg, MemoryStore, NodeStore, Work, read_object,
};
