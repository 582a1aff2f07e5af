//! The search for the best weights with a given placement.
//!
//! What is minimised depends on the nodes' loads alone. Each step moves every class against the logarithms of its nodes' prices (the derivatives of the
//! cost by the load, t held at its best: the envelope), back onto {0 <= p <= 1, sum p = k}, and then goes along that direction as far as the cost falls.
//!
//! Logarithms, as tails are about exponential in the load: prices of nodes differ by orders of magnitude, and what equals out their logarithms is
//! nearly linear. A class's weights fall on nodes whose price is above one that all its nodes share, and rise on the others: so the cost falls.

use alloc::vec::Vec;

use super::demand::Demand;
use super::shares::{cheapest, project};
use crate::Service;
use crate::tail::{Cost, Goal, cost};

/// What is minimised: the sum over all nodes.
#[derive(Clone, Copy)]
pub(super) enum Aim<'a> {
    /// One goal for all nodes.
    All(Goal),
    /// A goal for each node.
    Each(&'a [Goal]),
}

impl Aim<'_> {
    fn goal(self, node: usize) -> Goal {
        match self {
            Self::All(goal) => goal,
            Self::Each(goals) => goals[node],
        }
    }

    pub(super) fn cost(self, services: &[Service], node: usize, load: f64, near: Option<f64>) -> Cost {
        cost(&services[node], load.max(0.0), self.goal(node), near)
    }
}

/// When a search ends: also where the last [`PATIENCE`] steps won less than [`WORTH`] of the cost, far below what plans are compared by. Many small
/// classes take long to bring the gap itself down, when the cost is long as low as it gets.
#[derive(Clone, Copy)]
pub(super) struct Until {
    /// No weights nearby can be better by more than this part of the cost.
    pub(super) gap: f64,
    pub(super) steps: u32,
}

const PATIENCE: u32 = 10;
const WORTH: f64 = 1e-10;
/// The shortest step that is tried, where the one that a quadratic cost would want is 1.
const SHORTEST: f64 = 1e-4;

/// Weights, and what they cost.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) weights: Vec<f64>,
    pub(super) loads: Vec<f64>,
    pub(super) costs: Vec<Cost>,
    /// The sum of the costs; infinite if a node is overloaded.
    pub(super) total: f64,
    pub(super) steps: u32,
}

impl Found {
    /// What weights cost.
    pub(super) fn at(demand: &Demand, services: &[Service], aim: Aim<'_>, weights: Vec<f64>) -> Self {
        let loads = demand.loads(&weights, services.len());
        let costs: Vec<Cost> =
            loads.iter().enumerate().map(|(node, &load)| aim.cost(services, node, load, None)).collect();
        let total = sum(&costs);
        Self { weights, loads, costs, total, steps: 0 }
    }
}

fn sum(costs: &[Cost]) -> f64 {
    let total: f64 = costs.iter().map(|cost| cost.cost).sum();
    if total.is_nan() { f64::INFINITY } else { total }
}

/// Steps down from weights, which no node's cost may be infinite for. The total never rises.
pub(super) fn descend(
    demand: &Demand,
    services: &[Service],
    aim: Aim<'_>,
    weights: Vec<f64>,
    until: Until,
) -> Found {
    let mut found = Found::at(demand, services, aim, weights);
    let reach = demand.reach(services.len());
    let mut step = 1.0_f64;
    let mut milestone = f64::INFINITY;
    while found.steps < until.steps && found.total.is_finite() {
        if room(demand, &found) <= until.gap * found.total {
            break;
        }
        let slopes = slopes(services, aim, &found, &reach);
        let Some((next, part)) = try_step(demand, services, aim, &found, &slopes, step) else {
            // A shorter step is a truer one, down to where rounding decides.
            step *= 0.1;
            if step < SHORTEST {
                break;
            }
            found.steps += 1;
            continue;
        };
        found = next;
        if found.steps.is_multiple_of(PATIENCE) {
            if found.total >= milestone * (1.0 - WORTH) {
                break;
            }
            milestone = found.total;
        }
        if part >= 1.0 {
            step = (step * 2.0).min(1e3);
        } else if part < 0.3 {
            step *= 0.5;
        }
    }
    found
}

/// How much lower the linear model of the cost gets anywhere: where the cost is convex, no weights are better by more (M. Frank and P. Wolfe, "An
/// Algorithm for Quadratic Programming", 1956).
fn room(demand: &Demand, found: &Found) -> f64 {
    let now: f64 = found.loads.iter().zip(&found.costs).map(|(load, cost)| load * cost.slope).sum();
    let least = least_at_prices(demand, |node| found.costs[node].slope);
    (now - least).max(0.0)
}

/// The least that any weights cost if each request costs its node's price.
pub(super) fn least_at_prices(demand: &Demand, price: impl Fn(usize) -> f64) -> f64 {
    let mut prices = Vec::new();
    let mut least = 0.0;
    for class in 0..demand.classes() {
        prices.clear();
        prices.extend(demand.nodes_of(class).iter().map(|&node| price(node as usize)));
        least += demand.rates[class] * cheapest(&mut prices, demand.k[class]);
    }
    least
}

/// The logarithm of a node's price, and how far the weights on it move for that to fall by one, if all classes on the node move alike.
#[derive(Clone, Copy)]
struct Slope {
    log_price: f64,
    give: f64,
}

fn slopes(services: &[Service], aim: Aim<'_>, found: &Found, reach: &[f64]) -> Vec<Slope> {
    let slope = |node: usize| {
        let (now, load) = (found.costs[node], found.loads[node]);
        let able = 1.0 / services[node].mean();
        let room = (able - load).max(1e-9 * able);
        let small = (1e-4 * able).min(0.01 * room);
        let (other, apart) = match aim.cost(services, node, load + small, Some(now.t)) {
            more if more.slope.is_finite() => (more, small),
            _ => (aim.cost(services, node, load - small, Some(now.t)), -small.min(load)),
        };
        let log_price = libm::log(now.slope.max(f64::MIN_POSITIVE));
        let rise = (libm::log(other.slope.max(f64::MIN_POSITIVE)) - log_price) / apart;
        // Where the price hardly rises, as in a tail that is certain anyway: as if by a hundredth over the node's capacity.
        let rise = if rise.is_finite() { rise.max(1e-2 / able) } else { 1.0 / able };
        // Nothing lies on a node that is not in reach.
        let give = if reach[node] > 0.0 { 1.0 / (reach[node] * rise) } else { 1.0 };
        Slope { log_price, give: give.clamp(1e-12, 1e12) }
    };
    (0..reach.len()).map(slope).collect()
}

fn try_step(
    demand: &Demand,
    services: &[Service],
    aim: Aim<'_>,
    found: &Found,
    slopes: &[Slope],
    step: f64,
) -> Option<(Found, f64)> {
    let mut target = found.weights.clone();
    let mut give = Vec::new();
    for class in 0..demand.classes() {
        let cells = demand.cells_of(class);
        give.clear();
        let mut mean = 0.0;
        for (&node, weight) in demand.nodes[cells.clone()].iter().zip(&target[cells.clone()]) {
            let slope = slopes[node as usize];
            give.push(slope.give);
            mean += weight * slope.log_price;
        }
        // Only differences between prices matter; small ones keep their digits.
        mean /= demand.k[class];
        for (&node, weight) in demand.nodes[cells.clone()].iter().zip(&mut target[cells.clone()]) {
            let slope = slopes[node as usize];
            *weight -= step * (slope.log_price - mean) * slope.give;
        }
        project(&mut target[cells], &give, demand.k[class]);
    }
    let mut direction = demand.loads(&target, services.len());
    for (direction, load) in direction.iter_mut().zip(&found.loads) {
        *direction -= load;
    }
    let along = Line { services, aim, found, direction: &direction };
    let (part, _) = along.lowest()?;
    for (target, weight) in target.iter_mut().zip(&found.weights) {
        *target = if part >= 1.0 { *target } else { (weight + part * (*target - weight)).clamp(0.0, 1.0) };
    }
    let loads = demand.loads(&target, services.len());
    let mut costs = found.costs.clone();
    for (node, cost) in costs.iter_mut().enumerate() {
        *cost = aim.cost(services, node, loads[node], Some(cost.t));
    }
    let total = sum(&costs);
    // Not so by more than rounding.
    (total < found.total)
        .then_some((Found { weights: target, loads, costs, total, steps: found.steps + 1 }, part))
}

/// The cost along a direction in the nodes' loads.
struct Line<'a> {
    services: &'a [Service],
    aim: Aim<'a>,
    found: &'a Found,
    direction: &'a [f64],
}

impl Line<'_> {
    /// The cost at a part of the way, and its derivative. Infinite where a node is overloaded.
    fn at(&self, part: f64, costs: &mut [Cost]) -> (f64, f64) {
        let mut rise = 0.0;
        for (node, cost) in costs.iter_mut().enumerate() {
            let direction = self.direction[node];
            if direction == 0.0 {
                continue;
            }
            let load = self.found.loads[node] + part * direction;
            let near = if cost.t.is_finite() { cost.t } else { self.found.costs[node].t };
            *cost = self.aim.cost(self.services, node, load, Some(near));
            if !cost.cost.is_finite() {
                *cost = self.found.costs[node];
                return (f64::INFINITY, f64::INFINITY);
            }
            rise += cost.slope * direction;
        }
        let total = sum(costs);
        (total, if rise.is_nan() { f64::INFINITY } else { rise })
    }

    /// How far to go for the lowest cost, from 0 to 1, and that cost. `None` if it does not fall.
    fn lowest(&self) -> Option<(f64, f64)> {
        let falls: f64 =
            self.found.costs.iter().zip(self.direction).map(|(cost, direction)| cost.slope * direction).sum();
        if falls.is_nan() || falls >= 0.0 {
            return None;
        }
        let mut costs = self.found.costs.clone();
        let (total, rise) = self.at(1.0, &mut costs);
        if total < self.found.total && rise <= 0.0 {
            return Some((1.0, total));
        }
        let mut best = (0.0, self.found.total);
        if total < best.1 {
            best = (1.0, total);
        }
        // The derivative is below 0 at `low` and not at `high`.
        let mut low = (0.0, falls);
        let mut high = (1.0, rise);
        let mut halved = 0_u32;
        for _ in 0..60 {
            let width = high.0 - low.0;
            let crossing = low.0 - low.1 * width / (high.1 - low.1);
            let part = if high.1.is_finite() && crossing > low.0 && crossing < high.0 && halved < 3 {
                crossing
            } else {
                halved = 0;
                f64::midpoint(low.0, high.0)
            };
            let (total, rise) = self.at(part, &mut costs);
            if total < best.1 {
                best = (part, total);
            }
            if rise.abs() <= 1e-3 * falls.abs() || width <= 1e-9 * high.0 {
                break;
            }
            if rise < 0.0 {
                low = (part, rise);
            } else {
                high = (part, rise);
            }
            // A secant that keeps one end for long is not getting anywhere.
            halved = if high.0 - low.0 > 0.5 * width { halved + 1 } else { 0 };
        }
        (best.0 > 0.0).then_some(best)
    }
}

/// What no weights can cost less than, by the loads and prices that a search ended with: each node's cost less its price for the load, at its least
/// anywhere, and the least that the prices add up to (Lagrange's dual, so it needs no convexity). `limits`: no node's load is above.
pub(super) fn lower_bound(
    demand: &Demand,
    services: &[Service],
    goal: Goal,
    found: &Found,
    limits: &[f64],
) -> f64 {
    let aim = Aim::All(goal);
    let reach = demand.reach(services.len());
    let mut bound = least_at_prices(demand, |node| found.costs[node].slope);
    for (node, (now, &load)) in found.costs.iter().zip(&found.loads).enumerate() {
        let less_price = |other: f64| {
            let cost = aim.cost(services, node, other, Some(now.t));
            (cost.cost - now.slope * other, cost.slope - now.slope)
        };
        let here = now.cost - now.slope * load;
        bound += here.min(least_of(less_price, limits[node].min(reach[node])));
    }
    if bound.is_nan() { 0.0 } else { bound.max(0.0) }
}

/// The least value from 0 to `most` of what is given with its derivative: at sixteenths of the way, and in each valley between two of them.
fn least_of(value: impl Fn(f64) -> (f64, f64), most: f64) -> f64 {
    const POINTS: u32 = 16;
    let mut least = f64::INFINITY;
    let mut before = (0.0, f64::INFINITY);
    for point in 0..=POINTS {
        let at = most * f64::from(point) / f64::from(POINTS);
        let (here, rise) = value(at);
        least = least.min(here);
        if before.1 < 0.0 && rise > 0.0 {
            let (mut low, mut high) = (before.0, at);
            for _ in 0..30 {
                let middle = f64::midpoint(low, high);
                let (here, rise) = value(middle);
                least = least.min(here);
                if rise < 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
        }
        before = (at, rise);
    }
    least
}

#[cfg(test)]
pub(super) mod tests {
    use std::vec;

    use proptest::prelude::*;

    use super::*;
    use crate::weights::Problem;

    /// Nodes with mean rates from 1 to `spread`, and classes of (5, 3) at random on them.
    pub(in crate::weights) fn problem(load: f64, spread: f64, classes: usize, seed: u64) -> Problem {
        let rate = |node: u32| 1.0 + (spread - 1.0) * f64::from(node) / 7.0;
        let services =
            (0..8).map(|node| Service::shifted_exponential(0.3 / rate(node), 0.7 / rate(node)).unwrap());
        let able: f64 = (0..8).map(rate).sum();
        let asked: Vec<_> = (0..classes)
            .map(|class| (load * able / 3.0 / classes as f64 * (0.5 + (class % 3) as f64 / 2.0), 5, 3))
            .collect();
        Problem::placed_at_random(services.collect(), &asked, seed).unwrap()
    }

    const UNTIL: Until = Until { gap: 1e-7, steps: 400 };

    #[test]
    fn no_step_raises_the_cost() {
        for load in [0.3, 0.6] {
            let problem = problem(load, 3.0, 20, 1);
            let (demand, services) = (problem.demand(), problem.services());
            let aim = Aim::All(Goal::Tail { x: 12.0 });
            let start = demand.by_rule(|node| 1.0 / services[node].mean());
            let mut before = f64::INFINITY;
            for steps in 0..40 {
                let found = descend(demand, services, aim, start.clone(), Until { gap: 0.0, steps });
                assert!(found.total <= before, "{} after {steps} steps, {before} before", found.total);
                before = found.total;
            }
        }
    }

    #[test]
    fn all_starts_end_at_the_same_cost_and_loads() {
        let problem = problem(0.4, 2.0, 20, 2);
        let (demand, services) = (problem.demand(), problem.services());
        let aim = Aim::All(Goal::Tail { x: 15.0 });
        let end = |wish: &dyn Fn(usize) -> f64| descend(demand, services, aim, demand.by_rule(wish), UNTIL);
        let first = end(&|node| 1.0 / services[node].mean());
        for other in
            [end(&|_| 1.0), end(&|node| node as f64 + 6.0), end(&|node| ((node * 5) % 8) as f64 + 6.0)]
        {
            assert!(other.total.is_finite());
            assert!((other.total / first.total - 1.0).abs() < 1e-8, "{} {}", other.total, first.total);
            for (a, b) in other.loads.iter().zip(&first.loads) {
                assert!((a - b).abs() < 1e-4 * b, "{a} {b}");
            }
        }
    }

    #[test]
    fn the_lower_bound_holds_where_the_cost_is_not_convex() {
        // Two nodes alike, in balance: by the prices no step wins anything. But the busier of two is better bounded by bound 2, the other by bound 1.
        let services = vec![Service::exponential(1.0).unwrap(); 2];
        let demand = Demand { rates: vec![1.42], k: vec![1.0], begins: vec![0, 2], nodes: vec![0, 1] };
        let goal = Goal::Tail { x: 12.0 };
        let at = |weights| Found::at(&demand, &services, Aim::All(goal), weights);
        let (even, uneven) = (at(vec![0.5, 0.5]), at(vec![0.528, 0.472]));
        assert!(
            room(&demand, &even) < 1e-9 && uneven.total < 0.96 * even.total,
            "{} {}",
            even.total,
            uneven.total
        );
        let least = lower_bound(&demand, &services, goal, &even, &[0.98, 0.98]);
        assert!(least <= uneven.total, "{least} {}", uneven.total);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_weights_cost_less_than_the_lower_bound(
            load in 0.2..0.9_f64,
            spread in 1.0..5.0_f64,
            x in 1.0..40.0_f64,
            steps in 0..20_u32,
            seed in any::<u64>(),
            wishes in prop::collection::vec(0.05..1.0_f64, 40),
        ) {
            let problem = problem(load, spread, 8, seed);
            let (demand, services) = (problem.demand(), problem.services());
            let goal = Goal::Tail { x };
            let limits: Vec<f64> = services.iter().map(|service| 0.98 / service.mean()).collect();
            let start = demand.by_rule(|node| 1.0 / services[node].mean());
            let found = descend(demand, services, Aim::All(goal), start, Until { gap: 0.0, steps });
            if found.total.is_finite() {
                let least = lower_bound(demand, services, goal, &found, &limits);
                prop_assert!(least <= found.total * (1.0 + 1e-9));
                // Others: what the search finds from anywhere, and what chance says.
                for begin in [vec![1.0; 40], wishes] {
                    let mut weights = vec![0.0; 40];
                    for class in 0..8 {
                        let cells = demand.cells_of(class);
                        crate::weights::shares::in_proportion(&begin[cells.clone()], 3.0, &mut weights[cells]);
                    }
                    let other = descend(demand, services, Aim::All(goal), weights, UNTIL);
                    let holds = other.loads.iter().zip(&limits).all(|(load, limit)| load <= limit);
                    prop_assert!(!holds || other.total >= least * (1.0 - 1e-6), "{} {least}", other.total);
                }
            }
        }
    }
}
