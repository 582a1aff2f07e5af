//! A server in a process of its own, for the demo and for tests: started, switched between faults, and gone with its owner.
//!
//! The process ends when its standard input closes, so it does not outlive its owner even if that is killed.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long a server may take to answer a line, and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running `hedgerow serve`. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    lines: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl ServerProcess {
    /// Starts `program serve --control` with these further `arguments`, among them a folder or `--memory`, and returns once it
    /// listens.
    ///
    /// # Errors
    ///
    /// If the program can't be started, or says something else than its address.
    pub(crate) async fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--control"]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let (Some(lines), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a server without pipes"));
        };
        let answers = BufReader::new(output).lines();
        let mut server = Self { child, lines, answers, url: String::new() };
        let first = server.answer().await?;
        match first.get("listening").and_then(|url| url.as_str()) {
            Some(url) => url.clone_into(&mut server.url),
            None => return Err(io::Error::other(format!("a server began with {first}"))),
        }
        Ok(server)
    }

    /// Where it listens: `http://ADDRESS:PORT`, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The number of the process, while it runs.
    #[allow(dead_code, reason = "for tests that send it signals")]
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Switches to another fault, written as for `--fault`; returns once it is in effect.
    ///
    /// # Errors
    ///
    /// If the server is gone, or knows no such fault; then nothing has changed.
    pub(crate) async fn fault(&mut self, fault: &str) -> io::Result<()> {
        self.say("fault", fault).await
    }

    /// Exchanges its workers, written as a number and a service time, or `any`.
    ///
    /// # Errors
    ///
    /// If the server is gone, or does not understand; then nothing has changed.
    pub(crate) async fn workers(&mut self, workers: &str) -> io::Result<()> {
        self.say("workers", workers).await
    }

    async fn say(&mut self, what: &str, value: &str) -> io::Result<()> {
        self.lines.write_all(format!("{what} {value}\n").as_bytes()).await?;
        let answer = self.answer().await?;
        if answer.get(what).is_some() {
            return Ok(());
        }
        Err(io::Error::other(format!("the server answered {answer}")))
    }

    /// Closes the server's input and waits until it has ended.
    ///
    /// # Errors
    ///
    /// If it does not end in time; it is killed then.
    pub(crate) async fn stop(self) -> io::Result<ExitStatus> {
        let Self { mut child, lines, .. } = self;
        drop(lines);
        match timeout(PATIENCE, child.wait()).await {
            Ok(ended) => ended,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "a server that does not end")),
        }
    }

    async fn answer(&mut self) -> io::Result<serde_json::Value> {
        match timeout(PATIENCE, self.answers.next_line()).await {
            Ok(Ok(Some(line))) => serde_json::from_str(&line).map_err(io::Error::other),
            Ok(Ok(None)) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server has ended")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not answer")),
        }
    }
}
