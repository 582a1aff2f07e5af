//! The port of a server: listened on, full, or refused, and kept all the while.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// A port on which connections are accepted, or not.
#[derive(Debug)]
pub(super) struct Port {
    address: SocketAddr,
    /// Bound and never listened on, so that nobody is given the port while connections are refused.
    _keeper: Socket,
    listener: Option<TcpListener>,
    /// Fills the queue for connections that are to be accepted.
    filler: Option<TcpStream>,
}

impl Port {
    /// Takes the port, and refuses connections. Port 0 is any that is free.
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let keeper = bound(address)?;
        let address = keeper.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { address, _keeper: keeper, listener: None, filler: None })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets connections be accepted.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        self.filler = None;
        if let Some(listener) = &self.listener {
            return SockRef::from(listener).listen(BACKLOG);
        }
        let socket = bound(self.address)?;
        socket.listen(BACKLOG)?;
        self.listener = Some(TcpListener::from_std(socket.into())?);
        Ok(())
    }

    /// Lets connecting hang. Linux drops a connection's first packet when the queue is longer than was asked for, so with 0 one
    /// connection fills it.
    pub(super) async fn fill(&mut self) -> io::Result<()> {
        self.listen()?;
        if let Some(listener) = &self.listener {
            SockRef::from(listener).listen(0)?;
        }
        // Where this one hangs too the queue is full already.
        let connected = timeout(Duration::from_secs(1), TcpStream::connect(reachable(self.address))).await;
        self.filler = connected.ok().transpose()?;
        Ok(())
    }

    /// Lets connections be refused, also those that wait to be accepted.
    pub(super) fn refuse(&mut self) {
        self.filler = None;
        self.listener = None;
    }

    /// The next connection; never while nobody listens.
    pub(super) async fn accept(&self) -> io::Result<TcpStream> {
        match &self.listener {
            Some(listener) => listener.accept().await.map(|(stream, _)| stream),
            None => std::future::pending().await,
        }
    }
}

fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Two sockets of one port: Linux allows it to those of which none listens yet.
    socket.set_reuse_address(true)?;
    #[cfg(all(unix, not(target_os = "linux")))]
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Where this process reaches itself.
fn reachable(address: SocketAddr) -> SocketAddr {
    let own: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    if address.ip().is_unspecified() { SocketAddr::new(own, address.port()) } else { address }
}
