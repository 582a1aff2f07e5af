//! `hedgerow simulate speed`: how many reads a second the full engine simulates on one thread.

use hedgerow::sim;

/// Reads that are simulated for it: a few seconds; and for a first look.
const READS: u64 = 10_000_000;
const QUICK: u64 = 1_000_000;

/// The line that says it.
pub(super) fn measure(quick: bool, json: bool) -> String {
    let reads_per_second = sim::speed(if quick { QUICK } else { READS }).round();
    if json {
        format!("{{\"reads_per_second\":{reads_per_second}}}")
    } else {
        format!(
            "{:.2} million reads a second, through the state machine of the default policy, on one thread",
            reads_per_second / 1e6
        )
    }
}
