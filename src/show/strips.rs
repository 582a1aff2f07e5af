//! The latency picture in the terminal: for each thing that is compared a strip, in which the height is the number of reads.

use super::{Axis, Look, Terminal};

/// Columns of all decades together, about.
const WIDTH: u32 = 66;

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];

/// The latencies of one thing.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    /// What it belongs to: said once for neighbours.
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) look: Look,
    /// Microseconds, and how many reads took so long.
    pub(crate) steps: Vec<(u64, u64)>,
}

/// All strips, one below the other on one axis. Names of groups and strips have so many columns.
pub(crate) fn strips(terminal: Terminal, (group, name): (usize, usize), strips: &[Strip]) -> String {
    let slowest = strips.iter().flat_map(|strip| &strip.steps).map(|&(micros, _)| micros).max();
    let axis = Axis::up_to(millis(slowest.unwrap_or_default()));
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
        terminal.paint(Look::Dim, &marks(axis, group + name, columns)),
    ];
    let mut last = "";
    for strip in strips {
        let of = if strip.group == last { "" } else { &strip.group };
        last = &strip.group;
        let picture: String =
            levels(&strip.steps, axis, columns).into_iter().filter_map(|level| heights.get(level)).collect();
        let label = format!("{:name$}", strip.name);
        lines.push(format!(
            "{of:group$}{}{}",
            terminal.paint(strip.look, &label),
            terminal.paint(strip.look, picture.trim_end())
        ));
    }
    lines.join("\n")
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

/// The names of the decades, each beginning where its decade does.
fn marks(axis: Axis, label: usize, columns: u32) -> String {
    let mut line = " ".repeat(label);
    for (millis, text) in axis.marks() {
        let column = label + (axis.place(millis) * f64::from(columns)).round() as usize;
        while line.len() < column {
            line.push(' ');
        }
        line.push_str(&text);
    }
    line
}

/// The height of each column, 0 to 8: 0 for no read, 8 for all.
fn levels(steps: &[(u64, u64)], axis: Axis, columns: u32) -> Vec<usize> {
    let mut counts = vec![0_u64; columns as usize];
    for &(micros, reads) in steps {
        let column =
            ((axis.place(millis(micros)) * f64::from(columns)) as usize).min(counts.len().saturating_sub(1));
        if let Some(count) = counts.get_mut(column) {
            *count = count.saturating_add(reads);
        }
    }
    let all = (steps.iter().map(|&(_, reads)| reads as f64).sum::<f64>()).ln();
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
    use super::*;

    fn strip(name: &str, steps: Vec<(u64, u64)>) -> Strip {
        Strip { group: "healthy".into(), name: name.into(), look: Look::On, steps }
    }

    #[test]
    fn one_read_and_all_reads_are_told_apart_and_stand_at_their_latency() {
        let both = [strip("off", vec![(1_500, 1_000)]), strip("on", vec![(1_500, 999), (300_000, 1)])];
        let plain = Terminal { unicode: false, colour: false };
        assert_eq!(
            strips(plain, (14, 13), &both),
            "\
how long reads took; height on a log scale: . is one read, @ is all
                           0.1 ms          1 ms            10 ms           100 ms          1 s
healthy       off                            @
              on                             @                                    ."
        );
        let unicode = strips(Terminal { unicode: true, ..plain }, (14, 13), &both);
        assert!(unicode.contains('█') && unicode.contains('▁'), "{unicode}");
    }

    #[test]
    fn any_latency_has_a_column() {
        let steps = [(0, 1), (1, 1), (99, 1), (3_600_000_000, 1)];
        let levels = levels(&steps, Axis::up_to(3_600_000.0), 60);
        assert_eq!(levels.len(), 60);
        assert!(levels[0] > 0 && levels[59] > 0);
        assert!(levels.iter().all(|&level| level <= 8));
    }
}
