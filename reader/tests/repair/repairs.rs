//! What a repair puts right, what it leaves, and what it never does.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use hedgerow_reader::{
    Existing, Fault, FileError, FileId, Manifest, PutOptions, RepairError, RepairOptions, Repaired,
};
use proptest::collection::vec;
use proptest::prelude::*;
use tokio::time::Instant;

use crate::world::{Mood, NAME, SMALL, Shape, Watch, World, content, kind, layout, said, seal};

/// Repairs, and asserts that everything is as it was written, at the next generation, and that a second repair finds nothing.
async fn repaired(world: &mut World) -> Repaired {
    let done = world.repair().await;
    let manifest = Manifest { generation: world.manifest.generation + 1, ..world.manifest.clone() };
    assert_eq!(done.manifest.as_ref(), Some(&manifest), "{done:?}");
    assert!(done.unrepaired.is_empty() && done.lost.is_empty() && done.left.is_empty(), "{done:?}");
    world.assert_whole(&manifest);
    world.manifest = manifest;
    let again = world.repair().await;
    assert!(again.findings.is_empty() && again.manifest.is_none() && again.objects == 0, "{again:?}");
    done
}

#[tokio::test]
async fn what_is_whole_is_not_touched() {
    for length in [0, 1, Shape::short().length] {
        let world = World::new(Shape { length, ..SMALL }, 1);
        let done = world.repair().await;
        assert!(done.findings.is_empty() && done.manifest.is_none(), "{done:?}");
        assert_eq!(world.everything(), world.written);
        assert_eq!(Watch::get(&world.watch.puts), 0);
    }
}

#[tokio::test]
async fn each_missing_cell_comes_back_as_it_was_written() {
    for group in 0..3 {
        for cell in 0..9 {
            let mut world = World::new(Shape::short(), 0);
            if world.manifest.block_length(group, cell) == 0 {
                continue;
            }
            world.remove(group, cell);
            let done = repaired(&mut world).await;
            assert_eq!((done.objects, done.bytes), (1, world.manifest.object_length(group, cell)));
            assert_eq!(done.findings.len(), 1);
        }
    }
}

#[tokio::test]
async fn damage_of_every_kind_is_put_right() {
    type Tamper = fn(&World);
    let kinds: [Tamper; 10] = [
        |world| world.tamper(2, 0, |object| object.truncate(1027)),
        |world| world.tamper(2, 0, Vec::clear),
        |world| world.tamper(0, 8, |object| object.push(7)),
        |world| world.tamper(1, 3, |object| object[4000] ^= 0x10),
        |world| world.tamper(2, 2, |object| *object.last_mut().unwrap() ^= 1),
        |world| {
            let stale = Manifest { id: FileId([9; 16]), ..world.manifest.clone() };
            world.insert(1, 2, seal(&stale, 1, 2, &[5; 6144]));
        },
        |world| {
            let (a, b) = (world.object(1, 5), world.object(1, 6));
            world.insert(1, 5, b);
            world.insert(1, 6, a);
        },
        |world| world.forge(0, 4, |block| block[5000] ^= 1),
        |world| world.forge(2, 7, |block| block[0] ^= 1),
        |world| world.stores[3].inner.objects().clear(),
    ];
    for (index, tamper) in kinds.into_iter().enumerate() {
        let mut world = World::new(Shape::short(), 0);
        tamper(&world);
        let done = repaired(&mut world).await;
        assert!(!done.findings.is_empty(), "{index}");
    }
}

#[tokio::test]
async fn as_many_cells_as_there_is_parity_come_back_in_every_combination() {
    let short = Shape { length: 12288 + 2 * 2048 + 1500, ..SMALL };
    for mask in 1_u16..1 << 9 {
        if !(2..=3).contains(&mask.count_ones()) {
            continue;
        }
        let mut world = World::new(short, 0);
        for cell in (0..9).filter(|cell| mask >> cell & 1 == 1) {
            match cell % 3 {
                0 => world.remove(0, cell),
                1 => world.tamper(0, cell, |object| object.iter_mut().for_each(|byte| *byte = 0)),
                _ => world.tamper(0, cell, |object| object.truncate(1100)),
            }
        }
        repaired(&mut world).await;
    }
}

#[tokio::test]
async fn damage_in_different_places_of_more_cells_than_there_is_parity_is_put_right() {
    let mut world = World::new(Shape { length: 36864, ..SMALL }, 0);
    for cell in 0..9 {
        let record = usize::from(cell) / 3;
        world.tamper(0, cell, |object| object[1028 * record + 3] ^= 1);
    }
    world.tamper(0, 0, |object| object.truncate(1028 * 5 + 1));
    let done = repaired(&mut world).await;
    assert_eq!(done.objects, 9);
}

#[tokio::test]
async fn a_lost_group_is_named_and_not_touched_and_the_others_are_repaired() {
    let world = World::new(Shape { length: 36864, ..SMALL }, 0);
    for cell in [0, 3, 6, 7] {
        world.remove(0, cell);
    }
    let before = world.everything();
    let done = world.repair().await;
    assert_eq!((done.lost, done.objects, done.manifest), (vec![0], 0, None));
    assert_eq!(said(&done.unrepaired), said(&done.findings));
    assert_eq!(done.findings.len(), 4);
    assert_eq!(world.everything(), before);

    let world = World::new(Shape::short(), 0);
    for cell in [0, 3, 6, 7] {
        world.remove(1, cell);
    }
    world.remove(2, 0);
    let done = world.repair().await;
    assert_eq!((done.lost, done.objects), (vec![1], 1));
    assert_eq!(done.unrepaired.len(), 4);
    assert_eq!(done.manifest.unwrap().generation, 5);
    assert_eq!(world.verify().await.lost, [1]);
    assert_eq!(world.object(2, 0), world.written[2][&world.manifest.object(NAME, 2, 0)]);
}

#[tokio::test]
async fn cells_of_which_nobody_can_tell_which_are_wrong_are_not_written() {
    let world = World::new(Shape { length: 36864, ..SMALL }, 0);
    world.forge(0, 6, |block| block[0] ^= 1);
    world.forge(0, 1, |block| block[0] ^= 1);
    world.remove(0, 3);
    let before = world.everything();
    let done = world.repair().await;
    assert!(done.unrepaired.iter().any(|finding| matches!(finding.fault, Fault::Disputed { stripe: 0 })));
    assert_eq!((done.objects, done.manifest, done.lost), (0, None, vec![]));
    assert_eq!(world.everything(), before);
}

#[tokio::test]
async fn copies_of_the_manifest_are_put_right() {
    let mut world = World::new(Shape::short(), 0);
    world.stores[0].inner.objects().remove("folder/file/manifest.json");
    world.put_manifest(1, &Manifest { generation: 3, ..world.manifest.clone() }, 1);
    world.stores[2].inner.objects().insert("folder/file/manifest.json".into(), "{}".into());
    world.put_manifest(3, &world.manifest, 4);
    let done = repaired(&mut world).await;
    assert_eq!((done.objects, done.findings.len()), (0, 4));
}

#[tokio::test]
async fn a_manifest_that_was_never_committed_is_overruled_and_one_that_may_have_been_is_not() {
    let mut world = World::new(Shape::short(), 0);
    let rival = Manifest { id: FileId([9; 16]), generation: 5, ..world.manifest.clone() };
    world.put_manifest(0, &rival, 0);
    let done = world.repair().await;
    let manifest = Manifest { generation: 6, ..world.manifest.clone() };
    assert_eq!(done.manifest.as_ref(), Some(&manifest));
    world.assert_whole(&manifest);

    world.manifest = manifest;
    let rival = Manifest { generation: 7, ..rival };
    for node in 0..5 {
        world.put_manifest(node, &rival, node);
    }
    world.set(8, Mood::Away);
    let before = world.everything();
    let refused = world.repair_leaving(&[]).await;
    assert!(matches!(refused, Err(FileError::Changed { generation: 7, .. })), "{refused:?}");
    assert_eq!(world.everything(), before);
}

#[tokio::test]
async fn a_copy_with_a_made_up_generation_is_put_right_and_not_followed() {
    for generation in [1 << 63, (1 << 63) - 1, 1 << 40] {
        let mut world = World::new(Shape::short(), 0);
        world.put_manifest(0, &Manifest { generation, ..world.manifest.clone() }, 0);
        let done = repaired(&mut world).await;
        assert_eq!((done.objects, done.findings.len()), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_repair_has_moved_stays_where_another_writer_takes_over() {
    let world = World::new(Shape::short(), 1);
    world.remove(0, 0);
    let taken = std::sync::atomic::AtomicBool::new(false);
    let mut options = RepairOptions::default();
    options.leave = vec!["node-7".to_owned()];
    let moved = |world: &World| {
        let objects = world.stores[9].inner.objects();
        objects.keys().filter(|object| !object.ends_with(".json")).count()
    };
    // As soon as something has moved, the intent is another's.
    let tell = |_| {
        if moved(&world) > 0 && !taken.swap(true, std::sync::atomic::Ordering::Relaxed) {
            for store in &world.stores {
                store.inner.objects().remove("folder/file/intent.json");
            }
        }
    };
    let failed = hedgerow_reader::repair(&world.opened(), &world.nodes, &options, &tell).await;
    assert!(matches!(failed, Err(FileError::TakenOver { .. })), "{failed:?}");
    assert!(moved(&world) > 0);
}

#[tokio::test]
async fn what_a_node_that_can_not_be_reached_has_is_reported_and_the_rest_is_repaired() {
    let world = World::new(Shape::short(), 1);
    world.set(1, Mood::Away);
    world.remove(0, 3);
    let done = world.repair().await;
    assert_eq!(done.objects, 1);
    // Its copy of the manifest, and its cells: 1 of group 0, 0 of group 1, 8 of group 2.
    assert_eq!(done.unrepaired.len(), 4);
    assert!(done.unrepaired.iter().all(|finding| finding.node == "node-1"));
    assert_eq!(done.manifest.unwrap().nodes, world.manifest.nodes);
    assert_eq!(world.object(0, 3), world.written[3][&world.manifest.object(NAME, 0, 3)]);
}

/// Gives up nodes, and asserts that the file is whole without them.
async fn moved(world: &mut World, leave: &[usize]) -> Manifest {
    let done = world.repair_leaving(leave).await.unwrap();
    let manifest = done.manifest.expect("something was done");
    assert!(done.lost.is_empty());
    for &node in leave {
        assert!(manifest.nodes.iter().all(|entry| entry.label != format!("node-{node}")));
    }
    let all = world.written.iter().flatten();
    for (object, bytes) in all.filter(|(object, _)| !object.ends_with("manifest.json")) {
        let has = |node: &usize| world.stores[*node].inner.objects().get(object) == Some(bytes);
        let holders: Vec<usize> = (0..world.stores.len()).filter(has).collect();
        assert!(holders.iter().any(|node| !leave.contains(node)), "{object}");
    }
    world.manifest = manifest.clone();
    let verified = world.verify().await;
    assert!(verified.findings.is_empty(), "{verified:?}");
    assert!(world.repair().await.manifest.is_none());
    manifest
}

#[tokio::test]
async fn a_node_given_up_is_emptied_and_another_takes_its_place() {
    let mut world = World::new(Shape::short(), 1);
    let manifest = moved(&mut world, &[4]).await;
    assert_eq!(manifest.generation, 5);
    assert_eq!(manifest.nodes.len(), 9);
    assert!(manifest.nodes.iter().any(|entry| entry.label == "node-9"));
    assert!(world.stores[4].inner.objects().is_empty());
}

#[tokio::test]
async fn a_dead_node_is_replaced_and_what_it_still_has_is_told() {
    let mut world = World::new(Shape::short(), 2);
    world.set(4, Mood::Away);
    world.set(9, Mood::Away);
    world.remove(1, 0);
    let done = world.repair_leaving(&[4]).await.unwrap();
    assert_eq!((done.objects, done.unrepaired.len()), (4, 0), "{done:?}");
    assert_eq!(done.left.iter().map(|left| left.node.as_str()).collect::<Vec<_>>(), ["node-4"]);
    world.manifest = done.manifest.unwrap();
    assert!(world.manifest.nodes.iter().any(|entry| entry.label == "node-10"));
    assert!(world.verify().await.findings.is_empty());
}

#[tokio::test]
async fn two_and_three_nodes_are_given_up_at_once_and_four_are_not() {
    for leave in [&[0, 8][..], &[1, 4, 7]] {
        let mut world = World::new(Shape::short(), 3);
        let manifest = moved(&mut world, leave).await;
        assert_eq!(manifest.nodes.len(), 9);
    }
    let world = World::new(Shape::short(), 4);
    let before = world.everything();
    let refused = world.repair_leaving(&[0, 1, 2, 3]).await.unwrap_err();
    assert!(matches!(kind(&refused), RepairError::TooManyLeft { staying: 5, needed: 6 }), "{refused}");
    assert_eq!(world.everything(), before);
}

#[tokio::test]
async fn a_file_without_bytes_moves_too() {
    let mut world = World::new(SMALL, 1);
    let manifest = moved(&mut world, &[0]).await;
    assert_eq!(manifest.nodes.len(), 9);
    assert!(world.stores[0].inner.objects().is_empty());
}

#[tokio::test]
async fn without_a_node_for_a_cell_nothing_is_done() {
    let world = World::new(Shape::short(), 0);
    let before = world.everything();
    let refused = world.repair_leaving(&[4]).await.unwrap_err();
    assert!(matches!(kind(&refused), RepairError::NoNode { group: 0, cell: 4, usable: 8 }), "{refused}");
    let refused = world.repair_leaving(&[11]).await.unwrap_err();
    assert!(matches!(kind(&refused), RepairError::NotOneNode { nodes: 0, .. }), "{refused}");
    // All nodes have this address.
    let mut options = RepairOptions::default();
    options.leave = vec!["memory".into()];
    let refused =
        hedgerow_reader::repair(&world.opened(), &world.nodes, &options, &|_| ()).await.unwrap_err();
    assert!(matches!(kind(&refused), RepairError::NotOneNode { nodes: 9, .. }), "{refused}");
    assert_eq!(world.everything(), before);
}

#[tokio::test]
async fn a_write_that_fails_leaves_the_file_as_it_was() {
    for bytes in [0, 1, 3000] {
        let world = World::new(Shape::short(), 1);
        // Group 0 can be repaired, group 1 can't: its cell 3 is on node 4. A node is given up as well.
        world.tamper(1, 3, |object| object[0] ^= 1);
        world.set(4, Mood::FailsAfter(bytes));
        let before = world.everything();
        let failed = world.repair_leaving(&[7]).await.unwrap_err();
        let RepairError::Write { object, failure } = kind(&failed) else { panic!("{failed}") };
        assert_eq!(object, &world.manifest.object(NAME, 1, 3));
        assert_eq!(failure.node, "node-4");
        assert!(failed.to_string().ends_with("node-4: failed: no space is left on the disk"), "{failed}");
        assert_eq!(world.everything(), before);
        assert_eq!(world.verify().await.findings.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_no_more_bytes_ends_the_repair() {
    let world = World::new(Shape::short(), 1);
    world.set(9, Mood::Stalls);
    let before = world.everything();
    let start = Instant::now();
    let failed = world.repair_leaving(&[7]).await.unwrap_err();
    assert!(matches!(kind(&failed), RepairError::Late { .. } | RepairError::Write { .. }), "{failed}");
    assert!(failed.to_string().contains("node-9"), "{failed}");
    assert!(start.elapsed() < Duration::from_secs(200));
    assert_eq!(world.everything(), before);
}

#[tokio::test]
async fn a_manifest_that_too_few_nodes_take_is_taken_back_and_so_is_what_moved() {
    let world = World::new(Shape::short(), 1);
    for node in [0, 1, 2, 3] {
        world.set(node, Mood::RefusesManifests);
    }
    let before = world.everything();
    let failed = world.repair_leaving(&[7]).await.unwrap_err();
    assert!(matches!(failed, FileError::Commit { copies: 5, needed: 6, .. }), "{failed}");
    assert_eq!(world.everything(), before);
}

#[tokio::test(start_paused = true)]
async fn no_more_bytes_a_second_are_moved_than_allowed() {
    let world = World::new(Shape::short(), 1);
    let mut options = RepairOptions::default();
    options.rate = Some(10_000);
    options.leave = vec!["node-2".into()];
    let start = Instant::now();
    let done = hedgerow_reader::repair(&world.opened(), &world.nodes, &options, &|_| ()).await.unwrap();
    let all: usize = world.written.iter().flatten().map(|(_, object)| object.len()).sum();
    let least = (all as u64 + done.bytes) as f64 / 10_000.0;
    let seconds = start.elapsed().as_secs_f64();
    assert!((least..least * 3.0).contains(&seconds), "{seconds} s where {least} s is the least");
}

#[tokio::test(start_paused = true)]
async fn pieces_are_written_while_the_next_are_read_and_no_more_wait() {
    let shape = Shape { k: 2, m: 2, cell_bytes: 3 << 20, stripes_per_group: 2, length: 11 << 20 };
    let world = World::new(shape, 0);
    world.remove(0, 0);
    world.tamper(0, 3, |object| object.truncate(1 << 20));
    for node in 0..4 {
        world.set(node, Mood::Slow(1 + node as u64));
    }
    world.repair().await;
    let piece = (1 << 20) + (1 << 10) * 4;
    assert!(Watch::get(&world.watch.longest) <= piece);
    assert!(Watch::get(&world.watch.most) <= 4 * piece);
    let written: Bytes = world.written[3][&world.manifest.object(NAME, 0, 3)].clone();
    assert_eq!(world.object(0, 3), written);
}

#[tokio::test]
async fn progress_is_told_of_verifying_and_then_of_rebuilding() {
    let world = World::new(Shape::short(), 1);
    world.remove(0, 0);
    world.remove(1, 0);
    let told = Mutex::new(Vec::new());
    let tell = |bytes| told.lock().unwrap().push(bytes);
    let options = RepairOptions::default();
    hedgerow_reader::repair(&world.opened(), &world.nodes, &options, &tell).await.unwrap();
    let length = world.manifest.length;
    assert_eq!(*told.lock().unwrap(), [36864, 73728, length, 36864, 73728]);
}

#[tokio::test]
async fn a_repair_that_is_cancelled_leaves_the_file_as_it_was() {
    let world = World::new(Shape::short(), 1);
    let before = world.everything();
    // Told three times while verifying, and once for each group that is rebuilt.
    for after in 1..=6 {
        let mut options = RepairOptions::default();
        options.leave = vec!["node-7".into()];
        let (cancel, told) = (options.cancel.clone(), Mutex::new(0));
        let tell = |_| {
            let mut told = told.lock().unwrap();
            *told += 1;
            if *told == after {
                cancel.cancel();
            }
        };
        let cancelled = hedgerow_reader::repair(&world.opened(), &world.nodes, &options, &tell).await;
        assert!(matches!(cancelled, Err(FileError::Cancelled)), "{after}: {cancelled:?}");
        assert_eq!(world.everything(), before, "{after}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repair_keeps_off_while_somebody_writes() {
    let mut world = World::new(Shape::short(), 0);
    world.remove(0, 0);
    let mut options = PutOptions::default();
    options.existing = Existing::Replace;
    let (nodes, cancel) = (world.nodes.clone(), options.cancel.clone());
    // A source that never ends.
    let (mut source, _open) = tokio::io::duplex(64);
    let writer =
        tokio::spawn(async move { hedgerow_reader::put(NAME, &nodes, &mut source, &options, &|_| ()).await });
    while !world.stores[0].inner.objects().contains_key("folder/file/intent.json") {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let cells = world.cells();
    let refused = world.repair_leaving(&[]).await;
    assert!(matches!(refused, Err(FileError::Busy { .. })), "{refused:?}");
    assert_eq!(world.cells(), cells);
    cancel.cancel();
    assert!(matches!(writer.await.unwrap(), Err(FileError::Cancelled)));
    repaired(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn of_two_repairs_at_once_neither_undoes_the_other() {
    let mut world = World::new(Shape::short(), 1);
    world.remove(1, 1);
    let done = tokio::join!(world.repair_leaving(&[7]), world.repair_leaving(&[7]));
    let done: Vec<_> = [done.0, done.1].into_iter().filter_map(Result::ok).collect();
    assert!(!done.is_empty());
    let newest = done.into_iter().filter_map(|done| done.manifest).max_by_key(|manifest| manifest.generation);
    world.manifest = newest.unwrap();
    let verified = world.verify().await;
    assert!(verified.findings.is_empty(), "{verified:?}");
}

#[tokio::test]
async fn a_file_that_was_put_is_opened_again_after_each_of_its_nodes_was_emptied() {
    let world = World::new(SMALL, 0);
    let mut nodes = world.nodes.clone();
    let mut options = PutOptions::default();
    (options.cell_bytes, options.record_bytes, options.stripes_per_group) = (2048, 1024, 3);
    let data = content(Shape::short().length);
    hedgerow_reader::put("other", &nodes, &mut &data[..], &options, &|_| ()).await.unwrap();
    let cells = |node: usize| {
        let mut objects = world.stores[node].inner.objects().clone();
        objects.retain(|object, _| object.starts_with("other/") && !object.ends_with(".json"));
        objects
    };
    let written: Vec<_> = (0..9).map(cells).collect();
    nodes.rotate_left(4);
    for node in 0..9 {
        world.stores[node].inner.objects().clear();
        let file = hedgerow_reader::open("other", &nodes).await.unwrap();
        let options = RepairOptions::default();
        let done = hedgerow_reader::repair(&file, &nodes, &options, &|_| ()).await.unwrap();
        assert!(done.unrepaired.is_empty(), "{:?}", said(&done.unrepaired));
        assert_eq!(done.manifest.unwrap().generation, 2 + node as u64);
        assert_eq!((0..9).map(cells).collect::<Vec<_>>(), written);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// One group of any schema and length, and any of its records damaged.
    #[test]
    fn what_can_be_computed_is_repaired_and_only_what_can_not_is_lost(
        schema in (1_u8..6, 1_u8..5), stripes in 1_u32..4, length in any::<u64>(), records in 1_u32..3,
        damage in vec((any::<u8>(), any::<u8>()), 1..24)
    ) {
        let shape = Shape { k: schema.0, m: schema.1, cell_bytes: 1024 * records, stripes_per_group: stripes, length: 0 };
        let length = 1 + length % layout(shape).group_bytes();
        let mut world = World::new(Shape { length, ..shape }, 0);
        let n = world.manifest.n();
        let blocks: Vec<u64> = (0..n).map(|cell| world.manifest.block_length(0, cell)).collect();
        let mut bad = BTreeSet::new();
        for (cell, record) in damage {
            let cell = cell % n;
            let records = blocks[usize::from(cell)].div_ceil(1024);
            if records > 0 && bad.insert((cell, u64::from(record) % records)) {
                let at = u64::from(record) % records * 1028;
                world.tamper(0, cell, |object| object[at as usize] ^= 1);
            }
        }
        // Byte by byte: a cell is known where its record is right, and data is where it has ended.
        let is_known = |cell: u8, at: u64| match at < blocks[usize::from(cell)] {
            true => !bad.contains(&(cell, at / 1024)),
            false => cell < shape.k,
        };
        let longest = *blocks.iter().max().unwrap();
        let lost = (0..longest).any(|at| (0..n).filter(|&cell| is_known(cell, at)).count() < shape.k.into());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let before = world.everything();
            let found = world.verify().await;
            assert_eq!(found.lost.is_empty(), !lost);
            let cells: BTreeSet<_> = bad.iter().map(|&(cell, _)| cell).collect();
            assert_eq!(found.findings.iter().map(|finding| finding.cell.unwrap().1).collect::<BTreeSet<_>>(), cells);
            if lost {
                assert_eq!(world.repair().await.lost, [0]);
                assert_eq!(world.everything(), before);
            } else if !bad.is_empty() {
                assert_eq!(repaired(&mut world).await.objects, cells.len() as u64);
            }
        });
    }
}
