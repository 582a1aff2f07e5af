//! Files of our own format: their manifest, their records, and what is done with a whole file.

mod ask;
mod clean;
mod commit;
mod copies;
mod error;
mod intent;
mod json;
mod list;
mod manifest;
mod names;
mod newest;
mod objects;
mod open;
mod pace;
mod piece;
mod placing;
mod put;
mod rebuild;
mod records;
mod remove;
mod repair;
mod scan;
mod stripes;
#[cfg(test)]
mod tests;
mod verify;

use std::sync::Arc;

use crate::NodeStore;

pub use error::{FileError, NodeFailure};
pub use list::{Listed, Listing, list};
pub use manifest::{FileId, Manifest, ManifestError, NodeEntry};
pub use names::NameRule;
pub use open::{Opened, open};
pub use put::{PutOptions, put};
pub use records::{BadRecord, Opener, Records, Sealer};
pub use remove::{RemoveOptions, Removed, remove};
pub use repair::{RepairError, RepairOptions, Repaired, repair};
pub use verify::{Fault, Finding, Verified, VerifyOptions, verify};

/// A node, as a command or a program was given it.
#[derive(Clone)]
pub struct Node {
    /// What messages call it.
    pub label: String,
    /// How it is reached.
    pub store: Arc<dyn NodeStore>,
}

/// Told how many bytes of the file are done, again and again.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);
