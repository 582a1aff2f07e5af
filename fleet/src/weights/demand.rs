//! What is asked of which nodes: classes in flat arrays, so that a hundred thousand of them are a few megabytes.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::shares::in_proportion;

/// Classes: rates, numbers of nodes asked, and where they lie. Each list of weights has one for each cell, in the same order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Demand {
    pub(super) rates: Vec<f64>,
    /// A whole number, but for the demand of all classes in one.
    pub(super) k: Vec<f64>,
    /// Where each class's cells begin, and the end.
    pub(super) begins: Vec<usize>,
    pub(super) nodes: Vec<u32>,
}

impl Demand {
    /// All requests as one class that may go to any of so many nodes: what no placement can do better than.
    ///
    /// `most` is what one node can get at most, the sum of the classes' rates if each read asks a node once.
    pub(super) fn anywhere(&self, nodes: usize, most: f64) -> Self {
        Self {
            rates: vec![most],
            k: vec![self.requests() / most],
            begins: vec![0, nodes],
            nodes: (0..nodes as u32).collect(),
        }
    }

    pub(super) fn classes(&self) -> usize {
        self.rates.len()
    }

    pub(super) fn cells(&self) -> usize {
        self.nodes.len()
    }

    /// Which entries of a list of weights are a class's.
    pub(super) fn cells_of(&self, class: usize) -> Range<usize> {
        match (self.begins.get(class), self.begins.get(class + 1)) {
            (Some(&begin), Some(&end)) => begin..end,
            _ => 0..0,
        }
    }

    pub(super) fn nodes_of(&self, class: usize) -> &[u32] {
        &self.nodes[self.cells_of(class)]
    }

    /// Reads per unit of time.
    pub(super) fn reads(&self) -> f64 {
        self.rates.iter().sum()
    }

    /// Requests per unit of time: k for each read.
    pub(super) fn requests(&self) -> f64 {
        self.rates.iter().zip(&self.k).map(|(rate, k)| rate * k).sum()
    }

    /// Requests per unit of time at each of so many nodes.
    pub(super) fn loads(&self, weights: &[f64], nodes: usize) -> Vec<f64> {
        let mut loads = vec![0.0; nodes];
        self.add_loads(weights, &mut loads);
        loads
    }

    pub(super) fn add_loads(&self, weights: &[f64], loads: &mut [f64]) {
        for (class, &rate) in self.rates.iter().enumerate() {
            let cells = self.cells_of(class);
            for (&node, weight) in self.nodes[cells.clone()].iter().zip(&weights[cells]) {
                loads[node as usize] += rate * weight;
            }
        }
    }

    /// What each node would have if every read of a class on it asked it.
    pub(super) fn reach(&self, nodes: usize) -> Vec<f64> {
        let mut reach = vec![0.0; nodes];
        for (class, &rate) in self.rates.iter().enumerate() {
            for &node in self.nodes_of(class) {
                reach[node as usize] += rate;
            }
        }
        reach
    }

    /// What has to go to a set of nodes whatever the weights are: `sum_i lambda_i max(0, k_i - |S_i \ U|)`.
    pub(super) fn needed(&self, inside: &[bool]) -> f64 {
        let mut needed = 0.0;
        for class in 0..self.classes() {
            let outside = self.nodes_of(class).iter().filter(|&&node| !inside[node as usize]).count();
            needed += self.rates[class] * (self.k[class] - outside as f64).max(0.0);
        }
        needed
    }

    /// Weights by one rule for all classes: in proportion to a wish for each node.
    pub(super) fn by_rule(&self, wish: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; self.cells()];
        let mut wishes = Vec::new();
        for class in 0..self.classes() {
            wishes.clear();
            wishes.extend(self.nodes_of(class).iter().map(|&node| wish(node as usize)));
            in_proportion(&wishes, self.k[class], &mut weights[self.cells_of(class)]);
        }
        weights
    }

    /// The classes, the one with the greatest rate first.
    pub(super) fn hottest_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.classes()).collect();
        order.sort_by(|&a, &b| self.rates[b].total_cmp(&self.rates[a]));
        order
    }
}
