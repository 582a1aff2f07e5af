//! Which of the manifests that nodes have is in force, and which node is which: decided from their answers alone.
//!
//! A manifest is in force if its quorum has a copy. A node counts against it if it answered, is one of its nodes, and has no
//! copy, or that of an older one; a copy of a later generation counts neither way, as it was written over what was there. With
//! N - quorum + 1 nodes against it, a manifest is not in force for sure; with so many that answered at all, the newest one
//! among them is the newest there is.
//!
//! Given nodes are the file's as far as there are no more of them than the file has; of more, those without a copy may be others,
//! unless their address tells. That is a guess, good enough to open a file but not to delete one: for that only nodes known by their
//! address count against it.

use std::collections::HashSet;
use std::sync::Arc;

use super::ask::{Answer, again, all, copy, failure};
use super::{FileError, Manifest, Node, NodeFailure};
use crate::{Failed, Failure};

/// What is known of the manifests of one file.
pub(super) struct Answers<'a> {
    name: &'a str,
    nodes: &'a [Node],
    answers: Vec<Option<Answer>>,
}

/// What the answers so far say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// No other answer could change it.
    Sure(Arc<Manifest>),
    /// Enough have answered, but not all the same: more answers may tell a copy that was never in force.
    Likely(Arc<Manifest>),
    /// More than half have no manifest, and nobody has one.
    Nothing,
    /// Too few have answered.
    Open,
}

/// How the nodes of a manifest answered.
#[derive(Default)]
struct Tally {
    holding: usize,
    newer: usize,
    against: usize,
}

impl Tally {
    const fn heard(&self) -> usize {
        self.holding + self.newer + self.against
    }
}

impl<'a> Answers<'a> {
    /// Before anybody has answered.
    pub(super) fn new(name: &'a str, nodes: &'a [Node]) -> Self {
        Self { name, nodes, answers: nodes.iter().map(|_| None).collect() }
    }

    /// Waits for all.
    pub(super) async fn of_all(name: &'a str, nodes: &'a [Node]) -> Self {
        let mut answers = Self::new(name, nodes);
        for (index, answer) in all(nodes, |node| copy(name, node)).await.into_iter().enumerate() {
            answers.add(index, answer);
        }
        answers
    }

    /// Node `index` has answered.
    pub(super) fn add(&mut self, index: usize, answer: Answer) {
        let answer = match answer {
            // Equal copies share their memory.
            Answer::Copy(manifest, this) => {
                let same =
                    self.copies().find(|(_, known, _)| **known == manifest).map(|found| Arc::clone(found.1));
                Answer::Copy(same.unwrap_or(manifest), this)
            }
            other => other,
        };
        if let Some(place) = self.answers.get_mut(index) {
            *place = Some(answer);
        }
    }

    /// The copies that were found: the node, the manifest, and for which of its nodes the copy is.
    pub(super) fn copies(&self) -> impl Iterator<Item = (usize, &Arc<Manifest>, usize)> {
        self.answers.iter().enumerate().filter_map(|(index, answer)| match answer {
            Some(Answer::Copy(manifest, this)) => Some((index, manifest, *this)),
            _ => None,
        })
    }

    /// The manifests that were found, each once, the newest first.
    pub(super) fn manifests(&self) -> Vec<Arc<Manifest>> {
        let mut found: Vec<Arc<Manifest>> = Vec::new();
        for (_, manifest, _) in self.copies() {
            if !found.iter().any(|known| Arc::ptr_eq(known, manifest)) {
                found.push(Arc::clone(manifest));
            }
        }
        found.sort_by_key(|manifest| std::cmp::Reverse((manifest.generation, manifest.id)));
        found
    }

    /// Nodes that could not be asked, or whose copy could not be read.
    pub(super) fn failed(&self) -> impl Iterator<Item = (usize, &Failed)> {
        self.answers.iter().enumerate().filter_map(|(index, answer)| match answer {
            Some(Answer::Failed(failed)) => Some((index, failed)),
            _ => None,
        })
    }

    fn failures(&self) -> Vec<NodeFailure> {
        let failed = self.failed();
        failed.filter_map(|(index, failed)| Some(failure(self.nodes.get(index)?, again(failed)))).collect()
    }

    fn missing(&self) -> usize {
        self.answers.iter().filter(|answer| matches!(answer, Some(Answer::Missing))).count()
    }

    /// The labels of the nodes without a copy of `manifest`.
    fn without(&self, manifest: &Arc<Manifest>) -> Vec<String> {
        let has = |answer: &Option<Answer>| matches!(answer, Some(Answer::Copy(found, _)) if Arc::ptr_eq(found, manifest));
        let without = self.nodes.iter().zip(&self.answers).filter(|(_, answer)| !has(answer));
        without.map(|(node, _)| node.label.clone()).collect()
    }

    fn tally(&self, manifest: &Arc<Manifest>) -> Tally {
        let (mut tally, mut unplaced) = (Tally::default(), 0);
        for (node, answer) in self.nodes.iter().zip(&self.answers) {
            match answer {
                Some(Answer::Copy(found, _)) if Arc::ptr_eq(found, manifest) => tally.holding += 1,
                Some(Answer::Copy(found, _)) if found.generation > manifest.generation => tally.newer += 1,
                Some(Answer::Copy(..) | Answer::Missing) => {
                    if by_address(manifest, node).is_some() {
                        tally.against += 1;
                    } else {
                        unplaced += 1;
                    }
                }
                Some(Answer::Failed(_)) | None => {}
            }
        }
        let others = self.nodes.len().saturating_sub(manifest.nodes.len());
        let left = manifest.nodes.len().saturating_sub(tally.heard());
        tally.against += usize::saturating_sub(unplaced, others).min(left);
        tally
    }

    /// Whether `manifest` is not in force, whatever other nodes may still say.
    pub(super) fn is_void(&self, manifest: &Arc<Manifest>) -> bool {
        self.tally(manifest).against >= manifest.answers()
    }

    /// Whether `manifest` is not in force, so that what belongs to it may be deleted: only nodes that are its own for sure count against it.
    pub(super) fn is_surely_void(&self, manifest: &Arc<Manifest>) -> bool {
        let mut against = HashSet::new();
        for (node, answer) in self.nodes.iter().zip(&self.answers) {
            let older = match answer {
                Some(Answer::Copy(found, _)) => {
                    !Arc::ptr_eq(found, manifest) && found.generation <= manifest.generation
                }
                Some(Answer::Missing) => true,
                Some(Answer::Failed(_)) | None => false,
            };
            against.extend(by_address(manifest, node).filter(|_| older));
        }
        against.len() >= manifest.answers()
    }

    /// Nodes that have a copy of `manifest`.
    pub(super) fn holding(&self, manifest: &Arc<Manifest>) -> usize {
        self.copies().filter(|(_, found, _)| Arc::ptr_eq(found, manifest)).count()
    }

    /// Whether the quorum of `manifest` has it.
    pub(super) fn is_held(&self, manifest: &Arc<Manifest>) -> bool {
        self.holding(manifest) >= manifest.quorum()
    }

    /// Whether `manifest` says that it is newer than another, which is held by the quorum of its own nodes, while it is not. Had it come into force over
    /// that one, too few would still hold it.
    pub(super) fn is_outvoted(&self, manifest: &Arc<Manifest>) -> bool {
        let older = |other: &Arc<Manifest>| other.generation < manifest.generation && self.is_held(other);
        !self.is_held(manifest) && self.manifests().iter().any(older)
    }

    /// Whether `manifest` is not in force once every node that answered has lost its copy.
    pub(super) fn can_be_voided(&self, manifest: &Arc<Manifest>) -> bool {
        let unreadable = self.failed().filter(|(_, failed)| failed.kind == Failure::Corrupt).count();
        self.tally(manifest).heard() + unreadable >= manifest.answers()
    }

    /// What the answers so far say.
    pub(super) fn verdict(&self) -> Verdict {
        let manifests = self.manifests();
        for manifest in &manifests {
            let tally = self.tally(manifest);
            let found = Arc::clone(manifest);
            if tally.against >= manifest.answers() {
                continue;
            }
            if tally.holding >= manifest.quorum() {
                return Verdict::Sure(found);
            }
            return match tally {
                _ if tally.heard() < manifest.answers() && self.is_outvoted(manifest) => {
                    let held = manifests.iter().find(|other| self.is_held(other));
                    held.map_or(Verdict::Open, |held| Verdict::Likely(Arc::clone(held)))
                }
                _ if tally.heard() < manifest.answers() => Verdict::Open,
                Tally { newer: 0, against: 0, .. } => Verdict::Sure(found),
                _ => Verdict::Likely(found),
            };
        }
        if manifests.is_empty() && self.missing() > self.nodes.len() / 2 {
            Verdict::Nothing
        } else {
            Verdict::Open
        }
    }

    /// Why no manifest is in force, now that no more answers come.
    pub(super) fn error(&self) -> FileError {
        let (name, mut failed) = (self.name.to_owned(), self.failures());
        let manifests = self.manifests();
        if let Some(manifest) = manifests.iter().find(|manifest| !self.is_void(manifest)) {
            let places = self.places(manifest).unwrap_or_default();
            let absent = manifest.nodes.iter().zip(places).filter(|(_, place)| place.is_none());
            if self.nodes.len() < manifest.nodes.len() {
                failed.extend(absent.map(|(node, _)| NodeFailure {
                    node: node.label.clone(),
                    failed: Failed::because(Failure::Unreachable, "not among the given nodes"),
                }));
            }
            let heard = self.tally(manifest).heard();
            return FileError::TooFewAnswers { name, heard, needed: manifest.answers(), failed };
        }
        if let Some(manifest) = manifests.first() {
            let (generation, needed) = (manifest.generation, manifest.quorum());
            let copies = self.tally(manifest).holding;
            let without = self.without(manifest);
            return FileError::NotCommitted { name, generation, copies, needed, without };
        }
        match (self.missing(), self.nodes.len() / 2 + 1) {
            (missing, most) if missing >= most => FileError::NotFound { name, missing, failed },
            (heard, needed) => FileError::TooFewAnswers { name, heard, needed, failed },
        }
    }

    /// Which given node each node of `manifest` is: the one with its copy; else the only one with its address; else the only
    /// one that is left, if just as many nodes were given as the file has.
    pub(super) fn places(&self, manifest: &Arc<Manifest>) -> Result<Vec<Option<usize>>, FileError> {
        let mut places: Vec<Option<usize>> = vec![None; manifest.nodes.len()];
        let mut free = vec![true; self.nodes.len()];
        let label = |index: usize| self.nodes.get(index).map_or_else(String::new, |node| node.label.clone());
        let copies = self.copies().filter(|(_, found, _)| Arc::ptr_eq(found, manifest));
        for (index, _, this) in copies {
            let (Some(place), Some(entry)) = (places.get_mut(this), manifest.nodes.get(this)) else {
                continue;
            };
            if let Some(first) = *place {
                let (name, node) = (self.name.to_owned(), entry.label.clone());
                return Err(FileError::SameNode { name, node, given: [label(first), label(index)] });
            }
            *place = Some(index);
            free.iter_mut().skip(index).take(1).for_each(|free| *free = false);
        }
        for (index, (node, free)) in self.nodes.iter().zip(&mut free).enumerate() {
            let alike =
                self.nodes.iter().filter(|other| other.store.address() == node.store.address()).count();
            let place = by_address(manifest, node).filter(|_| *free && alike == 1);
            if let Some(place) = place.and_then(|this| places.get_mut(this)).filter(|place| place.is_none()) {
                (*place, *free) = (Some(index), false);
            }
        }
        if self.nodes.len() == manifest.nodes.len() {
            let mut empty = places.iter_mut().filter(|place| place.is_none());
            let mut left = free.iter().enumerate().filter(|(_, free)| **free);
            if let (Some(place), None, Some((index, _)), None) =
                (empty.next(), empty.next(), left.next(), left.next())
            {
                *place = Some(index);
            }
        }
        Ok(places)
    }

    /// For each given node, the generation of its copy.
    pub(super) fn into_generations(self) -> Vec<Option<Result<u64, Failed>>> {
        let generation = |answer| match answer {
            Answer::Copy(manifest, _) => Ok(manifest.generation),
            Answer::Missing => Err(Failure::Missing.into()),
            Answer::Failed(failed) => Err(failed),
        };
        self.answers.into_iter().map(|answer| answer.map(generation)).collect()
    }
}

/// The node of `manifest` with the address of `node`, if it is the only one.
fn by_address(manifest: &Manifest, node: &Node) -> Option<usize> {
    let mut found =
        manifest.nodes.iter().enumerate().filter(|(_, entry)| entry.address == node.store.address());
    match (found.next(), found.next()) {
        (Some((this, _)), None) => Some(this),
        _ => None,
    }
}
