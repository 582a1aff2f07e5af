//! The last words: the facts of the whole demo in a few sentences.

use super::plan::{Hedging, Load};
use super::report::Run;
use crate::show::time;

/// What is to be remembered, a sentence a line.
pub(crate) fn closing(runs: &[Run]) -> String {
    let mut lines = Vec::new();
    lines.extend(slowest(runs));
    lines.extend(overload(runs));
    let sum = |of: fn(&Run) -> u64| runs.iter().map(of).fold(0, u64::saturating_add);
    lines.push(format!(
        "{} reads, every byte compared: {} wrong. Reads that failed: {}.",
        sum(|run| run.measured.reads()),
        sum(|run| run.measured.wrong_bytes),
        sum(|run| run.measured.failed),
    ));
    lines.join("\n")
}

/// What hedging did where it did most.
fn slowest(runs: &[Run]) -> Option<String> {
    let light = runs.iter().filter(|run| run.scenario.load == Load::Light);
    let (off, on) = light
        .filter(|run| run.hedging == Hedging::Off)
        .filter_map(|off| Some((off, with(runs, off, Hedging::On)?)))
        .max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    // Less than twice as fast is no story.
    if gain(&(off, on)) < 2.0 {
        return None;
    }
    Some(format!(
        "Where {}, hedging brought the p99 from {} to {}, for {:.2} cells more a read.",
        off.scenario.story,
        time(off.quantile(0.99)),
        time(on.quantile(0.99)),
        on.cells_more(),
    ))
}

/// What breaker and budget prevented.
fn overload(runs: &[Run]) -> Option<String> {
    let heavy = runs.iter().filter(|run| run.scenario.load == Load::Heavy);
    let off = heavy.clone().find(|run| run.hedging == Hedging::Off)?;
    let (on, free) = (with(runs, off, Hedging::On)?, with(runs, off, Hedging::NoBreaker)?);
    Some(format!(
        "With all nodes busy the p99 was {} without hedging, {} with it, and {} without breaker and budget.",
        time(off.quantile(0.99)),
        time(on.quantile(0.99)),
        time(free.quantile(0.99)),
    ))
}

fn with<'r>(runs: &'r [Run], like: &Run, hedging: Hedging) -> Option<&'r Run> {
    runs.iter().find(|run| run.scenario.name == like.scenario.name && run.hedging == hedging)
}

fn gain((off, on): &(&Run, &Run)) -> f64 {
    off.quantile(0.99) / on.quantile(0.99).max(0.001)
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::run;
    use super::*;

    #[test]
    fn the_greatest_gain_is_told_and_what_the_limits_prevented() {
        let runs = [
            run(0, Hedging::Off, [1_000]),
            run(0, Hedging::On, [1_000]),
            run(2, Hedging::Off, [1_000_000]),
            run(2, Hedging::On, [20_000]),
            run(10, Hedging::Off, [50_000]),
            run(10, Hedging::On, [52_000]),
            run(10, Hedging::NoBreaker, [4_000_000]),
        ];
        let text = closing(&runs);
        assert!(
            text.contains("4 KiB, then nothing more, hedging brought the p99 from 1.00 s to 20.0 ms"),
            "{text}"
        );
        assert!(text.contains("50.0 ms without hedging, 52.0 ms with it, and 4.00 s without"), "{text}");
        assert!(text.ends_with("7 reads, every byte compared: 0 wrong. Reads that failed: 0."), "{text}");
    }

    #[test]
    fn nothing_is_claimed_where_nothing_was_gained() {
        let runs = [run(0, Hedging::Off, [1_000]), run(0, Hedging::On, [900])];
        assert_eq!(closing(&runs), "2 reads, every byte compared: 0 wrong. Reads that failed: 0.");
        assert_eq!(closing(&[]), "0 reads, every byte compared: 0 wrong. Reads that failed: 0.");
    }
}
