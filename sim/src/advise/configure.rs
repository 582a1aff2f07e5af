//! The configuration that a recommended threshold comes to.

use hedge_core::{Config, Span, Value};

use super::{AdviceError, Question, Threshold};

/// Legs before the core knows its p99.
pub(super) const P99_LEGS: f64 = 1_000.0;
/// The shape of the law is that of the last hour at least, in seconds.
pub(super) const SHAPE_SECONDS: f64 = 3_600.0;
/// A leg beyond this multiple of p99 is no healthy one.
const SLOW_LEG: f64 = 25.0;

/// These stand in the advice even if they are the default's.
const ALWAYS: [&str; 7] = [
    "threshold.millis",
    "threshold.spend.target.ppm",
    "threshold.spend.cells",
    "spare",
    "budget.share.ppm",
    "budget.burst.cells",
    "budget.alone.cells",
];
/// So many hedges of a late leg that is alone find the burst spent.
const ALONE_HEDGES: u16 = 2;

pub(super) struct Configured {
    pub(super) budget_share: f64,
    pub(super) burst_cells: u16,
    pub(super) lines: Vec<(&'static str, String)>,
}

pub(super) fn configure(question: &Question, threshold: &Threshold) -> Result<Configured, AdviceError> {
    let default = Config::default();
    let mut config = default;
    let cells = question.hedge_cells();
    let mut set = |pairs: &[(&'static str, String)]| {
        config.set_all(pairs.iter().map(|(name, value)| (*name, value.as_str()))).map_err(AdviceError::Config)
    };

    // What hedges may lose, half a percent or twice what they are meant to cost: they win some of it back.
    let share_ppm = (2e6 * question.target).clamp(5_000.0, 1e6) as u32;
    // One hedge: what the client reads itself in a moment is more where it reads much.
    let burst_cells = u16::from(cells);
    set(&[
        ("spare", question.spares().to_string()),
        ("budget.share.ppm", share_ppm.to_string()),
        ("budget.burst.cells", burst_cells.to_string()),
        ("budget.alone.cells", (ALONE_HEDGES * burst_cells).to_string()),
    ])?;
    let granted = incident_hedges(question);
    if granted > f64::from(default.max_per_second) {
        set(&[("max.per.second", (libm::ceil(granted).min(1e9) as u32).to_string())])?;
    }
    if SLOW_LEG * threshold.p99_ms > default.health.slow_leg.as_nanos() as f64 / 1e6 {
        set(&[("health.slow.leg.millis", millis(SLOW_LEG * threshold.p99_ms))])?;
    }

    if is_fixed(question) {
        set(&[("threshold.millis", millis(threshold.ms))])?;
    } else {
        let milli = (1e3 * threshold.ms / threshold.p99_ms).clamp(1.0, 1e6);
        set(&[
            ("threshold.spend.target.ppm", ((1e6 * question.target) as u32).to_string()),
            ("threshold.spend.cells", cells.to_string()),
            ("threshold.spend.least.milli", ((0.75 * milli).clamp(1.0, 1_500.0) as u32).to_string()),
            ("threshold.spend.most.milli", ((1.5 * milli).clamp(6_000.0, 1e6) as u32).to_string()),
            ("threshold.spend.until.known.milli", (milli as u32).to_string()),
            ("threshold.floor.millis", millis((0.5 * threshold.ms).min(5.0))),
            ("threshold.ceiling.millis", millis((4.0 * threshold.ms).max(2_000.0))),
            ("threshold.until.known.millis", millis(threshold.ms)),
        ])?;
    }

    let lines = config
        .pairs()
        .filter(|(name, value)| default.get(name) != Some(*value) || ALWAYS.contains(name))
        .filter(|(_, value)| *value != Value::Off)
        .map(|(name, value)| (name, value.to_string()))
        .collect();
    Ok(Configured { budget_share: f64::from(share_ppm) / 1e6, burst_cells, lines })
}

/// A client that reads so rarely learns no quantile: its threshold is a number.
pub(super) fn is_fixed(question: &Question) -> bool {
    question.reads_per_second * SHAPE_SECONDS < P99_LEGS
}

/// Hedges a second while a node is impaired, with room for as many again.
pub(super) fn incident_hedges(question: &Question) -> f64 {
    2.0 * question.reads_per_second * question.impaired
}

/// Milliseconds to the microsecond, and no less than one.
fn millis(ms: f64) -> String {
    let micros = libm::round(ms * 1e3).clamp(1.0, 1e15) as u64;
    Value::Millis(Span::from_micros(micros)).to_string()
}
