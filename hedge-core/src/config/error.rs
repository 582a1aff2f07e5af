//! What is wrong with a configuration, in the operator's own words.

use core::fmt;

use super::keys;
use super::value::{Excerpt, Value};
use crate::Span;

/// Why a configuration, or a value for one of its names, is refused.
///
/// `name` is always the name in the table of [`Config`](crate::Config), without the prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The value is outside the range of its name.
    OutOfRange {
        /// The name.
        name: &'static str,
        /// The value.
        value: Value,
        /// The least value allowed.
        least: Value,
        /// The greatest value allowed.
        most: Value,
    },
    /// The value is above that of another name that bounds it.
    Above {
        /// The name.
        name: &'static str,
        /// The value.
        value: Value,
        /// The name that bounds it.
        bound: &'static str,
        /// That name's value: the greatest allowed.
        most: Value,
    },
    /// Negative numbers mean nothing here.
    Negative {
        /// The name.
        name: &'static str,
        /// The number.
        text: Excerpt,
    },
    /// The text is not a value of this name, or is a number too large for any.
    NotAValue {
        /// The name.
        name: &'static str,
        /// The text.
        text: Excerpt,
    },
    /// The name belongs to a part that is not there.
    NotApplicable {
        /// The name.
        name: &'static str,
        /// The name that says so ...
        by: &'static str,
        /// ... and its value.
        is: Value,
    },
    /// The name occurs twice among values that are to be set together.
    Twice {
        /// The name.
        name: &'static str,
    },
    /// A name of HubSpot's client that concerns its executor; there is nothing here that it could change.
    ExecutorsOwn {
        /// The name.
        name: &'static str,
    },
    /// There is no such name.
    NoSuchName {
        /// The name.
        name: Excerpt,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OutOfRange { name, value, least, most } => {
                write!(f, "{name} must be {}: it is {value}", Range(least, most))
            }
            Self::Above { name, value, bound, most } => {
                write!(f, "{name} must be at most {bound}, which is {most}: it is {value}")
            }
            Self::Negative { name, text } => write!(f, "{name} can't be negative: it is {}", text.as_str()),
            Self::NotAValue { name, text } => {
                write!(f, "{name} must be ")?;
                match keys::find(name) {
                    Some(key) => write!(f, "{}", key.takes())?,
                    None => write!(f, "something else")?,
                }
                write!(f, ": it is {text}")
            }
            Self::NotApplicable { name, by, is } => write!(f, "{name} has no meaning while {by} is {is}"),
            Self::Twice { name } => write!(f, "{name} is given twice"),
            Self::ExecutorsOwn { name } => {
                write!(f, "{name} concerns the executor of HubSpot's client, which has no counterpart here")
            }
            Self::NoSuchName { name } => write!(f, "there is no configuration name {name}"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// A range in words.
pub(super) struct Range(pub(super) Value, pub(super) Value);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Value::Millis(Span::ZERO), Value::Millis(Span::MAX)) => f.write_str("0 or more"),
            (Value::Millis(_), Value::Millis(Span::MAX)) => f.write_str("more than 0"),
            (least, most) => write!(f, "{least} to {most}"),
        }
    }
}
