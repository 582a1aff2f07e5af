//! Where a falling function meets a value.

/// The relative width at which a search is over.
const WIDTH: f64 = 1e-14;
/// Halving from the widest range to the narrowest takes fewer.
const MOST_STEPS: u32 = 1_200;

/// The least `x` in `low ..= high` with `share(x) <= p`, to a relative 1e-13 or so; `share` falls, and `high` is one.
///
/// By Chandrupatla's method ("A new hybrid quadratic/bisection algorithm", 1997) on logarithms: inverse quadratic interpolation where
/// that is safe, halving where not, as at jumps.
pub(crate) fn falling(share: impl Fn(f64) -> f64, p: f64, low: f64, high: f64) -> f64 {
    let high = high.min(f64::MAX);
    if low >= high || share(low) <= p {
        return low;
    }
    let miss = |x: f64| libm::log(share(x) / p);
    // `a` is the newest point, `b` the one on the other side of the answer, `c` the one before.
    let (mut a, mut miss_a) = (high, miss(high));
    if miss_a > 0.0 {
        // But for a rounding error it is 0.
        return high;
    }
    let (mut b, mut miss_b) = (low, miss(low));
    let mut step = 0.5;
    for _ in 0..MOST_STEPS {
        let x = a + step * (b - a);
        let miss_x = miss(x);
        let (c, miss_c);
        if (miss_x > 0.0) == (miss_a > 0.0) {
            (c, miss_c) = (a, miss_a);
        } else {
            (c, miss_c) = (b, miss_b);
            (b, miss_b) = (a, miss_a);
        }
        (a, miss_a) = (x, miss_x);
        let width = (b - a).abs();
        let least = WIDTH * a.abs().max(b.abs());
        if width <= 2.0 * least {
            break;
        }
        let place = (a - b) / (c - b);
        let level = (miss_a - miss_b) / (miss_c - miss_b);
        // No number but a good one passes, as is wanted where the function is 0 or jumps.
        step = if level * level < place && (1.0 - level) * (1.0 - level) < 1.0 - place {
            miss_a / (miss_b - miss_a) * (miss_c / (miss_b - miss_c))
                + (c - a) / (b - a) * (miss_a / (miss_c - miss_a)) * (miss_b / (miss_c - miss_b))
        } else {
            0.5
        };
        let edge = least / width;
        step = step.clamp(edge, 1.0 - edge);
        if step.is_nan() {
            step = 0.5;
        }
    }
    if miss_a <= 0.0 { a } else { b }
}
