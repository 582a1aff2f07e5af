//! How long plans for 100,000 classes on 1,000 nodes take, and how much memory: `cargo run --release -p hedgerow-fleet --example scale`.
//!
//! Arguments: classes, nodes, and `equal` or `zipf` for the classes' rates (the one of rank r in proportion to r^-0.5: with r^-1 the first one alone
//! would be more than its nodes can serve).

use std::time::Instant;

use hedgerow_fleet::{Options, Placing, Plan, Policy, Problem, Service, Sharing, plan, replan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let classes: usize = arguments.next().map_or(Ok(100_000), |count| count.parse())?;
    let nodes: u32 = arguments.next().map_or(Ok(1_000), |count| count.parse())?;
    let zipf = arguments.next().is_some_and(|rates| rates == "zipf");

    // Shifted exponential, mean rates from 0.01 to 0.03 a millisecond.
    let rate = |node: u32| 0.01 + 0.02 * f64::from(node) / f64::from(nodes - 1);
    let services = (0..nodes)
        .map(|node| Service::shifted_exponential(0.3 / rate(node), 0.7 / rate(node)))
        .collect::<Result<Vec<_>, _>>()?;
    let able: f64 = (0..nodes).map(rate).sum();
    let popularity = |class: usize| if zipf { 1.0 / libm::sqrt(class as f64 + 1.0) } else { 1.0 };
    let all: f64 = (0..classes).map(popularity).sum();
    let asked: Vec<(f64, u32, u32)> =
        (0..classes).map(|class| (0.6 * able / 4.0 * popularity(class) / all, 7, 4)).collect();
    let problem = Problem::placed_at_random(services, &asked, 7)?;

    let options = Options::new(700.0);
    for placing in [Placing::AsGiven, Placing::Optimised] {
        let policy = Policy { sharing: Sharing::Optimised, placing };
        timed(policy.name(), || plan(&problem, policy, &options))?;
    }
    let policy = Policy { sharing: Sharing::Optimised, placing: Placing::AsGiven };
    let before = plan(&problem, policy, &options)?;
    let slower = problem.slowed(&[(3, 2.0)])?;
    timed("replan, a node twice as slow", || replan(&slower, &before, &options))?;
    for sharing in [Sharing::Equal, Sharing::Proportional, Sharing::FixedT] {
        let mut options = options;
        options.fixed_t = 0.003;
        for placing in [Placing::AsGiven, Placing::Optimised] {
            let policy = Policy { sharing, placing };
            timed(policy.name(), || plan(&problem, policy, &options))?;
        }
    }
    println!("most memory so far: {}", most_memory().unwrap_or_else(|| "not known here".into()));
    Ok(())
}

fn timed<E>(name: &str, make: impl FnOnce() -> Result<Plan, E>) -> Result<(), E> {
    let begin = Instant::now();
    let plan = make()?;
    let took = begin.elapsed().as_secs_f64();
    println!(
        "{name}: {took:.2} s, {} steps, {:.3} s for each with all that is around them, planned for x = {:.0}, objective {:.6e}, gap {}, busiest {:.3}, most memory {}",
        plan.steps,
        took / f64::from(plan.steps.max(1)),
        plan.x_fit,
        plan.objective,
        plan.gap.map_or_else(|| "-".into(), |gap| format!("{gap:.1e}")),
        plan.busiest,
        most_memory().unwrap_or_else(|| "not known here".into()),
    );
    Ok(())
}

/// The peak of this process, where the kernel tells.
fn most_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|size| size.trim().to_owned())
}
