//! What a read is told before it starts.

use std::collections::HashSet;
use std::vec;
use std::vec::Vec;

use super::*;

#[test]
fn sources_are_healthy_first_then_the_least_slow_and_demoted_ones_last() {
    let mut config = config();
    config.breaker.max_impaired_percent = 50;
    let mut nodes = ten(&config);
    let nodes = view(&mut nodes);
    // Two are demoted, the quicker last; three are only suspects, since there is no more room.
    for (node, took) in [(1, 9_000), (2, 1_500), (3, 4_000), (8, 2_000), (5, 3_000)] {
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
    for round in 0..20 {
        let mut order: [u8; 10] = core::array::from_fn(|cell| cell as u8);
        for end in (1..10).rev() {
            order.swap(end, random.below(end as u64 + 1) as usize);
        }
        let before = order;
        if round == 10 {
            slow_down(nodes, at(1), 6, &config);
        }
        nodes.prepare(at(1), &config, &EVERY_NODE, &mut order, CellSet::one(0));
        let expected: Vec<u8> = if round < 10 {
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
