//! What the governor knows of each node, for reads: which are impaired, which are slow, and which are demoted, so
//! that reads start around them.
//!
//! A node is a suspect while it is impaired ([`Impaired`]) or slow ([`Health`]). A suspect is demoted once more than half of its
//! requests in the window, or the last 250, were late or slow, as those of a dead node soon are and those of a busy one are not, if there is
//! room: at most [`Health::max_demoted_percent`] of the nodes ever seen, but one from five nodes on; and not while
//! more than half of the nodes seen are suspects, since then reading around one of them leads to the others. It
//! comes back when its hold is over, it is no suspect any more, and its newest probe and all but one of the last eight did well.
//! Without any probe it comes back, too: a client that reads too rarely to send one could not take it back otherwise.
//!
//! A node can be accused, too: whoever sees the whole fleet calls it slow, until an instant ([`Evidence::Accused`](crate::Evidence::Accused)).
//! That is no proof, as it may be slow for others only: it makes reads prefer other sources, and their legs to it late sooner, as with a
//! suspect, and one bad request of its own where else several are needed; but it neither demotes a node that does well here, nor counts
//! among the suspects, for the breaker or for anything else. A node that was demoted so stays so while that would demote it again.
//!
//! Reads start around a demoted node only while no more nodes are suspects than the breaker bears with. Such a read costs k cells where
//! one would do; when it is load that makes nodes slow, that is what keeps them slow.
//!
//! How often a node can be demoted is bounded whatever it does. Its holds double from `hold` to `hold_max`, and
//! one doubling is forgotten for each `hold_max` that it stands well. So in any time T it is demoted at most
//! `log2(hold_max / hold) + 2 + T / hold_max` times, the logarithm rounded up.

mod state;
#[cfg(test)]
mod tests;

pub(crate) use state::Leg;
pub use state::NodeState;

use crate::{CellSet, Config, Health, Impaired, Instant, NodeId, Record, RequestId, Span};
use state::Mark;

/// How one node does, for operators: [`Governor::node`](crate::GovernorView::node).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct NodeHealth {
    /// Requests to it that were late, within the window of [`Impaired`].
    pub late: u32,
    /// Requests to it that ended or were late, within that window. Beyond 65 535 in half a window, both numbers
    /// are scaled down.
    pub started: u32,
    /// Slow requests to it within the window of [`Health`].
    pub slow_legs: u32,
    /// What a connection takes to open, smoothed over the last eight or so; `None` before the first.
    pub connect: Option<Span>,
    /// What a whole read takes, smoothed over the last eight or so, size classes mixed. Legs that did not deliver can only raise
    /// it; without an answer they count as no quicker than [`Health::slow_leg`].
    pub read: Option<Span>,
    /// When anything was last heard of it; `None`: never.
    pub last_seen: Option<Instant>,
    /// Whether it is impaired.
    pub impaired: bool,
    /// Whether it is slow.
    pub slow: bool,
    /// Whether it is demoted: reads start around it.
    pub demoted: bool,
    /// Whether it is accused: called slow by whoever sees the whole fleet.
    pub accused: bool,
}

/// What a late leg is to the governor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crossing {
    /// Its node has no number that is known here.
    Unknown,
    /// It is not evidence: another leg of its request was, or only granted ones are.
    Ignored,
    /// It is evidence against its node.
    Counted,
}

/// The cells of a plan on nodes that a read should know about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wary {
    /// On demoted nodes, but for a node whose turn it is to be probed.
    pub(crate) avoid: CellSet,
    /// On nodes that are suspects, demoted or accused.
    pub(crate) suspect: CellSet,
}

/// All nodes: the logic is that of the unsized form, `Nodes<[NodeState]>`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Nodes<S: ?Sized> {
    /// One more than the highest number seen or accused.
    high: u32,
    /// How many were ever seen.
    known: u32,
    /// How many are marked as suspects, those demoted included.
    suspects: u32,
    demoted: u32,
    /// How many are accused, or were until a while ago.
    accused: u32,
    /// How often one was demoted.
    demotions: u32,
    /// The node that the next wary read looks after, so that none is forgotten that no read touches.
    next: u32,
    states: S,
}

impl<const NODES: usize> Nodes<[NodeState; NODES]> {
    pub(crate) const fn new() -> Self {
        Self {
            high: 0,
            known: 0,
            suspects: 0,
            demoted: 0,
            accused: 0,
            demotions: 0,
            next: 0,
            states: [NodeState::NEW; NODES],
        }
    }
}

impl Nodes<[NodeState]> {
    /// A leg to this node is late, and with [`Record::Always`] that is evidence. Legs of one request count once; all of
    /// [`RequestId::NONE`] count.
    pub(crate) fn cross(
        &mut self,
        now: Instant,
        node: NodeId,
        request: RequestId,
        epoch: u32,
        config: &Config,
    ) -> Crossing {
        self.late(now, node, request, epoch, config, Record::Always)
    }

    /// The late leg may be hedged, and with [`Record::WhenGranted`] it is evidence only now.
    pub(crate) fn granted(
        &mut self,
        now: Instant,
        node: NodeId,
        request: RequestId,
        epoch: u32,
        config: &Config,
    ) -> Crossing {
        self.late(now, node, request, epoch, config, Record::WhenGranted)
    }

    fn late(
        &mut self,
        now: Instant,
        node: NodeId,
        request: RequestId,
        epoch: u32,
        config: &Config,
        record: Record,
    ) -> Crossing {
        let Some(state) = self.touch(now, node) else { return Crossing::Unknown };
        let counted =
            config.impaired.record == record && state.count_late(now, request, epoch, &config.impaired);
        self.judge(now, node, config);
        if counted { Crossing::Counted } else { Crossing::Ignored }
    }

    /// A leg to this node ended, or its read did: whether the node is known.
    pub(crate) fn leg(&mut self, now: Instant, node: NodeId, leg: &Leg, config: &Config) -> bool {
        let Some(state) = self.touch(now, node) else { return false };
        state.end(now, leg, config);
        self.judge(now, node, config);
        true
    }

    /// The node is called slow until then; an instant that is not to come takes that back. Whether the node is known.
    pub(crate) fn accuse(&mut self, now: Instant, node: NodeId, until: Instant, config: &Config) -> bool {
        let Some(state) = self.state_mut(node) else { return false };
        let before = state.is(Mark::Accused);
        state.accuse(now, until);
        let after = state.is(Mark::Accused);
        self.accused = self.accused + u32::from(after) - u32::from(before);
        self.high = self.high.max(if after { node.0.saturating_add(1) } else { 0 });
        self.judge(now, node, config);
        true
    }

    pub(crate) fn knows(&self, node: NodeId) -> bool {
        self.state(node).is_some()
    }

    pub(crate) fn impaired(&self, now: Instant, node: NodeId, rule: &Impaired) -> bool {
        self.state(node).is_some_and(|state| state.impaired(now, rule))
    }

    /// Whether one more late leg makes the node impaired that is not yet, counted as
    /// [`impaired_count`](Self::impaired_count) does.
    pub(crate) fn would_be_impaired(
        &self,
        now: Instant,
        node: NodeId,
        rule: &Impaired,
        epoch: Option<u32>,
    ) -> bool {
        self.state(node).is_some_and(|state| {
            let mut later = *state;
            later.count_late(now, RequestId::NONE, epoch.unwrap_or_default(), rule);
            later.impaired(now, rule) && !state.counts_as_impaired(now, rule, epoch)
        })
    }

    #[cfg(test)]
    pub(crate) fn slow(&self, now: Instant, node: NodeId, health: &Health) -> bool {
        self.state(node).is_some_and(|state| state.slow(now, health))
    }

    /// Whether more than so many millionths of the node's requests were late, and enough of them to say so.
    pub(crate) fn late_beyond(&self, now: Instant, node: NodeId, rule: &Impaired, share_ppm: u32) -> bool {
        self.state(node).is_some_and(|state| state.late_beyond(now, rule, share_ppm))
    }

    pub(crate) fn demoted(&self, node: NodeId) -> bool {
        self.state(node).is_some_and(|state| state.is(Mark::Demoted))
    }

    /// Whether the node is impaired, slow or demoted.
    #[cfg(test)]
    pub(crate) fn suspect(&self, now: Instant, node: NodeId, config: &Config) -> bool {
        self.state(node).is_some_and(|state| {
            state.is(Mark::Demoted)
                || state.impaired(now, &config.impaired)
                || state.slow(now, &config.health)
        })
    }

    /// How many distinct nodes are impaired whose last late leg lies in `epoch`; `None`: in any.
    pub(crate) fn impaired_count(&self, now: Instant, rule: &Impaired, epoch: Option<u32>) -> u32 {
        let counts = |state: &&NodeState| state.counts_as_impaired(now, rule, epoch);
        self.seen().iter().filter(counts).count() as u32
    }

    /// How many nodes anything was heard of within the window.
    pub(crate) fn seen_count(&self, now: Instant, window: Span) -> u32 {
        let counts = |state: &&NodeState| state.is(Mark::Known) && now.since(state.seen_at) <= window;
        self.seen().iter().filter(counts).count() as u32
    }

    pub(crate) fn demoted_count(&self) -> u32 {
        self.demoted
    }

    /// How many nodes are accused.
    pub(crate) fn accused_count(&self, now: Instant) -> u32 {
        if self.accused == 0 {
            return 0;
        }
        self.seen().iter().filter(|state| state.accused(now)).count() as u32
    }

    pub(crate) fn demotions(&self) -> u32 {
        self.demotions
    }

    pub(crate) fn health(&self, now: Instant, node: NodeId, config: &Config) -> Option<NodeHealth> {
        let state = self.state(node)?;
        let (started, late) = state.lateness(now, &config.impaired);
        Some(NodeHealth {
            late,
            started,
            slow_legs: state.slow_legs(now, &config.health),
            connect: state.connect_time().span(),
            read: state.read_time().span(),
            last_seen: state.is(Mark::Known).then_some(state.seen_at),
            impaired: state.impaired(now, &config.impaired),
            slow: state.slow(now, &config.health),
            demoted: state.is(Mark::Demoted),
            accused: state.accused(now),
        })
    }

    /// Whether no node is a suspect or accused.
    pub(crate) const fn calm(&self) -> bool {
        self.suspects == 0 && self.accused == 0
    }

    /// What a read should know about the nodes of its cells, `node`, and its order of sources: healthy ones keep
    /// their order, then come suspects and those accused, then demoted ones, each with the quickest first. Nodes not known here
    /// are healthy.
    ///
    /// Of the reads that want a cell of a demoted node, one in [`Health::probe_every`] does not avoid it; no read
    /// probes two nodes. While too many nodes are suspects none is avoided.
    #[inline]
    pub(crate) fn prepare(
        &mut self,
        now: Instant,
        config: &Config,
        node: &[NodeId],
        order: &mut [u8],
        wanted: CellSet,
    ) -> Wary {
        if self.calm() { Wary::default() } else { self.beware(now, config, node, order, wanted) }
    }

    #[cold]
    fn beware(
        &mut self,
        now: Instant,
        config: &Config,
        node: &[NodeId],
        order: &mut [u8],
        wanted: CellSet,
    ) -> Wary {
        self.judge_marked(now, NodeId(self.next), config);
        self.next = if self.next + 1 < self.high { self.next + 1 } else { 0 };

        let mut wary = Wary::default();
        let mut demoted = CellSet::EMPTY;
        let mut rank = [0_u64; 64];
        for ((cell, &node), rank) in (0..64).zip(node).zip(&mut rank) {
            self.judge_marked(now, node, config);
            let Some(state) = self.state(node).filter(|state| state.is_marked()) else { continue };
            *rank = state.read_time().rank() | 1 << 32;
            wary.suspect.insert(cell);
            if state.is(Mark::Demoted) {
                *rank |= 1 << 33;
                demoted.insert(cell);
            }
        }
        if !wary.suspect.is_empty() {
            sort_by_rank(order, &rank);
        }
        if self.too_many_suspects(config) {
            return wary;
        }
        wary.avoid = demoted;
        if let Some(probed) = self.probed(node, demoted & wanted, config.health.probe_every) {
            wary.avoid = demoted.iter().filter(|&cell| node[usize::from(cell)] != probed).collect();
        }
        wary
    }

    /// The demoted node that this read probes. Each of them counts the read once, however many of its cells are
    /// wanted.
    fn probed(&mut self, node: &[NodeId], cells: CellSet, every: u16) -> Option<NodeId> {
        let mut probed = None;
        for cell in cells {
            let at = node[usize::from(cell)];
            if cells.iter().take_while(|&other| other < cell).any(|other| node[usize::from(other)] == at) {
                continue;
            }
            if self.state_mut(at).is_some_and(|state| state.probe(every, probed.is_none())) {
                probed = Some(at);
            }
        }
        probed
    }

    /// Takes back or confirms what a node is marked as, which time alone can change.
    fn judge_marked(&mut self, now: Instant, node: NodeId, config: &Config) {
        if self.state(node).is_some_and(NodeState::is_marked) {
            self.judge(now, node, config);
        }
    }

    /// Marks the node as the evidence says, demotes it or takes it back.
    fn judge(&mut self, now: Instant, node: NodeId, config: &Config) {
        let health = &config.health;
        let Some(state) = self.state_mut(node) else { return };
        let forgotten = state.is(Mark::Accused) && !state.accused(now);
        if forgotten {
            state.set(Mark::Accused, false);
            self.accused -= 1;
        }
        let Some(state) = self.state(node) else { return };
        let bad = state.impaired(now, &config.impaired) || state.slow(now, health);
        let confirmed = state.confirms(now, config);
        let (was_suspect, was_demoted) = (state.is(Mark::Suspect), state.is(Mark::Demoted));
        if !bad && !confirmed && !was_suspect {
            return;
        }
        let convicts = (bad || confirmed) && state.mostly_bad(now, config);
        let demoted = if was_demoted {
            // What would demote it again at once keeps it demoted: the same evidence does not count twice.
            health.demote && (bad || convicts || !state.may_return(now, health))
        } else {
            health.demote && convicts && self.room(health, self.suspects + u32::from(!was_suspect))
        };
        let suspect = bad || demoted;
        self.suspects = self.suspects + u32::from(suspect) - u32::from(was_suspect);
        self.demoted = self.demoted + u32::from(demoted) - u32::from(was_demoted);
        self.demotions = self.demotions.saturating_add((demoted && !was_demoted).into());
        let Some(state) = self.state_mut(node) else { return };
        state.set(Mark::Suspect, suspect);
        match (was_demoted, demoted) {
            (false, true) => state.demote(now, health),
            (true, false) => state.reinstate(now),
            _ => {}
        }
    }

    /// Whether one more may be demoted, when so many are suspects.
    fn room(&self, health: &Health, suspects: u32) -> bool {
        let share = u64::from(self.known) * u64::from(health.max_demoted_percent) / 100;
        let one = u64::from(self.known >= 5 && health.max_demoted_percent > 0);
        u64::from(self.demoted) < share.max(one) && u64::from(suspects) * 2 <= self.known.into()
    }

    /// Whether more than half of the nodes ever seen are impaired, slow or demoted.
    pub(crate) fn most_are_suspects(&self) -> bool {
        u64::from(self.suspects) * 2 > self.known.into()
    }

    /// Whether more nodes are suspects than the breaker bears with.
    fn too_many_suspects(&self, config: &Config) -> bool {
        let rules = &config.breaker;
        self.suspects > rules.max_impaired_nodes.into()
            && u64::from(self.suspects) * 100 > u64::from(rules.max_impaired_percent) * u64::from(self.known)
    }

    /// The state of a node that something is heard of.
    fn touch(&mut self, now: Instant, node: NodeId) -> Option<&mut NodeState> {
        let state = self.states.get_mut(usize::try_from(node.0).ok()?)?;
        if state.is(Mark::Known) {
            state.seen_at = state.seen_at.max(now);
        } else {
            state.set(Mark::Known, true);
            state.seen_at = now;
            self.known += 1;
            self.high = self.high.max(node.0.saturating_add(1));
        }
        Some(state)
    }

    fn state(&self, node: NodeId) -> Option<&NodeState> {
        self.states.get(usize::try_from(node.0).ok()?)
    }

    fn state_mut(&mut self, node: NodeId) -> Option<&mut NodeState> {
        self.states.get_mut(usize::try_from(node.0).ok()?)
    }

    /// All that can have been seen.
    fn seen(&self) -> &[NodeState] {
        let high = usize::try_from(self.high).unwrap_or(usize::MAX);
        &self.states[..high.min(self.states.len())]
    }
}

/// Stable, by insertion: there are at most 64, and they are nearly in order. Cells beyond the ranks have rank 0.
fn sort_by_rank(order: &mut [u8], rank: &[u64; 64]) {
    let rank = |cell: u8| rank.get(usize::from(cell)).copied().unwrap_or(0);
    for end in 1..order.len().min(64) {
        for at in (1..=end).rev() {
            if rank(order[at - 1]) <= rank(order[at]) {
                break;
            }
            order.swap(at - 1, at);
        }
    }
}
