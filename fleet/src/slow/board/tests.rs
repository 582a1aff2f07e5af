use std::collections::BTreeSet;
use std::string::ToString;

use hedge_core::Span;
use proptest::prelude::*;

use super::*;

const NODES: u32 = 100;

/// A board, and a clock that moves on by a round.
struct Fleet {
    board: SlowNodes,
    at: Instant,
    rounds: u32,
}

impl Fleet {
    fn new(change: impl FnOnce(&mut SlowConfig)) -> Self {
        let mut config = SlowConfig::default();
        change(&mut config);
        Self { board: SlowNodes::new(config, NODES).unwrap(), at: Instant::ZERO, rounds: 0 }
    }

    /// A round in which each node judges the thirty that come after it, and accuses those of them that `accuses` says.
    fn round(&mut self, accuses: impl Fn(u32, u32) -> bool) -> Vec<Change> {
        self.at += Span::from_secs(300);
        self.rounds += 1;
        for reporter in 0..NODES {
            let judged: Vec<NodeId> = (1..=30).map(|step| NodeId((reporter + step) % NODES)).collect();
            let accused = judged.iter().filter(|node| accuses(reporter, node.0));
            let suspects = accused.map(|&node| (node, 4.0)).collect();
            self.board.report(self.at, NodeId(reporter), &Report { judged, suspects }).unwrap();
        }
        self.board.round(self.at)
    }

    fn quiet(&mut self) -> Vec<Change> {
        self.round(|_, _| false)
    }

    /// Rounds in which nobody accuses anybody, until the slow set is empty.
    fn rounds_to_leave(&mut self) -> u32 {
        let before = self.rounds;
        while !self.board.slow().is_empty() {
            assert!(self.rounds - before < 1_000);
            self.quiet();
        }
        self.rounds - before
    }

    fn slow(&self) -> Vec<u32> {
        self.board.slow().iter().map(|slow| slow.node.0).collect()
    }

    fn standing(&self, node: u32) -> Option<Standing> {
        self.board.suspects().iter().find(|suspect| suspect.node.0 == node).map(|suspect| suspect.standing)
    }
}

fn says(changes: &[Change]) -> Vec<std::string::String> {
    changes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_node_that_its_observers_accuse_is_demoted_at_once_and_leaves_after_six_clean_rounds() {
    let mut fleet = Fleet::new(|_| {});
    assert_eq!(fleet.quiet(), []);
    let changes = fleet.round(|_, node| node == 17);
    let entered = "node 17 is demoted: accused by 30 of 30 observers, 4.0 times as slow as its peers";
    assert_eq!(says(&changes), [entered]);
    let evidence = SlowEvidence { reporters: 30, observers: 30, factor: 4.0 };
    let slow = SlowNode { node: NodeId(17), since: fleet.at, evidence, clean: 0, needed: 6 };
    assert_eq!(fleet.board.slow(), [slow]);
    assert_eq!(fleet.board.slow_node(NodeId(17)), Some(slow));
    assert_eq!(fleet.board.slow_node(NodeId(18)), None);
    assert_eq!(fleet.round(|_, node| node == 17), []);
    for clean in 1..6 {
        assert_eq!(fleet.quiet(), []);
        assert_eq!(fleet.board.slow()[0].clean, clean);
    }
    let changes = fleet.quiet();
    let left = "node 17 is demoted no longer: not accused in 6 rounds (last accused by 30 of 30 observers, 4.0 times as slow as its peers)";
    assert_eq!(says(&changes), [left]);
    assert_eq!(fleet.slow(), []);
}

#[test]
fn a_round_in_which_it_is_accused_again_begins_the_clean_rounds_anew() {
    let mut fleet = Fleet::new(|_| {});
    fleet.round(|_, node| node == 17);
    for _ in 0..5 {
        fleet.quiet();
    }
    fleet.round(|_, node| node == 17);
    assert_eq!(fleet.rounds_to_leave(), 6);
}

#[test]
fn fewer_reporters_than_the_minimum_demote_nobody() {
    let mut fleet = Fleet::new(|config| config.least_share = 0.0);
    for _ in 0..20 {
        assert_eq!(fleet.round(|reporter, node| node == 17 && (15..17).contains(&reporter)), []);
    }
    assert_eq!(fleet.standing(17), Some(Standing::FewReporters));
    assert_eq!(fleet.round(|reporter, node| node == 17 && (14..17).contains(&reporter)).len(), 1);
}

#[test]
fn a_smaller_share_of_the_observers_demotes_nobody() {
    let mut fleet = Fleet::new(|_| {});
    // Its observers are 87 to 99 and 0 to 16: thirty.
    for _ in 0..20 {
        assert_eq!(fleet.round(|reporter, node| node == 17 && (8..17).contains(&reporter)), []);
    }
    assert_eq!(fleet.standing(17), Some(Standing::SmallShare));
    assert_eq!(fleet.round(|reporter, node| node == 17 && (7..17).contains(&reporter)).len(), 1);
    assert_eq!(fleet.standing(17), Some(Standing::Demoted));
}

#[test]
fn a_few_liars_and_a_partitioned_rack_demote_nobody() {
    let mut fleet = Fleet::new(|_| {});
    // Five lie of all that they may; nodes 43 to 49 are cut off and see those of another rack as slow.
    for _ in 0..50 {
        let changes = fleet.round(|reporter, node| {
            let lies = reporter % 20 == 1 && node % 2 == 0;
            let cut_off = (43..50).contains(&reporter) && (60..70).contains(&node);
            lies || cut_off
        });
        assert_eq!(changes, []);
    }
    assert!(fleet.board.suspects().iter().any(|suspect| suspect.evidence.reporters >= 9));
    // As published, one liar is enough.
    let mut fleet = Fleet::new(|config| *config = SlowConfig::published(5));
    fleet.round(|reporter, node| reporter == 0 && node % 2 == 0);
    assert_eq!(fleet.slow(), [2, 4, 6, 8, 10]);
}

#[test]
fn a_report_that_accuses_more_than_half_does_not_count() {
    let mut fleet = Fleet::new(|_| {});
    let judged: Vec<_> = (10..21).map(NodeId).collect();
    let report = |suspects| Report { judged: judged.clone(), suspects };
    let accusing = |count: u32| report((10..10 + count).map(|node| (NodeId(node), 2.0)).collect());
    let refused = fleet.board.report(fleet.at, NodeId(1), &accusing(6)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "node 1 accuses 6 of the 11 peers it judged; no rule on the median accuses more than half"
    );
    assert_eq!(fleet.board.report(fleet.at, NodeId(1), &accusing(5)), Ok(()));
    // A suspect that was not judged, or is named twice, is not half of anything.
    let odd = report(vec![(NodeId(3), 9.0); 9]);
    assert_eq!(fleet.board.report(fleet.at, NodeId(1), &odd), Ok(()));
    let twice = report(vec![(NodeId(12), 9.0); 9]);
    assert_eq!(fleet.board.report(fleet.at, NodeId(1), &twice), Ok(()));
    fleet.board.round(fleet.at);
    assert_eq!(fleet.board.suspects().len(), 1);
    assert_eq!(fleet.board.suspects()[0].evidence.reporters, 1);
}

#[test]
fn unknown_reporters_and_endless_reports_do_not_count() {
    let mut fleet = Fleet::new(|config| config.most_peers = 3);
    let report = |judged: u32| Report { judged: (0..judged).map(NodeId).collect(), suspects: vec![] };
    let refused = fleet.board.report(fleet.at, NodeId(100), &report(3)).unwrap_err();
    assert_eq!(refused.to_string(), "a report of node 100, in a fleet of 100 nodes");
    let refused = fleet.board.report(fleet.at, NodeId(99), &report(4)).unwrap_err();
    assert_eq!(refused.to_string(), "node 99 names 4 peers; a report may name 3");
    assert!(fleet.board.report(fleet.at, NodeId::UNKNOWN, &report(1)).is_err());
    assert_eq!(fleet.board.report(fleet.at, NodeId(99), &report(3)), Ok(()));
}

#[test]
fn nobody_speaks_for_itself_or_of_nodes_that_do_not_exist() {
    let mut fleet = Fleet::new(|config| (config.least_reporters, config.least_share) = (1, 0.0));
    let judged = vec![NodeId(5), NodeId(500), NodeId::UNKNOWN, NodeId(6)];
    let suspects = vec![(NodeId(5), 3.0), (NodeId(500), 3.0)];
    fleet.board.report(fleet.at, NodeId(5), &Report { judged, suspects }).unwrap();
    assert_eq!(fleet.board.round(fleet.at), []);
    assert_eq!(fleet.board.suspects(), []);
}

#[test]
fn reports_expire() {
    let mut fleet = Fleet::new(|_| {});
    fleet.round(|_, node| node == 17);
    assert_eq!(fleet.standing(17), Some(Standing::Demoted));
    let at = |secs: u64| Instant::from_secs(300 + secs);
    fleet.board.round(at(899));
    assert_eq!(fleet.board.suspects()[0].evidence.observers, 30);
    fleet.board.round(at(900));
    assert_eq!(fleet.board.suspects(), []);
    let mut changes = Vec::new();
    for round in 1..6 {
        changes = fleet.board.round(at(900 + 300 * round));
    }
    let [Change::Left { why: Exit::Unobserved { rounds: 6 }, .. }] = changes[..] else {
        panic!("{changes:?}")
    };
}

#[test]
fn the_factor_is_the_median_of_what_the_accusers_say() {
    let mut fleet = Fleet::new(|_| {});
    let judged: Vec<_> = (10..30).map(NodeId).collect();
    for (reporter, factor) in [4.0, 5.0, f64::INFINITY, f64::NAN, 6.0, -3.0, 7.0].into_iter().enumerate() {
        let report = Report { judged: judged.clone(), suspects: vec![(NodeId(17), factor)] };
        fleet.board.report(fleet.at, NodeId(reporter as u32), &report).unwrap();
    }
    fleet.board.round(fleet.at);
    assert_eq!(fleet.board.slowed().collect::<Vec<_>>(), [(17, 5.0)]);
    // A node that all see as infinitely slow has a factor that can be reckoned with.
    for reporter in 0..7 {
        let report = Report { judged: judged.clone(), suspects: vec![(NodeId(17), f64::INFINITY)] };
        fleet.board.report(fleet.at, NodeId(reporter), &report).unwrap();
    }
    fleet.board.round(fleet.at);
    assert_eq!(fleet.board.slowed().collect::<Vec<_>>(), [(17, 1_000.0)]);
}

#[test]
fn prior_evidence_holds_until_two_rounds_after_the_last() {
    let mut fleet = Fleet::new(|_| {});
    assert_eq!(fleet.board.accusations().count(), 0);
    fleet.round(|_, node| node == 17 || node == 50);
    let until = Instant::from_secs(900);
    assert_eq!(
        fleet.board.accusations().collect::<Vec<_>>(),
        [17, 50].map(|node| Evidence::Accused { node: NodeId(node), until })
    );
}

#[test]
fn no_more_than_the_cap_are_demoted_and_the_first_ones_stay() {
    let mut fleet = Fleet::new(|_| {});
    assert_eq!(fleet.board.most_demoted(), 2);
    // All five are slow, and the last two are accused by more.
    let accuses = |reporter: u32, node: u32| match node {
        10..13 => !(5..87).contains(&reporter),
        13..15 => true,
        _ => false,
    };
    assert_eq!(fleet.round(accuses).len(), 2);
    assert_eq!(fleet.slow(), [13, 14]);
    for node in 10..13 {
        assert_eq!(fleet.standing(node), Some(Standing::NoRoom));
    }
    // A worse one comes: those inside stay, so that noise does not turn the set over every round.
    let worse =
        |reporter: u32, node: u32| node == 60 || (reporter.is_multiple_of(2) && accuses(reporter, node));
    assert_eq!(fleet.round(worse), []);
    assert_eq!(fleet.slow(), [13, 14]);
    // One recovers: it lingers, but one that is accused now needs the room more.
    let changes = fleet.round(|reporter, node| node != 13 && worse(reporter, node));
    let [
        Change::Left { node: NodeId(13), why: Exit::NoRoom, .. },
        Change::Entered { node: NodeId(60), why: Entry::Room, .. },
    ] = changes[..]
    else {
        panic!("{changes:?}")
    };
    // Those for whom there never was room, and who recovered, are not demoted when there is.
    for _ in 0..20 {
        for change in fleet.quiet() {
            assert!(matches!(change, Change::Left { why: Exit::Clean { .. }, .. }), "{change:?}");
        }
    }
    assert_eq!(fleet.slow(), []);
}

#[test]
fn one_node_may_always_be_demoted_and_none_if_the_cap_is_zero() {
    let mut small = SlowNodes::new(SlowConfig::default(), 12).unwrap();
    let config = SlowConfig { most_demoted: 0.0, ..SlowConfig::default() };
    let mut watching = SlowNodes::new(config, 12).unwrap();
    for board in [&mut small, &mut watching] {
        for reporter in 1..12 {
            let judged = (0..12).map(NodeId).collect();
            board
                .report(Instant::ZERO, NodeId(reporter), &Report { judged, suspects: vec![(NodeId(0), 5.0)] })
                .unwrap();
        }
        board.round(Instant::ZERO);
    }
    assert_eq!((small.slow().len(), small.most_demoted()), (1, 1));
    assert_eq!((watching.slow().len(), watching.most_demoted()), (0, 0));
    assert_eq!(watching.suspects()[0].standing, Standing::NoRoom);
}

#[test]
fn when_more_than_the_share_are_accused_nobody_is_demoted() {
    let mut fleet = Fleet::new(|_| {});
    fleet.round(|_, node| node == 3);
    assert_eq!(fleet.round(|_, node| node < 10).len(), 1);
    assert_eq!(fleet.slow().len(), 2);
    let changes = fleet.round(|_, node| node < 11);
    assert_eq!(changes.len(), 2);
    let told = "node 3 is demoted no longer: 11 of 100 nodes are accused, so it is not theirs (last accused by 30 of 30 observers, 4.0 times as slow as its peers)";
    assert!(says(&changes).contains(&told.to_string()), "{:?}", says(&changes));
    assert_eq!((fleet.slow().len(), fleet.board.fleet_wide()), (0, Some(11)));
    assert_eq!(fleet.standing(3), Some(Standing::FleetWide));
    // It is over: who is still accused is demoted again, and nobody else.
    let changes = fleet.round(|_, node| node == 3);
    let [Change::Entered { node: NodeId(3), why: Entry::Accused { rounds: 1 }, .. }] = changes[..] else {
        panic!("{changes:?}")
    };
    assert_eq!((fleet.slow(), fleet.board.fleet_wide()), (vec![3], None));
    assert_eq!(fleet.rounds_to_leave(), 6);
}

#[test]
fn a_share_of_the_fleet_is_the_whole_number_that_it_says() {
    // In floating point, 0.29 of 100 are a little less than 29.
    let mut fleet = Fleet::new(|config| (config.most_demoted, config.most_accused) = (0.29, 0.29));
    assert_eq!(fleet.board.most_demoted(), 29);
    assert_eq!(fleet.round(|_, node| node % 3 == 0 && node < 87).len(), 29);
    assert_eq!((fleet.slow().len(), fleet.board.fleet_wide()), (29, None));
    fleet.round(|_, node| node % 3 == 0 && node < 90);
    assert_eq!((fleet.slow().len(), fleet.board.fleet_wide()), (0, Some(30)));
    for nodes in 1..500_u32 {
        for count in 1..=nodes {
            let most_demoted = f64::from(count) / f64::from(nodes);
            let config = SlowConfig { most_demoted, ..SlowConfig::default() };
            assert_eq!(SlowNodes::new(config, nodes).unwrap().most_demoted(), count, "of {nodes}");
        }
    }
}

#[test]
fn a_node_for_which_room_was_made_is_told_apart_from_one_that_was_just_accused_enough() {
    let mut fleet = Fleet::new(|config| (config.enter_rounds, config.most_demoted) = (3, 0.01));
    for _ in 0..3 {
        fleet.round(|_, node| node == 17);
    }
    assert_eq!(fleet.slow(), [17]);
    // Node 50 is accused for long enough while 17 recovers: 17 goes. As 17 is accused again, in the round that 50 is not, it comes back.
    for _ in 0..3 {
        fleet.round(|_, node| node == 50);
    }
    assert_eq!(fleet.slow(), [50]);
    let changes = fleet.round(|_, node| node == 17);
    let told = [
        "node 50 is demoted no longer: no more nodes may be demoted, and others are worse (last accused by 30 of 30 observers, 4.0 times as slow as its peers)",
        "node 17 is demoted, for there is room now: accused by 30 of 30 observers, 4.0 times as slow as its peers",
    ];
    assert_eq!(says(&changes), told);
}

#[test]
fn rounds_without_room_are_rounds_without_being_demoted() {
    let mut fleet = Fleet::new(|config| (config.calm_rounds, config.most_demoted) = (20, 0.01));
    // Node 17 comes and goes once.
    for _ in 0..2 {
        fleet.round(|_, node| node == 17);
        fleet.rounds_to_leave();
    }
    // Then node 50 takes the room for long, and 17 is accused now and then.
    for round in 0..40 {
        fleet.round(|_, node| node == 50 || node == 17 && round % 10 == 5);
        assert_eq!(fleet.slow(), [50]);
    }
    fleet.rounds_to_leave();
    fleet.round(|_, node| node == 17);
    assert_eq!(fleet.rounds_to_leave(), 6);
}

#[test]
fn entering_may_take_rounds_in_a_row() {
    let mut fleet = Fleet::new(|config| config.enter_rounds = 3);
    let slow = |_, node| node == 17;
    fleet.round(slow);
    fleet.round(slow);
    fleet.quiet();
    assert_eq!(fleet.round(slow), []);
    assert_eq!(fleet.standing(17), Some(Standing::Waiting));
    assert_eq!(fleet.round(slow), []);
    let changes = fleet.round(slow);
    let [Change::Entered { why: Entry::Accused { rounds: 3 }, .. }] = changes[..] else {
        panic!("{changes:?}")
    };
}

#[test]
fn a_node_that_comes_and_goes_stays_for_twice_as_long_each_time() {
    let mut fleet = Fleet::new(|_| {});
    let mut stays = Vec::new();
    for _ in 0..6 {
        fleet.round(|_, node| node == 17);
        stays.push(fleet.rounds_to_leave());
        fleet.quiet();
    }
    assert_eq!(stays, [6, 12, 24, 48, 48, 48]);
    // Another node has nothing to do with it.
    fleet.round(|_, node| node == 18);
    assert_eq!(fleet.rounds_to_leave(), 6);
    // After half a day without, all is forgotten, and not a round sooner.
    for (quiet, needed) in [(0, 48), (142, 48), (143, 6)] {
        for _ in 0..quiet {
            fleet.quiet();
        }
        fleet.round(|_, node| node == 17);
        assert_eq!(fleet.rounds_to_leave(), needed);
    }
}

#[test]
fn a_fleet_wide_trouble_is_no_coming_and_going() {
    let mut fleet = Fleet::new(|_| {});
    for _ in 0..5 {
        fleet.round(|_, node| node == 17);
        fleet.round(|_, node| node % 9 == 8);
    }
    fleet.round(|_, node| node == 17);
    assert_eq!(fleet.rounds_to_leave(), 6);
}

#[test]
fn published_ranks_by_reporters_and_takes_the_top() {
    let mut fleet = Fleet::new(|config| *config = SlowConfig::published(2));
    // Node 40 is accused by all of its 4 observers, nodes 50 to 52 by fewer of more.
    let judged = |from: u32| (from..from + 20).map(NodeId).collect::<Vec<_>>();
    for reporter in 0..10 {
        let mut judged = judged(45);
        let mut suspects = vec![(NodeId(50), 2.0), (NodeId(51), 2.0), (NodeId(52), 2.0)];
        suspects.truncate(if reporter < 5 { 3 } else { 2 });
        if reporter < 4 {
            judged.push(NodeId(40));
            suspects.push((NodeId(40), 9.0));
        }
        fleet.board.report(fleet.at, NodeId(reporter), &Report { judged, suspects }).unwrap();
    }
    fleet.board.round(fleet.at);
    assert_eq!(fleet.slow(), [50, 51]);
    assert_eq!(fleet.standing(40), Some(Standing::BelowTop));
    let mut config = SlowConfig::published(2);
    config.rank = Rank::Share;
    fleet.board.reconfigure(config).unwrap();
    fleet.board.round(fleet.at);
    assert!(fleet.board.suspects()[..3].iter().any(|suspect| suspect.node == NodeId(40)));
    assert_eq!(fleet.board.suspects()[3].node, NodeId(52));
}

#[test]
fn a_replaced_node_begins_anew() {
    let mut fleet = Fleet::new(|_| {});
    fleet.round(|_, node| node == 17);
    fleet.board.forget(NodeId(17));
    fleet.board.forget(NodeId(1_000));
    assert_eq!((fleet.slow(), fleet.board.slow_node(NodeId(17))), (vec![], None));
    assert_eq!(fleet.board.round(fleet.at), []);
    fleet.round(|_, node| node == 17 || node == 99);
    fleet.board.resize(99).unwrap();
    assert_eq!(fleet.slow(), [17]);
    fleet.board.resize(101).unwrap();
    assert_eq!(fleet.board.round(fleet.at), []);
    assert_eq!(fleet.slow(), [17]);
    let refused = fleet.board.resize(2_000_000).unwrap_err();
    assert_eq!(refused.to_string(), "a fleet of 2000000 nodes; no more than 1048576 are possible");
    assert!(SlowNodes::new(SlowConfig::default(), u32::MAX).is_err());
}

#[test]
fn a_clock_that_steps_back_stands_still() {
    let mut fleet = Fleet::new(|_| {});
    fleet.at = Instant::from_secs(10_000);
    fleet.round(|_, node| node == 17);
    let since = fleet.board.slow()[0].since;
    fleet.at = Instant::ZERO;
    for _ in 0..5 {
        fleet.round(|_, node| node == 17);
    }
    assert_eq!(fleet.board.slow()[0].since, since);
    assert_eq!(
        fleet.board.accusations().next(),
        Some(Evidence::Accused { node: NodeId(17), until: since + Span::from_secs(600) })
    );
    fleet.board.round(Instant::MAX);
    assert_eq!(
        fleet.board.accusations().next(),
        Some(Evidence::Accused { node: NodeId(17), until: Instant::MAX })
    );
}

#[derive(Clone, Debug)]
enum Step {
    Report { at: u64, reporter: u32, judged: Vec<u32>, suspects: Vec<(u32, f64)> },
    Round { at: u64 },
    Forget(u32),
    Resize(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let node = || prop_oneof![20 => 0_u32..40, 1 => any::<u32>()];
    let at = || prop_oneof![20 => 0_u64..20_000_000_000_000, 1 => any::<u64>()];
    let factor = prop_oneof![5 => 1.0_f64..20.0, 1 => prop::num::f64::ANY];
    let suspects = prop::collection::vec((node(), factor), 0..8);
    let judged = prop::collection::vec(node(), 0..24);
    let report = (at(), node(), judged, suspects).prop_map(|(at, reporter, judged, suspects)| Step::Report {
        at,
        reporter,
        judged,
        suspects,
    });
    prop_oneof![
        30 => report,
        5 => at().prop_map(|at| Step::Round { at }),
        1 => node().prop_map(Step::Forget),
        1 => (0_u32..60).prop_map(Step::Resize),
    ]
}

fn apply(board: &mut SlowNodes, step: &Step) -> Vec<Change> {
    match step {
        Step::Report { at, reporter, judged, suspects } => {
            let judged = judged.iter().copied().map(NodeId).collect();
            let suspects = suspects.iter().map(|&(node, factor)| (NodeId(node), factor)).collect();
            let _ = board.report(Instant::from_nanos(*at), NodeId(*reporter), &Report { judged, suspects });
            Vec::new()
        }
        Step::Round { at } => board.round(Instant::from_nanos(*at)),
        Step::Forget(node) => {
            board.forget(NodeId(*node));
            Vec::new()
        }
        Step::Resize(nodes) => {
            board.resize(*nodes).unwrap();
            Vec::new()
        }
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_the_cap_and_the_changes_hold(
        steps in prop::collection::vec(step(), 0..150),
        least_reporters in 1_u32..4,
        enter_rounds in 1_u32..3,
        shares in (0.0_f64..0.5, 0.0_f64..0.3, 0.0_f64..=1.0),
    ) {
        let mut config = SlowConfig::default();
        (config.least_reporters, config.enter_rounds) = (least_reporters, enter_rounds);
        (config.least_share, config.most_demoted, config.most_accused) = shares;
        let mut board = SlowNodes::new(config, 40).unwrap();
        for step in &steps {
            let before: BTreeSet<_> = board.slow().iter().map(|slow| slow.node).collect();
            let changes = apply(&mut board, step);
            let after: BTreeSet<_> = board.slow().iter().map(|slow| slow.node).collect();
            prop_assert_eq!(board.slow().len(), after.len());
            for slow in board.slow() {
                prop_assert_eq!(board.slow_node(slow.node), Some(*slow));
                prop_assert!((1.0..=1_000.0).contains(&slow.evidence.factor));
                prop_assert!(slow.evidence.reporters <= slow.evidence.observers);
                prop_assert!(slow.evidence.reporters >= least_reporters);
            }
            if let Step::Round { .. } = step {
                prop_assert!(after.len() <= board.most_demoted() as usize);
                if board.fleet_wide().is_some() {
                    prop_assert!(after.is_empty());
                }
                let (mut told, mut distinct) = (before, BTreeSet::new());
                for change in &changes {
                    prop_assert!(distinct.insert(change.node()));
                    match change {
                        Change::Entered { node, .. } => prop_assert!(told.insert(*node)),
                        Change::Left { node, .. } => prop_assert!(told.remove(node)),
                    }
                }
                prop_assert_eq!(told, after);
            }
        }
    }

    #[test]
    fn with_fewer_reporters_than_the_minimum_nobody_is_ever_demoted(
        steps in prop::collection::vec(step(), 0..150),
        least_reporters in 1_u32..5,
    ) {
        let mut config = SlowConfig::published(u32::MAX);
        config.least_reporters = least_reporters;
        let mut board = SlowNodes::new(config, 40).unwrap();
        for step in &steps {
            let mut step = step.clone();
            if let Step::Report { reporter, .. } = &mut step {
                *reporter %= least_reporters.max(2) - 1;
                if least_reporters == 1 {
                    continue;
                }
            }
            apply(&mut board, &step);
            prop_assert!(board.slow().is_empty());
        }
    }
}
