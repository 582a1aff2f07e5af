//! The nodes of the demo: nine servers in processes of their own, which keep the cells in memory and end with this process.

use std::io;
use std::time::Duration;

use futures_util::future::try_join_all;
use hedgerow_reader::{Node, Opened, PutOptions, open, put};

use super::limits;
use super::plan::{K, M, NODES};
use super::source::Source;
use crate::serve::child::ServerProcess;

/// What the file is called on the nodes.
const NAME: &str = "demo";
/// Bytes of a full record, of which a cell has a whole number.
const RECORD: u64 = 4 << 10;
/// Bytes of a full cell of a large file.
const LARGEST_CELL: u64 = 1 << 20;
/// Block groups of one stripe: twice round the nodes, so that all have as many data cells.
const GROUPS: u64 = 2 * NODES as u64;

/// Nine servers and what they have.
pub(crate) struct Cluster {
    servers: Vec<ServerProcess>,
    /// Requests that may be under way to them at a time.
    pub(crate) requests: usize,
    /// How they are reached.
    pub(crate) nodes: Vec<Node>,
}

impl Cluster {
    /// Starts the servers.
    ///
    /// # Errors
    ///
    /// If one does not start.
    pub(crate) async fn start() -> io::Result<Self> {
        // Before there are servers, which inherit what it raises.
        let requests = limits::requests();
        let program = std::env::current_exe()?;
        let servers =
            try_join_all((0..NODES).map(|_| ServerProcess::start(&program, ["--memory", "--write"]))).await?;
        let nodes = servers.iter().enumerate().map(|(number, server)| node(number, server));
        Ok(Self { nodes: nodes.collect::<io::Result<_>>()?, requests, servers })
    }

    /// Writes the file to them.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(crate) async fn write(&self, source: &Source) -> io::Result<Opened> {
        let mut options = PutOptions::default();
        (options.k, options.m) = (K, M);
        options.cell_bytes = cell_bytes(source.length());
        options.record_bytes = RECORD as u32;
        options.stripes_per_group = 1;
        options.length = Some(source.length());
        put(NAME, &self.nodes, &mut *source.reader(), &options, &|_| {}).await.map_err(io::Error::other)?;
        open(NAME, &self.nodes).await.map_err(io::Error::other)
    }

    /// Gives these nodes these faults, and no others any.
    ///
    /// # Errors
    ///
    /// If a server is gone.
    pub(crate) async fn faults(&mut self, faults: &[(usize, &str)]) -> io::Result<()> {
        for (number, server) in self.servers.iter_mut().enumerate() {
            let fault = faults.iter().find(|&&(node, _)| node == number).map_or("none", |&(_, fault)| fault);
            server.fault(fault).await?;
        }
        Ok(())
    }

    /// Lets each server serve one request at a time, for so long; `None`: as it can.
    ///
    /// # Errors
    ///
    /// If a server is gone.
    pub(crate) async fn service_time(&mut self, time: Option<Duration>) -> io::Result<()> {
        let workers = time.map_or("any".into(), |time| format!("1 {}us", time.as_micros()));
        for server in &mut self.servers {
            server.workers(&workers).await?;
        }
        Ok(())
    }

    /// Ends the servers.
    ///
    /// # Errors
    ///
    /// If one does not end by itself; all are gone all the same.
    pub(crate) async fn stop(self) -> io::Result<()> {
        for server in self.servers {
            server.stop().await?;
        }
        Ok(())
    }
}

fn node(number: usize, server: &ServerProcess) -> io::Result<Node> {
    let address = server.url().parse().map_err(io::Error::other)?;
    let store = hedgerow_reader::connect(&address, &Default::default()).map_err(io::Error::other)?;
    Ok(Node { label: format!("node-{number}"), store })
}

/// Bytes of a cell with which a file has enough block groups to reach all nodes.
fn cell_bytes(length: u64) -> u32 {
    let even = length.div_ceil(GROUPS * u64::from(K));
    even.next_multiple_of(RECORD).clamp(RECORD, LARGEST_CELL) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_whole_records_and_small_files_still_reach_all_nodes() {
        for (length, cell) in [
            (0, 4 << 10),
            (1, 4 << 10),
            (108 << 20, 1 << 20),
            ((108 << 20) + 1, 1 << 20),
            (u64::MAX, 1 << 20),
            (54 << 20, 512 << 10),
            (10_000_000, 94_208),
        ] {
            assert_eq!(cell_bytes(length), cell, "{length}");
        }
    }
}
