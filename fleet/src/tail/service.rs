//! How long a node takes to serve one request, when nothing waits.

use alloc::vec::Vec;

use super::ServiceError;
use super::complex::Complex;
use super::pareto::{exponential_integral, log_transform};
use super::tilt::{self, Tilt};

/// Times are in this range, whatever their unit: so no square and no ratio of two overflows.
pub(super) const LEAST_TIME: f64 = 1e-15;
pub(super) const MOST_TIME: f64 = 1e15;
/// A histogram has no more bins.
pub(super) const MOST_BINS: usize = 1_024;
const LEAST_SHAPE: f64 = 0.01;
const MOST_SHAPE: f64 = 1e4;
const MOST_INDEX: f64 = 100.0;

/// The law of a node's service time.
#[derive(Clone, PartialEq, Debug)]
pub struct Service {
    kind: Kind,
    mean: f64,
    second_moment: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// `shift`, and an exponential time of rate `rate` more.
    Shifted {
        shift: f64,
        rate: f64,
    },
    Gamma {
        shape: f64,
        rate: f64,
    },
    /// P(X > x) = (x / least)^-index.
    Pareto {
        least: f64,
        index: f64,
    },
    /// Upper edges of bins, rising, and the probability of each bin, above 0.
    Histogram(Vec<(f64, f64)>),
}

/// A [`Service`], told by its numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum ServiceLaw<'a> {
    /// At least `shift`, which may be 0, and an exponential time more.
    ShiftedExponential {
        /// The least.
        shift: f64,
        /// The mean of what comes on top.
        mean: f64,
    },
    /// Gamma.
    Gamma {
        /// The shape.
        shape: f64,
        /// The mean.
        mean: f64,
    },
    /// P(X > x) = (x / least)^-index.
    Pareto {
        /// The least.
        least: f64,
        /// The index.
        index: f64,
    },
    /// What was measured.
    Histogram {
        /// The upper edge of each bin that is not empty, rising, and its probability.
        bins: &'a [(f64, f64)],
    },
}

impl Service {
    /// Exponential, with this mean.
    ///
    /// # Errors
    /// If the mean is not between 10^-15 and 10^15.
    pub fn exponential(mean: f64) -> Result<Self, ServiceError> {
        let mean = in_range("an exponential law", "mean", mean, LEAST_TIME, MOST_TIME)?;
        Ok(Self::of(Kind::Shifted { shift: 0.0, rate: 1.0 / mean }))
    }

    /// At least `shift`, and an exponential time of mean `mean` more: beta and 1 / alpha in the published formulas.
    ///
    /// # Errors
    /// If the mean is not between 10^-15 and 10^15, or the shift not between 0 and 10^15.
    pub fn shifted_exponential(shift: f64, mean: f64) -> Result<Self, ServiceError> {
        let law = "a shifted exponential law";
        let shift = in_range(law, "shift", shift, 0.0, MOST_TIME)?;
        let mean = in_range(law, "mean beyond the shift", mean, LEAST_TIME, MOST_TIME)?;
        Ok(Self::of(Kind::Shifted { shift, rate: 1.0 / mean }))
    }

    /// Gamma, of this shape and mean.
    ///
    /// # Errors
    /// If the mean is not between 10^-15 and 10^15, or the shape not between 0.01 and 10,000.
    pub fn gamma(shape: f64, mean: f64) -> Result<Self, ServiceError> {
        let shape = in_range("a gamma law", "shape", shape, LEAST_SHAPE, MOST_SHAPE)?;
        let mean = in_range("a gamma law", "mean", mean, LEAST_TIME, MOST_TIME)?;
        Ok(Self::of(Kind::Gamma { shape, rate: shape / mean }))
    }

    /// Pareto's: P(X > x) = (x / least)^-index for x >= least. The index must be greater than 1, or the mean would be infinite.
    ///
    /// # Errors
    /// If the least is not between 10^-15 and 10^15, or the index not above 1, or above 100.
    pub fn pareto(least: f64, index: f64) -> Result<Self, ServiceError> {
        let least = in_range("Pareto's law", "least", least, LEAST_TIME, MOST_TIME)?;
        if !(index > 1.0 && index <= MOST_INDEX) {
            return Err(ServiceError::Index { value: index });
        }
        Ok(Self::of(Kind::Pareto { least, index }))
    }

    /// What was measured: the upper edge of each bin, and its count. The mass of a bin counts as if it lay at its upper edge.
    ///
    /// # Errors
    /// If there are no bins or more than 1,024, an edge is not between 10^-15 and 10^15 or not above the one before, or all counts are 0.
    pub fn histogram(bins: &[(f64, u64)]) -> Result<Self, ServiceError> {
        if bins.len() > MOST_BINS {
            return Err(ServiceError::too_many(bins.len()));
        }
        let mut last = 0.0;
        for (bin, &(edge, _)) in bins.iter().enumerate() {
            if !(LEAST_TIME..=MOST_TIME).contains(&edge) {
                return Err(ServiceError::Edge { bin, edge });
            }
            if edge <= last {
                return Err(ServiceError::NotRising { bin, edge, last });
            }
            last = edge;
        }
        let total: u128 = bins.iter().map(|&(_, count)| u128::from(count)).sum();
        if total == 0 {
            return Err(ServiceError::Empty { bins: bins.len() });
        }
        let share = |count: u64| count as f64 / total as f64;
        let filled = bins.iter().filter(|&&(_, count)| count > 0);
        Ok(Self::of(Kind::Histogram(filled.map(|&(edge, count)| (edge, share(count))).collect())))
    }

    /// The same law, `factor` times as slow.
    ///
    /// # Errors
    /// If the factor is not above 0 and finite, or a time would leave its range.
    pub fn slowed(&self, factor: f64) -> Result<Self, ServiceError> {
        let factor = in_range("a law made slower", "factor", factor, 1e-30, 1e30)?;
        match &self.kind {
            Kind::Shifted { shift, rate } => Self::shifted_exponential(shift * factor, factor / rate),
            Kind::Gamma { shape, .. } => Self::gamma(*shape, self.mean * factor),
            Kind::Pareto { least, index } => Self::pareto(least * factor, *index),
            Kind::Histogram(bins) => {
                let slowed: Vec<_> = bins.iter().map(|&(edge, share)| (edge * factor, share)).collect();
                let outside =
                    |&(_, &(edge, _)): &(usize, &(f64, f64))| !(LEAST_TIME..=MOST_TIME).contains(&edge);
                match slowed.iter().enumerate().find(outside) {
                    Some((bin, &(edge, _))) => Err(ServiceError::Edge { bin, edge }),
                    None => Ok(Self::of(Kind::Histogram(slowed))),
                }
            }
        }
    }

    fn of(kind: Kind) -> Self {
        let (mean, second_moment) = match &kind {
            Kind::Shifted { shift, rate } => {
                let more = 1.0 / rate;
                (shift + more, shift * shift + 2.0 * more * (shift + more))
            }
            Kind::Gamma { shape, rate } => (shape / rate, shape * (shape + 1.0) / (rate * rate)),
            Kind::Pareto { least, index } => {
                let second = if *index > 2.0 { least * least * index / (index - 2.0) } else { f64::INFINITY };
                (least * index / (index - 1.0), second)
            }
            Kind::Histogram(bins) => bins.iter().fold((0.0, 0.0), |(mean, second), &(edge, share)| {
                (mean + share * edge, second + share * edge * edge)
            }),
        };
        Self { kind, mean, second_moment }
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Which law it is, and its numbers: to simulate it, or to show it.
    #[must_use]
    pub fn law(&self) -> ServiceLaw<'_> {
        match &self.kind {
            Kind::Shifted { shift, rate } => {
                ServiceLaw::ShiftedExponential { shift: *shift, mean: 1.0 / rate }
            }
            Kind::Gamma { shape, .. } => ServiceLaw::Gamma { shape: *shape, mean: self.mean },
            Kind::Pareto { least, index } => ServiceLaw::Pareto { least: *least, index: *index },
            Kind::Histogram(bins) => ServiceLaw::Histogram { bins },
        }
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The second moment; it can be infinite.
    #[must_use]
    pub fn second_moment(&self) -> f64 {
        self.second_moment
    }

    /// The moment generating function is finite for all t below this: 0 for laws with heavy tails, infinite for bounded ones.
    #[must_use]
    pub fn mgf_end(&self) -> f64 {
        match &self.kind {
            Kind::Shifted { rate, .. } | Kind::Gamma { rate, .. } => *rate,
            Kind::Pareto { .. } => 0.0,
            Kind::Histogram(_) => f64::INFINITY,
        }
    }

    /// The logarithm of the moment generating function; infinite where that is.
    #[must_use]
    pub fn log_mgf(&self, t: f64) -> f64 {
        if t.is_nan() || (t > 0.0 && t >= self.mgf_end()) {
            return f64::INFINITY;
        }
        if t == f64::NEG_INFINITY {
            return t;
        }
        match &self.kind {
            Kind::Shifted { shift, rate } => t * shift - libm::log1p(-t / rate),
            Kind::Gamma { shape, rate } => -shape * libm::log1p(-t / rate),
            Kind::Pareto { least, index } => log_transform(*index, -t * least),
            Kind::Histogram(bins) => {
                // The greatest power is taken out, so that nothing overflows.
                let (Some((first, _)), Some((last, _))) = (bins.first(), bins.last()) else { return 0.0 };
                let top = if t > 0.0 { last } else { first };
                let sum: f64 = bins.iter().map(|&(edge, share)| share * libm::exp(t * (edge - top))).sum();
                t * top + libm::log(sum)
            }
        }
    }

    /// (M(t) - 1) / t, for any t below [`mgf_end`](Self::mgf_end), negative ones too; at 0 its limit, the mean. Infinite for other t.
    #[must_use]
    pub fn excess(&self, t: f64) -> f64 {
        if t == 0.0 {
            return self.mean;
        }
        if t.is_nan() || (t > 0.0 && t >= self.mgf_end()) {
            return f64::INFINITY;
        }
        if t == f64::NEG_INFINITY {
            return 0.0;
        }
        match &self.kind {
            Kind::Shifted { shift, rate } => (rate * libm::expm1(t * shift) / t + 1.0) / (rate - t),
            Kind::Gamma { shape, rate } => libm::expm1(-shape * libm::log1p(-t / rate)) / t,
            Kind::Pareto { least, index } => {
                // Beyond, squares and powers would leave the range of numbers.
                let z = (-t * least).clamp(1e-290, 1e150);
                least * (-libm::expm1(-z) / z + exponential_integral(*index, Complex::real(z)).re)
            }
            Kind::Histogram(bins) => {
                bins.iter().map(|&(edge, share)| share * libm::expm1(t * edge)).sum::<f64>() / t
            }
        }
    }

    /// [`excess`](Self::excess) at -s, for s >= 0, and the mean less it: neither loses anything, wherever s is.
    pub(super) fn excess_and_deficit(&self, s: f64) -> (f64, f64) {
        if s * self.mean < 0.01 {
            let deficit = self.deficit(s);
            return (self.mean - deficit, deficit);
        }
        let excess = self.excess(-s);
        (excess, self.mean - excess)
    }

    /// The mean less the excess at -s, for s >= 0, without loss where s is small.
    fn deficit(&self, s: f64) -> f64 {
        match &self.kind {
            Kind::Shifted { shift, rate } => {
                let u = s * shift;
                (rate * shift * u * tilt::second(-u) + u + s / rate) / (rate + s)
            }
            Kind::Gamma { shape, rate } => tilt::gamma_deficit(*shape, s / rate) / rate,
            Kind::Pareto { least, index } => {
                let z = s * least;
                if z == 0.0 {
                    return 0.0;
                }
                let tail = exponential_integral(index - 1.0, Complex::real(z)).re;
                let body = z * tilt::second(-z);
                least * (body + (z * tail - libm::expm1(-z)) / (index - 1.0))
            }
            Kind::Histogram(bins) => {
                bins.iter().map(|&(edge, share)| share * edge * (s * edge) * tilt::second(-s * edge)).sum()
            }
        }
    }

    /// What the search for the best t needs at t, for 0 <= t < [`mgf_end`](Self::mgf_end).
    pub(super) fn tilt(&self, t: f64) -> Tilt {
        match &self.kind {
            Kind::Shifted { shift, rate } => Tilt::shifted(*shift, *rate, t),
            Kind::Gamma { shape, rate } => Tilt::gamma(*shape, *rate, t),
            Kind::Histogram(bins) => Tilt::histogram(bins, t),
            // Its moment generating function has no t but 0.
            Kind::Pareto { .. } => Tilt::none(self.mean),
        }
    }
}

fn in_range(
    law: &'static str,
    what: &'static str,
    value: f64,
    least: f64,
    most: f64,
) -> Result<f64, ServiceError> {
    if value >= least && value <= most {
        Ok(value)
    } else {
        Err(ServiceError::Range { law, what, value, least, most })
    }
}

#[cfg(test)]
mod tests;
