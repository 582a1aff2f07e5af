//! Opening: the newest manifest in force, from as few nodes as are sure to have it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hedge_core::NodeId;
use hedgerow_codec::Matrix;
use tokio::time::{Instant, sleep_until};

use super::ask::copy;
use super::names::check_name;
use super::newest::{Answers, Verdict};
use super::{FileError, Manifest, Node};
use crate::{CellMap, Client, Failed, Records, StripedFile, StripedReader};

/// How long nodes that have not answered are waited for, when the answer is there and they could only make it better.
const GRACE: Duration = Duration::from_secs(1);

/// A file whose manifest was found.
pub struct Opened {
    /// What the file is called.
    pub name: String,
    /// Its manifest.
    pub manifest: Manifest,
    /// For each node of the manifest, which of the given nodes it is.
    pub node: Vec<Option<usize>>,
    /// For each given node, the generation of its copy of the manifest; `None` where it had not answered yet.
    pub copies: Vec<Option<Result<u64, Failed>>>,
}

/// Opens the file `name`: asks all nodes for their copies of the manifest at once, until it is sure to have the newest one in force
/// ([`Manifest#when-it-is-in-force`]).
///
/// Nodes may be given in any order, and some may be absent. Each is recognized by its copy of the manifest; without one, by its address, or as
/// the only one left. Nodes that don't answer are waited for only while too few have, or for a second if copies differ or a node can't be told from another without
/// its answer. Damaged copies count as no answer.
///
/// # Errors
///
/// [`FileError::NotFound`]: more than half of the given nodes have no manifest, and none has one. [`FileError::TooFewAnswers`],
/// which names each node that failed. [`FileError::NotCommitted`]. [`FileError::SameNode`]. [`FileError::Name`].
pub async fn open(name: &str, nodes: &[Node]) -> Result<Opened, FileError> {
    check_name(name).map_err(|rule| FileError::Name { name: name.to_owned(), rule })?;
    if nodes.is_empty() {
        return Err(FileError::TooFewNodes { given: 0, needed: 1 });
    }
    let mut answers = Answers::new(name, nodes);
    let mut asked: FuturesUnordered<_> =
        nodes.iter().enumerate().map(async |(index, node)| (index, copy(name, node).await)).collect();
    let mut patience: Option<Instant> = None;
    let manifest = loop {
        let verdict = answers.verdict();
        let over = asked.is_empty() || patience.is_some_and(|until| until <= Instant::now());
        match verdict {
            Verdict::Sure(manifest) if over || is_placed(&answers, &manifest)? => break manifest,
            Verdict::Likely(manifest) if over => break manifest,
            Verdict::Nothing if over => return Err(answers.error()),
            Verdict::Open if asked.is_empty() => return Err(answers.error()),
            Verdict::Open => patience = None,
            _ => {
                patience.get_or_insert_with(|| Instant::now() + GRACE);
            }
        }
        tokio::select! {
            biased;
            Some((index, answer)) = asked.next() => answers.add(index, answer),
            () = async { sleep_until(patience.unwrap_or_else(Instant::now)).await }, if patience.is_some() => {}
        }
    };
    let node = answers.places(&manifest)?;
    drop(asked);
    let (name, manifest) = (name.to_owned(), Manifest::clone(&manifest));
    Ok(Opened { name, manifest, node, copies: answers.into_generations() })
}

fn is_placed(answers: &Answers<'_>, manifest: &Arc<Manifest>) -> Result<bool, FileError> {
    Ok(answers.places(manifest)?.iter().all(Option::is_some))
}

impl Opened {
    /// Reads the file with `client`; those of its nodes that were given are added to the client under the labels given.
    ///
    /// # Errors
    ///
    /// [`FileError::Client`] and [`FileError::Read`] if the client has no room for them.
    pub fn reader(&self, client: &Client, nodes: &[Node]) -> Result<StripedReader, FileError> {
        let mut ids = Vec::with_capacity(self.node.len());
        for place in &self.node {
            let node = place.and_then(|index| nodes.get(index));
            let id = node.map(|node| client.add_node(&node.label, Arc::clone(&node.store) as _));
            ids.push(id.transpose().map_err(FileError::Client)?);
        }
        let file = StripedFile {
            name: self.name.clone(),
            layout: self.manifest.layout()?,
            matrix: Matrix::Cauchy,
            length: self.manifest.length,
            cells: Arc::new(Cells { name: self.name.clone(), manifest: self.manifest.clone(), ids }),
        };
        StripedReader::new(client, file).map_err(FileError::Read)
    }
}

/// Where the cells of an opened file lie.
struct Cells {
    name: String,
    manifest: Manifest,
    ids: Vec<Option<NodeId>>,
}

impl CellMap for Cells {
    fn node(&self, group: u64, cell: u8) -> Option<NodeId> {
        *self.ids.get(self.manifest.placed(group, cell)?)?
    }

    fn object(&self, group: u64, cell: u8) -> String {
        self.manifest.object(&self.name, group, cell)
    }

    fn records(&self, group: u64, cell: u8) -> Option<Records> {
        Some(self.manifest.records(group, cell))
    }
}
