//! The eleven rules of a read, as fixed scripts: one test a promise. Legs are late after 10 ms.

mod world;

use hedge_core::{
    Cause, CellSet, Due, Evidence, HedgeResult, Input, LegEnd, Mode, NodeId, Outcome, Reason, Subject, Why,
};
use world::{Hand, asked, at, delivered, ms, ok, plan, rs_6_3, set, started};

// Rule 1: done means delivered.

#[test]
fn a_read_is_done_when_its_wanted_cells_are_there() {
    let mut hand = Hand::running(&rs_6_3([0, 3]));
    assert_eq!(hand.deliver(1, 3).finish(), None);
    assert_eq!(hand.deliver(2, 0).finish(), delivered([0, 3]));
    assert!(hand.watched.read.drained());
}

#[test]
fn k_cells_that_lack_a_wanted_one_are_decoded_first() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.timeout(10).grant(10).start(10);
    assert_eq!(hand.deliver(11, 2).finish(), None);
    hand.deliver(12, 1);
    assert_eq!((hand.decode(), hand.finish()), (Some((set([0]), set([1, 2]))), None));
    assert_eq!(hand.decoded(13).finish(), ok([], [0]));
    hand.drain(14);
}

#[test]
fn failed_legs_never_count_as_completed() {
    let mut hand = Hand::running(&plan::<4>(2, 4, [0, 1]));
    hand.fail(1, 0, Cause::Missing).start(1);
    hand.fail(2, 2, Cause::Missing).start(2);
    assert_eq!(hand.finish(), None);
    hand.deliver(3, 1);
    assert_eq!((hand.finish(), hand.decode()), (None, None));
    assert_eq!(hand.deliver(4, 3).decode(), Some((set([0]), set([1, 3]))));
    hand.decoded(5);
    assert_eq!(hand.finish(), ok([1], [0]));
}

// Rule 2: the original ends the read.

#[test]
fn an_original_that_comes_while_its_rebuild_decodes_ends_the_read() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.timeout(10).grant(10).start(10);
    hand.deliver(11, 1).deliver(12, 2);
    assert!(hand.watched.is_decoding());
    assert_eq!(hand.deliver(13, 0).finish(), delivered([0]));
    assert_eq!(hand.hedges(), [(2, HedgeResult::Lost)]);
    assert_eq!(hand.released(), CellSet::EMPTY, "the decode still reads its sources");
    hand.decoded(20);
    assert_eq!((hand.finish(), hand.released()), (None, set([1, 2])));
    assert!(hand.watched.read.drained());
}

#[test]
fn an_original_that_comes_before_the_rebuild_is_complete_ends_the_read() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.timeout(10).grant(10).start(10).deliver(11, 1);
    assert_eq!(hand.deliver(12, 0).finish(), delivered([0]));
    assert_eq!((hand.released(), hand.cancelled()), (set([1]), set([2])));
    assert_eq!(hand.stop(13, 2).released(), set([2]));
}

#[test]
fn a_beaten_original_that_comes_later_tells_what_was_saved() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.timeout(10).grant(10).start(10).deliver(11, 1).deliver(12, 2).decoded(13);
    assert_eq!(hand.hedges(), [(2, HedgeResult::Won)]);
    assert_eq!(hand.cancelled(), set([0]));
    hand.deliver(40, 0);
    assert_eq!(hand.evidence(), [Evidence::Saved { node: NodeId(0), by: ms(27) }]);
    assert_eq!(hand.released(), set([0]));
    assert!(hand.watched.read.drained());
}

// Rule 3: a hedge is neutral.

#[test]
fn a_crossing_is_petitioned_also_when_no_further_cell_is_needed() {
    let mut eager = plan::<3>(1, 3, [0]);
    eager.mode = Mode::Eager(1);
    let mut hand = Hand::running(&eager);
    hand.grant(0);
    assert_eq!(asked(hand.timeout(10), 0), 0, "cell 1 is on its way");
}

#[test]
fn a_failed_hedge_leg_leaves_its_cell_its_tries() {
    let mut tried_once = plan::<2>(1, 2, [0]);
    tried_once.max_tries = 1;
    let mut hand = Hand::running(&tried_once);
    hand.timeout(10).grant(10).start(10);
    hand.fail(11, 1, Cause::Timeout);
    assert_eq!((hand.finish(), hand.hedges()), (None, vec![(1, HedgeResult::Void)]));
    hand.refuse(11, Reason::NoCells, None);
    hand.fail(20, 0, Cause::Unreachable);
    assert_eq!(hand.launched_for(Why::Degraded), set([1]), "the hedge's failure was not its try");
    assert_eq!(hand.start(20).deliver(21, 1).finish(), None);
    assert_eq!(hand.decoded(21).finish(), ok([], [0]));
}

#[test]
fn a_refused_leg_goes_on_as_if_nobody_had_asked() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.timeout(10).refuse(10, Reason::Budget, None);
    assert_eq!((hand.outputs.len(), hand.watched.read.next_deadline()), (0, None));
    assert_eq!(hand.deliver(500, 0).finish(), delivered([0]));
    assert_eq!(hand.watched.read.tally().launched, 1);
}

#[test]
fn a_failed_decode_leaves_the_read_to_its_originals() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.timeout(10).grant(10).start(10).deliver(11, 1).deliver(12, 2);
    assert_eq!(hand.input(13, Input::Decoded(false)).finish(), None);
    assert_eq!(hand.deliver(40, 0).finish(), delivered([0]));
}

// Rule 4: cancel is a request, stopped is a fact.

/// c0 failed, c1 and c2 were delivered, the decode is out; then the caller gives up.
#[test]
fn an_abort_releases_nothing_that_a_running_decode_reads() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.fail(1, 0, Cause::Missing).start(1).deliver(2, 1).deliver(3, 2);
    assert_eq!(hand.decode(), Some((set([0]), set([1, 2]))));
    hand.abort(4);
    assert_eq!((hand.finish(), hand.released()), (Some(Outcome::Aborted), CellSet::EMPTY));
    assert!(!hand.watched.read.drained());
    assert_eq!(hand.decoded(9).released(), set([1, 2]));
    assert!(hand.watched.read.drained());
}

#[test]
fn a_given_up_leg_keeps_its_buffer_until_its_writer_is_gone() {
    let mut hand = Hand::running(&plan::<2>(1, 2, [0]));
    hand.give_up(5, 0, Cause::Timeout);
    assert_eq!((hand.cancelled(), hand.released()), (set([0]), CellSet::EMPTY));
    assert_eq!(hand.launched_for(Why::Degraded), set([1]));
    hand.start(5);
    hand.deliver(6, 1);
    assert_eq!(hand.decoded(6).finish(), ok([], [0]));
    assert_eq!(hand.watched.read.leased(), set([0]));
    assert_eq!(hand.stop(9, 0).released(), set([0]));
}

#[test]
fn a_given_up_leg_that_delivers_all_the_same_is_used() {
    let mut hand = Hand::running(&plan::<2>(1, 2, [0]));
    hand.give_up(5, 0, Cause::Timeout).start(5);
    assert_eq!(hand.deliver(6, 0).finish(), delivered([0]));
    hand.drain(7);
}

#[test]
fn a_cell_is_not_read_again_while_its_last_writer_lives() {
    let mut only_one = plan::<2>(1, 2, [0]);
    only_one.missing = set([1]);
    let mut hand = Hand::running(&only_one);
    assert_eq!(hand.give_up(5, 0, Cause::Timeout).launched(), []);
    hand.stop(8, 0);
    assert_eq!((hand.released(), hand.launched_for(Why::Degraded)), (set([0]), set([0])));
}

#[test]
fn stopping_without_a_cancel_is_a_failure() {
    let mut hand = Hand::running(&plan::<2>(1, 2, [0]));
    hand.stop(3, 0);
    assert_eq!(hand.launched_for(Why::Degraded), set([1]));
    let end = LegEnd::Failed(Cause::Cancelled);
    assert!(matches!(hand.evidence()[..], [Evidence::Leg { end: found, .. }] if found == end));
}

#[test]
fn an_ok_read_hands_its_delivered_cells_to_the_caller() {
    let mut hand = Hand::running(&rs_6_3([0, 1, 2, 3, 4, 5]));
    hand.timeout(10).grant(10).start(10);
    for cell in [1, 2, 3, 4, 5] {
        hand.deliver(11, cell);
    }
    assert_eq!(hand.deliver(12, 6).decode(), Some((set([0]), set([1, 2, 3, 4, 5, 6]))));
    hand.decoded(13);
    assert_eq!(hand.finish(), ok([1, 2, 3, 4, 5], [0]));
    assert_eq!(hand.released(), set([6]), "cell 6 was only a source");
}

// Rule 5: clocks start when work starts.

#[test]
fn a_leg_that_only_waits_in_a_queue_is_never_late() {
    let hand = Hand::new(&rs_6_3([0]));
    assert_eq!(hand.watched.read.next_deadline(), None);
    let mut waiting = hand.clone();
    assert_eq!(waiting.timeout(5_000).petition(), None);
    waiting.input(5_000, started(waiting.leg(0)));
    assert_eq!(waiting.watched.read.next_deadline(), Some((at(5_010), Due::Late(waiting.leg(0)))));
}

#[test]
fn connecting_is_work_unless_the_plan_says_otherwise() {
    let mut counts = Hand::running(&rs_6_3([0]));
    let leg = counts.leg(0);
    counts.input(8, Input::Connected(leg));
    assert_eq!(counts.watched.read.next_deadline(), Some((at(10), Due::Late(leg))));

    let mut patient = rs_6_3([0]);
    patient.clocks.connect_counts = false;
    let mut hand = Hand::running(&patient);
    assert_eq!(hand.watched.read.next_deadline(), None);
    assert_eq!(hand.timeout(30).petition(), None);
    hand.input(30, Input::Connected(leg));
    assert_eq!(hand.watched.read.next_deadline(), Some((at(40), Due::Late(leg))));
    assert_eq!(asked(hand.timeout(40), 0), 6);
}

#[test]
fn progress_puts_off_the_stall_and_never_the_threshold() {
    let mut stalling = rs_6_3([0]);
    stalling.clocks.stall = Some(ms(4));
    let mut hand = Hand::running(&stalling);
    let (leg, deadline) = (hand.leg(0), |hand: &Hand<9>| hand.watched.read.next_deadline());
    assert_eq!(deadline(&hand), Some((at(4), Due::Late(leg))));
    hand.input(3, Input::Connected(leg));
    assert_eq!(deadline(&hand), Some((at(7), Due::Late(leg))));
    hand.input(6, Input::Progress(leg));
    assert_eq!(deadline(&hand), Some((at(10), Due::Late(leg))), "6 + 4 is the threshold, too");
    hand.input(9, Input::Progress(leg));
    assert_eq!(deadline(&hand), Some((at(10), Due::Late(leg))));
    assert_eq!(asked(hand.timeout(10), 0), 6);
}

#[test]
fn late_once_is_late_for_good() {
    let mut stalling = rs_6_3([0]);
    stalling.clocks = hedge_core::Clocks { stall: Some(ms(4)), late: None, ..stalling.clocks };
    let mut hand = Hand::running(&stalling);
    hand.timeout(4).refuse(4, Reason::Rate, Some(9));
    hand.input(5, Input::Progress(hand.leg(0)));
    let petition = hand.timeout(9).petition().expect("it asks again");
    assert!(matches!(petition.subject, Subject::Late { again: true, .. }));
}

// Rule 6: one deadline a leg, from its own start.

#[test]
fn siblings_never_move_a_legs_deadline() {
    let mut hand = Hand::new(&rs_6_3([0, 1, 2]));
    for (millis, cell) in [(0, 0), (3, 1), (6, 2)] {
        hand.input(millis, started(hand.leg(cell)));
    }
    hand.deliver(7, 1);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(10), Due::Late(hand.leg(0)))));
    hand.timeout(10).grant(10);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(16), Due::Late(hand.leg(2)))));
}

/// Cell 0 was hedged, failed, and is tried again; then a leg of that hedge fails.
#[test]
fn a_hedge_that_fails_never_moves_the_deadline_of_its_stragglers_next_try() {
    let mut stalling = plan::<4>(2, 4, [0, 1]);
    stalling.missing = set([3]);
    stalling.clocks.stall = Some(ms(4));
    let mut hand = Hand::running(&stalling);
    hand.input(3, Input::Progress(hand.leg(1)));
    hand.timeout(4).grant(4).start(4);
    hand.fail(5, 0, Cause::Timeout);
    hand.fail(6, 1, Cause::Timeout);
    assert_eq!(hand.launched_for(Why::Degraded), set([0, 1]));
    hand.start(6).fail(7, 2, Cause::Timeout);
    assert_eq!(hand.hedges(), [(1, HedgeResult::Void)]);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(10), Due::Late(hand.leg(0)))));
}

// Rule 7: the cheapest healthy set.

#[test]
fn one_cell_wanted_and_late_costs_six() {
    let mut hand = Hand::running(&rs_6_3([0]));
    assert_eq!(asked(hand.timeout(10), 0), 6);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([1, 2, 3, 4, 5, 6]));
}

#[test]
fn one_late_of_six_wanted_costs_one() {
    let mut hand = Hand::running(&rs_6_3([0, 1, 2, 3, 4, 5]));
    for cell in 1..6 {
        hand.deliver(5, cell);
    }
    assert_eq!(asked(hand.timeout(10), 0), 1);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([6]));
}

#[test]
fn two_late_of_six_wanted_cost_one_each() {
    let mut hand = Hand::running(&rs_6_3([0, 1, 2, 3, 4, 5]));
    for cell in 2..6 {
        hand.deliver(5, cell);
    }
    assert_eq!(asked(hand.timeout(10), 0), 1);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([6]));
    assert_eq!(asked(&mut hand, 1), 1);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([7]));
    assert_eq!(hand.petition(), None);
}

#[test]
fn one_wanted_with_four_zeros_costs_two() {
    let mut zeros = rs_6_3([0]);
    zeros.zero = set([2, 3, 4, 5]);
    let mut hand = Hand::running(&zeros);
    assert_eq!(asked(hand.timeout(10), 0), 2);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([1, 6]));
    hand.start(10).deliver(11, 1);
    assert_eq!(hand.deliver(12, 6).decode(), Some((set([0]), set([1, 2, 3, 4, 5, 6]))));
}

#[test]
fn fewer_cells_left_than_needed_are_no_cells() {
    let mut losses = rs_6_3([0]);
    losses.missing = set([1, 2, 3]);
    let mut hand = Hand::running(&losses);
    assert_eq!(asked(hand.timeout(10), 0), 0);
}

#[test]
fn a_spare_is_taken_where_more_than_one_cell_is_read() {
    let mut with_spare = rs_6_3([0]);
    with_spare.spare = 1;
    let mut hand = Hand::running(&with_spare);
    assert_eq!(asked(hand.timeout(10), 0), 7);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([1, 2, 3, 4, 5, 6, 7]));
    hand.start(10);
    hand.fail(11, 1, Cause::Timeout);
    assert_eq!((hand.hedges(), hand.petition()), (vec![], None), "there was one to spare");
    hand.fail(12, 2, Cause::Timeout);
    assert_eq!(hand.hedges(), [(7, HedgeResult::Void)]);
    assert_eq!(asked(&mut hand, 0), 1, "one is needed, and a single cell has no spare");

    with_spare.wanted = set([0, 1, 2, 3, 4, 5]);
    let mut hand = Hand::running(&with_spare);
    assert_eq!(asked(hand.timeout(10), 0), 1);
}

#[test]
fn a_grant_without_the_spare_is_enough() {
    let mut with_spare = rs_6_3([0]);
    with_spare.spare = 2;
    let mut hand = Hand::running(&with_spare);
    assert_eq!(asked(hand.timeout(10), 0), 8);
    hand.grant_cells(10, 7);
    assert_eq!((hand.launched_for(Why::Hedge).len(), hand.refunded()), (7, 0));
}

#[test]
fn a_grant_below_the_need_launches_nothing_and_is_refunded() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.timeout(10).grant_cells(10, 5);
    assert_eq!((hand.launched(), hand.refunded()), (vec![], 5));
    assert_eq!(hand.hedges(), [(0, HedgeResult::Unused)]);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(11), Due::Retry(hand.leg(0)))));
}

#[test]
fn a_grant_beyond_the_need_is_refunded() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.timeout(10).grant_cells(10, 9);
    assert_eq!((hand.launched_for(Why::Hedge).len(), hand.refunded()), (6, 3));
}

#[test]
fn sources_are_taken_in_the_plans_order() {
    let mut healthiest_first = rs_6_3([0]);
    healthiest_first.order = [8, 7, 6, 5, 4, 3, 2, 1, 0];
    let mut hand = Hand::running(&healthiest_first);
    assert_eq!(hand.timeout(10).grant(10).launched_for(Why::Hedge), set([8, 7, 6, 5, 4, 3]));
}

#[test]
fn no_two_legs_share_a_node_while_another_is_left() {
    let mut shared = plan::<6>(2, 6, [0]);
    shared.node = [0, 0, 1, 1, 2, 3].map(NodeId);
    let mut hand = Hand::running(&shared);
    hand.timeout(10).grant(10);
    assert_eq!(hand.launched_for(Why::Hedge), set([2, 4]), "1 lies with 0, and 3 with 2");

    shared.node = [0, 0, 1, 1, 1, 0].map(NodeId);
    let mut hand = Hand::running(&shared);
    hand.timeout(10).grant(10);
    assert_eq!(hand.launched_for(Why::Hedge), set([2, 3]), "rather with each other than with the straggler");
}

#[test]
fn unknown_nodes_are_all_different() {
    let mut unknown = plan::<4>(2, 4, [0]);
    unknown.node = [NodeId::UNKNOWN; 4];
    let mut hand = Hand::running(&unknown);
    assert_eq!(hand.timeout(10).grant(10).launched_for(Why::Hedge), set([1, 2]));
}

// Rule 8: a hedge can be hedged.

#[test]
fn a_late_hedge_leg_petitions_like_any_other() {
    let mut hand = Hand::running(&plan::<4>(1, 4, [0]));
    hand.timeout(10).grant(10).start(10);
    let petition = hand.timeout(20).petition().expect("the hedge leg is late, too");
    assert!(
        matches!(petition.subject, Subject::Late { leg, why: Why::Hedge, node, .. } if leg.cell == 1 && node == NodeId(1))
    );
    hand.grant(20).start(20);
    assert_eq!(hand.watched.read.hedged(), set([0, 1]));
    hand.timeout(30).grant(30).start(30);
    assert_eq!((hand.watched.read.hedged(), hand.launched()), (set([0, 1, 2]), vec![(3, Why::Hedge)]));
    assert_eq!(asked(hand.timeout(40), 3), 0, "m stragglers are hedged: no more");
}

#[test]
fn a_failed_hedge_leg_voids_its_hedge_and_its_straggler_asks_at_the_same_instant() {
    let mut hand = Hand::running(&plan::<4>(2, 4, [0]));
    hand.timeout(10).grant(10).start(10);
    hand.fail(12, 1, Cause::Refused);
    assert_eq!(hand.hedges(), [(2, HedgeResult::Void)]);
    let petition = hand.petition().expect("at once");
    assert!(matches!(petition.subject, Subject::Late { leg, again: true, .. } if leg.cell == 0));
    assert_eq!(petition.cells, 1);
    assert_eq!(hand.grant(12).launched_for(Why::Hedge), set([3]));
}

#[test]
fn hedge_legs_and_suspects_have_thresholds_of_their_own() {
    let mut tuned = plan::<4>(1, 4, [0, 1]);
    tuned.clocks.late_hedge = Some(ms(3));
    tuned.clocks.late_suspect = Some(ms(6));
    tuned.suspect = set([1]);
    let mut hand = Hand::running(&tuned);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(6), Due::Late(hand.leg(1)))));
    hand.timeout(6).refuse(6, Reason::Rate, None);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(10), Due::Late(hand.leg(0)))));
    hand.timeout(10);
    assert_eq!(asked(&mut hand, 0), 0, "cell 1 is on its way, and k is 1");
}

#[test]
fn a_suspected_hedge_leg_is_late_at_the_sooner_of_its_thresholds() {
    for (hedge, suspect, expected) in [(3, 6, 13), (6, 3, 13), (8, 20, 18)] {
        let mut tuned = plan::<3>(1, 3, [0]);
        tuned.clocks.late_hedge = Some(ms(hedge));
        tuned.clocks.late_suspect = Some(ms(suspect));
        tuned.suspect = set([1]);
        let mut hand = Hand::running(&tuned);
        hand.timeout(10).grant(10).start(10);
        assert_eq!(hand.watched.read.next_deadline(), Some((at(expected), Due::Late(hand.leg(1)))));
    }
}

// Rule 9: failure is not a hedge.

#[test]
fn a_failed_leg_is_replaced_at_once_and_without_leave() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.fail(1, 0, Cause::Timeout);
    assert_eq!((hand.launched_for(Why::Degraded), hand.petition()), (set([1, 2, 3, 4, 5, 6]), None));
    hand.start(1).fail(2, 4, Cause::Unreachable);
    assert_eq!(hand.launched_for(Why::Degraded), set([7]));
    hand.start(2).fail(3, 7, Cause::Unreachable);
    assert_eq!(hand.launched_for(Why::Degraded), set([8]));
    hand.start(3).fail(4, 8, Cause::Unreachable);
    assert_eq!(
        hand.launched_for(Why::Degraded).len(),
        1,
        "fresh cells are used up: one that failed is tried again"
    );
}

#[test]
fn a_cell_is_tried_as_often_as_the_plan_says() {
    for tries in [1, 2, 5, if cfg!(miri) { 9 } else { 200 }] {
        let mut alone = plan::<1>(1, 1, [0]);
        alone.max_tries = tries;
        let mut hand = Hand::running(&alone);
        for attempt in 1..tries {
            hand.fail(u64::from(attempt), 0, Cause::Timeout).start(u64::from(attempt));
            assert_eq!(hand.launched().len(), 1);
        }
        hand.fail(300, 0, Cause::Timeout);
        assert_eq!(hand.finish(), Some(Outcome::Lost { cells: set([0]) }));
        assert_eq!(hand.watched.read.tally().launched, u16::from(tries));
    }
}

#[test]
fn missing_and_corrupt_cells_are_never_tried_again() {
    for cause in [Cause::Missing, Cause::Corrupt] {
        let mut hand = Hand::running(&plan::<1>(1, 1, [0]));
        assert_eq!(hand.fail(1, 0, cause).finish(), Some(Outcome::Lost { cells: set([0]) }));
    }
}

#[test]
fn a_read_of_a_demoted_node_starts_rebuilt_with_six_reads() {
    let mut demoted = rs_6_3([0]);
    demoted.avoid = set([0]);
    let hand = Hand::new(&demoted);
    assert_eq!(hand.launched_for(Why::Degraded), set([1, 2, 3, 4, 5, 6]));
}

#[test]
fn a_demoted_node_is_read_where_nothing_else_is_left() {
    let mut demoted = plan::<3>(2, 3, [0]);
    demoted.avoid = set([0]);
    let mut hand = Hand::new(&demoted);
    assert_eq!(hand.launched_for(Why::Degraded), set([1, 2]), "the read starts rebuilt");
    hand.start(0).fail(1, 2, Cause::Missing);
    assert_eq!(hand.launched(), [(0, Why::Original)], "and now it needs cell 0 itself");
    assert_eq!(hand.start(1).deliver(2, 0).finish(), delivered([0]));
    hand.drain(3);
}

#[test]
fn where_a_rebuild_needs_demoted_nodes_too_the_cell_itself_is_read() {
    // Five sources are on healthy nodes, and a rebuild takes six: one read is cheaper than six, and waits no longer.
    let mut demoted = rs_6_3([0]);
    demoted.avoid = set([0, 1, 2, 3]);
    assert_eq!(Hand::new(&demoted).launched(), [(0, Why::Original)]);
    // With six it starts rebuilt.
    demoted.avoid = set([0, 1, 2]);
    assert_eq!(Hand::new(&demoted).launched_for(Why::Degraded), set([3, 4, 5, 6, 7, 8]));
    // A cell that is lost has to be rebuilt all the same; one that is not is read, and is a source.
    demoted.wanted = set([0, 1]);
    demoted.missing = set([0]);
    demoted.avoid = set([1, 2, 3]);
    let launched = Hand::new(&demoted).launched();
    assert_eq!(launched[0], (1, Why::Original));
    assert!(
        launched[1..].iter().copied().eq([4, 5, 6, 7, 8].map(|cell| (cell, Why::Degraded))),
        "{launched:?}"
    );
    let mut replicas = plan::<3>(1, 3, [0]);
    replicas.avoid = set([0, 1, 2]);
    assert_eq!(Hand::new(&replicas).launched(), [(0, Why::Original)]);
}

#[test]
fn cells_missing_from_the_start_are_rebuilt_without_leave() {
    let mut degraded = rs_6_3([0, 1]);
    degraded.missing = set([0]);
    let mut hand = Hand::new(&degraded);
    assert_eq!(
        hand.launched(),
        [
            (1, Why::Original),
            (2, Why::Degraded),
            (3, Why::Degraded),
            (4, Why::Degraded),
            (5, Why::Degraded),
            (6, Why::Degraded)
        ]
    );
    hand.start(0);
    for cell in 1..6 {
        hand.deliver(1, cell);
    }
    assert_eq!(hand.deliver(2, 6).decode(), Some((set([0]), set([1, 2, 3, 4, 5, 6]))));
    assert_eq!(hand.decoded(3).finish(), ok([1], [0]));
}

#[test]
fn too_many_missing_cells_are_lost_at_once_and_named() {
    let mut degraded = rs_6_3([0, 1]);
    degraded.missing = set([0, 6, 7, 8]);
    let mut hand = Hand::new(&degraded);
    assert_eq!(hand.finish(), Some(Outcome::Lost { cells: set([0]) }));
    assert_eq!(hand.launched(), []);
    hand.drain(0);
}

// Rule 10 is the governor's. Rule 11: eager legs are not hedges.

#[test]
fn an_eager_start_asks_for_all_that_k_and_d_need() {
    let mut eager = rs_6_3([0]);
    eager.mode = Mode::Eager(2);
    let mut hand = Hand::new(&eager);
    let petition = hand.petition().expect("a petition at the start");
    assert_eq!((petition.subject, petition.cells), (Subject::Eager, 7));
    assert_eq!(hand.grant(0).launched_for(Why::Eager), set([1, 2, 3, 4, 5, 6, 7]));
    hand.start(0);
    for cell in 1..6 {
        hand.deliver(1, cell);
    }
    assert_eq!(hand.deliver(2, 7).decode(), Some((set([0]), set([1, 2, 3, 4, 5, 7]))));
    hand.decoded(3);
    assert_eq!((hand.hedges(), hand.watched.read.tally().hedges), (vec![], 0));
    hand.drain(4);
}

#[test]
fn an_eager_start_refused_is_a_plain_start() {
    let mut eager = rs_6_3([0, 1, 2, 3, 4, 5]);
    eager.mode = Mode::Eager(1);
    let mut hand = Hand::running(&eager);
    assert_eq!(hand.petition().map(|petition| petition.cells), Some(1));
    hand.refuse(0, Reason::Budget, Some(1));
    assert_eq!((hand.launched(), hand.petition()), (vec![], None));
    assert_eq!(
        hand.watched.read.next_deadline(),
        Some((at(10), Due::Late(hand.leg(0)))),
        "and it never asks again"
    );
    assert_eq!(asked(hand.timeout(10), 0), 1);
}

#[test]
fn an_eager_grant_may_be_smaller_and_the_rest_comes_back() {
    let mut eager = plan::<9>(6, 9, [0, 1, 2, 3, 4, 5]);
    eager.mode = Mode::Eager(3);
    let mut hand = Hand::new(&eager);
    assert_eq!(hand.grant_cells(0, 1).launched_for(Why::Eager), set([6]));
    let mut hand = Hand::new(&eager);
    hand.grant_cells(0, 5);
    assert_eq!((hand.launched_for(Why::Eager), hand.refunded()), (set([6, 7, 8]), 2));
}

#[test]
fn an_eager_start_that_makes_no_leg_superfluous_is_not_asked_for() {
    let mut eager = rs_6_3([0]);
    eager.mode = Mode::Eager(3);
    eager.missing = set([6, 7, 8]);
    assert_eq!(Hand::new(&eager).petition(), None, "cell 0 would be waited for all the same");
    eager.missing = set([7, 8]);
    assert_eq!(Hand::new(&eager).petition().map(|petition| petition.cells), Some(6));
    let mut hand = Hand::new(&eager);
    hand.grant_cells(0, 5);
    assert_eq!((hand.launched(), hand.refunded()), (vec![], 5));
}

#[test]
fn an_eager_start_is_asked_for_at_the_start_or_never() {
    let mut eager = plan::<6>(2, 6, [0, 1, 2, 3]);
    eager.mode = Mode::Eager(1);
    let mut hand = Hand::running(&eager);
    assert_eq!(hand.petition(), None, "four legs are more than k and one");
    hand.fail(1, 0, Cause::Missing);
    assert_eq!(hand.petition(), None);
    assert_eq!(hand.fail(2, 1, Cause::Missing).petition(), None);
}

#[test]
fn no_leg_that_the_read_can_do_without_goes_to_a_demoted_node() {
    let mut demoted = rs_6_3([0]);
    demoted.avoid = set([7, 8]);
    demoted.spare = 255;
    let mut hand = Hand::running(&demoted);
    assert_eq!(asked(hand.timeout(10), 0), 6);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([1, 2, 3, 4, 5, 6]));
    demoted.mode = Mode::Eager(255);
    assert_eq!(Hand::new(&demoted).grant(0).launched_for(Why::Eager), set([1, 2, 3, 4, 5, 6]));
    // But a hedge that needs it goes there.
    demoted.avoid = set([6, 7, 8]);
    demoted.mode = Mode::Hedge;
    let mut hand = Hand::running(&demoted);
    assert_eq!(asked(hand.timeout(10), 0), 6);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([1, 2, 3, 4, 5, 6]));
}
