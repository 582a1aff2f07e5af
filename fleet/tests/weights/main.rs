//! Plans as a whole: against an independent solver, against every baseline, and against what is wrong with a problem.

mod baselines;
mod limits;
mod optimum;
mod plans;

use hedgerow_fleet::{Options, Placing, Plan, Policy, Problem, Service, Sharing, plan, tail_bound};

/// Shifted exponential nodes of these mean rates, 30 % of the mean as shift.
fn services(rates: &[f64]) -> Vec<Service> {
    rates.iter().map(|rate| Service::shifted_exponential(0.3 / rate, 0.7 / rate).unwrap()).collect()
}

/// `nodes` mean rates from 0.01 a millisecond to `spread` times that.
fn linear(nodes: usize, spread: f64) -> Vec<f64> {
    (0..nodes).map(|node| 0.01 * (1.0 + (spread - 1.0) * node as f64 / (nodes - 1) as f64)).collect()
}

/// Classes of (n, k) at random, all alike, that need this share of what the nodes can do.
fn random(rates: &[f64], load: f64, classes: usize, (n, k): (u32, u32), seed: u64) -> Problem {
    let able: f64 = rates.iter().sum();
    let asked = vec![(load * able / f64::from(k) / classes as f64, n, k); classes];
    Problem::placed_at_random(services(rates), &asked, seed).unwrap()
}

fn made(problem: &Problem, sharing: Sharing, placing: Placing, options: &Options) -> Plan {
    plan(problem, Policy { sharing, placing }, options).unwrap()
}

/// Weights, loads, the busiest node and the objective are what they should be.
fn check(plan: &Plan) {
    let problem = &plan.problem;
    let mut loads = vec![0.0; problem.services().len()];
    for class in 0..problem.classes() {
        let weights = &plan.weights[problem.cells_of(class)];
        assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)), "{weights:?}");
        let k = f64::from(problem.k_of(class));
        assert!((weights.iter().sum::<f64>() - k).abs() < 1e-9 * k, "{weights:?}");
        for (&node, weight) in problem.nodes_of(class).iter().zip(weights) {
            loads[node as usize] += problem.rate_of(class) * weight;
        }
        let units = plan.draw_weights(class);
        assert_eq!(
            units.iter().map(|&unit| u64::from(unit)).sum::<u64>(),
            u64::from(problem.k_of(class)) << 30
        );
        for (unit, weight) in units.iter().zip(weights) {
            assert!(*unit <= 1 << 30);
            assert!((f64::from(*unit) / f64::from(1 << 30) - weight).abs() < 1e-8, "{unit} {weight}");
        }
    }
    let mut busiest = 0.0_f64;
    for ((load, of_plan), service) in loads.iter().zip(&plan.loads).zip(problem.services()) {
        assert!((load - of_plan).abs() <= 1e-9 * load, "{load} {of_plan}");
        busiest = busiest.max(load * service.mean());
    }
    assert!((busiest - plan.busiest).abs() <= 1e-9 && busiest < 1.0);
    let bounds = problem.services().iter().zip(&plan.loads);
    let total: f64 = bounds.map(|(law, &load)| load * tail_bound(law, load, plan.x_fit).probability).sum();
    let reads: f64 = (0..problem.classes()).map(|class| problem.rate_of(class)).sum();
    // To what the best parameter of a bound is searched for.
    let objective = total / reads;
    assert!((objective - plan.objective).abs() <= 1e-9 * objective, "{objective}, {}", plan.objective);
    assert!(plan.capped.is_none_or(|cap| busiest <= cap * (1.0 + 1e-9)));
}

/// Two loads of a node that can serve 0.01 requests or more: the same to a part of them, or next to nothing both.
fn alike(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * b.max(1e-4)
}
