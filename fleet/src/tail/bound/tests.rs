use std::vec::Vec;

use super::super::Service;
use super::{Goal, Method, chernoff_at, cost, mean_sojourn, tail_bound, transform_at};

fn laws() -> Vec<Service> {
    [
        Service::exponential(2.0),
        Service::shifted_exponential(0.6, 1.4),
        Service::shifted_exponential(0.1, 4.0),
        Service::shifted_exponential(5.0, 0.01),
        Service::gamma(0.4, 3.0),
        Service::gamma(1.0, 3.0),
        Service::gamma(2.0, 1.0),
        Service::gamma(60.0, 0.5),
        Service::histogram(&[(1.5, 1)]),
        Service::histogram(&[(0.5, 10), (1.0, 20), (2.0, 7), (9.0, 1)]),
        Service::pareto(1.0, 1.3),
        Service::pareto(0.5, 2.0),
        Service::pareto(0.5, 2.5),
        Service::pareto(2.0, 6.0),
    ]
    .into_iter()
    .map(Result::unwrap)
    .collect()
}

fn light() -> impl Iterator<Item = Service> {
    laws().into_iter().filter(|law| law.mgf_end() > 0.0)
}

#[test]
fn with_exponential_service_the_best_t_is_the_published_one() {
    for (mean, load, depth) in [(1.0, 0.5, 3.0), (0.01, 0.9, 1.5), (40.0, 0.05, 20.0), (7.0, 0.99, 600.0)] {
        let service = Service::exponential(mean).unwrap();
        let (capacity, rate) = (1.0 / mean, load / mean);
        let x = depth / (capacity - rate);
        let bound = tail_bound(&service, rate, x);
        let best = capacity - rate - 1.0 / x;
        // At depth 1.5 the other bound is lower.
        let t = if bound.method == Method::Chernoff {
            bound.t
        } else {
            super::chernoff(&service, rate, x, mean_sojourn(&service, rate), None).t
        };
        assert!((t / best - 1.0).abs() < 1e-7, "{t} for {best}");
        let least = depth * libm::exp(1.0 - depth);
        let found = chernoff_at(&service, rate, x, t).value;
        assert!((found / least - 1.0).abs() < 1e-9, "{found} for {least}");
    }
}

#[test]
fn no_other_t_gives_a_lower_bound() {
    for service in laws() {
        for load in [0.0, 0.01, 0.3, 0.7, 0.95] {
            let rate = load / service.mean();
            for depth in [0.2, 0.9, 1.0, 1.1, 2.0, 5.0, 20.0] {
                let x = depth * mean_sojourn(&service, rate).min(50.0 * service.mean());
                let bound = tail_bound(&service, rate, x);
                assert!(bound.probability <= 1.0);
                for step in 0..400 {
                    let t = libm::exp(-9.0 + 0.04 * f64::from(step)) / x;
                    for other in [chernoff_at(&service, rate, x, t), transform_at(&service, rate, x, t)] {
                        let less = other.value < bound.probability * (1.0 - 1e-9) - 1e-300;
                        assert!(
                            !less,
                            "{service:?}, load {load}, x {x}: {bound:?}, but {} at {t}",
                            other.value
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn where_the_search_begins_does_not_matter() {
    for service in laws() {
        let mean = service.mean();
        for load in [0.1, 0.6, 0.9] {
            for depth in [0.5, 2.0, 10.0] {
                let (rate, x) = (load / mean, depth * mean / (1.0 - load));
                let cold = cost(&service, rate, Goal::Tail { x }, None);
                for near in [
                    0.0,
                    1e-9 / x,
                    0.5 * cold.t,
                    cold.t,
                    1.001 * cold.t,
                    2.0 * cold.t,
                    1e9,
                    f64::MAX,
                    f64::NAN,
                    -1.0,
                ] {
                    let warm = cost(&service, rate, Goal::Tail { x }, Some(near));
                    let same = (warm.cost / cold.cost - 1.0).abs() < 1e-9
                        && (warm.slope / cold.slope - 1.0).abs() < 1e-4;
                    assert!(same, "{service:?}, load {load}, x {x}, near {near}: {warm:?}, {cold:?}");
                }
            }
        }
    }
}

#[test]
fn the_slope_is_the_derivative_of_the_cost() {
    for service in laws() {
        let mean = service.mean();
        for load in [0.001, 0.1, 0.6, 0.9] {
            for depth in [0.5, 2.0, 10.0] {
                let (rate, x) = (load / mean, depth * mean / (1.0 - load));
                let t = 0.1 / x;
                for goal in [Goal::Mean, Goal::Tail { x }, Goal::TailAt { x, t }] {
                    let by = 1e-5 * rate * (1.0 - load);
                    let [low, here, high] =
                        [rate - by, rate, rate + by].map(|rate| cost(&service, rate, goal, None));
                    if here.cost == f64::INFINITY {
                        continue;
                    }
                    let slope = (high.cost - low.cost) / (2.0 * by);
                    let near = (slope / here.slope - 1.0).abs() < 2e-4;
                    // Where one bound passes the other, the slope jumps.
                    let jumps = (high.t / low.t - 1.0).abs() > 0.1;
                    assert!(near || jumps, "{service:?}, load {load}, {goal:?}: {here:?}, but {slope}");
                }
            }
        }
    }
}

#[test]
fn at_rate_nought_a_cost_is_nought_and_its_slope_the_bound_on_the_service_alone() {
    for service in light() {
        let x = 3.0 * service.mean();
        let least = cost(&service, 0.0, Goal::Tail { x }, None);
        assert_eq!(least.cost, 0.0);
        assert_eq!(least.slope, tail_bound(&service, 0.0, x).probability);
        let next = cost(&service, 1e-9 / service.mean(), Goal::Tail { x }, None).slope;
        assert!((least.slope - next).abs() <= 1e-4 * next + 1e-7, "{service:?}: {} and {next}", least.slope);
    }
}

#[test]
fn too_much_load_costs_without_end() {
    for service in laws() {
        for rate in [1.0 / service.mean(), 2.0 / service.mean(), f64::INFINITY, f64::NAN] {
            for goal in [Goal::Mean, Goal::Tail { x: 5.0 }, Goal::TailAt { x: 5.0, t: 1e-9 }] {
                assert_eq!(
                    cost(&service, rate, goal, None).cost,
                    f64::INFINITY,
                    "{service:?} {rate} {goal:?}"
                );
            }
            assert_eq!(tail_bound(&service, rate, 5.0).probability, f64::INFINITY);
            assert_eq!(mean_sojourn(&service, rate), f64::INFINITY);
        }
    }
}

#[test]
fn the_published_condition_says_where_bound_1_exists() {
    for (shift, mean) in [(0.0, 1.0), (0.3, 0.7), (12.0, 0.5), (0.01, 30.0)] {
        let service = Service::shifted_exponential(shift, mean).unwrap();
        let alpha = 1.0 / mean;
        for load in [0.05, 0.3, 0.6, 0.9] {
            let rate = load / service.mean();
            let mut both = [0, 0];
            for step in 1..2_000 {
                let t = alpha * f64::from(step) / 2_000.0;
                let published = t * (t - alpha + rate) + rate * alpha * libm::expm1(shift * t);
                if published.abs() < 1e-9 * alpha * t {
                    continue;
                }
                let exists = chernoff_at(&service, rate, 3.0, t).value < f64::INFINITY;
                assert_eq!(exists, published < 0.0, "shift {shift}, mean {mean}, load {load}, t {t}");
                both[usize::from(exists)] += 1;
            }
            assert!(both.iter().all(|&count| count > 0), "{both:?}");
        }
    }
}

#[test]
fn at_t_nought_the_bounds_are_one_and_markovs() {
    let service = Service::shifted_exponential(0.3, 0.7).unwrap();
    let mean = mean_sojourn(&service, 0.5);
    for t in [1e-5, 1e-8, 1e-11, 1e-14] {
        let one = chernoff_at(&service, 0.5, 9.0, t).value;
        assert!((one - 1.0).abs() < 10.0 * t, "{t}: {one}");
        let markov = transform_at(&service, 0.5, 9.0, t).value;
        assert!((markov - mean / 9.0).abs() < 10.0 * t + 1e-12, "{t}: {markov}");
    }
    assert_eq!(tail_bound(&service, 0.5, 0.0).probability, 1.0);
    assert_eq!(tail_bound(&service, 0.5, -3.0).probability, 1.0);
    assert!(tail_bound(&service, 0.5, 0.9 * mean).probability < 1.0);
}

#[test]
fn where_the_bound_is_low_the_cost_is_convex_in_the_rate() {
    for service in laws() {
        let mean = service.mean();
        for x in [3.0, 8.0, 30.0, 200.0] {
            let x = x * mean;
            let by = 0.004 / mean;
            let mut slope = 0.0;
            let mut method = None;
            for step in 0..240 {
                let rate = by * f64::from(step);
                let bound = tail_bound(&service, rate, x);
                if bound.probability > 0.25 || *method.get_or_insert(bound.method) != bound.method {
                    break;
                }
                let next = cost(&service, rate, Goal::Tail { x }, None).slope;
                assert!(
                    next >= slope * (1.0 - 1e-6),
                    "{service:?}, x {x}, rate {rate}: {next} after {slope}"
                );
                slope = next;
            }
        }
    }
}
