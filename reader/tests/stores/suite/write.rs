//! Writing and deleting.

use bytes::Bytes;
use futures_util::future::join_all;
use hedgerow_reader::{Body, Existing, Failed, Failure};

use super::{Made, body, bytes};

pub(crate) async fn pieces_of_any_length_become_one_object(made: Made) {
    let written = bytes(1, 700_001);
    for (piece, length) in [(1 << 20, Some(700_001)), (1000, None), (300_000, Some(700_001)), (65_536, None)]
    {
        let put = made.store.put("a/b/object", Existing::Replace, length, body(&written, piece)).await;
        assert_eq!(put.unwrap(), 700_001, "pieces of {piece}");
        assert!(made.store.get("a/b/object", 1 << 20).await.unwrap() == written, "pieces of {piece}");
    }
    let gaps = ["", "one", "", "", "two", ""].map(|piece| Ok(Bytes::from(piece)));
    let put = made.store.put("gaps", Existing::Keep, None, Box::pin(futures_util::stream::iter(gaps))).await;
    assert_eq!(put.unwrap(), 6);
    assert_eq!(made.store.get("gaps", 10).await.unwrap(), "onetwo");
}

pub(crate) async fn keep_leaves_what_is_there(made: Made) {
    made.try_put("object", Existing::Keep, b"first").await.unwrap();
    let failed = made.try_put("object", Existing::Keep, b"second, and longer").await.unwrap_err();
    assert_eq!(failed.kind, Failure::Exists, "{failed}");
    assert_eq!(made.store.get("object", 100).await.unwrap(), "first");
    assert!(made.has_only(&["object"]).await);
}

pub(crate) async fn replace_is_seen_by_the_next_read(made: Made) {
    for length in [5000, 9000, 1, 70_000] {
        let written = bytes(length as u8, length);
        made.put("object", &written).await;
        assert!(made.read("object", 0..length as u64).await.unwrap() == written, "{length}");
        assert_eq!(made.read("object", 0..length as u64 + 1).await.unwrap_err().kind, Failure::TooShort);
    }
    assert!(made.has_only(&["object"]).await);
}

pub(crate) async fn of_puts_that_keep_one_wins(made: Made) {
    if !made.able.create_only {
        return;
    }
    let puts = (0..8).map(|seed| {
        let made = &made;
        async move { made.try_put("object", Existing::Keep, &bytes(seed, 50_000)).await }
    });
    let put = join_all(puts).await;
    let winners: Vec<_> =
        put.iter().enumerate().filter(|(_, put)| put.is_ok()).map(|(seed, _)| seed).collect();
    let [winner] = winners[..] else { panic!("{put:?}") };
    for put in put.iter().filter_map(|put| put.as_ref().err()) {
        assert_eq!(put.kind, Failure::Exists, "{put}");
    }
    assert!(made.store.get("object", 1 << 20).await.unwrap() == bytes(winner as u8, 50_000));
    assert!(made.has_only(&["object"]).await);
}

pub(crate) async fn a_body_that_fails_leaves_nothing(made: Made) {
    made.put("old", b"old").await;
    for (object, good) in [("new", 0), ("new", 1), ("a/new", 10), ("old", 1), ("old", 10)] {
        let pieces = vec![Bytes::from(vec![7; 100_000]); good].into_iter().map(Ok);
        let broken = [Err(Failed::because(Failure::Other, "the source broke"))];
        let body: Body = Box::pin(futures_util::stream::iter(pieces.chain(broken)));
        let length = Some(good as u64 * 100_000 + 100_000);
        assert!(made.store.put(object, Existing::Replace, length, body).await.is_err(), "{object} {good}");
        assert!(made.has_only(&["old"]).await, "{object} {good}");
    }
    assert!(made.is_missing("new").await && made.is_missing("a/new").await);
    assert_eq!(made.store.get("old", 100).await.unwrap(), "old");
}

pub(crate) async fn a_body_of_another_length_leaves_nothing(made: Made) {
    made.put("old", b"old").await;
    for object in ["new", "a/new", "old"] {
        for existing in [Existing::Replace, Existing::Keep] {
            if object == "old" && existing == Existing::Keep {
                continue;
            }
            for (length, kind) in
                [(0, Failure::TooLong), (99_999, Failure::TooLong), (100_001, Failure::TooShort)]
            {
                let put = made.store.put(object, existing, Some(length), body(&[7; 100_000], 30_000)).await;
                assert_eq!(put.unwrap_err().kind, kind, "{object} of {length}");
            }
        }
    }
    assert!(made.is_missing("new").await && made.is_missing("a/new").await);
    assert!(made.has_only(&["old"]).await);
    assert_eq!(made.store.get("old", 100).await.unwrap(), "old");
}

pub(crate) async fn what_was_deleted_is_missing(made: Made) {
    made.put("a/b/one", b"1").await;
    made.put("a/b/two", b"2").await;
    assert_eq!(made.read("a/b/one", 0..1).await.unwrap(), "1");
    made.store.delete("a/b/one").await.unwrap();
    assert!(made.is_missing("a/b/one").await);
    assert_eq!(made.read("a/b/one", 0..1).await.unwrap_err().kind, Failure::Missing);
    assert!(made.has_only(&["a/b/two"]).await);
    if made.able.miss_deletes {
        for object in ["a/b/one", "nothing", "a/b"] {
            assert_eq!(made.store.delete(object).await.unwrap_err().kind, Failure::Missing, "{object}");
        }
    }
    made.store.delete("a/b/two").await.unwrap();
    assert!(made.has_only(&[]).await);
    made.put("a/b/one", b"again").await;
    assert_eq!(made.store.get("a/b/one", 10).await.unwrap(), "again");
}
