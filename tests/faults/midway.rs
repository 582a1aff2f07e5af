//! Faults that begin and end in the middle of a read, servers that die in it, and reads that are dropped.

use std::time::Duration;

use bytes::Bytes;
use hedge_core::Mode;
use hedgerow_reader::{ReadError, ReadOptions};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::cluster::{Cluster, NAME, PATIENCE, Reading, hedging_after, pattern, shape, until};

const CELL: u64 = 64 << 10;
const STRIPE: u64 = 6 * CELL;
const LENGTH: u64 = 12 * STRIPE;

/// A cluster with a file, and a client that would wait for its nodes for minutes.
async fn begin(threshold: Duration) -> (Cluster, Bytes, Reading) {
    let cluster = Cluster::start().await;
    let data = pattern(LENGTH as usize, 8);
    cluster.put(NAME, &data, shape(CELL as u32, 4096, 2)).await;
    let mut config = hedging_after(threshold);
    (config.silence, config.connect_timeout) = (Duration::from_secs(300), Duration::from_secs(300));
    let reading = Reading::of(NAME, cluster.nodes(), config).await;
    (cluster, data, reading)
}

/// Begins a read of the first stripe without hedging; of its requests only those to nodes with faults are left when it returns.
async fn plain_read(reading: &Reading, bad: u64) -> JoinHandle<Result<Bytes, ReadError>> {
    let reader = reading.reader.clone();
    let read =
        tokio::spawn(
            async move { reader.read_with(0, STRIPE, ReadOptions::default().mode(Mode::Off)).await },
        );
    until("the requests have begun", || reading.client.snapshot().requests == 6).await;
    until("the others have ended", || reading.client.snapshot().leases == bad).await;
    read
}

#[tokio::test]
async fn faults_that_begin_in_the_middle_of_a_stream_do_no_harm() {
    let (mut cluster, data, reading) = begin(Duration::from_millis(50)).await;
    let mut stream = reading.reader.stream(ReadOptions::default());
    let mut read = Vec::new();
    for (after, bad, fault) in [
        (STRIPE, 1, "stall"),
        (3 * STRIPE, 4, "corrupt"),
        (6 * STRIPE, 8, "not-accepted"),
        (LENGTH, 8, "stall"),
    ] {
        while (read.len() as u64) < after {
            let next = timeout(PATIENCE, stream.next_bytes()).await.expect("no wait for the nodes");
            read.extend_from_slice(&next.expect("read").expect("not the end"));
        }
        cluster.fault(bad, fault).await;
    }
    assert!(read == data);
    drop(stream);
    reading.end().await;
}

#[tokio::test]
async fn a_read_ends_when_the_fault_does() {
    for fault in ["stall", "no-answer"] {
        let (mut cluster, data, reading) = begin(Duration::from_secs(60)).await;
        let bad = reading.node_of(0, 2);
        cluster.fault(bad, fault).await;
        let read = plain_read(&reading, 1).await;
        assert!(!read.is_finished(), "{fault}");
        cluster.fault(bad, "none").await;
        let read = timeout(PATIENCE, read).await.expect("an end").expect("no panic").expect("read");
        assert!(read == data[..STRIPE as usize], "{fault}");
        reading.end().await;
    }
}

#[tokio::test]
async fn servers_that_die_in_the_middle_of_a_body_are_replaced_at_once() {
    let (mut cluster, data, reading) = begin(Duration::from_secs(60)).await;
    let bad = [reading.node_of(0, 0), reading.node_of(0, 3), reading.node_of(0, 5)];
    cluster.only(&bad, "slow-body 2 60s").await;
    let read = plain_read(&reading, 3).await;
    assert!(!read.is_finished());
    // Killed, as they are dropped.
    let mut number = 0;
    cluster.servers.retain(|_| {
        number += 1;
        !bad.contains(&(number - 1))
    });
    let read = timeout(PATIENCE, read).await.expect("an end").expect("no panic").expect("read");
    assert!(read == data[..STRIPE as usize]);
    let counted = reading.end().await;
    assert!(counted.degraded_legs >= 3, "{counted:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_request_closes_its_socket() {
    for fault in ["slow-body 2 60s", "stall", "no-answer", "not-accepted", "delay 60s"] {
        let (mut cluster, _, reading) = begin(Duration::from_secs(60)).await;
        crate::cluster::close(&reading.nodes);
        let (bad, port) = (reading.node_of(0, 2), cluster.port(reading.node_of(0, 2)));
        until("no connection", || sockets(port) == 0).await;
        cluster.fault(bad, fault).await;
        let read = plain_read(&reading, 1).await;
        until("a connection", || sockets(port) == 1).await;
        read.abort();
        until(fault, || sockets(port) == 0).await;
        until("no lease", || reading.client.snapshot().leases == 0).await;
        reading.end().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_loser_of_a_read_closes_its_socket() {
    let (mut cluster, data, reading) = begin(Duration::from_millis(50)).await;
    crate::cluster::close(&reading.nodes);
    let (bad, port) = (reading.node_of(0, 2), cluster.port(reading.node_of(0, 2)));
    until("no connection", || sockets(port) == 0).await;
    cluster.fault(bad, "stall").await;
    let read = timeout(PATIENCE, reading.reader.read_at(0, STRIPE)).await.expect("no wait").expect("read");
    assert!(read == data[..STRIPE as usize]);
    until("its socket is gone", || sockets(port) == 0).await;
    reading.end().await;
}

/// Sockets of this process that are connected, or connecting, to a port of loopback.
#[cfg(target_os = "linux")]
fn sockets(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the system's sockets");
    let remote = format!("0100007F:{port:04X}");
    // Fields: number, local, remote, state, queues, timer, retransmits, user, timeout, inode.
    let inode = |line: &str| {
        let mut fields = line.split_whitespace().skip(2);
        (fields.next() == Some(&*remote)).then(|| fields.nth(6).map(|inode| format!("socket:[{inode}]")))?
    };
    let there: Vec<String> = table.lines().filter_map(inode).collect();
    let ours = std::fs::read_dir("/proc/self/fd").expect("our files").filter_map(Result::ok);
    let ours = ours.filter_map(|file| std::fs::read_link(file.path()).ok());
    ours.filter(|link| link.to_str().is_some_and(|link| there.iter().any(|inode| inode == link))).count()
}
