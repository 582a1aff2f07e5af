//! Reads in virtual time: every fault at every stage, every edge of the layout, nothing left over.

mod world;

use std::time::Duration;

use hedge_core::Mode;
use hedgerow_reader::{Failure, ReadError, ReadOptions};
use tokio::time::Instant;
use world::{Fate, World, config};

const CELL: usize = 4096;
const STRIPE: usize = 6 * CELL;
const GROUP: usize = 3 * STRIPE;

#[tokio::test(start_paused = true)]
async fn every_range_across_every_edge_reads_as_written() {
    for length in [1, CELL, CELL + 1, STRIPE - 1, STRIPE, GROUP, 2 * GROUP + STRIPE + 5] {
        let world = World::new(length, config());
        let near = |edge: usize| [edge.saturating_sub(1), edge, edge + 1];
        let mut edges: Vec<usize> =
            [0, 1024, CELL, 2 * CELL, STRIPE, GROUP, 2 * GROUP, length].into_iter().flat_map(near).collect();
        edges.retain(|&edge| edge <= length);
        edges.sort_unstable();
        edges.dedup();
        for &start in &edges {
            for &end in edges.iter().filter(|&&end| end >= start) {
                world.read(start..end).await;
            }
        }
        world.assert_at_rest().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_of_a_slow_node_ends_soon_after_the_threshold_whatever_the_node_does() {
    let fates = [
        Fate::After(5_000),
        Fate::Stalls,
        Fate::NeverAnswers,
        Fate::NeverConnects,
        Fate::Trickles(30),
        Fate::Clings(10_000),
    ];
    for fate in fates {
        let world = World::new(GROUP, config());
        world.nodes[1].becomes(fate);
        let begun = Instant::now();
        world.read(CELL + 10..CELL + 2_000).await;
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(50) && took < Duration::from_millis(60), "{fate:?}: {took:?}");
        assert_eq!(world.client.snapshot().governor.counters.won, 1, "{fate:?}");
        world.assert_at_rest().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_cell_is_rebuilt_at_once() {
    let fates = [
        Fate::Fails(Failure::Missing),
        Fate::Fails(Failure::Corrupt),
        Fate::FlipsABit,
        Fate::Stops,
        Fate::Overflows,
        Fate::Breaks(Failure::Corrupt),
        Fate::Fails(Failure::Refused),
        Fate::Fails(Failure::Unreachable),
        Fate::Breaks(Failure::Unreachable),
    ];
    for fate in fates {
        let world = World::new(GROUP, config());
        world.nodes[2].becomes(fate);
        let begun = Instant::now();
        world.read(2 * CELL..3 * CELL).await;
        assert!(begun.elapsed() < Duration::from_millis(10), "{fate:?}: {:?}", begun.elapsed());
        let snapshot = world.client.snapshot();
        assert_eq!((snapshot.governor.counters.granted, snapshot.degraded_legs), (0, 6), "{fate:?}");
        world.assert_at_rest().await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_slow_nodes_in_a_read_of_all_cells_are_both_rebuilt() {
    let world = World::new(GROUP, config());
    world.nodes[0].becomes(Fate::NeverAnswers);
    world.nodes[4].becomes(Fate::Stalls);
    let begun = Instant::now();
    world.read(0..STRIPE).await;
    assert!(begun.elapsed() < Duration::from_millis(60));
    assert_eq!(world.client.snapshot().governor.counters.won, 2);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn four_nodes_gone_are_named_with_what_is_wrong_with_each() {
    let world = World::new(GROUP, config());
    for (node, failure) in
        [(0, Failure::Refused), (1, Failure::Missing), (5, Failure::Unreachable), (8, Failure::Corrupt)]
    {
        world.nodes[node].becomes(Fate::Fails(failure));
    }
    let error = world.reader.read_at(0, 100).await.unwrap_err();
    let text = error.to_string();
    for part in [
        "cell 0 on node0: refused",
        "cell 1 on node1: missing",
        "cell 5 on node5: unreachable",
        "5 of the 6 cells",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(matches!(error, ReadError::Lost { found: 5, needed: 6, .. }), "{error:?}");
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn without_hedging_a_silent_node_is_given_up_when_its_patience_is_over() {
    let world = World::new(GROUP, config());
    world.nodes[0].becomes(Fate::NeverAnswers);
    let begun = Instant::now();
    let bytes = world.reader.read_with(0, 10, ReadOptions::default().mode(Mode::Off)).await.unwrap();
    assert_eq!(bytes, world.data[..10]);
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_millis(4_100), "{took:?}");
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_read_leaves_nothing_behind() {
    for fate in [Fate::NeverAnswers, Fate::NeverConnects, Fate::Clings(3_000)] {
        let world = World::new(GROUP, config());
        world.nodes[0].becomes(fate);
        for _ in 0..10 {
            let read = world.reader.read_at(0, 10);
            assert!(tokio::time::timeout(Duration::from_millis(20), read).await.is_err());
        }
        world.assert_at_rest().await;
    }
}
