//! The intent: an object on every node that says that a file is being written or removed. It is written first and removed
//! last, so that what a writer that died has left is found and cleaned up by the next one; and while it stands, it keeps
//! other writers out.
//!
//! It is `<name>/intent.json`, created only where there is none: JSON with `format` ("hedgerow-intent"), `version` (1), `id` (of the version that is
//! being written or removed), `cells` (of its stripes), `nodes` (how many), `replaces` (the same three of the version that is replaced, or null),
//! `time` (seconds since 1970, renewed every minute), `ended` (whether its writer has given up, and left something), `node` (which
//! of the given nodes it stands on, from 0). An intent that was not renewed for ten minutes is taken for
//! abandoned; one that most of its nodes don't have, after three.
//!
//! Where a store can't create an object only if there is none, two writers that begin at the same instant may both go on. Each looks for its intent
//! again before it commits, and the one that no longer finds it gives up.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::{interval, sleep};

use super::ask::{again, all, delete, failure, within, write};
use super::clean::clean_up;
use super::manifest::{MOST_CELLS, MOST_NODES};
use super::names::intent_object;
use super::{FileError, FileId, Manifest, Node, NodeFailure};
use crate::{Existing, Failed, Failure};

/// After so long without renewal, an intent is abandoned.
pub(super) const ABANDONED: Duration = Duration::from_secs(600);
const RENEWAL: Duration = Duration::from_secs(60);
/// Two writers that begin at once get in each other's way: how often, and how long after, the one with more nodes tries
/// again.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(250);

const FORMAT: &str = "hedgerow-intent";
const VERSION: u64 = 1;
const MOST_TEXT: u64 = 64 << 10;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Text {
    format: String,
    version: u64,
    id: String,
    cells: u8,
    nodes: usize,
    replaces: Option<Replaced>,
    time: u64,
    ended: bool,
    node: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Replaced {
    id: String,
    cells: u8,
    nodes: usize,
}

/// The objects of one version of a file, as far as their names go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Version {
    pub(super) id: FileId,
    /// Cells of a stripe.
    pub(super) cells: u8,
    /// Nodes over which the cells are spread.
    pub(super) nodes: usize,
}

impl Version {
    pub(super) const fn of(manifest: &Manifest) -> Self {
        Self { id: manifest.id, cells: manifest.n(), nodes: manifest.nodes.len() }
    }

    /// What an intent says; hostile numbers are cut to what can be.
    fn read(id: &str, cells: u8, nodes: usize) -> Option<Self> {
        Some(Self { id: FileId::parse(id)?, cells: cells.min(MOST_CELLS), nodes: nodes.min(MOST_NODES) })
    }
}

/// What a writer is about: the version that it writes or removes, and the one that this replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Work {
    pub(super) version: Version,
    pub(super) replaces: Option<Version>,
}

impl Work {
    /// The text of the intent on the given node `node`.
    fn text(&self, ended: bool, node: usize) -> Vec<u8> {
        let Version { id, cells, nodes } = self.version;
        let replaced = |Version { id, cells, nodes }| Replaced { id: id.to_string(), cells, nodes };
        let text = Text {
            format: FORMAT.to_owned(),
            version: VERSION,
            id: id.to_string(),
            cells,
            nodes,
            replaces: self.replaces.map(replaced),
            time: now(),
            ended,
            node: Some(node),
        };
        // Strings and numbers alone: it can't fail.
        serde_json::to_vec(&text).unwrap_or_default()
    }

    fn read(text: &Text) -> Option<Self> {
        if text.format != FORMAT || text.version != VERSION {
            return None;
        }
        let version = Version::read(&text.id, text.cells, text.nodes)?;
        let replaces = match &text.replaces {
            Some(Replaced { id, cells, nodes }) => Some(Version::read(id, *cells, *nodes)?),
            None => None,
        };
        Some(Self { version, replaces: replaces.filter(|old| old.id != version.id) })
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What stands on a node.
enum Found {
    Nothing,
    /// An intent, and how many seconds ago it was renewed, if that is known.
    Intent {
        work: Work,
        seconds: Option<u64>,
        ended: bool,
        node: Option<usize>,
    },
    /// Something that is no intent.
    Unreadable,
}

async fn find(name: &str, node: &Node) -> Result<Found, Failed> {
    let text = match within(node.store.get(&intent_object(name), MOST_TEXT)).await {
        Ok(text) => text,
        Err(failed) if failed.kind == Failure::Missing => return Ok(Found::Nothing),
        Err(failed) => return Err(failed),
    };
    let text = serde_json::from_slice::<Text>(&text).ok();
    Ok(match text.and_then(|text| Some((Work::read(&text)?, text))) {
        Some((work, text)) => {
            let seconds = now().checked_sub(text.time);
            Found::Intent { work, seconds, ended: text.ended, node: text.node }
        }
        None => Found::Unreadable,
    })
}

/// An intent of ours, on all nodes or as many as could be reached.
pub(super) struct Intent<'a> {
    name: &'a str,
    nodes: &'a [Node],
    work: Work,
    /// What writers that died were about, if not all of it could be cleaned up.
    pub(super) dead: Vec<Version>,
}

impl<'a> Intent<'a> {
    /// Cleans up after writers that have died, keeps off those that have not, and writes the intent.
    ///
    /// `abandoned` is how long an intent must not have been renewed to be taken for abandoned. All nodes must take the intent, if
    /// `everywhere`; else nodes that fail are left out.
    pub(super) async fn begin(
        name: &'a str,
        nodes: &'a [Node],
        work: Work,
        abandoned: Duration,
        everywhere: bool,
    ) -> Result<Self, FileError> {
        let mut intent = Self { name, nodes, work, dead: Vec::new() };
        for attempt in 1.. {
            match clear(name, nodes, Some(work.version.id), abandoned, everywhere).await {
                Ok(dead) => intent.dead.extend(dead),
                // The one that is to withdraw is still there.
                Err(FileError::Busy { .. }) if attempt > 1 && attempt < TRIES => {
                    sleep(BETWEEN_TRIES).await;
                    continue;
                }
                Err(error) => {
                    if attempt > 1 {
                        intent.withdraw().await;
                    }
                    return Err(error);
                }
            }
            let done = intent.write_all(Existing::Keep).await;
            let mut taken = 0;
            let mut beaten = None;
            let mut failed = None;
            for (node, done) in nodes.iter().zip(done) {
                match done {
                    Ok(()) => taken += 1,
                    Err(error) if error.kind == Failure::Exists => match find(name, node).await {
                        Ok(Found::Intent { work: found, .. }) if found.version.id == work.version.id => {
                            taken += 1;
                        }
                        _ => beaten = Some(node),
                    },
                    Err(error) => failed = Some(failure(node, error)),
                }
            }
            match (beaten, failed) {
                (_, Some(failure)) if everywhere => {
                    intent.withdraw().await;
                    return Err(FileError::Node { doing: "beginning to write", failure });
                }
                (None, Some(failure)) if taken == 0 => {
                    return Err(FileError::Node { doing: "beginning to write", failure });
                }
                (None, _) => {
                    if everywhere && let Err(error) = intent.check_distinct().await {
                        intent.withdraw().await;
                        return Err(error);
                    }
                    break;
                }
                // The other one has fewer, and withdraws.
                (Some(_), _) if 2 * taken > nodes.len() && attempt < TRIES => sleep(BETWEEN_TRIES).await,
                (Some(node), _) => {
                    intent.withdraw().await;
                    let (name, node) = (name.to_owned(), node.label.clone());
                    return Err(FileError::Busy { name, node, seconds: Some(0) });
                }
            }
        }
        Ok(intent)
    }

    /// Renews the intent for as long as it is polled; ends only if another writer has taken over.
    pub(super) async fn renew(&self) -> FileError {
        let mut ticks = interval(RENEWAL);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if let Err(error) = self.check().await {
                return error;
            }
            self.write_all(Existing::Replace).await;
        }
    }

    async fn write_all(&self, existing: Existing) -> Vec<Result<(), Failed>> {
        let object = intent_object(self.name);
        let written = self.nodes.iter().enumerate();
        join_all(written.map(|(index, node)| write(node, &object, existing, self.work.text(false, index))))
            .await
    }

    /// Fails if what was written to one node is found on another: then both are the same storage.
    async fn check_distinct(&self) -> Result<(), FileError> {
        let found = all(self.nodes, |node| find(self.name, node)).await;
        for (index, (node, found)) in self.nodes.iter().zip(found).enumerate() {
            if let Ok(Found::Intent { work, node: Some(this), .. }) = found
                && work.version.id == self.work.version.id
                && this != index
                && let Some(other) = self.nodes.get(this)
            {
                let given = [other.label.clone(), node.label.clone()];
                return Err(FileError::SameNode {
                    name: self.name.to_owned(),
                    node: other.label.clone(),
                    given,
                });
            }
        }
        Ok(())
    }

    /// Whether nobody has taken over: as far as nodes can be reached, all have our intent.
    pub(super) async fn check(&self) -> Result<(), FileError> {
        let found = all(self.nodes, |node| find(self.name, node)).await;
        let other = self.nodes.iter().zip(found).find(|(_, found)| match found {
            Ok(Found::Intent { work, .. }) => work.version.id != self.work.version.id,
            Ok(_) => true,
            Err(_) => false,
        });
        match other {
            None => Ok(()),
            Some((node, _)) => {
                Err(FileError::TakenOver { name: self.name.to_owned(), node: node.label.clone() })
            }
        }
    }

    /// The end: removes the intent, but where something was `left` marks it, so that the next writer need not wait to clean
    /// it up.
    pub(super) async fn end(self, left: &[NodeFailure]) {
        if left.is_empty() {
            return self.withdraw().await;
        }
        let object = intent_object(self.name);
        let ends =
            self.nodes.iter().enumerate().map(async |(index, node)| match find(self.name, node).await {
                Ok(Found::Intent { work, .. }) if work.version.id == self.work.version.id => {
                    drop(write(node, &object, Existing::Replace, self.work.text(true, index)).await);
                }
                _ => {}
            });
        join_all(ends).await;
    }

    async fn withdraw(&self) {
        withdraw(self.name, self.nodes, self.work.version.id).await;
    }
}

/// Removes the intent of the version `id` from wherever it stands.
pub(super) async fn withdraw(name: &str, nodes: &[Node], id: FileId) {
    all(nodes, |node| remove(name, node, id)).await;
}

/// Removes the intent of the version `id` from `node`. A node that can't be reached keeps it: the next writer finds nothing to clean up
/// then.
async fn remove(name: &str, node: &Node, id: FileId) {
    // An intent that stays keeps others waiting, so it is worth more than one try.
    for _ in 0..3 {
        let gone = match find(name, node).await {
            Ok(Found::Intent { work, .. }) if work.version.id == id => {
                delete(node, &intent_object(name)).await.is_ok()
            }
            Ok(_) => true,
            Err(_) => false,
        };
        if gone {
            break;
        }
        sleep(BETWEEN_TRIES).await;
    }
}

/// Cleans up after the writers whose intents are abandoned or ended; tells those of them for which that was not possible everywhere.
pub(super) async fn clear(
    name: &str,
    nodes: &[Node],
    ours: Option<FileId>,
    abandoned: Duration,
    everywhere: bool,
) -> Result<Vec<Version>, FileError> {
    let found = all(nodes, |node| find(name, node)).await;
    let without = found.iter().filter(|found| matches!(found, Ok(Found::Nothing))).count();
    let has_ended = |id: FileId| {
        let ended = |found: &Result<Found, Failed>| match found {
            Ok(Found::Intent { work, ended, .. }) => *ended && work.version.id == id,
            _ => false,
        };
        found.iter().any(ended)
    };
    let (mut dead, mut unreadable) = (Vec::<Work>::new(), Vec::new());
    for (node, found) in nodes.iter().zip(&found) {
        let busy = |seconds| FileError::Busy { name: name.to_owned(), node: node.label.clone(), seconds };
        match found {
            Ok(Found::Nothing) => {}
            Ok(Found::Intent { work, .. }) if Some(work.version.id) == ours => {}
            Ok(Found::Intent { work, seconds, .. }) => {
                // A writer that lives has its intent on all nodes, once it has begun.
                let most =
                    if 2 * without > work.version.nodes { abandoned.min(3 * RENEWAL) } else { abandoned };
                let old = seconds.is_some_and(|seconds| seconds >= most.as_secs());
                if !old && !abandoned.is_zero() && !has_ended(work.version.id) {
                    return Err(busy(*seconds));
                }
                if !dead.contains(work) {
                    dead.push(*work);
                }
            }
            Ok(Found::Unreadable) if abandoned.is_zero() => unreadable.push(node),
            Ok(Found::Unreadable) => return Err(busy(None)),
            Err(error) if everywhere => {
                let failure = failure(node, again(error));
                return Err(FileError::Node { doing: "looking for other writers", failure });
            }
            Err(_) => {}
        }
    }
    let mut uncertain = Vec::new();
    for work in dead {
        let left = clean_up(name, nodes, work).await;
        if !left.is_empty() {
            uncertain.push(work.version);
        }
        if let Some(failure) = left.into_iter().next()
            && everywhere
        {
            return Err(FileError::Node { doing: "cleaning up after another writer", failure });
        }
        all(nodes, |node| remove(name, node, work.version.id)).await;
    }
    let object = intent_object(name);
    all(unreadable, |node| delete(node, &object)).await;
    Ok(uncertain)
}
