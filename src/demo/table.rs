//! The table: a line for each scenario, and below it one for each kind of hedging.

use super::plan::{Hedging, K, Scenario};
use super::report::Run;
use crate::show::{Look, Terminal, time};

/// Columns of the first column: which kind of hedging.
const LABEL: usize = 14;
/// Characters of a failure, which names every node, that are shown.
const LONGEST: usize = 200;

/// The names of the columns.
pub(crate) fn head(terminal: Terminal) -> String {
    let head = format!(
        "{:LABEL$}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}{:>7}{:>13}  refused",
        "hedging", "p50", "p99", "p99.9", "max", "reads", "hedges", "wins", "extra cells"
    );
    terminal.paint(Look::Dim, &head)
}

/// The line above the runs of a scenario.
pub(crate) fn story(terminal: Terminal, scenario: &Scenario) -> String {
    format!(
        "{:LABEL$}{}",
        terminal.paint(Look::Bold, scenario.name),
        terminal.paint(Look::Dim, scenario.story)
    )
}

/// One run, and what went wrong in it.
pub(crate) fn row(terminal: Terminal, run: &Run) -> String {
    let measured = &run.measured;
    let refused: Vec<String> =
        run.spent.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let off = run.hedging == Hedging::Off;
    let of_hedging = |count: u64| if off { "-".into() } else { count.to_string() };
    let mut row = format!(
        "{}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}{:>7}{:>13}  {}",
        terminal.paint(look(run.hedging), &format!("  {:width$}", run.hedging.name(), width = LABEL - 2)),
        time(run.quantile(0.5)),
        time(run.quantile(0.99)),
        run.p999().map_or_else(|| "-".into(), time),
        time(run.max()),
        measured.reads(),
        of_hedging(run.spent.hedges),
        of_hedging(run.spent.wins),
        of_hedging(run.spent.extra_cells),
        if refused.is_empty() { "-".into() } else { refused.join(", ") },
    );
    if run.spent.around > 0 {
        let around = format!(
            "{:LABEL$}{} reads started rebuilt, around a demoted node: {K} cells each",
            "", run.spent.around
        );
        row.push('\n');
        row.push_str(&terminal.paint(Look::Dim, &around));
    }
    if measured.wrong_bytes > 0 {
        let wrong = format!("{:LABEL$}{} BYTES WERE WRONG", "", measured.wrong_bytes);
        row.push('\n');
        row.push_str(&terminal.paint(Look::Bad, &wrong));
    }
    if measured.failed > 0 {
        let failure: String =
            measured.failure.iter().flat_map(|failure| failure.chars()).take(LONGEST).collect();
        let failed = format!("{:LABEL$}{} reads failed, the first: {failure}", "", measured.failed);
        row.push('\n');
        row.push_str(&terminal.paint(Look::Bad, &failed));
    }
    row
}

/// How this kind of hedging looks everywhere.
pub(crate) const fn look(hedging: Hedging) -> Look {
    match hedging {
        Hedging::Off => Look::Off,
        Hedging::On => Look::On,
        Hedging::NoBreaker => Look::Bad,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::report::Spent;
    use super::super::report::tests::run;
    use super::*;

    const PLAIN: Terminal = Terminal { unicode: false, colour: false };

    #[test]
    fn columns_stand_below_their_names() {
        let mut run = run(2, Hedging::On, (1..=2_000).map(|n| n * 10));
        run.spent = Spent {
            hedges: 30,
            wins: 20,
            extra_cells: 210,
            around: 0,
            refused: BTreeMap::from([("rate", 4)]),
        };
        assert_eq!(
            format!("{}\n{}\n{}", head(PLAIN), story(PLAIN, run.scenario), row(PLAIN, &run)),
            "\
hedging             p50      p99    p99.9      max   reads  hedges   wins  extra cells  refused
stall         one node sends the head and 4 KiB, then nothing more
  on            10.0 ms  19.8 ms  20.0 ms  20.0 ms    2000      30     20          210  rate 4"
        );
    }

    #[test]
    fn what_went_wrong_is_said_below_the_numbers() {
        let mut run = run(0, Hedging::Off, [5]);
        run.measured.wrong_bytes = 3;
        run.measured.failed = 2;
        run.measured.failure = Some("no way".into());
        let row = row(PLAIN, &run);
        assert!(row.contains("3 BYTES WERE WRONG"), "{row}");
        assert!(row.contains("2 reads failed, the first: no way"), "{row}");
    }
}
