//! The governor as all readers of a client share it: asked under a lock that is never held across an await, told through
//! a queue, and read without either while no node is suspected.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use arc_swap::ArcSwap;
use crossbeam_queue::SegQueue;
use hedge_core::{
    Config, ConfigError, Evidence, Governor, GovernorView, Instant, NodeHealth, NodeId, Outlook, Petition,
    ReadPlan, Snapshot, Span, Verdict,
};

/// Nodes that a client can have.
pub(crate) const NODES: usize = 1024;

/// An outlook is good for so long.
const FRESH: Span = Span::from_millis(5);
/// So much evidence is taken in at a time at most, so that nobody holds the lock for long.
const BATCH: usize = 512;

pub(crate) struct Oversight {
    governor: Mutex<Box<GovernorView>>,
    heard: SegQueue<(Instant, Evidence)>,
    outlook: ArcSwap<(Instant, Outlook)>,
}

impl Oversight {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        let mut governor: Box<GovernorView> = Box::new(Governor::<NODES>::new(config)?);
        let outlook = governor.outlook(Instant::ZERO);
        Ok(Self {
            governor: Mutex::new(governor),
            heard: SegQueue::new(),
            outlook: ArcSwap::from_pointee((Instant::ZERO, outlook)),
        })
    }

    /// Fills in what the governor knows.
    pub(crate) fn prepare<const N: usize>(&self, now: Instant, plan: &mut ReadPlan<N>) {
        let outlook = self.outlook.load();
        let stale = now > outlook.0 + FRESH;
        if stale || !outlook.1.is_calm() {
            match self.governor.try_lock() {
                Ok(governor) => return self.prepare_by(governor, now, plan),
                Err(TryLockError::Poisoned(poisoned)) => {
                    return self.prepare_by(poisoned.into_inner(), now, plan);
                }
                Err(TryLockError::WouldBlock) => {}
            }
        }
        // Whoever holds the lock makes a new outlook; a calm one that is a little old does as well.
        if !outlook.1.prepare(plan) {
            self.prepare_by(self.governor(), now, plan);
        }
    }

    fn prepare_by<const N: usize>(
        &self,
        mut governor: MutexGuard<'_, Box<GovernorView>>,
        now: Instant,
        plan: &mut ReadPlan<N>,
    ) {
        self.catch_up(&mut governor, now);
        governor.prepare(now, plan);
    }

    /// Takes in what was heard, and looks out anew.
    fn catch_up(&self, governor: &mut GovernorView, now: Instant) {
        for _ in 0..BATCH {
            let Some((at, evidence)) = self.heard.pop() else { break };
            governor.record(at, &evidence);
        }
        let outlook = governor.outlook(now);
        let last = self.outlook.load();
        if now > last.0 + FRESH || outlook.is_calm() != last.1.is_calm() {
            self.outlook.store(std::sync::Arc::new((now, outlook)));
        }
    }

    pub(crate) fn decide(&self, now: Instant, petition: &Petition) -> Verdict {
        self.with(now, |governor| governor.decide(now, petition))
    }

    pub(crate) fn no_memory(&self, now: Instant, petition: &Petition) -> Verdict {
        self.with(now, |governor| governor.no_memory(now, petition))
    }

    /// Evidence is heard now and taken in soon: by the next who has the lock.
    pub(crate) fn record(&self, now: Instant, evidence: Evidence) {
        self.heard.push((now, evidence));
        if self.heard.len() >= BATCH / 2
            && let Ok(mut governor) = self.governor.try_lock()
        {
            self.catch_up(&mut governor, now);
        }
    }

    pub(crate) fn reconfigure(&self, now: Instant, config: Config) -> Result<(), ConfigError> {
        self.change(now, |governor| governor.reconfigure(now, config))
    }

    /// Evidence that counts for the next read already.
    pub(crate) fn record_at_once(&self, now: Instant, evidence: &Evidence) {
        self.change(now, |governor| governor.record(now, evidence));
    }

    fn change<T>(&self, now: Instant, change: impl FnOnce(&mut GovernorView) -> T) -> T {
        let (answer, outlook) = self.with(now, |governor| (change(governor), governor.outlook(now)));
        self.outlook.store(std::sync::Arc::new((now, outlook)));
        answer
    }

    pub(crate) fn config(&self) -> Config {
        *self.governor().config()
    }

    pub(crate) fn snapshot(&self, now: Instant) -> Snapshot {
        self.with_all(now, |governor| governor.snapshot(now))
    }

    pub(crate) fn node(&self, now: Instant, node: NodeId) -> Option<NodeHealth> {
        self.with(now, |governor| governor.node(now, node))
    }

    fn with<T>(&self, now: Instant, ask: impl FnOnce(&mut GovernorView) -> T) -> T {
        let mut governor = self.governor();
        self.catch_up(&mut governor, now);
        ask(&mut governor)
    }

    /// As `with`, after everything that was heard so far.
    fn with_all<T>(&self, now: Instant, ask: impl FnOnce(&mut GovernorView) -> T) -> T {
        let mut governor = self.governor();
        let mut heard = self.heard.len();
        while heard > 0 {
            self.catch_up(&mut governor, now);
            heard = heard.saturating_sub(BATCH);
        }
        ask(&mut governor)
    }

    /// The governor is plain data that no panic leaves half changed in a way that matters.
    fn governor(&self) -> MutexGuard<'_, Box<GovernorView>> {
        self.governor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
