//! Reads from anything that `object_store` can talk to: one bounded GET a read, and nothing that hides what happens.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{ClientOptions, GetOptions, GetRange, ObjectStore, RetryConfig};

use super::{Connector, failures};
use crate::store::name::check_name;
use crate::store::{CellStore, Failed, Failure, Leg, Work};

/// What every builder of `object_store` is given: no retries, no timeouts, plain HTTP allowed, HTTP/1.1 alone. Retries and
/// timers are the reader's.
#[must_use]
pub fn quiet() -> (RetryConfig, ClientOptions) {
    let retry = RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() };
    let client = ClientOptions::new()
        .with_allow_http(true)
        .with_http1_only()
        .with_timeout_disabled()
        .with_connect_timeout_disabled()
        .with_read_timeout_disabled();
    (retry, client)
}

/// A node behind an [`ObjectStore`] that was built with [`quiet`] and `connector`.
#[derive(Clone)]
pub struct ObjectNode {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) connector: Connector,
    pub(super) address: String,
}

impl ObjectNode {
    /// A node over `store`, whose requests go through `connector`. Messages call it `address`, in which no secret may be.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, connector: Connector, address: String) -> Self {
        Self { store, connector, address }
    }
}

/// The store's own description may hold secrets.
impl fmt::Debug for ObjectNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectNode").field("address", &self.address).finish_non_exhaustive()
    }
}

/// No object store takes longer names, and `object_store` panics where a URL gets too long.
const LONGEST: usize = 1024;

/// The name of an object for `object_store`, byte for byte as it is.
pub(super) fn path_of(object: &str) -> Result<Path, Failed> {
    check_name(object)?;
    if object.len() > LONGEST {
        let length =
            format!("an object name of {} bytes, where at most {LONGEST} are possible", object.len());
        return Err(Failed::because(Failure::Refused, length));
    }
    Path::parse(object).map_err(|error| Failed::because(Failure::Refused, error))
}

impl CellStore for ObjectNode {
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()> {
        let (store, path) = (Arc::clone(&self.store), path_of(object));
        Box::pin(async move {
            // Declared first, so dropped last: after the request and its socket.
            let mut leg = leg;
            let path = path?;
            let mut options =
                GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
            options.extensions.insert(leg.lease());
            let answer = store.get_opts(&path, options).await.map_err(|error| failures::failed(&error))?;
            // Over HTTP the connector has looked already; stores without HTTP cut a range that goes too far.
            if answer.range != range {
                let kind = if answer.range.start == range.start && answer.range.end < range.end {
                    Failure::TooShort
                } else {
                    Failure::Corrupt
                };
                return Err(Failed::because(
                    kind,
                    format!("bytes {:?} where {range:?} were asked for", answer.range),
                ));
            }
            let mut body = answer.into_stream();
            while let Some(bytes) = body.next().await {
                leg.data(bytes.map_err(|error| failures::failed(&error))?)?;
            }
            leg.finish()
        })
    }
}
