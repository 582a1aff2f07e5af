//! Bounds, tails and loads of plans against queues that are simulated.
//!
//! Reads that follow each other share queues, so they say less than as many independent ones: where that matters, the error is taken from how far seeds
//! lie apart. `HEDGEROW_SIM_READS` says how many reads each seed has; 100,000 if it is not set.

use hedgerow_fleet::{
    Options, Placing, Plan, Policy, Problem, Service, ServiceLaw, Sharing, mean_sojourn, plan, tail_bound,
    tail_exact,
};
use hedgerow_sim::{FileClass, ForkJoin, ForkJoinTimes, Law, fork_join};

fn reads() -> u64 {
    std::env::var("HEDGEROW_SIM_READS").map_or(100_000, |reads| reads.parse().expect("a number"))
}

/// Twelve nodes of four speeds that differ by three, each law with the mean that it is given, and ninety-six classes of two codes and of rates
/// that differ by eight, so that all nodes together are so busy.
fn problem(service: impl Fn(f64) -> Service, load: f64, seed: u64) -> Problem {
    let speeds: Vec<f64> = (0..12).map(|node| 0.01 + 0.02 * f64::from(node / 3) / 3.0).collect();
    let services = speeds.iter().map(|speed| service(1.0 / speed)).collect();
    let shapes: Vec<(f64, u32, u32)> =
        (0..96).map(|class| (f64::from(1 << (class % 4)), 5 + 2 * (class % 2), 3 + class % 2)).collect();
    let asked: f64 = shapes.iter().map(|&(rate, _, k)| rate * f64::from(k)).sum();
    let unit = load * speeds.iter().sum::<f64>() / asked;
    let classes: Vec<_> = shapes.into_iter().map(|(rate, n, k)| (rate * unit, n, k)).collect();
    Problem::placed_at_random(services, &classes, seed).expect("a problem")
}

fn planned(problem: &Problem, sharing: Sharing, x: f64) -> Plan {
    plan(problem, Policy { sharing, placing: Placing::AsGiven }, &Options::new(x)).expect("a plan")
}

/// The same law for the simulator; a unit of time is a millisecond.
fn law(service: &Service) -> Law {
    match service.law() {
        ServiceLaw::ShiftedExponential { shift, mean } => Law::ShiftedExponential { shift, mean },
        ServiceLaw::Gamma { shape, mean } => Law::Gamma { shape, mean },
        ServiceLaw::Pareto { least, index } => Law::Pareto { least, index },
        ServiceLaw::Histogram { bins } => {
            Law::Mixture(bins.iter().map(|&(edge, share)| (share, Law::Constant(edge))).collect())
        }
        other => panic!("no law of the simulator: {other:?}"),
    }
}

fn simulated(plan: &Plan, xs: &[f64], seed: u64, reads: u64) -> ForkJoinTimes {
    let problem = &plan.problem;
    let laws: Vec<Law> = problem.services().iter().map(law).collect();
    let class = |class| FileClass {
        share: problem.rate_of(class),
        k: problem.k_of(class) as u8,
        nodes: problem.nodes_of(class).to_vec(),
        weights: plan.draw_weights(class),
    };
    let classes: Vec<FileClass> = (0..problem.classes()).map(class).collect();
    let rate = rate(problem) * 1e3;
    let input = ForkJoin { laws: &laws, classes: &classes, rate, xs, reads, warm_up: 10_000, seed };
    fork_join(&input).expect("an input")
}

fn rate(problem: &Problem) -> f64 {
    (0..problem.classes()).map(|class| problem.rate_of(class)).sum()
}

fn shifted(mean: f64) -> Service {
    Service::shifted_exponential(0.3 * mean, 0.7 * mean).expect("a law")
}

/// A law of this mean.
type OfMean = fn(f64) -> Service;

/// Laws with a moment generating function and without one.
fn laws() -> Vec<(&'static str, OfMean)> {
    vec![
        ("exponential", |mean| Service::exponential(mean).expect("a law")),
        ("shifted exponential", shifted),
        ("gamma", |mean| Service::gamma(2.5, mean).expect("a law")),
        ("pareto", |mean| Service::pareto(mean * 2.5 / 3.5, 3.5).expect("a law")),
        ("histogram", |mean| {
            let bins =
                [(0.4, 5), (0.9, 10), (1.6, 4), (3.1, 1)].map(|(edge, count)| (edge * mean / 1.025, count));
            Service::histogram(&bins).expect("a law")
        }),
    ]
}

/// A mean of several seeds, and how far off it may be: five standard errors, which are themselves known from so many only.
fn mean_of(seeds: &[f64]) -> (f64, f64) {
    let count = seeds.len() as f64;
    let mean = seeds.iter().sum::<f64>() / count;
    let squares: f64 = seeds.iter().map(|seed| (seed - mean) * (seed - mean)).sum();
    (mean, 5.0 * (squares / (count * (count - 1.0))).sqrt())
}

#[test]
fn no_class_is_slower_than_its_bound_and_its_union_say_at_any_x_under_any_law() {
    let mut told = 0;
    for (name, service) in laws() {
        for (load, sharing) in
            [(0.3, Sharing::Equal), (0.6, Sharing::Proportional), (0.85, Sharing::Optimised)]
        {
            let plan = planned(&problem(service, load, 5), sharing, 1_000.0);
            let xs = [50.0, 150.0, 300.0, 500.0, 800.0, 1_200.0, 2_000.0, 4_000.0];
            let runs: Vec<ForkJoinTimes> =
                (0..6).map(|seed| simulated(&plan, &xs, seed, reads() / 2)).collect();
            for (place, &x) in xs.iter().enumerate() {
                for (class, tail) in plan.tails(x).iter().enumerate() {
                    let at = || format!("{name}, load {load}, class {class}, x {x}, {tail:?}");
                    assert!(tail.exact <= tail.bound * (1.0 + 1e-6), "{}", at());
                    let (mut late, mut all, mut shares) = (0.0, 0.0, Vec::new());
                    for run in &runs {
                        let (count, reached) =
                            (run.classes[class].count as f64, run.classes[class].reached[place] as f64);
                        // Bounds are several times too high, so that clumps don't matter.
                        let most = tail.bound * count + 4.0 * (tail.bound * count).sqrt() + 4.0;
                        assert!(reached <= most, "{}: {reached} of {count}", at());
                        late += reached;
                        all += count;
                        shares.push(reached / count);
                    }
                    let (_, error) = mean_of(&shares);
                    let error = error.max(5.0 * (tail.exact / all).sqrt()) + 5.0 / all;
                    assert!(late / all <= tail.exact + error, "{}: {late} of {all} +- {error}", at());
                    told += usize::from(late > 0.0 && tail.bound < 1.0);
                }
            }
        }
    }
    assert!(told > 2_000, "only {told} bounds of less than one were put to the test");
}

#[test]
fn the_union_of_the_exact_tails_is_what_is_simulated_where_few_reads_are_late() {
    for (load, x) in [(0.3, 500.0), (0.45, 700.0), (0.6, 900.0)] {
        for sharing in [Sharing::Optimised, Sharing::Proportional] {
            let plan = planned(&problem(shifted, load, 3), sharing, x);
            // Where the union is between a thousandth and a hundredth.
            let x = (1..400).map(|step| 20.0 * f64::from(step)).find(|&x| plan.tail(x).exact < 4e-3);
            let x = x.expect("an x");
            let union = plan.tail(x);
            assert!((1e-3..1e-2).contains(&union.exact), "{union:?}");
            let seeds: Vec<f64> = (0..16)
                .map(|seed| {
                    let all = simulated(&plan, &[x], seed, 2 * reads()).all;
                    all.reached[0] as f64 / all.count as f64
                })
                .collect();
            let (share, error) = mean_of(&seeds);
            // Reads with two late requests are counted twice by the union, and queues of one read's nodes grow together.
            assert!(share <= union.exact + error, "{load} {sharing:?}: {share} +- {error}, {union:?}");
            assert!(share >= union.exact * 0.95 - error, "{load} {sharing:?}: {share} +- {error}, {union:?}");
            assert!(error < 0.25 * share, "{error} is too much to tell anything");
            assert!(union.bound > share, "{union:?}");
        }
    }
}

#[test]
fn each_node_is_as_loaded_as_the_weights_say_and_as_slow_as_its_tail_and_its_mean_say() {
    for (name, service) in laws() {
        let plan = planned(&problem(service, 0.4, 9), Sharing::Optimised, 800.0);
        let (rate, xs) = (rate(&plan.problem), [100.0, 300.0]);
        let runs: Vec<ForkJoinTimes> = (0..12).map(|seed| simulated(&plan, &xs, seed, 2 * reads())).collect();
        for (node, (service, &load)) in plan.problem.services().iter().zip(&plan.loads).enumerate() {
            let of = |figure: &dyn Fn(&ForkJoinTimes) -> f64| {
                mean_of(&runs.iter().map(figure).collect::<Vec<_>>())
            };
            let requests = |times: &ForkJoinTimes| times.nodes[node].count as f64 / times.all.count as f64;
            let (asked, error) = of(&requests);
            assert!(
                (asked - load / rate).abs() <= error + 1e-3 * asked,
                "{name} {node}: {asked}, {}",
                load / rate
            );
            let (mean, error) = of(&|times| times.nodes[node].mean_ms);
            let expected = mean_sojourn(service, load);
            assert!(
                (mean - expected).abs() <= 0.01 * expected,
                "{name} {node}: {mean} +- {error}, {expected}"
            );
            for (place, &x) in xs.iter().enumerate() {
                let late = |times: &ForkJoinTimes| {
                    times.nodes[node].reached[place] as f64 / times.nodes[node].count as f64
                };
                let (share, error) = of(&late);
                let exact = tail_exact(service, load, x);
                // Where a seed has few or none of them, seeds lie less far apart than they might.
                let requests: u64 = runs.iter().map(|times| times.nodes[node].count).sum();
                let error = error.max(5.0 * (exact / requests as f64).sqrt());
                assert!(
                    (share - exact).abs() <= error + 0.01 * exact,
                    "{name} {node}, {x}: {share} +- {error}, {exact}"
                );
                assert!(tail_bound(service, load, x).probability >= exact, "{name} {node}, {x}");
            }
        }
    }
}
