//! The least value of a function that first falls and then rises.

/// (x, value), both in this order: between low and high, by golden sections and parabolas (Brent, "Algorithms for minimization without
/// derivatives", 1973, chapter 5). `middle` is between both, and its value known. To an absolute `width`, or half of the digits.
pub(super) fn least(
    mut value_at: impl FnMut(f64) -> f64,
    low: f64,
    middle: (f64, f64),
    high: f64,
    width: f64,
) -> (f64, f64) {
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    const MOST_STEPS: u32 = 60;
    let (mut low, mut high) = (low, high);
    let (mut best, mut second, mut third) = (middle, middle, middle);
    let (mut step, mut step_before) = (0.0_f64, 0.0_f64);
    for _ in 0..MOST_STEPS {
        let centre = 0.5 * (low + high);
        if (best.0 - centre).abs() + 0.5 * (high - low) <= 2.0 * width {
            break;
        }
        // The vertex of the parabola through the three best.
        let r = (best.0 - second.0) * (best.1 - third.1);
        let q = (best.0 - third.0) * (best.1 - second.1);
        let above = (best.0 - third.0) * q - (best.0 - second.0) * r;
        let below = 2.0 * (r - q);
        let to_vertex = above / below;
        let inside = best.0 + to_vertex > low && best.0 + to_vertex < high;
        if inside && step_before.abs() > width && to_vertex.abs() < 0.5 * step_before.abs() {
            step_before = step;
            step = to_vertex;
        } else {
            step_before = if best.0 < centre { high - best.0 } else { low - best.0 };
            step = GOLDEN * step_before;
        }
        // Nearer to the best than `width`, a value would say nothing new.
        let x = best.0 + if step.abs() < width { width.copysign(step) } else { step };
        let new = (x, value_at(x));
        let better = new.1 <= best.1;
        let edge = if better { best.0 } else { x };
        if (x < best.0) == better {
            high = edge;
        } else {
            low = edge;
        }
        if better {
            (third, second, best) = (second, best, new);
        } else if new.1 <= second.1 || second.0 == best.0 {
            (third, second) = (second, new);
        } else if new.1 <= third.1 || third.0 == best.0 || third.0 == second.0 {
            third = new;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn the_least_value_is_found_wherever_it_is() {
        for place in [-1.9, -0.3, 0.0, 0.7, 1.999] {
            let mut calls = 0;
            let value_at = |x: f64| {
                calls += 1;
                libm::exp(x - place) - (x - place)
            };
            let (x, value) = least(value_at, -2.0, (0.5, libm::exp(0.5 - place) - (0.5 - place)), 2.0, 1e-6);
            assert!((x - place).abs() < 3e-6 && value < 1.0 + 1e-11, "{x} for {place}");
            assert!(calls < 40, "{calls} calls");
        }
    }

    #[test]
    fn a_bend_is_found_as_well_as_a_curve() {
        let (x, _) = least(|x| (x - 0.123).abs(), -2.0, (0.5, 0.377), 2.0, 1e-6);
        assert!((x - 0.123).abs() < 3e-6, "{x}");
    }
}
