//! Files of lengths at the edges of cells, stripes and block groups, and ranges across these edges.

use std::time::Duration;

use futures_util::StreamExt;
use hedgerow_reader::ReadError;

use crate::cluster::{Cluster, Reading, hedging_after, pattern, shape};

const CELL: u64 = 4096;
const STRIPE: u64 = 6 * CELL;
const GROUP: u64 = 2 * STRIPE;

const LENGTHS: [u64; 12] = [
    0,
    1,
    CELL - 1,
    CELL,
    CELL + 1,
    STRIPE - 1,
    STRIPE,
    STRIPE + 1,
    GROUP - 1,
    GROUP,
    GROUP + CELL + 1,
    3 * GROUP + STRIPE + 2 * CELL + 7,
];

/// Places just before, at and after each kind of edge.
fn places(length: u64) -> Vec<u64> {
    let mut places: Vec<u64> = [0, CELL, 3 * CELL, STRIPE, STRIPE + CELL, GROUP, 2 * GROUP, length]
        .into_iter()
        .flat_map(|edge| [edge.saturating_sub(1), edge, edge + 1])
        .filter(|&place| place <= length)
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn ranges(length: u64) -> Vec<(u64, u64)> {
    let places = places(length);
    let pairs = places.iter().flat_map(|&start| places.iter().map(move |&end| (start, end)));
    pairs.filter(|(start, end)| start <= end).collect()
}

/// Reads all ranges of all lengths; of each file another node has the fault.
async fn all_ranges_are_right(fault: &str, threshold: Duration, every: usize) {
    let mut cluster = Cluster::start().await;
    for (index, length) in LENGTHS.into_iter().enumerate() {
        cluster.only(&[], "none").await;
        let (name, data) = (format!("file{length}"), pattern(length as usize, length));
        let manifest = cluster.put(&name, &data, shape(CELL as u32, 1024, 2)).await;
        assert_eq!(manifest.length, length);
        let reading = Reading::of(&name, cluster.nodes(), hedging_after(threshold)).await;
        cluster.fault(index % 9, fault).await;
        let (reader, data) = (&reading.reader, &data);
        let reads = futures_util::stream::iter(ranges(length).into_iter().step_by(every));
        let reads = reads.for_each_concurrent(8, |(start, end)| async move {
            let read = reader.read_at(start, end - start).await.expect("read");
            assert!(read == data[start as usize..end as usize], "{start}..{end} of {length}");
        });
        tokio::time::timeout(Duration::from_secs(60), reads).await.expect("no read waits for the node");
        let beyond = reading.reader.read_at(length, 1).await.expect_err("beyond the end");
        assert_eq!(beyond, ReadError::Outside { range: length..length + 1, length });
        reading.end().await;
    }
}

#[tokio::test]
async fn every_range_of_every_length_is_right() {
    all_ranges_are_right("none", Duration::from_secs(5), 1).await;
}

#[tokio::test]
async fn ranges_across_all_edges_are_right_while_a_node_stalls() {
    all_ranges_are_right("stall", Duration::from_millis(20), 3).await;
}

#[tokio::test]
async fn ranges_across_all_edges_are_right_while_a_node_refuses() {
    all_ranges_are_right("refuse", Duration::from_secs(5), 3).await;
}
