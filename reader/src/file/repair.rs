//! Rebuilding what is missing or wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::ask::{delete, failure};
use super::clean::delete_all;
use super::commit::{commit, uncertain, with_left};
use super::copies::{Copy, next_generation};
use super::intent::{ABANDONED, Intent, Version, Work};
use super::names::manifest_object;
use super::piece::Unbuildable;
use super::placing::{Placing, left_nodes};
use super::rebuild::{Target, rebuild};
use super::scan::{SILENCE, Scan};
use super::verify::{Survey, survey};
use super::{FileError, FileId, Finding, Manifest, Node, NodeFailure, Opened, Progress};
use crate::{Existing, Failed, Failure};

/// How a file is to be repaired.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RepairOptions {
    /// Nodes to give up, by label or address: what they have is moved onto others.
    pub leave: Vec<String>,
    /// Bytes a second at most, read and written together; `None`: as fast as it goes.
    pub rate: Option<u64>,
    /// A node that does not answer for so long, or does not deliver or take all of 1 MiB, has failed.
    pub silence: Duration,
    /// A writer of the file that was not heard of for so long is taken for dead, and what it left is cleaned up: as
    /// [`PutOptions::abandoned`](super::PutOptions::abandoned).
    pub abandoned: Duration,
    /// Cancelling it makes [`repair`] clean up and fail with [`FileError::Cancelled`]. From the moment when the manifest is being written
    /// it has no effect.
    pub cancel: CancellationToken,
}

impl Default for RepairOptions {
    /// No node is given up; as fast as it goes; a node may take a minute.
    fn default() -> Self {
        Self {
            leave: Vec::new(),
            rate: None,
            silence: SILENCE,
            abandoned: ABANDONED,
            cancel: CancellationToken::new(),
        }
    }
}

/// What was repaired.
#[derive(Debug)]
#[non_exhaustive]
pub struct Repaired {
    /// What was found.
    pub findings: Vec<Finding>,
    /// Those findings that are still there.
    pub unrepaired: Vec<Finding>,
    /// Block groups that can't be read any more: they were left as they are.
    pub lost: Vec<u64>,
    /// Objects written.
    pub objects: u64,
    /// Bytes written.
    pub bytes: u64,
    /// The manifest now in force; `None` if nothing was written.
    pub manifest: Option<Manifest>,
    /// Nodes given up on which something of the file is left, and why.
    pub left: Vec<NodeFailure>,
}

/// Why a file could not be verified or repaired.
#[derive(Debug)]
#[non_exhaustive]
pub enum RepairError {
    /// A rate of 0 bytes a second.
    Rate,
    /// What is to be given up is not one node of the file.
    NotOneNode {
        /// What was said.
        said: String,
        /// How many nodes of the file that is.
        nodes: usize,
    },
    /// Without the nodes to be given up and those that can't be reached, too few are left to take the next manifest: an old one could be
    /// found by those who look for the file where it was.
    TooManyLeft {
        /// Nodes of the file that stay, and can be reached.
        staying: usize,
        /// Nodes that must have the manifest.
        needed: usize,
    },
    /// There is no node for a cell.
    NoNode {
        /// The block group.
        group: u64,
        /// The cell.
        cell: u8,
        /// Nodes that were given, are not given up, and can be reached.
        usable: usize,
    },
    /// A cell could not be computed, though it could be when the file was verified.
    Unbuildable {
        /// The block group.
        group: u64,
        /// Why.
        why: String,
    },
    /// An object could not be written.
    Write {
        /// The object.
        object: String,
        /// Its node, and why.
        failure: NodeFailure,
    },
    /// Nodes did not say in time that they have what they were sent.
    Late {
        /// Their labels.
        nodes: Vec<String>,
        /// The time that they had.
        silence: Duration,
    },
    /// A node ended what was not complete, or a computation did not come to its end.
    Stopped,
}

impl fmt::Display for RepairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate => write!(f, "at a rate of 0 bytes a second nothing is ever done"),
            Self::NotOneNode { said, nodes } => {
                write!(f, "{said:?} is to be given up, where one node must be, and is {nodes} of the file's")
            }
            Self::TooManyLeft { staying, needed } => write!(
                f,
                "{staying} nodes of the file stay and can be reached, where {needed} must take its next manifest"
            ),
            Self::NoNode { group, cell, usable } => write!(
                f,
                "there is no node for cell {cell} of group {group}: each of the {usable} that can be used has a cell of it"
            ),
            Self::Unbuildable { group, why } => write!(f, "group {group} could not be rebuilt: {why}"),
            Self::Write { object, failure } => write!(f, "{object} could not be written: {failure}"),
            Self::Late { nodes, silence } => write!(
                f,
                "what was sent to {} was not confirmed in {} ms",
                nodes.join(", "),
                silence.as_millis()
            ),
            Self::Stopped => write!(f, "the work was stopped before its end"),
        }
    }
}

impl std::error::Error for RepairError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write { failure, .. } => Some(&failure.failed),
            _ => None,
        }
    }
}

impl From<RepairError> for FileError {
    fn from(error: RepairError) -> Self {
        Self::Repair(error)
    }
}

impl RepairError {
    pub(super) fn unbuildable(group: u64, why: &Unbuildable) -> Self {
        Self::Unbuildable { group, why: why.to_string() }
    }
}

/// Finds what is missing or wrong, and rebuilds it on the node that has it, or on another of `nodes`.
///
/// - First everything is [verified](super::verify()), then what is wrong is rebuilt, group by group; `progress` is told of both,
///   one after the other, from 0 on. It takes some 6 MiB of memory for each cell of a stripe.
/// - An object is replaced where it is. What the nodes in [`leave`](RepairOptions::leave) have moves to given nodes that
///   have no cell of its group, those with the fewest cells first. Nodes that are new to the file are taken in where its own do not do.
/// - A node that can't be reached and is not given up may come back as it was: what it has is reported, and the rest is repaired.
/// - A group that is lost, or of which nobody can tell which cells are wrong, stays as it is.
/// - No byte is used that was not checked, and what is computed is decoded back before it is written.
/// - If anything was written, a manifest of the next generation is committed, by the same rule as that of a new file; it also
///   replaces bad copies. Nothing is deleted before that; afterwards, what is left on nodes given up is.
///
/// # When it ends early
///
/// After an error the file is as it was, but for objects that were wrong and are right now. To stop it, cancel
/// [`RepairOptions::cancel`]. A future that is dropped leaves what it had moved, which the next repair writes over, and
/// its intent, for which other writers wait as long as [`RepairOptions::abandoned`].
///
/// # Errors
///
/// [`FileError`]: among others [`Repair`](FileError::Repair), [`Changed`](FileError::Changed), [`Busy`](FileError::Busy),
/// [`Commit`](FileError::Commit).
pub async fn repair(
    file: &Opened,
    nodes: &[Node],
    options: &RepairOptions,
    progress: Progress<'_>,
) -> Result<Repaired, FileError> {
    let scan = Scan::new(file, nodes, options.rate, options.silence)?;
    let leave = left_nodes(file, nodes, &options.leave)?;
    let survey = tokio::select! {
        biased;
        () = options.cancel.cancelled() => return Err(FileError::Cancelled),
        survey = survey(&scan, progress) => survey?,
    };
    next_generation(file, &survey.copies)?;

    let mut placing = Placing::new(file, nodes, &leave, &survey.copies);
    let work = plan(&scan, &survey, &mut placing)?;
    let mut repaired = Repaired {
        findings: survey.findings(&scan),
        unrepaired: unrepaired(&scan, &survey, &placing),
        lost: survey.lost(),
        objects: 0,
        bytes: 0,
        manifest: None,
        left: Vec::new(),
    };
    let mut given = scan.nodes.iter().filter_map(|source| source.given);
    let copies = given.any(|given| survey.copies.get(given).is_some_and(Copy::is_bad));
    if work.is_empty() && !copies && !placing.is_changed() {
        return Ok(repaired);
    }
    let staying = placing.staying();
    if staying < file.manifest.quorum() {
        return Err(RepairError::TooManyLeft { staying, needed: file.manifest.quorum() }.into());
    }
    // Whatever else may be wrong with it, before anything is written.
    placing.manifest(file.manifest.generation)?;

    let intent = Intent::begin(&file.name, nodes, lock(file)?, options.abandoned, false).await?;
    let mut done = Written { moved: Vec::new(), objects: 0, bytes: 0 };
    let written = tokio::select! {
        biased;
        () = options.cancel.cancelled() => Err(FileError::Cancelled),
        error = intent.renew() => Err(error),
        written = async {
            let copies = scan.copies().await;
            let generation = unchanged(file, &survey.copies, &copies)?;
            write(&scan, nodes, &work, &mut done, progress).await?;
            let (manifest, places) = placing.manifest(generation)?;
            Ok((manifest, places, copies))
        } => written,
    };
    let committed = async {
        let (manifest, places, copies) = written?;
        intent.check().await?;
        // It may have been cancelled while nothing had to be waited for.
        if options.cancel.is_cancelled() {
            return Err(FileError::Cancelled);
        }
        let far = nodes.iter().zip(&copies).filter(|(_, copy)| copy.is_far_ahead(&file.manifest));
        let object = manifest_object(&file.name);
        // One that stays makes the commit fail, which says so.
        join_all(far.map(|(node, _)| delete(node, &object))).await;
        commit(&file.name, &manifest, nodes, &places, Existing::Replace).await?;
        Ok(manifest)
    };
    match committed.await {
        Ok(manifest) => repaired.manifest = Some(manifest),
        Err(error) => {
            // What has moved stays if a manifest that is not ours may name it; the next repair writes over it.
            let known = |copy: &Copy| matches!(copy, Copy::Right | Copy::Wrong(_));
            let mut left = Vec::new();
            // After another writer took over, it may be theirs.
            let theirs = matches!(error, FileError::TakenOver { .. } | FileError::Changed { .. });
            let certain = !theirs && uncertain(&error).is_empty();
            if certain && !done.moved.is_empty() && scan.copies().await.iter().all(known) {
                left = remove(file, nodes, done.moved).await;
            }
            intent.end(&[]).await;
            return Err(with_left(error, left));
        }
    }
    repaired.objects = done.objects;
    repaired.bytes = done.bytes;
    let (objects, left) = placing.left_behind();
    repaired.left = left;
    repaired.left.extend(remove(file, nodes, objects).await);
    intent.end(&[]).await;
    Ok(repaired)
}

/// What keeps other writers off. It names a version that does not exist, so that nothing is deleted for it should this repair die: what
/// such a one has left is written over by the next, which finds the same to do.
fn lock(file: &Opened) -> Result<Work, FileError> {
    let id = FileId::random().map_err(|error| FileError::Other(format!("no random numbers: {error}")))?;
    Ok(Work { version: Version { id, ..Version::of(&file.manifest) }, replaces: None })
}

/// The generation of the next manifest, if nobody has changed or removed the file since the copies were looked at `before`.
fn unchanged(file: &Opened, before: &[Copy], now: &[Copy]) -> Result<u64, FileError> {
    let generation = next_generation(file, now)?;
    let gone = before
        .iter()
        .zip(now)
        .filter(|(before, now)| **before == Copy::Right && matches!(now, Copy::Wrong(_)));
    match gone.count() {
        0 => Ok(generation),
        missing => Err(FileError::NotFound { name: file.name.clone(), missing, failed: Vec::new() }),
    }
}

/// What is to be written: for each group its cells, and to which of the given nodes each goes.
type Plan = BTreeMap<u64, Vec<Job>>;

struct Job {
    cell: u8,
    given: usize,
    /// The node has no object of this cell yet.
    moved: bool,
}

/// What has been written so far.
struct Written {
    /// What the file does not have yet: the given node, the group and the cell.
    moved: Vec<(usize, u64, u8)>,
    objects: u64,
    bytes: u64,
}

/// Decides which cells are written, and where.
fn plan(scan: &Scan<'_>, survey: &Survey, placing: &mut Placing<'_>) -> Result<Plan, FileError> {
    let mut work = Plan::new();
    let mut surveys = survey.groups.iter().peekable();
    for group in 0..scan.groups() {
        let found = surveys.next_if(|found| found.group == group);
        if found.is_some_and(|found| found.is_stuck()) {
            continue;
        }
        let mut jobs = Vec::new();
        for cell in 0..scan.manifest.n() {
            let empty = scan.manifest.block_length(group, cell) == 0;
            if let Some(given) = placing.moves(group, cell)? {
                if !empty {
                    jobs.push(Job { cell, given, moved: true });
                }
                continue;
            }
            let state =
                found.and_then(|found| found.objects.get(usize::from(cell))).map(|object| &object.state);
            if state.is_some_and(|state| state.is_bad() && !state.away)
                && let Some(given) = placing.given(group, cell)
            {
                jobs.push(Job { cell, given, moved: false });
            }
        }
        if !jobs.is_empty() {
            work.insert(group, jobs);
        }
    }
    Ok(work)
}

/// What a repair does not change.
fn unrepaired(scan: &Scan<'_>, survey: &Survey, placing: &Placing<'_>) -> Vec<Finding> {
    let mut unrepaired = Vec::new();
    for (node, finding) in survey.copy_findings(scan) {
        let copy = scan.nodes.get(node).and_then(|source| survey.copies.get(source.given?));
        if !copy.is_some_and(Copy::is_bad) && !placing.is_gone(node) {
            unrepaired.push(finding);
        }
    }
    for group in &survey.groups {
        for (cell, finding) in group.findings(scan) {
            let object = group.objects.get(usize::from(cell));
            let away = object.is_some_and(|object| {
                object.state.away && !object.node.is_some_and(|node| placing.is_left(node))
            });
            if group.is_stuck() || away {
                unrepaired.push(finding);
            }
        }
    }
    unrepaired
}

/// Rebuilds everything, a group at a time.
async fn write(
    scan: &Scan<'_>,
    nodes: &[Node],
    work: &Plan,
    done: &mut Written,
    progress: Progress<'_>,
) -> Result<(), FileError> {
    let mut before = 0_u64;
    for (&group, jobs) in work {
        let mut targets = Vec::new();
        for job in jobs {
            if let Some(node) = nodes.get(job.given) {
                targets.push(Target { cell: job.cell, node });
                if job.moved {
                    done.moved.push((job.given, group, job.cell));
                }
            }
        }
        let mut told = before;
        let step = |bytes| {
            told += bytes;
            progress(told);
        };
        done.bytes += rebuild(scan, group, &targets, step).await?;
        done.objects += targets.len() as u64;
        before = before.saturating_add(scan.layout.group_len(scan.manifest.length, group));
    }
    Ok(())
}

/// Deletes objects, given as node, group and cell.
async fn remove(file: &Opened, nodes: &[Node], objects: Vec<(usize, u64, u8)>) -> Vec<NodeFailure> {
    let mut by_node: BTreeMap<usize, Vec<(u64, u8)>> = BTreeMap::new();
    for (given, group, cell) in objects {
        by_node.entry(given).or_default().push((group, cell));
    }
    let removals = by_node.into_iter().filter_map(|(given, cells)| Some((nodes.get(given)?, cells)));
    let removals = removals.map(async |(node, cells)| {
        let objects = cells.into_iter().map(|(group, cell)| file.manifest.object(&file.name, group, cell));
        delete_all(node, objects).await.1.err().map(|failed| failure(node, failed))
    });
    join_all(removals).await.into_iter().flatten().collect()
}

/// A node of the file that was not given.
pub(super) fn not_given(label: &str) -> NodeFailure {
    let failed = Failed::because(Failure::Unreachable, "the node was not given");
    NodeFailure { node: label.to_owned(), failed }
}
