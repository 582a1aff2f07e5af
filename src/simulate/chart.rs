//! `--svg`: the latencies by shape and policy, and where many policies spend different amounts, the tail against the cost.

use std::fmt::{self, Write};

use hedgerow::sim::{Row, Scenario};

use super::sweep::{self, Point};
use super::table::look;
use crate::show::{Axis, Bar, Bars, LEFT_EDGE, Look, RIGHT_EDGE, escape, page, percent, time};

const LEGEND: [(Look, &str); 3] =
    [(Look::Off, "no hedging"), (Look::On, "Hedgerow's default"), (Look::Other, "other policies")];

/// The chart. `about` is a line on how all was simulated.
pub(super) fn chart(scenario: &Scenario, rows: &[Row], about: &str) -> String {
    let bars =
        Bars { legend: &LEGEND, axis_begin: 230.0, names_above: true, bars: rows.iter().map(bar).collect() };
    page(&scenario.title, about, |svg, top| {
        let mut bottom = bars.draw(svg, top);
        for shape in &scenario.shapes {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.shape == shape.name).collect();
            if let Some(points) = sweep::points(&rows) {
                bottom = curve(svg, bottom + 30.0, &shape.name, &points);
            }
        }
        bottom
    })
}

fn bar(row: &Row) -> Bar {
    let quantile = |quantile| row.all.quantile_ms(quantile);
    let p999 = (row.reads >= 1_000).then(|| quantile(0.999));
    Bar {
        group: row.shape.clone(),
        name: row.policy.clone(),
        look: look(&row.policy),
        text: format!(
            "{}, {}: p50 {}, p99 {}, p99.9 {}, affected p99 {}, slowest of a day {}; {} extra cells, {} reads",
            row.shape,
            row.policy,
            time(quantile(0.5)),
            time(quantile(0.99)),
            time(quantile(0.999)),
            time(row.affected.quantile_ms(0.99)),
            time(row.max_ms),
            percent(row.extra_cell_share),
            row.reads
        ),
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999,
        max: row.max_ms.max(quantile(0.99)),
    }
}

/// Where the curve's field begins to the left, and how high it is.
const LEFT: f64 = 90.0;
const HEIGHT: f64 = 300.0;

/// The curve of one shape from `top` on; the answer is where it ends.
fn curve(svg: &mut String, top: f64, shape: &str, points: &[Point<'_>]) -> f64 {
    let field = Field::of(points, top + 34.0);
    // Writing to a string does not fail.
    let _ = field.draw(svg, top, shape, points);
    field.top + HEIGHT + 40.0
}

/// Where costs and times lie.
struct Field {
    top: f64,
    /// The first decade of costs, and how many there are.
    first: i32,
    decades: i32,
    axis: Axis,
}

impl Field {
    fn of(points: &[Point<'_>], top: f64) -> Self {
        let least = points.iter().map(|point| point.cost).fold(1.0, f64::min).max(1e-9);
        let most = points.iter().map(|point| point.cost).fold(least, f64::max);
        let first = least.log10().floor() as i32;
        let decades = (most.log10().ceil() as i32 - first).max(1);
        let slowest = points.iter().map(|point| point.slowest.max(point.tail)).fold(0.0, f64::max);
        Self { top, first, decades, axis: Axis::up_to(slowest) }
    }

    fn x(&self, cost: f64) -> f64 {
        let place = (cost.max(f64::MIN_POSITIVE).log10() - f64::from(self.first)) / f64::from(self.decades);
        LEFT + place.clamp(0.0, 1.0) * (RIGHT_EDGE - 40.0 - LEFT)
    }

    fn y(&self, millis: f64) -> f64 {
        self.top + HEIGHT * (1.0 - self.axis.place(millis))
    }

    fn draw(&self, svg: &mut String, top: f64, shape: &str, points: &[Point<'_>]) -> fmt::Result {
        writeln!(
            svg,
            "<text class=\"name\" x=\"{LEFT_EDGE}\" y=\"{:.1}\">{}: what is left of the tail, against extra cells; dots are the p99 of affected reads, \
             rings the slowest of a day</text>",
            top + 14.0,
            escape(shape)
        )?;
        let bottom = self.top + HEIGHT;
        for decade in self.first..=self.first + self.decades {
            let share = 10_f64.powi(decade);
            let x = self.x(share);
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\
                 <text class=\"soft middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                self.top,
                bottom + 20.0,
                percent(share)
            )?;
        }
        for (millis, text) in self.axis.marks() {
            let y = self.y(millis);
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"soft end\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
                RIGHT_EDGE - 40.0,
                LEFT - 10.0,
                y + 4.0
            )?;
        }
        let path = |of: fn(&Point<'_>) -> f64| {
            let steps =
                points.iter().map(|point| format!("{:.1},{:.1}", self.x(point.cost), self.y(of(point))));
            steps.collect::<Vec<String>>().join(" ")
        };
        for path in [path(|point| point.tail), path(|point| point.slowest)] {
            writeln!(svg, "<g class=\"mark\"><polyline class=\"path\" points=\"{path}\"/></g>")?;
        }
        let knee = sweep::knee(points);
        for point in points {
            let (x, y) = (self.x(point.cost), self.y(point.tail));
            let mark = if knee.is_some_and(|knee| knee.policy == point.policy) { ", the knee" } else { "" };
            writeln!(
                svg,
                "<g class=\"{}\"><title>{policy}: {} extra cells, {}, slowest {}{mark}</title>\
                 <circle class=\"ring\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"2.7\"/><circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\"/>\
                 <text x=\"{x:.1}\" y=\"{y:.1}\" transform=\"rotate(35 {x:.1} {y:.1}) translate(8 12)\">{policy}{mark}</text></g>",
                look(point.policy).class(),
                percent(point.cost),
                time(point.tail),
                time(point.slowest),
                self.y(point.slowest),
                policy = escape(point.policy),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{row, scenario};
    use super::*;

    #[test]
    fn every_row_is_drawn_and_a_sweep_is_a_curve() {
        let scenario = scenario("days = 1\n[[shape]]\nname = \"a & b\"");
        let rows: Vec<Row> = (0..10_u32)
            .map(|step| {
                let mut row = row(&format!("p{step}"), "a & b");
                row.extra_cell_share = 0.1_f64.powi(step.try_into().unwrap());
                row
            })
            .collect();
        let svg = chart(&scenario, &rows, "about");
        // A ring for each bar and each point of the curve, and one in the legend.
        assert_eq!(svg.matches("class=\"ring\"").count(), 10 + 10 + 1);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("a &amp; b") && !svg.contains("a & b"));
        let few = chart(&scenario, &rows[..3], "about");
        assert_eq!(few.matches("<polyline").count(), 0);
    }

    #[test]
    fn points_at_the_ends_of_all_numbers_stay_on_the_page() {
        let extreme = |cost, tail| Point { policy: "p", cost, tail, slowest: tail };
        let points = [extreme(1e300, 1e300), extreme(1.0, 0.0), extreme(1e-300, f64::NAN)];
        let field = Field::of(&points, 0.0);
        for point in points {
            assert!((0.0..=RIGHT_EDGE).contains(&field.x(point.cost)));
            assert!(field.y(point.tail).is_nan() || (0.0..=HEIGHT).contains(&field.y(point.tail)));
        }
    }
}
