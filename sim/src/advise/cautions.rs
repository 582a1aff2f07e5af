//! What to know before trusting advice.

use super::configure::{SHAPE_SECONDS, incident_hedges, is_fixed};
use super::{Choice, Question, Threshold};
use crate::Law;

/// So many latencies beyond a quantile, and it is known.
const BEYOND: f64 = 10.0;
/// Below this share, hedges hardly win.
const HARDLY: f64 = 0.25;
/// Steps by which the density is looked at: four in each doubling of time.
const STEP: f64 = 1.189_207_115_002_721;

pub(super) fn cautions(
    law: &Law,
    samples: u64,
    question: &Question,
    threshold: &Threshold,
    choice: &Choice,
) -> Vec<String> {
    let mut all = Vec::new();
    let beyond = question.target / f64::from(question.hedge_cells());
    if (samples as f64) < BEYOND / beyond {
        all.push(format!(
            "The profile has {samples} latencies, of which {:.1} are beyond the threshold: at least {:.0} are needed to know it.",
            samples as f64 * beyond,
            BEYOND / beyond
        ));
    }
    if let Some((low, high)) = modes(law, samples) {
        all.push(format!(
            "The latencies have two peaks, near {low:.3} and {high:.3} ms: if those are different kinds of reads or of nodes, a profile of each tells more."
        ));
    }
    if threshold.ms > 6.0 * threshold.p99_ms || threshold.ms < 1.5 * threshold.p99_ms {
        all.push(format!(
            "The threshold is {:.2} times p99, which is outside the usual 1.5 to 6: the bounds of the factor are moved to admit it.",
            threshold.ms / threshold.p99_ms
        ));
    }
    if let Some(won) = choice.won.filter(|&won| won < HARDLY) {
        all.push(format!(
            "Hedges of reads that are slow by themselves hardly win ({:.0} %): the threshold helps against impaired nodes, and little on a healthy day.",
            100.0 * won
        ));
    }
    if threshold.hedge_p99_ms > threshold.ms {
        all.push(format!(
            "The tail is so heavy that one hedge in a hundred takes over {:.1} ms, longer than the threshold.",
            threshold.hedge_p99_ms
        ));
    }
    if choice.dead_p99_ms >= question.stall_ms {
        all.push(format!(
            "A read that is hedged takes up to {:.1} ms (p99), no less than the {:.1} ms of a read from an impaired node: hedging buys nothing here.",
            choice.dead_p99_ms, question.stall_ms
        ));
    }
    if let Some(width) = width_at(law, threshold.ms).filter(|width| *width > 0.2 * threshold.ms) {
        all.push(format!(
            "The profile is coarse: {:.1} ms, the threshold, lies within a bin of {width:.1} ms.",
            threshold.ms
        ));
    }
    if question.reads_per_second < 10.0 {
        all.push(if is_fixed(question) {
            format!(
                "With {} reads a second a client never knows its own p99: the threshold is fixed, and must be reviewed when latencies change.",
                question.reads_per_second
            )
        } else {
            format!(
                "With {} reads a second a client learns its p99 within minutes rather than seconds.",
                question.reads_per_second
            )
        });
    }
    if !is_fixed(question) && question.reads_per_second * SHAPE_SECONDS < BEYOND / beyond {
        all.push(format!(
            "With {} reads a second a client does not see {:.0} legs in an hour: the factor stays as given here.",
            question.reads_per_second,
            BEYOND / beyond
        ));
    }
    if incident_hedges(question) > 200.0 {
        all.push(
            "A node that is impaired may need more than 200 hedges a second: the limit is raised.".to_owned(),
        );
    }
    if question.target > 0.005 {
        all.push(
            "A budget above 1 % makes an overload worse: useless hedges then add their share to the load."
                .to_owned(),
        );
    }
    all
}

/// The places of two peaks, in milliseconds, between which the density on a logarithmic scale falls below half of the lower, with a hundredth of
/// the latencies on either side.
fn modes(law: &Law, samples: u64) -> Option<(f64, f64)> {
    let (least, most) = (law.quantile_above(0.999), law.quantile_above(1e-3));
    let mut cells = Vec::new();
    let mut low = least.max(1e-6);
    while low < most && cells.len() < 1_000 {
        cells.push((low, law.above(low) - law.above(low * STEP)));
        low *= STEP;
    }
    let peak = |cells: &[(f64, f64)]| cells.iter().copied().max_by(|(_, a), (_, b)| a.total_cmp(b));
    (1..cells.len()).find_map(|place| {
        let (left, rest) = cells.split_at(place);
        let (&(_, valley), right) = rest.split_first()?;
        let ((low, left_mass), (high, right_mass)) = (peak(left)?, peak(right)?);
        let mass = |cells: &[(f64, f64)]| cells.iter().map(|(_, mass)| mass).sum::<f64>();
        let lower = left_mass.min(right_mass);
        let deep = valley < 0.5 * lower && lower * samples as f64 >= 50.0;
        (deep && mass(left) >= 0.01 && mass(right) >= 0.01).then_some((low, high))
    })
}

/// How wide the bin of a histogram is in which a time lies.
fn width_at(law: &Law, ms: f64) -> Option<f64> {
    let Law::Empirical(histogram) = law else { return None };
    histogram.bins().find(|&(_, to, _)| to >= ms).map(|(from, to, _)| to - from)
}
