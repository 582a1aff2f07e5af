//! A run that was written down gives the same outputs again, and ends in the same state.

use hedge_core::{
    Cause, CellSet, Config, EventLog, Evidence, Governor, GovernorEvent, GovernorStep, HedgeResult, Input,
    Instant, LegEnd, LegId, NodeId, Output, Permit, Petition, ReadEvent, ReadPlan, ReadStep, Reason, Reply,
    RequestId, Span, StripeRead, Subject, Verdict, Why,
};
use proptest::prelude::*;

const EVENTS: usize = 400;

fn plan() -> ReadPlan<9> {
    let mut plan = ReadPlan::new(6, 9);
    plan.wanted = CellSet::from([0, 4]);
    plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
    plan.clocks.late = Some(Span::from_millis(10));
    plan.spare = 1;
    plan.hints = true;
    plan
}

/// What to do next, from three random bytes.
fn step(read: &StripeRead<9>, launched: &[LegId], petition: Option<u8>, choice: [u8; 3]) -> ReadStep {
    let leg = launched.get(usize::from(choice[1]) % launched.len().max(1));
    let leg = leg.copied().unwrap_or(LegId { cell: choice[1], attempt: choice[2] });
    let id = petition.unwrap_or(choice[1]);
    let verdict = if choice[2] > 60 {
        Verdict::Grant { cells: choice[2] % 8, permit: Permit::default() }
    } else {
        let retry_at = read.next_deadline().map(|(at, _)| at);
        Verdict::Refuse { reason: Reason::ALL[usize::from(choice[2]) % Reason::COUNT], retry_at }
    };
    ReadStep::Input(match choice[0] % 16 {
        0..4 => return ReadStep::Polled(u16::from(choice[1]) % 8),
        4..6 => Input::Started { leg, request: RequestId(choice[2].into()) },
        6 => Input::Progress(leg),
        7 | 8 => Input::Delivered(leg),
        9 => Input::Failed(leg, if choice[2] > 99 { Cause::Missing } else { Cause::Timeout }),
        10 => Input::GaveUp(leg, Cause::Unreachable),
        11 => Input::Stopped(leg),
        12 => Input::Verdict { id, verdict },
        13 => Input::Decoded(choice[2] > 99),
        _ => Input::Timeout,
    })
}

/// A governor's step, from six random bytes.
fn governor_step(at: Instant, choice: [u8; 6]) -> GovernorStep {
    let [what, node, cells, more, ..] = choice;
    let node = NodeId(u32::from(node) % 7);
    let subject = Subject::Late {
        leg: LegId { cell: 0, attempt: 1 },
        node,
        why: Why::Original,
        request: RequestId(choice[4].into()),
        again: more > 200,
    };
    match what % 8 {
        0..3 => GovernorStep::Decide(Petition {
            id: 1,
            subject: if more == 7 { Subject::Eager } else { subject },
            cells: cells % 9,
            size_class: more % 3,
            deadline: (more % 5 == 0).then(|| at + Span::from_millis(more.into())),
            dry_run: more % 7 == 0,
        }),
        3 => GovernorStep::Record(Evidence::Hedge {
            permit: Permit { epoch: u32::from(choice[4]) % 4, probe: Some(choice[5] % 4) },
            cells: cells % 9,
            result: if more > 90 { HedgeResult::Won } else { HedgeResult::Lost },
        }),
        4 => GovernorStep::Record(Evidence::Leg {
            node,
            request: RequestId::NONE,
            why: Why::Original,
            size_class: 0,
            connect_micros: None,
            took: Span::from_micros(u64::from(more) * 100),
            end: if choice[5] > 250 { LegEnd::Failed(Cause::Timeout) } else { LegEnd::Delivered },
        }),
        5 => GovernorStep::Record(Evidence::Read { cells: cells % 9, wasted: 0, ok: true }),
        6 if choice[5] > 200 => {
            let mut config = Config::hubspot(Span::from_millis(more.into()));
            config.impaired.legs = 1 + u16::from(cells % 3);
            GovernorStep::Reconfigure(config)
        }
        6 => GovernorStep::Prepare(plan()),
        _ => GovernorStep::Look,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 128 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_read_that_is_replayed_gives_the_same_outputs(choices in prop::collection::vec(any::<([u8; 3], u16)>(), 1..EVENTS - 1)) {
        let mut log = EventLog::<ReadEvent, EVENTS>::new();
        log.push(ReadEvent { at: Instant::from_millis(7), what: ReadStep::Begun }).unwrap();
        let mut read = StripeRead::new(Instant::from_millis(7), &plan()).unwrap();
        let (mut at, mut outputs, mut launched, mut petition) = (Instant::ZERO, Vec::new(), Vec::new(), None);
        for (choice, micros) in choices {
            at += Span::from_micros(micros.into());
            let event = ReadEvent { at, what: step(&read, &launched, petition, choice) };
            log.push(event).unwrap();
            event.replay(&mut read, |output| {
                match output {
                    Output::Launch { leg, .. } => launched.push(leg),
                    Output::Petition(asked) => petition = Some(asked.id),
                    _ => {}
                }
                outputs.push(output);
            });
        }

        let text = log.to_string();
        let log: EventLog<ReadEvent, EVENTS> = text.parse().unwrap();
        let plan: ReadPlan<9> = plan().to_string().parse().unwrap();
        let mut again = StripeRead::new(log.events()[0].at, &plan).unwrap();
        let mut same = Vec::new();
        for event in &log {
            event.replay(&mut again, |output| same.push(output));
        }
        prop_assert_eq!(same, outputs);
        prop_assert_eq!(again, read);
    }

    #[test]
    fn a_governor_that_is_replayed_gives_the_same_answers(choices in prop::collection::vec(any::<([u8; 6], u32)>(), 1..EVENTS)) {
        let mut log = Box::new(EventLog::<GovernorEvent, EVENTS>::new());
        let start = Config::default();
        let mut governor = Box::new(Governor::<6>::new(start).unwrap());
        let (mut at, mut replies) = (Instant::ZERO, Vec::new());
        for (choice, micros) in choices {
            at += Span::from_micros(micros.into());
            let event = GovernorEvent { at, what: governor_step(at, choice) };
            log.push(event).unwrap();
            replies.push(event.replay(&mut governor));
        }

        let log: Box<EventLog<GovernorEvent, EVENTS>> = Box::new(log.to_string().parse().unwrap());
        let mut again = Box::new(Governor::<6>::new(start).unwrap());
        let same: Vec<Reply> = log.into_iter().map(|event| event.replay(&mut again)).collect();
        prop_assert_eq!(same, replies);
        prop_assert!(again == governor, "the states differ");
    }
}
