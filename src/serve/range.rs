//! The byte range that a request asks for, by RFC 9110, section 14.

use std::ops::Range;

/// What a `Range` header comes to for an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// All of it: the header is none that must be heeded.
    Whole,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Nothing that is there: status 416.
    Beyond,
}

/// Reads a `Range` header for an object of `length` bytes. Units other than bytes, what can't be understood, and several
/// ranges at once all count as a request for the whole, which a server may always answer with.
pub(super) fn parse(header: &str, length: u64) -> Asked {
    let Some((unit, set)) = header.split_once('=') else { return Asked::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Asked::Whole;
    }
    let mut ranges = set.split(',').map(str::trim).filter(|range| !range.is_empty());
    let (Some(range), None) = (ranges.next(), ranges.next()) else { return Asked::Whole };
    let Some((first, last)) = range.split_once('-') else { return Asked::Whole };
    match (first, last) {
        ("", last) => match number(last) {
            None => Asked::Whole,
            Some(0) => Asked::Beyond,
            // No head can say which bytes of nothing these are.
            Some(_) if length == 0 => Asked::Whole,
            Some(suffix) => Asked::Part(length.saturating_sub(suffix)..length),
        },
        (first, last) => {
            let Some(first) = number(first) else { return Asked::Whole };
            let end = match last {
                "" => length,
                last => match number(last) {
                    Some(last) if last >= first => last.saturating_add(1).min(length),
                    _ => return Asked::Whole,
                },
            };
            if first < length { Asked::Part(first..end) } else { Asked::Beyond }
        }
    }
}

/// A number of any length; beyond 64 bits it counts as the largest, which is beyond every object.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_with_the_object() {
        let huge = "99999999999999999999999999";
        let cases = [
            ("bytes=0-0", Asked::Part(0..1)),
            ("bytes=0-9", Asked::Part(0..10)),
            ("bytes=0-10", Asked::Part(0..10)),
            ("Bytes=9-", Asked::Part(9..10)),
            ("bytes= 3-4 ", Asked::Part(3..5)),
            ("bytes=,3-4,", Asked::Part(3..5)),
            ("bytes=-1", Asked::Part(9..10)),
            ("bytes=-10", Asked::Part(0..10)),
            ("bytes=-11", Asked::Part(0..10)),
            (&format!("bytes=-{huge}"), Asked::Part(0..10)),
            (&format!("bytes=1-{huge}"), Asked::Part(1..10)),
            ("bytes=1-18446744073709551615", Asked::Part(1..10)),
            ("bytes=10-", Asked::Beyond),
            ("bytes=10-10", Asked::Beyond),
            ("bytes=-0", Asked::Beyond),
            (&format!("bytes={huge}-"), Asked::Beyond),
        ];
        for (header, asked) in cases {
            assert_eq!(parse(header, 10), asked, "{header}");
        }
    }

    #[test]
    fn what_need_not_be_heeded_is_answered_with_the_whole() {
        let cases = [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=x-1",
            "bytes=1-x",
            "bytes=2-1",
            "bytes=+1-2",
            "bytes=1--2",
            "bytes=0x1-2",
            "items=0-1",
            "bytes=0-1,3-4",
            "bytes=1",
            "bytes=1 - 2",
            "bytes:0-1",
        ];
        for header in cases {
            assert_eq!(parse(header, 10), Asked::Whole, "{header}");
        }
    }

    #[test]
    fn an_empty_object_has_no_ranges() {
        assert_eq!(parse("bytes=0-", 0), Asked::Beyond);
        assert_eq!(parse("bytes=0-0", 0), Asked::Beyond);
        assert_eq!(parse("bytes=-0", 0), Asked::Beyond);
        assert_eq!(parse("bytes=-1", 0), Asked::Whole);
    }
}
