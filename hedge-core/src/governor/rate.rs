//! The rate: at most so many grants in any one second, counted in slots of 1/64 s.

use crate::{Instant, Span};

/// The slots of a second, and the one that is under way.
const SLOTS: usize = 65;
/// How long a slot lasts: 1/64 s.
const SLOT: u64 = 1_000_000_000 / 64;

/// Grants of the last second, rounded up to whole slots: never too few, so that no second, wherever it
/// starts, holds more than the limit. A grant leaves the count at most 1/64 s late.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rate {
    /// The number of the slot under way.
    newest: u64,
    slots: [u32; SLOTS],
    total: u32,
}

impl Rate {
    pub(crate) const fn new() -> Self {
        Self { newest: 0, slots: [0; SLOTS], total: 0 }
    }

    /// When one more grant will be possible, if none is now. For a limit of 0: look again in a second.
    pub(crate) fn full_until(&mut self, now: Instant, max_per_second: u32) -> Option<Instant> {
        self.turn(now);
        if self.total < max_per_second {
            return None;
        }
        let mut left = self.total;
        for number in self.newest.saturating_sub(SLOTS as u64 - 1)..=self.newest {
            left = left.saturating_sub(self.slots[place(number)]);
            if left < max_per_second {
                return Some(Instant::from_nanos(number.saturating_add(SLOTS as u64).saturating_mul(SLOT)));
            }
        }
        Some(now + Span::from_secs(1))
    }

    /// Counts a grant.
    pub(crate) fn take(&mut self, now: Instant) {
        self.turn(now);
        let slot = &mut self.slots[place(self.newest)];
        *slot = slot.saturating_add(1);
        self.total = self.total.saturating_add(1);
    }

    /// Lets slots go that have left the second. A clock that went back changes nothing.
    fn turn(&mut self, now: Instant) {
        let number = now.as_nanos() / SLOT;
        if number <= self.newest {
            return;
        }
        if number - self.newest >= SLOTS as u64 {
            self.slots = [0; SLOTS];
            self.total = 0;
        } else {
            for passed in self.newest + 1..=number {
                let slot = &mut self.slots[place(passed)];
                self.total = self.total.saturating_sub(*slot);
                *slot = 0;
            }
        }
        self.newest = number;
    }
}

fn place(number: u64) -> usize {
    (number % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn asked(rate: &mut Rate, now: Instant, max: u32) -> Result<(), Instant> {
        match rate.full_until(now, max) {
            Some(until) => Err(until),
            None => {
                rate.take(now);
                Ok(())
            }
        }
    }

    #[test]
    fn one_instant_holds_exactly_the_limit() {
        for at in [0, 1, SLOT - 1, SLOT, 12_345_678_901] {
            let mut rate = Rate::new();
            let granted =
                (0..1000).filter(|_| asked(&mut rate, Instant::from_nanos(at), 200).is_ok()).count();
            assert_eq!(granted, 200, "at {at}");
        }
    }

    #[test]
    fn a_full_second_tells_when_it_is_over() {
        let mut rate = Rate::new();
        let (first, second) = (Instant::from_millis(100), Instant::from_millis(600));
        assert_eq!(asked(&mut rate, first, 2), Ok(()));
        assert_eq!(asked(&mut rate, second, 2), Ok(()));
        let until = asked(&mut rate, second, 2).unwrap_err();
        assert!(until > first + Span::from_secs(1));
        assert!(until <= first + Span::from_secs(1) + Span::from_nanos(SLOT));
        assert!(asked(&mut rate, Instant::from_nanos(until.as_nanos() - 1), 2).is_err());
        assert_eq!(asked(&mut rate, until, 2), Ok(()));
    }

    #[test]
    fn a_lowered_limit_waits_until_enough_has_left() {
        let mut rate = Rate::new();
        for tenth in 0..10 {
            rate.take(Instant::from_millis(tenth * 50));
        }
        let now = Instant::from_millis(500);
        let until = rate.full_until(now, 3).unwrap();
        // Eight of the ten have to leave; the eighth came at 350 ms.
        assert!(until > Instant::from_millis(1_350) && until <= Instant::from_millis(1_370), "{until:?}");
        assert_eq!(rate.full_until(until, 3), None);
    }

    #[test]
    fn a_limit_of_none_grants_none() {
        let mut rate = Rate::new();
        let now = Instant::from_millis(7);
        assert_eq!(rate.full_until(now, 0), Some(now + Span::from_secs(1)));
        assert!(rate.full_until(Instant::MAX, 0).is_some());
    }

    #[test]
    fn a_clock_that_steps_back_gives_no_grants() {
        let mut rate = Rate::new();
        let late = Instant::from_millis(5_000);
        assert_eq!(asked(&mut rate, late, 1), Ok(()));
        for back in [1, SLOT, 999_999_999, 1_000_000_000, 5_000_000_000] {
            assert!(asked(&mut rate, Instant::from_nanos(late.as_nanos() - back), 1).is_err());
        }
        assert_eq!(asked(&mut rate, Instant::MAX, 1), Ok(()));
        assert!(asked(&mut rate, Instant::MAX, 1).is_err());
    }

    fn no_second_holds_more_than_the_limit_in(steps: u32) {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let (mut rate, mut granted, mut now, mut max) = (Rate::new(), VecDeque::new(), 0_u64, 20_usize);
        let (mut grants, mut refusals) = (0_u64, 0_u64);
        for _ in 0..steps {
            now += match next(8) {
                0..=3 => 0,
                4..=5 => next(1_000_000),
                6 => next(3 * SLOT),
                _ => next(400_000_000),
            };
            if next(10_000) == 0 {
                max = next(40) as usize;
            }
            // A slot more than a second: what may still be counted.
            while granted.front().is_some_and(|&at| at + 1_000_000_000 + SLOT < now) {
                granted.pop_front();
            }
            let at = Instant::from_nanos(now);
            match asked(&mut rate, at, max as u32) {
                Ok(()) => {
                    granted.push_back(now);
                    grants += 1;
                    // Closed at both ends: stricter than any second.
                    let second = granted.iter().rev().take_while(|&&at| at + 1_000_000_000 >= now).count();
                    assert!(second <= max);
                }
                Err(until) => {
                    refusals += 1;
                    assert!(until > at && until <= at + Span::from_nanos(1_000_000_000 + SLOT));
                    assert!(granted.len() >= max, "refused without need");
                }
            }
        }
        assert!(grants > u64::from(steps) / 100 && refusals > u64::from(steps) / 100);
    }

    #[test]
    #[cfg_attr(miri, ignore)]
    fn no_second_holds_more_than_the_limit() {
        no_second_holds_more_than_the_limit_in(1_000_000);
    }

    #[test]
    fn no_second_of_a_few_holds_more_than_the_limit() {
        no_second_holds_more_than_the_limit_in(2_000);
    }
}
