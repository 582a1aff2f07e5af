//! Reads block groups a piece at a time, from all of their nodes at once, and notes what is wrong with each object.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::ask::{all, copy, limited};
use super::copies::Copy;
use super::pace::Pace;
use super::piece::{Agreement, BoxedCode, Cut, Piece};
use super::{FileError, Manifest, Node, NodeEntry, Opened, Records, RepairError};
use crate::{Failed, Failure, NodeStore, Work, read_object};
use futures_util::future::join_all;
use hedgerow_codec::{Code, Kernel, Layout, Matrix};

/// Bytes of each internal block that are looked at together, at most.
pub(super) const PIECE: u64 = 1 << 20;

/// How long a request may take where nobody said otherwise.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// A node that has not answered so often in a row is not asked again: a file of many groups would wait for it in each.
const SILENT: u32 = 3;

/// A file that is being looked through.
pub(super) struct Scan<'a> {
    file: &'a Opened,
    given: &'a [Node],
    pub(super) name: &'a str,
    pub(super) manifest: &'a Manifest,
    pub(super) layout: Layout,
    pub(super) code: Arc<BoxedCode>,
    pub(super) pace: Pace,
    /// A request that takes so long has failed.
    pub(super) silence: Duration,
    /// For each node of the manifest.
    pub(super) nodes: Vec<Source<'a>>,
    /// Bytes of objects read.
    pub(super) bytes: AtomicU64,
}

/// A node of the manifest.
pub(super) struct Source<'a> {
    /// What the manifest calls it.
    pub(super) label: &'a str,
    /// Which of the given nodes it is, if it was given.
    pub(super) given: Option<usize>,
    silent: AtomicU32,
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        file: &'a Opened,
        nodes: &'a [Node],
        rate: Option<u64>,
        silence: Duration,
    ) -> Result<Self, FileError> {
        let manifest = &file.manifest;
        if rate == Some(0) {
            return Err(RepairError::Rate.into());
        }
        manifest.check()?;
        let layout = manifest.layout()?;
        let code = Arc::new(Code::new(Kernel::detect(), layout.k(), layout.m(), Matrix::Cauchy)?);
        let source = |(index, entry): (usize, &'a NodeEntry)| Source {
            label: &entry.label,
            given: file.node.get(index).copied().flatten().filter(|&given| given < nodes.len()),
            silent: AtomicU32::new(0),
        };
        Ok(Self {
            file,
            given: nodes,
            name: &file.name,
            manifest,
            layout,
            code,
            pace: Pace::new(rate),
            silence,
            nodes: manifest.nodes.iter().enumerate().map(source).collect(),
            bytes: AtomicU64::new(0),
        })
    }

    /// How many block groups there are.
    pub(super) fn groups(&self) -> u64 {
        self.layout.groups(self.manifest.length)
    }

    /// Begins with a group: asks for the lengths of its objects.
    pub(super) async fn group(&self, group: u64) -> Result<GroupScan<'_>, FileError> {
        let bytes = self.layout.group_len(self.manifest.length, group);
        let lengths: Result<Vec<u64>, _> =
            (0..self.manifest.n()).map(|cell| self.layout.block_len(bytes, cell.into())).collect();
        let lengths = lengths?;
        let record = self.manifest.records(group, 0).bytes();
        let mut objects = Vec::new();
        for (cell, &length) in (0..self.manifest.n()).zip(&lengths) {
            objects.push(Object {
                node: self.manifest.placed(group, cell),
                name: self.manifest.object(self.name, group, cell),
                records: self.manifest.records(group, cell),
                length,
                readable: 0,
                state: State::default(),
            });
        }
        let found = join_all(objects.iter().map(|object| self.length(object))).await;
        for (object, found) in objects.iter_mut().zip(found) {
            object.measured(found);
        }
        let cut = Cut { k: self.manifest.k.into(), record, lengths };
        Ok(GroupScan { scan: self, cut: Arc::new(cut), objects, at: 0 })
    }

    /// A request to a node of the manifest, at the rate that is allowed.
    pub(super) async fn ask<T>(
        &self,
        node: Option<usize>,
        bytes: u64,
        work: impl FnOnce(Arc<dyn NodeStore>) -> Work<T>,
    ) -> Result<T, Failed> {
        let Some(source) = node.and_then(|node| self.nodes.get(node)) else {
            return Err(Failed::because(Failure::Other, "the manifest names no node for it"));
        };
        let Some(given) = source.given.and_then(|given| self.given.get(given)) else {
            return Err(Failed::because(Failure::Unreachable, "the node was not given"));
        };
        if source.silent.load(Ordering::Relaxed) >= SILENT {
            return Err(Failed::because(Failure::Unreachable, "the node did not answer before"));
        }
        self.pace.take(bytes).await;
        let answer = limited(self.silence, work(Arc::clone(&given.store))).await;
        match &answer {
            Err(failed) if is_away(failed.kind) => {
                source.silent.fetch_add(1, Ordering::Relaxed);
            }
            _ => source.silent.store(0, Ordering::Relaxed),
        }
        answer
    }

    /// What messages call a node of the manifest.
    pub(super) fn label(&self, node: Option<usize>) -> &'a str {
        node.and_then(|node| self.nodes.get(node)).map_or("no node", |source| source.label)
    }

    /// Does long arithmetic where it holds nobody up.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, FileError> {
        Ok(tokio::task::spawn_blocking(work).await.map_err(|_| RepairError::Stopped)?)
    }

    /// The copies of the manifest on all given nodes.
    pub(super) async fn copies(&self) -> Vec<Copy> {
        let answers = all(self.given, |node| copy(self.name, node)).await;
        let node = |given| self.file.node.iter().position(|&node| node == Some(given));
        let copies = answers.iter().enumerate();
        copies.map(|(given, answer)| Copy::of(answer, self.manifest, node(given))).collect()
    }

    async fn length(&self, object: &Object) -> Result<u64, Failed> {
        if object.length == 0 {
            return Err(Failure::Missing.into());
        }
        let name = object.name.clone();
        self.ask(object.node, 0, move |store| store.length(&name)).await
    }

    /// Reads a cell's part of a piece: its bytes, and the numbers of the records that are wrong.
    async fn read(&self, object: &Object, part: Range<u64>) -> Result<(Vec<u8>, Vec<u64>), Failed> {
        if part.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let (name, range) = (object.name.clone(), object.records.in_object(&part));
        let bytes = range.end.saturating_sub(range.start);
        let read = move |store: Arc<dyn NodeStore>| -> Work<bytes::Bytes> {
            Box::pin(async move { read_object(&*store, &name, range).await })
        };
        let read = self.ask(object.node, bytes, read).await?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (mut opener, mut bad) = (object.records.opener(part), Vec::new());
        let open = move || {
            opener.push(&read, |record| bad.push(record.number));
            (opener.into_data(), bad)
        };
        tokio::task::spawn_blocking(open).await.map_err(|error| Failed::because(Failure::Other, error))
    }
}

/// A block group that is being looked through.
pub(super) struct GroupScan<'a> {
    scan: &'a Scan<'a>,
    pub(super) cut: Arc<Cut>,
    pub(super) objects: Vec<Object>,
    at: u64,
}

/// The object of one cell of a group.
pub(super) struct Object {
    /// The manifest's number of its node.
    pub(super) node: Option<usize>,
    pub(super) name: String,
    pub(super) records: Records,
    /// Bytes of the internal block.
    pub(super) length: u64,
    /// The part of the internal block, from its start, of which the object has whole records.
    readable: u64,
    pub(super) state: State,
}

/// What was found of one object.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) missing: bool,
    /// Its length, if it is wrong.
    pub(super) length: Option<u64>,
    /// The first record that is wrong, and how many are.
    pub(super) corrupt: Option<(u64, u64)>,
    /// Why it could not be read, the first time.
    pub(super) unreadable: Option<String>,
    /// Its node could not be reached.
    pub(super) away: bool,
    /// It does not fit the other cells, although its checksums are right: the first stripe.
    pub(super) odd: Option<u64>,
    /// The same where nobody can tell whether it or others are wrong.
    pub(super) disputed: Option<u64>,
}

impl State {
    /// Whether the object must be written again.
    pub(super) fn is_bad(&self) -> bool {
        self.missing
            || self.length.is_some()
            || self.corrupt.is_some()
            || self.unreadable.is_some()
            || self.odd.is_some()
    }

    fn failed(&mut self, failed: &Failed) {
        if failed.kind == Failure::Missing {
            self.missing = true;
            return;
        }
        self.away |= is_away(failed.kind);
        self.unreadable.get_or_insert_with(|| failed.to_string());
    }
}

impl Object {
    fn measured(&mut self, found: Result<u64, Failed>) {
        let expected = self.records.object_length(self.length);
        match found {
            // A block without bytes has no object.
            Err(failed) if self.length == 0 && failed.kind == Failure::Missing => {}
            Err(failed) => {
                // A node that answers may still tell of bytes where it can't tell of lengths.
                if !is_away(failed.kind) && failed.kind != Failure::Missing {
                    self.readable = self.length;
                }
                if failed.kind != Failure::Unsupported {
                    self.state.failed(&failed);
                }
            }
            Ok(found) => {
                self.readable = self.length;
                if found != expected {
                    self.state.length = Some(found);
                }
                if found < expected {
                    let record = self.records.bytes();
                    let stored = self.records.in_object(&(0..record)).end;
                    self.readable = (found / stored).saturating_mul(record).min(self.length);
                }
            }
        }
    }
}

impl GroupScan<'_> {
    /// The next piece, with everything in it that can be read; `None` at the end of the group.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        let longest = self.cut.longest();
        if self.at >= longest {
            return None;
        }
        let record = self.cut.record;
        let step = (PIECE / record).max(1).saturating_mul(record);
        let range = self.at..self.at.saturating_add(step).min(longest);
        self.at = range.end;
        let scan = self.scan;
        let part = |object: &Object| range.start.min(object.readable)..range.end.min(object.readable);
        let reads = self.objects.iter().map(|object| scan.read(object, part(object)));
        let read = join_all(reads).await;
        let first = range.start / record;
        let mut piece = Piece::new(Arc::clone(&self.cut), range.clone());
        for ((cell, object), read) in self.objects.iter_mut().enumerate().zip(read) {
            match read {
                Ok((data, bad)) => {
                    let records = (data.len() as u64).div_ceil(record);
                    if let Some(&number) = bad.first() {
                        let corrupt = object.state.corrupt.get_or_insert((number, 0));
                        corrupt.1 = corrupt.1.saturating_add(bad.len() as u64);
                    }
                    let right = (0..records).filter(|row| bad.binary_search(&(first + row)).is_err());
                    piece.fill(cell, data, right.filter_map(|row| usize::try_from(row).ok()));
                }
                Err(failed) => {
                    object.state.failed(&failed);
                    piece.fill(cell, Vec::new(), std::iter::empty());
                }
            }
        }
        Some(piece)
    }

    /// Notes what the cells of a piece say of each other. Whether some of its bytes are lost.
    pub(super) fn note(&mut self, agreement: &Agreement) -> bool {
        let stripe = |offset: u64| offset / self.scan.layout.cell_bytes();
        for &(cell, offset) in &agreement.odd {
            if let Some(object) = self.objects.get_mut(cell) {
                object.state.odd.get_or_insert(stripe(offset));
            }
        }
        for &(cell, offset) in &agreement.disputed {
            if let Some(object) = self.objects.get_mut(cell) {
                object.state.disputed.get_or_insert(stripe(offset));
            }
        }
        agreement.lost.is_some()
    }
}

/// Whether the node is to blame, and not what it has.
pub(super) const fn is_away(kind: Failure) -> bool {
    matches!(kind, Failure::Unreachable | Failure::TimedOut | Failure::Refused | Failure::Cancelled)
}
