//! What can't be seen from outside: that a refusal leaves no trace.

use super::*;
use crate::{Budget, CellSet, LegId, Probes, Why};

const NOW: Instant = Instant::from_millis(1_000_000);

fn config() -> Config {
    let mut config = Config::hubspot(Span::from_millis(250));
    config.impaired.record = Record::Always;
    config.breaker.probes = Some(Probes { count: 2, lease: Span::from_secs(10) });
    config.budget = Some(Budget {
        share_ppm: 5_000,
        burst_cells: 12,
        burst_span: Span::ZERO,
        alone_cells: 0,
        alone_span: Span::ZERO,
        gross_percent: 100,
    });
    config
}

/// A leg that was late before, so that its petition is no evidence.
fn again(node: u32) -> Petition {
    Petition {
        id: 1,
        subject: Subject::Late {
            leg: LegId { cell: 2, attempt: 1 },
            node: NodeId(node),
            why: Why::Original,
            request: RequestId::NONE,
            again: true,
        },
        cells: 6,
        size_class: 0,
        deadline: None,
        dry_run: false,
    }
}

fn crossing(governor: &mut GovernorView, now: Instant, node: u32) -> Verdict {
    let mut petition = again(node);
    if let Subject::Late { again, .. } = &mut petition.subject {
        *again = false;
    }
    governor.decide(now, &petition)
}

/// Asks, expects this refusal, and that nothing but its counter differs.
fn refused_without_trace(governor: &mut Governor<9>, now: Instant, petition: &Petition, reason: Reason) {
    // Let time act, so that only the petition can make a difference.
    let _ = governor.snapshot(now);
    governor.rate.full_until(now, u32::MAX);
    let before = governor.clone();
    for count in 1..=3 {
        let verdict = governor.decide(now, petition);
        assert!(matches!(verdict, Verdict::Refuse { reason: told, .. } if told == reason), "{verdict:?}");
        assert_eq!(governor.counters.refused_for(reason), before.counters.refused_for(reason) + count);
        let mut counters = governor.counters;
        counters.refused = before.counters.refused;
        assert_eq!(counters, before.counters);
        let mut after = governor.clone();
        after.counters = before.counters;
        assert!(after == before, "{reason:?} left a trace");
    }
}

/// google-cloud-cpp 16389: a refused hedge used up a slot of a pool.
#[test]
fn a_refused_hedge_costs_nothing() {
    let petition = again(3);
    let new = |config| Governor::<9>::new(config).unwrap();

    let mut off = config();
    off.enabled = false;
    refused_without_trace(&mut new(off), NOW, &petition, Reason::Off);
    refused_without_trace(&mut new(config()), NOW, &again(9), Reason::UnknownNode);
    refused_without_trace(&mut new(config()), NOW, &again(u32::MAX), Reason::UnknownNode);

    let mut open = new(config());
    for node in 0..3 {
        crossing(&mut open, NOW, node);
    }
    refused_without_trace(&mut open, NOW, &petition, Reason::Breaker);

    let mut half_open = open.clone();
    half_open.record(NOW, &Evidence::Refund { cells: 12 });
    let later = NOW + Span::from_secs(30);
    assert!(matches!(half_open.decide(later, &petition), Verdict::Grant { .. }));
    let no_cells = Petition { cells: 0, ..petition };
    refused_without_trace(&mut half_open, later, &no_cells, Reason::NoCells);
    let near = Petition { deadline: Some(later + Span::from_millis(62)), ..petition };
    refused_without_trace(&mut half_open, later, &near, Reason::DeadlineNear);
    assert!(matches!(half_open.decide(later, &petition), Verdict::Grant { .. }), "the second lease is free");
    refused_without_trace(&mut half_open, later, &petition, Reason::Breaker);

    let mut slow = config();
    slow.max_per_second = 1;
    let mut rated = new(slow);
    assert!(matches!(rated.decide(NOW, &petition), Verdict::Grant { .. }));
    refused_without_trace(&mut rated, NOW, &petition, Reason::Rate);

    let mut spent = new(config());
    let dear = Petition { cells: 13, ..petition };
    refused_without_trace(&mut spent, NOW, &dear, Reason::Budget);
    let dry = Petition { dry_run: true, ..petition };
    refused_without_trace(&mut spent, NOW, &dry, Reason::DryRun);
    for _ in 0..2 {
        assert!(matches!(spent.decide(NOW, &petition), Verdict::Grant { .. }), "the whole burst is there");
    }
    refused_without_trace(&mut spent, NOW, &dry, Reason::Budget);
}

#[test]
fn a_refused_eager_start_costs_nothing() {
    let petition = Petition { subject: Subject::Eager, cells: 2, ..again(0) };
    let mut governor = Governor::<9>::new(config()).unwrap();
    let dear = Petition { cells: 13, ..petition };
    refused_without_trace(&mut governor, NOW, &dear, Reason::Budget);
    let dry = Petition { dry_run: true, ..petition };
    refused_without_trace(&mut governor, NOW, &dry, Reason::DryRun);
    for node in 0..3 {
        crossing(&mut governor, NOW, node);
    }
    refused_without_trace(&mut governor, NOW, &petition, Reason::Breaker);
    let later = NOW + Span::from_secs(30);
    refused_without_trace(&mut governor, later, &petition, Reason::Breaker);
    assert_eq!(governor.snapshot(later).breaker, BreakerState::HalfOpen);
}

#[test]
fn without_memory_a_petition_counts_as_evidence_and_costs_nothing() {
    let mut asked = Governor::<9>::new(config()).unwrap();
    let mut poor = asked.clone();
    for node in 0..3 {
        let mut petition = again(node);
        if let Subject::Late { again, .. } = &mut petition.subject {
            *again = false;
        }
        let verdict = poor.no_memory(NOW, &petition);
        let Verdict::Refuse { reason: Reason::Memory, retry_at: Some(at) } = verdict else {
            panic!("{verdict:?}");
        };
        assert!(at > NOW);
        let _ = crossing(&mut asked, NOW, node);
    }
    assert_eq!(poor.counters.refused_for(Reason::Memory), 3);
    assert_eq!((poor.counters.granted, poor.counters.cells_granted), (0, 0));
    assert_eq!(poor.snapshot(NOW).breaker, BreakerState::Open);
    assert_eq!(poor.snapshot(NOW).breaker, asked.snapshot(NOW).breaker);
    assert_eq!(poor.snapshot(NOW).tokens, Governor::<9>::new(config()).unwrap().snapshot(NOW).tokens);
}

#[test]
fn an_outlook_prepares_as_the_governor_does_and_not_at_all_once_a_node_is_suspected() {
    for mut governor in [config(), Config::default(), Config::hubspot(Span::ZERO)]
        .map(|config| Governor::<9>::new(config).unwrap())
    {
        for mode in [Mode::Off, Mode::Hedge, Mode::Eager(1), Mode::DryRun] {
            for size_class in [0, 1, 7] {
                let mut plan = ReadPlan::<9>::new(6, 9);
                (plan.mode, plan.size_class) = (mode, size_class);
                plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
                let mut told = plan;
                assert!(governor.outlook(NOW).prepare(&mut told));
                governor.prepare(NOW, &mut plan);
                assert_eq!(told, plan);
            }
        }
    }
    let mut governor = Governor::<9>::new(config()).unwrap();
    let _ = crossing(&mut governor, NOW, 0);
    let outlook = governor.outlook(NOW);
    let mut plan = ReadPlan::<9>::new(6, 9);
    let before = plan;
    assert!(!outlook.is_calm() && !outlook.prepare(&mut plan));
    assert_eq!(plan, before);
}

#[test]
fn while_a_node_is_accused_the_governor_itself_is_asked_and_its_cells_come_last() {
    let mut governor = Governor::<9>::new(config()).unwrap();
    let until = NOW + Span::from_secs(900);
    governor.record(NOW, &Evidence::Accused { node: NodeId(6), until });
    let mut plan = ReadPlan::<9>::new(6, 9);
    plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
    let fresh = plan;
    assert!(!governor.outlook(NOW).is_calm());
    governor.prepare(NOW, &mut plan);
    assert_eq!((plan.order, plan.suspect), ([0, 1, 2, 3, 4, 5, 7, 8, 6], CellSet::from([6])));
    let snapshot = governor.snapshot(NOW);
    assert_eq!((snapshot.accused, snapshot.impaired, snapshot.demoted), (1, 0, 0));
    // The first read after it finds out that it is over.
    let mut later = fresh;
    governor.prepare(until, &mut later);
    assert_eq!((later.order, later.suspect), (fresh.order, CellSet::EMPTY));
    assert!(governor.outlook(until).is_calm());
    assert_eq!(governor.snapshot(until).accused, 0);
}
