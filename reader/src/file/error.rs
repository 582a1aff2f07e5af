//! What can go wrong with a whole file.

use std::fmt;
use std::io;

use super::{ManifestError, NameRule, RepairError};
use crate::{ClientError, Failed, ReadError};

/// Why something could not be done with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// No file may be called so.
    Name {
        /// The name.
        name: String,
        /// The rule that it breaks.
        rule: NameRule,
    },
    /// The schema, the sizes or the nodes asked for are none that a file can have; or it has too many groups.
    Shape(ManifestError),
    /// The source has more block groups than a manifest has room for: larger cells, or more stripes a group, make fewer.
    TooManyGroups {
        /// As many as there is room for.
        groups: u64,
    },
    /// Too few nodes were given.
    TooFewNodes {
        /// Nodes given.
        given: usize,
        /// Nodes needed: one for each cell of a stripe.
        needed: usize,
    },
    /// Two given nodes say that they are the same node of the file: one of them is a copy of the other, or given twice.
    SameNode {
        /// The file.
        name: String,
        /// The label of the node of the file.
        node: String,
        /// The labels of the two given.
        given: [String; 2],
    },
    /// There is such a file, and it was not to be replaced.
    Exists {
        /// The file.
        name: String,
        /// The generation of its manifest.
        generation: u64,
    },
    /// There is no such file.
    NotFound {
        /// The file.
        name: String,
        /// Nodes that have no manifest of it.
        missing: usize,
        /// Nodes that could not be asked.
        failed: Vec<NodeFailure>,
    },
    /// Too few nodes answered to be sure which manifest is the newest.
    TooFewAnswers {
        /// The file.
        name: String,
        /// Nodes of the file that answered.
        heard: usize,
        /// Nodes of the file that must.
        needed: usize,
        /// Nodes that did not, and why.
        failed: Vec<NodeFailure>,
    },
    /// Too few nodes have the manifest: the file was being written or removed, or they lost it.
    NotCommitted {
        /// The file.
        name: String,
        /// The generation of the manifest.
        generation: u64,
        /// Nodes that have it.
        copies: usize,
        /// Nodes that must have it.
        needed: usize,
        /// The given nodes that have no copy of it, by label.
        without: Vec<String>,
    },
    /// The file changed while it was being worked on.
    Changed {
        /// The file.
        name: String,
        /// The generation that was found.
        generation: u64,
    },
    /// Somebody else seems to be writing the file.
    Busy {
        /// The file.
        name: String,
        /// A node that says so.
        node: String,
        /// How many seconds ago the writer was last heard of; `None`: its clock is ahead of ours, or it can't be read.
        seconds: Option<u64>,
    },
    /// Another writer took this one for dead, and took over.
    TakenOver {
        /// The file.
        name: String,
        /// A node that no longer knows of this writer.
        node: String,
    },
    /// The source of the bytes failed.
    Source {
        /// Bytes that it gave before.
        read: u64,
        /// Its error.
        error: io::Error,
    },
    /// The source was shorter or longer than announced.
    SourceLength {
        /// Bytes announced.
        announced: u64,
        /// Bytes that it gave; more may have been to come.
        read: u64,
    },
    /// A node failed.
    Node {
        /// What was being done.
        doing: &'static str,
        /// Which node, and why.
        failure: NodeFailure,
    },
    /// Too few nodes took the manifest; those that did have given it back.
    Commit {
        /// The file.
        name: String,
        /// Nodes that took it.
        copies: usize,
        /// Nodes that must.
        needed: usize,
        /// Nodes that did not, and why.
        failed: Vec<NodeFailure>,
    },
    /// It failed, and some of it could not be cleaned up: the next command that writes this name does it.
    Left {
        /// Why it failed.
        because: Box<FileError>,
        /// The nodes where something may be left, and why.
        left: Vec<NodeFailure>,
    },
    /// No node can list its objects.
    NoList {
        /// The nodes, and why.
        failed: Vec<NodeFailure>,
    },
    /// Cancelled by its caller.
    Cancelled,
    /// The client has no room for the nodes.
    Client(ClientError),
    /// It could not be verified or repaired.
    Repair(RepairError),
    /// There is no reader for such a file.
    Read(ReadError),
    /// The codec, the operating system or the runtime refused what never fails; the text says which.
    Other(String),
}

/// A node, and why it failed.
#[derive(Debug)]
pub struct NodeFailure {
    /// The node's label.
    pub node: String,
    /// What it did.
    pub failed: Failed,
}

impl fmt::Display for NodeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.node, self.failed)
    }
}

/// Each node with its reason, after a colon.
struct Each<'a>(&'a [NodeFailure]);

impl fmt::Display for Each<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, failure) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { ": " } else { "; " })?;
            failure.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, rule } => write!(f, "{name:?} is no name for a file: {rule}"),
            Self::Shape(error) => error.fmt(f),
            Self::TooManyGroups { groups } => {
                write!(
                    f,
                    "a manifest has room for {groups} groups: larger cells or more stripes a group make fewer"
                )
            }
            Self::TooFewNodes { given, needed } => {
                write!(f, "{given} nodes for {needed} cells of a stripe, where each needs a node of its own")
            }
            Self::SameNode { name, node, given: [first, second] } => {
                write!(f, "{first} and {second} both say that they are node {node} of {name:?}")
            }
            Self::Exists { name, generation } => {
                write!(f, "there is a file {name:?} already, of generation {generation}")
            }
            Self::NotFound { name, missing, failed } => {
                write!(f, "there is no file {name:?}: {missing} nodes have no manifest of it")?;
                match &failed[..] {
                    [] => Ok(()),
                    failed => write!(f, ", {} could not be asked{}", failed.len(), Each(failed)),
                }
            }
            Self::TooFewAnswers { name, heard, needed, failed } => write!(
                f,
                "{heard} nodes of {name:?} answered, where {needed} are needed to be sure of its newest manifest{}",
                Each(failed)
            ),
            Self::NotCommitted { name, generation, copies, needed, without } => write!(
                f,
                "generation {generation} of {name:?} is on {copies} nodes, where {needed} are needed: it was not written, or not removed, to the end, or {} have lost it",
                without.join(", ")
            ),
            Self::Changed { name, generation } => {
                write!(f, "{name:?} was changed meanwhile: it has generation {generation} now")
            }
            Self::Busy { name, node, seconds: Some(seconds) } => {
                write!(f, "{name:?} is being written: {node} heard of the writer {seconds} s ago")
            }
            Self::Busy { name, node, seconds: None } => {
                write!(f, "{name:?} is being written, says {node}, by a writer whose time is not known")
            }
            Self::TakenOver { name, node } => {
                write!(f, "another writer of {name:?} took over: {node} no longer knows of this one")
            }
            Self::Source { read, error } => write!(f, "the source failed after {read} bytes: {error}"),
            Self::SourceLength { announced, read } if read < announced => {
                write!(f, "the source ended after {read} bytes, where {announced} were announced")
            }
            Self::SourceLength { announced, .. } => {
                write!(f, "the source has more than the {announced} bytes that were announced")
            }
            Self::Node { doing, failure } => write!(f, "{doing} failed: {failure}"),
            Self::Commit { name, copies, needed, failed } => {
                write!(f, "{copies} nodes took the manifest of {name:?}, where {needed} must{}", Each(failed))
            }
            Self::Left { because, left } => {
                write!(f, "{because}; and something may be left on {} nodes{}", left.len(), Each(left))
            }
            Self::NoList { failed } => write!(f, "no node can list its objects{}", Each(failed)),
            Self::Cancelled => write!(f, "cancelled"),
            Self::Client(error) => error.fmt(f),
            Self::Read(error) => error.fmt(f),
            Self::Repair(error) => error.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Shape(error) => error.source(),
            Self::Source { error, .. } => Some(error),
            Self::Node { failure, .. } => Some(&failure.failed),
            Self::Left { because, .. } => Some(because),
            Self::Client(error) => error.source(),
            Self::Read(error) => error.source(),
            Self::Repair(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ManifestError> for FileError {
    fn from(error: ManifestError) -> Self {
        Self::Shape(error)
    }
}

impl From<hedgerow_codec::Error> for FileError {
    fn from(error: hedgerow_codec::Error) -> Self {
        Self::Other(format!("the codec: {error}"))
    }
}
