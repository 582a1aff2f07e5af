//! Removing a file.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::ask::{Answer, again, copy, delete, failure};
use super::clean::{delete_version, sweep};
use super::commit::with_left;
use super::intent::{ABANDONED, Intent, Version, Work, clear};
use super::names::{check_name, manifest_object};
use super::newest::Answers;
use super::{FileError, Manifest, Node, NodeFailure};
use crate::{Failed, Failure};

/// How a file is to be removed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RemoveOptions {
    /// A writer of the file that was not heard of for so long is taken for dead, and what it left is cleaned up: as
    /// [`PutOptions::abandoned`](super::PutOptions::abandoned).
    pub abandoned: Duration,
}

impl Default for RemoveOptions {
    fn default() -> Self {
        Self { abandoned: ABANDONED }
    }
}

/// What was removed.
#[derive(Clone, Debug)]
pub struct Removed {
    /// Objects deleted, in all, manifests not counted; as many as the stores can tell.
    pub objects: u64,
    /// Nodes that could not be reached, by label, with the reason; what they have of the file stays there.
    pub left: Vec<(String, String)>,
}

/// Removes the file `name` from all nodes: the manifests first, then the objects, of versions that were never in force too.
///
/// Nodes that can't be reached keep what they have; the file is gone all the same, as too few then have its manifest. An intent, as
/// [`put`](super::put) writes it, stands on the others meanwhile.
///
/// # Errors
///
/// [`FileError::NotFound`]; [`FileError::Busy`]; [`FileError::TooFewAnswers`] if the nodes that can't be reached are enough to keep the
/// file in force: nothing was removed then. [`FileError::Left`] if too many nodes failed in the middle: the file is still there then, or on the
/// way out, and removing it again goes on.
pub async fn remove(name: &str, nodes: &[Node], options: &RemoveOptions) -> Result<Removed, FileError> {
    check_name(name).map_err(|rule| FileError::Name { name: name.to_owned(), rule })?;
    if nodes.is_empty() {
        return Err(FileError::TooFewNodes { given: 0, needed: 1 });
    }
    let answers = Answers::of_all(name, nodes).await;
    // A copy that is outvoted goes with the others, but what it says is not followed.
    let voted = |answers: &Answers<'_>| {
        let mut manifests = answers.manifests();
        manifests.retain(|manifest| !answers.is_outvoted(manifest));
        manifests
    };
    let manifests = voted(&answers);
    let Some(newest) = manifests.first() else {
        // A put that died may have left objects without a manifest.
        clear(name, nodes, None, options.abandoned, false).await?;
        return Err(answers.error());
    };
    if !manifests.iter().all(|manifest| answers.can_be_voided(manifest)) {
        return Err(answers.error());
    }
    let work = Work { version: Version::of(newest), replaces: None };
    let mut intent = Intent::begin(name, nodes, work, options.abandoned, false).await?;
    // Its copies may have changed before the intent stood.
    let answers = Answers::of_all(name, nodes).await;
    let manifests = voted(&answers);
    let unreachable = |index: usize| {
        answers
            .failed()
            .find(|&(failed, _)| failed == index)
            .filter(|(_, failed)| failed.kind != Failure::Corrupt)
    };
    let mut left = Vec::new();
    let mut reached = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        match unreachable(index) {
            Some((_, failed)) => left.push(failure(node, again(failed))),
            None => reached.push((index, node)),
        }
    }
    let all = answers.manifests();
    if let Err(error) = intent.check().await {
        intent.end(&[]).await;
        return Err(error);
    }
    let deleted = join_all(reached.iter().map(|(_, node)| forget(name, node, &all))).await;
    let mut lost = Vec::new();
    let mut clean = Vec::new();
    for ((index, node), deleted) in reached.into_iter().zip(deleted) {
        match deleted {
            Ok(()) => clean.push((index, node)),
            Err(failed) => lost.push(failure(node, failed)),
        }
    }
    if let Some(manifest) = manifests.iter().find(|manifest| clean.len() < manifest.answers()) {
        let failed = lost.into_iter().chain(left).collect::<Vec<NodeFailure>>();
        let (heard, needed) = (clean.len(), manifest.answers());
        let because = FileError::TooFewAnswers { name: name.to_owned(), heard, needed, failed: Vec::new() };
        intent.end(&failed).await;
        return Err(with_left(because, failed));
    }
    left.extend(lost);
    let given = nodes.len();
    let nodes = clean.iter().map(|(_, node)| (*node).clone()).collect::<Vec<_>>();
    let mut objects = 0;
    for manifest in &manifests {
        let places = answers.places(manifest).unwrap_or_default();
        let among = |place: Option<usize>| clean.iter().position(|(index, _)| Some(*index) == place);
        let places = places.into_iter().map(among).collect::<Vec<_>>();
        let (count, failed) = delete_version(name, manifest, &nodes, &places).await;
        objects += count;
        left.extend(failed);
    }
    // So many of its nodes have no manifest now that it is not in force, whichever it was.
    let void = |version: &Version| given >= version.nodes && 2 * nodes.len() >= version.nodes;
    for version in std::mem::take(&mut intent.dead).into_iter().filter(void) {
        for node in &nodes {
            let (count, done) = sweep(name, node, version, None).await;
            objects += count;
            left.extend(done.err().map(|failed| failure(node, failed)));
        }
    }
    let unclean = nodes.iter().any(|node| left.iter().any(|failure| failure.node == node.label));
    intent.end(if unclean { &left } else { &[] }).await;
    let left = left.into_iter().map(|failure| (failure.node, failure.failed.to_string())).collect();
    Ok(Removed { objects, left })
}

/// Deletes a node's manifest, if it is one of `known` or none at all: another one was written meanwhile.
async fn forget(name: &str, node: &Node, known: &[Arc<Manifest>]) -> Result<(), Failed> {
    match copy(name, node).await {
        Answer::Missing => return Ok(()),
        Answer::Copy(found, _) if known.contains(&found) => {}
        Answer::Copy(found, _) => {
            let text = format!("a manifest of generation {} was written meanwhile", found.generation);
            return Err(Failed::because(Failure::Exists, text));
        }
        Answer::Failed(failed) if failed.kind == Failure::Corrupt => {}
        Answer::Failed(failed) => return Err(failed),
    }
    delete(node, &manifest_object(name)).await.map(drop)
}
