//! What the tests of nodes share, and the one that calls everything.

mod accused;
mod demotion;
mod evidence;
mod plans;

use std::format;

use super::*;
use crate::{Breaking, Cause, LegEnd, Threshold};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Slow above 1 s, more than three times in 60 s; impaired from three late legs and 20 % on; holds of 10 s to 160 s.
fn config() -> Config {
    Config {
        enabled: true,
        dry_run: false,
        threshold: Threshold::Fixed(Span::from_millis(250)),
        stall: None,
        connect_counts: true,
        spare: 0,
        retry_floor: Span::from_millis(1),
        impaired: Impaired {
            window: Span::from_secs(60),
            legs: 3,
            share_percent: 20,
            record: Record::Always,
        },
        breaker: Breaking {
            max_impaired_nodes: 2,
            max_impaired_percent: 0,
            cooldown: Span::from_secs(30),
            probes: None,
            useful: None,
        },
        max_per_second: 200,
        budget: None,
        health: Health {
            window: Span::from_secs(60),
            limit: 3,
            slow_leg: Span::from_secs(1),
            slow_connect: Span::from_millis(500),
            demote: true,
            max_demoted_percent: 20,
            probe_every: 10,
            hold: Span::from_secs(10),
            hold_max: Span::from_secs(160),
        },
    }
}

/// One late leg is enough.
fn one_is_enough() -> Config {
    let mut config = config();
    config.impaired.legs = 1;
    config.impaired.share_percent = 0;
    config
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn millis(millis: u64) -> Leg {
    Leg {
        request: RequestId::NONE,
        connect_micros: None,
        took: Span::from_millis(millis),
        end: LegEnd::Delivered,
    }
}

type Ten = Nodes<[NodeState; 10]>;

/// Ten nodes of which each was seen once, at the origin.
fn ten(config: &Config) -> Ten {
    let mut nodes = Ten::new();
    for node in 0..10 {
        assert!(view(&mut nodes).leg(at(0), NodeId(node), &millis(2), config));
    }
    nodes
}

fn view(nodes: &mut Ten) -> &mut Nodes<[NodeState]> {
    nodes
}

/// Makes the node slow: one slow leg more than the limit.
fn slow_down(nodes: &mut Nodes<[NodeState]>, now: Instant, node: u32, config: &Config) {
    for _ in 0..=config.health.limit {
        nodes.leg(now, NodeId(node), &millis(3_000), config);
    }
}

const EVERY_NODE: [NodeId; 10] = {
    let mut node = [NodeId(0); 10];
    let mut number = 0;
    while number < 10 {
        node[number] = NodeId(number as u32);
        number += 1;
    }
    node
};

/// Prepares a read of one cell, which lies on the node of its number.
fn want(nodes: &mut Nodes<[NodeState]>, now: Instant, cell: u8, config: &Config) -> Wary {
    let mut order: [u8; 10] = core::array::from_fn(|cell| cell as u8);
    nodes.prepare(now, config, &EVERY_NODE, &mut order, CellSet::one(cell))
}

/// What the counters of the whole say is what the nodes say one by one.
fn check_counters(nodes: &Nodes<[NodeState]>) {
    let count = |mark| nodes.states.iter().filter(|state| state.is(mark)).count() as u32;
    assert_eq!(nodes.known, count(Mark::Known));
    assert_eq!(nodes.suspects, count(Mark::Suspect));
    assert_eq!(nodes.demoted, count(Mark::Demoted));
    let high = nodes
        .states
        .iter()
        .rposition(|state| state.is(Mark::Known) || state.is(Mark::Accused))
        .map_or(0, |last| last + 1);
    assert!(nodes.high as usize >= high);
    assert_eq!(nodes.accused, count(Mark::Accused));
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn a_node_is_remembered_in_88_bytes() {
    assert!(size_of::<NodeState>() <= 88, "{}", size_of::<NodeState>());
    assert!(size_of::<Nodes<[NodeState; 1024]>>() <= 88 * 1024 + 32);
}

/// Any call with any number; the counters stay right.
fn any_calls(seed: u64, steps: u32) {
    let mut random = Random(seed);
    let mut config = config();
    let mut nodes = Ten::new();
    let nodes = view(&mut nodes);
    let edges = [0, 1, SECOND, 60 * SECOND, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    let mut clock = 0_u64;
    for _ in 0..steps {
        clock = match random.below(40) {
            0 => edges[random.below(7) as usize],
            1 => clock.saturating_sub(random.below(SECOND)),
            2 => clock.saturating_add(random.below(100 * SECOND)),
            _ => clock.saturating_add(random.below(SECOND)),
        };
        let now = at(clock);
        let mut span = || Span::from_nanos(edges[random.below(7) as usize]);
        let (one, two, three) = (span(), span(), span());
        let node = match random.below(20) {
            0 => NodeId::UNKNOWN,
            1 => NodeId(10),
            _ => NodeId(random.below(10) as u32),
        };
        let request = RequestId(random.below(4) as u32);
        match random.below(9) {
            8 => {
                nodes.accuse(now, node, at(edges[random.below(7) as usize]), &config);
            }
            0 | 1 => {
                nodes.cross(now, node, request, random.below(3) as u32, &config);
                nodes.granted(now, node, request, random.below(3) as u32, &config);
            }
            2..=4 => {
                let end = [
                    LegEnd::Delivered,
                    LegEnd::Cut,
                    LegEnd::Failed(Cause::Timeout),
                    LegEnd::Failed(Cause::Missing),
                ][random.below(4) as usize];
                let took =
                    if random.below(3) == 0 { one } else { Span::from_nanos(random.below(2 * SECOND)) };
                let connect_micros = [None, Some(0), Some(u32::MAX)][random.below(3) as usize];
                nodes.leg(now, node, &Leg { request, connect_micros, took, end }, &config);
            }
            5 | 6 => {
                let wanted = CellSet::from_bits(random.below(1 << 12));
                let mut order = [3; 10];
                let wary = nodes.prepare(now, &config, &EVERY_NODE, &mut order, wanted);
                assert!(wary.avoid.is_subset(wary.suspect) && wary.suspect.is_subset(CellSet::first_n(10)));
            }
            _ => {
                if random.below(20) == 0 {
                    config.impaired.window = one;
                    config.health.window = two;
                    config.health.hold = three;
                    config.health.hold_max = one;
                    config.health.demote = random.below(4) > 0;
                    config.health.max_demoted_percent = random.below(101) as u8;
                    config.health.probe_every = random.below(4) as u16;
                    config.impaired.legs = random.below(4) as u16;
                    config.impaired.record = [Record::Always, Record::WhenGranted][random.below(2) as usize];
                }
                let impaired = nodes.impaired_count(now, &config.impaired, None);
                assert!(impaired <= nodes.seen_count(now, Span::MAX));
                if let Some(health) = nodes.health(now, node, &config) {
                    assert!(health.late <= health.started);
                    assert!(!format!("{health:?}").is_empty());
                }
            }
        }
        check_counters(nodes);
    }
}

#[test]
fn no_call_at_any_instant_panics_or_miscounts() {
    any_calls(1, if cfg!(miri) { 60 } else { 500 });
}

#[test]
#[cfg_attr(miri, ignore)]
fn no_long_run_of_calls_at_any_instant_panics_or_miscounts() {
    for seed in 2..40 {
        any_calls(seed, 20_000);
    }
}
