//! The coordinator's answers: who is slow, on what evidence, who is suspected but not demoted, and what changed.

use core::fmt;

use hedge_core::{Instant, NodeId};

/// What the reports that have not expired say against a node.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SlowEvidence {
    /// How many different reporters accuse it.
    pub reporters: u32,
    /// How many have judged it.
    pub observers: u32,
    /// How many times as slow as its peers it is: the median of what its accusers say, from 1 to 1,000.
    pub factor: f64,
}

impl SlowEvidence {
    /// The share of its observers that accuse it, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.observers == 0 { 0.0 } else { f64::from(self.reporters) / f64::from(self.observers) }
    }
}

impl fmt::Display for SlowEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reporters, observers, factor } = self;
        write!(f, "{reporters} of {observers} observers, {factor:.1} times as slow as its peers")
    }
}

/// A node that is demoted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlowNode {
    /// Which.
    pub node: NodeId,
    /// The round since which it is demoted.
    pub since: Instant,
    /// Of the last round that it was accused in.
    pub evidence: SlowEvidence,
    /// Rounds in a row that it was not accused in.
    pub clean: u32,
    /// So many such rounds end its demotion.
    pub needed: u32,
}

/// A node that at least one reporter accused in the last round.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Suspect {
    /// Which.
    pub node: NodeId,
    /// What is said against it.
    pub evidence: SlowEvidence,
    /// What follows from it.
    pub standing: Standing,
}

/// What followed from the evidence against a suspect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Standing {
    /// It is demoted.
    Demoted,
    /// It is not: too few reporters accuse it.
    FewReporters,
    /// It is not: too small a share of its observers accuse it.
    SmallShare,
    /// It is not: others come before it, and only the first ones count.
    BelowTop,
    /// Not yet: it has to be accused in more rounds in a row.
    Waiting,
    /// It is not: the share of the fleet that may be demoted is used up.
    NoRoom,
    /// It is not: so many nodes are accused that nobody is demoted.
    FleetWide,
}

/// A node that entered or left the slow set in a round.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// It is demoted from now on.
    Entered {
        /// Which.
        node: NodeId,
        /// Why now.
        why: Entry,
        /// What is said against it.
        evidence: SlowEvidence,
    },
    /// It is demoted no longer.
    Left {
        /// Which.
        node: NodeId,
        /// Why.
        why: Exit,
        /// What was said against it when it was accused last.
        evidence: SlowEvidence,
    },
}

impl Change {
    /// The node that it is about.
    #[must_use]
    pub fn node(&self) -> NodeId {
        match *self {
            Self::Entered { node, .. } | Self::Left { node, .. } => node,
        }
    }
}

/// Why a node entered the slow set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// It is accused, and was for as many rounds as that takes.
    Accused {
        /// In so many rounds in a row.
        rounds: u32,
    },
    /// It was accused before, and now there is room for it.
    Room,
}

/// Why a node left the slow set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Exit {
    /// It was observed, and not accused any more.
    Clean {
        /// In so many rounds in a row.
        rounds: u32,
    },
    /// Nobody judged it any more, in the last round at least.
    Unobserved {
        /// Not accused in so many rounds in a row.
        rounds: u32,
    },
    /// Others come before it, and the share of the fleet that may be demoted is used up.
    NoRoom,
    /// So many nodes are accused that nobody is demoted.
    FleetWide {
        /// So many.
        accused: u32,
        /// Of so many.
        nodes: u32,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered { node, why, evidence } => {
                write!(f, "node {} is demoted", node.0)?;
                match why {
                    Entry::Accused { rounds: 1 } => write!(f, ": accused by {evidence}"),
                    Entry::Accused { rounds } => write!(f, ": accused in {rounds} rounds, now by {evidence}"),
                    Entry::Room => write!(f, ", for there is room now: accused by {evidence}"),
                }
            }
            Self::Left { node, why, evidence } => {
                write!(f, "node {} is demoted no longer: ", node.0)?;
                match why {
                    Exit::Clean { rounds } => write!(f, "not accused in {rounds} rounds")?,
                    Exit::Unobserved { rounds } => {
                        write!(f, "not accused in {rounds} rounds, and nobody judges it now")?;
                    }
                    Exit::NoRoom => f.write_str("no more nodes may be demoted, and others are worse")?,
                    Exit::FleetWide { accused, nodes } => {
                        write!(f, "{accused} of {nodes} nodes are accused, so it is not theirs")?;
                    }
                }
                write!(f, " (last accused by {evidence})")
            }
        }
    }
}
