//! Many reads while random faults come and go on random nodes, at most three at a time: no wrong byte, no failed read, and memory, open files
//! and tasks as before.
//!
//! `HEDGEROW_SOAK` is the number of reads; without it there are a few. 100,000 take about two minutes on two cores.

#[path = "support/mod.rs"]
mod support;

#[path = "support/cluster.rs"]
#[allow(dead_code)] // Each test file uses a part.
mod cluster;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hedgerow_reader::{ClientSnapshot, ReadOptions, StripedReader};
use tokio::runtime::Handle;
use tokio::sync::{RwLock, mpsc};
use tokio::time::{sleep, timeout};

use cluster::{Cluster, NAME, NODES, Random, Reading, hedging_after, pattern, shape};

const CELL: u64 = 64 << 10;
/// Seven block groups, the last one short.
const LENGTH: u64 = 6 * 12 * CELL + 7 * CELL + 4321;
/// Reads at a time.
const READERS: u64 = 24;
/// Reads before the memory is looked at for the first time.
const WARM_UP: u64 = 1_500;
/// So much more memory is no leak: the allocator keeps what it had at the busiest moment.
const SLACK: u64 = 32 << 20;

const FAULTS: [&str; 14] = [
    "none",
    "slow-body 10 30ms",
    "slow-body 3 1s",
    "stall",
    "no-answer",
    "not-accepted",
    "refuse",
    "corrupt",
    "stale",
    "mid-body",
    "status-503",
    "delay 200ms",
    "lie-length -3",
    "lie-range",
];

/// What is shared by all that read.
struct Soak {
    reader: StripedReader,
    data: Bytes,
    reads: u64,
    done: AtomicU64,
    dropped: AtomicU64,
    /// Held while reading; for the change to other bad nodes nobody may.
    bad: RwLock<Vec<usize>>,
}

impl Soak {
    /// One reader's part of the reads.
    async fn read(&self, seed: u64) {
        let mut random = Random(seed);
        while self.done.fetch_add(1, Ordering::Relaxed) < self.reads {
            let bad = self.bad.read().await;
            let (length, wait) = match random.below(100) {
                // Dropped, at any stage.
                0..10 => (random.below(512 << 10), Some(random.below(30))),
                10..13 => (LENGTH, None),
                13..30 => (random.below(1 << 20), None),
                _ => (random.below(64 << 10), None),
            };
            let offset = random.below(LENGTH - length + 1);
            let what = || format!("{length} at {offset} while {bad:?} are bad");
            let expected = &self.data[offset as usize..(offset + length) as usize];
            let read = self.reader.read_at(offset, length);
            match wait {
                Some(wait) => match timeout(Duration::from_millis(wait), read).await {
                    Ok(read) => assert!(right(&read, expected), "{}: {read:?}", what()),
                    Err(_) => _ = self.dropped.fetch_add(1, Ordering::Relaxed),
                },
                None if length == LENGTH => self.stream(&what).await,
                None => {
                    let read = timeout(Duration::from_secs(60), read).await;
                    let read = read.unwrap_or_else(|_| panic!("{} hangs", what()));
                    let read = read.unwrap_or_else(|error| panic!("{}: {error}", what()));
                    assert!(read == expected, "{}: wrong bytes", what());
                }
            }
        }
    }

    /// The whole file, or as much of it as comes before the reader loses interest.
    async fn stream(&self, what: &impl Fn() -> String) {
        let mut stream = self.reader.stream(ReadOptions::default());
        let mut at = 0;
        loop {
            let next = timeout(Duration::from_secs(60), stream.next_bytes()).await;
            let next = next.unwrap_or_else(|_| panic!("{} hangs", what()));
            let Some(bytes) = next.unwrap_or_else(|error| panic!("{}: {error}", what())) else { break };
            assert!(self.data[at..].starts_with(&bytes), "{}: wrong bytes from {at}", what());
            at += bytes.len();
        }
        assert_eq!(at as u64, LENGTH);
    }
}

fn right(read: &Result<Bytes, hedgerow_reader::ReadError>, expected: &[u8]) -> bool {
    read.as_ref().is_ok_and(|read| read == expected)
}

/// Switches faults until there is nobody left to read: three nodes at a time have any, come and go as they like, and then it is three others.
async fn disturb(cluster: &mut Cluster, soak: &Soak, mut ended: mpsc::Receiver<()>) {
    let mut random = Random(12);
    loop {
        let mut others = soak.bad.write().await;
        for &node in &*others {
            cluster.fault(node, "none").await;
        }
        others.clear();
        while others.len() < 3 {
            let node = random.below(NODES as u64) as usize;
            if !others.contains(&node) {
                others.push(node);
            }
        }
        let bad = others.clone();
        drop(others);
        for _ in 0..12 {
            let (node, fault) = (bad[random.below(3) as usize], random.below(FAULTS.len() as u64));
            cluster.fault(node, FAULTS[fault as usize]).await;
            tokio::select! {
                _ = ended.recv() => {
                    cluster.only(&[], "none").await;
                    return;
                }
                () = sleep(Duration::from_millis(20 + random.below(100))) => {}
            }
        }
    }
}

/// Reads so often while faults come and go.
async fn phase(cluster: &mut Cluster, reader: &StripedReader, data: &Bytes, reads: u64) {
    let (done, dropped) = (AtomicU64::new(0), AtomicU64::new(0));
    let bad = RwLock::default();
    let soak = Arc::new(Soak { reader: reader.clone(), data: data.clone(), reads, done, dropped, bad });
    let (alive, ended) = mpsc::channel(1);
    let readers: Vec<_> = (0..READERS)
        .map(|seed| {
            let (soak, alive) = (Arc::clone(&soak), alive.clone());
            tokio::spawn(async move {
                soak.read(reads + seed).await;
                drop(alive);
            })
        })
        .collect();
    drop(alive);
    disturb(cluster, &soak, ended).await;
    for reader in readers {
        reader.await.expect("a reader that finds nothing wrong");
    }
    println!("{reads} reads, {} of them dropped on their way", soak.dropped.load(Ordering::Relaxed));
}

/// What this process has.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Has {
    files: usize,
    tasks: usize,
}

impl Has {
    fn now() -> Self {
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        Self { files, tasks: Handle::current().metrics().num_alive_tasks() }
    }
}

/// Bytes of memory that are in use, as the system sees it; 0 where it does not say.
fn resident() -> u64 {
    let Ok(counts) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    let pages = counts.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number of pages") * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_survive_random_faults_and_leave_nothing_behind() {
    let reads = match std::env::var("HEDGEROW_SOAK") {
        Ok(reads) => reads.parse().expect("HEDGEROW_SOAK is a number of reads"),
        Err(_) => 3_000,
    };
    let mut cluster = Cluster::start().await;
    let data = pattern(LENGTH as usize, 13);
    cluster.put(NAME, &data, shape(CELL as u32, 4096, 2)).await;
    back_to("the start", Has { tasks: 0, ..Has::now() }).await;
    let before = Has::now();

    let reading = Reading::of(NAME, cluster.nodes(), hedging_after(Duration::from_millis(20))).await;
    phase(&mut cluster, &reading.reader, &data, WARM_UP).await;
    let warm = resident();
    let begun = Instant::now();
    phase(&mut cluster, &reading.reader, &data, reads).await;
    let (took, hot) = (begun.elapsed(), resident());
    let counted = reading.end().await;
    back_to("what it was", before).await;
    let left = resident();
    println!(
        "{reads} reads took {:.1} s; memory {} KiB, then {} KiB, at last {} KiB",
        took.as_secs_f64(),
        warm >> 10,
        hot >> 10,
        left >> 10
    );
    told(&counted);
    assert!(hot <= warm + SLACK && left <= warm + SLACK, "{warm} bytes became {hot}, then {left}");
    assert_eq!((counted.reads_failed, counted.decodes_wrong), (0, 0), "{counted:?}");
    assert!(counted.governor.counters.won > 0 && counted.bad_records > 0, "{counted:?}");
}

fn told(counted: &ClientSnapshot) {
    let hedges = counted.governor.counters;
    println!(
        "{} hedges, {} won; {} legs replaced, {} bad records, {} decodes, {} late timers",
        hedges.granted,
        hedges.won,
        counted.degraded_legs,
        counted.bad_records,
        counted.decodes,
        counted.late_timers
    );
}

/// Waits until there are no more files and tasks than that: sockets are closed by tasks, which take a moment.
async fn back_to(what: &str, least: Has) {
    let is_back = async {
        while Has::now().files > least.files || Has::now().tasks > least.tasks {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let back = timeout(Duration::from_secs(20), is_back).await;
    assert!(back.is_ok(), "{:?} is not back to {what}: {least:?}", Has::now());
}
