//! A file written by hand onto nodes in memory, which can be tampered with, watched and switched off.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use hedgerow_codec::{Code, Destination, Kernel, Layout, Matrix};
use hedgerow_reader::{
    Body, CellStore, Entry, Existing, Failed, Failure, FileId, Finding, Leg, Manifest, MemoryStore, Node,
    NodeEntry, NodeStore, Opened, RepairError, RepairOptions, Repaired, Verified, VerifyOptions, Work,
};

pub(crate) const NAME: &str = "folder/file";

/// How a node behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Mood {
    #[default]
    Well,
    /// Every request fails at once.
    Away,
    /// No request ends.
    Silent,
    /// The bodies of cells are read to such a byte, then writing fails; what was there stays.
    FailsAfter(usize),
    /// The body of a cell is not read to its end, and nothing more is heard.
    Stalls,
    /// Manifests can't be written.
    RefusesManifests,
    /// Each request takes so many milliseconds.
    Slow(u64),
}

/// A node in memory with moods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moody {
    pub(crate) inner: MemoryStore,
    pub(crate) mood: Arc<Mutex<Mood>>,
    pub(crate) watch: Arc<Watch>,
}

/// What was asked of all nodes together.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) reads: AtomicU64,
    /// Bytes of the longest read, and of the longest piece of a body.
    pub(crate) longest: AtomicU64,
    /// Bytes of reads under way, and their maximum.
    under_way: AtomicU64,
    pub(crate) most: AtomicU64,
    pub(crate) puts: AtomicU64,
}

impl Watch {
    pub(crate) fn get(number: &AtomicU64) -> u64 {
        number.load(Ordering::Relaxed)
    }
}

impl Moody {
    fn mood(&self) -> Mood {
        *self.mood.lock().unwrap()
    }

    fn moody<T: Send + 'static>(&self, work: Work<T>) -> Work<T> {
        match self.mood() {
            Mood::Away => Box::pin(async { Err(Failure::Unreachable.into()) }),
            Mood::Silent => Box::pin(std::future::pending()),
            Mood::Slow(milliseconds) => Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                work.await
            }),
            _ => work,
        }
    }
}

impl CellStore for Moody {
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()> {
        let (bytes, watch) = (range.end - range.start, Arc::clone(&self.watch));
        let work = self.moody(self.inner.read(object, range, leg));
        Box::pin(async move {
            watch.reads.fetch_add(1, Ordering::Relaxed);
            watch.longest.fetch_max(bytes, Ordering::Relaxed);
            let now = watch.under_way.fetch_add(bytes, Ordering::Relaxed) + bytes;
            watch.most.fetch_max(now, Ordering::Relaxed);
            let done = work.await;
            watch.under_way.fetch_sub(bytes, Ordering::Relaxed);
            done
        })
    }
}

impl NodeStore for Moody {
    fn get(&self, object: &str, most: u64) -> Work<Bytes> {
        self.moody(self.inner.get(object, most))
    }

    fn length(&self, object: &str) -> Work<u64> {
        self.moody(self.inner.length(object))
    }

    fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64> {
        let (is_manifest, is_cell) = (object.ends_with("manifest.json"), !object.ends_with(".json"));
        let watch = Arc::clone(&self.watch);
        let mut body = Box::pin(body.inspect(move |piece| {
            let bytes = piece.as_ref().map_or(0, |piece| piece.len() as u64);
            watch.longest.fetch_max(bytes, Ordering::Relaxed);
        }));
        self.watch.puts.fetch_add(1, Ordering::Relaxed);
        match self.mood() {
            Mood::FailsAfter(bytes) if is_cell => Box::pin(async move {
                let mut read = 0;
                while read < bytes {
                    match body.next().await {
                        Some(piece) => read += piece?.len(),
                        None => break,
                    }
                }
                Err(Failed::because(Failure::Other, "no space is left on the disk"))
            }),
            Mood::Stalls if is_cell => Box::pin(async move {
                let first = body.next().await;
                std::future::pending::<()>().await;
                drop((first, body));
                Ok(0)
            }),
            Mood::RefusesManifests if is_manifest => Box::pin(async { Err(Failure::Refused.into()) }),
            _ => self.moody(self.inner.put(object, existing, length, body)),
        }
    }

    fn delete(&self, object: &str) -> Work<()> {
        self.moody(self.inner.delete(object))
    }

    fn list(&self, prefix: &str) -> Work<Vec<Entry>> {
        self.moody(self.inner.list(prefix))
    }

    fn address(&self) -> &str {
        "memory"
    }
}

/// How a file is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) k: u8,
    pub(crate) m: u8,
    pub(crate) cell_bytes: u32,
    pub(crate) stripes_per_group: u32,
    pub(crate) length: u64,
}

/// RS-6-3, cells of two records of 1 KiB, three stripes a group.
pub(crate) const SMALL: Shape = Shape { k: 6, m: 3, cell_bytes: 2048, stripes_per_group: 3, length: 0 };

impl Shape {
    /// Two full groups, and one whose last stripe ends in the middle of its third cell's second record.
    pub(crate) fn short() -> Self {
        Self { length: 2 * 36864 + 12288 + 2 * 2048 + 1500, ..SMALL }
    }
}

/// A file on nodes.
pub(crate) struct World {
    pub(crate) manifest: Manifest,
    pub(crate) stores: Vec<Moody>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) watch: Arc<Watch>,
    /// The objects of each node as they were written.
    pub(crate) written: Vec<BTreeMap<String, Bytes>>,
}

/// The bytes of the test files.
pub(crate) fn content(length: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

impl World {
    /// A file of `shape` on as many nodes as it has cells, and `spare` nodes more.
    pub(crate) fn new(shape: Shape, spare: usize) -> Self {
        let n = usize::from(shape.k + shape.m);
        let layout = layout(shape);
        let groups = layout.groups(shape.length);
        let row = |group: u64| (0..n).map(|cell| ((group as usize + cell) % n) as u16).collect();
        let entry = |node: usize| NodeEntry { label: format!("node-{node}"), address: "memory".into() };
        let manifest = Manifest {
            id: FileId([7; 16]),
            generation: 4,
            k: shape.k,
            m: shape.m,
            cell_bytes: shape.cell_bytes,
            record_bytes: 1024,
            stripes_per_group: shape.stripes_per_group,
            length: shape.length,
            nodes: (0..n).map(entry).collect(),
            placement: (0..groups).map(row).collect(),
        };
        let watch = Arc::new(Watch::default());
        let stores: Vec<Moody> =
            (0..n + spare).map(|_| Moody { watch: Arc::clone(&watch), ..Moody::default() }).collect();
        let node = |(node, store): (usize, &Moody)| Node {
            label: format!("node-{node}"),
            store: Arc::new(store.clone()),
        };
        let nodes = stores.iter().enumerate().map(node).collect();
        let mut world = Self { manifest, stores, nodes, watch, written: Vec::new() };
        let data = content(shape.length);
        for group in 0..groups {
            for (cell, block) in blocks(shape, group, &data).iter().enumerate() {
                if !block.is_empty() {
                    let object = world.seal(group, cell as u8, block);
                    world.insert(group, cell as u8, object);
                }
            }
        }
        for node in 0..n {
            world.put_manifest(node, &world.manifest, node);
        }
        world.written = world.stores.iter().map(|store| store.inner.objects().clone()).collect();
        world
    }

    /// The file as `open` finds it.
    pub(crate) fn opened(&self) -> Opened {
        self.opened_as(self.manifest.clone())
    }

    /// The file with such a manifest, whose nodes have the labels of ours.
    pub(crate) fn opened_as(&self, manifest: Manifest) -> Opened {
        let given = |entry: &NodeEntry| self.nodes.iter().position(|node| node.label == entry.label);
        let node = manifest.nodes.iter().map(given).collect();
        Opened { name: NAME.into(), manifest, node, copies: Vec::new() }
    }

    pub(crate) async fn verify(&self) -> Verified {
        self.verify_with(&VerifyOptions::default()).await
    }

    pub(crate) async fn verify_with(&self, options: &VerifyOptions) -> Verified {
        hedgerow_reader::verify(&self.opened(), &self.nodes, options, &|_| ()).await.unwrap()
    }

    pub(crate) async fn repair(&self) -> Repaired {
        self.repair_leaving(&[]).await.unwrap()
    }

    pub(crate) async fn repair_leaving(
        &self,
        leave: &[usize],
    ) -> Result<Repaired, hedgerow_reader::FileError> {
        let mut options = RepairOptions::default();
        options.leave = leave.iter().map(|node| format!("node-{node}")).collect();
        hedgerow_reader::repair(&self.opened(), &self.nodes, &options, &|_| ()).await
    }

    /// The given node that has a cell.
    pub(crate) fn node_of(&self, group: u64, cell: u8) -> usize {
        self.manifest.placed(group, cell).unwrap()
    }

    pub(crate) fn object(&self, group: u64, cell: u8) -> Bytes {
        let objects = self.stores[self.node_of(group, cell)].inner.objects();
        objects[&self.manifest.object(NAME, group, cell)].clone()
    }

    pub(crate) fn insert(&self, group: u64, cell: u8, object: impl Into<Bytes>) {
        let mut objects = self.stores[self.node_of(group, cell)].inner.objects();
        objects.insert(self.manifest.object(NAME, group, cell), object.into());
    }

    pub(crate) fn remove(&self, group: u64, cell: u8) {
        let mut objects = self.stores[self.node_of(group, cell)].inner.objects();
        objects.remove(&self.manifest.object(NAME, group, cell)).unwrap();
    }

    /// Changes the object of a cell.
    pub(crate) fn tamper(&self, group: u64, cell: u8, change: impl FnOnce(&mut Vec<u8>)) {
        let mut object = self.object(group, cell).to_vec();
        change(&mut object);
        self.insert(group, cell, object);
    }

    /// Changes the bytes of a cell's block, and gives them right checksums again.
    pub(crate) fn forge(&self, group: u64, cell: u8, change: impl FnOnce(&mut Vec<u8>)) {
        let length = self.manifest.block_length(group, cell);
        let mut opener = self.manifest.records(group, cell).opener(0..length);
        opener.push(&self.object(group, cell), |bad| panic!("{bad}"));
        let mut block = opener.into_data();
        change(&mut block);
        self.insert(group, cell, self.seal(group, cell, &block));
    }

    pub(crate) fn seal(&self, group: u64, cell: u8, block: &[u8]) -> Bytes {
        seal(&self.manifest, group, cell, block)
    }

    /// Writes a copy of `manifest` for its node `this` to a node.
    pub(crate) fn put_manifest(&self, node: usize, manifest: &Manifest, this: usize) {
        let text = manifest.to_bytes(this).unwrap();
        self.stores[node].inner.objects().insert(format!("{NAME}/manifest.json"), text.into());
    }

    pub(crate) fn set(&self, node: usize, mood: Mood) {
        *self.stores[node].mood.lock().unwrap() = mood;
    }

    /// The objects of each node, without manifests.
    pub(crate) fn cells(&self) -> Vec<BTreeMap<String, Bytes>> {
        self.stores.iter().map(|store| without_manifests(&store.inner.objects())).collect()
    }

    /// Everything on all nodes.
    pub(crate) fn everything(&self) -> Vec<BTreeMap<String, Bytes>> {
        self.stores.iter().map(|store| store.inner.objects().clone()).collect()
    }

    /// Asserts that all cells are on their nodes as they were written, and that each node has a copy of `manifest`.
    pub(crate) fn assert_whole(&self, manifest: &Manifest) {
        let written: Vec<_> = self.written.iter().map(without_manifests).collect();
        assert_eq!(self.cells(), written);
        for (this, store) in self.stores.iter().take(manifest.nodes.len()).enumerate() {
            let text = store.inner.objects()[&format!("{NAME}/manifest.json")].clone();
            assert_eq!(Manifest::parse(&text).unwrap(), (manifest.clone(), this));
        }
    }
}

fn without_manifests(objects: &BTreeMap<String, Bytes>) -> BTreeMap<String, Bytes> {
    let cells = objects.iter().filter(|(object, _)| !object.ends_with("manifest.json"));
    cells.map(|(object, bytes)| (object.clone(), bytes.clone())).collect()
}

pub(crate) fn seal(manifest: &Manifest, group: u64, cell: u8, block: &[u8]) -> Bytes {
    let (mut sealer, mut object) = (manifest.records(group, cell).sealer(), BytesMut::new());
    sealer.seal(block, &mut object);
    sealer.finish(&mut object);
    object.freeze()
}

pub(crate) fn layout(shape: Shape) -> Layout {
    let Shape { k, m, cell_bytes, stripes_per_group, .. } = shape;
    Layout::new(k.into(), m.into(), cell_bytes.into(), stripes_per_group.into()).unwrap()
}

/// The internal blocks of a group, stripe by stripe.
fn blocks(shape: Shape, group: u64, data: &[u8]) -> Vec<Vec<u8>> {
    let (k, m, cell_bytes) = (usize::from(shape.k), usize::from(shape.m), shape.cell_bytes as usize);
    let code = Code::new(Kernel::detect(), k, m, Matrix::Cauchy).unwrap();
    let group_bytes = layout(shape).group_bytes() as usize;
    let start = group as usize * group_bytes;
    let data = &data[start..data.len().min(start + group_bytes)];
    let mut blocks = vec![Vec::new(); k + m];
    for stripe in data.chunks(k * cell_bytes) {
        let mut cells: Vec<&[u8]> = stripe.chunks(cell_bytes).collect();
        cells.resize(k, &[]);
        let mut parity = vec![vec![0; cells[0].len()]; m];
        let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(|cell| &mut cell[..]).collect();
        code.encode_short(&cells, &mut outputs, Destination::ReadSoon).unwrap();
        let all = cells.into_iter().chain(parity.iter().map(|cell| &cell[..]));
        for (block, cell) in blocks.iter_mut().zip(all) {
            block.extend_from_slice(cell);
        }
    }
    blocks
}

/// Findings as text, in order.
pub(crate) fn said(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

pub(crate) fn kind(error: &hedgerow_reader::FileError) -> &RepairError {
    match error {
        hedgerow_reader::FileError::Repair(error) => error,
        other => panic!("{other}"),
    }
}
