//! Reads in virtual time: every fault at every stage, every edge of the layout, nothing left over.

mod world;

use std::io::SeekFrom;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hedge_core::{Mode, NodeId, Reason, Span, Threshold};
use hedgerow_codec::{Layout, Matrix};
use hedgerow_reader::{Client, ClientConfig, Failure, ReadError, ReadOptions, StripedFile, StripedReader};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::time::Instant;
use world::{Fate, Map, World, config};

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
async fn a_hedge_leaves_out_a_node_that_is_accused_until_that_is_over() {
    let mut config = config();
    (config.governor.spare, config.governor.budget) = (0, None);
    let world = World::new(GROUP, config);
    world.nodes[1].becomes(Fate::NeverAnswers);
    for (lasting, asked) in [(Duration::from_secs(900), false), (Duration::ZERO, true)] {
        assert!(world.client.accuse(NodeId(4), lasting));
        for _ in 0..9 {
            world.read(CELL + 10..CELL + 2_000).await;
        }
        assert_eq!(world.asked()[4] > 0, asked, "accused for {lasting:?}");
        assert_eq!(world.client.snapshot().governor.accused, u32::from(!asked));
    }
    assert!(!world.client.accuse(NodeId(9), Duration::from_secs(900)), "nine nodes, from 0 on");
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_cell_is_rebuilt_at_once() {
    let fates = [
        Fate::Fails(Failure::Missing),
        Fate::Fails(Failure::Corrupt),
        Fate::FlipsABit,
        Fate::Stops,
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

#[tokio::test(start_paused = true)]
async fn bytes_beyond_the_range_are_ignored_and_the_read_is_right() {
    let world = World::new(GROUP, config());
    world.nodes[2].becomes(Fate::Overflows);
    world.read(2 * CELL + 5..3 * CELL - 5).await;
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_stale_block_of_the_same_length_is_never_passed_on() {
    let world = World::new(2 * GROUP, config());
    // The same cell of the other group lies on the next node.
    let other = world.nodes[1].objects.lock().unwrap()["g1.c0"].clone();
    world.nodes[0].objects.lock().unwrap().insert("g0.c0".to_owned(), other);
    world.read(0..CELL).await;
    let snapshot = world.client.snapshot();
    assert_eq!((snapshot.bad_records, snapshot.degraded_legs), (1, 6));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn bands_that_touch_in_one_block_are_one_request() {
    let world = World::new(GROUP, config());
    // From the middle of cell 1 to the middle of cell 1 of the next stripe: three bands, two legs of cell 1 that touch.
    world.read(CELL + 2_000..STRIPE + CELL + 2_000).await;
    assert_eq!(world.asked(), [1, 1, 1, 1, 1, 1, 0, 0, 0]);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_than_allowed_are_under_way_and_waiting_blames_nobody() {
    let mut config = config();
    (config.requests, config.requests_per_node) = (5, 2);
    let world = World::new(GROUP, config);
    for node in &world.nodes {
        // Together far longer than the threshold, alone far shorter.
        node.becomes(Fate::After(30));
    }
    let reads = (0..40).map(|i| world.read(i % 6 * CELL..(i % 6 + 1) * CELL));
    futures_util::future::join_all(reads).await;
    let busiest: Vec<u64> = world.nodes.iter().map(|node| node.busiest.load(Ordering::SeqCst)).collect();
    assert!(busiest.iter().all(|&busiest| busiest <= 2), "{busiest:?}");
    let counters = world.client.snapshot().governor.counters;
    assert_eq!((counters.granted, counters.refused_in_all()), (0, 0));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_has_its_nodes_turn_until_it_has_really_stopped_and_others_read_around_it() {
    let mut config = config();
    (config.requests_per_node, config.requests) = (1, 9);
    let world = World::new(GROUP, config);
    world.nodes[0].becomes(Fate::Clings(500));
    let begun = Instant::now();
    world.read(0..10).await;
    world.nodes[0].becomes(Fate::After(1));
    assert_eq!((world.client.snapshot().leases, world.asked()[0]), (1, 1));
    // Nobody asks the node while its only turn is taken, and nobody waits for it.
    for _ in 0..20 {
        let before = Instant::now();
        world.read(0..10).await;
        assert!(before.elapsed() < Duration::from_millis(10));
    }
    assert_eq!(world.asked()[0], 1);
    tokio::time::sleep_until(begun + Duration::from_millis(501)).await;
    world.read(0..10).await;
    assert_eq!((world.client.snapshot().leases, world.asked()[0]), (0, 2));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_that_waits_for_a_turn_of_a_node_that_hangs_is_rebuilt_when_its_patience_is_over() {
    let mut config = config();
    config.requests_per_node = 1;
    let world = World::new(GROUP, config);
    world.nodes[0].becomes(Fate::Clings(1_000_000));
    // The second is in the queue before anybody knows that the first will hang.
    let begun = Instant::now();
    tokio::join!(world.read(0..10), world.read(0..10));
    assert!(begun.elapsed() < Duration::from_millis(2_100), "{:?}", begun.elapsed());
    let counters = world.client.snapshot();
    assert_eq!((counters.reads_failed, counters.leases), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_holds_no_more_memory_than_its_own() {
    let world = World::new(GROUP, config());
    world.nodes[0].becomes(Fate::Clings(500));
    world.read(0..STRIPE).await;
    let snapshot = world.client.snapshot();
    assert_eq!((snapshot.leases, snapshot.memory), (1, 8192));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_cell_on_a_node_that_the_client_does_not_have_is_rebuilt_or_named() {
    for (strangers, lost) in [(1, false), (4, true)] {
        let world = World::new(GROUP, config());
        let mut nodes: Vec<_> = (0..9).map(|index| Some(NodeId(index))).collect();
        for (index, node) in nodes.iter_mut().take(strangers).enumerate() {
            *node = Some(NodeId(500 + index as u32));
        }
        let file = StripedFile {
            name: "file".to_owned(),
            layout: world.layout,
            matrix: Matrix::Cauchy,
            length: GROUP as u64,
            cells: Arc::new(Map { nodes, record: Some(1024) }),
        };
        let reader = StripedReader::new(&world.client, file).unwrap();
        match reader.read_at(0, 10).await {
            Ok(bytes) => assert!(!lost && bytes == world.data[..10]),
            Err(error) => assert!(lost && error.to_string().contains("not one of the client's"), "{error}"),
        }
        world.assert_at_rest().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_reads_that_have_begun_and_ends_streams_that_nobody_reads() {
    let mut config = config();
    config.window_stripes = 1;
    let world = World::new(8 * GROUP, config);
    for node in &world.nodes {
        node.becomes(Fate::After(40));
    }
    let mut stream = world.reader.stream(ReadOptions::default());
    stream.read_exact(&mut [0; 10]).await.unwrap();
    let read = async {
        world.read(0..8 * GROUP).await;
        Instant::now()
    };
    let shutdown = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        world.client.shutdown().await;
        Instant::now()
    };
    let (read_ended, shut) = tokio::join!(read, shutdown);
    assert!(shut >= read_ended);
    let mut rest = Vec::new();
    assert!(stream.read_to_end(&mut rest).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn reads_wait_for_memory_in_turn_and_hedges_only_try() {
    let mut config = config();
    // Room for the cells of a few reads at a time.
    (config.memory, config.reserve) = (1 << 20, 1 << 20);
    let world = World::new(GROUP, config);
    world.nodes[0].becomes(Fate::NeverAnswers);
    // Each read of cell 0 holds two pages at least: these take all there is, and no hedge finds room.
    let reads = (0..200).map(|_| world.read(0..CELL));
    futures_util::future::join_all(reads).await;
    let snapshot = world.client.snapshot();
    assert!(snapshot.governor.counters.refused_for(Reason::Memory) > 0, "{snapshot:?}");
    assert_eq!(snapshot.reads_failed, 0);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_that_needs_more_memory_than_there_is_says_how_much() {
    let mut config = config();
    (config.memory, config.reserve) = (1 << 20, 1 << 20);
    let world = World::new(10, config.clone());
    let layout = Layout::new(50, 14, 64 << 10, 1).unwrap();
    let map = Map { nodes: vec![None; 64], record: Some(64 << 10) };
    let file = StripedFile {
        name: "wide".to_owned(),
        layout,
        matrix: Matrix::Cauchy,
        length: 1 << 20,
        cells: Arc::new(map),
    };
    let reader = StripedReader::new(&world.client, file).unwrap();
    let error = reader.read_at(0, 1).await.unwrap_err();
    assert!(matches!(error, ReadError::Memory { needed, most: 1_048_576 } if needed > 1 << 20), "{error}");
}

#[tokio::test(start_paused = true)]
async fn long_reads_go_in_windows_that_fit_the_memory() {
    let mut config = config();
    (config.memory, config.reserve) = (1 << 20, 1 << 20);
    config.window_stripes = 1_000;
    let world = World::new(30 * GROUP + 77, config);
    world.read(0..30 * GROUP + 77).await;
    world.nodes[3].becomes(Fate::NeverAnswers);
    world.read(5..30 * GROUP + 70).await;
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn failed_legs_are_replaced_also_when_all_memory_is_taken() {
    let mut config = config();
    (config.memory, config.reserve) = (1 << 20, 1 << 20);
    let world = World::new(GROUP, config);
    world.nodes[0].becomes(Fate::Fails(Failure::Missing));
    world.nodes[5].becomes(Fate::Breaks(Failure::Corrupt));
    let reads = (0..300).map(|i| world.read(i % 6 * CELL..(i % 6 + 1) * CELL));
    futures_util::future::join_all(reads).await;
    assert_eq!(world.client.snapshot().reads_failed, 0);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_read_that_nothing_else_ends() {
    let world = World::new(GROUP, config());
    for node in &world.nodes {
        node.becomes(Fate::Trickles(1_500));
    }
    let begun = Instant::now();
    let options = ReadOptions::default().deadline(Duration::from_secs(3));
    let error = world.reader.read_with(0, STRIPE as u64, options).await.unwrap_err();
    assert_eq!(error.to_string(), "file: not read within 3s");
    assert!(begun.elapsed() < Duration::from_millis(3_010));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_refuses_new_reads() {
    let world = World::new(GROUP, config());
    world.assert_at_rest().await;
    assert_eq!(world.reader.read_at(0, 1).await, Err(ReadError::Closed));
}

#[tokio::test(start_paused = true)]
async fn ranges_beyond_the_end_are_refused_with_the_numbers() {
    let world = World::new(100, config());
    for (offset, length) in [(0, 101), (100, 1), (101, 0), (u64::MAX, 2)] {
        let error = world.reader.read_at(offset, length).await.unwrap_err();
        assert!(matches!(error, ReadError::Outside { length: 100, .. }), "{error}");
    }
    assert_eq!(world.reader.read_at(100, 0).await.unwrap(), "");
    assert!(world.reader.read_ranges(&[0..1, 99..101]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn many_ranges_come_back_in_their_order() {
    let world = World::new(2 * GROUP, config());
    let ranges = [GROUP as u64..GROUP as u64 + 9, 0..1, 7..7, 5_000..40_000, 0..3];
    let parts = world.reader.read_ranges(&ranges).await.unwrap();
    for (range, part) in ranges.iter().zip(parts) {
        assert_eq!(part, world.data[range.start as usize..range.end as usize]);
    }
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_reads_seeks_and_ends_as_a_file_does() {
    let world = World::new(3 * GROUP + 11, config());
    let mut stream = world.reader.stream(ReadOptions::default());
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    assert!(all == world.data);
    for (to, at) in [
        (SeekFrom::Start(5), 5),
        (SeekFrom::Current(1_000), 1_006),
        (SeekFrom::Current(-6), 1_001),
        (SeekFrom::End(-3), all.len() - 3),
        (SeekFrom::Start(GROUP as u64), GROUP),
    ] {
        assert_eq!(stream.seek(to).await.unwrap(), at as u64);
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte[0], world.data[at]);
    }
    stream.seek(SeekFrom::End(10)).await.unwrap();
    assert_eq!(stream.read(&mut [0; 4]).await.unwrap(), 0);
    assert!(stream.seek(SeekFrom::Current(i64::MIN)).await.is_err());
    drop(stream);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_consumer_of_a_stream_blames_no_node_and_holds_a_few_windows() {
    let mut config = config();
    config.window_stripes = 1;
    let world = World::new(8 * GROUP, config);
    let mut stream = world.reader.stream(ReadOptions::default());
    let mut part = vec![0; STRIPE / 2];
    for index in 0..20 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        stream.read_exact(&mut part).await.unwrap();
        let at = index * part.len();
        assert!(part == world.data[at..at + part.len()]);
        let ahead = world.asked().iter().sum::<u64>() / 6 - index as u64 / 2;
        assert!(ahead <= 4, "{ahead} windows ahead");
    }
    let counters = world.client.snapshot().governor.counters;
    assert_eq!((counters.granted, counters.refused_in_all()), (0, 0));
    drop(stream);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_the_error_of_its_window_and_goes_on_after_a_seek() {
    let world = World::new(GROUP, config());
    for node in 0..4 {
        world.nodes[node].becomes(Fate::Fails(Failure::Missing));
    }
    let mut stream = world.reader.stream(ReadOptions::default());
    let error = stream.read(&mut [0; 4]).await.unwrap_err();
    assert!(error.to_string().contains("cell 3 on node3: missing"), "{error}");
    for node in 0..4 {
        world.nodes[node].becomes(Fate::After(1));
    }
    stream.seek(SeekFrom::Start(1)).await.unwrap();
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(bytes, world.data[1..5]);
    drop(stream);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn bare_cells_without_records_are_read_too() {
    let world = World::with(2 * GROUP + 5, config(), None, 9);
    world.nodes[0].becomes(Fate::NeverAnswers);
    world.read(0..2 * GROUP + 5).await;
    world.read(GROUP - 1..GROUP + 1).await;
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn decodes_are_checked_back_as_often_as_asked() {
    let mut config = config();
    config.check_decodes = 2;
    let world = World::new(GROUP, config);
    world.nodes[0].becomes(Fate::Fails(Failure::Missing));
    world.nodes[4].becomes(Fate::Fails(Failure::Missing));
    for _ in 0..6 {
        world.read(0..STRIPE).await;
    }
    let snapshot = world.client.snapshot();
    assert_eq!((snapshot.decodes, snapshot.decodes_checked, snapshot.decodes_wrong), (6, 3, 0));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn an_eager_read_of_a_cell_takes_the_first_that_can_be_had() {
    let world = World::new(GROUP, config());
    for _ in 0..300 {
        world.read(0..10).await;
    }
    world.nodes[0].becomes(Fate::After(40));
    let begun = Instant::now();
    let options = ReadOptions::default().mode(Mode::Eager(1));
    let bytes = world.reader.read_with(0, 10, options).await.unwrap();
    assert_eq!(bytes, world.data[..10]);
    assert!(begun.elapsed() <= Duration::from_millis(40));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn timers_that_the_runtime_cannot_keep_are_refused_by_name() {
    let error = |change: fn(&mut ClientConfig)| {
        let mut config = config();
        change(&mut config);
        Client::new(config).unwrap_err().to_string()
    };
    let told = error(|config| config.governor.threshold = Threshold::Fixed(Span::from_micros(1_999)));
    assert!(told.starts_with("threshold is 1.999ms"), "{told}");
    let told = error(|config| config.governor.stall = Some(Span::from_millis(1)));
    assert!(told.starts_with("stall is 1ms"), "{told}");
    let told = error(|config| config.silence = Duration::from_micros(10));
    assert!(told.starts_with("silence is 10µs"), "{told}");
    let told = error(|config| config.requests = 0);
    assert_eq!(told, "requests is 0: it must be at least 1");
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_fires_late_because_the_runtime_was_busy_blames_nobody() {
    let world = World::new(GROUP, config());
    world.nodes[0].becomes(Fate::After(60));
    let busy = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        // As if one long computation had kept the runtime from everything.
        tokio::time::advance(Duration::from_millis(500)).await;
    };
    tokio::join!(world.read(0..10), busy);
    let snapshot = world.client.snapshot();
    let counters = snapshot.governor.counters;
    assert_eq!((counters.granted, counters.refused_in_all()), (0, 0));
    // A node that is late by its own doing is found out after the pause as before.
    world.nodes[0].becomes(Fate::NeverAnswers);
    let again = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        tokio::time::advance(Duration::from_millis(500)).await;
    };
    tokio::join!(world.read(0..10), again);
    let snapshot = world.client.snapshot();
    assert_eq!((snapshot.governor.counters.won, snapshot.late_timers), (1, 1));
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn the_governor_hears_of_every_read_and_of_each_leg_once() {
    let world = World::new(GROUP, config());
    for index in 0..1_000 {
        world.read(index % 6 * CELL..(index % 6 + 1) * CELL).await;
    }
    let snapshot = world.client.snapshot();
    assert_eq!((snapshot.governor.counters.reads, snapshot.governor.counters.cells_read), (1_000, 1_000));
    assert_eq!((snapshot.reads, snapshot.legs, snapshot.requests), (1_000, 1_000, 1_000));
    assert_eq!(snapshot.bytes, 1_000 * CELL as u64);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_demoted_node_is_read_around_and_comes_back() {
    let mut config = config();
    config.governor = hedge_core::Config::default();
    let world = World::new(GROUP, config);
    world.nodes[0].becomes(Fate::NeverAnswers);
    // Other reads show what is usual while reads of the dead node are hedged, until nobody waits for it any more.
    for index in 0..6_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        world.read(index % 6 * CELL..(index % 6 + 1) * CELL).await;
    }
    let snapshot = world.client.snapshot();
    assert!(snapshot.governor.demoted == 1 && snapshot.governor.counters.reads_around > 0, "{snapshot:?}");
    world.nodes[0].becomes(Fate::After(1));
    let mut reads = 0;
    while world.client.snapshot().governor.demoted > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        world.read(0..CELL).await;
        reads += 1;
        assert!(reads < 1_000_000);
    }
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn errors_first_and_hedges_later() {
    let world = World::new(GROUP, config());
    for node in &world.nodes {
        node.becomes(Fate::Fails(Failure::Refused));
    }
    for _ in 0..100 {
        assert!(world.reader.read_at(0, 10).await.is_err());
    }
    for node in &world.nodes {
        node.becomes(Fate::After(1));
    }
    world.nodes[0].becomes(Fate::NeverAnswers);
    world.read(0..10).await;
    assert_eq!(world.client.snapshot().governor.counters.won, 1);
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconfiguration_acts_on_the_next_read() {
    let world = World::new(GROUP, config());
    world.nodes[0].becomes(Fate::After(40));
    world.read(0..10).await;
    let mut governor = world.client.governor_config();
    governor.threshold = Threshold::Fixed(Span::from_millis(10));
    world.client.reconfigure(governor).unwrap();
    let begun = Instant::now();
    world.read(0..10).await;
    assert!(begun.elapsed() < Duration::from_millis(20));
    governor.threshold = Threshold::Fixed(Span::from_millis(1));
    assert!(world.client.reconfigure(governor).is_err());
    world.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_stays_busy_puts_a_hedge_off_once_and_not_for_ever() {
    let world = World::new(GROUP, config());
    world.nodes[0].becomes(Fate::NeverAnswers);
    let begun = Instant::now();
    let busy = async {
        loop {
            tokio::time::advance(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = world.read(0..10) => {}
        () = busy => {}
    }
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    assert_eq!(world.client.snapshot().governor.counters.won, 1);
    world.assert_at_rest().await;
}
