//! One connection's socket, with a way to close it once all that was sent is on its way, and a limit to how long its client may
//! take nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Closes a connection from within an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct HangUp(Arc<AtomicBool>);

impl HangUp {
    /// Has the connection closed after what the body gave so far; never returns. An error of the body would do so too, but lose
    /// what is not written yet.
    pub(super) async fn after_all_is_written<T>(self) -> T {
        self.0.store(true, Ordering::Relaxed);
        std::future::pending().await
    }
}

/// The socket of a connection.
pub(super) struct Wire {
    stream: TokioIo<TcpStream>,
    hang_up: HangUp,
    /// How long a write may wait for room.
    client_timeout: Duration,
    /// Runs while one waits.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, hang_up: HangUp, client_timeout: Duration) -> Self {
        Self { stream: TokioIo::new(stream), hang_up, client_timeout, waits: None }
    }

    /// What a write came to, unless it has waited for too long.
    fn limited(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let limit = self.client_timeout;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(limit)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limited(context, written)
    }

    /// Comes after all that hyper holds has been written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.hang_up.0.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.limited(context, written)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_waited_for_so_long_and_no_longer() {
        let limit = Duration::from_secs(60);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a client");
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut wire = Wire::new(stream, HangUp::default(), limit);
        let (began, bytes) = (Instant::now(), vec![0; 64 << 10]);
        let error = loop {
            let written = poll_fn(|context| Pin::new(&mut wire).poll_write(context, &bytes)).await;
            if let Err(error) = written {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= limit);
        drop(client);
    }
}
