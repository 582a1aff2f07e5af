//! Bodies of answers: bytes of an object, piece by piece as the client takes them, in the shape that a fault gives them.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use hyper::body::Frame;
use tokio::sync::watch;

use super::fault::Fault;
use super::folder::{Object, blocking};
use super::log::Line;
use super::wire::HangUp;

/// Bytes read in one step.
const PIECE: usize = 64 << 10;

/// What a stalled answer still sends.
const BEFORE_STALL: u64 = 4 << 10;

pub(super) type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The body of an answer; it counts what it hands out.
pub(super) struct Body {
    pieces: Option<Pieces>,
    sent: u64,
    log: Option<Line>,
}

impl Body {
    pub(super) fn empty() -> Self {
        Self { pieces: None, sent: 0, log: None }
    }

    pub(super) fn text(text: impl Into<Bytes>) -> Self {
        Self::stream(Box::pin(stream::iter([Ok(text.into())])))
    }

    pub(super) fn stream(pieces: Pieces) -> Self {
        Self { pieces: Some(pieces), sent: 0, log: None }
    }

    /// Writes `line` when the body has been sent, or dropped.
    pub(super) fn logged(mut self, line: Option<Line>) -> Self {
        self.log = line;
        self
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(pieces) = &mut self.pieces else { return Poll::Ready(None) };
        let next = ready!(pieces.as_mut().poll_next(context));
        match &next {
            Some(Ok(piece)) => self.sent = self.sent.saturating_add(piece.len() as u64),
            Some(Err(_)) | None => self.pieces = None,
        }
        Poll::Ready(next.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_none()
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(line) = self.log.take() {
            line.write(self.sent);
        }
    }
}

/// Bytes `range` of an object.
pub(super) fn pieces(object: Object, range: Range<u64>) -> Pieces {
    Box::pin(stream::try_unfold((object, range), |(object, range)| async move {
        let left = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(PIECE).min(PIECE);
        if left == 0 {
            return Ok(None);
        }
        let read = if object.blocks() {
            let reader = object.clone();
            blocking(move || reader.read(range.start, left)).await?
        } else {
            object.read(range.start, left)?
        };
        let next = range.start.saturating_add(read.len() as u64);
        Ok(Some((read, (object, next..range.end))))
    }))
}

/// The fault that an answer has.
pub(super) struct Faulty {
    pub(super) fault: Fault,
    /// Has seen this fault; the next ends a stall.
    pub(super) faults: watch::Receiver<Fault>,
    pub(super) hang_up: HangUp,
}

/// Bytes `range` of an object, as a server with a fault sends them.
pub(super) fn faulty(faulty: Faulty, object: Object, range: Range<u64>) -> Pieces {
    let Faulty { fault, mut faults, hang_up } = faulty;
    let Range { start, end } = range;
    let length = end.saturating_sub(start);
    match fault {
        Fault::SlowBody { writes, pause } => slowly(object, range, writes.get(), pause),
        Fault::Stall => {
            let some = BEFORE_STALL.min(length.saturating_sub(1));
            let until_changed = async move {
                let _closed = faults.changed().await;
                Err(io::Error::other("the stall is over"))
            };
            Box::pin(pieces(object, start..start.saturating_add(some)).chain(stream::once(until_changed)))
        }
        Fault::MidBody => {
            let half = pieces(object, start..start.saturating_add(length / 2));
            Box::pin(half.chain(stream::once(async move { hang_up.after_all_is_written().await })))
        }
        Fault::Corrupt => {
            let (middle, mut begin) = (length / 2, 0_u64);
            Box::pin(pieces(object, range).map(move |piece| {
                let piece = piece?;
                let at = middle.checked_sub(begin).and_then(|at| usize::try_from(at).ok());
                begin = begin.saturating_add(piece.len() as u64);
                Ok(match at {
                    Some(at) if at < piece.len() => flipped(piece, at),
                    _ => piece,
                })
            }))
        }
        Fault::LieLength(more) => match u64::try_from(more) {
            Ok(more) => Box::pin(pieces(object, range).chain(zeros(more))),
            Err(_) => pieces(object, start..end.saturating_add_signed(more).max(start)),
        },
        _ => pieces(object, range),
    }
}

/// The piece with the lowest bit of byte `at` flipped, if there is one.
fn flipped(piece: Bytes, at: usize) -> Bytes {
    let mut piece = BytesMut::from(piece);
    if let Some(byte) = piece.get_mut(at) {
        *byte ^= 1;
    }
    piece.freeze()
}

fn slowly(object: Object, range: Range<u64>, writes: u32, pause: Duration) -> Pieces {
    let length = range.end.saturating_sub(range.start);
    let edge = move |write: u32| {
        let before = u128::from(length) * u128::from(write) / u128::from(writes.max(1));
        range.start.saturating_add(u64::try_from(before).unwrap_or(length))
    };
    let parts = stream::iter(0..writes).then(move |write| {
        let part = edge(write)..edge(write + 1);
        async move {
            if write > 0 {
                tokio::time::sleep(pause).await;
            }
            part
        }
    });
    Box::pin(parts.flat_map(move |part| pieces(object.clone(), part)))
}

fn zeros(mut length: u64) -> impl Stream<Item = io::Result<Bytes>> {
    const ZEROS: &[u8] = &[0; PIECE];
    stream::iter(std::iter::from_fn(move || {
        let piece = usize::try_from(length).unwrap_or(PIECE).min(PIECE);
        length -= piece as u64;
        ZEROS.get(..piece).filter(|piece| !piece.is_empty()).map(|piece| Ok(Bytes::from_static(piece)))
    }))
}
