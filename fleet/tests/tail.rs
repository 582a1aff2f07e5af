//! Bounds and tails of single nodes, as a user of the crate sees them.

use hedgerow_fleet::{Method, Service, ServiceError, mean_sojourn, tail_bound, tail_exact};
use proptest::prelude::*;

#[test]
fn bound_2_holds_for_paretos_law_and_is_of_use_where_the_variance_is_infinite() {
    for index in [1.2, 1.4, 1.6, 1.8, 2.0, 2.3, 2.6, 3.0] {
        let service = Service::pareto(1.0, index).unwrap();
        for load in [0.05, 0.3, 0.6, 0.9] {
            let rate = load / service.mean();
            for x in [1.5, 5.0, 20.0, 100.0, 1e3, 1e5] {
                let x = x * service.mean();
                let (bound, exact) = (tail_bound(&service, rate, x), tail_exact(&service, rate, x));
                assert!(
                    exact <= bound.probability * (1.0 + 1e-9),
                    "{index} {load} {x}: {exact:e} above {bound:?}"
                );
                if bound.probability >= 1.0 {
                    continue;
                }
                assert_eq!(bound.method, Method::Transform);
                // Beyond index 2 it falls as 1 / x alone, and the tail faster.
                if index < 1.9 && load > 0.1 && bound.probability < 0.3 {
                    assert!(
                        bound.probability < 10.0 * exact,
                        "{index} {load} {x}: {exact:e} far below {bound:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn where_the_mean_is_next_to_infinite_the_bound_still_holds() {
    for beyond in [f64::EPSILON, 1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 1e-3] {
        let index = 1.0 + beyond;
        let service = Service::pareto(0.1, index).unwrap();
        for load in [0.0, 0.3, 0.9] {
            for x in [1e-4, 0.05, 0.2, 30.0, 1e6, 1e12, 1e15] {
                let rate = load / service.mean();
                let (bound, exact) = (tail_bound(&service, rate, x), tail_exact(&service, rate, x));
                let at = || format!("index 1 + {beyond:e}, load {load}, x {x}: {exact} and {bound:?}");
                assert!(exact <= bound.probability * (1.0 + 3e-9) && bound.probability <= 1.0, "{}", at());
                if load == 0.0 {
                    let should = if x < 0.1 { 1.0 } else { libm::pow(x / 0.1, -index) };
                    assert!((exact - should).abs() < 1e-9, "{}", at());
                }
            }
        }
    }
}

#[test]
fn beyond_index_2_bound_2_is_markovs_at_the_most() {
    for index in [2.1, 2.5, 3.0, 6.0] {
        let service = Service::pareto(1.0, index).unwrap();
        for x in [3.0, 30.0, 3e3] {
            let rate = 0.5 / service.mean();
            let markov = mean_sojourn(&service, rate) / x;
            let bound = tail_bound(&service, rate, x);
            assert!(bound.probability <= markov * (1.0 + 1e-12));
        }
    }
}

#[test]
fn the_tail_of_a_heavy_law_becomes_that_of_the_remaining_service() {
    // P(Q > x) / P(Y > x) tends to rho / (1 - rho), where Y is what is left of a service met at random.
    for (index, load) in [(1.5, 0.3), (1.5, 0.7), (1.2, 0.5), (2.5, 0.5)] {
        let service = Service::pareto(1.0, index).unwrap();
        let gap = |x: f64| {
            let left = libm::pow(x, 1.0 - index) / index;
            let limit = load / (1.0 - load) * left;
            (tail_exact(&service, load / service.mean(), x) / limit - 1.0).abs()
        };
        // The next term of the tail falls as slowly as the heavier of the first one and 1 / x.
        let falls = libm::pow(10.0, -(index - 1.0_f64).min(1.0));
        for x in [1e3, 1e4] {
            let (near, far) = (gap(x), gap(10.0 * x));
            assert!(far < near * falls * 1.5, "{index} {load} {x}: {near} and then {far}");
        }
    }
}

#[test]
fn the_mean_is_pollaczeks_and_khinchines() {
    let close = |is: f64, should: f64| assert!((is / should - 1.0).abs() < 1e-14, "{is} for {should}");
    let service = Service::exponential(0.5).unwrap();
    close(mean_sojourn(&service, 1.5), 1.0 / (2.0 - 1.5));
    let service = Service::histogram(&[(0.5, 3)]).unwrap();
    close(mean_sojourn(&service, 1.5), 0.5 + 0.75 * 0.5 / (2.0 * 0.25));
    let service = Service::gamma(4.0, 0.5).unwrap();
    close(mean_sojourn(&service, 1.5), 0.5 + 1.25 * 0.75 * 0.5 / (2.0 * 0.25));
    let heavy = Service::pareto(1.0, 1.5).unwrap();
    assert_eq!(mean_sojourn(&heavy, 0.1), f64::INFINITY);
    assert_eq!(mean_sojourn(&heavy, 0.0), 3.0);
    assert_eq!(mean_sojourn(&service, 2.0), f64::INFINITY);
}

#[test]
fn units_do_not_matter() {
    let laws = [
        Service::shifted_exponential(0.3, 0.7),
        Service::gamma(0.4, 1.0),
        Service::pareto(0.5, 1.7),
        Service::histogram(&[(0.25, 2), (1.0, 5), (4.0, 1)]),
    ];
    for service in laws.map(Result::unwrap) {
        for factor in [1e-9, 0.37, 1e6] {
            let other = service.slowed(factor).unwrap();
            for x in [0.8, 2.0, 9.0, 60.0] {
                let rate = 0.6 / service.mean();
                let (there_rate, there_x) = (rate / factor, x * factor);
                let (here, there) = (tail_bound(&service, rate, x), tail_bound(&other, there_rate, there_x));
                assert!((here.probability / there.probability - 1.0).abs() < 1e-8);
                let (here, there) = (tail_exact(&service, rate, x), tail_exact(&other, there_rate, there_x));
                assert!((here / there - 1.0).abs() < 1e-8, "{service:?} {factor} {x}: {here} {there}");
            }
        }
    }
}

/// Any number at all, and numbers that can mean something.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), (-30.0..30.0_f64).prop_map(libm::exp), 0.0..2.0_f64]
}

fn service() -> impl Strategy<Value = Result<Service, ServiceError>> {
    let bins = prop::collection::vec((number(), any::<u64>()), 0..6);
    let rising = prop::collection::vec((1e-6..2.0_f64, 0..9_u64), 1..9).prop_map(|bins| {
        let mut edge = 0.0;
        bins.into_iter()
            .map(|(more, count)| {
                edge += more;
                (edge, count)
            })
            .collect::<Vec<_>>()
    });
    prop_oneof![
        number().prop_map(Service::exponential),
        (number(), number()).prop_map(|(shift, mean)| Service::shifted_exponential(shift, mean)),
        (number(), number()).prop_map(|(shape, mean)| Service::gamma(shape, mean)),
        (number(), number()).prop_map(|(least, index)| Service::pareto(least, index)),
        (number(), 1.0..4.0_f64).prop_map(|(least, index)| Service::pareto(least, index)),
        bins.prop_map(|bins| Service::histogram(&bins)),
        rising.prop_map(|bins| Service::histogram(&bins)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_numbers_lead_to_anything_but_a_number(service in service(), rate in number(), x in number(), t in any::<f64>()) {
        if let Ok(service) = service {
            for rate in [rate, rate / service.mean()] {
                for x in [x, x * service.mean()] {
                    let exact = tail_exact(&service, rate, x);
                    prop_assert!((0.0..=1.0).contains(&exact), "tail {}", exact);
                    let bound = tail_bound(&service, rate, x);
                    prop_assert!((0.0..=1.0).contains(&bound.probability) || bound.probability == f64::INFINITY, "{:?}", bound);
                    prop_assert!(bound.t >= 0.0, "{:?}", bound);
                    prop_assert!(exact <= bound.probability * (1.0 + 1e-6) + 1e-6, "tail {}, {:?}", exact, bound);
                }
                prop_assert!(mean_sojourn(&service, rate) > 0.0);
            }
            for t in [t, t / service.mean()] {
                prop_assert!(!service.log_mgf(t).is_nan(), "{}", t);
                prop_assert!(service.excess(t) >= 0.0, "{}", t);
            }
        }
    }
}
