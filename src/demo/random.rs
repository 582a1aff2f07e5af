//! Numbers that look random and are the same for the same seed: when reads arrive, where they begin, what the file holds.

/// Steps between the states of [`Random`].
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator with a state of one word ([SplitMix64](https://doi.org/10.1145/2714064.2660195)).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of this seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any word.
    pub(crate) const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        ((self.word() as u128 * end as u128) >> 64) as u64
    }

    /// A number from an exponential distribution of mean 1: the gap between arrivals that know nothing of each other.
    pub(crate) fn gap(&mut self) -> f64 {
        // 53 bits, never zero: the logarithm is finite.
        let uniform = ((self.word() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -uniform.ln()
    }
}

/// The word at `index` of the sequence that belongs to `seed`, without those before it.
pub(crate) const fn word_at(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(STEP.wrapping_mul(index.wrapping_add(1))))
}

const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_same_value_alone_and_in_its_sequence() {
        let mut random = Random::new(7);
        for index in 0..100 {
            assert_eq!(random.word(), word_at(7, index));
        }
    }

    #[test]
    fn gaps_have_a_mean_of_one_and_are_never_negative() {
        let mut random = Random::new(1);
        let gaps: Vec<f64> = (0..100_000).map(|_| random.gap()).collect();
        assert!(gaps.iter().all(|&gap| gap >= 0.0 && gap.is_finite()));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((0.98..1.02).contains(&mean), "{mean}");
    }

    #[test]
    fn numbers_below_an_end_stay_below_it_and_reach_all_of_them() {
        let mut random = Random::new(3);
        let mut seen = [false; 9];
        for _ in 0..1_000 {
            seen[random.below(9) as usize] = true;
        }
        assert_eq!(seen, [true; 9]);
        assert_eq!(random.below(0), 0);
    }
}
