//! Where classes lie: drawn so that the loads come out as wanted, and moved one class at a time where that is not near enough.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::demand::Demand;
use super::descent::Aim;
use super::matching::least_matching;
use super::random::Random;
use super::shares::{UNIT, in_proportion, in_units, project};
use crate::Service;

/// How the weights of a class follow from where it lies.
#[derive(Clone, Copy)]
pub(super) enum Rule<'a> {
    /// As they are drawn, so that the loads come out.
    Free,
    /// In proportion to these, for each node: all alike, or the service rates.
    Share(&'a [f64]),
}

/// Places and weights for all classes.
pub(super) struct Placed {
    pub(super) nodes: Vec<u32>,
    pub(super) weights: Vec<f64>,
}

/// Places each class so that the nodes' loads come out near to `wanted`: systematic sampling (W. G. Madow, "On the Theory of Systematic Sampling,
/// II", 1949), the hottest classes first. After each few classes the nodes are put in another order, and what is drawn next aims at what the loads
/// still lack: that makes up for what whole classes miss.
pub(super) fn draw(demand: &Demand, wanted: &[f64], rule: Rule<'_>, seed: u64) -> Placed {
    let nodes = wanted.len();
    let mut placed = Placed { nodes: vec![0; demand.cells()], weights: vec![0.0; demand.cells()] };
    let mut lacking = wanted.to_vec();
    let mut random = Random::new(seed);
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    let classes = demand.hottest_first();
    let enough = demand.requests() / 64.0;
    let mut rest = &classes[..];
    while !rest.is_empty() {
        let mut sum = 0.0;
        let mut count = 0;
        while count < rest.len() && sum < enough {
            sum += demand.rates[rest[count]] * demand.k[rest[count]];
            count += 1;
        }
        let (batch, after) = rest.split_at(count);
        rest = after;
        let mut shapes: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
        for &class in batch {
            let shape = (demand.cells_of(class).len(), demand.k[class] as u64);
            shapes.entry(shape).or_default().push(class);
        }
        random.draw_first(&mut order, nodes);
        let floor = 1e-6 * lacking.iter().map(|lacking| lacking.max(0.0)).sum::<f64>() / nodes as f64;
        let wish: Vec<f64> = lacking.iter().map(|lacking| lacking.max(floor)).collect();
        for ((n, k), classes) in shapes {
            let comb = Comb::new(&wish, rule, (n, k as f64), &order);
            let all: f64 = classes.iter().map(|&class| demand.rates[class]).sum();
            let start = random.unit();
            let mut before = 0.0;
            for (at, &class) in classes.iter().enumerate() {
                let rate = demand.rates[class];
                // Offsets that lie as evenly as the rates are.
                let middle =
                    if all > 0.0 { (before + 0.5 * rate) / all } else { at as f64 / classes.len() as f64 };
                before += rate;
                let cells = demand.cells_of(class);
                comb.take(
                    start + middle,
                    &mut placed.nodes[cells.clone()],
                    &mut placed.weights[cells.clone()],
                );
                for (&node, weight) in placed.nodes[cells.clone()].iter().zip(&placed.weights[cells]) {
                    lacking[node as usize] -= rate * weight;
                }
            }
        }
    }
    placed
}

/// Nodes in a row, each as long as the chance that a class lies on it; n of them are hit by points that are one apart.
struct Comb<'a> {
    order: &'a [u32],
    /// Where each node of the order ends, in units of 2^-30: n times 2^30 at last.
    ends: Vec<u64>,
    /// The weight of each node, if a class lies there: only its ratio to the others' matters for a rule.
    weight: Vec<f64>,
    rule: Rule<'a>,
    k: f64,
}

impl<'a> Comb<'a> {
    fn new(wish: &[f64], rule: Rule<'a>, (n, k): (usize, f64), order: &'a [u32]) -> Self {
        let mut chance = vec![0.0; wish.len()];
        let mut weight = vec![0.0; wish.len()];
        match rule {
            Rule::Free => {
                // A class on a node asks it so often that on the average over all classes its share comes out.
                let mut share = vec![0.0; wish.len()];
                in_proportion(wish, k, &mut share);
                in_proportion(&share, n as f64, &mut chance);
                for ((weight, share), chance) in weight.iter_mut().zip(share).zip(&chance) {
                    *weight = if *chance > 0.0 { share / chance } else { 0.0 };
                }
            }
            Rule::Share(by) => {
                let often: Vec<f64> = wish.iter().zip(by).map(|(wish, by)| wish / by).collect();
                in_proportion(&often, n as f64, &mut chance);
                weight.copy_from_slice(by);
            }
        }
        let units = in_units(&chance, n as u64);
        let mut end = 0;
        let ends = order
            .iter()
            .map(|&node| {
                end += u64::from(units[node as usize]);
                end
            })
            .collect();
        Self { order, ends, weight, rule, k }
    }

    fn take(&self, offset: f64, nodes: &mut [u32], weights: &mut [f64]) {
        let offset = ((offset - libm::floor(offset)) * UNIT as f64) as u64 % UNIT;
        for (at, (node, weight)) in nodes.iter_mut().zip(weights.iter_mut()).enumerate() {
            let point = offset + at as u64 * UNIT;
            let hit = self.ends.partition_point(|&end| end <= point).min(self.order.len() - 1);
            *node = self.order[hit];
            *weight = self.weight[*node as usize];
        }
        match self.rule {
            Rule::Free => project(weights, &vec![1.0; weights.len()], self.k),
            Rule::Share(_) => {
                let by = weights.to_vec();
                in_proportion(&by, self.k, weights);
            }
        }
    }
}

/// Classes that are moved one after the other; each move lowers the sum of the nodes' costs.
pub(super) struct Moves<'a> {
    services: &'a [Service],
    aim: Aim<'a>,
    /// How many evaluations of a node's cost may still be spent.
    evaluations: u64,
    /// The t that was best for each node when it was last looked at: where the next search begins.
    near: Vec<Option<f64>>,
}

impl<'a> Moves<'a> {
    pub(super) fn new(services: &'a [Service], aim: Aim<'a>, evaluations: u64) -> Self {
        Self { services, aim, evaluations, near: vec![None; services.len()] }
    }

    /// A node's cost, and how it rises. An overloaded node's is finite, and so great that nobody is left there who can go.
    fn look(&mut self, node: usize, load: f64) -> (f64, f64) {
        self.evaluations = self.evaluations.saturating_sub(1);
        let found = self.aim.cost(self.services, node, load, self.near[node]);
        if found.cost.is_finite() {
            self.near[node] = Some(found.t);
            return (found.cost, found.slope);
        }
        let busy = load * self.services[node].mean();
        (1e6 * load * (1.0 + busy), 1e6 * (1.0 + 2.0 * busy))
    }

    fn cost(&mut self, node: usize, load: f64) -> f64 {
        self.look(node, load).0
    }

    /// Gives each cell of each class, with the weight that it has, the node where that costs least (a matching whose edges carry the node's whole
    /// change of cost). Whether any moved.
    pub(super) fn rematch(&mut self, demand: &mut Demand, weights: &[f64]) -> bool {
        let nodes = self.services.len();
        let mut loads = demand.loads(weights, nodes);
        let mut moved = false;
        let mut costs = Vec::new();
        for class in demand.hottest_first() {
            let cells = demand.cells_of(class);
            let n = cells.len();
            let rate = demand.rates[class];
            if rate <= 0.0 || self.evaluations < nodes as u64 * (n as u64 + 1) {
                break;
            }
            let mut without = loads.clone();
            for (&node, weight) in demand.nodes[cells.clone()].iter().zip(&weights[cells.clone()]) {
                let load = &mut without[node as usize];
                *load = (*load - rate * weight).max(0.0);
            }
            costs.clear();
            let empty: Vec<f64> = (0..nodes).map(|node| self.cost(node, without[node])).collect();
            for weight in &weights[cells.clone()] {
                for node in 0..nodes {
                    costs.push(self.cost(node, without[node] + rate * weight) - empty[node]);
                }
            }
            let old: f64 = demand.nodes[cells.clone()]
                .iter()
                .enumerate()
                .map(|(at, &node)| costs[at * nodes + node as usize])
                .sum();
            let best = least_matching(&costs, n);
            let new: f64 = best.iter().enumerate().map(|(at, node)| costs[at * nodes + node]).sum();
            // Not for what may be rounding.
            if new < old - 1e-12 * old.abs() {
                for (place, node) in demand.nodes[cells.clone()].iter_mut().zip(best) {
                    *place = node as u32;
                }
                loads = without;
                for (&node, weight) in demand.nodes[cells.clone()].iter().zip(&weights[cells]) {
                    loads[node as usize] += rate * weight;
                }
                moved = true;
            }
        }
        moved
    }

    /// Exchanges single nodes of classes for others, weights by a rule, as long as a round of all classes lowers the cost by a part of 10^5, and
    /// evaluations are left. Of all exchanges of a class, those are looked at closely that a quadratic model of the costs likes best.
    pub(super) fn exchange(&mut self, demand: &mut Demand, weights: &mut [f64], by: &[f64]) {
        const CLOSELY: usize = 16;
        let nodes = self.services.len();
        let mut loads = demand.loads(weights, nodes);
        let mut models: Vec<Model> = (0..nodes).map(|node| self.model(node, loads[node])).collect();
        let classes = demand.hottest_first();
        let mut won = f64::INFINITY;
        while won > 1e-5 * models.iter().map(|model| model.cost).sum::<f64>() {
            won = 0.0;
            for &class in &classes {
                let rate = demand.rates[class];
                let cells = demand.cells_of(class);
                // Weights of so many nodes take as long as a node's cost.
                let long = cells.len().div_ceil(16) as u64;
                if rate <= 0.0 || self.evaluations < nodes as u64 * cells.len() as u64 * long {
                    return;
                }
                let now = Lying { nodes: &demand.nodes[cells.clone()], weights: &weights[cells.clone()] };
                // As numbers alone: there are very many of them, and each is as long as the class has nodes.
                let mut exchanges = Vec::new();
                for at in 0..now.nodes.len() {
                    for new in 0..nodes as u32 {
                        if !now.nodes.contains(&new) {
                            let exchange = now.exchanged(at, new, by, demand.k[class]);
                            let likely =
                                exchange.changes.iter().map(|&(node, more)| models[node].of(rate * more));
                            exchanges.push((likely.sum::<f64>(), at, new));
                        }
                    }
                }
                self.evaluations = self.evaluations.saturating_sub(exchanges.len() as u64 * long);
                exchanges.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut best: Option<(f64, Exchange)> = None;
                for (_, at, new) in exchanges.into_iter().take(CLOSELY) {
                    let exchange = now.exchanged(at, new, by, demand.k[class]);
                    let (mut change, mut touched) = (0.0, 0.0);
                    for &(node, more) in &exchange.changes {
                        change += self.cost(node, (loads[node] + rate * more).max(0.0)) - models[node].cost;
                        touched += models[node].cost;
                    }
                    // Not for what may be rounding.
                    if change < best.as_ref().map_or(-1e-9 * touched, |best| best.0) {
                        best = Some((change, exchange));
                    }
                }
                let Some((change, exchange)) = best else { continue };
                for &(node, more) in &exchange.changes {
                    loads[node] = (loads[node] + rate * more).max(0.0);
                    models[node] = self.model(node, loads[node]);
                }
                demand.nodes[cells.clone()].copy_from_slice(&exchange.nodes);
                weights[cells].copy_from_slice(&exchange.weights);
                won -= change;
            }
        }
    }

    fn model(&mut self, node: usize, load: f64) -> Model {
        let small = 1e-3 / self.services[node].mean();
        let (cost, slope) = self.look(node, load);
        let (_, after) = self.look(node, load + small);
        Model { cost, slope, bend: (after - slope) / small }
    }
}

/// A node's cost, and how it changes with the load.
struct Model {
    cost: f64,
    slope: f64,
    bend: f64,
}

impl Model {
    fn of(&self, more: f64) -> f64 {
        more * (self.slope + 0.5 * more * self.bend)
    }
}

/// Where a class lies, with which weights.
struct Lying<'a> {
    nodes: &'a [u32],
    weights: &'a [f64],
}

/// Where it could lie, and what each node's weight grows by.
struct Exchange {
    nodes: Vec<u32>,
    weights: Vec<f64>,
    changes: Vec<(usize, f64)>,
}

impl Lying<'_> {
    fn exchanged(&self, at: usize, new: u32, by: &[f64], k: f64) -> Exchange {
        let mut nodes = self.nodes.to_vec();
        nodes[at] = new;
        let wish: Vec<f64> = nodes.iter().map(|&node| by[node as usize]).collect();
        let mut weights = vec![0.0; wish.len()];
        in_proportion(&wish, k, &mut weights);
        let mut changes = vec![(self.nodes[at] as usize, -self.weights[at])];
        for (other, &node) in nodes.iter().enumerate() {
            let before = if other == at { 0.0 } else { self.weights[other] };
            if weights[other] != before {
                changes.push((node as usize, weights[other] - before));
            }
        }
        Exchange { nodes, weights, changes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::Goal;
    use crate::weights::descent::Found;
    use crate::weights::descent::tests::problem;

    fn check(demand: &Demand, placed: &Placed) {
        for class in 0..demand.classes() {
            let cells = demand.cells_of(class);
            let mut nodes = placed.nodes[cells.clone()].to_vec();
            nodes.sort_unstable();
            nodes.dedup();
            assert_eq!(nodes.len(), cells.len(), "class {class}: {:?}", &placed.nodes[cells]);
            let weights = &placed.weights[cells];
            assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)), "{weights:?}");
            assert!((weights.iter().sum::<f64>() - demand.k[class]).abs() < 1e-9, "{weights:?}");
        }
    }

    #[test]
    fn classes_are_drawn_so_that_the_loads_come_out_as_wanted() {
        let problem = problem(0.5, 3.0, 200, 1);
        let demand = problem.demand();
        let rates: Vec<f64> = problem.services().iter().map(|service| 1.0 / service.mean()).collect();
        let wanted: Vec<f64> = rates.iter().map(|rate| rate * 0.5).collect();
        for seed in 0..5 {
            for rule in [Rule::Free, Rule::Share(&rates), Rule::Share(&[1.0; 8])] {
                let placed = draw(demand, &wanted, rule, seed);
                check(demand, &placed);
                let drawn = Demand { nodes: placed.nodes, ..demand.clone() };
                for (load, wanted) in drawn.loads(&placed.weights, 8).iter().zip(&wanted) {
                    assert!((load / wanted - 1.0).abs() < 0.02, "{load} {wanted}");
                }
            }
        }
    }

    #[test]
    fn unusual_shapes_are_drawn_too() {
        // One class, all nodes, a node that should have nothing, and one that can't get enough.
        for classes in [1, 2, 9] {
            let problem = problem(0.5, 3.0, classes, 1);
            let demand = problem.demand();
            let all = demand.requests();
            for wanted in [[all / 8.0; 8], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, all], [0.0; 8]] {
                for rule in [Rule::Free, Rule::Share(&[1.0; 8])] {
                    check(demand, &draw(demand, &wanted, rule, 1));
                }
            }
        }
    }

    #[test]
    fn a_round_of_matching_never_raises_the_cost_and_mostly_lowers_it() {
        let mut lowered = 0;
        for (load, x) in [(0.3, 6.0), (0.5, 12.0), (0.7, 30.0)] {
            for seed in 0..4 {
                let problem = problem(load, 3.0, 10, seed);
                let mut demand = problem.demand().clone();
                let services = problem.services();
                let weights = demand.by_rule(|node| 1.0 / services[node].mean());
                let aim = Aim::All(Goal::Tail { x });
                let before = Found::at(&demand, services, aim, weights.clone()).total;
                let mut moves = Moves::new(services, aim, u64::MAX);
                let moved = moves.rematch(&mut demand, &weights);
                let after = Found::at(&demand, services, aim, weights.clone()).total;
                assert!(after <= before, "{after} {before}");
                assert_eq!(moved, after < before);
                check(&demand, &Placed { nodes: demand.nodes.clone(), weights });
                lowered += u32::from(moved);
            }
        }
        assert!(lowered >= 10, "{lowered} of 12");
    }

    #[test]
    fn exchanges_lower_the_cost_and_keep_the_rule() {
        let problem = problem(0.6, 3.0, 30, 5);
        let services = problem.services();
        let by: Vec<f64> = services.iter().map(|service| 1.0 / service.mean()).collect();
        let mut demand = problem.demand().clone();
        let mut weights = demand.by_rule(|node| by[node]);
        let aim = Aim::All(Goal::Tail { x: 15.0 });
        let before = Found::at(&demand, services, aim, weights.clone()).total;
        let mut moves = Moves::new(services, aim, 1_000_000);
        moves.exchange(&mut demand, &mut weights, &by);
        let after = Found::at(&demand, services, aim, weights.clone()).total;
        assert!(after < 0.9 * before, "{after} {before}");
        assert_eq!(weights, demand.by_rule(|node| by[node]));
        check(&demand, &Placed { nodes: demand.nodes.clone(), weights });
    }
}
