//! Names of objects.

use hedgerow_reader::{Existing, Failure};

use super::Made;

pub(crate) async fn odd_names_are_told_apart(made: Made) {
    let long = "x".repeat(120);
    let odd = [
        "a b",
        "a%20b",
        "a+b",
        "a%2Bb",
        "%",
        "%25",
        "%2e%2e/x",
        "#1",
        "?y=1&z=2",
        "a=b",
        "ü/日本",
        "u\u{308}",
        ".hidden",
        "...",
        "..a/b..",
        "~",
        "it's",
        "[x]{y}",
        "a,b;c",
        "@!$()",
        "$HOME",
        "-rf",
        &long,
    ];
    for (i, object) in odd.iter().enumerate() {
        made.try_put(object, Existing::Keep, object.as_bytes())
            .await
            .unwrap_or_else(|failed| panic!("{i} {object}: {failed}"));
    }
    for object in odd {
        assert_eq!(made.store.length(object).await.unwrap(), object.len() as u64, "{object}");
        assert_eq!(made.store.get(object, 1000).await.unwrap(), object, "{object}");
        assert_eq!(
            made.read(object, 1..object.len() as u64).await.unwrap(),
            object.as_bytes()[1..],
            "{object}"
        );
    }
    assert!(made.has_only(&odd).await);
    for object in odd {
        made.store.delete(object).await.unwrap_or_else(|failed| panic!("{object}: {failed}"));
        assert!(made.is_missing(object).await, "{object}");
    }
    assert!(made.has_only(&[]).await);
}

pub(crate) async fn names_that_lead_elsewhere_are_refused(made: Made) {
    made.put("a/there", b"there").await;
    let hostile = [
        "",
        "/",
        "/a/there",
        "a/there/",
        "a//there",
        ".",
        "..",
        "./a/there",
        "a/./there",
        "a/../a/there",
        "../a/there",
        "a/..",
        "a/there/..",
        "a\\there",
        "..\\a",
        "a/there\0",
        "\0",
    ];
    for object in hostile {
        let refused = [
            made.try_put(object, Existing::Replace, b"new").await.err(),
            made.try_put(object, Existing::Keep, b"new").await.err(),
            made.read(object, 0..1).await.err(),
            made.store.get(object, 10).await.err(),
            made.store.length(object).await.err(),
            made.store.delete(object).await.err(),
        ];
        for (i, failed) in refused.into_iter().enumerate() {
            let kind = failed.unwrap_or_else(|| panic!("{object:?} was not refused: {i}")).kind;
            assert_eq!(kind, Failure::Refused, "{object:?} {i}");
        }
    }
    assert!(made.has_only(&["a/there"]).await);
    assert_eq!(made.store.get("a/there", 10).await.unwrap(), "there");
}
