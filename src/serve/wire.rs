//! One connection's socket, with a way to close it once all that was sent is on its way.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

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
}

impl Wire {
    pub(super) fn new(stream: TcpStream, hang_up: HangUp) -> Self {
        Self { stream: TokioIo::new(stream), hang_up }
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
        Pin::new(&mut self.stream).poll_write(context, bytes)
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
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }
}
