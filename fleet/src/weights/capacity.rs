//! Weights that no node's limit forbids, and if there are none, which nodes have to take too much.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::demand::Demand;
use super::shares::project;

/// Nodes that have to take more of their capacity than any others, whatever the weights.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tightest {
    pub(super) nodes: Vec<u32>,
    /// Requests per unit of time.
    pub(super) needed: f64,
    pub(super) able: f64,
}

impl Tightest {
    /// The share of its capacity that the set has to take. No weights leave every node with less.
    pub(super) fn busy(&self) -> f64 {
        if self.needed <= 0.0 { 0.0 } else { self.needed / self.able }
    }
}

/// Moves the weights to the nearest with no load above its limit, the classes' distances weighted by their rates: near enough that a node which gave
/// up load is within a thousandth of its limit, if the rounds last. `false` if no limits were held in so many rounds: there may be no such weights.
///
/// The nodes' prices are the dual; a step is what the rates on a node allow, with Nesterov's momentum, given up where it leads away.
pub(super) fn hold(demand: &Demand, weights: &mut [f64], limits: &[f64], rounds: u32) -> bool {
    let nodes = limits.len();
    let reach = demand.reach(nodes);
    let wish = weights.to_vec();
    let give = vec![1.0; nodes];
    let mut price = vec![0.0; nodes];
    let mut ahead = price.clone();
    let mut momentum = 1.0_f64;
    let mut held: Option<Vec<f64>> = None;
    for _ in 0..rounds {
        for class in 0..demand.classes() {
            let cells = demand.cells_of(class);
            for at in cells.clone() {
                weights[at] = wish[at] - ahead[demand.nodes[at] as usize];
            }
            let n = cells.len();
            project(&mut weights[cells], &give[..n], demand.k[class]);
        }
        let loads = demand.loads(weights, nodes);
        if loads.iter().zip(limits).all(|(load, limit)| load <= limit) {
            let mut rows = loads.iter().zip(limits).zip(&ahead);
            if rows.all(|((load, limit), price)| *price <= 0.0 || *load >= limit * (1.0 - 1e-3)) {
                return true;
            }
            // More was taken from a node than needed; it may come back.
            match &mut held {
                Some(held) => held.copy_from_slice(weights),
                None => held = Some(weights.to_vec()),
            }
        }
        let mut away = 0.0;
        let after = f64::midpoint(1.0, libm::sqrt(1.0 + 4.0 * momentum * momentum));
        let push = (momentum - 1.0) / after;
        for node in 0..nodes {
            if reach[node] <= 0.0 {
                continue;
            }
            // Aimed a little below, so that the limit itself is reached in finitely many steps.
            let over = (loads[node] - limits[node] * (1.0 - 1e-6)) / reach[node];
            let next = (ahead[node] + over).max(0.0);
            away += (next - ahead[node]) * (next - price[node]);
            let step = next - price[node];
            price[node] = next;
            ahead[node] = (next + push * step).max(0.0);
        }
        momentum = after;
        if away < 0.0 {
            momentum = 1.0;
            ahead.clone_from(&price);
        }
    }
    if let Some(held) = &held {
        weights.copy_from_slice(held);
    }
    held.is_some()
}

/// The set of nodes that needs the greatest share of what it is able to do, of all sets; and weights with which no node is busier. Exact, by
/// maximum flows: each flow's minimum cut names a set that is tighter than the one before (Dinkelbach's method).
pub(super) fn tightest(demand: &Demand, able: &[f64], weights: &mut [f64]) -> Tightest {
    let set = |inside: &[bool]| Tightest {
        nodes: (0..able.len() as u32).filter(|&node| inside[node as usize]).collect(),
        needed: demand.needed(inside),
        able: able.iter().zip(inside).filter(|(_, inside)| **inside).map(|(able, _)| able).sum(),
    };
    let mut best = set(&vec![true; able.len()]);
    loop {
        if !best.busy().is_finite() {
            return best;
        }
        let limits: Vec<f64> = able.iter().map(|able| able * best.busy()).collect();
        let Some(inside) = Exchange::new(demand, weights, &limits).run() else { return best };
        let tighter = set(&inside);
        if tighter.busy() <= best.busy() * (1.0 + 1e-12) {
            return best;
        }
        best = tighter;
    }
}

/// Maximum flow from nodes above their limits to nodes below theirs: a class can take from one of its nodes the weight it has there, and give
/// another what that lacks to one. E. A. Dinic's algorithm; nodes and classes are its vertices.
struct Exchange<'a> {
    demand: &'a Demand,
    weights: &'a mut [f64],
    loads: Vec<f64>,
    limits: &'a [f64],
    /// Cells by node: where each node's begin, and then (class, cell).
    begins: Vec<usize>,
    cells: Vec<(u32, u32)>,
    /// Less than this is rounding.
    least: f64,
    node_level: Vec<u32>,
    class_level: Vec<u32>,
    /// Where the search goes on at each vertex.
    node_next: Vec<usize>,
    class_next: Vec<usize>,
}

const UNSEEN: u32 = u32::MAX;

impl<'a> Exchange<'a> {
    fn new(demand: &'a Demand, weights: &'a mut [f64], limits: &'a [f64]) -> Self {
        let nodes = limits.len();
        let mut begins = vec![0; nodes + 1];
        for &node in &demand.nodes {
            begins[node as usize + 1] += 1;
        }
        for node in 0..nodes {
            begins[node + 1] += begins[node];
        }
        let mut cells = vec![(0, 0); demand.cells()];
        let mut filled = begins.clone();
        for class in 0..demand.classes() {
            for cell in demand.cells_of(class) {
                let place = &mut filled[demand.nodes[cell] as usize];
                cells[*place] = (class as u32, cell as u32);
                *place += 1;
            }
        }
        let loads = demand.loads(weights, nodes);
        Self {
            least: 1e-13 * demand.requests(),
            node_level: vec![UNSEEN; nodes],
            class_level: vec![UNSEEN; demand.classes()],
            node_next: vec![0; nodes],
            class_next: vec![0; demand.classes()],
            demand,
            weights,
            loads,
            limits,
            begins,
            cells,
        }
    }

    /// `None`: no node is above its limit any more. Else a set of nodes that can't get rid of what is too much.
    fn run(mut self) -> Option<Vec<bool>> {
        loop {
            let sources: Vec<usize> = (0..self.limits.len()).filter(|&node| self.over(node) > 0.0).collect();
            if sources.is_empty() {
                return None;
            }
            if !self.levels(&sources) {
                return Some(self.node_level.iter().map(|&level| level != UNSEEN).collect());
            }
            self.node_next.copy_from_slice(&self.begins[..self.limits.len()]);
            self.class_next.copy_from_slice(&self.demand.begins[..self.demand.classes()]);
            for source in sources {
                while self.over(source) > 0.0 && self.augment(source) {}
            }
        }
    }

    /// By how much a node is above its limit.
    fn over(&self, node: usize) -> f64 {
        let over = self.loads[node] - self.limits[node];
        if over > self.least { over } else { 0.0 }
    }

    fn below(&self, node: usize) -> f64 {
        let below = self.limits[node] - self.loads[node];
        if below > 0.1 * self.least { below } else { 0.0 }
    }

    fn can_take(&self, class: usize, cell: usize) -> f64 {
        let amount = self.weights[cell] * self.demand.rates[class];
        if self.weights[cell] > 1e-13 { amount } else { 0.0 }
    }

    fn can_give(&self, class: usize, cell: usize) -> f64 {
        let lacks = 1.0 - self.weights[cell];
        if lacks > 1e-13 { lacks * self.demand.rates[class] } else { 0.0 }
    }

    /// Distances from the sources; whether a node below its limit is reached.
    fn levels(&mut self, sources: &[usize]) -> bool {
        self.node_level.fill(UNSEEN);
        self.class_level.fill(UNSEEN);
        let mut queue: VecDeque<usize> = VecDeque::new();
        for &source in sources {
            self.node_level[source] = 0;
            queue.push_back(source);
        }
        let mut reached = false;
        while let Some(node) = queue.pop_front() {
            reached |= self.below(node) > 0.0;
            for entry in self.begins[node]..self.begins[node + 1] {
                let (class, cell) = (self.cells[entry].0 as usize, self.cells[entry].1 as usize);
                if self.class_level[class] != UNSEEN || self.can_take(class, cell) <= 0.0 {
                    continue;
                }
                self.class_level[class] = self.node_level[node] + 1;
                for other in self.demand.cells_of(class) {
                    let to = self.demand.nodes[other] as usize;
                    if self.node_level[to] == UNSEEN && self.can_give(class, other) > 0.0 {
                        self.node_level[to] = self.node_level[node] + 2;
                        queue.push_back(to);
                    }
                }
            }
        }
        reached
    }

    /// Sends what it can along one shortest path from the source.
    fn augment(&mut self, source: usize) -> bool {
        // (cell taken from, class, cell given to), one after the other.
        let mut path: Vec<(usize, usize, usize)> = Vec::new();
        let mut node = source;
        loop {
            if node != source && self.below(node) > 0.0 {
                self.send(source, node, &path);
                return true;
            }
            if let Some((from, class, to)) = self.onward(node) {
                path.push((from, class, to));
                node = self.demand.nodes[to] as usize;
                continue;
            }
            // A dead end: the class before goes on with its next node.
            let Some((from, class, _)) = path.pop() else { return false };
            self.class_next[class] += 1;
            node = self.demand.nodes[from] as usize;
        }
    }

    /// The next edge pair from a node that leads one level on.
    fn onward(&mut self, node: usize) -> Option<(usize, usize, usize)> {
        while self.node_next[node] < self.begins[node + 1] {
            let (class, from) = self.cells[self.node_next[node]];
            let (class, from) = (class as usize, from as usize);
            if self.class_level[class] == self.node_level[node].saturating_add(1)
                && self.can_take(class, from) > 0.0
            {
                while self.class_next[class] < self.demand.begins[class + 1] {
                    let to = self.class_next[class];
                    let target = self.demand.nodes[to] as usize;
                    if self.node_level[target] == self.class_level[class].saturating_add(1)
                        && self.can_give(class, to) > 0.0
                    {
                        return Some((from, class, to));
                    }
                    self.class_next[class] += 1;
                }
            }
            self.node_next[node] += 1;
        }
        None
    }

    fn send(&mut self, source: usize, target: usize, path: &[(usize, usize, usize)]) {
        let mut amount = self.over(source).min(self.below(target));
        for &(from, class, to) in path {
            amount = amount.min(self.can_take(class, from)).min(self.can_give(class, to));
        }
        for &(from, class, to) in path {
            let part = amount / self.demand.rates[class];
            self.weights[from] = (self.weights[from] - part).max(0.0);
            self.weights[to] = (self.weights[to] + part).min(1.0);
        }
        self.loads[source] -= amount;
        self.loads[target] += amount;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The greatest share that any set of nodes has to take, by trying all sets.
    fn tried(demand: &Demand, able: &[f64]) -> f64 {
        (1..1_u32 << able.len())
            .map(|set| {
                let inside: Vec<bool> = (0..able.len()).map(|node| set >> node & 1 == 1).collect();
                let able: f64 =
                    able.iter().zip(&inside).filter(|(_, inside)| **inside).map(|(able, _)| able).sum();
                demand.needed(&inside) / able
            })
            .fold(0.0, f64::max)
    }

    fn problems() -> impl Strategy<Value = (Demand, Vec<f64>)> {
        let nodes = 2..8_usize;
        nodes.prop_flat_map(|nodes| {
            let able = prop::collection::vec(0.1..4.0_f64, nodes);
            let order = Just((0..nodes as u32).collect::<Vec<_>>()).prop_shuffle();
            let rate = prop_oneof![4 => 0.01..2.0_f64, 1 => Just(0.0)];
            let class = (rate, order, 0.0..1.0_f64, 0.0..1.0_f64);
            (prop::collection::vec(class, 1..7), able).prop_map(move |(classes, able)| {
                let mut demand = Demand { begins: vec![0], ..Demand::default() };
                for (rate, order, n, k) in classes {
                    let n = 1 + (n * nodes as f64) as usize;
                    demand.rates.push(rate);
                    demand.k.push(1.0 + libm::floor(k * n as f64));
                    demand.nodes.extend(&order[..n]);
                    demand.begins.push(demand.nodes.len());
                }
                (demand, able)
            })
        })
    }

    proptest! {
        #[test]
        fn the_tightest_set_is_that_of_all_sets(problem in problems()) {
            let (demand, able) = problem;
            let mut weights = demand.by_rule(|_| 1.0);
            let set = tightest(&demand, &able, &mut weights);
            let busy = tried(&demand, &able);
            prop_assert!((set.busy() - busy).abs() <= 1e-9 * busy, "{set:?} {busy}");
            // What it says of the set is so, and the weights keep it.
            let inside: Vec<bool> = (0..able.len() as u32).map(|node| set.nodes.contains(&node)).collect();
            prop_assert_eq!(demand.needed(&inside), set.needed);
            for (load, able) in demand.loads(&weights, able.len()).iter().zip(&able) {
                prop_assert!(*load <= able * busy * (1.0 + 1e-9) + 1e-9, "{load} {able} {busy}");
            }
            for class in 0..demand.classes() {
                let weights = &weights[demand.cells_of(class)];
                prop_assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
                prop_assert!((weights.iter().sum::<f64>() - demand.k[class]).abs() < 1e-9);
            }
        }

        #[test]
        fn weights_are_held_below_limits_that_can_be_held(problem in problems(), room in 1.01..2.0_f64) {
            let (demand, able) = problem;
            let busy = tried(&demand, &able);
            let limits: Vec<f64> = able.iter().map(|able| able * busy * room + 1e-9).collect();
            let wish = demand.by_rule(|_| 1.0);
            let mut weights = wish.clone();
            if hold(&demand, &mut weights, &limits, 2000) {
                for (load, limit) in demand.loads(&weights, able.len()).iter().zip(&limits) {
                    prop_assert!(load <= limit);
                }
                // No other weights that hold the limits are nearer: those of the flow, for one, and all on the way there.
                let mut other = wish.clone();
                tightest(&demand, &able, &mut other);
                let distance = |weights: &[f64]| -> f64 {
                    let mut sum = 0.0;
                    for class in 0..demand.classes() {
                        let cells = demand.cells_of(class);
                        let apart = weights[cells.clone()].iter().zip(&wish[cells]);
                        sum += demand.rates[class] * apart.map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                    }
                    sum
                };
                let between: Vec<f64> = weights.iter().zip(&other).map(|(a, b)| 0.9 * a + 0.1 * b).collect();
                prop_assert!(distance(&weights) <= distance(&between) + 1e-4);
            } else {
                prop_assert!(room < 1.1, "limits at {room} of what is needed were not held");
            }
        }
    }

    #[test]
    fn nodes_that_can_do_nothing_are_named() {
        let demand = Demand { rates: vec![1.0], k: vec![2.0], begins: vec![0, 3], nodes: vec![0, 1, 2] };
        let set = tightest(&demand, &[0.0, 0.0, 5.0], &mut [0.5, 0.5, 1.0]);
        assert_eq!(set, Tightest { nodes: vec![0, 1], needed: 1.0, able: 0.0 });
    }
}
