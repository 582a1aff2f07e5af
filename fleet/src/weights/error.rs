//! What can be wrong with a problem, or with what is asked of a plan.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

/// Why there is no problem, or no plan.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// There is no node.
    NoNodes,
    /// There is no class.
    NoClasses,
    /// No class is ever read.
    NoReads,
    /// More nodes, classes or cells than this crate plans for.
    TooMany {
        /// What there is too much of: `nodes`, `classes` or `cells`.
        what: &'static str,
        /// How many there are, or would be so far.
        count: usize,
        /// The most there can be.
        most: usize,
    },
    /// A class lies on a node that does not exist.
    NoSuchNode {
        /// The class.
        class: usize,
        /// The node.
        node: u32,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A class has two cells on one node.
    NodeTwice {
        /// The class.
        class: usize,
        /// The node.
        node: u32,
    },
    /// k must be at least 1, at most n, and n at most the number of nodes.
    Schema {
        /// The class.
        class: usize,
        /// How many nodes a read asks.
        k: u32,
        /// How many nodes the class lies on.
        n: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A rate must be finite and not negative, and so must be the sum of all requests.
    Rate {
        /// The class.
        class: usize,
        /// Its reads per unit of time.
        rate: f64,
    },
    /// A node that is called slow does not exist, or its law can't be so many times as slow.
    Slowed {
        /// The node.
        node: u32,
        /// How many times as slow.
        factor: f64,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A setting of [`Options`](crate::Options) is out of its bounds.
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// Reads that only these nodes can serve need more than they can do. For each set of nodes U must hold:
    /// `sum_i lambda_i max(0, k_i - |S_i \ U|) < sum_(j in U) 1 / E[X_j]`.
    Overloaded {
        /// The nodes.
        nodes: Vec<u32>,
        /// Requests per unit of time that have to go to them at least.
        needed: f64,
        /// Requests per unit of time that they can serve.
        able: f64,
    },
    /// With this t the bound exists for no weights.
    FixedT {
        /// The t, per unit of time.
        t: f64,
        /// The node that limits most: of the set, the one whose t must be farthest below.
        node: u32,
        /// The set of nodes that has to take too much.
        nodes: Vec<u32>,
        /// Requests per unit of time that have to go to the set at least.
        needed: f64,
        /// Requests per unit of time below which the bound exists for the set.
        able: f64,
    },
    /// A plan to begin with belongs to another problem.
    OtherPlan {
        /// The first class that has other nodes in the plan, or the number of classes of the shorter one.
        class: usize,
    },
}

/// A number in a message, to five digits: a sum of many has rounding behind that.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = format!("{:.4e}", self.0).parse();
        short.unwrap_or(self.0).fmt(f)
    }
}

/// Nodes in a message: the first ones by number, then how many more.
struct Named<'a>(&'a [u32]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        f.write_str(if self.0.len() == 1 { "node" } else { "nodes" })?;
        for (at, node) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{node}", if at == 0 { " " } else { ", " })?;
        }
        match self.0.len().checked_sub(SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes => write!(f, "there are no nodes"),
            Self::NoClasses => write!(f, "there are no classes of files"),
            Self::NoReads => write!(f, "the rates of all classes are 0: nothing is read"),
            Self::TooMany { what, count, most } => write!(f, "{count} {what}; there can be {most}"),
            Self::NoSuchNode { class, node, nodes } => {
                write!(f, "class {class} lies on node {node}; the nodes are 0 to {}", nodes.saturating_sub(1))
            }
            Self::NodeTwice { class, node } => write!(f, "class {class} lies twice on node {node}"),
            Self::Schema { class, k, n, nodes } => write!(
                f,
                "class {class} asks {k} of {n} nodes, and there are {nodes}: it must be 1 <= k <= n <= nodes"
            ),
            Self::Rate { class, rate } => write!(
                f,
                "class {class} is read {rate} times per unit of time: it must be a number that is not negative, and the sum must be finite"
            ),
            Self::Slowed { node, factor, nodes } => write!(
                f,
                "node {node} of {nodes} can't be {factor} times as slow: the node must exist, the factor be positive and finite, and its times stay within \
                 what a law allows"
            ),
            Self::Setting { name, value, allowed } => write!(f, "{name} is {value}; it must be {allowed}"),
            Self::Overloaded { nodes, needed, able } => write!(
                f,
                "{} must serve at least {} requests per unit of time, and can serve less than {}",
                Named(nodes),
                Short(*needed),
                Short(*able)
            ),
            Self::FixedT { t, node, nodes, needed, able } => write!(
                f,
                "with t = {t} the bound exists for no weights, first of all not at node {node}: {} must serve at least {} requests \
                 per unit of time, and it exists below {}",
                Named(nodes),
                Short(*needed),
                Short(*able)
            ),
            Self::OtherPlan { class } => {
                write!(f, "the plan to begin with has other nodes than the problem from class {class} on")
            }
        }
    }
}

impl core::error::Error for FleetError {}
