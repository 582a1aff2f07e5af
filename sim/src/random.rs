//! Random numbers that are the same on every machine and, where they must be, the same for every policy.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

/// One step of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators"): every bit of the answer
/// depends on every bit of the number.
#[inline]
pub(crate) const fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// 64 random bits as a number above 0 and below 1.
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The stream of one thing among many of a seed: unrelated to the others, and the same whatever they draw.
    #[must_use]
    pub fn of(seed: u64, kind: u64, number: u64) -> Self {
        Self::new(mix(mix(seed ^ mix(kind)) ^ number))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Above 0 and below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// Below `bound`, which must not be 0: 0 then.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// Exponential with a mean of 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// How many of events with this mean happen.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        if mean <= 0.0 {
            return 0;
        }
        let mut count = 0;
        let mut left = mean;
        if left > 4_096.0 {
            // The normal approximation is off by less than the counts are uncertain.
            let normal = crate::law::normal_above(self.unit());
            return libm::round(mean + libm::sqrt(mean) * normal).max(0.0) as u64;
        }
        loop {
            left -= self.exponential();
            if left < 0.0 {
                return count;
            }
            count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let first = |kind, number| Random::of(7, kind, number).bits();
        let all = [first(0, 0), first(0, 1), first(1, 0), first(1, 1)];
        for (place, bits) in all.iter().enumerate() {
            assert!(!all[..place].contains(bits));
        }
        assert_eq!(all, [first(0, 0), first(0, 1), first(1, 0), first(1, 1)]);
    }

    #[test]
    fn poisson_numbers_have_their_mean_and_variance() {
        for mean in [0.3, 36.0, 10_000.0] {
            let mut random = Random::new(5);
            let draws: Vec<f64> = (0..20_000).map(|_| random.poisson(mean) as f64).collect();
            let average = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance =
                draws.iter().map(|draw| (draw - average).powi(2)).sum::<f64>() / draws.len() as f64;
            assert!((average / mean - 1.0).abs() < 0.02, "{mean}: {average}");
            assert!((variance / mean - 1.0).abs() < 0.05, "{mean}: {variance}");
        }
    }

    #[test]
    fn numbers_below_a_bound_take_each_value_equally_often() {
        let mut random = Random::new(3);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
    }
}
