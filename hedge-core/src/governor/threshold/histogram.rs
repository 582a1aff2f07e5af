//! How long legs took lately, as histograms of two periods, and quantiles of them.

use core::mem;

use crate::{Instant, Span};

/// Octaves of a histogram: from 1,024 ns (1 us) to 2^37 ns (137 s).
const OCTAVES: usize = 27;
/// The logarithm of where the first octave begins, in nanoseconds.
const FIRST_OCTAVE: u32 = 10;
/// Buckets of an octave, all of one width; 2 to the power of [`BUCKET_BITS`].
const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 5;

const MILLION: u64 = 1_000_000;

/// How many legs took how long: buckets at most 1/32 of their value wide.
///
/// Shorter legs count as the first bucket's, longer ones as the last's. The 2^32nd leg and those after it are
/// not counted, so that the counts always add up to the total.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Histogram {
    counts: [[u32; BUCKETS]; OCTAVES],
    total: u32,
}

impl Histogram {
    const EMPTY: Self = Self { counts: [[0; BUCKETS]; OCTAVES], total: 0 };

    #[inline]
    fn add(&mut self, took: Span) {
        if self.total < u32::MAX {
            let (octave, bucket) = place(took);
            self.counts[octave][bucket] += 1;
            self.total += 1;
        }
    }

    fn clear(&mut self) {
        if self.total > 0 {
            *self = Self::EMPTY;
        }
    }
}

/// The octave and the bucket of a time.
#[inline]
fn place(took: Span) -> (usize, usize) {
    let nanos = took.as_nanos();
    let log = (nanos | 1).ilog2();
    if log < FIRST_OCTAVE {
        return (0, 0);
    }
    let octave = (log - FIRST_OCTAVE) as usize;
    if octave >= OCTAVES {
        return (OCTAVES - 1, BUCKETS - 1);
    }
    (octave, (nanos >> (log - BUCKET_BITS)) as usize % BUCKETS)
}

/// The upper edge of a bucket: longer than every time in it.
fn upper_edge(octave: usize, bucket: usize) -> Span {
    Span::from_nanos(((BUCKETS + bucket + 1) as u64) << (octave as u32 + FIRST_OCTAVE - BUCKET_BITS))
}

/// A share of legs: `ppm` millionths, divided by `parts`.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) ppm: u32,
    pub(super) parts: u8,
}

impl Share {
    /// The share of legs above a quantile.
    pub(super) fn above(quantile_ppm: u32) -> Self {
        Self { ppm: (MILLION as u32).saturating_sub(quantile_ppm), parts: 1 }
    }

    fn numerator(self) -> u64 {
        u64::from(self.ppm).min(MILLION)
    }

    fn denominator(self) -> u64 {
        MILLION * u64::from(self.parts.max(1))
    }

    /// How many of so many legs it is, rounded down. At most 2^33 legs: two histograms.
    fn of(self, legs: u64) -> u64 {
        legs * self.numerator() / self.denominator()
    }

    /// Whether at least ten of so many legs belong to it.
    pub(super) fn is_known_from(self, legs: u64) -> bool {
        legs * self.numerator() >= 10 * self.denominator()
    }
}

/// The legs of the current period and of the one before it; periods of `SECS` seconds begin at multiples of
/// `SECS` on the caller's clock, so that it does not matter how often a window is looked at.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Window<const SECS: u64> {
    current: Histogram,
    previous: Histogram,
    began: Instant,
}

impl<const SECS: u64> Window<SECS> {
    const PERIOD: u64 = Span::from_secs(SECS).as_nanos();
    pub(super) const EMPTY: Self =
        Self { current: Histogram::EMPTY, previous: Histogram::EMPTY, began: Instant::ZERO };

    /// How many periods have passed since the current one began.
    #[inline]
    fn passed(&self, now: Instant) -> u64 {
        let nanos = now.since(self.began).as_nanos();
        if nanos < Self::PERIOD { 0 } else { nanos / Self::PERIOD }
    }

    /// Moves on to the period of `now`; whether that is another one.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant) -> bool {
        let passed = self.passed(now);
        if passed > 0 {
            self.begin(passed);
        }
        passed > 0
    }

    #[cold]
    fn begin(&mut self, passed: u64) {
        self.began += Span::from_nanos(passed * Self::PERIOD);
        if passed == 1 {
            mem::swap(&mut self.current, &mut self.previous);
        } else {
            self.previous.clear();
        }
        self.current.clear();
    }

    /// What the window holds at `now`.
    pub(super) fn legs(&self, now: Instant) -> Legs<'_> {
        Legs(match self.passed(now) {
            0 => [Some(&self.current), Some(&self.previous)],
            1 => [Some(&self.current), None],
            _ => [None, None],
        })
    }

    /// A leg took so long, in the period that [`advance`](Self::advance) moved on to.
    #[inline]
    pub(super) fn add(&mut self, took: Span) {
        self.current.add(took);
    }

    #[inline]
    pub(super) fn samples(&self) -> u64 {
        u64::from(self.current.total) + u64::from(self.previous.total)
    }
}

/// The legs of up to two histograms.
#[derive(Clone, Copy)]
pub(super) struct Legs<'a>([Option<&'a Histogram>; 2]);

impl Legs<'_> {
    pub(super) fn samples(self) -> u64 {
        self.0.into_iter().flatten().map(|histogram| u64::from(histogram.total)).sum()
    }

    /// A time that at most `share` of the legs exceeded: the upper edge of a bucket, so up to 1/32 above the
    /// leg that it stands for. `None` if there is no leg.
    pub(super) fn exceeded_by(self, share: Share) -> Option<Span> {
        let samples = self.samples();
        // The rank of the leg: 1 is the shortest.
        let mut rank = samples.saturating_sub(share.of(samples)).max(1);
        for octave in 0..OCTAVES {
            let counts = || self.0.into_iter().flatten().map(|histogram| &histogram.counts[octave]);
            // A histogram's counts add up to its total, which fits.
            let in_octave = counts().map(|counts| u64::from(counts.iter().sum::<u32>())).sum::<u64>();
            if rank > in_octave {
                rank -= in_octave;
                continue;
            }
            for bucket in 0..BUCKETS {
                let in_bucket = counts().map(|counts| u64::from(counts[bucket])).sum::<u64>();
                if rank <= in_bucket {
                    return Some(upper_edge(octave, bucket));
                }
                rank -= in_bucket;
            }
        }
        None
    }
}

/// What the tests of this file and of the estimator share.
#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub(crate) fn secs(secs: u64) -> Instant {
        Instant::from_millis(secs * 1_000)
    }

    /// Whether `value` stands for `exact`: the upper edge of its bucket.
    pub(crate) fn stands_for(value: Span, exact: Span) -> bool {
        let (value, exact) = (value.as_nanos(), exact.as_nanos());
        exact < value && value <= exact + exact / 32 + 1
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::testing::{secs, stands_for};
    use super::*;

    fn histogram(nanos: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::EMPTY;
        for nanos in nanos {
            histogram.add(Span::from_nanos(nanos));
        }
        histogram
    }

    fn quantile(histogram: &Histogram, ppm: u32) -> Option<Span> {
        Legs([Some(histogram), None]).exceeded_by(Share::above(ppm))
    }

    #[test]
    fn a_bucket_is_at_most_a_thirty_second_of_its_value_wide() {
        let mut lower = 1 << FIRST_OCTAVE;
        for octave in 0..OCTAVES {
            for bucket in 0..BUCKETS {
                let upper = upper_edge(octave, bucket).as_nanos();
                assert!(lower < upper && (upper - lower) * 32 <= lower);
                assert_eq!(place(Span::from_nanos(lower)), (octave, bucket));
                assert_eq!(place(Span::from_nanos(upper - 1)), (octave, bucket));
                lower = upper;
            }
        }
        assert_eq!(lower, 1 << 37);
    }

    #[test]
    fn what_is_shorter_or_longer_than_any_bucket_counts_as_the_first_or_last() {
        for nanos in [0, 1, 2, 1_023, 1_024] {
            assert_eq!(place(Span::from_nanos(nanos)), (0, 0));
        }
        for nanos in [(1 << 37) - 1, 1 << 37, 1 << 38, 1 << 63, u64::MAX] {
            assert_eq!(place(Span::from_nanos(nanos)), (OCTAVES - 1, BUCKETS - 1));
        }
    }

    #[test]
    fn quantiles_at_the_edges_are_those_of_the_sorted_legs() {
        // 1 ms, 2 ms, ... 1,000 ms: the leg at rank ceil(q * 1,000).
        let thousand = histogram((1..=1_000).map(|millis| millis * 1_000_000));
        for (ppm, millis) in [
            (0, 1),
            (1_000, 1),
            (1_001, 2),
            (500_000, 500),
            (990_000, 990),
            (999_000, 999),
            (999_001, 1_000),
            (999_900, 1_000),
            (999_999, 1_000),
            (1_000_000, 1_000),
            (u32::MAX, 1_000),
        ] {
            let answer = quantile(&thousand, ppm).unwrap();
            assert!(stands_for(answer, Span::from_millis(millis)), "{ppm}: {answer:?}");
        }
        for ppm in [0, 500_000, 999_900, 999_999, 1_000_000] {
            assert_eq!(quantile(&Histogram::EMPTY, ppm), None);
            assert_eq!(quantile(&histogram([5_000]), ppm), Some(upper_edge(2, 7)));
        }
    }

    #[test]
    fn legs_of_both_periods_count() {
        let (a, b) = (histogram([1_000_000; 10]), histogram([9_000_000; 10]));
        let both = Legs([Some(&a), Some(&b)]);
        assert_eq!(both.samples(), 20);
        for (ppm, millis) in [(0, 1), (500_000, 1), (500_001, 9), (999_999, 9)] {
            let answer = both.exceeded_by(Share::above(ppm)).unwrap();
            assert!(stands_for(answer, Span::from_millis(millis)), "{ppm}");
        }
    }

    #[test]
    fn a_far_quantile_is_finer_than_a_millionth() {
        // Of 2^21 legs 2 are long: more than one in 4 million, no more than one in a million.
        let mut legs = histogram([1_000_000, 9_000_000, 9_000_000]);
        legs.counts[9][29] += (1 << 21) - 3;
        legs.total += (1 << 21) - 3;
        assert_eq!(place(Span::from_millis(1)), (9, 29));
        let legs = Legs([Some(&legs), None]);
        for (parts, millis) in [(1, 1), (2, 9), (4, 9)] {
            let answer = legs.exceeded_by(Share { ppm: 1, parts }).unwrap();
            assert!(stands_for(answer, Span::from_millis(millis)), "{parts}");
        }
    }

    #[test]
    fn a_full_histogram_stands_still() {
        let mut full = histogram([5_000]);
        full.counts[2][7] = u32::MAX - 1;
        full.total = u32::MAX - 1;
        full.add(Span::from_micros(5));
        assert_eq!((full.counts[2][7], full.total), (u32::MAX, u32::MAX));
        let before = full.clone();
        full.add(Span::from_micros(5));
        full.add(Span::MAX);
        assert_eq!(full, before);
        let twice = Legs([Some(&full), Some(&before)]);
        assert_eq!(twice.samples(), 2 * u64::from(u32::MAX));
        assert_eq!(twice.exceeded_by(Share::above(999_999)), Some(upper_edge(2, 7)));
    }

    #[test]
    fn a_leg_is_forgotten_after_two_periods_however_often_one_looks() {
        for steps in [1, 3, 100] {
            let mut window = Window::<30>::EMPTY;
            window.advance(secs(35));
            window.current.add(Span::from_millis(1));
            let mut kept = Vec::new();
            for step in 1..=steps {
                let now = Instant::from_millis(35_000 + 60_000 * step / steps);
                // What is there at an instant does not depend on having moved on to it.
                let seen = window.legs(now).samples();
                window.advance(now);
                assert_eq!(window.samples(), seen);
                kept.push((now, seen));
            }
            for (now, seen) in kept {
                assert_eq!(seen, u64::from(now < secs(90)), "{now:?}");
            }
            assert_eq!(window.began, secs(90));
        }
    }
}
