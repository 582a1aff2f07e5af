//! Connections that wait for their next request: few, not for long, the most recently used first.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::dial::Target;
use super::exchange::Line;

/// Idle connections. Clones are the same pool.
#[derive(Clone)]
pub(super) struct Pool(Arc<Shared>);

struct Shared {
    /// How long a connection may wait.
    age: Duration,
    /// How many may wait for one host.
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they became idle.
    hosts: HashMap<Target, VecDeque<Idle>>,
    sweeper: Option<AbortHandle>,
}

struct Idle {
    line: Line,
    since: Instant,
}

impl Pool {
    pub(super) fn new(age: Duration, most: usize) -> Self {
        Self(Arc::new(Shared { age, most, state: Mutex::default() }))
    }

    /// The connection that became idle last, if it is still good.
    pub(super) fn take(&self, target: &Target) -> Option<Line> {
        loop {
            let mut idle = {
                let mut state = self.0.state();
                let Entry::Occupied(mut host) = state.hosts.entry(target.clone()) else { return None };
                let last = host.get_mut().pop_back();
                if host.get().is_empty() {
                    host.remove();
                }
                last?
            };
            if idle.since.elapsed() < self.0.age && idle.line.is_idle() {
                return Some(idle.line);
            }
        }
    }

    /// Another idle connection; one too many closes the oldest.
    pub(super) fn put(&self, target: Target, line: Line) {
        let mut state = self.0.state();
        let host = state.hosts.entry(target).or_default();
        host.push_back(Idle { line, since: Instant::now() });
        let _closed_after_the_lock = if host.len() > self.0.most { host.pop_front() } else { None };
        if state.sweeper.as_ref().is_none_or(AbortHandle::is_finished)
            && let Ok(runtime) = Handle::try_current()
        {
            state.sweeper = Some(runtime.spawn(sweep(Arc::downgrade(&self.0))).abort_handle());
        }
        drop(state);
    }

    /// Closes what is idle now.
    pub(super) fn close(&self) {
        let closed = std::mem::take(&mut *self.0.state());
        if let Some(sweeper) = closed.sweeper {
            sweeper.abort();
        }
    }

    /// How many connections wait.
    pub(super) fn idle(&self) -> usize {
        self.0.state().hosts.values().map(VecDeque::len).sum()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what has waited too long. When to look again: never, if nothing waits.
    fn expire(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut old = Vec::new();
        let mut state = self.state();
        for host in state.hosts.values_mut() {
            while let Some(first) = host.front()
                && now.duration_since(first.since) >= self.age
            {
                old.extend(host.pop_front());
            }
        }
        state.hosts.retain(|_, host| !host.is_empty());
        let oldest = state.hosts.values().filter_map(VecDeque::front).map(|idle| idle.since).min();
        if oldest.is_none() {
            state.sweeper = None;
        }
        drop(state);
        drop(old);
        // An age beyond the clock's range is no age at all; a day is as good.
        oldest.map(|since| since.checked_add(self.age).unwrap_or(now + Duration::from_secs(86_400)))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(sweeper) = self.state().sweeper.take() {
            sweeper.abort();
        }
    }
}

/// Runs while connections wait.
async fn sweep(pool: Weak<Shared>) {
    while let Some(next) = pool.upgrade().and_then(|pool| pool.expire()) {
        sleep_until(next).await;
    }
}
