//! Writing files while nodes fail: whatever happens when, nothing half-written stays.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Lets the request number `at` of all requests to `odds` meet `instead`; `forever`: those of that node from then on too. Returns the count.
fn at_request(odds: &[Odd], at: usize, instead: Instead, forever: bool) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    for odd in odds {
        let (count, mut met) = (Arc::clone(&count), false);
        odd.rule(move |_, _| {
            let now = count.fetch_add(1, Ordering::Relaxed);
            met = now == at || met && forever;
            met.then_some(instead)
        });
    }
    count
}

/// How many requests a put of `bytes` makes.
async fn requests(bytes: &[u8], before: Option<&[u8]>) -> usize {
    let (odds, nodes) = odd(5);
    if let Some(before) = before {
        write("a", &nodes, before, &small()).await.unwrap();
    }
    let count = at_request(&odds, usize::MAX, Instead::Hang, false);
    write("a", &nodes, bytes, &replacing()).await.unwrap();
    count.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn one_failure_anywhere_leaves_the_whole_file_or_nothing_of_it() {
    let bytes = content(GROUP + 1, 1);
    let instead = [Instead::Fail(Failure::Other), Instead::DoAndFail(Failure::Unreachable), Instead::Hang];
    for at in 0..requests(&bytes, None).await {
        for instead in instead {
            let (odds, nodes) = odd(5);
            at_request(&odds, at, instead, false);
            let done = write("a", &nodes, &bytes, &small()).await;
            odds.iter().for_each(Odd::well);
            if done.is_ok() {
                assert!(read_back("a", &nodes).await == bytes, "{at}");
            }
            // A node that did not take the manifest has none, and may lack nothing else.
            assert_eq!(strays("a", &odds, done.as_ref().ok()), [""; 0], "{at} {instead:?}: {done:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_failure_anywhere_leaves_the_new_file_or_the_old_one() {
    let (before, after) = (content(GROUP, 1), content(GROUP + 1, 2));
    for at in 0..requests(&after, Some(&before)).await {
        for instead in [Instead::Fail(Failure::Other), Instead::DoAndFail(Failure::Unreachable)] {
            let (odds, nodes) = odd(5);
            let old = write("a", &nodes, &before, &small()).await.unwrap();
            at_request(&odds, at, instead, false);
            let done = write("a", &nodes, &after, &replacing()).await;
            odds.iter().for_each(Odd::well);
            let (bytes, manifest) = match &done {
                Ok(new) => (&after, new),
                Err(_) => (&before, &old),
            };
            assert!(read_back("a", &nodes).await == *bytes, "{at} {instead:?}");
            let left = strays("a", &odds, Some(manifest));
            // A node that would not delete old objects has them until the next one comes.
            let old = format!("a/{}/", old.id);
            let harmless =
                |stray: &String| done.is_ok() && (stray.contains(&old) || stray.ends_with("intent.json"));
            assert!(left.iter().all(harmless), "{at} {instead:?}: {left:?} {done:?}");
            let new = write("a", &nodes, &before, &replacing()).await.unwrap();
            assert_eq!(strays("a", &odds, Some(&new)), [""; 0], "{at} {instead:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_dies_anywhere_leaves_the_new_file_or_the_old_one_and_the_next_put_cleans_up() {
    let (before, after) = (content(GROUP, 1), content(GROUP + 1, 2));
    for at in 0..requests(&after, Some(&before)).await {
        let (odds, nodes) = odd(5);
        write("a", &nodes, &before, &small()).await.unwrap();
        at_request(&odds, at, Instead::Fail(Failure::Unreachable), true);
        let done = write("a", &nodes, &after, &replacing()).await;
        odds.iter().for_each(Odd::well);
        let bytes = if done.is_ok() { &after } else { &before };
        assert!(read_back("a", &nodes).await == *bytes, "{at}: {done:?}");
        let options = PutOptions { abandoned: Duration::ZERO, ..replacing() };
        let new = write("a", &nodes, &after, &options).await.unwrap();
        assert_eq!(strays("a", &odds, Some(&new)), [""; 0], "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn three_nodes_that_refuse_the_manifest_are_too_many_and_two_are_not() {
    for refusing in [2, 3] {
        let (odds, nodes) = odd(5);
        for odd in &odds[..refusing] {
            odd.rule(|op, object| {
                (op == Op::Put && object.ends_with("manifest.json"))
                    .then_some(Instead::Fail(Failure::Refused))
            });
        }
        let bytes = content(GROUP, 1);
        let done = write("a", &nodes, &bytes, &small()).await;
        if refusing == 2 {
            done.unwrap();
            assert!(read_back("a", &nodes).await == bytes);
            continue;
        }
        let error = done.unwrap_err();
        let FileError::Commit { copies: 2, needed: 3, failed, .. } = &error else { panic!("{error}") };
        assert_eq!(
            failed.iter().map(|failure| failure.node.as_str()).collect::<Vec<_>>(),
            ["n0", "n1", "n2"]
        );
        assert_eq!(strays("a", &odds, None), [""; 0]);
        assert!(matches!(open("a", &nodes).await, Err(FileError::NotFound { missing: 5, .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stays_away_is_named_with_what_is_left() {
    let (odds, nodes) = odd(5);
    let mut puts = 0;
    odds[3].rule(move |op, object| {
        puts += usize::from(op == Op::Put && object.contains("/g"));
        (puts > 1).then_some(Instead::Fail(Failure::Unreachable))
    });
    let error = write("a", &nodes, &content(3 * GROUP, 1), &small()).await.unwrap_err();
    let FileError::Left { because, left } = &error else { panic!("{error}") };
    assert!(matches!(&**because, FileError::Node { failure, .. } if failure.node == "n3"));
    assert_eq!(left.iter().map(|failure| failure.node.as_str()).collect::<Vec<_>>(), ["n3"]);
    assert!(odds[3].has("a/intent.json"));
    // The others say that it has ended, so nobody need wait when the node is back.
    odds[3].well();
    let manifest = write("a", &nodes, &content(GROUP, 2), &small()).await.unwrap();
    assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_put_leaves_nothing() {
    let (odds, nodes) = odd(5);
    for odd in &odds {
        odd.rule(|op, object| {
            (op == Op::Put && object.contains("/g")).then_some(Instead::Wait(Duration::from_secs(1)))
        });
    }
    for after in [0, 500, 1500, 2500, 4500] {
        let options = small();
        let cancel = options.cancel.clone();
        let bytes = content(5 * GROUP, 1);
        let (done, ()) = tokio::join!(write("a", &nodes, &bytes, &options), async {
            tokio::time::sleep(Duration::from_millis(after)).await;
            cancel.cancel();
        });
        assert!(matches!(done, Err(FileError::Cancelled)), "{done:?}");
        assert_eq!(strays("a", &odds, None), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_put_is_cleaned_up_by_the_next_once_it_counts_as_abandoned() {
    for (listing, after) in [(true, 1500), (true, 3500), (false, 1500), (false, 4500)] {
        let (odds, nodes) = odd(6);
        for odd in &odds {
            odd.rule(move |op, object| match op {
                Op::Put if object.contains("/g") => Some(Instead::Wait(Duration::from_secs(1))),
                Op::List if !listing => Some(Instead::Fail(Failure::Unsupported)),
                _ => None,
            });
        }
        let (bytes, options) = (content(9 * GROUP, 1), small());
        let dropped = write("a", &nodes, &bytes, &options);
        assert!(tokio::time::timeout(Duration::from_millis(after), dropped).await.is_err());
        assert!(odds.iter().any(|odd| odd.objects().len() > 1));
        assert!(matches!(open("a", &nodes).await, Err(FileError::NotFound { .. })));
        let error = write("a", &nodes, &bytes, &options).await.unwrap_err();
        assert!(matches!(error, FileError::Busy { seconds: Some(0..10), .. }), "{error}");
        let options = PutOptions { abandoned: Duration::ZERO, ..small() };
        let manifest = write("a", &nodes, b"x", &options).await.unwrap();
        assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_manifest_that_nodes_take_without_saying_so_keeps_its_objects() {
    for kind in [Failure::TimedOut, Failure::Unreachable] {
        let (odds, nodes) = odd(5);
        for odd in &odds {
            let mut dead = false;
            odd.rule(move |op, object| {
                let commits = op == Op::Put && object.ends_with("manifest.json");
                // From then on nothing can be asked or taken back either.
                match (commits, dead) {
                    (true, false) => {
                        dead = true;
                        Some(Instead::DoAndFail(kind))
                    }
                    _ => dead.then_some(Instead::Fail(kind)),
                }
            });
        }
        let bytes = content(GROUP, 1);
        let error = write("a", &nodes, &bytes, &small()).await.unwrap_err();
        assert!(matches!(&error, FileError::Left { left, .. } if left.len() == 5), "{error}");
        odds.iter().for_each(Odd::well);
        assert!(read_back("a", &nodes).await == bytes);
        // Who comes next finds it in force.
        let options = PutOptions { abandoned: Duration::ZERO, ..replacing() };
        let new = write("a", &nodes, b"new", &options).await.unwrap();
        assert_eq!(new.generation, 2);
        assert_eq!(strays("a", &odds, Some(&new)), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_manifest_that_nodes_take_late_keeps_its_objects() {
    let (odds, nodes) = odd(5);
    for odd in &odds[..3] {
        odd.rule(|op, object| (op == Op::Put && object.ends_with("manifest.json")).then_some(Instead::Hang));
    }
    let bytes = content(GROUP, 1);
    let error = write("a", &nodes, &bytes, &small()).await.unwrap_err();
    let FileError::Left { left, .. } = &error else { panic!("{error}") };
    assert_eq!(left.iter().map(|failure| failure.node.as_str()).collect::<Vec<_>>(), ["n0", "n1", "n2"]);
    let cells = odds.iter().flat_map(Odd::objects).filter(|object| object.contains("/g")).count();
    assert_eq!(cells, 5);
    // The next one need not wait, and finds that it never came into force.
    odds.iter().for_each(Odd::well);
    let new = write("a", &nodes, b"new", &small()).await.unwrap();
    assert_eq!(strays("a", &odds, Some(&new)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_put_that_is_cancelled_while_it_begins_leaves_nothing() {
    for (slow, other) in [(Op::Get, "manifest.json"), (Op::Put, "intent.json")] {
        let (odds, nodes) = odd(5);
        odds[3].rule(move |op, object| (op == slow && object.ends_with(other)).then_some(Instead::Hang));
        let options = small();
        let cancel = options.cancel.clone();
        let begun = tokio::time::Instant::now();
        let (done, ()) = tokio::join!(write("a", &nodes, b"x", &options), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        });
        assert!(matches!(done, Err(FileError::Cancelled)), "{done:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(strays("a", &odds, None), [""; 0]);
    }
}
