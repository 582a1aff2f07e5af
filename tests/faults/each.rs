//! Each fault at each stage, on one node, on two, on three.

use std::time::{Duration, Instant};

use hedgerow_reader::{ClientConfig, ClientSnapshot};

use crate::cluster::{Cluster, NAME, Reading, hedging_after, pattern, shape};

const CELL: u64 = 64 << 10;
const STRIPE: u64 = 6 * CELL;
const GROUP: u64 = 2 * STRIPE;
/// Five block groups, the last one short.
const LENGTH: u64 = 4 * GROUP + STRIPE / 3 + 1;

/// How long the nodes of these tests keep silent, and how long they are waited for at most. Far apart, so that a busy machine is never
/// taken for a read that waits for its nodes.
const SILENCE: Duration = Duration::from_secs(60);
const BOUND: Duration = Duration::from_secs(10);

fn config() -> ClientConfig {
    let mut config = hedging_after(Duration::from_millis(50));
    (config.silence, config.connect_timeout) = (SILENCE, SILENCE);
    config
}

/// Ranges within cells and across cells, stripes and groups, in all groups, and the whole.
fn ranges() -> Vec<(u64, u64)> {
    let mut ranges = vec![(0, LENGTH)];
    // All but the last, which is short.
    for cell in 0..LENGTH / CELL - 1 {
        if cell % 5 == 0 {
            ranges.push((cell * CELL + 5_000, 40_000));
        }
        if cell % 7 == 0 {
            ranges.push((cell * CELL + 60_000, 2 * CELL - 60_000));
        }
    }
    ranges.push((STRIPE - 1, 2));
    ranges.push((GROUP - 70_000, 140_000));
    ranges.push((LENGTH - 1, 1));
    ranges
}

/// What must show in the counters.
#[derive(Clone, Copy)]
enum Shows {
    /// Nodes that let nothing be heard: hedges win.
    Hedges,
    /// Nodes that fail: their cells are replaced at once.
    Failures,
    /// Nodes that send wrong bytes.
    BadRecords,
}

impl Shows {
    fn check(self, counted: &ClientSnapshot, fault: &str, bad: usize) {
        let shown = match self {
            Self::Hedges => counted.governor.counters.won,
            Self::Failures => counted.degraded_legs,
            Self::BadRecords => counted.bad_records.min(counted.degraded_legs),
        };
        assert!(shown > 0, "{fault} on {bad} nodes: {counted:?}");
        assert_eq!(counted.reads_failed, 0, "{fault} on {bad} nodes");
        assert!(counted.decodes > 0, "{fault} on {bad} nodes: {counted:?}");
        if !matches!(self, Self::BadRecords) {
            assert_eq!(counted.bad_records, 0, "{fault} on {bad} nodes: {counted:?}");
        }
    }
}

/// Every read has the right bytes and does not wait for the bad nodes, be it one, two or three.
async fn reads_are_right(fault: &str, shows: Shows) {
    let mut cluster = Cluster::start().await;
    let data = pattern(LENGTH as usize, 1);
    cluster.put(NAME, &data, shape(CELL as u32, 4096, 2)).await;
    for bad in [&[4][..], &[0, 5], &[2, 3, 8]] {
        cluster.only(&[], "none").await;
        let reading = Reading::of(NAME, cluster.nodes(), config()).await;
        cluster.only(bad, fault).await;
        for (offset, length) in ranges() {
            let begun = Instant::now();
            let read = tokio::time::timeout(BOUND, reading.reader.read_at(offset, length)).await;
            let took = begun.elapsed();
            let read = read.unwrap_or_else(|_| panic!("{fault} on {bad:?}: {length} at {offset} waits"));
            let read = read.unwrap_or_else(|error| panic!("{fault} on {bad:?}: {error}"));
            let expected = &data[offset as usize..(offset + length) as usize];
            assert!(read == expected, "{fault} on {bad:?}: {length} at {offset}, wrong after {took:?}");
        }
        let counted = reading.end().await;
        shows.check(&counted, fault, bad.len());
    }
}

macro_rules! each {
    ($($promise:ident: $fault:literal shows $shows:ident;)*) => {$(
        #[tokio::test]
        async fn $promise() {
            reads_are_right($fault, Shows::$shows).await;
        }
    )*};
}

each! {
    a_slow_body_is_not_waited_for: "slow-body 10 10s" shows Hedges;
    a_stall_is_not_waited_for: "stall" shows Hedges;
    an_answer_that_never_comes_is_not_waited_for: "no-answer" shows Hedges;
    a_connection_that_is_not_accepted_is_not_waited_for: "not-accepted" shows Hedges;
    a_delay_is_not_waited_for: "delay 60s" shows Hedges;
    a_refused_connection_is_replaced: "refuse" shows Failures;
    an_error_of_a_server_is_replaced: "status-503" shows Failures;
    a_body_that_breaks_off_is_replaced: "mid-body" shows Failures;
    a_body_that_is_shorter_than_its_range_is_replaced: "lie-length -1" shows Failures;
    a_body_that_is_longer_than_its_range_is_replaced: "lie-length 1" shows Failures;
    another_range_than_asked_for_is_replaced: "lie-range" shows Failures;
    a_flipped_bit_is_found_and_replaced: "corrupt" shows BadRecords;
    bytes_of_another_object_are_found_and_replaced: "stale" shows BadRecords;
}

#[tokio::test]
async fn two_slow_nodes_in_a_read_of_all_cells_cost_a_cell_each() {
    let mut cluster = Cluster::start().await;
    let data = pattern(STRIPE as usize, 2);
    cluster.put(NAME, &data, shape(CELL as u32, 4096, 2)).await;
    // Late enough that no other node is.
    let mut config = hedging_after(Duration::from_secs(3));
    (config.silence, config.connect_timeout) = (SILENCE, SILENCE);
    let reading = Reading::of(NAME, cluster.nodes(), config).await;
    let slow = [reading.node_of(0, 1), reading.node_of(0, 4)];
    cluster.only(&slow, "stall").await;
    let read = tokio::time::timeout(BOUND, reading.reader.read_at(0, STRIPE)).await;
    assert!(read.expect("in time").expect("read") == data);
    let counted = reading.end().await;
    let governor = counted.governor.counters;
    assert_eq!((governor.granted, governor.won, counted.hedge_cells), (2, 2, 2), "{counted:?}");
    assert_eq!((counted.legs, counted.degraded_legs), (8, 0), "{counted:?}");
}
