//! The nodes: what becomes of a leg that is sent to one.

use std::collections::VecDeque;

use super::timeline::{Happening, Timeline, Trouble};
use crate::random::{mix, unit};
use crate::{Law, Queue, Sampler};

/// A connection's first packet is sent at these times after the first, and it is given up after the last.
const SYN: [u64; 3] = [0, 1_000_000_000, 3_000_000_000];
const GIVE_UP: u64 = 5_000_000_000;
/// Nothing takes longer: thirty years.
const LONGEST: u64 = 1_000_000_000_000_000_000;

/// What a leg draws: the same for the same leg of the same read under every policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    key: u64,
    /// What was settled before, if it was.
    pub(super) forced: Forced,
}

/// What is settled of a leg's draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Forced {
    /// What serving it takes.
    pub(super) service: Option<u64>,
    /// Whether it must connect.
    pub(super) connects: Option<bool>,
    /// The happening with this number is one that it meets.
    pub(super) meets: Option<u32>,
    /// The cell whose first leg it is that all this is said of: a hedge's legs draw for themselves.
    pub(super) cell: u8,
}

impl Draws {
    const fn new(key: u64) -> Self {
        Self { key, forced: Forced { service: None, connects: None, meets: None, cell: 0 } }
    }

    /// What a leg of the read with this key draws.
    #[inline]
    pub(super) const fn of_leg(key: u64, cell: u8, attempt: u8) -> Self {
        Self::new(key ^ ((cell as u64) << 40 | (attempt as u64) << 32))
    }

    #[inline]
    fn bits(self, what: u64) -> u64 {
        mix(self.key ^ what)
    }

    /// What serving it takes on a healthy node.
    #[inline]
    fn service(self, law: &Sampler) -> u64 {
        match self.forced.service {
            Some(service) => service,
            None => law.sample(self.bits(1)),
        }
    }

    #[inline]
    pub(super) fn connects(self, share: f64) -> bool {
        match self.forced.connects {
            Some(connects) => connects,
            None => share > 0.0 && unit(self.bits(2)) < share,
        }
    }

    /// Whether it is one of the share that a happening befalls.
    pub(super) fn meets(self, happening: &Happening, share: f64) -> bool {
        self.forced.meets == Some(happening.number)
            || share >= 1.0
            || unit(self.bits(u64::from(happening.number) << 8 | 3)) < share
    }
}

/// What each node takes. Nodes of one law share its table.
pub(super) struct Services {
    samplers: Vec<Sampler>,
    /// Which of them is each node's.
    node: Vec<usize>,
}

impl Services {
    /// The laws of nodes, in their order.
    pub(super) fn new(laws: &[Law]) -> Self {
        let mut samplers: Vec<Sampler> = Vec::new();
        let node = laws.iter().map(|law| {
            samplers.iter().position(|sampler| sampler.law() == law).unwrap_or_else(|| {
                samplers.push(Sampler::new(law));
                samplers.len() - 1
            })
        });
        Self { node: node.collect(), samplers }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.node.is_empty()
    }

    /// What each node draws from.
    pub(super) fn of_nodes(&self) -> Vec<&Sampler> {
        self.node.iter().filter_map(|&sampler| self.samplers.get(sampler)).collect()
    }
}

/// What becomes of a leg that is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sent {
    /// Its connection is open, and it is at the node.
    Arrives(End),
    /// Its connection will be open then.
    Connects(u64),
    /// Its connection is given up then.
    TimesOut(u64),
}

/// What becomes of a leg that is at its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// It comes back with its cell then.
    Delivered(u64),
    /// It is given up then.
    TimedOut(u64),
    /// It is refused then.
    Refused(u64),
    /// It joins the node's queue; serving it takes so long.
    Queued(u64),
}

/// A leg in the queue of a node that drops what nobody waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<T> {
    pub(super) leg: T,
    service: u64,
}

/// One node, as time goes by.
struct State<T> {
    /// Of what happens to it, all before this one is over.
    first: usize,
    /// When each of its servers is free.
    free: Vec<u64>,
    /// For [`Queue::Dropping`]: what is being served, and what waits.
    serving: Option<T>,
    waiting: VecDeque<Waiting<T>>,
}

/// All nodes. `T` is what the queues know of a leg.
pub(super) struct Nodes<'a, T> {
    timeline: &'a Timeline,
    /// What each of them takes.
    services: Vec<&'a Sampler>,
    connect: &'a Sampler,
    new_connections: f64,
    queue: Queue,
    /// Nothing happens to a node before this instant; from then on one has to look.
    quiet_until: Vec<u64>,
    states: Vec<State<T>>,
}

impl<'a, T: Copy> Nodes<'a, T> {
    /// As many as there are services. A share of the legs must connect first.
    pub(super) fn new(
        queue: Queue,
        timeline: &'a Timeline,
        services: Vec<&'a Sampler>,
        new_connections: f64,
        connect: &'a Sampler,
    ) -> Self {
        let servers = if let Queue::Fifo { servers } = queue { servers.clamp(1, 64) } else { 0 };
        let nodes = services.len() as u32;
        let state = |_| State {
            first: 0,
            free: vec![0; usize::from(servers)],
            serving: None,
            waiting: VecDeque::new(),
        };
        Self {
            timeline,
            services,
            connect,
            new_connections,
            queue,
            quiet_until: (0..nodes)
                .map(|node| timeline.of_node(node).first().map_or(u64::MAX, |first| first.from))
                .collect(),
            states: (0..nodes).map(state).collect(),
        }
    }

    /// Whether something that a leg with these draws would notice goes on at a node.
    pub(super) fn affects(&mut self, now: u64, node: u32, draws: Draws) -> bool {
        if self.is_quiet(now, node) {
            return false;
        }
        let connects = draws.connects(self.new_connections);
        self.at(now, node).any(|happening| match happening.what {
            Trouble::NoConnect => connects,
            Trouble::Extra(share, _) => draws.meets(happening, share),
            _ => true,
        })
    }

    /// A leg is sent. Instants must not go back.
    #[inline]
    pub(super) fn send(&mut self, now: u64, node: u32, draws: Draws) -> Sent {
        if !draws.connects(self.new_connections) {
            return Sent::Arrives(self.arrive(now, node, draws));
        }
        let lost = |at| self.at(at, node).any(|happening| happening.what == Trouble::NoConnect);
        match SYN.iter().map(|syn| now + syn).find(|&at| !lost(at)) {
            Some(at) => Sent::Connects(at.saturating_add(self.connect.sample(draws.bits(4)))),
            None => Sent::TimesOut(now.saturating_add(GIVE_UP)),
        }
    }

    /// A leg is at its node. Instants must not go back.
    #[inline]
    pub(super) fn arrive(&mut self, now: u64, node: u32, draws: Draws) -> End {
        let service = draws.service(self.services[node as usize]);
        let quiet = self.is_quiet(now, node);
        if quiet && self.queue == Queue::None {
            return End::Delivered(self.worked(now, node, service));
        }
        let service = match if quiet { Ok(service) } else { self.troubled(now, node, draws, service) } {
            Ok(service) => service,
            Err(end) => return end,
        };
        match self.queue {
            Queue::None => End::Delivered(self.worked(now, node, service)),
            Queue::Fifo { .. } => {
                let free = &self.states[node as usize].free;
                let (server, at) =
                    free.iter().copied().enumerate().min_by_key(|&(_, at)| at).unwrap_or((0, now));
                let end = self.worked(now.max(at), node, service);
                if let Some(free) = self.states[node as usize].free.get_mut(server) {
                    *free = end;
                }
                End::Delivered(end)
            }
            Queue::Dropping => End::Queued(service),
        }
    }

    /// When a leg comes back that is sent to a quiet node on an open connection, before anything happens to the node.
    #[inline]
    pub(super) fn plain(&mut self, now: u64, node: u32, draws: Draws) -> Option<u64> {
        if self.queue != Queue::None || draws.connects(self.new_connections) || !self.is_quiet(now, node) {
            return None;
        }
        let end = now.saturating_add(draws.service(self.services[node as usize]));
        (end < self.quiet_until[node as usize]).then_some(end)
    }

    /// What serving a leg takes while something goes on, or how it ends at once.
    #[cold]
    fn troubled(&self, now: u64, node: u32, draws: Draws, mut service: u64) -> Result<u64, End> {
        for happening in self.at(now, node) {
            match happening.what {
                Trouble::Slow(factor) => service = ((service as f64 * factor) as u64).clamp(1, LONGEST),
                Trouble::Extra(share, extra) if draws.meets(happening, share) => {
                    let bits = draws.bits(u64::from(happening.number) << 8 | 5);
                    service =
                        service.saturating_add(self.timeline.extra_law(extra).sample(bits)).min(LONGEST);
                }
                Trouble::Refuse => return Err(End::Refused(now + 1)),
                Trouble::Dead(after) => return Err(End::TimedOut(now.saturating_add(after))),
                Trouble::Freeze | Trouble::Extra(..) | Trouble::NoConnect => {}
            }
        }
        Ok(service)
    }

    /// When work is done that begins at `begin` and takes so long: nothing of it while the node is frozen.
    #[inline]
    fn worked(&self, begin: u64, node: u32, service: u64) -> u64 {
        let end = begin.saturating_add(service);
        if end < self.quiet_until[node as usize] { end } else { self.paused(begin, node, end) }
    }

    #[cold]
    fn paused(&self, begin: u64, node: u32, mut end: u64) -> u64 {
        let mut reached = begin;
        for happening in self.left(node) {
            if happening.from >= end {
                break;
            }
            if happening.what == Trouble::Freeze && happening.until > reached {
                end = end.saturating_add(happening.until - happening.from.max(reached));
                reached = happening.until;
            }
        }
        end
    }

    /// Whether nothing goes on at a node. Instants must not go back.
    #[inline]
    fn is_quiet(&mut self, now: u64, node: u32) -> bool {
        now < self.quiet_until[node as usize] || self.forget(now, node)
    }

    /// Forgets what is over, and says whether nothing goes on.
    #[cold]
    fn forget(&mut self, now: u64, node: u32) -> bool {
        let over = self.left(node).iter().take_while(|happening| happening.until <= now).count();
        let state = &mut self.states[node as usize];
        state.first += over;
        let next = self.timeline.of_node(node).get(state.first).map_or(u64::MAX, |next| next.from);
        self.quiet_until[node as usize] = next;
        now < next
    }

    /// What is not over, in order of beginning; and what was over before another that is not.
    fn left(&self, node: u32) -> &'a [Happening] {
        &self.timeline.of_node(node)[self.states[node as usize].first..]
    }

    /// What goes on at an instant.
    fn at(&self, at: u64, node: u32) -> impl Iterator<Item = &'a Happening> {
        self.left(node).iter().take_while(move |next| next.from <= at).filter(move |next| at < next.until)
    }

    /// A leg joins the queue of a node that drops. The instant at which it is served, if that is known now.
    pub(super) fn join(&mut self, now: u64, node: u32, leg: T, service: u64) -> Option<u64> {
        let state = &mut self.states[node as usize];
        if state.serving.is_some() {
            state.waiting.push_back(Waiting { leg, service });
            return None;
        }
        state.serving = Some(leg);
        Some(self.worked(now, node, service))
    }

    /// What a node that drops was serving, which is done now.
    pub(super) fn served(&mut self, node: u32) -> Option<T> {
        self.states[node as usize].serving.take()
    }

    /// The next leg that is still waited for, and the instant at which it is served.
    pub(super) fn next(&mut self, now: u64, node: u32, mut alive: impl FnMut(T) -> bool) -> Option<u64> {
        loop {
            let waiting = self.states[node as usize].waiting.pop_front()?;
            if alive(waiting.leg) {
                self.states[node as usize].serving = Some(waiting.leg);
                return Some(self.worked(now, node, waiting.service));
            }
        }
    }
}
