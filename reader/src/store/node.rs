//! The other half of a node: what writing, listing and cleaning up need.

use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;

use super::{CellStore, Failed, Work};

/// The bytes of an object to be written, in order. An error ends the writing, and nothing of it may stay.
pub type Body = Pin<Box<dyn Stream<Item = Result<Bytes, Failed>> + Send>>;

/// What to do about an object of the same name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Existing {
    /// Fail with [`Failure::Exists`](super::Failure::Exists) and leave it. Where the store can't do that in one step it looks
    /// first, which is documented at the store.
    Keep,
    /// Replace it, in one step where the store can.
    Replace,
}

/// An object that a store has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// Its whole name.
    pub object: String,
    /// Its length in bytes.
    pub length: u64,
}

/// One node, for reading, writing, listing and deleting.
///
/// Dropping a future cancels its work. A half-written object is never visible under its name where the store can avoid
/// it.
pub trait NodeStore: CellStore {
    /// The whole object, if it is no longer than `most` bytes: [`Failure::TooLong`](super::Failure::TooLong) otherwise.
    fn get(&self, object: &str, most: u64) -> Work<Bytes>;

    /// Its length. [`Failure::Missing`](super::Failure::Missing) if there is no such object.
    fn length(&self, object: &str) -> Work<u64>;

    /// Writes an object of `length` bytes, if that is known; a body of another length is a failure. Returns how many were
    /// written.
    fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64>;

    /// Deletes an object. [`Failure::Missing`](super::Failure::Missing) if the store says that there was none; not all can tell.
    fn delete(&self, object: &str) -> Work<()>;

    /// All objects whose names begin with the folder `prefix` (empty: all), in the order of their names.
    /// [`Failure::Unsupported`](super::Failure::Unsupported) where the store can't list.
    fn list(&self, prefix: &str) -> Work<Vec<Entry>>;

    /// What to call the node in messages: its address without secrets.
    fn address(&self) -> &str;

    /// How long an idle connection may be, and others like it, is the store's business; this closes what is idle now.
    fn close(&self) {}
}

/// A body of one piece.
pub(crate) fn body_of(bytes: Bytes) -> Body {
    Box::pin(futures_util::stream::iter([Ok::<_, Failed>(bytes)]))
}
