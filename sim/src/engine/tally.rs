//! What is counted while reads are simulated, and what becomes of it.

use std::collections::BTreeSet;

use hedge_core::{HedgeResult, Reason};

use super::{DAY, Length};
use crate::{Latencies, Row};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// The counts of one seed, or of a part of its clients.
pub(super) struct Tally {
    pub(super) all: Latencies,
    pub(super) affected: Latencies,
    /// Requests that came, and those over within the time that is counted.
    pub(super) came: u64,
    pub(super) in_time: u64,
    pub(super) failed: u64,
    /// Cells that were wanted, and legs that were sent, but for those that replace failed ones.
    pub(super) wanted: u64,
    pub(super) sent: u64,
    pub(super) granted: u64,
    pub(super) won: u64,
    pub(super) refused: [u64; Reason::COUNT],
    pub(super) opened: u64,
    pub(super) thresholds: Vec<u64>,
    /// Minute and client of each request over 1 s and over 5 s.
    over_1s: BTreeSet<(u32, u32)>,
    over_5s: BTreeSet<(u32, u32)>,
    /// The slowest of each day.
    slowest: Vec<u64>,
    warm_up: u64,
    horizon: u64,
}

impl Tally {
    pub(super) fn new(Length { horizon, warm_up }: Length) -> Self {
        Self {
            all: Latencies::new(),
            affected: Latencies::new(),
            came: 0,
            in_time: 0,
            failed: 0,
            wanted: 0,
            sent: 0,
            granted: 0,
            won: 0,
            refused: [0; Reason::COUNT],
            opened: 0,
            thresholds: Vec::new(),
            over_1s: BTreeSet::new(),
            over_5s: BTreeSet::new(),
            slowest: vec![0; horizon.div_ceil(DAY).max(1) as usize],
            warm_up,
            horizon,
        }
    }

    /// Whether what happens to a request that came then counts.
    #[inline]
    pub(super) const fn counts(&self, began: u64) -> bool {
        began >= self.warm_up
    }

    /// What came before is not counted.
    pub(super) const fn warm_up(&self) -> u64 {
        self.warm_up
    }

    /// A request that counts is over.
    #[inline]
    pub(super) fn finished(&mut self, client: u32, began: u64, now: u64, affected: bool, ok: bool) {
        let took = now - began;
        if !ok {
            self.failed += 1;
        }
        self.in_time += u64::from(now <= self.horizon);
        self.all.record(took, 1);
        if affected {
            self.affected.record(took, 1);
        }
        if let Some(slowest) = self.slowest.get_mut((began / DAY) as usize) {
            *slowest = took.max(*slowest);
        }
        if took > SECOND {
            self.slow(client, began, took);
        }
    }

    #[cold]
    fn slow(&mut self, client: u32, began: u64, took: u64) {
        let minute = (began / MINUTE) as u32;
        self.over_1s.insert((minute, client));
        if took >= 5 * SECOND {
            self.over_5s.insert((minute, client));
        }
    }

    pub(super) fn settled(&mut self, result: HedgeResult) {
        self.won += u64::from(result == HedgeResult::Won);
    }

    pub(super) fn add(&mut self, other: Self) {
        self.all.add(&other.all);
        self.affected.add(&other.affected);
        self.came += other.came;
        self.in_time += other.in_time;
        self.failed += other.failed;
        self.wanted += other.wanted;
        self.sent += other.sent;
        self.granted += other.granted;
        self.won += other.won;
        for (refused, other) in self.refused.iter_mut().zip(other.refused) {
            *refused += other;
        }
        self.opened += other.opened;
        self.thresholds.extend(other.thresholds);
        self.over_1s.extend(other.over_1s);
        self.over_5s.extend(other.over_5s);
        for (slowest, other) in self.slowest.iter_mut().zip(other.slowest) {
            *slowest = other.max(*slowest);
        }
    }
}

/// Minutes of each day in which a client was slow.
fn minutes_of_days(slow: &BTreeSet<(u32, u32)>, days: usize) -> Vec<u64> {
    let mut minutes = vec![0; days];
    for &(minute, _) in slow {
        if let Some(day) = minutes.get_mut((u64::from(minute) * MINUTE / DAY) as usize) {
            *day += 1;
        }
    }
    minutes
}

/// The middle of numbers; 0 of none.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let at = |place: usize| numbers.get(place).copied().unwrap_or_default();
    match numbers.len() {
        0 => 0.0,
        count if count % 2 == 1 => at(count / 2),
        count => (at(count / 2 - 1) + at(count / 2)) / 2.0,
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// One row from the counts of all seeds, in their order.
pub(super) fn row(length: Length, policy: &str, shape: &str, clients: u32, seeds: Vec<Tally>) -> Row {
    let count = seeds.len().max(1) as f64;
    let p99_ms = seeds.iter().map(|tally| tally.all.quantile_ms(0.99)).collect();
    let stalled = |tally: &Tally| {
        let clients: BTreeSet<u32> = tally.over_5s.iter().map(|&(_, client)| client).collect();
        clients.len() as u64
    };
    let clients_over_5s = share(seeds.iter().map(stalled).sum(), u64::from(clients) * seeds.len() as u64);
    // What is counted of a day, as a share of it: less of the first, for the warm-up, and of the last.
    let part = |day: usize| {
        let begin = day as u64 * DAY;
        let (from, until) = (begin.max(length.warm_up), (begin + DAY).min(length.horizon));
        until.saturating_sub(from) as f64 / DAY as f64
    };
    // What is counted of a day stands for the whole, unless it is next to nothing of a longer run.
    let whole = (length.horizon - length.warm_up) as f64 / DAY as f64;
    let (mut over_1s, mut over_5s, mut days_over_5s, mut slowest) = (Vec::new(), 0, 0, Vec::new());
    let (mut all, mut days): (Option<Tally>, u64) = (None, 0);
    for tally in seeds {
        let count = tally.slowest.len();
        let minutes =
            minutes_of_days(&tally.over_1s, count).into_iter().zip(minutes_of_days(&tally.over_5s, count));
        for (day, ((one, five), &slow)) in minutes.zip(&tally.slowest).enumerate() {
            if part(day) >= (0.01_f64).min(whole / 2.0) {
                over_1s.push(one as f64 / part(day));
                over_5s += five;
                days_over_5s += u64::from(five > 0);
                days += 1;
                slowest.push(slow as f64);
            }
        }
        match &mut all {
            Some(all) => all.add(tally),
            None => all = Some(tally),
        }
    }
    let all = all.unwrap_or_else(|| Tally::new(length));
    Row {
        policy: policy.to_owned(),
        shape: shape.to_owned(),
        days: whole * count,
        reads: all.all.reads(),
        failed: all.failed,
        host_minutes_over_1s: median(over_1s),
        host_minutes_over_5s: over_5s as f64 / (whole * count),
        days_over_5s: share(days_over_5s, days),
        clients_over_5s,
        hedges: all.granted,
        hedges_per_million: share(all.granted * 1_000_000, all.all.reads()),
        win_share: share(all.won, all.granted),
        extra_cell_share: share(all.sent.saturating_sub(all.wanted), all.wanted),
        refused: all.refused,
        opened: all.opened,
        threshold_ms: median(all.thresholds.iter().map(|&threshold| threshold as f64).collect()) / 1e6,
        max_ms: median(slowest) / 1e6,
        p99_ms,
        throughput: share(all.in_time, all.came),
        all: all.all,
        affected: all.affected,
    }
}
