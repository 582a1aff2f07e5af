//! More nodes gone than there are parity cells: a clear error, soon, that names each.

use std::time::Duration;

use hedgerow_reader::{Failure, ReadError};

use crate::cluster::{Cluster, NAME, Reading, hedging_after, label, pattern, shape};

const CELL: u64 = 64 << 10;
const STRIPE: u64 = 6 * CELL;

/// Reads a stripe whose cells lie on the nodes in their order, and must not get it.
async fn lost(reading: &Reading) -> (ReadError, Vec<(String, Failure)>) {
    let read = tokio::time::timeout(Duration::from_secs(20), reading.reader.read_at(0, STRIPE)).await;
    let error = read.expect("an end").expect_err("too few cells");
    let ReadError::Lost { file, group, found, needed, lost, .. } = &error else { panic!("{error:?}") };
    assert_eq!((&**file, *group, *found, *needed), (NAME, 0, 5, 6), "{error}");
    let mut named = Vec::new();
    for cell in lost {
        let node = cell.node.clone().expect("a node");
        assert_eq!(node, label(reading.node_of(0, cell.cell)));
        assert!(error.to_string().contains(&format!("cell {} on {node}: ", cell.cell)), "{error}");
        named.push((node, cell.failure));
    }
    named.sort_by(|a, b| a.0.cmp(&b.0));
    (error, named)
}

#[tokio::test]
async fn four_of_nine_gone_are_named() {
    let mut cluster = Cluster::start().await;
    let data = pattern(STRIPE as usize, 3);
    cluster.put(NAME, &data, shape(CELL as u32, 4096, 2)).await;
    let reading = Reading::of(NAME, cluster.nodes(), hedging_after(Duration::from_secs(1))).await;
    cluster.only(&[0, 3, 6, 7], "refuse").await;
    let (_, named) = lost(&reading).await;
    assert_eq!(named, [0, 3, 6, 7].map(|node| (label(node), Failure::Refused)));
    // With one of them back the file is whole again.
    cluster.fault(3, "none").await;
    assert!(reading.reader.read_at(0, STRIPE).await.expect("read") == data);
    reading.end().await;
}

#[tokio::test]
async fn four_nodes_that_fail_each_in_its_way_are_named_with_their_reasons() {
    let mut cluster = Cluster::start().await;
    let data = pattern(STRIPE as usize, 4);
    let manifest = cluster.put(NAME, &data, shape(CELL as u32, 4096, 2)).await;
    let mut config = hedging_after(Duration::from_secs(1));
    // Longer than any node needs that does not stall.
    config.silence = Duration::from_secs(5);
    let reading = Reading::of(NAME, cluster.nodes(), config).await;
    let object = cluster.folder(1).join(manifest.object(NAME, 0, 1));
    assert_eq!(reading.node_of(0, 1), 1);
    std::fs::remove_file(object).expect("an object less");
    cluster.fault(2, "corrupt").await;
    cluster.fault(4, "stall").await;
    cluster.fault(8, "status-503").await;
    let (error, named) = lost(&reading).await;
    let expected =
        [(1, Failure::Missing), (2, Failure::Corrupt), (4, Failure::TimedOut), (8, Failure::Refused)];
    assert_eq!(named, expected.map(|(node, failure)| (label(node), failure)), "{error}");
    for reason in ["503", "nothing came for 5s", "missing", "checksum"] {
        assert!(error.to_string().contains(reason), "no {reason} in: {error}");
    }
    reading.end().await;
}

#[tokio::test]
async fn four_liars_are_named_and_never_believed() {
    let mut cluster = Cluster::start().await;
    let data = pattern(STRIPE as usize, 5);
    cluster.put(NAME, &data, shape(CELL as u32, 4096, 2)).await;
    let reading = Reading::of(NAME, cluster.nodes(), hedging_after(Duration::from_secs(1))).await;
    for (node, fault) in [(0, "lie-length -1"), (1, "lie-length 1"), (2, "lie-range"), (3, "stale")] {
        cluster.fault(node, fault).await;
    }
    let (error, named) = lost(&reading).await;
    let expected =
        [(0, Failure::TooShort), (1, Failure::TooLong), (2, Failure::Corrupt), (3, Failure::Corrupt)];
    assert_eq!(named, expected.map(|(node, failure)| (label(node), failure)), "{error}");
    reading.end().await;
}
