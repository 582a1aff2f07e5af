//! What can go wrong with a whole file.

use std::fmt;

/// Why something could not be done with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// To be replaced by the real kinds.
    Other(String),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for FileError {}
