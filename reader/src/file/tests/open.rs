//! Opening files while nodes are absent, slow, damaged, or have old copies.

use super::*;

async fn written(nodes: &[Node]) -> Manifest {
    write("a", nodes, &content(2 * GROUP + 9, 1), &small()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn any_three_of_five_nodes_open_a_file_and_any_two_name_the_rest() {
    let (odds, nodes) = odd(5);
    let manifest = written(&nodes).await;
    for alive in 0..32_u32 {
        for (index, odd) in odds.iter().enumerate() {
            if alive >> index & 1 == 1 { odd.well() } else { odd.dead() }
        }
        match (alive.count_ones(), open("a", &nodes).await) {
            (3.., Ok(opened)) => {
                assert_eq!(opened.manifest, manifest);
                assert_eq!(opened.node, (0..5).map(Some).collect::<Vec<_>>());
            }
            (0, Err(FileError::TooFewAnswers { heard: 0, failed, .. })) => assert_eq!(failed.len(), 5),
            (heard @ 1..=2, Err(error @ FileError::TooFewAnswers { heard: found, needed: 3, .. })) => {
                assert_eq!(found, heard as usize);
                for index in (0..5).filter(|index| alive >> index & 1 == 0) {
                    assert!(error.to_string().contains(&format!("n{index}: unreachable")), "{error}");
                }
            }
            (_, other) => panic!("{alive:b}: {:?}", other.map(|opened| opened.manifest)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_may_be_absent_and_in_any_order() {
    let (_, nodes) = odd(5);
    let manifest = written(&nodes).await;
    for order in [vec![4, 3, 2, 1, 0], vec![2, 0, 4], vec![1, 3, 0, 2], vec![0, 1]] {
        let given = order.iter().map(|&index: &usize| nodes[index].clone()).collect::<Vec<_>>();
        match open("a", &given).await {
            Ok(opened) => {
                assert_eq!(opened.manifest, manifest);
                for (this, place) in opened.node.iter().enumerate() {
                    assert_eq!(*place, order.iter().position(|&index| index == this));
                }
            }
            Err(error @ FileError::TooFewAnswers { heard: 2, needed: 3, .. }) => {
                assert_eq!(order.len(), 2);
                assert!(error.to_string().contains("n4: unreachable: not among the given nodes"), "{error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn exchanged_folders_are_told_by_their_copies() {
    let (odds, nodes) = odd(5);
    written(&nodes).await;
    let (one, other) = (odds[1].memory.objects().clone(), odds[3].memory.objects().clone());
    *odds[1].memory.objects() = other;
    *odds[3].memory.objects() = one;
    assert_eq!(open("a", &nodes).await.unwrap().node, [0, 3, 2, 1, 4].map(Some));
}

#[tokio::test(start_paused = true)]
async fn two_nodes_with_the_same_copy_are_named() {
    let (odds, nodes) = odd(5);
    written(&nodes).await;
    let copy = odds[1].memory.objects().clone();
    *odds[3].memory.objects() = copy;
    for index in [0, 2, 4] {
        odds[index].rule(|_, _| Some(Instead::Wait(Duration::from_millis(1))));
    }
    match open("a", &nodes).await {
        Err(FileError::SameNode { node, given, .. }) => {
            assert_eq!((node.as_str(), given), ("n1", ["n1".to_owned(), "n3".to_owned()]));
        }
        other => panic!("{:?}", other.map(|opened| opened.node)),
    }
}

#[tokio::test(start_paused = true)]
async fn slow_nodes_are_not_waited_for() {
    let (odds, nodes) = odd(5);
    written(&nodes).await;
    for odd in &odds[1..3] {
        odd.rule(|_, _| Some(Instead::Hang));
    }
    let begun = tokio::time::Instant::now();
    let opened = open("a", &nodes).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(opened.node, (0..5).map(Some).collect::<Vec<_>>());
    assert!(opened.copies[1].is_none() && matches!(opened.copies[3], Some(Ok(1))));
}

#[tokio::test(start_paused = true)]
async fn nodes_that_moved_are_waited_for_a_second_and_then_left_out() {
    let (odds, mut nodes) = odd(5);
    written(&nodes).await;
    for (index, odd) in odds.iter().enumerate() {
        nodes[index] = node(index, &Odd { address: "moved".into(), ..odd.clone() });
    }
    odds[4].rule(|_, _| Some(Instead::Wait(Duration::from_millis(500))));
    assert_eq!(open("a", &nodes).await.unwrap().node, (0..5).map(Some).collect::<Vec<_>>());
    odds[4].rule(|_, _| Some(Instead::Hang));
    // The only one that is left can be no other.
    assert_eq!(open("a", &nodes).await.unwrap().node, (0..5).map(Some).collect::<Vec<_>>());
    odds[3].rule(|_, _| Some(Instead::Hang));
    let begun = tokio::time::Instant::now();
    assert_eq!(open("a", &nodes).await.unwrap().node, [Some(0), Some(1), Some(2), None, None]);
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn damaged_copies_are_skipped_and_reported() {
    let (odds, nodes) = odd(5);
    let manifest = written(&nodes).await;
    for odd in &odds[..2] {
        let mut objects = odd.memory.objects();
        let mut text = objects["a/manifest.json"].to_vec();
        text[30] ^= 1;
        objects.insert("a/manifest.json".into(), text.into());
    }
    odds[4].rule(|_, _| Some(Instead::Wait(Duration::from_millis(1))));
    let opened = open("a", &nodes).await.unwrap();
    assert_eq!(opened.manifest, manifest);
    for copy in &opened.copies[..2] {
        let Some(Err(failed)) = copy else { panic!("{copy:?}") };
        assert_eq!(failed.kind, Failure::Corrupt);
        assert!(failed.to_string().contains("its checksum is"), "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_newest_committed_generation_is_found_by_any_three() {
    let (odds, nodes) = odd(5);
    let old = written(&nodes).await;
    let copies = odds.iter().map(|odd| odd.memory.objects()["a/manifest.json"].clone()).collect::<Vec<_>>();
    let new = write("a", &nodes, b"new", &replacing()).await.unwrap();
    for stale in [[0, 1], [3, 4], [0, 4]] {
        let saved = stale.map(|index: usize| odds[index].memory.objects()["a/manifest.json"].clone());
        for index in stale {
            odds[index].memory.objects().insert("a/manifest.json".into(), copies[index].clone());
        }
        for dead in 0..5_usize {
            for also in 0..5_usize {
                odds.iter().for_each(Odd::well);
                odds[dead].dead();
                odds[also].dead();
                assert_eq!(open("a", &nodes).await.unwrap().manifest, new, "{stale:?} {dead} {also}");
            }
        }
        odds.iter().for_each(Odd::well);
        for (index, saved) in stale.into_iter().zip(saved) {
            odds[index].memory.objects().insert("a/manifest.json".into(), saved);
        }
    }
    assert_ne!(old.id, new.id);
}

#[tokio::test(start_paused = true)]
async fn a_file_of_which_too_few_nodes_know_is_called_unfinished() {
    let (odds, nodes) = odd(5);
    written(&nodes).await;
    for odd in &odds[..3] {
        odd.memory.objects().remove("a/manifest.json");
    }
    match open("a", &nodes).await {
        Err(FileError::NotCommitted { generation: 1, copies: 2, needed: 3, .. }) => {}
        other => panic!("{:?}", other.map(|opened| opened.manifest)),
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_nowhere_is_not_found_though_a_node_does_not_answer() {
    let (odds, nodes) = odd(5);
    odds[1].rule(|_, _| Some(Instead::Hang));
    odds[2].dead();
    match open("a", &nodes).await {
        Err(error @ FileError::NotFound { missing: 3, .. }) => {
            assert!(error.to_string().contains("n2: unreachable"), "{error}");
        }
        other => panic!("{:?}", other.map(|opened| opened.manifest)),
    }
    assert!(matches!(open("a", &[]).await, Err(FileError::TooFewNodes { .. })));
    assert!(matches!(open("a/../b", &nodes).await, Err(FileError::Name { .. })));
}

#[tokio::test(start_paused = true)]
async fn nodes_of_other_files_do_not_speak_against_this_one() {
    let (odds, nodes) = odd(9);
    let bytes = content(GROUP, 1);
    write("a", &nodes[4..], &bytes, &small()).await.unwrap();
    assert_eq!(open("a", &nodes).await.unwrap().node, (4..9).map(Some).collect::<Vec<_>>());
    odds[4].dead();
    odds[8].dead();
    assert_eq!(open("a", &nodes).await.unwrap().manifest.length, GROUP);
}

/// The file on all `odds`, and on the first of them a copy that says that it is newer.
async fn with_odd_copy(odds: &[Odd], nodes: &[Node], generation: u64, count: usize) -> Manifest {
    let manifest = written(nodes).await;
    let mut more = manifest.nodes.clone();
    let entry = |index| NodeEntry { label: format!("x{index}"), address: format!("memory:x{index}") };
    more.extend((more.len()..count).map(entry));
    let odd = Manifest { id: FileId([7; 16]), generation, nodes: more, ..manifest.clone() };
    odds[0].memory.objects().insert("a/manifest.json".into(), odd.to_bytes(0).unwrap().into());
    manifest
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_nobody_else_knows_of_neither_hides_nor_blocks_a_file() {
    for (generation, count) in [(2, 5), (1 << 63, 5), (2, 1024), (1 << 63, 1024)] {
        let (odds, nodes) = odd(5);
        let manifest = with_odd_copy(&odds, &nodes, generation, count).await;
        let opened = open("a", &nodes).await.unwrap();
        assert_eq!(opened.manifest, manifest);
        assert!(matches!(opened.copies[0], Some(Ok(found)) if found == generation), "{:?}", opened.copies);
        let error = write("a", &nodes, b"new", &small()).await.unwrap_err();
        assert!(matches!(error, FileError::Exists { generation: 1, .. }), "{error}");
        let new = write("a", &nodes, b"new", &replacing()).await.unwrap();
        assert_eq!(new.generation, 2);
        assert!(read_back("a", &nodes).await == b"new");
        assert_eq!(strays("a", &odds, Some(&new)), [""; 0]);

        let (odds, nodes) = odd(5);
        with_odd_copy(&odds, &nodes, generation, count).await;
        remove("a", &nodes, &RemoveOptions::default()).await.unwrap();
        assert_eq!(strays("a", &odds, None), [""; 0]);
    }
}
