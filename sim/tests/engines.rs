//! The two engines agree where both apply, and neither depends on the number of threads.

use hedgerow_sim::{Engine, Row, Scenario, run};

const CLUSTER: &str = r#"
    title = "both engines"
    engine = "thinned"
    seconds = 3000
    seeds = 2
    policies = ["none", "hubspot-250", "hubspot-250-transfer-only", "hubspot-60", "default", "eager-1", "tower-p95"]
    [cluster]
    nodes = 20
    racks = 4
    clients = 4
    service = "heavy"
    reads_per_second = 800
    new_connections = 0.02
    rebuild = { lognormal = { median_ms = 2, sigma = 0.5 } }
    [[shape]]
    name = "incidents"
    [[shape.incident]]
    name = "freezes"
    effect = "freeze"
    place = "any-node"
    per_day = 3000
    lasts = { lognormal = { median_ms = 400, sigma = 0.7 } }
    [[shape.incident]]
    name = "takes no connection"
    effect = "no-connect"
    place = "any-node"
    per_day = 1500
    lasts = { lognormal = { median_ms = 6000, sigma = 0.5 } }
    [[shape.incident]]
    name = "a slow disk"
    effect = { extra = { share = 0.1, law = { lognormal = { median_ms = 300, sigma = 1.0 } } } }
    place = "any-node"
    per_day = 300
    lasts = { exponential = { mean_ms = 20_000 } }
    [[shape.incident]]
    name = "another slow disk, now and then of the same node"
    effect = { extra = { share = 0.5, law = { lognormal = { median_ms = 100, sigma = 0.5 } } } }
    place = "any-rack"
    per_day = 300
    lasts = { exponential = { mean_ms = 20_000 } }
    [[shape.incident]]
    name = "a client freezes"
    effect = "freeze"
    place = "any-client"
    per_day = 300
    lasts = { lognormal = { median_ms = 700, sigma = 0.4 } }
"#;

fn rows(engine: Engine, threads: usize, seconds: f64) -> Vec<Row> {
    let mut scenario = Scenario::parse("both", CLUSTER, false).expect("a scenario");
    scenario.engine = engine;
    scenario.seconds = seconds;
    run(&scenario, threads, &|_| {})
}

#[test]
fn the_thinned_engine_finds_what_the_full_one_finds() {
    let (full, thinned) = (rows(Engine::Full, 2, 3_000.0), rows(Engine::Thinned, 2, 3_000.0));
    for (full, thinned) in full.iter().zip(&thinned) {
        let policy = &full.policy;
        assert_eq!(policy, &thinned.policy);
        // The same incidents, other reads: counts may differ by their own uncertainty, and what one read does to the next through
        // breakers and budgets makes clumps of a few.
        let alike = |what: &str, a: f64, b: f64| {
            let sigma = (4.0 * (a + b)).sqrt();
            assert!((a - b).abs() <= 5.0 * sigma, "{policy}: {what}: {a} and {b}");
        };
        let of = |row: &Row, share: f64| row.all.reads() as f64 * share;
        alike("reads", full.reads as f64, thinned.reads as f64);
        alike("affected", full.affected.reads() as f64, thinned.affected.reads() as f64);
        alike("hedges", full.hedges as f64, thinned.hedges as f64);
        alike("wins", full.hedges as f64 * full.win_share, thinned.hedges as f64 * thinned.win_share);
        let cells = |row: &Row| of(row, row.extra_cell_share) / 6.0;
        alike("extra cells, by six", cells(full), cells(thinned));
        let slow = |row: &Row, from_ms: u64| -> f64 {
            row.all
                .steps()
                .filter(|&(micros, _)| micros > from_ms * 1_000)
                .map(|(_, reads)| reads as f64)
                .sum()
        };
        for from in [50, 100, 250, 1_000, 4_900] {
            alike(&format!("over {from} ms"), slow(full, from), slow(thinned, from));
        }
        for quantile in [0.5, 0.9, 0.99] {
            let (a, b) = (full.all.quantile_ms(quantile), thinned.all.quantile_ms(quantile));
            assert!((a / b - 1.0).abs() < 0.03, "{policy}: quantile {quantile}: {a} and {b}");
        }
        let (a, b) = (full.affected.quantile_ms(0.5), thinned.affected.quantile_ms(0.5));
        assert!((a / b - 1.0).abs() < 0.06, "{policy}: half of the affected: {a} and {b}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for engine in [Engine::Full, Engine::Thinned] {
        assert_eq!(rows(engine, 1, 300.0), rows(engine, 3, 300.0), "{engine:?}");
    }
}
