//! Advice: which threshold and budget a latency profile asks for, and what they would buy and cost.

mod cautions;
mod configure;
mod hedge;
#[cfg(test)]
mod tests;

use std::{error, fmt};

use crate::law::falling;
use crate::{Code, Law, Profile};
use hedge::HedgeLaw;

/// As many cells as a stripe may have.
const MOST_CELLS: u8 = 64;
/// The shares of reads beyond the quantiles that are tried, and what these are called.
const QUANTILES: [(f64, &str); 9] = [
    (0.05, "p95"),
    (0.02, "p98"),
    (0.01, "p99"),
    (0.005, "p99.5"),
    (0.002, "p99.8"),
    (0.001, "p99.9"),
    (1e-4, "p99.99"),
    (1e-5, "p99.999"),
    (1e-6, "p99.9999"),
];
/// The multiples of p99 that are tried.
const MULTIPLES: [(f64, &str); 7] = [
    (1.5, "p99 x 1.5"),
    (2.0, "p99 x 2"),
    (3.0, "p99 x 3"),
    (4.0, "p99 x 4"),
    (6.0, "p99 x 6"),
    (10.0, "p99 x 10"),
    (25.0, "p99 x 25"),
];

/// What is asked.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// The code of the data. Replicated data is k = 1.
    pub code: Code,
    /// Reads of one cell a second of one client.
    pub reads_per_second: f64,
    /// What hedging may cost on a day like the profile's: extra cells, as a share of the cells read; above 0, at most 1.
    pub target: f64,
    /// How many sources more than needed a hedge takes, where it costs more than one cell; less than m.
    pub spare: u8,
    /// The share of a client's reads that meet an impaired node when there is one: 0 to 1.
    pub impaired: f64,
    /// How long a read from such a node takes without hedging, in milliseconds: its timeout.
    pub stall_ms: f64,
}

impl Default for Question {
    /// RS-6-3, and what [`of`](Self::of) says.
    fn default() -> Self {
        Self::of(Code { k: 6, m: 3 })
    }
}

impl Question {
    /// What is usually asked for data of this code: 75 reads a second, 0.105 % extra cells and two spares, as the core's default, or
    /// as many as the code has; one node of a hundred impaired, on which reads take 5 s.
    #[must_use]
    pub const fn of(code: Code) -> Self {
        let spare = match code.m.saturating_sub(1) {
            few @ 0..2 => few,
            _ => 2,
        };
        Self { code, reads_per_second: 75.0, target: 0.001_05, spare, impaired: 0.01, stall_ms: 5_000.0 }
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// If a number is not in its range.
    pub fn check(&self) -> Result<(), AdviceError> {
        let Code { k, m } = self.code;
        if k == 0 || m == 0 || k.checked_add(m).is_none_or(|cells| cells > MOST_CELLS) {
            return Err(AdviceError::Code { k, m });
        }
        if self.hedge_cells() > 1 && self.spare >= m {
            return Err(AdviceError::Spare { spare: self.spare, m });
        }
        let checks = [
            (
                "reads a second",
                self.reads_per_second,
                self.reads_per_second > 0.0 && self.reads_per_second <= 1e9,
                "above 0 and at most 1000000000",
            ),
            (
                "the target of extra cells",
                self.target,
                self.target >= 1e-6 && self.target <= 1.0,
                "a share from 0.000001 to 1",
            ),
            (
                "the share of reads on impaired nodes",
                self.impaired,
                (0.0..=1.0).contains(&self.impaired),
                "from 0 to 1",
            ),
            (
                "the time of a read from an impaired node",
                self.stall_ms,
                self.stall_ms > 0.0 && self.stall_ms <= 1e12,
                "above 0 and at most 1000000000000 ms",
            ),
        ];
        match checks.into_iter().find(|(_, _, fits, _)| !fits) {
            Some((what, value, _, range)) => Err(AdviceError::Range { what, value, range }),
            None => Ok(()),
        }
    }

    /// Sources of a hedge beyond those needed.
    fn spares(&self) -> u8 {
        if self.code.k == 1 { 0 } else { self.spare }
    }

    /// Cells that a hedge costs.
    fn hedge_cells(&self) -> u8 {
        self.code.k.saturating_add(self.spares())
    }
}

/// A threshold, and what it buys and costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// What it is called: `p99.9`, `p99 x 3`, or `target`.
    pub name: String,
    /// The threshold in milliseconds.
    pub threshold_ms: f64,
    /// The share of healthy reads that are hedged.
    pub hedged: f64,
    /// Extra cells that this costs, as a share of the cells read.
    pub extra_cells: f64,
    /// The share of these hedges that win: of reads that are slow by themselves, not for their node. None if nothing is hedged.
    pub won: Option<f64>,
    /// What a read from a dead node takes, in milliseconds: the median.
    pub dead_median_ms: f64,
    /// The same: the 99th percentile.
    pub dead_p99_ms: f64,
    /// What a healthy cluster's reads take, in milliseconds: the 99.9th percentile.
    pub p999_ms: f64,
    /// The 99.99th.
    pub p9999_ms: f64,
    /// The 99.999th.
    pub p99999_ms: f64,
    /// If the threshold is lowered until it costs twice as many cells: what clients then wait less, over what nodes then work more; while the
    /// question's share of reads meets an impaired node.
    pub gain: f64,
}

/// What is recommended.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// What was tried, the longest threshold first. Never empty.
    pub table: Vec<Choice>,
    /// The place in the table of the recommended threshold: the one that spends the target.
    pub recommended: usize,
    /// The place in the table of the knee: the lowest threshold that is worth lowering, since clients would wait less by more than nodes would
    /// work more ([`Choice::gain`] is 1 or more). None if none is: even the longest threshold tried is beyond the knee.
    pub knee: Option<usize>,
    /// The loss budget, as a share of the cells of finished reads.
    pub budget_share: f64,
    /// Its burst, in cells.
    pub burst_cells: u16,
    /// The configuration: names and values of [`hedge_core::Config::set`], to be set together over the default.
    pub config: Vec<(&'static str, String)>,
    /// What to know before trusting it.
    pub cautions: Vec<String>,
}

/// Recommends a threshold and a budget to clients that see latencies like `profile`'s, those of healthy legs.
///
/// All in closed form: legs are independent and follow the profile's law; what hedges add to the load is not in it. A hedge is late by the
/// threshold and takes as long as the k-th of k + spare fresh legs. A read of one cell that is late costs a hedge.
///
/// # Errors
/// If a number of the question is not in its range.
pub fn advise(profile: &Profile, question: &Question) -> Result<Advice, AdviceError> {
    advise_on(&profile.law(), profile.samples(), question)
}

/// The same, for a law of which so many latencies are known.
fn advise_on(law: &Law, samples: u64, question: &Question) -> Result<Advice, AdviceError> {
    question.check()?;
    let hedge = HedgeLaw::new(law, question.code.k, question.spares());
    let p99 = law.quantile_above(0.01);
    let target = law.quantile_above(question.target / f64::from(question.hedge_cells()));

    let mut thresholds = vec![(target, "target")];
    thresholds.extend(QUANTILES.map(|(beyond, name)| (law.quantile_above(beyond), name)));
    thresholds.extend(MULTIPLES.map(|(multiple, name)| (p99 * multiple, name)));
    // The target first among equals: a sort that is stable.
    thresholds.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    thresholds.dedup_by(|(threshold, _), (kept, _)| threshold == kept);
    let table: Vec<Choice> =
        thresholds.iter().map(|&(threshold, name)| choice(law, &hedge, question, threshold, name)).collect();

    let recommended = table.iter().position(|choice| choice.name == "target").unwrap_or(0);
    let knee = table.iter().rposition(|choice| choice.gain >= 1.0);
    let threshold = Threshold { ms: target, p99_ms: p99, hedge_p99_ms: hedge.quantile_above(0.01) };
    let configured = configure::configure(question, &threshold)?;
    let cautions = table
        .get(recommended)
        .map_or_else(Vec::new, |choice| cautions::cautions(law, samples, question, &threshold, choice));
    Ok(Advice {
        table,
        recommended,
        knee,
        budget_share: configured.budget_share,
        burst_cells: configured.burst_cells,
        config: configured.lines,
        cautions,
    })
}

/// The recommended threshold, and what it is seen against.
struct Threshold {
    ms: f64,
    p99_ms: f64,
    hedge_p99_ms: f64,
}

fn choice(law: &Law, hedge: &HedgeLaw<'_>, question: &Question, threshold: f64, name: &str) -> Choice {
    let hedged = law.above(threshold);
    let cells = f64::from(question.hedge_cells());
    // A read is slower than t if the original is, and its hedge, which began at the threshold, too.
    let slower = |t: f64| law.above(t) * if t > threshold { hedge.above(t - threshold) } else { 1.0 };
    let quantile = |p| falling(slower, p, 0.0, law.quantile_above(p));
    let lower = law.quantile_above((2.0 * hedged).min(1.0)).min(threshold);
    let work = hedged * cells * law.mean();
    let gain = if work > 0.0 { question.impaired * (threshold - lower) / work } else { 0.0 };
    Choice {
        name: name.to_owned(),
        threshold_ms: threshold,
        hedged,
        extra_cells: hedged * cells,
        won: (hedged > 0.0).then(|| hedge.mean_of(|time| law.above(threshold + time)) / hedged),
        dead_median_ms: threshold + hedge.quantile_above(0.5),
        dead_p99_ms: threshold + hedge.quantile_above(0.01),
        p999_ms: quantile(1e-3),
        p9999_ms: quantile(1e-4),
        p99999_ms: quantile(1e-5),
        gain,
    }
}

/// Why there is no advice.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum AdviceError {
    /// A code needs data and parity cells, at most 64 together.
    Code {
        /// Data cells.
        k: u8,
        /// Parity cells.
        m: u8,
    },
    /// A hedge has no more than m - 1 spare sources to take.
    Spare {
        /// So many were asked for.
        spare: u8,
        /// Parity cells.
        m: u8,
    },
    /// A number is not in its range.
    Range {
        /// What it is.
        what: &'static str,
        /// The number.
        value: f64,
        /// What it must be, in words.
        range: &'static str,
    },
    /// The core refuses the configuration that came of it.
    Config(hedge_core::ConfigError),
}

impl fmt::Display for AdviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { k, m } => {
                write!(
                    f,
                    "a code of {k} data and {m} parity cells; each must be 1 or more, both together at most {MOST_CELLS}"
                )
            }
            Self::Spare { spare, m } => {
                write!(
                    f,
                    "{spare} spare sources, but beside a late cell a stripe with {m} parity cells has {} to spare",
                    m - 1
                )
            }
            Self::Range { what, value, range } => write!(f, "{what} must be {range}: it is {value:?}"),
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl error::Error for AdviceError {}
