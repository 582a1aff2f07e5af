//! Why numbers make no law of service times.

use core::{error, fmt};

use super::service::{LEAST_TIME, MOST_BINS, MOST_TIME};

/// Why numbers make no law.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum ServiceError {
    /// A number is not in its range, or no number at all.
    Range {
        /// Which law.
        law: &'static str,
        /// Which number of it.
        what: &'static str,
        /// The number.
        value: f64,
        /// The least that it may be.
        least: f64,
        /// The most that it may be.
        most: f64,
    },
    /// The index of Pareto's law is not above 1, so that the mean would be infinite, or above 100.
    Index {
        /// The index.
        value: f64,
    },
    /// A histogram without a bin, or with all counts 0.
    Empty {
        /// So many bins.
        bins: usize,
    },
    /// A histogram with too many bins.
    TooMany {
        /// So many.
        bins: usize,
        /// No more than this.
        most: usize,
    },
    /// An upper edge of a histogram is not above the one before.
    NotRising {
        /// Which bin, from 0.
        bin: usize,
        /// Its upper edge.
        edge: f64,
        /// The upper edge of the bin before.
        last: f64,
    },
    /// An upper edge of a histogram is not in its range, or no number at all.
    Edge {
        /// Which bin, from 0.
        bin: usize,
        /// Its upper edge.
        edge: f64,
    },
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { law, what, value, least, most } => {
                write!(f, "{law}: the {what} is {value:?}, but must be from {least:?} to {most:?}")
            }
            Self::Index { value } => {
                write!(
                    f,
                    "Pareto's law: the index is {value:?}, but must be above 1 (or the mean is infinite) and at most 100"
                )
            }
            Self::Empty { bins: 0 } => f.write_str("a histogram without bins"),
            Self::Empty { bins } => write!(f, "a histogram: all its {bins} counts are 0"),
            Self::TooMany { bins, most } => {
                write!(f, "a histogram of {bins} bins; no more than {most} are possible")
            }
            Self::NotRising { bin, edge, last } => {
                write!(
                    f,
                    "a histogram: the upper edge of bin {bin} is {edge:?}, but must be above {last:?}, that of the bin before"
                )
            }
            Self::Edge { bin, edge } => write!(
                f,
                "a histogram: the upper edge of bin {bin} is {edge:?}, but must be from {LEAST_TIME:?} to {MOST_TIME:?}"
            ),
        }
    }
}

impl error::Error for ServiceError {}

impl ServiceError {
    pub(super) fn too_many(bins: usize) -> Self {
        Self::TooMany { bins, most: MOST_BINS }
    }
}
