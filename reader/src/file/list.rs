//! Which files there are.

use std::collections::BTreeMap;

use super::ask::{LISTING, all, failure, limited};
use super::names::{check_name, manifest_object};
use super::{FileError, Node, NodeFailure};

/// What was found, and what could not be looked through.
#[derive(Debug)]
pub struct Listing {
    /// The files, by name.
    pub files: Vec<Listed>,
    /// The nodes that could not be listed: files that only they know of are missing.
    pub failed: Vec<NodeFailure>,
}

/// A file that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// What it is called.
    pub name: String,
    /// How many of the given nodes have a copy of its manifest.
    pub copies: usize,
}

/// The files whose names begin with the folder `prefix` (empty: all), by name, on all nodes that can list; the file called `prefix`
/// too. With them the nodes that can't.
///
/// It reads names alone: whether a manifest is in force, [`open`](super::open) tells.
///
/// # Errors
///
/// [`FileError::NoList`] if no node can; [`FileError::Name`] for a prefix in which there can be no file.
pub async fn list(nodes: &[Node], prefix: &str) -> Result<Listing, FileError> {
    if !prefix.is_empty() {
        check_name(prefix).map_err(|rule| FileError::Name { name: prefix.to_owned(), rule })?;
    }
    let listed = all(nodes, |node| limited(LISTING, node.store.list(prefix))).await;
    let mut files = BTreeMap::<String, usize>::new();
    let mut failed = Vec::new();
    for (node, listed) in nodes.iter().zip(listed) {
        match listed {
            Ok(entries) => {
                for entry in entries {
                    let name = entry.object.strip_suffix(manifest_object("").as_str());
                    if let Some(name) = name.filter(|name| check_name(name).is_ok()) {
                        *files.entry(name.to_owned()).or_default() += 1;
                    }
                }
            }
            Err(error) => failed.push(failure(node, error)),
        }
    }
    if failed.len() == nodes.len() {
        return Err(FileError::NoList { failed });
    }
    let files = files.into_iter().map(|(name, copies)| Listed { name, copies }).collect();
    Ok(Listing { files, failed })
}
