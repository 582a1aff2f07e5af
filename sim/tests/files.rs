//! Classes of files: where they lie matters, to incidents and to hedges.

use hedgerow_sim::{Row, Scenario, run};

/// Two classes on nodes of their own, one of which has something happen to its first node; nothing waits for anything else.
fn rows(policies: &str, incident: &str) -> Vec<Row> {
    let text = format!(
        r#"
        title = "files"
        engine = "full"
        seconds = 120
        warm_up_seconds = 20
        policies = [{policies}]
        [cluster]
        nodes = 10
        racks = 1
        clients = 1
        code = {{ k = 3, m = 2 }}
        laws = [10, 10, 10, 10, 10, 20, 20, 20, 20, 20]
        reads_per_second = 100
        new_connections = 0
        rebuild = 0
        [[cluster.files]]
        share = 3
        k = 3
        nodes = [0, 1, 2, 3, 4]
        weights = [1, 1, 1, 0, 0]
        [[cluster.files]]
        k = 2
        nodes = [9, 8, 7, 6, 5]
        {incident}
        "#
    );
    run(&Scenario::parse("files", &text, false).expect("a scenario"), 1, &|_| {})
}

/// What share of the reads took so many milliseconds, to one or two.
fn share(row: &Row, around_ms: f64) -> f64 {
    let near = row.all.steps().filter(|&(micros, _)| (micros as f64 / 1e3 - around_ms).abs() < 2.0);
    near.map(|(_, reads)| reads).sum::<u64>() as f64 / row.reads as f64
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.02, "{found}, expected {expected}");
}

#[test]
fn each_read_takes_what_the_nodes_of_its_class_take() {
    let row = rows("\"none\"", "").remove(0);
    close(share(&row, 10.0), 0.75);
    close(share(&row, 20.0), 0.25);
    assert_eq!((row.affected.reads(), row.hedges, row.extra_cell_share), (0, 0, 0.0));
}

#[test]
fn what_happens_to_a_node_befalls_the_reads_that_draw_it_and_no_others() {
    let slow = |node: u32| {
        format!(
            "[[incident]]\nname = \"slow\"\neffect = {{ slow = 5 }}\nplace = {{ node = {node} }}\nat_seconds = 0\nlasts = 1_000_000"
        )
    };
    // Every read of the first class, which wants all three of its weighted cells.
    let row = rows("\"none\"", &slow(2)).remove(0);
    close(share(&row, 50.0), 0.75);
    assert_eq!(row.affected.reads(), (share(&row, 50.0) * row.reads as f64).round() as u64);
    // No read, because the weight is 0.
    assert_eq!(rows("\"none\"", &slow(3)).remove(0).affected.reads(), 0);
    // Two fifths of the second.
    let row = rows("\"none\"", &slow(5)).remove(0);
    close(share(&row, 100.0), 0.25 * 0.4);
}

#[test]
fn a_hedge_takes_further_cells_of_the_class_and_any_k_are_enough() {
    let frozen = "[[incident]]\nname = \"frozen\"\neffect = \"freeze\"\nplace = { node = 2 }\nat_seconds = 0\nlasts = 1_000_000";
    // Late after 30 ms, and a node that has no weight takes 10.
    let set = r#"{ name = "hedged", base = "fixed-30", set = { "budget.share.ppm" = "off", "health.demote" = false, "useful.outcomes" = "off" } }"#;
    let row = rows(set, frozen).remove(0);
    close(share(&row, 40.0), 0.75);
    close(share(&row, 20.0), 0.25);
    assert_eq!((row.failed, row.win_share), (0, 1.0));
    // One cell more for each read of three.
    close(row.extra_cell_share, 0.75 / 2.75);
}
