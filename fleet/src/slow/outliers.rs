//! Which of several peers stand out: rules on the median of their means and the median absolute deviation from it.

use alloc::vec::Vec;
use core::fmt;

/// What was measured of one peer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured<K> {
    /// Who.
    pub who: K,
    /// Which peers it may be compared with: those of the same rack, medium, generation. A number of the caller's choice.
    pub population: u32,
    /// The mean, in any unit; in milliseconds where [`Times`](crate::Times) made it.
    pub mean: f64,
    /// How many samples it is of.
    pub samples: u64,
}

/// When a peer stands out: above `max(low, times_median x median, median + deviations x scale x MAD)`.
///
/// The median and the MAD, which is the median of the absolute deviations from it, are taken over the peers of one population that
/// have samples enough. With an even number of them each median lies halfway between the middle two.
///
/// What follows for the odd cases:
/// - All equal, or all zero: nobody stands out, for nobody is *above* the limit.
/// - Two peers: the deviation of both is the MAD, so from one deviation on nobody stands out. They are in any case fewer than
///   `least_peers` of every rule here.
/// - Half of the peers slow, or more: the median is one of the slow, or half way there, and nobody stands out. Slightly
///   fewer than half: all of them do. No rule on the median accuses more than half.
/// - A mean that is not a number, or is negative, says nothing: as if there were no samples. An infinite mean stands out among finite
///   ones; where the median itself is infinite, nobody does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// Below this nobody is slow, in the unit of the means; 0 or more.
    pub low: f64,
    /// So many times the median at least; 0 or more.
    pub times_median: f64,
    /// So many deviations above the median; 0 or more.
    pub deviations: f64,
    /// What a MAD is multiplied with to be a deviation; 0 or more.
    pub scale: f64,
    /// With fewer peers of one population that have samples enough, nobody is judged.
    pub least_peers: u32,
    /// With fewer samples a peer is not judged, nor are others by it.
    pub least_samples: u64,
}

impl Rule {
    /// 1 / 0.6745: a MAD times this is the standard deviation where the means are normally distributed.
    const NORMAL: f64 = 1.4826;

    /// The published rule as it reads: more than three MAD above the median; of ten peers at least, with ten samples each.
    /// Three raw MAD are two standard deviations, and 2 % of normally distributed peers lie above those.
    pub const RAW_MAD: Self =
        Self { low: 0.0, times_median: 0.0, deviations: 3.0, scale: 1.0, least_peers: 10, least_samples: 10 };

    /// The published rule as Hadoop computes it: three MAD, scaled to standard deviations, above the median.
    pub const SCALED_MAD: Self = Self { scale: Self::NORMAL, ..Self::RAW_MAD };

    /// HDFS's rule for slow peers (its `OutlierDetector`): above 5 ms, three times the median, and three scaled MAD above the median.
    pub const HDFS: Self = Self { low: 5.0, times_median: 3.0, ..Self::SCALED_MAD };

    /// HDFS's rule for slow disks: the same above 20 ms, among five volumes at least.
    pub const HDFS_DISKS: Self = Self { low: 20.0, least_peers: 5, ..Self::HDFS };

    /// Whether the numbers make a rule.
    ///
    /// # Errors
    /// The first number that is not finite or is negative.
    pub fn check(&self) -> Result<(), RuleError> {
        for (field, value) in [
            ("low", self.low),
            ("times_median", self.times_median),
            ("deviations", self.deviations),
            ("scale", self.scale),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(RuleError { field, value });
            }
        }
        Ok(())
    }

    fn limit(&self, median: f64, mad: f64) -> f64 {
        let low = self.low.max(self.times_median * median);
        // Of huge numbers the product may be infinite, and times 0 no number.
        let beyond = if mad > 0.0 { self.deviations * self.scale * mad } else { 0.0 };
        low.max(median + beyond)
    }
}

/// A number of a [`Rule`] is not finite or is negative.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RuleError {
    /// The field of the rule.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of a rule must be finite and not negative: it is {:?}", self.field, self.value)
    }
}

impl core::error::Error for RuleError {}

/// Who was judged, and who stood out.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement<K> {
    /// Those who were compared with enough others, in the order given.
    pub judged: Vec<K>,
    /// Those of them who stand out, in the order given.
    pub outliers: Vec<Outlier<K>>,
}

/// A peer that stands out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlier<K> {
    /// Who.
    pub who: K,
    /// Its mean.
    pub mean: f64,
    /// The median of its population.
    pub median: f64,
    /// The limit that it is above.
    pub limit: f64,
}

impl<K> Outlier<K> {
    /// How many times the median its mean is; infinite if the median is 0 or the mean infinite.
    #[must_use]
    pub fn factor(&self) -> f64 {
        if self.median > 0.0 { self.mean / self.median } else { f64::INFINITY }
    }
}

/// Judges each peer among those of its population. A peer that is named twice counts twice.
///
/// A rule that is not [good](Rule::check) gives answers that mean nothing.
///
/// ```
/// use hedgerow_fleet::{Measured, Rule, judge};
///
/// let measured: Vec<_> =
///     (0..12).map(|who| Measured { who, population: 0, mean: if who == 4 { 9.0 } else { 2.0 }, samples: 50 }).collect();
/// let judgement = judge(&Rule::HDFS, &measured);
/// assert_eq!(judgement.judged.len(), 12);
/// assert_eq!((judgement.outliers[0].who, judgement.outliers[0].factor()), (4, 4.5));
/// ```
#[must_use]
pub fn judge<K: Copy>(rule: &Rule, measured: &[Measured<K>]) -> Judgement<K> {
    let mut by_population: Vec<(u32, f64)> =
        measured.iter().filter(|one| one.counts(rule)).map(|one| (one.population, one.mean)).collect();
    by_population.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut populations = Vec::new();
    let mut deviations = Vec::new();
    for alike in by_population.chunk_by(|a, b| a.0 == b.0) {
        let (Some(first), Some(median)) = (alike.first(), middle(alike, |one| one.1)) else { continue };
        if alike.len() < rule.least_peers as usize {
            continue;
        }
        let limit = if median.is_finite() {
            deviations.clear();
            deviations.extend(alike.iter().map(|one| (one.1 - median).abs()));
            deviations.sort_unstable_by(f64::total_cmp);
            // More than half of the means are finite, so this is, too.
            rule.limit(median, middle(&deviations, |deviation| *deviation).unwrap_or(0.0))
        } else {
            f64::INFINITY
        };
        populations.push((first.0, median, limit));
    }
    let mut judgement = Judgement { judged: Vec::with_capacity(by_population.len()), outliers: Vec::new() };
    for one in measured.iter().filter(|one| one.counts(rule)) {
        let found = populations.binary_search_by_key(&one.population, |population| population.0);
        let Some(&(_, median, limit)) = found.ok().and_then(|place| populations.get(place)) else { continue };
        judgement.judged.push(one.who);
        if one.mean > limit {
            judgement.outliers.push(Outlier { who: one.who, mean: one.mean, median, limit });
        }
    }
    judgement
}

impl<K> Measured<K> {
    /// The same of somebody else.
    pub(crate) fn with<L>(&self, who: L) -> Measured<L> {
        Measured { who, population: self.population, mean: self.mean, samples: self.samples }
    }

    fn counts(&self, rule: &Rule) -> bool {
        self.mean >= 0.0 && self.samples >= rule.least_samples
    }
}

/// The median of a sorted slice, of numbers that are not negative.
pub(super) fn middle<T>(sorted: &[T], value: impl Fn(&T) -> f64) -> Option<f64> {
    let upper = value(sorted.get(sorted.len() / 2)?);
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = value(sorted.get(sorted.len() / 2 - 1)?);
    // Exact where both are equal, and nothing overflows.
    Some(if lower == upper { lower } else { lower + (upper - lower) * 0.5 })
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const RULES: [Rule; 3] = [Rule::RAW_MAD, Rule::SCALED_MAD, Rule::HDFS];

    fn of(means: &[f64]) -> Vec<Measured<usize>> {
        let one = |(who, &mean)| Measured { who, population: 0, mean, samples: 100 };
        means.iter().enumerate().map(one).collect()
    }

    fn outliers(rule: &Rule, means: &[f64]) -> Vec<usize> {
        judge(rule, &of(means)).outliers.iter().map(|outlier| outlier.who).collect()
    }

    #[test]
    fn each_rule_has_its_limit() {
        // Median 10, deviations 0 1 1 2 2 3 3 4 4 5 90: MAD 3.
        let means = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 100.0];
        for (rule, limit) in [
            (Rule::RAW_MAD, 19.0),
            (Rule::SCALED_MAD, 10.0 + 3.0 * 1.4826 * 3.0),
            (Rule::HDFS, 30.0),
            (Rule { low: 64.0, ..Rule::HDFS }, 64.0),
        ] {
            let judgement = judge(&rule, &of(&means));
            let [outlier] = judgement.outliers[..] else { panic!("{judgement:?}") };
            assert_eq!((outlier.who, outlier.mean, outlier.median), (10, 100.0, 10.0));
            assert!((outlier.limit - limit).abs() < 1e-12, "{}", outlier.limit);
            assert_eq!(outlier.factor(), 10.0);
            assert_eq!(judgement.judged.len(), 11);
        }
    }

    #[test]
    fn a_mean_at_the_limit_does_not_stand_out() {
        let mut means = [2.0; 11];
        means[3] = 6.0;
        assert_eq!(outliers(&Rule::HDFS, &means), []);
        means[3] = 6.000_001;
        assert_eq!(outliers(&Rule::HDFS, &means), [3]);
        // The rules without a floor have no patience with a MAD of 0.
        means[3] = 2.000_001;
        assert_eq!(outliers(&Rule::RAW_MAD, &means), [3]);
        assert_eq!(outliers(&Rule::HDFS, &means), []);
    }

    #[test]
    fn nobody_stands_out_among_equals() {
        for value in [0.0, -0.0, 5e-324, 0.1, 7.0, f64::MAX, f64::INFINITY] {
            for count in [10, 11, 40] {
                for rule in RULES {
                    assert_eq!(outliers(&rule, &vec![value; count]), [], "{value} {count}");
                }
            }
        }
        let mut zeros = [0.0; 20];
        zeros[..10].fill(-0.0);
        assert_eq!(outliers(&Rule::RAW_MAD, &zeros), []);
    }

    #[test]
    fn two_peers_never_accuse_each_other() {
        for rule in RULES {
            let rule = Rule { least_peers: 2, ..rule };
            for pair in [[1.0, 1e9], [0.0, 50.0], [0.0, f64::INFINITY], [3.0, 3.0]] {
                assert_eq!(outliers(&rule, &pair), [], "{pair:?}");
            }
            assert_eq!(judge(&Rule { least_peers: 10, ..rule }, &of(&[1.0, 1e9])).judged, []);
        }
    }

    #[test]
    fn half_of_the_peers_slow_is_nobody_and_a_little_less_is_all_of_them() {
        for rule in RULES {
            let mut means = [2.0; 20];
            means[..10].fill(20.0);
            assert_eq!(outliers(&rule, &means), []);
            means[..12].fill(20.0);
            assert_eq!(outliers(&rule, &means), []);
            means[9..].fill(2.0);
            assert_eq!(outliers(&rule, &means), (0..9).collect::<Vec<_>>());
        }
    }

    #[test]
    fn means_that_are_no_numbers_say_nothing() {
        let mut means = [2.0; 14];
        (means[0], means[1], means[2]) = (f64::NAN, -1.0, f64::NEG_INFINITY);
        means[13] = 9.0;
        for rule in RULES {
            let judgement = judge(&rule, &of(&means));
            assert_eq!(judgement.judged, (3..14).collect::<Vec<_>>());
            assert_eq!(judgement.outliers.len(), 1);
            // Without them the rest are too few.
            assert_eq!(judge(&Rule { least_peers: 12, ..rule }, &of(&means)).judged, []);
        }
    }

    #[test]
    fn an_infinite_mean_stands_out_among_finite_ones_only() {
        for rule in RULES {
            let mut means = [2.0; 20];
            means[7] = f64::INFINITY;
            let judgement = judge(&rule, &of(&means));
            assert_eq!(judgement.outliers.len(), 1);
            assert_eq!(judgement.outliers[0].factor(), f64::INFINITY);
            means[..9].fill(f64::INFINITY);
            assert_eq!(outliers(&rule, &means).len(), 9);
            means[..10].fill(f64::INFINITY);
            assert_eq!(outliers(&rule, &means), []);
            means[..15].fill(f64::INFINITY);
            assert_eq!(outliers(&rule, &means), []);
        }
    }

    #[test]
    fn the_median_of_huge_means_is_not_infinite() {
        let mut means = [1e308; 20];
        means[7] = f64::INFINITY;
        assert_eq!(judge(&Rule::RAW_MAD, &of(&means)).outliers[0].median, 1e308);
    }

    #[test]
    fn a_rule_of_huge_numbers_has_a_limit_that_is_not_below_the_median() {
        let huge = Rule { deviations: 1e200, scale: 1e200, ..Rule::RAW_MAD };
        assert_eq!(huge.check(), Ok(()));
        let mut means = [2.0; 11];
        means[3] = 2.5;
        let judgement = judge(&huge, &of(&means));
        let limits: Vec<_> = judgement.outliers.iter().map(|outlier| (outlier.who, outlier.limit)).collect();
        assert_eq!(limits, [(3, 2.0)], "the MAD is 0");
        assert_eq!(outliers(&huge, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 99.0]), []);
    }

    #[test]
    fn a_median_of_zero_makes_the_factor_infinite() {
        let mut means = [0.0; 11];
        means[2] = 8.0;
        assert_eq!(judge(&Rule::HDFS, &of(&means)).outliers[0].factor(), f64::INFINITY);
    }

    #[test]
    fn too_few_peers_or_samples_are_not_judged() {
        let mut measured = of(&[1.0; 10]);
        measured[4].mean = 1e3;
        assert_eq!(judge(&Rule::HDFS, &measured).outliers.len(), 1);
        measured[0].samples = 9;
        assert_eq!(judge(&Rule::HDFS, &measured), Judgement { judged: vec![], outliers: vec![] });
        measured.push(Measured { who: 10, population: 0, mean: 1.0, samples: 10 });
        let judgement = judge(&Rule::HDFS, &measured);
        assert_eq!(judgement.judged, (1..11).collect::<Vec<_>>());
        assert_eq!(judge::<u32>(&Rule::HDFS, &[]), Judgement { judged: vec![], outliers: vec![] });
        let anybody = Rule { least_peers: 0, least_samples: 0, ..Rule::RAW_MAD };
        assert_eq!(judge::<u32>(&anybody, &[]), Judgement { judged: vec![], outliers: vec![] });
    }

    #[test]
    fn populations_are_judged_apart() {
        // Ten archive disks at 50 and ten flash disks at 1, one of which takes 5.
        let mut measured = of(&[50.0, 1.0].repeat(10));
        for one in &mut measured {
            one.population = (one.who % 2) as u32 * 7;
        }
        measured[13].mean = 5.5;
        let apart = judge(&Rule::HDFS, &measured);
        assert_eq!(apart.outliers.iter().map(|outlier| outlier.who).collect::<Vec<_>>(), [13]);
        assert_eq!(apart.judged, (0..20).collect::<Vec<_>>());
        for one in &mut measured {
            one.population = 0;
        }
        assert_eq!(judge(&Rule::HDFS, &measured).outliers, []);
        // A population that is too small is left out, the other is not.
        measured[0].population = 1;
        assert_eq!(judge(&Rule::HDFS, &measured).judged, (1..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_rule_of_impossible_numbers_is_refused_by_name() {
        for rule in RULES {
            assert_eq!(rule.check(), Ok(()));
        }
        let wrong = Rule { deviations: -1.0, ..Rule::HDFS }.check().unwrap_err();
        assert_eq!(
            alloc::format!("{wrong}"),
            "deviations of a rule must be finite and not negative: it is -1.0"
        );
        assert!(Rule { low: f64::NAN, ..Rule::HDFS }.check().is_err());
        assert!(Rule { scale: f64::INFINITY, ..Rule::HDFS }.check().is_err());
    }

    proptest! {
        #[test]
        fn no_input_panics_and_no_rule_accuses_more_than_half(
            measured in prop::collection::vec((0_u32..3, prop::num::f64::ANY, 0_u64..30), 0..60),
            which in 0_usize..3,
            least_peers in 0_u32..12,
        ) {
            let rule = Rule { least_peers, ..RULES[which] };
            let measured: Vec<_> = measured
                .iter()
                .enumerate()
                .map(|(who, &(population, mean, samples))| Measured { who, population, mean, samples })
                .collect();
            let judgement = judge(&rule, &measured);
            let judged: BTreeSet<_> = judgement.judged.iter().copied().collect();
            prop_assert_eq!(judged.len(), judgement.judged.len());
            prop_assert!(judgement.outliers.len() * 2 <= judgement.judged.len());
            for outlier in &judgement.outliers {
                prop_assert!(judged.contains(&outlier.who));
                prop_assert!(outlier.mean > outlier.limit && outlier.limit >= outlier.median);
            }
        }

        #[test]
        fn the_order_of_peers_does_not_matter(
            means in prop::collection::vec(0.0_f64..100.0, 10..40),
            turn in 0_usize..40,
        ) {
            let mut turned = of(&means);
            turned.rotate_left(turn % means.len());
            let mut found: Vec<_> = judge(&Rule::RAW_MAD, &turned).outliers.iter().map(|one| one.who).collect();
            found.sort_unstable();
            prop_assert_eq!(found, outliers(&Rule::RAW_MAD, &means));
        }
    }
}
