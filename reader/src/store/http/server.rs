//! Nodes behind plain HTTP: reads through `object_store`, writing and deleting of our own, since its store for HTTP holds
//! whole objects in memory and can't create only.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use object_store::ObjectStore;

use super::exchange::ResponseBody;
use super::objects::{ObjectNode, path_of};
use super::request::RequestBody;
use super::{failures, listing};
use crate::store::address::{Server, decoded, encoded};
use crate::store::memory::check_length;
use crate::store::{Body, CellStore, Entry, Existing, Failed, Failure, Leg, NodeStore, Work};

/// A node behind plain HTTP: any server that answers GET with ranges; PUT, DELETE and PROPFIND where it is to be written,
/// cleaned and listed.
///
/// - A PUT is streamed: with `Content-Length` where the length is known, in chunks otherwise, and never more than two
///   pieces of the body in memory. A body that fails closes the connection before its end, and the server throws away
///   what it has. The server must make folders by itself (nginx: `create_full_put_path on`).
/// - [`Existing::Keep`] asks with HEAD first and then sends `If-None-Match: *`. Many servers ignore that header, nginx
///   among them: there, of two that put the same name at the same time, the last wins.
/// - A DELETE is sent with `Depth: 0`, so that no WebDAV server deletes a folder.
/// - Listing is WebDAV's PROPFIND, one folder at a time (`Depth: 1`), since most servers refuse to do all at once.
///   That of nginx leaves out names that begin with a dot.
#[derive(Clone)]
pub(super) struct ServerNode {
    /// What lies below the folder.
    node: ObjectNode,
    /// All of the server, of which a listing has to be told apart.
    all: Arc<dyn ObjectStore>,
    /// Names joined by slashes.
    folder: Arc<str>,
    /// The URL of the folder, without a slash at its end.
    url: Arc<str>,
}

impl fmt::Debug for ServerNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerNode").field("address", &self.node.address).finish_non_exhaustive()
    }
}

impl ServerNode {
    /// `node` is the folder on the server, and `all` everything on it.
    pub(super) fn new(node: ObjectNode, all: Arc<dyn ObjectStore>, server: &Server) -> Self {
        let url = match &*server.prefix {
            "" => server.root(),
            prefix => format!("{}/{}", server.root(), encoded(prefix)),
        };
        Self { node, all, folder: server.prefix.as_str().into(), url: url.into() }
    }

    fn request(
        &self,
        method: Method,
        object: &str,
        body: RequestBody,
    ) -> Result<Request<RequestBody>, Failed> {
        path_of(object)?;
        let uri = format!("{}/{}", self.url, encoded(object));
        let request = Request::builder().method(method).uri(uri).body(body);
        request
            .map_err(|_| Failed::because(Failure::Unsupported, format!("no URL can be made of {object:?}")))
    }

    async fn write(
        self,
        object: String,
        existing: Existing,
        length: Option<u64>,
        body: Body,
    ) -> Result<u64, Failed> {
        if existing == Existing::Keep && self.has(&object).await? {
            return Err(Failure::Exists.into());
        }
        let progress = Arc::new(Progress::default());
        let mut body = whole(body, length, Arc::clone(&progress));
        // Nothing would be asked of a body for which there is no room.
        if length == Some(0) && body.try_next().await?.is_none() {
            body = Box::pin(stream::empty());
        }
        let mut request = self.request(Method::PUT, &object, RequestBody::stream(body, length))?;
        if let Some(length) = length {
            request.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        }
        if existing == Existing::Keep {
            request.headers_mut().insert(header::IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        let answer = self.node.connector.send(request).await?;
        let status = answer.status();
        if status.is_success() {
            if !progress.complete.load(Ordering::Acquire) {
                let taken = progress.taken.load(Ordering::Acquire);
                let early =
                    format!("the server answered {status} after {taken} bytes, before the end of the object");
                return Err(Failed::because(Failure::Other, early));
            }
            finish(answer).await;
            return Ok(progress.taken.load(Ordering::Acquire));
        }
        let failed = failures::answered(answer).await;
        let exists = match status {
            StatusCode::PRECONDITION_FAILED => existing == Existing::Keep,
            // Some say so of what exists, others of a folder that does not.
            StatusCode::CONFLICT => existing == Existing::Keep && self.has(&object).await?,
            _ => false,
        };
        match status {
            _ if exists => Err(Failure::Exists.into()),
            StatusCode::CONFLICT | StatusCode::NOT_FOUND => {
                let folder = format!("{failed}; it may be that it does not make folders by itself");
                Err(Failed::because(Failure::Unsupported, folder))
            }
            _ => Err(failed),
        }
    }

    async fn has(&self, object: &str) -> Result<bool, Failed> {
        match self.node.length(object).await {
            Ok(_) => Ok(true),
            Err(failed) if failed.kind == Failure::Missing => Ok(false),
            Err(failed) => Err(failed),
        }
    }

    async fn remove(self, object: String) -> Result<(), Failed> {
        let mut request = self.request(Method::DELETE, &object, RequestBody::empty())?;
        request.headers_mut().insert("depth", HeaderValue::from_static("0"));
        let answer = self.node.connector.send(request).await?;
        let status = answer.status();
        if status.is_success() {
            finish(answer).await;
            return Ok(());
        }
        let failed = failures::answered(answer).await;
        match status {
            // What nginx says of a folder, and others of an object that is locked.
            StatusCode::CONFLICT if self.lacks(&object).await => {
                Err(Failed::because(Failure::Missing, failed.to_string()))
            }
            _ => Err(failed),
        }
    }

    /// Whether the server says that there is no such object: nothing at all, or a folder.
    async fn lacks(&self, object: &str) -> bool {
        let Ok(request) = self.request(Method::HEAD, object, RequestBody::empty()) else { return false };
        let Ok(answer) = self.node.connector.send(request).await else { return false };
        let status = answer.status();
        let gone = failures::of_status(status) == Failure::Missing;
        let folder = status.is_redirection()
            && answer.headers().get(header::LOCATION).is_some_and(|to| is_folder(to, object));
        finish(answer).await;
        gone || folder
    }
}

/// Whether this is where a server of files sends who asks for a folder without a slash at its end.
fn is_folder(to: &HeaderValue, object: &str) -> bool {
    let path = Uri::try_from(to.as_bytes()).ok().and_then(|to| decoded(to.path()));
    path.is_some_and(|path| path.strip_suffix('/').is_some_and(|path| path.ends_with(&format!("/{object}"))))
}

/// Reads what is left of an answer, so that its connection can be used again.
async fn finish(answer: Response<ResponseBody>) {
    failures::explanation(answer.into_body()).await;
}

/// How far a body has been taken.
#[derive(Default)]
struct Progress {
    taken: AtomicU64,
    complete: AtomicBool,
}

/// The same body, but the last piece comes only when it is known to be the last, and all are as long as they should be: a
/// server that has `length` bytes takes the object for complete.
fn whole(body: Body, length: Option<u64>, progress: Arc<Progress>) -> Body {
    let start = (Some(body), None::<Bytes>);
    Box::pin(stream::try_unfold(start, move |(mut body, mut held)| {
        let progress = Arc::clone(&progress);
        async move {
            while let Some(rest) = &mut body {
                let next = match rest.next().await {
                    Some(next) => next?,
                    None => {
                        check_length(length, progress.taken.load(Ordering::Relaxed))?;
                        break;
                    }
                };
                if next.is_empty() {
                    continue;
                }
                let taken = progress.taken.load(Ordering::Relaxed).saturating_add(next.len() as u64);
                if length.is_some_and(|length| taken > length) {
                    check_length(length, taken)?;
                }
                progress.taken.store(taken, Ordering::Release);
                if let Some(piece) = held.replace(next) {
                    return Ok(Some((piece, (body, held))));
                }
            }
            progress.complete.store(true, Ordering::Release);
            Ok(held.map(|piece| (piece, (None, None))))
        }
    }))
}

impl CellStore for ServerNode {
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()> {
        self.node.read(object, range, leg)
    }
}

impl NodeStore for ServerNode {
    fn get(&self, object: &str, most: u64) -> Work<Bytes> {
        self.node.get(object, most)
    }

    fn length(&self, object: &str) -> Work<u64> {
        self.node.length(object)
    }

    fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64> {
        Box::pin(Self::write(self.clone(), object.to_owned(), existing, length, body))
    }

    fn delete(&self, object: &str) -> Work<()> {
        Box::pin(Self::remove(self.clone(), object.to_owned()))
    }

    fn list(&self, prefix: &str) -> Work<Vec<Entry>> {
        Box::pin(listing::by_folders(Arc::clone(&self.all), self.folder.to_string(), prefix.to_owned()))
    }

    fn address(&self) -> &str {
        &self.node.address
    }

    fn close(&self) {
        self.node.connector.close();
    }
}
