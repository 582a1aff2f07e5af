//! What hedging may spend: the loss budget, the gross cap and the rate, against models that do nothing but sum.

mod governor_bench;

use governor_bench::{Client, Random, eager, petition, petition_again};
use hedge_core::{
    Budget, Config, Evidence, HedgeResult, Instant, Permit, Probes, Reason, Record, Span, Useful, Verdict,
};

const BUDGET: Budget = Budget {
    share_ppm: 5_000,
    burst_cells: 14,
    burst_span: Span::ZERO,
    alone_cells: 0,
    alone_span: Span::ZERO,
    gross_percent: 100,
};

fn config(budget: Budget) -> Config {
    let mut config = Config::hubspot(Span::from_millis(250));
    config.impaired.record = Record::Always;
    config.breaker.max_impaired_nodes = 9;
    config.budget = Some(budget);
    config
}

#[test]
fn the_burst_is_granted_and_then_the_share() {
    let mut client = Client::new(config(BUDGET));
    client.granted(0);
    client.granted(0);
    let (reason, retry_at) = client.refused_to(&petition(0));
    // A quarter of the threshold later.
    assert_eq!((reason, retry_at), (Reason::Budget, Some(client.now + Span::from_micros(62_500))));
    // Two cells of the burst are left: a hedge needs four more, at one in two hundred read.
    client.read(799);
    assert_eq!(client.refused(0), Reason::Budget);
    client.read(1);
    client.granted(0);
    assert_eq!(client.snapshot().tokens, Some(0));
}

#[test]
fn a_refusal_for_the_budget_waits_at_least_a_millisecond() {
    let mut config = config(BUDGET);
    config.set("threshold.millis", "0.000001").unwrap();
    let mut client = Client::new(config);
    client.granted(0);
    client.granted(0);
    let at = client.now + Span::from_millis(1);
    assert_eq!(client.refused_to(&petition(0)), (Reason::Budget, Some(at)));
}

#[test]
fn a_dead_node_is_hedged_in_full() {
    let mut client = Client::new(config(BUDGET));
    for _ in 0..10_000 {
        // One cell of nine is rebuilt from six.
        client.read(9);
        let permit = client.granted(0);
        client.settled(permit, 6, HedgeResult::Won);
        client.wait(Span::from_millis(10));
    }
    let counters = client.snapshot().counters;
    assert_eq!((counters.won, counters.cells_won_back), (10_000, 60_000));
}

#[test]
fn hedges_that_all_win_are_held_by_the_gross_cap() {
    let mut client = Client::new(config(BUDGET));
    let mut granted = 0;
    while let Verdict::Grant { permit, .. } = client.ask(&petition_again(0)) {
        client.settled(permit, 6, HedgeResult::Won);
        granted += 6;
    }
    assert_eq!(granted, 138, "ten bursts");
    client.read(4);
    client.granted(0);
}

#[test]
fn useless_hedging_stops_at_the_share() {
    let mut client = Client::new(config(BUDGET));
    for _ in 0..20_000 {
        client.read(9);
        if let Verdict::Grant { permit, cells } = client.ask(&petition_again(0)) {
            client.settled(permit, cells, HedgeResult::Lost);
        }
        client.wait(Span::from_millis(10));
    }
    let counters = client.snapshot().counters;
    assert_eq!(counters.cells_granted, 14 + 900 - 2, "the burst and 0.5 % of 180 000, in whole hedges");
}

#[test]
fn eager_starts_pay_from_the_same_budget_and_are_no_hedges() {
    let mut config = config(BUDGET);
    config.max_per_second = 1;
    let mut client = Client::new(config);
    client.granted(0);
    for _ in 0..4 {
        client.granted_to(&eager(2));
    }
    assert_eq!(client.refused_to(&eager(2)), (Reason::Budget, None));
    let counters = client.snapshot().counters;
    assert_eq!((counters.granted, counters.eager), (1, 4));
    assert_eq!((counters.cells_granted, counters.cells_eager, counters.open()), (6, 8, 1));
    client.governor.record(client.now, &Evidence::Refund { cells: 2 });
    client.granted_to(&eager(2));
    assert_eq!(client.refused_to(&eager(0)), (Reason::NoCells, None));
    let mut near = eager(2);
    near.deadline = Some(client.now);
    assert_eq!(client.refused_to(&near), (Reason::DeadlineNear, None));
}

#[test]
fn a_dry_run_counts_what_would_be_granted_and_leaves_no_debt() {
    let mut config = config(BUDGET);
    config.dry_run = true;
    let mut client = Client::new(config);
    for _ in 0..2 {
        assert_eq!(client.refused_to(&petition(0)), (Reason::DryRun, None));
    }
    assert_eq!(client.refused(0), Reason::Budget, "as if each was lost");
    let counters = client.snapshot().counters;
    assert_eq!((counters.granted, counters.cells_granted, counters.would_grant()), (0, 0, 2));
    client.reconfigure(|config| config.dry_run = false);
    assert_eq!(client.snapshot().tokens, Some(14_000_000));
    client.granted(0);
    client.granted(0);
    assert_eq!(client.refused(0), Reason::Budget);
}

#[test]
fn a_dry_run_keeps_to_the_rate() {
    let mut config = config(BUDGET);
    (config.dry_run, config.budget, config.max_per_second) = (true, None, 3);
    let mut client = Client::new(config);
    for _ in 0..3 {
        assert_eq!(client.refused(0), Reason::DryRun);
    }
    assert_eq!(client.refused(0), Reason::Rate);
}

#[test]
fn a_dry_read_takes_nothing_from_the_others() {
    let mut config = config(BUDGET);
    config.max_per_second = 2;
    config.breaker.probes = Some(Probes { count: 1, lease: Span::from_secs(1) });
    let mut client = Client::new(config);
    let mut dry = petition(0);
    dry.dry_run = true;
    for _ in 0..100 {
        assert_eq!(client.refused_to(&dry), (Reason::DryRun, None));
    }
    client.granted(0);
    client.granted(0);
    assert_eq!(client.snapshot().counters.would_grant(), 100);
}

#[test]
fn a_dry_read_of_the_source_reading_never_opens_the_breaker() {
    let mut client = Client::new(Config::hubspot(Span::from_millis(250)));
    let dry = |node| {
        let mut petition = petition(node);
        petition.dry_run = true;
        petition
    };
    for node in 0..9 {
        assert_eq!(client.refused_to(&dry(node)).0, Reason::DryRun);
    }
    client.granted(0);
    client.granted(1);
    assert_eq!(client.refused_to(&dry(2)).0, Reason::Breaker);
    client.granted(0);
}

#[test]
fn budgets_that_come_and_go_act_at_once() {
    let mut client = Client::new(config(BUDGET));
    client.granted(0);
    client.granted(0);
    assert_eq!(client.refused(0), Reason::Budget);
    client.reconfigure(|config| config.budget = Some(Budget { burst_cells: 20, ..BUDGET }));
    client.granted(0);
    assert_eq!(client.refused(0), Reason::Budget);
    client.reconfigure(|config| config.budget = None);
    for _ in 0..50 {
        client.granted(0);
    }
    assert_eq!(client.snapshot().tokens, None);
    client.reconfigure(|config| config.budget = Some(BUDGET));
    assert_eq!(client.snapshot().tokens, Some(14_000_000), "a new budget starts with its burst");
}

/// Sums in millionths of cells, never below what is true.
#[derive(Default)]
struct Sums {
    granted: u64,
    won_back: u64,
    refunded: u64,
    read: u64,
    /// The greatest burst there was.
    burst: u64,
}

impl Sums {
    fn check(&self, budget: &Budget) {
        let deposits = self.read * u64::from(budget.share_ppm);
        let loss = self.granted.saturating_sub(self.won_back + self.refunded) * 1_000_000;
        let most = (self.burst + u64::from(budget.alone_cells)) * 1_000_000;
        assert!(loss <= most + deposits, "the loss budget");
        let gross = self.granted.saturating_sub(self.refunded) * 100;
        assert!(gross <= self.burst * 1_000 + self.read * u64::from(budget.gross_percent), "the gross cap");
    }
}

/// Random reads, hedges and eager starts, settled late and in any order, most of them honest.
fn spends_within_the_budget(seed: u64, steps: u32) -> Sums {
    let mut random = Random(seed);
    let budget = Budget {
        share_ppm: random.below(50_000) as u32,
        burst_cells: 6 + random.below(20) as u16,
        burst_span: Span::from_millis(random.below(3) * 100),
        alone_cells: random.below(30) as u16,
        alone_span: Span::from_millis(random.below(3) * 1_000),
        gross_percent: random.below(150) as u16,
    };
    let mut config = config(budget);
    config.breaker.useful = Some(Useful { outcomes: 32, least_won: 4, spend_ppm: 10_000 });
    config.breaker.probes = Some(Probes { count: 4, lease: Span::from_secs(1) });
    config.breaker.cooldown = Span::from_millis(200);
    let mut client = Client::new(config);
    let mut sums = Sums { burst: budget.burst_cells.into(), ..Sums::default() };
    let mut out: Vec<(Permit, u8)> = Vec::new();
    let mut read_in_second = std::collections::BTreeMap::<u64, u64>::new();
    let (mut won, mut lost, mut void, mut unused) = (0, 0, 0, 0);
    for _ in 0..steps {
        client.wait(Span::from_nanos(random.below(2_000_000)));
        match random.below(8) {
            0..=2 => {
                let cells = random.below(7) as u8;
                client.governor.record(client.now, &Evidence::Read { cells, wasted: 0, ok: true });
                sums.read += u64::from(cells);
                if let Some(span) = (budget.burst_span.as_millis() * 10_000_000_u64).checked_sub(1) {
                    *read_in_second.entry(client.now.as_nanos() / (span + 1)).or_default() +=
                        u64::from(cells);
                }
            }
            3..=5 => {
                let mut petition = petition_again(random.below(9) as u32);
                petition.cells = 1 + random.below(7) as u8;
                if random.below(4) == 0 {
                    petition = eager(petition.cells);
                }
                let most = read_in_second.values().max().unwrap_or(&0).div_ceil(10);
                sums.burst = sums.burst.max(most);
                if let Verdict::Grant { permit, cells } = client.ask(&petition) {
                    sums.granted += u64::from(cells);
                    sums.check(&budget);
                    if petition.subject == hedge_core::Subject::Eager {
                        let back = random.below(u64::from(cells) + 1) as u8;
                        client.governor.record(client.now, &Evidence::Refund { cells: back });
                        sums.refunded += u64::from(back);
                    } else {
                        out.push((permit, cells));
                    }
                }
            }
            _ if out.is_empty() => {}
            _ => {
                let (permit, cells) = out.swap_remove(random.below(out.len() as u64) as usize);
                let back = random.below(u64::from(cells) + 1) as u8;
                client.governor.record(client.now, &Evidence::Refund { cells: back });
                sums.refunded += u64::from(back);
                let cost = cells - back;
                let result = match random.below(4) {
                    _ if cost == 0 => HedgeResult::Unused,
                    0 => HedgeResult::Won,
                    1 => HedgeResult::Lost,
                    2 => HedgeResult::Void,
                    _ => HedgeResult::Won,
                };
                match result {
                    HedgeResult::Won => {
                        won += 1;
                        sums.won_back += u64::from(cost);
                    }
                    HedgeResult::Lost => lost += 1,
                    HedgeResult::Void => void += 1,
                    HedgeResult::Unused => unused += 1,
                }
                client.settled(permit, cost, result);
            }
        }
        if random.below(64) == 0 {
            let counters = client.snapshot().counters;
            assert_eq!(
                (counters.won, counters.lost, counters.void, counters.unused, counters.open()),
                (won, lost, void, unused, out.len() as u64)
            );
            assert_eq!(counters.cells_granted + counters.cells_eager, sums.granted);
            assert_eq!((counters.cells_refunded, counters.cells_won_back), (sums.refunded, sums.won_back));
        }
    }
    sums
}

#[test]
#[cfg_attr(miri, ignore)]
fn what_is_lost_stays_within_the_burst_and_the_share_in_any_order_of_events() {
    let granted: u64 = (1..=200).map(|seed| spends_within_the_budget(seed, 3_000).granted).sum();
    assert!(granted > 20_000, "{granted}");
}

#[test]
fn what_is_lost_stays_within_the_budget_in_one_short_script() {
    assert!(spends_within_the_budget(7, 200).granted > 0);
}

#[test]
fn an_executor_that_lies_gets_no_tokens() {
    let mut client = Client::new(config(BUDGET));
    let lies = |client: &mut Client| {
        for cells in [6, u8::MAX, 1, u8::MAX] {
            client.governor.record(client.now, &Evidence::Refund { cells });
            client.settled(Permit::default(), cells, HedgeResult::Won);
        }
        client.snapshot().tokens
    };
    assert_eq!(lies(&mut client), Some(14_000_000), "never more than the burst");
    let lost = client.granted(0);
    client.settled(lost, 6, HedgeResult::Lost);
    assert_eq!(lies(&mut client), Some(8_000_000), "what is lost can't come back");
    client.granted(0);
    assert_eq!(lies(&mut client), Some(8_000_000), "what is out comes back once");
}

#[test]
#[cfg_attr(miri, ignore)]
fn no_second_holds_more_grants_than_the_rate() {
    let mut random = Random(3);
    let mut config = config(BUDGET);
    (config.budget, config.max_per_second) = (None, 20);
    let mut client = Client::new(config);
    let mut granted = std::collections::VecDeque::<Instant>::new();
    for _ in 0..200_000 {
        let step = if random.below(4) == 0 { 60_000_000 } else { 100_000 };
        client.wait(Span::from_nanos(random.below(step)));
        while granted.front().is_some_and(|&at| client.now - at > Span::from_secs(1)) {
            granted.pop_front();
        }
        match client.ask(&petition_again(random.below(9) as u32)) {
            Verdict::Grant { .. } => granted.push_back(client.now),
            Verdict::Refuse { reason, .. } => assert_eq!(reason, Reason::Rate),
        }
        assert!(granted.len() <= 20);
    }
}
