//! The coordinator: gathers reports, and decides each round who is demoted.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use hedge_core::{Evidence, Instant, NodeId};

use super::changes::{Change, Entry, Exit, SlowEvidence, SlowNode, Standing, Suspect};
use super::config::{Rank, SlowConfig, SlowConfigError};
use super::outliers::middle;
use super::report::{Report, ReportError};

/// The slow nodes of a fleet, by what its nodes report of each other.
///
/// Nodes are the small dense numbers of the hedge core: 0 to `nodes - 1`; what a report says of others is ignored, and so
/// is what a node says of itself. A clock that steps back stands still.
///
/// A node is *accused* in a round if at least `least_reporters` and the share `least_share` of those who judged it accuse it. So lying or
/// partitioned reporters demote nobody as long as they are fewer than that among the observers of a node, however
/// many there are in the fleet. It is *demoted* once it was accused in `enter_rounds` rounds in a row, until it was not in `clean_rounds`.
/// A node that takes no writes while it is demoted is hardly observed: it comes back unproved, and if that was wrong, the
/// next demotion lasts twice as long.
///
/// ```
/// use hedge_core::{Instant, NodeId};
/// use hedgerow_fleet::{Report, SlowConfig, SlowNodes};
///
/// let mut board = SlowNodes::new(SlowConfig::default(), 100)?;
/// for reporter in 0..4 {
///     let judged = (10..30).map(NodeId).collect();
///     board.report(Instant::ZERO, NodeId(reporter), &Report { judged, suspects: vec![(NodeId(17), 6.0)] })?;
/// }
/// let changes = board.round(Instant::from_secs(300));
/// assert_eq!(
///     changes[0].to_string(),
///     "node 17 is demoted: accused by 4 of 4 observers, 6.0 times as slow as its peers"
/// );
/// assert_eq!(board.slowed().collect::<Vec<_>>(), [(17, 6.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlowNodes {
    config: SlowConfig,
    now: Instant,
    last_round: Option<Instant>,
    /// By reporter.
    reports: Vec<Option<Kept>>,
    /// By node.
    states: Vec<State>,
    suspects: Vec<Suspect>,
    slow: Vec<SlowNode>,
    fleet_wide: Option<u32>,
}

/// A report, of which nodes of this fleet are kept, each once and in order.
#[derive(Clone, Debug)]
struct Kept {
    at: Instant,
    judged: Vec<u32>,
    suspects: Vec<(u32, f64)>,
}

#[derive(Clone, Copy, Default, Debug)]
struct State {
    inside: Option<Inside>,
    /// Rounds in a row that it was accused in.
    streak: u32,
    /// Rounds in a row that it is not demoted for.
    outside: u32,
    /// Whether it left because it was clean, and not long ago.
    left: bool,
    /// How often it came back.
    returns: u32,
}

/// A node that is demoted, or would be if there were room.
#[derive(Clone, Copy, Debug)]
struct Inside {
    since: Instant,
    evidence: SlowEvidence,
    clean: u32,
    needed: u32,
    demoted: bool,
    /// Whether it came in in this round.
    new: bool,
}

impl SlowNodes {
    const MOST_NODES: u32 = 1 << 20;
    const MOST_FACTOR: f64 = 1_000.0;

    /// A coordinator of so many nodes that has heard nothing.
    ///
    /// # Errors
    /// If the configuration is not [good](SlowConfig::check), or there are more than 1,048,576 nodes.
    pub fn new(config: SlowConfig, nodes: u32) -> Result<Self, SlowConfigError> {
        config.check()?;
        check_nodes(nodes)?;
        Ok(Self {
            config,
            now: Instant::ZERO,
            last_round: None,
            reports: vec![None; nodes as usize],
            states: vec![State::default(); nodes as usize],
            suspects: Vec::new(),
            slow: Vec::new(),
            fleet_wide: None,
        })
    }

    /// Follows another configuration from the next round on.
    ///
    /// # Errors
    /// If the configuration is not [good](SlowConfig::check); then the old one stays.
    pub fn reconfigure(&mut self, config: SlowConfig) -> Result<(), SlowConfigError> {
        config.check()?;
        self.config = config;
        Ok(())
    }

    /// The fleet has so many nodes from now on; of those beyond, everything is forgotten.
    ///
    /// # Errors
    /// If there are more than 1,048,576; then nothing changes.
    pub fn resize(&mut self, nodes: u32) -> Result<(), SlowConfigError> {
        check_nodes(nodes)?;
        self.reports.resize(nodes as usize, None);
        self.states.resize(nodes as usize, State::default());
        for report in self.reports.iter_mut().flatten() {
            report.judged.retain(|&judged| judged < nodes);
            report.suspects.retain(|&(suspect, _)| suspect < nodes);
        }
        self.suspects.retain(|suspect| suspect.node.0 < nodes);
        self.slow.retain(|slow| slow.node.0 < nodes);
        Ok(())
    }

    /// A node was replaced: what is known of it, what it said and what was said of it is forgotten, without a change being told.
    pub fn forget(&mut self, node: NodeId) {
        let Some(state) = self.states.get_mut(node.0 as usize) else { return };
        *state = State::default();
        if let Some(report) = self.reports.get_mut(node.0 as usize) {
            *report = None;
        }
        for report in self.reports.iter_mut().flatten() {
            report.judged.retain(|&judged| judged != node.0);
            report.suspects.retain(|&(suspect, _)| suspect != node.0);
        }
        self.suspects.retain(|suspect| suspect.node != node);
        self.slow.retain(|slow| slow.node != node);
    }

    /// A report came. It takes the place of the same reporter's last one, until it expires. Suspects that it has not judged are ignored.
    ///
    /// # Errors
    /// If the reporter is not of this fleet, the report names too many peers, or accuses more than half of those it judged. Then it does not
    /// count, and the last one stays.
    pub fn report(&mut self, now: Instant, reporter: NodeId, report: &Report) -> Result<(), ReportError> {
        self.now = self.now.max(now);
        let nodes = self.nodes();
        let peers = report.judged.len().max(report.suspects.len());
        if peers > self.config.most_peers as usize {
            return Err(ReportError::TooManyPeers { reporter, peers, most: self.config.most_peers });
        }
        let mut judged: Vec<u32> =
            report.judged.iter().filter(|&&node| node != reporter).map(|node| node.0).collect();
        judged.sort_unstable();
        judged.dedup();
        let mut suspects: Vec<(u32, f64)> = report
            .suspects
            .iter()
            .filter(|(node, _)| judged.binary_search(&node.0).is_ok())
            .map(|&(node, factor)| (node.0, bounded(factor)))
            .collect();
        suspects.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        suspects.dedup_by_key(|suspect| suspect.0);
        if suspects.len() > judged.len() / 2 {
            let (suspects, judged) = (suspects.len(), judged.len());
            return Err(ReportError::TooManySuspects { reporter, suspects, judged });
        }
        judged.retain(|&node| node < nodes);
        suspects.retain(|&(node, _)| node < nodes);
        let Some(place) = self.reports.get_mut(reporter.0 as usize) else {
            return Err(ReportError::UnknownReporter { reporter, nodes });
        };
        *place = Some(Kept { at: self.now, judged, suspects });
        Ok(())
    }

    /// A round is over: decides anew who is demoted, and tells what changed. To be called once every [`SlowConfig::round`].
    pub fn round(&mut self, now: Instant) -> Vec<Change> {
        self.now = self.now.max(now);
        self.last_round = Some(self.now);
        for report in &mut self.reports {
            if report.as_ref().is_some_and(|kept| self.now - kept.at >= self.config.expiry) {
                *report = None;
            }
        }
        let evidence = self.tally();
        let accused = self.rank_suspects(&evidence);
        let fleet_wide = accused > self.most(self.config.most_accused).max(1);
        self.fleet_wide = fleet_wide.then_some(accused);
        let mut changes = Vec::new();
        if fleet_wide {
            self.release_all(accused, &mut changes);
        } else {
            self.step_states(&evidence, &mut changes);
            self.choose_demoted(&mut changes);
        }
        for state in &mut self.states {
            state.count_outside(&self.config);
        }
        self.note_answers(fleet_wide);
        changes
    }

    /// Who is demoted, the worst by [`SlowConfig::rank`] first.
    #[must_use]
    pub fn slow(&self) -> &[SlowNode] {
        &self.slow
    }

    /// A node's entry in the slow set, if it is demoted.
    #[must_use]
    pub fn slow_node(&self, node: NodeId) -> Option<SlowNode> {
        let inside = self.states.get(node.0 as usize)?.inside.as_ref()?;
        inside.demoted.then(|| inside.as_slow_node(node))
    }

    /// All whom anybody accused in the last round, by rank, and what followed.
    #[must_use]
    pub fn suspects(&self) -> &[Suspect] {
        &self.suspects
    }

    /// How many nodes were accused in the last round, if they were so many that nobody is demoted.
    #[must_use]
    pub fn fleet_wide(&self) -> Option<u32> {
        self.fleet_wide
    }

    /// How many nodes may be demoted at once.
    #[must_use]
    pub fn most_demoted(&self) -> u32 {
        let most = self.most(self.config.most_demoted);
        if self.config.most_demoted > 0.0 { most.max(1) } else { 0 }
    }

    /// The slow set as prior evidence for the hedge core: [`Evidence::Accused`] of each node, which holds until two rounds after the last, so
    /// that one may be late. The instant is one of the coordinator's clock: where the governor has another, send how long it lasts.
    pub fn accusations(&self) -> impl Iterator<Item = Evidence> + '_ {
        let round = self.config.round;
        let until = self.last_round.unwrap_or(Instant::ZERO) + round + round;
        self.slow.iter().map(move |slow| Evidence::Accused { node: slow.node, until })
    }

    /// The slow set for source weights: each node's number, and how many times as slow as its peers it is.
    pub fn slowed(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.slow.iter().map(|slow| (slow.node.0, slow.evidence.factor))
    }

    fn nodes(&self) -> u32 {
        // No more than `MOST_NODES`.
        self.states.len() as u32
    }

    /// The most nodes that are no greater share of the fleet.
    fn most(&self, share: f64) -> u32 {
        let nodes = f64::from(self.nodes());
        let below = libm::floor(share * nodes);
        // The product of 0.29 and 100 is less than 29, but 29 of 100 are not more than 0.29.
        (if (below + 1.0) / nodes <= share { below + 1.0 } else { below }) as u32
    }

    /// What is said of each node.
    fn tally(&self) -> Vec<SlowEvidence> {
        let mut evidence = vec![SlowEvidence::default(); self.states.len()];
        let mut factors = Vec::new();
        for report in self.reports.iter().flatten() {
            for &node in &report.judged {
                if let Some(of_node) = evidence.get_mut(node as usize) {
                    of_node.observers += 1;
                }
            }
            factors.extend_from_slice(&report.suspects);
        }
        factors.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for of_node in factors.chunk_by(|a, b| a.0 == b.0) {
            let Some(&(node, _)) = of_node.first() else { continue };
            if let Some(evidence) = evidence.get_mut(node as usize) {
                evidence.reporters = of_node.len() as u32;
                evidence.factor = middle(of_node, |one| one.1).unwrap_or(1.0);
            }
        }
        evidence
    }

    /// Ranks the suspects, and answers how many are accused. Those who count have a standing of [`Standing::Waiting`] after this.
    fn rank_suspects(&mut self, evidence: &[SlowEvidence]) -> u32 {
        let SlowConfig { rank, top, least_reporters, least_share, .. } = self.config;
        self.suspects.clear();
        for (node, &evidence) in (0..).zip(evidence) {
            if evidence.reporters > 0 {
                self.suspects.push(Suspect { node: NodeId(node), evidence, standing: Standing::Waiting });
            }
        }
        self.suspects.sort_by(|a, b| compare(rank, &a.evidence, &b.evidence));
        let mut accused = 0;
        for suspect in &mut self.suspects {
            suspect.standing = if suspect.evidence.reporters < least_reporters {
                Standing::FewReporters
            } else if suspect.evidence.share() < least_share {
                Standing::SmallShare
            } else {
                accused += 1;
                if accused > top { Standing::BelowTop } else { Standing::Waiting }
            };
        }
        accused
    }

    /// Nobody is demoted, and rounds in a row begin anew: what is the fleet's trouble is no evidence against a node.
    fn release_all(&mut self, accused: u32, changes: &mut Vec<Change>) {
        let nodes = self.nodes();
        for (node, state) in (0..).zip(&mut self.states) {
            state.streak = 0;
            if let Some(Inside { demoted: true, evidence, .. }) = state.inside.take() {
                let why = Exit::FleetWide { accused, nodes };
                changes.push(Change::Left { node: NodeId(node), why, evidence });
            }
        }
    }

    fn step_states(&mut self, evidence: &[SlowEvidence], changes: &mut Vec<Change>) {
        let mut accused = vec![false; self.states.len()];
        for suspect in &self.suspects {
            if let (Standing::Waiting, Some(flag)) =
                (suspect.standing, accused.get_mut(suspect.node.0 as usize))
            {
                *flag = true;
            }
        }
        for (node, ((state, accused), evidence)) in
            (0..).zip(self.states.iter_mut().zip(accused).zip(evidence))
        {
            if let Some((why, evidence)) = state.step(&self.config, self.now, accused, evidence) {
                changes.push(Change::Left { node: NodeId(node), why, evidence });
            }
        }
    }

    /// Gives the room there is to those accused now, then to those demoted already, then by rank.
    fn choose_demoted(&mut self, changes: &mut Vec<Change>) {
        let rank = self.config.rank;
        let room = self.most_demoted() as usize;
        let mut inside: Vec<(u32, Inside)> =
            (0..).zip(&self.states).filter_map(|(node, state)| Some((node, state.inside?))).collect();
        inside.sort_by(|(_, a), (_, b)| {
            (a.clean > 0)
                .cmp(&(b.clean > 0))
                .then(b.demoted.cmp(&a.demoted))
                .then_with(|| compare(rank, &a.evidence, &b.evidence))
        });
        let mut entered: Vec<Change> = Vec::new();
        for (place, (node, before)) in inside.into_iter().enumerate() {
            let Some(state) = self.states.get_mut(node as usize) else { continue };
            let evidence = before.evidence;
            match (before.demoted, place < room) {
                (false, true) => {
                    let why = if before.new { Entry::Accused { rounds: state.streak } } else { Entry::Room };
                    state.demote(&self.config, self.now);
                    entered.push(Change::Entered { node: NodeId(node), why, evidence });
                }
                (true, false) => {
                    state.inside = Some(Inside { demoted: false, ..before });
                    changes.push(Change::Left { node: NodeId(node), why: Exit::NoRoom, evidence });
                }
                _ => {}
            }
        }
        changes.sort_by_key(|change| change.node());
        changes.append(&mut entered);
    }

    fn note_answers(&mut self, fleet_wide: bool) {
        let rank = self.config.rank;
        for suspect in &mut self.suspects {
            let inside = self.states.get(suspect.node.0 as usize).and_then(|state| state.inside.as_ref());
            suspect.standing = match (suspect.standing, inside) {
                (_, Some(Inside { demoted: true, .. })) => Standing::Demoted,
                (Standing::Waiting, Some(_)) => Standing::NoRoom,
                (Standing::Waiting | Standing::BelowTop, None) if fleet_wide => Standing::FleetWide,
                (standing, _) => standing,
            };
        }
        self.slow.clear();
        for (node, state) in (0..).zip(&self.states) {
            if let Some(inside @ Inside { demoted: true, .. }) = &state.inside {
                self.slow.push(inside.as_slow_node(NodeId(node)));
            }
        }
        self.slow.sort_by(|a, b| compare(rank, &a.evidence, &b.evidence));
    }
}

impl State {
    /// A round of one node; why it left, if it was demoted until now.
    fn step(
        &mut self,
        config: &SlowConfig,
        now: Instant,
        accused: bool,
        evidence: &SlowEvidence,
    ) -> Option<(Exit, SlowEvidence)> {
        self.streak = if accused { self.streak.saturating_add(1) } else { 0 };
        let Some(inside) = &mut self.inside else {
            if self.streak >= config.enter_rounds {
                let evidence = *evidence;
                let inside = Inside { since: now, evidence, clean: 0, needed: 0, demoted: false, new: true };
                self.inside = Some(inside);
            }
            return None;
        };
        inside.new = false;
        if accused {
            (inside.clean, inside.evidence) = (0, *evidence);
            return None;
        }
        if !inside.demoted {
            // There was no room for it, so there is nothing to stay in.
            self.inside = None;
            return None;
        }
        inside.clean = inside.clean.saturating_add(1);
        if inside.clean < inside.needed {
            return None;
        }
        let rounds = inside.clean;
        let why = if evidence.observers > 0 { Exit::Clean { rounds } } else { Exit::Unobserved { rounds } };
        let told = (why, inside.evidence);
        (self.inside, self.left) = (None, true);
        Some(told)
    }

    /// Counts the rounds that it is not demoted for, this one among them.
    fn count_outside(&mut self, config: &SlowConfig) {
        let demoted = self.inside.is_some_and(|inside| inside.demoted);
        self.outside = if demoted { 0 } else { self.outside.saturating_add(1) };
        if self.outside >= config.calm_rounds {
            (self.left, self.returns) = (false, 0);
        }
    }

    fn demote(&mut self, config: &SlowConfig, now: Instant) {
        let Some(inside) = &mut self.inside else { return };
        if self.left {
            self.returns = self.returns.saturating_add(1);
            self.left = false;
        }
        let doubled = 1_u32.checked_shl(self.returns).unwrap_or(u32::MAX);
        inside.needed = config.clean_rounds.saturating_mul(doubled).min(config.most_clean_rounds);
        inside.since = now;
        inside.demoted = true;
    }
}

impl Inside {
    fn as_slow_node(&self, node: NodeId) -> SlowNode {
        let Self { since, evidence, clean, needed, .. } = *self;
        SlowNode { node, since, evidence, clean, needed }
    }
}

/// Which evidence comes first: the heavier.
fn compare(rank: Rank, a: &SlowEvidence, b: &SlowEvidence) -> Ordering {
    // Shares, as products of whole numbers.
    let share = |a: &SlowEvidence, b: &SlowEvidence| u64::from(a.reporters) * u64::from(b.observers);
    let by_share = share(b, a).cmp(&share(a, b));
    let by_reporters = b.reporters.cmp(&a.reporters);
    let first = match rank {
        Rank::Share => by_share.then(by_reporters),
        Rank::Reporters => by_reporters.then(by_share),
    };
    first.then(b.factor.total_cmp(&a.factor))
}

/// A factor as it is kept; one that is no number says no more than that the node is slow.
fn bounded(factor: f64) -> f64 {
    if factor >= 1.0 { factor.min(SlowNodes::MOST_FACTOR) } else { 1.0 }
}

fn check_nodes(nodes: u32) -> Result<(), SlowConfigError> {
    let most = SlowNodes::MOST_NODES;
    if nodes > most { Err(SlowConfigError::Nodes { nodes, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
