//! One request on one connection. No task of its own drives the connection: whoever waits for the head or reads the body does,
//! so that a dropped request closes its socket there and then.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use super::dial::{Stream, Target};
use super::failures;
use super::pool::Pool;
use super::request::RequestBody;
use crate::store::{Failed, Lease};

/// An open connection.
pub(super) struct Line {
    // The order of the fields is the order of their drops: the socket is gone before the lease says so.
    connection: Option<Connection<TokioIo<Stream>, RequestBody>>,
    sender: SendRequest<RequestBody>,
    /// Held while a request runs.
    pub(super) lease: Option<Lease>,
}

impl Line {
    pub(super) async fn new(stream: Stream, lease: Option<Lease>) -> Result<Self, Failed> {
        let opened = Builder::new().handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|error| failures::failed(&error))?;
        Ok(Self { connection: Some(connection), sender, lease })
    }

    /// Lets the connection do what it can; one that has ended is closed.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && connection.poll_without_shutdown(cx).is_ready()
        {
            self.connection = None;
        }
    }

    /// Whether it waits for a request, with nothing read that was not asked for.
    pub(super) fn is_idle(&mut self) -> bool {
        // Nobody is to be woken for what happens to an idle connection: it is looked at before it is used again.
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn head(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        poll_fn(|cx| {
            self.drive(cx);
            answer.as_mut().poll(cx)
        })
        .await
    }

    /// The answer with what is needed to read the rest of it.
    pub(super) fn into_response(
        self,
        head: Response<Incoming>,
        pool: &Pool,
        target: Target,
    ) -> Response<ResponseBody> {
        head.map(|incoming| {
            let mut body = ResponseBody { incoming, held: Some((self, pool.clone(), target)) };
            if body.incoming.is_end_stream() {
                body.settle();
            }
            body
        })
    }
}

/// The body of an answer. Its end gives the connection back; a drop before the end closes it.
pub(crate) struct ResponseBody {
    incoming: Incoming,
    held: Option<(Line, Pool, Target)>,
}

impl ResponseBody {
    /// The answer is complete: others may use the connection.
    fn settle(&mut self) {
        if let Some((mut line, pool, target)) = self.held.take()
            && line.is_idle()
        {
            let lease = line.lease.take();
            pool.put(target, line);
            drop(lease);
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Failed;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failed>>> {
        let this = self.get_mut();
        // Asking for a frame lets the connection read one, so a second look often finds it.
        for look in 0..2 {
            if let Some((line, ..)) = &mut this.held {
                line.drive(cx);
            }
            match Pin::new(&mut this.incoming).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    if this.incoming.is_end_stream() {
                        this.settle();
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(Some(Err(error))) => {
                    this.held = None;
                    return Poll::Ready(Some(Err(failures::failed(&error))));
                }
                Poll::Ready(None) => {
                    this.settle();
                    return Poll::Ready(None);
                }
                Poll::Pending if look == 0 => {}
                Poll::Pending => break,
            }
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
