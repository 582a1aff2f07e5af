//! Deleting the objects of a version of a file: of one that is replaced or removed, and of one that was never in force.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::iter;

use super::ask::{LISTING_FILE, again, all, delete, failure, limited, within, write};
use super::intent::{Version, Work};
use super::manifest::MOST_GROUPS;
use super::names::manifest_object;
use super::newest::Answers;
use super::{Manifest, Node, NodeFailure};
use crate::{Existing, Failed, Failure};

/// Requests to one node at a time.
const AT_A_TIME: usize = 16;

/// Deletes `objects` from `node`: how many there were; the first failure, after all have been tried, or at once if the node does not answer.
pub(super) async fn delete_all(
    node: &Node,
    objects: impl IntoIterator<Item = String>,
) -> (u64, Result<(), Failed>) {
    let mut deleted =
        iter(objects).map(async |object| delete(node, &object).await).buffer_unordered(AT_A_TIME);
    let (mut count, mut all) = (0, Ok(()));
    while let Some(done) = deleted.next().await {
        match done {
            Ok(there) => count += u64::from(there),
            Err(failed) => {
                let silent = matches!(failed.kind, Failure::TimedOut | Failure::Unreachable);
                all = all.and(Err(failed));
                if silent {
                    break;
                }
            }
        }
    }
    (count, all)
}

/// Deletes all objects of a version from `node`, whatever they are called if the node can list, and else by their names.
///
/// `named` are names that there should be; without them names are tried until there are no more.
pub(super) async fn sweep(
    name: &str,
    node: &Node,
    version: Version,
    named: Option<HashSet<String>>,
) -> (u64, Result<(), Failed>) {
    let folder = format!("{name}/{}", version.id);
    let mut listed: Vec<String> = match limited(LISTING_FILE, node.store.list(&folder)).await {
        Ok(entries) => entries.into_iter().map(|entry| entry.object).collect(),
        Err(failed) if failed.kind == Failure::Unsupported => match named {
            Some(named) => named.into_iter().collect(),
            None => match tried(&folder, node, version).await {
                Ok(found) => found,
                Err(failed) => return (0, Err(failed)),
            },
        },
        Err(failed) => return (0, Err(failed)),
    };
    // Backwards, so that what is left by an interruption is found from the front.
    listed.sort_by_key(|object| std::cmp::Reverse((object.len(), object.clone())));
    delete_all(node, listed).await
}

/// The objects that are there, on a node that can't list. Groups are written in order, and any N groups of a writer have a cell on each of
/// its N nodes; so one more than N without any is the end.
async fn tried(folder: &str, node: &Node, version: Version) -> Result<Vec<String>, Failed> {
    // No writer makes this one. A node that has it says so of all, without end.
    match within(node.store.length(&format!("{folder}/g{MOST_GROUPS}.c0"))).await {
        Err(failed) if failed.kind == Failure::Missing => {}
        Err(failed) => return Err(failed),
        Ok(_) => {
            let text = format!("it says that there is an object of group {MOST_GROUPS}, which no file has");
            return Err(Failed::because(Failure::Other, text));
        }
    }
    let (mut found, mut without) = (Vec::new(), 0);
    for group in 0..MOST_GROUPS {
        let cells = (0..version.cells).map(async |cell| {
            let object = format!("{folder}/g{group}.c{cell}");
            match within(node.store.length(&object)).await {
                Ok(_) => Ok(Some(object)),
                Err(failed) if failed.kind == Failure::Missing => Ok(None),
                Err(failed) => Err(failed),
            }
        });
        let before = found.len();
        for object in join_all(cells).await {
            found.extend(object?);
        }
        without = if found.len() > before { 0 } else { without + 1 };
        if without > version.nodes {
            break;
        }
    }
    Ok(found)
}

/// Deletes the objects of `manifest`, and whatever else lies in their folder, from all of `nodes`: how many, and where it failed. `places`
/// tells for each node of the manifest which of `nodes` it is, as far as that is known.
pub(super) async fn delete_version(
    name: &str,
    manifest: &Manifest,
    nodes: &[Node],
    places: &[Option<usize>],
) -> (u64, Vec<NodeFailure>) {
    let mut named = vec![HashSet::new(); nodes.len()];
    for group in 0..manifest.placement.len() as u64 {
        for cell in 0..manifest.n() {
            let place = manifest.placed(group, cell).and_then(|this| places.get(this).copied().flatten());
            if let Some(named) = place.and_then(|index| named.get_mut(index))
                && manifest.block_length(group, cell) > 0
            {
                named.insert(manifest.object(name, group, cell));
            }
        }
    }
    let version = Version::of(manifest);
    let known = |index: usize| places.contains(&Some(index));
    let swept = nodes
        .iter()
        .zip(named)
        .enumerate()
        .map(|(index, (node, named))| sweep(name, node, version, known(index).then_some(named)));
    collect(nodes, join_all(swept).await)
}

fn collect(nodes: &[Node], swept: Vec<(u64, Result<(), Failed>)>) -> (u64, Vec<NodeFailure>) {
    let (mut deleted, mut left) = (0, Vec::new());
    for (node, (count, done)) in nodes.iter().zip(swept) {
        deleted += count;
        left.extend(done.err().map(|failed| failure(node, failed)));
    }
    (deleted, left)
}

/// Cleans up after a writer that ended in the middle: if what it wrote never came into force, all of it goes; if it did, what it
/// replaced; and nothing where the answers of `nodes` leave that open. Returns where that failed.
pub(super) async fn clean_up(name: &str, nodes: &[Node], work: Work) -> Vec<NodeFailure> {
    let Work { version, replaces } = work;
    let answers = Answers::of_all(name, nodes).await;
    let manifests = answers.manifests();
    let in_force =
        manifests.iter().find(|manifest| !answers.is_void(manifest) && !answers.is_outvoted(manifest));
    let mut ours = manifests.iter().filter(|manifest| manifest.id == version.id);
    if ours.clone().any(|manifest| answers.is_held(manifest)) {
        return match replaces {
            Some(old) if nodes.len() >= old.nodes => {
                collect(nodes, all(nodes, |node| sweep(name, node, old, None)).await).1
            }
            _ => Vec::new(),
        };
    }
    let unasked = answers.failed().filter(|(_, failed)| failed.kind != Failure::Corrupt);
    let unasked = unasked.filter_map(|(index, failed)| Some(failure(nodes.get(index)?, again(failed))));
    // Nodes that were not given may have it in force; and so may these, if some have lost their copies.
    let void = |manifest: &Arc<Manifest>| {
        answers.is_surely_void(manifest) && answers.holding(manifest) <= usize::from(manifest.m)
    };
    if nodes.len() < version.nodes || !ours.all(void) {
        return unasked.collect();
    }
    // First the manifests, so that nobody opens what is going to be deleted.
    let places = in_force.map(|manifest| answers.places(manifest).unwrap_or_default());
    let object = manifest_object(name);
    let copies = answers.copies().filter(|(_, manifest, _)| manifest.id == version.id);
    let undone = join_all(copies.map(async |(index, _, _)| {
        let node = nodes.get(index)?;
        let this = places.as_ref().and_then(|places| places.iter().position(|place| *place == Some(index)));
        let done = match this.and_then(|this| in_force?.to_bytes(this).ok()) {
            Some(text) => write(node, &object, Existing::Replace, text).await,
            None => delete(node, &object).await.map(drop),
        };
        done.err().map(|failed| failure(node, failed))
    }))
    .await;
    let mut left = undone.into_iter().flatten().collect::<Vec<_>>();
    // A node that can't be asked may know that it is in force.
    left.extend(unasked);
    if left.is_empty() {
        left = collect(nodes, all(nodes, |node| sweep(name, node, version, None)).await).1;
    }
    left
}
