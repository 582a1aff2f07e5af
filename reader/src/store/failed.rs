//! Why a store did not do what it was asked to.

use std::error::Error;
use std::fmt;

/// The kinds of failure that a reader tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The node answered, and would not: a refused connection, a denied request, a server's error.
    Refused,
    /// There is no way to the node, or the way broke in the middle.
    Unreachable,
    /// A timer ran out.
    TimedOut,
    /// The node has no such object.
    Missing,
    /// The bytes are not those that were written.
    Corrupt,
    /// The object, or the answer, ends before the range does.
    TooShort,
    /// More bytes than were asked for.
    TooLong,
    /// Stopped from this side.
    Cancelled,
    /// The object exists already, and was not to be written over.
    Exists,
    /// The store has no such operation.
    Unsupported,
    /// Anything else; the source says what.
    Other,
}

impl Failure {
    /// What a hedged read is told. Only [`Missing`](Self::Missing), [`Corrupt`](Self::Corrupt) and bytes that are too few or too
    /// many are facts about the cell.
    #[must_use]
    pub const fn cause(self) -> hedge_core::Cause {
        use hedge_core::Cause;
        match self {
            Self::Refused => Cause::Refused,
            Self::TimedOut => Cause::Timeout,
            Self::Missing => Cause::Missing,
            Self::Corrupt | Self::TooShort | Self::TooLong => Cause::Corrupt,
            Self::Cancelled => Cause::Cancelled,
            Self::Unreachable | Self::Exists | Self::Unsupported | Self::Other => Cause::Unreachable,
        }
    }

    /// In a word or two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed out",
            Self::Missing => "missing",
            Self::Corrupt => "corrupt",
            Self::TooShort => "too short",
            Self::TooLong => "too long",
            Self::Cancelled => "cancelled",
            Self::Exists => "exists already",
            Self::Unsupported => "not supported",
            Self::Other => "failed",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failure of a store, with what lies behind it.
#[derive(Debug)]
pub struct Failed {
    /// The kind.
    pub kind: Failure,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failed {
    /// A failure of this kind, because of `source` (an error, or a text).
    #[must_use]
    pub fn because(kind: Failure, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: Some(source.into()) }
    }
}

impl From<Failure> for Failed {
    fn from(kind: Failure) -> Self {
        Self { kind, source: None }
    }
}

/// Says the kind and every source behind it, each once.
impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        let mut said = String::new();
        let mut next: Option<&(dyn Error + 'static)> = self.source();
        while let Some(source) = next {
            let text = source.to_string();
            if !said.contains(&text) {
                write!(f, ": {text}")?;
                said.push_str(&text);
            }
            next = source.source();
        }
        Ok(())
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}
