//! What the readers of one process share: the governor, the limits, the nodes, the counters.

mod config;
mod counters;
mod memory;
mod oversight;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use hedge_core::{Config, NodeHealth, NodeId, Span};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use config::{ClientConfig, ClientError};
pub use counters::ClientSnapshot;
pub(crate) use counters::{Counters, count};
pub(crate) use memory::{Held, Memory};
use oversight::NODES;
pub(crate) use oversight::Oversight;

use crate::CellStore;

/// What the readers of one process share: governor, limits, nodes and counters. A handle: clones are the same client.
///
/// One client a process, or one for each cluster that is read, is right: the governor learns from all reads which nodes
/// are slow, and its budget is for all of them.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) config: ClientConfig,
    /// The zero of the governor's clock.
    origin: Instant,
    pub(crate) oversight: Oversight,
    nodes: ArcSwap<Vec<Arc<Node>>>,
    /// Requests under way.
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) memory: Memory,
    pub(crate) counters: Counters,
    /// Streams that read ahead, and reads that are over but for legs that have not stopped.
    pub(crate) tasks: TaskTracker,
    closed: CancellationToken,
    /// Requests of which something still goes on.
    leases: AtomicU64,
    /// Reads under way.
    reading: AtomicU64,
    /// Told when the last of either is gone.
    idle: Notify,
    turns: AtomicU64,
}

/// A node as a client knows it.
pub(crate) struct Node {
    pub(crate) label: String,
    pub(crate) store: Arc<dyn CellStore>,
    /// Requests under way to it.
    pub(crate) requests: Arc<Semaphore>,
    /// Those of them that nobody waits for any more, and that go on all the same.
    pub(crate) clinging: AtomicUsize,
    most: usize,
}

impl Node {
    /// Whether requests that nobody waits for any more have all its turns: nothing can be asked of it until one of them ends.
    pub(crate) fn is_stuck(&self) -> bool {
        self.clinging.load(Ordering::Relaxed) >= self.most
    }
}

impl Client {
    /// A client without nodes.
    ///
    /// # Errors
    ///
    /// [`ClientError`] names what of the configuration makes no sense.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        config.check()?;
        let shared = Shared {
            origin: Instant::now(),
            oversight: Oversight::new(config.governor).map_err(ClientError::Governor)?,
            nodes: ArcSwap::default(),
            requests: Arc::new(Semaphore::new(config.requests.min(Semaphore::MAX_PERMITS))),
            memory: Memory::new(config.memory, config.reserve),
            counters: Counters::default(),
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
            leases: AtomicU64::new(0),
            reading: AtomicU64::new(0),
            idle: Notify::new(),
            turns: AtomicU64::new(0),
            config,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Another node: what messages call it, and how it is read. The same store under the same label is the node that it was.
    /// Nodes can't be taken away.
    ///
    /// # Errors
    ///
    /// [`ClientError::TooManyNodes`].
    pub fn add_node(&self, label: &str, store: Arc<dyn CellStore>) -> Result<NodeId, ClientError> {
        let per_node = self.shared.config.requests_per_node.min(Semaphore::MAX_PERMITS);
        let requests = Arc::new(Semaphore::new(per_node));
        let mut id = None;
        self.shared.nodes.rcu(|nodes| {
            let known = |node: &Arc<Node>| node.label == label && Arc::ptr_eq(&node.store, &store);
            let mut nodes = Vec::clone(nodes);
            if let Some(index) = nodes.iter().position(known) {
                id = Some(NodeId(index as u32));
                return nodes;
            }
            id = (nodes.len() < NODES).then_some(NodeId(nodes.len() as u32));
            if id.is_some() {
                let (store, requests) = (Arc::clone(&store), Arc::clone(&requests));
                let (label, clinging) = (label.to_owned(), AtomicUsize::new(0));
                nodes.push(Arc::new(Node { label, store, requests, clinging, most: per_node }));
            }
            nodes
        });
        id.ok_or(ClientError::TooManyNodes { most: NODES })
    }

    /// Another configuration of the governor, at once.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; then nothing has changed.
    pub fn reconfigure(&self, governor: Config) -> Result<(), ClientError> {
        config::check_timers(&governor)?;
        self.shared.oversight.reconfigure(self.shared.now(), governor).map_err(ClientError::Governor)
    }

    /// The governor's configuration in force.
    #[must_use]
    pub fn governor_config(&self) -> Config {
        self.shared.oversight.config()
    }

    /// What operators want to see.
    #[must_use]
    pub fn snapshot(&self) -> ClientSnapshot {
        ClientSnapshot::of(&self.shared)
    }

    /// What the governor thinks of a node; `None` for a number that no node has.
    #[must_use]
    pub fn node_health(&self, node: NodeId) -> Option<NodeHealth> {
        self.shared.node(node)?;
        self.shared.oversight.node(self.shared.now(), node)
    }

    /// Takes in that whoever sees the whole fleet calls a node slow, for so long from now on; zero takes it back. Reads prefer other nodes,
    /// and are sooner done waiting for this one ([`Evidence::Accused`](hedge_core::Evidence::Accused)).
    ///
    /// Says whether there is a node of this number.
    pub fn accuse(&self, node: NodeId, lasting: std::time::Duration) -> bool {
        let known = self.shared.node(node).is_some();
        if known {
            let now = self.shared.now();
            let until = now + Span::from(lasting);
            self.shared.oversight.record_at_once(now, &hedge_core::Evidence::Accused { node, until });
        }
        known
    }

    /// Refuses new reads, ends streams, and returns when the old reads are over and nothing of them goes on anywhere: no
    /// request, no blocking read, no task. A store that hangs in a call that can't be stopped keeps it waiting: give it a time
    /// limit where that can happen.
    pub async fn shutdown(&self) {
        self.shared.closed.cancel();
        self.shared.tasks.close();
        loop {
            let idle = self.shared.idle.notified();
            tokio::pin!(idle);
            // Registered before the look, so that no end is missed in between.
            idle.as_mut().enable();
            if self.shared.leases() + self.shared.reading() == 0 {
                break;
            }
            idle.await;
        }
        self.shared.tasks.wait().await;
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.shared.nodes.load();
        let labels: Vec<_> = nodes.iter().map(|node| &node.label).collect();
        f.debug_struct("Client").field("nodes", &labels).finish_non_exhaustive()
    }
}

impl Shared {
    /// The governor's clock.
    pub(crate) fn now(&self) -> hedge_core::Instant {
        self.at(Instant::now())
    }

    pub(crate) fn at(&self, instant: Instant) -> hedge_core::Instant {
        hedge_core::Instant::ZERO + Span::from(instant.saturating_duration_since(self.origin))
    }

    /// When an instant of the governor's clock is.
    pub(crate) fn when(&self, instant: hedge_core::Instant) -> Option<Instant> {
        let since = std::time::Duration::from(instant - hedge_core::Instant::ZERO);
        self.origin.checked_add(since)
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<Arc<Node>> {
        self.nodes.load().get(id.0 as usize).cloned()
    }

    /// Told when the client is shut down.
    pub(crate) const fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Where a read begins to look for sources, so that hedges don't all go to the same nodes.
    pub(crate) fn turn(&self) -> u64 {
        // An odd number near the golden ratio: neighbouring turns lie far apart.
        self.turns.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) >> 32
    }

    pub(crate) fn leases(&self) -> u64 {
        self.leases.load(Ordering::SeqCst)
    }

    pub(crate) fn reading(&self) -> u64 {
        self.reading.load(Ordering::SeqCst)
    }
}

/// Counts as something that still goes on, until it is dropped.
pub(crate) struct Alive {
    shared: Arc<Shared>,
    count: fn(&Shared) -> &AtomicU64,
}

impl Alive {
    /// A request, until its last lease is gone.
    pub(crate) fn request(shared: &Arc<Shared>) -> Self {
        Self::new(shared, |shared| &shared.leases)
    }

    /// A read, or a task that reads.
    pub(crate) fn read(shared: &Arc<Shared>) -> Self {
        Self::new(shared, |shared| &shared.reading)
    }

    fn new(shared: &Arc<Shared>, count: fn(&Shared) -> &AtomicU64) -> Self {
        count(shared).fetch_add(1, Ordering::SeqCst);
        Self { shared: Arc::clone(shared), count }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if (self.count)(&self.shared).fetch_sub(1, Ordering::SeqCst) == 1 {
            self.shared.idle.notify_waiters();
        }
    }
}
