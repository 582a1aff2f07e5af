//! What is simulated: nodes, clients, and what the clients read.

use crate::{FileClass, Law};

/// An erasure code: k data cells, m parity cells. Replicated data is k = 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// Data cells of a stripe.
    pub k: u8,
    /// Parity cells of a stripe.
    pub m: u8,
}

/// What becomes of reads that meet at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queue {
    /// Nothing: a node serves any number at a time, each as long as its law says.
    None,
    /// They are served in the order in which they came, by so many servers a node; one that nobody waits for any more is served
    /// all the same.
    Fifo {
        /// Servers of a node, 1 to 64.
        servers: u8,
    },
    /// They are served in the order in which they came by one server; one that nobody waits for any more leaves the queue, unless it is
    /// being served.
    Dropping,
}

/// One kind of read.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Its name, for people.
    pub name: String,
    /// Its share of all requests; the shares of all kinds are taken in proportion.
    pub share: f64,
    /// How many data cells of a stripe a read wants: 1 to k.
    pub cells: u8,
    /// How many reads a request is made of, each of another stripe; it is over when all are.
    pub fan_out: u16,
    /// Whether its late legs may be hedged: not for bulk scans.
    pub hedged: bool,
}

/// The nodes, the clients, and what they ask of each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// Storage nodes: at least as many as a stripe has cells, at most 1,024.
    pub nodes: u32,
    /// Racks; nodes are dealt out to them in contiguous runs.
    pub racks: u32,
    /// Clients, each with a governor of its own.
    pub clients: u32,
    /// The code of all data.
    pub code: Code,
    /// What healthy nodes take to serve one cell, in milliseconds.
    pub service: Law,
    /// What each node takes, if they differ: one law for each. Empty: `service` for all. Only in the full engine.
    pub laws: Vec<Law>,
    /// What becomes of reads that meet at a node.
    pub queue: Queue,
    /// Requests a second, all clients together: a Poisson process.
    pub rate: f64,
    /// What is read. Never empty.
    pub workload: Vec<Workload>,
    /// Classes of files, if it matters where they lie: each read is of one, and wants what its class says, whatever `code` and
    /// [`Workload::cells`] are. Empty: stripes of `code`, placed at random. Only in the full engine.
    pub files: Vec<FileClass>,
    /// The share of legs that must open a connection first.
    pub new_connections: f64,
    /// What a healthy node takes to accept a connection, in milliseconds.
    pub connect: Law,
    /// What a rebuild adds after its last source has come, in milliseconds: connections, decoding.
    pub rebuild: Law,
}
