//! The arguments of `hedgerow serve`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::ServeOptions;
use super::fault::{self, Fault};

const AFTER: &str = "\
Examples:
  hedgerow serve /srv/cells
      reads for programs of this machine; prints the address
  hedgerow serve /srv/cells --listen 0.0.0.0:8080 --write --log
      reads and writes for everybody who reaches this machine
  hedgerow serve /srv/cells --workers 1 --service-time 1ms --fault 'slow-body 10 30ms'
      a node with the capacity of one slow disk, and a fault

Requests: GET and HEAD, with a byte range or without; PROPFIND for lists; with --write also PUT (`If-None-Match: *` \
creates only) and DELETE. A file that is being written is hidden until it is whole. There is no access control: whoever \
reaches the address may do all that the server does.
";

/// Serve the files of a folder over HTTP, as a node
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER, after_long_help = format!("{AFTER}\n{}", fault::HELP))]
pub(crate) struct ServeArgs {
    /// The folder; nothing outside of it is served, whatever its links say
    #[arg(value_name = "FOLDER", required_unless_present = "memory")]
    folder: Option<PathBuf>,

    /// Keep objects in memory instead of a folder: at first none, and gone when the server ends
    #[arg(long, conflicts_with = "folder")]
    memory: bool,

    /// Address and port; 0 is any port that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// Allow objects to be written and deleted
    #[arg(long)]
    write: bool,

    /// Write a line about each request to standard error
    #[arg(long)]
    log: bool,

    /// Give up a client that keeps a connection waiting for so long: for a request, for more of one, or by not taking an answer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = client_timeout)]
    client_timeout: Duration,

    /// Serve at most so many requests at a time; others wait, first come, first served
    #[arg(long, value_name = "COUNT", value_parser = workers, help_heading = "Limited capacity")]
    workers: Option<NonZeroUsize>,

    /// The time for which each request occupies a worker before it is answered
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = fault::time, requires = "workers")]
    #[arg(help_heading = "Limited capacity")]
    service_time: Duration,

    /// Skip requests whose client has gone; otherwise they take their time, as on a real disk
    #[arg(long, requires = "workers", help_heading = "Limited capacity")]
    skip_gone: bool,

    /// Begin with a fault
    #[arg(long, value_name = "FAULT", default_value = "none", help_heading = "Faults")]
    fault: Fault,

    /// Read `fault NAME`, `workers COUNT TIME`, `workers any` and `quit` from standard input, answer in JSON, and end when the
    /// input does
    #[arg(long, help_heading = "Faults")]
    control: bool,
}

pub(super) fn workers(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse() {
        Ok(count) if count <= NonZeroUsize::MIN.saturating_add(1023) => Ok(count),
        _ => Err("1 to 1024 workers".to_owned()),
    }
}

fn client_timeout(text: &str) -> Result<Duration, String> {
    match fault::time(text)? {
        Duration::ZERO => Err("no client is that fast".to_owned()),
        time => Ok(time),
    }
}

impl From<ServeArgs> for ServeOptions {
    fn from(args: ServeArgs) -> Self {
        let ServeArgs { folder, listen, write, log, workers, service_time, skip_gone, .. } = args;
        let ServeArgs { client_timeout, fault, control, .. } = args;
        Self { folder, listen, write, log, client_timeout, workers, service_time, skip_gone, fault, control }
    }
}
