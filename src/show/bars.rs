//! A chart of latencies: for each thing that is compared a bar from p50 to p99, and a line on to the slowest.

use std::fmt::{self, Write};

use super::page::{LEFT_EDGE, RIGHT_EDGE, escape};
use super::{Axis, Look, time};

/// Where the axis ends; beyond stands the p99 in words.
const AXIS_END: f64 = 830.0;
/// The height of a row, and what is free below the rows of a group.
const ROW: f64 = 17.0;
const GAP: f64 = 11.0;
/// From where the chart begins to its rows: the legend.
const HEAD: f64 = 66.0;

/// The bars, in groups.
#[derive(Clone, Debug)]
pub(crate) struct Bars<'a> {
    /// What the looks mean.
    pub(crate) legend: &'a [(Look, &'a str)],
    /// Where names end and the axis begins.
    pub(crate) axis_begin: f64,
    /// A group's name stands above its bars, for there is no room beside them.
    pub(crate) names_above: bool,
    /// One bar after the other; those of one group side by side.
    pub(crate) bars: Vec<Bar>,
}

/// Latencies in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) look: Look,
    /// All that is known, in words.
    pub(crate) text: String,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: Option<f64>,
    pub(crate) max: f64,
}

impl Bars<'_> {
    /// Draws the bars from `top` on; the answer is where they end.
    pub(crate) fn draw(&self, svg: &mut String, top: f64) -> f64 {
        let groups: Vec<&[Bar]> = self.bars.chunk_by(|a, b| a.group == b.group).collect();
        let lines = self.bars.len() + if self.names_above { groups.len() } else { 0 };
        let bottom = top + HEAD + lines as f64 * ROW + groups.len() as f64 * GAP;
        // Writing to a string does not fail.
        let _ = self.draw_groups(svg, &groups, top, bottom);
        bottom + 20.0
    }

    fn draw_groups(&self, svg: &mut String, groups: &[&[Bar]], top: f64, bottom: f64) -> fmt::Result {
        self.draw_legend(svg, top + 26.0)?;
        let top = top + HEAD;
        let axis = Axis::up_to(self.bars.iter().map(|bar| bar.max).fold(0.0, f64::max));
        let x = |millis: f64| self.axis_begin + axis.place(millis) * (AXIS_END - self.axis_begin);
        for (millis, text) in axis.marks() {
            let x = x(millis);
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\
                 <text class=\"soft middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
                top - 8.0,
                bottom + 20.0
            )?;
        }
        writeln!(svg, "<text class=\"soft end\" x=\"{RIGHT_EDGE}\" y=\"{:.1}\">p99</text>", top - 2.0)?;
        let mut y = top;
        for group in groups {
            if let Some(first) = group.first() {
                writeln!(
                    svg,
                    "<text class=\"name\" x=\"{LEFT_EDGE}\" y=\"{:.1}\">{}</text>",
                    y + 16.0,
                    escape(&first.group)
                )?;
            }
            if self.names_above {
                y += ROW;
            }
            for bar in *group {
                self.draw_bar(svg, bar, y + ROW / 2.0 + 3.0, &x)?;
                y += ROW;
            }
            y += GAP;
        }
        Ok(())
    }

    fn draw_bar(&self, svg: &mut String, bar: &Bar, y: f64, x: &impl Fn(f64) -> f64) -> fmt::Result {
        let (from, to, end) = (x(bar.p50), x(bar.p99), x(bar.max));
        write!(
            svg,
            "<g class=\"{}\"><title>{}</title><text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <line class=\"tail\" x1=\"{to:.1}\" y1=\"{y:.1}\" x2=\"{end:.1}\" y2=\"{y:.1}\"/>\
             <line class=\"body\" x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\"/>",
            bar.look.class(),
            escape(&bar.text),
            self.axis_begin - 14.0,
            y + 4.0,
            escape(&bar.name)
        )?;
        for (at, half) in [(Some(bar.p99), 6.5), (bar.p999, 3.5)] {
            if let Some(at) = at {
                let x = x(at);
                write!(
                    svg,
                    "<line class=\"tick\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>",
                    y - half,
                    y + half
                )?;
            }
        }
        writeln!(
            svg,
            "<circle class=\"ring\" cx=\"{end:.1}\" cy=\"{y:.1}\" r=\"2.7\"/><circle class=\"dot\" cx=\"{from:.1}\" cy=\"{y:.1}\" r=\"3.4\"/>\
             <text class=\"end\" x=\"{RIGHT_EDGE}\" y=\"{:.1}\">{}</text></g>",
            y + 4.0,
            time(bar.p99)
        )
    }

    /// What the marks mean, drawn as they are.
    fn draw_legend(&self, svg: &mut String, y: f64) -> fmt::Result {
        let mut x = LEFT_EDGE;
        let next = |text: &str| 34.0 + 6.3 * text.len() as f64;
        for (look, text) in self.legend {
            write!(
                svg,
                "<g class=\"{}\"><circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/></g><text x=\"{:.1}\" y=\"{y}\">{}</text>",
                look.class(),
                x + 4.0,
                y - 4.0,
                x + 14.0,
                escape(text)
            )?;
            x += next(text);
        }
        x = 480.0;
        for (mark, text) in [
            ("<circle class=\"dot\" cx=\"4\" cy=\"-4\" r=\"3.4\"/>", "p50"),
            ("<line class=\"tick\" x1=\"4\" y1=\"-10.5\" x2=\"4\" y2=\"2.5\"/>", "p99"),
            (
                "<line class=\"tick\" x1=\"4\" y1=\"-7.5\" x2=\"4\" y2=\"-0.5\"/>",
                "p99.9, of 1,000 reads or more",
            ),
            ("<circle class=\"ring\" cx=\"4\" cy=\"-4\" r=\"2.7\"/>", "the slowest"),
        ] {
            write!(
                svg,
                "<g class=\"mark\" transform=\"translate({x:.1} {y})\">{mark}</g><text class=\"soft\" x=\"{:.1}\" y=\"{y}\">{text}</text>",
                x + 14.0
            )?;
            x += next(text);
        }
        svg.push('\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{WIDTH, assert_closed, page};
    use super::*;

    fn bar(group: &str, name: &str, max: f64) -> Bar {
        let (group, name) = (group.into(), name.into());
        Bar { group, name, look: Look::On, text: "a & b".into(), p50: 0.9, p99: 5.0, p999: Some(7.0), max }
    }

    fn drawn(bars: Vec<Bar>, names_above: bool) -> String {
        let bars = Bars { legend: &[(Look::On, "on <")], axis_begin: 190.0, names_above, bars };
        page("t", "a", |svg, top| bars.draw(svg, top))
    }

    #[test]
    fn every_bar_is_drawn_and_every_element_closed() {
        for above in [false, true] {
            let bars =
                vec![bar("healthy", "off", 10.0), bar("healthy", "on", 0.0), bar("<busy>", "off", 9e9)];
            let svg = drawn(bars, above);
            // One more in the legend.
            assert_eq!(svg.matches("class=\"ring\"").count(), 3 + 1);
            assert_closed(&svg);
            assert!(svg.contains("&lt;busy&gt;") && svg.contains("a &amp; b") && svg.contains("on &lt;"));
        }
        assert_closed(&drawn(vec![], true));
    }

    #[test]
    fn nothing_is_drawn_outside_the_page() {
        let mut odd = bar("g", "n", 3_600_000.0);
        (odd.p50, odd.p99) = (0.0, f64::NAN);
        let svg = drawn(vec![odd], false);
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=WIDTH).contains(&x), "{x}");
        }
    }
}
