//! The nodes, the classes of files, and what is asked of them.

use alloc::vec;
use alloc::vec::Vec;

use super::FleetError;
use super::demand::Demand;
use super::random::Random;
use crate::Service;

/// More make no sense, and could make sums of cells overflow on small machines.
const MOST_NODES: usize = 1 << 20;
const MOST_CLASSES: usize = 1 << 24;
const MOST_CELLS: usize = 1 << 28;

/// Files that lie on the same nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct Class {
    /// Reads per unit of time.
    pub rate: f64,
    /// How many nodes a read asks.
    pub k: u32,
    /// The nodes that the cells lie on, cell 0 first.
    pub nodes: Vec<u32>,
}

/// A fleet, and what is asked of it: checked. A class takes 24 bytes, and 4 for each of its nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    services: Vec<Service>,
    demand: Demand,
}

impl Problem {
    /// A problem with a placement that is given. Whether the nodes can do what is asked of them is seen when it is planned.
    ///
    /// # Errors
    ///
    /// There are no nodes, no classes, or nothing is read; there are more than 2^20 nodes, 2^24 classes or 2^28 cells; a class names a node
    /// that does not exist, or one twice; k is not in 1 to n; a rate is negative, infinite or not a number.
    pub fn new(services: Vec<Service>, classes: impl IntoIterator<Item = Class>) -> Result<Self, FleetError> {
        let mut builder = Builder::new(services)?;
        // The class that last lay on a node.
        let mut last = vec![usize::MAX; builder.services.len()];
        for (number, class) in classes.into_iter().enumerate() {
            builder.add(class.rate, class.nodes.len(), class.k)?;
            for &node in &class.nodes {
                let Some(last) = last.get_mut(node as usize) else {
                    return Err(FleetError::NoSuchNode {
                        class: number,
                        node,
                        nodes: builder.services.len(),
                    });
                };
                if *last == number {
                    return Err(FleetError::NodeTwice { class: number, node });
                }
                *last = number;
            }
            builder.demand.nodes.extend(class.nodes);
        }
        builder.build()
    }

    /// A problem whose classes (rate, n, k) are placed at random, by this seed: each on n different nodes, all choices alike.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new); n is greater than the number of nodes.
    pub fn placed_at_random(
        services: Vec<Service>,
        classes: &[(f64, u32, u32)],
        seed: u64,
    ) -> Result<Self, FleetError> {
        let mut builder = Builder::new(services)?;
        let mut random = Random::new(seed);
        let mut nodes: Vec<u32> = (0..builder.services.len() as u32).collect();
        for &(rate, n, k) in classes {
            let n = n as usize;
            builder.add(rate, n, k)?;
            random.draw_first(&mut nodes, n);
            builder.demand.nodes.extend(&nodes[..n]);
        }
        builder.build()
    }

    /// The nodes' laws.
    #[must_use]
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// How many classes there are.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.demand.classes()
    }

    /// Reads per unit of time of a class; 0 for one that does not exist.
    #[must_use]
    pub fn rate_of(&self, class: usize) -> f64 {
        self.demand.rates.get(class).copied().unwrap_or(0.0)
    }

    /// How many nodes a read of a class asks; 0 for one that does not exist.
    #[must_use]
    pub fn k_of(&self, class: usize) -> u32 {
        self.demand.k.get(class).map_or(0, |&k| k as u32)
    }

    /// The nodes of a class; none for one that does not exist.
    #[must_use]
    pub fn nodes_of(&self, class: usize) -> &[u32] {
        self.demand.nodes_of(class)
    }

    /// Where the weights of a class are in [`Plan::weights`](crate::Plan::weights); empty for one that does not exist.
    #[must_use]
    pub fn cells_of(&self, class: usize) -> core::ops::Range<usize> {
        self.demand.cells_of(class)
    }

    /// The same problem with some nodes so many times as slow as their laws say: what is known of a slow node.
    ///
    /// # Errors
    ///
    /// A node does not exist, or its law can't be so many times as slow.
    pub fn slowed(&self, nodes: &[(u32, f64)]) -> Result<Self, FleetError> {
        let mut slowed = self.clone();
        for &(node, factor) in nodes {
            let error = FleetError::Slowed { node, factor, nodes: self.services.len() };
            match slowed.services.get_mut(node as usize) {
                Some(service) => *service = service.slowed(factor).map_err(|_| error)?,
                None => return Err(error),
            }
        }
        Ok(slowed)
    }

    pub(super) fn demand(&self) -> &Demand {
        &self.demand
    }

    /// The same classes, elsewhere: as many nodes for each as before.
    pub(super) fn placed(&self, nodes: Vec<u32>) -> Self {
        debug_assert_eq!(nodes.len(), self.demand.cells());
        let mut placed = self.clone();
        placed.demand.nodes = nodes;
        placed
    }
}

/// A problem that is not complete yet.
struct Builder {
    services: Vec<Service>,
    demand: Demand,
    cells: usize,
    requests: f64,
}

impl Builder {
    fn new(services: Vec<Service>) -> Result<Self, FleetError> {
        if services.is_empty() {
            return Err(FleetError::NoNodes);
        }
        at_most("nodes", services.len(), MOST_NODES)?;
        let demand = Demand { begins: vec![0], ..Demand::default() };
        Ok(Self { services, demand, cells: 0, requests: 0.0 })
    }

    /// All of a class but its nodes.
    fn add(&mut self, rate: f64, n: usize, k: u32) -> Result<(), FleetError> {
        let class = self.demand.classes();
        at_most("classes", class + 1, MOST_CLASSES)?;
        let nodes = self.services.len();
        if k == 0 || k as usize > n || n > nodes {
            return Err(FleetError::Schema { class, k, n, nodes });
        }
        self.cells += n;
        at_most("cells", self.cells, MOST_CELLS)?;
        self.requests += rate * f64::from(k);
        if rate.is_nan() || rate < 0.0 || !self.requests.is_finite() {
            return Err(FleetError::Rate { class, rate });
        }
        self.demand.rates.push(rate);
        self.demand.k.push(f64::from(k));
        self.demand.begins.push(self.cells);
        Ok(())
    }

    fn build(self) -> Result<Problem, FleetError> {
        if self.demand.classes() == 0 {
            return Err(FleetError::NoClasses);
        }
        if self.requests <= 0.0 {
            return Err(FleetError::NoReads);
        }
        Ok(Problem { services: self.services, demand: self.demand })
    }
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), FleetError> {
    if count > most { Err(FleetError::TooMany { what, count, most }) } else { Ok(()) }
}
