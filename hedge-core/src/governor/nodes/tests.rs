use std::collections::HashSet;
use std::vec::Vec;
use std::{format, vec};

use super::*;
use crate::{Breaking, Cause, LegEnd, Threshold};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Slow above 1 s, more than three times in 60 s; impaired from three late legs and 20 % on; holds of 10 s to 160 s.
fn config() -> Config {
    Config {
        enabled: true,
        dry_run: false,
        threshold: Threshold::Fixed(Span::from_millis(250)),
        stall: None,
        connect_counts: true,
        spare: 0,
        retry_floor: Span::from_millis(1),
        impaired: Impaired {
            window: Span::from_secs(60),
            legs: 3,
            share_percent: 20,
            record: Record::Always,
        },
        breaker: Breaking {
            max_impaired_nodes: 2,
            max_impaired_percent: 0,
            cooldown: Span::from_secs(30),
            probes: None,
            useful: None,
        },
        max_per_second: 200,
        budget: None,
        health: Health {
            window: Span::from_secs(60),
            limit: 3,
            slow_leg: Span::from_secs(1),
            slow_connect: Span::from_millis(500),
            demote: true,
            max_demoted_percent: 20,
            probe_every: 10,
            hold: Span::from_secs(10),
            hold_max: Span::from_secs(160),
        },
    }
}

/// One late leg is enough.
fn one_is_enough() -> Config {
    let mut config = config();
    config.impaired.legs = 1;
    config.impaired.share_percent = 0;
    config
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn millis(millis: u64) -> Leg {
    Leg {
        request: RequestId::NONE,
        connect_micros: None,
        took: Span::from_millis(millis),
        end: LegEnd::Delivered,
    }
}

type Ten = Nodes<[NodeState; 10]>;

/// Ten nodes of which each was seen once, at the origin.
fn ten(config: &Config) -> Ten {
    let mut nodes = Ten::new();
    for node in 0..10 {
        assert!(view(&mut nodes).leg(at(0), NodeId(node), &millis(2), config));
    }
    nodes
}

fn view(nodes: &mut Ten) -> &mut Nodes<[NodeState]> {
    nodes
}

/// Makes the node slow: one slow leg more than the limit.
fn slow_down(nodes: &mut Nodes<[NodeState]>, now: Instant, node: u32, config: &Config) {
    for _ in 0..=config.health.limit {
        nodes.leg(now, NodeId(node), &millis(3_000), config);
    }
}

const EVERY_NODE: [NodeId; 10] = {
    let mut node = [NodeId(0); 10];
    let mut number = 0;
    while number < 10 {
        node[number] = NodeId(number as u32);
        number += 1;
    }
    node
};

/// Prepares a read of one cell, which lies on the node of its number.
fn want(nodes: &mut Nodes<[NodeState]>, now: Instant, cell: u8, config: &Config) -> Wary {
    let mut order: [u8; 10] = core::array::from_fn(|cell| cell as u8);
    nodes.prepare(now, config, &EVERY_NODE, &mut order, CellSet::one(cell))
}

/// What the counters of the whole say is what the nodes say one by one.
fn check_counters(nodes: &Nodes<[NodeState]>) {
    let count = |mark| nodes.states.iter().filter(|state| state.is(mark)).count() as u32;
    assert_eq!(nodes.known, count(Mark::Known));
    assert_eq!(nodes.suspects, count(Mark::Suspect));
    assert_eq!(nodes.demoted, count(Mark::Demoted));
    let high = nodes.states.iter().rposition(|state| state.is(Mark::Known)).map_or(0, |last| last + 1);
    assert_eq!(nodes.high as usize, high);
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn a_node_is_remembered_in_80_bytes() {
    assert!(size_of::<NodeState>() <= 80, "{}", size_of::<NodeState>());
    assert!(size_of::<Nodes<[NodeState; 1024]>>() <= 80 * 1024 + 24);
}

// Late legs.

#[test]
fn legs_of_one_request_are_late_once() {
    let config = config();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    let cross = |nodes: &mut Nodes<[NodeState]>, request| {
        nodes.cross(at(5), NodeId(4), RequestId(request), 0, &config)
    };
    assert_eq!(cross(nodes, 7), Crossing::Counted);
    assert_eq!(cross(nodes, 7), Crossing::Ignored);
    assert_eq!(cross(nodes, 8), Crossing::Counted);
    assert_eq!(cross(nodes, 8), Crossing::Ignored);
    for _ in 0..3 {
        assert_eq!(cross(nodes, 0), Crossing::Counted, "a request of its own");
    }
    // Those without a request do not let one of a request count twice.
    assert_eq!(cross(nodes, 8), Crossing::Ignored);
    let health = nodes.health(at(5), NodeId(4), &config).unwrap();
    assert_eq!((health.late, health.started), (5, 5));
}

#[test]
fn an_unknown_node_is_said_to_be_unknown_and_changes_nothing() {
    let config = one_is_enough();
    let mut nodes = ten(&config);
    let before = nodes.clone();
    for node in [NodeId(10), NodeId(11), NodeId::UNKNOWN] {
        let nodes = view(&mut nodes);
        assert!(!nodes.knows(node));
        assert_eq!(nodes.cross(at(1), node, RequestId(1), 0, &config), Crossing::Unknown);
        assert_eq!(nodes.granted(at(1), node, RequestId(1), 0, &config), Crossing::Unknown);
        assert!(!nodes.leg(at(1), node, &millis(9_000), &config));
        assert!(!nodes.impaired(at(1), node, &config.impaired));
        assert!(!nodes.slow(at(1), node, &config.health));
        assert!(!nodes.suspect(at(1), node, &config) && !nodes.demoted(node));
        assert_eq!(nodes.health(at(1), node, &config), None);
    }
    assert_eq!(nodes, before);
}

#[test]
fn where_one_late_leg_is_enough_it_counts_for_exactly_the_window() {
    let config = one_is_enough();
    let window = config.impaired.window.as_nanos();
    for start in [0, 1, 17 * SECOND, u64::MAX - 2 * window] {
        // However the half-windows lie, and however many legs were on time.
        for offset in [0, 1, window / 2 - 1, window / 2, window - 1] {
            let mut nodes = Ten::new();
            let nodes = view(&mut nodes);
            for _ in 0..500 {
                nodes.leg(at(start), NodeId(3), &millis(1), &config);
            }
            let late = start + offset;
            nodes.cross(at(late), NodeId(3), RequestId::NONE, 6, &config);
            for (age, impaired) in
                [(0, true), (window / 2, true), (window - 1, true), (window, true), (window + 1, false)]
            {
                let now = at(late.saturating_add(age));
                assert_eq!(nodes.impaired(now, NodeId(3), &config.impaired), impaired, "{offset} {age}");
                let count = u32::from(impaired);
                assert_eq!(nodes.impaired_count(now, &config.impaired, None), count);
                assert_eq!(nodes.impaired_count(now, &config.impaired, Some(6)), count);
                assert_eq!(nodes.impaired_count(now, &config.impaired, Some(5)), 0);
            }
        }
    }
}

#[test]
fn a_node_is_impaired_from_so_many_late_legs_and_beyond_the_share() {
    let config = config();
    for on_time in 0..30_u32 {
        for late in 0..10_u32 {
            let mut nodes = Ten::new();
            let nodes = view(&mut nodes);
            for _ in 0..on_time {
                nodes.leg(at(9), NodeId(0), &millis(1), &config);
            }
            for _ in 0..late {
                nodes.cross(at(9), NodeId(0), RequestId::NONE, 0, &config);
            }
            let expected = late >= 3 && late * 100 > (late + on_time) * 20;
            assert_eq!(nodes.impaired(at(9), NodeId(0), &config.impaired), expected, "{late} {on_time}");
        }
    }
}

#[test]
fn the_share_never_exceeds_one_and_each_leg_counts_once_in_it() {
    let config = config();
    let mut random = Random(11);
    for round in 0..200 {
        let mut nodes = Ten::new();
        let nodes = view(&mut nodes);
        // Legs with a start and an end, late when they take longer than 30 ms; some ride in pairs.
        let mut events = Vec::new();
        let mut late = 0;
        for number in 0..60_u64 {
            let start = SECOND + random.below(20_000) * MS;
            let took = if random.below(4) == 0 { 31 + random.below(900) } else { 1 + random.below(30) };
            let request = if random.below(2) == 0 { RequestId(number as u32 + 1) } else { RequestId::NONE };
            let legs = if request == RequestId::NONE { 1 } else { 1 + random.below(2) };
            for _ in 0..legs {
                if took > 30 {
                    events.push((start + 30 * MS, None, request));
                }
                events.push((start + took * MS, Some(took), request));
            }
            late += u32::from(took > 30);
        }
        events.sort_by_key(|event| event.0);
        let mut seen = 0;
        for (now, end, request) in events {
            match end {
                Some(took) => {
                    nodes.leg(at(now), NodeId(1), &Leg { request, ..millis(took) }, &config);
                }
                None => {
                    nodes.cross(at(now), NodeId(1), request, 0, &config);
                }
            }
            let health = nodes.health(at(now), NodeId(1), &config).unwrap();
            assert!(health.late <= health.started && health.started >= seen);
            seen = health.started;
        }
        let health = nodes.health(at(30 * SECOND), NodeId(1), &config).unwrap();
        // Pairs are told apart by the last request alone, so that pairs that overlap may count more than once.
        assert!((60..=90).contains(&health.started), "round {round}: {}", health.started);
        assert!(health.late >= late && health.late <= late + 8, "round {round}: {} {late}", health.late);
    }
}

#[test]
fn a_late_leg_counts_as_started_from_its_lateness_on_and_not_again_at_its_end() {
    let config = config();
    for request in [RequestId::NONE, RequestId(5)] {
        let mut nodes = Ten::new();
        let nodes = view(&mut nodes);
        let counts = |nodes: &Nodes<[NodeState]>| {
            let health = nodes.health(at(SECOND), NodeId(0), &config).unwrap();
            (health.late, health.started)
        };
        nodes.cross(at(SECOND), NodeId(0), request, 0, &config);
        assert_eq!(counts(nodes), (1, 1));
        // One that began after that lateness is another.
        nodes.leg(at(SECOND + 10 * MS), NodeId(0), &millis(2), &config);
        assert_eq!(counts(nodes), (1, 2));
        nodes.leg(at(SECOND + 300 * MS), NodeId(0), &Leg { request, ..millis(550) }, &config);
        assert_eq!(counts(nodes), (1, 2));
        nodes.leg(at(SECOND + 400 * MS), NodeId(0), &millis(800), &config);
        assert_eq!(counts(nodes), (1, 3));
    }
}

#[test]
fn counts_beyond_the_counters_keep_the_share() {
    let config = config();
    let mut random = Random(3);
    for (percent, impaired) in [(19, false), (21, true), (100, true)] {
        let mut nodes = Ten::new();
        let nodes = view(&mut nodes);
        for _ in 0..300_000 {
            if random.below(10_000) < percent * 100 {
                nodes.cross(at(SECOND), NodeId(0), RequestId::NONE, 0, &config);
                nodes.leg(at(SECOND), NodeId(0), &millis(400), &config);
            } else {
                nodes.leg(at(SECOND + 1), NodeId(0), &Leg { took: Span::ZERO, ..millis(0) }, &config);
            }
        }
        assert_eq!(nodes.impaired(at(SECOND), NodeId(0), &config.impaired), impaired, "{percent} %");
    }
    // Few late ones of very many are never lost, nor taken for a large share.
    let mut any_share = config;
    any_share.impaired.share_percent = 0;
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    for round in 0..300_000 {
        if round % 100_000 == 0 {
            nodes.cross(at(0), NodeId(0), RequestId::NONE, 0, &config);
        }
        nodes.leg(at(1), NodeId(0), &Leg { took: Span::ZERO, ..millis(0) }, &config);
    }
    assert!(nodes.impaired(at(1), NodeId(0), &any_share.impaired));
    assert!(!nodes.impaired(at(1), NodeId(0), &Impaired { share_percent: 1, ..any_share.impaired }));
}

#[test]
fn where_only_granted_ones_count_a_refused_late_leg_is_no_evidence() {
    let mut config = one_is_enough();
    config.impaired.record = Record::WhenGranted;
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    let request = RequestId(3);
    assert_eq!(nodes.cross(at(1), NodeId(2), request, 0, &config), Crossing::Ignored);
    assert!(!nodes.impaired(at(1), NodeId(2), &config.impaired));
    assert_eq!(nodes.granted(at(2), NodeId(2), request, 0, &config), Crossing::Counted);
    assert_eq!(nodes.granted(at(3), NodeId(2), request, 0, &config), Crossing::Ignored);
    assert!(nodes.impaired(at(1), NodeId(2), &config.impaired));
    // And where all count, a grant adds nothing.
    let config = one_is_enough();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    assert_eq!(nodes.granted(at(2), NodeId(2), request, 0, &config), Crossing::Ignored);
    assert_eq!(nodes.impaired_count(at(2), &config.impaired, None), 0);
}

#[test]
fn a_nodes_last_late_leg_tells_its_epoch() {
    let config = one_is_enough();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    for (node, epoch) in [(0, 1), (1, 1), (2, 2), (1, 2), (9, u32::MAX)] {
        nodes.cross(at(1), NodeId(node), RequestId::NONE, epoch, &config);
    }
    let count = |epoch| nodes.impaired_count(at(2), &config.impaired, epoch);
    assert_eq!([None, Some(0), Some(1), Some(2), Some(u32::MAX)].map(count), [4, 0, 1, 2, 1]);
}

#[test]
fn nodes_seen_are_those_heard_of_within_the_window() {
    let config = config();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    let window = Span::from_secs(1);
    assert_eq!(nodes.seen_count(at(0), window), 0);
    nodes.leg(at(0), NodeId(7), &millis(1), &config);
    nodes.cross(at(SECOND), NodeId(0), RequestId::NONE, 0, &config);
    assert_eq!(nodes.seen_count(at(SECOND), window), 2);
    assert_eq!(nodes.seen_count(at(SECOND + 1), window), 1);
    assert_eq!(nodes.seen_count(at(2 * SECOND + 1), window), 0);
    assert_eq!(nodes.seen_count(at(2 * SECOND + 1), Span::MAX), 2);
}

// Slow legs.

#[test]
fn a_leg_is_slow_by_its_time_its_connection_or_its_cause() {
    let config = config();
    let leg = |end, took, connect| Leg {
        request: RequestId::NONE,
        connect_micros: connect,
        took: Span::from_millis(took),
        end,
    };
    for (leg, slow) in [
        (leg(LegEnd::Delivered, 1_000, Some(500_000)), 0),
        (leg(LegEnd::Delivered, 1_001, None), 1),
        (leg(LegEnd::Delivered, 1, Some(500_001)), 1),
        (leg(LegEnd::Failed(Cause::Timeout), 0, None), 1),
        (leg(LegEnd::Failed(Cause::Refused), 0, None), 1),
        (leg(LegEnd::Failed(Cause::Unreachable), 0, None), 1),
        (leg(LegEnd::Failed(Cause::Cancelled), 9, None), 0),
        (leg(LegEnd::Failed(Cause::Missing), 9, None), 0),
        (leg(LegEnd::Failed(Cause::Corrupt), 9, None), 0),
        (leg(LegEnd::Cut, 1_000, None), 0),
        (leg(LegEnd::Cut, 1_001, None), 1),
    ] {
        let mut nodes = Ten::new();
        assert!(view(&mut nodes).leg(at(5), NodeId(1), &leg, &config));
        let health = view(&mut nodes).health(at(5), NodeId(1), &config).unwrap();
        assert_eq!(health.slow_legs, slow, "{leg:?}");
    }
}

#[test]
fn a_node_is_slow_above_the_limit_for_as_long_as_the_window_remembers() {
    let config = config();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    for count in 1..=4 {
        nodes.leg(at(SECOND), NodeId(6), &millis(2_000), &config);
        assert_eq!(nodes.slow(at(SECOND), NodeId(6), &config.health), count > 3);
    }
    assert!(nodes.slow(at(31 * SECOND), NodeId(6), &config.health));
    assert!(!nodes.slow(at(62 * SECOND), NodeId(6), &config.health));
    assert!(!nodes.slow(at(SECOND), NodeId(5), &config.health));
}

#[test]
fn a_slow_request_of_several_legs_is_slow_once() {
    let config = config();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    let leg = |request, took| Leg { request: RequestId(request), ..millis(took) };
    for (request, took, slow_legs) in
        [(1, 5, 0), (1, 1_500, 1), (1, 1_500, 1), (2, 1_500, 2), (2, 1_500, 2), (0, 1_500, 3), (0, 1_500, 4)]
    {
        nodes.leg(at(SECOND), NodeId(0), &leg(request, took), &config);
        assert_eq!(nodes.health(at(SECOND), NodeId(0), &config).unwrap().slow_legs, slow_legs);
    }
    assert_eq!(nodes.health(at(SECOND), NodeId(0), &config).unwrap().started, 4);
}

#[test]
fn stages_are_smoothed_apart_and_a_refusal_is_not_quick() {
    let config = config();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    let times = |nodes: &Nodes<[NodeState]>| {
        let health = nodes.health(at(9), NodeId(0), &config).unwrap();
        (health.connect, health.read, health.last_seen)
    };
    assert_eq!(times(nodes), (None, None, None));
    nodes.leg(at(9), NodeId(0), &millis(16), &config);
    assert_eq!(times(nodes), (None, Some(Span::from_millis(16)), Some(at(9))));
    nodes.leg(at(9), NodeId(0), &Leg { connect_micros: Some(2_000), ..millis(8) }, &config);
    assert_eq!(times(nodes), (Some(Span::from_millis(2)), Some(Span::from_millis(15)), Some(at(9))));
    // A cut leg would have taken at least so long: shorter than the mean it says nothing.
    nodes.leg(at(9), NodeId(0), &Leg { end: LegEnd::Cut, ..millis(3) }, &config);
    assert_eq!(times(nodes).1, Some(Span::from_millis(15)));
    nodes.leg(at(9), NodeId(0), &Leg { end: LegEnd::Cut, ..millis(23) }, &config);
    assert_eq!(times(nodes).1, Some(Span::from_millis(16)));
    nodes.leg(at(9), NodeId(0), &Leg { end: LegEnd::Failed(Cause::Refused), ..millis(0) }, &config);
    assert_eq!(times(nodes).1, Some(Span::from_millis(16 + (1_000 - 16) / 8)));
}

// Demotion.

#[test]
fn a_slow_or_impaired_node_is_demoted_and_no_other() {
    let config = config();
    for impaired in [false, true] {
        let mut nodes = ten(&config);
        let nodes = view(&mut nodes);
        if impaired {
            for _ in 0..3 {
                nodes.cross(at(1), NodeId(4), RequestId::NONE, 0, &config);
            }
        } else {
            slow_down(nodes, at(1), 4, &config);
        }
        for node in 0..10 {
            let health = nodes.health(at(1), NodeId(node), &config).unwrap();
            assert_eq!(
                (health.demoted, health.impaired, health.slow),
                (node == 4, node == 4 && impaired, node == 4 && !impaired)
            );
            assert_eq!(nodes.suspect(at(1), NodeId(node), &config), node == 4);
        }
        check_counters(nodes);
    }
}

#[test]
fn where_nobody_is_to_be_demoted_nobody_is_and_those_that_were_come_back() {
    let mut config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    slow_down(nodes, at(1), 4, &config);
    assert!(nodes.demoted(NodeId(4)));
    config.health.demote = false;
    let wary = want(nodes, at(2), 4, &config);
    assert_eq!((wary.avoid, wary.suspect), (CellSet::EMPTY, CellSet::one(4)));
    assert_eq!(nodes.demoted_count(), 0);
    slow_down(nodes, at(3), 5, &config);
    assert_eq!(nodes.demoted_count(), 0);
    check_counters(nodes);
}

#[test]
fn the_cap_holds_whatever_is_slow() {
    for percent in [0, 10, 20, 50, 100, 255] {
        let mut config = config();
        config.health.max_demoted_percent = percent;
        for slow in 0..=10_u32 {
            let mut nodes = ten(&config);
            let nodes = view(&mut nodes);
            for round in 0..20 {
                for node in 0..10 {
                    let took = if node < slow { 3_000 } else { 2 };
                    nodes.leg(at(round * SECOND), NodeId(node), &millis(took), &config);
                }
                want(nodes, at(round * SECOND), 0, &config);
            }
            let cap = u32::from(percent) / 10;
            assert!(nodes.demoted_count() <= cap, "{percent} %, {slow} slow");
            assert!(nodes.demoted_count() <= slow);
            // While no more than half is slow, what may be demoted is.
            if slow <= 5 {
                assert_eq!(nodes.demoted_count(), cap.min(slow), "{percent} %, {slow} slow");
            }
            for node in slow..10 {
                assert!(!nodes.suspect(at(20 * SECOND), NodeId(node), &config));
            }
            check_counters(nodes);
        }
    }
}

#[test]
fn when_all_become_slow_at_once_few_are_demoted_and_the_rest_only_suspect() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    for round in 0..10 {
        for node in 0..10 {
            nodes.leg(at(round * SECOND), NodeId(node), &millis(3_000), &config);
        }
    }
    assert!(nodes.demoted_count() <= 2);
    let wary = want(nodes, at(10 * SECOND), 3, &config);
    assert_eq!(wary.suspect, CellSet::first_n(10));
    assert!(wary.avoid.len() <= 2);
}

#[test]
fn of_few_nodes_none_is_demoted_and_of_five_one_may_be() {
    let config = config();
    for seen in 1..=5 {
        let mut nodes = Ten::new();
        let nodes = view(&mut nodes);
        for node in 0..seen {
            nodes.leg(at(0), NodeId(node), &millis(2), &config);
        }
        slow_down(nodes, at(1), 0, &config);
        slow_down(nodes, at(1), 1.min(seen - 1), &config);
        assert_eq!(nodes.demoted_count(), u32::from(seen >= 5), "{seen} seen");
    }
}

#[test]
fn one_wanting_read_in_so_many_goes_to_a_demoted_node() {
    let mut config = config();
    for every in [1, 2, 10, 300] {
        config.health.probe_every = every;
        let mut nodes = ten(&config);
        let nodes = view(&mut nodes);
        slow_down(nodes, at(1), 4, &config);
        for read in 1..=3 * u32::from(every) {
            // A read that does not want its cell is no occasion.
            assert_eq!(want(nodes, at(2), 5, &config).avoid, CellSet::one(4));
            let wary = want(nodes, at(2), 4, &config);
            assert_eq!(wary.suspect, CellSet::one(4));
            assert_eq!(wary.avoid.is_empty(), read.is_multiple_of(every.into()), "read {read} of {every}");
        }
    }
}

#[test]
fn no_read_probes_two_nodes_and_none_is_left_out() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    slow_down(nodes, at(1), 4, &config);
    slow_down(nodes, at(1), 7, &config);
    let both = CellSet::from([4, 7]);
    let mut probes = [0; 10];
    for _ in 0..1_000 {
        let mut order = [0; 10];
        let wary = nodes.prepare(at(2), &config, &EVERY_NODE, &mut order, CellSet::first_n(10));
        assert!(!wary.avoid.is_empty() && wary.avoid.is_subset(both));
        for cell in both - wary.avoid {
            probes[usize::from(cell)] += 1;
        }
    }
    assert!(probes[4] >= 90 && probes[7] >= 90, "{probes:?}");
}

#[test]
fn a_node_that_does_well_comes_back_after_its_hold_and_not_before() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    slow_down(nodes, at(0), 4, &config);
    let mut back = None;
    for second in 1..200 {
        want(nodes, at(second * SECOND), 4, &config);
        nodes.leg(at(second * SECOND), NodeId(4), &millis(2), &config);
        if !nodes.demoted(NodeId(4)) {
            back = Some(second);
            break;
        }
    }
    // The hold is 10 s, but the window remembers what it did for up to 60 s.
    assert!(back.is_some_and(|second| (30..=60).contains(&second)), "{back:?}");
    check_counters(nodes);
}

#[test]
fn a_node_whose_probes_are_slow_stays_where_it_is() {
    let config = config();
    for late_only in [false, true] {
        let mut nodes = ten(&config);
        let nodes = view(&mut nodes);
        slow_down(nodes, at(0), 4, &config);
        // Too seldom to make it slow or impaired by count.
        for probe in 1..500 {
            let now = at(probe * 40 * SECOND);
            if late_only {
                nodes.cross(now, NodeId(4), RequestId::NONE, 0, &config);
                nodes.leg(now + Span::from_millis(9), NodeId(4), &millis(400), &config);
            } else {
                nodes.leg(now, NodeId(4), &millis(2_000), &config);
            }
            // Just before the next one nothing speaks against it but its last probe. The hold has been over for long;
            // silence of a hold gives it another chance, which 9 s are not.
            assert!(want(nodes, now + Span::from_secs(9), 4, &config).suspect.contains(4));
            assert!(nodes.demoted(NodeId(4)), "probe {probe}");
        }
    }
}

#[test]
fn a_demoted_node_that_nobody_reads_gives_its_place_back() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    slow_down(nodes, at(0), 8, &config);
    slow_down(nodes, at(0), 9, &config);
    // Both leave for good. Reads go to nodes 0 to 5 alone.
    for read in 0..200 {
        let mut order = [0, 1, 2, 3, 4, 5];
        let now = at(read * SECOND);
        let wary = nodes.prepare(now, &config, &EVERY_NODE[..6], &mut order, CellSet::one(0));
        assert_eq!(wary, Wary::default());
    }
    assert_eq!((nodes.demoted_count(), nodes.suspects), (0, 0));
    slow_down(nodes, at(200 * SECOND), 0, &config);
    slow_down(nodes, at(200 * SECOND), 1, &config);
    assert_eq!(nodes.demoted_count(), 2);
    check_counters(nodes);
}

/// The bound of the file's head.
fn most_demotions(health: &Health, time: Span) -> u64 {
    let doublings = (health.hold_max.as_nanos().div_ceil(health.hold.as_nanos())).next_power_of_two().ilog2();
    u64::from(doublings) + 2 + time.as_nanos() / health.hold_max.as_nanos()
}

/// How often node 4 is demoted in `time`, when it is slow as soon as it is back for so long.
fn demotions(config: &Config, time: Span, well_for: impl Fn(u64) -> u64) -> u64 {
    let mut nodes = ten(config);
    let nodes = view(&mut nodes);
    let (mut now, mut demotions, mut slow_from) = (0, 0, 0);
    while now < time.as_nanos() {
        // It gets no traffic while it is demoted, and full traffic when it is back.
        want(nodes, at(now), 5, config);
        if !nodes.demoted(NodeId(4)) && now >= slow_from {
            slow_down(nodes, at(now), 4, config);
            assert!(nodes.demoted(NodeId(4)));
            demotions += 1;
            slow_from = u64::MAX;
        } else if !nodes.demoted(NodeId(4)) && slow_from == u64::MAX {
            slow_from = now + well_for(demotions);
        }
        now += 500 * MS;
    }
    check_counters(nodes);
    demotions
}

/// HDFS-17292, client-go 2012: without traffic a slow node looked well, and it came back only to be slow again.
#[test]
#[cfg_attr(miri, ignore)]
fn a_node_that_looks_well_without_traffic_flips_a_bounded_number_of_times_an_hour() {
    let mut config = config();
    // A window so short that only the holds keep it away.
    config.health.window = Span::from_secs(1);
    let hour = Span::from_secs(3_600);
    let bound = most_demotions(&config.health, hour);
    assert_eq!(bound, 4 + 2 + 22);
    let at_once = demotions(&config, hour, |_| 0);
    // 10 + 20 + 40 + 80 s, then 160 s each.
    assert!((20..=bound).contains(&at_once), "{at_once} of {bound}");
    // Whatever it does to be trusted again, it does not flip more often.
    let hold_max = config.health.hold_max.as_nanos();
    for every in 1..8 {
        for well in [1, SECOND, hold_max / 2, hold_max - 1, hold_max, hold_max + SECOND, 3 * hold_max] {
            let flips = demotions(&config, hour, |count| if count % every == 0 { well } else { 0 });
            assert!(flips <= bound, "{flips} of {bound}: well for {well} each {every}");
        }
    }
    // Without the doubling it would be far more: the test can tell.
    config.health.hold_max = config.health.hold;
    assert!(demotions(&config, hour, |_| 0) > 200);
}

#[test]
fn a_long_good_time_forgets_the_doublings() {
    let mut config = config();
    config.health.window = Span::from_secs(1);
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    let mut now = 0;
    let mut held = |nodes: &mut Nodes<[NodeState]>, well: u64| {
        now += well;
        slow_down(nodes, at(now), 4, &config);
        let began = now;
        while nodes.demoted(NodeId(4)) {
            now += SECOND;
            want(nodes, at(now), 5, &config);
        }
        (now - began) / SECOND
    };
    let mut holds = [0; 100];
    for hold in &mut holds {
        *hold = held(nodes, 0);
    }
    // Each may be two seconds longer than its hold: until the window is empty, and until somebody looks.
    for (hold, expected) in holds.into_iter().zip([10, 20, 40, 80].into_iter().chain([160; 96])) {
        assert!((expected..=expected + 2).contains(&hold), "{hold} {expected}");
    }
    // Five times `hold_max` for the five holds, however often the last was repeated.
    let hold_max = config.health.hold_max.as_nanos();
    for (well, expected) in [(hold_max - 1, 160), (2 * hold_max, 80), (5 * hold_max, 10)] {
        let hold = held(nodes, well);
        assert!((expected..=expected + 2).contains(&hold), "{hold} {expected}");
    }
}

// Plans.

#[test]
fn sources_are_healthy_first_then_the_least_slow_and_demoted_ones_last() {
    let mut config = config();
    config.breaker.max_impaired_percent = 50;
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    // Two are demoted, the quicker last; three are only suspects, since there is no more room.
    for (node, took) in [(1, 9_000), (2, 5_000), (3, 4_000), (8, 2_000), (5, 3_000)] {
        for _ in 0..=config.health.limit {
            nodes.leg(at(1), NodeId(node), &millis(took), &config);
        }
    }
    let mut order = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    let wary = nodes.prepare(at(2), &config, &EVERY_NODE, &mut order, CellSet::one(1));
    assert_eq!(order, [9, 7, 6, 4, 0, 8, 5, 3, 2, 1]);
    assert_eq!((wary.avoid, wary.suspect), (CellSet::from([1, 2]), CellSet::from([1, 2, 3, 5, 8])));
}

#[test]
fn while_more_nodes_are_suspects_than_the_breaker_allows_none_is_read_around() {
    let mut config = config();
    config.breaker.max_impaired_percent = 40;
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    for (count, node) in (1..).zip([1, 2, 3, 8, 5]) {
        slow_down(nodes, at(1), node, &config);
        let wary = want(nodes, at(2), 1, &config);
        assert_eq!(wary.suspect.len(), count);
        assert_eq!(wary.avoid.contains(1), count <= 4, "{count} suspects of ten");
    }
    // So many are allowed whatever their share.
    (config.breaker.max_impaired_nodes, config.breaker.max_impaired_percent) = (5, 0);
    assert!(want(nodes, at(3), 1, &config).avoid.contains(1));
}

#[test]
fn healthy_cells_keep_any_order_that_was_given() {
    let config = config();
    let mut random = Random(5);
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    for round in 0..200 {
        let mut order: [u8; 10] = core::array::from_fn(|cell| cell as u8);
        for end in (1..10).rev() {
            order.swap(end, random.below(end as u64 + 1) as usize);
        }
        let before = order;
        if round == 100 {
            slow_down(nodes, at(1), 6, &config);
        }
        nodes.prepare(at(1), &config, &EVERY_NODE, &mut order, CellSet::one(0));
        let expected: Vec<u8> = if round < 100 {
            before.to_vec()
        } else {
            before.into_iter().filter(|&cell| cell != 6).chain([6]).collect()
        };
        assert_eq!(order.to_vec(), expected);
    }
}

#[test]
fn cells_on_unknown_nodes_are_healthy_and_plans_that_make_no_sense_do_no_harm() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    slow_down(nodes, at(1), 0, &config);
    let node = [NodeId(0), NodeId::UNKNOWN, NodeId(10), NodeId(1), NodeId(0)];
    let mut order = [0, 1, 2, 3, 4];
    let wary = nodes.prepare(at(2), &config, &node, &mut order, CellSet::one(1));
    assert_eq!((wary.avoid, wary.suspect), (CellSet::from([0, 4]), CellSet::from([0, 4])));
    assert_eq!(order, [1, 2, 3, 0, 4]);
    // Cells beyond the plan, or twice, in an order that is checked only later.
    let mut order = [255, 0, 64, 0, 63];
    nodes.prepare(at(2), &config, &node, &mut order, CellSet::from_bits(u64::MAX));
    assert_eq!(order, [255, 64, 63, 0, 0]);
    nodes.prepare(at(2), &config, &[], &mut [], CellSet::EMPTY);
    let mut long: Vec<u8> = (0..100).collect();
    nodes.prepare(at(2), &config, &vec![NodeId(0); 100], &mut long, CellSet::EMPTY);
    assert_eq!(long.iter().collect::<HashSet<_>>().len(), 100);
}

#[test]
fn a_probed_node_is_probed_with_all_its_cells_and_counts_the_read_once() {
    let mut config = config();
    config.health.probe_every = 2;
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    slow_down(nodes, at(1), 0, &config);
    let node = [NodeId(0), NodeId(1), NodeId(0), NodeId(0)];
    for read in 1..=10 {
        let mut order = [0, 1, 2, 3];
        let wary = nodes.prepare(at(2), &config, &node, &mut order, CellSet::from([2, 3]));
        let avoid = if read % 2 == 0 { CellSet::EMPTY } else { CellSet::from([0, 2, 3]) };
        assert_eq!(wary.avoid, avoid, "read {read}");
    }
}

#[test]
fn a_quiet_time_leaves_no_suspect_behind() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    for node in 0..4 {
        slow_down(nodes, at(0), node, &config);
    }
    assert_eq!(nodes.suspects, 4);
    for read in 0..20 {
        want(nodes, at(1_000 * SECOND + read), 9, &config);
    }
    assert_eq!((nodes.suspects, nodes.demoted_count()), (0, 0));
}

// Everything at once.

/// Any call with any number; the counters stay right.
fn any_calls(seed: u64, steps: u32) {
    let mut random = Random(seed);
    let mut config = config();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    let edges = [0, 1, SECOND, 60 * SECOND, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    let mut clock = 0_u64;
    for _ in 0..steps {
        clock = match random.below(40) {
            0 => edges[random.below(7) as usize],
            1 => clock.saturating_sub(random.below(SECOND)),
            2 => clock.saturating_add(random.below(100 * SECOND)),
            _ => clock.saturating_add(random.below(SECOND)),
        };
        let now = at(clock);
        let mut span = || Span::from_nanos(edges[random.below(7) as usize]);
        let (one, two, three) = (span(), span(), span());
        let node = match random.below(20) {
            0 => NodeId::UNKNOWN,
            1 => NodeId(10),
            _ => NodeId(random.below(10) as u32),
        };
        let request = RequestId(random.below(4) as u32);
        match random.below(8) {
            0 | 1 => {
                nodes.cross(now, node, request, random.below(3) as u32, &config);
                nodes.granted(now, node, request, random.below(3) as u32, &config);
            }
            2..=4 => {
                let end = [
                    LegEnd::Delivered,
                    LegEnd::Cut,
                    LegEnd::Failed(Cause::Timeout),
                    LegEnd::Failed(Cause::Missing),
                ][random.below(4) as usize];
                let took =
                    if random.below(3) == 0 { one } else { Span::from_nanos(random.below(2 * SECOND)) };
                let connect_micros = [None, Some(0), Some(u32::MAX)][random.below(3) as usize];
                nodes.leg(now, node, &Leg { request, connect_micros, took, end }, &config);
            }
            5 | 6 => {
                let wanted = CellSet::from_bits(random.below(1 << 12));
                let mut order = [3; 10];
                let wary = nodes.prepare(now, &config, &EVERY_NODE, &mut order, wanted);
                assert!(wary.avoid.is_subset(wary.suspect) && wary.suspect.is_subset(CellSet::first_n(10)));
            }
            _ => {
                if random.below(20) == 0 {
                    config.impaired.window = one;
                    config.health.window = two;
                    config.health.hold = three;
                    config.health.hold_max = one;
                    config.health.demote = random.below(4) > 0;
                    config.health.max_demoted_percent = random.below(101) as u8;
                    config.health.probe_every = random.below(4) as u16;
                    config.impaired.legs = random.below(4) as u16;
                    config.impaired.record = [Record::Always, Record::WhenGranted][random.below(2) as usize];
                }
                let impaired = nodes.impaired_count(now, &config.impaired, None);
                assert!(impaired <= nodes.seen_count(now, Span::MAX));
                if let Some(health) = nodes.health(now, node, &config) {
                    assert!(health.late <= health.started);
                    assert!(!format!("{health:?}").is_empty());
                }
            }
        }
        check_counters(nodes);
    }
}

#[test]
fn no_call_at_any_instant_panics_or_miscounts() {
    any_calls(1, 500);
}

#[test]
#[cfg_attr(miri, ignore)]
fn no_long_run_of_calls_at_any_instant_panics_or_miscounts() {
    for seed in 2..40 {
        any_calls(seed, 20_000);
    }
}
