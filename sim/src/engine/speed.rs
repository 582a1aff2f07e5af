//! How quick the full engine is.

use std::time::Instant;

use super::run;
use crate::{Cluster, Code, Engine, Kind, Law, Policy, Queue, Scenario, Shape, Workload};

/// A healthy cluster of 100 nodes that each serve one read at a time, busy three tenths of the time, and 16 clients under the default
/// policy: so many reads on one thread, and how many of them a second of real time that makes.
#[must_use]
pub fn speed(reads: u64) -> f64 {
    let service = Law::lognormal_p99(1.5, 10.0);
    let nodes = 100;
    let rate = 0.3 * f64::from(nodes) / (service.mean() / 1e3);
    let cluster = Cluster {
        nodes,
        racks: 10,
        clients: 16,
        code: Code { k: 6, m: 3 },
        service,
        laws: Vec::new(),
        queue: Queue::Fifo { servers: 1 },
        rate,
        workload: vec![Workload { name: "reads".into(), share: 1.0, cells: 1, fan_out: 1, hedged: true }],
        files: Vec::new(),
        new_connections: 0.0,
        connect: Law::Constant(0.3),
        rebuild: Law::Constant(0.1),
    };
    let scenario = Scenario {
        title: String::new(),
        about: String::new(),
        engine: Engine::Full,
        seconds: reads as f64 / rate,
        warm_up: 0.0,
        learning: None,
        seeds: 1,
        seed: 1,
        day_factor: 0.0,
        shapes: vec![Shape { name: "healthy".into(), about: String::new(), cluster, incidents: Vec::new() }],
        policies: vec![Policy {
            name: "default".into(),
            about: String::new(),
            kind: Kind::Core(Box::default()),
            eager: 0,
            code: None,
        }],
        published: Vec::new(),
    };
    let start = Instant::now();
    let rows = run(&scenario, 1, &|_| {});
    let done: u64 = rows.iter().map(|row| row.reads).sum();
    done as f64 / start.elapsed().as_secs_f64()
}
