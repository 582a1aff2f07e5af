//! The gamma law of a scale of 1: the share of it above a point, and the inverse.

use super::{falling, normal_above};

/// The shapes for which all this holds: for less, most of the law lies below the least number there is; for more, it is as good as normal.
pub(super) const LEAST_SHAPE: f64 = 0.01;
pub(super) const MOST_SHAPE: f64 = 1e4;

/// A sum or a fraction that is not over by then has long ceased to change.
const MOST_TERMS: u32 = 10_000;
const ENOUGH: f64 = 1e-16;

/// The share above x.
pub(super) fn above(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        1.0
    } else if x == f64::INFINITY {
        0.0
    } else if x < shape + 1.0 {
        1.0 - below_by_series(shape, x)
    } else {
        above_by_fraction(shape, x)
    }
}

/// The share that does not exceed x.
pub(super) fn within(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if x == f64::INFINITY {
        1.0
    } else if x < shape + 1.0 {
        below_by_series(shape, x)
    } else {
        1.0 - above_by_fraction(shape, x)
    }
}

/// The point that the share p lies above.
pub(super) fn quantile_above(shape: f64, p: f64) -> f64 {
    if p >= 1.0 {
        return 0.0;
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    // Wilson and Hilferty's: the cube root is nearly normal. Where that fails, at the beginning, the first term of the series.
    let ninth = 1.0 / (9.0 * shape);
    let root = 1.0 - ninth + normal_above(p) * libm::sqrt(ninth);
    let first = libm::exp((libm::log(1.0 - p) + libm::lgamma(shape + 1.0)) / shape);
    let near = if root > 0.3 { shape * root * root * root } else { first };
    let near = near.clamp(f64::MIN_POSITIVE, f64::MAX);
    // Near 1 the share itself tells little; that of the other side does.
    let (upper, other) = (p <= 0.5, 1.0 - p);
    let share = |x: f64| if upper { above(shape, x) } else { 1.0 / within(shape, x) };
    let wanted = if upper { p } else { 1.0 / other };
    let (mut low, mut high, mut step) = (near, near, 1.01);
    while low > 0.0 && share(low) <= wanted {
        low /= step;
        step *= step;
    }
    step = 1.01;
    while high < f64::MAX && share(high) > wanted {
        high = (high * step).min(f64::MAX);
        step *= step;
    }
    falling(share, wanted, low, high)
}

/// x^shape exp(-x) / Gamma(shape).
fn weight(shape: f64, x: f64) -> f64 {
    libm::exp(shape * libm::log(x) - x - libm::lgamma(shape))
}

/// The share below x, by the series of Abramowitz and Stegun, 6.5.29.
fn below_by_series(shape: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
    let mut next = shape;
    for _ in 0..MOST_TERMS {
        next += 1.0;
        term *= x / next;
        sum += term;
        if term < sum * ENOUGH {
            break;
        }
    }
    (weight(shape, x) * sum).min(1.0)
}

/// The share above x, by the continued fraction of Abramowitz and Stegun, 6.5.31, in Lentz's way.
fn above_by_fraction(shape: f64, x: f64) -> f64 {
    const LEAST: f64 = 1e-300;
    let mut under = x + 1.0 - shape;
    let (mut c, mut d) = (1.0 / LEAST, 1.0 / under);
    let mut fraction = d;
    for number in 1..MOST_TERMS {
        let number = f64::from(number);
        let over = number * (shape - number);
        under += 2.0;
        let apart = |value: f64| if value.abs() < LEAST { LEAST } else { value };
        d = 1.0 / apart(over * d + under);
        c = apart(under + over / c);
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < ENOUGH {
            break;
        }
    }
    (weight(shape, x) * fraction).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_shape_is_the_sum_of_so_many_exponential_times() {
        // P(X > x) = exp(-x) (1 + x + ... + x^(k-1) / (k-1)!).
        for shape in [1_u32, 2, 5, 30] {
            for x in [1e-3, 0.5, 1.0, 4.0, 29.0, 31.5, 80.0, 300.0] {
                let mut term = 1.0;
                let mut sum = 1.0;
                for next in 1..shape {
                    term *= x / f64::from(next);
                    sum += term;
                }
                let expected = sum * libm::exp(-x);
                let found = above(f64::from(shape), x);
                assert!((found - expected).abs() <= 1e-12 * expected, "{shape} {x}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn a_half_is_the_square_of_a_normal_number() {
        for x in [1e-9, 0.01, 0.4, 1.0, 3.0, 20.0, 300.0] {
            let expected = libm::erfc(libm::sqrt(x));
            assert!((above(0.5, x) / expected - 1.0).abs() < 1e-12, "{x}");
            let expected = libm::erf(libm::sqrt(x));
            assert!((within(0.5, x) / expected - 1.0).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn the_inverse_inverts_from_one_end_of_the_law_to_the_other() {
        for shape in [LEAST_SHAPE, 0.1, 0.7, 1.0, 1.5, 4.0, 33.0, 1_000.0, MOST_SHAPE] {
            for halvings in 1..=60 {
                let p = libm::exp2(-f64::from(halvings));
                let x = quantile_above(shape, p);
                // lgamma's own error grows with the shape.
                let error = 1e-11 * (1.0 + shape / 100.0);
                assert!((above(shape, x) / p - 1.0).abs() < error, "{shape} {p}: {x}, {}", above(shape, x));
                if halvings < 40 {
                    let x = quantile_above(shape, 1.0 - p);
                    let found = within(shape, x);
                    // The least numbers have few digits.
                    assert!(x < 1e-300 || (found / p - 1.0).abs() < error, "{shape} 1 - {p}: {x}, {found}");
                }
            }
        }
    }
}
