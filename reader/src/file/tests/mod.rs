//! Tests of whole files on nodes in memory, some of which fail, hang, or are slow.

mod intents;
mod open;
mod put;
mod put_faults;
mod remove;

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hedgerow_codec::{Code, Destination, Kernel, Matrix};

use super::*;
use crate::{Body, CellStore, Entry, Existing, Failed, Failure, Leg, MemoryStore, Work, read_object};

/// What a node is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Get,
    Length,
    Put,
    Delete,
    List,
}

/// What it does instead.
#[derive(Clone, Copy, Debug)]
enum Instead {
    Fail(Failure),
    /// Does it, and says that it failed.
    DoAndFail(Failure),
    Hang,
    Wait(Duration),
}

type Rule = Box<dyn FnMut(Op, &str) -> Option<Instead> + Send>;

/// A node in memory that does not always do what it is asked to.
#[derive(Clone)]
struct Odd {
    memory: MemoryStore,
    address: Arc<str>,
    rule: Arc<Mutex<Option<Rule>>>,
}

impl Odd {
    fn rule(&self, rule: impl FnMut(Op, &str) -> Option<Instead> + Send + 'static) {
        *self.rule.lock().unwrap() = Some(Box::new(rule));
    }

    fn well(&self) {
        *self.rule.lock().unwrap() = None;
    }

    fn dead(&self) {
        self.rule(|_, _| Some(Instead::Fail(Failure::Unreachable)));
    }

    fn objects(&self) -> Vec<String> {
        self.memory.objects().keys().cloned().collect()
    }

    fn has(&self, object: &str) -> bool {
        self.memory.objects().contains_key(object)
    }

    fn ask<T: Send + 'static>(&self, op: Op, object: &str, work: Work<T>) -> Work<T> {
        let instead = self.rule.lock().unwrap().as_mut().and_then(|rule| rule(op, object));
        Box::pin(async move {
            match instead {
                None => work.await,
                Some(Instead::Fail(kind)) => Err(Failed::because(kind, "as the test wants it")),
                Some(Instead::DoAndFail(kind)) => work.await.and(Err(kind.into())),
                Some(Instead::Hang) => std::future::pending().await,
                Some(Instead::Wait(time)) => {
                    tokio::time::sleep(time).await;
                    work.await
                }
            }
        })
    }
}

impl CellStore for Odd {
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()> {
        self.memory.read(object, range, leg)
    }
}

impl NodeStore for Odd {
    fn get(&self, object: &str, most: u64) -> Work<Bytes> {
        // What an object holds is known when the node answers, not when it is asked.
        let (memory, name) = (self.memory.clone(), object.to_owned());
        self.ask(Op::Get, object, Box::pin(async move { memory.get(&name, most).await }))
    }

    fn length(&self, object: &str) -> Work<u64> {
        self.ask(Op::Length, object, self.memory.length(object))
    }

    fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64> {
        self.ask(Op::Put, object, self.memory.put(object, existing, length, body))
    }

    fn delete(&self, object: &str) -> Work<()> {
        let (memory, name) = (self.memory.clone(), object.to_owned());
        self.ask(Op::Delete, object, Box::pin(async move { memory.delete(&name).await }))
    }

    fn list(&self, prefix: &str) -> Work<Vec<Entry>> {
        self.ask(Op::List, prefix, self.memory.list(prefix))
    }

    fn address(&self) -> &str {
        &self.address
    }
}

/// `count` nodes, n0 and so on, with addresses of their own.
fn odd(count: usize) -> (Vec<Odd>, Vec<Node>) {
    let odd = |index| Odd {
        memory: MemoryStore::new(),
        address: format!("memory:{index}").into(),
        rule: Arc::default(),
    };
    let odds = (0..count).map(odd).collect::<Vec<_>>();
    let nodes = odds.iter().enumerate().map(|(index, odd)| node(index, odd)).collect();
    (odds, nodes)
}

fn node(index: usize, odd: &Odd) -> Node {
    Node { label: format!("n{index}"), store: Arc::new(odd.clone()) }
}

const CELL: u64 = 4096;
const STRIPE: u64 = 3 * CELL;
const GROUP: u64 = 2 * STRIPE;

/// RS-3-2 with small cells: 12 KiB a stripe, 24 KiB a group.
fn small() -> PutOptions {
    PutOptions {
        k: 3,
        m: 2,
        cell_bytes: CELL as u32,
        record_bytes: 1024,
        stripes_per_group: 2,
        ..PutOptions::default()
    }
}

fn replacing() -> PutOptions {
    PutOptions { existing: Existing::Replace, ..small() }
}

/// Bytes that tell where they are, and differ from one `seed` to the next.
fn content(length: u64, seed: u64) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(0x9e37_79b9).wrapping_add(seed * 77) >> 7) as u8).collect()
}

async fn write(
    name: &str,
    nodes: &[Node],
    bytes: &[u8],
    options: &PutOptions,
) -> Result<Manifest, FileError> {
    put(name, nodes, &mut &*bytes, options, &|_| ()).await
}

/// Reads a file without the reader: each cell of each stripe, whose parity must be the codec's.
async fn read_back(name: &str, nodes: &[Node]) -> Vec<u8> {
    let opened = open(name, nodes).await.expect("a file");
    let (manifest, layout) = (&opened.manifest, opened.manifest.layout().unwrap());
    let (k, n) = (usize::from(manifest.k), manifest.n());
    let code = Code::new(Kernel::detect(), k, manifest.m.into(), Matrix::Cauchy).unwrap();
    let mut bytes = Vec::new();
    assert_eq!(manifest.placement.len() as u64, layout.groups(manifest.length));
    for group in 0..layout.groups(manifest.length) {
        let mut blocks = Vec::new();
        for cell in 0..n {
            let node = opened.node[manifest.placed(group, cell).unwrap()].expect("a node");
            let (length, records) = (manifest.block_length(group, cell), manifest.records(group, cell));
            let object = manifest.object(name, group, cell);
            let store = &nodes[node].store;
            if length == 0 {
                assert_eq!(store.length(&object).await.unwrap_err().kind, Failure::Missing);
            } else {
                assert_eq!(store.length(&object).await.unwrap(), manifest.object_length(group, cell));
            }
            let sealed = read_object(&**store, &object, records.in_object(&(0..length))).await.unwrap();
            let mut opener = records.opener(0..length);
            opener.push(&sealed, |bad| panic!("{object}: {bad}"));
            assert_eq!(opener.checked(), length);
            blocks.push(opener.into_data());
        }
        let longest = blocks[0].len();
        for start in (0..longest).step_by(CELL as usize) {
            let cells = blocks
                .iter()
                .map(|block| &block[start.min(block.len())..(start + CELL as usize).min(block.len())]);
            let (data, parity) = cells.clone().zip(0..).partition::<Vec<_>, _>(|&(_, cell)| cell < k);
            let data = data.into_iter().map(|(cell, _)| cell).collect::<Vec<_>>();
            bytes.extend(data.concat());
            let mut expected = vec![vec![0_u8; data[0].len()]; manifest.m.into()];
            let mut outputs = expected.iter_mut().map(|cell| &mut cell[..]).collect::<Vec<_>>();
            code.encode_short(&data, &mut outputs, Destination::ReadSoon).unwrap();
            assert!(parity.into_iter().map(|(cell, _)| cell).eq(expected.iter().map(|cell| &cell[..])));
        }
    }
    assert_eq!(bytes.len() as u64, manifest.length);
    bytes
}

/// What lies on the nodes, apart from what a file of this manifest needs.
fn strays(name: &str, odds: &[Odd], manifest: Option<&Manifest>) -> Vec<String> {
    let mut needed = vec![vec![]; odds.len()];
    if let Some(manifest) = manifest {
        for group in 0..manifest.placement.len() as u64 {
            for cell in 0..manifest.n() {
                needed[manifest.placed(group, cell).unwrap()].push(manifest.object(name, group, cell));
            }
        }
        needed.iter_mut().for_each(|needed| needed.push(format!("{name}/manifest.json")));
    }
    let mut strays = Vec::new();
    for (index, (odd, needed)) in odds.iter().zip(needed).enumerate() {
        let stray = odd.objects().into_iter().filter(|object| !needed.contains(object));
        strays.extend(stray.map(|object| format!("n{index}: {object}")));
    }
    strays
}
