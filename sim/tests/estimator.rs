//! The adaptive threshold with one of nine nodes dead for a hundred thousand reads.

use hedgerow_sim::{Law, Row, Scenario, run};

/// A client of nine nodes that reads 75 cells a second; one node is dead from ten minutes on, to the end.
fn one_of_nine(service: &str, policy: &str) -> Row {
    let text = format!(
        r#"
        title = "one of nine"
        engine = "full"
        seconds = 2000
        policies = [{policy}]
        [cluster]
        nodes = 9
        racks = 3
        clients = 1
        reads_per_second = 75
        service = "{service}"
        new_connections = 0
        [[shape]]
        name = "dead"
        [[shape.incident]]
        name = "dead"
        effect = {{ dead-after-ms = 5000 }}
        place = {{ nodes = 1 }}
        at_seconds = 600
        lasts = 10_000_000
        "#
    );
    let scenario = Scenario::parse("one of nine", &text, false).expect("a scenario");
    run(&scenario, 1, &|_| {}).remove(0)
}

#[test]
fn one_dead_node_of_nine_does_not_move_the_threshold_from_the_healthy_quantile() {
    for form in ["lognormal", "mixture", "heavy"] {
        let p99 = Law::named(form).expect("a form").quantile_above(0.01);
        let row = one_of_nine(form, "\"p99x3\"");
        // Buckets are 3 % wide, and a minute has 4,500 legs.
        assert!((2.6 * p99..3.7 * p99).contains(&row.threshold_ms), "{form}: {}", row.threshold_ms);
        // Nearly every read of the dead node is helped: read around, or hedged.
        assert!(
            row.affected.quantile_ms(0.95) < 3.0 * row.threshold_ms,
            "{form}: {}",
            row.affected.quantile_ms(0.95)
        );
    }
}

#[test]
fn one_dead_node_of_nine_does_not_move_the_threshold_that_spends_a_target_either() {
    for (form, healthy_ms) in [("lognormal", 28.8), ("mixture", 21.2), ("heavy", 37.6)] {
        let row = one_of_nine(form, "\"default\"");
        // A seven-thousandth of the legs lies beyond it, of 150,000: a quarter of them more or less is chance.
        assert!(
            (0.8 * healthy_ms..1.35 * healthy_ms).contains(&row.threshold_ms),
            "{form}: {}",
            row.threshold_ms
        );
    }
}

#[test]
fn the_bare_quantile_is_not_moved_either() {
    let row = one_of_nine(
        "lognormal",
        r#"{ name = "p99", base = "p99x3", set = { "threshold.factor.milli" = "1000", "budget.share.ppm" = "off" } }"#,
    );
    assert!((8.0..13.0).contains(&row.threshold_ms), "{}", row.threshold_ms);
}
