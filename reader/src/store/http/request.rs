//! What a request carries: bytes in memory, which can be sent again, or a stream of a length that is kept to.

use std::error::Error;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body::{Frame, SizeHint};
use object_store::client::HttpRequestBody;

use crate::store::memory::check_length;
use crate::store::{Body, Failed};

/// The body of a request.
pub(crate) enum RequestBody {
    /// Bytes in memory.
    Whole(HttpRequestBody),
    /// Bytes that come once.
    Stream(Streamed),
}

impl RequestBody {
    /// No body.
    pub(crate) fn empty() -> Self {
        Self::Whole(HttpRequestBody::empty())
    }

    /// A stream, of `length` bytes if that is known; another length than that is an error of the request, and the server
    /// never sees the end of it.
    pub(crate) fn stream(body: Body, length: Option<u64>) -> Self {
        Self::Stream(Streamed { body: Mutex::new(body), length, sent: 0, ended: false })
    }
}

impl From<HttpRequestBody> for RequestBody {
    fn from(body: HttpRequestBody) -> Self {
        Self::Whole(body)
    }
}

/// A stream that becomes a request.
pub(crate) struct Streamed {
    // Never locked: it only makes a stream that is not `Sync` so.
    body: Mutex<Body>,
    length: Option<u64>,
    sent: u64,
    ended: bool,
}

impl Streamed {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let body = self.body.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = std::task::ready!(body.as_mut().poll_next(cx));
        let next = match next {
            Some(Ok(bytes)) => {
                self.sent = self.sent.saturating_add(bytes.len() as u64);
                match self.length {
                    Some(length) if self.sent > length => Some(Err(too_many(length, self.sent))),
                    _ => Some(Ok(bytes)),
                }
            }
            Some(Err(failed)) => Some(Err(failed)),
            None => check_length(self.length, self.sent).err().map(Err),
        };
        self.ended = !matches!(next, Some(Ok(_)));
        Poll::Ready(next)
    }
}

fn too_many(length: u64, sent: u64) -> Failed {
    match check_length(Some(length), sent) {
        Err(failed) => failed,
        Ok(()) => crate::Failure::TooLong.into(),
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Self::Stream(stream) => stream.poll(cx).map_ok(Frame::data).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Stream(stream) => stream.ended,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Stream(stream) => match stream.length {
                Some(length) => SizeHint::with_exact(length.saturating_sub(stream.sent)),
                None => SizeHint::default(),
            },
        }
    }
}

/// The same request once more, if it may be sent twice: its bytes are still there, and two of it do no more than one.
pub(super) fn again(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    let conditional = request.headers().contains_key(header::IF_NONE_MATCH)
        || request.headers().contains_key(header::IF_MATCH);
    let idempotent = match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS => true,
        // With a condition the second would fail because the first did not.
        Method::PUT | Method::DELETE => !conditional,
        _ => request.method().as_str() == "PROPFIND",
    };
    let RequestBody::Whole(body) = request.body() else { return None };
    if !idempotent {
        return None;
    }
    let mut copy = Request::new(RequestBody::Whole(body.clone()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}
