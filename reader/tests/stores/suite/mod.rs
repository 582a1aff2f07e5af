//! The promises, and what the tests of them share.

pub(crate) mod dropped;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod read;
pub(crate) mod write;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hedgerow_reader::{Body, Existing, Failed, Failure, NodeStore, read_object};

/// A node without objects.
pub(crate) struct Made {
    pub(crate) store: Arc<dyn NodeStore>,
    pub(crate) able: Able,
    _keep: Box<dyn Any + Send + Sync>,
}

/// What not every store can do.
#[derive(Clone, Copy)]
pub(crate) struct Able {
    /// List its objects; else it says [`Failure::Unsupported`].
    pub(crate) list: bool,
    /// List names that begin with a dot.
    pub(crate) list_dots: bool,
    /// Say that what was to be deleted was not there.
    pub(crate) miss_deletes: bool,
    /// Create only, in one step.
    pub(crate) create_only: bool,
}

impl Able {
    pub(crate) const ALL: Self = Self { list: true, list_dots: true, miss_deletes: true, create_only: true };
}

impl Made {
    /// `keep` is what the store needs to live: a folder, a server.
    pub(crate) fn new(store: impl NodeStore, able: Able, keep: impl Any + Send + Sync) -> Self {
        Self::of(Arc::new(store), able, keep)
    }

    /// [`new`](Self::new), for a store that is shared already.
    pub(crate) fn of(store: Arc<dyn NodeStore>, able: Able, keep: impl Any + Send + Sync) -> Self {
        Self { store, able, _keep: Box::new(keep) }
    }

    pub(crate) async fn put(&self, object: &str, bytes: &[u8]) {
        let written = self.try_put(object, Existing::Replace, bytes).await.unwrap();
        assert_eq!(written, bytes.len() as u64, "{object}");
    }

    pub(crate) async fn try_put(
        &self,
        object: &str,
        existing: Existing,
        bytes: &[u8],
    ) -> Result<u64, Failed> {
        let length = Some(bytes.len() as u64);
        self.store.put(object, existing, length, body(bytes, 10_000)).await
    }

    pub(crate) async fn read(&self, object: &str, range: std::ops::Range<u64>) -> Result<Bytes, Failed> {
        read_object(&*self.store, object, range).await
    }

    /// Whether exactly these objects are there, in any order, as far as the store can list them.
    pub(crate) async fn has_only(&self, objects: &[&str]) -> bool {
        for object in objects {
            self.store.length(object).await.unwrap();
        }
        if !self.able.list {
            return true;
        }
        let mut objects = objects.to_vec();
        objects.retain(|object| self.able.list_dots || !object.split('/').any(|name| name.starts_with('.')));
        objects.sort_unstable();
        self.store.list("").await.unwrap().iter().map(|entry| &*entry.object).eq(objects)
    }

    pub(crate) async fn is_missing(&self, object: &str) -> bool {
        matches!(self.store.length(object).await, Err(failed) if failed.kind == Failure::Missing)
    }
}

/// Bytes that differ from place to place and from `seed` to `seed`.
pub(crate) fn bytes(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|i| (i as u8).wrapping_mul(31) ^ (i / 251) as u8 ^ seed.wrapping_mul(97)).collect()
}

/// A body of `bytes` in pieces of this length.
pub(crate) fn body(bytes: &[u8], piece: usize) -> Body {
    let pieces: Vec<_> = bytes.chunks(piece).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    Box::pin(futures_util::stream::iter(pieces))
}

/// Asks again and again, for some seconds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), asking).await.is_ok(), "never: {what}");
}

/// Tests every promise on the nodes that `$make` makes, in a module `$store`. It is an `async fn() -> Made`, or `-> Option<Made>`
/// where it takes a server that may not be there.
#[macro_export]
macro_rules! conformance {
    ($store:ident, $make:path) => {
        mod $store {
            $crate::conformance!(@ $make, read:
                ranges_at_all_edges_read_back
                a_range_past_the_end_is_too_short
                a_missing_object_is_missing
                an_empty_object_has_no_bytes
                get_reads_the_whole_object_within_its_limit
                reads_at_the_same_time_do_not_mix);
            $crate::conformance!(@ $make, write:
                pieces_of_any_length_become_one_object
                keep_leaves_what_is_there
                replace_is_seen_by_the_next_read
                of_puts_that_keep_one_wins
                a_body_that_fails_leaves_nothing
                a_body_of_another_length_leaves_nothing
                what_was_deleted_is_missing);
            $crate::conformance!(@ $make, list:
                objects_are_listed_in_the_order_of_their_names
                a_prefix_is_a_folder);
            $crate::conformance!(@ $make, names:
                odd_names_are_told_apart
                names_that_lead_elsewhere_are_refused);
            $crate::conformance!(@ $make, dropped:
                a_dropped_read_disturbs_no_other
                a_dropped_put_leaves_nothing);
        }
    };
    (@ $make:path, $part:ident: $($promise:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                use $crate::*;
                // Made, or perhaps made.
                let made: Option<$crate::suite::Made> = $make().await.into();
                if let Some(made) = made {
                    $crate::suite::$part::$promise(made).await;
                }
            }
        )*
    };
}
