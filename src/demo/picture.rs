//! The latency picture in the terminal: for each run a strip, in which the height is the number of reads.

use super::axis::Axis;
use super::report::Run;
use super::table::look;
use super::terminal::{Look, Terminal};

/// Columns before the strips.
const LABEL: usize = 27;
/// Columns of all decades together, about.
const WIDTH: u32 = 66;

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];

/// All runs, one below the other on one axis.
pub(crate) fn picture(terminal: Terminal, runs: &[Run]) -> String {
    let axis = Axis::up_to(runs.iter().map(Run::max).fold(0.0, f64::max));
    let columns = WIDTH / axis.decades() * axis.decades();
    let heights = if terminal.unicode { BLOCKS } else { ASCII };
    let mut lines = vec![
        terminal.paint(
            Look::Dim,
            &format!(
                "how long reads took; height on a log scale: {} is one read, {} is all",
                heights[1], heights[8]
            ),
        ),
        terminal.paint(Look::Dim, &marks(axis, columns)),
    ];
    let mut last = "";
    for run in runs {
        let name = if run.scenario.name == last { "" } else { run.scenario.name };
        last = run.scenario.name;
        let strip: String =
            levels(run, axis, columns).into_iter().filter_map(|level| heights.get(level)).collect();
        let label = format!("{:width$}", run.hedging.name(), width = LABEL - 14);
        let look = look(run.hedging);
        lines.push(format!(
            "{name:14}{}{}",
            terminal.paint(look, &label),
            terminal.paint(look, strip.trim_end())
        ));
    }
    lines.join("\n")
}

/// The names of the decades, each beginning where its decade does.
fn marks(axis: Axis, columns: u32) -> String {
    let mut line = " ".repeat(LABEL);
    for (millis, text) in axis.marks() {
        let column = LABEL + (axis.place(millis) * f64::from(columns)).round() as usize;
        while line.len() < column {
            line.push(' ');
        }
        line.push_str(&text);
    }
    line
}

/// The height of each column, 0 to 8: 0 for no read, 8 for all.
fn levels(run: &Run, axis: Axis, columns: u32) -> Vec<usize> {
    let mut counts = vec![0_u64; columns as usize];
    for step in run.micros().iter_recorded() {
        let place = axis.place(step.value_iterated_to() as f64 / 1_000.0);
        let column = ((place * f64::from(columns)) as usize).min(counts.len().saturating_sub(1));
        if let Some(count) = counts.get_mut(column) {
            *count += step.count_since_last_iteration();
        }
    }
    let all = (run.measured.reads() as f64).ln();
    let level = |count: u64| match count {
        0 => 0,
        // One read of one: all of them.
        _ if all <= 0.0 => 8,
        _ => 1 + ((count as f64).ln() / all * 7.0).round() as usize,
    };
    counts.into_iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plan::Hedging;
    use super::super::report::tests::run;
    use super::*;

    #[test]
    fn one_read_and_all_reads_are_told_apart_and_stand_at_their_latency() {
        let mut slow = vec![1_500; 999];
        slow.push(300_000);
        let runs = [run(0, Hedging::Off, vec![1_500; 1_000]), run(0, Hedging::On, slow)];
        let plain = Terminal { unicode: false, colour: false };
        assert_eq!(
            picture(plain, &runs),
            "\
how long reads took; height on a log scale: . is one read, @ is all
                           0.1 ms          1 ms            10 ms           100 ms          1 s
healthy       off                            @
              on                             @                                    ."
        );
        let unicode = picture(Terminal { unicode: true, ..plain }, &runs);
        assert!(unicode.contains('█') && unicode.contains('▁'), "{unicode}");
    }

    #[test]
    fn any_latency_has_a_column() {
        let run = run(0, Hedging::Off, [0, 1, 99, 3_600_000_000]);
        let axis = Axis::up_to(run.max());
        let levels = levels(&run, axis, 60);
        assert_eq!(levels.len(), 60);
        assert!(levels[0] > 0 && levels[59] > 0);
        assert!(levels.iter().all(|&level| level <= 8));
    }
}
