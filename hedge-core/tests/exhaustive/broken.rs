//! Promises, and how one is said to be broken.

use std::fmt;

/// A promise broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Broken {
    pub(crate) promise: &'static str,
    pub(crate) how: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is broken: {}", self.promise, self.how)
    }
}

pub(crate) type Held = Result<(), Broken>;

pub(crate) fn broken<T>(promise: &'static str, how: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { promise, how: how.into() })
}

/// Returns early, with the promise's name, unless it holds.
macro_rules! promise {
    ($name:literal, $holds:expr, $($how:tt)+) => {
        if !$holds {
            return $crate::broken::broken($name, format!($($how)+));
        }
    };
}

pub(crate) use promise;
