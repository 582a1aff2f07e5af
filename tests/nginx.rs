//! A file on nine servers that nobody here wrote, one of which sends as slowly as its `limit_rate` says.
//!
//! `HEDGEROW_NGINX` names the binary, which `.ci/servers.sh` installs; without it these tests say so and do nothing.

#[path = "support/mod.rs"]
#[allow(dead_code)] // Only the cluster starts such servers.
mod support;

#[path = "support/cluster.rs"]
#[allow(dead_code)] // Each test file uses a part.
mod cluster;

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hedge_core::Mode;
use hedgerow_reader::{LocalStore, Node, NodeOptions, NodeStore, ReadOptions, connect, put};
use tempfile::TempDir;

use cluster::{NAME, NODES, Reading, hedging_after, label, pattern, shape};

const CELL: u64 = 256 << 10;
/// What the slow server sends in a second, and at once: a quarter of a cell, so that a whole one takes three seconds.
const RATE: &str = "64k";

/// One nginx with nine addresses, each over a folder of its own.
struct Nginx {
    child: Child,
    folder: TempDir,
    ports: Vec<u16>,
}

impl Nginx {
    async fn start(slow: usize) -> Option<Self> {
        let Some(binary) = std::env::var_os("HEDGEROW_NGINX").filter(|binary| !binary.is_empty()) else {
            println!("not run: HEDGEROW_NGINX names no nginx");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        // Free a moment ago, and ours now but for bad luck.
        let free: Vec<TcpListener> =
            (0..NODES).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port")).collect();
        let ports = free.iter().map(|port| port.local_addr().expect("an address").port()).collect();
        drop(free);
        let child = Command::new(binary);
        let nginx = Self::run(child, folder, ports, slow);
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, nginx.ports[NODES - 1])).is_err() {
            assert!(Instant::now() < end, "nginx does not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Some(nginx)
    }

    fn run(mut command: Command, folder: TempDir, ports: Vec<u16>, slow: usize) -> Self {
        let root = folder.path().display();
        let mut servers = String::new();
        for (node, port) in ports.iter().enumerate() {
            std::fs::create_dir(folder.path().join(label(node))).expect("a folder");
            let limit = if node == slow { format!("limit_rate {RATE};") } else { String::new() };
            let label = label(node);
            writeln!(servers, "server {{ listen 127.0.0.1:{port}; root {root}/{label}; {limit} }}")
                .expect("text");
        }
        let config = format!(
            "daemon off;
            master_process off;
            pid {root}/pid;
            error_log stderr;
            events {{}}
            http {{
                access_log off;
                client_body_temp_path {root}/bodies;
                proxy_temp_path {root}/proxy;
                fastcgi_temp_path {root}/fastcgi;
                uwsgi_temp_path {root}/uwsgi;
                scgi_temp_path {root}/scgi;
                {servers}
            }}"
        );
        std::fs::write(folder.path().join("config"), config).expect("a configuration");
        command.args(["-e", "stderr", "-c"]).arg(folder.path().join("config")).stderr(Stdio::null());
        Self { child: command.spawn().expect("nginx"), folder, ports }
    }

    /// The folders, for writing, or the servers.
    fn nodes(&self, store: impl Fn(usize) -> Arc<dyn NodeStore>) -> Vec<Node> {
        (0..NODES).map(|node| Node { label: label(node), store: store(node) }).collect()
    }

    fn folders(&self) -> Vec<Node> {
        self.nodes(|node| Arc::new(LocalStore::new(self.folder.path().join(label(node)))))
    }

    fn servers(&self) -> Vec<Node> {
        self.nodes(|node| {
            let address = format!("http://127.0.0.1:{}", self.ports[node]);
            connect(&address.parse().expect("an address"), &NodeOptions::default()).expect("a node")
        })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_node_with_a_limited_rate_is_not_waited_for() {
    let slow = 2;
    let Some(nginx) = Nginx::start(slow).await else { return };
    let data = pattern(4 * 6 * CELL as usize + 777, 14);
    let folders = nginx.folders();
    put(NAME, &folders, &mut &data[..], &shape(CELL as u32, 4096, 1), &|_| ()).await.expect("written");

    let reading = Reading::of(NAME, nginx.servers(), hedging_after(Duration::from_millis(100))).await;
    assert_eq!(reading.node_of(0, 2), slow);
    let at = 2 * CELL;
    let read = async |mode: Mode| {
        let begun = Instant::now();
        let read = reading.reader.read_with(at, CELL, ReadOptions::default().mode(mode)).await.expect("read");
        assert!(read == data[at as usize..(at + CELL) as usize]);
        begun.elapsed()
    };
    let plain = read(Mode::Off).await;
    let before = reading.client.snapshot().governor.counters.won;
    let hedged = read(Mode::Hedge).await;
    println!("a cell of the slow node: {plain:?} without hedging, {hedged:?} with it");
    // Three quarters of the cell at a quarter a second.
    assert!(plain >= Duration::from_millis(2_500), "the server is not slow: {plain:?}");
    assert!(hedged < plain, "waited for the node: {hedged:?}");
    assert_eq!(reading.client.snapshot().governor.counters.won, before + 1);

    let whole = tokio::time::timeout(Duration::from_secs(10), reading.reader.read_at(0, data.len() as u64));
    assert!(whole.await.expect("no wait for the node").expect("read") == data);
    reading.end().await;
}
