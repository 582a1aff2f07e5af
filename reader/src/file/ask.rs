//! Asking nodes: with a limit of time, which stores don't have, and all at once.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;

use super::manifest::MOST_TEXT;
use super::names::manifest_object;
use super::{Manifest, Node, NodeFailure};
use crate::store::body_of;
use crate::{Existing, Failed, Failure, Work};

/// How long a node may take for a small object.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a node may take to list all that it has.
pub(super) const LISTING: Duration = Duration::from_secs(600);
/// How long a node may take to list the objects of one file.
pub(super) const LISTING_FILE: Duration = Duration::from_secs(60);

/// `work`, which fails if it takes longer than a small object may.
pub(super) async fn within<T>(work: Work<T>) -> Result<T, Failed> {
    limited(ANSWER, work).await
}

/// `work`, which fails if it takes longer than `most`.
pub(super) async fn limited<T>(most: Duration, work: Work<T>) -> Result<T, Failed> {
    match tokio::time::timeout(most, work).await {
        Ok(done) => done,
        Err(_) => Err(Failed::because(Failure::TimedOut, format!("no answer within {} s", most.as_secs()))),
    }
}

/// `ask` of each of these nodes at once; the answers in their order.
pub(super) async fn all<'a, F: Future>(
    nodes: impl IntoIterator<Item = &'a Node>,
    ask: impl FnMut(&'a Node) -> F,
) -> Vec<F::Output> {
    join_all(nodes.into_iter().map(ask)).await
}

/// What a node says when it is asked for its copy of a manifest.
#[derive(Debug)]
pub(super) enum Answer {
    /// The copy, and which of its nodes it is for.
    Copy(Arc<Manifest>, usize),
    /// It has none.
    Missing,
    /// It could not be asked, or its copy could not be read.
    Failed(Failed),
}

/// Asks `node` for its copy of the manifest of the file `name`.
pub(super) async fn copy(name: &str, node: &Node) -> Answer {
    let text = match within(node.store.get(&manifest_object(name), MOST_TEXT)).await {
        Ok(text) => text,
        Err(failed) if failed.kind == Failure::Missing => return Answer::Missing,
        Err(failed) => return Answer::Failed(failed),
    };
    match Manifest::parse(&text) {
        Ok((manifest, this)) => Answer::Copy(Arc::new(manifest), this),
        Err(error) => Answer::Failed(Failed::because(Failure::Corrupt, error)),
    }
}

/// Writes a small object.
pub(super) async fn write(
    node: &Node,
    object: &str,
    existing: Existing,
    text: impl Into<Bytes>,
) -> Result<(), Failed> {
    let text = text.into();
    let length = Some(text.len() as u64);
    within(node.store.put(object, existing, length, body_of(text))).await.map(drop)
}

/// Deletes an object; whether there was one, as far as the store can tell.
pub(super) async fn delete(node: &Node, object: &str) -> Result<bool, Failed> {
    match within(node.store.delete(object)).await {
        Ok(()) => Ok(true),
        Err(failed) if failed.kind == Failure::Missing => Ok(false),
        Err(failed) => Err(failed),
    }
}

/// The failure of `node`, for an error.
pub(super) fn failure(node: &Node, failed: Failed) -> NodeFailure {
    NodeFailure { node: node.label.clone(), failed }
}

/// A failure to be told twice.
pub(super) fn again(failed: &Failed) -> Failed {
    match std::error::Error::source(failed) {
        Some(source) => Failed::because(failed.kind, source.to_string()),
        None => failed.kind.into(),
    }
}
