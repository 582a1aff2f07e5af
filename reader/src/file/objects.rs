//! The second half of writing a file: the cells of its stripes go to their nodes, all objects of a block group at once.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::ask::failure;
use super::json::row_bytes;
use super::manifest::{MOST_GROUPS, rotated};
use super::stripes::Stripe;
use super::{FileError, Manifest, Node, NodeFailure, Progress, Records, Sealer};
use crate::{Existing, Failed, Failure};

/// Bytes that a body gives its store at a time, checksums aside.
const PIECE: usize = 64 << 10;

/// The objects of a file that is being written.
pub(super) struct Objects<'a> {
    name: &'a str,
    nodes: &'a [Node],
    /// The manifest as far as it is known: with the length if that was announced, without a placement.
    shape: &'a Manifest,
    announced: bool,
    silence: Duration,
    writing: JoinSet<Result<(), NodeFailure>>,
    /// For each cell of the group that is being written, where its bytes go.
    open: Vec<Option<Cells>>,
    /// The nodes of each group so far.
    pub(super) placement: Vec<Vec<u16>>,
    /// Bytes that the text of the manifest may still grow by.
    text_left: usize,
}

/// The way to the body of one object.
struct Cells {
    to: mpsc::Sender<Piece>,
    pulse: Arc<Pulse>,
}

enum Piece {
    Cell(Bytes),
    /// The object is complete: without this, a body that ends has failed.
    End,
}

impl<'a> Objects<'a> {
    pub(super) fn new(
        name: &'a str,
        nodes: &'a [Node],
        shape: &'a Manifest,
        announced: bool,
        silence: Duration,
        text_left: usize,
    ) -> Self {
        let (open, placement) = (Vec::new(), Vec::new());
        Self { name, nodes, shape, announced, silence, writing: JoinSet::new(), open, placement, text_left }
    }

    /// Writes all of `stripes`, which come in order.
    pub(super) async fn write(
        &mut self,
        mut stripes: mpsc::Receiver<Stripe>,
        progress: Progress<'_>,
    ) -> Result<(), FileError> {
        loop {
            let stripe = tokio::select! {
                biased;
                Some(ended) = self.writing.join_next() => { ended_well(ended)?; continue }
                stripe = stripes.recv() => stripe,
            };
            let Some(Stripe { number, cells, end }) = stripe else { break };
            if number.is_multiple_of(self.shape.stripes_per_group.into()) {
                self.finish_group().await?;
                self.begin_group()?;
            }
            for (cell, bytes) in cells.into_iter().enumerate() {
                if !bytes.is_empty() {
                    self.send(cell, Piece::Cell(bytes)).await?;
                }
            }
            progress(end);
        }
        self.finish_group().await
    }

    /// Stops everything that is being written, and returns when it has stopped.
    pub(super) async fn stop(&mut self) {
        self.open.clear();
        self.writing.shutdown().await;
    }

    fn begin_group(&mut self) -> Result<(), FileError> {
        let row = rotated(self.placement.len() as u64, self.shape.n(), self.nodes.len());
        self.text_left = match self.text_left.checked_sub(row_bytes(&row)) {
            Some(left) if (self.placement.len() as u64) < MOST_GROUPS => left,
            _ => return Err(FileError::TooManyGroups { groups: self.placement.len() as u64 }),
        };
        self.open = row.iter().map(|_| None).collect();
        self.placement.push(row);
        Ok(())
    }

    async fn finish_group(&mut self) -> Result<(), FileError> {
        for cell in 0..self.open.len() {
            if self.open.get(cell).is_some_and(Option::is_some) {
                self.send(cell, Piece::End).await?;
            }
        }
        self.open.clear();
        while let Some(ended) = self.writing.join_next().await {
            ended_well(ended)?;
        }
        Ok(())
    }

    async fn send(&mut self, cell: usize, piece: Piece) -> Result<(), FileError> {
        let Some(place) = self.open.get_mut(cell) else { return Ok(()) };
        let cells = match place {
            Some(cells) => cells,
            None => {
                let group = self.placement.len().saturating_sub(1);
                let node = self.placement.last().and_then(|row| row.get(cell)).copied();
                let Some(node) = node.and_then(|node| self.nodes.get(usize::from(node))) else {
                    return Ok(());
                };
                let object =
                    Object { name: self.name, shape: self.shape, group: group as u64, cell: cell as u8 };
                let length = self.announced.then(|| object.length());
                let (cells, writing) = object.begin(node, length, self.silence);
                self.writing.spawn(writing);
                place.insert(cells)
            }
        };
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.writing.join_next() => ended_well(ended)?,
                ready = cells.to.reserve() => {
                    let Ok(ready) = ready else { break };
                    cells.pulse.is_given();
                    ready.send(piece);
                    return Ok(());
                }
            }
        }
        // The object takes no more: its end says why.
        while let Some(ended) = self.writing.join_next().await {
            ended_well(ended)?;
        }
        Err(FileError::Other("an object ended before its bytes".to_owned()))
    }
}

fn ended_well(ended: Result<Result<(), NodeFailure>, tokio::task::JoinError>) -> Result<(), FileError> {
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure)) => Err(FileError::Node { doing: "writing an object", failure }),
        Err(error) => Err(FileError::Other(format!("writing an object: {error}"))),
    }
}

/// One object to be written.
struct Object<'a> {
    name: &'a str,
    shape: &'a Manifest,
    group: u64,
    cell: u8,
}

impl Object<'_> {
    fn length(&self) -> u64 {
        self.shape.object_length(self.group, self.cell)
    }

    fn records(&self) -> Records {
        self.shape.records(self.group, self.cell)
    }

    /// Begins to write it to `node`: where its cells go, and the work.
    fn begin(
        &self,
        node: &Node,
        length: Option<u64>,
        silence: Duration,
    ) -> (Cells, impl Future<Output = Result<(), NodeFailure>> + Send + 'static) {
        let (to, from) = mpsc::channel(1);
        let pulse = Arc::new(Pulse::new());
        let sealer = self.records().sealer();
        let body = Body { from, sealer, cell: Bytes::new(), ended: false, pulse: Arc::clone(&pulse) };
        let object = self.shape.object(self.name, self.group, self.cell);
        let (node, watch) = (node.clone(), Arc::clone(&pulse));
        let writing = async move {
            let work = node.store.put(&object, Existing::Keep, length, Box::pin(body));
            let done = tokio::select! {
                biased;
                done = work => done.and_then(|written| watch.check(written)),
                failed = watch.silent_for(silence) => Err(failed),
            };
            done.map_err(|failed| failure(&node, failed))
        };
        (Cells { to, pulse }, writing)
    }
}

/// The bytes of an object, sealed while they are taken.
struct Body {
    from: mpsc::Receiver<Piece>,
    sealer: Sealer,
    /// What is left of the cell that is being given.
    cell: Bytes,
    ended: bool,
    pulse: Arc<Pulse>,
}

impl Stream for Body {
    type Item = Result<Bytes, Failed>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if !self.cell.is_empty() {
                let length = self.cell.len().min(PIECE);
                let piece = self.cell.split_to(length);
                let mut sealed = BytesMut::with_capacity(length + length / 64);
                self.sealer.seal(&piece, &mut sealed);
                return Poll::Ready(Some(Ok(self.pulse.is_taken(sealed.freeze()))));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match self.from.poll_recv(context) {
                Poll::Pending => {
                    self.pulse.waits();
                    return Poll::Pending;
                }
                Poll::Ready(Some(Piece::Cell(cell))) => self.cell = cell,
                Poll::Ready(Some(Piece::End)) => {
                    self.ended = true;
                    let mut sealed = BytesMut::new();
                    self.sealer.finish(&mut sealed);
                    let last = self.pulse.is_taken(sealed.freeze());
                    self.pulse.ends();
                    if !last.is_empty() {
                        return Poll::Ready(Some(Ok(last)));
                    }
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(Failure::Cancelled.into())));
                }
            }
        }
    }
}

/// How an object is getting on: who waits for whom.
struct Pulse(Mutex<State>);

struct State {
    /// When bytes were given or taken last.
    at: Instant,
    /// Whether the node waits for us.
    waits: bool,
    bytes: u64,
    ended: bool,
}

impl Pulse {
    fn new() -> Self {
        Self(Mutex::new(State { at: Instant::now(), waits: false, bytes: 0, ended: false }))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The node waits for bytes.
    fn waits(&self) {
        self.change(|state| state.waits = true);
    }

    /// There are bytes for the node: from now on it is the node's time, if it has waited.
    fn is_given(&self) {
        self.change(|state| {
            if std::mem::take(&mut state.waits) {
                state.at = Instant::now();
            }
        });
    }

    fn is_taken(&self, bytes: Bytes) -> Bytes {
        self.change(|state| {
            (state.at, state.waits) = (Instant::now(), false);
            state.bytes = state.bytes.saturating_add(bytes.len() as u64);
        });
        bytes
    }

    fn ends(&self) {
        self.change(|state| state.ended = true);
    }

    /// Whether a node that says that it has `written` so many bytes has them all.
    fn check(&self, written: u64) -> Result<(), Failed> {
        let (bytes, ended) = self.change(|state| (state.bytes, state.ended));
        if ended && written == bytes {
            return Ok(());
        }
        let text = format!(
            "{written} bytes were written, where {bytes} were given and {} to come",
            match ended {
                true => "none were",
                false => "more were",
            }
        );
        Err(Failed::because(Failure::TooShort, text))
    }

    /// Ends when the node has not taken anything for so long, though there was something.
    async fn silent_for(&self, silence: Duration) -> Failed {
        loop {
            let (at, waits) = self.change(|state| (state.at, state.waits));
            let now = Instant::now();
            // A silence that ends after all time never does.
            let Some(until) = (if waits { now } else { at }).checked_add(silence) else {
                return std::future::pending().await;
            };
            if until <= now {
                let text = format!("took nothing for {} s", silence.as_secs());
                return Failed::because(Failure::TimedOut, text);
            }
            sleep_until(until).await;
        }
    }
}
