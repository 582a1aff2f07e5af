//! Sizes, rates, durations, byte ranges and schemas, as they are written on a command line.

use std::time::Duration;

/// Units of sizes: decimal ones, and those that are powers of two. A bare letter means either elsewhere, so it is refused.
const UNITS: [(&str, u64); 12] = [
    ("b", 1),
    ("kb", 1000),
    ("mb", 1000_u64.pow(2)),
    ("gb", 1000_u64.pow(3)),
    ("tb", 1000_u64.pow(4)),
    ("pb", 1000_u64.pow(5)),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("pib", 1 << 50),
    ("", 1),
];

/// A number of bytes: `4096`, `64KiB`, `1.5 GB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let Some(&(_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(match &unit[..] {
            "k" | "m" | "g" | "t" | "p" => {
                let letter = unit.to_ascii_uppercase();
                format!("{letter} is a thousand to some and 1024 to others: write {letter}iB or {letter}B")
            }
            _ => format!(
                "`{text}` is no size: write a number of bytes, or one with a unit such as KiB, MiB, GiB or KB, MB, GB"
            ),
        });
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let too_large = || format!("`{text}` is more bytes than there can be");
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty();
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return Err(format!("`{number}` in `{text}` is no number with at most nine decimals"));
    }
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let tenth: u128 = fraction.parse().map_err(|_| too_large())?;
    let part = tenth * u128::from(factor);
    let scale = 10_u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    if !part.is_multiple_of(scale) {
        return Err(format!("`{text}` is not a whole number of bytes"));
    }
    let part = u64::try_from(part / scale).map_err(|_| too_large())?;
    whole.checked_mul(factor).and_then(|bytes| bytes.checked_add(part)).ok_or_else(too_large)
}

/// A size that fits 32 bits, and is not 0: of cells and records.
pub(crate) fn small_size(text: &str) -> Result<u32, String> {
    let bytes = size(text)?;
    match u32::try_from(bytes) {
        Ok(0) => Err("0 bytes are too few: at least 1".into()),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(format!("{bytes} bytes are too many: at most {}", u32::MAX)),
    }
}

/// Bytes a second: a size, with `/s` or without.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    match size(trimmed.strip_suffix("/s").unwrap_or(trimmed))? {
        0 => Err("nothing is ever done at 0 bytes a second".into()),
        rate => Ok(rate),
    }
}

/// A span of time: `250ms`, `1s 500ms`, `2min`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text.trim())
        .map_err(|error| format!("`{text}` is no time such as 250ms, 2s or 1min: {error}"))
}

/// A part of a file, before its length is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// From here, up to there and not including it; `None`: to the end.
    From(u64, Option<u64>),
    /// So many bytes at the end.
    Last(u64),
}

impl Part {
    /// `A-B`, `A-`, `-N`; each a size.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((start, end)) = text.split_once('-') else {
            return Err(format!("`{text}` is no range: write A-B, A- or -N"));
        };
        match (start.trim(), end.trim()) {
            ("", "") => Err("a range needs a start or an end: write A-B, A- or -N".into()),
            ("", last) => Ok(Self::Last(size(last)?)),
            (start, "") => Ok(Self::From(size(start)?, None)),
            (start, end) => match (size(start)?, size(end)?) {
                (start, end) if end < start => {
                    Err(format!("the range ends at {end}, before its start {start}"))
                }
                (start, end) => Ok(Self::From(start, Some(end))),
            },
        }
    }

    /// Offset and length of this part of a file of `length` bytes.
    pub(crate) fn of(self, length: u64) -> Result<(u64, u64), String> {
        match self {
            Self::From(start, _) if start > length => {
                Err(format!("the range starts at {start}, and the file has {length} bytes"))
            }
            Self::From(_, Some(end)) if end > length => {
                Err(format!("the range ends at {end}, and the file has {length} bytes"))
            }
            Self::From(start, end) => Ok((start, end.unwrap_or(length) - start)),
            Self::Last(last) => {
                let last = last.min(length);
                Ok((length - last, last))
            }
        }
    }
}

/// Data and parity cells of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Schema {
    pub(crate) k: u8,
    pub(crate) m: u8,
}

impl Schema {
    /// `rs-K-M`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let numbers = text.trim().to_ascii_lowercase();
        let numbers = numbers.strip_prefix("rs-").and_then(|rest| rest.split_once('-'));
        let no_schema = || format!("`{text}` is no schema: write rs-K-M, for example rs-6-3");
        let (k, m) = numbers.ok_or_else(no_schema)?;
        let (k, m): (u8, u8) = (k.parse().map_err(|_| no_schema())?, m.parse().map_err(|_| no_schema())?);
        if k == 0 || m == 0 || u16::from(k) + u16::from(m) > 64 {
            return Err(format!("rs-{k}-{m} is not possible: both at least 1, together at most 64"));
        }
        Ok(Self { k, m })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_in_every_unit() {
        let sizes = [
            ("0", 0),
            ("1", 1),
            ("4096", 4096),
            ("4KiB", 4096),
            (" 64 kib ", 65536),
            ("1MiB", 1 << 20),
            ("1MB", 1_000_000),
            ("1.5KiB", 1536),
            ("0.000000001GB", 1),
            ("9007199254740993", 9_007_199_254_740_993),
            ("18446744073709551615B", u64::MAX),
        ];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_the_reason() {
        let refused = [
            ("", "no number"),
            ("KiB", "no number"),
            ("-1", "no size"),
            ("1e3", "no size"),
            ("1 furlong", "no size"),
            ("64M", "write MiB or MB"),
            ("1.2.3KiB", "no number"),
            ("1.", "no number"),
            ("0.1", "whole number of bytes"),
            ("0.3KiB", "whole number of bytes"),
            ("18446744073709551616", "more bytes than"),
            ("17179869184GiB", "more bytes than"),
        ];
        for (text, why) in refused {
            let error = size(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_range_is_half_open_and_stays_inside_the_file() {
        let good = [
            ("0-10", (0, 10)),
            ("5-5", (5, 0)),
            ("1KiB-2KiB", (1024, 1024)),
            ("100-", (100, 3996)),
            ("4096-", (4096, 0)),
            ("-96", (4000, 96)),
            ("-1MiB", (0, 4096)),
        ];
        for (text, part) in good {
            assert_eq!(Part::parse(text).and_then(|range| range.of(4096)), Ok(part), "{text}");
        }
        for text in ["", "7", "-", "9-8", "a-b", "0-4097", "4097-", "1--2"] {
            assert!(Part::parse(text).and_then(|range| range.of(4096)).is_err(), "{text}");
        }
    }

    #[test]
    fn schemas_have_both_kinds_of_cells_and_at_most_64() {
        assert_eq!(Schema::parse("rs-6-3"), Ok(Schema { k: 6, m: 3 }));
        assert_eq!(Schema::parse("RS-60-4"), Ok(Schema { k: 60, m: 4 }));
        for text in ["", "6-3", "rs-6", "rs-6-3-1", "rs-0-3", "rs-6-0", "rs-61-4", "rs-256-1", "rs--1-2"] {
            assert!(Schema::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_times_take_units() {
        assert_eq!(rate("50MiB/s"), Ok(50 << 20));
        assert_eq!(rate("1KB"), Ok(1000));
        assert!(rate("0").is_err());
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1s 500ms"), Ok(Duration::from_millis(1500)));
        assert!(duration("250").is_err());
        assert!(duration("-1s").is_err());
    }
}
