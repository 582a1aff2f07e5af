//! What is remembered of one node: two half-windows of late and of slow legs, smoothed times, and how it
//! stands.

use crate::measure::{Smooth, shift, total, turned};
use crate::{Cause, Config, Health, Impaired, Instant, LegEnd, RequestId, Span};

/// What the governor remembers of one node: plain data of 88 bytes.
///
/// Its content is the governor's own; [`NodeHealth`](crate::NodeHealth) is what it means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NodeState {
    /// Of the last late leg that counted; nothing until `Mark::Crossed`.
    late_at: Instant,
    pub(super) seen_at: Instant,
    /// When the current half of the window of late legs began, and of that of slow legs.
    late_since: Instant,
    slow_since: Instant,
    /// When it was demoted, or reinstated.
    turned_at: Instant,
    /// Whoever sees the whole fleet calls it slow until then; means nothing without [`Mark::Accused`].
    accused_until: Instant,
    late_epoch: u32,
    /// Of the last late leg that counted.
    late_request: RequestId,
    /// The last request that counted among the started ones.
    request: RequestId,
    connect: Smooth,
    read: Smooth,
    /// Requests of the current and of the previous half-window: started, and late among them.
    started: [u16; 2],
    late: [u16; 2],
    slow: [u16; 2],
    /// Reads that went around the node since the last that did not.
    around: u16,
    /// Late legs that count as started, whose own end has not come.
    out: u8,
    /// How often the hold is doubled, and one; 0: never demoted, or forgotten.
    level: u8,
    /// The last eight verdicts on legs while demoted, the newest lowest: 1 is late or slow.
    verdicts: u8,
    /// Late or slow requests since the last that was neither.
    streak: u8,
    marks: u8,
}

/// A bit of [`NodeState::marks`].
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Mark {
    Demoted = 1,
    /// Impaired or slow by the last evidence, or demoted.
    Suspect = 2,
    /// A late leg has counted.
    Crossed = 4,
    /// The request in `request` is counted as slow.
    RequestSlow = 8,
    /// The request in `request` is counted because it was late, and none of its legs has ended.
    RequestOut = 16,
    /// Anything was heard of the node.
    Known = 32,
    /// It was called slow, and that has not been forgotten yet.
    Accused = 64,
}

/// What a leg's end says, as far as nodes are concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    pub(crate) request: RequestId,
    pub(crate) connect_micros: Option<u32>,
    pub(crate) took: Span,
    pub(crate) end: LegEnd,
}

impl Leg {
    /// Whether the node failed to answer at all.
    fn unanswered(&self) -> bool {
        matches!(self.end, LegEnd::Failed(Cause::Timeout | Cause::Refused | Cause::Unreachable))
    }

    fn slow(&self, health: &Health) -> bool {
        let connect = self.connect_micros.map_or(Span::ZERO, |micros| Span::from_micros(micros.into()));
        self.unanswered() || self.took > health.slow_leg || connect > health.slow_connect
    }
}

impl NodeState {
    /// A node that was never seen.
    pub const NEW: Self = Self {
        late_at: Instant::ZERO,
        seen_at: Instant::ZERO,
        late_since: Instant::ZERO,
        slow_since: Instant::ZERO,
        turned_at: Instant::ZERO,
        accused_until: Instant::ZERO,
        late_epoch: 0,
        late_request: RequestId::NONE,
        request: RequestId::NONE,
        connect: Smooth::NONE,
        read: Smooth::NONE,
        started: [0; 2],
        late: [0; 2],
        slow: [0; 2],
        around: 0,
        out: 0,
        level: 0,
        verdicts: 0,
        streak: 0,
        marks: 0,
    };

    pub(super) fn is(&self, mark: Mark) -> bool {
        self.marks & mark as u8 != 0
    }

    pub(super) fn set(&mut self, mark: Mark, on: bool) {
        if on {
            self.marks |= mark as u8;
        } else {
            self.marks &= !(mark as u8);
        }
    }

    /// Whether time may change what it is marked as, and reads beware of it.
    pub(super) fn is_marked(&self) -> bool {
        self.is(Mark::Suspect) || self.is(Mark::Accused)
    }

    pub(super) fn read_time(&self) -> Smooth {
        self.read
    }

    pub(super) fn connect_time(&self) -> Smooth {
        self.connect
    }

    // Late legs.

    /// A late leg is evidence against the node, unless another leg of its request was: whether it is. It counts
    /// as started, too, and its end will not count again.
    pub(super) fn count_late(
        &mut self,
        now: Instant,
        request: RequestId,
        epoch: u32,
        rule: &Impaired,
    ) -> bool {
        let named = request != RequestId::NONE;
        if self.is(Mark::Crossed) && named && request == self.late_request {
            return false;
        }
        self.turn_late(now, rule.window);
        self.late_at = if self.is(Mark::Crossed) { self.late_at.max(now) } else { now };
        self.late_epoch = epoch;
        self.set(Mark::Crossed, true);
        if !named || request != self.request {
            self.count_started();
            self.out = self.out.saturating_add(1);
            if named {
                self.request = request;
                self.set(Mark::RequestSlow, false);
                self.set(Mark::RequestOut, true);
            }
        }
        if named {
            self.late_request = request;
        }
        self.late[0] = self.late[0].saturating_add(1);
        self.streak = self.streak.saturating_add(1);
        if self.is(Mark::Demoted) {
            self.judge_leg(true);
        }
        true
    }

    /// A full counter is halved together with its partner, which keeps the share. As long as the share is below
    /// one percent, whatever more is started can't change a verdict, and it is left full instead.
    fn count_started(&mut self) {
        if self.started[0] == u16::MAX {
            if self.late[0] < u16::MAX / 100 {
                return;
            }
            self.started[0] /= 2;
            self.late[0] /= 2;
        }
        self.started[0] += 1;
    }

    fn turn_late(&mut self, now: Instant, window: Span) {
        let (began, halves) = turned(self.late_since, now, window);
        self.late_since = began;
        shift(&mut self.started, halves);
        shift(&mut self.late, halves);
    }

    /// Started and late requests within the window.
    pub(super) fn lateness(&self, now: Instant, rule: &Impaired) -> (u32, u32) {
        let (_, halves) = turned(self.late_since, now, rule.window);
        let late = total(self.late, halves);
        (total(self.started, halves).max(late), late)
    }

    /// The epoch of the last late leg that counts, if that lies within the window, its end included.
    pub(super) fn late_epoch(&self, now: Instant, rule: &Impaired) -> Option<u32> {
        let recent = self.is(Mark::Crossed) && now.since(self.late_at) <= rule.window;
        recent.then_some(self.late_epoch)
    }

    pub(super) fn impaired(&self, now: Instant, rule: &Impaired) -> bool {
        if self.late_epoch(now, rule).is_none() {
            return false;
        }
        // One late leg is enough: its own instant tells, to the nanosecond.
        if rule.legs <= 1 && rule.share_percent == 0 {
            return true;
        }
        self.late_beyond(now, rule, u32::from(rule.share_percent) * 10_000)
    }

    /// Whether within the window at least as many of its requests as the rule has it, and more than so many
    /// millionths of them, were late.
    pub(super) fn late_beyond(&self, now: Instant, rule: &Impaired, share_ppm: u32) -> bool {
        let (started, late) = self.lateness(now, rule);
        late >= rule.legs.into() && u64::from(late) * 1_000_000 > u64::from(started) * u64::from(share_ppm)
    }

    /// Whether it is impaired, its last late leg in `epoch`; `None`: in any.
    pub(super) fn counts_as_impaired(&self, now: Instant, rule: &Impaired, epoch: Option<u32>) -> bool {
        let late = self.late_epoch(now, rule);
        late.is_some() && (epoch.is_none() || late == epoch) && self.impaired(now, rule)
    }

    // Ends of legs.

    pub(super) fn end(&mut self, now: Instant, leg: &Leg, config: &Config) {
        let slow = leg.slow(&config.health);
        let (first, was_late) = self.count_end(now, leg, &config.impaired);
        if slow && (first || !self.is(Mark::RequestSlow) || leg.request == RequestId::NONE) {
            self.turn_slow(now, config.health.window);
            self.slow[0] = self.slow[0].saturating_add(1);
            if leg.request != RequestId::NONE {
                self.set(Mark::RequestSlow, true);
            }
        }
        if first && !was_late && (slow || leg.end == LegEnd::Delivered) {
            self.streak = if slow { self.streak.saturating_add(1) } else { 0 };
            if self.is(Mark::Demoted) {
                self.judge_leg(slow);
            }
        }
        if let Some(micros) = leg.connect_micros {
            self.connect.take(Span::from_micros(micros.into()));
        }
        if leg.end == LegEnd::Delivered {
            self.read.take(leg.took);
        } else if leg.unanswered() {
            // A quick refusal must not look like a quick node.
            self.read.take_at_least(leg.took.max(config.health.slow_leg));
        } else {
            self.read.take_at_least(leg.took);
        }
    }

    /// Counts the leg among the started ones, if its request has not been: whether this is the first that is
    /// heard of the request's end, and whether the request is taken for a late one.
    ///
    /// A leg's end does not say whether it was late. Its request may; else a leg that was under way at the last
    /// lateness is taken for one of those that were late, as long as such are out. At worst that is another
    /// one's end, and the two are counted in the other order.
    fn count_end(&mut self, now: Instant, leg: &Leg, rule: &Impaired) -> (bool, bool) {
        let named = leg.request != RequestId::NONE;
        if named && leg.request == self.request {
            let was_late = self.is(Mark::RequestOut);
            if was_late {
                self.set(Mark::RequestOut, false);
                self.out = self.out.saturating_sub(1);
            }
            return (was_late, was_late);
        }
        let began = now.as_nanos().saturating_sub(leg.took.as_nanos());
        let unnamed = self.out.saturating_sub(u8::from(self.is(Mark::RequestOut)));
        let was_late = unnamed > 0 && began <= self.late_at.as_nanos();
        if was_late {
            self.out -= 1;
        } else {
            self.turn_late(now, rule.window);
            self.count_started();
        }
        if named {
            self.request = leg.request;
            self.set(Mark::RequestSlow, false);
            self.set(Mark::RequestOut, false);
        }
        (true, was_late)
    }

    fn turn_slow(&mut self, now: Instant, window: Span) {
        let (began, halves) = turned(self.slow_since, now, window);
        self.slow_since = began;
        shift(&mut self.slow, halves);
    }

    /// Slow requests within the window.
    pub(super) fn slow_legs(&self, now: Instant, health: &Health) -> u32 {
        let (_, halves) = turned(self.slow_since, now, health.window);
        total(self.slow, halves)
    }

    pub(super) fn slow(&self, now: Instant, health: &Health) -> bool {
        self.slow_legs(now, health) > health.limit.into()
    }

    // What others say.

    /// Takes what whoever sees the whole fleet says of it.
    pub(super) fn accuse(&mut self, now: Instant, until: Instant) {
        self.accused_until = until;
        self.set(Mark::Accused, until > now);
    }

    pub(super) fn accused(&self, now: Instant) -> bool {
        self.is(Mark::Accused) && self.accused_until > now
    }

    // Demotion.

    /// So many bad requests without a good one in between need not wait for the share: a busy client would have too many reads
    /// out by then.
    const STREAK: u8 = 250;

    /// Whether nothing more than one late or slow request is needed to believe an accusation, and there was one.
    pub(super) fn confirms(&self, now: Instant, config: &Config) -> bool {
        self.accused(now)
            && (self.lateness(now, &config.impaired).1 > 0 || self.slow_legs(now, &config.health) > 0)
    }

    /// Whether the requests that were late, or those that were slow, are more than half of what was started within the window
    /// of lateness; or the last so many were. To read around a node that is only busy makes the others busy, too.
    pub(super) fn mostly_bad(&self, now: Instant, config: &Config) -> bool {
        let (started, late) = self.lateness(now, &config.impaired);
        self.streak >= Self::STREAK || late.max(self.slow_legs(now, &config.health)) * 2 > started
    }

    /// How it did while demoted.
    fn judge_leg(&mut self, bad: bool) {
        self.verdicts = self.verdicts << 1 | u8::from(bad);
    }

    /// Demotes the node. It is held twice as long as the last time, up to `hold_max`; one doubling is forgotten for
    /// each `hold_max` that it stood well since.
    pub(super) fn demote(&mut self, now: Instant, health: &Health) {
        let good = now.since(self.turned_at).as_nanos();
        let forgotten = good.checked_div(health.hold_max.as_nanos()).unwrap_or(u64::MAX);
        self.level = self.level.saturating_sub(u8::try_from(forgotten).unwrap_or(u8::MAX));
        if self.level == 0 || self.hold(health) < health.hold_max {
            self.level = self.level.saturating_add(1);
        }
        self.turned_at = now;
        self.around = 0;
        self.verdicts = 0;
        self.set(Mark::Demoted, true);
    }

    fn hold(&self, health: &Health) -> Span {
        let doublings = u32::from(self.level.saturating_sub(1)).min(63);
        let hold = health.hold.as_nanos().saturating_mul(1 << doublings);
        Span::from_nanos(hold.min(health.hold_max.as_nanos()))
    }

    pub(super) fn reinstate(&mut self, now: Instant) {
        self.turned_at = now;
        self.set(Mark::Demoted, false);
    }

    /// Whether a demoted node that is neither impaired nor slow any more may come back: its hold is over, and the
    /// newest verdict and all but one of the last eight are good. Bad ones count no more once nothing was heard of
    /// the node for another hold: it may have left, and must not keep its place among those demoted.
    pub(super) fn may_return(&self, now: Instant, health: &Health) -> bool {
        let hold = self.hold(health);
        let well = self.verdicts & 1 == 0 && self.verdicts.count_ones() <= 1;
        now.since(self.turned_at) >= hold && (well || now.since(self.seen_at) >= hold)
    }

    /// A read wants a cell of this demoted node: whether it may go there, to see how the node does.
    pub(super) fn probe(&mut self, every: u16, allowed: bool) -> bool {
        self.around = self.around.saturating_add(1);
        let due = allowed && self.around >= every;
        if due {
            self.around = 0;
        }
        due
    }
}
