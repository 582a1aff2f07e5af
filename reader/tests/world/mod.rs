//! A cluster in memory and virtual time: nodes whose fate is set at run time, and a file written by hand.
#![allow(dead_code)] // Each test file uses a part.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hedge_core::{Config, NodeId, Span, Threshold};
use hedgerow_codec::{Code, Kernel, Layout, Matrix};
use hedgerow_reader::{
    CellMap, CellStore, Client, ClientConfig, Failed, Failure, FileId, Leg, Records, StripedFile,
    StripedReader, Work,
};
use tokio::time::sleep;

/// What becomes of requests to a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fate {
    /// Connected and answered after so long.
    After(u64),
    /// Connected at once; the head and half of the bytes after 1 ms, the rest never.
    Stalls,
    /// Connected, then silent.
    NeverAnswers,
    /// Never connected.
    NeverConnects,
    /// In pieces of a tenth, one each so many milliseconds.
    Trickles(u64),
    /// Fails after 1 ms.
    Fails(Failure),
    /// Half of the bytes after 1 ms, then a failure.
    Breaks(Failure),
    /// One bit of the first record is wrong.
    FlipsABit,
    /// Says that it is done, half way.
    Stops,
    /// More than was asked for.
    Overflows,
    /// Goes on working for so long after it was dropped.
    Clings(u64),
}

pub(crate) struct Node {
    pub(crate) objects: Mutex<HashMap<String, Bytes>>,
    pub(crate) fate: Mutex<Fate>,
    /// Requests so far.
    pub(crate) asked: AtomicU64,
    /// Requests under way now, and the most there ever were.
    pub(crate) busy: AtomicU64,
    pub(crate) busiest: AtomicU64,
}

impl Node {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            objects: Mutex::default(),
            fate: Mutex::new(Fate::After(1)),
            asked: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            busiest: AtomicU64::new(0),
        })
    }

    pub(crate) fn becomes(&self, fate: Fate) {
        *self.fate.lock().unwrap() = fate;
    }
}

struct Busy(Arc<Node>);

impl Busy {
    fn new(node: &Arc<Node>) -> Self {
        let busy = node.busy.fetch_add(1, Ordering::SeqCst) + 1;
        node.busiest.fetch_max(busy, Ordering::SeqCst);
        Self(Arc::clone(node))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Store(pub(crate) Arc<Node>);

impl CellStore for Store {
    fn read(&self, object: &str, range: Range<u64>, mut leg: Leg) -> Work<()> {
        let (node, object) = (Arc::clone(&self.0), object.to_owned());
        Box::pin(async move {
            let _busy = Busy::new(&node);
            node.asked.fetch_add(1, Ordering::SeqCst);
            let fate = *node.fate.lock().unwrap();
            let found = node.objects.lock().unwrap().get(&object).cloned();
            let ms = Duration::from_millis;
            if fate == Fate::NeverConnects {
                leg.connecting();
                std::future::pending::<()>().await;
            }
            leg.connected();
            let bytes = match found {
                None => return Err(Failure::Missing.into()),
                Some(object) if (object.len() as u64) < range.end => return Err(Failure::TooShort.into()),
                Some(object) => object.slice(range.start as usize..range.end as usize),
            };
            let half = bytes.len() / 2;
            match fate {
                Fate::After(after) => {
                    sleep(ms(after)).await;
                    leg.data(bytes)?;
                }
                Fate::Stalls => {
                    sleep(ms(1)).await;
                    leg.data(bytes.slice(..half))?;
                    std::future::pending::<()>().await;
                }
                Fate::NeverAnswers | Fate::NeverConnects => std::future::pending().await,
                Fate::Trickles(each) => {
                    for piece in bytes.chunks(bytes.len().div_ceil(10)) {
                        sleep(ms(each)).await;
                        leg.data(bytes.slice_ref(piece))?;
                    }
                }
                Fate::Fails(failure) => {
                    sleep(ms(1)).await;
                    return Err(failure.into());
                }
                Fate::Breaks(failure) => {
                    sleep(ms(1)).await;
                    leg.data(bytes.slice(..half))?;
                    return Err(Failed::because(failure, "broken in the middle"));
                }
                Fate::FlipsABit => {
                    sleep(ms(1)).await;
                    let mut bytes = BytesMut::from(&bytes[..]);
                    bytes[0] ^= 4;
                    leg.data(bytes.freeze())?;
                }
                Fate::Stops => {
                    leg.data(bytes.slice(..half))?;
                    return Ok(());
                }
                Fate::Overflows => {
                    leg.data(bytes.clone())?;
                    leg.data(bytes)?;
                }
                Fate::Clings(long) => {
                    let lease = leg.lease();
                    tokio::spawn(async move {
                        sleep(ms(long)).await;
                        drop(lease);
                    });
                    std::future::pending::<()>().await;
                }
            }
            leg.finish()
        })
    }
}

/// Cell c of group g on node (g + c) mod the number of nodes.
pub(crate) struct Map {
    pub(crate) nodes: Vec<Option<NodeId>>,
    pub(crate) record: Option<u32>,
}

pub(crate) const ID: FileId = FileId([9; 16]);

impl CellMap for Map {
    fn node(&self, group: u64, cell: u8) -> Option<NodeId> {
        self.nodes[(group as usize + usize::from(cell)) % self.nodes.len()]
    }

    fn object(&self, group: u64, cell: u8) -> String {
        format!("g{group}.c{cell}")
    }

    fn records(&self, group: u64, cell: u8) -> Option<Records> {
        self.record.map(|bytes| Records::new(ID, group, cell, bytes))
    }
}

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) nodes: Vec<Arc<Node>>,
    pub(crate) data: Vec<u8>,
    pub(crate) reader: StripedReader,
    pub(crate) layout: Layout,
}

/// RS-6-3 in cells of 4 KiB and records of 1 KiB, three stripes a group, a fixed threshold of 50 ms.
pub(crate) fn config() -> ClientConfig {
    let mut config = ClientConfig::default();
    config.governor = Config::default();
    config.governor.threshold = Threshold::Fixed(Span::from_millis(50));
    config.silence = Duration::from_secs(2);
    config.connect_timeout = Duration::from_secs(1);
    config
}

pub(crate) fn layout() -> Layout {
    Layout::new(6, 3, 4096, 3).unwrap()
}

/// Bytes that differ from place to place.
pub(crate) fn some_bytes(length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

impl World {
    pub(crate) fn new(length: usize, config: ClientConfig) -> Self {
        Self::with(length, config, Some(1024), 9)
    }

    pub(crate) fn with(length: usize, config: ClientConfig, record: Option<u32>, count: usize) -> Self {
        let client = Client::new(config).unwrap();
        let nodes: Vec<_> = (0..count).map(|_| Node::new()).collect();
        let add = |(index, node): (usize, &Arc<Node>)| {
            client.add_node(&format!("node{index}"), Arc::new(Store(Arc::clone(node)))).unwrap()
        };
        let ids: Vec<_> = nodes.iter().enumerate().map(add).map(Some).collect();
        let (data, layout) = (some_bytes(length), layout());
        let map = Map { nodes: ids, record };
        for (place, block) in blocks(&layout, &data) {
            let object = match map.records(place.0, place.1) {
                Some(records) => {
                    let (mut sealer, mut object) = (records.sealer(), BytesMut::new());
                    sealer.seal(&block, &mut object);
                    sealer.finish(&mut object);
                    object.freeze()
                }
                None => block.into(),
            };
            let node = (place.0 as usize + usize::from(place.1)) % count;
            nodes[node].objects.lock().unwrap().insert(map.object(place.0, place.1), object);
        }
        let file = StripedFile {
            name: "file".to_owned(),
            layout,
            matrix: Matrix::Cauchy,
            length: length as u64,
            cells: Arc::new(map),
        };
        let reader = StripedReader::new(&client, file).unwrap();
        Self { client, nodes, data, reader, layout }
    }

    /// Reads, and compares every byte.
    pub(crate) async fn read(&self, range: Range<usize>) {
        let bytes = self.reader.read_at(range.start as u64, range.len() as u64).await.unwrap();
        assert!(bytes == self.data[range.clone()], "wrong bytes in {range:?}");
    }

    pub(crate) fn asked(&self) -> Vec<u64> {
        self.nodes.iter().map(|node| node.asked.load(Ordering::SeqCst)).collect()
    }

    /// Nothing goes on any more, and all memory is free.
    pub(crate) async fn assert_at_rest(&self) {
        self.client.shutdown().await;
        let snapshot = self.client.snapshot();
        assert_eq!((snapshot.leases, snapshot.memory, snapshot.queued), (0, 0, 0));
        assert!(self.nodes.iter().all(|node| node.busy.load(Ordering::SeqCst) == 0));
        let counters = snapshot.governor.counters;
        assert_eq!(counters.granted, counters.won + counters.lost + counters.void + counters.unused);
    }
}

/// The internal blocks of a file, by group and cell, by an encoder of the test's own make.
pub(crate) fn blocks(layout: &Layout, data: &[u8]) -> Vec<((u64, u8), Vec<u8>)> {
    let (k, m) = (layout.k(), layout.m());
    let code = Code::new(Kernel::SCALAR, k, m, Matrix::Cauchy).unwrap();
    let (stripe, cell) = (layout.cell_bytes() as usize * k, layout.cell_bytes() as usize);
    let mut blocks = Vec::new();
    for (group, data) in data.chunks(layout.group_bytes() as usize).enumerate() {
        let mut of_group = vec![Vec::new(); k + m];
        for stripe in data.chunks(stripe) {
            let longest = stripe.len().min(cell);
            let cells: Vec<&[u8]> = (0..k)
                .map(|i| &stripe[stripe.len().min(i * cell)..stripe.len().min((i + 1) * cell)])
                .collect();
            let mut parity = vec![vec![0; longest]; m];
            let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(|cell| &mut cell[..]).collect();
            code.encode_short(&cells, &mut outputs, hedgerow_codec::Destination::ReadSoon).unwrap();
            for (block, cell) in
                of_group.iter_mut().zip(cells.into_iter().chain(parity.iter().map(|cell| &cell[..])))
            {
                block.extend_from_slice(cell);
            }
        }
        for (cell, block) in of_group.into_iter().enumerate() {
            blocks.push(((group as u64, cell as u8), block));
        }
    }
    blocks
}
