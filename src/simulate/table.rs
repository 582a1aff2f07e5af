//! A shape's table: a line for each policy.

use hedgerow::sim::{Row, Scenario, Shape};

use super::machine;
use crate::show::{Look, Terminal, percent, three_digits, time, wrap};

/// Columns of a policy's name.
const NAME: usize = 28;
/// From a day on, host-minutes of a day mean something.
const DAY: f64 = 86_400.0;

/// The table of one shape, below its name.
pub(super) fn table(terminal: Terminal, scenario: &Scenario, shape: &Shape, rows: &[&Row]) -> String {
    let long = scenario.seconds >= DAY;
    let mut lines = vec![terminal.paint(Look::Bold, &shape.name)];
    if !shape.about.is_empty() {
        lines.push(wrap(&shape.about));
    }
    let (first, second) = if long { ("> 1 s", ">= 5 s") } else { ("stalled", "finished") };
    let head = format!(
        "{:NAME$}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}{:>8}{:>10}{first:>9}{second:>10}",
        "", "late", "p99", "p99.9", "p99.99", "affected", "slowest", "hedges/M", "won", "cells",
    );
    lines.push(terminal.paint(Look::Dim, &head));
    for row in rows {
        lines.push(line(terminal, row, long));
        lines.extend(
            notes(scenario, row)
                .into_iter()
                .map(|(look, note)| terminal.paint(look, &format!("{:width$}{note}", "", width = 4))),
        );
    }
    lines.join("\n")
}

fn line(terminal: Terminal, row: &Row, long: bool) -> String {
    let time_or_none = |millis: f64| if millis > 0.0 { time(millis) } else { "-".into() };
    let name = terminal.paint(look(&row.policy), &format!("{:NAME$}", format!("  {}", row.policy)));
    let won = if row.hedges > 0 { percent(row.win_share) } else { "-".into() };
    let (first, second) = if long {
        (three_digits(row.host_minutes_over_1s), three_digits(row.host_minutes_over_5s))
    } else {
        (percent(row.clients_over_5s), percent(row.throughput))
    };
    format!(
        "{name}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}{won:>8}{:>10}{first:>9}{second:>10}",
        time_or_none(row.threshold_ms),
        time_or_none(row.all.quantile_ms(0.99)),
        time_or_none(row.all.quantile_ms(0.999)),
        time_or_none(row.all.quantile_ms(0.9999)),
        time_or_none(row.affected.quantile_ms(0.99)),
        time_or_none(row.max_ms),
        three_digits(row.hedges_per_million),
        percent(row.extra_cell_share),
    )
}

/// What else there is to say of a row.
fn notes(scenario: &Scenario, row: &Row) -> Vec<(Look, String)> {
    let mut notes = Vec::new();
    let days = (scenario.seconds - scenario.warm_up) * f64::from(scenario.seeds) / DAY;
    if row.days < days && days_differ(row.days, days) {
        let what = format!("of {} days only: it learns from every read", three_digits(row.days));
        notes.push((Look::Dim, what));
    }
    if row.failed > 0 {
        let what = "requests failed, not repairable: more than m cells of a stripe were lost";
        notes.push((Look::Bad, format!("{} {what}", row.failed)));
    }
    let refused: Vec<String> = machine::refused(row)
        .filter(|&(_, count)| count > 0)
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    let mut facts = Vec::new();
    if !refused.is_empty() {
        facts.push(format!("refused: {}", refused.join(", ")));
    }
    if row.opened > 0 {
        facts.push(format!("the breaker opened {} times", row.opened));
    }
    let figure = |name| row.figure(name).and_then(|figure| figure.number());
    if let (Some(mean), Some(error)) = (figure("p99_mean_ms"), figure("p99_standard_error_ms")) {
        facts.push(format!("p99 of the seeds {} with a standard error of {}", time(mean), time(error)));
    }
    if !facts.is_empty() {
        notes.push((Look::Dim, facts.join("; ")));
    }
    notes
}

/// Whether two rows are of times that differ so much that it must be said.
pub(super) fn days_differ(some: f64, others: f64) -> bool {
    (some - others).abs() > 0.01 * some.max(others)
}

/// How a policy looks everywhere.
pub(super) fn look(policy: &str) -> Look {
    match policy {
        "none" => Look::Off,
        "default" => Look::On,
        _ => Look::Other,
    }
}

/// What the columns mean.
pub(super) fn legend(scenario: &Scenario) -> String {
    let rest = if scenario.seconds >= DAY {
        "> 1 s and >= 5 s: pairs of client and minute a day with a read that slow, the median and the mean over the days"
    } else {
        "stalled: clients with a read of 5 s or more; finished: requests over by the end, of those that came"
    };
    wrap(&format!(
        "late: when a leg is late, at the end; affected: p99 of reads that wanted a cell of a node on which something was going on; slowest: of a day, the \
         median over the days; cells: read beyond one for each that was wanted; {rest}."
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use hedge_core::Reason;
    use hedgerow::sim::Latencies;

    use super::*;

    const PLAIN: Terminal = Terminal { unicode: false, colour: false };

    /// A row with a thousand reads of 2 ms, and one of 30.
    pub(crate) fn row(policy: &str, shape: &str) -> Row {
        let mut all = Latencies::new();
        all.record(2_000_000, 1_000);
        all.record(30_000_000, 1);
        let mut affected = Latencies::new();
        affected.record(30_000_000, 1);
        Row {
            policy: policy.into(),
            shape: shape.into(),
            days: 2.0,
            reads: 1_001,
            failed: 0,
            host_minutes_over_1s: 124.0,
            host_minutes_over_5s: 24.4,
            days_over_5s: 0.5,
            clients_over_5s: 0.331,
            hedges: 10,
            hedges_per_million: 1.0,
            win_share: 0.9,
            extra_cell_share: 0.0011,
            refused: [0; Reason::COUNT],
            opened: 0,
            threshold_ms: 29.0,
            all,
            affected,
            max_ms: 30.0,
            p99_ms: vec![2.0],
            throughput: 1.0,
        }
    }

    pub(crate) fn scenario(text: &str) -> Scenario {
        let text = format!("title = \"t\"\npolicies = [\"none\", \"default\"]\n{text}");
        Scenario::parse("s.toml", &text, false).unwrap()
    }

    #[test]
    fn columns_stand_below_their_names() {
        let scenario = scenario("days = 2\n[[shape]]\nname = \"fitted\"\nabout = \"as published\"");
        let mut rows = [row("none", "fitted"), row("default", "fitted")];
        (rows[0].hedges, rows[0].threshold_ms, rows[0].hedges_per_million) = (0, 0.0, 0.0);
        rows[1].refused[6] = 3;
        (rows[1].opened, rows[1].p99_ms) = (2, vec![2.0, 4.0]);
        let table = table(PLAIN, &scenario, &scenario.shapes[0], &rows.each_ref());
        let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
        assert_eq!(
            lines.join("\n"),
            "\
fitted
as published
                                 late      p99    p99.9   p99.99 affected  slowest  hedges/M     won     cells    > 1 s    >= 5 s
  none                              -  2.00 ms  2.00 ms  30.0 ms  30.0 ms  30.0 ms         0       -    0.11 %      124      24.4
  default                     29.0 ms  2.00 ms  2.00 ms  30.0 ms  30.0 ms  30.0 ms         1    90 %    0.11 %      124      24.4
    refused: budget 3; the breaker opened 2 times; p99 of the seeds 3.00 ms with a standard error of 1.00 ms"
        );
    }

    #[test]
    fn short_runs_tell_of_stalled_clients_and_what_was_not_repairable() {
        let scenario = scenario("seconds = 60");
        let mut row = row("none", "s");
        (row.failed, row.throughput) = (3, 0.98);
        let table = table(PLAIN, &scenario, &scenario.shapes[0], &[&row]);
        assert!(table.contains("33.1 %      98 %"), "{table}");
        assert!(table.contains("    3 requests failed, not repairable"), "{table}");
    }

    #[test]
    fn a_row_of_fewer_days_than_the_others_says_so() {
        let scenario = scenario("days = 20");
        let mut row = row("default", "s");
        for (days, said) in [(0.16, true), (19.7, true), (19.9, false), (20.0, false)] {
            row.days = days;
            let table = table(PLAIN, &scenario, &scenario.shapes[0], &[&row]);
            assert_eq!(table.contains(" days only: it learns from every read"), said, "{table}");
        }
        row.days = 0.16;
        let table = table(PLAIN, &scenario, &scenario.shapes[0], &[&row]);
        assert!(table.contains("    of 0.16 days only: it learns"), "{table}");
    }
}
