//! The peer: `tower`'s hedge layer, which decides by a latency percentile whether to send a request twice.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::time::Duration;

use tokio::runtime::Runtime;
use tower::hedge::{Hedge, Policy};
use tower::util::ServiceExt;
use tower::{Service, service_fn};

/// Requests may always be repeated.
#[derive(Clone)]
pub(crate) struct Repeat;

impl Policy<u32> for Repeat {
    fn clone_request(&self, request: &u32) -> Option<u32> {
        Some(*request)
    }

    fn can_retry(&self, _: &u32) -> bool {
        true
    }
}

/// Sends `calls` requests, one after another, through a hedge layer over a service that answers at once: the counterpart of an
/// unhedged read of one cell.
pub(crate) fn unhedged(runtime: &Runtime, calls: u32) -> u32 {
    fn answer(request: u32) -> Ready<Result<u32, Infallible>> {
        ready(Ok(request))
    }
    runtime.block_on(async {
        let mut hedge = Hedge::new(service_fn(answer), Repeat, 10, 0.99, Duration::from_secs(60));
        let mut sum = 0_u32;
        for call in 0..calls {
            let service = hedge.ready().await.expect("always ready");
            sum = sum.wrapping_add(service.call(call).await.expect("always answered"));
        }
        sum
    })
}

/// A runtime as the layer needs it: one thread, with a timer.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}
