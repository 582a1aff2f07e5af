//! The copies of a manifest, compared with the one that is in force.

use std::error::Error as _;

use super::ask::Answer;
use super::manifest::MOST_GENERATION;
use super::{Fault, FileError, FileId, Manifest, ManifestError, Opened};
use crate::Failure;

/// Nobody changes a file so often.
const FAR: u64 = 1 << 32;

/// A node's copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Copy {
    Right,
    /// Missing, old, damaged, or another node's: says what.
    Wrong(String),
    /// Another manifest that is not older: of another writer, or of one who did not come to commit it.
    Rival(Rival),
    /// Written by a newer program.
    Newer(ManifestError),
    /// The node could not be asked: says why.
    Unknown(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Rival {
    id: FileId,
    generation: u64,
    /// How many copies commit it.
    quorum: usize,
}

impl Copy {
    /// What a node answered; `node` is its number in the manifest.
    pub(super) fn of(answer: &Answer, manifest: &Manifest, node: Option<usize>) -> Self {
        let (found, this) = match answer {
            Answer::Copy(found, this) => (&**found, *this),
            Answer::Missing => return Self::Wrong("missing".into()),
            Answer::Failed(failed) => {
                let newer = failed.source().and_then(|source| source.downcast_ref());
                return match (failed.kind, newer) {
                    (_, Some(newer @ ManifestError::Newer { .. })) => Self::Newer(newer.clone()),
                    (Failure::Corrupt | Failure::TooLong, _) => Self::Wrong(failed.to_string()),
                    _ => Self::Unknown(failed.to_string()),
                };
            }
        };
        if found == manifest {
            if Some(this) == node {
                return Self::Right;
            }
            let of = found.nodes.get(this).map_or("no node", |entry| &entry.label);
            return Self::Wrong(format!("the copy of {of}"));
        }
        let (generation, current) = (found.generation, manifest.generation);
        if generation < current {
            return Self::Wrong(format!("of generation {generation}, where {current} is in force"));
        }
        Self::Rival(Rival { id: found.id, generation, quorum: found.quorum() })
    }

    /// Whether the next manifest is to be written over it.
    pub(super) const fn is_bad(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Rival(_))
    }

    /// Whether its generation is so far ahead of that of `manifest` that writers can't have come there: the next one is not to begin from it.
    pub(super) fn is_far_ahead(&self, manifest: &Manifest) -> bool {
        matches!(self, Self::Rival(rival) if rival.generation.saturating_sub(manifest.generation) > FAR)
    }

    /// What is wrong with it.
    pub(super) fn fault(&self, manifest: &Manifest) -> Option<Fault> {
        let words = match self {
            Self::Right => return None,
            Self::Wrong(words) => words.clone(),
            Self::Unknown(words) => format!("unreadable: {words}"),
            Self::Newer(error) => error.to_string(),
            Self::Rival(Rival { id, generation, .. }) if *id == manifest.id => {
                format!("another one, of generation {generation}, where {} was opened", manifest.generation)
            }
            Self::Rival(Rival { id, generation, .. }) => {
                format!("of another version of the file, {id}, generation {generation}")
            }
        };
        Some(Fault::Manifest(words))
    }
}

/// The generation of the next manifest: above all of `copies`, which are those of all given nodes, but for those that are
/// [far ahead](Copy::is_far_ahead) and overruled; these must go before it is committed.
///
/// A rival was committed since the file was opened, and then it must be opened anew; or its writer never got so far, and then it is overruled. It
/// may have been committed if it could have a quorum together with the nodes that can't be asked.
///
/// # Errors
///
/// [`FileError::Changed`]; [`FileError::Shape`] for a manifest of a newer program, and after the highest generation.
pub(super) fn next_generation(file: &Opened, copies: &[Copy]) -> Result<u64, FileError> {
    let silent = copies.iter().filter(|copy| matches!(copy, Copy::Unknown(_))).count();
    let not_given = file.node.iter().filter(|node| node.is_none()).count();
    let mut highest = file.manifest.generation;
    for copy in copies {
        match copy {
            Copy::Newer(error) => return Err(error.clone().into()),
            Copy::Rival(rival) => {
                let equal = copies.iter().filter(|other| *other == copy).count();
                if equal + silent + not_given >= rival.quorum {
                    let name = file.name.clone();
                    return Err(FileError::Changed { name, generation: rival.generation });
                }
                if !copy.is_far_ahead(&file.manifest) {
                    highest = highest.max(rival.generation);
                }
            }
            Copy::Right | Copy::Wrong(_) | Copy::Unknown(_) => {}
        }
    }
    after(highest)
}

/// The generation after `highest`.
pub(super) fn after(highest: u64) -> Result<u64, FileError> {
    let next = highest.checked_add(1).filter(|next| *next <= MOST_GENERATION);
    next.ok_or(FileError::Shape(ManifestError::Limit {
        field: "generation",
        found: highest,
        least: 1,
        most: MOST_GENERATION - 1,
    }))
}
