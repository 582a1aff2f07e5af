//! The commit rule: a manifest is in force when its quorum of nodes has a copy, and else it is taken back everywhere.

use futures_util::future::join_all;

use super::ask::{Answer, again, all, copy, delete, failure, write};
use super::names::manifest_object;
use super::{FileError, Manifest, Node, NodeFailure};
use crate::{Existing, Failed, Failure};

/// Puts `manifest` of the file `name` in force: writes to each of its nodes a copy, which is enough for the quorum or is taken back.
/// Everything that it names must have been written before.
///
/// `places` tells for each node of the manifest which of `nodes` it is. With [`Existing::Keep`] only nodes without a copy take
/// one. With [`Existing::Replace`] the copies that are there must be of lower generations; after the commit
/// such copies on `nodes` that the manifest does not name are deleted.
///
/// # Errors
///
/// [`FileError::Changed`] if there is a copy of this generation or a later one: nothing was written. [`FileError::Commit`]: every node that
/// can be reached has what it had before; in [`FileError::Left`] if some could not be reached.
pub(super) async fn commit(
    name: &str,
    manifest: &Manifest,
    nodes: &[Node],
    places: &[Option<usize>],
    existing: Existing,
) -> Result<(), FileError> {
    let before = all(nodes, |node| copy(name, node)).await;
    if existing == Existing::Replace {
        let newer = before.iter().find_map(|answer| match answer {
            Answer::Copy(found, _) if found.generation >= manifest.generation => Some(found.generation),
            _ => None,
        });
        if let Some(generation) = newer {
            return Err(FileError::Changed { name: name.to_owned(), generation });
        }
    }
    let mut copies = Vec::new();
    for (this, place) in places.iter().enumerate() {
        let Some(index) = *place else { continue };
        let (Some(node), Some(before)) = (nodes.get(index), before.get(index)) else { continue };
        copies.push((index, node, before, manifest.to_bytes(this)?));
    }
    let object = manifest_object(name);
    let written = join_all(copies.into_iter().map(async |(index, node, before, text)| match before {
        // What is not known could not be given back.
        Answer::Failed(failed) if !is_bad_copy(failed) => (index, Err(again(failed))),
        _ => (index, write(node, &object, existing, text).await),
    }))
    .await;
    let taken = written.iter().filter(|(_, done)| done.is_ok()).count();
    if taken >= manifest.quorum() {
        if existing == Existing::Replace {
            forget(name, nodes, places, &before).await;
        }
        return Ok(());
    }
    let tried = written.iter().map(|&(index, _)| index).collect::<Vec<_>>();
    let failed =
        written.into_iter().filter_map(|(index, done)| Some(failure(nodes.get(index)?, done.err()?)));
    let because = FileError::Commit {
        name: name.to_owned(),
        copies: taken,
        needed: manifest.quorum(),
        failed: failed.collect(),
    };
    let undone = tried.into_iter().filter_map(|index| Some((nodes.get(index)?, before.get(index)?)));
    let undone = undone.map(|(node, before)| take_back(name, manifest, node, before));
    Err(with_left(because, join_all(undone).await.into_iter().filter_map(Result::err).collect()))
}

/// `because`, and what could not be cleaned up after it.
pub(super) fn with_left(because: FileError, left: Vec<NodeFailure>) -> FileError {
    match because {
        _ if left.is_empty() => because,
        FileError::Left { because, left: mut first } => {
            first.extend(left);
            FileError::Left { because, left: first }
        }
        because => FileError::Left { because: Box::new(because), left },
    }
}

/// Those nodes that may have a manifest after its commit failed, though they did not say so, or may get it late. While there are any, nobody knows
/// whether it is in force.
pub(super) fn uncertain(error: &FileError) -> Vec<NodeFailure> {
    match error {
        FileError::Left { because, left } => {
            let mut found = uncertain(because);
            found.retain(|late| left.iter().all(|failure| failure.node != late.node));
            found.extend(left.iter().map(told_again));
            found
        }
        FileError::Commit { failed, .. } => {
            let late = |failure: &&NodeFailure| {
                matches!(failure.failed.kind, Failure::TimedOut | Failure::Unreachable)
            };
            failed.iter().filter(late).map(told_again).collect()
        }
        _ => Vec::new(),
    }
}

fn told_again(failure: &NodeFailure) -> NodeFailure {
    NodeFailure { node: failure.node.clone(), failed: again(&failure.failed) }
}

/// Whether the node answered, with something that is no manifest.
fn is_bad_copy(failed: &Failed) -> bool {
    matches!(failed.kind, Failure::Corrupt | Failure::TooLong | Failure::TooShort)
}

/// Older copies on nodes that no longer have a part of the file. One that stays is harmless: too few nodes have it.
async fn forget(name: &str, nodes: &[Node], places: &[Option<usize>], before: &[Answer]) {
    let object = manifest_object(name);
    let old =
        nodes.iter().zip(before).enumerate().filter(|(index, (_, before))| {
            matches!(before, Answer::Copy(..)) && !places.contains(&Some(*index))
        });
    join_all(old.map(|(_, (node, _))| delete(node, &object))).await;
}

/// Gives `node` back what it had `before`, if it has a copy of `manifest` now. A write that failed may have
/// been done all the same.
async fn take_back(name: &str, manifest: &Manifest, node: &Node, before: &Answer) -> Result<(), NodeFailure> {
    let done: Result<(), Failed> = match copy(name, node).await {
        Answer::Failed(failed) => Err(failed),
        Answer::Copy(found, _) if *found == *manifest => {
            let object = manifest_object(name);
            match before {
                Answer::Copy(old, this) => match old.to_bytes(*this) {
                    Ok(text) => write(node, &object, Existing::Replace, text).await,
                    Err(error) => Err(Failed::because(Failure::Corrupt, error)),
                },
                Answer::Missing | Answer::Failed(_) => delete(node, &object).await.map(drop),
            }
        }
        Answer::Copy(..) | Answer::Missing => Ok(()),
    };
    done.map_err(|failed| failure(node, failed))
}
