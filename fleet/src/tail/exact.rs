//! A node's tail itself, from its transform.

use alloc::vec::Vec;
use core::f64::consts::PI;

use super::bound::{best_tilt, in_reach, overloaded, positive};
use super::complex::Complex;
use super::pareto::exponential_integral;
use super::service::{Kind, Service};

/// The probability that a request is in the node's system for longer than x: waiting and service. 1 if the node is overloaded.
///
/// By numerical inversion of Pollaczek and Khinchine's transform. How accurate it is depends on the law:
/// - exponential: exact; gamma and shifted exponential: to a part of 10^6 of the tail down to 10^-200, and mostly to one of 10^9;
/// - histogram: the same, but where x is within some per cent of a sum of two or three edges the error can be 5 * 10^-7 of the square of the load;
/// - Pareto: to a part of 3 * 10^-9 of the tail and 10^-11 more, and within some per cent of the least and of twice the least to 10^-6.
///
/// A rate below 0 counts as 0, one that is no number as too much. An x that is no number counts as 0, one beyond 10^100 times the mean as that.
#[must_use]
pub fn tail_exact(service: &Service, rate: f64, x: f64) -> f64 {
    let rate = positive(rate);
    if overloaded(service, rate) {
        return 1.0;
    }
    let x = in_reach(service, x);
    if x == 0.0 || x < least(service) {
        return 1.0;
    }
    match service.kind() {
        Kind::Shifted { shift: 0.0, rate: capacity } => libm::exp(-(capacity - rate) * x),
        _ => {
            let rest = Rest::of(service, rate);
            let known = rest.known(x);
            // What has no load has no rest, and the transform would be 0 / 0.
            let more = if rest.load < LEAST_LOAD && rest.apart > 0 { 0.0 } else { rest.at(x, rest.terms()) };
            (known + more).clamp(0.0, 1.0)
        }
    }
}

/// A load that is less counts as none.
const LEAST_LOAD: f64 = 1e-100;

/// No request is served in less.
fn least(service: &Service) -> f64 {
    match service.kind() {
        Kind::Shifted { shift: least, .. } | Kind::Pareto { least, .. } => *least,
        Kind::Gamma { .. } => 0.0,
        Kind::Histogram(bins) => bins.first().map_or(0.0, |&(edge, _)| edge),
    }
}

/// P(X > x), x not below the least; of gamma's law it is not needed.
fn after_none(service: &Service, x: f64) -> f64 {
    match service.kind() {
        Kind::Shifted { shift, rate } => libm::exp(-rate * (x - shift)),
        Kind::Pareto { least, index } => libm::pow(x / least, -index),
        Kind::Histogram(bins) => bins.iter().filter(|&&(edge, _)| edge > x).map(|&(_, share)| share).sum(),
        Kind::Gamma { .. } => 0.0,
    }
}

/// P(Y + X > x) for a shifted exponential X and Y, what is left of an X that somebody meets at random: evenly in 0 ..= shift, or beyond
/// it exponential.
fn after_one_shifted(shift: f64, rate: f64, x: f64) -> f64 {
    let mean = shift + 1.0 / rate;
    let x = x - shift;
    // Y below the shift, as part of the mean.
    let even = if x < shift {
        shift - x - libm::expm1(-rate * x) / rate
    } else {
        libm::exp(-rate * (x - shift)) * -libm::expm1(-rate * shift) / rate
    };
    let beyond = if x < shift {
        1.0
    } else {
        let x = x - shift;
        libm::exp(-rate * x) * (1.0 + rate * x)
    };
    (even + beyond / rate) / mean
}

/// The same for a histogram.
fn after_one_histogram(bins: &[(f64, f64)], mean: f64, x: f64) -> f64 {
    // P(Y > y) = E[max(X - y, 0)] / mean: bins above y, from the last downwards as y grows.
    let mut above = bins.iter().rev().peekable();
    let (mut share_above, mut mean_above) = (0.0, 0.0);
    let mut sum = 0.0;
    for &(edge, share) in bins {
        // Edges rise, so y falls, and more and more bins are above it.
        let y = x - edge;
        if y < 0.0 {
            sum += share;
            continue;
        }
        while let Some((edge, share)) = above.next_if(|&&(edge, _)| edge > y) {
            share_above += share;
            mean_above += share * edge;
        }
        sum += share * (mean_above - share_above * y).max(0.0) / mean;
    }
    sum
}

/// The tail in two parts: a wait is the sum of a geometric number of remaining service times, and what belongs to fewer than `apart` of them
/// is known; its kinks would spoil the inversion of the whole.
struct Rest<'a> {
    service: &'a Service,
    rate: f64,
    load: f64,
    apart: u32,
}

impl<'a> Rest<'a> {
    fn of(service: &'a Service, rate: f64) -> Self {
        let apart = match service.kind() {
            Kind::Shifted { .. } | Kind::Histogram(_) => 2,
            Kind::Pareto { .. } => 1,
            // Smooth but for 0.
            Kind::Gamma { .. } => 0,
        };
        Self { service, rate, load: rate * service.mean(), apart }
    }

    /// What belongs to fewer than `apart`.
    fn known(&self, x: f64) -> f64 {
        let one = match self.service.kind() {
            Kind::Shifted { shift, rate } => after_one_shifted(*shift, *rate, x),
            Kind::Histogram(bins) => after_one_histogram(bins, self.service.mean(), x),
            Kind::Pareto { .. } | Kind::Gamma { .. } => 0.0,
        };
        (1.0 - self.load) * (after_none(self.service, x) + self.load * one)
    }

    /// The other part, from the transform: the Fourier series of Abate and Whitt ("Numerical inversion of Laplace transforms of probability
    /// distributions", 1995).
    ///
    /// The contour is moved by the best t of bound 1, which makes exp(t y) times the tail largest near x: the series then repeats no
    /// more than `exp(-PERIOD)` times the bound. In place of Euler's binomial weights the series ends in a long smooth fade,
    /// so that kinks of the tail at other places than x don't matter.
    fn at(&self, x: f64, terms: u32) -> f64 {
        const PERIOD: f64 = 20.0;
        let tilt = best_tilt(self.service, self.rate, x);
        let mut from = 0.5 * PERIOD / x - tilt;
        // Near 0 the transform is a difference of equals.
        if from.abs() * x < 1.0 {
            from = 1.0 / x;
        }
        let step = PI / x;
        let mut transform = Transform::new(self.service, step);
        let mut sum = 0.0;
        for k in 0..=terms {
            let z = Complex::new(from, step * f64::from(k));
            let value = self.transform(transform.excess(k, z), z).re * fade(k, terms);
            let value = if k == 0 { 0.5 * value } else { value };
            sum += if k % 2 == 0 { value } else { -value };
        }
        // In logarithms, as the one factor can be too small for a number and the other large.
        if sum > 0.0 { libm::exp(libm::log(sum / x) + from * x) } else { 0.0 }
    }

    /// A law with a narrow bulk needs more of them, and so do few bins, whose kinks are sharper.
    fn terms(&self) -> u32 {
        const TERMS: f64 = 256.0;
        const FEW_BINS: f64 = 16.0;
        const MOST_TIMES: f64 = 8.0;
        let times = match self.service.kind() {
            Kind::Gamma { shape, .. } => libm::sqrt(*shape) / 32.0,
            Kind::Pareto { index, .. } => index / 4.0,
            Kind::Shifted { shift, rate } => shift * rate / 8.0,
            Kind::Histogram(bins) => FEW_BINS / bins.len() as f64,
        };
        (TERMS * times.clamp(1.0, MOST_TIMES)) as u32
    }

    /// `excess` is (1 - B(z)) / z, where B is the transform of the service.
    fn transform(&self, excess: Complex, z: Complex) -> Complex {
        let idle = 1.0 - self.load;
        let share = excess.scale(self.rate);
        let left = Complex::ONE - share;
        let deficit = (Complex::real(self.service.mean()) - excess).over(z).scale(self.rate);
        let served = excess.scale(idle);
        let above = match self.apart {
            0 => deficit + served,
            1 => deficit + served * share,
            _ => {
                let both = Complex::real(self.load) + share - share.scale(self.load);
                deficit * both + served * share * share
            }
        };
        above.over(left)
    }
}

/// 1 at the beginning, 0 at the end.
fn fade(k: u32, terms: u32) -> f64 {
    const STEEP: f64 = 12.0;
    let at = STEEP * (f64::from(k) / f64::from(terms) - 0.5);
    if at < -6.0 { 1.0 } else { 0.5 * libm::erfc(at) }
}

/// Transforms of a law at equal steps along a line.
struct Transform<'a> {
    service: &'a Service,
    /// exp(-z edge) for the bins of a histogram, and by what a step multiplies it.
    turns: Vec<(Complex, Complex)>,
}

impl<'a> Transform<'a> {
    /// The imaginary part of z grows by `step`.
    fn new(service: &'a Service, step: f64) -> Self {
        let turns = match service.kind() {
            Kind::Histogram(bins) => bins
                .iter()
                .map(|&(edge, _)| (Complex::ONE, Complex::new(0.0, -step * edge).exponential()))
                .collect(),
            _ => Vec::new(),
        };
        Self { service, turns }
    }

    /// (1 - B(z)) / z.
    fn excess(&mut self, k: u32, z: Complex) -> Complex {
        match self.service.kind() {
            Kind::Shifted { shift, rate } => {
                let fallen = (-z.scale(*shift)).expm1();
                let by_shift = if *shift == 0.0 { Complex::real(0.0) } else { fallen.over(z) };
                (Complex::ONE - by_shift.scale(*rate)).over(z + Complex::real(*rate))
            }
            Kind::Gamma { shape, rate } => -z.scale(1.0 / rate).logarithm_1p().scale(-shape).expm1().over(z),
            Kind::Pareto { least, index } => {
                let z = z.scale(*least);
                (exponential_integral(*index, z) - (-z).expm1().over(z)).scale(*least)
            }
            Kind::Histogram(bins) => self.excess_of_bins(bins, k, z),
        }
    }

    fn excess_of_bins(&mut self, bins: &[(f64, f64)], k: u32, z: Complex) -> Complex {
        /// So many steps by multiplication, until rounding is mended.
        const STEPS: u32 = 16;
        let far = bins.last().is_some_and(|&(edge, _)| z.scale(edge).square_of_length() > 1.0);
        let mut sum = Complex::real(0.0);
        for (&(edge, share), (turn, by)) in bins.iter().zip(&mut self.turns) {
            *turn = if k.is_multiple_of(STEPS) { (-z.scale(edge)).exponential() } else { *turn * *by };
            let less = if far { *turn - Complex::ONE } else { (-z.scale(edge)).expm1() };
            sum = sum - less.scale(share);
        }
        sum.over(z)
    }
}

#[cfg(test)]
mod tests;
