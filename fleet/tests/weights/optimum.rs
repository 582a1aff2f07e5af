//! The optimum is that of solvers that share no code with the search.

use hedgerow_fleet::{Class, Options, Placing, Policy, Problem, Scheme, Service, Sharing, plan, tail_bound};

use crate::{alike, check, linear, made, random, services};

/// An independent solver: two nodes of a class exchange probability, by golden section, one pair after the other, until no pair wins anything.
struct Exchanges<'a> {
    problem: &'a Problem,
    x: f64,
    weights: Vec<f64>,
    loads: Vec<f64>,
}

impl<'a> Exchanges<'a> {
    fn from(problem: &'a Problem, x: f64, weights: Vec<f64>) -> Self {
        let mut loads = vec![0.0; problem.services().len()];
        for class in 0..problem.classes() {
            for (&node, weight) in problem.nodes_of(class).iter().zip(&weights[problem.cells_of(class)]) {
                loads[node as usize] += problem.rate_of(class) * weight;
            }
        }
        Self { problem, x, weights, loads }
    }

    fn cost(&self, node: usize, load: f64) -> f64 {
        load * tail_bound(&self.problem.services()[node], load, self.x).probability
    }

    fn objective(&self) -> f64 {
        let total: f64 = (0..self.loads.len()).map(|node| self.cost(node, self.loads[node])).sum();
        total / (0..self.problem.classes()).map(|class| self.problem.rate_of(class)).sum::<f64>()
    }

    fn pair(&mut self, rate: f64, (from, a): (usize, usize), (to, b): (usize, usize)) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let (low, high) = (self.weights[from], self.weights[to]);
        let (mut left, mut right) = (-low.min(1.0 - high), high.min(1.0 - low));
        // What goes over from `to` to `from`.
        let at = |moved: f64| {
            self.cost(a, self.loads[a] + rate * moved) + self.cost(b, self.loads[b] - rate * moved)
        };
        let whole = right - left;
        for _ in 0..45 {
            let (near, far) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
            if at(near) < at(far) {
                right = far;
            } else {
                left = near;
            }
            if right - left < 1e-9 * whole {
                break;
            }
        }
        let moved = f64::midpoint(left, right);
        let won = at(0.0) - at(moved);
        if won <= 0.0 {
            return 0.0;
        }
        self.weights[from] = (low + moved).clamp(0.0, 1.0);
        self.weights[to] = (high - moved).clamp(0.0, 1.0);
        self.loads[a] += rate * moved;
        self.loads[b] -= rate * moved;
        won
    }

    fn run(mut self) -> Self {
        for _ in 0..3000 {
            let mut won = 0.0;
            for class in 0..self.problem.classes() {
                let cells = self.problem.cells_of(class);
                let nodes: Vec<usize> =
                    self.problem.nodes_of(class).iter().map(|&node| node as usize).collect();
                for one in 0..nodes.len() {
                    for two in one + 1..nodes.len() {
                        let rate = self.problem.rate_of(class);
                        let pairs = ((cells.start + one, nodes[one]), (cells.start + two, nodes[two]));
                        won += self.pair(rate, pairs.0, pairs.1);
                    }
                }
            }
            let total: f64 = (0..self.loads.len()).map(|node| self.cost(node, self.loads[node])).sum();
            if won < 1e-13 * total {
                break;
            }
        }
        self
    }
}

#[test]
fn the_optimum_is_that_of_an_independent_solver_from_every_start() {
    for (nodes, spread, load, classes, (n, k), x) in [
        (5, 3.0, 0.4, 4, (3, 2), 700.0),
        (6, 2.0, 0.5, 5, (4, 2), 900.0),
        (7, 5.0, 0.3, 6, (4, 3), 500.0),
        (6, 1.0, 0.6, 4, (4, 3), 1500.0),
        (8, 3.0, 0.6, 6, (5, 3), 1500.0),
    ] {
        let rates = linear(nodes, spread);
        let problem = random(&rates, load, classes, (n, k), 3);
        let options = Options::new(x);
        let best = made(&problem, Sharing::Optimised, Placing::AsGiven, &options);
        check(&best);
        let gap = best.gap.unwrap();
        assert!(gap < 1e-5, "{gap}");
        let mut begun = 0;
        for sharing in [Sharing::Equal, Sharing::Proportional, Sharing::Optimised] {
            let start = made(&problem, sharing, Placing::AsGiven, &options);
            let solved = Exchanges::from(&problem, best.x_fit, start.weights).run();
            let objective = solved.objective();
            begun += u32::from(start.objective > objective * 1.01);
            assert!(
                (objective / best.objective - 1.0).abs() < 1e-6,
                "{sharing:?}: {objective} {}",
                best.objective
            );
            assert!(objective >= best.objective * (1.0 - gap));
            for (load, of_plan) in solved.loads.iter().zip(&best.loads) {
                assert!(alike(*load, *of_plan, 1e-4), "{sharing:?}: {load} {of_plan}");
            }
        }
        assert!(begun > 0, "no start was away from the optimum");
    }
}

#[test]
fn nodes_of_all_kinds_of_laws_are_planned_for_together() {
    let laws = [
        Service::shifted_exponential(10.0, 30.0),
        Service::gamma(2.0, 50.0),
        Service::gamma(0.7, 60.0),
        Service::pareto(20.0, 2.5),
        Service::pareto(15.0, 1.6),
        Service::histogram(&[(30.0, 10), (60.0, 5), (200.0, 1)]),
    ];
    let laws: Vec<Service> = laws.into_iter().map(|law| law.unwrap()).collect();
    for x in [1000.0, 5000.0] {
        let problem = Problem::placed_at_random(laws.clone(), &[(0.005, 4, 2); 6], 1).unwrap();
        let options = Options::new(x);
        let best = made(&problem, Sharing::Optimised, Placing::AsGiven, &options);
        check(&best);
        for sharing in [Sharing::Equal, Sharing::Proportional, Sharing::Optimised] {
            let start = made(&problem, sharing, Placing::AsGiven, &options);
            let solved = Exchanges::from(&problem, best.x_fit, start.weights).run().objective();
            assert!(
                best.objective <= solved * (1.0 + 1e-4),
                "x {x}, {sharing:?}: {} {solved}",
                best.objective
            );
            assert!(solved >= best.objective * (1.0 - best.gap.unwrap()), "{solved} {best:?}");
        }
    }
}

#[test]
fn both_schemes_agree_where_classes_lie_as_given() {
    for (spread, load, x) in [(3.0, 0.4, 700.0), (2.0, 0.7, 1500.0), (5.0, 0.5, 700.0)] {
        let problem = random(&linear(8, spread), load, 20, (5, 3), 2);
        let mut options = Options::new(x);
        let fast = made(&problem, Sharing::Optimised, Placing::AsGiven, &options);
        options.scheme = Scheme::Alternating;
        let alternating = made(&problem, Sharing::Optimised, Placing::AsGiven, &options);
        check(&alternating);
        assert!((fast.objective / alternating.objective - 1.0).abs() < 1e-6, "{fast:?} {alternating:?}");
        for (a, b) in fast.loads.iter().zip(&alternating.loads) {
            assert!(alike(*a, *b, 1e-4), "{a} {b}");
        }
    }
}

#[test]
fn both_schemes_place_within_a_hundredth_of_what_no_placement_can_beat() {
    let problem = random(&linear(8, 3.0), 0.5, 24, (5, 3), 2);
    for scheme in [Scheme::Fast, Scheme::Alternating] {
        let mut options = Options::new(700.0);
        options.scheme = scheme;
        let placed = made(&problem, Sharing::Optimised, Placing::Optimised, &options);
        check(&placed);
        let gap = placed.gap.unwrap();
        assert!(gap < 0.01, "{scheme:?}: {gap}");
    }
}

#[test]
fn few_classes_are_placed_nearly_as_well_as_by_trying_all_placements() {
    let choices: Vec<Vec<u32>> = (0..1_u32 << 5)
        .filter(|set| set.count_ones() == 3)
        .map(|set| (0..5).filter(|node| set >> node & 1 == 1).collect())
        .collect();
    for (load, spread, share, x) in
        [(0.4, 3.0, 0.5, 700.0), (0.3, 2.0, 0.7, 700.0), (0.5, 5.0, 0.6, 1200.0), (0.6, 1.0, 0.5, 1500.0)]
    {
        let rates = linear(5, spread);
        let all = load * rates.iter().sum::<f64>() / 2.0;
        let lying = |one: &[u32], two: &[u32]| {
            let class = |rate, nodes: &[u32]| Class { rate, k: 2, nodes: nodes.to_vec() };
            Problem::new(services(&rates), [class(all * share, one), class(all * (1.0 - share), two)])
                .unwrap()
        };
        let options = Options::new(x);
        let placed = made(&lying(&[0, 1, 2], &[0, 1, 2]), Sharing::Optimised, Placing::Optimised, &options);
        check(&placed);
        let mut best = f64::INFINITY;
        for one in &choices {
            for two in &choices {
                let policy = Policy { sharing: Sharing::Optimised, placing: Placing::AsGiven };
                if let Ok(plan) = plan(&lying(one, two), policy, &options) {
                    let reads: f64 = (0..2).map(|class| plan.problem.rate_of(class)).sum();
                    let total: f64 = (plan.loads.iter().zip(plan.problem.services()))
                        .map(|(&load, law)| load * tail_bound(law, load, placed.x_fit).probability)
                        .sum();
                    best = best.min(total / reads);
                }
            }
        }
        assert!(placed.objective <= best * 1.02, "{} {best}", placed.objective);
        assert!(best >= placed.objective * (1.0 - placed.gap.unwrap()) * (1.0 - 1e-6));
    }
}
