//! What is bought and what it costs, where many policies of one shape spend different amounts: the tail against the cost, and the knee.

use hedgerow::sim::Row;

use super::table::look;
use crate::show::{Look, Terminal, percent, time};

/// With fewer policies that spend something there is nothing to sweep.
const LEAST: usize = 8;
/// Costs that differ by less have no knee.
const LEAST_RANGE: f64 = 100.0;
/// Where fewer requests were over by the end, the tail of those that were says nothing.
const LEAST_FINISHED: f64 = 0.99;
/// Columns of a whole bar.
const WIDTH: f64 = 30.0;

/// One policy: what it costs and what it leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point<'r> {
    pub(super) policy: &'r str,
    /// Extra cells, as a share.
    pub(super) cost: f64,
    /// The p99 of affected reads in milliseconds; of all reads p99.99, if none is affected.
    pub(super) tail: f64,
    /// The slowest read of a day in milliseconds.
    pub(super) slowest: f64,
}

/// The policies of one shape that spend something, the dearest first; none if they are too few.
pub(super) fn points<'r>(rows: &[&'r Row]) -> Option<Vec<Point<'r>>> {
    let spends = |row: &&&Row| row.extra_cell_share > 0.0 && row.throughput >= LEAST_FINISHED;
    let mut points: Vec<Point<'r>> = rows
        .iter()
        .filter(spends)
        .map(|row| Point {
            policy: &row.policy,
            cost: row.extra_cell_share,
            tail: tail(row),
            slowest: row.max_ms,
        })
        .collect();
    points.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    (points.len() >= LEAST).then_some(points)
}

fn tail(row: &Row) -> f64 {
    if row.affected.reads() > 0 { row.affected.quantile_ms(0.99) } else { row.all.quantile_ms(0.9999) }
}

/// The knee: from the cheapest policy on, the last that brings the tail down by at least the factor by which it costs more.
///
/// Policies that cost more than another and leave a longer tail are left out. None if all cost about the same.
pub(super) fn knee<'r>(points: &[Point<'r>]) -> Option<Point<'r>> {
    if points.first()?.cost < points.last()?.cost * LEAST_RANGE {
        return None;
    }
    let mut best: Option<Point<'r>> = None;
    let mut knee = None;
    for &point in points.iter().rev() {
        let Some(last) = best else {
            (best, knee) = (Some(point), Some(point));
            continue;
        };
        if point.tail >= last.tail || point.tail <= 0.0 {
            continue;
        }
        if last.tail / point.tail >= point.cost / last.cost {
            knee = Some(point);
        }
        best = Some(point);
    }
    knee
}

/// The picture for people: two bars for each policy.
pub(super) fn sweep(terminal: Terminal, rows: &[&Row]) -> Option<String> {
    let points = points(rows)?;
    let knee = knee(&points);
    let name = points.iter().map(|point| point.policy.chars().count() + 4).max().unwrap_or_default();
    let (full, bar) = if terminal.unicode { ("█", "▇") } else { ("#", "=") };
    let most = |of: fn(&Point<'_>) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let least = |of: fn(&Point<'_>) -> f64| points.iter().map(of).fold(f64::INFINITY, f64::min);
    let costs = (least(|point| point.cost), most(|point| point.cost));
    let tails = (least(|point| point.tail), most(|point| point.tail));
    let width = WIDTH as usize;
    let head = format!(
        "{:name$}{:width$}          {}",
        "", "extra cells", "what is left of the tail; both on a log scale"
    );
    let mut lines = vec![terminal.paint(Look::Dim, &head)];
    for point in &points {
        let cost = format!("{:>9} {:width$}", percent(point.cost), full.repeat(columns(point.cost, costs)));
        let tail = format!("{:>8} {}", time(point.tail), bar.repeat(columns(point.tail, tails)));
        let mark = if knee.is_some_and(|knee| knee.policy == point.policy) { "  <- the knee" } else { "" };
        let policy = terminal.paint(look(point.policy), &format!("{:name$}", format!("  {}", point.policy)));
        lines.push(format!("{policy}{cost}{tail}{}", terminal.paint(Look::Bold, mark)));
    }
    Some(lines.join("\n"))
}

/// How long a bar is: 1 for the least, all columns for the most, on a log scale.
fn columns(number: f64, (least, most): (f64, f64)) -> usize {
    if number <= 0.0 || most <= least {
        return 1;
    }
    let share = (number / least).ln() / (most / least).ln();
    (1.0 + share * (WIDTH - 1.0)).round() as usize
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::row;
    use super::*;

    fn point(policy: &str, cost: f64, tail: f64) -> Point<'_> {
        Point { policy, cost, tail, slowest: tail }
    }

    #[test]
    fn the_knee_is_the_last_step_that_buys_at_least_what_it_costs() {
        let points = [
            point("10", 0.07, 20.0),
            point("20", 0.004, 25.0),
            point("worse", 0.003, 300.0),
            point("30", 0.0007, 35.0),
            point("50", 0.000_06, 60.0),
            point("100", 0.000_05, 110.0),
            point("250", 0.000_04, 260.0),
        ];
        assert_eq!(knee(&points).unwrap().policy, "50");
        assert_eq!(knee(&points[5..]), None);
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn a_sweep_is_shown_where_enough_policies_spend_something() {
        let rows: Vec<Row> = (0..10_u32)
            .map(|step| {
                let mut row = row(&format!("p{step}"), "s");
                row.extra_cell_share = f64::from(step * step * step) / 1000.0;
                row
            })
            .collect();
        let rows: Vec<&Row> = rows.iter().collect();
        let plain = Terminal { unicode: false, colour: false };
        let sweep = sweep(plain, &rows).unwrap();
        let names: Vec<&str> =
            sweep.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(names, ["p9", "p8", "p7", "p6", "p5", "p4", "p3", "p2", "p1"]);
        assert_eq!(sweep.matches("<- the knee").count(), 1);
        assert!(sweep.is_ascii());
        assert_eq!(super::sweep(plain, &rows[..8]), None);
    }

    #[test]
    fn bars_are_as_long_as_their_numbers_on_a_log_scale() {
        let lengths = [1.0, 10.0, 100.0].map(|number| columns(number, (1.0, 100.0)));
        assert_eq!(lengths, [1, 16, 30]);
        assert_eq!((columns(0.0, (0.0, 1.0)), columns(5.0, (5.0, 5.0))), (1, 1));
    }
}
