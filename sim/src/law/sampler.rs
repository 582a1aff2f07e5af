//! Draws from a law, quickly.

use super::Law;
use crate::random::unit;

/// The table reaches from the median outwards over so many halvings of the probability, on both sides: to a draw in 2^25.
const OCTAVES: u32 = 24;
/// Bits of the number of steps that each halving is cut into.
const STEP_BITS: u32 = 7;
const STEPS: usize = 1 << STEP_BITS;
const SIDE: usize = OCTAVES as usize * STEPS;
/// Where a straight line is off by more than this share, the law is asked.
const EXACT: f64 = 1e-4;

/// A straight piece of the inverse distribution, in nanoseconds. What is no number at all is to be asked of the law.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Piece {
    start: f64,
    rise: f64,
}

/// Draws from a law, in nanoseconds.
///
/// The more the random bits, the longer the draw: the same bits give short draws of all laws, or long ones. A draw is 1 ns at least.
/// [`sample`](Self::sample) is within a ten-thousandth of the exact inverse, and exact at the far ends.
#[derive(Clone, PartialEq, Debug)]
pub struct Sampler {
    law: Law,
    /// The lower half of the law from its beginning to the median, then the upper from its end to the median.
    pieces: Vec<Piece>,
}

impl Sampler {
    /// Draws from `law`, which must be one that [`Law::check`] lets pass.
    #[must_use]
    pub fn new(law: &Law) -> Self {
        let mut pieces = Vec::with_capacity(2 * SIDE);
        for upper in [false, true] {
            let nanos = |share: f64| law.quantile_above(if upper { share } else { 1.0 - share }) * 1e6;
            for octave in (0..OCTAVES).rev() {
                let first = 0.25 / (1_u64 << octave) as f64;
                let share = |step: usize| first * (1.0 + step as f64 / STEPS as f64);
                let mut start = nanos(first);
                for step in 0..STEPS {
                    let end = nanos(share(step + 1));
                    let middle = nanos(0.5 * (share(step) + share(step + 1)));
                    let straight = (0.5 * (start + end) - middle).abs() <= EXACT * middle;
                    let rise = if straight { end - start } else { f64::NAN };
                    pieces.push(Piece { start, rise });
                    start = end;
                }
            }
        }
        Self { law: law.clone(), pieces }
    }

    /// The law.
    #[must_use]
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// A draw, from 64 random bits.
    #[inline]
    #[must_use]
    pub fn sample(&self, bits: u64) -> u64 {
        let upper = bits >> 63;
        // How far from its end of the law, as a share of 2^64: below 2^63.
        let share = bits ^ 0_u64.wrapping_sub(upper);
        let octave = (share | 1).leading_zeros() - 1;
        if octave < OCTAVES {
            // The leading one goes out at the top.
            let rest = share << (octave + 2);
            let step = (rest >> (64 - STEP_BITS)) as usize;
            let within = (rest << STEP_BITS >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
            let place = upper as usize * SIDE + (OCTAVES - 1 - octave) as usize * STEPS + step;
            if let Some(piece) = self.pieces.get(place) {
                let nanos = piece.start + piece.rise * within;
                if nanos >= 0.0 {
                    return whole(nanos);
                }
            }
        }
        self.exact(bits)
    }

    /// A draw without the table.
    #[cold]
    fn exact(&self, bits: u64) -> u64 {
        whole(self.law.quantile_above(unit(!bits)) * 1e6)
    }

    /// The share of draws above so many nanoseconds.
    #[must_use]
    pub fn above(&self, nanos: u64) -> f64 {
        self.law.above(millis(nanos))
    }

    /// A draw among those above `floor` nanoseconds; one nanosecond more if the law ends before.
    #[must_use]
    pub fn sample_above(&self, floor: u64, bits: u64) -> u64 {
        let p = self.above(floor) * unit(!bits);
        let nanos = if p > 0.0 { whole(self.law.quantile_above(p) * 1e6) } else { 0 };
        nanos.max(floor.saturating_add(1))
    }

    /// A draw among those of `most` nanoseconds or less; `most`, or 1 ns if that is more, if the law begins after it.
    #[must_use]
    pub fn sample_within(&self, most: u64, bits: u64) -> u64 {
        let above = self.above(most);
        let p = above + (1.0 - above) * unit(!bits);
        whole(self.law.quantile_above(p) * 1e6).min(most).max(1)
    }
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Rounded, at least one, and at most thirty years, so that sums of a few stay numbers.
#[inline]
fn whole(nanos: f64) -> u64 {
    ((nanos + 0.5) as u64).clamp(1, 1_000_000_000_000_000_000)
}
