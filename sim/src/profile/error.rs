//! What can be wrong with a profile.

use std::{error, fmt};

/// Why bytes are no profile, and in which line.
#[derive(Clone, PartialEq, Debug)]
pub struct ProfileError {
    line: Option<u64>,
    problem: Problem,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Problem {
    NotText { at: usize },
    Nothing,
    Cookie { cookie: u32 },
    Short { bytes: usize, needed: u32 },
    Trailing { bytes: usize },
    Base64,
    Damaged,
    Offset { offset: u32 },
    Digits { digits: u32 },
    Ratio { ratio: f64 },
    Least { least: u64 },
    TooFar { index: u64, most: u64 },
    CountTooLarge,
    Fields { fields: usize, expected: &'static str },
    Number { text: String },
    Value { value: f64, most_ms: f64 },
    Count { text: String },
    Falls { what: &'static str, from: f64, to: f64 },
    Header { name: String },
    NoHeader,
    TooMany { most: usize },
}

impl Problem {
    pub(super) fn in_line(self, line: u64) -> ProfileError {
        ProfileError { line: Some(line), problem: self }
    }

    pub(super) fn in_the_whole(self) -> ProfileError {
        ProfileError { line: None, problem: self }
    }

    /// A number that is none, cut to what fits a message.
    pub(super) fn number(text: &str) -> Self {
        Self::Number { text: short(text) }
    }

    /// A count that is none.
    pub(super) fn count(text: &str) -> Self {
        Self::Count { text: short(text) }
    }

    /// A unit that is none.
    pub(super) fn header(name: &str) -> Self {
        Self::Header { name: short(name) }
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

impl ProfileError {
    /// The line that is wrong, from 1; none if it is the file as a whole.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.problem.fmt(f)
    }
}

impl error::Error for ProfileError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText { at } => {
                write!(f, "neither a histogram's first bytes nor text: byte {at} is not UTF-8")
            }
            Self::Nothing => f.write_str("there is no latency in it"),
            Self::Cookie { cookie } => {
                write!(
                    f,
                    "begins with {cookie:#010x}, which is not HdrHistogram's V2 encoding of whole numbers"
                )
            }
            Self::Short { bytes, needed } => {
                write!(f, "has {bytes} bytes of compressed data where it says {needed}")
            }
            Self::Trailing { bytes } => write!(f, "has {bytes} bytes after its end"),
            Self::Base64 => f.write_str("is not base64"),
            Self::Damaged => f.write_str("the histogram is damaged or cut short"),
            Self::Offset { offset } => {
                write!(f, "is shifted by {offset}; only histograms that are not can be read")
            }
            Self::Digits { digits } => write!(f, "has {digits} significant digits; 0 to 5 are possible"),
            Self::Ratio { ratio } => {
                write!(
                    f,
                    "has a conversion ratio of {ratio}; only histograms of whole numbers (ratio 1) can be read"
                )
            }
            Self::Least { least } => {
                write!(f, "its lowest discernible value is {least}, which leaves no room for its digits")
            }
            Self::TooFar { index, most } => {
                write!(f, "has a count number {index}, but no more than {most} are possible")
            }
            Self::CountTooLarge => f.write_str("has counts that add up to more than 64 bits hold"),
            Self::Fields { fields, expected } => {
                write!(f, "has {fields} fields where {expected} are expected")
            }
            Self::Number { text } => write!(f, "\"{text}\" is not a number"),
            Self::Value { value, most_ms } => {
                write!(f, "a latency is {value:?}, but must be from 0 to {most_ms:e} ms")
            }
            Self::Count { text } => write!(f, "\"{text}\" is not a count"),
            Self::Falls { what, from, to } => write!(f, "the {what} falls from {from} to {to}"),
            Self::Header { name } => {
                write!(
                    f,
                    "\"{name}\" is not a number, and not a header either: that begins with ns, us, ms or s"
                )
            }
            Self::NoHeader => f.write_str("no line has the columns Value, Percentile and TotalCount"),
            Self::TooMany { most } => write!(f, "has more than {most} different values"),
        }
    }
}
