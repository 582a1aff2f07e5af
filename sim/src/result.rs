//! What came of a run.

use std::fmt;

use hdrhistogram::Histogram;
use hedge_core::Reason;

/// The longest time that is told from longer ones: about two hours, in microseconds.
const MOST_MICROS: u64 = 1 << 33;

/// Latencies of any number of reads, to three digits.
#[derive(Clone, PartialEq)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "constants")]
        let histogram = Histogram::new_with_bounds(1, MOST_MICROS, 3).expect("bounds that are legal");
        Self(histogram)
    }

    /// So many reads took so long.
    #[inline]
    pub fn record(&mut self, nanos: u64, reads: u64) {
        self.0.saturating_record_n(nanos.div_ceil(1_000), reads);
    }

    /// Those of another run, too.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.0.add(&other.0);
    }

    /// How many reads.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.0.len()
    }

    /// The time in milliseconds that this share of the reads did not exceed; 0 if there are none.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.value_at_quantile(quantile) as f64 / 1e3 }
    }

    /// Their mean in milliseconds; 0 if there are none.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.mean() / 1e3 }
    }

    /// The slowest in milliseconds; 0 if there are none.
    #[must_use]
    pub fn max_ms(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.max() as f64 / 1e3 }
    }

    /// Each recorded time in microseconds with how many reads took it, in ascending order.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reads", self.reads())?;
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("p99.99", 0.9999)] {
            write!(f, ", {name} {} ms", self.quantile_ms(quantile))?;
        }
        write!(f, ", at most {} ms", self.max_ms())
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

/// What one policy made of one shape of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The policy.
    pub policy: String,
    /// The shape.
    pub shape: String,
    /// Simulated days, all seeds together.
    pub days: f64,
    /// Requests that were over.
    pub reads: u64,
    /// Requests that could not be answered: more than m cells of a stripe were lost.
    pub failed: u64,
    /// Pairs of client and minute a day with a request over 1 s: the median over the days.
    pub host_minutes_over_1s: f64,
    /// The same of 5 s or more: the mean over the days.
    pub host_minutes_over_5s: f64,
    /// The share of days with a request of 5 s or more.
    pub days_over_5s: f64,
    /// Clients with a request of 5 s or more, the share of all: the mean over the seeds.
    pub clients_over_5s: f64,
    /// Hedges that were granted, and their number for each million reads.
    pub hedges: u64,
    /// See above.
    pub hedges_per_million: f64,
    /// The share of them that was won.
    pub win_share: f64,
    /// Cells read beyond one for each wanted cell, as a share of these; those that replace failed legs don't count.
    pub extra_cell_share: f64,
    /// Petitions that were refused, by [`Reason::ALL`].
    pub refused: [u64; Reason::COUNT],
    /// How often a breaker opened.
    pub opened: u64,
    /// The threshold in milliseconds that the clients ended with: the median; 0 if there is none.
    pub threshold_ms: f64,
    /// What all requests took.
    pub all: Latencies,
    /// What those took that wanted a cell of a node on which something was going on.
    pub affected: Latencies,
    /// The slowest request of a day in milliseconds: the median over the days.
    pub max_ms: f64,
    /// The p99 of each seed in milliseconds, in order.
    pub p99_ms: Vec<f64>,
    /// Requests that were over by the end, as a share of those that came: falls when queues grow without end.
    pub throughput: f64,
}
