//! What a plan says, and that it depends on nothing but the problem.

use hedgerow_fleet::{Class, FleetError, Options, Placing, Policy, Problem, Sharing, plan, replan};

use crate::{alike, check, linear, made, random, services};

#[test]
fn policies_have_names_of_their_own() {
    for (policy, name) in Policy::ALL.into_iter().zip([
        "optimised",
        "optimised-random-placement",
        "fixed-t",
        "equal",
        "equal-random-placement",
        "proportional",
        "proportional-random-placement",
    ]) {
        assert_eq!(policy.name(), name);
        assert_eq!(Policy::named(name), Some(policy));
    }
    let unlisted = Policy { sharing: Sharing::FixedT, placing: Placing::AsGiven };
    assert_eq!(Policy::named(unlisted.name()), Some(unlisted));
    assert_eq!(Policy::named("best"), None);
}

#[test]
fn the_order_of_classes_and_the_numbers_of_nodes_change_nothing_that_matters() {
    let rates = linear(8, 3.0);
    let problem = random(&rates, 0.5, 20, (5, 3), 4);
    let number = |node: u32| (node * 3 + 1) % 8;
    let mut moved = vec![0.0; 8];
    for (node, rate) in (0..).zip(&rates) {
        moved[number(node) as usize] = *rate;
    }
    let classes = (0..20).rev().map(|class| Class {
        rate: problem.rate_of(class),
        k: problem.k_of(class),
        nodes: problem.nodes_of(class).iter().rev().map(|&node| number(node)).collect(),
    });
    let other = Problem::new(services(&moved), classes).unwrap();
    let options = Options::new(700.0);
    for sharing in [Sharing::Optimised, Sharing::Equal, Sharing::Proportional] {
        let (one, two) = (
            made(&problem, sharing, Placing::AsGiven, &options),
            made(&other, sharing, Placing::AsGiven, &options),
        );
        assert!((one.objective / two.objective - 1.0).abs() < 1e-7, "{sharing:?}");
        for (node, load) in (0..).zip(&one.loads) {
            assert!(alike(*load, two.loads[number(node) as usize], 1e-4));
        }
    }
    let placed = |problem| made(problem, Sharing::Optimised, Placing::Optimised, &options).objective;
    assert!((placed(&problem) / placed(&other) - 1.0).abs() < 0.01);
}

#[test]
fn the_same_problem_has_the_same_plan() {
    let problem = random(&linear(8, 3.0), 0.5, 20, (5, 3), 4);
    for policy in Policy::ALL {
        let mut options = Options::new(700.0);
        options.fixed_t = 0.001;
        assert_eq!(plan(&problem, policy, &options), plan(&problem, policy, &options));
    }
    assert_eq!(problem, random(&linear(8, 3.0), 0.5, 20, (5, 3), 4));
    assert_ne!(problem, random(&linear(8, 3.0), 0.5, 20, (5, 3), 5));
}

#[test]
fn a_node_known_to_be_slow_gets_less_and_a_warm_start_ends_where_a_cold_one_does() {
    let problem = random(&linear(12, 3.0), 0.4, 100, (7, 4), 6);
    let options = Options::new(1200.0);
    let before = made(&problem, Sharing::Optimised, Placing::AsGiven, &options);
    let slower = problem.slowed(&[(7, 4.0)]).unwrap();
    assert_eq!(slower.services()[7].mean(), 4.0 * problem.services()[7].mean());
    let warm = replan(&slower, &before, &options).unwrap();
    let cold = made(&slower, Sharing::Optimised, Placing::AsGiven, &options);
    check(&warm);
    assert!((warm.objective / cold.objective - 1.0).abs() < 1e-6, "{} {}", warm.objective, cold.objective);
    assert!(warm.loads[7] < 0.3 * before.loads[7], "{} {}", warm.loads[7], before.loads[7]);
    // With its old weights the slow node has more to do than it can.
    let mut unaware = before.clone();
    unaware.problem = slower;
    assert!(unaware.loads[7] * unaware.problem.services()[7].mean() > 1.0);
    assert!(warm.tail(1200.0).exact < 0.01 * unaware.tail(1200.0).exact);
    // Not from the plan of another problem.
    let other = random(&linear(12, 3.0), 0.4, 100, (7, 4), 7);
    assert_eq!(replan(&other, &before, &options), Err(FleetError::OtherPlan { class: 0 }));
    let fewer = random(&linear(12, 3.0), 0.4, 99, (7, 4), 6);
    assert_eq!(replan(&fewer, &before, &options), Err(FleetError::OtherPlan { class: 99 }));
}

#[test]
fn the_nodes_that_hold_the_tail_come_first_and_their_shares_are_all_of_it() {
    // Half of all reads are of class 0 alone.
    let rates = linear(12, 3.0);
    let unit = 0.6 * rates.iter().sum::<f64>() / 4.0 / 198.0;
    let asked: Vec<_> = (0..100).map(|class| (unit * if class == 0 { 99.0 } else { 1.0 }, 7, 4)).collect();
    let problem = Problem::placed_at_random(services(&rates), &asked, 6).unwrap();
    let plan = made(&problem, Sharing::Proportional, Placing::AsGiven, &Options::new(1200.0));
    let holders = plan.holders(1200.0);
    assert_eq!(holders.len(), 12);
    assert!((holders.iter().map(|holder| holder.share).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(holders.windows(2).all(|pair| pair[0].share >= pair[1].share));
    // In proportion to the rates every node is about as busy, and the slow ones have the long queues.
    assert!(holders[0].node <= 2, "{holders:?}");
    for holder in &holders {
        let service = &problem.services()[holder.node as usize];
        assert_eq!(holder.load, plan.loads[holder.node as usize]);
        assert_eq!(holder.busy, holder.load * service.mean());
        assert!(holder.exact <= holder.bound);
    }
    let tails = plan.tails(1200.0);
    let others = tails[1..].iter().map(|tail| tail.exact).sum::<f64>() / 99.0;
    let mean = 0.5 * (tails[0].exact + others);
    assert!((tails[0].exact / others - 1.0).abs() > 0.01, "{} {others}", tails[0].exact);
    assert!((mean / plan.tail(1200.0).exact - 1.0).abs() < 1e-9);
}

#[test]
fn a_plan_without_its_loads_is_as_slow_as_can_be() {
    let problem = random(&linear(8, 3.0), 0.5, 20, (5, 3), 4);
    let mut plan = made(&problem, Sharing::Equal, Placing::AsGiven, &Options::new(700.0));
    plan.loads.clear();
    assert!(plan.tails(700.0).iter().all(|tail| (tail.bound, tail.exact) == (1.0, 1.0)));
    assert!(plan.holders(700.0).is_empty());
}

#[test]
fn a_plan_that_gave_way_to_another_says_what_its_own_bound_is() {
    // The placement that is given is planned for another x, and its weights come out ahead at the one that is asked about.
    for (seed, classes, load, x) in [(2, 4, 0.7, 60.0), (4, 6, 0.95, 400.0)] {
        let rates: Vec<f64> =
            (0..5 + seed as usize % 4).map(|node| 1.0 / (30.0 + 20.0 * (node % 3) as f64)).collect();
        let problem = random(&rates, load, classes, (4, 2), seed);
        let mut options = Options::new(x);
        options.fixed_t = 0.003;
        let plan = made(&problem, Sharing::Optimised, Placing::Optimised, &options);
        check(&plan);
        assert!(plan.gap.unwrap() > 0.0, "{plan:?}");
    }
}
