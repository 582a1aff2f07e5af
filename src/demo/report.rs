//! What is known of one scenario with hedging off or on: the numbers that all outputs show.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hedge_core::Reason;
use hedgerow_reader::ClientSnapshot;
use serde::Serialize;

use super::pace::Measured;
use super::plan::{Hedging, K, Scenario};

/// With fewer reads than this, nothing is said of the slowest in a thousand.
pub(crate) const LEAST_FOR_P999: u64 = 1_000;

/// One scenario with one kind of hedging.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The scenario.
    pub(crate) scenario: &'static Scenario,
    /// What was done about late legs.
    pub(crate) hedging: Hedging,
    /// What became of the reads.
    pub(crate) measured: Measured,
    /// What hedging did and cost.
    pub(crate) spent: Spent,
}

/// What hedging did and cost.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spent {
    /// Hedges granted.
    pub(crate) hedges: u64,
    /// Those of them that rebuilt their straggler.
    pub(crate) wins: u64,
    /// Cells read by hedges.
    pub(crate) extra_cells: u64,
    /// Reads that started rebuilt, around a demoted node.
    pub(crate) around: u64,
    /// Petitions refused, by reason; only those that happened.
    pub(crate) refused: BTreeMap<&'static str, u64>,
}

impl Spent {
    /// What a client did between two looks at it.
    pub(crate) fn between(before: &ClientSnapshot, after: &ClientSnapshot) -> Self {
        let (old, new) = (&before.governor.counters, &after.governor.counters);
        let reasons = Reason::ALL.into_iter().map(|reason| {
            let count = new.refused_for(reason).saturating_sub(old.refused_for(reason));
            (reason_name(reason), count)
        });
        Self {
            hedges: new.granted.saturating_sub(old.granted),
            wins: new.won.saturating_sub(old.won),
            extra_cells: after.hedge_cells.saturating_sub(before.hedge_cells),
            around: new.reads_around.saturating_sub(old.reads_around),
            refused: reasons.filter(|&(_, count)| count > 0).collect(),
        }
    }
}

/// A reason for which a hedge was refused, in a word or two.
const fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::Off => "off",
        Reason::UnknownNode => "unknown-node",
        Reason::Breaker => "breaker",
        Reason::NoCells => "no-cells",
        Reason::DeadlineNear => "deadline-near",
        Reason::Rate => "rate",
        Reason::Budget => "budget",
        Reason::DryRun => "dry-run",
        Reason::Memory => "memory",
    }
}

impl Run {
    /// The latency below which this share of the reads lies, in milliseconds.
    pub(crate) fn quantile(&self, quantile: f64) -> f64 {
        millis(self.measured.micros.value_at_quantile(quantile))
    }

    /// The slowest in a thousand, if there are so many.
    pub(crate) fn p999(&self) -> Option<f64> {
        (self.measured.reads() >= LEAST_FOR_P999).then(|| self.quantile(0.999))
    }

    /// Cells that hedging cost, in the mean of all reads: those of hedges, and k instead of one around a demoted node.
    pub(crate) fn cells_more(&self) -> f64 {
        let around = self.spent.around.saturating_mul(u64::from(K) - 1);
        self.spent.extra_cells.saturating_add(around) as f64 / self.measured.reads().max(1) as f64
    }

    /// The slowest.
    pub(crate) fn max(&self) -> f64 {
        millis(self.measured.micros.max())
    }

    /// All latencies, in microseconds.
    pub(crate) const fn micros(&self) -> &Histogram<u64> {
        &self.measured.micros
    }

    /// Whether all is as it should be: no byte wrong, and no read failed where enough nodes answer in time. Hedging at any
    /// price is shown because of what it breaks.
    pub(crate) fn is_well(&self) -> bool {
        self.measured.wrong_bytes == 0 && (self.measured.failed == 0 || self.hedging == Hedging::NoBreaker)
    }

    /// As one line of JSON.
    pub(crate) fn json(&self) -> String {
        let line = Line {
            scenario: self.scenario.name,
            hedging: self.hedging.name(),
            reads: self.measured.reads(),
            wrong_bytes: self.measured.wrong_bytes,
            failed: self.measured.failed,
            p50_ms: self.quantile(0.5),
            p99_ms: self.quantile(0.99),
            p999_ms: self.p999(),
            max_ms: self.max(),
            hedges: self.spent.hedges,
            wins: self.spent.wins,
            extra_cells: self.spent.extra_cells,
            refused: &self.spent.refused,
        };
        // Nothing in it can fail to be written.
        serde_json::to_string(&line).unwrap_or_default()
    }
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

/// The format of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    scenario: &'static str,
    hedging: &'static str,
    reads: u64,
    wrong_bytes: u64,
    failed: u64,
    p50_ms: f64,
    p99_ms: f64,
    p999_ms: Option<f64>,
    max_ms: f64,
    hedges: u64,
    wins: u64,
    extra_cells: u64,
    refused: &'a BTreeMap<&'static str, u64>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::plan::SCENARIOS;
    use super::*;

    /// A run with these latencies in microseconds.
    pub(crate) fn run(scenario: usize, hedging: Hedging, micros: impl IntoIterator<Item = u64>) -> Run {
        let mut measured = Measured {
            micros: Histogram::new_with_bounds(1, 3_600_000_000, 3).unwrap(),
            wrong_bytes: 0,
            failed: 0,
            failure: None,
        };
        micros.into_iter().for_each(|micros| measured.micros.saturating_record(micros));
        Run { scenario: &SCENARIOS[scenario], hedging, measured, spent: Spent::default() }
    }

    #[test]
    fn a_line_of_json_has_exactly_the_documented_keys() {
        let mut run = run(2, Hedging::On, (1..=2_000).map(|n| n * 10));
        run.spent = Spent {
            hedges: 3,
            wins: 2,
            extra_cells: 21,
            around: 0,
            refused: BTreeMap::from([("rate", 4), ("breaker", 1)]),
        };
        assert_eq!(
            run.json(),
            "{\"scenario\":\"stall\",\"hedging\":\"on\",\"reads\":2000,\"wrong_bytes\":0,\"failed\":0,\
             \"p50_ms\":10.007,\"p99_ms\":19.807,\"p999_ms\":19.983,\"max_ms\":20.015,\"hedges\":3,\"wins\":2,\
             \"extra_cells\":21,\"refused\":{\"breaker\":1,\"rate\":4}}"
        );
    }

    #[test]
    fn nothing_is_said_of_the_slowest_in_a_thousand_with_fewer_reads() {
        assert_eq!(run(0, Hedging::Off, vec![500; 999]).p999(), None);
        assert_eq!(run(0, Hedging::Off, vec![500; 1_000]).p999(), Some(0.5));
        assert!(run(0, Hedging::Off, [1]).json().contains("\"p999_ms\":null"));
    }

    #[test]
    fn a_wrong_byte_is_never_well_and_a_failed_read_only_without_limits() {
        for hedging in [Hedging::Off, Hedging::On, Hedging::NoBreaker] {
            let mut run = run(10, hedging, [1]);
            assert!(run.is_well());
            run.measured.failed = 1;
            assert_eq!(run.is_well(), hedging == Hedging::NoBreaker);
            run.measured.wrong_bytes = 1;
            assert!(!run.is_well());
        }
    }
}
