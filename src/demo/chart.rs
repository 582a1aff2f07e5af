//! `--svg`: the latencies of all runs as a chart, readable on a light and on a dark page.

use std::fmt::{self, Write};

use super::axis::Axis;
use super::plan::Hedging;
use super::report::Run;
use super::table::time;

const WIDTH: u32 = 960;
/// Where the axis begins and ends.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 830.0;
/// Where the first row begins.
const TOP: f64 = 128.0;
/// The height of a row, and what is free below the rows of a scenario.
const ROW: f64 = 17.0;
const GAP: f64 = 11.0;

/// Plain rules, and others on dark pages: not all viewers know variables.
const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px;fill:#1c2330}\
.title{font-size:19px;font-weight:650}.name{font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}\
.page{fill:#ffffff}.soft{fill:#667085}.grid{stroke:#e4e7ec;stroke-width:1}\
.tail{stroke-width:1.5;opacity:.5}.body{stroke-width:7;stroke-linecap:round;opacity:.35}.tick{stroke-width:2.5}.ring{stroke-width:1.5}\
.off .dot,.off text{fill:#c2570c}.off line,.off .ring{stroke:#c2570c}\
.on .dot,.on text{fill:#0b7a56}.on line,.on .ring{stroke:#0b7a56}\
.no-breaker .dot,.no-breaker text{fill:#b42347}.no-breaker line,.no-breaker .ring{stroke:#b42347}\
.mark .dot{fill:#667085}.mark line,.mark .ring{stroke:#667085}\
.ring{fill:#ffffff}\
@media(prefers-color-scheme:dark){\
text{fill:#e6e9ef}.page{fill:#12161d}.soft{fill:#98a2b3}.grid{stroke:#2a313c}\
.off .dot,.off text{fill:#f79a4b}.off line,.off .ring{stroke:#f79a4b}\
.on .dot,.on text{fill:#3ecf9a}.on line,.on .ring{stroke:#3ecf9a}\
.no-breaker .dot,.no-breaker text{fill:#f4708c}.no-breaker line,.no-breaker .ring{stroke:#f4708c}\
.mark .dot{fill:#98a2b3}.mark line,.mark .ring{stroke:#98a2b3}\
.ring{fill:#12161d}}";

/// The chart. `about` is a line on how it was measured.
pub(crate) fn chart(runs: &[Run], about: &str) -> String {
    let mut svg = String::new();
    // Writing to a string does not fail.
    let _ = draw(&mut svg, runs, about);
    svg
}

fn draw(svg: &mut String, runs: &[Run], about: &str) -> fmt::Result {
    let axis = Axis::up_to(runs.iter().map(Run::max).fold(0.0, f64::max));
    let groups: Vec<&[Run]> = runs.chunk_by(|a, b| a.scenario.name == b.scenario.name).collect();
    let bottom = TOP + runs.len() as f64 * ROW + groups.len() as f64 * GAP;
    let height = bottom + 46.0;
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         role=\"img\" aria-labelledby=\"title about\">\n<title id=\"title\">Reads with hedging off and on</title>\n\
         <desc id=\"about\">{}</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"28\" y=\"40\">How long reads take, with hedging off and on</text>\n\
         <text class=\"soft\" x=\"28\" y=\"62\">{}</text>",
        escape(about),
        escape(about)
    )?;
    legend(svg)?;
    let x = |millis: f64| LEFT + axis.place(millis) * (RIGHT - LEFT);
    for (millis, text) in axis.marks() {
        let x = x(millis);
        writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\
             <text class=\"soft middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
            TOP - 8.0,
            bottom + 20.0
        )?;
    }
    writeln!(svg, "<text class=\"soft end\" x=\"{}\" y=\"{:.1}\">p99</text>", WIDTH - 28, TOP - 2.0)?;
    let mut y = TOP;
    for group in groups {
        if let Some(first) = group.first() {
            writeln!(
                svg,
                "<text class=\"name\" x=\"28\" y=\"{:.1}\">{}</text>",
                y + 16.0,
                first.scenario.name
            )?;
        }
        for run in group {
            row(svg, run, y + ROW / 2.0 + 3.0, &x)?;
            y += ROW;
        }
        y += GAP;
    }
    svg.push_str("</svg>\n");
    Ok(())
}

/// One run: a bar from p50 to p99, a line on to the slowest.
fn row(svg: &mut String, run: &Run, y: f64, x: &impl Fn(f64) -> f64) -> fmt::Result {
    let (p50, p99, max) = (run.quantile(0.5), run.quantile(0.99), run.max());
    let (from, to, end) = (x(p50), x(p99), x(max));
    let name = run.hedging.name();
    let p999 = run.p999();
    write!(
        svg,
        "<g class=\"{name}\"><title>{} with hedging {name}: p50 {}, p99 {}, ",
        run.scenario.name,
        time(p50),
        time(p99)
    )?;
    if let Some(p999) = p999 {
        write!(svg, "p99.9 {}, ", time(p999))?;
    }
    write!(
        svg,
        "slowest {} of {} reads</title><text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>\
         <line class=\"tail\" x1=\"{to:.1}\" y1=\"{y:.1}\" x2=\"{end:.1}\" y2=\"{y:.1}\"/>\
         <line class=\"body\" x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\"/>",
        time(max),
        run.measured.reads(),
        LEFT - 14.0,
        y + 4.0
    )?;
    for (at, half) in [(Some(p99), 6.5), (p999, 3.5)] {
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
         <text class=\"end\" x=\"{}\" y=\"{:.1}\">{}</text></g>",
        WIDTH - 28,
        y + 4.0,
        time(p99)
    )
}

/// What the marks mean, drawn as they are.
fn legend(svg: &mut String) -> fmt::Result {
    let y = 88.0;
    let mut x = 28.0;
    for (hedging, text) in [
        (Hedging::Off, "hedging off"),
        (Hedging::On, "on"),
        (Hedging::NoBreaker, "on, without breaker and budget"),
    ] {
        write!(
            svg,
            "<g class=\"{}\"><circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/></g><text x=\"{:.1}\" y=\"{y}\">{text}</text>",
            hedging.name(),
            x + 4.0,
            y - 4.0,
            x + 14.0
        )?;
        x += 34.0 + 6.3 * text.len() as f64;
    }
    x = 480.0;
    for (mark, text) in [
        ("<circle class=\"dot\" cx=\"4\" cy=\"-4\" r=\"3.4\"/>", "p50"),
        ("<line class=\"tick\" x1=\"4\" y1=\"-10.5\" x2=\"4\" y2=\"2.5\"/>", "p99"),
        ("<line class=\"tick\" x1=\"4\" y1=\"-7.5\" x2=\"4\" y2=\"-0.5\"/>", "p99.9, of 1,000 reads or more"),
        ("<circle class=\"ring\" cx=\"4\" cy=\"-4\" r=\"2.7\"/>", "the slowest"),
    ] {
        write!(
            svg,
            "<g class=\"mark\" transform=\"translate({x:.1} {y})\">{mark}</g><text class=\"soft\" x=\"{:.1}\" y=\"{y}\">{text}</text>",
            x + 14.0
        )?;
        x += 34.0 + 6.3 * text.len() as f64;
    }
    svg.push('\n');
    Ok(())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::run;
    use super::*;

    #[test]
    fn every_run_is_drawn_and_every_element_closed() {
        let runs = [
            run(0, Hedging::Off, [900; 1_000]),
            run(0, Hedging::On, [900; 10]),
            run(10, Hedging::Off, [1_100_000; 10]),
            run(10, Hedging::On, [0]),
            run(10, Hedging::NoBreaker, [9_000_000; 10]),
        ];
        let svg = chart(&runs, "nodes < 10 & > 8");
        assert_eq!(svg.matches("class=\"ring\"").count(), runs.len() + 1);
        for name in ["svg", "g", "text", "title", "desc", "style"] {
            let (opened, closed) = (format!("<{name}"), format!("</{name}>"));
            let opened =
                svg.match_indices(&opened).filter(|(at, _)| svg[at + opened.len()..].starts_with([' ', '>']));
            assert_eq!(opened.count(), svg.matches(&closed).count(), "{name}");
        }
        assert!(svg.contains("nodes &lt; 10 &amp; &gt; 8"));
        assert!(svg.contains("overload with hedging no-breaker: p50 9.0"));
    }

    #[test]
    fn nothing_is_drawn_outside_the_axis() {
        let svg = chart(&[run(0, Hedging::Off, [0, 1, 3_600_000_000])], "");
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=f64::from(WIDTH)).contains(&x), "{x}");
        }
    }

    #[test]
    fn without_runs_there_is_still_a_chart() {
        assert!(chart(&[], "").ends_with("</svg>\n"));
    }
}
