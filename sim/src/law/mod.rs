//! Laws: how long things take, in milliseconds.

mod empirical;
mod gamma;
mod normal;
mod sampler;
mod solve;

use std::{error, fmt};

use normal::normal_tail;

pub use empirical::Empirical;
pub(crate) use normal::normal_above;
pub use sampler::Sampler;
pub(crate) use solve::falling;

/// No length is beyond this, in milliseconds: about thirty years.
const MOST_MS: f64 = 1e12;
/// Laws within laws within laws go no deeper.
const MOST_NESTED: usize = 3;
/// A mixture has no more parts.
const MOST_PARTS: usize = 64;

/// How long something takes, in milliseconds: a distribution of probability.
///
/// All values are legal to make; [`check`](Self::check) tells which mean something. The others answer questions with numbers that mean nothing.
#[derive(Clone, PartialEq, Debug)]
pub enum Law {
    /// Always as long.
    Constant(f64),
    /// Without memory.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// At least `shift`, and an exponential time more.
    ShiftedExponential {
        /// The least.
        shift: f64,
        /// The mean of what comes on top.
        mean: f64,
    },
    /// Gamma; with a shape of 1 exponential, with a whole one the sum of so many exponential times.
    Gamma {
        /// The shape, 0.01 to 10,000.
        shape: f64,
        /// The mean.
        mean: f64,
    },
    /// Its logarithm is normal.
    Lognormal {
        /// The median.
        median: f64,
        /// The standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// One of several laws, drawn anew each time.
    Mixture(
        /// The laws with their weights, of which only the ratios count.
        Vec<(f64, Law)>,
    ),
    /// Another law, whose far end is replaced by Pareto's.
    ParetoTail {
        /// The other law, which holds up to the point that it exceeds with probability `beyond`.
        body: Box<Law>,
        /// The share of the tail, 0 to 1.
        beyond: f64,
        /// The tail's index: P(X > x) falls as x to the power of minus so much.
        index: f64,
    },
    /// Pareto's: P(X > x) = (x / least) to the power of minus `index`.
    Pareto {
        /// The least.
        least: f64,
        /// The index.
        index: f64,
    },
    /// What was measured.
    Empirical(Empirical),
}

impl Law {
    /// The lognormal law with this median and this 99th percentile, which must be greater, both in milliseconds.
    #[must_use]
    pub fn lognormal_p99(median: f64, p99: f64) -> Self {
        Self::Lognormal { median, sigma: libm::log(p99 / median) / normal_above(0.01) }
    }

    /// One of the three laws of a healthy leg, each with a 99th percentile of 10 ms: `lognormal` (median 1.5 ms), `mixture` (80 % around 1.2 ms,
    /// 20 % around 4.5 ms), and `heavy`, the first with a Pareto tail of index 2.7 above its 99.9th percentile.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let lognormal = Self::lognormal_p99(1.5, 10.0);
        match name {
            "lognormal" => Some(lognormal),
            "mixture" => Some(Self::Mixture(vec![
                (0.8, Self::Lognormal { median: 1.2, sigma: 0.4 }),
                (0.2, Self::Lognormal { median: 4.5, sigma: 0.485 }),
            ])),
            "heavy" => Some(Self::ParetoTail { body: Box::new(lognormal), beyond: 0.001, index: 2.7 }),
            _ => None,
        }
    }

    /// Whether the numbers make a law.
    ///
    /// # Errors
    /// If a number is not finite or not in its range, a mixture has no parts or too many, or laws are nested too deeply.
    pub fn check(&self) -> Result<(), LawError> {
        self.check_nested(0)
    }

    fn check_nested(&self, depth: usize) -> Result<(), LawError> {
        if depth > MOST_NESTED {
            return Err(LawError::Nested { most: MOST_NESTED });
        }
        match self {
            Self::Constant(length) => not_negative("a constant", *length),
            Self::Exponential { mean } => positive("the mean of an exponential law", *mean),
            Self::ShiftedExponential { shift, mean } => {
                not_negative("the shift of an exponential law", *shift)?;
                positive("the mean of an exponential law", *mean)
            }
            Self::Gamma { shape, mean } => {
                if !(gamma::LEAST_SHAPE..=gamma::MOST_SHAPE).contains(shape) {
                    return Err(LawError::Shape { value: *shape });
                }
                positive("the mean of a gamma law", *mean)
            }
            Self::Lognormal { median, sigma } => {
                positive("the median of a lognormal law", *median)?;
                positive("the sigma of a lognormal law", *sigma)
            }
            Self::Mixture(parts) => {
                if parts.is_empty() {
                    return Err(LawError::Empty { what: "a mixture" });
                }
                if parts.len() > MOST_PARTS {
                    return Err(LawError::Parts { parts: parts.len(), most: MOST_PARTS });
                }
                for (weight, law) in parts {
                    positive("the weight of a part", *weight)?;
                    law.check_nested(depth + 1)?;
                }
                Ok(())
            }
            Self::ParetoTail { body, beyond, index } => {
                if !(*beyond > 0.0 && *beyond < 1.0) {
                    return Err(LawError::Share { what: "a Pareto tail", value: *beyond });
                }
                positive("the index of a Pareto tail", *index)?;
                body.check_nested(depth + 1)?;
                let from = body.quantile_above(*beyond);
                positive("the beginning of a Pareto tail", from)
            }
            Self::Pareto { least, index } => {
                positive("the least of a Pareto law", *least)?;
                positive("the index of a Pareto law", *index)
            }
            Self::Empirical(_) => Ok(()),
        }
    }

    /// P(X > `x_ms`).
    #[must_use]
    pub fn above(&self, x_ms: f64) -> f64 {
        match self {
            Self::Constant(length) => f64::from(*length > x_ms),
            Self::Exponential { mean } => exponential_above(*mean, x_ms),
            Self::ShiftedExponential { shift, mean } => exponential_above(*mean, x_ms - shift),
            Self::Gamma { shape, mean } => gamma::above(*shape, x_ms * shape / mean),
            Self::Lognormal { median, sigma } => {
                if x_ms > 0.0 {
                    normal_tail(libm::log(x_ms / median) / sigma)
                } else {
                    1.0
                }
            }
            Self::Mixture(parts) => weighted(parts, |law| law.above(x_ms)),
            Self::ParetoTail { body, beyond, index } => {
                let from = body.quantile_above(*beyond);
                if x_ms < from { body.above(x_ms) } else { beyond * libm::pow(from / x_ms, *index) }
            }
            Self::Pareto { least, index } => {
                if x_ms > *least {
                    libm::pow(least / x_ms, *index)
                } else {
                    1.0
                }
            }
            Self::Empirical(histogram) => histogram.above(x_ms),
        }
    }

    /// The length in milliseconds that is exceeded with probability `p`: the least with P(X > x) <= p. It falls as `p` rises; at 1 it is the law's
    /// beginning, at 0 its end, which may be infinite. That of a mixture is found by search, to a relative 1e-13 or so.
    #[must_use]
    pub fn quantile_above(&self, p: f64) -> f64 {
        match self {
            Self::Constant(length) => *length,
            Self::Exponential { mean } => exponential_quantile(*mean, p),
            Self::ShiftedExponential { shift, mean } => shift + exponential_quantile(*mean, p),
            Self::Gamma { shape, mean } => gamma::quantile_above(*shape, p) * mean / shape,
            Self::Lognormal { median, sigma } => {
                if p >= 1.0 {
                    return 0.0;
                }
                median * libm::exp(sigma * normal_above(p))
            }
            Self::Mixture(parts) => {
                // That of the whole lies between the least and the greatest of the parts.
                let mut least = f64::INFINITY;
                let mut most = 0.0_f64;
                for (_, law) in parts {
                    let quantile = law.quantile_above(p);
                    least = least.min(quantile);
                    most = most.max(quantile);
                }
                falling(|x| self.above(x), p, least, most)
            }
            Self::ParetoTail { body, beyond, index } => {
                if p > *beyond {
                    return body.quantile_above(p);
                }
                pareto_quantile(body.quantile_above(*beyond), *index, p / beyond)
            }
            Self::Pareto { least, index } => pareto_quantile(*least, *index, p),
            Self::Empirical(histogram) => histogram.quantile_above(p),
        }
    }

    /// The mean in milliseconds; infinite for a Pareto tail of index 1 or less.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.part(1, f64::INFINITY)
    }

    /// The mean of the square, in square milliseconds; infinite for a Pareto tail of index 2 or less.
    #[must_use]
    pub fn second_moment(&self) -> f64 {
        self.part(2, f64::INFINITY)
    }

    /// The mean of the `power`-th power (1 or 2) of those that do not exceed `most`, times their share.
    fn part(&self, power: u32, most: f64) -> f64 {
        match self {
            Self::Constant(length) => {
                if *length <= most {
                    raise(*length, power)
                } else {
                    0.0
                }
            }
            Self::Exponential { mean } => exponential_part(*mean, power, most),
            Self::ShiftedExponential { shift, mean } => {
                let over = most - shift;
                let first = exponential_part(*mean, 1, over);
                let share = 1.0 - exponential_above(*mean, over);
                if power == 1 {
                    shift * share + first
                } else {
                    shift * shift * share + 2.0 * shift * first + exponential_part(*mean, 2, over)
                }
            }
            Self::Gamma { shape, mean } => {
                // x times the density is the mean times the density of the next greater shape.
                let whole = if power == 1 { *mean } else { mean * mean * (1.0 + 1.0 / shape) };
                whole * gamma::within(shape + f64::from(power), most * shape / mean)
            }
            Self::Lognormal { median, sigma } => {
                if most <= 0.0 {
                    return 0.0;
                }
                let power_f = f64::from(power);
                let whole = raise(*median, power) * libm::exp(0.5 * raise(power_f * sigma, 2));
                if most == f64::INFINITY {
                    return whole;
                }
                whole * normal_tail(power_f * sigma - libm::log(most / median) / sigma)
            }
            Self::Mixture(parts) => weighted(parts, |law| law.part(power, most)),
            Self::ParetoTail { body, beyond, index } => {
                let from = body.quantile_above(*beyond);
                if most < from {
                    return body.part(power, most);
                }
                // Where the body has a point of mass just there, the tail takes its share from it.
                let body = body.part(power, from) - raise(from, power) * (beyond - body.above(from));
                body + beyond * pareto_part(from, *index, power, most)
            }
            Self::Pareto { least, index } => pareto_part(*least, *index, power, most),
            Self::Empirical(histogram) => histogram.part(power, most),
        }
    }
}

/// `x` or its square.
fn raise(x: f64, power: u32) -> f64 {
    if power == 1 { x } else { x * x }
}

/// The mean of a figure of the parts, by their weights.
fn weighted(parts: &[(f64, Law)], of: impl Fn(&Law) -> f64) -> f64 {
    let mut sum = 0.0;
    let mut weights = 0.0;
    for (weight, law) in parts {
        sum += weight * of(law);
        weights += weight;
    }
    sum / weights
}

fn exponential_above(mean: f64, x: f64) -> f64 {
    if x > 0.0 { libm::exp(-x / mean) } else { 1.0 }
}

fn exponential_quantile(mean: f64, p: f64) -> f64 {
    if p < 1.0 { -mean * libm::log(p.max(0.0)) } else { 0.0 }
}

fn exponential_part(mean: f64, power: u32, most: f64) -> f64 {
    if most <= 0.0 {
        return 0.0;
    }
    let whole = if power == 1 { mean } else { 2.0 * mean * mean };
    let above = exponential_above(mean, most);
    if above == 0.0 {
        return whole;
    }
    let missing = if power == 1 { most + mean } else { most * most + 2.0 * mean * most + whole };
    (whole - missing * above).max(0.0)
}

fn pareto_quantile(least: f64, index: f64, p: f64) -> f64 {
    if p < 1.0 { least * libm::pow(p.max(0.0), -1.0 / index) } else { least }
}

fn pareto_part(least: f64, index: f64, power: u32, most: f64) -> f64 {
    if most <= least {
        return 0.0;
    }
    let excess = f64::from(power) - index;
    if most == f64::INFINITY {
        return if excess < 0.0 { -raise(least, power) * index / excess } else { f64::INFINITY };
    }
    let ratio = most / least;
    let growth = if excess == 0.0 { libm::log(ratio) } else { (libm::pow(ratio, excess) - 1.0) / excess };
    raise(least, power) * index * growth
}

fn positive(what: &'static str, value: f64) -> Result<(), LawError> {
    if value > 0.0 && value <= MOST_MS { Ok(()) } else { Err(LawError::NotPositive { what, value }) }
}

fn not_negative(what: &'static str, value: f64) -> Result<(), LawError> {
    if (0.0..=MOST_MS).contains(&value) { Ok(()) } else { Err(LawError::Negative { what, value }) }
}

/// Why numbers make no law.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum LawError {
    /// A number must be above 0, and at most 10^12.
    NotPositive {
        /// What it is.
        what: &'static str,
        /// The number.
        value: f64,
    },
    /// A number must be 0 or more, and at most 10^12.
    Negative {
        /// What it is.
        what: &'static str,
        /// The number.
        value: f64,
    },
    /// A share must be above 0 and below 1.
    Share {
        /// Of what.
        what: &'static str,
        /// The number.
        value: f64,
    },
    /// The shape of a gamma law must be from 0.01 to 10,000.
    Shape {
        /// The number.
        value: f64,
    },
    /// There is nothing in it.
    Empty {
        /// In what.
        what: &'static str,
    },
    /// A mixture has too many parts.
    Parts {
        /// So many.
        parts: usize,
        /// No more than this.
        most: usize,
    },
    /// Laws are within laws too often.
    Nested {
        /// No more often than this.
        most: usize,
    },
    /// A histogram must have one count for each edge.
    Uneven {
        /// So many edges.
        edges: usize,
        /// So many counts.
        counts: usize,
    },
    /// A histogram's edges must rise.
    NotRising {
        /// The edge that does not.
        edge: f64,
        /// The one before it.
        last: f64,
    },
    /// The sum of a histogram's counts does not fit into 64 bits.
    TooMany,
}

impl fmt::Display for LawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPositive { what, value } => {
                write!(f, "{what} is {value:?}, but must be above 0 and at most {MOST_MS:e}")
            }
            Self::Negative { what, value } => {
                write!(f, "{what} is {value:?}, but must be from 0 to {MOST_MS:e}")
            }
            Self::Share { what, value } => {
                write!(f, "the share of {what} is {value:?}, but must be above 0 and below 1")
            }
            Self::Shape { value } => {
                let (least, most) = (gamma::LEAST_SHAPE, gamma::MOST_SHAPE);
                write!(f, "the shape of a gamma law is {value:?}, but must be from {least} to {most}")
            }
            Self::Empty { what } => write!(f, "{what} with nothing in it"),
            Self::Parts { parts, most } => {
                write!(f, "a mixture of {parts} parts; no more than {most} are possible")
            }
            Self::Nested { most } => write!(f, "laws are nested more than {most} deep"),
            Self::Uneven { edges, counts } => write!(f, "a histogram with {edges} edges and {counts} counts"),
            Self::NotRising { edge, last } => {
                write!(f, "an edge of a histogram is {edge:?}, but must be above {last:?}, the one before it")
            }
            Self::TooMany => f.write_str("the counts of a histogram add up to more than 64 bits hold"),
        }
    }
}

impl error::Error for LawError {}

#[cfg(test)]
mod tests;
