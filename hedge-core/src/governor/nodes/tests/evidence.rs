//! What late and slow legs say of a node.

use std::vec::Vec;

use super::*;

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
            for _ in 0..20 {
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
        for late in 1..5_u32 {
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
    for round in 0..if cfg!(miri) { 2 } else { 200 } {
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
#[cfg_attr(miri, ignore)]
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
