//! `hedgerow serve`: the files of a folder, or objects in memory, over HTTP, with faults that can be switched while it runs.

mod answer;
mod args;
mod body;
pub(crate) mod child;
mod connections;
mod control;
mod fault;
mod folder;
mod listing;
mod log;
mod memory;
mod path;
mod port;
mod range;
mod wire;
mod workers;

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use answer::Service;
pub(crate) use args::ServeArgs;
use connections::Connections;
use fault::Fault;
use folder::Folder;
use memory::Memory;
use port::Port;
use workers::{Capacity, Workers};

/// What is served, where, and how.
#[derive(Clone, Debug)]
pub(crate) struct ServeOptions {
    /// The folder; nothing gets out of it. `None`: memory, without objects at first.
    pub(crate) folder: Option<PathBuf>,
    /// Port 0 is any that is free.
    pub(crate) listen: SocketAddr,
    /// Whether objects may be written and deleted.
    pub(crate) write: bool,
    /// Whether each request is a line on standard error.
    pub(crate) log: bool,
    /// How long a client may keep a connection waiting.
    pub(crate) client_timeout: Duration,
    /// Requests served at a time; `None`: any number.
    pub(crate) workers: Option<NonZeroUsize>,
    /// How long each request occupies a worker.
    pub(crate) service_time: Duration,
    /// Whether requests whose client has gone are skipped.
    pub(crate) skip_gone: bool,
    /// The fault to begin with.
    pub(crate) fault: Fault,
    /// Whether a parent switches faults through standard input, and ends the server by closing it.
    pub(crate) control: bool,
}

/// Why a server could not begin.
#[derive(Debug)]
pub(crate) enum ServeError {
    Folder(PathBuf, io::Error),
    Listen(SocketAddr, io::Error),
    Say(io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path, _) => write!(f, "can't serve the folder {}", path.display()),
            Self::Listen(address, _) => write!(f, "can't listen on {address}"),
            Self::Say(_) => f.write_str("can't say the address on standard output"),
        }
    }
}

impl Error for ServeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Folder(_, error) | Self::Listen(_, error) | Self::Say(error) => Some(error),
        }
    }
}

/// Does what the command line says until `end`.
///
/// # Errors
///
/// [`ServeError`].
pub(crate) async fn run(args: ServeArgs, end: CancellationToken) -> Result<(), ServeError> {
    serve(args.into(), end).await
}

/// Serves until `end`, or until its parent says so or has gone. Requests under way may take a few seconds more then; not
/// so if the parent has gone.
///
/// # Errors
///
/// [`ServeError`].
pub(crate) async fn serve(options: ServeOptions, end: CancellationToken) -> Result<(), ServeError> {
    let ServeOptions { folder, listen, write, log, control, .. } = options;
    let folder = match folder {
        Some(path) => Folder::open(&path).map_err(|error| ServeError::Folder(path, error))?,
        None => Folder::Memory(Memory::default()),
    };
    if write {
        folder.sweep();
    }
    let failed = |error| ServeError::Listen(listen, error);
    let port = Port::bind(listen).map_err(failed)?;
    let address = port.address();
    let (fault, faults) = watch::channel(Fault::None);
    let workers =
        options.workers.map(|workers| Workers::new(workers, options.service_time, options.skip_gone));
    let capacity = Arc::new(Capacity::new(workers));
    let client_timeout = options.client_timeout;
    let service = Service { folder, faults, capacity: Arc::clone(&capacity), write, log, client_timeout };
    let mut connections = Connections::new(port, service, fault);
    connections.switch(options.fault).await.map_err(failed)?;

    let url = format!("http://{address}");
    if control {
        control::say(&json!({ "listening": url })).map_err(ServeError::Say)?;
    } else {
        writeln!(io::stdout(), "{url}").map_err(ServeError::Say)?;
    }
    let (switch, switches) = mpsc::channel(1);
    let end = end.child_token();
    let serving = tokio::spawn(connections.serve(switches, end.clone()));
    if control {
        tokio::select! {
            quit = control::obey(switch, &capacity) => if !quit { serving.abort() },
            () = end.cancelled() => {}
        }
        end.cancel();
    }
    // An error here is the abort above.
    let _aborted = serving.await;
    Ok(())
}
