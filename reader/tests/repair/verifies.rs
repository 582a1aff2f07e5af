//! What verifying finds, and what it takes.

use std::sync::Mutex;
use std::time::Duration;

use hedgerow_reader::{Fault, FileError, FileId, Manifest, RepairError, VerifyOptions};
use tokio::time::Instant;

use crate::world::{Mood, SMALL, Shape, Watch, World, kind, said, seal};

#[tokio::test]
async fn a_whole_file_of_any_length_has_no_findings() {
    for length in [0, 1, 1024, 2048, 2049, 12287, 12288, 12289, 36864, 36865, Shape::short().length] {
        let world = World::new(Shape { length, ..SMALL }, 0);
        let verified = world.verify().await;
        assert!(verified.findings.is_empty() && verified.lost.is_empty(), "{length}: {verified:?}");
        let written: Vec<_> = world.cells().into_iter().flatten().collect();
        assert_eq!(verified.objects, written.len() as u64);
        assert_eq!(verified.bytes, written.iter().map(|(_, object)| object.len() as u64).sum::<u64>());
    }
}

#[tokio::test]
async fn each_missing_or_corrupt_cell_is_named_with_its_node() {
    let world = World::new(Shape::short(), 0);
    world.remove(0, 2);
    world.tamper(0, 7, |object| object.truncate(2000));
    world.tamper(1, 0, |object| object.push(0));
    world.tamper(1, 4, |object| object[1028 * 3 + 1027] ^= 0x80);
    world.tamper(2, 2, |object| {
        object[5] ^= 1;
        object[1500] ^= 1;
    });
    let stale = Manifest { id: FileId([9; 16]), ..world.manifest.clone() };
    world.insert(2, 8, seal(&stale, 2, 8, &[5; 4096]));
    let expected = [
        "node-2: cell 2 of group 0: missing",
        "node-7: cell 7 of group 0: 2000 bytes long where 6168 were written",
        "node-1: cell 0 of group 1: 6169 bytes long where 6168 were written",
        "node-5: cell 4 of group 1: record 3 is corrupt",
        "node-4: cell 2 of group 2: 2 records are corrupt, the first is 0",
        "node-1: cell 8 of group 2: 4 records are corrupt, the first is 0",
    ];
    let verified = world.verify().await;
    assert_eq!(said(&verified.findings), expected);
    assert!(verified.lost.is_empty());
}

#[tokio::test]
async fn every_flipped_bit_is_found() {
    let world = World::new(Shape { length: 2048 * 6, ..SMALL }, 0);
    let whole = world.object(0, 3);
    for bit in (0..whole.len() * 8).step_by(101) {
        world.tamper(0, 3, |object| object[bit / 8] ^= 1 << (bit % 8));
        let [finding] = &world.verify().await.findings[..] else { panic!("bit {bit}") };
        assert_eq!(finding.fault, Fault::Corrupt { first: bit as u64 / 8 / 1028, records: 1 });
        assert_eq!((finding.node.as_str(), finding.cell), ("node-3", Some((0, 3))));
        world.insert(0, 3, whole.clone());
    }
}

#[tokio::test]
async fn a_file_cut_short_anywhere_is_read_as_far_as_its_records_are_whole() {
    for length in [0, 1, 1027, 1028, 1029, 6167] {
        let world = World::new(Shape { length: 36864, ..SMALL }, 0);
        world.tamper(0, 1, |object| object.truncate(length));
        let verified = world.verify().await;
        let expected = Fault::Length { found: length as u64, expected: 6168 };
        assert_eq!(verified.findings.iter().map(|finding| &finding.fault).collect::<Vec<_>>(), [&expected]);
        assert_eq!(verified.bytes, 8 * 6168 + length as u64 / 1028 * 1028);
    }
}

#[tokio::test]
async fn exchanged_cells_are_found() {
    let world = World::new(Shape { length: 36864, ..SMALL }, 0);
    let (a, b) = (world.object(0, 1), world.object(0, 2));
    world.insert(0, 1, b);
    world.insert(0, 2, a);
    let expected = [
        "node-1: cell 1 of group 0: 6 records are corrupt, the first is 0",
        "node-2: cell 2 of group 0: 6 records are corrupt, the first is 0",
    ];
    assert_eq!(said(&world.verify().await.findings), expected);
}

#[tokio::test]
async fn a_cell_that_is_wrong_under_right_checksums_is_found_by_the_others() {
    for cell in 0..9 {
        let world = World::new(Shape::short(), 0);
        if world.manifest.block_length(2, cell) <= 2048 {
            continue;
        }
        // In the second and last stripe of the group, which is short.
        world.forge(2, cell, |block| block[2500] ^= 4);
        let verified = world.verify().await;
        let [finding] = &verified.findings[..] else { panic!("{verified:?}") };
        assert_eq!((finding.cell, &finding.fault), (Some((2, cell)), &Fault::Parity { stripe: 1 }));
        assert!(verified.lost.is_empty());
    }
}

#[tokio::test]
async fn a_cell_that_is_wrong_under_right_checksums_is_found_also_where_another_is_missing() {
    let world = World::new(Shape { length: 36864, ..SMALL }, 0);
    world.remove(0, 0);
    world.forge(0, 4, |block| block[0] ^= 1);
    let expected = [
        "node-0: cell 0 of group 0: missing",
        "node-4: cell 4 of group 0: does not fit the other cells, from stripe 0 on, though its checksums are right",
    ];
    assert_eq!(said(&world.verify().await.findings), expected);
}

#[tokio::test]
async fn nobody_is_blamed_where_nobody_can_tell_who_is_wrong() {
    let world = World::new(Shape { length: 36864, ..SMALL }, 0);
    world.forge(0, 6, |block| block[4100] ^= 1);
    world.forge(0, 8, |block| block[4100] ^= 1);
    let verified = world.verify().await;
    let found: Vec<_> = verified.findings.iter().map(|finding| (finding.cell, &finding.fault)).collect();
    let disputed = Fault::Disputed { stripe: 2 };
    assert_eq!(found, [(Some((0, 6)), &disputed), (Some((0, 8)), &disputed)]);

    let world = World::new(Shape { k: 2, m: 1, length: 4096, ..SMALL }, 0);
    world.forge(0, 1, |block| block[0] ^= 1);
    let verified = world.verify().await;
    let found: Vec<_> = verified.findings.iter().map(|finding| (finding.cell, &finding.fault)).collect();
    assert_eq!(found, [(Some((0, 2)), &Fault::Disputed { stripe: 0 })]);
}

#[tokio::test]
async fn a_group_is_lost_only_if_some_of_its_bytes_are() {
    let world = World::new(Shape { length: 36864, ..SMALL }, 0);
    // Four cells are damaged, no four in one record.
    for (cell, record) in [(0, 0), (1, 0), (2, 0), (3, 1), (8, 5)] {
        world.tamper(0, cell, |object| object[1028 * record] ^= 1);
    }
    let verified = world.verify().await;
    assert_eq!((verified.findings.len(), verified.lost), (5, vec![]));
    world.tamper(0, 8, |object| object[0] ^= 1);
    assert_eq!(world.verify().await.lost, [0]);
}

#[tokio::test]
async fn cells_beyond_the_end_of_the_file_count_as_right() {
    // One cell of data: five are zeros, and any one of four objects is enough.
    let world = World::new(Shape { length: 1500, ..SMALL }, 0);
    for cell in [0, 6, 8] {
        world.remove(0, cell);
    }
    let verified = world.verify().await;
    assert_eq!((verified.objects, verified.findings.len(), verified.lost), (4, 3, vec![]));
    world.remove(0, 7);
    assert_eq!(world.verify().await.lost, [0]);
}

#[tokio::test]
async fn each_copy_of_the_manifest_that_is_not_the_one_in_force_is_named() {
    let world = World::new(Shape { length: 1, ..SMALL }, 0);
    let manifest = &world.manifest;
    let path = "folder/file/manifest.json";
    world.stores[0].inner.objects().remove(path);
    world.put_manifest(1, &Manifest { generation: 3, ..manifest.clone() }, 1);
    world.put_manifest(2, manifest, 3);
    world.put_manifest(4, &Manifest { id: FileId([9; 16]), generation: 4, ..manifest.clone() }, 4);
    world.put_manifest(5, &Manifest { generation: 5, ..manifest.clone() }, 5);
    world.stores[6].inner.objects().insert(path.into(), "{}".into());
    let verified = world.verify().await;
    let expected = [
        "node-0: manifest: missing",
        "node-1: manifest: of generation 3, where 4 is in force",
        "node-2: manifest: the copy of node-3",
        "node-4: manifest: of another version of the file, 09090909090909090909090909090909, generation 4",
        "node-5: manifest: another one, of generation 5, where 4 was opened",
    ];
    let said = said(&verified.findings);
    assert_eq!(said[..5], expected);
    assert!(said.len() == 6 && said[5].starts_with("node-6: manifest: corrupt: "), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn nodes_that_do_not_answer_are_named_and_not_waited_for_in_every_group() {
    let world = World::new(Shape { length: 36864 * 40, ..SMALL }, 0);
    world.set(1, Mood::Silent);
    world.set(5, Mood::Away);
    let start = Instant::now();
    let verified = world.verify().await;
    assert!(start.elapsed() < Duration::from_secs(5 * 60), "{:?}", start.elapsed());
    assert!(verified.lost.is_empty());
    assert_eq!(verified.findings.len(), 2 * 41);
    for node in ["node-1", "node-5"] {
        let cells = verified.findings.iter().filter(|finding| finding.node == node && finding.cell.is_some());
        assert_eq!(cells.filter(|finding| matches!(finding.fault, Fault::Unreadable(_))).count(), 40);
    }
    world.set(2, Mood::Away);
    assert!(world.verify().await.lost.is_empty());
    world.set(3, Mood::Away);
    assert_eq!(world.verify().await.lost.len(), 40);
}

#[tokio::test]
async fn a_node_that_was_not_given_is_named() {
    let mut world = World::new(Shape { length: 36864, ..SMALL }, 0);
    world.nodes.remove(4);
    let expected = [
        "node-4: manifest: unreadable: the node was not given",
        "node-4: cell 4 of group 0: unreadable: unreachable: the node was not given",
    ];
    assert_eq!(said(&world.verify().await.findings), expected);
}

#[tokio::test(start_paused = true)]
async fn no_more_bytes_a_second_are_read_than_allowed() {
    let world = World::new(Shape::short(), 0);
    let mut options = VerifyOptions::default();
    options.rate = Some(10_000);
    let start = Instant::now();
    let bytes = world.verify_with(&options).await.bytes;
    let seconds = start.elapsed().as_secs_f64();
    let least = bytes as f64 / 10_000.0;
    assert!((least - 0.01..least + 1.0).contains(&seconds), "{seconds} s for {bytes} bytes");
}

#[tokio::test(start_paused = true)]
async fn a_rate_of_nothing_is_refused() {
    let world = World::new(SMALL, 0);
    let mut options = VerifyOptions::default();
    options.rate = Some(0);
    let refused = hedgerow_reader::verify(&world.opened(), &world.nodes, &options, &|_| ()).await;
    assert!(matches!(refused, Err(FileError::Repair(RepairError::Rate))));
    assert!(matches!(kind(&refused.unwrap_err()), RepairError::Rate));
}

#[tokio::test(start_paused = true)]
async fn a_piece_of_each_cell_is_in_memory_and_no_more() {
    let shape = Shape { k: 2, m: 1, cell_bytes: 3 << 20, stripes_per_group: 2, length: 7 << 20 };
    let world = World::new(shape, 0);
    for node in 0..3 {
        world.set(node, Mood::Slow(1 + node as u64));
    }
    assert!(world.verify().await.findings.is_empty());
    let piece = (1 << 20) + (1 << 10) * 4;
    assert!(Watch::get(&world.watch.longest) <= piece);
    assert!(Watch::get(&world.watch.most) <= 3 * piece);
    assert!(Watch::get(&world.watch.reads) >= 10);
}

#[tokio::test]
async fn progress_ends_with_the_length_of_the_file() {
    let world = World::new(Shape::short(), 0);
    let told = Mutex::new(Vec::new());
    let options = VerifyOptions::default();
    let tell = |bytes| told.lock().unwrap().push(bytes);
    hedgerow_reader::verify(&world.opened(), &world.nodes, &options, &tell).await.unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.is_sorted());
    assert_eq!(told.last(), Some(&world.manifest.length));
}
