//! What happens to the nodes and the clients in one run, drawn before it begins: the same for every policy.

use super::DAY;
use crate::random::unit;
use crate::{Effect, Law, Often, Random, Sampler, Scenario, Shape, Where};

/// One thing that happens to a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happening {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) what: Trouble,
    /// Which of all happenings it is: a number for draws.
    pub(super) number: u32,
}

/// An [`Effect`], ready to be drawn from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Trouble {
    Freeze,
    Slow(f64),
    /// The share, and which of the timeline's extra laws.
    Extra(f64, u32),
    NoConnect,
    Refuse,
    Dead(u64),
}

/// Everything that happens in one run.
pub(super) struct Timeline {
    /// For each node, in order of beginning.
    nodes: Vec<Vec<Happening>>,
    /// For each client: from, until; apart from each other, in order.
    clients: Vec<Vec<(u64, u64)>>,
    extras: Vec<Sampler>,
    /// Whether any client freezes.
    pub(super) clients_freeze: bool,
}

/// A duration in milliseconds as nanoseconds.
pub(super) fn nanos(millis: f64) -> u64 {
    (millis * 1e6) as u64
}

impl Timeline {
    pub(super) fn new(scenario: &Scenario, shape: &Shape, seed: u64) -> Self {
        let cluster = &shape.cluster;
        let horizon = nanos(scenario.seconds * 1e3);
        let mut this = Self {
            nodes: vec![Vec::new(); cluster.nodes as usize],
            clients: vec![Vec::new(); cluster.clients as usize],
            extras: Vec::new(),
            clients_freeze: false,
        };
        let lengths: Vec<Sampler> =
            shape.incidents.iter().map(|incident| Sampler::new(&incident.length)).collect();
        let extras: Vec<u32> = shape.incidents.iter().map(|incident| this.extra(&incident.effect)).collect();
        let mut number = 0;
        let factors = (scenario.day_factor > 0.0)
            .then(|| Sampler::new(&Law::Lognormal { median: 1.0, sigma: scenario.day_factor }));
        for day in 0..horizon.div_ceil(DAY) {
            let mut random = Random::of(seed, super::DAYS, day);
            let factor = factors.as_ref().map_or(1.0, |factors| factors.sample(random.bits()) as f64 / 1e6);
            for ((incident, length), &extra) in shape.incidents.iter().zip(&lengths).zip(&extras) {
                // A stream of its own: what one incident draws changes nothing of the others.
                let mut random = Random::new(random.bits());
                let times = match incident.often {
                    Often::PerDay(mean) => random.poisson(mean * factor),
                    Often::At(_) => u64::from(day == 0),
                };
                for _ in 0..times {
                    let from = match incident.often {
                        Often::PerDay(_) => day * DAY + (unit(random.bits()) * DAY as f64) as u64,
                        Often::At(millis) => nanos(millis),
                    };
                    let until = from.saturating_add(length.sample(random.bits()));
                    let place = random.bits();
                    if from >= horizon {
                        continue;
                    }
                    let mut piece = from;
                    while piece < until.min(horizon) {
                        let (end, next) = match incident.flapping {
                            Some((on, off)) => {
                                let end = piece.saturating_add(nanos(on).max(1));
                                (end.min(until), end.saturating_add(nanos(off).max(1)))
                            }
                            None => (until, until),
                        };
                        number += 1;
                        this.add(shape, incident.place, place, &incident.effect, extra, (piece, end, number));
                        piece = next;
                    }
                }
            }
        }
        for node in &mut this.nodes {
            node.sort_by_key(|happening| (happening.from, happening.number));
        }
        for client in &mut this.clients {
            client.sort_unstable();
            let mut apart: Vec<(u64, u64)> = Vec::new();
            for &(from, until) in client.iter() {
                match apart.last_mut() {
                    Some(last) if from <= last.1 => last.1 = last.1.max(until),
                    _ => apart.push((from, until)),
                }
            }
            *client = apart;
        }
        this
    }

    /// Nothing ever happens to so many nodes.
    pub(super) fn quiet(nodes: usize) -> Self {
        Self {
            nodes: vec![Vec::new(); nodes],
            clients: Vec::new(),
            extras: Vec::new(),
            clients_freeze: false,
        }
    }

    fn extra(&mut self, effect: &Effect) -> u32 {
        if let Effect::Extra { law, .. } = effect {
            self.extras.push(Sampler::new(law));
        }
        (self.extras.len() as u32).saturating_sub(1)
    }

    fn add(
        &mut self,
        shape: &Shape,
        place: Where,
        draw: u64,
        effect: &Effect,
        extra: u32,
        (from, until, number): (u64, u64, u32),
    ) {
        let all = shape.cluster.nodes;
        let pick = |of: u32| ((u128::from(draw) * u128::from(of)) >> 64) as u32;
        let what = match *effect {
            Effect::Freeze => Trouble::Freeze,
            Effect::Slow(factor) => Trouble::Slow(factor),
            Effect::Extra { share, .. } => Trouble::Extra(share, extra),
            Effect::NoConnect => Trouble::NoConnect,
            Effect::Refuse => Trouble::Refuse,
            Effect::Dead(millis) => Trouble::Dead(nanos(millis)),
        };
        let (first, count) = match place {
            Where::AnyNode => (pick(all), 1),
            Where::Nodes(count) => (0, count.min(all)),
            Where::Node(node) => (node.min(all), u32::from(node < all)),
            Where::AllNodes => (0, all),
            Where::AnyRack => {
                let racks = shape.cluster.racks.clamp(1, all);
                let rack = pick(racks);
                let edge = |rack: u32| (u64::from(all) * u64::from(rack) / u64::from(racks)) as u32;
                (edge(rack), edge(rack + 1) - edge(rack))
            }
            Where::AnyClient => {
                self.clients[pick(shape.cluster.clients) as usize].push((from, until));
                self.clients_freeze = true;
                return;
            }
        };
        for node in first..first + count {
            self.nodes[node as usize].push(Happening { from, until, what, number });
        }
    }

    /// What happens to a node, in order of beginning.
    pub(super) fn of_node(&self, node: u32) -> &[Happening] {
        &self.nodes[node as usize]
    }

    /// When a client is frozen.
    pub(super) fn of_client(&self, client: u32) -> &[(u64, u64)] {
        &self.clients[client as usize]
    }

    /// Whether a client is frozen at any time from `from` to `until`.
    pub(super) fn freezes_within(&self, client: u32, from: u64, until: u64) -> bool {
        let freezes = &self.clients[client as usize];
        let next = freezes.partition_point(|&(begin, _)| begin <= until);
        next.checked_sub(1).and_then(|last| freezes.get(last)).is_some_and(|&(_, thaw)| from < thaw)
    }

    /// When a client that is frozen at this instant thaws.
    pub(super) fn thaws(&self, client: u32, at: u64) -> Option<u64> {
        let freezes = &self.clients[client as usize];
        let next = freezes.partition_point(|&(from, _)| from <= at);
        let (_, until) = *freezes.get(next.checked_sub(1)?)?;
        (at < until).then_some(until)
    }

    pub(super) fn extra_law(&self, extra: u32) -> &Sampler {
        &self.extras[extra as usize]
    }
}
