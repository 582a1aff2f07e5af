//! What a read does beside its rules: modes, refusals and retries, costs, its end, hints, time, plans, and what clients of the
//! field promise of striped reads. Fixed scripts; legs are late after 10 ms.

mod world;

use hedge_core::{
    Cause, CellSet, Due, Evidence, HedgeResult, Input, Instant, LegEnd, LegId, Mode, NodeId, Outcome, Output,
    Permit, PlanError, ReadPlan, Reason, RequestId, Span, StripeRead, StripeReadView, Subject, Verdict, Why,
};
use world::{Hand, asked, at, delivered, grant, ms, ok, plan, rs_6_3, set, started};

// Modes.

#[test]
fn mode_off_knows_no_lateness_and_still_rebuilds() {
    let mut off = rs_6_3([0]);
    off.mode = Mode::Off;
    off.clocks = hedge_core::Clocks {
        stall: Some(ms(1)),
        late_hedge: Some(ms(1)),
        late_suspect: Some(ms(1)),
        ..off.clocks
    };
    off.suspect = set([0]);
    let mut hand = Hand::running(&off);
    assert_eq!((hand.watched.read.next_deadline(), hand.timeout(1_000).petition()), (None, None));
    assert_eq!(hand.fail(1_001, 0, Cause::Timeout).launched_for(Why::Degraded).len(), 6);
}

#[test]
fn a_dry_run_asks_and_launches_nothing_whatever_is_said() {
    let mut dry = rs_6_3([0]);
    dry.mode = Mode::DryRun;
    let mut hand = Hand::running(&dry);
    let petition = hand.timeout(10).petition().expect("it asks");
    assert!(petition.dry_run);
    assert_eq!(petition.cells, 6);
    let mut obeyed = hand.clone();
    assert_eq!(obeyed.refuse(10, Reason::DryRun, None).outputs, []);
    hand.grant(10);
    assert_eq!((hand.launched(), hand.refunded()), (vec![], 6));
    assert_eq!(hand.hedges(), [(0, HedgeResult::Unused)]);
}

// Refusals and retries.

#[test]
fn a_refused_leg_asks_again_when_it_was_told_and_never_before_the_floor() {
    for (retry, expected) in [(0, 13), (10, 13), (12, 13), (13, 13), (50, 50)] {
        let mut floored = rs_6_3([0]);
        floored.clocks.retry_floor = ms(3);
        let mut hand = Hand::running(&floored);
        hand.timeout(10).refuse(10, Reason::Rate, Some(retry));
        assert_eq!(hand.petition(), None);
        assert_eq!(hand.watched.read.next_deadline(), Some((at(expected), Due::Retry(hand.leg(0)))));
        assert_eq!(hand.timeout(expected - 1).petition(), None);
        assert_eq!(asked(hand.timeout(expected), 0), 6);
    }
}

#[test]
fn a_retry_floor_of_zero_is_a_nanosecond() {
    let mut floored = rs_6_3([0]);
    floored.clocks.retry_floor = Span::ZERO;
    let mut hand = Hand::running(&floored);
    hand.timeout(10).refuse(10, Reason::Rate, Some(10));
    let next = at(10) + Span::from_nanos(1);
    assert_eq!(hand.watched.read.next_deadline(), Some((next, Due::Retry(hand.leg(0)))));
}

/// The clock moves past the retry with an input that decides nothing; the retry is still due.
#[test]
fn a_retry_that_another_input_overtook_is_still_due() {
    let mut hand = Hand::running(&rs_6_3([0, 1]));
    hand.deliver(1, 1);
    hand.timeout(10).refuse(10, Reason::Rate, Some(15));
    let stale = LegId { cell: 1, attempt: 1 };
    for input in [Input::Delivered(stale), Input::Progress(hand.leg(0)), Input::Connected(hand.leg(0))] {
        let mut hand = hand.clone();
        hand.input(16, input);
        assert_eq!(
            hand.watched.read.next_deadline(),
            Some((at(15), Due::Retry(hand.leg(0)))),
            "after {input:?}"
        );
        assert_eq!(asked(hand.timeout(16), 0), 5);
    }
}

#[test]
fn no_cells_is_asked_again_when_another_leg_ends() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0, 1]));
    assert_eq!(asked(hand.timeout(10), 0), 1);
    hand.grant(10).start(10);
    assert_eq!(asked(&mut hand, 1), 0);
    hand.refuse(10, Reason::NoCells, None);
    assert_eq!((hand.petition(), hand.watched.read.next_deadline().map(|due| due.0)), (None, Some(at(20))));
    hand.deliver(12, 0);
    assert_eq!(asked(&mut hand, 1), 0, "asked again: cell 2 is on its way for it already");
}

#[test]
fn other_refusals_for_good_are_not_asked_again() {
    let mut hand = Hand::running(&plan::<4>(2, 4, [0, 1]));
    hand.timeout(10).refuse(10, Reason::UnknownNode, None);
    hand.refuse(10, Reason::UnknownNode, None);
    assert_eq!(hand.fail(11, 1, Cause::Timeout).petition(), None);
}

#[test]
fn petitions_are_numbered_and_only_the_one_that_is_out_is_answered() {
    let mut hand = Hand::running(&rs_6_3([0]));
    for turn in 1..=if cfg!(miri) { 20 } else { 300_u64 } {
        let petition = hand.timeout(10 * turn).petition().expect("a petition");
        assert_eq!(petition.id, turn as u8, "modulo 256");
        let ignored = hand.watched.ignored;
        for id in [petition.id.wrapping_sub(1), petition.id.wrapping_add(1)] {
            hand.input(10 * turn, Input::Verdict { id, verdict: grant(6) });
            assert_eq!(hand.outputs, []);
        }
        assert_eq!(hand.watched.ignored, ignored + 2);
        hand.refuse(10 * turn, Reason::Rate, Some(10 * turn + 10));
    }
}

#[test]
fn a_petition_tells_whether_its_leg_asked_before() {
    let mut alone = plan::<2>(1, 2, [0]);
    alone.missing = set([1]);
    let mut hand = Hand::running(&alone);
    let again = |hand: &Hand<2>| {
        hand.petition().map(|petition| matches!(petition.subject, Subject::Late { again: true, .. }))
    };
    assert_eq!(again(hand.timeout(10)), Some(false));
    hand.refuse(10, Reason::Rate, Some(20));
    assert_eq!(again(hand.timeout(20)), Some(true));
    hand.refuse(20, Reason::Rate, Some(40));
    hand.fail(25, 0, Cause::Timeout).start(25);
    assert_eq!(again(hand.timeout(35)), Some(false), "a new leg is a new lateness");
}

#[test]
fn the_request_of_a_leg_is_passed_on() {
    let mut hand = Hand::new(&rs_6_3([0, 1]));
    let request = RequestId(77);
    for cell in [0, 1] {
        hand.input(0, Input::Started { leg: hand.leg(cell), request });
    }
    let petition = hand.timeout(10).petition().expect("a petition");
    assert!(matches!(petition.subject, Subject::Late { request: RequestId(77), .. }));
    hand.refuse(10, Reason::Rate, None);
    let petition = hand.petition().expect("the other leg's");
    assert!(matches!(petition.subject, Subject::Late { request: RequestId(77), leg, .. } if leg.cell == 1));
    hand.refuse(10, Reason::Rate, None).deliver(12, 0);
    assert!(matches!(
        hand.evidence()[..],
        [Evidence::Leg { request: RequestId(77), end: LegEnd::Delivered, .. }]
    ));
}

#[test]
fn a_permit_comes_back_with_its_hedge() {
    let mut hand = Hand::running(&rs_6_3([0]));
    let id = hand.timeout(10).petition().expect("a petition").id;
    let permit = Permit { epoch: 9, probe: Some(3) };
    hand.input(10, Input::Verdict { id, verdict: Verdict::Grant { cells: 6, permit } }).start(10);
    hand.deliver(11, 0);
    let hedge = Evidence::Hedge { permit, cells: 6, result: HedgeResult::Lost };
    assert!(hand.evidence().contains(&hedge), "{:?}", hand.evidence());
}

// What a hedge costs.

#[test]
fn hedge_legs_on_which_no_work_began_are_refunded() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.timeout(10).grant(10);
    hand.input(11, started(hand.leg(1)));
    hand.deliver(12, 0);
    assert_eq!(hand.cancelled(), set([1, 2, 3, 4, 5, 6]));
    let refunded: u8 = (1..=6).map(|cell| hand.stop(13, cell).refunded()).sum();
    assert_eq!(refunded, 5);
}

#[test]
fn wasted_cells_are_those_read_by_leave_that_no_rebuild_used() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.timeout(10).grant(10).start(10).deliver(11, 1).deliver(11, 2);
    hand.deliver(12, 0);
    assert!(
        hand.evidence().contains(&Evidence::Read { cells: 3, wasted: 6, ok: true }),
        "{:?}",
        hand.evidence()
    );

    let mut with_spare = rs_6_3([0]);
    with_spare.spare = 1;
    let mut hand = Hand::running(&with_spare);
    hand.timeout(10).grant(10).start(10);
    for cell in 1..=6 {
        hand.deliver(11, cell);
    }
    hand.decoded(11);
    assert!(
        hand.evidence().contains(&Evidence::Read { cells: 6, wasted: 1, ok: true }),
        "{:?}",
        hand.evidence()
    );
}

#[test]
fn planned_hedge_legs_that_nobody_polled_are_refunded() {
    let mut hand = Hand::running(&rs_6_3([0]));
    let id = hand.timeout(10).petition().expect("a petition").id;
    hand.watched.handle(at(10), Input::Verdict { id, verdict: grant(6) });
    hand.deliver(10, 0);
    assert_eq!((hand.launched(), hand.refunded()), (vec![], 6));
    assert_eq!(hand.hedges(), [(0, HedgeResult::Unused)]);
    assert!(hand.watched.read.drained());
}

#[test]
fn a_grant_after_the_end_is_refunded() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.timeout(10).deliver(11, 0);
    assert!(!hand.watched.read.drained(), "a verdict is owed");
    hand.grant(12);
    assert_eq!((hand.launched(), hand.refunded()), (vec![], 6));
    assert_eq!(hand.hedges(), [(0, HedgeResult::Unused)]);
    assert!(hand.watched.read.drained());
}

// The read's end.

#[test]
fn the_deadline_ends_the_read_whatever_is_under_way() {
    let mut hurried = rs_6_3([0]);
    hurried.deadline = Some(at(15));
    let mut hand = Hand::running(&hurried);
    hand.timeout(10);
    assert_eq!(hand.petition().and_then(|petition| petition.deadline), Some(at(15)));
    hand.grant(10).start(10);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(15), Due::Deadline)));
    assert_eq!(hand.timeout(15).finish(), Some(Outcome::DeadlinePassed));
    assert_eq!(hand.cancelled(), CellSet::first_n(7));
    assert_eq!(hand.hedges(), [(6, HedgeResult::Void)]);
    assert_eq!(hand.watched.read.next_deadline(), None);
    hand.drain(16);
}

#[test]
fn at_one_instant_a_delivery_counts_before_the_deadline() {
    let mut hurried = rs_6_3([0]);
    hurried.deadline = Some(at(15));
    hurried.clocks.late = None;
    let mut hand = Hand::running(&hurried);
    assert_eq!(hand.deliver(15, 0).finish(), delivered([0]));
    let mut hand = Hand::running(&hurried);
    assert_eq!(hand.timeout(14).finish(), None);
    assert_eq!(hand.timeout(15).finish(), Some(Outcome::DeadlinePassed));
    assert_eq!(hand.deliver(15, 0).released(), set([0]));
}

#[test]
fn an_abort_ends_the_read_in_every_stage() {
    type Reach = fn(&mut Hand<3>) -> &mut Hand<3>;
    let stages: [(&str, Reach); 9] = [
        ("launched", |hand| hand),
        ("started", |hand| hand.start(0)),
        ("late", |hand| hand.start(0).timeout(10)),
        ("refused", |hand| hand.start(0).timeout(10).refuse(10, Reason::Rate, Some(20))),
        ("granted", |hand| hand.start(0).timeout(10).grant(10)),
        ("hedge started", |hand| hand.start(0).timeout(10).grant(10).start(10)),
        ("hedge delivered", |hand| hand.start(0).timeout(10).grant(10).start(10).deliver(11, 1)),
        ("decoding", |hand| hand.start(0).timeout(10).grant(10).start(10).deliver(11, 1).deliver(11, 2)),
        ("given up", |hand| hand.start(0).give_up(9, 0, Cause::Timeout)),
    ];
    for (stage, reach) in stages {
        let mut hand = Hand::new(&plan::<3>(2, 3, [0]));
        reach(&mut hand);
        let leased = hand.watched.read.leased();
        hand.abort(12);
        assert_eq!(hand.finish(), Some(Outcome::Aborted), "{stage}");
        assert!((hand.released() & leased).is_empty(), "{stage}: something may write");
        assert_eq!(hand.watched.read.leased(), leased, "{stage}");
        assert_eq!(hand.abort(12).outputs, [], "{stage}: a second abort does nothing");
        hand.drain(13);
    }
}

#[test]
fn an_abandoned_read_returns_what_is_leased_and_refunds_what_never_ran() {
    let mut hand = Hand::running(&rs_6_3([0, 1]));
    hand.timeout(10).grant(10);
    hand.input(10, started(hand.leg(2)));
    hand.deliver(11, 2);
    assert!(hand.watched.owed().is_some(), "the other straggler's petition is out");
    let mut evidence = Vec::new();
    let mut read = hand.watched.read.clone();
    let abandoned = read.abandon(at(12), |piece| evidence.push(piece));
    assert_eq!(abandoned.leased, set([0, 1, 3, 4, 5, 6]));
    assert_eq!(abandoned.decoding, CellSet::EMPTY);
    assert_eq!(abandoned.owed, hand.watched.owed().map(|petition| petition.id));
    let refunded = |evidence: &Evidence| if let Evidence::Refund { cells } = evidence { *cells } else { 0 };
    assert_eq!(evidence.iter().map(refunded).sum::<u8>(), 4, "{evidence:?}");
    let ends = evidence.iter().filter(|piece| matches!(piece, Evidence::Read { ok: false, .. }));
    assert_eq!(ends.count(), 1);
    assert!(evidence.iter().any(|piece| matches!(piece, Evidence::Hedge { result: HedgeResult::Void, .. })));
}

#[test]
fn an_abandoned_read_names_what_its_decode_reads() {
    let mut zeros = plan::<4>(3, 4, [0]);
    zeros.zero = set([1]);
    zeros.missing = set([0]);
    let mut hand = Hand::running(&zeros);
    hand.deliver(1, 2).deliver(2, 3);
    assert!(hand.watched.is_decoding());
    let abandoned = hand.watched.read.clone().abandon(at(3), |_| {});
    assert_eq!((abandoned.decoding, abandoned.leased), (set([2, 3]), CellSet::EMPTY));
    assert_eq!(abandoned.owed, None);
}

// Zeros, several wanted cells, copies.

#[test]
fn a_read_of_zeros_alone_reads_nothing() {
    let mut zeros = rs_6_3([4, 5]);
    zeros.zero = set([4, 5]);
    let hand = Hand::new(&zeros);
    assert_eq!((hand.launched(), hand.finish()), (vec![], delivered([4, 5])));
    assert!(hand.watched.read.drained());
}

#[test]
fn k_zeros_rebuild_a_lost_cell_without_a_read() {
    let mut zeros = rs_6_3([0]);
    zeros.missing = set([0]);
    zeros.zero = set([1, 2, 3, 4, 5, 6]);
    let mut hand = Hand::new(&zeros);
    assert_eq!((hand.launched(), hand.decode()), (vec![], Some((set([0]), set([1, 2, 3, 4, 5, 6])))));
    assert_eq!(hand.decoded(1).finish(), ok([], [0]));
    assert!(hand.watched.read.drained());
}

#[test]
fn copies_are_a_stripe_of_k_one() {
    let mut hand = Hand::running(&plan::<3>(1, 3, [0]));
    assert_eq!(asked(hand.timeout(10), 0), 1);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([1]));
    hand.start(10).deliver(12, 1);
    assert_eq!(hand.decode(), Some((set([0]), set([1]))));
    assert_eq!(hand.decoded(12).finish(), ok([], [0]));
    hand.drain(13);
}

#[test]
fn a_late_wanted_cell_counts_as_a_source_of_another_until_it_is_hedged() {
    let mut hand = Hand::running(&plan::<5>(3, 5, [0, 1]));
    assert_eq!(asked(hand.timeout(10), 0), 2, "cell 1 and two more");
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([2, 3]));
    assert_eq!(asked(&mut hand, 1), 1);
    assert_eq!(hand.grant(10).launched_for(Why::Hedge), set([4]));
    hand.start(10).deliver(11, 2).deliver(12, 3).deliver(13, 4);
    assert_eq!(hand.decode(), Some((set([0, 1]), set([2, 3, 4]))));
    assert_eq!(hand.decoded(14).finish(), ok([], [0, 1]));
    assert_eq!(hand.hedges(), [(2, HedgeResult::Won), (1, HedgeResult::Won)]);
    hand.drain(15);
}

// Hints.

#[test]
fn hints_name_the_decode_to_expect_and_are_replaced_by_it() {
    let mut hinting = plan::<4>(2, 4, [0]);
    hinting.hints = true;
    let mut hand = Hand::running(&hinting);
    assert_eq!(hand.hint(), None);
    hand.timeout(10).grant(10);
    assert_eq!(hand.hint(), Some((set([0]), set([1, 2]))));
    hand.start(10).fail(11, 1, Cause::Missing);
    hand.grant(11);
    assert_eq!(hand.hint(), Some((set([0]), set([2, 3]))));
    hand.start(11).deliver(12, 3);
    assert_eq!(hand.hint(), None, "still the same");
    hand.deliver(13, 2);
    assert_eq!((hand.hint(), hand.decode()), (None, Some((set([0]), set([2, 3])))));

    hinting.hints = false;
    let mut hand = Hand::running(&hinting);
    assert_eq!(hand.timeout(10).grant(10).hint(), None);
}

// Time.

#[test]
fn two_reads_a_whole_clock_apart_behave_alike() {
    let late = Instant::from_nanos(u64::MAX - ms(100).as_nanos());
    let script = |origin| {
        let mut hand = Hand::beginning_at(origin, &plan::<3>(2, 3, [0]));
        hand.start(0).timeout(10).refuse(10, Reason::Rate, Some(20)).timeout(20).grant(20).start(20);
        hand.deliver(25, 1).deliver(30, 2).decoded(31);
        let outputs = hand.outputs.clone();
        hand.drain(40);
        (outputs, hand.watched.read.tally())
    };
    assert_eq!(script(Instant::ZERO), script(late));
}

/// The next instant after the last is the last again: what would have to wait for it asks no more.
#[test]
fn at_the_end_of_the_clock_nothing_spins() {
    let origin = Instant::from_nanos(u64::MAX - ms(10).as_nanos());
    let mut hand = Hand::beginning_at(origin, &rs_6_3([0, 1]));
    hand.start(0);
    hand.input(u64::MAX, Input::Timeout);
    for _ in 0..4 {
        if hand.watched.owed().is_some() {
            hand.refuse(u64::MAX, Reason::Rate, Some(u64::MAX));
        }
    }
    assert_eq!((hand.petition(), hand.watched.owed()), (None, None));
    assert_eq!(hand.deliver(u64::MAX, 0).deliver(u64::MAX, 1).finish(), delivered([0, 1]));
}

#[test]
fn time_that_runs_backwards_is_no_time() {
    let mut hand = Hand::new(&rs_6_3([0]));
    hand.input(20, started(hand.leg(0)));
    hand.timeout(5);
    assert_eq!(hand.watched.read.next_deadline(), Some((at(30), Due::Late(hand.leg(0)))));
    hand.input(0, Input::Progress(hand.leg(0)));
    assert_eq!(hand.deliver(3, 0).finish(), delivered([0]));
    assert!(matches!(hand.evidence()[0], Evidence::Leg { took: Span::ZERO, .. }), "{:?}", hand.evidence());
}

#[test]
fn a_leg_is_told_with_its_stages() {
    let mut hand = Hand::running(&rs_6_3([0]));
    hand.input(3, Input::Connected(hand.leg(0)));
    hand.deliver(8, 0);
    let leg = Evidence::Leg {
        node: NodeId(0),
        request: RequestId::NONE,
        why: Why::Original,
        size_class: 0,
        connect_micros: Some(3_000),
        took: ms(8),
        end: LegEnd::Delivered,
    };
    assert_eq!(hand.evidence(), [leg, Evidence::Read { cells: 1, wasted: 0, ok: true }]);
}

// Room and plans.

#[test]
fn no_stage_of_a_leg_takes_longer_than_the_leg() {
    let end_of_leg = |end: Input| {
        let mut read = StripeRead::new(at(0), &rs_6_3([0])).unwrap();
        let leg = LegId { cell: 0, attempt: 1 };
        while read.poll_output().is_some() {}
        for (millis, input) in [(0, started(leg)), (1, end), (5, Input::Connected(leg))] {
            read.handle(at(millis), input);
        }
        read.poll_output()
    };
    let leg = LegId { cell: 0, attempt: 1 };
    for end in [Input::GaveUp(leg, Cause::Timeout), Input::Abort] {
        assert!(matches!(
            end_of_leg(end),
            Some(Output::Tell(Evidence::Leg { connect_micros: None, took, .. })) if took == ms(1)
        ));
    }
}

#[test]
fn a_plan_that_breaks_a_rule_is_an_error_with_its_numbers() {
    let broken = |change: &dyn Fn(&mut ReadPlan<9>)| {
        let mut plan = rs_6_3([0]);
        change(&mut plan);
        let error = StripeRead::new(Instant::ZERO, &plan).expect_err("a broken plan");
        assert_eq!(plan.check(), Err(error));
        (error, error.to_string())
    };
    type Break = fn(&mut ReadPlan<9>);
    let cases: [(Break, PlanError, &[&str]); 12] = [
        (|plan| plan.n = 10, PlanError::TooManyCells { n: 10, capacity: 9 }, &["10", "9"]),
        (|plan| plan.k = 0, PlanError::Schema { k: 0, n: 9 }, &["0", "9"]),
        (|plan| plan.k = 10, PlanError::Schema { k: 10, n: 9 }, &["10", "9"]),
        (|plan| plan.wanted = CellSet::EMPTY, PlanError::NothingWanted, &["wanted"]),
        (
            |plan| plan.wanted = set([9]),
            PlanError::NoSuchCell { field: "wanted", cell: 9, n: 9 },
            &["wanted", "9", "8"],
        ),
        (
            |plan| plan.zero = set([63]),
            PlanError::NoSuchCell { field: "zero", cell: 63, n: 9 },
            &["zero", "63"],
        ),
        (
            |plan| plan.missing = set([12]),
            PlanError::NoSuchCell { field: "missing", cell: 12, n: 9 },
            &["missing", "12"],
        ),
        (|plan| plan.avoid = set([9]), PlanError::NoSuchCell { field: "avoid", cell: 9, n: 9 }, &["avoid"]),
        (
            |plan| plan.suspect = set([9]),
            PlanError::NoSuchCell { field: "suspect", cell: 9, n: 9 },
            &["suspect"],
        ),
        (
            |plan| (plan.zero, plan.missing) = (set([4, 5]), set([5])),
            PlanError::ZeroAndMissing { cell: 5 },
            &["5"],
        ),
        (|plan| plan.order[3] = 9, PlanError::NoSuchCell { field: "order", cell: 9, n: 9 }, &["order", "9"]),
        (|plan| plan.order[3] = 8, PlanError::OrderTwice { cell: 8 }, &["8"]),
    ];
    for (change, expected, words) in cases {
        let (error, text) = broken(&change);
        assert_eq!(error, expected);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    for tries in [0, 201, 255] {
        let (error, _) = broken(&|plan| plan.max_tries = tries);
        assert_eq!(error, PlanError::Tries { max_tries: tries, most: 200 });
    }
}

#[test]
fn sixty_four_cells_are_the_most() {
    let full = plan::<64>(32, 64, 0..32);
    let mut read = StripeRead::new(Instant::ZERO, &full).expect("64 cells");
    let view: &mut StripeReadView = &mut read;
    let launches = core::iter::from_fn(|| view.poll_output());
    assert_eq!(launches.filter(|output| matches!(output, Output::Launch { .. })).count(), 32);
    let mut wide = ReadPlan::<80>::new(32, 65);
    wide.wanted = set([0]);
    let error = StripeRead::new(Instant::ZERO, &wide).expect_err("65 cells");
    assert_eq!(error, PlanError::TooManyCells { n: 65, capacity: 64 });
}

// What the clients of the field promise of striped reads.

#[test]
fn at_most_m_stragglers_of_a_stripe_are_hedged() {
    let mut hand = Hand::running(&rs_6_3([0, 1, 2, 3, 4, 5]));
    hand.timeout(10);
    for straggler in 0..3 {
        assert_eq!(asked(&mut hand, straggler), 1);
        hand.grant(10).start(10);
    }
    for straggler in 3..6 {
        assert_eq!(asked(&mut hand, straggler), 0);
        hand.refuse(10, Reason::NoCells, None);
    }
    assert_eq!(hand.watched.read.hedged(), set([0, 1, 2]));
}

#[test]
fn existing_losses_reduce_how_many_are_hedged() {
    let mut losses = rs_6_3([0, 1, 2, 3, 4, 5]);
    losses.missing = set([5, 7]);
    let mut hand = Hand::running(&losses);
    assert_eq!(asked(hand.timeout(10), 0), 1);
    hand.grant(10).start(10);
    assert_eq!(asked(&mut hand, 1), 0, "m is 3, and two cells are lost");
}

#[test]
fn late_results_of_retired_legs_are_dropped() {
    let mut hand = Hand::running(&rs_6_3([0]));
    let first = hand.leg(0);
    hand.fail(1, 0, Cause::Timeout).start(1);
    let ignored = hand.watched.ignored;
    assert_eq!(hand.input(2, Input::Delivered(first)).outputs, []);
    assert_eq!(hand.watched.ignored, ignored + 1);
    assert!(!hand.watched.read.held().contains(0));
}

#[test]
fn without_a_threshold_nothing_is_late() {
    let mut off = rs_6_3([0]);
    off.clocks.late = None;
    let mut hand = Hand::running(&off);
    assert_eq!((hand.watched.read.next_deadline(), hand.timeout(100_000).petition()), (None, None));
}
