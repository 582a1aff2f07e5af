//! What it means for a node to be called slow by whoever sees the whole fleet.

use std::vec;

use super::*;

fn order_of(nodes: &mut Nodes<[NodeState]>, now: Instant, config: &Config) -> ([u8; 10], Wary) {
    let mut order: [u8; 10] = core::array::from_fn(|cell| cell as u8);
    let wary = nodes.prepare(now, config, &EVERY_NODE, &mut order, CellSet::first_n(6));
    (order, wary)
}

#[test]
fn accused_nodes_come_after_healthy_ones_and_are_suspect_until_the_instant_and_no_longer() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    assert!(nodes.accuse(at(5), NodeId(2), at(100), &config));
    assert!(nodes.accuse(at(5), NodeId(4), at(200), &config));
    for (now, accused, order) in [
        (5, vec![2, 4], [0, 1, 3, 5, 6, 7, 8, 9, 2, 4]),
        (99, vec![2, 4], [0, 1, 3, 5, 6, 7, 8, 9, 2, 4]),
        (100, vec![4], [0, 1, 2, 3, 5, 6, 7, 8, 9, 4]),
        (200, vec![], EVERY_NODE.map(|node| node.0 as u8)),
    ] {
        let accused: CellSet = accused.into_iter().collect();
        assert_eq!(nodes.accused_count(at(now)), u32::from(accused.len()), "at {now}");
        assert_eq!(
            order_of(nodes, at(now), &config),
            (order, Wary { avoid: CellSet::EMPTY, suspect: accused })
        );
        for node in 0..10 {
            let health = nodes.health(at(now), NodeId(node), &config).unwrap();
            assert_eq!((health.accused, health.demoted), (accused.contains(node as u8), false));
        }
        check_counters(nodes);
    }
    assert!(nodes.calm());
}

#[test]
fn what_is_said_again_counts_and_can_be_taken_back() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    nodes.accuse(at(5), NodeId(2), at(100), &config);
    nodes.accuse(at(90), NodeId(2), at(300), &config);
    assert_eq!(order_of(nodes, at(200), &config).1.suspect, CellSet::from([2]));
    nodes.accuse(at(200), NodeId(2), at(200), &config);
    assert!(nodes.calm());
    assert_eq!(order_of(nodes, at(200), &config).1, Wary::default());
    check_counters(nodes);
}

#[test]
fn one_late_or_slow_request_demotes_an_accused_node_that_has_no_good_ones() {
    let config = config();
    for slow in [false, true] {
        let mut nodes = Ten::new();
        let nodes = view(&mut nodes);
        // Node 9 is accused before it is ever seen.
        nodes.accuse(at(0), NodeId(9), at(SECOND), &config);
        assert_eq!(nodes.known, 0);
        for node in 0..9 {
            nodes.leg(at(1), NodeId(node), &millis(2), &config);
        }
        let bad = |nodes: &mut Nodes<[NodeState]>, node| {
            if slow {
                nodes.leg(at(2), NodeId(node), &millis(3_000), &config);
            } else {
                nodes.cross(at(2), NodeId(node), RequestId::NONE, 0, &config);
            }
        };
        bad(nodes, 9);
        bad(nodes, 3);
        assert!(nodes.demoted(NodeId(9)));
        assert!(!nodes.demoted(NodeId(3)), "one is not enough for a node that nobody accuses");
        assert_eq!(nodes.impaired_count(at(2), &config.impaired, None), 0, "nor is it impaired");
        check_counters(nodes);
    }
}

#[test]
fn an_accused_node_that_does_well_is_not_demoted() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    nodes.accuse(at(1), NodeId(4), at(SECOND), &config);
    for _ in 0..10 {
        nodes.leg(at(1), NodeId(4), &millis(2), &config);
    }
    for _ in 0..2 {
        nodes.cross(at(2), NodeId(4), RequestId::NONE, 0, &config);
        assert!(!nodes.demoted(NodeId(4)));
    }
}

#[test]
fn a_fleet_of_which_all_are_accused_is_read_as_if_none_were() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    for node in 0..10 {
        nodes.accuse(at(1), NodeId(node), at(SECOND), &config);
    }
    let (order, wary) = order_of(nodes, at(2), &config);
    // Their smoothed times are the same.
    assert_eq!(order, EVERY_NODE.map(|node| node.0 as u8));
    assert_eq!((wary.avoid, wary.suspect), (CellSet::EMPTY, CellSet::first_n(10)));
    assert_eq!((nodes.suspects, nodes.impaired_count(at(2), &config.impaired, None)), (0, 0));
    assert!(!nodes.most_are_suspects());
}

#[test]
fn accusations_of_numbers_that_are_not_known_are_dropped() {
    let config = config();
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    for node in [NodeId(10), NodeId::UNKNOWN] {
        assert!(!nodes.accuse(at(1), node, at(SECOND), &config));
    }
    assert!(nodes.calm());
}

#[test]
fn one_bad_request_of_an_accused_node_demotes_it_once_and_good_probes_bring_it_back() {
    let config = config();
    for probes_do_well in [false, true] {
        let mut nodes = Ten::new();
        let nodes = view(&mut nodes);
        for node in 0..9 {
            nodes.leg(at(1), NodeId(node), &millis(2), &config);
        }
        nodes.accuse(at(1), NodeId(9), at(900 * SECOND), &config);
        nodes.cross(at(2), NodeId(9), RequestId::NONE, 0, &config);
        let mut back = None;
        for second in 1..120 {
            let now = at(second * SECOND);
            let wary = want(nodes, now, 9, &config);
            if probes_do_well && nodes.demoted(NodeId(9)) && !wary.avoid.contains(9) {
                nodes.leg(now, NodeId(9), &millis(2), &config);
            }
            if back.is_none() && !nodes.demoted(NodeId(9)) {
                back = Some(second);
            }
            assert_eq!(nodes.demotions(), 1, "after {second} s");
            check_counters(nodes);
        }
        // Its hold is 10 s, and the late leg is out of the window after 60 s to 90 s.
        let (from, until) = if probes_do_well { (10, 30) } else { (60, 91) };
        assert!(back.is_some_and(|back| (from..until).contains(&back)), "{back:?}");
    }
}
