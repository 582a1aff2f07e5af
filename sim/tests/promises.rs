//! The promises of the hedge core, in every read of clusters on which everything goes wrong.
//!
//! `HEDGEROW_SIM_READS` says how many reads, about; 200,000 if it is not set.

use hedgerow_sim::{Scenario, run_and_watch};

const EVERYTHING: &str = r#"
    title = "everything goes wrong"
    engine = "full"
    seconds = 100
    policies = ["none", "default", "hubspot-30", "hubspot-30-transfer-only", "fixed-15", "eager-1", "eager-2", "tower-p95", "finagle-1%",
        "replicated-20", "default-no-budget", "default-no-breaker", "default-no-demotion", "default-no-spare"]
    [cluster]
    nodes = 12
    racks = 4
    clients = 5
    reads_per_second = 100
    new_connections = 0.05
    rebuild = { exponential = { mean_ms = 1 } }
    [[cluster.workload]]
    name = "one cell"
    share = 6
    cells = 1
    [[cluster.workload]]
    name = "some cells"
    share = 2
    cells = 4
    [[cluster.workload]]
    name = "many reads"
    share = 0.1
    cells = 1
    fan_out = 20
    [[cluster.workload]]
    name = "a scan"
    share = 1
    cells = 6
    hedged = false
    [[incident]]
    name = "freezes"
    effect = "freeze"
    place = "any-node"
    per_day = 20_000
    lasts = { lognormal = { median_ms = 300, sigma = 1.0 } }
    [[incident]]
    name = "a rack freezes"
    effect = "freeze"
    place = "any-rack"
    per_day = 2_000
    lasts = { lognormal = { median_ms = 500, sigma = 0.5 } }
    [[incident]]
    name = "a client freezes"
    effect = "freeze"
    place = "any-client"
    per_day = 5_000
    lasts = { lognormal = { median_ms = 300, sigma = 0.5 } }
    [[incident]]
    name = "takes no connection"
    effect = "no-connect"
    place = "any-node"
    per_day = 5_000
    lasts = { lognormal = { median_ms = 3000, sigma = 0.5 } }
    [[incident]]
    name = "refuses, on and off"
    effect = "refuse"
    place = "any-node"
    per_day = 3_000
    lasts = 2_000
    flapping = { there_ms = 50, away_ms = 100 }
    [[incident]]
    name = "is dead"
    effect = { dead-after-ms = 200 }
    place = "any-node"
    per_day = 3_000
    lasts = { exponential = { mean_ms = 2_000 } }
    [[incident]]
    name = "a slow disk"
    effect = { extra = { share = 0.3, law = { exponential = { mean_ms = 100 } } } }
    place = "any-node"
    per_day = 3_000
    lasts = { exponential = { mean_ms = 5_000 } }
    [[incident]]
    name = "all are slow"
    effect = { slow = 8.0 }
    place = "all-nodes"
    per_day = 2_000
    lasts = { exponential = { mean_ms = 4_000 } }
    [[shape]]
    name = "without queues"
    [[shape]]
    name = "with queues"
    cluster = { queue = { fifo = { servers = 2 } } }
    [[shape]]
    name = "with queues that drop"
    cluster = { queue = "dropping" }
"#;

#[test]
fn every_read_keeps_its_promises_whatever_goes_wrong() {
    let reads: u64 =
        std::env::var("HEDGEROW_SIM_READS").map_or(200_000, |reads| reads.parse().expect("a number"));
    let mut scenario = Scenario::parse("everything", EVERYTHING, false).expect("a scenario");
    // A fifth more reads than requests.
    let runs = (scenario.shapes.len() * scenario.policies.len()) as f64;
    scenario.seconds = (reads as f64 / runs / 100.0 / 1.2).max(5.0);
    let rows = run_and_watch(&scenario, 2, &|_| {});
    let done: u64 = rows.iter().map(|row| row.reads).sum();
    assert!(done as f64 * 1.2 > 0.95 * reads as f64, "{done} requests");
    // Something did go wrong, and was hedged.
    for policy in &scenario.policies {
        let hedges: u64 = rows.iter().filter(|row| row.policy == policy.name).map(|row| row.hedges).sum();
        // That one has next to no leave, and must see a hundred reads before it hedges the first.
        let expected = !["none", "finagle-1%"].contains(&policy.name.as_str());
        assert!(hedges > 0 || !expected, "{}: nothing was hedged", policy.name);
    }
}

/// Whole files of two classes, whose cells are drawn by weights, on nodes that differ, with queues and without.
const FILES: &str = r#"
    [[shape]]
    name = "classes of files"
    [shape.cluster]
    nodes = 9
    racks = 3
    laws = [1, 2, 3, 4, 5, { exponential = { mean_ms = 3 } }, { gamma = { shape = 2, mean_ms = 3 } }, "heavy", "mixture"]
    [[shape.cluster.files]]
    share = 3
    k = 4
    nodes = [8, 0, 6, 1, 5, 7, 2]
    weights = [5, 10, 4, 10, 0, 5, 6]
    [[shape.cluster.files]]
    k = 1
    nodes = [3, 4]
    [[shape]]
    name = "classes of files, with queues that drop"
    [shape.cluster]
    nodes = 9
    racks = 3
    laws = [1, 2, 3, 4, 5, { exponential = { mean_ms = 3 } }, { gamma = { shape = 2, mean_ms = 3 } }, "heavy", "mixture"]
    queue = "dropping"
    [[shape.cluster.files]]
    k = 4
    nodes = [8, 0, 6, 1, 5, 7, 2]
    weights = [5, 10, 4, 10, 0, 5, 6]
"#;

#[test]
fn reads_of_classes_of_files_keep_the_same_promises() {
    let mut scenario = Scenario::parse(
        "files",
        &format!("{}{FILES}", EVERYTHING.replace(r#""replicated-20", "#, "")),
        false,
    )
    .expect("a scenario");
    scenario.keep_shapes(&["classes of files", "classes of files, with queues that drop"]).expect("shapes");
    scenario.seconds = 10.0;
    let rows = run_and_watch(&scenario, 2, &|_| {});
    let of = |name: &'static str| rows.iter().filter(move |row| row.policy == name);
    assert!(of("none").all(|row| row.hedges == 0 && row.reads > 500));
    assert!(of("default").all(|row| row.hedges > 0));
}

#[test]
fn hedging_never_makes_a_read_fail_that_could_be_answered() {
    // One node of a stripe less than parity bears: nothing fails under any policy.
    let mut scenario = Scenario::parse("everything", EVERYTHING, false).expect("a scenario");
    scenario.seconds = 30.0;
    for shape in &mut scenario.shapes {
        shape
            .incidents
            .retain(|incident| !["is dead", "takes no connection"].contains(&incident.name.as_str()));
    }
    for row in run_and_watch(&scenario, 2, &|_| {}) {
        if row.policy != "replicated-20" {
            assert_eq!(row.failed, 0, "{} {}", row.shape, row.policy);
        }
    }
}
