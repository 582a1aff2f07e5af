//! What is gained, against every other policy and against published figures.

use hedgerow_fleet::{Options, Placing, Sharing};

use crate::{check, linear, made, random};

/// Five loads, four spreads of the nodes' rates, six x: 120 cells.
#[test]
fn nothing_is_above_a_baseline_over_120_cells() {
    let (mut cells, mut fitted, mut clear) = (0, 0, 0);
    for load in [0.3, 0.45, 0.6, 0.75, 0.9] {
        for spread in [1.0, 2.0, 3.0, 5.0] {
            let problem = random(&linear(12, spread), load, 60, (7, 4), 11);
            for x in [150.0, 300.0, 600.0, 1200.0, 2400.0, 4800.0] {
                let mut options = Options::new(x);
                options.fixed_t = 0.002 * (1.0 - load);
                let given = made(&problem, Sharing::Optimised, Placing::AsGiven, &options);
                for placing in [Placing::AsGiven, Placing::Optimised] {
                    let best = made(&problem, Sharing::Optimised, placing, &options);
                    let tail = best.tail(x);
                    let there = x >= best.x_fit;
                    for sharing in [Sharing::Equal, Sharing::Proportional, Sharing::FixedT] {
                        let other = made(&problem, sharing, placing, &options);
                        let of_other = other.tail(x);
                        let cell = format!(
                            "load {load}, spread {spread}, x {x} (planned for {}), {placing:?}, {sharing:?}: {tail:?} {of_other:?}",
                            best.x_fit
                        );
                        assert_eq!(best.x_fit, other.x_fit, "{cell}");
                        // Whoever fixes t looks for the best, too; below the x that is planned for, where bounds say little, it may find more.
                        let part = if sharing == Sharing::FixedT && !there { 0.02 } else { 1e-11 };
                        assert!(tail.bound <= of_other.bound * (1.0 + part), "{cell}");
                        assert!(tail.exact <= of_other.exact * (1.0 + part), "{cell}");
                        clear += u32::from(tail.exact < 0.5 * of_other.exact);
                    }
                    if there && x >= given.x_fit {
                        let of_given = given.tail(x);
                        assert!(tail.bound <= of_given.bound * (1.0 + 1e-11), "{x} {tail:?} {of_given:?}");
                        assert!(tail.exact <= of_given.exact * (1.0 + 1e-11), "{x} {tail:?} {of_given:?}");
                        fitted += 1;
                    }
                }
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 120);
    assert!(fitted > 120 && clear > 120, "{fitted} {clear}");
}

#[test]
fn the_published_gains_come_out() {
    let linear = linear(12, 3.0);
    let halves: Vec<f64> = (0..12).map(|node| if node < 6 { 0.01 } else { 0.03 }).collect();
    // Bound and exact tail of: equal, proportional, optimised, all three placed at random; optimised and placed anew. Where placements at random
    // leave nodes near their capacity, they differ more.
    let scenarios = [
        (
            &linear,
            0.4,
            700.0,
            [(3.7e-1, 7.3e-2, 0.2), (2.2e-2, 1.3e-3, 0.05), (1.16e-3, 3.9e-5, 0.06), (9.1e-4, 2.87e-5, 0.01)],
        ),
        (
            &linear,
            0.7,
            1200.0,
            [(0.95, 6.6e-1, 0.1), (6.3e-2, 4.7e-3, 0.05), (5.8e-3, 2.2e-4, 0.02), (5.76e-3, 2.18e-4, 0.01)],
        ),
        (
            &halves,
            0.5,
            700.0,
            [(0.98, 0.97, 0.05), (1.77e-1, 1.55e-2, 0.06), (1.93e-2, 1.1e-3, 0.06), (4.0e-3, 1.5e-4, 0.02)],
        ),
    ];
    for (rates, load, x, expected) in scenarios {
        let problem = random(rates, load, 1000, (7, 4), 1);
        let policies = [
            (Sharing::Equal, Placing::AsGiven),
            (Sharing::Proportional, Placing::AsGiven),
            (Sharing::Optimised, Placing::AsGiven),
            (Sharing::Optimised, Placing::Optimised),
        ];
        for ((sharing, placing), (bound, exact, part)) in policies.into_iter().zip(expected) {
            let plan = made(&problem, sharing, placing, &Options::new(x));
            check(&plan);
            let tail = plan.tail(x);
            let label = format!("load {load}, x {x}, {sharing:?}, {placing:?}: {tail:?}");
            assert!((tail.bound / bound - 1.0).abs() < part, "{label}");
            assert!((tail.exact / exact - 1.0).abs() < part, "{label}");
            if sharing == Sharing::Optimised {
                assert!(plan.gap.unwrap() < 1e-4, "{label} {:?}", plan.gap);
            }
        }
    }
}
