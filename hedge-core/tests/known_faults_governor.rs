//! Faults of breakers, thresholds and slow-node detectors that others shipped, each as a test of ours on the whole governor. Every
//! comment says in our words what went wrong there. Where a test of one of its parts keeps the promise, the name stands there.

mod fleet;
mod governor_bench;

use std::cell::Cell;

use fleet::{Fleet, exponential};
use governor_bench::{Client, Random, eager, petition, petition_again};
use hedge_core::{
    AckTimes, Adaptive, BreakerState, Budget, Cause, CellSet, Config, ConfigError, Evidence, Factor,
    Governor, HedgeResult, Input, Instant, LegEnd, NodeId, Output, Permit, PipelineConfig, PipelineWatch,
    Probes, ReadPlan, Reason, RequestId, Span, StripeRead, Threshold, Value, Verdict, Why,
};

const MILLI: Span = Span::from_millis(1);
const COOLDOWN: Span = Span::from_secs(10);

fn fixed(millis: u64) -> Config {
    let mut config = Config::default();
    config.threshold = Threshold::Fixed(Span::from_millis(millis));
    config
}

/// RS-6-3, cell 0 on node 0 wanted, and so on.
fn plan() -> ReadPlan<9> {
    let mut plan = ReadPlan::new(6, 9);
    plan.wanted = CellSet::one(0);
    plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
    plan
}

fn leg(node: u32, connect_micros: Option<u32>, took: Span, end: LegEnd) -> Evidence {
    let request = RequestId::NONE;
    Evidence::Leg {
        node: NodeId(node),
        request,
        why: Why::Original,
        size_class: 0,
        connect_micros,
        took,
        end,
    }
}

fn any_evidence(random: &mut Random) -> Evidence {
    let ends = [
        LegEnd::Delivered,
        LegEnd::Cut,
        LegEnd::Failed(Cause::Timeout),
        LegEnd::Failed(Cause::Refused),
        LegEnd::Failed(Cause::Missing),
    ];
    let results = [HedgeResult::Won, HedgeResult::Lost, HedgeResult::Void, HedgeResult::Unused];
    let permit =
        Permit { epoch: random.below(6) as u32, probe: [None, Some(0), Some(1)][random.below(3) as usize] };
    let cells = random.below(8) as u8;
    match random.below(6) {
        0..=2 => {
            let took = Span::from_millis(1 << random.below(10));
            leg(random.below(11) as u32, Some(900), took, ends[random.below(5) as usize])
        }
        3 => Evidence::Hedge { permit, cells, result: results[random.below(4) as usize] },
        4 => Evidence::Refund { cells },
        _ => Evidence::Read { cells, wasted: 1, ok: true },
    }
}

/// HDFS-6591: a client that could not hedge asked again at once, and so on until its first node answered.
#[test]
#[cfg_attr(
    miri,
    ignore = "a hundred thousand calls; any_clock_is_taken in governor_breaker.rs is its sibling"
)]
fn whatever_is_refused_is_not_to_be_asked_again_at_once() {
    let nano = Span::from_nanos(1);
    let mut hasty = fixed(0);
    hasty.threshold = Threshold::Fixed(nano);
    (hasty.breaker.cooldown, hasty.retry_floor, hasty.impaired.legs) = (nano, nano, 1);
    hasty.breaker.probes = Some(Probes { count: 1, lease: nano });
    hasty.max_per_second = 3;
    let mut none = hasty;
    none.max_per_second = 0;
    let mut broke = hasty;
    broke.budget = Some(Budget {
        share_ppm: 0,
        burst_cells: 0,
        burst_span: Span::ZERO,
        alone_cells: 0,
        alone_span: Span::ZERO,
        gross_percent: 0,
    });
    let mut refused = [0_u32; Reason::COUNT];
    for config in [Config::default(), Config::hubspot(Span::from_millis(250)), hasty, none, broke] {
        for origin in [0, 1 << 40, u64::MAX - 40_000_000_000] {
            let mut random = Random(origin | 7);
            let mut client = Client::new(config);
            client.now = Instant::from_nanos(origin);
            for _ in 0..20_000 {
                let most = 1 << random.below(30);
                client.wait(Span::from_nanos(random.below(most)));
                let mut petition =
                    [petition, petition_again][random.below(2) as usize](random.below(10) as u32);
                petition.cells = random.below(8) as u8;
                petition.dry_run = random.below(16) == 0;
                petition.deadline = [None, Some(client.now)][random.below(2) as usize];
                let verdict = match random.below(16) {
                    0 => client.governor.no_memory(client.now, &petition),
                    _ => client.ask(&petition),
                };
                match verdict {
                    Verdict::Grant { .. } => {}
                    Verdict::Refuse { reason, retry_at } => {
                        assert!(retry_at.is_none_or(|at| at > client.now), "{reason:?}: {retry_at:?}");
                        refused[reason as usize] += 1;
                    }
                }
                client.governor.record(client.now, &any_evidence(&mut random));
            }
        }
    }
    // Only a governor that is off is not among them.
    assert!(refused[1..].iter().all(|&count| count > 0), "{refused:?}");
}

/// google-cloud-cpp 16389: hedges that were refused kept their slots in a pool that all calls share, until no call was hedged.
#[test]
fn refused_hedges_take_no_slot_from_others() {
    let mut config = fixed(10);
    config.max_per_second = 5;
    let mut client = Client::new(config);
    let (mut dear, mut late, mut none) = (petition_again(0), petition_again(1), petition_again(2));
    dear.cells = 200;
    late.deadline = Some(client.now);
    none.cells = 0;
    for _ in 0..1_000 {
        assert_eq!(client.refused_to(&dear).0, Reason::Budget);
        assert_eq!(client.refused_to(&late).0, Reason::DeadlineNear);
        assert_eq!(client.refused_to(&none).0, Reason::NoCells);
        assert_eq!(client.refused_to(&petition_again(9)).0, Reason::UnknownNode);
    }
    let mut cheap = petition_again(3);
    cheap.cells = 1;
    for _ in 0..5 {
        client.granted_to(&cheap);
    }
    assert_eq!(client.refused_to(&cheap).0, Reason::Rate);
}

/// materialize 38651: one error at the start, and hedging was off for as long as the process ran.
#[test]
fn errors_at_the_start_do_not_disarm_hedging() {
    for cause in [Cause::Timeout, Cause::Refused, Cause::Unreachable, Cause::Missing, Cause::Corrupt] {
        let mut client = Client::new(Config::default());
        for error in 0..1_000 {
            client.ended(error % 9, Span::from_micros(50), LegEnd::Failed(cause));
            client.governor.record(client.now, &Evidence::Read { cells: 0, wasted: 0, ok: false });
        }
        client.granted(0);
    }
    // Nor does a breaker that they opened stay so.
    let mut client = Client::new(Config::default());
    for node in (0..9).cycle().take(27) {
        client.ask(&petition(node));
        client.ended(node, Span::from_secs(5), LegEnd::Failed(Cause::Timeout));
    }
    assert_eq!(client.state(), BreakerState::Open);
    client.wait(COOLDOWN);
    assert_eq!(client.state(), BreakerState::Open, "more nodes were late while it was open");
    client.wait(COOLDOWN);
    assert_eq!(client.state(), BreakerState::HalfOpen);
    client.read(2_000);
    for node in 0..4 {
        let permit = client.granted_to(&petition_again(node));
        client.settled(permit, 6, HedgeResult::Won);
    }
    assert_eq!(client.state(), BreakerState::Closed);
}

/// A client of nine nodes with an ordinary p99 of 10 ms, and more as the test has it.
fn changing<'a>(
    config: Config,
    slow: &'a Cell<(f64, u64)>,
) -> Fleet<impl Fn(Instant, NodeId, f64) -> Option<Span> + 'a, 9> {
    let latency = |_: Instant, _: NodeId, draw: f64| {
        let (factor, plus) = slow.get();
        let took = exponential(Span::from_micros(2_171), draw).as_nanos() as f64 * factor;
        Some(Span::from_nanos(took as u64).saturating_add(Span::from_millis(plus)))
    };
    Fleet::new(config, 1, 300, latency)
}

/// The same fault in another dress: when all nodes are as slow as a dead one, nobody's legs tell what is usual, and all are late for ever.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand reads")]
fn what_all_nodes_take_becomes_usual_however_slow_it_is() {
    for plus in [200, 300, 1_000] {
        // From the start, and after three minutes.
        for healthy in [0, 180] {
            let slow = Cell::new((1.0, 0));
            let mut fleet = changing(Config::default(), &slow);
            fleet.run(Span::from_secs(healthy));
            slow.set((1.0, plus));
            fleet.run(Span::from_secs(150));
            let now = fleet.now;
            let snapshot = fleet.clients[0].snapshot(now);
            let threshold = snapshot.threshold[0].expect("hedging is on");
            assert!(
                threshold > Span::from_millis(plus),
                "{threshold:?} with {plus} ms more, after {healthy} s"
            );
            let (late, reads) =
                (fleet.sum(|counters| counters.granted + counters.refused_in_all()), fleet.reads);
            fleet.run(Span::from_secs(60));
            let late = fleet.sum(|counters| counters.granted + counters.refused_in_all()) - late;
            assert!(
                late * 20 < fleet.reads - reads,
                "{late} late legs with {plus} ms more, after {healthy} s"
            );
            assert_ne!(fleet.clients[0].snapshot(now).breaker, BreakerState::Open);
        }
    }
}

/// loki 4826: 200 ms more on every request, and every request was hedged.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand reads")]
fn a_slowdown_of_all_nodes_is_hedged_within_the_budget_only() {
    for (factor, plus) in [(3.0, 0), (1.0, 200)] {
        let slow = Cell::new((1.0, 0));
        let mut fleet = changing(Config::default(), &slow);
        fleet.run(Span::from_secs(120));
        for changed in [(factor, plus), (1.0, 0)] {
            slow.set(changed);
            for _ in 0..3 {
                let (legs, reads) = (fleet.legs, fleet.reads);
                fleet.run(Span::from_secs(60));
                let share = (fleet.legs - legs) as f64 / (fleet.reads - reads) as f64 - 1.0;
                assert!(share < 0.01, "{share} more legs at {changed:?}");
            }
        }
    }
}

/// The same with a threshold that does not follow: then the breaker has to open, and to close when it is over.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand reads")]
fn under_a_slowdown_of_all_nodes_the_breaker_opens_and_closes_again() {
    for changed in [(3.0, 0), (1.0, 200)] {
        let slow = Cell::new((1.0, 0));
        let mut fleet = changing(fixed(8), &slow);
        fleet.run(Span::from_secs(120));
        let state = |fleet: &mut Fleet<_, 9>| fleet.clients[0].snapshot(fleet.now).breaker;
        assert_eq!(state(&mut fleet), BreakerState::Closed);
        slow.set(changed);
        let (legs, reads) = (fleet.legs, fleet.reads);
        fleet.run(Span::from_secs(120));
        let share = (fleet.legs - legs) as f64 / (fleet.reads - reads) as f64 - 1.0;
        assert!(share < 0.01, "{share} more legs at {changed:?}");
        assert!(fleet.sum(|counters| counters.trips_impaired) > 3);
        slow.set((1.0, 0));
        fleet.run(Span::from_secs(120));
        assert_eq!(state(&mut fleet), BreakerState::Closed, "{changed:?}");
        let granted = fleet.sum(|counters| counters.granted);
        fleet.run(Span::from_secs(60));
        assert!(fleet.sum(|counters| counters.granted) > granted, "hedging goes on");
    }
}

/// finagle 905: without a floor an idle service, whose calls take next to nothing, hedged nearly all of them.
#[test]
#[cfg_attr(miri, ignore = "ten thousand reads")]
fn an_idle_and_quick_service_hedges_nothing() {
    let late = |config: Config, reads_per_second| {
        let latency = |_: Instant, _: NodeId, draw: f64| Some(exponential(Span::from_micros(40), draw));
        let mut fleet = Fleet::<_, 9>::new(config, 1, reads_per_second, latency);
        fleet.run(Span::from_secs(20));
        fleet.sum(|counters| counters.granted + counters.refused_in_all())
    };
    for reads_per_second in [1, 10, 40, 60, 500] {
        assert_eq!(late(Config::default(), reads_per_second), 0, "{reads_per_second} reads a second");
    }
    let mut bare = Config::default();
    let Threshold::Adaptive(adaptive) = &mut bare.threshold else { unreachable!() };
    (adaptive.floor, adaptive.until_known) = (Span::ZERO, Span::from_micros(40));
    assert!(late(bare, 10) > 50 && late(bare, 500) > 5, "without a floor some are");
}

/// A read whose leg to node 0 is late: it asks, and gets this answer. The legs of its hedge are not started yet.
fn late_read(client: &mut Client) -> (StripeRead<9>, Verdict) {
    let mut plan = plan();
    plan.clocks.late = Some(Span::ZERO);
    let now = client.now;
    let mut read = StripeRead::new(now, &plan).unwrap();
    let mut told = None;
    let mut begun = false;
    while let Some(output) = read.poll_output() {
        match output {
            Output::Launch { leg, .. } if !begun => {
                begun = true;
                read.handle(now, Input::Started { leg, request: RequestId::NONE });
                read.handle(now, Input::Timeout);
            }
            Output::Petition(petition) => {
                let verdict = client.ask(&petition);
                told = Some(verdict);
                read.handle(now, Input::Verdict { id: petition.id, verdict });
            }
            _ => {}
        }
    }
    (read, told.expect("a late leg asks"))
}

fn half_open(probes: Probes) -> Client {
    let mut config = fixed(250);
    config.impaired.legs = 1;
    config.impaired.window = Span::from_secs(600);
    config.breaker.probes = Some(probes);
    config.budget = None;
    let mut client = Client::new(config);
    for node in 1..4 {
        client.ask(&petition(node));
    }
    client.wait(COOLDOWN);
    assert_eq!(client.state(), BreakerState::HalfOpen);
    client
}

/// resilience4j 544, 903 and 935, opossum 276: a call that a half-open breaker had let through was cancelled, or never ended, or its
/// handle was dropped; its permit never came back, and the breaker stayed half-open for good.
#[test]
fn a_probe_that_is_dropped_in_any_way_does_not_keep_the_breaker_half_open() {
    type End = fn(&mut Client, StripeRead<9>);
    let begin: fn(&mut StripeRead<9>, Instant) = |read, now| {
        for cell in 1..9 {
            let leg = hedge_core::LegId { cell, attempt: 1 };
            read.handle(now, Input::Started { leg, request: RequestId::NONE });
        }
    };
    fn tell(client: &mut Client, read: &mut StripeRead<9>) {
        while let Some(output) = read.poll_output() {
            if let Output::Tell(evidence) = output {
                client.governor.record(client.now, &evidence);
            }
        }
    }
    let ends: [(&str, bool, End); 5] = [
        ("forgotten", false, |_, _| {}),
        ("aborted", true, |client, mut read| {
            read.handle(client.now, Input::Abort);
            tell(client, &mut read);
        }),
        ("abandoned", true, |client, mut read| {
            let now = client.now;
            read.abandon(now, |evidence| client.governor.record(now, &evidence));
        }),
        ("lost", true, |client, mut read| {
            for cell in 0..9 {
                let leg = hedge_core::LegId { cell, attempt: 1 };
                read.handle(client.now, Input::Failed(leg, Cause::Missing));
            }
            tell(client, &mut read);
        }),
        ("silent", false, |client, mut read| tell(client, &mut read)),
    ];
    for (name, told, end) in ends {
        for started in [false, true] {
            let mut client = half_open(Probes { count: 2, lease: Span::from_secs(5) });
            for round in 0..20 {
                for _ in 0..2 {
                    let (mut read, verdict) = late_read(&mut client);
                    assert!(matches!(verdict, Verdict::Grant { .. }), "{name}, round {round}: {verdict:?}");
                    if started {
                        begin(&mut read, client.now);
                    }
                    end(&mut client, read);
                }
                if !told {
                    assert_eq!(
                        late_read(&mut client).1,
                        Verdict::Refuse {
                            reason: Reason::Breaker,
                            retry_at: Some(client.now + Span::from_secs(5)),
                        }
                    );
                    client.wait(Span::from_secs(5));
                }
                assert_eq!(client.state(), BreakerState::HalfOpen, "{name} settles nothing");
            }
            for _ in 0..2 {
                let permit = client.granted(0);
                client.settled(permit, 6, HedgeResult::Won);
            }
            assert_eq!(client.state(), BreakerState::Closed, "{name}");
        }
    }
}

/// A clock's next reading: back by 1 ns to 1 s, the same, or later.
fn step(random: &mut Random, clock: u64, latest: u64) -> u64 {
    match random.below(4) {
        0 => latest.saturating_sub(10_u64.pow(random.below(10) as u32)),
        1 => clock,
        2 => clock.saturating_add(random.below(20_000_000)),
        _ => latest.saturating_add(random.below(20_000_000)),
    }
}

/// ceph 33699, capnproto 1693, otp 5825: the clock stepped back, and an assertion or an unsigned difference ended the process. Here a
/// clock that steps back is, to the last bit, one that stands still.
#[test]
fn to_the_governor_a_clock_that_steps_back_stands_still() {
    let steps = if cfg!(miri) { 6 } else { 5_000 };
    for origin in [0, 1, 1 << 40, u64::MAX - 20_000_000_000, u64::MAX] {
        let mut random = Random(origin ^ 0x5eed);
        let mut stepping = Client::new(fixed(250));
        stepping.reconfigure(|config| {
            (config.impaired.legs, config.breaker.cooldown) = (1, Span::from_millis(500));
        });
        let mut standing = stepping.clone();
        (stepping.now, standing.now) = (Instant::ZERO, Instant::ZERO);
        let mut clock = origin;
        let mut latest = 0;
        for _ in 0..steps {
            clock = step(&mut random, clock, latest);
            latest = latest.max(clock);
            (stepping.now, standing.now) = (Instant::from_nanos(clock), Instant::from_nanos(latest));
            let petition = petition(random.below(10) as u32);
            assert_eq!(stepping.ask(&petition), standing.ask(&petition));
            let evidence = any_evidence(&mut random);
            stepping.governor.record(stepping.now, &evidence);
            standing.governor.record(standing.now, &evidence);
            let (mut one, mut other) = (plan(), plan());
            stepping.governor.prepare(stepping.now, &mut one);
            standing.governor.prepare(standing.now, &mut other);
            assert_eq!(one, other);
            assert_eq!(stepping.snapshot(), standing.snapshot());
            let node = NodeId(random.below(9) as u32);
            assert_eq!(
                stepping.governor.node(stepping.now, node),
                standing.governor.node(standing.now, node)
            );
            assert!(stepping.governor == standing.governor, "at {clock} after {latest}");
        }
        assert!(stepping.snapshot().epoch > 4 || origin == u64::MAX || cfg!(miri));
    }
}

/// The same for write pipelines.
#[test]
fn to_a_pipeline_watch_a_clock_that_steps_back_stands_still() {
    let steps = if cfg!(miri) { 200 } else { 20_000 };
    let mut ejected = 0;
    for origin in [0, 1, 1 << 40, u64::MAX - 20_000_000_000, u64::MAX] {
        let mut random = Random(origin ^ 0x5eed);
        let mut config = PipelineConfig::default();
        (config.limit, config.stall) = (3, Span::from_millis(50));
        (config.window, config.cooldown) = (Span::from_secs(1), Span::from_secs(2));
        let mut stepping = PipelineWatch::<9>::new(config).unwrap();
        let mut standing = stepping.clone();
        let (mut clock, mut latest) = (origin, 0);
        for _ in 0..steps {
            clock = step(&mut random, clock, latest);
            latest = latest.max(clock);
            let first = random.below(9) as u32;
            let acks = [0, 1, 2].map(|place| AckTimes {
                node: NodeId((first + place) % 9),
                downstream: Span::ZERO,
                disk: Span::from_millis(random.below(350)),
            });
            let (now, still) = (Instant::from_nanos(clock), Instant::from_nanos(latest));
            let found = stepping.record(now, None, &acks);
            assert_eq!(found, standing.record(still, None, &acks), "at {clock} after {latest}");
            ejected += u32::from(found.is_some());
            for node in (0..9).map(NodeId) {
                assert_eq!(stepping.node(now, node), standing.node(still, node), "at {clock} after {latest}");
            }
            assert!(stepping == standing);
        }
    }
    assert!(cfg!(miri) || ejected > 50, "{ejected}");
}

/// hedge (bhope) 10: the time until the headers came was taken for what the call took, and the threshold fell far below it.
#[test]
fn the_stages_of_a_leg_are_kept_apart_in_what_is_known_of_a_node() {
    let mut client = Client::new(Config::default());
    for number in 0..2_000 {
        let node = number % 9;
        client.governor.record(client.now, &leg(node, Some(200), Span::from_millis(20), LegEnd::Delivered));
        client.wait(MILLI);
    }
    let health = client.governor.node(client.now, NodeId(4)).unwrap();
    assert_eq!((health.connect, health.read), (Some(Span::from_micros(200)), Some(Span::from_millis(20))));
    let quantile = client.snapshot().estimate[0].unwrap().quantile.unwrap();
    assert!(quantile >= Span::from_millis(20) && quantile < Span::from_millis(21), "{quantile:?}");
    // Slow to connect is slow, however quick the rest.
    for _ in 0..6 {
        client.governor.record(client.now, &leg(4, Some(150_000), Span::from_millis(160), LegEnd::Delivered));
        client.governor.record(client.now, &leg(5, Some(200), Span::from_millis(160), LegEnd::Delivered));
    }
    let slow = [4, 5].map(|node| client.governor.node(client.now, NodeId(node)).unwrap().slow);
    assert_eq!(slow, [true, false]);
}

/// HDFS-17292, client-go 2012: a slow node got no traffic, so it looked well, so it came back, and was slow again, every minute of a day.
#[test]
fn a_node_that_is_well_only_while_it_is_spared_comes_back_a_bounded_number_of_times() {
    let flips = |config: Config, seconds: u64| {
        let mut client = Client::new(config);
        let (mut was, mut flips) = (false, 0);
        // Ten reads a second, each of a cell of node 0.
        for read in 0..seconds * 10 {
            let mut plan = plan();
            client.governor.prepare(client.now, &mut plan);
            let demoted = client.governor.node(client.now, NodeId(0)).unwrap().demoted;
            flips += u32::from(demoted && !was);
            was = demoted;
            if !plan.avoid.contains(0) {
                client.delivered(0, if demoted { MILLI } else { Span::from_millis(900) });
            }
            client.delivered(1 + (read % 8) as u32, MILLI);
            client.wait(Span::from_millis(100));
        }
        flips
    };
    let seconds = if cfg!(miri) { 100 } else { 3_600 };
    // Holds of 30 s, 1, 2, 4 and 8 minutes, then of a quarter of an hour: log2(30) + 2 + 4.
    let few = flips(Config::default(), seconds);
    assert!((2..=11).contains(&few), "{few} times in {seconds} s");
    if !cfg!(miri) {
        let mut undamped = Config::default();
        undamped.health.hold_max = undamped.health.hold;
        assert!(flips(undamped, seconds) > 30, "what it would be without damping");
    }
}

/// HDFS's OutlierDetector: verdicts on nodes that were all alike, or few, or half of them slow, or without a number at all.
#[test]
fn odd_fleets_get_defined_verdicts() {
    // Each node has many legs of this time; how many are slow, demoted, and read around.
    let verdict = |nodes: u32, took: &dyn Fn(u32) -> Span| {
        let mut client = Client::new(Config::default());
        for round in 0..40 {
            for node in 0..nodes {
                let connect = Some(if took(node) == Span::MAX { u32::MAX } else { 0 });
                client.governor.record(client.now, &leg(node, connect, took(node), LegEnd::Delivered));
                client.wait(Span::from_millis(round % 2));
            }
        }
        let mut plan = plan();
        plan.wanted = CellSet::first_n(9);
        client.governor.prepare(client.now, &mut plan);
        plan.check().unwrap();
        let slow =
            (0..9).filter(|&node| client.governor.node(client.now, NodeId(node)).unwrap().slow).count();
        (slow, client.snapshot().demoted, plan.avoid.len())
    };
    let (quick, slow) = (MILLI, Span::from_secs(3));
    for alike in [Span::ZERO, Span::from_nanos(1), quick, Span::from_millis(250)] {
        for nodes in 0..=9 {
            assert_eq!(verdict(nodes, &|_| alike), (0, 0, 0), "{nodes} nodes at {alike:?}");
        }
    }
    for alike in [slow, Span::MAX] {
        for nodes in 0..=9 {
            let (count, demoted, avoided) = verdict(nodes, &|_| alike);
            assert_eq!((count as u32, avoided), (nodes, 0), "all {nodes} at {alike:?}");
            assert!(demoted <= u32::from(nodes >= 5));
        }
    }
    for odd in [slow, Span::MAX] {
        for nodes in 1..=9 {
            let (count, demoted, avoided) = verdict(nodes, &|node| if node == 0 { odd } else { quick });
            let one = u32::from(nodes >= 5);
            assert_eq!((count, demoted, u32::from(avoided)), (1, one, one), "one of {nodes} at {odd:?}");
        }
        for nodes in [2, 4, 6, 8] {
            let (count, demoted, _) = verdict(nodes, &|node| if node % 2 == 0 { odd } else { quick });
            assert_eq!(count as u32, nodes / 2);
            assert!(demoted <= 1, "half of {nodes} at {odd:?}: {demoted}");
        }
    }
}

/// HDFS-17929, libhdfs3 77: a read that timed out was taken for a block that is not there. In what is known of a node the causes are
/// kept apart, too: a lost cell is no slow node, and a node that refuses at once is no quick one.
#[test]
fn neither_lost_cells_nor_quick_refusals_tell_of_time() {
    let healthy = || {
        let mut client = Client::new(Config::default());
        for number in 0..3_000 {
            client.delivered(number % 9, Span::from_millis(10));
            client.wait(MILLI);
        }
        client
    };
    let before = healthy().snapshot().threshold;
    for cause in
        [Cause::Missing, Cause::Corrupt, Cause::Cancelled, Cause::Refused, Cause::Unreachable, Cause::Timeout]
    {
        let mut client = healthy();
        for _ in 0..3_000 {
            client.ended(4, Span::from_micros(1), LegEnd::Failed(cause));
        }
        let answers = !matches!(cause, Cause::Refused | Cause::Unreachable | Cause::Timeout);
        let health = client.governor.node(client.now, NodeId(4)).unwrap();
        assert_eq!((health.slow, health.demoted), (!answers, !answers), "{cause:?}");
        assert_eq!(health.read.unwrap() > Span::from_millis(100), !answers, "{cause:?}: {:?}", health.read);
        assert!(health.read.unwrap() >= Span::from_millis(10), "{cause:?}");
        assert_eq!(client.snapshot().threshold, before, "{cause:?}");
        assert_eq!(client.state(), BreakerState::Closed, "{cause:?}");
    }
}

fn adaptive(quantile_ppm: u32, milli: u32) -> Adaptive {
    Adaptive {
        quantile_ppm,
        factor: Factor::Fixed { milli },
        floor: Span::ZERO,
        ceiling: Span::MAX,
        until_known: Span::from_millis(250),
        hedge_legs_at_quantile: true,
        suspects_at_quantile: true,
    }
}

/// scylla 26369: a percentile of 100, and others at the edge of what the option takes, were refused, or meant something else.
#[test]
fn values_at_the_edge_mean_what_they_say_or_are_refused_by_name() {
    let after = |threshold: Threshold, legs: u32| {
        let mut config = Config::default();
        config.threshold = threshold;
        let mut client = Client::new(config);
        for leg in 0..legs {
            // 1 ms to 100 ms.
            client.delivered(leg % 9, Span::from_millis(u64::from(leg % 100) + 1));
        }
        client.snapshot().threshold[0]
    };
    let millis = |found: Option<Span>| found.map(|found| found.as_nanos().div_ceil(1_000_000));
    for (quantile_ppm, enough, least, most) in
        [(0, 10, 1, 2), (500_000, 20, 50, 53), (999_900, 100_000, 100, 104)]
    {
        let threshold = Threshold::Adaptive(adaptive(quantile_ppm, 1_000));
        if enough == 100_000 && cfg!(miri) {
            continue;
        }
        let found = millis(after(threshold, enough.max(100))).unwrap();
        assert!((least..=most).contains(&found), "{quantile_ppm} ppm: {found} ms");
        assert_eq!(
            after(threshold, enough - 1),
            Some(Span::from_millis(250)),
            "too few for {quantile_ppm} ppm"
        );
    }
    let mut config = Config::default();
    assert!(matches!(
        config.set("threshold.quantile.ppm", "1000000"),
        Err(ConfigError::OutOfRange { name: "threshold.quantile.ppm", most: Value::Number(999_999), .. })
    ));
    config.threshold = Threshold::Adaptive(adaptive(1_000_000, 1_000));
    assert!(matches!(Governor::<9>::new(config), Err(ConfigError::OutOfRange { .. })));
    config.threshold = Threshold::Adaptive(adaptive(990_000, 0));
    assert!(matches!(
        Governor::<9>::new(config),
        Err(ConfigError::OutOfRange { name: "threshold.factor.milli", .. })
    ));

    // Fixed thresholds: 0 is off, the greatest is never.
    assert_eq!(after(Threshold::Fixed(Span::ZERO), 10), None);
    assert_eq!(after(Threshold::Fixed(Span::MAX), 10), Some(Span::MAX));
    let mut client = Client::new(fixed(0));
    assert_eq!(client.refused(0), Reason::Off);

    // A share of nothing: the burst, and never more. No burst either: nothing.
    let mut config = fixed(10);
    config.budget = Some(Budget {
        share_ppm: 0,
        burst_cells: 7,
        burst_span: Span::ZERO,
        alone_cells: 0,
        alone_span: Span::ZERO,
        gross_percent: 100,
    });
    let mut client = Client::new(config);
    client.granted_to(&petition_again(0));
    client.read(1_000_000);
    assert_eq!(client.refused_to(&petition_again(0)).0, Reason::Budget);
    client.reconfigure(|config| config.budget.as_mut().unwrap().burst_cells = 0);
    client.governor.record(client.now, &Evidence::Refund { cells: 6 });
    assert_eq!(client.refused_to(&petition_again(0)).0, Reason::Budget);
    assert_eq!(client.refused_to(&eager(1)).0, Reason::Budget);
}

/// The same, for a schema without parity: late legs ask, and there is nothing to grant.
#[test]
fn without_parity_nothing_is_hedged() {
    let mut client = Client::new(fixed(10));
    for k in 1..=9 {
        let mut plan = ReadPlan::<9>::new(k, k);
        plan.wanted = CellSet::first_n(k);
        plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
        client.governor.prepare(client.now, &mut plan);
        let mut read = StripeRead::new(client.now, &plan).unwrap();
        let (mut launched, mut asked, mut timed) = (0, 0, false);
        loop {
            match read.poll_output() {
                Some(Output::Launch { leg, .. }) => {
                    launched += 1;
                    read.handle(client.now, Input::Started { leg, request: RequestId::NONE });
                }
                Some(Output::Petition(petition)) => {
                    asked += 1;
                    assert_eq!(petition.cells, 0);
                    let verdict = client.ask(&petition);
                    assert!(matches!(
                        verdict,
                        Verdict::Refuse { reason: Reason::NoCells | Reason::Breaker, .. }
                    ));
                    read.handle(client.now, Input::Verdict { id: petition.id, verdict });
                }
                Some(_) => {}
                None if !timed => {
                    client.wait(Span::from_millis(10));
                    read.handle(client.now, Input::Timeout);
                    timed = true;
                }
                None => break,
            }
        }
        assert_eq!((launched, asked), (k, k), "{k} of {k}");
        client.wait(Span::from_secs(200));
    }
    assert_eq!(client.snapshot().counters.granted, 0);
}
