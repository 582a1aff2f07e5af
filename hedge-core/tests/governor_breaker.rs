//! The breaker as petitions and evidence meet it: half-open, useless hedges, other rules, other clocks.

mod governor_bench;

use governor_bench::{Client, eager, petition, petition_again};
use hedge_core::{
    BreakerState, Config, Evidence, HedgeResult, Instant, LegEnd, NodeId, Permit, Probes, Reason, Record,
    RequestId, Span, Subject, Useful, Verdict, Why,
};

const COOLDOWN: Span = Span::from_secs(30);
const LEASE: Span = Span::from_secs(10);

/// HubSpot's limits, every straggler recorded, and a half-open state.
fn config() -> Config {
    let mut config = Config::hubspot(Span::from_millis(250));
    config.impaired.record = Record::Always;
    config.breaker.probes = Some(Probes { count: 4, lease: LEASE });
    config
}

fn open() -> Client {
    let mut client = Client::new(config());
    client.granted(0);
    client.granted(1);
    assert_eq!(client.refused(2), Reason::Breaker);
    client
}

fn half_open() -> Client {
    let mut client = open();
    client.wait(COOLDOWN);
    assert_eq!(client.state(), BreakerState::HalfOpen);
    client
}

/// resilience4j 1432: a half-open breaker let more calls through than allowed when many asked at once.
#[test]
fn a_thousand_asks_at_one_instant_are_granted_exactly_the_probes() {
    let mut client = half_open();
    let granted = (0..1_000).filter(|_| matches!(client.ask(&petition(0)), Verdict::Grant { .. })).count();
    assert_eq!(granted, 4);
    let end = client.now + LEASE;
    assert_eq!(client.refused_to(&petition(0)), (Reason::Breaker, Some(end)));
}

#[test]
fn probes_that_settle_close_the_breaker() {
    let mut client = half_open();
    let permits = [0; 4].map(|node| client.granted(node));
    for permit in permits {
        assert_eq!(client.state(), BreakerState::HalfOpen);
        client.settled(permit, 6, HedgeResult::Won);
    }
    assert_eq!(client.state(), BreakerState::Closed);
}

/// resilience4j 544, 903 and 935, opossum 276: a probe that never settled kept the breaker half-open.
#[test]
fn probes_that_never_settle_do_not_stop_hedging_for_ever() {
    let mut client = half_open();
    let since = client.now;
    let mut granted = 0;
    while client.state() == BreakerState::HalfOpen {
        granted += u32::from(matches!(client.ask(&petition_again(0)), Verdict::Grant { .. }));
        client.wait(Span::from_millis(100));
    }
    assert_eq!(granted, 24, "four in each lease");
    assert_eq!(client.snapshot().since, since + Span::from_secs(60));
    assert_eq!(client.state(), BreakerState::Closed);
}

#[test]
fn a_third_node_late_in_half_open_opens_again() {
    let mut client = half_open();
    client.granted(0);
    client.granted(1);
    assert_eq!(client.state(), BreakerState::HalfOpen, "what was late before does not count");
    assert_eq!(client.refused(2), Reason::Breaker);
    assert_eq!(client.state(), BreakerState::Open);
}

#[test]
fn what_is_late_while_open_decides_whether_it_stays_open() {
    let mut client = open();
    client.wait(Span::from_secs(29));
    for node in 3..6 {
        assert_eq!(client.refused(node), Reason::Breaker);
    }
    let epoch = client.snapshot().epoch;
    client.wait(Span::from_secs(1));
    let snapshot = client.snapshot();
    assert_eq!(
        (snapshot.breaker, snapshot.since, snapshot.epoch),
        (BreakerState::Open, client.now, epoch + 1)
    );
    assert_eq!(snapshot.until, Some(client.now + COOLDOWN));
}

#[test]
fn a_leg_that_asks_again_is_no_new_evidence() {
    let mut client = Client::new(config());
    client.granted(0);
    client.granted(1);
    for _ in 0..10 {
        client.granted_to(&petition_again(2));
    }
    assert_eq!((client.snapshot().impaired, client.state()), (2, BreakerState::Closed));
}

#[test]
fn legs_of_one_request_are_one_late_leg() {
    let mut config = config();
    config.impaired.legs = 2;
    let mut client = Client::new(config);
    let mut petition = petition(0);
    for (request, impaired) in [(7, 0), (7, 0), (8, 1)] {
        if let Subject::Late { request: rides, .. } = &mut petition.subject {
            *rides = RequestId(request);
        }
        client.granted_to(&petition);
        assert_eq!(client.snapshot().impaired, impaired, "request {request}");
    }
}

/// gobreaker 122, deno std 7306: a call's outcome was counted in a period that had begun after it.
#[test]
fn outcomes_two_epochs_late_change_nothing_but_counters() {
    let mut client = half_open();
    let old = client.granted(0);
    for node in 3..6 {
        client.ask(&petition(node));
    }
    client.wait(COOLDOWN);
    assert_eq!(client.state(), BreakerState::HalfOpen);
    let fresh = [0; 4].map(|node| client.granted(node));
    for _ in 0..10 {
        for result in [HedgeResult::Won, HedgeResult::Lost, HedgeResult::Void, HedgeResult::Unused] {
            client.settled(old, 6, result);
        }
    }
    assert_eq!(client.refused(0), Reason::Breaker, "no lease was freed");
    assert_eq!(client.snapshot().counters.stale_outcomes, 40);
    for permit in fresh {
        client.settled(permit, 6, HedgeResult::Lost);
    }
    assert_eq!(client.state(), BreakerState::Closed);
}

#[test]
fn more_than_a_share_of_the_nodes_seen_must_be_impaired() {
    let mut config = config();
    config.breaker.max_impaired_percent = 50;
    let mut client = Client::new(config);
    for node in 0..8 {
        client.delivered(node, Span::from_millis(2));
    }
    for node in 0..4 {
        client.granted(node);
    }
    assert_eq!(client.refused(4), Reason::Breaker, "five of eight");
    // Nodes that were not seen in the window don't count.
    let mut client = Client::new(config);
    for node in 0..8 {
        client.delivered(node, Span::from_millis(2));
    }
    client.wait(Span::from_secs(61));
    client.granted(0);
    client.granted(1);
    assert_eq!(client.refused(2), Reason::Breaker, "three of three");
}

#[test]
fn late_legs_are_held_against_all_legs_of_their_node() {
    let mut config = config();
    (config.impaired.legs, config.impaired.share_percent) = (3, 20);
    let mut client = Client::new(config);
    for node in 0..9 {
        for _ in 0..30 {
            client.delivered(node, Span::from_millis(2));
        }
        for _ in 0..6 {
            client.granted(node);
        }
    }
    assert_eq!(client.snapshot().impaired, 0, "6 of 36 are not more than 20 %");
    for _ in 0..3 {
        client.granted(0);
    }
    assert_eq!(client.snapshot().impaired, 1);
}

/// Reads a thousand cells for each hedge of `cells`, all lost; how many until the breaker opens.
fn lost_until_open(cells: u8) -> Option<u32> {
    let mut config = config();
    config.breaker.useful = Some(Useful { outcomes: 32, least_won: 8, spend_ppm: 10_000 });
    let mut client = Client::new(config);
    (1..=200).find(|_| {
        client.read(1_000);
        let mut petition = petition(0);
        petition.cells = cells;
        let permit = client.granted_to(&petition);
        client.settled(permit, cells, HedgeResult::Lost);
        client.wait(Span::from_millis(500));
        client.state() == BreakerState::Open
    })
}

#[test]
fn useless_hedges_open_the_breaker_if_they_cost_more_than_the_share() {
    assert_eq!(lost_until_open(11), Some(32), "1.1 % of what is read");
    assert_eq!(lost_until_open(10), None, "1 % is not more than 1 %");
}

#[test]
fn refunded_cells_do_not_make_hedges_dear() {
    let mut config = config();
    config.breaker.useful = Some(Useful { outcomes: 8, least_won: 8, spend_ppm: 10_000 });
    let mut client = Client::new(config);
    for _ in 0..100 {
        client.read(100);
        let permit = client.granted(0);
        client.governor.record(client.now, &Evidence::Refund { cells: 5 });
        client.settled(permit, 1, HedgeResult::Lost);
    }
    assert_eq!(client.state(), BreakerState::Closed);
    let permit = client.granted(0);
    client.settled(permit, 6, HedgeResult::Lost);
    assert_eq!(client.state(), BreakerState::Open);
    assert_eq!(client.snapshot().counters.trips_useless, 1);
}

#[test]
fn eager_starts_pass_only_a_closed_breaker() {
    let mut closed = Client::new(config());
    closed.granted_to(&eager(2));
    assert_eq!(open().refused_to(&eager(2)), (Reason::Breaker, None));
    let mut client = half_open();
    assert_eq!(client.refused_to(&eager(2)), (Reason::Breaker, None));
    for _ in 0..4 {
        client.granted(0);
    }
}

#[test]
fn a_probe_of_which_nothing_was_launched_is_not_settled() {
    let mut client = half_open();
    for _ in 0..20 {
        let permit = client.granted(0);
        client.governor.record(client.now, &Evidence::Refund { cells: 6 });
        client.settled(permit, 0, HedgeResult::Unused);
    }
    assert_eq!(client.state(), BreakerState::HalfOpen);
    let counters = client.snapshot().counters;
    assert_eq!((counters.unused, counters.open()), (20, 2));
}

#[test]
fn while_off_nodes_are_watched_and_the_breaker_stays() {
    let mut client = Client::new(config());
    client.reconfigure(|config| config.enabled = false);
    for node in 0..5 {
        assert_eq!(client.refused(node), Reason::Off);
    }
    assert_eq!((client.snapshot().impaired, client.state()), (5, BreakerState::Closed));
    client.reconfigure(|config| config.enabled = true);
    assert_eq!(client.state(), BreakerState::Closed, "a switch is no evidence");
    assert_eq!(client.refused(0), Reason::Breaker);
}

#[test]
fn other_rules_never_trip_by_themselves() {
    let mut client = Client::new(config());
    client.granted(0);
    client.granted(1);
    client.reconfigure(|config| {
        config.breaker.max_impaired_nodes = 0;
        config.breaker.useful = Some(Useful { outcomes: 1, least_won: 1, spend_ppm: 0 });
    });
    client.wait(Span::from_secs(1));
    client.read(100);
    client.granted_to(&petition_again(0));
    assert_eq!(client.state(), BreakerState::Closed);
    assert_eq!(client.refused(0), Reason::Breaker);
}

#[test]
fn without_half_open_any_more_a_half_open_breaker_closes() {
    let mut client = half_open();
    for _ in 0..4 {
        client.granted(0);
    }
    client.reconfigure(|config| config.breaker.probes = None);
    assert_eq!(client.state(), BreakerState::Closed);
}

#[test]
fn a_clock_that_steps_back_stands_still() {
    for back in [0, 1, 1_000, 1_000_000, 999_999_999, 1_000_000_000] {
        let mut client = open();
        let since = client.now;
        client.now = Instant::from_nanos(since.as_nanos() - back);
        let Verdict::Refuse { retry_at, .. } = client.ask(&petition(0)) else { panic!("granted") };
        assert_eq!(retry_at, Some(since + COOLDOWN), "back by {back}");
        client.now = since + COOLDOWN;
        assert_eq!(client.state(), BreakerState::HalfOpen);
        client.now = Instant::ZERO;
        assert_eq!(client.state(), BreakerState::HalfOpen);
    }
}

#[test]
fn what_happens_on_a_clock_that_stepped_back_happens_at_the_latest_instant_seen() {
    let mut client = Client::new(config());
    let latest = client.now;
    client.granted(0);
    client.now = Instant::from_millis(1);
    client.ask(&petition(1));
    client.ask(&petition(2));
    let snapshot = client.snapshot();
    assert_eq!((snapshot.breaker, snapshot.since), (BreakerState::Open, latest));
}

#[test]
fn a_cooldown_that_is_over_is_not_prolonged() {
    let mut client = open();
    client.wait(COOLDOWN);
    client.reconfigure(|config| config.breaker.cooldown = Span::from_secs(600));
    assert_eq!(client.state(), BreakerState::HalfOpen);
}

#[test]
fn the_time_open_grows_while_the_breaker_is_open() {
    let mut client = open();
    for second in 0..30 {
        assert_eq!(client.snapshot().counters.time_open, Span::from_secs(second));
        client.wait(Span::from_secs(1));
    }
    client.wait(Span::from_secs(5));
    assert_eq!(client.snapshot().counters.time_open, COOLDOWN);
}

#[test]
fn the_time_open_never_falls_whatever_the_cooldown_becomes() {
    let mut client = open();
    client.wait(Span::from_secs(25));
    client.reconfigure(|config| config.breaker.cooldown = Span::from_secs(1));
    assert_eq!(client.state(), BreakerState::HalfOpen);
    assert_eq!(client.snapshot().counters.time_open, Span::from_secs(25));

    let mut client = open();
    client.wait(Span::from_secs(25));
    client.reconfigure(|config| config.breaker.cooldown = Span::from_secs(40));
    client.wait(Span::from_secs(100));
    assert_eq!(client.snapshot().counters.time_open, Span::from_secs(40));
}

#[test]
fn a_deadline_within_a_quarter_of_the_threshold_is_too_near() {
    let mut client = Client::new(config());
    let quarter = Span::from_micros(62_500);
    let mut petition = petition(0);
    petition.deadline = Some(client.now + quarter);
    assert_eq!(client.refused_to(&petition), (Reason::DeadlineNear, None));
    petition.deadline = Some(client.now + quarter + Span::from_nanos(1));
    client.granted_to(&petition);
}

/// All kinds of calls at these instants, without an expectation but that refusals look ahead.
fn everything_at(client: &mut Client, instants: &[Instant]) {
    for &now in instants {
        client.now = now;
        for node in [0, 1, 2, 8, 9, u32::MAX] {
            let mut petition = petition(node);
            petition.deadline = Some(Instant::MAX);
            petition.size_class = u8::MAX;
            match client.ask(&petition) {
                Verdict::Grant { permit, cells } => client.settled(permit, cells, HedgeResult::Void),
                Verdict::Refuse { retry_at, .. } => assert!(retry_at.is_none_or(|at| at > now)),
            }
            let took = Span::from_nanos(now.as_nanos());
            client.ended(node, took, LegEnd::Delivered);
        }
        let permit = Permit { epoch: u32::MAX, probe: Some(u8::MAX) };
        client.settled(permit, u8::MAX, HedgeResult::Won);
        client.governor.record(now, &Evidence::Refund { cells: u8::MAX });
        client.governor.record(now, &Evidence::Saved { node: NodeId::UNKNOWN, by: Span::MAX });
        client.read(1_000);
        let snapshot = client.snapshot();
        assert!(snapshot.until.is_none_or(|until| until >= snapshot.since));
    }
}

#[test]
fn any_clock_is_taken() {
    let nanos = [0, 0, 1, u64::MAX / 2, 1_000_000_000, u64::MAX - 1, u64::MAX, u64::MAX, 0, u64::MAX];
    let instants = nanos.map(Instant::from_nanos);
    for config in
        [config(), Config::default(), Config::hubspot(Span::MAX), Config::replicated(Span::from_nanos(1))]
    {
        everything_at(&mut Client::new(config), &instants);
    }
}

#[test]
fn evidence_of_an_unknown_node_is_counted_and_ignored() {
    let mut client = Client::new(config());
    let leg = Evidence::Leg {
        node: NodeId(9),
        request: RequestId(1),
        why: Why::Hedge,
        size_class: 0,
        connect_micros: Some(1),
        took: Span::from_secs(1),
        end: LegEnd::Cut,
    };
    client.governor.record(client.now, &leg);
    let snapshot = client.snapshot();
    assert_eq!((snapshot.counters.ignored, snapshot.seen), (1, 0));
}
