//! Files that are written while nodes fail: an error that names the node, and nothing lost or half-written.

use std::path::Path;
use std::time::Duration;

use hedgerow_reader::{Existing, FileError, PutOptions, list, put};
use tokio::io::AsyncWriteExt;

use crate::cluster::{Cluster, NAME, NODES, Reading, hedging_after, label, pattern, shape, until};

const LENGTH: usize = 3_000_000;

fn options() -> PutOptions {
    let mut options = shape(64 << 10, 4096, 2);
    options.existing = Existing::Replace;
    // There is no other writer.
    options.abandoned = Duration::ZERO;
    options
}

/// Every file below a folder, from which servers may be deleting.
fn objects(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(objects(&path));
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

fn all_objects(cluster: &Cluster) -> Vec<String> {
    (0..NODES).flat_map(|node| objects(cluster.folder(node))).collect()
}

/// Waits until just the objects are left that may be: what came of a request that was dropped goes a moment later.
async fn only_left(cluster: &Cluster, what: &str, may_be: impl Fn(&String) -> bool) {
    until(&format!("{what}: nothing else is left"), || all_objects(cluster).iter().all(&may_be)).await;
}

#[tokio::test]
async fn a_put_that_fails_in_the_middle_leaves_the_file_that_was_there() {
    let mut cluster = Cluster::start().await;
    let (old, new) = (pattern(LENGTH, 9), pattern(LENGTH, 10));
    cluster.put(NAME, &old, options()).await;
    let before = all_objects(&cluster);
    for fault in ["status-503", "refuse"] {
        let nodes = cluster.nodes();
        let (mut writer, mut source) = tokio::io::duplex(64 << 10);
        let options = options();
        let putting = put(NAME, &nodes, &mut source, &options, &|_| ());
        let feeding = async {
            writer.write_all(&new[..LENGTH / 2]).await.expect("half is taken");
            cluster.fault(7, fault).await;
            writer.write_all(&new[LENGTH / 2..]).await.expect("the rest is taken");
            // Not the end of the source: a put that has not noticed would wait for ever.
            std::future::pending().await
        };
        let both = async {
            tokio::select! {
                put = putting => put,
                never = feeding => never,
            }
        };
        let error = tokio::time::timeout(Duration::from_secs(60), both).await.expect("an end");
        let error = error.expect_err(fault);
        assert!(error.to_string().contains(&label(7)), "{fault}: {error}");
        cluster.fault(7, "none").await;
        let Some(left) = left(&error) else { panic!("{fault}: {error}") };
        assert!(left.iter().all(|node| *node == label(7)), "{fault}: {error}");

        let reading = Reading::of(NAME, cluster.nodes(), hedging_after(Duration::from_secs(5))).await;
        assert!(reading.reader.read_at(0, LENGTH as u64).await.expect("read") == old, "{fault}");
        reading.end().await;
        // What could not be deleted is on the node that failed. Intents say so, and it goes with the next writer.
        let folder = cluster.folder(7).to_string_lossy().into_owned();
        let excused = |object: &String| object.starts_with(&folder) || object.ends_with("/intent.json");
        only_left(&cluster, fault, |object| before.contains(object) || excused(object)).await;
    }
    cluster.put(NAME, &new, options()).await;
    until("as many objects as before", || all_objects(&cluster).len() == before.len()).await;
    let reading = Reading::of(NAME, cluster.nodes(), hedging_after(Duration::from_secs(5))).await;
    assert!(reading.reader.read_at(0, LENGTH as u64).await.expect("read") == new);
    reading.end().await;
}

/// The nodes where something may be left.
fn left(error: &FileError) -> Option<Vec<&str>> {
    match error {
        FileError::Left { left, .. } => Some(left.iter().map(|failed| &*failed.node).collect()),
        FileError::Node { .. } => Some(Vec::new()),
        _ => None,
    }
}

#[tokio::test]
async fn a_put_to_a_node_that_is_gone_from_the_start_writes_nothing() {
    let mut cluster = Cluster::start().await;
    for fault in ["refuse", "status-503"] {
        cluster.only(&[5], fault).await;
        let nodes = cluster.nodes();
        let data = pattern(LENGTH, 11);
        let error = put(NAME, &nodes, &mut &data[..], &options(), &|_| ()).await.expect_err(fault);
        assert!(error.to_string().contains(&label(5)), "{fault}: {error}");
        only_left(&cluster, fault, |_| false).await;
    }
    cluster.only(&[], "none").await;
    let listing = list(&cluster.nodes(), "").await.expect("a list");
    assert!(listing.files.is_empty() && listing.failed.is_empty());
}
