//! From a request to its answer: what is asked for, what the folder has, and what the fault makes of it.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::watch;
use tokio::time::timeout;

use super::body::{self, Body, Faulty};
use super::fault::Fault;
use super::folder::{Folder, blocking};
use super::listing::{self, Depth};
use super::log::Line;
use super::path;
use super::range::{self, Asked};
use super::wire::HangUp;
use super::workers::Capacity;

/// What all connections share.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) folder: Folder,
    pub(super) faults: watch::Receiver<Fault>,
    pub(super) capacity: Arc<Capacity>,
    pub(super) write: bool,
    pub(super) log: bool,
    /// How long a client may keep a connection waiting.
    pub(super) client_timeout: Duration,
}

/// The end of a connection without an answer.
#[derive(Debug)]
pub(super) struct Unanswered;

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not answered")
    }
}

impl std::error::Error for Unanswered {}

type Answer = Response<Body>;

impl Service {
    /// Answers a request, with the fault that is on when it comes.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        hang_up: HangUp,
    ) -> Result<Answer, Unanswered> {
        let mut faults = self.faults.clone();
        let fault = *faults.borrow_and_update();
        if fault.is_about_connecting() {
            return Err(Unanswered);
        }
        let mut line = self.log.then(|| Line::new(request.method(), request.uri().path()));
        let creates = *request.method() == Method::PUT;
        if let Fault::Delay(time) = fault {
            tokio::time::sleep(time).await;
        }
        let answer = if fault == Fault::Status503 {
            failed(StatusCode::SERVICE_UNAVAILABLE, "out of service\n")
        } else if !self.capacity.serve().await {
            failed(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait\n")
        } else {
            match self.done(request, Faulty { fault, faults, hang_up }).await {
                Ok(answer) => answer,
                Err(error) => {
                    line = line.map(|line| line.because(&error));
                    refused(&error, creates)
                }
            }
        };
        let line = line.map(|line| line.status(answer.status()));
        Ok(answer.map(|body| body.logged(line)))
    }

    async fn done(&self, request: Request<Incoming>, faulty: Faulty) -> io::Result<Answer> {
        let path = request.uri().path();
        let folder = path.ends_with('/');
        let Some(name) = path::decode(path) else {
            return Ok(failed(StatusCode::BAD_REQUEST, "a path that no object can have\n"));
        };
        let method = request.method();
        if method.as_str() == "PROPFIND" {
            return self.list(name, request.headers()).await;
        }
        let read = *method == Method::GET || *method == Method::HEAD;
        if !read && !(self.write && (*method == Method::PUT || *method == Method::DELETE)) {
            let mut answer = failed(StatusCode::METHOD_NOT_ALLOWED, "not done here\n");
            let allowed = if self.write { "GET, HEAD, PROPFIND, PUT, DELETE" } else { "GET, HEAD, PROPFIND" };
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            return Ok(answer);
        }
        if folder {
            let status = if read { StatusCode::NOT_FOUND } else { StatusCode::CONFLICT };
            return Ok(failed(status, "a folder is no object\n"));
        }
        if read { self.read(name, &request, faulty).await } else { self.write(name, request).await }
    }

    async fn read(&self, name: String, request: &Request<Incoming>, faulty: Faulty) -> io::Result<Answer> {
        let fault = faulty.fault;
        let (folder, reads_body) = (self.folder.clone(), *request.method() == Method::GET);
        let (object, source) = blocking(move || {
            let object = folder.object(&name)?;
            let source = if fault == Fault::Stale { folder.stale(&name, &object)? } else { object.clone() };
            Ok((object, source))
        })
        .await?;
        let headers = request.headers();
        if if_match(headers, true) == Some(false) {
            return Ok(failed(StatusCode::PRECONDITION_FAILED, "no such version\n"));
        }
        if if_none_match_any(headers) {
            return Ok(bare(StatusCode::NOT_MODIFIED));
        }
        let asked = match headers.get(RANGE) {
            // Objects have no versions to compare, so no condition for a range is met.
            Some(range) if reads_body && !headers.contains_key(IF_RANGE) => {
                range::parse(range.to_str().unwrap_or_default(), object.length)
            }
            _ => Asked::Whole,
        };
        let mut part = match asked {
            Asked::Whole => None,
            Asked::Part(range) => Some(range),
            Asked::Beyond => {
                let mut answer = failed(StatusCode::RANGE_NOT_SATISFIABLE, "beyond the end\n");
                set(answer.headers_mut(), CONTENT_RANGE, format!("bytes */{}", object.length));
                return Ok(answer);
            }
        };
        if reads_body && fault == Fault::LieRange {
            part = another(part.unwrap_or(0..object.length), object.length);
        }
        let mut answer = bare(if part.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK });
        if let Some(Range { start, end }) = &part {
            let said = format!("bytes {start}-{}/{}", end.saturating_sub(1), object.length);
            set(answer.headers_mut(), CONTENT_RANGE, said);
        }
        let range = part.unwrap_or(0..object.length);
        let mut length = range.end.saturating_sub(range.start);
        if let Fault::LieLength(more) = fault {
            length = length.saturating_add_signed(more);
        }
        let headers = answer.headers_mut();
        headers.insert(CONTENT_LENGTH, length.into());
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        if reads_body && length > 0 {
            *answer.body_mut() = Body::stream(body::faulty(faulty, source, range));
        }
        Ok(answer)
    }

    async fn write(&self, name: String, request: Request<Incoming>) -> io::Result<Answer> {
        let headers = request.headers();
        let folder = self.folder.clone();
        let (looked_for, keep_existing) = (name.clone(), if_none_match_any(headers));
        let existed = blocking(move || folder.has(&looked_for)).await?;
        if keep_existing && existed || if_match(headers, existed) == Some(false) {
            return Ok(failed(
                StatusCode::PRECONDITION_FAILED,
                "there is such an object already, or another\n",
            ));
        }
        if *request.method() == Method::DELETE {
            let folder = self.folder.clone();
            blocking(move || folder.delete(&name)).await?;
            return Ok(bare(StatusCode::NO_CONTENT));
        }
        if headers.contains_key(CONTENT_RANGE) {
            return Ok(failed(StatusCode::BAD_REQUEST, "objects are written whole\n"));
        }
        let folder = self.folder.clone();
        let mut draft = blocking(move || folder.draft()).await?;
        let mut body = request.into_body();
        loop {
            let frame = match timeout(self.client_timeout, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => break,
                Ok(Some(Err(_))) => {
                    return Ok(failed(StatusCode::BAD_REQUEST, "the body ends too early\n"));
                }
                Err(_) => return Ok(failed(StatusCode::REQUEST_TIMEOUT, "the body does not go on\n")),
            };
            if let Ok(piece) = frame.into_data() {
                draft = blocking(move || draft.write(&piece).map(|()| draft)).await?;
            }
        }
        if !blocking(move || draft.publish(&name, keep_existing)).await? {
            return Ok(failed(StatusCode::PRECONDITION_FAILED, "there is such an object already\n"));
        }
        Ok(bare(if existed { StatusCode::NO_CONTENT } else { StatusCode::CREATED }))
    }

    async fn list(&self, name: String, headers: &HeaderMap) -> io::Result<Answer> {
        let depth = match headers.get("depth").map(HeaderValue::to_str) {
            None => Depth::parse(None),
            Some(Ok(depth)) => Depth::parse(Some(depth)),
            Some(Err(_)) => None,
        };
        let Some(depth) = depth else {
            return Ok(failed(StatusCode::BAD_REQUEST, "Depth is 0, 1 or infinity\n"));
        };
        let Folder::Disk(dir) = &self.folder else {
            return Ok(failed(StatusCode::NOT_IMPLEMENTED, "objects in memory are not listed\n"));
        };
        let dir = Arc::clone(dir);
        let pieces = blocking(move || listing::begin(dir, &name, depth)).await?;
        let mut answer = Response::new(Body::stream(pieces));
        *answer.status_mut() = StatusCode::MULTI_STATUS;
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml; charset=utf-8"));
        Ok(answer)
    }
}

/// Whether an `If-Match` is met, if there is one. Objects have no versions to compare: only `*` can be.
fn if_match(headers: &HeaderMap, exists: bool) -> Option<bool> {
    headers.get(IF_MATCH).map(|value| exists && value.as_bytes().trim_ascii() == b"*")
}

/// Whether there is to be no such object at all.
fn if_none_match_any(headers: &HeaderMap) -> bool {
    headers.get(IF_NONE_MATCH).is_some_and(|value| value.as_bytes().trim_ascii() == b"*")
}

/// A range that is as long and not the one asked for: a byte further on, or at the end a byte before; of the whole, all but its
/// first byte. `None` if there is none.
fn another(Range { start, end }: Range<u64>, length: u64) -> Option<Range<u64>> {
    if end < length {
        Some(start.saturating_add(1)..end.saturating_add(1))
    } else if start > 0 {
        Some(start - 1..end.saturating_sub(1))
    } else if end > 1 {
        Some(1..end)
    } else {
        None
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// An answer without a body.
fn bare(status: StatusCode) -> Answer {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

fn failed(status: StatusCode, why: &'static str) -> Answer {
    let mut answer = Response::new(Body::text(why));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    headers.insert(CONTENT_LENGTH, (why.len() as u64).into());
    answer
}

/// What the folder refused, without a word on where it lies.
fn refused(error: &io::Error, creates: bool) -> Answer {
    use io::ErrorKind as Kind;
    let (status, why) = match error.kind() {
        Kind::NotFound => (StatusCode::NOT_FOUND, "there is no such object\n"),
        Kind::NotADirectory if !creates => (StatusCode::NOT_FOUND, "there is no such object\n"),
        Kind::PermissionDenied => (StatusCode::FORBIDDEN, "not to be reached from here\n"),
        Kind::InvalidFilename | Kind::InvalidInput => (StatusCode::BAD_REQUEST, "no name of an object\n"),
        Kind::NotADirectory | Kind::IsADirectory | Kind::AlreadyExists | Kind::DirectoryNotEmpty => {
            (StatusCode::CONFLICT, "a folder and an object can't have one name\n")
        }
        Kind::StorageFull | Kind::QuotaExceeded => (StatusCode::INSUFFICIENT_STORAGE, "no room\n"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "the object can't be had\n"),
    };
    failed(status, why)
}
