//! Random numbers that are the same on every machine: placements are drawn with them.

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators").
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `bound`; 0 if that is 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// At least 0 and below 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Puts a random choice of `count` entries first, in random order.
    pub(super) fn draw_first<T>(&mut self, entries: &mut [T], count: usize) {
        for at in 0..count.min(entries.len()) {
            let other = at + self.below(entries.len() - at);
            entries.swap(at, other);
        }
    }
}
