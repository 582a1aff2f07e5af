//! The text form of events and plans: what each looks like, and that all of them survive being written down.

use std::fmt;
use std::str::FromStr;

use hedge_core::{
    Cause, CellSet, Clocks, Config, EventError, Evidence, GovernorEvent, GovernorStep, HedgeResult, Input,
    Instant, LegEnd, LegId, Mode, NodeId, Permit, Petition, ReadEvent, ReadPlan, ReadStep, Reason, RequestId,
    Span, Subject, Verdict, Why,
};
use proptest::prelude::*;

const LEG: LegId = LegId { cell: 3, attempt: 1 };

fn read_event(what: ReadStep) -> ReadEvent {
    ReadEvent { at: Instant::from_nanos(5), what }
}

fn governor_event(what: GovernorStep) -> GovernorEvent {
    GovernorEvent { at: Instant::from_nanos(5), what }
}

/// What is written must be read back, and what is read must be written back.
fn assert_text<T>(value: T, text: &str)
where
    T: FromStr<Err = EventError> + ToString + PartialEq + fmt::Debug,
{
    assert_eq!(value.to_string(), text);
    assert_eq!(text.parse(), Ok(value));
}

#[test]
fn each_event_of_a_read_has_its_line() {
    let permit = Permit { epoch: 2, probe: Some(1) };
    let grant = Verdict::Grant { cells: 7, permit };
    let refuse = Verdict::Refuse { reason: Reason::NoCells, retry_at: Some(Instant::from_nanos(9)) };
    for (input, text) in [
        (Input::Started { leg: LEG, request: RequestId(7) }, "5 started leg=3.1 request=7"),
        (Input::Connected(LEG), "5 connected leg=3.1"),
        (Input::Progress(LEG), "5 progress leg=3.1"),
        (Input::Delivered(LEG), "5 delivered leg=3.1"),
        (Input::Failed(LEG, Cause::Missing), "5 failed leg=3.1 cause=missing"),
        (Input::GaveUp(LEG, Cause::Timeout), "5 gave-up leg=3.1 cause=timeout"),
        (Input::Stopped(LEG), "5 stopped leg=3.1"),
        (Input::Verdict { id: 4, verdict: grant }, "5 granted id=4 cells=7 epoch=2 probe=1"),
        (Input::Verdict { id: 4, verdict: refuse }, "5 refused id=4 reason=no-cells retry-at=9"),
        (Input::Decoded(false), "5 decoded ok=no"),
        (Input::Timeout, "5 timeout"),
        (Input::Abort, "5 abort"),
    ] {
        assert_text(read_event(ReadStep::Input(input)), text);
    }
    assert_text(read_event(ReadStep::Begun), "5 begun");
    assert_text(read_event(ReadStep::Polled(65_535)), "5 polled outputs=65535");
}

#[test]
fn each_event_of_a_governor_has_its_line() {
    let late = Petition {
        id: 1,
        subject: Subject::Late {
            leg: LEG,
            node: NodeId(7),
            why: Why::Degraded,
            request: RequestId(3),
            again: false,
        },
        cells: 6,
        size_class: 1,
        deadline: None,
        dry_run: false,
    };
    let eager = Petition { subject: Subject::Eager, deadline: Some(Instant::MAX), dry_run: true, ..late };
    for (petition, text) in [
        (
            late,
            "5 asked-late id=1 leg=3.1 node=7 why=degraded request=3 again=no cells=6 class=1 deadline=- \
             dry-run=no",
        ),
        (eager, "5 asked-eager id=1 cells=6 class=1 deadline=18446744073709551615 dry-run=yes"),
    ] {
        assert_text(governor_event(GovernorStep::Decide(petition)), text);
    }
    let leg = Evidence::Leg {
        node: NodeId::UNKNOWN,
        request: RequestId::NONE,
        why: Why::Hedge,
        size_class: 0,
        connect_micros: Some(120),
        took: Span::from_millis(5),
        end: LegEnd::Failed(Cause::Refused),
    };
    let permit = Permit { epoch: 2, probe: None };
    for (evidence, text) in [
        (
            leg,
            "5 leg node=unknown request=0 why=hedge class=0 connect-micros=120 took=5000000 end=failed:refused",
        ),
        (
            Evidence::Hedge { permit, cells: 7, result: HedgeResult::Won },
            "5 hedge epoch=2 probe=- cells=7 result=won",
        ),
        (Evidence::Refund { cells: 2 }, "5 refund cells=2"),
        (Evidence::Read { cells: 6, wasted: 1, ok: true }, "5 read cells=6 wasted=1 ok=yes"),
        (Evidence::Saved { node: NodeId(7), by: Span::from_nanos(12) }, "5 saved node=7 by=12"),
        (Evidence::Accused { node: NodeId(7), until: Instant::from_nanos(12) }, "5 accused node=7 until=12"),
    ] {
        assert_text(governor_event(GovernorStep::Record(evidence)), text);
    }
    assert_text(governor_event(GovernorStep::Look), "5 looked-at");
    let plan = ReadPlan::<9>::new(6, 9);
    let line = format!("5 prepared {}", plan.to_string().strip_prefix("plan ").unwrap());
    assert_text(governor_event(GovernorStep::Prepare(plan)), &line);
    let config = Config::hubspot(Span::from_millis(250));
    let step = governor_event(GovernorStep::Reconfigure(config));
    assert!(step.to_string().starts_with("5 reconfigured enabled=true "), "{step}");
    assert_eq!(step.to_string().parse(), Ok(step));
    let error = "5 reconfigured threshold.millis=-1".parse::<GovernorEvent>().unwrap_err();
    assert!(matches!(error, EventError::Config { at: 15, .. }), "{error}");
    assert!(error.to_string().contains("threshold.millis"), "{error}");
}

#[test]
fn a_plan_has_its_line() {
    let mut plan = ReadPlan::<5>::new(3, 5);
    plan.wanted = CellSet::from([0, 2]);
    plan.node[1] = NodeId(17);
    plan.mode = Mode::Eager(1);
    plan.clocks.late = Some(Span::from_millis(250));
    assert_text(
        plan,
        "plan k=3 n=5 wanted=0,2 zero=- missing=- avoid=- suspect=- \
         nodes=unknown,17,unknown,unknown,unknown order=0,1,2,3,4 class=0 deadline=- mode=eager:1 \
         late=250000000 late-hedge=- late-suspect=- stall=- connect-counts=yes retry-floor=1000000 spare=0 \
         max-tries=2 hints=no",
    );
    assert_text(ReadPlan::<0>::new(1, 1), &ReadPlan::<0>::new(1, 1).to_string());
}

#[test]
fn what_is_wrong_with_a_line_is_told() {
    let error = |text: &str| text.parse::<ReadEvent>().unwrap_err().to_string();
    for (text, told) in [
        ("", "the line ends where the instant should follow"),
        ("  ", "the line ends where the instant should follow"),
        ("x abort", "the instant at byte 0 must be a number from 0 to 18446744073709551615"),
        ("-1 abort", "the instant at byte 0 must be a number from 0 to 18446744073709551615"),
        (
            "18446744073709551616 abort",
            "the instant at byte 0 must be a number from 0 to 18446744073709551615",
        ),
        ("5", "the line ends where the name of an event should follow"),
        ("5 aborted", "at byte 2 should stand the name of an event"),
        ("5 begun leg=3.1", "the line goes on at byte 8, though all is said"),
        ("5 abort now", "the line goes on at byte 8, though all is said"),
        ("5 failed leg=3.1", "the line ends where cause= should follow"),
        ("5 failed cause=timeout leg=3.1", "at byte 9 should stand leg="),
        (
            "5 failed  leg=3.1 cause=slow",
            "cause= at byte 18 must be one of timeout refused unreachable cancelled missing corrupt",
        ),
        ("5 stopped leg=3", "leg= at byte 10 must be a cell and an attempt, such as 3.1"),
        ("5 stopped leg=3.256", "leg= at byte 10 must be a cell and an attempt, such as 3.1"),
        ("5 decoded ok=true", "ok= at byte 10 must be yes or no"),
        ("5 polled outputs=+1", "outputs= at byte 9 must be a number from 0 to 65535"),
        ("5 polled outputs=", "outputs= at byte 9 must be a number from 0 to 65535"),
    ] {
        assert_eq!(error(text), told, "{text}");
    }
    let error = |text: &str| text.parse::<GovernorEvent>().unwrap_err().to_string();
    assert_eq!(error("5 abort"), "at byte 2 should stand the name of an event");
    assert_eq!(
        error("5 saved node=x by=1"),
        "node= at byte 8 must be a number from 0 to 4294967294, or unknown"
    );

    // The unknown node has a name, and no number.
    assert!("5 saved node=4294967295 by=1".parse::<GovernorEvent>().is_err());

    let plan = ReadPlan::<3>::new(2, 3).to_string();
    let error = |from: &str, to: &str| plan.replacen(from, to, 1).parse::<ReadPlan<3>>().unwrap_err();
    let list = "a value for each cell there is room for, with commas between them";
    for order in ["order=0,1", "order=0,1,2,3", "order=0,1,,2", "order=0,1,x"] {
        let at = plan.find("order=").unwrap();
        let expected = EventError::Value { at, field: "order=", expected: list };
        assert_eq!(error("order=0,1,2", order), expected, "{order}");
    }
    for wanted in ["wanted=1,0", "wanted=0,0", "wanted=64", "wanted=", "wanted=0,"] {
        let EventError::Value { field: "wanted=", .. } = error("wanted=-", wanted) else {
            panic!("{wanted}");
        };
    }
    assert_eq!(
        error("plan", "plane"),
        EventError::Value { at: 0, field: "plan", expected: "no more than that" }
    );
    assert_eq!(error("plan", "read"), EventError::Field { at: 0, field: "plan" });
}

fn legs() -> impl Strategy<Value = LegId> {
    any::<(u8, u8)>().prop_map(|(cell, attempt)| LegId { cell, attempt })
}

fn instants() -> impl Strategy<Value = Instant> {
    any::<u64>().prop_map(Instant::from_nanos)
}

fn spans() -> impl Strategy<Value = Span> {
    any::<u64>().prop_map(Span::from_nanos)
}

fn nodes() -> impl Strategy<Value = NodeId> {
    prop_oneof![Just(NodeId::UNKNOWN), any::<u32>().prop_map(NodeId)]
}

fn requests() -> impl Strategy<Value = RequestId> {
    any::<u32>().prop_map(RequestId)
}

fn permits() -> impl Strategy<Value = Permit> {
    any::<(u32, Option<u8>)>().prop_map(|(epoch, probe)| Permit { epoch, probe })
}

fn causes() -> impl Strategy<Value = Cause> {
    use Cause::*;
    proptest::sample::select([Timeout, Refused, Unreachable, Cancelled, Missing, Corrupt].as_slice())
}

fn whys() -> impl Strategy<Value = Why> {
    proptest::sample::select([Why::Original, Why::Degraded, Why::Hedge, Why::Eager].as_slice())
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    let reasons = proptest::sample::select(Reason::ALL.as_slice());
    prop_oneof![
        (any::<u8>(), permits()).prop_map(|(cells, permit)| Verdict::Grant { cells, permit }),
        (reasons, proptest::option::of(instants()))
            .prop_map(|(reason, retry_at)| Verdict::Refuse { reason, retry_at }),
    ]
}

fn read_events() -> impl Strategy<Value = ReadEvent> {
    let inputs = prop_oneof![
        (legs(), requests()).prop_map(|(leg, request)| Input::Started { leg, request }),
        legs().prop_map(Input::Connected),
        legs().prop_map(Input::Progress),
        legs().prop_map(Input::Delivered),
        (legs(), causes()).prop_map(|(leg, cause)| Input::Failed(leg, cause)),
        (legs(), causes()).prop_map(|(leg, cause)| Input::GaveUp(leg, cause)),
        legs().prop_map(Input::Stopped),
        (any::<u8>(), verdicts()).prop_map(|(id, verdict)| Input::Verdict { id, verdict }),
        any::<bool>().prop_map(Input::Decoded),
        Just(Input::Timeout),
        Just(Input::Abort),
    ];
    let steps = prop_oneof![
        9 => inputs.prop_map(ReadStep::Input),
        1 => any::<u16>().prop_map(ReadStep::Polled),
        1 => Just(ReadStep::Begun),
    ];
    (instants(), steps).prop_map(|(at, what)| ReadEvent { at, what })
}

fn petitions() -> impl Strategy<Value = Petition> {
    let subjects = prop_oneof![
        (legs(), nodes(), whys(), requests(), any::<bool>())
            .prop_map(|(leg, node, why, request, again)| Subject::Late { leg, node, why, request, again }),
        Just(Subject::Eager),
    ];
    (any::<(u8, u8, u8, bool)>(), subjects, proptest::option::of(instants())).prop_map(
        |((id, cells, size_class, dry_run), subject, deadline)| Petition {
            id,
            subject,
            cells,
            size_class,
            deadline,
            dry_run,
        },
    )
}

fn evidence() -> impl Strategy<Value = Evidence> {
    use HedgeResult::*;
    let ends = prop_oneof![Just(LegEnd::Delivered), Just(LegEnd::Cut), causes().prop_map(LegEnd::Failed)];
    let results = proptest::sample::select([Won, Lost, Void, Unused].as_slice());
    prop_oneof![
        (nodes(), requests(), whys(), any::<(u8, Option<u32>)>(), spans(), ends).prop_map(
            |(node, request, why, (size_class, connect_micros), took, end)| Evidence::Leg {
                node,
                request,
                why,
                size_class,
                connect_micros,
                took,
                end,
            }
        ),
        (permits(), any::<u8>(), results).prop_map(|(permit, cells, result)| Evidence::Hedge {
            permit,
            cells,
            result
        }),
        any::<u8>().prop_map(|cells| Evidence::Refund { cells }),
        any::<(u8, u8, bool)>().prop_map(|(cells, wasted, ok)| Evidence::Read { cells, wasted, ok }),
        (nodes(), spans()).prop_map(|(node, by)| Evidence::Saved { node, by }),
        (nodes(), instants()).prop_map(|(node, until)| Evidence::Accused { node, until }),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    (any::<bool>(), 1..u64::MAX, any::<u32>()).prop_map(|(hubspot, nanos, rate)| {
        let mut config = if hubspot { Config::hubspot(Span::from_nanos(nanos)) } else { Config::default() };
        config.max_per_second = rate;
        config.breaker.cooldown = Span::from_nanos(nanos);
        config
    })
}

fn governor_events() -> impl Strategy<Value = GovernorEvent> {
    let steps = prop_oneof![
        4 => petitions().prop_map(GovernorStep::Decide),
        1 => petitions().prop_map(GovernorStep::NoMemory),
        4 => evidence().prop_map(GovernorStep::Record),
        1 => plans().prop_map(GovernorStep::Prepare),
        1 => configs().prop_map(GovernorStep::Reconfigure),
        1 => Just(GovernorStep::Look),
    ];
    (instants(), steps).prop_map(|(at, what)| GovernorEvent { at, what })
}

fn plans() -> impl Strategy<Value = ReadPlan<9>> {
    let modes = prop_oneof![
        Just(Mode::Off),
        Just(Mode::Hedge),
        Just(Mode::DryRun),
        any::<u8>().prop_map(Mode::Eager),
    ];
    let maybe_span = || proptest::option::of(spans());
    let clocks = (maybe_span(), maybe_span(), maybe_span(), maybe_span(), any::<bool>(), spans());
    let sets = proptest::array::uniform5(any::<u64>());
    let node = proptest::array::uniform9(nodes());
    (any::<[u8; 14]>(), sets, node, proptest::option::of(instants()), modes, clocks, any::<bool>()).prop_map(
        |(bytes, sets, node, deadline, mode, clocks, hints)| {
            let mut plan = ReadPlan::new(bytes[0], bytes[1]);
            [plan.wanted, plan.zero, plan.missing, plan.avoid, plan.suspect] = sets.map(CellSet::from_bits);
            plan.node = node;
            plan.order.copy_from_slice(&bytes[2..11]);
            [plan.size_class, plan.spare, plan.max_tries] = [bytes[11], bytes[12], bytes[13]];
            plan.deadline = deadline;
            plan.mode = mode;
            let (late, late_hedge, late_suspect, stall, connect_counts, retry_floor) = clocks;
            plan.clocks = Clocks { late, late_hedge, late_suspect, stall, connect_counts, retry_floor };
            plan.hints = hints;
            plan
        },
    )
}

/// A line with a few of its bytes replaced: much like an event, and seldom one.
fn damaged(text: &str, damage: &[(usize, u8)]) -> String {
    let mut bytes: Vec<u8> = text.bytes().collect();
    for &(at, byte) in damage {
        let len = bytes.len();
        bytes[at % len] = byte;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A line that is read stands for what it was read as, however it is spaced and padded.
fn assert_stable<T>(line: &str)
where
    T: FromStr<Err = EventError> + ToString + PartialEq + fmt::Debug,
{
    match line.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string().parse(), Ok(value)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 2_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_event_and_every_plan_is_read_as_it_was_written(
        read_event in read_events(),
        governor_event in governor_events(),
        plan in plans(),
    ) {
        prop_assert_eq!(read_event.to_string().parse(), Ok(read_event));
        prop_assert_eq!(governor_event.to_string().parse(), Ok(governor_event));
        prop_assert_eq!(plan.to_string().parse(), Ok(plan));
    }

    #[test]
    #[cfg_attr(miri, ignore = "strings from a pattern; fixed ones are refused above")]
    fn no_line_is_too_odd_to_be_read_or_refused(
        event in read_events(),
        asked in governor_events(),
        plan in plans(),
        damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        noise in ".{0,40}",
    ) {
        assert_stable::<ReadEvent>(&damaged(&event.to_string(), &damage));
        assert_stable::<GovernorEvent>(&damaged(&asked.to_string(), &damage));
        assert_stable::<ReadPlan<9>>(&damaged(&plan.to_string(), &damage));
        assert_stable::<ReadEvent>(&noise);
        assert_stable::<GovernorEvent>(&noise);
    }
}
