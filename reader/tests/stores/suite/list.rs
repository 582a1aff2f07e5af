//! Listing.

use hedgerow_reader::{Entry, Failure};

use super::Made;

/// In the order of their names, which is not that of the folders.
const OBJECTS: [&str; 7] = ["a-b", "a.b/c", "a/b/c", "a/b/d", "a/bb", "a0", "b"];

pub(crate) async fn objects_are_listed_in_the_order_of_their_names(made: Made) {
    if !made.able.list {
        assert_eq!(made.store.list("").await.unwrap_err().kind, Failure::Unsupported);
        return;
    }
    assert_eq!(made.store.list("").await.unwrap(), []);
    for (length, object) in OBJECTS.iter().enumerate().rev() {
        made.put(object, &vec![1; length]).await;
    }
    let entry =
        |(length, object): (usize, &&str)| Entry { object: (*object).to_owned(), length: length as u64 };
    let expected: Vec<_> = OBJECTS.iter().enumerate().map(entry).collect();
    assert_eq!(made.store.list("").await.unwrap(), expected);
}

pub(crate) async fn a_prefix_is_a_folder(made: Made) {
    if !made.able.list {
        assert_eq!(made.store.list("a").await.unwrap_err().kind, Failure::Unsupported);
        return;
    }
    for object in OBJECTS {
        made.put(object, b"1").await;
    }
    let cases: [(&str, &[&str]); 7] = [
        ("a", &["a/b/c", "a/b/d", "a/bb"]),
        ("a/b", &["a/b/c", "a/b/d"]),
        ("a.b", &["a.b/c"]),
        ("a/b/c", &[]),
        ("a0", &[]),
        ("missing", &[]),
        ("a/missing", &[]),
    ];
    for (prefix, expected) in cases {
        let listed = made.store.list(prefix).await.unwrap();
        assert!(
            listed.iter().map(|entry| &*entry.object).eq(expected.iter().copied()),
            "{prefix}: {listed:?}"
        );
    }
}
