//! What happens to a cluster: kinds of incidents, and how often they come.

use crate::Law;

/// Something that befalls a part of the cluster, once or now and then.
#[derive(Clone, PartialEq, Debug)]
pub struct Incident {
    /// Its name, for people.
    pub name: String,
    /// What it does.
    pub effect: Effect,
    /// Whom it befalls.
    pub place: Where,
    /// When, and how often.
    pub often: Often,
    /// How long it lasts, in milliseconds.
    pub length: Law,
    /// It comes and goes: so long there, so long not, in milliseconds, for as long as it lasts.
    pub flapping: Option<(f64, f64)>,
}

/// What an incident does to the nodes or the client that it befalls.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Nothing moves until it is over: work that was under way pauses, too.
    Freeze,
    /// Everything takes so many times as long.
    Slow(f64),
    /// A share of the legs takes so much longer, in milliseconds: a degraded disk of several, a saturated card (share 1).
    Extra {
        /// The share of legs.
        share: f64,
        /// What is added, in milliseconds.
        law: Law,
    },
    /// No connection is accepted: a connection's first packet is sent again after one second and after three, and given up after five. Legs
    /// on open connections notice nothing.
    NoConnect,
    /// Every leg ends at once with a refusal: a host that is drained.
    Refuse,
    /// Every leg that would have to wait for this node never gets an answer; it fails after so many milliseconds.
    Dead(f64),
}

/// Whom an incident befalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    /// A node drawn at random, another each time.
    AnyNode,
    /// The first so many nodes, at one time.
    Nodes(u32),
    /// This node; the first is 0.
    Node(u32),
    /// A run of so many neighbouring nodes, at one time, another each time: a rack.
    AnyRack,
    /// All nodes.
    AllNodes,
    /// A client drawn at random, another each time. Only [`Effect::Freeze`].
    AnyClient,
}

/// When an incident comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Often {
    /// So many times a day on average, at random.
    PerDay(f64),
    /// So many milliseconds after the beginning, once.
    At(f64),
}
