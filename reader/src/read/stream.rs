//! A file as `AsyncRead` and `AsyncSeek`: a task of its own reads ahead, so that a slow consumer is not taken for a slow node.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncSeek, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{ReadError, ReadOptions, StripedReader};

/// Windows that wait for the consumer, beside the one that it reads and the one that is being read.
const AHEAD: usize = 1;

/// A file as [`AsyncRead`] and [`AsyncSeek`].
///
/// It reads ahead by up to two windows, which are the stream's own memory; each window has the deadline of a read of its own. The first
/// read after the start or a seek begins to read ahead. After an error it can go on by a seek. A shutdown of the client ends it.
///
/// It needs a tokio runtime around it when it is read.
#[derive(Debug)]
pub struct StripedStream {
    reader: StripedReader,
    options: ReadOptions,
    position: u64,
    current: Bytes,
    ahead: Option<Ahead>,
}

/// The task that reads ahead; it ends when this is dropped.
#[derive(Debug)]
struct Ahead {
    windows: mpsc::Receiver<Result<Bytes, ReadError>>,
    _cancel: DropGuard,
}

impl StripedStream {
    pub(super) fn new(reader: StripedReader, options: ReadOptions) -> Self {
        Self { reader, options, position: 0, current: Bytes::new(), ahead: None }
    }

    /// Where the next byte comes from.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.reader.length()
    }

    /// The next bytes without a copy, as they were read; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub async fn next_bytes(&mut self) -> Result<Option<Bytes>, ReadError> {
        std::future::poll_fn(|context| self.poll_bytes(context)).await.map(|()| {
            let bytes = std::mem::take(&mut self.current);
            self.position += bytes.len() as u64;
            (!bytes.is_empty()).then_some(bytes)
        })
    }

    /// Makes sure that there are bytes in `current`, unless the file is at its end.
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ReadError>> {
        while self.current.is_empty() && self.position < self.reader.length() {
            let (reader, options, position) = (&self.reader, self.options, self.position);
            let ahead = self.ahead.get_or_insert_with(|| Ahead::begin(reader, options, position));
            match ready!(ahead.windows.poll_recv(context)) {
                Some(Ok(bytes)) => self.current = bytes,
                Some(Err(error)) => {
                    self.ahead = None;
                    return Poll::Ready(Err(error));
                }
                None => {
                    self.ahead = None;
                    let closed = self.reader.client.shared.closed().is_cancelled();
                    return Poll::Ready(Err(if closed { ReadError::Closed } else { ReadError::Ended }));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Ahead {
    fn begin(reader: &StripedReader, options: ReadOptions, position: u64) -> Self {
        let (sender, windows) = mpsc::channel(AHEAD);
        let cancel = CancellationToken::new();
        let (reader, cancelled) = (reader.clone(), cancel.clone());
        let tasks = reader.client.shared.tasks.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = cancelled.cancelled() => {}
                () = reader.client.shared.closed().cancelled() => {}
                () = read_ahead(&reader, options, position, &sender) => {}
            }
        });
        Self { windows, _cancel: cancel.drop_guard() }
    }
}

async fn read_ahead(
    reader: &StripedReader,
    options: ReadOptions,
    position: u64,
    sender: &mpsc::Sender<Result<Bytes, ReadError>>,
) {
    let shared = &reader.client.shared;
    let Ok(_alive) = reader.begin() else { return };
    for window in reader.file.windows(position..reader.length(), shared) {
        let begun = Instant::now();
        let result = match window {
            Ok(window) => {
                let deadline = reader.file.deadline(&options, shared, begun);
                reader.read_window(window, &options, deadline).await
            }
            Err(error) => Err(error),
        };
        reader.report(begun, &result);
        let over = result.is_err();
        if sender.send(result).await.is_err() || over {
            return;
        }
    }
}

impl AsyncRead for StripedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_bytes(context))?;
        let length = self.current.len().min(buffer.remaining());
        buffer.put_slice(&self.current.split_to(length));
        self.position += length as u64;
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for StripedStream {
    /// Beyond the end is allowed, as for files: nothing can be read there.
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(by) => self.reader.length().checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        let Some(position) = position else {
            let (from, length) = (self.position, self.reader.length());
            let why = format!("{to:?} from byte {from} of {length} leads nowhere");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        if position != self.position {
            let forward = position.checked_sub(self.position).and_then(|by| usize::try_from(by).ok());
            match forward {
                Some(by) if by <= self.current.len() => drop(self.current.split_to(by)),
                _ => {
                    self.current = Bytes::new();
                    self.ahead = None;
                }
            }
            self.position = position;
        }
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position))
    }
}
