//! Which volumes of a node are slow, compared with its others, for each kind of operation.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use hedge_core::Instant;

use crate::slow::{Outlier, Rule, Times, judge};

/// What a volume was asked for. Each kind is compared with itself alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// Opening, listing, renaming, removing.
    Metadata,
    /// Reading bytes.
    Read,
    /// Writing bytes.
    Write,
    /// Making sure that they are on the medium.
    Sync,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Metadata, Self::Read, Self::Write, Self::Sync];
}

/// A volume that stands out among those of its node.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowVolume<V> {
    /// Which.
    pub volume: V,
    /// In which operations, in their order, and by how much.
    pub operations: Vec<(Operation, Outlier<V>)>,
}

impl<V> SlowVolume<V> {
    /// How many times the median its mean is, for the operation in which it is worst; infinite if the median is 0.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.operations.iter().map(|(_, outlier)| outlier.factor()).fold(0.0, f64::max)
    }
}

/// The slow volumes of a node, the worst first: the rule over the mean times of each kind of operation. `population` says which volumes are
/// alike, by their storage type for example. [`Rule::HDFS_DISKS`] is the usual rule.
#[must_use]
pub fn slow_volumes<V: Ord + Copy>(
    times: &Times<(V, Operation)>,
    now: Instant,
    rule: &Rule,
    mut population: impl FnMut(V) -> u32,
) -> Vec<SlowVolume<V>> {
    let measured = times.measured(now, |(volume, _)| population(volume));
    let mut slow: BTreeMap<V, Vec<(Operation, Outlier<V>)>> = BTreeMap::new();
    for operation in Operation::ALL {
        let of_kind: Vec<_> =
            measured.iter().filter(|one| one.who.1 == operation).map(|one| one.with(one.who.0)).collect();
        for outlier in judge(rule, &of_kind).outliers {
            slow.entry(outlier.who).or_default().push((operation, outlier));
        }
    }
    let mut slow: Vec<_> =
        slow.into_iter().map(|(volume, operations)| SlowVolume { volume, operations }).collect();
    slow.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    slow
}

#[cfg(test)]
mod tests {
    use hedge_core::Span;

    use super::*;
    use crate::slow::TimesConfig;

    /// Twelve volumes, of which those from 8 on are archive disks; `slow` says how many times as slow.
    fn times(slow: impl Fn(u8, Operation) -> u64) -> Times<(u8, Operation)> {
        let mut times = Times::new(TimesConfig::default()).unwrap();
        for volume in 0..12 {
            for (operation, millis) in Operation::ALL.into_iter().zip([1, 10, 8, 15]) {
                let medium = if volume < 8 { 1 } else { 10 };
                let took = Span::from_millis(100 * millis * medium * slow(volume, operation));
                times.record_many(Instant::ZERO, (volume, operation), 100, took);
            }
        }
        times
    }

    fn found(times: &Times<(u8, Operation)>, population: impl Fn(u8) -> u32) -> Vec<(u8, f64)> {
        slow_volumes(times, Instant::ZERO, &Rule::HDFS_DISKS, population)
            .iter()
            .map(|slow| (slow.volume, slow.factor()))
            .collect()
    }

    #[test]
    fn a_volume_is_compared_with_others_in_the_same_operation() {
        // Reads are always slower than metadata, and that makes nobody slow.
        let by_medium = |volume: u8| u32::from(volume >= 8);
        assert_eq!(found(&times(|_, _| 1), by_medium), []);
        let times = times(|volume, operation| match (volume, operation) {
            (3, Operation::Write) => 5,
            (3, Operation::Sync) => 4,
            (6, Operation::Read) => 9,
            // Below 20 ms nobody is slow.
            (7, Operation::Metadata) => 15,
            _ => 1,
        });
        assert_eq!(found(&times, by_medium), [(6, 9.0), (3, 5.0)]);
        let slow = slow_volumes(&times, Instant::ZERO, &Rule::HDFS_DISKS, by_medium);
        let kinds: Vec<_> = slow[1].operations.iter().map(|(operation, _)| *operation).collect();
        assert_eq!(kinds, [Operation::Write, Operation::Sync]);
    }

    #[test]
    fn media_are_judged_apart_and_too_few_volumes_not_at_all() {
        let times = times(|_, _| 1);
        // Together, the archive disks stand out; apart nobody does, and there are but four of them.
        assert_eq!(found(&times, |_| 0).len(), 4);
        assert_eq!(found(&times, |volume| u32::from(volume >= 8)), []);
    }

    #[test]
    fn old_times_are_no_evidence() {
        let times = times(|volume, _| if volume == 2 { 40 } else { 1 });
        let later = |secs| slow_volumes(&times, Instant::from_secs(secs), &Rule::HDFS_DISKS, |_| 0).len();
        assert_eq!((later(0), later(900)), (5, 0));
    }
}
