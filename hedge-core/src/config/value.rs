//! A configuration value as text, exact both ways.

use core::fmt;

use crate::Span;

/// The value of one name of a [`Config`](crate::Config). Its text ([`Display`](fmt::Display)) is what
/// [`Config::set`](crate::Config::set) reads, exactly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Value {
    /// `off`: the part that the name belongs to is not there.
    Off,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Number(u64),
    /// A span in milliseconds: whole, or with a decimal fraction down to the nanosecond (`250`, `0.25`).
    Millis(Span),
    /// A word that stands for a choice: `adaptive`.
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Off => f.pad("off"),
            Self::Flag(flag) => fmt::Display::fmt(&flag, f),
            Self::Number(number) => fmt::Display::fmt(&number, f),
            Self::Word(word) => f.pad(word),
            Self::Millis(span) => {
                write!(f, "{}", span.as_millis())?;
                let (mut rest, mut digits) = (span.as_nanos() % 1_000_000, 6);
                if rest == 0 {
                    return Ok(());
                }
                while rest.is_multiple_of(10) {
                    rest /= 10;
                    digits -= 1;
                }
                write!(f, ".{rest:0digits$}")
            }
        }
    }
}

/// The beginning of a text that was not understood, kept for the error about it: at most 48 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Excerpt {
    bytes: [u8; Self::MOST],
    len: u8,
    cut: bool,
}

impl Excerpt {
    const MOST: usize = 48;

    pub(super) fn of(text: &str) -> Self {
        let mut len = text.len().min(Self::MOST);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; Self::MOST];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Self { bytes, len: len as u8, cut: len < text.len() }
    }

    /// The text, without what was cut off.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.bytes.get(..usize::from(self.len)).and_then(|b| str::from_utf8(b).ok()).unwrap_or("")
    }
}

impl fmt::Display for Excerpt {
    /// In quotes, escaped, with dots where it was cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.as_str(), if self.cut { "..." } else { "" })
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn spans_are_written_to_the_nanosecond_without_idle_zeros() {
        for (nanos, text) in [
            (0, "0"),
            (1, "0.000001"),
            (250_000, "0.25"),
            (1_000_000, "1"),
            (1_000_001, "1.000001"),
            (2_500_000_000, "2500"),
            (u64::MAX, "18446744073709.551615"),
        ] {
            assert_eq!(Value::Millis(Span::from_nanos(nanos)).to_string(), text);
        }
    }

    #[test]
    fn an_excerpt_never_cuts_a_character() {
        let text = "a".repeat(47) + "é";
        assert_eq!(Excerpt::of(&text).as_str(), &text[..47]);
        assert_eq!(Excerpt::of(&text).to_string(), std::format!("{:?}...", &text[..47]));
        assert_eq!(Excerpt::of(&text[1..]).as_str(), &text[1..]);
        assert_eq!(Excerpt::of("").as_str(), "");
    }
}
