//! Weights and hedging, alone and together: reads of whole files on nodes that differ, in the simulator, with the hedge core's real
//! governor. Prints tables in Markdown.
//!
//! `cargo run --release -p hedgerow-fleet --example hedging`. `HEDGEROW_SIM_READS` says how many reads each line has, about; 400,000 if it
//! is not set.

use std::error::Error;

use hedgerow_fleet::{Options, Placing, Plan, Policy, Problem, Service, Sharing, plan};
use hedgerow_sim::{
    Cluster, Code, Effect, Engine, FileClass, Incident, Law, Often, Queue, Row, Scenario, Shape, Where,
    Workload, run,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Twelve nodes that serve 10 to 30 requests a second, and a thousand classes of files, each on seven of them, of which a read asks four.
const NODES: u32 = 12;
const CLASSES: usize = 1_000;
const K: u8 = 4;
const N: u8 = 7;
/// So much of a service time is the same each time.
const SHIFT: f64 = 0.3;
/// The node with the greatest rate, and how many times as slow it becomes.
const FASTEST: u32 = NODES - 1;
const SLOW: f64 = 5.0;

/// Loads, and the time in milliseconds for which the weights are best at each.
const LOADS: [(f64, f64); 4] = [(0.3, 600.0), (0.5, 800.0), (0.7, 1_200.0), (0.9, 4_000.0)];

/// The default that spends 1 %, for reads that want k cells, so that a hedge costs one: late after the time that a hundredth of the legs
/// take, which makes a read in twenty-five late.
const LATE: [(&str, &str); 2] = [("threshold.spend.cells", "1"), ("threshold.spend.least.milli", "1000")];

const WARM_UP_S: f64 = 600.0;

fn main() -> Outcome<()> {
    let reads: f64 = match std::env::var("HEDGEROW_SIM_READS") {
        Ok(reads) => reads.parse()?,
        Err(_) => 400_000.0,
    };
    let none = hedgerow_sim::Policy::named("none")?;
    let default = hedgerow_sim::Policy::named("default")?;
    let late = hedgerow_sim::Policy::named("default-target-1%")?.with("late, 1 %", "", LATE)?;
    let table = Table { policies: vec![none, default, late], reads };
    for (title, queue) in
        [("Losers that wait are dropped", Queue::Dropping), ("Losers are served", Queue::Fifo { servers: 1 })]
    {
        heading(&format!("All nodes are well. {title}"));
        for (load, x) in LOADS {
            let known = problem(load)?;
            let plans = [
                ("proportional", planned(&known, Sharing::Proportional, x)?),
                ("optimised", planned(&known, Sharing::Optimised, x)?),
            ];
            table.lines(load, x, &plans, queue, None)?;
        }
    }
    for (title, flapping) in [("20 s of every 200 s", Some((20e3, 180e3))), ("all the time", None)] {
        heading(&format!("The fastest node is five times as slow, {title}"));
        let slow = Incident {
            name: "slow".into(),
            effect: Effect::Slow(SLOW),
            place: Where::Node(FASTEST),
            often: Often::At(0.0),
            length: Law::Constant(1e12),
            flapping,
        };
        for &(load, x) in &LOADS[..3] {
            let known = problem(load)?;
            let slowed = known.slowed(&[(FASTEST, SLOW)])?;
            let plans = [
                ("proportional", planned(&known, Sharing::Proportional, x)?),
                ("optimised", planned(&known, Sharing::Optimised, x)?),
                ("optimised for the slow node", planned(&slowed, Sharing::Optimised, x)?),
            ];
            table.lines(load, x, &plans, Queue::Dropping, Some(&slow))?;
        }
    }
    Ok(())
}

/// What a node that is well serves in a millisecond.
fn speed(node: u32) -> f64 {
    0.01 + 0.02 * f64::from(node) / f64::from(NODES - 1)
}

/// The fleet, so busy while all nodes are well.
fn problem(load: f64) -> Outcome<Problem> {
    let service = |node| Service::shifted_exponential(SHIFT / speed(node), (1.0 - SHIFT) / speed(node));
    let services = (0..NODES).map(service).collect::<Result<Vec<_>, _>>()?;
    let able: f64 = (0..NODES).map(speed).sum();
    let class = (load * able / f64::from(K) / CLASSES as f64, u32::from(N), u32::from(K));
    Ok(Problem::placed_at_random(services, &vec![class; CLASSES], 1)?)
}

fn planned(problem: &Problem, sharing: Sharing, x: f64) -> Outcome<Plan> {
    Ok(plan(problem, Policy { sharing, placing: Placing::AsGiven }, &Options::new(x))?)
}

/// What becomes of the plan. A node is slow by an incident, never by its law, whatever the plan takes it for.
fn cluster(plan: &Plan, queue: Queue) -> Cluster {
    let problem = &plan.problem;
    let law =
        |node| Law::ShiftedExponential { shift: SHIFT / speed(node), mean: (1.0 - SHIFT) / speed(node) };
    let file = |class| FileClass {
        share: problem.rate_of(class),
        k: K,
        nodes: problem.nodes_of(class).to_vec(),
        weights: plan.draw_weights(class),
    };
    Cluster {
        nodes: NODES,
        racks: 1,
        // One governor that sees all reads, 18 to 54 a second: with more, each would see too few.
        clients: 1,
        code: Code { k: K, m: N - K },
        service: Law::Constant(1.0),
        laws: (0..NODES).map(law).collect(),
        queue,
        rate: (0..CLASSES).map(|class| problem.rate_of(class)).sum::<f64>() * 1e3,
        workload: vec![Workload { name: "files".into(), share: 1.0, cells: 1, fan_out: 1, hedged: true }],
        files: (0..CLASSES).map(file).collect(),
        new_connections: 0.0,
        connect: Law::Constant(0.0),
        rebuild: Law::Constant(0.0),
    }
}

struct Table {
    policies: Vec<hedgerow_sim::Policy>,
    reads: f64,
}

impl Table {
    /// A line for each plan and policy, all on the same random numbers.
    fn lines(
        &self,
        load: f64,
        x: f64,
        plans: &[(&str, Plan)],
        queue: Queue,
        incident: Option<&Incident>,
    ) -> Outcome<()> {
        let shape = |(name, plan): &(&str, Plan)| Shape {
            name: (*name).into(),
            about: String::new(),
            cluster: cluster(plan, queue),
            incidents: incident.into_iter().cloned().collect(),
        };
        let rate = load * (0..NODES).map(speed).sum::<f64>() / f64::from(K) * 1e3;
        let scenario = Scenario {
            title: "weights and hedging".into(),
            about: String::new(),
            engine: Engine::Full,
            seconds: WARM_UP_S + self.reads / rate,
            warm_up: WARM_UP_S,
            learning: None,
            seeds: 1,
            seed: 1,
            day_factor: 0.0,
            shapes: plans.iter().map(shape).collect(),
            policies: self.policies.clone(),
            published: Vec::new(),
        };
        scenario.check()?;
        for row in run(&scenario, 2, &|_| {}) {
            line(load, x, &row);
        }
        Ok(())
    }
}

fn heading(title: &str) {
    println!("\n## {title}\n");
    println!(
        "| load | weights | hedging | p50 | p99 | p99.9 | p99.99 | extra cells | x | took over x | late after | finished |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
}

fn line(load: f64, x: f64, row: &Row) {
    let slower = row.all.steps().filter(|&(micros, _)| micros as f64 > x * 1e3).map(|(_, reads)| reads);
    let slower = slower.sum::<u64>() as f64 / row.reads as f64;
    let quantiles =
        [0.5, 0.99, 0.999, 0.9999].map(|quantile| format!("{:.0}", row.all.quantile_ms(quantile)));
    println!(
        "| {load} | {} | {} | {} | {:.2} % | {x} | {slower:.1e} | {:.0} | {:.1} % |",
        row.shape,
        row.policy,
        quantiles.join(" | "),
        row.extra_cell_share * 100.0,
        row.threshold_ms,
        row.throughput * 100.0,
    );
}
