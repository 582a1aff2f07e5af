//! The adaptive threshold of one size class: what its legs took in the last minute and in the last two hours.

mod histogram;

use self::histogram::{Share, Window};
use crate::{Adaptive, Factor, Instant, Span};

/// What an adaptive threshold is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Estimate {
    /// Legs in the fast window: those of the current 30 seconds and of the 30 before them.
    pub samples: u64,
    /// Their quantile, or that of the last two hours' legs while they are too few; `None` if there are none of these either.
    pub quantile: Option<Span>,
    /// The factor, in thousandths.
    pub factor_milli: u32,
}

/// The adaptive threshold of one size class.
///
/// The scale follows at once: a quantile of the current 30 seconds and the 30 before. The shape, with
/// [`Factor::Spend`], follows slowly: the ratio of two quantiles of the current hour and the hour before. Twenty minutes
/// have 12 to 24 of the legs of 75 a second that the default's far quantile is made of, an hour has 35 to 71; what hedges
/// cost, and how late the latest are, is paid for that uncertainty.
///
/// It must not eat its own output: feed it no leg of a node that is impaired or demoted (one dead node of nine
/// drives the threshold to its ceiling), and feed it the legs cut short by a hedge, with the time that they
/// were out (left out, they make the others look faster than they are).
///
/// The quantiles are not looked up for every read: see [`Self::thresholds`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Estimator {
    fast: Window<30>,
    slow: Window<3600>,
    last: LookUp,
}

/// The quantiles as they were last looked up, and what for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct LookUp {
    at: Instant,
    /// Zero if there was none.
    quantile: Span,
    /// Far quantile over bare quantile in the slow window, in thousandths, if it is known.
    ratio_milli: Option<u32>,
    quantile_ppm: u32,
    target_ppm: u32,
    cells: u8,
    /// Legs recorded since.
    legs_since: u16,
}

impl Estimator {
    /// The quantiles are looked up again after so many legs, ...
    const LOOK_UP_LEGS: u64 = 256;
    /// ... after an eighth of the legs in the fast window, if those are fewer, ...
    const LOOK_UP_SHARE: u64 = 8;
    /// ... and after this time.
    const LOOK_UP_AFTER: Span = Span::from_secs(1);

    /// Nothing known yet.
    pub(crate) const NEW: Self = Self {
        fast: Window::EMPTY,
        slow: Window::EMPTY,
        last: LookUp {
            at: Instant::ZERO,
            quantile: Span::ZERO,
            ratio_milli: None,
            quantile_ppm: 0,
            target_ppm: 0,
            cells: 0,
            legs_since: 0,
        },
    };

    /// A leg took so long, or was cut after so long.
    #[inline]
    pub(crate) fn record(&mut self, now: Instant, took: Span) {
        self.advance(now);
        self.fast.add(took);
        self.slow.add(took);
        self.last.legs_since = self.last.legs_since.saturating_add(1);
    }

    /// When a leg that starts now is late: quantile times factor, or `until_known` while fewer than
    /// `10 / (1 - quantile)` legs are in either window (the fast one counts if it has them, else the slow one); never below the floor or above the ceiling (if the
    /// two contradict each other, the ceiling holds).
    ///
    /// With [`Factor::Spend`] the factor is `until_known_milli`, without bounds, while fewer than
    /// `10 * cells / target` legs are in the slow window.
    ///
    /// The quantiles lag by at most 256 legs, an eighth of the legs in the fast window, and a second, whichever
    /// comes first. They are looked up at once where a period or other parameters begin.
    ///
    /// The second is the same without the factor: for legs that are late at the bare quantile.
    #[inline]
    pub(crate) fn thresholds(&mut self, now: Instant, adaptive: &Adaptive) -> (Span, Span) {
        self.advance(now);
        let share = Share::above(adaptive.quantile_ppm);
        let known = share.is_known_from(self.fast.samples()) || share.is_known_from(self.slow.samples());
        let (full, bare) = if known {
            if self.is_stale(now, adaptive) {
                self.look_up(now, adaptive);
            }
            let factor = factor_milli(&adaptive.factor, self.last.ratio_milli);
            let full = self.last.quantile.as_nanos().saturating_mul(u64::from(factor)) / 1_000;
            (Span::from_nanos(full), self.last.quantile)
        } else {
            (adaptive.until_known, adaptive.until_known)
        };
        let bounded = |threshold: Span| threshold.max(adaptive.floor).min(adaptive.ceiling);
        (bounded(full), bounded(bare))
    }

    /// What is known at `now`, looked up without any lag.
    pub(crate) fn estimate(&self, now: Instant, adaptive: &Adaptive) -> Estimate {
        Estimate {
            samples: self.fast.legs(now).samples(),
            quantile: self.quantile(now, Share::above(adaptive.quantile_ppm)),
            factor_milli: factor_milli(&adaptive.factor, self.ratio_milli(now, adaptive)),
        }
    }

    #[inline]
    fn advance(&mut self, now: Instant) {
        // Not `||`: both must advance.
        if self.fast.advance(now) | self.slow.advance(now) {
            self.last.legs_since = u16::MAX;
        }
    }

    #[inline]
    fn is_stale(&self, now: Instant, adaptive: &Adaptive) -> bool {
        let last = &self.last;
        let (target_ppm, cells) = target(&adaptive.factor);
        let legs = u64::from(last.legs_since);
        legs >= Self::LOOK_UP_LEGS
            || legs > self.fast.samples() / Self::LOOK_UP_SHARE
            || (legs > 0 && now.since(last.at) >= Self::LOOK_UP_AFTER)
            || last.quantile_ppm != adaptive.quantile_ppm
            || last.target_ppm != target_ppm
            || last.cells != cells
    }

    #[cold]
    fn look_up(&mut self, now: Instant, adaptive: &Adaptive) {
        let (target_ppm, cells) = target(&adaptive.factor);
        let quantile = self.quantile(now, Share::above(adaptive.quantile_ppm));
        self.last = LookUp {
            at: now,
            quantile: quantile.unwrap_or(Span::ZERO),
            ratio_milli: self.ratio_milli(now, adaptive),
            quantile_ppm: adaptive.quantile_ppm,
            target_ppm,
            cells,
            legs_since: 0,
        };
    }

    /// The quantile of the fast window, or of the slow one while the fast one holds too few legs.
    ///
    /// A far quantile of a minute is uncertain: p99 of 2,250 legs by 6 %, and with it what hedges cost and how late they are. So it is
    /// taken from a nearer one, with five times as many legs beyond it, times what lies between the two in the slow window; unless
    /// what was seen in the minute itself is another by more than a quarter, which chance does not explain.
    fn quantile(&self, now: Instant, share: Share) -> Option<Span> {
        let (fast, slow) = (self.fast.legs(now), self.slow.legs(now));
        if !share.is_known_from(fast.samples()) {
            return slow.exceeded_by(share);
        }
        let seen = fast.exceeded_by(share)?;
        let near = Share { ppm: share.ppm.saturating_mul(5), ..share };
        if near.ppm < 500_000
            && slow.samples() >= 4 * fast.samples()
            && let (Some(scale), Some(far), Some(between)) =
                (fast.exceeded_by(near), slow.exceeded_by(share), slow.exceeded_by(near))
        {
            // Edges of buckets: no zero, and below 2^38.
            let steady = u128::from(scale.as_nanos()) * u128::from(far.as_nanos())
                / u128::from(between.as_nanos().max(1));
            let (steady, direct) = (u64::try_from(steady).unwrap_or(u64::MAX), seen.as_nanos());
            if steady.abs_diff(direct) <= direct / 4 {
                return Some(Span::from_nanos(steady));
            }
        }
        Some(seen)
    }

    /// The far quantile over the bare one in the slow window, if ten legs lie beyond the far one.
    fn ratio_milli(&self, now: Instant, adaptive: &Adaptive) -> Option<u32> {
        let (ppm, parts) = target(&adaptive.factor);
        let beyond = Share { ppm, parts };
        let slow = self.slow.legs(now);
        if !beyond.is_known_from(slow.samples()) {
            return None;
        }
        let far = slow.exceeded_by(beyond)?.as_nanos();
        let bare = slow.exceeded_by(Share::above(adaptive.quantile_ppm))?.as_nanos();
        // Both are edges of buckets: no zero, and below 2^38.
        Some(u32::try_from(far * 1_000 / bare).unwrap_or(u32::MAX))
    }
}

/// The target of [`Factor::Spend`] and its cells; zeros, which are never known, for a fixed factor.
#[inline]
fn target(factor: &Factor) -> (u32, u8) {
    match *factor {
        Factor::Fixed { .. } => (0, 0),
        Factor::Spend { target_ppm, cells, .. } => (target_ppm, cells),
    }
}

#[inline]
fn factor_milli(factor: &Factor, ratio_milli: Option<u32>) -> u32 {
    match *factor {
        Factor::Fixed { milli } => milli,
        Factor::Spend { least_milli, most_milli, until_known_milli, .. } => {
            ratio_milli.map_or(until_known_milli, |ratio| ratio.max(least_milli).min(most_milli))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::histogram::testing::{secs, stands_for};
    use super::*;

    /// Which threshold is asked for.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    enum LegKind {
        /// A leg to a healthy node that is no hedge.
        Original,
        /// A leg of a hedge.
        HedgeLeg,
        /// A leg to a node suspected of being slow.
        Suspect,
    }

    impl Estimator {
        fn threshold(&mut self, now: Instant, adaptive: &Adaptive, kind: LegKind) -> Span {
            let (full, bare) = self.thresholds(now, adaptive);
            let at_quantile = match kind {
                LegKind::Original => false,
                LegKind::HedgeLeg => adaptive.hedge_legs_at_quantile,
                LegKind::Suspect => adaptive.suspects_at_quantile,
            };
            if at_quantile { bare } else { full }
        }
    }

    const P99: Adaptive = Adaptive {
        quantile_ppm: 990_000,
        factor: Factor::Fixed { milli: 3_000 },
        floor: Span::from_millis(1),
        ceiling: Span::from_secs(2),
        until_known: Span::from_millis(250),
        hedge_legs_at_quantile: true,
        suspects_at_quantile: true,
    };
    const SPEND: Adaptive = Adaptive {
        factor: Factor::Spend {
            target_ppm: 7_000,
            cells: 7,
            least_milli: 1_500,
            most_milli: 6_000,
            until_known_milli: 3_000,
        },
        ..P99
    };

    /// Numbers that look random: xorshift with a multiplication (Vigna, "An experimental exploration of
    /// Marsaglia's xorshift generators, scrambled").
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
        }

        fn below(&mut self, bound: u64) -> u64 {
            ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
        }

        /// Above 0, at most 1.
        fn unit(&mut self) -> f64 {
            ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
        }

        /// Lognormal with a median of 1.5 ms and a p99 of 10 ms.
        fn healthy(&mut self) -> Span {
            let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
            let sigma = (10.0f64 / 1.5).ln() / 2.326_347_9;
            Span::from_nanos((1.5e6 * (sigma * normal).exp()) as u64)
        }
    }

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        let mut estimator = Estimator::NEW;
        estimator.record(secs(100), Span::from_millis(1));
        for back in [secs(99), secs(29), Instant::ZERO] {
            estimator.record(back, Span::from_millis(1));
            estimator.threshold(back, &P99, LegKind::Original);
        }
        assert_eq!(estimator.estimate(Instant::ZERO, &P99).samples, 4);
        assert_eq!(estimator.estimate(secs(149), &P99).samples, 4);
        assert_eq!(estimator.estimate(secs(150), &P99).samples, 0);
    }

    #[test]
    fn every_instant_and_every_span_is_taken() {
        let odd = Adaptive { quantile_ppm: u32::MAX, floor: Span::MAX, ceiling: Span::ZERO, ..SPEND };
        let none = Adaptive {
            quantile_ppm: 0,
            factor: Factor::Spend {
                target_ppm: u32::MAX,
                cells: 0,
                least_milli: u32::MAX,
                most_milli: 0,
                until_known_milli: u32::MAX,
            },
            ..P99
        };
        let most = Adaptive { factor: Factor::Fixed { milli: u32::MAX }, ceiling: Span::MAX, ..none };
        let mut estimator = Estimator::NEW;
        let edges = [0, 1, 999_999_999, 29_999_999_999, 30_000_000_000, 1 << 63, u64::MAX - 1, u64::MAX];
        for at in edges.into_iter().step_by(if cfg!(miri) { 5 } else { 1 }) {
            for took in edges {
                estimator.record(Instant::from_nanos(at), Span::from_nanos(took));
                for kind in [LegKind::Original, LegKind::HedgeLeg, LegKind::Suspect] {
                    let now = Instant::from_nanos(at.wrapping_add(took));
                    assert_eq!(estimator.clone().threshold(now, &odd, kind), Span::ZERO);
                    for adaptive in [&P99, &SPEND, &none, &most] {
                        let threshold = estimator.clone().threshold(now, adaptive, kind);
                        assert!(threshold >= P99.floor && threshold <= adaptive.ceiling);
                        estimator.estimate(now, adaptive);
                    }
                }
            }
        }
    }

    #[test]
    fn until_enough_is_known_the_threshold_is_the_one_given() {
        let mut estimator = Estimator::NEW;
        for sample in 0..1_000 {
            for kind in [LegKind::Original, LegKind::HedgeLeg, LegKind::Suspect] {
                assert_eq!(estimator.threshold(secs(1), &P99, kind), P99.until_known, "{sample}");
            }
            estimator.record(secs(1), Span::from_millis(10));
        }
        assert!(stands_for(estimator.threshold(secs(1), &P99, LegKind::HedgeLeg), Span::from_millis(10)));
        // Two hours later it is forgotten, also if nothing was recorded in between.
        assert_eq!(estimator.threshold(secs(7_201), &P99, LegKind::HedgeLeg), P99.until_known);
        // p50 needs 20 samples, p99.99 needs 100,000, p100 can't be known.
        for (ppm, needed) in [(0, 10), (500_000, 20), (999_900, 100_000), (999_999, 10_000_000)] {
            let share = Share::above(ppm);
            assert!(share.is_known_from(needed) && !share.is_known_from(needed - 1), "{ppm}");
        }
        assert!(!Share::above(1_000_000).is_known_from(1 << 33));
    }

    #[test]
    fn a_client_that_reads_rarely_goes_by_the_last_two_hours() {
        let mut estimator = Estimator::NEW;
        // One leg a second: never a thousand in a minute.
        for second in 0..1_000 {
            assert_eq!(
                estimator.threshold(secs(second), &P99, LegKind::HedgeLeg),
                P99.until_known,
                "{second}"
            );
            estimator.record(secs(second), Span::from_millis(10));
        }
        let now = secs(1_001);
        assert!(stands_for(estimator.threshold(now, &P99, LegKind::HedgeLeg), Span::from_millis(10)));
        assert!(estimator.estimate(now, &P99).quantile.is_some());
        // A busy minute is what counts again.
        for _ in 0..2_000 {
            estimator.record(now, Span::from_millis(50));
        }
        assert!(stands_for(estimator.threshold(now, &P99, LegKind::HedgeLeg), Span::from_millis(50)));
    }

    #[test]
    fn what_the_threshold_is_before_enough_is_known_stays_between_floor_and_ceiling() {
        let mut estimator = Estimator::NEW;
        let low = Adaptive { until_known: Span::ZERO, ..P99 };
        let high = Adaptive { until_known: Span::MAX, ..P99 };
        assert_eq!(estimator.threshold(secs(1), &low, LegKind::Original), P99.floor);
        assert_eq!(estimator.threshold(secs(1), &high, LegKind::Original), P99.ceiling);
    }

    #[test]
    fn few_and_tiny_samples_stop_at_the_floor() {
        let adaptive = Adaptive { floor: Span::from_millis(5), ..P99 };
        let mut estimator = Estimator::NEW;
        for sample in 0..2_000 {
            estimator.record(secs(1), Span::from_micros(20));
            let expected = if sample < 999 { P99.until_known } else { Span::from_millis(5) };
            for kind in [LegKind::Original, LegKind::HedgeLeg, LegKind::Suspect] {
                assert_eq!(estimator.threshold(secs(1), &adaptive, kind), expected);
            }
        }
    }

    #[test]
    fn hedge_legs_and_suspects_are_late_at_the_bare_quantile_if_so_configured() {
        let mut estimator = Estimator::NEW;
        for _ in 0..1_000 {
            estimator.record(secs(1), Span::from_millis(10));
        }
        let bare = estimator.threshold(secs(1), &P99, LegKind::HedgeLeg);
        let whole = estimator.threshold(secs(1), &P99, LegKind::Original);
        assert!(stands_for(bare, Span::from_millis(10)));
        assert_eq!(whole.as_nanos(), 3 * bare.as_nanos());
        for (hedge_legs, suspects) in [(false, true), (true, false), (false, false)] {
            let adaptive =
                Adaptive { hedge_legs_at_quantile: hedge_legs, suspects_at_quantile: suspects, ..P99 };
            let expected = |at_quantile| if at_quantile { bare } else { whole };
            assert_eq!(estimator.threshold(secs(1), &adaptive, LegKind::HedgeLeg), expected(hedge_legs));
            assert_eq!(estimator.threshold(secs(1), &adaptive, LegKind::Suspect), expected(suspects));
            assert_eq!(estimator.threshold(secs(1), &adaptive, LegKind::Original), whole);
        }
    }

    /// 10,000 legs of which 1 in 50 takes 10 ms and 1 in 500 takes `far`.
    fn with_far(far: Span) -> Estimator {
        let mut estimator = Estimator::NEW;
        for leg in 0..10_000 {
            let took = match leg {
                _ if leg % 500 == 0 => far,
                _ if leg % 50 == 1 => Span::from_millis(10),
                _ => Span::from_millis(1),
            };
            estimator.record(secs(1), took);
        }
        estimator
    }

    #[test]
    fn a_factor_that_spends_the_target_is_the_far_quantile_over_the_bare_one() {
        // 0.7 % over 7 cells is one leg in 1,000: the far quantile is among the 20 slowest.
        let quantile = with_far(Span::from_millis(40)).threshold(secs(1), &SPEND, LegKind::Suspect);
        assert!(stands_for(quantile, Span::from_millis(10)));
        let cases = [(40, 4_000), (11, 1_500), (500, 6_000)];
        for (far, factor) in cases.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
            let mut estimator = with_far(Span::from_millis(far));
            let known = estimator.estimate(secs(1), &SPEND);
            assert_eq!((known.samples, known.quantile), (10_000, Some(quantile)));
            assert!(known.factor_milli.abs_diff(factor) * 32 <= factor, "{known:?}");
            let threshold = estimator.threshold(secs(1), &SPEND, LegKind::Original);
            assert_eq!(threshold.as_nanos(), quantile.as_nanos() * u64::from(known.factor_milli) / 1_000);
            assert_eq!(estimator.threshold(secs(1), &SPEND, LegKind::Suspect), quantile);
        }
    }

    #[test]
    fn other_parameters_act_at_once() {
        let mut estimator = with_far(Span::from_millis(40));
        let quantile = estimator.threshold(secs(1), &SPEND, LegKind::Suspect);
        let threshold = estimator.threshold(secs(1), &SPEND, LegKind::Original);
        // One leg in 50, and one in 143: both far quantiles are 10 ms then.
        for (target_ppm, cells) in [(140_000, 7), (7_000, 1)] {
            let factor = Factor::Spend {
                target_ppm,
                cells,
                least_milli: 1_000,
                most_milli: 6_000,
                until_known_milli: 3_000,
            };
            let other = Adaptive { factor, ..SPEND };
            let expected =
                quantile.as_nanos() * u64::from(estimator.estimate(secs(1), &other).factor_milli) / 1_000;
            assert!(expected < threshold.as_nanos());
            assert_eq!(estimator.threshold(secs(1), &other, LegKind::Original).as_nanos(), expected);
            assert_eq!(estimator.threshold(secs(1), &SPEND, LegKind::Original), threshold);
        }
        let median = Adaptive { quantile_ppm: 500_000, ..SPEND };
        assert!(stands_for(estimator.threshold(secs(1), &median, LegKind::Suspect), Span::from_millis(1)));
        assert_eq!(estimator.threshold(secs(1), &SPEND, LegKind::Original), threshold);
    }

    #[test]
    fn the_factor_is_the_one_given_until_the_shape_is_known() {
        let mut estimator = Estimator::NEW;
        for leg in 0..10_000 {
            if leg % 1_000 == 0 || leg == 9_999 {
                assert_eq!(estimator.estimate(secs(1), &SPEND).factor_milli, 3_000, "{leg}");
            }
            estimator.record(secs(1), Span::from_millis(10));
        }
        assert_eq!(estimator.estimate(secs(1), &SPEND).factor_milli, 1_500);
        // The scale is forgotten after a minute, the shape after two hours.
        for (at, samples, factor) in [(61, 0, 1_500), (7_199, 0, 1_500), (7_200, 0, 3_000)] {
            let known = estimator.estimate(secs(at), &SPEND);
            assert_eq!((known.samples, known.factor_milli), (samples, factor), "{at}");
        }
        let never = Factor::Spend {
            target_ppm: 0,
            cells: 7,
            least_milli: 1_500,
            most_milli: 6_000,
            until_known_milli: 2_000,
        };
        assert_eq!(estimator.estimate(secs(1), &Adaptive { factor: never, ..P99 }).factor_milli, 2_000);
    }

    #[test]
    fn a_threshold_lags_by_at_most_256_legs_or_a_second() {
        let mut estimator = Estimator::NEW;
        for _ in 0..2_000 {
            estimator.record(secs(1), Span::from_millis(10));
        }
        let before = estimator.threshold(secs(1), &P99, LegKind::Suspect);
        for leg in 1..=256 {
            estimator.record(secs(1), Span::from_millis(40));
            let threshold = estimator.threshold(secs(1), &P99, LegKind::Suspect);
            assert!(threshold == before || stands_for(threshold, Span::from_millis(40)));
            assert!(leg < 256 || threshold > before, "{leg}");
        }
        let mut estimator = Estimator::NEW;
        for _ in 0..2_000 {
            estimator.record(secs(1), Span::from_millis(10));
        }
        assert_eq!(estimator.threshold(secs(1), &P99, LegKind::Suspect), before);
        for _ in 0..100 {
            estimator.record(secs(1), Span::from_millis(40));
        }
        assert_eq!(estimator.threshold(secs(1), &P99, LegKind::Suspect), before);
        assert!(stands_for(estimator.threshold(secs(2), &P99, LegKind::Suspect), Span::from_millis(40)));
    }

    #[test]
    fn what_is_forgotten_acts_at_once() {
        let mut estimator = Estimator::NEW;
        for (at, millis) in [(29, 40), (30, 10)] {
            for _ in 0..1_000 {
                estimator.record(secs(at), Span::from_millis(millis));
            }
        }
        assert!(stands_for(estimator.threshold(secs(59), &P99, LegKind::Suspect), Span::from_millis(40)));
        // No leg was recorded since.
        assert!(stands_for(estimator.threshold(secs(60), &P99, LegKind::Suspect), Span::from_millis(10)));
        // Both windows move on with the same leg.
        estimator.record(secs(7_200), Span::from_millis(10));
        for samples in [estimator.fast.samples(), estimator.slow.legs(secs(7_200)).samples()] {
            assert_eq!(samples, 1);
        }
    }

    #[test]
    fn an_estimator_fits_in_13_900_bytes() {
        assert!(size_of::<Estimator>() <= 13_900, "{}", size_of::<Estimator>());
    }

    /// Which legs of a dead node enter the estimator.
    #[derive(Clone, Copy, PartialEq)]
    enum DeadLegs {
        /// All, with the time after which they were cut.
        Enter,
        /// None after the third late one.
        LeftOut,
    }

    /// One client reads 75 cells a second from nine nodes at p99 x 3, and one of them is dead from 5 minutes
    /// on. Six sources rebuild what is late. The thresholds, every five seconds.
    fn one_of_nine_dies(seed: u64, reads: u64, dead_legs: DeadLegs) -> Vec<Span> {
        let dead_from = secs(300);
        let first = dead_from.as_nanos() * 75 / 1_000_000_000;
        let mut random = Random(seed);
        let mut estimator = Estimator::NEW;
        let mut dead_late = 0;
        let mut thresholds = Vec::new();
        for read in 0..first + reads {
            let now = Instant::from_nanos(read * 1_000_000_000 / 75);
            let dead = now >= dead_from && random.below(9) == 0;
            let threshold = estimator.threshold(now, &P99, LegKind::Original);
            if now > dead_from && read % 375 == 0 {
                thresholds.push(threshold);
            }
            let original = if dead { Span::MAX } else { random.healthy() };
            if original <= threshold {
                estimator.record(now, original);
                continue;
            }
            let sources: [Span; 6] = core::array::from_fn(|_| random.healthy());
            let slowest = sources.into_iter().max().unwrap_or_default();
            let end = original.min(threshold.saturating_add(slowest));
            for source in sources {
                estimator.record(now, source.min(end.saturating_sub(threshold)));
            }
            dead_late += u32::from(dead);
            if dead_legs == DeadLegs::Enter || !dead || dead_late <= 3 {
                estimator.record(now, end);
            }
        }
        thresholds
    }

    fn mean_millis(thresholds: &[Span]) -> f64 {
        thresholds.iter().map(|span| span.as_nanos() as f64 / 1e6).sum::<f64>() / thresholds.len() as f64
    }

    #[test]
    #[cfg_attr(miri, ignore = "100,000 reads; other tests run the same code")]
    fn one_dead_node_of_nine_does_not_move_the_threshold_if_its_legs_are_left_out() {
        for seed in [1, 2, 3] {
            let thresholds = one_of_nine_dies(seed, 100_000, DeadLegs::LeftOut);
            let mean = mean_millis(&thresholds);
            assert!((29.0..=31.0).contains(&mean), "mean {mean}");
            for threshold in thresholds {
                assert!((25..=36).contains(&threshold.as_millis()), "{threshold:?}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "100,000 reads; other tests run the same code")]
    fn the_same_legs_drive_the_threshold_to_its_ceiling_if_they_enter() {
        for seed in [1, 2, 3] {
            let thresholds = one_of_nine_dies(seed, 100_000, DeadLegs::Enter);
            assert_eq!(thresholds.last(), Some(&P99.ceiling));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "100,000 reads; other tests run the same code")]
    fn a_threshold_follows_within_two_windows_when_every_leg_takes_three_times_as_long() {
        let mut random = Random(5);
        let mut estimator = Estimator::NEW;
        let mut means = [0.0; 2];
        for (times, mean) in [1, 3].into_iter().zip(&mut means) {
            let mut thresholds = Vec::new();
            let begin = 150 * (times - 1) / 2;
            for read in 0..150 * 500 {
                let now = Instant::from_nanos(begin * 1_000_000_000 + read * 2_000_000);
                estimator.record(now, Span::from_nanos(random.healthy().as_nanos() * times));
                // From two windows after the change on.
                if read >= 60 * 500 && read % 500 == 0 {
                    thresholds.push(estimator.threshold(now, &P99, LegKind::Original));
                }
            }
            *mean = mean_millis(&thresholds);
        }
        // The shape in the slow window is a mixture of both for a while: a tenth too high.
        assert!((29.0..=31.0).contains(&means[0]) && (87.0..=99.0).contains(&means[1]), "{means:?}");
    }
}
