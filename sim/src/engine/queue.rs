//! What is going to happen, in order of time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use hedge_core::LegId;

/// What happens to a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A leg's connection is open.
    Connected(LegId),
    /// A leg comes with its cell.
    Delivered(LegId),
    /// A leg fails for want of an answer.
    TimedOut(LegId),
    /// A leg is refused.
    Refused(LegId),
    /// The rebuild is done.
    Decoded,
    /// A client thaws, and takes up a request that came meanwhile.
    Begin,
    /// A node is done with what it served.
    Served,
    /// The read's timer.
    Timer,
}

/// Something that happens at an instant to what lies in a place, if that is still of this generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) at: u64,
    /// Facts come before clocks; else the order in which they were put.
    order: u64,
    pub(super) place: u32,
    pub(super) generation: u32,
    pub(super) what: What,
}

impl Event {
    #[inline]
    const fn key(&self) -> (u64, u64) {
        (self.at, self.order)
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A slot of the wheel is so many nanoseconds long, as a power of two: 65 microseconds.
const SLOT_BITS: u32 = 16;
/// So many slots: 268 ms.
const SLOTS: u64 = 1 << 12;
/// Facts come before clocks.
const CLOCK: u64 = 1 << 63;

/// A queue of events: a wheel for the next quarter of a second, where nearly all of them lie, and a heap for the rest.
pub(super) struct Events {
    /// The slot whose events are in `ready`.
    slot: u64,
    /// Its events, the next one last.
    ready: Vec<Event>,
    wheel: Vec<Vec<Event>>,
    /// A bit for each slot of the wheel that has events.
    filled: Vec<u64>,
    in_wheel: usize,
    far: BinaryHeap<Reverse<Event>>,
    count: u64,
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            slot: 0,
            ready: Vec::new(),
            wheel: (0..SLOTS).map(|_| Vec::new()).collect(),
            filled: vec![0; (SLOTS / 64) as usize],
            in_wheel: 0,
            far: BinaryHeap::new(),
            count: 0,
        }
    }

    /// Something will happen. An instant before the last one taken counts as that one.
    #[inline]
    pub(super) fn push(&mut self, at: u64, place: u32, generation: u32, what: What) {
        self.count += 1;
        let clock = if matches!(what, What::Timer | What::Begin) { CLOCK } else { 0 };
        let event = Event { at, order: self.count | clock, place, generation, what };
        let slot = at >> SLOT_BITS;
        if slot <= self.slot {
            let later = self.ready.iter().rev().take_while(|other| other.key() < event.key()).count();
            self.ready.insert(self.ready.len() - later, event);
        } else if slot - self.slot < SLOTS {
            self.put(slot, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    #[inline]
    fn put(&mut self, slot: u64, event: Event) {
        let index = (slot % SLOTS) as usize;
        self.wheel[index].push(event);
        self.filled[index / 64] |= 1 << (index % 64);
        self.in_wheel += 1;
    }

    /// The instant of the next event; `u64::MAX` if there is none.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        if self.ready.is_empty() {
            self.turn();
        }
        self.ready.last().map_or(u64::MAX, |event| event.at)
    }

    /// Takes the next event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.ready.is_empty() {
            self.turn();
        }
        self.ready.pop()
    }

    /// Goes on to the next slot that has events.
    fn turn(&mut self) {
        let far = self.far.peek().map_or(u64::MAX, |Reverse(event)| event.at >> SLOT_BITS);
        let near = if self.in_wheel > 0 { self.next_filled() } else { u64::MAX };
        let slot = near.min(far);
        if slot == u64::MAX {
            return;
        }
        self.slot = slot;
        if slot == near {
            let index = (slot % SLOTS) as usize;
            std::mem::swap(&mut self.ready, &mut self.wheel[index]);
            self.filled[index / 64] &= !(1 << (index % 64));
            self.in_wheel -= self.ready.len();
        }
        while let Some(Reverse(event)) = self.far.peek() {
            let at = event.at >> SLOT_BITS;
            if at >= slot + SLOTS {
                break;
            }
            if let Some(Reverse(event)) = self.far.pop() {
                if at == slot { self.ready.push(event) } else { self.put(at, event) }
            }
        }
        if self.ready.len() > 1 {
            self.ready.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The first slot after the present one that has events; there is one.
    fn next_filled(&self) -> u64 {
        let start = (self.slot + 1) % SLOTS;
        let words = self.filled.len();
        let first = (start / 64) as usize;
        for step in 0..=words {
            let index = (first + step) % words;
            let mut bits = self.filled[index];
            if step == 0 {
                bits &= !0 << (start % 64);
            }
            if bits != 0 {
                let place = index as u64 * 64 + u64::from(bits.trailing_zeros());
                return self.slot + 1 + (place + SLOTS - start) % SLOTS;
            }
        }
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn events_come_in_order_of_time_whatever_lies_between_them() {
        let mut random = Random::new(1);
        for reach in [1_u64 << 10, 1 << 20, 1 << 27, 1 << 30, 1 << 36] {
            let mut events = Events::new();
            let (mut now, mut left, mut put) = (0, 0, 0);
            while put < 20_000 || left > 0 {
                if put < 20_000 && (left == 0 || random.bits().is_multiple_of(2)) {
                    events.push(now + random.bits() % reach, put, 0, What::Decoded);
                    put += 1;
                    left += 1;
                } else {
                    let next = events.next();
                    let event = events.pop().expect("one is left");
                    assert_eq!(event.at, next);
                    assert!(event.at >= now);
                    now = event.at;
                    left -= 1;
                }
            }
            assert_eq!(events.next(), u64::MAX);
            assert!(events.pop().is_none());
        }
    }

    #[test]
    fn of_one_instant_facts_come_before_clocks_and_else_the_first_put_first() {
        let mut events = Events::new();
        for at in [5, 1 << 40] {
            events.push(at, 0, 0, What::Timer);
            events.push(at, 1, 0, What::Decoded);
            events.push(at, 2, 0, What::Begin);
            events.push(at, 3, 0, What::Served);
        }
        let order: Vec<u32> = std::iter::from_fn(|| events.pop()).map(|event| event.place).collect();
        assert_eq!(order, [1, 3, 0, 2, 1, 3, 0, 2]);
    }
}
