//! The HTTP client under all stores: connections that say for which leg they work, and are gone when it is dropped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::TrySendError;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};

use super::dial::{self, Stream, Target};
use super::exchange::{Line, ResponseBody};
use super::pool::Pool;
use super::request::{RequestBody, again};
use super::tls::Tls;
use super::{failures, ranges};
use crate::store::{Failed, Failure, Lease};

/// How a [`Connector`] makes and keeps its connections.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConnectorOptions {
    /// A connection may be idle for so long.
    pub idle_age: Duration,
    /// So many connections to one host may be idle.
    pub idle_per_host: usize,
    /// Sent with every request to the host [`headers_to`](Self::headers_to) that does not have them already.
    pub headers: HeaderMap,
    /// The host that [`headers`](Self::headers) are for: `name` or `name:port`, as in its URL. Others, such as those
    /// that hand out credentials, never see them.
    pub headers_to: Option<String>,
    /// Certificates, as PEM, that are trusted as roots beside those of the system. Needs the feature `tls`.
    pub root_certificates: Vec<Vec<u8>>,
    /// What to show to servers that ask who we are: certificates and their private key, as PEM. Needs the feature
    /// `tls`.
    pub client_certificate: Option<Vec<u8>>,
}

impl Default for ConnectorOptions {
    fn default() -> Self {
        Self {
            idle_age: Duration::from_secs(30),
            idle_per_host: 16,
            headers: HeaderMap::new(),
            headers_to: None,
            root_certificates: Vec::new(),
            client_certificate: None,
        }
    }
}

/// Headers and keys are secrets.
impl fmt::Debug for ConnectorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectorOptions")
            .field("idle_age", &self.idle_age)
            .field("idle_per_host", &self.idle_per_host)
            .field("headers", &self.headers.len())
            .field("headers_to", &self.headers_to)
            .field("root_certificates", &self.root_certificates.len())
            .field("client_certificate", &self.client_certificate.is_some())
            .finish()
    }
}

/// An HTTP client for `object_store`, over HTTP/1.1 alone. Clones share their idle connections.
///
/// A request whose extensions carry a [`Lease`] tells its leg of the connection, and holds the lease until the
/// connection is idle again or its socket is closed. Dropping a request closes its socket at once. There are no timers but the
/// one that tries the next address of a host beside one that does not answer, no redirects, no proxies, and no retries but one: a connection that was idle and turns out to be dead before the head of an
/// answer is replaced by a new one, if the request may be sent twice. A request for a range whose answer is not for that
/// range fails, and so does one of more than 64 MiB where no range was asked for, such as a listing.
#[derive(Clone)]
pub struct Connector {
    pool: Pool,
    tls: Arc<Tls>,
    headers: Arc<HeaderMap>,
    headers_to: Option<Arc<str>>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("idle", &self.pool.idle()).finish_non_exhaustive()
    }
}

impl Connector {
    /// A client without connections.
    ///
    /// # Errors
    ///
    /// [`Failure::Other`] for certificates that are none and for headers that are for nobody, [`Failure::Unsupported`] for
    /// certificates without the feature `tls`.
    pub fn new(options: ConnectorOptions) -> Result<Self, Failed> {
        let tls = Tls::new(&options.root_certificates, options.client_certificate.as_deref())?;
        let mut headers = options.headers;
        if !headers.is_empty() && options.headers_to.is_none() {
            return Err(Failed::because(Failure::Other, "headers without a host to send them to"));
        }
        for value in headers.values_mut() {
            value.set_sensitive(true);
        }
        Ok(Self {
            pool: Pool::new(options.idle_age, options.idle_per_host),
            tls: Arc::new(tls),
            headers: Arc::new(headers),
            headers_to: options.headers_to.map(|host| host.to_ascii_lowercase().into()),
        })
    }

    /// Closes the connections that are idle now.
    pub fn close(&self) {
        self.pool.close();
    }

    /// How many connections are idle now.
    #[must_use]
    pub fn idle(&self) -> usize {
        self.pool.idle()
    }

    /// Sends a request, and returns the answer as it is, whatever its status.
    pub(crate) async fn send(&self, request: Request<RequestBody>) -> Result<Response<ResponseBody>, Failed> {
        let target = Target::of(request.uri())?;
        if target.tls {
            self.tls.check(&target)?;
        }
        let (mut request, lease) = self.prepare(request, &target)?;
        if let Some(mut line) = self.pool.take(&target) {
            let spare = again(&request);
            line.lease.clone_from(&lease);
            if let Some(lease) = &lease {
                lease.connected();
            }
            match line.head(request).await {
                Ok(head) => return Ok(line.into_response(head, &self.pool, target)),
                Err(mut error) => {
                    let unsent = error.take_message();
                    let second = unsent.or(spare.filter(|_| died(&error)));
                    let Some(second) = second else { return Err(failures::failed(&error.into_error())) };
                    request = second;
                }
            }
        }
        let mut line = self.open(&target, lease).await?;
        match line.head(request).await {
            Ok(head) => Ok(line.into_response(head, &self.pool, target)),
            Err(error) => Err(failures::failed(&error.into_error())),
        }
    }

    async fn open(&self, target: &Target, lease: Option<Lease>) -> Result<Line, Failed> {
        if let Some(lease) = &lease {
            lease.connecting();
        }
        let stream = dial::connect(target, lease.as_ref()).await?;
        let stream =
            if target.tls { self.tls.handshake(target, stream).await? } else { Stream::Plain(stream) };
        if let Some(lease) = &lease {
            lease.connected();
        }
        Line::new(stream, lease).await
    }

    /// The request as it goes over the wire, and the lease it came with.
    fn prepare(
        &self,
        request: Request<RequestBody>,
        target: &Target,
    ) -> Result<(Request<RequestBody>, Option<Lease>), Failed> {
        let (mut parts, body) = request.into_parts();
        let lease = std::mem::take(&mut parts.extensions).remove::<Lease>();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = Uri::try_from(path).map_err(unsendable)?;
        let authority = target.authority();
        if self.headers_to.as_deref().is_some_and(|to| to == authority || to == target.to_string()) {
            for (name, value) in &*self.headers {
                parts.headers.entry(name).or_insert_with(|| value.clone());
            }
        }
        let host = HeaderValue::try_from(authority).map_err(unsendable)?;
        parts.headers.entry(header::HOST).or_insert(host);
        parts.headers.entry(header::USER_AGENT).or_insert(AGENT);
        Ok((Request::from_parts(parts, body), lease))
    }
}

const AGENT: HeaderValue = HeaderValue::from_static(concat!("hedgerow/", env!("CARGO_PKG_VERSION")));

fn unsendable(error: impl Into<http::Error>) -> Failed {
    Failed::because(Failure::Unsupported, error.into())
}

/// Whether the connection was dead, rather than the server in the wrong.
fn died(error: &TrySendError<Request<RequestBody>>) -> bool {
    let error = error.error();
    error.is_canceled()
        || error.is_closed()
        || error.is_incomplete_message()
        || std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let asked = ranges::asked(&request);
        let looks = matches!(*request.method(), Method::GET | Method::HEAD);
        let mut answer = self.send(request.map(RequestBody::from)).await.map_err(outward)?;
        let status = answer.status();
        if status.is_success() {
            if let Some(asked) = asked {
                ranges::check(&asked, &mut answer).map_err(outward)?;
                return Ok(answer.map(|body| HttpResponseBody::new(body.map_err(outward))));
            }
            return Ok(answer.map(bounded));
        }
        if status == StatusCode::NOT_MODIFIED || (!looks && is_known_to_stores(status)) {
            let (parts, body) = answer.into_parts();
            return Ok(HttpResponse::from_parts(parts, failures::explanation(body).await.into()));
        }
        Err(outward(failures::answered(answer).await))
    }
}

/// What stores decide by: whether to make a folder first, whether an object was there.
fn is_known_to_stores(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED)
}

/// So much is taken of an answer that is no range of an object: `object_store` holds all of a listing in memory.
const MOST: usize = 64 << 20;

fn bounded(body: ResponseBody) -> HttpResponseBody {
    HttpResponseBody::new(Limited::new(body, MOST).map_err(|error| match error.downcast::<Failed>() {
        Ok(failed) => outward(*failed),
        Err(_) => {
            let long = format!("the server sends more than {MOST} bytes where no range was asked for");
            outward(Failed::because(Failure::TooLong, long))
        }
    }))
}

/// Through `object_store`, out of which [`failures::failed`] takes it again. The kind is one that is never retried.
fn outward(failed: Failed) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, failed)
}
