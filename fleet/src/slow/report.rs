//! What a node tells the coordinator of its peers.

use alloc::vec::Vec;
use core::fmt;

use hedge_core::NodeId;

use super::Judgement;

/// Whom a reporter has judged, and who of them stood out: what a node sends to the coordinator each round.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// The peers that were judged: those who could have been accused.
    pub judged: Vec<NodeId>,
    /// The suspects among them, each with how many times the median of its peers it took.
    pub suspects: Vec<(NodeId, f64)>,
}

impl From<&Judgement<NodeId>> for Report {
    fn from(judgement: &Judgement<NodeId>) -> Self {
        Self {
            judged: judgement.judged.clone(),
            suspects: judgement.outliers.iter().map(|outlier| (outlier.who, outlier.factor())).collect(),
        }
    }
}

/// Why a report does not count. What the reporter said before stays until it expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReportError {
    /// The reporter is not of this fleet.
    UnknownReporter {
        /// Its number.
        reporter: NodeId,
        /// How many nodes the fleet has.
        nodes: u32,
    },
    /// It judges more peers than a report may.
    TooManyPeers {
        /// Who says so.
        reporter: NodeId,
        /// How many it names.
        peers: usize,
        /// No more than this.
        most: u32,
    },
    /// It accuses more than half of those it judges, which no rule on the median does.
    TooManySuspects {
        /// Who says so.
        reporter: NodeId,
        /// How many it accuses.
        suspects: usize,
        /// Of how many.
        judged: usize,
    },
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UnknownReporter { reporter, nodes } => {
                write!(f, "a report of node {}, in a fleet of {nodes} nodes", reporter.0)
            }
            Self::TooManyPeers { reporter, peers, most } => {
                write!(f, "node {} names {peers} peers; a report may name {most}", reporter.0)
            }
            Self::TooManySuspects { reporter, suspects, judged } => write!(
                f,
                "node {} accuses {suspects} of the {judged} peers it judged; no rule on the median accuses more than half",
                reporter.0
            ),
        }
    }
}

impl core::error::Error for ReportError {}
