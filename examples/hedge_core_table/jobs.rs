//! What is timed: whole reads by an executor that does no I/O, so that only the decisions are left.

use std::hint::black_box;

use hedge_core::{
    CellSet, Config, Governor, GovernorView, Input, Instant, LegId, NodeId, Output, ReadPlan, RequestId,
    Span, StripeRead, Threshold,
};

/// RS-6-3 on nine nodes, as most of the published figures.
pub(crate) const CELLS: usize = 9;
pub(crate) type Plan = ReadPlan<CELLS>;

const THRESHOLD: Span = Span::from_millis(250);

/// A governor that grants whatever it is asked, so that the hedged read is one.
#[must_use]
pub(crate) fn governor<const NODES: usize>() -> Governor<NODES> {
    let mut config = Config::default();
    config.threshold = Threshold::Fixed(THRESHOLD);
    config.budget = None;
    config.max_per_second = u32::MAX;
    config.breaker.max_impaired_nodes = u16::MAX;
    config.breaker.useful = None;
    config.health.demote = false;
    Governor::new(config).expect("a valid configuration")
}

/// A read of the first `wanted` cells.
#[must_use]
pub(crate) fn plan(wanted: u8) -> Plan {
    let mut plan = ReadPlan::new(6, 9);
    plan.wanted = CellSet::first_n(wanted);
    plan.node = std::array::from_fn(|cell| NodeId(cell as u32));
    plan.clocks.late = Some(THRESHOLD);
    plan
}

/// Legs launched and not yet ended, in the order of their launch.
struct Legs {
    legs: [LegId; 2 * CELLS],
    len: usize,
}

impl Legs {
    fn new() -> Self {
        Self { legs: [LegId { cell: 0, attempt: 0 }; 2 * CELLS], len: 0 }
    }

    fn push(&mut self, leg: LegId) {
        self.legs[self.len] = leg;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<LegId> {
        self.len = self.len.checked_sub(1)?;
        Some(self.legs[self.len])
    }
}

/// A read of which every leg comes in time: from its creation to its last output. What it has to tell goes to `governor`, if
/// there is one, which then prepares the plan, too. Returns how many outputs there were.
pub(crate) fn unhedged(plan: &Plan, mut governor: Option<&mut GovernorView>, start: Instant) -> u32 {
    let (mut plan, mut prepared) = (black_box(plan), *plan);
    if let Some(governor) = governor.as_deref_mut() {
        governor.prepare(start, &mut prepared);
        plan = &prepared;
    }
    let mut read = StripeRead::begin(start, plan.checked().expect("a valid plan"));
    let (mut legs, mut outputs) = (Legs::new(), 0);
    while let Some(output) = read.poll_output() {
        outputs += 1;
        if let Output::Launch { leg, .. } = output {
            legs.push(leg);
        }
    }
    let (begun, open, arrived) =
        (start + Span::from_micros(1), start + Span::from_micros(2), start + Span::from_millis(1));
    for &leg in &legs.legs[..legs.len] {
        read.handle(begun, Input::Started { leg, request: RequestId::NONE });
        read.handle(open, Input::Connected(leg));
    }
    for &leg in &legs.legs[..legs.len] {
        read.handle(arrived, Input::Delivered(leg));
        while let Some(output) = read.poll_output() {
            outputs += 1;
            if let (Output::Tell(evidence), Some(governor)) = (output, governor.as_deref_mut()) {
                governor.record(arrived, &evidence);
            }
        }
    }
    assert!(read.drained());
    outputs
}

/// A read of one cell that is late, hedged, and won by the rebuild; all outputs until everything has stopped. The governor
/// decides, and hears everything.
pub(crate) fn hedged(plan: &Plan, governor: &mut GovernorView, start: Instant) -> u32 {
    let mut plan = *black_box(plan);
    governor.prepare(start, &mut plan);
    let mut read = StripeRead::begin(start, plan.checked().expect("a valid plan"));
    let (mut now, mut legs, mut outputs, mut hedging) = (start, Legs::new(), 0, false);
    loop {
        while let Some(output) = read.poll_output() {
            outputs += 1;
            match output {
                Output::Launch { leg, .. } => {
                    read.handle(now, Input::Started { leg, request: RequestId::NONE });
                    if hedging {
                        legs.push(leg);
                    }
                }
                Output::Petition(petition) => {
                    hedging = true;
                    let verdict = governor.decide(now, &petition);
                    read.handle(now, Input::Verdict { id: petition.id, verdict });
                }
                Output::Decode { .. } => read.handle(now, Input::Decoded(true)),
                Output::Cancel(leg) => read.handle(now, Input::Stopped(leg)),
                Output::Tell(evidence) => governor.record(now, &evidence),
                Output::Release(_) | Output::Finish(_) | Output::Plan { .. } => {}
            }
        }
        if read.drained() {
            assert_eq!(read.tally().won, 1, "the hedge was to win");
            return outputs;
        }
        match legs.pop() {
            Some(leg) => {
                now += Span::from_micros(50);
                read.handle(now, Input::Delivered(leg));
            }
            None => {
                let (at, _) = read.next_deadline().expect("a leg that will be late");
                now = at;
                read.handle(now, Input::Timeout);
            }
        }
    }
}
