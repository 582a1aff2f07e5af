//! A plan: weights and a placement, and what they are worth.

use alloc::vec::Vec;

use super::problem::Problem;
use super::shares::in_units;
use crate::{tail_bound, tail_exact};

/// Weights and placement, and how good they are.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The problem, with the placement of this plan: what [`Plan::weights`] refers to.
    pub problem: Problem,
    /// pi_ij, for each class in the order of [`Problem::nodes_of`], one after the other.
    pub weights: Vec<f64>,
    /// The x that was planned for: the one asked for, or the least at which planning for a tail makes sense.
    pub x_fit: f64,
    /// Requests per unit of time at each node.
    pub loads: Vec<f64>,
    /// The share of time that the busiest node is busy.
    pub busiest: f64,
    /// The most that any node may be busy; `None`: the weights were not touched to hold it.
    pub capped: Option<f64>,
    /// sum_i (lambda_i / sum lambda) bound_i at `x_fit`, not capped at one.
    pub objective: f64,
    /// No weights (with a placement of its own: no placement) are better than the objective by more than this part of it, as long as no node is busier
    /// than may be. `None`: not known, as for policies that don't look for the best.
    pub gap: Option<f64>,
    /// Steps that the search took.
    pub steps: u32,
}

/// Bound and tail of a class at one x.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tail {
    /// min(1, the union of min(1, bound 1, bound 2) of the nodes).
    pub bound: f64,
    /// min(1, the union of the nodes' tails themselves).
    pub exact: f64,
}

/// What a node has of the tail.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NodeShare {
    /// The node.
    pub node: u32,
    /// Its requests per unit of time.
    pub load: f64,
    /// The share of time that it is busy.
    pub busy: f64,
    /// Its bound at x.
    pub bound: f64,
    /// Its tail at x.
    pub exact: f64,
    /// Its part of the sum of all nodes' requests that take longer than x.
    pub share: f64,
}

impl Plan {
    /// The tail of each class at x.
    #[must_use]
    pub fn tails(&self, x: f64) -> Vec<Tail> {
        let nodes = self.node_tails(x);
        let demand = self.problem.demand();
        (0..demand.classes())
            .map(|class| {
                let mut tail = Tail { bound: 0.0, exact: 0.0 };
                for (&node, weight) in demand.nodes_of(class).iter().zip(self.weights_of(class)) {
                    if *weight > 0.0 {
                        let of = nodes[node as usize];
                        tail.bound += weight * of.bound;
                        tail.exact += weight * of.exact;
                    }
                }
                Tail { bound: tail.bound.min(1.0), exact: tail.exact.min(1.0) }
            })
            .collect()
    }

    /// The mean over all classes, by their rates.
    #[must_use]
    pub fn tail(&self, x: f64) -> Tail {
        let demand = self.problem.demand();
        let reads = demand.reads();
        let mut mean = Tail { bound: 0.0, exact: 0.0 };
        for (tail, rate) in self.tails(x).into_iter().zip(&demand.rates) {
            mean.bound += tail.bound * (rate / reads);
            mean.exact += tail.exact * (rate / reads);
        }
        // Shares may add up to a little more than one.
        Tail { bound: mean.bound.min(1.0), exact: mean.exact.min(1.0) }
    }

    /// Which nodes hold the tail: all of them, the one with the greatest share first.
    #[must_use]
    pub fn holders(&self, x: f64) -> Vec<NodeShare> {
        let tails = self.node_tails(x);
        let late: f64 = self.loads.iter().zip(&tails).map(|(load, tail)| load * tail.exact).sum();
        let mut holders: Vec<NodeShare> = (0..)
            .zip(&self.loads)
            .zip(self.problem.services())
            .zip(tails)
            .map(|(((node, &load), service), tail)| NodeShare {
                node,
                load,
                busy: load * service.mean(),
                bound: tail.bound,
                exact: tail.exact,
                share: if late > 0.0 { load * tail.exact / late } else { 0.0 },
            })
            .collect();
        holders.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.node.cmp(&b.node)));
        holders
    }

    /// The weights of one class, in the order of [`Problem::nodes_of`]. Empty for a class that does not exist.
    #[must_use]
    pub fn weights_of(&self, class: usize) -> &[f64] {
        self.weights.get(self.problem.cells_of(class)).unwrap_or_default()
    }

    /// The weights of one class as [`hedge_core::draw_read`] takes them: in units of 2^-30, none above 2^30, with a sum of exactly k times that. Empty
    /// for a class that does not exist.
    #[must_use]
    pub fn draw_weights(&self, class: usize) -> Vec<u32> {
        in_units(self.weights_of(class), u64::from(self.problem.k_of(class)))
    }

    /// Bound and tail of each node, not capped at one. A node whose load was taken out of the plan counts as overloaded.
    fn node_tails(&self, x: f64) -> Vec<Tail> {
        let loads = self.loads.iter().copied().chain(core::iter::repeat(f64::NAN));
        self.problem
            .services()
            .iter()
            .zip(loads)
            .map(|(service, load)| Tail {
                bound: tail_bound(service, load, x).probability,
                exact: tail_exact(service, load, x),
            })
            .collect()
    }
}
