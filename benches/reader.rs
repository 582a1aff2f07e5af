//! What a read through the reader costs beside a plain loop over the same stores, checksums on in both: as a ratio of medians of
//! reads that are taken in turn. Folders, and loopback servers of this package.
//!
//! `cargo bench --bench reader` (add `-- --quick` for a tenth of the reads).

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hedge_core::Mode;
use hedgerow_reader::{
    Address, Client, ClientConfig, LocalStore, Manifest, Node, NodeOptions, NodeStore, Opened, PutOptions,
    ReadOptions, StripedReader, connect, open, put, read_object,
};

const FILE: u64 = 24 << 20;
const READ: u64 = 64 << 10;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let reads = if quick { 1_000 } else { 10_000 };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    // In a task of its own: the main thread is no worker, and would be woken from afar.
    let all = runtime.spawn(async move {
        let folders: Vec<tempfile::TempDir> =
            (0..9).map(|_| tempfile::tempdir().expect("a folder")).collect();
        let local: Vec<Node> = folders
            .iter()
            .enumerate()
            .map(|(index, folder)| node(index, Arc::new(LocalStore::new(folder.path()))))
            .collect();
        let data: Vec<u8> = (0..FILE).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        let mut options = PutOptions::default();
        options.length = Some(FILE);
        put("file", &local, &mut &data[..], &options, &|_| ()).await.expect("written");
        compare("folders", &local, &data, reads).await;

        let servers: Vec<Server> = folders.iter().map(|folder| Server::start(folder.path())).collect();
        let remote: Vec<Node> = servers
            .iter()
            .enumerate()
            .map(|(index, server)| {
                let address: Address = server.address.parse().expect("an address");
                node(index, connect(&address, &NodeOptions::default()).expect("a store"))
            })
            .collect();
        compare("loopback HTTP", &remote, &data, reads).await;
    });
    runtime.block_on(all).expect("the bench ran to its end");
}

fn node(index: usize, store: Arc<dyn NodeStore>) -> Node {
    Node { label: format!("node{index}"), store }
}

/// One read of each contender in turn, so that all see the same machine.
async fn compare(name: &str, nodes: &[Node], data: &[u8], reads: usize) {
    let opened = open("file", nodes).await.expect("opened");
    let client = Client::new(ClientConfig::default()).expect("a client");
    let reader = opened.reader(&client, nodes).expect("a reader");
    let mut nanos: [Vec<u64>; 3] = Default::default();
    for index in 0..reads as u64 {
        // Somewhere in a cell, at no multiple of anything.
        let cell = index % 6;
        let inner = index.wrapping_mul(7_919 * 512 + 1) % ((1 << 20) - READ);
        let at = cell * (1 << 20) + inner;
        for turn in 0..3 {
            let contender = ((index + turn) % 3) as usize;
            let begun = Instant::now();
            let bytes = match contender {
                0 => plain(&opened, nodes, cell as u8, inner).await,
                1 => read(&reader, at, Mode::Off).await,
                _ => read(&reader, at, Mode::Hedge).await,
            };
            nanos[contender].push(begun.elapsed().as_nanos() as u64);
            assert!(bytes == data[at as usize..(at + READ) as usize], "wrong bytes at {at}");
        }
    }
    let [plain, off, on] = nanos.map(|mut nanos| {
        nanos.sort_unstable();
        nanos[nanos.len() / 2] as f64 / 1_000.0
    });
    println!("{name}: {reads} reads of 64 KiB, medians: plain loop {plain:.1} us");
    println!(
        "    hedging off {off:.1} us, ratio {:.3}; hedging on {on:.1} us, ratio {:.3}",
        off / plain,
        on / plain
    );
    client.shutdown().await;
}

async fn read(reader: &StripedReader, at: u64, mode: Mode) -> Bytes {
    reader.read_with(at, READ, ReadOptions::default().mode(mode)).await.expect("read")
}

/// What a client without this library does: one request to the node that has the bytes, its checksums, no more.
async fn plain(opened: &Opened, nodes: &[Node], cell: u8, inner: u64) -> Bytes {
    let manifest: &Manifest = &opened.manifest;
    let records = manifest.records(0, cell);
    let wide = records.widened(&(inner..inner + READ), 4 << 20);
    let object = manifest.object("file", 0, cell);
    let node = usize::from(manifest.placement[0][usize::from(cell)]);
    let sealed = read_object(&*nodes[node].store, &object, records.in_object(&wide)).await.expect("read");
    let mut opener = records.opener(wide.clone());
    opener.push(&sealed, |bad| panic!("{bad}"));
    let start = (inner - wide.start) as usize;
    Bytes::from(opener.into_data()).slice(start..start + READ as usize)
}

/// A `hedgerow serve` that ends with this process.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &std::path::Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hedgerow"))
            .args(["serve", "--control"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("its address");
        let address =
            line.split('"').find(|part| part.starts_with("http://")).expect("an address").to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
