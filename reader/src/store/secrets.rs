//! What must never be printed: the secrets of a node, and a store whose failures are cleaned of them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Body, CellStore, Entry, Existing, Failed, Leg, NodeStore, Work};

/// Stands where a secret stood.
const HIDDEN: &str = "…";

/// Shorter ones would be found everywhere.
const SHORTEST: usize = 4;

/// Texts that nobody may read.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Adds one. Those of less than four bytes are not looked for.
    pub(crate) fn add(&mut self, secret: impl Into<String>) {
        let secret = secret.into();
        if secret.len() >= SHORTEST && !self.0.contains(&secret) {
            self.0.push(secret);
            // The longest first: one may hold another.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// The text without these secrets, and without the user information and the query of any URL in it: those may hold
    /// secrets that nobody has named, such as the signature of an address that is good for a day.
    pub(crate) fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret) {
                text = text.replace(secret, HIDDEN);
            }
        }
        hide_in_urls(&text)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

fn hide_in_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end =
            after.find(|c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>')).unwrap_or(after.len());
        let (url, more) = after.split_at(end);
        let (url, query) = url.find('?').map_or((url, false), |at| (&url[..at], true));
        let host = url.find('/').unwrap_or(url.len());
        match url[..host].rfind('@') {
            Some(at) => {
                out.push_str(HIDDEN);
                out.push_str(&url[at..]);
            }
            None => out.push_str(url),
        }
        if query {
            out.push('?');
            out.push_str(HIDDEN);
        }
        rest = more;
    }
    out.push_str(rest);
    out
}

/// A store whose failures hold none of its secrets, however they are printed: they are texts, with nothing behind them.
pub(crate) struct Discreet<S> {
    store: S,
    secrets: Arc<Secrets>,
}

impl<S> Discreet<S> {
    pub(crate) fn new(store: S, secrets: Secrets) -> Self {
        Self { store, secrets: Arc::new(secrets) }
    }

    fn clean<T: 'static>(&self, work: Work<T>) -> Work<T> {
        let secrets = Arc::clone(&self.secrets);
        Box::pin(async move { work.await.map_err(|failed| secrets.clean(failed)) })
    }
}

impl Secrets {
    fn clean(&self, failed: Failed) -> Failed {
        let said = failed.to_string();
        let because = said.strip_prefix(failed.kind.name()).unwrap_or(&said);
        match because.strip_prefix(": ") {
            Some(because) => Failed::because(failed.kind, self.hide(because)),
            None => failed.kind.into(),
        }
    }
}

impl<S: CellStore> CellStore for Discreet<S> {
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()> {
        self.clean(self.store.read(object, range, leg))
    }
}

impl<S: NodeStore> NodeStore for Discreet<S> {
    fn get(&self, object: &str, most: u64) -> Work<Bytes> {
        self.clean(self.store.get(object, most))
    }

    fn length(&self, object: &str) -> Work<u64> {
        self.clean(self.store.length(object))
    }

    fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64> {
        self.clean(self.store.put(object, existing, length, body))
    }

    fn delete(&self, object: &str) -> Work<()> {
        self.clean(self.store.delete(object))
    }

    fn list(&self, prefix: &str) -> Work<Vec<Entry>> {
        self.clean(self.store.list(prefix))
    }

    fn address(&self) -> &str {
        self.store.address()
    }

    fn close(&self) {
        self.store.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Failure;

    fn secrets(all: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        for secret in all {
            secrets.add(*secret);
        }
        secrets
    }

    #[test]
    fn each_secret_and_what_urls_may_hold_are_hidden() {
        let secrets = secrets(&["hunter2", "hunter2-and-more", "abc"]);
        let rows = [
            ("nothing to hide", "nothing to hide"),
            ("key hunter2, key hunter2", "key …, key …"),
            ("key hunter2-and-more.", "key …."),
            ("abc stays: it is too short", "abc stays: it is too short"),
            ("GET http://u:p@host/x?sig=1&y failed", "GET http://…@host/x?… failed"),
            ("\"https://host/a@b?c\" and s3://x", "\"https://host/a@b?…\" and s3://x"),
            ("http://u@v:p@host", "http://…@host"),
            ("://", "://"),
            ("http://?", "http://?…"),
        ];
        for (text, hidden) in rows {
            assert_eq!(secrets.hide(text), hidden);
        }
    }

    #[test]
    fn a_cleaned_failure_keeps_its_kind_and_has_no_secret_in_any_form() {
        let source = std::io::Error::other("http://h/?sig=hunter2 said hunter2");
        let failed = secrets(&["hunter2"]).clean(Failed::because(Failure::Refused, source));
        assert_eq!(failed.kind, Failure::Refused);
        assert_eq!(failed.to_string(), "refused: http://h/?… said …");
        assert!(!format!("{failed:?}").contains("hunter2"));
        let bare = secrets(&[]).clean(Failure::Missing.into());
        assert_eq!(bare.to_string(), "missing");
    }

    #[test]
    fn the_secrets_themselves_are_not_printed() {
        assert_eq!(format!("{:?}", secrets(&["hunter2"])), "Secrets(1)");
    }
}
