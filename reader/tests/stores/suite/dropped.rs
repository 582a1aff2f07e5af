//! What is dropped before its end.

use std::pin::pin;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use hedgerow_reader::{Body, Existing};
use tokio::sync::oneshot;

use super::{Made, bytes, eventually};

pub(crate) async fn a_dropped_read_disturbs_no_other(made: Made) {
    let written = bytes(1, 1 << 20);
    made.put("object", &written).await;
    for i in 0..64_u64 {
        // Dropped where it happens to be: before it began, or after a few turns.
        let mut dropped = Box::pin(made.read("object", 0..1 << 20));
        for _ in 0..i % 4 {
            if (&mut dropped).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(dropped);
        let (start, end) = (i * 1000, i * 1000 + 70_000);
        let read = made.read("object", start..end).await.unwrap();
        assert!(read == written[start as usize..end as usize], "read {i}");
    }
}

pub(crate) async fn a_dropped_put_leaves_nothing(made: Made) {
    made.put("old", b"old").await;
    for object in ["new", "a/b/new", "old"] {
        for pieces in [0, 1, 30] {
            let (reached, end) = oneshot::channel();
            let more = (0..pieces).map(|_| Ok(Bytes::from(vec![7; 100_000])));
            // Says that all pieces are taken, and then never ends.
            let silence = stream::once(async move {
                let _ = reached.send(());
                std::future::pending().await
            });
            let body: Body = Box::pin(stream::iter(more).chain(silence));
            {
                let mut put = pin!(made.store.put(object, Existing::Replace, None, body));
                tokio::select! {
                    put = &mut put => panic!("the body has not ended: {put:?}"),
                    reached = end => reached.unwrap(),
                }
            }
            eventually("nothing is left", async || made.has_only(&["old"]).await).await;
            assert!(object == "old" || made.is_missing(object).await, "{object}");
        }
    }
    assert_eq!(made.store.get("old", 100).await.unwrap(), "old");
}
