//! Many reads of RS-6-3 stripes in virtual time, from clients with a governor each. What a leg takes is up to a model of the nodes; a
//! leg that is cancelled is served to its end all the same.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hedge_core::{
    CellSet, Config, Counters, Governor, Input, Instant, LegId, NodeId, Outcome, Output, ReadPlan, RequestId,
    Span, StripeRead,
};

/// What legs take.
pub(crate) trait Latency {
    /// When a leg that is sent now ends; `None`: never. `draw` looks random, above 0 and below 1, and is the same for the same leg of
    /// the same read in every run.
    fn end(&mut self, now: Instant, node: NodeId, draw: f64) -> Option<Instant>;
}

impl<F: FnMut(Instant, NodeId, f64) -> Option<Span>> Latency for F {
    fn end(&mut self, now: Instant, node: NodeId, draw: f64) -> Option<Instant> {
        self(now, node, draw).map(|took| now + took)
    }
}

/// A number that looks random, above 0 and below 1 (splitmix).
pub(crate) fn draw(seed: u64) -> f64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((mixed ^ mixed >> 31) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Exponential with this mean.
pub(crate) fn exponential(mean: Span, draw: f64) -> Span {
    Span::from_nanos((-draw.ln() * mean.as_nanos() as f64) as u64)
}

struct Party {
    read: StripeRead<9>,
    number: u64,
    client: usize,
    began: Instant,
    /// The timer that is set.
    timer: Option<Instant>,
    /// Legs that never end by themselves.
    silent: CellSet,
}

/// An end of a leg, or a timer, of the read with this number in this place.
type Event = (Instant, u64, usize, Option<LegId>);

/// The nodes, the clients and the clock.
pub(crate) struct Fleet<L, const NODES: usize> {
    pub(crate) latency: L,
    pub(crate) clients: Vec<Box<Governor<NODES>>>,
    pub(crate) now: Instant,
    mean_gap: Span,
    arrival: Instant,
    parties: Vec<Option<Party>>,
    free: Vec<usize>,
    events: BinaryHeap<Reverse<Event>>,
    /// Reads begun, and legs that were sent for them.
    pub(crate) reads: u64,
    pub(crate) legs: u64,
    /// What finished reads took.
    pub(crate) took: Vec<Span>,
}

impl<L: Latency, const NODES: usize> Fleet<L, NODES> {
    /// So many reads a second in all, each of one cell, by turns from each client.
    pub(crate) fn new(config: Config, clients: usize, reads_per_second: u64, latency: L) -> Self {
        let governor = Box::new(Governor::new(config).expect("a valid configuration"));
        Self {
            latency,
            clients: vec![governor; clients],
            now: Instant::ZERO,
            mean_gap: Span::from_nanos(1_000_000_000 / reads_per_second),
            arrival: Instant::ZERO,
            parties: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            reads: 0,
            legs: 0,
            took: Vec::new(),
        }
    }

    /// From the next read on, so many reads a second.
    pub(crate) fn set_rate(&mut self, reads_per_second: u64) {
        self.mean_gap = Span::from_nanos(1_000_000_000 / reads_per_second);
    }

    /// Lets this much time pass; reads that are out then go on at the next call.
    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let event = self.events.peek().map_or(Instant::MAX, |Reverse(event)| event.0);
            if event.min(self.arrival) > end {
                self.now = end;
                return;
            }
            if event <= self.arrival {
                let Some(Reverse(event)) = self.events.pop() else { return };
                self.now = event.0;
                self.happen(event);
            } else {
                self.now = self.arrival;
                self.begin();
            }
        }
    }

    /// No read begins any more; those that are out end.
    pub(crate) fn drain(&mut self) {
        while let Some(Reverse(event)) = self.events.pop() {
            self.now = event.0;
            self.happen(event);
        }
        assert!(self.parties.iter().all(Option::is_none), "a read is left over");
    }

    /// The time that so many millionths of the finished reads did not exceed.
    pub(crate) fn quantile(&mut self, ppm: u64) -> Span {
        let place = (self.took.len() as u64 * ppm / 1_000_000) as usize;
        *self.took.select_nth_unstable(place).1
    }

    /// The counters of all clients, added up.
    pub(crate) fn sum(&mut self, count: impl Fn(&Counters) -> u64) -> u64 {
        let now = self.now;
        self.clients.iter_mut().map(|governor| count(&governor.snapshot(now).counters)).sum()
    }

    fn begin(&mut self) {
        let number = self.reads;
        self.reads += 1;
        self.arrival += exponential(self.mean_gap, draw(number << 8 | 0xff));
        let mut plan = ReadPlan::<9>::new(6, 9);
        let first = (draw(number << 8 | 0xfe) * NODES as f64) as u32;
        plan.node = core::array::from_fn(|cell| NodeId((first + 7 * cell as u32) % NODES as u32));
        plan.wanted = CellSet::one((number % 6) as u8);
        let client = number as usize % self.clients.len();
        self.clients[client].prepare(self.now, &mut plan);
        let read = StripeRead::new(self.now, &plan).expect("a legal plan");
        let party = Party { read, number, client, began: self.now, timer: None, silent: CellSet::EMPTY };
        let place = self.free.pop().unwrap_or_else(|| {
            self.parties.push(None);
            self.parties.len() - 1
        });
        self.go_on(place, party);
    }

    fn happen(&mut self, (at, number, place, leg): Event) {
        let Some(mut party) = self.parties[place].take_if(|party| party.number == number) else { return };
        match leg {
            Some(leg) => party.read.handle(at, Input::Delivered(leg)),
            None if party.timer == Some(at) => {
                party.timer = None;
                party.read.handle(at, Input::Timeout);
            }
            None => {}
        }
        self.go_on(place, party);
    }

    /// Does what the read asks for, and puts it back or drops it.
    fn go_on(&mut self, place: usize, mut party: Party) {
        let (now, governor) = (self.now, &mut self.clients[party.client]);
        while let Some(output) = party.read.poll_output() {
            match output {
                Output::Launch { leg, node, .. } => {
                    self.legs += 1;
                    party.read.handle(now, Input::Started { leg, request: RequestId::NONE });
                    let draw = draw(party.number << 8 | u64::from(leg.cell) | u64::from(leg.attempt) << 4);
                    match self.latency.end(now, node, draw) {
                        Some(end) => self.events.push(Reverse((end, party.number, place, Some(leg)))),
                        None => party.silent.insert(leg.cell),
                    }
                }
                Output::Cancel(leg) if party.silent.contains(leg.cell) => {
                    party.silent.remove(leg.cell);
                    party.read.handle(now, Input::Stopped(leg));
                }
                Output::Petition(petition) => {
                    let verdict = governor.decide(now, &petition);
                    party.read.handle(now, Input::Verdict { id: petition.id, verdict });
                }
                Output::Decode { .. } => party.read.handle(now, Input::Decoded(true)),
                Output::Tell(evidence) => governor.record(now, &evidence),
                Output::Finish(outcome) => {
                    assert!(matches!(outcome, Outcome::Ok { .. }), "{outcome:?}");
                    self.took.push(now - party.began);
                }
                Output::Release(_) | Output::Cancel(_) | Output::Plan { .. } => {}
            }
        }
        if party.read.drained() {
            self.free.push(place);
            return;
        }
        if let Some((due, _)) = party.read.next_deadline()
            && party.timer.is_none_or(|timer| due < timer)
        {
            party.timer = Some(due);
            self.events.push(Reverse((due, party.number, place, None)));
        }
        self.parties[place] = Some(party);
    }
}
