//! The access log: one line a request, on standard error.

use std::io::Write as _;

use hyper::{Method, StatusCode};
use tokio::time::Instant;

/// What is known of a request before its body has been sent. Headers and queries may hold secrets, and are left out.
#[derive(Debug)]
pub(super) struct Line {
    method: Method,
    path: String,
    began: Instant,
    status: StatusCode,
    why: String,
}

impl Line {
    pub(super) fn new(method: &Method, path: &str) -> Self {
        let (method, path, why) = (method.clone(), path.to_owned(), String::new());
        Self { method, path, began: Instant::now(), status: StatusCode::OK, why }
    }

    pub(super) fn because(self, error: &std::io::Error) -> Self {
        Self { why: format!(": {error}"), ..self }
    }

    pub(super) fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Writes the line, with the bytes of the body that were sent.
    pub(super) fn write(self, sent: u64) {
        let Self { method, path, began, status, why } = self;
        let (status, took) = (status.as_u16(), began.elapsed().as_secs_f64() * 1e3);
        // Where nobody reads the log there is nobody to tell.
        let _written = writeln!(std::io::stderr(), "{method} {path} {status} {sent} bytes {took:.1} ms{why}");
    }
}
