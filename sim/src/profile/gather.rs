//! Adds up latencies, any number of them in little memory; and makes histograms of steps.

use hdrhistogram::Histogram;

use super::Unit;
use super::error::Problem;
use crate::Empirical;

/// No latency is longer: about thirteen days, in nanoseconds.
const MOST_NANOS: u64 = 1 << 50;
/// Between values that lie within this share of each other nothing is left out: the measurement did not tell them apart.
pub(super) const NEAR: f64 = 1.0 / 64.0;
/// No histogram has more steps.
const MOST_STEPS: usize = 1 << 20;

/// Latencies to three digits.
pub(super) struct Gather {
    nanos: Histogram<u64>,
    samples: u64,
    unit: Unit,
}

impl Gather {
    pub(super) fn new(unit: Unit) -> Self {
        #[expect(clippy::expect_used, reason = "constants")]
        let nanos = Histogram::new_with_bounds(1, MOST_NANOS, 3).expect("bounds that are legal");
        Self { nanos, samples: 0, unit }
    }

    /// So many latencies of so many units.
    pub(super) fn add(&mut self, value: f64, count: u64) -> Result<(), Problem> {
        let nanos = checked(value, self.unit)? * 1e6;
        self.samples = self.samples.checked_add(count).ok_or(Problem::CountTooLarge)?;
        self.nanos.saturating_record_n(nanos as u64, count);
        Ok(())
    }

    /// The histogram; none if there was no latency.
    pub(super) fn finish(&self) -> Option<Empirical> {
        let mut edges = Vec::new();
        let mut counts = Vec::new();
        let mut from = 0.0;
        let mut last = None;
        for step in self.nanos.iter_recorded() {
            let value = step.value_iterated_to();
            let (low, end) = (self.nanos.lowest_equivalent(value) as f64, value as f64 + 1.0);
            let begin = low.min(end * (1.0 - NEAR)) / 1e6;
            match last {
                None => from = begin,
                Some(last) if last < begin => {
                    edges.push(begin);
                    counts.push(0);
                }
                Some(_) => {}
            }
            edges.push(end / 1e6);
            counts.push(step.count_since_last_iteration());
            last = Some(end / 1e6);
        }
        Empirical::new(from, &edges, &counts).ok()
    }
}

/// A value in milliseconds.
pub(super) fn checked(value: f64, unit: Unit) -> Result<f64, Problem> {
    let nanos = value * unit.nanos();
    if nanos >= 0.0 && nanos <= MOST_NANOS as f64 {
        Ok(nanos / 1e6)
    } else {
        Err(Problem::Value { value, most_ms: MOST_NANOS as f64 / 1e6 })
    }
}

/// Latencies in steps: so many up to each edge.
#[derive(Default)]
pub(super) struct Steps(Vec<(f64, u64)>);

impl Steps {
    /// So many latencies up to `edge` milliseconds.
    pub(super) fn add(&mut self, edge: f64, count: u64) -> Result<(), Problem> {
        if self.0.len() == MOST_STEPS {
            return Err(Problem::TooMany { most: MOST_STEPS });
        }
        // The shortest time that there is.
        self.0.push((edge.max(1e-6), count));
        Ok(())
    }

    /// The histogram, whose first bin begins at `from` milliseconds; none if there was no latency.
    pub(super) fn finish(mut self, from: f64) -> Result<Option<Empirical>, Problem> {
        self.0.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut edges: Vec<f64> = Vec::with_capacity(self.0.len());
        let mut counts: Vec<u64> = Vec::with_capacity(self.0.len());
        let mut samples = 0_u64;
        for (edge, count) in self.0 {
            samples = samples.checked_add(count).ok_or(Problem::CountTooLarge)?;
            match (edges.last(), counts.last_mut()) {
                (Some(last), Some(sum)) if *last == edge => *sum += count,
                _ => {
                    edges.push(edge);
                    counts.push(count);
                }
            }
        }
        Ok(Empirical::new(from, &edges, &counts).ok())
    }
}
