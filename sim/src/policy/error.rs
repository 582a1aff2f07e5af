//! What is wrong with a policy.

use std::error::Error;
use std::fmt;

use hedge_core::ConfigError;

use super::{FORMS, PARTS};

/// Why there is no such policy.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// No form of names fits.
    Unknown {
        /// The name.
        name: String,
    },
    /// The default has no such part.
    NoPart {
        /// The name.
        name: String,
        /// What it wants to leave out.
        part: String,
    },
    /// A number of the name can't be understood, or is out of range.
    Number {
        /// The name.
        name: String,
        /// Its number.
        text: String,
        /// What should be there.
        wanted: &'static str,
    },
    /// The governor does not take a value.
    Config {
        /// The policy's name.
        name: String,
        /// Which, and why.
        error: ConfigError,
    },
    /// Values of the governor are to be set where there is none.
    NoConfig {
        /// The policy's name.
        name: String,
        /// The policy that it is made of.
        base: String,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let forms: Vec<&str> = FORMS.iter().map(|&(form, _)| form).collect();
                write!(f, "there is no policy {name:?}: there are {}", forms.join(", "))
            }
            Self::NoPart { name, part } => {
                let parts: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
                write!(f, "policy {name:?}: the default has no part {part:?}: it has {}", parts.join(", "))
            }
            Self::Number { name, text, wanted } => {
                write!(f, "policy {name:?}: {text:?} should be {wanted}")
            }
            Self::Config { name, error } => write!(f, "policy {name:?}: {error}"),
            Self::NoConfig { name, base } => {
                write!(
                    f,
                    "policy {name:?}: {base} has no governor of the hedge core whose values could be set"
                )
            }
        }
    }
}

impl Error for PolicyError {}
