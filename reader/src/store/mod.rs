//! What a node is to a reader: something that serves byte ranges of named objects, and tells how it is getting on.

mod address;
mod connect;
mod failed;
#[cfg(feature = "http")]
mod http;
mod leg;
mod local;
mod memory;
mod name;
mod node;
#[cfg(feature = "http")]
mod secrets;

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;

#[cfg(feature = "http")]
pub use self::http::{Connector, ConnectorOptions, ObjectNode, quiet};
pub use address::{Address, AddressError};
pub use connect::{NodeOptions, connect};
pub use failed::{Failed, Failure};
pub(crate) use leg::{Control, Event, Holds, Said, Turn};
pub use leg::{Lease, Leg};
pub use local::LocalStore;
pub use memory::MemoryStore;
pub(crate) use name::check_name;
pub(crate) use node::body_of;
pub use node::{Body, Entry, Existing, NodeStore};

/// The work of a store: a future that borrows nothing.
pub type Work<T> = Pin<Box<dyn Future<Output = Result<T, Failed>> + Send>>;

/// One node, for reading: about thirty lines for a client of one's own.
///
/// # What a store promises
///
/// - It calls [`Leg::connecting`] where it opens a connection, and [`Leg::connected`] once there is one, also if
///   it was open before. A store without connections says `connected` when its work begins.
/// - Bytes go to [`Leg::data`] in order, as they come; the end is `leg.finish()`. More and fewer bytes than asked for are
///   failures by these two.
/// - Dropping the future cancels the work. What outlives the future, a thread in a blocking call or a task that
///   closes a socket, holds a [`Lease`] while it does; where it can look, it asks [`Leg::is_cancelled`].
/// - It does not retry, and has no timers of its own: both are the reader's.
///
/// ```
/// use std::ops::Range;
///
/// use hedgerow_reader::{CellStore, Failed, Failure, Leg, Work};
///
/// /// Objects in memory.
/// struct Memory(std::collections::HashMap<String, bytes::Bytes>);
///
/// impl CellStore for Memory {
///     fn read(&self, object: &str, range: Range<u64>, mut leg: Leg) -> Work<()> {
///         let found = self.0.get(object).cloned();
///         Box::pin(async move {
///             leg.connected();
///             let object = found.ok_or(Failure::Missing)?;
///             let range = range.start as usize..range.end as usize;
///             if range.end > object.len() {
///                 return Err(Failed::from(Failure::TooShort));
///             }
///             leg.data(object.slice(range))?;
///             leg.finish()
///         })
///     }
/// }
/// ```
pub trait CellStore: Send + Sync + 'static {
    /// Reads bytes `range` of `object`, which is a path of names and slashes, without a slash at either end. The range
    /// is not empty.
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()>;
}

/// Reads bytes `range` of `object` by itself, without hedging: for tools that look at single nodes.
///
/// # Errors
///
/// As [`CellStore::read`].
pub async fn read_object(
    store: &dyn CellStore,
    object: &str,
    range: Range<u64>,
) -> Result<bytes::Bytes, Failed> {
    if range.is_empty() {
        return Ok(bytes::Bytes::new());
    }
    let (events, mut happened) = tokio::sync::mpsc::unbounded_channel();
    let length = range.end - range.start;
    let (leg, control) = Leg::new(0, length, events, Holds::default());
    let _cancel = CancelOnDrop(control);
    let mut work = store.read(object, range, leg);
    let (mut pieces, mut left) = (Vec::new(), length);
    let mut take = |said| {
        if let Said::Data(bytes) = said {
            left = left.saturating_sub(bytes.len() as u64);
            pieces.push(bytes);
        }
    };
    let ended = loop {
        tokio::select! {
            biased;
            Some(event) = happened.recv() => take(event.said),
            ended = &mut work => break ended,
        }
    };
    while let Ok(event) = happened.try_recv() {
        take(event.said);
    }
    ended?;
    if left > 0 {
        return Err(Failed::because(Failure::TooShort, format!("the store forgot {left} bytes of {length}")));
    }
    if let [one] = &pieces[..] {
        return Ok(one.clone());
    }
    Ok(pieces.concat().into())
}

struct CancelOnDrop(Control);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;
    use futures_util::FutureExt;

    use super::*;

    /// Tells these pieces, keeps a lease in `kept`, and then ends like this, or never.
    struct Scripted {
        pieces: Vec<&'static str>,
        end: Option<Result<(), Failure>>,
        kept: Mutex<Option<Lease>>,
    }

    impl Scripted {
        fn new(pieces: &[&'static str], end: Option<Result<(), Failure>>) -> Self {
            Self { pieces: pieces.to_vec(), end, kept: Mutex::default() }
        }

        fn was_cancelled(&self) -> bool {
            self.kept.lock().unwrap().as_ref().unwrap().is_cancelled()
        }
    }

    impl CellStore for Scripted {
        fn read(&self, _object: &str, _range: Range<u64>, mut leg: Leg) -> Work<()> {
            *self.kept.lock().unwrap() = Some(leg.lease());
            let (pieces, end) = (self.pieces.clone(), self.end);
            Box::pin(async move {
                for piece in pieces {
                    leg.data(Bytes::from(piece))?;
                    tokio::task::yield_now().await;
                }
                match end {
                    Some(end) => Ok(end?),
                    None => std::future::pending().await,
                }
            })
        }
    }

    #[tokio::test]
    async fn pieces_are_joined_in_order_though_a_lease_is_still_held() {
        let store = Scripted::new(&["one, ", "two", ", three"], Some(Ok(())));
        assert_eq!(read_object(&store, "object", 5..20).await.unwrap(), "one, two, three");
    }

    #[tokio::test]
    async fn a_dropped_read_is_cancelled() {
        let store = Scripted::new(&["one"], None);
        let mut read = Box::pin(read_object(&store, "object", 0..10));
        assert!((&mut read).now_or_never().is_none());
        assert!(!store.was_cancelled());
        drop(read);
        assert!(store.was_cancelled());
    }

    #[tokio::test]
    async fn the_failure_of_a_store_is_the_failure_of_the_read() {
        let store = Scripted::new(&["one"], Some(Err(Failure::Corrupt)));
        assert_eq!(read_object(&store, "object", 0..10).await.unwrap_err().kind, Failure::Corrupt);
    }

    #[tokio::test]
    async fn a_store_that_forgets_bytes_and_says_all_is_well_is_found_out() {
        let store = Scripted::new(&["one"], Some(Ok(())));
        let failed = read_object(&store, "object", 0..10).await.unwrap_err();
        assert_eq!(failed.to_string(), "too short: the store forgot 7 bytes of 10");
    }

    #[tokio::test]
    async fn an_empty_range_asks_no_store() {
        let store = Scripted::new(&[], None);
        assert!(read_object(&store, "object", 5..5).await.unwrap().is_empty());
        assert!(store.kept.lock().unwrap().is_none());
    }
}
