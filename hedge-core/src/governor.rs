//! What the reads of one client share: when a leg is late, and whether a hedge is worth its cells.

mod alone;
mod breaker;
mod budget;
mod counters;
mod nodes;
mod rate;
#[cfg(test)]
mod tests;
mod threshold;

use core::ops::{Deref, DerefMut};

pub use breaker::BreakerState;
pub use counters::Counters;
pub use nodes::{NodeHealth, NodeState};
pub use threshold::Estimate;

use alone::Alone;
use breaker::{Breaker, Gate};
use budget::{Halves, Ledger};
use counters::add;
use nodes::{Crossing, Leg, Nodes};
use rate::Rate;
use threshold::Estimator;

use crate::{
    Cause, Clocks, Config, ConfigError, Evidence, HedgeResult, Instant, LegEnd, Mode, NodeId, Permit,
    Petition, ReadPlan, Reason, Record, RequestId, Span, Subject, Threshold, Verdict, Why,
};

/// The governor of a client that reads from up to `NODES` nodes, with legs of `CLASSES` sizes: one value per
/// client, plain data, for all its reads.
///
/// It derefs to [`GovernorView`], which has the methods.
///
/// ```
/// use hedge_core::{BreakerState, Config, Governor, Instant};
///
/// let mut governor = Governor::<100>::new(Config::default())?;
/// assert_eq!(governor.snapshot(Instant::ZERO).breaker, BreakerState::Closed);
/// # Ok::<(), hedge_core::ConfigError>(())
/// ```
pub type Governor<const NODES: usize, const CLASSES: usize = 2> = GovernorInner<[NodeState; NODES], CLASSES>;

/// A [`Governor`] for any number of nodes, behind a reference.
pub type GovernorView<const CLASSES: usize = 2> = GovernorInner<[NodeState], CLASSES>;

/// What [`Governor`] and [`GovernorView`] have in common.
///
/// Evidence comes in with [`record`](GovernorView::record) and [`decide`](GovernorView::decide), verdicts go out
/// of `decide`, and [`prepare`](GovernorView::prepare) lends a read what is known. Time comes in with every call;
/// a clock that steps back stands still.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GovernorInner<S: ?Sized, const CLASSES: usize> {
    config: Config,
    now: Instant,
    breaker: Breaker,
    rate: Rate,
    ledger: Ledger,
    alone: Alone,
    recent: Recent,
    counters: Counters,
    estimators: [Estimator; CLASSES],
    nodes: Nodes<S>,
}

/// What hedging spent and what was read in the window of the breaker, in cells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Recent {
    granted: Halves,
    refunded: Halves,
    read: Halves,
}

impl Recent {
    /// Whether more than so many millionths of the cells read were spent.
    fn overspent(&mut self, now: Instant, half: Span, spend_ppm: u32) -> bool {
        let spent = self.granted.sum(now, half).saturating_sub(self.refunded.sum(now, half));
        let read = self.read.sum(now, half);
        u128::from(spent) * 1_000_000 > u128::from(read) * u128::from(spend_ppm)
    }
}

/// The state of a governor, for operators: plain data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Snapshot<const CLASSES: usize = 2> {
    /// The state of the breaker.
    pub breaker: BreakerState,
    /// Since when.
    pub since: Instant,
    /// When it changes if nothing happens.
    pub until: Option<Instant>,
    /// How often the breaker has changed.
    pub epoch: u32,
    /// Impaired nodes, as far as they count for the breaker.
    pub impaired: u32,
    /// Nodes seen in the window.
    pub seen: u32,
    /// Nodes that reads don't wait for.
    pub demoted: u32,
    /// Nodes that are accused.
    pub accused: u32,
    /// How often a node was demoted since the governor was created.
    pub demotions: u32,
    /// When a leg of each size class is late; `None`: never.
    pub threshold: [Option<Span>; CLASSES],
    /// What the threshold of each size class is made of; `None`: it is fixed.
    pub estimate: [Option<Estimate>; CLASSES],
    /// What hedging may spend now, in millionths of cells; `None`: any number.
    pub tokens: Option<u64>,
    /// The counters, [`Counters::time_open`] up to now.
    pub counters: Counters,
}

/// What a governor told reads at one instant, to be told again for a while: see [`GovernorView::outlook`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outlook<const CLASSES: usize = 2> {
    off: bool,
    calm: bool,
    spare: u8,
    clocks: [Clocks; CLASSES],
}

impl<const CLASSES: usize> Outlook<CLASSES> {
    /// Does to a fresh plan what [`GovernorView::prepare`] did at the instant of the outlook; false, and nothing is done, if a node was
    /// suspected, so that the governor itself must be asked.
    #[must_use = "if it is false, the plan is not prepared"]
    pub fn prepare<const N: usize>(&self, plan: &mut ReadPlan<N>) -> bool {
        if self.off {
            plan.mode = Mode::Off;
        } else if !self.calm {
            return false;
        } else if plan.mode != Mode::Off {
            plan.clocks = self.clocks[usize::from(plan.size_class).min(CLASSES - 1)];
            plan.spare = self.spare;
        }
        true
    }

    /// Whether no node was suspected.
    #[must_use]
    pub const fn is_calm(&self) -> bool {
        self.calm
    }
}

impl<const NODES: usize, const CLASSES: usize> Governor<NODES, CLASSES> {
    /// A governor that has seen nothing, its breaker closed and its burst unspent.
    ///
    /// # Errors
    ///
    /// What [`Config::check`] finds.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        const { assert!(CLASSES > 0, "a governor has at least one size class") };
        config.check()?;
        Ok(Self {
            config,
            now: Instant::ZERO,
            breaker: Breaker::new(),
            rate: Rate::new(),
            ledger: Ledger::default(),
            alone: Alone::default(),
            recent: Recent::default(),
            counters: Counters::default(),
            estimators: [Estimator::NEW; CLASSES],
            nodes: Nodes::new(),
        })
    }
}

impl<const NODES: usize, const CLASSES: usize> Deref for Governor<NODES, CLASSES> {
    type Target = GovernorView<CLASSES>;

    fn deref(&self) -> &Self::Target {
        self
    }
}

impl<const NODES: usize, const CLASSES: usize> DerefMut for Governor<NODES, CLASSES> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self
    }
}

impl<const CLASSES: usize> GovernorView<CLASSES> {
    /// Answers a petition.
    ///
    /// The gates, in the order of [`Reason`]: all are checked, then all are charged, so that a refusal costs
    /// nothing. An eager start passes only a closed breaker, is no hedge, and is not held by the rate.
    ///
    /// The first petition of a late leg ([`Subject::Late`] with `again: false`) is evidence against its node,
    /// whatever the answer ([`Record::Always`]); or each granted one is ([`Record::WhenGranted`]), and then a node
    /// that would be one impaired node too many opens the breaker without being recorded.
    ///
    /// A refusal tells when to ask again, always later than `now`, for the breaker, the rate and the budget. After
    /// the others the leg need not ask.
    ///
    /// In a dry run of the configuration ([`Config::dry_run`]) what would be granted is charged as if it were lost,
    /// so the numbers are those of the worst case; the budget's part is given back when the dry run ends. The
    /// petition of a dry read ([`Petition::dry_run`]) is charged nothing.
    pub fn decide(&mut self, now: Instant, petition: &Petition) -> Verdict {
        let now = self.advance(now);
        let gates = match petition.subject {
            Subject::Late { node, request, why, again, .. } => {
                self.late_gates(now, petition, (node, request), (why, again))
            }
            Subject::Eager => self.eager_gates(now, petition),
        };
        match gates {
            Ok(permit) => Verdict::Grant { cells: petition.cells, permit },
            Err((reason, retry_at)) => {
                self.counters.refuse(reason);
                Verdict::Refuse { reason, retry_at: retry_at.filter(|&at| at > now) }
            }
        }
    }

    /// Answers a petition for an executor that has no memory for the cells: always no, worth asking again after the
    /// [floor](Config::retry_floor). The lateness is evidence as in [`decide`](Self::decide); nothing is charged.
    pub fn no_memory(&mut self, now: Instant, petition: &Petition) -> Verdict {
        let now = self.advance(now);
        if let Subject::Late { node, request, why, again: false, .. } = petition.subject {
            self.record_crossing(now, node, request, why);
        }
        self.counters.refuse(Reason::Memory);
        let retry_at = now + self.config.retry_floor.max(Span::from_nanos(1));
        Verdict::Refuse { reason: Reason::Memory, retry_at: Some(retry_at).filter(|&at| at > now) }
    }

    /// Takes evidence in: everything that a read [tells](crate::Output::Tell), and what is known of nodes from elsewhere
    /// ([`Evidence::Accused`]).
    ///
    /// The threshold learns from legs of all kinds, with their cell, cut by the end of the read or timed out (at
    /// least so long), unless their node is impaired, demoted or late far more often than a healthy one, this leg included, while
    /// most nodes are not. Of an unknown node nothing is learnt.
    pub fn record(&mut self, now: Instant, evidence: &Evidence) {
        let now = self.advance(now);
        match *evidence {
            Evidence::Leg { node, request, size_class, connect_micros, took, end, .. } => {
                let leg = Leg { request, connect_micros, took, end };
                self.record_leg(now, node, size_class, &leg);
            }
            Evidence::Hedge { permit, cells, result } => self.record_outcome(now, permit, cells, result),
            Evidence::Refund { cells } => {
                add(&mut self.counters.cells_refunded, cells.into());
                self.recent.refunded.add(now, self.half(), cells.into());
                self.ledger.refund(cells);
            }
            Evidence::Read { cells, wasted, ok } => {
                add(&mut self.counters.reads, 1);
                add(&mut self.counters.reads_not_ok, (!ok).into());
                add(&mut self.counters.cells_read, cells.into());
                add(&mut self.counters.cells_wasted, wasted.into());
                self.recent.read.add(now, self.half(), cells.into());
                if let Some(budget) = &self.config.budget {
                    self.ledger.deposit(now, budget, cells);
                }
            }
            Evidence::Saved { by, .. } => {
                add(&mut self.counters.saved, 1);
                self.counters.time_saved = self.counters.time_saved.saturating_add(by);
            }
            Evidence::Accused { node, until } => {
                self.nodes.accuse(now, node, until, &self.config);
            }
        }
    }

    /// Fills in what the governor knows: the clocks, the spare, the order of sources, and, besides those that the
    /// plan names already, the suspects and the cells not to wait for. For a fresh plan of each read.
    ///
    /// When hedging is off ([`Config::enabled`], or a fixed threshold of zero), the mode becomes [`Mode::Off`],
    /// also that of a dry run, and nothing else is touched: such a read is what it was without a governor. A
    /// plan whose mode is off stays so, and takes but the order and the suspects. Dry runs take neither the order
    /// nor cells to avoid: they change nothing that a read does.
    pub fn prepare<const N: usize>(&mut self, now: Instant, plan: &mut ReadPlan<N>) {
        if self.is_off() {
            plan.mode = Mode::Off;
            return;
        }
        let now = self.tick(now);
        let Config { spare, dry_run, .. } = self.config;
        let dry_run = dry_run || plan.mode == Mode::DryRun;
        let order = plan.order;
        // Entries beyond n are no cells.
        let n = usize::from(plan.n).min(N);
        let wary = self.nodes.prepare(now, &self.config, &plan.node[..n], &mut plan.order[..n], plan.wanted);
        plan.suspect |= wary.suspect;
        if dry_run {
            plan.order = order;
        }
        if plan.mode == Mode::Off {
            return;
        }
        if !dry_run {
            plan.avoid |= wary.avoid;
            add(&mut self.counters.reads_around, (!(wary.avoid & plan.wanted).is_empty()).into());
        }
        plan.clocks = self.clocks(now, plan.size_class);
        plan.spare = spare;
    }

    fn clocks(&mut self, now: Instant, size_class: u8) -> Clocks {
        let Config { threshold, stall, connect_counts, retry_floor, .. } = self.config;
        let (late, late_hedge, late_suspect) = match &threshold {
            Threshold::Fixed(span) => (Some(*span), None, None),
            Threshold::Adaptive(adaptive) => {
                let estimator = estimator(&mut self.estimators, size_class);
                let (late, bare) = estimator.thresholds(now, adaptive);
                (
                    Some(late),
                    adaptive.hedge_legs_at_quantile.then_some(bare),
                    adaptive.suspects_at_quantile.then_some(bare),
                )
            }
        };
        let retry_floor = retry_floor.max(Span::from_nanos(1));
        Clocks { late, late_hedge, late_suspect, stall, connect_counts, retry_floor }
    }

    /// What [`prepare`](Self::prepare) would fill in at this instant while no node is suspected: for executors that share a
    /// governor among threads and don't want to take its lock for each read.
    pub fn outlook(&mut self, now: Instant) -> Outlook<CLASSES> {
        let now = self.tick(now);
        let mut clocks = [Clocks::default(); CLASSES];
        for (class, clocks) in (0..=u8::MAX).zip(&mut clocks) {
            *clocks = self.clocks(now, class);
        }
        Outlook { off: self.is_off(), calm: self.nodes.calm(), spare: self.config.spare, clocks }
    }

    /// Takes another configuration, at any time between two calls.
    ///
    /// It acts at once, also on what is under way: on an open breaker's cooldown, on leases of probes, on the debt
    /// of the budget. No limit trips by itself: the next evidence is held against it.
    ///
    /// # Errors
    ///
    /// What [`Config::check`] finds; then nothing has changed.
    pub fn reconfigure(&mut self, now: Instant, config: Config) -> Result<(), ConfigError> {
        config.check()?;
        self.advance(now);
        if self.config.dry_run && !config.dry_run {
            self.ledger.end_rehearsal();
        }
        if self.config.budget.is_none() {
            self.ledger = Ledger::default();
        }
        self.breaker.change_cooldown(self.now, config.breaker.cooldown, &mut self.counters);
        self.config = config;
        Ok(())
    }

    /// The configuration in force.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What operators want to see, at this instant: time acts first.
    #[must_use]
    pub fn snapshot(&mut self, now: Instant) -> Snapshot<CLASSES> {
        let now = self.advance(now);
        let mut counters = self.counters;
        if self.breaker.state() == BreakerState::Open {
            counters.time_open = counters.time_open.saturating_add(now - self.breaker.since());
        }
        let mut threshold = [None; CLASSES];
        for (class, late) in (0..=u8::MAX).zip(&mut threshold) {
            *late = self.late_after(now, class);
        }
        let estimate = self.estimators.each_ref().map(|estimator| match &self.config.threshold {
            Threshold::Fixed(_) => None,
            Threshold::Adaptive(adaptive) => Some(estimator.estimate(now, adaptive)),
        });
        Snapshot {
            breaker: self.breaker.state(),
            since: self.breaker.since(),
            until: self.breaker.until(&self.config.breaker, self.config.impaired.window),
            epoch: self.breaker.epoch(),
            impaired: self.nodes.impaired_count(now, &self.config.impaired, self.counted_epoch()),
            seen: self.nodes.seen_count(now, self.config.impaired.window),
            demoted: self.nodes.demoted_count(),
            accused: self.nodes.accused_count(now),
            demotions: self.nodes.demotions(),
            threshold,
            estimate,
            tokens: self.config.budget.map(|budget| self.ledger.tokens(now, &budget)),
            counters,
        }
    }

    /// How a node stands; `None` if the governor does not know its number.
    #[must_use]
    pub fn node(&mut self, now: Instant, node: NodeId) -> Option<NodeHealth> {
        let now = self.advance(now);
        self.nodes.health(now, node, &self.config)
    }

    /// Moves the clock, never back.
    fn tick(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    /// Moves the clock and lets time act on the breaker.
    fn advance(&mut self, now: Instant) -> Instant {
        let now = self.tick(now);
        let Self { config, breaker, counters, nodes, .. } = self;
        breaker.advance(now, &config.breaker, config.impaired.window, counters, |epoch| {
            let impaired = nodes.impaired_count(now, &config.impaired, Some(epoch));
            too_many(impaired, nodes, now, config)
        });
        now
    }

    fn is_off(&self) -> bool {
        !self.config.enabled || self.config.threshold == Threshold::Fixed(Span::ZERO)
    }

    /// The epoch whose crossings count; `None`: all count, as there is no half-open state.
    fn counted_epoch(&self) -> Option<u32> {
        self.config.breaker.probes.map(|_| self.breaker.epoch())
    }

    fn half(&self) -> Span {
        Span::from_nanos(self.config.impaired.window.as_nanos() / 2)
    }

    /// When a leg of this class is late.
    fn late_after(&mut self, now: Instant, size_class: u8) -> Option<Span> {
        match &self.config.threshold {
            _ if self.is_off() => None,
            Threshold::Fixed(span) => Some(*span),
            Threshold::Adaptive(adaptive) => {
                let estimator = estimator(&mut self.estimators, size_class);
                Some(estimator.thresholds(now, adaptive).0)
            }
        }
    }

    fn late_gates(
        &mut self,
        now: Instant,
        petition: &Petition,
        (node, request): (NodeId, RequestId),
        (why, again): (Why, bool),
    ) -> Gates {
        if !again {
            self.record_crossing(now, node, request, why);
        }
        if self.is_off() {
            return Err((Reason::Off, None));
        }
        if !self.nodes.knows(node) {
            return Err((Reason::UnknownNode, None));
        }
        let when_granted = self.config.impaired.record == Record::WhenGranted;
        if when_granted && self.one_too_many(now, node) {
            if petition.dry_run && self.breaker.state() != BreakerState::Open {
                // A dry read is no evidence here, as it is never granted.
                return Err((Reason::Breaker, None));
            }
            self.breaker.crossing(now, true, &mut self.counters);
        }
        let gate = self.breaker.ask(now, &self.config.breaker);
        if let Gate::Wait(until) = gate {
            return Err((Reason::Breaker, Some(until)));
        }
        self.cell_gates(now, petition)?;
        if let Some(until) = self.rate.full_until(now, self.config.max_per_second) {
            return Err((Reason::Rate, Some(until)));
        }
        let alone = self.config.budget.is_some_and(|budget| self.alone.is(now, node, budget.alone_span));
        self.budget_gate(now, petition, alone)?;
        if petition.dry_run {
            return Err((Reason::DryRun, None));
        }

        // Every gate is open: now all are charged.
        self.rate.take(now);
        let probe = if gate == Gate::Probe { self.breaker.lease(now) } else { None };
        let permit = Permit { epoch: self.breaker.epoch(), probe };
        self.nodes.granted(now, node, request, permit.epoch, &self.config);
        self.charge(now, petition.cells)?;
        add(&mut self.counters.granted, 1);
        add(&mut self.counters.cells_granted, petition.cells.into());
        Ok(permit)
    }

    fn eager_gates(&mut self, now: Instant, petition: &Petition) -> Gates {
        if self.is_off() {
            return Err((Reason::Off, None));
        }
        if self.breaker.state() != BreakerState::Closed {
            return Err((Reason::Breaker, None));
        }
        self.cell_gates(now, petition)?;
        // It is asked once, when the read starts.
        self.budget_gate(now, petition, false).map_err(|(reason, _)| (reason, None))?;
        if petition.dry_run {
            return Err((Reason::DryRun, None));
        }
        self.charge(now, petition.cells)?;
        add(&mut self.counters.eager, 1);
        add(&mut self.counters.cells_eager, petition.cells.into());
        Ok(Permit { epoch: self.breaker.epoch(), probe: None })
    }

    /// Whether cells help, and may come in time: a hedge that has less than a quarter of the threshold hardly does.
    fn cell_gates(&mut self, now: Instant, petition: &Petition) -> Result<(), Refusal> {
        if petition.cells == 0 {
            return Err((Reason::NoCells, None));
        }
        let Some(deadline) = petition.deadline else { return Ok(()) };
        let late = self.late_after(now, petition.size_class).unwrap_or(Span::ZERO);
        if deadline <= now + Span::from_nanos(late.as_nanos() / 4) {
            return Err((Reason::DeadlineNear, None));
        }
        Ok(())
    }

    fn budget_gate(&mut self, now: Instant, petition: &Petition, alone: bool) -> Result<(), Refusal> {
        let Some(budget) = &self.config.budget else { return Ok(()) };
        if self.ledger.affords(now, budget, petition.cells, alone) {
            return Ok(());
        }
        // Reads pay in all the time, and hedges that win give back what they cost, often within a fraction of the threshold.
        let late = self.late_after(now, petition.size_class).unwrap_or(Span::ZERO);
        let wait = Span::from_nanos(late.as_nanos() / 4).max(Span::from_millis(1));
        Err((Reason::Budget, Some(now + wait)))
    }

    /// Charges what every gate has let pass; refuses all the same in a dry run.
    fn charge(&mut self, now: Instant, cells: u8) -> Result<(), Refusal> {
        let budgeted = self.config.budget.is_some();
        if self.config.dry_run {
            if budgeted {
                self.ledger.rehearse(cells);
            }
            return Err((Reason::DryRun, None));
        }
        if budgeted {
            self.ledger.charge(cells);
        }
        self.recent.granted.add(now, self.half(), cells.into());
        Ok(())
    }

    /// A leg is late for the first time: evidence against its node, and a matter of the breaker unless hedging
    /// is off.
    fn record_crossing(&mut self, now: Instant, node: NodeId, request: RequestId, why: Why) {
        if matches!(why, Why::Original | Why::Degraded) {
            self.alone.late(now, node);
        }
        let crossing = self.nodes.cross(now, node, request, self.breaker.epoch(), &self.config);
        if crossing == Crossing::Counted && !self.is_off() {
            let impaired = self.nodes.impaired_count(now, &self.config.impaired, self.counted_epoch());
            let too_many = too_many(impaired, &self.nodes, now, &self.config);
            self.breaker.crossing(now, too_many, &mut self.counters);
        }
    }

    /// Whether a grant would make one node too many impaired. Another hedge of a node that is impaired never does.
    fn one_too_many(&self, now: Instant, node: NodeId) -> bool {
        let (rule, epoch) = (&self.config.impaired, self.counted_epoch());
        self.nodes.would_be_impaired(now, node, rule, epoch) && {
            let impaired = self.nodes.impaired_count(now, rule, epoch).saturating_add(1);
            too_many(impaired, &self.nodes, now, &self.config)
        }
    }

    fn record_leg(&mut self, now: Instant, node: NodeId, size_class: u8, leg: &Leg) {
        if !self.nodes.leg(now, node, leg, &self.config) {
            add(&mut self.counters.ignored, 1);
            return;
        }
        let tells = matches!(leg.end, LegEnd::Delivered | LegEnd::Cut | LegEnd::Failed(Cause::Timeout));
        if tells && self.tells_of_health(now, node) {
            estimator(&mut self.estimators, size_class).record(now, leg.took);
        }
    }

    /// Whether this node's legs tell what healthy nodes take: not while it is impaired or demoted, and no more once it is
    /// late three times as often as the quantile makes a healthy one, or one time in a hundred if that is more. A node that dies is
    /// impaired only when a good share of its window is late; until then it would carry the threshold to ten times its value.
    ///
    /// When most nodes are suspects, what they take is what is usual now: without it the threshold would never learn it, and
    /// hedging would be over for as long as that lasts.
    fn tells_of_health(&self, now: Instant, node: NodeId) -> bool {
        let rule = &self.config.impaired;
        let usual_ppm = match &self.config.threshold {
            Threshold::Fixed(_) => 0,
            Threshold::Adaptive(adaptive) => 1_000_000_u32.saturating_sub(adaptive.quantile_ppm),
        };
        let share_ppm = usual_ppm.saturating_mul(3).max(10_000);
        let healthy = !self.nodes.demoted(node)
            && !self.nodes.impaired(now, node, rule)
            && !self.nodes.late_beyond(now, node, rule, share_ppm);
        healthy || self.nodes.most_are_suspects()
    }

    fn record_outcome(&mut self, now: Instant, permit: Permit, cells: u8, result: HedgeResult) {
        self.counters.settle(result);
        if result == HedgeResult::Won {
            add(&mut self.counters.cells_won_back, cells.into());
            self.ledger.win(cells);
        } else {
            self.ledger.settle(cells);
        }
        let half = self.half();
        let Self { config, breaker, counters, recent, .. } = self;
        breaker.outcome(
            now,
            &config.breaker,
            config.impaired.window,
            (permit, cells, result),
            counters,
            |spend_ppm| recent.overspent(now, half, spend_ppm),
        );
    }
}

/// Why not, and when to ask again.
type Refusal = (Reason, Option<Instant>);
type Gates = Result<Permit, Refusal>;

/// Whether so many impaired nodes are more than the breaker allows, as a number and as a share of the nodes seen.
fn too_many(impaired: u32, nodes: &Nodes<[NodeState]>, now: Instant, config: &Config) -> bool {
    let rules = &config.breaker;
    impaired > rules.max_impaired_nodes.into() && {
        let seen = nodes.seen_count(now, config.impaired.window);
        u64::from(impaired) * 100 > u64::from(rules.max_impaired_percent) * u64::from(seen)
    }
}

/// The estimator of a size class; classes beyond the last count as the last.
fn estimator<const CLASSES: usize>(estimators: &mut [Estimator; CLASSES], size_class: u8) -> &mut Estimator {
    &mut estimators[usize::from(size_class).min(CLASSES - 1)]
}
