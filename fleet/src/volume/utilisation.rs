//! How busy a disk was between two readings of its statistics.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hedge_core::{Instant, Span};

use super::Disk;

/// The statistics of all disks at one time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskReading {
    /// When they were read, on the caller's clock.
    pub at: Instant,
    /// The disks.
    pub disks: Vec<Disk>,
}

/// The share of the time that each disk was busy between two readings, in the order of the later one, and then those that are gone.
#[must_use]
pub fn utilisations(before: &DiskReading, after: &DiskReading) -> Vec<(String, Result<f64, NoUtilisation>)> {
    let interval = after.at - before.at;
    let in_reading =
        |reading: &DiskReading, name: &str| reading.disks.iter().position(|disk| disk.name == name);
    let mut answers: Vec<_> = after
        .disks
        .iter()
        .map(|disk| {
            let earlier = in_reading(before, &disk.name).and_then(|place| before.disks.get(place));
            let answer =
                earlier.map_or(Err(NoUtilisation::New), |earlier| utilisation(earlier, disk, interval));
            (disk.name.clone(), answer)
        })
        .collect();
    let gone = before.disks.iter().filter(|disk| in_reading(after, &disk.name).is_none());
    answers.extend(gone.map(|disk| (disk.name.clone(), Err(NoUtilisation::Gone))));
    answers
}

/// The share of an interval that a disk was busy, 0 to 1: the milliseconds in which at least one request was under way, over those of
/// the interval. A disk that serves many requests at once may be far from its limit at 1.
///
/// The counter wraps at 32 bits, after 49.7 busy days; a step back that would be a busy time of the interval and a little is a
/// wrap. What is more than the interval, by the rounding of the kernel and of the reader, counts as all of it.
///
/// # Errors
/// If there is no interval, the counter is missing, or it was set back or is of another disk.
pub fn utilisation(before: &Disk, after: &Disk, interval: Span) -> Result<f64, NoUtilisation> {
    if interval == Span::ZERO {
        return Err(NoUtilisation::NoTime);
    }
    let (Some(earlier), Some(later)) = (before.busy_millis, after.busy_millis) else {
        return Err(NoUtilisation::NotCounted);
    };
    let other = (before.major, before.minor) != (after.major, after.minor);
    if other || set_back(before.reads, after.reads) || set_back(before.writes, after.writes) {
        return Err(NoUtilisation::Reset);
    }
    let busy = match later.checked_sub(earlier) {
        Some(busy) => busy,
        None => {
            if earlier >= WRAP {
                return Err(NoUtilisation::Reset);
            }
            let busy = later + WRAP - earlier;
            let millis = interval.as_millis();
            if busy > millis.saturating_add(millis / 10).saturating_add(1_000) {
                return Err(NoUtilisation::Reset);
            }
            busy
        }
    };
    Ok((busy as f64 * 1e6 / interval.as_nanos() as f64).min(1.0))
}

const WRAP: u64 = 1 << 32;

/// Whether a count of requests began anew. On 32-bit machines it wraps, from the upper half of its range to the lower.
fn set_back(before: u64, after: u64) -> bool {
    let wrapped = (WRAP / 2..WRAP).contains(&before) && after < WRAP / 2;
    after < before && !wrapped
}

/// Why nothing can be said of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NoUtilisation {
    /// It was not there at the first reading.
    New,
    /// It was not there at the second.
    Gone,
    /// The second reading was no later than the first.
    NoTime,
    /// The kernel does not count its busy time.
    NotCounted,
    /// Its counters were set back: the machine was restarted, or it is another disk.
    Reset,
}

impl fmt::Display for NoUtilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "the disk was not there at the first reading",
            Self::Gone => "the disk is gone",
            Self::NoTime => "the second reading is no later than the first",
            Self::NotCounted => "the kernel does not count the disk's busy time",
            Self::Reset => "the disk's counters were set back",
        })
    }
}

impl core::error::Error for NoUtilisation {}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    const SECOND: Span = Span::from_secs(1);

    fn disk(reads: u64, writes: u64, busy_millis: u64) -> Disk {
        Disk { major: 8, minor: 0, name: "sda".into(), reads, writes, busy_millis: Some(busy_millis) }
    }

    fn between(earlier: u64, later: u64, interval: Span) -> Result<f64, NoUtilisation> {
        utilisation(&disk(1, 1, earlier), &disk(1, 1, later), interval)
    }

    #[test]
    fn utilisation_is_busy_time_over_the_interval() {
        assert_eq!(between(500, 750, SECOND), Ok(0.25));
        assert_eq!(between(500, 500, SECOND), Ok(0.0));
        assert_eq!(between(500, 1_500, SECOND), Ok(1.0));
        assert_eq!(between(0, 3, Span::from_micros(12_000)), Ok(0.25));
    }

    #[test]
    fn more_than_the_interval_counts_as_all_of_it() {
        assert_eq!(between(500, 1_504, SECOND), Ok(1.0));
        assert_eq!(between(0, u64::MAX, Span::from_nanos(1)), Ok(1.0));
    }

    #[test]
    fn a_counter_that_wraps_at_32_bits_goes_on() {
        let last = (1 << 32) - 1;
        assert_eq!(between(last, 249, SECOND), Ok(0.25));
        assert_eq!(between(last - 999, 0, SECOND), Ok(1.0));
        // A little more than the interval still is a wrap.
        assert_eq!(between(last - 1_049, 0, SECOND), Ok(1.0));
    }

    #[test]
    fn a_counter_that_was_set_back_says_nothing() {
        assert_eq!(between(5_000, 10, SECOND), Err(NoUtilisation::Reset));
        // In the upper half, too, but too far to be busy time of one second.
        assert_eq!(between(u32::MAX.into(), 100_000, SECOND), Err(NoUtilisation::Reset));
        // From beyond 32 bits nothing wraps.
        assert_eq!(between(1 << 33, 10, SECOND), Err(NoUtilisation::Reset));
        assert_eq!(between(u64::MAX, 0, Span::MAX), Err(NoUtilisation::Reset));
        assert_eq!(between(u64::MAX, u64::MAX - 1, SECOND), Err(NoUtilisation::Reset));
        assert_eq!(between(1 << 32, (1 << 32) - 1, Span::MAX), Err(NoUtilisation::Reset));
        // The busy time is past its old value again, but not the requests.
        assert_eq!(utilisation(&disk(90, 5, 100), &disk(3, 9, 400), SECOND), Err(NoUtilisation::Reset));
        assert_eq!(utilisation(&disk(3, 90, 100), &disk(9, 5, 400), SECOND), Err(NoUtilisation::Reset));
        let other = Disk { minor: 16, ..disk(1, 1, 400) };
        assert_eq!(utilisation(&disk(1, 1, 100), &other, SECOND), Err(NoUtilisation::Reset));
    }

    #[test]
    fn a_count_of_requests_that_wraps_on_a_32_bit_machine_is_no_reset() {
        let last = (1 << 32) - 1;
        assert_eq!(utilisation(&disk(last, last, 100), &disk(7, 9, 400), SECOND), Ok(0.3));
    }

    #[test]
    fn without_time_or_a_counter_there_is_no_answer() {
        assert_eq!(between(1, 2, Span::ZERO), Err(NoUtilisation::NoTime));
        let none = Disk { busy_millis: None, ..disk(1, 1, 0) };
        assert_eq!(utilisation(&none, &disk(1, 1, 4), SECOND), Err(NoUtilisation::NotCounted));
        assert_eq!(utilisation(&disk(1, 1, 4), &none, SECOND), Err(NoUtilisation::NotCounted));
    }

    #[test]
    fn disks_that_come_and_go_are_told_as_such() {
        let named = |name: &str, busy| Disk { name: name.into(), ..disk(1, 1, busy) };
        let before =
            DiskReading { at: Instant::from_secs(1), disks: vec![named("sda", 100), named("sdb", 100)] };
        let after =
            DiskReading { at: Instant::from_secs(2), disks: vec![named("sdc", 5), named("sda", 600)] };
        let answers = |before, after| -> Vec<_> {
            utilisations(before, after)
                .into_iter()
                .map(|(name, answer)| (name.chars().last(), answer))
                .collect()
        };
        assert_eq!(
            answers(&before, &after),
            [
                (Some('c'), Err(NoUtilisation::New)),
                (Some('a'), Ok(0.5)),
                (Some('b'), Err(NoUtilisation::Gone))
            ]
        );
        // A clock that steps back, and readings that are the same.
        assert_eq!(answers(&after, &before)[0], (Some('a'), Err(NoUtilisation::NoTime)));
        assert_eq!(
            answers(&before, &before),
            [(Some('a'), Err(NoUtilisation::NoTime)), (Some('b'), Err(NoUtilisation::NoTime))]
        );
    }

    proptest! {
        #[test]
        fn no_reading_panics_and_every_answer_is_a_share(
            before in any::<(u64, u64, u64)>(), after in any::<(u64, u64, u64)>(), interval in any::<u64>(),
        ) {
            let of = |(reads, writes, busy)| disk(reads, writes, busy);
            if let Ok(share) = utilisation(&of(before), &of(after), Span::from_nanos(interval)) {
                prop_assert!((0.0..=1.0).contains(&share));
            }
        }

        #[test]
        fn a_wrapping_counter_gives_what_an_endless_one_would(
            earlier in 0_u64..1 << 32, busy in 0_u64..5_000,
        ) {
            let interval = Span::from_secs(5);
            let wrapped = (earlier + busy) % (1 << 32);
            prop_assert_eq!(between(earlier, wrapped, interval), Ok(busy as f64 / 5_000.0));
        }
    }
}
