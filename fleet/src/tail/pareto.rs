//! Pareto's law in the complex plane: the generalised exponential integral.

use super::complex::Complex;

/// Within this distance of 0 the power series is used, beyond it the continued fraction.
const SERIES_WITHIN: f64 = 3.0;
/// More terms are never needed: the series needs up to 40, the fraction up to 70.
const MOST_TERMS: u32 = 400;
/// Euler's constant, and the zeta function at 2, 3, 4 and 5.
const EULER: f64 = 0.577_215_664_901_532_9;
const ZETA: [f64; 4] =
    [1.644_934_066_848_226_4, 1.202_056_903_159_594_3, 1.082_323_233_711_138_2, 1.036_927_755_143_37];

/// E_p(z), the integral of exp(-z v) v^-p over v from 1 to infinity, for p > 0 and z with a real part of 0 or more, not 0 itself.
///
/// For p = index, it is what Pareto's law has of the transform of its tail beyond the least. To about 1e-13, absolute where the value is small.
/// NIST handbook of mathematical functions, 8.19: the series 8.19.10, the recurrence 8.19.12, the continued fraction 8.19.17 in its even form.
pub(super) fn exponential_integral(p: f64, z: Complex) -> Complex {
    let falling = (-z).exponential();
    if z.square_of_length() >= SERIES_WITHIN * SERIES_WITHIN {
        return falling * fraction(p, z);
    }
    // The series has a term that hides another if p is a whole number above 1; upwards from near 1 nothing is lost.
    let steps = libm::ceil(p - 1.5).max(0.0);
    let mut at = p - steps;
    let mut value = series(at, z);
    while at < p - 0.5 {
        value = (falling - z * value).scale(1.0 / at);
        at += 1.0;
    }
    value
}

/// The logarithm of E[exp(-z X)] for the law with least 1, z >= 0.
pub(super) fn log_transform(index: f64, z: f64) -> f64 {
    if z == 0.0 {
        return 0.0;
    }
    let at = Complex::real(z);
    if z < SERIES_WITHIN {
        return libm::log(index * exponential_integral(index + 1.0, at).re);
    }
    // Without the factor that underflows; beyond, squares would overflow.
    let at = Complex::real(z.min(1e150));
    libm::log(index * fraction(index + 1.0, at).re) - z
}

/// For 0 < p <= 1.5, |z| not large.
fn series(p: f64, z: Complex) -> Complex {
    let order = 1.0 - p;
    // (gamma(1 + order) z^-order - 1) / order, of which the limit at order 0 is finite.
    let power = Complex::real(log_gamma_slope(order)) - z.logarithm();
    let mut sum = if order == 0.0 { power } else { power.scale(order).expm1().scale(1.0 / order) };
    let mut term = Complex::ONE;
    for k in 1..MOST_TERMS {
        let k = f64::from(k);
        term = term * z.scale(-1.0 / k);
        let part = term.scale(1.0 / (order + k));
        sum = sum - part;
        if part.square_of_length() <= 1e-36 {
            break;
        }
    }
    sum
}

/// lgamma(1 + x) / x for -0.5 <= x < 1.
fn log_gamma_slope(x: f64) -> f64 {
    if x.abs() >= 1e-3 {
        return libm::lgamma(1.0 + x) / x;
    }
    let [two, three, four, five] = ZETA;
    -EULER + x * (two / 2.0 - x * (three / 3.0 - x * (four / 4.0 - x * five / 5.0)))
}

/// exp(z) E_p(z), by Lentz's method.
fn fraction(p: f64, z: Complex) -> Complex {
    let mut below = z + Complex::real(p);
    let mut inverse = below.inverse();
    // So large that its inverse is 0.
    let mut ratio_above = Complex::real(f64::MAX);
    let mut value = inverse;
    for n in 1..MOST_TERMS {
        let n = f64::from(n);
        let above = -n * (p + n - 1.0);
        below = below + Complex::real(2.0);
        inverse = (below + inverse.scale(above)).inverse();
        ratio_above = below + ratio_above.inverse().scale(above);
        let factor = ratio_above * inverse;
        value = value * factor;
        if (factor - Complex::ONE).square_of_length() <= 1e-31 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::complex::Complex;
    use super::{SERIES_WITHIN, exponential_integral, fraction, log_transform};

    /// The integral itself, over v = exp(w): Simpson's rule with cells that get every turn of exp(-z v).
    fn by_quadrature(p: f64, z: Complex) -> Complex {
        let end = libm::log(1.0 + 45.0 / z.re);
        let cells = 100_000;
        let width = end / f64::from(cells);
        let value = |w: f64| (-z.scale(libm::exp(w))).exponential().scale(libm::exp((1.0 - p) * w));
        let mut sum = value(0.0) + value(end);
        for cell in 1..cells {
            sum = sum + value(width * f64::from(cell)).scale(if cell % 2 == 0 { 2.0 } else { 4.0 });
        }
        sum.scale(width / 3.0)
    }

    #[test]
    fn it_is_the_integral_that_it_is_said_to_be() {
        let places = [
            (0.01, 0.0),
            (0.02, 0.4),
            (0.3, 1.1),
            (0.05, 2.9),
            (0.1, 3.2),
            (2.0, 2.9),
            (3.0, 40.0),
            (0.5, 60.0),
        ];
        for p in [0.05, 0.5, 0.999_999_9, 1.0, 1.000_3, 1.5, 1.6, 2.0, 2.000_000_01, 5.3, 20.0] {
            for (re, im) in places {
                let z = Complex::new(re, im);
                let (is, should) = (exponential_integral(p, z), by_quadrature(p, z));
                let gap = libm::sqrt((is - should).square_of_length());
                assert!(
                    gap < 1e-11 * (1.0 + libm::sqrt(should.square_of_length())),
                    "{p} {z:?}: {is:?} for {should:?}"
                );
            }
        }
    }

    #[test]
    fn series_and_fraction_agree_where_they_meet() {
        for step in 0..=20 {
            let angle = 0.5 * core::f64::consts::PI * f64::from(step) / 20.0;
            let (sin, cos) = libm::sincos(angle);
            let z = Complex::new(cos, sin).scale(SERIES_WITHIN * (1.0 - 1e-12));
            for p in [0.01, 0.3, 0.7, 1.0, 1.2, 1.999, 2.0, 3.4, 9.0, 50.0, 99.0] {
                let gap = exponential_integral(p, z) - (-z).exponential() * fraction(p, z);
                assert!(gap.square_of_length() < 1e-26, "{p} {z:?}: {gap:?}");
            }
        }
    }

    #[test]
    fn the_logarithm_of_the_transform_does_not_underflow() {
        for index in [1.1, 2.0, 7.5] {
            // Beside the change of method, and far out, where it is about -z.
            let (below, above) =
                (log_transform(index, SERIES_WITHIN * 0.999_999), log_transform(index, SERIES_WITHIN));
            assert!((below - above).abs() < 1e-5, "{index}: {below} {above}");
            let far = log_transform(index, 1e5);
            assert!((far + 1e5 - libm::log(index / 1e5)).abs() < 1e-3, "{index}: {far}");
        }
    }
}
