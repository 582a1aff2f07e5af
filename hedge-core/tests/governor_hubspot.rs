//! The profile `hubspot`, in both readings: what that client's source and article say of its throttle, one
//! behaviour a test.

mod governor_bench;

use governor_bench::{Client, petition};
use hedge_core::{
    BreakerState, Config, ConfigError, Governor, HedgeResult, Instant, Mode, ReadPlan, Reason, Record, Span,
};

const THRESHOLD: Span = Span::from_millis(250);
const MINUTE: Span = Span::from_secs(60);
const COOLDOWN: Span = Span::from_secs(30);
const NANO: Span = Span::from_nanos(1);
const PREFIX: &str = "dfs.client.hubspot.striped.read.hedge.";

/// The reading of the source, then that of the article.
const READINGS: [Record; 2] = [Record::WhenGranted, Record::Always];

fn config(record: Record) -> Config {
    let mut config = Config::hubspot(THRESHOLD);
    config.impaired.record = record;
    config
}

fn client(record: Record) -> Client {
    Client::new(config(record))
}

fn both(test: impl Fn(Client)) {
    READINGS.into_iter().for_each(|record| test(client(record)));
}

/// Nodes 0 and 1 are impaired, and node 2 opened the breaker.
fn tripped(record: Record) -> Client {
    let mut client = client(record);
    client.granted(0);
    client.granted(1);
    assert_eq!(client.refused(2), Reason::Breaker);
    client
}

#[test]
fn a_threshold_of_zero_is_off() {
    let mut client = Client::new(Config::hubspot(Span::ZERO));
    assert_eq!(client.refused_to(&petition(0)), (Reason::Off, None));
    let mut plan = ReadPlan::<9>::new(6, 9);
    client.governor.prepare(client.now, &mut plan);
    assert_eq!(plan.mode, Mode::Off);
    assert_eq!(client.snapshot().threshold, [None; 2]);
}

#[test]
fn a_negative_threshold_is_refused_by_name() {
    let mut config = Config::hubspot(THRESHOLD);
    let before = config;
    let error = config.set(&format!("{PREFIX}threshold.millis"), "-1").unwrap_err();
    assert!(matches!(error, ConfigError::Negative { name: "threshold.millis", .. }), "{error:?}");
    assert_eq!(config, before);
}

#[test]
fn a_positive_threshold_is_when_legs_are_late() {
    both(|mut client| {
        let mut plan = ReadPlan::<9>::new(6, 9);
        client.governor.prepare(client.now, &mut plan);
        assert_eq!((plan.mode, plan.clocks.late), (Mode::Hedge, Some(THRESHOLD)));
        assert!(!plan.clocks.connect_counts, "the clock starts when the connection is open");
    });
}

#[test]
fn the_third_impaired_node_stops_hedging_for_all() {
    for record in READINGS {
        let mut client = tripped(record);
        assert_eq!(client.state(), BreakerState::Open);
        assert_eq!(client.snapshot().counters.trips_impaired, 1);
    }
}

#[test]
fn the_node_that_opens_the_breaker_is_recorded_by_the_article_only() {
    assert_eq!(tripped(Record::WhenGranted).snapshot().impaired, 2);
    assert_eq!(tripped(Record::Always).snapshot().impaired, 3);
}

#[test]
fn with_no_impaired_node_allowed_the_first_straggler_opens() {
    for record in READINGS {
        let mut config = config(record);
        config.breaker.max_impaired_nodes = 0;
        let mut client = Client::new(config);
        assert_eq!(client.refused(0), Reason::Breaker);
        assert_eq!(client.state(), BreakerState::Open);
    }
}

#[test]
fn an_open_breaker_refuses_the_known_node_too() {
    for record in READINGS {
        let mut client = tripped(record);
        assert_eq!(client.refused(0), Reason::Breaker);
    }
}

#[test]
fn stragglers_of_one_node_count_once() {
    both(|mut client| {
        for _ in 0..50 {
            client.granted(4);
        }
        assert_eq!((client.snapshot().impaired, client.state()), (1, BreakerState::Closed));
    });
}

#[test]
fn known_nodes_go_on_being_hedged_at_the_limit() {
    both(|mut client| {
        for second in 0..300 {
            client.granted(second % 2);
            client.wait(Span::from_secs(1));
        }
        assert_eq!(client.state(), BreakerState::Closed);
    });
}

#[test]
fn known_nodes_go_on_being_hedged_above_a_lowered_limit_by_the_source_only() {
    for (record, goes_on) in READINGS.into_iter().zip([true, false]) {
        let mut client = client(record);
        client.granted(0);
        client.granted(1);
        client.reconfigure(|config| config.breaker.max_impaired_nodes = 1);
        assert_eq!(client.state(), BreakerState::Closed, "a limit does not trip by itself");
        if goes_on {
            client.granted(0);
        } else {
            assert_eq!(client.refused(0), Reason::Breaker);
        }
    }
}

#[test]
fn two_hundred_hedges_a_second_are_granted_and_no_more() {
    both(|mut client| {
        for _ in 0..200 {
            client.granted(0);
        }
        assert_eq!(client.refused(0), Reason::Rate);
        assert_eq!(client.state(), BreakerState::Closed);
    });
}

#[test]
fn a_second_is_any_second_not_one_of_the_calendar() {
    both(|mut client| {
        client.now = Instant::from_millis(10_999);
        for _ in 0..200 {
            client.granted(0);
        }
        client.now = Instant::from_millis(11_000);
        let (reason, retry_at) = client.refused_to(&petition(0));
        assert_eq!(reason, Reason::Rate);
        let retry_at = retry_at.unwrap();
        assert!(retry_at > Instant::from_millis(11_999) && retry_at < Instant::from_millis(12_016));
        client.now = retry_at;
        client.granted(0);
    });
}

#[test]
fn a_straggler_refused_for_the_rate_is_recorded_by_the_article_only() {
    for (record, impaired) in READINGS.into_iter().zip([1, 2]) {
        let mut config = config(record);
        config.max_per_second = 1;
        let mut client = Client::new(config);
        client.granted(0);
        assert_eq!(client.refused(1), Reason::Rate);
        assert_eq!(client.snapshot().impaired, impaired);
    }
}

#[test]
fn hedging_stops_for_the_cooldown_and_not_a_moment_longer() {
    for record in READINGS {
        let mut client = tripped(record);
        let since = client.now;
        assert_eq!(client.refused_to(&petition(0)), (Reason::Breaker, Some(since + COOLDOWN)));
        client.wait(Span::from_nanos(COOLDOWN.as_nanos() - 1));
        assert_eq!(client.state(), BreakerState::Open);
        client.wait(NANO);
        assert_eq!(client.state(), BreakerState::Closed);
        assert_eq!(client.snapshot().counters.time_open, COOLDOWN);
    }
}

#[test]
fn refusals_do_not_prolong_the_cooldown() {
    for record in READINGS {
        let mut client = tripped(record);
        for second in 0..30 {
            assert_eq!(client.refused(second % 3), Reason::Breaker);
            client.wait(Span::from_secs(1));
        }
        assert_eq!(client.state(), BreakerState::Closed);
    }
}

#[test]
fn after_the_cooldown_all_may_hedge_at_once() {
    let mut client = tripped(Record::WhenGranted);
    client.wait(COOLDOWN);
    for _ in 0..100 {
        client.granted(0);
        client.granted(1);
    }
    assert_eq!(client.state(), BreakerState::Closed);
}

#[test]
fn after_the_cooldown_what_was_seen_before_still_counts() {
    let mut client = tripped(Record::WhenGranted);
    client.wait(COOLDOWN);
    assert_eq!(client.refused(3), Reason::Breaker, "nodes 0 and 1 are still impaired");

    let mut client = tripped(Record::Always);
    client.wait(COOLDOWN);
    assert_eq!(client.refused(0), Reason::Breaker, "nodes 0 to 2 are still impaired");
}

#[test]
fn a_node_counts_to_the_end_of_the_window_and_not_a_moment_longer() {
    both(|mut client| {
        client.granted(0);
        client.granted(1);
        client.wait(MINUTE);
        assert_eq!(client.snapshot().impaired, 2);
        let mut later = client.clone();
        assert_eq!(client.refused(2), Reason::Breaker);
        later.wait(NANO);
        assert_eq!(later.snapshot().impaired, 0);
        later.granted(2);
        later.granted(3);
    });
}

#[test]
fn each_straggler_starts_its_nodes_window_anew() {
    both(|mut client| {
        client.granted(0);
        client.wait(MINUTE);
        client.granted(0);
        client.wait(MINUTE);
        assert_eq!(client.snapshot().impaired, 1);
        client.wait(NANO);
        assert_eq!(client.snapshot().impaired, 0);
    });
}

#[test]
fn an_unknown_node_is_refused_and_not_recorded() {
    both(|mut client| {
        for node in [9, 1_000, u32::MAX] {
            assert_eq!(client.refused_to(&petition(node)), (Reason::UnknownNode, None));
        }
        assert_eq!((client.snapshot().impaired, client.state()), (0, BreakerState::Closed));
    });
}

#[test]
fn a_window_or_cooldown_that_is_not_positive_is_refused_by_name() {
    let mut config = Config::hubspot(THRESHOLD);
    let before = config;
    for name in ["impaired.window.millis", "cooldown.millis"] {
        for value in ["0", "-1", "-60000"] {
            let error = config.set(&format!("{PREFIX}{name}"), value).unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
            assert_eq!(config, before);
        }
    }
    let mut no_window = config;
    no_window.impaired.window = Span::ZERO;
    let mut no_cooldown = config;
    no_cooldown.breaker.cooldown = Span::ZERO;
    let mut client = client(Record::WhenGranted);
    for (bad, name) in [(no_window, "impaired.window.millis"), (no_cooldown, "cooldown.millis")] {
        let error = Governor::<9>::new(bad).unwrap_err();
        assert!(error.to_string().starts_with(name), "{error}");
        assert_eq!(client.governor.reconfigure(client.now, bad), Err(error));
        assert_eq!(*client.governor.config(), before, "a refused configuration changes nothing");
    }
}

#[test]
fn the_kill_switch_acts_at_once() {
    both(|mut client| {
        client.granted(0);
        client.reconfigure(|config| config.set("threshold.millis", "0").unwrap());
        assert_eq!(client.refused_to(&petition(0)), (Reason::Off, None));
        client.reconfigure(|config| config.set("threshold.millis", "250").unwrap());
        client.granted(0);
    });
}

#[test]
fn a_new_limit_of_impaired_nodes_acts_at_once() {
    both(|mut client| {
        client.reconfigure(|config| config.breaker.max_impaired_nodes = 3);
        for node in 0..3 {
            client.granted(node);
        }
        assert_eq!(client.refused(3), Reason::Breaker);
    });
}

#[test]
fn a_new_window_acts_at_once() {
    both(|mut client| {
        client.granted(0);
        client.granted(1);
        client.wait(Span::from_secs(10));
        client.reconfigure(|config| config.impaired.window = Span::from_secs(5));
        client.granted(2);
        client.granted(3);
    });
}

#[test]
fn a_new_rate_acts_at_once() {
    both(|mut client| {
        client.reconfigure(|config| config.max_per_second = 1);
        client.granted(0);
        assert_eq!(client.refused(0), Reason::Rate);
        client.reconfigure(|config| config.max_per_second = 6);
        for _ in 0..5 {
            client.granted(0);
        }
        assert_eq!(client.refused(0), Reason::Rate);
    });
}

#[test]
fn a_new_cooldown_acts_at_once_on_an_open_breaker() {
    for record in READINGS {
        let mut client = tripped(record);
        let since = client.now;
        client.wait(Span::from_secs(2));
        client.reconfigure(|config| config.breaker.cooldown = Span::from_secs(5));
        assert_eq!(client.refused_to(&petition(0)).1, Some(since + Span::from_secs(5)));
        client.reconfigure(|config| config.breaker.cooldown = Span::from_secs(2));
        assert_eq!(client.state(), BreakerState::Closed);
    }
}

#[test]
fn every_suppressed_hedge_is_counted() {
    both(|mut client| {
        client.reconfigure(|config| config.max_per_second = 2);
        client.granted(0);
        client.granted(1);
        client.refused(0);
        client.refused(9);
        client.refused(2);
        client.refused(0);
        let counters = client.snapshot().counters;
        assert_eq!(counters.refused_for(Reason::Rate), 1);
        assert_eq!(counters.refused_for(Reason::UnknownNode), 1);
        assert_eq!(counters.refused_for(Reason::Breaker), 2);
        assert_eq!(counters.refused_in_all(), 4);
    });
}

#[test]
fn hedges_and_wins_are_counted_as_hdfs_counts_them() {
    both(|mut client| {
        let (won, lost) = (client.granted(0), client.granted(0));
        client.settled(won, 6, HedgeResult::Won);
        client.settled(lost, 6, HedgeResult::Lost);
        let counters = client.snapshot().counters;
        assert_eq!((counters.hedged_read_ops(), counters.hedged_read_ops_win()), (2, 1));
    });
}

#[test]
fn lost_hedges_never_stop_hedging() {
    both(|mut client| {
        for _ in 0..1_000 {
            let permit = client.granted(0);
            client.settled(permit, 6, HedgeResult::Lost);
            client.wait(Span::from_millis(10));
        }
        assert_eq!(client.state(), BreakerState::Closed);
    });
}
