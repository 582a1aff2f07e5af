//! Removing and listing files.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_removed_file_leaves_nothing() {
    for listing in [true, false] {
        let (odds, nodes) = odd(6);
        for odd in &odds {
            odd.rule(move |op, _| {
                (op == Op::List && !listing).then_some(Instead::Fail(Failure::Unsupported))
            });
        }
        write("a", &nodes, &content(3 * GROUP, 1), &small()).await.unwrap();
        let other = write("a/b", &nodes, b"stays", &small()).await.unwrap();
        let removed = remove("a", &nodes, &RemoveOptions::default()).await.unwrap();
        assert_eq!((removed.objects, removed.left.len()), (15, 0));
        assert!(matches!(open("a", &nodes).await, Err(FileError::NotFound { .. })));
        assert!(read_back("a/b", &nodes).await == b"stays");
        assert_eq!(strays("a/b", &odds, Some(&other)), [""; 0]);
        assert!(matches!(
            remove("a", &nodes, &RemoveOptions::default()).await,
            Err(FileError::NotFound { missing: 6, .. })
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_unreachable_node_keeps_is_named_and_not_opened() {
    let (odds, nodes) = odd(5);
    write("a", &nodes, &content(GROUP, 1), &small()).await.unwrap();
    for odd in &odds[3..] {
        odd.dead();
    }
    let removed = remove("a", &nodes, &RemoveOptions::default()).await.unwrap();
    assert_eq!(removed.left.iter().map(|(node, _)| node.as_str()).collect::<Vec<_>>(), ["n3", "n4"]);
    odds.iter().for_each(Odd::well);
    assert!(matches!(open("a", &nodes).await, Err(FileError::NotCommitted { copies: 2, needed: 3, .. })));
    let again = remove("a", &nodes, &RemoveOptions::default()).await.unwrap();
    assert_eq!((again.objects, again.left.len()), (2, 0));
    assert_eq!(strays("a", &odds, None), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_file_is_not_removed_where_it_would_stay_in_force() {
    let (odds, nodes) = odd(5);
    let bytes = content(GROUP, 1);
    write("a", &nodes, &bytes, &small()).await.unwrap();
    for odd in &odds[2..] {
        odd.dead();
    }
    let error = remove("a", &nodes, &RemoveOptions::default()).await.unwrap_err();
    assert!(matches!(error, FileError::TooFewAnswers { heard: 2, needed: 3, .. }), "{error}");
    odds.iter().for_each(Odd::well);
    assert!(read_back("a", &nodes).await == bytes);
}

#[tokio::test(start_paused = true)]
async fn a_new_file_takes_the_place_of_what_a_removed_one_left() {
    let (odds, nodes) = odd(5);
    write("a", &nodes, &content(GROUP, 1), &small()).await.unwrap();
    odds[4].dead();
    remove("a", &nodes, &RemoveOptions::default()).await.unwrap();
    odds[4].well();
    let manifest = write("a", &nodes, b"new", &small()).await.unwrap();
    assert!(read_back("a", &nodes).await == b"new");
    assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn files_are_listed_by_name_with_their_copies_and_nodes_that_can_not_list_are_named() {
    let (odds, nodes) = odd(5);
    for name in ["b", "a/x", "a/x/y", "a"] {
        write(name, &nodes, b"x", &small()).await.unwrap();
    }
    odds[0].memory.objects().remove("a/x/manifest.json");
    for odd in &odds {
        odd.memory.objects().insert("a/..\n/manifest.json".into(), Bytes::new());
        odd.memory.objects().insert("manifest.json".into(), Bytes::new());
    }
    odds[3].rule(|op, _| (op == Op::List).then_some(Instead::Fail(Failure::Unsupported)));
    let listed = |name: &str, copies| Listed { name: name.to_owned(), copies };
    let all = [listed("a", 4), listed("a/x", 3), listed("a/x/y", 4), listed("b", 4)];
    for (prefix, files) in [("", &all[..]), ("a/x", &all[1..3]), ("c", &[])] {
        let listing = list(&nodes, prefix).await.unwrap();
        assert_eq!(listing.files, files);
        let failed: Vec<_> = listing.failed.iter().map(|failure| &failure.node[..]).collect();
        assert_eq!(failed, ["n3"], "{prefix:?}");
    }
    for odd in &odds {
        odd.dead();
    }
    match list(&nodes, "").await {
        Err(FileError::NoList { failed }) => assert_eq!(failed.len(), 5),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn removing_from_a_few_of_its_nodes_leaves_a_file_whose_writer_died_after_its_commit() {
    let (odds, nodes) = odd(5);
    let bytes = content(2 * GROUP, 1);
    let manifest = write("a", &nodes, &bytes, &small()).await.unwrap();
    let intent = format!(
        r#"{{"format":"hedgerow-intent","version":1,"id":"{}","cells":5,"nodes":5,"replaces":null,"time":0,"ended":true}}"#,
        manifest.id
    );
    // The two that were given did not take the manifest.
    for odd in &odds[..2] {
        let mut objects = odd.memory.objects();
        objects.remove("a/manifest.json");
        objects.insert("a/intent.json".into(), intent.clone().into());
    }
    let error = remove("a", &nodes[..2], &RemoveOptions::default()).await.unwrap_err();
    assert!(matches!(error, FileError::NotFound { missing: 2, .. }), "{error}");
    assert!(read_back("a", &nodes).await == bytes);
}
