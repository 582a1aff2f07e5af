//! Nodes at and above what they can do, and all else that can be wrong.

use hedgerow_fleet::{Class, FleetError, Options, Placing, Policy, Problem, Scheme, Service, Sharing, plan};
use proptest::prelude::*;

use crate::{check, linear, made, random, services};

#[test]
fn weights_that_overload_a_node_are_held_and_the_cap_is_told() {
    let problem = random(&linear(12, 3.0), 0.7, 100, (7, 4), 6);
    let mut options = Options::new(1200.0);
    for cap in [0.98, 0.9] {
        options.most_busy = cap;
        let equal = made(&problem, Sharing::Equal, Placing::AsGiven, &options);
        check(&equal);
        assert_eq!(equal.capped, Some(cap));
        assert!((cap * (1.0 - 1e-3)..=cap).contains(&equal.busiest), "{}", equal.busiest);
    }
    assert_eq!(made(&problem, Sharing::Optimised, Placing::AsGiven, &options).capped, None);
    // One class on two nodes that it keeps busy for 96 % of their time at least: a cap of 95 % gives way to half of what is left.
    let class = Class { rate: 0.96 * 0.04 / 2.0, k: 2, nodes: vec![0, 1, 2] };
    let problem = Problem::new(services(&[0.02, 0.01, 0.01]), [class]).unwrap();
    options.most_busy = 0.95;
    let equal = made(&problem, Sharing::Equal, Placing::AsGiven, &options);
    check(&equal);
    assert!((equal.capped.unwrap() - 0.98).abs() < 1e-6, "{:?}", equal.capped);
    for sharing in [Sharing::Optimised, Sharing::Proportional] {
        let plan = made(&problem, sharing, Placing::AsGiven, &options);
        check(&plan);
        assert!(
            plan.capped.is_none() && (0.96 - 1e-9..0.98).contains(&plan.busiest),
            "{sharing:?}: {}",
            plan.busiest
        );
    }
}

#[test]
fn nodes_that_have_to_take_too_much_are_named_with_what_they_need() {
    // Class 0 must send at least one of its two requests to nodes 0 and 1, whatever is done.
    let classes =
        [Class { rate: 0.03, k: 2, nodes: vec![0, 1, 5] }, Class { rate: 0.001, k: 1, nodes: vec![3, 4] }];
    let problem = Problem::new(services(&[0.01, 0.015, 0.1, 0.1, 0.1, 0.1]), classes).unwrap();
    let error = FleetError::Overloaded { nodes: vec![0, 1], needed: 0.03, able: 0.025 };
    for sharing in [Sharing::Optimised, Sharing::Equal, Sharing::Proportional] {
        let policy = Policy { sharing, placing: Placing::AsGiven };
        match plan(&problem, policy, &Options::new(700.0)) {
            Err(FleetError::Overloaded { nodes, needed, able }) => {
                assert_eq!(nodes, [0, 1]);
                assert!((needed - 0.03).abs() < 1e-12 && (able - 0.025).abs() < 1e-12, "{needed} {able}");
            }
            other => panic!("{other:?}"),
        }
        // Elsewhere there is room.
        check(&made(&problem, sharing, Placing::Optimised, &Options::new(700.0)));
    }
    assert_eq!(
        error.to_string(),
        "nodes 0, 1 must serve at least 0.03 requests per unit of time, and can serve less than 0.025"
    );
    // No placement helps.
    let problem = random(&[0.01; 5], 1.1, 10, (4, 2), 1);
    for placing in [Placing::AsGiven, Placing::Optimised] {
        let policy = Policy { sharing: Sharing::Optimised, placing };
        let error = plan(&problem, policy, &Options::new(700.0)).unwrap_err();
        assert!(matches!(&error, FleetError::Overloaded { .. }), "{error:?}");
    }
}

/// The greatest part of what it can do that a set of nodes has to do, of all sets.
fn tightest(problem: &Problem) -> f64 {
    (1..1_u32 << problem.services().len())
        .map(|set| needed(problem, |node| set >> node & 1 == 1))
        .map(|(needed, able)| needed / able)
        .fold(0.0, f64::max)
}

/// What a set of nodes has to do, and can do.
fn needed(problem: &Problem, inside: impl Fn(u32) -> bool) -> (f64, f64) {
    let of = |class: usize| {
        let outside = problem.nodes_of(class).iter().filter(|&&node| !inside(node)).count() as u32;
        problem.rate_of(class) * f64::from(problem.k_of(class).saturating_sub(outside))
    };
    let able =
        (0..).zip(problem.services()).filter(|(node, _)| inside(*node)).map(|(_, law)| 1.0 / law.mean());
    ((0..problem.classes()).map(of).sum(), able.sum())
}

proptest! {
    #[test]
    fn there_is_a_plan_exactly_if_no_set_of_nodes_has_to_take_too_much(
        rates in prop::collection::vec(0.1..2.0_f64, 2..7),
        classes in prop::collection::vec((0.01..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64), 1..6),
        busy in prop_oneof![0.5..1.5_f64, 0.97..1.03_f64],
        seed in any::<u64>(),
    ) {
        let nodes = rates.len() as f64;
        let shaped: Vec<_> = classes
            .iter()
            .map(|&(rate, n, k)| {
                let n = 1.0 + (n * nodes).floor();
                (rate, n as u32, 1 + (k * n).floor() as u32)
            })
            .collect();
        // Scaled so that the tightest set has this much to do.
        let problem = Problem::placed_at_random(services(&rates), &shaped, seed).unwrap();
        let factor = busy / tightest(&problem);
        let scaled: Vec<_> = shaped.into_iter().map(|(rate, n, k)| (rate * factor, n, k)).collect();
        let problem = Problem::placed_at_random(services(&rates), &scaled, seed).unwrap();
        for sharing in [Sharing::Optimised, Sharing::Equal, Sharing::Proportional] {
            match plan(&problem, Policy { sharing, placing: Placing::AsGiven }, &Options::new(10.0)) {
                Ok(plan) => {
                    prop_assert!(busy < 1.0, "{busy}");
                    check(&plan);
                }
                Err(FleetError::Overloaded { nodes, needed: said, able }) => {
                    prop_assert!(busy > 1.0 - 1e-6, "{busy}");
                    let (of_set, can) = needed(&problem, |node| nodes.contains(&node));
                    prop_assert!((said - of_set).abs() <= 1e-9 * of_set && (able - can).abs() <= 1e-9 * can);
                    prop_assert!((said / able - busy).abs() < 1e-6, "{said} {able} {busy}");
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }
}

#[test]
fn a_t_for_which_there_are_no_weights_is_refused_with_the_node() {
    let problem = random(&linear(12, 3.0), 0.7, 100, (7, 4), 6);
    let options = Options::new(1200.0);
    for placing in [Placing::AsGiven, Placing::Optimised] {
        let policy = Policy { sharing: Sharing::FixedT, placing };
        match plan(&problem, policy, &options) {
            Err(FleetError::FixedT { t, node, nodes, needed, able }) => {
                assert_eq!((t, node), (0.01, 0));
                assert!(nodes.contains(&0) && needed >= able, "{nodes:?} {needed} {able}");
            }
            other => panic!("{other:?}"),
        }
    }
    // The same number with another unit: 0.01 a second.
    let mut trivial = options;
    trivial.fixed_t = 1e-5;
    check(&made(&problem, Sharing::FixedT, Placing::AsGiven, &trivial));
}

#[test]
fn what_is_wrong_with_a_problem_is_said_with_the_numbers() {
    let class = |rate, k, nodes: &[u32]| Class { rate, k, nodes: nodes.to_vec() };
    let good = class(0.1, 1, &[0, 1]);
    let of = |bad: Class| Problem::new(services(&[1.0, 1.0, 1.0]), [good.clone(), bad]).unwrap_err();
    for (error, expected, text) in [
        (
            of(class(0.1, 2, &[0, 3])),
            FleetError::NoSuchNode { class: 1, node: 3, nodes: 3 },
            "class 1 lies on node 3; the nodes are 0 to 2",
        ),
        (
            of(class(0.1, 2, &[2, 0, 2])),
            FleetError::NodeTwice { class: 1, node: 2 },
            "class 1 lies twice on node 2",
        ),
        (
            of(class(0.1, 0, &[0])),
            FleetError::Schema { class: 1, k: 0, n: 1, nodes: 3 },
            "class 1 asks 0 of 1 nodes, and there are 3: it must be 1 <= k <= n <= nodes",
        ),
        (
            of(class(0.1, 3, &[0, 1])),
            FleetError::Schema { class: 1, k: 3, n: 2, nodes: 3 },
            "class 1 asks 3 of 2 nodes, and there are 3: it must be 1 <= k <= n <= nodes",
        ),
        (
            of(class(-0.5, 1, &[0])),
            FleetError::Rate { class: 1, rate: -0.5 },
            "class 1 is read -0.5 times per unit of time: it must be a number that is not negative, and the sum must be finite",
        ),
        (Problem::new(vec![], [good.clone()]).unwrap_err(), FleetError::NoNodes, "there are no nodes"),
        (
            Problem::new(services(&[1.0]), []).unwrap_err(),
            FleetError::NoClasses,
            "there are no classes of files",
        ),
        (
            Problem::new(services(&[1.0]), [class(0.0, 1, &[0])]).unwrap_err(),
            FleetError::NoReads,
            "the rates of all classes are 0: nothing is read",
        ),
        (
            Problem::placed_at_random(services(&[1.0, 2.0]), &[(0.1, 3, 1)], 1).unwrap_err(),
            FleetError::Schema { class: 0, k: 1, n: 3, nodes: 2 },
            "class 0 asks 1 of 3 nodes, and there are 2: it must be 1 <= k <= n <= nodes",
        ),
        (
            Problem::new(services(&[1.0; 2]), [good.clone()]).unwrap().slowed(&[(2, 2.0)]).unwrap_err(),
            FleetError::Slowed { node: 2, factor: 2.0, nodes: 2 },
            "node 2 of 2 can't be 2 times as slow: the node must exist, the factor be positive and finite, and its times stay within what a law allows",
        ),
    ] {
        assert_eq!(error, expected);
        assert_eq!(error.to_string(), text);
    }
    for rate in [f64::NAN, f64::INFINITY, f64::MAX] {
        let error = of(class(rate, 2, &[0, 1]));
        assert!(matches!(error, FleetError::Rate { class: 1, .. }), "{error:?}");
    }
    let problem = Problem::new(services(&[1.0; 2]), [good]).unwrap();
    for (name, change) in [
        ("x", (|options, value| options.x = value) as fn(&mut Options, f64)),
        ("fixed_t", |options, value| options.fixed_t = value),
        ("most_busy", |options, value| options.most_busy = value),
    ] {
        for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let mut options = Options::new(10.0);
            change(&mut options, bad);
            match plan(&problem, Policy::ALL[1], &options) {
                Err(FleetError::Setting { name: named, .. }) => assert_eq!(named, name),
                other => panic!("{other:?}"),
            }
        }
    }
}

fn laws() -> impl Strategy<Value = Service> {
    let size =
        prop_oneof![4 => 0.1..10.0_f64, 1 => 1e-6..1e6_f64, 1 => (-14.0..14.0_f64).prop_map(libm::exp10)];
    prop_oneof![
        (0.0..2.0_f64, size.clone()).prop_map(|(shift, mean)| Service::shifted_exponential(shift, mean)),
        (0.2..5.0_f64, size.clone()).prop_map(|(shape, mean)| Service::gamma(shape, mean)),
        (size.clone(), 1.1..4.0_f64).prop_map(|(least, index)| Service::pareto(least, index)),
        (size, 1..100_u64).prop_map(|(edge, count)| Service::histogram(&[(edge, count), (3.0 * edge, 5)])),
    ]
    .prop_map(|law| law.expect("a law"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_is_asked_is_planned_or_refused(
        laws in prop::collection::vec(laws(), 1..7),
        classes in prop::collection::vec((prop_oneof![0.0..0.5_f64, Just(0.0), 0.0..1e-9_f64, 0.0..1e9_f64, (-300.0..100.0_f64).prop_map(libm::exp10)], 0..8_u32, 0..5_u32), 0..6),
        x in prop_oneof![0.1..100.0_f64, (-300.0..300.0_f64).prop_map(libm::exp10)],
        fixed_t in prop_oneof![1e-3..1.0_f64, (-300.0..300.0_f64).prop_map(libm::exp10)],
        most_busy in 0.001..0.999_f64,
        seed in any::<u64>(),
    ) {
        let nodes = laws.len() as u32;
        let classes: Vec<_> = classes.into_iter().map(|(rate, n, k)| (rate, n.min(nodes), k.min(n))).collect();
        if let Ok(problem) = Problem::placed_at_random(laws, &classes, seed) {
            for policy in Policy::ALL {
                for scheme in [Scheme::Fast, Scheme::Alternating] {
                    let mut options = Options::new(x);
                    options.fixed_t = fixed_t;
                    options.most_busy = most_busy;
                    options.scheme = scheme;
                    match plan(&problem, policy, &options) {
                        Ok(plan) => {
                            check(&plan);
                            prop_assert!(plan.objective.is_finite() && plan.gap.is_none_or(|gap| (0.0..=1.0).contains(&gap)));
                            for tail in plan.tails(x) {
                                prop_assert!((0.0..=1.0).contains(&tail.bound) && (0.0..=1.0).contains(&tail.exact), "{tail:?}");
                            }
                            prop_assert!(plan.holders(x).iter().all(|holder| (0.0..=1.0).contains(&holder.share)));
                        }
                        Err(error) => prop_assert!(!error.to_string().is_empty()),
                    }
                }
            }
        }
    }
}
