//! The latency picture in the terminal: a strip for each shape and policy.

use hedgerow::sim::Row;

use super::table::look;
use crate::show::{Strip, Terminal, strips};

/// All rows, one below the other on one axis.
pub(super) fn picture(terminal: Terminal, rows: &[Row]) -> String {
    let longest = |name: fn(&Row) -> &str| rows.iter().map(|row| name(row).chars().count() + 2).max();
    let labels =
        (longest(|row| &row.shape).unwrap_or_default(), longest(|row| &row.policy).unwrap_or_default());
    let all: Vec<Strip> = rows.iter().map(strip).collect();
    strips(terminal, labels, &all)
}

fn strip(row: &Row) -> Strip {
    Strip {
        group: row.shape.clone(),
        name: row.policy.clone(),
        look: look(&row.policy),
        steps: row.all.steps().collect(),
    }
}
