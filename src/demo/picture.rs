//! The latency picture in the terminal: a strip for each run.

use super::report::Run;
use super::table::look;
use crate::show::{Strip, Terminal, strips};

/// Columns of a scenario's name, and of a kind of hedging.
const LABELS: (usize, usize) = (14, 13);

/// All runs, one below the other on one axis.
pub(crate) fn picture(terminal: Terminal, runs: &[Run]) -> String {
    let all: Vec<Strip> = runs.iter().map(strip).collect();
    strips(terminal, LABELS, &all)
}

fn strip(run: &Run) -> Strip {
    let steps = run.micros().iter_recorded();
    Strip {
        group: run.scenario.name.into(),
        name: run.hedging.name().into(),
        look: look(run.hedging),
        steps: steps.map(|step| (step.value_iterated_to(), step.count_since_last_iteration())).collect(),
    }
}
