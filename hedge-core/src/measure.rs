//! What is measured of one node in a few bytes: counts over a window, kept as two half-windows, and smoothed
//! times.

use crate::{Instant, Span};

/// When the half-window that `now` lies in began, and how many halves ago the last one did: 2 for two or more.
/// The clock of a half-window starts with the first event in it.
pub(crate) fn turned(since: Instant, now: Instant, window: Span) -> (Instant, u8) {
    let half = window.as_nanos().div_ceil(2).max(1);
    let passed = now.since(since).as_nanos();
    if passed < half {
        (since, 0)
    } else if passed - half < half {
        (since + Span::from_nanos(half), 1)
    } else {
        (now, 2)
    }
}

pub(crate) fn shift(counts: &mut [u16; 2], halves: u8) {
    match halves {
        0 => {}
        1 => *counts = [0, counts[0]],
        _ => *counts = [0, 0],
    }
}

pub(crate) fn total(counts: [u16; 2], halves: u8) -> u32 {
    match halves {
        0 => u32::from(counts[0]) + u32::from(counts[1]),
        1 => counts[0].into(),
        _ => 0,
    }
}

/// An exponentially smoothed time: each new one moves it by an eighth of the difference. In eighths of a
/// microsecond, up to nine minutes; 0 is none yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Smooth(u32);

impl Smooth {
    pub(crate) const NONE: Self = Self(0);

    fn from_span(span: Span) -> Self {
        Self(u32::try_from(span.as_nanos() / 125).unwrap_or(u32::MAX).max(1))
    }

    pub(crate) fn take(&mut self, span: Span) {
        let Self(new) = Self::from_span(span);
        self.0 = match self.0 {
            0 => new,
            old if new > old => old + (new - old).div_ceil(8),
            old => old - (old - new).div_ceil(8),
        };
    }

    /// It would have taken at least so long, so that it can only raise the time.
    pub(crate) fn take_at_least(&mut self, span: Span) {
        if Self::from_span(span) > *self {
            self.take(span);
        }
    }

    pub(crate) fn rank(self) -> u64 {
        self.0.into()
    }

    pub(crate) fn span(self) -> Option<Span> {
        (self != Self::NONE).then(|| Span::from_nanos(u64::from(self.0) * 125))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_kept_for_at_least_half_a_window_and_no_longer_than_a_whole_one() {
        let window = Span::from_nanos(10);
        for start in [0, 1, 999, u64::MAX - 30] {
            let at = |offset: u64| Instant::from_nanos(start + offset);
            for begun in 0..10 {
                let (since, halves) = turned(at(0), at(begun), window);
                let mut counts = [0, 0];
                shift(&mut counts, halves);
                counts[0] += 1;
                for age in 0..20 {
                    let (_, halves) = turned(since, at(begun + age), window);
                    let kept = total(counts, halves) == 1;
                    assert!(kept || age >= 5, "begun {begun}, age {age}: gone");
                    assert!(!kept || age < 10, "begun {begun}, age {age}: still there");
                }
            }
        }
    }

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        let late = Instant::from_millis(500);
        assert_eq!(turned(late, Instant::ZERO, Span::from_millis(1)), (late, 0));
    }

    #[test]
    fn a_window_of_nothing_or_of_all_time_is_a_window() {
        for window in [Span::ZERO, Span::from_nanos(1), Span::MAX] {
            for since in [Instant::ZERO, Instant::MAX] {
                for now in [Instant::ZERO, Instant::MAX] {
                    let (began, halves) = turned(since, now, window);
                    assert!(halves <= 2 && (began == since || began <= now));
                }
            }
        }
    }

    #[test]
    fn a_smoothed_time_comes_to_what_it_is_fed_from_both_sides() {
        for from in [Span::ZERO, Span::from_secs(500)] {
            let mut smooth = Smooth::NONE;
            assert_eq!(smooth.span(), None);
            smooth.take(from);
            for _ in 0..300 {
                smooth.take(Span::from_millis(3));
            }
            assert_eq!(smooth.span(), Some(Span::from_millis(3)));
        }
    }

    #[test]
    fn a_lower_bound_only_raises_a_smoothed_time() {
        let mut smooth = Smooth::NONE;
        smooth.take(Span::from_millis(8));
        smooth.take_at_least(Span::from_millis(1));
        assert_eq!(smooth.span(), Some(Span::from_millis(8)));
        smooth.take_at_least(Span::from_millis(16));
        assert_eq!(smooth.span(), Some(Span::from_millis(9)));
        smooth.take(Span::MAX);
        smooth.take(Span::MAX);
        assert!(smooth.span() > Some(Span::from_secs(120)));
    }
}
