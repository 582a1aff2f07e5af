//! Where a request goes, and the way there: names to addresses, addresses to sockets.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::Uri;
use http::uri::Scheme;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::failures;
use crate::store::{Failed, Failure, Lease};

/// A host, a port, and whether TLS is spoken there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Target {
    pub(super) tls: bool,
    /// Without brackets, in lower case.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Target {
    pub(super) fn of(uri: &Uri) -> Result<Self, Failed> {
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) => {
                return Err(Failed::because(Failure::Unsupported, format!("a URL of scheme {scheme}")));
            }
            None => return Err(Failed::because(Failure::Unsupported, "a URL without a scheme")),
        };
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(Failed::because(Failure::Unsupported, "a URL without a host"));
        }
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        Ok(Self { tls, host: host.to_ascii_lowercase(), port })
    }

    /// As the `Host` header wants it: without the scheme's own port.
    pub(super) fn authority(&self) -> String {
        let host = Host(&self.host);
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host.to_string(),
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Host(&self.host), self.port)
    }
}

struct Host<'a>(&'a str);

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(':') { write!(f, "[{}]", self.0) } else { f.write_str(self.0) }
    }
}

/// An address has this long to itself before the next one is tried beside it: what RFC 8305 recommends in section 5.
const APART: Duration = Duration::from_millis(250);

/// A connection to the first of the target's addresses that takes one.
pub(super) async fn connect(target: &Target, lease: Option<&Lease>) -> Result<TcpStream, Failed> {
    let addresses = match target.host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, target.port)],
        Err(_) => resolve(target, lease.cloned()).await?,
    };
    let none = Failed::because(Failure::Unreachable, format!("{} has no address", target.host));
    first(addresses).await.unwrap_or(Err(none))
}

/// The first connection there is, or the last failure; nothing without addresses. An address that does not answer holds
/// up none of those after it.
async fn first(addresses: Vec<SocketAddr>) -> Option<Result<TcpStream, Failed>> {
    let mut addresses = addresses.into_iter();
    let mut failed = None;
    let mut dials = FuturesUnordered::new();
    loop {
        dials.extend(addresses.next().map(dial));
        let ended = match addresses.len() {
            0 => Ok(dials.next().await),
            _ => timeout(APART, dials.next()).await,
        };
        match ended {
            Ok(Some(Ok(stream))) => return Some(Ok(stream)),
            Ok(Some(Err(error))) => failed = Some(Err(error)),
            Ok(None) => return failed,
            Err(_) => {}
        }
    }
}

async fn dial(address: SocketAddr) -> Result<TcpStream, Failed> {
    match TcpStream::connect(address).await {
        Ok(stream) => {
            // Requests are written whole; waiting to fill a packet would only delay them. A socket that will not have it
            // still works.
            let _ = stream.set_nodelay(true);
            Ok(stream)
        }
        Err(error) => {
            let kind = failures::of_io(error.kind());
            Err(Failed::because(kind, format!("no connection to {address}: {error}")))
        }
    }
}

/// The addresses of a name. The look-up blocks a thread that no drop can stop, so the lease goes with it.
async fn resolve(target: &Target, lease: Option<Lease>) -> Result<Vec<SocketAddr>, Failed> {
    let (host, port) = (target.host.clone(), target.port);
    let found = tokio::task::spawn_blocking(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        drop(lease);
        found
    });
    let unknown = |error: io::Error| {
        Failed::because(Failure::Unreachable, format!("no address for {}: {error}", target.host))
    };
    match found.await {
        Ok(found) => found.map_err(unknown),
        Err(error) => Err(unknown(error.into())),
    }
}

/// What a connection reads and writes.
pub(super) enum Stream {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

/// The same call on whichever it is.
macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Plain(inner) => {
                let $inner = Pin::new(inner);
                $call
            }
            #[cfg(feature = "tls")]
            Stream::Tls(inner) => {
                let $inner = Pin::new(&mut **inner);
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    async fn refusing() -> SocketAddr {
        listener().await.1
    }

    /// Linux leaves a connection beyond the backlog unanswered.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn an_address_that_does_not_answer_holds_up_none_of_the_others() {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = socket.listen(0).unwrap();
        let silent_address = silent.local_addr().unwrap();
        let _filler = TcpStream::connect(silent_address).await.unwrap();
        let (_listener, address) = listener().await;
        for addresses in [
            vec![silent_address, address],
            vec![silent_address, refusing().await, silent_address, address],
            vec![silent_address, address, silent_address],
        ] {
            let stream = timeout(Duration::from_secs(10), first(addresses)).await.expect("it is not held up");
            assert_eq!(stream.unwrap().unwrap().peer_addr().unwrap(), address);
        }
    }

    #[tokio::test]
    async fn where_no_address_takes_a_connection_the_last_failure_is_told() {
        let addresses = vec![refusing().await, refusing().await];
        let last = addresses[1].to_string();
        let failed = first(addresses).await.unwrap().unwrap_err();
        assert_eq!(failed.kind, Failure::Refused);
        assert!(failed.to_string().contains(&last), "{failed}");
        assert!(first(Vec::new()).await.is_none());
    }
}
