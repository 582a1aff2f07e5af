//! Ctrl-C and the request to terminate: work is told once, and cleans up; a second time ends the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

use super::exit::{Exit, Stop};

/// Listens for signals as long as the process runs.
#[derive(Clone)]
pub(crate) struct Interrupt {
    token: CancellationToken,
    /// The exit code of the signal that came; 0: none.
    exit: Arc<AtomicU8>,
}

impl Interrupt {
    /// Begins to listen, in a runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = Self { token: CancellationToken::new(), exit: Arc::new(AtomicU8::new(0)) };
        let listener = interrupt.clone();
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut interrupted = signal(SignalKind::interrupt())?;
            let mut terminated = signal(SignalKind::terminate())?;
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        Some(()) = interrupted.recv() => listener.came(Exit::Interrupted),
                        Some(()) = terminated.recv() => listener.came(Exit::Terminated),
                        else => break,
                    }
                }
            });
        }
        #[cfg(not(unix))]
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                listener.came(Exit::Interrupted);
            }
        });
        Ok(interrupt)
    }

    fn came(&self, exit: Exit) {
        if self.exit.swap(exit as u8, Ordering::Relaxed) != 0 {
            std::process::exit(i32::from(exit as u8));
        }
        self.token.cancel();
    }

    /// Cancelled by the first signal.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why the command ends, if a signal came.
    pub(crate) fn stop(&self) -> Option<Stop> {
        match self.exit.load(Ordering::Relaxed) {
            0 => None,
            exit if exit == Exit::Terminated as u8 => Some(Stop::new(Exit::Terminated, "terminated")),
            _ => Some(Stop::new(Exit::Interrupted, "interrupted")),
        }
    }

    /// Does `work`, and drops it where it is when a signal comes.
    pub(crate) async fn unless<T>(&self, work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.token.cancelled() => {
                Err(self.stop().unwrap_or_else(|| Stop::new(Exit::Interrupted, "interrupted")))
            }
            done = work => done,
        }
    }
}
