//! Intents of writers that live, of those that have died, and of neither.

use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

/// An intent on `odds` that was renewed so many seconds ago.
fn intent(odds: &[Odd], id: FileId, seconds: u64, ended: bool) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() - seconds;
    let text = format!(
        r#"{{"format":"hedgerow-intent","version":1,"id":"{id}","cells":5,"nodes":5,"replaces":null,"time":{time},"ended":{ended}}}"#
    );
    for odd in odds {
        odd.memory.objects().insert("a/intent.json".into(), text.clone().into());
    }
}

fn object(odd: &Odd, name: &str) {
    odd.memory.objects().insert(name.into(), Bytes::from_static(b"x"));
}

const DEAD: FileId = FileId([9; 16]);

#[tokio::test(start_paused = true)]
async fn a_writer_that_was_heard_of_keeps_others_off() {
    let (odds, nodes) = odd(5);
    intent(&odds, DEAD, 300, false);
    let before = strays("a", &odds, None);
    let error = write("a", &nodes, b"x", &small()).await.unwrap_err();
    assert!(matches!(error, FileError::Busy { seconds: Some(300..400), .. }), "{error}");
    let error = remove("a", &nodes, &RemoveOptions::default()).await.unwrap_err();
    assert!(matches!(error, FileError::Busy { .. }), "{error}");
    assert_eq!(strays("a", &odds, None), before);
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_writer_left_is_cleaned_up() {
    for (seconds, ended, on) in [(700, false, 5), (0, true, 5), (200, false, 2)] {
        for listing in [true, false] {
            let (odds, nodes) = odd(5);
            intent(&odds[..on], DEAD, seconds, ended);
            for (group, cell, node) in [(0, 0, 0), (0, 4, 4), (1, 0, 1), (2, 2, 4)] {
                object(&odds[node], &format!("a/{DEAD}/g{group}.c{cell}"));
            }
            for odd in &odds {
                odd.rule(move |op, _| {
                    (op == Op::List && !listing).then_some(Instead::Fail(Failure::Unsupported))
                });
            }
            let manifest = write("a", &nodes, b"x", &small()).await.unwrap();
            assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_writer_that_died_after_its_commit_has_written_stays_and_what_it_replaced_goes() {
    let (odds, nodes) = odd(5);
    let bytes = content(GROUP, 1);
    let manifest = write("a", &nodes, &bytes, &small()).await.unwrap();
    let old = FileId([8; 16]);
    object(&odds[1], &format!("a/{old}/g0.c1"));
    intent(&odds, manifest.id, 700, false);
    for odd in &odds {
        let mut objects = odd.memory.objects();
        let text = String::from_utf8(objects["a/intent.json"].to_vec()).unwrap();
        let replaces = format!(r#""replaces":{{"id":"{old}","cells":5,"nodes":5}}"#);
        objects.insert("a/intent.json".into(), text.replace(r#""replaces":null"#, &replaces).into());
    }
    let error = write("a", &nodes, b"x", &small()).await.unwrap_err();
    assert!(matches!(error, FileError::Exists { .. }), "{error}");
    assert!(odds[1].has(&format!("a/{old}/g0.c1")), "a put that is refused changes nothing");
    // One that goes on cleans up first, and finds the file.
    let new = write("a", &nodes, b"x", &replacing()).await.unwrap();
    assert_eq!(new.generation, 2);
    assert_eq!(strays("a", &odds, Some(&new)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_manifest_of_a_dead_writer_that_was_not_committed_gives_way_to_the_old_one() {
    for new_copies in [1, 2] {
        let (odds, nodes) = odd(5);
        let bytes = content(GROUP + 5, 1);
        let old = write("a", &nodes, &bytes, &small()).await.unwrap();
        let dead = Manifest { id: DEAD, generation: 2, ..old.clone() };
        for (this, odd) in odds.iter().enumerate().take(new_copies) {
            odd.memory.objects().insert("a/manifest.json".into(), dead.to_bytes(this).unwrap().into());
            object(odd, &format!("a/{DEAD}/g0.c{this}"));
        }
        intent(&odds, DEAD, 700, false);
        for odd in &odds {
            let mut puts = 0;
            odd.rule(move |op, object| {
                puts += usize::from(op == Op::Put && object.contains("/g"));
                (puts > 0).then_some(Instead::Fail(Failure::Refused))
            });
        }
        let dropped = write("a", &nodes, &bytes, &replacing()).await;
        assert!(dropped.is_err());
        odds.iter().for_each(Odd::well);
        assert!(read_back("a", &nodes).await == bytes);
        assert!(open("a", &nodes).await.unwrap().manifest == old);
        let objects =
            |odd: &Odd| odd.objects().into_iter().filter(|name| name.contains(&DEAD.to_string())).count();
        assert_eq!(odds.iter().map(objects).sum::<usize>(), 0);
        let (manifest, this) = Manifest::parse(&odds[0].memory.objects()["a/manifest.json"]).unwrap();
        assert_eq!((manifest, this), (old, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn something_that_is_no_intent_keeps_others_off_until_they_insist() {
    let (odds, nodes) = odd(5);
    odds[2].memory.objects().insert("a/intent.json".into(), Bytes::from_static(b"?"));
    let error = write("a", &nodes, b"x", &small()).await.unwrap_err();
    assert!(matches!(&error, FileError::Busy { node, seconds: None, .. } if node == "n2"), "{error}");
    let options = PutOptions { abandoned: Duration::ZERO, ..small() };
    let manifest = write("a", &nodes, b"x", &options).await.unwrap();
    assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_was_taken_for_dead_does_not_commit() {
    let (odds, nodes) = odd(5);
    for odd in &odds {
        odd.rule(|op, object| {
            (op == Op::Put && object.contains("/g")).then_some(Instead::Wait(Duration::from_secs(10)))
        });
    }
    let (slow, bytes) = (small(), content(5 * GROUP, 1));
    let (slow, quick) = tokio::join!(write("a", &nodes, &bytes, &slow), async {
        tokio::time::sleep(Duration::from_secs(15)).await;
        let views = odds
            .iter()
            .enumerate()
            .map(|(index, odd)| node(index, &Odd { rule: Arc::default(), ..odd.clone() }));
        let options = PutOptions { abandoned: Duration::ZERO, ..small() };
        write("a", &views.collect::<Vec<_>>(), b"quick", &options).await
    });
    let quick = quick.unwrap();
    assert!(matches!(slow, Err(FileError::TakenOver { .. })), "{slow:?}");
    odds.iter().for_each(Odd::well);
    assert!(read_back("a", &nodes).await == b"quick");
    assert_eq!(strays("a", &odds, Some(&quick)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_long_put_renews_its_intent() {
    let (odds, nodes) = odd(5);
    let renewed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for odd in &odds {
        let renewed = Arc::clone(&renewed);
        odd.rule(move |op, object| match op {
            Op::Put if object.contains("/g") => Some(Instead::Wait(Duration::from_secs(51))),
            Op::Put if object.ends_with("intent.json") => {
                renewed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                None
            }
            _ => None,
        });
    }
    // Six groups of 51 seconds each: five minutes and six seconds.
    write("a", &nodes, &content(6 * GROUP, 1), &small()).await.unwrap();
    assert_eq!(renewed.load(std::sync::atomic::Ordering::Relaxed), 5 + 5 * 5);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_a_renewal_late_is_not_taken_for_dead() {
    for on in [2, 5] {
        let (odds, nodes) = odd(5);
        intent(&odds[..on], DEAD, 100, false);
        let error = write("a", &nodes, b"x", &small()).await.unwrap_err();
        assert!(matches!(error, FileError::Busy { seconds: Some(100..160), .. }), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn something_that_is_no_intent_keeps_a_removal_off_until_it_is_forced() {
    let (odds, nodes) = odd(5);
    write("a", &nodes, b"x", &small()).await.unwrap();
    odds[2].memory.objects().insert("a/intent.json".into(), Bytes::from_static(b"?"));
    let error = remove("a", &nodes, &RemoveOptions::default()).await.unwrap_err();
    assert!(matches!(&error, FileError::Busy { node, seconds: None, .. } if node == "n2"), "{error}");
    remove("a", &nodes, &RemoveOptions { abandoned: Duration::ZERO }).await.unwrap();
    assert_eq!(strays("a", &odds, None), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_says_that_it_has_everything_does_not_clean_up_for_ever() {
    struct Yes(Odd);
    impl CellStore for Yes {
        fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()> {
            self.0.read(object, range, leg)
        }
    }
    impl NodeStore for Yes {
        fn get(&self, object: &str, most: u64) -> Work<Bytes> {
            self.0.get(object, most)
        }
        fn length(&self, _: &str) -> Work<u64> {
            Box::pin(async { Ok(1) })
        }
        fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64> {
            self.0.put(object, existing, length, body)
        }
        fn delete(&self, object: &str) -> Work<()> {
            self.0.delete(object)
        }
        fn list(&self, _: &str) -> Work<Vec<Entry>> {
            Box::pin(async { Err(Failure::Unsupported.into()) })
        }
        fn address(&self) -> &str {
            self.0.address()
        }
    }
    let (odds, mut nodes) = odd(5);
    intent(&odds, DEAD, 700, false);
    nodes[1].store = Arc::new(Yes(odds[1].clone()));
    let error = write("a", &nodes, b"x", &small()).await.unwrap_err();
    assert!(matches!(&error, FileError::Node { failure, .. } if failure.node == "n1"), "{error}");
}
