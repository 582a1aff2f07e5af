//! A complete executor in virtual time, for one or many reads: scripted fates, worker slots, stops that take time, verdicts that
//! come late. Every read is [`Watched`], so each run checks the promises; a run that does not end fails its test.
#![allow(dead_code, unused_imports)] // Each test file uses a part.

mod hand;
mod watched;

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use hedge_core::{
    Cause, CellSet, Evidence, Fault, Input, Instant, LegId, NodeId, Outcome, Output, Petition, ReadPlan,
    RequestId, Span, Verdict, Why,
};

pub(crate) use hand::{Hand, asked, delivered, ok, rs_6_3, set};
pub(crate) use watched::{Watched, at, grant, ms, plan, refuse, started};

/// Seeded random numbers (splitmix).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// What becomes of a leg once work on it begins. Times are milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fate {
    /// From start to open connection, where that stage is seen.
    pub(crate) connects: Option<u64>,
    /// A sign of life every so often until the end.
    pub(crate) progress: Option<u64>,
    /// From start to end.
    pub(crate) after: u64,
    pub(crate) end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Delivered,
    Failed(Cause),
    /// The executor gives the leg up; its writer lives until it is stopped.
    GaveUp(Cause),
    /// Nothing more is ever heard of it.
    Silent,
}

impl Fate {
    pub(crate) const fn delivered(after: u64) -> Self {
        Self { connects: None, progress: None, after, end: End::Delivered }
    }

    pub(crate) const fn failed(after: u64, cause: Cause) -> Self {
        Self { connects: None, progress: None, after, end: End::Failed(cause) }
    }

    pub(crate) const fn gave_up(after: u64, cause: Cause) -> Self {
        Self { connects: None, progress: None, after, end: End::GaveUp(cause) }
    }

    pub(crate) const SILENT: Self = Self { connects: None, progress: None, after: 0, end: End::Silent };
}

/// A leg on which work begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) now: Instant,
    pub(crate) read: usize,
    pub(crate) leg: LegId,
    pub(crate) node: NodeId,
    pub(crate) why: Why,
}

/// What the world does and the governor says.
pub(crate) trait Script {
    /// A read is about to begin.
    fn prepare<const N: usize>(&mut self, _now: Instant, _plan: &mut ReadPlan<N>) {}

    fn fate(&mut self, begun: &Begun) -> Fate;

    fn decide(&mut self, now: Instant, read: usize, petition: &Petition) -> Verdict;

    fn record(&mut self, _now: Instant, _read: usize, _evidence: &Evidence) {}

    fn output(&mut self, _now: Instant, _read: usize, _output: &Output) {}
}

/// How this executor goes about its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// How many legs run at a time; the others wait, and nobody starts their clocks.
    pub(crate) slots: usize,
    /// Hedge legs have as many slots of their own.
    pub(crate) hedge_lane: bool,
    /// From launch to start, for legs that find a slot.
    pub(crate) start: u64,
    /// How long a decode takes, in milliseconds.
    pub(crate) decode: u64,
    pub(crate) decode_fails: bool,
    /// From a cancel to the stop of a leg that runs. What ends sooner by itself ends by itself.
    pub(crate) stop: u64,
    /// From a petition to its verdict.
    pub(crate) verdict: u64,
    /// After its end each leg is heard of again.
    pub(crate) duplicates: bool,
    /// Between two inputs of one instant the outputs are polled or not, as this seed has it; else always.
    pub(crate) lazy: Option<u64>,
    /// What happens at one instant happens in an order that this seed mixes; else in the order of its causes.
    pub(crate) mixed: Option<u64>,
    /// What has not ended then waits for ever: silent legs may ask again and again.
    pub(crate) horizon: Instant,
    pub(crate) fault: Option<Fault>,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            slots: usize::MAX,
            hedge_lane: false,
            start: 0,
            decode: 0,
            decode_fails: false,
            stop: 0,
            verdict: 0,
            duplicates: false,
            lazy: None,
            mixed: None,
            horizon: at(1_000),
            fault: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Begin(usize),
    /// About one leg: stale once the leg has ended.
    Start(usize, LegId),
    Leg(usize, LegId, Input),
    /// About a leg that has ended.
    Stale(usize, Input),
    /// About the read.
    Read(usize, Input),
}

struct Entry {
    at: Instant,
    tie: u64,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.tie).cmp(&(other.at, other.tie))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

struct Party<const N: usize> {
    plan: ReadPlan<N>,
    watched: Option<Watched<N>>,
    /// The why and the lane of each cell's leg, and whether it has a slot.
    why: [Why; N],
    running: [bool; N],
    result: Option<(Instant, Outcome)>,
    unpolled: bool,
}

/// The executor.
pub(crate) struct World<S, const N: usize> {
    pub(crate) script: S,
    habits: Habits,
    now: Instant,
    heap: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
    parties: Vec<Party<N>>,
    queues: [VecDeque<(usize, LegId)>; 2],
    busy: [usize; 2],
    lazy: Option<Random>,
    mixed: Option<Random>,
    pub(crate) ignored: u32,
}

impl<S: Script, const N: usize> World<S, N> {
    pub(crate) fn new(script: S, habits: Habits) -> Self {
        Self {
            script,
            habits,
            now: Instant::ZERO,
            heap: BinaryHeap::new(),
            sequence: 0,
            parties: Vec::new(),
            queues: [VecDeque::new(), VecDeque::new()],
            busy: [0; 2],
            lazy: habits.lazy.map(Random::new),
            mixed: habits.mixed.map(Random::new),
            ignored: 0,
        }
    }

    /// One more read, which begins at `at`; its number.
    pub(crate) fn add(&mut self, at: Instant, plan: &ReadPlan<N>) -> usize {
        let number = self.parties.len();
        self.parties.push(Party {
            plan: *plan,
            watched: None,
            why: [Why::Original; N],
            running: [false; N],
            result: None,
            unpolled: false,
        });
        self.push(at, Event::Begin(number));
        number
    }

    /// Hands the read an input of the test's own at `at`.
    pub(crate) fn inject(&mut self, at: Instant, read: usize, input: Input) {
        self.push(at, Event::Read(read, input));
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.sequence += 1;
        let tie = self.mixed.as_mut().map_or(self.sequence, Random::next);
        self.heap.push(Reverse(Entry { at, tie, event }));
    }

    fn push_after(&mut self, millis: u64, event: Event) {
        self.push(self.now + ms(millis), event);
    }

    fn watched(&mut self, read: usize) -> &mut Watched<N> {
        self.parties[read].watched.as_mut().expect("the read has begun")
    }

    /// Runs until nothing is left to happen; when each read ended, and how: `None` if it would have waited for ever.
    pub(crate) fn run(&mut self) -> Vec<Option<(Instant, Outcome)>> {
        let bound = 2_000 * (self.parties.len() as u64 + 1) * N as u64;
        let mut stuck = None;
        let mut steps = 0;
        loop {
            steps += 1;
            assert!(
                steps < bound,
                "at {:?} the run does not end: {:?}, {:?}",
                self.now,
                self.habits,
                self.next_deadline()
            );
            let event = self.heap.peek().map(|Reverse(entry)| entry.at);
            let late = self.next_deadline();
            let horizon = self.habits.horizon;
            let waits = |at: Instant| at > horizon && stuck.is_none();
            match (event, late) {
                (Some(at), late) if late.is_none_or(|(due, _)| at <= due) && !waits(at) => {
                    if at > self.now && self.poll_unpolled() {
                        continue;
                    }
                    self.now = self.now.max(at);
                    let Some(Reverse(Entry { event, .. })) = self.heap.pop() else { unreachable!() };
                    self.happen(event);
                }
                (event, Some((due, read))) if event.is_none_or(|at| due < at) && !waits(due) => {
                    if self.poll_unpolled() {
                        continue;
                    }
                    self.now = self.now.max(due);
                    self.handle(read, Input::Timeout);
                }
                _ => {
                    if self.poll_unpolled() {
                        continue;
                    }
                    // What is left waits for ever: nobody would, so it is aborted, and must come to an end then.
                    let results = || self.parties.iter().map(|party| party.result).collect::<Vec<_>>();
                    stuck.get_or_insert_with(results);
                    match self.parties.iter().position(|party| !party.is_drained()) {
                        Some(read) if self.parties[read].result.is_none() => self.handle(read, Input::Abort),
                        Some(read) if event.is_none() => panic!("read {read} is never drained"),
                        Some(_) => {}
                        None if event.is_none() => break,
                        None => {}
                    }
                }
            }
        }
        let reads = self.parties.iter().filter_map(|party| party.watched.as_ref());
        self.ignored = reads.map(|watched| watched.ignored).sum();
        assert_eq!(self.busy, [0; 2], "a slot is still taken");
        assert!(self.queues.iter().all(VecDeque::is_empty), "a leg still waits");
        stuck.unwrap_or_else(|| self.parties.iter().map(|party| party.result).collect())
    }

    fn next_deadline(&self) -> Option<(Instant, usize)> {
        let reads = self.parties.iter().enumerate().filter(|(_, party)| party.result.is_none());
        let deadlines = reads.filter_map(|(read, party)| {
            let (due, _) = party.watched.as_ref()?.read.next_deadline()?;
            Some((due, read))
        });
        deadlines.min()
    }

    fn poll_unpolled(&mut self) -> bool {
        let unpolled = self.parties.iter().position(|party| party.unpolled);
        if let Some(read) = unpolled {
            self.poll(read);
        }
        unpolled.is_some()
    }

    fn handle(&mut self, read: usize, input: Input) {
        let now = self.now;
        self.watched(read).handle(now, input);
        self.settle(read);
    }

    fn settle(&mut self, read: usize) {
        if self.lazy.as_mut().is_some_and(|random| random.below(2) == 0) {
            self.parties[read].unpolled = true;
        } else {
            self.poll(read);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Begin(read) => {
                self.script.prepare(self.now, &mut self.parties[read].plan);
                let fault = self.habits.fault;
                let mut watched = Watched::new(self.now, &self.parties[read].plan).with_fault(fault);
                watched.lets_deafness_pass = fault.is_some();
                self.parties[read].watched = Some(watched);
                self.settle(read);
            }
            Event::Start(read, leg) if self.watched(read).is_live(leg) => {
                self.handle(read, started(leg));
                let cell = usize::from(leg.cell);
                let (node, why) = (self.parties[read].plan.node[cell], self.parties[read].why[cell]);
                let fate = self.script.fate(&Begun { now: self.now, read, leg, node, why });
                self.schedule(read, leg, fate);
            }
            Event::Leg(read, leg, input) if self.watched(read).is_live(leg) => {
                let ends = !matches!(input, Input::Connected(_) | Input::Progress(_) | Input::GaveUp(..));
                if ends {
                    self.free_slot(read, leg);
                }
                if matches!(input, Input::GaveUp(..)) && self.watched(read).read.outcome().is_some() {
                    // Nobody asks any more what is believed of this leg; its cancel is out.
                    return;
                }
                self.handle(read, input);
                if ends && self.habits.duplicates {
                    for late in
                        [Input::Delivered(leg), Input::Failed(leg, Cause::Timeout), Input::Progress(leg)]
                    {
                        self.push_after(1, Event::Stale(read, late));
                    }
                    self.push_after(0, Event::Stale(read, input));
                }
                self.fill_slots();
            }
            Event::Start(..) | Event::Leg(..) => {}
            Event::Stale(read, input) | Event::Read(read, input) => self.handle(read, input),
        }
    }

    fn schedule(&mut self, read: usize, leg: LegId, fate: Fate) {
        let end = match fate.end {
            End::Delivered => Input::Delivered(leg),
            End::Failed(cause) => Input::Failed(leg, cause),
            End::GaveUp(cause) => Input::GaveUp(leg, cause),
            End::Silent => Input::Progress(leg),
        };
        if let Some(connects) = fate.connects {
            self.push_after(connects, Event::Leg(read, leg, Input::Connected(leg)));
        }
        if let Some(every) = fate.progress {
            for step in 1..=(fate.after / every.max(1)).min(200) {
                self.push_after(step * every, Event::Leg(read, leg, Input::Progress(leg)));
            }
        }
        if fate.end != End::Silent {
            self.push_after(fate.after, Event::Leg(read, leg, end));
        }
    }

    fn lane(&self, read: usize, leg: LegId) -> usize {
        let why = self.parties[read].why[usize::from(leg.cell)];
        usize::from(self.habits.hedge_lane && why == Why::Hedge)
    }

    fn free_slot(&mut self, read: usize, leg: LegId) {
        let (lane, cell) = (self.lane(read, leg), usize::from(leg.cell));
        if core::mem::take(&mut self.parties[read].running[cell]) {
            self.busy[lane] -= 1;
        } else {
            self.queues[lane].retain(|waiting| *waiting != (read, leg));
        }
    }

    fn fill_slots(&mut self) {
        for lane in 0..2 {
            while self.busy[lane] < self.habits.slots {
                let Some((read, leg)) = self.queues[lane].pop_front() else { break };
                self.busy[lane] += 1;
                self.parties[read].running[usize::from(leg.cell)] = true;
                self.push_after(self.habits.start, Event::Start(read, leg));
            }
        }
    }

    fn poll(&mut self, read: usize) {
        self.parties[read].unpolled = false;
        while let Some(output) = self.watched(read).poll_output() {
            self.script.output(self.now, read, &output);
            match output {
                Output::Launch { leg, why, .. } => {
                    self.parties[read].why[usize::from(leg.cell)] = why;
                    let lane = self.lane(read, leg);
                    self.queues[lane].push_back((read, leg));
                }
                Output::Cancel(leg) => {
                    let runs = self.parties[read].running[usize::from(leg.cell)];
                    let latency = if runs { self.habits.stop } else { 0 };
                    self.push_after(latency, Event::Leg(read, leg, Input::Stopped(leg)));
                }
                Output::Petition(petition) => {
                    let verdict = self.script.decide(self.now, read, &petition);
                    let input = Input::Verdict { id: petition.id, verdict };
                    if self.habits.verdict == 0 {
                        let now = self.now;
                        self.watched(read).handle(now, input);
                    } else {
                        self.push_after(self.habits.verdict, Event::Read(read, input));
                    }
                }
                Output::Decode { .. } => {
                    let done = Input::Decoded(!self.habits.decode_fails);
                    self.push_after(self.habits.decode, Event::Read(read, done));
                }
                Output::Tell(evidence) => self.script.record(self.now, read, &evidence),
                Output::Finish(outcome) => self.parties[read].result = Some((self.now, outcome)),
                Output::Release(_) | Output::Plan { .. } => {}
            }
        }
        self.fill_slots();
    }
}

impl<const N: usize> Party<N> {
    fn is_drained(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.read.drained())
    }
}

/// Fates by cell, and a verdict for each petition.
pub(crate) struct Scripted<const N: usize, V> {
    pub(crate) fates: [Fate; N],
    pub(crate) verdict: V,
    pub(crate) log: Vec<(Instant, Output)>,
}

impl<const N: usize, V: FnMut(Instant, &Petition) -> Verdict> Scripted<N, V> {
    pub(crate) fn new(fates: [Fate; N], verdict: V) -> Self {
        Self { fates, verdict, log: Vec::new() }
    }
}

impl<const N: usize, V: FnMut(Instant, &Petition) -> Verdict> Script for Scripted<N, V> {
    fn fate(&mut self, begun: &Begun) -> Fate {
        self.fates[usize::from(begun.leg.cell)]
    }

    fn decide(&mut self, now: Instant, _: usize, petition: &Petition) -> Verdict {
        (self.verdict)(now, petition)
    }

    fn output(&mut self, now: Instant, _: usize, output: &Output) {
        self.log.push((now, *output));
    }
}
