//! `--svg`: the latencies of all runs as a chart.

use super::plan::Hedging;
use super::report::Run;
use super::table::look;
use crate::show::{Bar, Bars, Look, page, time};

const LEGEND: [(Look, &str); 3] = [
    (look(Hedging::Off), "hedging off"),
    (look(Hedging::On), "on"),
    (look(Hedging::NoBreaker), "on, without breaker and budget"),
];

/// The chart. `about` is a line on how it was measured.
pub(crate) fn chart(runs: &[Run], about: &str) -> String {
    let bars =
        Bars { legend: &LEGEND, axis_begin: 190.0, names_above: false, bars: runs.iter().map(bar).collect() };
    page("How long reads take, with hedging off and on", about, |svg, top| bars.draw(svg, top))
}

fn bar(run: &Run) -> Bar {
    let (scenario, hedging) = (run.scenario.name, run.hedging.name());
    let p999 = run.p999().map_or_else(String::new, |p999| format!("p99.9 {}, ", time(p999)));
    Bar {
        group: scenario.into(),
        name: hedging.into(),
        look: look(run.hedging),
        text: format!(
            "{scenario} with hedging {hedging}: p50 {}, p99 {}, {p999}slowest {} of {} reads",
            time(run.quantile(0.5)),
            time(run.quantile(0.99)),
            time(run.max()),
            run.measured.reads()
        ),
        p50: run.quantile(0.5),
        p99: run.quantile(0.99),
        p999: run.p999(),
        max: run.max(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::run;
    use super::*;

    #[test]
    fn every_run_is_drawn_and_told_in_words() {
        let runs = [
            run(0, Hedging::Off, [900; 1_000]),
            run(0, Hedging::On, [900; 10]),
            run(10, Hedging::Off, [1_100_000; 10]),
            run(10, Hedging::On, [0]),
            run(10, Hedging::NoBreaker, [9_000_000; 10]),
        ];
        let svg = chart(&runs, "nodes < 10 & > 8");
        assert_eq!(svg.matches("class=\"ring\"").count(), runs.len() + 1);
        assert!(svg.contains("nodes &lt; 10 &amp; &gt; 8"));
        assert!(svg.contains("overload with hedging no-breaker: p50 9.0"));
    }

    #[test]
    fn without_runs_there_is_still_a_chart() {
        assert!(chart(&[], "").ends_with("</svg>\n"));
    }
}
