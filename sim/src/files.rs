//! Classes of files: where their cells lie, how often they are read, and from which nodes.

use crate::random::unit;

/// Files that lie on the same nodes. A read of one wants its k data cells, and takes any k cells: it draws them by the weights, as
/// [`hedge_core::draw_read`] does, and is done when k are there.
#[derive(Clone, PartialEq, Debug)]
pub struct FileClass {
    /// Its share of all reads; the shares of all classes are taken in proportion.
    pub share: f64,
    /// Data cells of a stripe.
    pub k: u8,
    /// The node of each cell, data cells first: different ones, at least k.
    pub nodes: Vec<u32>,
    /// The weight of each cell, at least k of them above 0: its probability, if they add up to k in any unit.
    pub weights: Vec<u32>,
}

/// Which class the next read is of.
pub(crate) struct Shares {
    /// The sums of the shares up to each class, that class included.
    upto: Vec<f64>,
}

impl Shares {
    pub(crate) fn new(classes: &[FileClass]) -> Self {
        let mut sum = 0.0;
        let upto = classes.iter().map(|class| {
            sum += class.share;
            sum
        });
        Self { upto: upto.collect() }
    }

    /// The class that 64 random bits tell.
    #[inline]
    pub(crate) fn pick(&self, bits: u64) -> usize {
        let all = self.upto.last().copied().unwrap_or_default();
        let at = unit(bits) * all;
        self.upto.partition_point(|&upto| upto <= at).min(self.upto.len().saturating_sub(1))
    }
}

/// What a read of a class draws, from its key: the same under every policy, and with any weights.
pub(crate) mod draws {
    use crate::random::mix;

    /// Of which class it is.
    #[inline]
    pub(crate) const fn class(key: u64) -> u64 {
        mix(key ^ 0x5000)
    }

    /// Which cells it reads.
    #[inline]
    pub(crate) const fn cells(key: u64) -> u64 {
        mix(key ^ 0x6000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn classes_are_read_in_proportion_to_their_shares() {
        let class = |share| FileClass { share, k: 1, nodes: vec![0], weights: vec![1] };
        let shares = Shares::new(&[1.0, 0.5, 6.0, 2.5].map(class));
        let mut counts = [0_u32; 4];
        let mut random = Random::new(1);
        for _ in 0..100_000 {
            counts[shares.pick(random.bits())] += 1;
        }
        for (count, expected) in counts.into_iter().zip([10_000.0, 5_000.0, 60_000.0, 25_000.0]) {
            assert!((f64::from(count) - expected).abs() < 4.0 * libm::sqrt(expected), "{counts:?}");
        }
        assert_eq!((shares.pick(0), shares.pick(u64::MAX)), (0, 3));
    }
}
