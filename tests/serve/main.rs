//! `hedgerow serve` as its clients see it: real processes, raw sockets.

mod client;
mod faults;
mod life;
mod memory;
mod requests;
mod writes;

#[path = "../support/mod.rs"]
mod support;

use std::ffi::OsStr;
use std::path::Path;

use support::{HEDGEROW, ServerProcess};
use tempfile::TempDir;

use client::Connection;

/// A server of a folder of its own.
struct Server {
    process: ServerProcess,
    folder: TempDir,
}

impl Server {
    async fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut all = vec![folder.path().as_os_str()];
        all.extend(arguments.iter().map(OsStr::new));
        let process = ServerProcess::start(Path::new(HEDGEROW), all).await;
        Self { process: process.expect("a server"), folder }
    }

    fn add(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder around it")).expect("folders");
        std::fs::write(path, bytes).expect("an object");
    }

    async fn fault(&mut self, fault: &str) {
        self.process.fault(fault).await.expect("another fault");
    }

    fn address(&self) -> &str {
        self.process.url().strip_prefix("http://").expect("an address")
    }

    async fn connect(&self) -> Connection {
        Connection::open(self.address()).await.expect("a connection")
    }

    /// One answer on a connection of its own.
    async fn ask(&self, request: &str) -> client::Answer {
        self.connect().await.ask(request).await.expect("an answer")
    }
}

/// Bytes that differ from their neighbours near and far.
fn pattern(length: u32) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}
