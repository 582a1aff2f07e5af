//! The normal distribution's upper tail, and its inverse.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The share of a standard normal distribution above `z`.
pub(super) fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// The point above which the share `p` of a standard normal distribution lies: to about 1e-13, for 0 < p < 1 down to 1e-300.
///
/// A start by Hastings (Abramowitz and Stegun, 26.2.23; off by less than 4.5e-4), then two of Halley's steps, each of which
/// triples the digits.
pub(crate) fn normal_above(p: f64) -> f64 {
    if p > 0.5 {
        // 1 - p is exact here.
        return -normal_above(1.0 - p);
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let t = libm::sqrt(-2.0 * libm::log(p));
    let over = 2.515517 + t * (0.802853 + t * 0.010328);
    let under = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let mut z = t - over / under;
    for _ in 0..2 {
        let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * PI);
        let newton = (normal_tail(z) - p) / density;
        z += newton / (1.0 - 0.5 * z * newton);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_meets_published_quantiles() {
        for (p, z) in [
            (0.5, 0.0),
            (0.25, 0.674_489_750_196_081_7),
            (0.05, 1.644_853_626_951_472_2),
            (0.01, 2.326_347_874_040_841),
            (0.001, 3.090_232_306_167_813_5),
            (1e-6, 4.753_424_308_822_899),
            (1e-15, 7.941_345_326_170_997),
            (0.99, -2.326_347_874_040_841),
        ] {
            assert!((normal_above(p) - z).abs() < 1e-13 * (1.0 + z.abs()), "{p}: {}", normal_above(p));
        }
    }

    #[test]
    fn the_inverse_inverts_the_tail_down_to_1e_300() {
        let mut p = 0.5;
        while p > 1e-300 {
            // The tail falls by a factor of about exp(-z) for each unit: this is 1e-13 in z.
            let z = normal_above(p);
            assert!((normal_tail(z) / p - 1.0).abs() < 1e-13 * (1.0 + z * z), "{p}: {z}");
            p *= 0.37;
        }
    }
}
