//! Accepts connections and serves them, or does to them what the fault says.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::answer::Service;
use super::fault::Fault;
use super::port::Port;
use super::wire::{HangUp, Wire};

/// Connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 1024;

/// Bytes of a request's head.
const HEAD: usize = 32 << 10;

/// How long requests under way may take when the server ends.
const GRACE: Duration = Duration::from_secs(5);

/// A fault to switch to, and where to say that it is on.
pub(super) type Switch = (Fault, oneshot::Sender<io::Result<()>>);

/// A server's port and its connections.
#[derive(Debug)]
pub(super) struct Connections {
    port: Port,
    service: Arc<Service>,
    fault: watch::Sender<Fault>,
    /// Changes whenever connections without a request are to be closed.
    close_idle: watch::Sender<u64>,
    room: Arc<Semaphore>,
    open: JoinSet<()>,
}

impl Connections {
    pub(super) fn new(port: Port, service: Service, fault: watch::Sender<Fault>) -> Self {
        let service = Arc::new(service);
        let (close_idle, _) = watch::channel(0);
        Self {
            port,
            service,
            fault,
            close_idle,
            room: Arc::new(Semaphore::new(CONNECTIONS)),
            open: JoinSet::new(),
        }
    }

    /// Switches to another fault; connections to come have it from now on.
    pub(super) async fn switch(&mut self, fault: Fault) -> io::Result<()> {
        self.fault.send_replace(fault);
        if fault.is_about_connecting() {
            self.close_idle.send_modify(|times| *times += 1);
        }
        match fault {
            Fault::NotAccepted => self.port.fill().await,
            Fault::Refuse => {
                self.port.refuse();
                Ok(())
            }
            _ => self.port.listen(),
        }
    }

    /// Serves until `end`, then lets requests under way come to their end for a few seconds.
    pub(super) async fn serve(mut self, mut switches: mpsc::Receiver<Switch>, end: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = end.cancelled() => break,
                Some((fault, done)) = switches.recv() => {
                    let _gone = done.send(self.switch(fault).await);
                }
                Some(_) = self.open.join_next() => {}
                accepted = Self::accept(&self.port, &self.room, &self.fault) => match accepted {
                    Ok((stream, place)) => self.take(stream, place),
                    // Too many open files, or a client that has gone already: the next one may do better.
                    Err(_) => sleep(Duration::from_millis(20)).await,
                },
            }
        }
        self.port.refuse();
        // Ends stalls, and lets no fault keep anybody waiting.
        self.fault.send_replace(Fault::None);
        self.close_idle.send_modify(|times| *times += 1);
        let all = async { while self.open.join_next().await.is_some() {} };
        let _cut = timeout(GRACE, all).await;
    }

    async fn accept(
        port: &Port,
        room: &Arc<Semaphore>,
        fault: &watch::Sender<Fault>,
    ) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
        if *fault.borrow() == Fault::NotAccepted {
            return std::future::pending().await;
        }
        let place = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
        Ok((port.accept().await?, place))
    }

    fn take(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let faults = self.fault.subscribe();
        if *faults.borrow() == Fault::NoAnswer {
            self.open.spawn(hold(stream, faults, place));
        } else {
            let close_idle = self.close_idle.subscribe();
            self.open.spawn(connection(stream, Arc::clone(&self.service), close_idle, place));
        }
    }
}

/// Serves one connection.
async fn connection(
    stream: TcpStream,
    service: Arc<Service>,
    mut close_idle: watch::Receiver<u64>,
    _place: OwnedSemaphorePermit,
) {
    // Without it the last part of an answer may wait for the client's acknowledgement.
    let _refused = stream.set_nodelay(true);
    let hang_up = HangUp::default();
    let client_timeout = service.client_timeout;
    let wire = Wire::new(stream, hang_up.clone(), client_timeout);
    let answers = service_fn(move |request| Arc::clone(&service).answer(request, hang_up.clone()));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(client_timeout).max_header_size(HEAD);
    let mut serving = pin!(http.serve_connection(wire, answers));
    loop {
        tokio::select! {
            // How a connection ends is its client's business.
            _ended = serving.as_mut() => break,
            Ok(()) = close_idle.changed() => serving.as_mut().graceful_shutdown(),
        }
    }
}

/// Holds a connection without reading from it until the fault changes, or the client has gone.
async fn hold(stream: TcpStream, mut faults: watch::Receiver<Fault>, _place: OwnedSemaphorePermit) {
    let gone = async {
        while let Ok(ready) = stream.ready(Interest::READABLE).await {
            if ready.is_read_closed() || ready.is_error() {
                break;
            }
            // Nothing is read; this only has the next event awaited.
            let _never: io::Result<()> =
                stream.try_io(Interest::READABLE, || Err(io::ErrorKind::WouldBlock.into()));
        }
    };
    tokio::select! {
        _changed = faults.changed() => {}
        () = gone => {}
    }
}
