//! Writing a file: a stripe at a time, to all nodes at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, try_join};
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::ask::{again, delete, failure};
use super::clean::{delete_all, delete_version};
use super::commit::{commit, uncertain, with_left};
use super::copies::after;
use super::intent::{ABANDONED, Intent, Version, Work, withdraw};
use super::json::row_bytes;
use super::manifest::{MOST_GENERATION, MOST_TEXT, rotated};
use super::names::{check_name, manifest_object};
use super::newest::{Answers, Verdict};
use super::objects::Objects;
use super::stripes::read_stripes;
use super::{FileError, FileId, Manifest, Node, NodeEntry, NodeFailure, Progress};
use crate::{Existing, Failure};

/// How a file is to be written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PutOptions {
    /// Data cells of a stripe.
    pub k: u8,
    /// Parity cells of a stripe.
    pub m: u8,
    /// Bytes of a full cell: whole records.
    pub cell_bytes: u32,
    /// Bytes of a full record.
    pub record_bytes: u32,
    /// Stripes of a full block group: cells of a full object.
    pub stripes_per_group: u32,
    /// What to do if there is such a file.
    pub existing: Existing,
    /// The length of the source in bytes, if it is known.
    pub length: Option<u64>,
    /// A node that takes nothing for so long, though there is something, has failed.
    pub silence: Duration,
    /// Another writer of the file that was not heard of for so long is taken for dead, and what it left is cleaned up. Zero: whatever there is, which
    /// is right only if there is no other writer for sure.
    pub abandoned: Duration,
    /// Cancelling it makes [`put`] clean up and fail with [`FileError::Cancelled`]. From the moment when the manifest is being written it has
    /// no effect.
    pub cancel: CancellationToken,
}

impl Default for PutOptions {
    fn default() -> Self {
        Self {
            k: 6,
            m: 3,
            cell_bytes: 1 << 20,
            record_bytes: 4096,
            stripes_per_group: 64,
            existing: Existing::Keep,
            length: None,
            silence: Duration::from_secs(60),
            abandoned: ABANDONED,
            cancel: CancellationToken::new(),
        }
    }
}

/// Writes `source` as the file `name`, spread over all of `nodes`, of which each must take part.
///
/// Objects are written first, then the manifest, which puts them in force ([`Manifest#when-it-is-in-force`]); a version that is replaced is deleted after that.
/// An intent, an object `intent.json` on every node, is there before all else and goes last; while it is there, no other writer begins.
///
/// # Memory
///
/// Three stripes of k + m cells at most (one is read, one encoded, one written), 64 KiB and its checksums for each node, the placement of
/// the groups (2 bytes a cell), and what the stores take: with the default of RS-6-3 and cells of 1 MiB, 27 MiB and nine
/// pieces.
///
/// # When it ends early
///
/// After an error, nothing of it is left, as far as the nodes can be reached; where they can't, [`FileError::Left`] says so. To stop it, cancel
/// [`PutOptions::cancel`]. A future that is dropped can't clean up: the intent and finished objects stay, and the next command that writes or
/// removes this name cleans up, but only when the intent was not renewed for [`PutOptions::abandoned`], as nobody can tell
/// before whether its writer is alive.
///
/// # Errors
///
/// [`FileError`]: among others [`Exists`](FileError::Exists), [`Busy`](FileError::Busy), [`Shape`](FileError::Shape),
/// [`TooFewNodes`](FileError::TooFewNodes), [`Source`](FileError::Source), [`SourceLength`](FileError::SourceLength),
/// [`Node`](FileError::Node), [`Commit`](FileError::Commit).
pub async fn put(
    name: &str,
    nodes: &[Node],
    source: &mut (dyn AsyncRead + Send + Unpin),
    options: &PutOptions,
    progress: Progress<'_>,
) -> Result<Manifest, FileError> {
    check_name(name).map_err(|rule| FileError::Name { name: name.to_owned(), rule })?;
    let mut manifest = shape(name, nodes, options)?;
    let text_left = text_left(&manifest)?;
    let version = Version::of(&manifest);
    let begun = tokio::select! {
        biased;
        () = options.cancel.cancelled() => None,
        begun = async {
            let existing = Found::look(name, nodes, options.existing).await?;
            let work = Work { version, replaces: existing.version() };
            Ok::<_, FileError>((work, Intent::begin(name, nodes, work, options.abandoned, true).await?))
        } => Some(begun?),
    };
    let Some((work, intent)) = begun else {
        withdraw(name, nodes, version.id).await;
        return Err(FileError::Cancelled);
    };
    let mut objects =
        Objects::new(name, nodes, &manifest, options.length.is_some(), options.silence, text_left);
    let written = tokio::select! {
        biased;
        () = options.cancel.cancelled() => Err(FileError::Cancelled),
        error = intent.renew() => Err(error),
        written = async {
            let found = Found::look(name, nodes, options.existing).await?;
            let (to, from) = mpsc::channel(1);
            let read = read_stripes(source, &manifest, options.length, to);
            let (length, ()) = try_join(read, objects.write(from, progress)).await?;
            Ok((length, found))
        } => written,
    };
    objects.stop().await;
    let placement = objects.placement;
    manifest.placement = placement;
    let (length, found) = match written {
        Ok(written) => written,
        Err(error) => return Err(give_up(error, name, nodes, &manifest, intent).await),
    };
    manifest.length = length;
    let commits = async {
        manifest.generation = after(found.generation)?;
        manifest.check()?;
        if found.version() != work.replaces {
            return Err(FileError::Changed { name: name.to_owned(), generation: found.generation });
        }
        if !found.void.is_empty() {
            intent.check().await?;
            tokio::select! {
                biased;
                error = intent.renew() => return Err(error),
                done = found.forget_void(name, nodes) => done?,
            }
        }
        intent.check().await?;
        let places = (0..nodes.len()).map(Some).collect::<Vec<_>>();
        commit(name, &manifest, nodes, &places, options.existing).await
    };
    if let Err(error) = commits.await {
        let uncertain = uncertain(&error);
        if !uncertain.is_empty() {
            // It may be in force, or come into force yet: who comes next asks anew.
            intent.end(&uncertain).await;
            return Err(match error {
                FileError::Left { because, .. } => FileError::Left { because, left: uncertain },
                because => FileError::Left { because: Box::new(because), left: uncertain },
            });
        }
        return Err(give_up(error, name, nodes, &manifest, intent).await);
    }
    let mut left = Vec::new();
    if let Some((old, places)) = &found.file {
        left = delete_version(name, old, nodes, places).await.1;
    }
    intent.end(&left).await;
    Ok(manifest)
}

/// What is known of the manifest before the first byte is read, once that is within bounds.
fn shape(name: &str, nodes: &[Node], options: &PutOptions) -> Result<Manifest, FileError> {
    let id = FileId::random().map_err(|error| FileError::Other(format!("no random numbers: {error}")))?;
    let entry =
        |node: &Node| NodeEntry { label: node.label.clone(), address: node.store.address().to_owned() };
    let manifest = Manifest {
        id,
        generation: 1,
        k: options.k,
        m: options.m,
        cell_bytes: options.cell_bytes,
        record_bytes: options.record_bytes,
        stripes_per_group: options.stripes_per_group,
        length: options.length.unwrap_or(0),
        nodes: nodes.iter().map(entry).collect(),
        placement: Vec::new(),
    };
    manifest.check_shape()?;
    if nodes.len() < usize::from(manifest.n()) {
        return Err(FileError::TooFewNodes { given: nodes.len(), needed: manifest.n().into() });
    }
    manifest.check_nodes()?;
    for (index, node) in nodes.iter().enumerate() {
        let address = node.store.address();
        let alike = |other: &&Node| {
            // An address without a slash names no place: there may be many stores in memory.
            Arc::ptr_eq(&other.store, &node.store)
                || address.contains('/') && other.store.address() == address
        };
        if let Some(other) = nodes.iter().take(index).find(alike) {
            let given = [other.label.clone(), node.label.clone()];
            return Err(FileError::SameNode { name: name.to_owned(), node: other.label.clone(), given });
        }
    }
    Ok(manifest)
}

/// How many bytes of text the placement may take; fails if it takes more, where the length is known.
fn text_left(manifest: &Manifest) -> Result<usize, FileError> {
    let last = manifest.nodes.len().saturating_sub(1);
    let bare = Manifest { generation: MOST_GENERATION, length: 0, placement: Vec::new(), ..manifest.clone() };
    // The length may have 20 digits.
    let bare = bare.to_bytes(last)?.len() + 20;
    let mut left = usize::try_from(MOST_TEXT).unwrap_or(usize::MAX).saturating_sub(bare);
    let all = left;
    let groups = manifest.layout()?.groups(manifest.length);
    for group in 0..groups {
        let row = rotated(group, manifest.n(), manifest.nodes.len());
        left = left.checked_sub(row_bytes(&row)).ok_or(FileError::TooManyGroups { groups: group })?;
    }
    Ok(all)
}

/// What there is of the name before it is written.
struct Found {
    /// The highest of the copies that stay until the commit; 0 if there is none.
    generation: u64,
    /// The file in force, and for each of its nodes which of the given ones it is.
    file: Option<(Arc<Manifest>, Vec<Option<usize>>)>,
    /// Copies that are not in force, and go before the commit.
    void: Vec<Void>,
}

/// A copy of a manifest that is not in force.
struct Void {
    node: usize,
    manifest: Arc<Manifest>,
    /// Its objects go, too: it can't be in force on other nodes, and they are not those of the file.
    sweep: bool,
}

impl Found {
    /// Asks all nodes, each of which must answer.
    async fn look(name: &str, nodes: &[Node], existing: Existing) -> Result<Self, FileError> {
        let answers = Answers::of_all(name, nodes).await;
        let unasked = answers.failed().find(|(_, failed)| failed.kind != Failure::Corrupt);
        if let Some((node, failed)) = unasked.and_then(|(index, failed)| Some((nodes.get(index)?, failed))) {
            let failure = failure(node, again(failed));
            return Err(FileError::Node { doing: "asking for the manifest", failure });
        }
        let file = match answers.verdict() {
            Verdict::Sure(file) | Verdict::Likely(file) if existing == Existing::Keep => {
                return Err(FileError::Exists { name: name.to_owned(), generation: file.generation });
            }
            Verdict::Sure(file) | Verdict::Likely(file) => {
                let places = answers.places(&file)?;
                Some((file, places))
            }
            Verdict::Nothing => None,
            Verdict::Open => match answers.error() {
                FileError::NotCommitted { .. }
                    if answers.manifests().iter().all(|manifest| {
                        // A removal leaves no more than m copies, if nodes were away. More may be those of a file some of whose nodes lost theirs.
                        let few = answers.holding(manifest) <= usize::from(manifest.m);
                        answers.is_surely_void(manifest) && (few || existing == Existing::Replace)
                    }) =>
                {
                    None
                }
                error => return Err(error),
            },
        };
        let live = file.as_ref().map(|(file, _)| file);
        let manifests = answers.manifests();
        // Objects belong to an id, of which there may be several manifests.
        let all_void = |id: FileId| {
            manifests.iter().filter(|known| known.id == id).all(|known| answers.is_surely_void(known))
        };
        let (mut generation, mut void) = (0, Vec::new());
        for (node, manifest, _) in answers.copies() {
            let other = live.is_none_or(|live| live.id != manifest.id);
            let newer = live.is_some_and(|live| live.generation < manifest.generation);
            let sweep = other && all_void(manifest.id);
            if sweep || newer && (answers.is_surely_void(manifest) || answers.is_outvoted(manifest)) {
                void.push(Void { node, manifest: Arc::clone(manifest), sweep });
            } else {
                generation = generation.max(manifest.generation);
            }
        }
        Ok(Self { generation, file, void })
    }

    fn version(&self) -> Option<Version> {
        self.file.as_ref().map(|(file, _)| Version::of(file))
    }

    /// Deletes what was never in force, or no longer is.
    async fn forget_void(&self, name: &str, nodes: &[Node]) -> Result<(), FileError> {
        let object = manifest_object(name);
        let doing = "cleaning up after another writer";
        for void in &self.void {
            let Some(node) = nodes.get(void.node) else { continue };
            let deleted = delete(node, &object).await;
            deleted.map_err(|failed| FileError::Node { doing, failure: failure(node, failed) })?;
        }
        let mut forgotten: Vec<&Arc<Manifest>> = Vec::new();
        for Void { manifest, .. } in self.void.iter().filter(|void| void.sweep) {
            if !forgotten.iter().any(|known| known.id == manifest.id) {
                forgotten.push(manifest);
                let (_, left) = delete_version(name, manifest, nodes, &[]).await;
                if let Some(failure) = left.into_iter().next() {
                    return Err(FileError::Node { doing, failure });
                }
            }
        }
        Ok(())
    }
}

/// Cleans up after a put that failed: deletes all objects that were begun, and ends the intent.
async fn give_up(
    error: FileError,
    name: &str,
    nodes: &[Node],
    manifest: &Manifest,
    intent: Intent<'_>,
) -> FileError {
    let mut objects = vec![Vec::new(); nodes.len()];
    for (group, row) in manifest.placement.iter().enumerate() {
        for (cell, &node) in (0..manifest.n()).zip(row) {
            if let Some(objects) = objects.get_mut(usize::from(node)) {
                objects.push(manifest.object(name, group as u64, cell));
            }
        }
    }
    let deleted = nodes.iter().zip(objects).map(async |(node, objects)| {
        let (_, done) = delete_all(node, objects).await;
        done.err().map(|failed| failure(node, failed))
    });
    let left = join_all(deleted).await.into_iter().flatten().collect::<Vec<NodeFailure>>();
    intent.end(&left).await;
    with_left(error, left)
}
