//! Faults of hedged reads that others shipped, each as a test of ours. Every comment says in our words what went wrong there; the
//! governor's share is tested beside the governor. Legs are late after 10 ms.

mod world;

use hedge_core::{
    Cause, CellSet, Due, Evidence, HedgeResult, Input, Instant, LegId, Mode, Outcome, Output, Petition,
    ReadPlan, Reason, Span, StripeRead, Verdict, Why,
};
use world::{Fate, Habits, Hand, Scripted, World, at, delivered, grant, ms, plan, refuse, started};

type Ended = (Option<(Instant, Outcome)>, Vec<(Instant, Output)>);

/// One read in the world: how it ended, and all that it asked for.
fn run<const N: usize>(
    plan: &ReadPlan<N>,
    fates: [Fate; N],
    habits: Habits,
    verdict: impl FnMut(Instant, &Petition) -> Verdict,
) -> Ended {
    let mut world = World::new(Scripted::new(fates, verdict), habits);
    world.add(Instant::ZERO, plan);
    let ended = world.run()[0];
    (ended, world.script.log)
}

fn always(_: Instant, petition: &Petition) -> Verdict {
    if petition.cells == 0 { refuse(Reason::NoCells) } else { grant(petition.cells) }
}

fn never(_: Instant, _: &Petition) -> Verdict {
    refuse(Reason::Budget)
}

fn is_ok(ended: Option<(Instant, Outcome)>) -> bool {
    matches!(ended, Some((_, Outcome::Ok { .. })))
}

fn launches(log: &[(Instant, Output)]) -> Vec<(Instant, u8)> {
    let launch = |(now, output): &(Instant, Output)| match output {
        Output::Launch { leg, .. } => Some((*now, leg.cell)),
        _ => None,
    };
    log.iter().filter_map(launch).collect()
}

fn petitions(log: &[(Instant, Output)]) -> Vec<Petition> {
    let petition = |(_, output): &(Instant, Output)| match output {
        Output::Petition(petition) => Some(*petition),
        _ => None,
    };
    log.iter().filter_map(petition).collect()
}

/// HDFS-6231 and HDFS-11303: a hedged read hung for ever when every node failed, since it waited for a future that nobody would
/// complete.
#[test]
fn when_every_leg_fails_in_any_order_the_read_ends() {
    for order in (0..256_usize).step_by(if cfg!(miri) { 101 } else { 1 }) {
        let slot = |cell: usize| (order >> (2 * cell) & 3) as u64;
        for base in [1, 11] {
            for cause in [Cause::Timeout, Cause::Missing] {
                let fates = core::array::from_fn(|cell| Fate::failed(base + 4 * slot(cell), cause));
                for verdict in [always, never] {
                    let (ended, _) = run::<4>(&plan(2, 4, [0]), fates, Habits::default(), verdict);
                    let lost = Outcome::Lost { cells: CellSet::one(0) };
                    assert_eq!(ended.map(|(_, outcome)| outcome), Some(lost), "{fates:?}");
                }
            }
        }
    }
}

/// HDFS-6591: with no further node to hedge to, the client spun through its loop until the first node answered.
#[test]
fn without_a_target_nothing_spins() {
    let mut alone = plan::<2>(2, 2, [0]);
    alone.clocks.retry_floor = ms(1);
    let mut fates = [Fate::delivered(60); 2];
    fates[0].progress = Some(1);
    let (ended, log) = run(&alone, fates, Habits::default(), always);
    assert!(is_ok(ended));
    assert_eq!(petitions(&log).len(), 1, "no cells, and no other leg that could end");

    let soon = |now: Instant, _: &Petition| Verdict::Refuse { reason: Reason::Rate, retry_at: Some(now) };
    let (_, log) = run(&alone, fates, Habits::default(), soon);
    assert_eq!(petitions(&log).len(), 50, "one each millisecond from 10 to 59");
}

/// grpc-java 10145: the next hedge was sent when its delay was over, although the call before it had failed long ago.
#[test]
fn an_error_shortens_the_wait() {
    let fates = [Fate::failed(3, Cause::Refused), Fate::failed(4, Cause::Refused), Fate::delivered(1)];
    let (ended, log) = run::<3>(&plan(1, 3, [0]), fates, Habits::default(), never);
    assert_eq!(launches(&log), [(at(0), 0), (at(3), 1), (at(7), 2)]);
    assert_eq!(ended.map(|(end, _)| end), Some(at(8)));
}

/// grpc-java 9185 and 10314: one hedge won while another was being set up; cancelling what had not started broke an assertion.
#[test]
fn the_end_may_come_between_launch_and_start() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.timeout(10).grant(10);
    let (one, two) = (hand.leg(1), hand.leg(2));
    assert_eq!(hand.deliver(10, 0).finish(), delivered([0]));
    assert_eq!(hand.cancelled(), [1, 2].into());
    assert_eq!(hand.input(11, started(one)).outputs, [], "the start overtook the cancel");
    assert_eq!(hand.stop(12, 2).refunded(), 1);
    assert_eq!(hand.stop(12, 1).refunded(), 0, "work on it began");
    assert!(!hand.watched.is_live(two) && hand.watched.read.drained());
}

/// failsafe-go 141: a hedge that was refused made the whole call fail. cassandra 1875: so did one that broke.
#[test]
#[cfg_attr(miri, ignore)]
fn neither_a_refused_nor_a_broken_hedge_fails_a_read() {
    for reason in Reason::ALL {
        for retry in [None, Some(ms(0)), Some(ms(7))] {
            let verdict = |now: Instant, _: &Petition| Verdict::Refuse {
                reason,
                retry_at: retry.map(|span| now + span),
            };
            let (ended, log) =
                run::<3>(&plan(2, 3, [0]), [Fate::delivered(30); 3], Habits::default(), verdict);
            assert_eq!(ended.map(|(end, outcome)| (end, Some(outcome))), Some((at(30), delivered([0]))));
            assert_eq!(launches(&log).len(), 1, "{reason:?}");
        }
    }
    let causes = [
        Cause::Timeout,
        Cause::Refused,
        Cause::Unreachable,
        Cause::Cancelled,
        Cause::Missing,
        Cause::Corrupt,
    ];
    for cause in causes {
        for after in [0, 1, 19, 20, 21, 50] {
            for broken in [Fate::failed(after, cause), Fate::gave_up(after, cause)] {
                let fates = [Fate::delivered(30), broken, broken];
                let (ended, _) = run::<3>(&plan(2, 3, [0]), fates, Habits::default(), always);
                assert_eq!(ended.map(|(end, _)| end), Some(at(30)), "{broken:?}");
                assert!(is_ok(ended));
            }
        }
    }
}

/// brpc 3275: with a single server left, the call failed at the moment when the backup request was due.
#[test]
fn k_survivors_and_no_more_are_enough() {
    let mut survivors = plan::<9>(6, 9, [0, 1]);
    survivors.missing = [0, 7, 8].into();
    let (ended, log) = run(&survivors, [Fate::delivered(40); 9], Habits::default(), always);
    assert!(is_ok(ended));
    assert_eq!(ended.map(|(end, _)| end), Some(at(40)));
    assert!(petitions(&log).iter().all(|petition| petition.cells == 0) && !petitions(&log).is_empty());
}

/// hedgedhttp 1, 7 and 9, resty 1197: the winner's context was cancelled with the losers', and its body broke off while the caller
/// read it.
#[test]
fn what_is_delivered_is_never_cancelled() {
    let mut hand = Hand::running(&plan::<4>(2, 4, [0, 1]));
    hand.timeout(10).grant(10).start(10);
    hand.refuse(10, Reason::NoCells, None);
    hand.deliver(12, 1);
    assert_eq!(hand.deliver(12, 2).decode(), Some((CellSet::one(0), [1, 2].into())));
    assert_eq!(hand.decoded(12).cancelled(), CellSet::one(0));
    assert_eq!(hand.released(), CellSet::one(2), "cell 1 is the caller's");

    // Delivered between the decision to cancel and its poll.
    let mut hand = Hand::running(&plan::<2>(1, 2, [0]));
    hand.timeout(10).grant(10).start(10);
    let hedge = hand.leg(1);
    hand.watched.handle(at(11), Input::Delivered(hand.leg(0)));
    hand.input(11, Input::Delivered(hedge));
    assert_eq!((hand.cancelled(), hand.released()), (CellSet::EMPTY, CellSet::one(1)));
}

fn a_read_with_late_duplicates(plan: &ReadPlan<3>, original_wins: bool) -> StripeRead<3> {
    let mut read = StripeRead::new(Instant::ZERO, plan).expect("a legal plan");
    let (mut lent, mut kept, mut granted, mut back) = (0_i32, 0, 0, 0);
    let leg = |cell| LegId { cell, attempt: 1 };
    let ends =
        |winner: bool, cell| if winner { Input::Delivered(leg(cell)) } else { Input::Stopped(leg(cell)) };
    let mut inputs = vec![
        (0, started(leg(0))),
        (10, Input::Timeout),
        (10, started(leg(1))),
        (10, started(leg(2))),
        (11, ends(true, 1)),
        (12, ends(original_wins, 0)),
        (13, ends(!original_wins, 2)),
        (14, Input::Decoded(true)),
    ];
    for late in 15..20 {
        inputs.extend((0..3).map(|cell| (late, ends(late % 2 == 0, cell))));
        inputs.push((late, Input::Decoded(late % 2 == 0)));
    }
    let mut inputs = inputs.into_iter();
    loop {
        while let Some(output) = read.poll_output() {
            match output {
                Output::Launch { .. } => lent += 1,
                Output::Release(_) => lent -= 1,
                Output::Petition(Petition { id, cells, .. }) => {
                    granted += u32::from(cells);
                    read.handle(at(10), Input::Verdict { id, verdict: grant(cells) });
                }
                Output::Finish(Outcome::Ok { delivered, .. }) => kept = i32::from(delivered.len()),
                Output::Tell(
                    Evidence::Hedge { cells, result: HedgeResult::Won, .. } | Evidence::Refund { cells },
                ) => {
                    back += u32::from(cells);
                }
                _ => {}
            }
        }
        let Some((millis, input)) = inputs.next() else { break };
        read.handle(at(millis), input);
    }
    assert!(read.drained() && read.outcome().is_some());
    assert_eq!(lent, kept, "every buffer came back but the caller's");
    assert!(back <= granted);
    let tally = read.tally();
    assert_eq!(tally.launched, tally.delivered + tally.failed + tally.stopped);
    assert_eq!(tally.hedges, tally.won + tally.lost + tally.void + tally.unused);
    assert!(tally.ignored >= 20, "{tally:?}");
    read
}

/// spicedb 235: tasks of beaten hedges were leaked, and two of them wrote one result.
#[test]
#[cfg_attr(miri, ignore)]
fn after_a_million_reads_with_late_duplicates_nothing_is_left_over() {
    let plan = plan::<3>(2, 3, [0]);
    let [lost, won] = [true, false].map(|original| a_read_with_late_duplicates(&plan, original).canonical());
    for turn in 0..1_000_000 {
        let read = a_read_with_late_duplicates(&plan, turn % 2 == 0);
        if turn % 1_000 < 2 {
            assert_eq!(&read.canonical(), if turn % 2 == 0 { &lost } else { &won });
        }
    }
}

/// The same, small enough for an interpreter.
#[test]
fn after_a_few_reads_with_late_duplicates_nothing_is_left_over() {
    for turn in 0..10 {
        a_read_with_late_duplicates(&plan::<3>(2, 3, [0]), turn % 2 == 0);
    }
}

/// ClickHouse 21941: a connection went back to the pool while the reply to a hedged request was still on its way through it.
#[test]
fn a_leg_that_still_connects_keeps_its_lease_until_it_has_stopped() {
    let mut hand = Hand::running(&plan::<2>(1, 2, [0]));
    hand.timeout(10).grant(10).start(10);
    assert_eq!(hand.deliver(11, 0).finish(), delivered([0]));
    assert_eq!((hand.cancelled(), hand.released()), (CellSet::one(1), CellSet::EMPTY));
    let leg = hand.leg(1);
    for (millis, sign) in [(12, Input::Connected(leg)), (13, Input::Progress(leg))] {
        assert_eq!(hand.input(millis, sign).outputs, []);
    }
    assert_eq!(hand.watched.read.leased(), CellSet::one(1));
    assert_eq!(hand.stop(14, 1).released(), CellSet::one(1));
}

/// ClickHouse 36749: one stage of a hedged connection had no timer, and a server that fell silent there hung the query.
#[test]
fn silence_in_any_stage_meets_a_deadline() {
    type Stage = fn(&mut Hand<3>) -> &mut Hand<3>;
    let stages: [Stage; 4] = [
        |hand| hand,
        |hand| hand.input(2, Input::Connected(hand.leg(0))),
        |hand| hand.input(2, Input::Progress(hand.leg(0))),
        |hand| hand.timeout(10).refuse(10, Reason::Rate, Some(12)),
    ];
    for (stage, reach) in stages.into_iter().enumerate() {
        let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
        reach(&mut hand);
        let (due, _) = hand.watched.read.next_deadline().expect("a deadline");
        assert!(due <= at(12), "stage {stage}");
        // And so for the legs of the hedge, one after the other.
        hand.timeout(12).grant(12).start(12);
        assert_eq!(hand.watched.read.next_deadline().map(|(due, _)| due), Some(at(22)), "stage {stage}");
    }
}

/// ClickHouse 51582: the timeout between two packets acted as one for the whole reply, or the other way round.
#[test]
fn signs_of_life_put_off_the_stall_and_nothing_else() {
    let mut timed = plan::<3>(2, 3, [0]);
    timed.clocks.stall = Some(ms(5));
    timed.clocks.late = Some(ms(40));
    timed.deadline = Some(at(60));
    let mut hand = Hand::running(&timed);
    for millis in (4..36).step_by(4) {
        hand.input(millis, Input::Progress(hand.leg(0)));
        assert_eq!(hand.watched.read.next_deadline(), Some((at(millis + 5), Due::Late(hand.leg(0)))));
    }
    hand.input(36, Input::Progress(hand.leg(0)));
    assert_eq!(
        hand.watched.read.next_deadline(),
        Some((at(40), Due::Late(hand.leg(0)))),
        "the threshold stays"
    );
    hand.timeout(40).refuse(40, Reason::Rate, None);
    hand.input(59, Input::Progress(hand.leg(0)));
    assert_eq!(hand.watched.read.next_deadline(), Some((at(60), Due::Deadline)), "the read's deadline stays");
    assert_eq!(hand.timeout(60).finish(), Some(Outcome::DeadlinePassed));
    hand.drain(61);
}

/// ClickHouse 65206: hedged connections went on being opened after the query was cancelled.
#[test]
fn nothing_is_launched_after_the_end() {
    let ends = [Input::Abort, Input::Timeout, Input::Delivered(LegId { cell: 0, attempt: 1 })];
    for end in ends {
        let mut hurried = plan::<3>(2, 3, [0]);
        hurried.deadline = Some(at(12));
        let mut hand = Hand::running(&hurried);
        let id = hand.timeout(10).petition().expect("a petition").id;
        hand.watched.handle(at(11), Input::Verdict { id, verdict: grant(2) });
        assert_eq!(hand.watched.read.planned(), [1, 2].into());
        hand.input(12, end);
        assert_eq!((hand.launched(), hand.refunded()), (vec![], 2), "planned launches are dropped");
        assert!(hand.finish().is_some());
        hand.drain(13);
        for input in [Input::Timeout, Input::Abort, Input::Verdict { id, verdict: grant(2) }] {
            assert_eq!(hand.input(14, input).outputs, [], "{input:?}");
        }
    }
}

/// envoy 7192 and 7530: data for a hedge that had been reset reached freed state.
#[test]
fn data_for_a_leg_that_is_gone_is_ignored_and_counted() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.fail(5, 0, Cause::Timeout).start(5);
    let before = hand.watched.read.canonical();
    let unknown = [(0, 1), (0, 0), (0, 2), (1, 0), (1, 2), (2, 255), (3, 1), (63, 1), (64, 1), (255, 255)];
    for (cell, attempt) in unknown {
        let leg = LegId { cell, attempt };
        let inputs = [
            started(leg),
            Input::Connected(leg),
            Input::Progress(leg),
            Input::Delivered(leg),
            Input::Failed(leg, Cause::Corrupt),
            Input::GaveUp(leg, Cause::Missing),
            Input::Stopped(leg),
        ];
        for input in inputs {
            let counted = hand.watched.read.tally().ignored;
            assert_eq!(hand.input(5, input).outputs, [], "{input:?}");
            assert_eq!(hand.watched.read.tally().ignored, counted + 1, "{input:?}");
            assert_eq!(hand.watched.read.canonical(), before, "{input:?}");
        }
    }
    for input in [Input::Decoded(true), Input::Decoded(false), Input::Verdict { id: 0, verdict: grant(9) }] {
        assert_eq!(hand.input(5, input).outputs, [], "{input:?}");
        assert_eq!(hand.watched.read.canonical(), before, "{input:?}");
    }
}

/// envoy 13124: a hedge was counted though it was never sent. cosmos 5665: one that was sent was not.
#[test]
fn what_is_sent_is_counted_and_nothing_else() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    let id = hand.timeout(10).petition().expect("a petition").id;
    hand.watched.handle(at(10), Input::Verdict { id, verdict: grant(2) });
    assert_eq!(hand.watched.read.tally().launched, 1, "planned is not sent");
    let launch = hand.watched.poll_output();
    assert!(matches!(launch, Some(Output::Launch { leg: LegId { cell: 1, .. }, .. })));
    assert_eq!(hand.watched.read.tally().launched, 2);
    hand.deliver(11, 0);
    let tally = hand.watched.read.tally();
    assert_eq!((tally.launched, tally.hedges, tally.lost), (2, 1, 1));
    assert_eq!((hand.refunded(), hand.hedges()), (1, vec![(0, HedgeResult::Lost)]));
    assert_eq!(hand.stop(12, 1).refunded(), 1, "it never began");
}

/// google-cloud-cpp 16389: a refused hedge kept its place in a shared pool, until no hedge found one.
#[test]
fn refusals_cost_nothing() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    for turn in 1..=if cfg!(miri) { 10 } else { 1_000 } {
        hand.timeout(10 * turn).refuse(10 * turn, Reason::Rate, Some(10 * turn + 10));
        assert_eq!(hand.outputs, [], "no evidence, no refund, no launch");
    }
    let tally = hand.watched.read.tally();
    assert_eq!((tally.launched, tally.hedges, tally.ignored), (1, 0, 0));
    assert_eq!(hand.timeout(20_000).grant(20_000).launched_for(Why::Hedge), [1, 2].into());
}

/// materialize 38651: one error at the start disarmed the hedge for the rest of the call.
#[test]
fn after_an_error_at_the_start_hedging_still_works() {
    let fates = [Fate::failed(1, Cause::Refused), Fate::SILENT, Fate::delivered(2), Fate::delivered(2)];
    let (ended, log) = run::<4>(&plan(2, 4, [0]), fates, Habits::default(), always);
    assert_eq!(launches(&log), [(at(0), 0), (at(1), 1), (at(1), 2), (at(11), 3)]);
    assert!(is_ok(ended));
    assert_eq!(ended.map(|(end, _)| end), Some(at(13)));
}

/// ceph 33699, capnproto 1693, otp 5825: the clock stepped back, and an assertion or an unsigned difference ended the process.
#[test]
fn a_clock_that_steps_back_does_no_harm() {
    for back in [0, 1, 1_000, 1_000_000, 1_000_000_000, u64::MAX] {
        for origin in [0, 1_000_000_000, u64::MAX - 100_000_000, u64::MAX - 1, u64::MAX] {
            let origin = Instant::from_nanos(origin);
            let earlier = Instant::from_nanos(origin.as_nanos().saturating_sub(back));
            let mut timed = plan::<3>(2, 3, [0]);
            timed.clocks.stall = Some(ms(4));
            let mut hand = Hand::beginning_at(origin, &timed);
            hand.start(0);
            let forward = [started(hand.leg(0)), Input::Timeout, Input::Progress(hand.leg(0))];
            for input in forward {
                for now in [earlier, origin + ms(5), earlier] {
                    hand.watched.handle(now, input);
                    hand.outputs = hand.watched.poll_all();
                }
            }
            hand.watched.handle(earlier, Input::Delivered(hand.leg(0)));
            hand.outputs = hand.watched.poll_all();
            assert_eq!(hand.finish(), delivered([0]));
            let took = |evidence: Evidence| {
                if let Evidence::Leg { took, .. } = evidence { took } else { Span::ZERO }
            };
            assert!(hand.evidence().into_iter().map(took).all(|took| took <= ms(5)), "{:?}", hand.evidence());
        }
    }
}

/// linkerd 2369: with retries, a call went on for hours past its total timeout.
#[test]
fn no_try_begins_after_the_reads_deadline() {
    let mut patient = plan::<2>(1, 2, [0]);
    patient.max_tries = 200;
    patient.deadline = Some(at(50));
    let (ended, log) = run(&patient, [Fate::failed(3, Cause::Refused); 2], Habits::default(), always);
    assert_eq!(ended, Some((at(50), Outcome::DeadlinePassed)));
    assert_eq!(launches(&log).last().map(|launch| launch.0), Some(at(48)));
}

/// polly 1340: a cancel and the hedge timer at one instant left the call in a state of its own.
#[test]
fn two_things_at_one_instant_are_well_defined_in_both_orders() {
    let due = |plan: &ReadPlan<3>| Hand::running(plan);
    let mut hurried = plan::<3>(2, 3, [0]);
    hurried.deadline = Some(at(10));
    let mut hand = due(&hurried);
    assert_eq!(hand.abort(10).finish(), Some(Outcome::Aborted));
    assert_eq!(hand.timeout(10).outputs, []);
    hand.drain(11);
    let mut hand = due(&hurried);
    assert_eq!(hand.timeout(10).finish(), Some(Outcome::DeadlinePassed));
    assert_eq!(hand.abort(10).outputs, []);
    hand.drain(11);

    let mut hand = due(&plan(2, 3, [0]));
    assert_eq!(hand.deliver(10, 0).finish(), delivered([0]));
    assert_eq!(hand.timeout(10).outputs, []);
    let mut hand = due(&plan(2, 3, [0]));
    assert!(hand.timeout(10).petition().is_some());
    assert_eq!(hand.deliver(10, 0).finish(), delivered([0]));
    hand.drain(10);

    let mut hand = due(&plan(2, 3, [0]));
    hand.timeout(10);
    assert_eq!(hand.abort(10).finish(), Some(Outcome::Aborted));
    assert_eq!(hand.grant(10).refunded(), 2);
}

/// resilience4j 1775: the hedge waited in the queue behind the very call that it was for. Legs that only wait blame nobody, and are
/// not hedged themselves.
#[test]
fn queued_legs_are_nobodys_fault_and_not_hedged_again() {
    let habits = Habits { slots: 1, ..Habits::default() };
    let fates = [Fate::delivered(80), Fate::delivered(5), Fate::delivered(5), Fate::delivered(5)];
    let (ended, log) = run::<4>(&plan(2, 4, [0]), fates, habits, always);
    assert_eq!(ended.map(|(end, _)| end), Some(at(80)));
    assert_eq!(petitions(&log).len(), 1, "only the leg that runs is late");
    let told = |(_, output): &&(Instant, Output)| matches!(output, Output::Tell(Evidence::Leg { .. }));
    assert_eq!(log.iter().filter(told).count(), 1, "what never ran says nothing about its node");
    let refunded = |(_, output): &(Instant, Output)| match output {
        Output::Tell(Evidence::Refund { cells }) => *cells,
        _ => 0,
    };
    assert_eq!(log.iter().map(refunded).sum::<u8>(), 2, "and costs nothing");

    let (ended, _) = run::<4>(&plan(2, 4, [0]), fates, Habits { hedge_lane: true, ..habits }, always);
    assert_eq!(ended.map(|(end, _)| end), Some(at(20)), "in a lane of their own hedges overtake");
}

/// hedge (bhope) 10: the time to the first header was taken for the whole call's, and the threshold fell far below it.
#[test]
fn the_stages_of_a_leg_are_kept_apart() {
    let fates = core::array::from_fn(|_| Fate { connects: Some(2), ..Fate::delivered(9) });
    let (_, log) = run::<2>(&plan(1, 2, [0]), fates, Habits::default(), never);
    let mut legs = log.iter().filter_map(|(_, output)| match output {
        Output::Tell(Evidence::Leg { connect_micros, took, .. }) => Some((*connect_micros, *took)),
        _ => None,
    });
    assert_eq!((legs.next(), legs.next()), (Some((Some(2_000), ms(9))), None));
}

/// HDFS-17080: a read that was aborted while it opened a block leaked its reader. In every millisecond of a read's life an abort
/// stops all that runs, and each slot is free again only then.
#[test]
fn an_abort_at_any_moment_leaves_nothing_running() {
    let fates = [
        Fate { connects: Some(3), progress: Some(2), ..Fate::delivered(30) },
        Fate { connects: Some(4), ..Fate::delivered(6) },
        Fate::failed(5, Cause::Unreachable),
        Fate::gave_up(4, Cause::Timeout),
        Fate::delivered(7),
    ];
    for stop in [0, 9] {
        for slots in [1, 2, usize::MAX] {
            for millis in (0..32).step_by(if cfg!(miri) { 11 } else { 1 }) {
                let habits = Habits { slots, stop, decode: 3, start: 1, verdict: 1, ..Habits::default() };
                let mut world = World::new(Scripted::new(fates, always), habits);
                world.add(Instant::ZERO, &plan::<5>(3, 5, [0, 3]));
                world.inject(at(millis), 0, Input::Abort);
                let ended = world.run()[0].expect("it ends");
                let aborted = ended == (at(millis), Outcome::Aborted);
                assert!(
                    aborted || ended.0 <= at(millis) && !matches!(ended.1, Outcome::Aborted),
                    "{ended:?}"
                );
            }
        }
    }
}

/// HDFS-17929, libhdfs3 77: a read that timed out was taken for a block that is not there, and data was declared lost.
#[test]
fn only_missing_and_corrupt_cells_are_lost() {
    for cause in [Cause::Timeout, Cause::Refused, Cause::Unreachable, Cause::Cancelled] {
        assert!(!cause.erases());
        let mut hand = Hand::running(&plan::<1>(1, 1, [0]));
        assert_eq!(hand.fail(1, 0, cause).launched(), [(0, Why::Degraded)], "{cause:?}");
        assert_eq!(hand.start(1).deliver(2, 0).finish(), delivered([0]));
    }
    for cause in [Cause::Missing, Cause::Corrupt] {
        assert!(cause.erases());
        let mut hand = Hand::running(&plan::<1>(1, 1, [0]));
        assert_eq!(
            hand.fail(1, 0, cause).finish(),
            Some(Outcome::Lost { cells: CellSet::one(0) }),
            "{cause:?}"
        );
    }
}

/// scylla 26369: values at the edge of what a setting takes were read as something else.
#[test]
fn edge_values_of_the_timers_mean_what_they_say() {
    let due = |late: Option<Span>, stall: Option<Span>, origin: Instant| {
        let mut edge = plan::<2>(1, 2, [0]);
        edge.clocks.late = late;
        edge.clocks.stall = stall;
        let mut hand = Hand::beginning_at(origin, &edge);
        hand.start(0);
        hand.watched.read.next_deadline().map(|(due, _)| due)
    };
    let (zero, nano) = (Instant::ZERO, Span::from_nanos(1));
    assert_eq!(due(None, None, zero), None);
    assert_eq!(due(Some(Span::MAX), Some(Span::MAX), zero), None, "never");
    assert_eq!(due(Some(Span::ZERO), None, zero), Some(zero), "at once");
    assert_eq!(due(Some(nano), None, zero), Some(zero + nano));
    assert_eq!(due(None, Some(Span::ZERO), zero), Some(zero));
    assert_eq!(
        due(Some(Span::from_nanos(u64::MAX - 1)), None, zero),
        Some(Instant::from_nanos(u64::MAX - 1))
    );
    assert_eq!(due(Some(ms(1)), None, Instant::from_nanos(u64::MAX - 5)), Some(Instant::MAX), "saturates");

    let mut at_once = plan::<2>(1, 2, [0]);
    at_once.clocks.late = Some(Span::ZERO);
    let (ended, log) = run(&at_once, [Fate::delivered(9), Fate::delivered(4)], Habits::default(), always);
    assert_eq!((ended.map(|(end, _)| end), petitions(&log).len()), (Some(at(4)), 2));

    for (mode, k) in [(Mode::Hedge, 2), (Mode::Eager(1), 2), (Mode::Eager(255), 2), (Mode::DryRun, 2)] {
        let mut no_parity = plan::<2>(k, 2, [0, 1]);
        no_parity.mode = mode;
        let (ended, log) = run(&no_parity, [Fate::delivered(30); 2], Habits::default(), always);
        assert!(is_ok(ended) && launches(&log).len() == 2);
        assert!(petitions(&log).iter().all(|petition| petition.cells == 0), "{mode:?}");
    }
    let mut spares = plan::<9>(6, 9, [0]);
    spares.spare = 255;
    let mut hand = Hand::running(&spares);
    assert_eq!(hand.timeout(10).grant(10).launched_for(Why::Hedge), CellSet::first_n(9) - CellSet::one(0));
}

/// Striped read hedges in the field: a read was done when k legs had completed, whichever they were; a wanted cell was neither
/// fetched nor decoded, and the caller got what its buffer held before.
#[test]
fn completions_are_not_counted() {
    let mut hand = Hand::running(&plan::<5>(3, 5, [0, 1, 2]));
    hand.timeout(10).grant(10).start(10);
    hand.fail(11, 3, Cause::Missing);
    hand.refuse(11, Reason::Budget, None);
    hand.refuse(11, Reason::Budget, None);
    hand.refuse(11, Reason::Budget, None);
    hand.deliver(12, 1).deliver(13, 2);
    assert_eq!((hand.finish(), hand.decode()), (None, None), "three legs ended, and cell 0 is not there");
    assert_eq!(hand.deliver(14, 0).finish(), delivered([0, 1, 2]));
}

/// Striped read hedges in the field: once hedged, a read waited for its rebuild though the original had come.
#[test]
fn the_originals_success_is_enough() {
    let fates = [Fate::delivered(12), Fate::SILENT, Fate::SILENT];
    let (ended, _) = run::<3>(&plan(2, 3, [0]), fates, Habits::default(), always);
    assert_eq!(ended.map(|(end, outcome)| (end, Some(outcome))), Some((at(12), delivered([0]))));
}

/// Striped read hedges in the field: a failed hedge counted as an erasure, and with more of those than parity cells a read that its
/// originals would have completed was given up.
#[test]
fn hedges_that_fail_do_not_add_up_to_a_loss() {
    let fates = [
        Fate::delivered(30),
        Fate::delivered(30),
        Fate::failed(1, Cause::Missing),
        Fate::failed(1, Cause::Timeout),
        Fate::failed(1, Cause::Corrupt),
    ];
    let (ended, _) = run::<5>(&plan(2, 5, [0, 1]), fates, Habits::default(), always);
    assert_eq!(ended.map(|(end, outcome)| (end, Some(outcome))), Some((at(30), delivered([0, 1]))));
}

/// Striped read hedges in the field: a beaten leg went on writing into a buffer that the pool had lent to somebody else.
#[test]
fn a_beaten_legs_buffer_is_not_lent_again_before_it_has_stopped() {
    let mut hand = Hand::running(&plan::<3>(2, 3, [0]));
    hand.timeout(10).grant(10).start(10).deliver(11, 1).deliver(12, 2);
    hand.decoded(13);
    assert_eq!((hand.cancelled(), hand.released()), (CellSet::one(0), [1, 2].into()));
    hand.input(14, Input::Progress(hand.leg(0)));
    assert_eq!((hand.released(), hand.watched.read.leased()), (CellSet::EMPTY, CellSet::one(0)));
    assert_eq!(hand.stop(15, 0).released(), CellSet::one(0));
}

/// Striped read hedges in the field: the timer ran from the launch, so that a busy pool looked like slow nodes, and each leg that
/// waited brought the breaker nearer.
#[test]
fn waiting_for_a_worker_is_not_slowness() {
    let habits = Habits { slots: 1, ..Habits::default() };
    let (ended, log) = run::<9>(&plan(6, 9, 0..6), [Fate::delivered(9); 9], habits, always);
    assert_eq!(ended.map(|(end, _)| end), Some(at(54)));
    assert_eq!(petitions(&log), [], "each took 9 ms once it ran");
}

/// Striped read hedges in the field: each cell that came started the one timer anew, so that a silent node was noticed one threshold
/// after the last of the others.
#[test]
fn a_silent_leg_is_late_from_its_own_start() {
    let mut fates = [Fate::delivered(1); 9];
    fates[0] = Fate::SILENT;
    for (fate, after) in fates[1..6].iter_mut().zip([3, 5, 7, 9, 11]) {
        *fate = Fate::delivered(after);
    }
    let (ended, log) = run::<9>(&plan(6, 9, 0..6), fates, Habits::default(), always);
    let asked = log.iter().find(|(_, output)| matches!(output, Output::Petition(_)));
    assert_eq!(asked.map(|(now, _)| *now), Some(at(10)));
    assert_eq!(ended.map(|(end, _)| end), Some(at(11)));
}

/// Striped read hedges in the field: two silent cells were hedged one threshold after the other, not together.
#[test]
fn silent_legs_are_all_late_at_once() {
    let mut fates = [Fate::delivered(1); 9];
    (fates[0], fates[3]) = (Fate::SILENT, Fate::SILENT);
    let (ended, log) = run::<9>(&plan(6, 9, 0..6), fates, Habits::default(), always);
    assert_eq!(launches(&log)[6..], [(at(10), 6), (at(10), 7)]);
    assert_eq!(ended.map(|(end, _)| end), Some(at(11)));
}
