//! How long a hedge takes: the k-th of k + spare fresh legs to come.

use crate::Law;
use crate::law::falling;

/// Nothing is rarer than one in so many.
const RAREST: f64 = 1e18;
/// Points of the law of hedges over which is averaged.
const POINTS: u32 = 512;

/// The law of a hedge, of legs that are independent and all follow one law.
pub(super) struct HedgeLaw<'a> {
    legs: &'a Law,
    needed: u8,
    spare: u8,
    /// Hedges of equal probability.
    points: Vec<f64>,
}

impl<'a> HedgeLaw<'a> {
    pub(super) fn new(legs: &'a Law, needed: u8, spare: u8) -> Self {
        let mut hedge = Self { legs, needed, spare, points: Vec::new() };
        hedge.points = (0..POINTS)
            .map(|point| hedge.quantile_above((f64::from(point) + 0.5) / f64::from(POINTS)))
            .collect();
        hedge
    }

    /// The probability that a hedge takes longer than `x` milliseconds: more than `spare` of its legs do.
    pub(super) fn above(&self, x: f64) -> f64 {
        self.too_many_late(self.legs.above(x))
    }

    /// The time in milliseconds that a hedge exceeds with probability `p`.
    pub(super) fn quantile_above(&self, p: f64) -> f64 {
        let one_in = falling(|one_in| self.too_many_late(1.0 / one_in), p, 1.0, RAREST);
        self.legs.quantile_above(1.0 / one_in)
    }

    /// The mean of a function of the time that a hedge takes.
    pub(super) fn mean_of(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.points.iter().map(|&time| of(time)).sum::<f64>() / f64::from(POINTS)
    }

    /// The probability that more than `spare` legs are late, if each is with probability `late`: the binomial law's upper tail.
    fn too_many_late(&self, late: f64) -> f64 {
        let legs = u32::from(self.needed) + u32::from(self.spare);
        let mut ways = 1.0;
        let mut sum = 0.0;
        for number in 0..=legs {
            if number > u32::from(self.spare) {
                sum += ways
                    * libm::pow(late, f64::from(number))
                    * libm::pow(1.0 - late, f64::from(legs - number));
            }
            ways *= f64::from(legs - number) / f64::from(number + 1);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hedge_of_one_leg_is_that_leg() {
        let legs = Law::named("mixture").unwrap();
        let hedge = HedgeLaw::new(&legs, 1, 0);
        for p in [0.9, 0.5, 0.01, 1e-6] {
            let (time, leg) = (hedge.quantile_above(p), legs.quantile_above(p));
            assert!((time / leg - 1.0).abs() < 1e-9);
            assert!((hedge.above(time) / p - 1.0).abs() < 1e-9);
        }
        assert!((hedge.mean_of(|time| time) / legs.mean() - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_slowest_of_six_and_the_sixth_of_seven_follow_their_closed_forms() {
        let legs = Law::Exponential { mean: 1.0 };
        let harmonic = |from: u32, to: u32| (from..=to).map(|place| 1.0 / f64::from(place)).sum::<f64>();
        // The mean of the k-th of n exponential times is 1/n + ... + 1/(n - k + 1).
        let slowest = HedgeLaw::new(&legs, 6, 0);
        assert!((slowest.mean_of(|time| time) - harmonic(1, 6)).abs() < 0.005);
        let spared = HedgeLaw::new(&legs, 6, 1);
        assert!((spared.mean_of(|time| time) - harmonic(2, 7)).abs() < 0.005);
        let late = libm::exp(-3.0);
        let both = 1.0 - libm::pow(1.0 - late, 7.0) - 7.0 * late * libm::pow(1.0 - late, 6.0);
        assert!((spared.above(3.0) / both - 1.0).abs() < 1e-12);
    }
}
