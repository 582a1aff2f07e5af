//! The breaker: hedging stops for all when too many nodes are late at once, or when hedges are of no use,
//! and starts again after a cooldown, by a few probes.

use core::fmt;

use super::counters::{Counters, add};
use crate::{Breaking, HedgeResult, Instant, Permit, Probes, Span, Useful};

/// The most probes that can be out at one time.
const MOST_PROBES: usize = 8;

/// The three states of a breaker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BreakerState {
    /// Hedges are granted.
    Closed,
    /// None is.
    Open,
    /// A few are, to see what comes of them.
    HalfOpen,
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum State {
    Closed,
    Open,
    HalfOpen { settled: u8, next: u8, leases: [Option<Lease>; MOST_PROBES] },
}

/// A probe that is out. Its number tells it from an earlier holder of the same place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Lease {
    number: u8,
    since: Instant,
}

/// The last outcomes of this epoch, the newest in bit 0; a set bit is a win. None is longer than a window before the next: what
/// stragglers of quiet times lost in an hour says nothing of the incident that begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Outcomes {
    won: u64,
    count: u8,
    last: Instant,
}

impl Outcomes {
    fn add(&mut self, now: Instant, window: Span, won: bool) {
        if now.since(self.last) > window {
            *self = Self::default();
        }
        self.last = now;
        self.won = self.won << 1 | u64::from(won);
        self.count = self.count.saturating_add(1).min(64);
    }

    /// Whether there are enough of them, and too few are wins.
    fn useless(&self, useful: &Useful) -> bool {
        let looked_at = match useful.outcomes {
            0 => 0,
            outcomes @ 1..64 => self.won & ((1 << outcomes) - 1),
            64.. => self.won,
        };
        self.count >= useful.outcomes.min(64) && looked_at.count_ones() < u32::from(useful.least_won)
    }
}

/// Whether a petition may pass the breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gate {
    Pass,
    /// As a probe, with a lease.
    Probe,
    /// Not before this.
    Wait(Instant),
}

/// Closed, open or half-open, since when, and in which epoch. Every transition starts an epoch; outcomes and
/// crossings of other epochs move nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Breaker {
    state: State,
    since: Instant,
    epoch: u32,
    outcomes: Outcomes,
}

impl Breaker {
    pub(super) fn new() -> Self {
        Self { state: State::Closed, since: Instant::ZERO, epoch: 0, outcomes: Outcomes::default() }
    }

    pub(super) fn state(&self) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    pub(super) const fn since(&self) -> Instant {
        self.since
    }

    pub(super) const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// When the state changes if nothing happens.
    pub(super) fn until(&self, rules: &Breaking, window: Span) -> Option<Instant> {
        match self.state {
            State::Closed => None,
            State::Open => Some(self.since + rules.cooldown),
            State::HalfOpen { .. } => Some(self.since + window),
        }
    }

    /// Lets time act. `too_many` tells whether too many nodes are impaired by the crossings of this epoch.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        rules: &Breaking,
        window: Span,
        counters: &mut Counters,
        too_many: impl FnOnce(u32) -> bool,
    ) {
        match (&mut self.state, &rules.probes) {
            (State::Open, probes) if now >= self.since + rules.cooldown => {
                counters.time_open = counters.time_open.saturating_add(rules.cooldown);
                match probes {
                    None => self.turn(now, State::Closed),
                    Some(_) if too_many(self.epoch) => {
                        add(&mut counters.trips_impaired, 1);
                        self.turn(now, State::Open);
                    }
                    Some(_) => {
                        let leases = [None; MOST_PROBES];
                        self.turn(now, State::HalfOpen { settled: 0, next: 0, leases });
                    }
                }
            }
            (State::HalfOpen { .. }, None) => self.turn(now, State::Closed),
            (State::HalfOpen { settled, leases, .. }, Some(probes)) => {
                if *settled >= probes.count || now >= self.since + window {
                    self.turn(now, State::Closed);
                    return;
                }
                for lease in leases {
                    lease.take_if(|lease| now >= lease.since + probes.lease);
                }
            }
            (State::Closed | State::Open, _) => {}
        }
    }

    /// The cooldown will be another one. Of a shorter one less is counted as open when it is over than has passed
    /// already: the difference is counted now, so that the time open never falls.
    pub(super) fn change_cooldown(&self, now: Instant, cooldown: Span, counters: &mut Counters) {
        if self.state == State::Open {
            let beyond = (now - self.since).saturating_sub(cooldown);
            counters.time_open = counters.time_open.saturating_add(beyond);
        }
    }

    /// A leg was late: opens, if that is too many nodes.
    pub(super) fn crossing(&mut self, now: Instant, too_many: bool, counters: &mut Counters) {
        if too_many && !matches!(self.state, State::Open) {
            add(&mut counters.trips_impaired, 1);
            self.turn(now, State::Open);
        }
    }

    /// May a hedge pass? After [`advance`](Self::advance) only.
    pub(super) fn ask(&self, now: Instant, rules: &Breaking) -> Gate {
        match (&self.state, &rules.probes) {
            (State::Closed, _) | (State::HalfOpen { .. }, None) => Gate::Pass,
            (State::Open, _) => Gate::Wait(self.since + rules.cooldown),
            (State::HalfOpen { leases, .. }, Some(probes)) => {
                let mut out = leases.iter().flatten().map(|lease| lease.since + probes.lease);
                if leases.iter().flatten().count() < most(probes) {
                    return Gate::Probe;
                }
                let first = out.next().unwrap_or(now);
                Gate::Wait(out.fold(first, Instant::min))
            }
        }
    }

    /// Takes the lease that [`Gate::Probe`] promised, and returns its number.
    pub(super) fn lease(&mut self, now: Instant) -> Option<u8> {
        let State::HalfOpen { next, leases, .. } = &mut self.state else { return None };
        // At most seven numbers are taken.
        while leases.iter().flatten().any(|lease| lease.number == *next) {
            *next = next.wrapping_add(1);
        }
        let number = *next;
        let free = leases.iter_mut().find(|lease| lease.is_none())?;
        *free = Some(Lease { number, since: now });
        *next = number.wrapping_add(1);
        Some(number)
    }

    /// A hedge is settled. `overspent` tells whether hedges cost so much that they have to be of use.
    pub(super) fn outcome(
        &mut self,
        now: Instant,
        rules: &Breaking,
        window: Span,
        outcome: (Permit, u8, HedgeResult),
        counters: &mut Counters,
        overspent: impl FnOnce(u32) -> bool,
    ) {
        let (permit, cells, result) = outcome;
        if permit.epoch != self.epoch {
            add(&mut counters.stale_outcomes, 1);
            return;
        }
        let won = match result {
            HedgeResult::Won if cells > 0 => Some(true),
            HedgeResult::Lost if cells > 0 => Some(false),
            _ => None,
        };
        if let (State::HalfOpen { settled, leases, .. }, Some(number)) = (&mut self.state, permit.probe)
            && let Some(lease) =
                leases.iter_mut().find(|lease| lease.is_some_and(|lease| lease.number == number))
        {
            *lease = None;
            *settled = settled.saturating_add(u8::from(won.is_some()));
            if rules.probes.is_some_and(|probes| *settled >= probes.count) {
                self.turn(now, State::Closed);
                return;
            }
        }
        let Some(won) = won else { return };
        self.outcomes.add(now, window, won);
        if let (State::Closed, Some(useful)) = (&self.state, &rules.useful)
            && self.outcomes.useless(useful)
            && overspent(useful.spend_ppm)
        {
            add(&mut counters.trips_useless, 1);
            self.turn(now, State::Open);
        }
    }

    fn turn(&mut self, now: Instant, state: State) {
        *self = Self { state, since: now, epoch: self.epoch.wrapping_add(1), outcomes: Outcomes::default() };
    }
}

fn most(probes: &Probes) -> usize {
    usize::from(probes.count).min(MOST_PROBES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOLDOWN: Span = Span::from_secs(30);
    const WINDOW: Span = Span::from_secs(60);
    const LEASE: Span = Span::from_secs(10);
    const RULES: Breaking = Breaking {
        max_impaired_nodes: 2,
        max_impaired_percent: 0,
        cooldown: COOLDOWN,
        probes: Some(Probes { count: 2, lease: LEASE }),
        useful: Some(Useful { outcomes: 4, least_won: 2, spend_ppm: 10_000 }),
    };

    /// A breaker, its rules and its clock.
    #[derive(Clone)]
    struct Bench {
        breaker: Breaker,
        rules: Breaking,
        counters: Counters,
        now: Instant,
    }

    impl Bench {
        fn closed() -> Self {
            Self {
                breaker: Breaker::new(),
                rules: RULES,
                counters: Counters::default(),
                now: Instant::from_millis(7),
            }
        }

        fn open() -> Self {
            let mut bench = Self::closed();
            bench.crossing(true);
            bench
        }

        fn half_open() -> Self {
            let mut bench = Self::open();
            bench.wait(COOLDOWN, false);
            bench
        }

        fn wait(&mut self, span: Span, too_many: bool) {
            self.now += span;
            self.breaker.advance(self.now, &self.rules, WINDOW, &mut self.counters, |_| too_many);
        }

        fn crossing(&mut self, too_many: bool) {
            self.breaker.crossing(self.now, too_many, &mut self.counters);
        }

        fn ask(&self) -> Gate {
            self.breaker.ask(self.now, &self.rules)
        }

        fn granted(&mut self) -> Permit {
            let probe = match self.ask() {
                Gate::Pass => None,
                Gate::Probe => self.breaker.lease(self.now),
                Gate::Wait(until) => panic!("refused until {until:?}"),
            };
            Permit { epoch: self.breaker.epoch(), probe }
        }

        fn settle(&mut self, permit: Permit, cells: u8, result: HedgeResult) {
            let outcome = (permit, cells, result);
            self.breaker.outcome(self.now, &self.rules, WINDOW, outcome, &mut self.counters, |_| true);
        }

        fn settled(&mut self, result: HedgeResult) {
            let permit = self.granted();
            self.settle(permit, 6, result);
        }

        fn state(&self) -> BreakerState {
            self.breaker.state()
        }
    }

    use BreakerState::{Closed, HalfOpen, Open};

    #[test]
    fn closed_stays_closed_while_few_nodes_are_impaired() {
        let mut bench = Bench::closed();
        bench.crossing(false);
        assert_eq!((bench.state(), bench.ask(), bench.breaker.epoch()), (Closed, Gate::Pass, 0));
    }

    #[test]
    fn closed_opens_for_too_many_impaired_nodes_until_the_cooldown_is_over() {
        let bench = Bench::open();
        assert_eq!((bench.state(), bench.ask()), (Open, Gate::Wait(bench.now + COOLDOWN)));
        assert_eq!((bench.breaker.epoch(), bench.counters.trips_impaired), (1, 1));
    }

    #[test]
    fn closed_opens_when_too_small_a_share_of_enough_outcomes_is_won() {
        let mut bench = Bench::closed();
        for result in [HedgeResult::Won, HedgeResult::Lost, HedgeResult::Lost] {
            bench.settled(result);
            assert_eq!(bench.state(), Closed, "three outcomes are not enough");
        }
        bench.settled(HedgeResult::Lost);
        assert_eq!((bench.state(), bench.counters.trips_useless), (Open, 1));
    }

    #[test]
    fn only_the_last_outcomes_are_looked_at() {
        let mut bench = Bench::closed();
        for _ in 0..100 {
            bench.settled(HedgeResult::Won);
        }
        bench.settled(HedgeResult::Lost);
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), Closed, "two of the last four were won");
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), Open);
    }

    #[test]
    fn outcomes_before_a_pause_of_a_window_are_forgotten() {
        let mut bench = Bench::closed();
        for pause in [WINDOW, WINDOW.saturating_add(Span::from_nanos(1))] {
            for _ in 0..3 {
                bench.settled(HedgeResult::Lost);
            }
            assert_eq!(bench.state(), Closed);
            bench.now += pause;
            bench.settled(HedgeResult::Lost);
            // A pause of exactly a window is none; then the breaker starts anew.
            assert_eq!(bench.state() == Closed, pause > WINDOW);
            bench = Bench::closed();
        }
    }

    #[test]
    fn sixty_four_outcomes_can_be_looked_at() {
        let mut bench = Bench::closed();
        bench.rules.useful = Some(Useful { outcomes: 64, least_won: 64, spend_ppm: 0 });
        for _ in 0..200 {
            bench.settled(HedgeResult::Won);
        }
        assert_eq!(bench.state(), Closed);
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), Open);
    }

    #[test]
    fn hedges_that_cost_little_need_not_be_of_use() {
        let mut bench = Bench::closed();
        for _ in 0..100 {
            let outcome = (bench.granted(), 6, HedgeResult::Lost);
            bench.breaker.outcome(
                bench.now,
                &bench.rules,
                WINDOW,
                outcome,
                &mut bench.counters,
                |spend_ppm| {
                    assert_eq!(spend_ppm, 10_000);
                    false
                },
            );
        }
        assert_eq!(bench.state(), Closed);
    }

    #[test]
    fn open_stays_open_whatever_crosses() {
        let mut bench = Bench::open();
        let before = bench.breaker;
        bench.wait(Span::from_secs(29), true);
        bench.crossing(true);
        bench.crossing(false);
        assert_eq!((bench.breaker, bench.counters.trips_impaired), (before, 1));
    }

    #[test]
    fn open_opens_anew_if_too_many_nodes_were_impaired_meanwhile() {
        let mut bench = Bench::open();
        bench.wait(COOLDOWN, true);
        assert_eq!((bench.state(), bench.breaker.epoch()), (Open, 2));
        assert_eq!(bench.ask(), Gate::Wait(bench.now + COOLDOWN));
        assert_eq!(bench.counters.time_open, COOLDOWN);
    }

    #[test]
    fn open_becomes_half_open_the_instant_the_cooldown_is_over() {
        let mut bench = Bench::open();
        bench.wait(Span::from_nanos(COOLDOWN.as_nanos() - 1), false);
        assert_eq!(bench.state(), Open);
        bench.wait(Span::from_nanos(1), false);
        assert_eq!((bench.state(), bench.breaker.epoch()), (HalfOpen, 2));
    }

    #[test]
    fn without_probes_open_closes_whatever_was_impaired() {
        let mut bench = Bench::open();
        bench.rules.probes = None;
        bench.wait(COOLDOWN, true);
        assert_eq!((bench.state(), bench.ask()), (Closed, Gate::Pass));
    }

    #[test]
    fn half_open_opens_for_too_many_impaired_nodes() {
        let mut bench = Bench::half_open();
        bench.crossing(false);
        assert_eq!(bench.state(), HalfOpen);
        bench.crossing(true);
        assert_eq!((bench.state(), bench.counters.trips_impaired), (Open, 2));
    }

    #[test]
    fn half_open_grants_exactly_the_probes() {
        let mut bench = Bench::half_open();
        let mut granted = 0;
        for _ in 0..1000 {
            match bench.ask() {
                Gate::Probe => {
                    bench.granted();
                    granted += 1;
                }
                gate => assert_eq!(gate, Gate::Wait(bench.now + LEASE)),
            }
        }
        assert_eq!(granted, 2);
    }

    #[test]
    fn half_open_refuses_until_the_earliest_lease_ends() {
        let mut bench = Bench::half_open();
        let first = bench.now;
        bench.granted();
        bench.wait(Span::from_secs(3), false);
        bench.granted();
        assert_eq!(bench.ask(), Gate::Wait(first + LEASE));
        bench.wait(Span::from_secs(7), false);
        assert_eq!(bench.ask(), Gate::Probe);
        bench.granted();
        assert_eq!(bench.ask(), Gate::Wait(first + Span::from_secs(13)));
    }

    #[test]
    fn half_open_closes_when_enough_probes_are_settled() {
        for results in [[HedgeResult::Won, HedgeResult::Lost], [HedgeResult::Lost, HedgeResult::Won]] {
            let mut bench = Bench::half_open();
            bench.settled(results[0]);
            assert_eq!(bench.state(), HalfOpen);
            bench.settled(results[1]);
            assert_eq!((bench.state(), bench.breaker.epoch()), (Closed, 3));
        }
    }

    #[test]
    fn half_open_does_not_open_for_lost_probes() {
        let mut bench = Bench::half_open();
        bench.rules.useful = Some(Useful { outcomes: 1, least_won: 1, spend_ppm: 0 });
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), HalfOpen);
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), Closed);
    }

    #[test]
    fn half_open_frees_the_lease_of_a_probe_that_settles_nothing() {
        for (cells, result) in [
            (6, HedgeResult::Void),
            (6, HedgeResult::Unused),
            (0, HedgeResult::Won),
            (0, HedgeResult::Lost),
            (0, HedgeResult::Void),
            (0, HedgeResult::Unused),
        ] {
            let mut bench = Bench::half_open();
            for _ in 0..300 {
                let permit = bench.granted();
                bench.settle(permit, cells, result);
                assert_eq!((bench.state(), bench.ask()), (HalfOpen, Gate::Probe), "{cells} {result:?}");
            }
        }
    }

    #[test]
    fn a_stuck_probe_is_given_up_when_its_lease_is_over() {
        let mut bench = Bench::half_open();
        let stuck = [(); 2].map(|()| bench.granted());
        bench.wait(Span::from_nanos(LEASE.as_nanos() - 1), false);
        assert_ne!(bench.ask(), Gate::Probe);
        bench.wait(Span::from_nanos(1), false);
        let (second, third) = (bench.granted(), bench.granted());
        assert_ne!(bench.ask(), Gate::Probe);
        // They come back when others hold the leases: those stay, and these count for nothing.
        for permit in stuck {
            bench.settle(permit, 6, HedgeResult::Won);
            assert_ne!(bench.ask(), Gate::Probe);
        }
        bench.settle(second, 6, HedgeResult::Won);
        assert_eq!(bench.state(), HalfOpen);
        bench.settle(third, 6, HedgeResult::Won);
        assert_eq!(bench.state(), Closed);
    }

    #[test]
    fn half_open_closes_after_a_window_without_a_trip() {
        let mut bench = Bench::half_open();
        bench.granted();
        bench.wait(Span::from_nanos(WINDOW.as_nanos() - 1), true);
        assert_eq!(bench.state(), HalfOpen);
        bench.wait(Span::from_nanos(1), true);
        assert_eq!(bench.state(), Closed);
    }

    #[test]
    fn outcomes_of_another_epoch_change_nothing_but_a_counter() {
        let mut old = Bench::half_open();
        let permit = old.granted();
        old.crossing(true);
        old.wait(COOLDOWN, false);
        let mut fresh_probe = old.clone();
        fresh_probe.granted();
        let mut closed = old.clone();
        closed.settled(HedgeResult::Won);
        closed.settled(HedgeResult::Won);
        for mut bench in [old, fresh_probe, closed, Bench::open(), Bench::closed()] {
            let before = bench.breaker;
            for (count, result) in
                (1..).zip([HedgeResult::Won, HedgeResult::Lost, HedgeResult::Void, HedgeResult::Unused])
            {
                bench.settle(permit, 6, result);
                assert_eq!((bench.breaker, bench.counters.stale_outcomes), (before, count));
            }
        }
    }

    #[test]
    fn a_transition_clears_the_record_of_usefulness() {
        let mut bench = Bench::closed();
        for _ in 0..3 {
            bench.settled(HedgeResult::Lost);
        }
        bench.crossing(true);
        bench.wait(COOLDOWN, false);
        bench.settled(HedgeResult::Lost);
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), Closed, "by two settled probes");
        for _ in 0..3 {
            bench.settled(HedgeResult::Lost);
            assert_eq!(bench.state(), Closed, "the lost probes count no more");
        }
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), Open);
    }

    #[test]
    fn void_and_free_hedges_are_not_in_the_record_of_usefulness() {
        let mut bench = Bench::closed();
        for _ in 0..100 {
            bench.settled(HedgeResult::Void);
            bench.settled(HedgeResult::Unused);
            let permit = bench.granted();
            bench.settle(permit, 0, HedgeResult::Lost);
        }
        assert_eq!(bench.state(), Closed);
    }

    #[test]
    fn new_rules_act_at_once_and_never_trip() {
        let mut bench = Bench::open();
        bench.rules.cooldown = Span::from_secs(1);
        assert_eq!(bench.ask(), Gate::Wait(bench.now + Span::from_secs(1)));
        bench.wait(Span::from_secs(1), false);
        assert_eq!(bench.state(), HalfOpen);
        bench.granted();
        bench.granted();
        bench.rules.probes = Some(Probes { count: 3, lease: LEASE });
        assert_eq!(bench.ask(), Gate::Probe, "one more may be out");
        bench.rules.probes = Some(Probes { count: 2, lease: Span::from_secs(2) });
        assert_eq!(bench.ask(), Gate::Wait(bench.now + Span::from_secs(2)));
        bench.rules.probes = Some(Probes { count: 1, lease: LEASE });
        assert_eq!(bench.ask(), Gate::Wait(bench.now + LEASE));
        bench.rules.probes = None;
        bench.wait(Span::ZERO, true);
        assert_eq!(bench.state(), Closed);
        for _ in 0..3 {
            bench.settled(HedgeResult::Lost);
        }
        bench.rules.useful = Some(Useful { outcomes: 3, least_won: 3, spend_ppm: 0 });
        bench.wait(Span::ZERO, true);
        assert_eq!(bench.state(), Closed);
        bench.settled(HedgeResult::Lost);
        assert_eq!(bench.state(), Open, "with the next evidence");
    }

    /// resilience4j 674: a transition that was not foreseen threw.
    #[test]
    fn every_state_answers_every_input() {
        let results = [HedgeResult::Won, HedgeResult::Lost, HedgeResult::Void, HedgeResult::Unused];
        for bench in [Bench::closed(), Bench::open(), Bench::half_open()] {
            for span in [Span::ZERO, LEASE, COOLDOWN, WINDOW, Span::MAX] {
                for too_many in [false, true] {
                    for probes in [None, RULES.probes, Some(Probes { count: u8::MAX, lease: Span::ZERO })] {
                        let mut bench = bench.clone();
                        bench.rules.probes = probes;
                        bench.wait(span, too_many);
                        for probe in [None, Some(0), Some(u8::MAX)] {
                            for result in results {
                                for epoch in [0, 1, 2, u32::MAX] {
                                    let mut bench = bench.clone();
                                    bench.settle(Permit { epoch, probe }, 6, result);
                                    bench.crossing(too_many);
                                    bench.breaker.lease(bench.now);
                                    bench.wait(Span::ZERO, too_many);
                                    if too_many && span == Span::ZERO && probes.is_some() {
                                        assert_eq!(bench.state(), Open);
                                    }
                                    assert!(matches!(
                                        (bench.state(), bench.ask()),
                                        (Closed, Gate::Pass)
                                            | (Open, Gate::Wait(_))
                                            | (HalfOpen, Gate::Probe | Gate::Wait(_))
                                    ));
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn states_have_the_names_that_operators_know() {
        use std::string::ToString;
        assert_eq!([Closed, Open, HalfOpen].map(|state| state.to_string()), ["closed", "open", "half-open"]);
    }
}
