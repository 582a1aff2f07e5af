//! The queues of the full engine against what is known of them in closed form.

use hedgerow_sim::{Law, Row, Scenario, run};

/// Fifty queues without hedging, at this load.
fn queues(service: &str, load: f64, queue: &str, seconds: u32) -> Row {
    let text = format!(
        r#"
        title = "queues"
        engine = "full"
        seconds = {seconds}
        warm_up_seconds = 20
        policies = ["none"]
        [cluster]
        nodes = 50
        clients = 1
        service = {service}
        queue = {queue}
        load = {load}
        new_connections = 0
        [[shape]]
        name = "steady"
        "#
    );
    let scenario = Scenario::parse("queues", &text, false).expect("a scenario");
    run(&scenario, 1, &|_| {}).remove(0)
}

fn close(what: &str, found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() < within, "{what}: {found}, expected {expected}");
}

#[test]
fn a_queue_with_exponential_service_keeps_reads_as_long_as_theory_says() {
    for queue in [r#"{ fifo = { servers = 1 } }"#, r#""dropping""#] {
        let row = queues("{ exponential = { mean_ms = 2 } }", 0.7, queue, 220);
        // The time in an M/M/1 queue is exponential, with the mean 1 / (mu - lambda).
        let mean = 2.0 / (1.0 - 0.7);
        close("mean", row.all.mean_ms(), mean, 0.01);
        close("p50", row.all.quantile_ms(0.5), mean * 2_f64.ln(), 0.015);
        close("p99", row.all.quantile_ms(0.99), mean * 100_f64.ln(), 0.02);
    }
}

#[test]
fn a_queue_with_any_service_keeps_reads_as_long_as_pollaczek_and_khinchine_say() {
    let service = Law::lognormal_p99(1.5, 10.0);
    let row = queues("\"lognormal\"", 0.5, "{ fifo = { servers = 1 } }", 320);
    let (mean, second) = (service.mean(), service.second_moment());
    // Mean wait = lambda E[S^2] / (2 (1 - rho)).
    let expected = mean + 0.5 / mean * second / (2.0 * (1.0 - 0.5));
    close("mean", row.all.mean_ms(), expected, 0.01);
}

#[test]
fn two_servers_keep_reads_as_long_as_erlang_says() {
    let row = queues("{ exponential = { mean_ms = 2 } }", 0.7, "{ fifo = { servers = 2 } }", 170);
    // M/M/2: the mean time is 1 / (mu (1 - rho^2)).
    close("mean", row.all.mean_ms(), 2.0 / (1.0 - 0.7 * 0.7), 0.01);
}
