//! `--svg`: the share of reads that take x or longer, for each policy over x; lines are exact, dots simulated.

use std::fmt::{self, Write};

use super::rows::Row;
use super::scenario::Fleet;
use crate::show::{LEFT_EDGE, RIGHT_EDGE, escape, page, time};

/// The field, and what is free to its right for names.
const LEFT: f64 = 90.0;
const RIGHT: f64 = RIGHT_EDGE - 230.0;
const HEIGHT: f64 = 420.0;
/// No less is drawn.
const LEAST_DECADE: i32 = -12;
/// How far names stand apart, and times below the field.
const NAME_STEP: f64 = 17.0;
const TIME_STEP: f64 = 48.0;

/// A page on a fleet. `about` is a line on how all was found.
pub(super) fn chart(fleet: &Fleet, rows: &[Row], about: &str) -> String {
    page(&fleet.title, about, |svg, top| {
        let field = Field::of(fleet, rows, top + 58.0);
        // Writing to a string does not fail.
        let _ = field.draw(svg, top, fleet, rows);
        field.top + HEIGHT + 44.0
    })
}

/// Where times and shares lie.
struct Field {
    top: f64,
    from: f64,
    to: f64,
    /// The lowest decade.
    decade: i32,
}

impl Field {
    fn of(fleet: &Fleet, rows: &[Row], top: f64) -> Self {
        let outcomes = rows.iter().filter_map(|row| row.outcome.as_ref().ok());
        let least =
            outcomes.map(|outcome| outcome.tail.exact).filter(|&share| share > 0.0).fold(1.0, f64::min);
        let decade = (least.log10().floor() as i32).clamp(LEAST_DECADE, -1);
        let from = fleet.x.first().copied().unwrap_or_default();
        let to = fleet.x.last().copied().unwrap_or_default().max(from * 1.001);
        Self { top, from, to, decade }
    }

    fn x(&self, x: f64) -> f64 {
        LEFT + ((x - self.from) / (self.to - self.from)).clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn y(&self, share: f64) -> f64 {
        let place = share.max(f64::MIN_POSITIVE).log10() / f64::from(self.decade);
        self.top + place.clamp(0.0, 1.0) * HEIGHT
    }

    fn draw(&self, svg: &mut String, top: f64, fleet: &Fleet, rows: &[Row]) -> fmt::Result {
        writeln!(
            svg,
            "<text class=\"name\" x=\"{LEFT_EDGE}\" y=\"{:.1}\">The share of reads that take x or longer. Lines: exact; dots: simulated; broken: the bound</text>",
            top + 30.0
        )?;
        for decade in self.decade..=0 {
            let y = self.y(10_f64.powi(decade));
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>\
                 <text class=\"soft end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 10.0,
                y + 4.0,
                if decade == 0 { "1".into() } else { format!("1e{decade}") }
            )?;
        }
        let mut free = f64::MIN;
        for &x in &fleet.x {
            let at = self.x(x);
            // Of times that lie close together the first is told.
            let told = if at < free { String::new() } else { time(x) };
            free = if at < free { free } else { at + TIME_STEP };
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>\
                 <text class=\"soft middle\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                self.top,
                self.top + HEIGHT,
                self.top + HEIGHT + 20.0,
                told
            )?;
        }
        let of_policies: Vec<&[Row]> = rows.chunk_by(|a, b| a.policy == b.policy).collect();
        let names = self.names(&of_policies);
        for (rows, name) in of_policies.into_iter().zip(names) {
            self.policy(svg, rows, name)?;
        }
        Ok(())
    }

    /// Where each policy's name stands: at the end of its line, apart from the others, and beside the field.
    fn names(&self, of_policies: &[&[Row]]) -> Vec<f64> {
        let end = |rows: &[Row]| {
            let last = rows.iter().rev().find_map(|row| row.outcome.as_ref().ok());
            last.map_or(self.top, |outcome| self.y(outcome.tail.exact))
        };
        let mut order: Vec<(usize, f64)> = of_policies.iter().map(|rows| end(rows)).enumerate().collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut names = vec![0.0; of_policies.len()];
        let mut last = self.top - NAME_STEP;
        for (below, (place, y)) in (0..order.len()).rev().zip(order) {
            let lowest = self.top + HEIGHT - NAME_STEP * below as f64;
            last = y.min(lowest).max(last + NAME_STEP);
            names[place] = last;
        }
        names
    }

    fn policy(&self, svg: &mut String, rows: &[Row], name: f64) -> fmt::Result {
        let Some(first) = rows.first() else { return Ok(()) };
        let known: Vec<_> = rows.iter().filter_map(|row| Some((row.x, row.outcome.as_ref().ok()?))).collect();
        writeln!(svg, "<g class=\"{}\">", super::table::look(first.policy).class())?;
        for (figure, style) in [(0, ""), (1, " stroke-dasharray=\"2 5\"")] {
            let steps = known.iter().map(|(x, outcome)| {
                let share = if figure == 0 { outcome.tail.exact } else { outcome.tail.bound };
                format!("{:.1},{:.1}", self.x(*x), self.y(share))
            });
            let steps: Vec<String> = steps.collect();
            writeln!(svg, "<polyline class=\"path\"{style} points=\"{}\"/>", steps.join(" "))?;
        }
        for (x, outcome) in &known {
            let Some(counted) = outcome.counted().filter(|counted| counted.reached > 0) else { continue };
            writeln!(
                svg,
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}, {}: bound {:.2e}, exact {:.2e}, simulated {:.2e} ({} of {} reads)</title></circle>",
                self.x(*x),
                self.y(counted.share),
                escape(first.policy.name()),
                time(*x),
                outcome.tail.bound,
                outcome.tail.exact,
                counted.share,
                counted.reached,
                counted.reads
            )?;
        }
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}{}</text></g>",
            RIGHT + 10.0,
            name + 4.0,
            escape(first.policy.name()),
            if known.is_empty() { ": no plan" } else { "" }
        )
    }
}
