//! What one node has measured of its peers, or of its volumes: for each a ring of buckets with counts and totals of times.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use hedge_core::{Instant, Span};

use super::Measured;

/// How long, how finely and of how many the times are kept: plain data with public fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TimesConfig {
    /// The length of a bucket; more than 0.
    pub bucket: Span,
    /// How many buckets the mean is taken over, the one under way among them: 1 to 10,000.
    pub buckets: u32,
    /// How many peers are known at once; 1 or more. A further one takes the place of the one unheard of for longest.
    pub most: u32,
}

impl Default for TimesConfig {
    /// Three buckets of five minutes, and 4,096 peers.
    fn default() -> Self {
        Self { bucket: Span::from_secs(300), buckets: 3, most: 4_096 }
    }
}

impl TimesConfig {
    const MOST_BUCKETS: u32 = 10_000;

    /// As published: three hours, in 36 buckets of five minutes. Such a mean is slow both ways: it takes long to accuse, and
    /// about as long to forget.
    #[must_use]
    pub fn published() -> Self {
        Self { buckets: 36, ..Self::default() }
    }

    /// Whether times can be kept so.
    ///
    /// # Errors
    /// The first field that is out of bounds, with its value.
    pub fn check(&self) -> Result<(), TimesConfigError> {
        if self.bucket == Span::ZERO {
            return Err(TimesConfigError::Zero { field: "bucket" });
        }
        if self.most == 0 {
            return Err(TimesConfigError::Zero { field: "most" });
        }
        if !(1..=Self::MOST_BUCKETS).contains(&self.buckets) {
            return Err(TimesConfigError::Buckets { buckets: self.buckets, most: Self::MOST_BUCKETS });
        }
        Ok(())
    }
}

/// Why times can't be kept so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TimesConfigError {
    /// The field is 0.
    Zero {
        /// The field of the configuration.
        field: &'static str,
    },
    /// No buckets, or too many.
    Buckets {
        /// So many.
        buckets: u32,
        /// No more than this.
        most: u32,
    },
}

impl fmt::Display for TimesConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Zero { field } => write!(f, "{field} must be more than 0: it is 0"),
            Self::Buckets { buckets, most } => write!(f, "buckets must be from 1 to {most}: it is {buckets}"),
        }
    }
}

impl core::error::Error for TimesConfigError {}

/// Times of transfers to each of many peers, or of operations on each of many volumes, over a window that moves on.
///
/// `K` names the peer: a [`NodeId`](hedge_core::NodeId), or a volume and an operation. Buckets begin at multiples of their length
/// on the caller's clock, so the window holds between `buckets - 1` and `buckets` lengths. Counts and totals
/// saturate. A clock that steps back stands still.
///
/// ```
/// use hedge_core::{Instant, NodeId, Span};
/// use hedgerow_fleet::{Times, TimesConfig};
///
/// let mut times = Times::new(TimesConfig::default())?;
/// let now = Instant::from_secs(10);
/// times.record(now, NodeId(7), Span::from_millis(2));
/// times.record(now, NodeId(7), Span::from_millis(4));
/// let measured = times.measured(now, |_| 0);
/// assert_eq!((measured[0].who, measured[0].mean, measured[0].samples), (NodeId(7), 3.0, 2));
/// # Ok::<(), hedgerow_fleet::TimesConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Times<K> {
    config: TimesConfig,
    now: Instant,
    rings: BTreeMap<K, Ring>,
}

impl<K: Ord + Copy> Times<K> {
    /// Nothing measured yet.
    ///
    /// # Errors
    /// If the configuration is not [good](TimesConfig::check).
    pub fn new(config: TimesConfig) -> Result<Self, TimesConfigError> {
        config.check()?;
        Ok(Self { config, now: Instant::ZERO, rings: BTreeMap::new() })
    }

    /// One transfer took so long.
    pub fn record(&mut self, now: Instant, who: K, took: Span) {
        self.record_many(now, who, 1, took);
    }

    /// So many transfers took so long together.
    pub fn record_many(&mut self, now: Instant, who: K, count: u64, total: Span) {
        let before = self.number();
        self.now = self.now.max(now);
        let number = self.number();
        if number != before {
            let buckets = self.config.buckets;
            self.rings.retain(|_, ring| ring.heard(number, buckets));
        }
        if count == 0 {
            return;
        }
        if !self.rings.contains_key(&who) && self.rings.len() >= self.config.most as usize {
            let silent = self.rings.iter().min_by_key(|(_, ring)| ring.last_heard).map(|(who, _)| *who);
            if let Some(silent) = silent {
                self.rings.remove(&silent);
            }
        }
        let buckets = self.config.buckets;
        let ring = self.rings.entry(who).or_insert_with(|| Ring::new(buckets));
        ring.add(number, self.now, count, total);
    }

    /// The mean of each peer over the window, in milliseconds and in the peers' order; of those without a sample in the window,
    /// nothing. `population` says which peers are alike: only they are compared.
    #[must_use]
    pub fn measured(&self, now: Instant, mut population: impl FnMut(K) -> u32) -> Vec<Measured<K>> {
        let number = self.now.max(now).as_nanos() / self.config.bucket.as_nanos().max(1);
        let mut measured = Vec::with_capacity(self.rings.len());
        for (&who, ring) in &self.rings {
            let (count, total) = ring.sum(number, self.config.buckets);
            if count > 0 {
                let mean = total as f64 / count as f64 / 1e6;
                measured.push(Measured { who, population: population(who), mean, samples: count });
            }
        }
        measured
    }

    /// Forgets a peer, for example one that was replaced.
    pub fn forget(&mut self, who: K) {
        self.rings.remove(&who);
    }

    /// How many peers are known.
    #[must_use]
    pub fn known(&self) -> usize {
        self.rings.len()
    }

    fn number(&self) -> u64 {
        self.now.as_nanos() / self.config.bucket.as_nanos().max(1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Bucket {
    number: u64,
    count: u64,
    total: u64,
}

/// A bucket carries its own number, so that nothing has to be cleared when time moves on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Ring {
    last_heard: Instant,
    last: u64,
    buckets: Box<[Bucket]>,
}

impl Ring {
    fn new(buckets: u32) -> Self {
        Self {
            last_heard: Instant::ZERO,
            last: 0,
            buckets: vec![Bucket::default(); buckets as usize].into_boxed_slice(),
        }
    }

    fn heard(&self, number: u64, buckets: u32) -> bool {
        in_window(self.last, number, buckets)
    }

    fn add(&mut self, number: u64, now: Instant, count: u64, total: Span) {
        self.last_heard = now;
        self.last = number;
        let place = number.checked_rem(self.buckets.len() as u64).unwrap_or(0);
        let Some(bucket) = self.buckets.get_mut(place as usize) else { return };
        if bucket.number != number {
            *bucket = Bucket { number, ..Bucket::default() };
        }
        bucket.count = bucket.count.saturating_add(count);
        bucket.total = bucket.total.saturating_add(total.as_nanos());
    }

    fn sum(&self, number: u64, buckets: u32) -> (u64, u64) {
        self.buckets.iter().filter(|bucket| in_window(bucket.number, number, buckets)).fold(
            (0, 0),
            |(count, total), bucket| {
                (u64::saturating_add(count, bucket.count), u64::saturating_add(total, bucket.total))
            },
        )
    }
}

fn in_window(bucket: u64, number: u64, buckets: u32) -> bool {
    // A bucket of the future is far away.
    number.wrapping_sub(bucket) < u64::from(buckets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(minutes: u64) -> Instant {
        Instant::from_secs(60 * minutes)
    }

    fn times(buckets: u32, most: u32) -> Times<u32> {
        Times::new(TimesConfig { buckets, most, ..TimesConfig::default() }).unwrap()
    }

    fn means(times: &Times<u32>, now: Instant) -> Vec<(u32, f64, u64)> {
        times.measured(now, |_| 0).iter().map(|one| (one.who, one.mean, one.samples)).collect()
    }

    #[test]
    fn the_mean_is_over_the_window_and_no_further() {
        let mut times = times(3, 8);
        for (minute, millis) in [(0, 10), (5, 20), (10, 30)] {
            times.record(minutes(minute), 1, Span::from_millis(millis));
        }
        assert_eq!(means(&times, minutes(10)), [(1, 20.0, 3)]);
        assert_eq!(means(&times, minutes(14)), [(1, 20.0, 3)]);
        assert_eq!(means(&times, minutes(15)), [(1, 25.0, 2)]);
        assert_eq!(means(&times, minutes(20)), [(1, 30.0, 1)]);
        assert_eq!(means(&times, minutes(25)), []);
    }

    #[test]
    fn a_bucket_that_comes_round_begins_anew() {
        let mut times = times(3, 8);
        times.record(minutes(0), 1, Span::from_millis(1_000));
        times.record(minutes(15), 1, Span::from_millis(2));
        assert_eq!(means(&times, minutes(15)), [(1, 2.0, 1)]);
        // Many rounds later, at the same place of the ring.
        times.record(minutes(15 * 1_001), 1, Span::from_millis(3));
        assert_eq!(means(&times, minutes(15 * 1_001)), [(1, 3.0, 1)]);
    }

    #[test]
    fn a_peer_not_heard_of_for_a_window_is_forgotten() {
        let mut times = times(3, 8);
        times.record(minutes(0), 1, Span::from_millis(1));
        times.record(minutes(10), 2, Span::from_millis(1));
        assert_eq!(times.known(), 2);
        times.record(minutes(15), 2, Span::from_millis(1));
        assert_eq!(times.known(), 1);
        assert_eq!(means(&times, minutes(15)), [(2, 1.0, 2)]);
    }

    #[test]
    fn a_further_peer_takes_the_place_of_the_one_unheard_of_for_longest() {
        let mut times = times(3, 2);
        times.record(minutes(1), 5, Span::from_millis(1));
        times.record(minutes(2), 6, Span::from_millis(1));
        times.record(minutes(3), 5, Span::from_millis(1));
        times.record(minutes(4), 7, Span::from_millis(1));
        assert_eq!(means(&times, minutes(4)), [(5, 1.0, 2), (7, 1.0, 1)]);
    }

    #[test]
    fn counts_and_totals_saturate() {
        let mut times = times(3, 2);
        for minute in [0, 5] {
            times.record_many(minutes(minute), 1, u64::MAX, Span::MAX);
            times.record(minutes(minute), 1, Span::MAX);
        }
        let [(1, mean, u64::MAX)] = means(&times, minutes(5))[..] else { panic!() };
        assert!((mean - 1e-6).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        let mut times = times(3, 4);
        times.record(minutes(100), 1, Span::from_millis(4));
        times.record(minutes(1), 1, Span::from_millis(2));
        times.record(Instant::MAX, 2, Span::from_millis(9));
        times.record(Instant::ZERO, 2, Span::from_millis(7));
        assert_eq!(means(&times, minutes(0)), [(2, 8.0, 2)]);
    }

    #[test]
    fn nothing_recorded_means_nothing_measured() {
        let mut times = times(1, 1);
        times.record_many(minutes(0), 1, 0, Span::from_millis(4));
        assert_eq!((times.known(), means(&times, minutes(0))), (0, Vec::new()));
        times.record(minutes(0), 1, Span::ZERO);
        assert_eq!(means(&times, minutes(0)), [(1, 0.0, 1)]);
        times.forget(1);
        assert_eq!(times.known(), 0);
    }

    #[test]
    fn a_configuration_out_of_bounds_is_refused_by_name() {
        let says = |change: fn(&mut TimesConfig)| {
            let mut config = TimesConfig::default();
            change(&mut config);
            alloc::format!("{}", Times::<u32>::new(config).unwrap_err())
        };
        assert_eq!(says(|config| config.bucket = Span::ZERO), "bucket must be more than 0: it is 0");
        assert_eq!(says(|config| config.most = 0), "most must be more than 0: it is 0");
        assert_eq!(says(|config| config.buckets = 0), "buckets must be from 1 to 10000: it is 0");
        assert_eq!(says(|config| config.buckets = 20_000), "buckets must be from 1 to 10000: it is 20000");
        assert_eq!(TimesConfig::published().check(), Ok(()));
    }
}
