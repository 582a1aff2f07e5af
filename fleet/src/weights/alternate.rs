//! The published scheme: t, weights and placement are improved in turn, each with the others held, until none gets better.

use alloc::vec::Vec;

use super::demand::Demand;
use super::descent::{Aim, Found, Until, descend};
use super::placing::Moves;
use crate::Service;
use crate::tail::{Goal, Method, tail_bound};

/// What was just improved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    Start,
    T,
    Weights,
    Placement,
}

/// Ends when a round of all turns is better by less than this part.
const SETTLED: f64 = 1e-12;
const ROUNDS: u32 = 400;

/// Improves weights, and where the classes lie if `moving`, for the bound at x, or for what `fixed` says in its place. `told` hears of each turn and
/// the sum of costs after it, which never rises.
pub(super) fn alternate(
    demand: &mut Demand,
    services: &[Service],
    goal: Goal,
    weights: Vec<f64>,
    moving: bool,
    mut told: impl FnMut(Turn, f64),
) -> Found {
    let mut found = Found::at(demand, services, Aim::All(goal), weights);
    let mut steps = 0;
    told(Turn::Start, found.total);
    for _ in 0..ROUNDS {
        if !found.total.is_finite() {
            break;
        }
        let before = found.total;
        let places = demand.nodes.clone();
        let goals = at_best_t(services, goal, &found);
        let aim = Aim::Each(&goals);
        let held = Found::at(demand, services, aim, found.weights.clone());
        told(Turn::T, held.total);
        let mut weights =
            descend(demand, services, aim, held.weights.clone(), Until { gap: 1e-11, steps: 100 });
        steps += weights.steps;
        told(Turn::Weights, weights.total);
        if moving {
            let mut moves = Moves::new(services, aim, u64::MAX);
            if moves.rematch(demand, &weights.weights) {
                weights = Found::at(demand, services, aim, weights.weights);
                told(Turn::Placement, weights.total);
            }
        }
        let next = Found::at(demand, services, Aim::All(goal), weights.weights);
        if next.total < found.total {
            found = next;
        } else {
            demand.nodes = places;
        }
        if found.total >= before * (1.0 - SETTLED) {
            break;
        }
    }
    found.steps = steps;
    found
}

/// The t that is best for each node as it is loaded now. Where bound 2 is better, or there is no t, its own parameter stays free.
fn at_best_t(services: &[Service], goal: Goal, found: &Found) -> Vec<Goal> {
    services
        .iter()
        .zip(&found.loads)
        .map(|(service, &load)| match goal {
            Goal::Tail { x } => {
                let bound = tail_bound(service, load, x);
                match bound.method {
                    Method::Chernoff if bound.t > 0.0 => Goal::TailAt { x, t: bound.t },
                    _ => goal,
                }
            }
            Goal::Mean | Goal::TailAt { .. } => goal,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::descent::tests::problem;

    #[test]
    fn no_turn_raises_the_objective_and_each_kind_of_turn_lowers_it() {
        let mut fell = [false; 4];
        for (load, x) in [(0.3, 8.0), (0.5, 15.0), (0.7, 30.0)] {
            for seed in 0..3 {
                let problem = problem(load, 3.0, 12, seed);
                let services = problem.services();
                let mut demand = problem.demand().clone();
                let start = demand.by_rule(|node| 1.0 / services[node].mean());
                let mut before = f64::INFINITY;
                let goal = Goal::Tail { x };
                let found = alternate(&mut demand, services, goal, start, true, |turn, total| {
                    assert!(total <= before * (1.0 + 1e-11), "{turn:?}: {total} after {before}");
                    fell[turn as usize] |= total < before * (1.0 - 1e-6);
                    before = total;
                });
                // The weights are those of where the classes lie now.
                let again = Found::at(&demand, services, Aim::All(goal), found.weights);
                assert_eq!(again.total, found.total);
            }
        }
        assert_eq!(fell, [true; 4]);
    }
}
