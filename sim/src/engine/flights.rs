//! The executor: reads through the state machine of the hedge core, in virtual time.

use hedge_core::{
    CellSet, Evidence, Input, Instant, LegId, Mode, NodeId, Outcome, Output, ReadPlan, Reason, RequestId,
    StripeRead, Subject, Verdict, Why, draw_read,
};

use super::decider::Decider;
use super::nodes::{Draws, End, Forced, Nodes, Sent, Services};
use super::queue::{Event, Events, What};
use super::tally::Tally;
use super::timeline::Timeline;
use super::watch::Watch;
use crate::files::draws as of_file;
use crate::random::mix;
use crate::{Cluster, FileClass, Policy, Random, Sampler};

/// A read that is no part of a larger request.
const NO_REQUEST: u32 = u32::MAX;
/// A read of a stripe that lies anywhere.
const NO_CLASS: u32 = u32::MAX;

/// Where the cells of stripes lie: patterns of distinct nodes, each shifted to any first node, so that all nodes have the same load.
pub(super) struct Placements<const N: usize> {
    nodes: u32,
    patterns: Vec<[u16; N]>,
}

impl<const N: usize> Placements<N> {
    pub(super) fn new(nodes: u32, cells: u8, seed: u64) -> Self {
        let mut random = Random::of(seed, super::PLACEMENTS, 0);
        let pattern = |_| {
            let mut pattern = [0_u16; N];
            for cell in 0..usize::from(cells).min(N) {
                pattern[cell] = loop {
                    let offset = random.below(nodes) as u16;
                    if !pattern[..cell].contains(&offset) {
                        break offset;
                    }
                };
            }
            pattern
        };
        Self { nodes, patterns: (0..1024).map(pattern).collect() }
    }

    /// The stripe that 64 random bits tell.
    #[inline]
    fn stripe(&self, bits: u64) -> [NodeId; N] {
        let pattern = &self.patterns[(bits % 1024) as usize];
        let first = (((bits >> 32) * u64::from(self.nodes)) >> 32) as u32;
        self.nodes_of(pattern, first)
    }

    /// A stripe whose cell lies on this node.
    fn stripe_on(&self, bits: u64, cell: u8, node: u32) -> [NodeId; N] {
        let pattern = &self.patterns[(bits % 1024) as usize];
        let offset = u32::from(pattern[usize::from(cell)]);
        self.nodes_of(pattern, (node + self.nodes - offset) % self.nodes)
    }

    #[inline]
    fn nodes_of(&self, pattern: &[u16; N], first: u32) -> [NodeId; N] {
        pattern.map(|offset| {
            let node = first + u32::from(offset);
            NodeId(if node >= self.nodes { node - self.nodes } else { node })
        })
    }
}

/// A read that comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<const N: usize> {
    /// When it comes.
    pub(super) at: u64,
    pub(super) client: u32,
    /// What it draws.
    pub(super) key: u64,
    pub(super) nodes: [NodeId; N],
    pub(super) wanted: CellSet,
    pub(super) hedged: bool,
    /// The request that it is a part of.
    pub(super) request: u32,
    /// The class of files that it is of, by whose weights it draws what it reads.
    class: u32,
    /// What is settled of the draws of its only original leg.
    pub(super) forced: Forced,
}

impl<const N: usize> Arrival<N> {
    /// A read of one cell, as it draws.
    #[inline]
    pub(super) fn of_one_cell(at: u64, client: u32, key: u64, k: u8, placements: &Placements<N>) -> Self {
        let bits = mix(key ^ 0x1000);
        let nodes = placements.stripe(bits);
        let cell = (((bits >> 16 & 0xffff) * u64::from(k)) >> 16) as u8;
        Self {
            at,
            client,
            key,
            nodes,
            wanted: CellSet::one(cell),
            hedged: true,
            request: NO_REQUEST,
            class: NO_CLASS,
            forced: Forced::default(),
        }
    }

    /// A read of all that a file of a class wants.
    pub(super) fn of_class(at: u64, client: u32, key: u64, place: usize, class: &FileClass) -> Self {
        let mut nodes = [NodeId::UNKNOWN; N];
        for (cell, &node) in nodes.iter_mut().zip(&class.nodes) {
            *cell = NodeId(node);
        }
        Self {
            at,
            client,
            key,
            nodes,
            wanted: CellSet::first_n(class.k),
            hedged: true,
            request: NO_REQUEST,
            class: place as u32,
            forced: Forced::default(),
        }
    }

    /// The same, of a cell on this node.
    pub(super) fn on_node(mut self, node: u32, placements: &Placements<N>) -> Self {
        let cell = self.wanted.first().unwrap_or_default();
        self.nodes = placements.stripe_on(mix(self.key ^ 0x1000), cell, node);
        self
    }

    /// The node of its first wanted cell.
    #[inline]
    pub(super) fn node(&self) -> u32 {
        self.nodes[usize::from(self.wanted.first().unwrap_or_default())].0
    }

    #[inline]
    pub(super) fn draws(&self, leg: LegId) -> Draws {
        draws(self.key, self.forced, leg)
    }
}

#[inline]
fn draws(key: u64, forced: Forced, leg: LegId) -> Draws {
    let mut draws = Draws::of_leg(key, leg.cell, leg.attempt);
    if leg.attempt == 1 && leg.cell == forced.cell {
        draws.forced = forced;
    }
    draws
}

/// A leg, as the queues of nodes know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LegOf {
    place: u32,
    generation: u32,
    leg: LegId,
}

/// A read under way.
struct Flight<const N: usize> {
    read: StripeRead<N>,
    generation: u32,
    client: u32,
    request: u32,
    began: u64,
    key: u64,
    forced: Forced,
    wanted: CellSet,
    /// The timer that is set.
    timer: u64,
    /// Something happens to it no later than this; no timer is needed before.
    next_fact: u64,
    /// The last attempt at each cell.
    attempt: [u8; N],
    nodes: [NodeId; N],
    affected: bool,
    /// A leg failed: what is read now replaces it.
    lost_a_leg: bool,
    /// Whether a leg's clock starts only when it is told of its connection.
    tells_of_connections: bool,
    watch: Watch,
}

/// A request of several reads.
#[derive(Clone, Copy, Debug)]
struct Request {
    left: u32,
    affected: bool,
    ok: bool,
}

/// Reads of some clients, from the first on.
pub(super) struct Run<'a, const N: usize, const WATCH: bool> {
    pub(super) timeline: &'a Timeline,
    pub(super) placements: &'a Placements<N>,
    files: &'a [FileClass],
    rebuild: &'a Sampler,
    first_client: u32,
    plan: ReadPlan<N>,
    pub(super) deciders: Vec<Decider>,
    pub(super) nodes: Nodes<'a, LegOf>,
    pub(super) events: Events,
    flights: Vec<Flight<N>>,
    free: Vec<u32>,
    requests: Vec<Request>,
    free_requests: Vec<u32>,
    /// Requests of frozen clients.
    waiting: Vec<Arrival<N>>,
    free_waiting: Vec<u32>,
    pub(super) tally: Tally,
    /// How often breakers had opened when counting began, if it has.
    opened_before: Option<u64>,
}

/// What is drawn from, for all runs of a shape.
pub(super) struct Laws {
    /// What healthy nodes take that have no law of their own.
    pub(super) service: Sampler,
    /// What each node takes that has; none, or one for each node.
    pub(super) own: Services,
    pub(super) connect: Sampler,
    pub(super) rebuild: Sampler,
}

impl Laws {
    /// What each node takes.
    fn services(&self, nodes: u32) -> Vec<&Sampler> {
        if self.own.is_empty() { vec![&self.service; nodes as usize] } else { self.own.of_nodes() }
    }
}

impl<'a, const N: usize, const WATCH: bool> Run<'a, N, WATCH> {
    pub(super) fn new(
        cluster: &'a Cluster,
        policy: &Policy,
        timeline: &'a Timeline,
        placements: &'a Placements<N>,
        laws: &'a Laws,
        clients: std::ops::Range<u32>,
        tally: Tally,
    ) -> Self {
        let code = policy.code.unwrap_or(cluster.code);
        let mut plan = ReadPlan::new(code.k, code.k + code.m);
        if policy.eager > 0 {
            plan.mode = Mode::Eager(policy.eager);
        }
        Self {
            timeline,
            placements,
            files: &cluster.files,
            rebuild: &laws.rebuild,
            first_client: clients.start,
            plan,
            deciders: clients.map(|_| Decider::new(policy, cluster.nodes)).collect(),
            nodes: Nodes::new(
                cluster.queue,
                timeline,
                laws.services(cluster.nodes),
                cluster.new_connections,
                &laws.connect,
            ),
            events: Events::new(),
            flights: Vec::new(),
            free: Vec::new(),
            requests: Vec::new(),
            free_requests: Vec::new(),
            waiting: Vec::new(),
            free_waiting: Vec::new(),
            tally,
            opened_before: None,
        }
    }

    /// What a read of this run is planned from.
    pub(super) const fn plan(&self) -> &ReadPlan<N> {
        &self.plan
    }

    /// A request of so many reads comes: what its reads are to be given.
    pub(super) fn request(&mut self, reads: u16) -> u32 {
        if reads <= 1 {
            return NO_REQUEST;
        }
        let request = Request { left: reads.into(), affected: false, ok: true };
        match self.free_requests.pop() {
            Some(place) => {
                self.requests[place as usize] = request;
                place
            }
            None => {
                self.requests.push(request);
                self.requests.len() as u32 - 1
            }
        }
    }

    /// A read comes at the present instant.
    pub(super) fn arrive(&mut self, arrival: &Arrival<N>) {
        if self.timeline.clients_freeze
            && let Some(until) = self.timeline.thaws(arrival.client, arrival.at)
        {
            let place = self.free_waiting.pop().unwrap_or(self.waiting.len() as u32);
            match self.waiting.get_mut(place as usize) {
                Some(waiting) => *waiting = *arrival,
                None => self.waiting.push(*arrival),
            }
            self.events.push(until, place, 0, What::Begin);
            return;
        }
        self.begin(arrival.at, arrival);
    }

    fn begin(&mut self, now: u64, arrival: &Arrival<N>) {
        let at = Instant::from_nanos(now);
        let mut plan = self.plan;
        plan.node = arrival.nodes;
        plan.wanted = arrival.wanted;
        if !arrival.hedged {
            plan.mode = Mode::Off;
        }
        let mut first = arrival.wanted;
        if let Some(class) = self.files.get(arrival.class as usize) {
            (plan.k, plan.n) = (class.k, class.nodes.len() as u8);
            #[expect(clippy::expect_used, reason = "classes are checked")]
            let drawn =
                draw_read(&mut plan, &class.weights, of_file::cells(arrival.key)).expect("a legal class");
            first = drawn;
        }
        let client = arrival.client - self.first_client;
        self.deciders[client as usize].prepare(at, &mut plan);
        let counts = self.tally.counts(arrival.at);
        if counts && self.opened_before.is_none() {
            self.opened_before = Some(self.opened(at));
        }
        self.tally.wanted += if counts { plan.wanted.len() as u64 } else { 0 };
        let nodes = &mut self.nodes;
        let affected = first.iter().any(|cell| {
            nodes.affects(now, arrival.nodes[usize::from(cell)].0, arrival.draws(LegId { cell, attempt: 1 }))
        });
        #[expect(clippy::expect_used, reason = "k, n and the cells are this crate's own")]
        let checked = plan.checked().expect("a legal plan");
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.flights.push(Flight {
                    read: StripeRead::begin(at, checked),
                    generation: 0,
                    client: 0,
                    request: NO_REQUEST,
                    began: 0,
                    key: 0,
                    forced: Forced::default(),
                    wanted: CellSet::EMPTY,
                    timer: u64::MAX,
                    next_fact: u64::MAX,
                    attempt: [0; N],
                    nodes: [NodeId::UNKNOWN; N],
                    affected: false,
                    lost_a_leg: false,
                    tells_of_connections: false,
                    watch: Watch::default(),
                });
                self.flights.len() as u32 - 1
            }
        };
        let flight = &mut self.flights[place as usize];
        flight.read.begin_again(at, checked);
        flight.client = client;
        flight.request = arrival.request;
        flight.began = arrival.at;
        flight.key = arrival.key;
        flight.forced = arrival.forced;
        flight.wanted = arrival.wanted;
        flight.timer = u64::MAX;
        flight.next_fact = u64::MAX;
        flight.nodes = arrival.nodes;
        flight.affected = affected;
        flight.lost_a_leg = false;
        flight.tells_of_connections = !plan.clocks.connect_counts;
        if WATCH {
            flight.watch = Watch::new(&plan);
        }
        self.go_on(place, now);
    }

    /// The next event happens; there is one.
    pub(super) fn step(&mut self) {
        if let Some(event) = self.events.pop() {
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event) {
        let Event { at: now, place, generation, what, .. } = event;
        match what {
            What::Begin => {
                let arrival = self.waiting[place as usize];
                self.free_waiting.push(place);
                return self.begin(now, &arrival);
            }
            What::Served => return self.served(now, place),
            _ => {}
        }
        let flight = &mut self.flights[place as usize];
        if flight.generation != generation || (what == What::Timer && flight.timer != now) {
            return;
        }
        if self.timeline.clients_freeze
            && let Some(until) = self.timeline.thaws(self.first_client + flight.client, now)
        {
            if what == What::Timer {
                flight.timer = until;
            }
            return self.events.push(until, place, generation, what);
        }
        let at = Instant::from_nanos(now);
        flight.next_fact = u64::MAX;
        let input = match what {
            What::Connected(leg) => {
                if !flight.is_live(leg) {
                    return self.go_on(place, now);
                }
                let end = self.nodes.arrive(
                    now,
                    flight.nodes[usize::from(leg.cell)].0,
                    draws(flight.key, flight.forced, leg),
                );
                self.send_on(now, place, leg, end);
                Input::Connected(leg)
            }
            What::Delivered(leg) => Input::Delivered(leg),
            What::TimedOut(leg) => Input::Failed(leg, hedge_core::Cause::Timeout),
            What::Refused(leg) => Input::Failed(leg, hedge_core::Cause::Refused),
            What::Decoded => Input::Decoded(true),
            What::Timer => {
                flight.timer = u64::MAX;
                Input::Timeout
            }
            What::Begin | What::Served => return,
        };
        let flight = &mut self.flights[place as usize];
        if let Input::Failed(leg, _) = input {
            flight.lost_a_leg |= flight.is_live(leg);
        }
        if WATCH {
            flight.watch.input(now, input);
        }
        flight.read.handle(at, input);
        self.go_on(place, now);
    }

    /// A leg is at its node.
    fn send_on(&mut self, now: u64, place: u32, leg: LegId, end: End) {
        let flight = &mut self.flights[place as usize];
        let generation = flight.generation;
        let (at, what) = match end {
            End::Delivered(at) => (at, What::Delivered(leg)),
            End::TimedOut(at) => (at, What::TimedOut(leg)),
            End::Refused(at) => (at, What::Refused(leg)),
            End::Queued(service) => {
                let node = flight.nodes[usize::from(leg.cell)].0;
                if let Some(at) = self.nodes.join(now, node, LegOf { place, generation, leg }, service) {
                    self.events.push(at, node, 0, What::Served);
                }
                return;
            }
        };
        flight.next_fact = flight.next_fact.min(at);
        self.events.push(at, place, generation, what);
    }

    /// A node that drops has served a leg, and goes on to the next.
    fn served(&mut self, now: u64, node: u32) {
        if let Some(LegOf { place, generation, leg }) = self.nodes.served(node) {
            self.events.push(now, place, generation, What::Delivered(leg));
        }
        let flights = &self.flights;
        let alive = |of: LegOf| {
            flights
                .get(of.place as usize)
                .is_some_and(|flight| flight.generation == of.generation && flight.is_live(of.leg))
        };
        if let Some(at) = self.nodes.next(now, node, alive) {
            self.events.push(at, node, 0, What::Served);
        }
    }

    /// Does what the read asks for.
    fn go_on(&mut self, place: u32, now: u64) {
        let at = Instant::from_nanos(now);
        loop {
            let flight = &mut self.flights[place as usize];
            let Some(output) = flight.read.poll_output() else { break };
            if WATCH {
                flight.watch.output(now, &output);
            }
            let decider = &mut self.deciders[flight.client as usize];
            let counts = self.tally.counts(flight.began);
            match output {
                Output::Launch { leg, node, why } => {
                    flight.read.handle(at, Input::Started { leg, request: RequestId::NONE });
                    flight.attempt[usize::from(leg.cell)] = leg.attempt;
                    let replaces = flight.lost_a_leg && matches!(why, Why::Original | Why::Degraded);
                    self.tally.sent += u64::from(counts && !replaces);
                    match self.nodes.send(now, node.0, draws(flight.key, flight.forced, leg)) {
                        Sent::Arrives(end) => {
                            if flight.tells_of_connections {
                                flight.read.handle(at, Input::Connected(leg));
                            }
                            self.send_on(now, place, leg, end);
                        }
                        Sent::Connects(then) => {
                            flight.next_fact = flight.next_fact.min(then);
                            self.events.push(then, place, flight.generation, What::Connected(leg));
                        }
                        Sent::TimesOut(then) => {
                            flight.next_fact = flight.next_fact.min(then);
                            self.events.push(then, place, flight.generation, What::TimedOut(leg));
                        }
                    }
                }
                Output::Tell(evidence) => {
                    decider.record(at, &evidence);
                    if let Evidence::Hedge { result, .. } = evidence
                        && counts
                    {
                        self.tally.settled(result);
                    }
                }
                Output::Petition(petition) => {
                    let verdict = decider.decide(at, &petition);
                    if WATCH {
                        flight.watch.verdict(&verdict);
                    }
                    if counts {
                        match verdict {
                            Verdict::Grant { .. } => {
                                self.tally.granted +=
                                    u64::from(matches!(petition.subject, Subject::Late { .. }));
                            }
                            Verdict::Refuse { reason, .. } => {
                                let place = Reason::ALL.iter().position(|&other| other == reason);
                                if let Some(refused) =
                                    place.and_then(|place| self.tally.refused.get_mut(place))
                                {
                                    *refused += 1;
                                }
                            }
                        }
                    }
                    flight.read.handle(at, Input::Verdict { id: petition.id, verdict });
                }
                Output::Cancel(leg) => flight.read.handle(at, Input::Stopped(leg)),
                Output::Decode { sources, .. } => {
                    let took = self.rebuild.sample(mix(flight.key ^ sources.bits() ^ 0x2000));
                    let then = now.saturating_add(took);
                    flight.next_fact = flight.next_fact.min(then);
                    self.events.push(then, place, flight.generation, What::Decoded);
                }
                Output::Finish(outcome) => self.finish(place, now, matches!(outcome, Outcome::Ok { .. })),
                Output::Release(_) | Output::Plan { .. } => {}
            }
        }
        let flight = &mut self.flights[place as usize];
        if flight.read.drained() {
            if WATCH {
                flight.watch.over(&flight.read);
            }
            flight.generation = flight.generation.wrapping_add(1);
            self.free.push(place);
            return;
        }
        if let Some((due, _)) = flight.read.next_deadline() {
            let due = due.as_nanos();
            if due < flight.timer && due < flight.next_fact {
                flight.timer = due.max(now);
                self.events.push(due.max(now), place, flight.generation, What::Timer);
            }
        }
        if WATCH {
            flight.watch.waits(now, &flight.read);
        }
    }

    fn finish(&mut self, place: u32, now: u64, ok: bool) {
        let flight = &self.flights[place as usize];
        let (client, began) = (flight.client, flight.began);
        let (mut affected, mut all_ok) = (flight.affected, ok);
        self.deciders[client as usize].finished(Instant::from_nanos(now), now - began);
        if let Some(request) = self.requests.get_mut(flight.request as usize) {
            request.left -= 1;
            request.affected |= affected;
            request.ok &= ok;
            if request.left > 0 {
                return;
            }
            (affected, all_ok) = (request.affected, request.ok);
            self.free_requests.push(flight.request);
        }
        if self.tally.counts(began) {
            self.tally.finished(self.first_client + client, began, now, affected, all_ok);
        }
    }

    /// Whether a leg that an [`Arrival`] of one cell would send comes back at once and in peace, and when.
    #[inline]
    pub(super) fn plain(&mut self, arrival: &Arrival<N>) -> Option<u64> {
        let cell = arrival.wanted.first()?;
        let end = self.nodes.plain(arrival.at, arrival.node(), arrival.draws(LegId { cell, attempt: 1 }))?;
        let freezes =
            self.timeline.clients_freeze && self.timeline.freezes_within(arrival.client, arrival.at, end);
        (!freezes).then_some(end)
    }

    /// What the clients ended with.
    pub(super) fn end(mut self, now: u64) -> Tally {
        let at = Instant::from_nanos(now);
        let opened = self.opened(at);
        self.tally.opened += opened - self.opened_before.unwrap_or(opened);
        for decider in &mut self.deciders {
            self.tally.thresholds.extend(decider.threshold(at).map(hedge_core::Span::as_nanos));
        }
        self.tally
    }

    fn opened(&mut self, at: Instant) -> u64 {
        self.deciders.iter_mut().map(|decider| decider.opened(at)).sum()
    }
}

impl<const N: usize> Flight<N> {
    fn is_live(&self, leg: LegId) -> bool {
        self.read.leased().contains(leg.cell)
            && self.attempt.get(usize::from(leg.cell)).is_some_and(|&attempt| attempt == leg.attempt)
    }
}
