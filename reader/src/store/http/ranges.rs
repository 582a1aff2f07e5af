//! Whether an answer to a request for a range is the answer to that request. What a server gets wrong here would be
//! bytes from somewhere else.

use std::fmt::Display;
use std::ops::Range;

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, RANGE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

use crate::store::{Failed, Failure};

/// The range that a request asks for, if it asks for one with both ends.
pub(super) fn asked<B>(request: &Request<B>) -> Option<Range<u64>> {
    if request.method() != Method::GET {
        return None;
    }
    let (first, last) =
        request.headers().get(RANGE)?.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(first..last.checked_add(1)?)
}

/// Fails unless the head of a successful answer promises exactly `asked`.
///
/// An answer with the whole object is turned into one for the range, if that is the same: a server may do that.
pub(super) fn check<B>(asked: &Range<u64>, answer: &mut Response<B>) -> Result<(), Failed> {
    let length = length_of(answer.headers())?;
    let wanted = asked.end - asked.start;
    match answer.status() {
        StatusCode::PARTIAL_CONTENT => {
            let Some(said) = answer.headers().get(CONTENT_RANGE) else {
                return Err(lie("a part of the object that is not said to be any range".to_owned()));
            };
            let got = said.to_str().ok().and_then(parse);
            let got = got.ok_or_else(|| lie(format!("the range {said:?}, which is none")))?;
            if got.start == asked.start && got.end < asked.end {
                return Err(short(asked, got.end));
            }
            if got != *asked {
                return Err(lie(format!(
                    "bytes {}..{} where {}..{} were asked for",
                    got.start, got.end, asked.start, asked.end
                )));
            }
            let unknown = said.as_bytes().ends_with(b"/*");
            match length {
                Some(length) if length != wanted => {
                    let kind = if length < wanted { Failure::TooShort } else { Failure::TooLong };
                    return Err(Failed::because(
                        kind,
                        format!("the server sends {length} bytes for {wanted}"),
                    ));
                }
                Some(_) => {}
                // `object_store` insists on a length, and on one of the whole object, both of which a server may
                // leave out.
                None => set(answer, CONTENT_LENGTH, &wanted)?,
            }
            if unknown {
                let end = asked.end;
                set(answer, CONTENT_RANGE, &format_args!("bytes {}-{}/{end}", asked.start, end - 1))?;
            }
            Ok(())
        }
        StatusCode::OK => match length {
            Some(length) if length < asked.end => Err(short(asked, length)),
            Some(length) if asked.start == 0 && length == wanted => {
                set(answer, CONTENT_RANGE, &format_args!("bytes 0-{}/{length}", length - 1))?;
                *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
                Ok(())
            }
            _ => Err(Failed::because(
                Failure::TooLong,
                format!(
                    "the server sends the whole object where bytes {}..{} were asked for",
                    asked.start, asked.end
                ),
            )),
        },
        status => Err(lie(format!("{status} where a range was asked for"))),
    }
}

fn set<B>(answer: &mut Response<B>, name: HeaderName, value: &dyn Display) -> Result<(), Failed> {
    let value = HeaderValue::try_from(value.to_string());
    answer.headers_mut().insert(name, value.map_err(|error| Failed::because(Failure::Other, error))?);
    Ok(())
}

fn lie(text: String) -> Failed {
    Failed::because(Failure::Corrupt, format!("the server sends {text}"))
}

fn short(asked: &Range<u64>, end: u64) -> Failed {
    let text = format!("the object ends at {end} where bytes {}..{} were asked for", asked.start, asked.end);
    Failed::because(Failure::TooShort, text)
}

fn length_of(headers: &HeaderMap) -> Result<Option<u64>, Failed> {
    let Some(length) = headers.get(CONTENT_LENGTH) else { return Ok(None) };
    match length.to_str().ok().and_then(|length| length.parse().ok()) {
        Some(length) => Ok(Some(length)),
        None => Err(lie(format!("the length {length:?}, which is none"))),
    }
}

/// A range with both ends, as RFC 9110 section 14.4 writes it in `Content-Range`.
fn parse(said: &str) -> Option<Range<u64>> {
    let (range, whole) = said.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let end = last.checked_add(1)?;
    let whole_fits = whole == "*" || whole.parse::<u64>().is_ok_and(|whole| end <= whole);
    (first <= last && whole_fits).then_some(first..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(range: &str) -> Request<()> {
        Request::get("/").header(RANGE, range).body(()).unwrap()
    }

    fn answer(status: u16, headers: &[(&str, &str)]) -> Response<()> {
        let mut answer = Response::builder().status(status);
        for (name, value) in headers {
            answer = answer.header(*name, *value);
        }
        answer.body(()).unwrap()
    }

    #[test]
    fn only_a_range_with_both_ends_is_checked() {
        assert_eq!(asked(&request("bytes=3-9")), Some(3..10));
        for other in [
            "bytes=3-",
            "bytes=-9",
            "bytes=9-3",
            "lines=3-9",
            "bytes=1-2,5-6",
            "bytes=0-18446744073709551615",
        ] {
            assert_eq!(asked(&request(other)), None, "{other}");
        }
    }

    #[test]
    fn an_answer_for_the_range_is_taken() {
        for headers in [
            &[("content-range", "bytes 3-9/20")][..],
            &[("content-range", "bytes 3-9/20"), ("content-length", "7")],
            &[("content-range", "bytes 3-9/*")],
        ] {
            assert!(check(&(3..10), &mut answer(206, headers)).is_ok(), "{headers:?}");
        }
    }

    #[test]
    fn the_whole_object_is_taken_where_the_whole_was_asked_for() {
        let mut whole = answer(200, &[("content-length", "10")]);
        check(&(0..10), &mut whole).unwrap();
        assert_eq!(whole.status(), 206);
        assert_eq!(whole.headers()[CONTENT_RANGE], "bytes 0-9/10");
    }

    #[test]
    fn every_other_answer_is_a_fault_by_its_kind() {
        let range = |value| ("content-range", value);
        let length = |value| ("content-length", value);
        for (status, headers, kind) in [
            (206, &[][..], Failure::Corrupt),
            (206, &[("content-type", "multipart/byteranges; boundary=x")], Failure::Corrupt),
            (206, &[range("bytes 4-10/20")], Failure::Corrupt),
            (206, &[range("bytes 3-10/20")], Failure::Corrupt),
            (206, &[range("bytes 2-9/20")], Failure::Corrupt),
            (206, &[range("bytes 3-8/9")], Failure::TooShort),
            (206, &[range("bytes 3-9/9")], Failure::Corrupt),
            (206, &[range("bytes 9-3/20")], Failure::Corrupt),
            (206, &[range("bytes 3-18446744073709551615/*")], Failure::Corrupt),
            (206, &[range("bytes */20")], Failure::Corrupt),
            (206, &[range("bytes 3-9/20"), length("6")], Failure::TooShort),
            (206, &[range("bytes 3-9/20"), length("8")], Failure::TooLong),
            (206, &[range("bytes 3-9/20"), length("x")], Failure::Corrupt),
            (200, &[length("20")], Failure::TooLong),
            (200, &[length("9")], Failure::TooShort),
            (200, &[], Failure::TooLong),
            (204, &[], Failure::Corrupt),
        ] {
            let mut answer = answer(status, headers);
            assert_eq!(check(&(3..10), &mut answer).unwrap_err().kind, kind, "{status} {headers:?}");
        }
    }
}
