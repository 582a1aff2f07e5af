//! A file on nine servers, each a process of its own with a folder of its own, whose faults are switched at run time.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use hedge_core::{Config, Span};
use hedgerow_reader::{
    Client, ClientConfig, Manifest, Node, NodeOptions, Opened, PutOptions, StripedReader, connect, open, put,
};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::support::{HEDGEROW, ServerProcess};

/// Nodes of a cluster: those of RS-6-3.
pub(crate) const NODES: usize = 9;

/// Nothing takes that long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What the file of a cluster is called.
pub(crate) const NAME: &str = "file";

/// Nine servers.
pub(crate) struct Cluster {
    pub(crate) servers: Vec<ServerProcess>,
    folders: Vec<TempDir>,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let folders: Vec<TempDir> = (0..NODES).map(|_| tempfile::tempdir().expect("a folder")).collect();
        let mut servers = Vec::with_capacity(NODES);
        for folder in &folders {
            let arguments = [folder.path().as_os_str(), "--write".as_ref()];
            servers.push(ServerProcess::start(Path::new(HEDGEROW), arguments).await.expect("a server"));
        }
        Self { servers, folders }
    }

    pub(crate) fn folder(&self, node: usize) -> &Path {
        self.folders[node].path()
    }

    /// The port on which a node listens.
    pub(crate) fn port(&self, node: usize) -> u16 {
        let port = self.servers[node].url().rsplit(':').next();
        port.and_then(|port| port.parse().ok()).expect("a port")
    }

    /// The nine as nodes, without connections.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        let node = |(index, server): (usize, &ServerProcess)| Node {
            label: label(index),
            store: connect(&server.url().parse().expect("an address"), &NodeOptions::default())
                .expect("a node"),
        };
        self.servers.iter().enumerate().map(node).collect()
    }

    pub(crate) async fn fault(&mut self, node: usize, fault: &str) {
        self.servers[node].fault(fault).await.expect("another fault");
    }

    /// Gives this fault to these nodes, and none to the others.
    pub(crate) async fn only(&mut self, nodes: &[usize], fault: &str) {
        for node in 0..NODES {
            self.fault(node, if nodes.contains(&node) { fault } else { "none" }).await;
        }
    }

    /// Writes `data` as RS-6-3 in this shape, over HTTP.
    pub(crate) async fn put(&self, name: &str, data: &[u8], options: PutOptions) -> Manifest {
        let nodes = self.nodes();
        let put = put(name, &nodes, &mut &data[..], &options, &|_| ()).await;
        close(&nodes);
        put.expect("written")
    }
}

pub(crate) fn label(node: usize) -> String {
    format!("n{node}")
}

/// Closes the idle connections of nodes.
pub(crate) fn close(nodes: &[Node]) {
    for node in nodes {
        node.store.close();
    }
}

/// Cells of `cell` bytes in records of `record`, so many stripes a block group.
pub(crate) fn shape(cell: u32, record: u32, stripes: u32) -> PutOptions {
    let mut options = PutOptions::default();
    (options.cell_bytes, options.record_bytes, options.stripes_per_group) = (cell, record, stripes);
    options
}

/// No leg waits longer than `threshold` for leave to be hedged: nothing but that is the limit.
pub(crate) fn hedging_after(threshold: Duration) -> ClientConfig {
    let mut config = ClientConfig::default();
    config.governor = Config::replicated(Span::from(threshold));
    config.deadline = None;
    config
}

/// A file with a client of its own.
pub(crate) struct Reading {
    pub(crate) client: Client,
    pub(crate) nodes: Vec<Node>,
    pub(crate) opened: Opened,
    pub(crate) reader: StripedReader,
}

impl Reading {
    pub(crate) async fn of(name: &str, nodes: Vec<Node>, config: ClientConfig) -> Self {
        let client = Client::new(config).expect("a client");
        let opened = open(name, &nodes).await.expect("opened");
        let reader = opened.reader(&client, &nodes).expect("a reader");
        Self { client, nodes, opened, reader }
    }

    /// The node that has this cell.
    pub(crate) fn node_of(&self, group: u64, cell: u8) -> usize {
        let place = self.opened.manifest.placed(group, cell).expect("a place");
        self.opened.node[place].expect("a node that was given")
    }

    /// Ends the client. Nothing of its reads is left then.
    pub(crate) async fn end(self) -> hedgerow_reader::ClientSnapshot {
        let ended = timeout(PATIENCE, self.client.shutdown()).await;
        ended.expect("a client that ends");
        let left = self.client.snapshot();
        assert_eq!((left.leases, left.memory, left.queued), (0, 0, 0), "{left:?}");
        assert_eq!(left.governor.counters.open(), 0, "{left:?}");
        close(&self.nodes);
        left
    }
}

/// Asks until it is so.
pub(crate) async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let asked = async {
        while !is() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// Bytes that differ from their neighbours near and far.
pub(crate) fn pattern(length: usize, seed: u64) -> Bytes {
    let mut random = Random(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes.into()
}

/// SplitMix64: the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
