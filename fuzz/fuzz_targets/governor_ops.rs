//! A governor under any configuration, petitions and evidence, true or not: the rate holds against an oracle, the counters
//! balance, and refusals name a later instant.
#![no_main]

use std::collections::VecDeque;

use arbitrary::Arbitrary;
use hedge_core::{
    Cause, CellSet, Config, Evidence, Governor, HedgeResult, Instant, LegEnd, LegId, NodeId, Permit,
    Petition, ReadPlan, RequestId, Span, StripeRead, Subject, Verdict, Why,
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Script {
    profile: u8,
    settings: Vec<Setting>,
    start: u64,
    steps: Vec<Step>,
}

/// One name of the configuration, and a value for it.
#[derive(Debug, Arbitrary)]
struct Setting {
    name: u8,
    value: Value,
}

#[derive(Debug, Arbitrary)]
enum Value {
    Small(u8),
    Number(u32),
    Huge(u64),
    Word(u8),
}

#[derive(Debug, Arbitrary)]
enum Step {
    Wait(u32),
    Jump(u64),
    Back(u64),
    Late {
        node: u8,
        cells: u8,
        request: u8,
        again: bool,
        deadline: Option<u32>,
        dry_run: bool,
        class: u8,
    },
    Eager {
        cells: u8,
        dry_run: bool,
    },
    /// The end of a grant: which, what came of it, and how many of its cells are given back first.
    Settle {
        which: u8,
        result: u8,
        refund: u8,
    },
    Read {
        cells: u8,
        wasted: u8,
        ok: bool,
    },
    Leg {
        node: u8,
        request: u8,
        class: u8,
        took: u32,
        connect: Option<u32>,
        end: u8,
    },
    Saved(u8, u32),
    Accused(u8, u32),
    Prepare {
        nodes: u8,
        wanted: u16,
    },
    Configure(Vec<Setting>),
    Snapshot,
    /// Evidence that is not true: cells that were never granted.
    Lie {
        cells: u8,
        epoch: u32,
        probe: Option<u8>,
        result: u8,
    },
}

const NODES: usize = 12;

/// What a governor may do, kept apart from it.
#[derive(Default)]
struct Oracle {
    now: Instant,
    grants: VecDeque<Instant>,
    open: Vec<(Permit, u8)>,
    granted: u64,
    settled: u64,
    /// Evidence was made up, so balances mean nothing any more.
    lied: bool,
}

fuzz_target!(|script: Script| {
    let mut config = match script.profile % 3 {
        0 => Config::default(),
        1 => Config::hubspot(Span::from_millis(250)),
        _ => Config::replicated(Span::from_millis(50)),
    };
    set(&mut config, &script.settings);
    let mut governor = Governor::<NODES>::new(config).expect("a configuration that `set` accepted");
    let mut oracle = Oracle::default();
    let mut clock = Instant::from_nanos(script.start);
    for step in &script.steps {
        take(&mut governor, &mut oracle, &mut clock, step);
    }
    audit(&mut governor, &oracle, clock);
});

fn set(config: &mut Config, settings: &[Setting]) {
    let names: Vec<&str> = config.pairs().map(|(name, _)| name).collect();
    for Setting { name, value } in settings {
        let name = names[usize::from(*name) % names.len()];
        let value = match *value {
            Value::Small(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            Value::Huge(value) => value.to_string(),
            Value::Word(value) => ["off", "true", "false", "adaptive", "spend", "-1", "", "granted"]
                [usize::from(value) % 8]
                .into(),
        };
        let before = *config;
        if config.set(name, &value).is_err() {
            assert_eq!(*config, before, "a refused value changed something");
        }
        assert!(config.check().is_ok(), "{name} = {value} made a bad configuration");
    }
}

fn take(governor: &mut Governor<NODES>, oracle: &mut Oracle, clock: &mut Instant, step: &Step) {
    match *step {
        Step::Wait(micros) => return *clock += Span::from_micros(micros.into()),
        Step::Jump(nanos) => return *clock += Span::from_nanos(nanos),
        Step::Back(nanos) => return *clock = Instant::from_nanos(clock.as_nanos().saturating_sub(nanos)),
        Step::Late { node, cells, request, again, deadline, dry_run, class } => {
            let subject = Subject::Late {
                leg: LegId { cell: 0, attempt: 1 },
                node: node_id(node),
                why: Why::Original,
                request: RequestId(request.into()),
                again,
            };
            let deadline = deadline.map(|micros| *clock + Span::from_micros(micros.into()));
            ask(
                governor,
                oracle,
                *clock,
                &Petition { id: 1, subject, cells: cells % 65, size_class: class, deadline, dry_run },
            );
        }
        Step::Eager { cells, dry_run } => {
            let petition = Petition {
                id: 1,
                subject: Subject::Eager,
                cells: cells % 65,
                size_class: 0,
                deadline: None,
                dry_run,
            };
            ask(governor, oracle, *clock, &petition);
        }
        Step::Settle { which, result, refund } => {
            if oracle.open.is_empty() {
                return;
            }
            let (permit, cells) = oracle.open.swap_remove(usize::from(which) % oracle.open.len());
            let refund = refund.min(cells);
            if refund > 0 {
                governor.record(*clock, &Evidence::Refund { cells: refund });
            }
            let left = cells - refund;
            let result = if left == 0 { HedgeResult::Unused } else { outcome(result) };
            governor.record(*clock, &Evidence::Hedge { permit, cells: left, result });
            oracle.settled += 1;
        }
        Step::Read { cells, wasted, ok } => governor.record(*clock, &Evidence::Read { cells, wasted, ok }),
        Step::Leg { node, request, class, took, connect, end } => {
            let end = match end % 4 {
                0 => LegEnd::Cut,
                1 => LegEnd::Failed(if end > 99 { Cause::Timeout } else { Cause::Missing }),
                _ => LegEnd::Delivered,
            };
            governor.record(
                *clock,
                &Evidence::Leg {
                    node: node_id(node),
                    request: RequestId(request.into()),
                    why: Why::Original,
                    size_class: class,
                    connect_micros: connect,
                    took: Span::from_micros(took.into()),
                    end,
                },
            );
        }
        Step::Saved(node, micros) => {
            governor.record(
                *clock,
                &Evidence::Saved { node: node_id(node), by: Span::from_micros(micros.into()) },
            );
        }
        Step::Accused(node, micros) => {
            governor.record(
                *clock,
                &Evidence::Accused { node: node_id(node), until: *clock + Span::from_micros(micros.into()) },
            );
        }
        Step::Prepare { nodes, wanted } => prepare(governor, *clock, nodes, wanted),
        Step::Configure(ref settings) => {
            let mut config = *governor.config();
            set(&mut config, settings);
            governor.reconfigure(*clock, config).expect("a configuration that `set` accepted");
            // Another rate holds from now on.
            oracle.grants.clear();
        }
        Step::Snapshot => audit(governor, oracle, *clock),
        Step::Lie { cells, epoch, probe, result } => {
            oracle.lied = true;
            governor.record(
                *clock,
                &Evidence::Hedge { permit: Permit { epoch, probe }, cells, result: outcome(result) },
            );
            governor.record(*clock, &Evidence::Refund { cells });
        }
    }
    oracle.now = oracle.now.max(*clock);
}

fn ask(governor: &mut Governor<NODES>, oracle: &mut Oracle, clock: Instant, petition: &Petition) {
    oracle.now = oracle.now.max(clock);
    match governor.decide(clock, petition) {
        Verdict::Grant { cells, permit } => {
            assert!(!petition.dry_run && cells > 0 && cells == petition.cells);
            if petition.subject == Subject::Eager {
                return;
            }
            oracle.granted += 1;
            oracle.open.push((permit, cells));
            let second = Span::from_secs(1);
            while oracle.grants.front().is_some_and(|&at| oracle.now - at >= second) {
                oracle.grants.pop_front();
            }
            oracle.grants.push_back(oracle.now);
            let most = governor.config().max_per_second;
            assert!(oracle.grants.len() as u64 <= most.into(), "more than {most} grants in a second");
        }
        Verdict::Refuse { retry_at, .. } => {
            assert!(retry_at.is_none_or(|at| at > oracle.now), "asking again at once would spin");
        }
    }
}

fn prepare(governor: &mut Governor<NODES>, clock: Instant, nodes: u8, wanted: u16) {
    let mut plan = ReadPlan::<9>::new(6, 9);
    plan.wanted = CellSet::from_bits(wanted.into()) & CellSet::first_n(9);
    plan.node = std::array::from_fn(|cell| node_id(nodes.wrapping_add(cell as u8)));
    governor.prepare(clock, &mut plan);
    plan.wanted.insert(0);
    StripeRead::new(clock, &plan).expect("what a governor prepared can be read");
    // One that is off takes no notice of the time when it prepares a read.
    let _ = governor.snapshot(clock);
}

fn audit(governor: &mut Governor<NODES>, oracle: &Oracle, clock: Instant) {
    let counters = governor.snapshot(clock).counters;
    assert_eq!(counters.granted, oracle.granted);
    if !oracle.lied {
        assert_eq!(counters.won + counters.lost + counters.void + counters.unused, oracle.settled);
    }
    for node in 0..=NODES as u32 {
        let health = governor.node(clock, NodeId(node));
        assert_eq!(health.is_some(), (node as usize) < NODES);
    }
}

fn node_id(node: u8) -> NodeId {
    if node == u8::MAX { NodeId::UNKNOWN } else { NodeId(u32::from(node) % (NODES as u32 + 2)) }
}

fn outcome(which: u8) -> HedgeResult {
    [HedgeResult::Won, HedgeResult::Lost, HedgeResult::Void][usize::from(which) % 3]
}
