//! From errors of sockets, of HTTP and of `object_store` to kinds of failure, with messages that name no URL: there may be a
//! secret in it.

use std::error::Error;
use std::io;

use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode};
use http_body_util::BodyExt;

use super::exchange::ResponseBody;
use crate::store::{Failed, Failure};

/// So much is read of the body of an answer that is an error.
const EXPLANATION: usize = 64 << 10;

/// The kind of failure that an answer is.
pub(crate) fn of_status(status: StatusCode) -> Failure {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Failure::Missing,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => Failure::Refused,
        StatusCode::RANGE_NOT_SATISFIABLE => Failure::TooShort,
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => Failure::Unsupported,
        status if status.is_server_error() => Failure::Refused,
        _ => Failure::Other,
    }
}

/// The kind of failure that an error of a socket is.
pub(crate) fn of_io(kind: io::ErrorKind) -> Failure {
    use io::ErrorKind as Kind;
    match kind {
        Kind::ConnectionRefused => Failure::Refused,
        Kind::TimedOut => Failure::TimedOut,
        Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::AddrNotAvailable
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::BrokenPipe
        | Kind::UnexpectedEof => Failure::Unreachable,
        _ => Failure::Other,
    }
}

/// Any error of this module's layers as a failure: the innermost thing that is known decides.
pub(crate) fn failed(error: &(dyn Error + 'static)) -> Failed {
    let mut broken = false;
    let mut deepest = error;
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(failed) = error.downcast_ref::<Failed>() {
            return copy(failed);
        }
        if let Some(error) = error.downcast_ref::<object_store::Error>()
            && let Some(kind) = of_store(error)
        {
            return kind.into();
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            broken |= error.is_incomplete_message() || error.is_closed() || error.is_canceled();
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            if let Some(failed) = io.get_ref().and_then(|inner| inner.downcast_ref::<Failed>()) {
                return copy(failed);
            }
            let kind = of_io(io.kind());
            if kind != Failure::Other {
                return Failed::because(kind, io.to_string());
            }
        }
        deepest = error;
        next = error.source();
    }
    let kind = if broken { Failure::Unreachable } else { Failure::Other };
    Failed::because(kind, deepest.to_string())
}

/// What `object_store` makes of answers that it knows by their status.
fn of_store(error: &object_store::Error) -> Option<Failure> {
    use object_store::Error as Store;
    match error {
        Store::NotFound { .. } => Some(Failure::Missing),
        Store::AlreadyExists { .. } | Store::Precondition { .. } => Some(Failure::Exists),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => Some(Failure::Refused),
        Store::NotImplemented { .. } => Some(Failure::Unsupported),
        _ => None,
    }
}

/// The same failure with the texts of what is behind it.
fn copy(failed: &Failed) -> Failed {
    let text = failed.to_string();
    match text.strip_prefix(failed.kind.name()).and_then(|text| text.strip_prefix(": ")) {
        Some(text) => Failed::because(failed.kind, text),
        None => failed.kind.into(),
    }
}

/// The failure that an answer is, with the code that object stores put into the body.
pub(crate) async fn answered(answer: Response<ResponseBody>) -> Failed {
    let status = answer.status();
    let explanation = explanation(answer.into_body()).await;
    let code = code(&explanation).map(|code| format!(" ({code})")).unwrap_or_default();
    Failed::because(of_status(status), format!("the server answered {status}{code}"))
}

/// The beginning of the body of an answer that is an error. Beyond a length the connection is closed.
pub(crate) async fn explanation(mut body: ResponseBody) -> Bytes {
    let mut read = BytesMut::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            let room = EXPLANATION - read.len();
            read.extend_from_slice(data.get(..room).unwrap_or(data));
        }
        if read.len() == EXPLANATION {
            break;
        }
    }
    read.freeze()
}

/// The code of an error of S3 and those like it. Nothing else of the body is repeated: it may hold what was signed.
fn code(body: &[u8]) -> Option<&str> {
    let (_, rest) = std::str::from_utf8(body).ok()?.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let plain = !code.is_empty() && code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then_some(code)
}

#[cfg(test)]
mod tests {
    use object_store::client::{HttpError, HttpErrorKind};

    use super::*;

    /// As it comes out of `object_store`: wrapped, and wrapped again.
    fn wrapped(error: impl Error + Send + Sync + 'static) -> object_store::Error {
        let source = Box::new(HttpError::new(HttpErrorKind::Unknown, error));
        object_store::Error::Generic { store: "HTTP", source }
    }

    #[test]
    fn every_status_has_its_kind() {
        for (status, kind) in [
            (404, Failure::Missing),
            (410, Failure::Missing),
            (401, Failure::Refused),
            (403, Failure::Refused),
            (429, Failure::Refused),
            (500, Failure::Refused),
            (502, Failure::Refused),
            (503, Failure::Refused),
            (504, Failure::Refused),
            (416, Failure::TooShort),
            (301, Failure::Other),
            (400, Failure::Other),
            (405, Failure::Unsupported),
            (501, Failure::Unsupported),
            (418, Failure::Other),
        ] {
            assert_eq!(of_status(StatusCode::from_u16(status).unwrap()), kind, "{status}");
        }
    }

    #[test]
    fn every_error_of_a_socket_has_its_kind_however_deep_it_lies() {
        use io::ErrorKind as Kind;
        for (io, kind) in [
            (Kind::ConnectionRefused, Failure::Refused),
            (Kind::TimedOut, Failure::TimedOut),
            (Kind::HostUnreachable, Failure::Unreachable),
            (Kind::NetworkUnreachable, Failure::Unreachable),
            (Kind::NetworkDown, Failure::Unreachable),
            (Kind::AddrNotAvailable, Failure::Unreachable),
            (Kind::ConnectionReset, Failure::Unreachable),
            (Kind::ConnectionAborted, Failure::Unreachable),
            (Kind::NotConnected, Failure::Unreachable),
            (Kind::BrokenPipe, Failure::Unreachable),
            (Kind::UnexpectedEof, Failure::Unreachable),
            (Kind::InvalidData, Failure::Other),
        ] {
            assert_eq!(failed(&wrapped(io::Error::from(io))).kind, kind, "{io}");
        }
    }

    #[test]
    fn what_object_store_knows_has_its_kind() {
        use object_store::Error as Store;
        let source = || "some text".into();
        let path = || "p".to_owned();
        for (error, kind) in [
            (Store::NotFound { path: path(), source: source() }, Failure::Missing),
            (Store::AlreadyExists { path: path(), source: source() }, Failure::Exists),
            (Store::Precondition { path: path(), source: source() }, Failure::Exists),
            (Store::PermissionDenied { path: path(), source: source() }, Failure::Refused),
            (Store::Unauthenticated { path: path(), source: source() }, Failure::Refused),
            (Store::NotImplemented { operation: "o".into(), implementer: "i".into() }, Failure::Unsupported),
            (Store::Generic { store: "HTTP", source: source() }, Failure::Other),
        ] {
            assert_eq!(failed(&error).kind, kind, "{error}");
        }
    }

    #[test]
    fn a_failure_of_ours_comes_back_as_it_went_in() {
        let failure = Failed::because(Failure::TooLong, "8 bytes for 7");
        let back = failed(&wrapped(failure));
        assert_eq!(back.kind, Failure::TooLong);
        assert_eq!(back.to_string(), "too long: 8 bytes for 7");
        let inside = io::Error::other(Failed::from(Failure::Cancelled));
        assert_eq!(failed(&wrapped(inside)).kind, Failure::Cancelled);
    }

    #[test]
    fn only_a_plain_code_is_repeated_from_a_body() {
        assert_eq!(code(b"<Error><Code>SlowDown</Code><Message>m</Message></Error>"), Some("SlowDown"));
        assert_eq!(code(b"<Code>a b</Code>"), None);
        assert_eq!(code(b"<Code></Code>"), None);
        assert_eq!(code(b"<Code>never ends"), None);
        assert_eq!(code(b"<html>no code</html>"), None);
        assert_eq!(code(b"\xff<Code>A</Code>"), None);
    }
}
