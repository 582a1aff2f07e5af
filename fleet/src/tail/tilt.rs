//! The derivatives that a search for the best t needs, without loss near t = 0.

/// A law at one t.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tilt {
    /// First and second derivative of log M: mean and variance of the law, tilted by exp(t X).
    pub(super) mean: f64,
    pub(super) variance: f64,
    /// (M - 1) / t and its first two derivatives. If the first is infinite, the others mean nothing.
    pub(super) excess: f64,
    pub(super) excess_slope: f64,
    pub(super) excess_bend: f64,
}

impl Tilt {
    pub(super) fn none(mean: f64) -> Self {
        let infinite = f64::INFINITY;
        Self { mean, variance: infinite, excess: mean, excess_slope: infinite, excess_bend: infinite }
    }

    pub(super) fn shifted(shift: f64, rate: f64, t: f64) -> Self {
        let left = 1.0 / (rate - t);
        let [value, slope, bend] = unit(shift * t);
        let by = rate * shift;
        let excess = (by * value + 1.0) * left;
        let excess_slope = (by * shift * slope + excess) * left;
        let excess_bend = (by * shift * shift * bend + 2.0 * excess_slope) * left;
        Self { mean: shift + left, variance: left * left, excess, excess_slope, excess_bend }
    }

    pub(super) fn gamma(shape: f64, rate: f64, t: f64) -> Self {
        let left = 1.0 / (rate - t);
        let [value, slope, bend] = gamma_excess(shape, t / rate);
        let unit = 1.0 / rate;
        Self {
            mean: shape * left,
            variance: shape * left * left,
            excess: value * unit,
            excess_slope: slope * unit * unit,
            excess_bend: bend * unit * unit * unit,
        }
    }

    pub(super) fn histogram(bins: &[(f64, f64)], t: f64) -> Self {
        let top = bins.last().map_or(0.0, |&(edge, _)| edge);
        let mut all = [0.0; 3];
        let mut excess = [0.0; 3];
        for &(edge, share) in bins {
            let weight = share * libm::exp(t * (edge - top));
            let [value, slope, bend] = unit(t * edge);
            for (sum, more) in all.iter_mut().zip([weight, weight * edge, weight * edge * edge]) {
                *sum += more;
            }
            let scale = share * edge;
            for (sum, more) in excess.iter_mut().zip([value, slope * edge, bend * edge * edge]) {
                *sum += scale * more;
            }
        }
        let [sum, first, second] = all;
        let mean = first / sum;
        let [excess, excess_slope, excess_bend] = excess;
        Self { mean, variance: (second / sum - mean * mean).max(0.0), excess, excess_slope, excess_bend }
    }
}

/// Series are used this near to 0, and so many terms of them.
const NEAR: f64 = 0.3;
const TERMS: usize = 13;

/// (exp(u) - 1) / u and its first two derivatives.
fn unit(u: f64) -> [f64; 3] {
    if u.abs() < NEAR {
        const VALUE: [f64; TERMS] = terms(1, 0);
        const SLOPE: [f64; TERMS] = terms(2, 1);
        const BEND: [f64; TERMS] = terms(3, 2);
        return [sum(&VALUE, u), sum(&SLOPE, u), sum(&BEND, u)];
    }
    let less = libm::expm1(u);
    let value = less / u;
    let slope = (less + 1.0 - value) / u;
    [value, slope, (less + 1.0 - 2.0 * slope) / u]
}

/// (exp(u) - 1 - u) / u^2.
pub(super) fn second(u: f64) -> f64 {
    if u.abs() < NEAR {
        const SECOND: [f64; TERMS] = terms(2, 0);
        return sum(&SECOND, u);
    }
    (libm::expm1(u) / u - 1.0) / u
}

/// The coefficients (k + 1) .. (k + `factors`) / (k + `over`)!.
const fn terms(over: usize, factors: usize) -> [f64; TERMS] {
    let mut terms = [0.0; TERMS];
    let mut k = 0;
    while k < TERMS {
        let mut term = 1.0;
        let mut at = 1;
        while at <= k + over {
            term /= at as f64;
            at += 1;
        }
        let mut factor = 1;
        while factor <= factors {
            term *= (k + factor) as f64;
            factor += 1;
        }
        terms[k] = term;
        k += 1;
    }
    terms
}

fn sum(terms: &[f64; TERMS], u: f64) -> f64 {
    terms.iter().rev().fold(0.0, |sum, term| sum * u + term)
}

/// Where the series of gamma's excess is used: this near to 0, measured by what the powers grow with.
const GAMMA_NEAR: f64 = 0.05;

/// ((1 - w)^-shape - 1) / w and its first two derivatives, w < 1.
fn gamma_excess(shape: f64, w: f64) -> [f64; 3] {
    if w.abs() * shape.max(1.0) < GAMMA_NEAR {
        let mut sums = [0.0; 3];
        // The coefficient of w^k; powers of w for the derivatives lag behind.
        let mut coefficient = shape;
        let mut powers = [1.0, 0.0, 0.0];
        for k in 0..TERMS {
            let k = k as f64;
            for (sum, (power, factor)) in sums.iter_mut().zip(powers.into_iter().zip([1.0, k, k * (k - 1.0)]))
            {
                *sum += coefficient * factor * power;
            }
            coefficient *= (shape + k + 1.0) / (k + 2.0);
            powers = [powers[0] * w, powers[0], powers[1]];
        }
        return sums;
    }
    let less = libm::expm1(-shape * libm::log1p(-w));
    let left = 1.0 / (1.0 - w);
    let first = shape * (less + 1.0) * left;
    let value = less / w;
    let slope = (first - value) / w;
    [value, slope, (first * (shape + 1.0) * left - 2.0 * slope) / w]
}

/// shape - (1 - (1 + w)^-shape) / w, w >= 0.
pub(super) fn gamma_deficit(shape: f64, w: f64) -> f64 {
    if w * shape.max(1.0) >= GAMMA_NEAR {
        return shape + libm::expm1(-shape * libm::log1p(w)) / w;
    }
    let mut term = shape;
    let mut sum = 0.0;
    for k in 0..TERMS {
        let k = k as f64;
        term *= -w * (shape + k + 1.0) / (k + 2.0);
        sum -= term;
    }
    sum
}
