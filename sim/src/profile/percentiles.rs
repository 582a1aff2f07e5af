//! HdrHistogram's text of percentiles: value, percentile, how many up to there.

use super::error::{Problem, ProfileError};
use super::gather::{NEAR, Steps, checked};
use super::{Unit, lines};
use crate::Empirical;

/// Whether a line names the columns.
pub(super) fn is_header(line: &str) -> bool {
    let mut names = columns(line).map(|name| name.trim_matches('"'));
    names.next() == Some("Value") && names.next() == Some("Percentile") && names.next() == Some("TotalCount")
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t', ',']).filter(|column| !column.is_empty())
}

/// The histogram; none if there was no latency.
pub(super) fn parse(text: &str, unit: Unit) -> Result<Option<Empirical>, ProfileError> {
    let mut all = lines(text).skip_while(|(_, line)| !is_header(line));
    if all.next().is_none() {
        return Err(Problem::NoHeader.in_the_whole());
    }
    let mut steps = Steps::default();
    let (mut first, mut last, mut before) = (None, 0.0, 0);
    for (number, line) in all.take_while(|(_, line)| !line.starts_with('#')) {
        let (value, up_to) = step(line, unit).map_err(|problem| problem.in_line(number))?;
        if value < last {
            return Err(Problem::Falls { what: "value", from: last, to: value }.in_line(number));
        }
        if up_to < before {
            let fall = Problem::Falls { what: "count", from: before as f64, to: up_to as f64 };
            return Err(fall.in_line(number));
        }
        steps.add(value, up_to - before).map_err(|problem| problem.in_line(number))?;
        first.get_or_insert(value);
        (last, before) = (value, up_to);
    }
    // The first line is the least latency.
    let from = first.unwrap_or(0.0) * (1.0 - NEAR);
    steps.finish(from).map_err(Problem::in_the_whole)
}

/// A value in milliseconds, and how many are not longer.
fn step(line: &str, unit: Unit) -> Result<(f64, u64), Problem> {
    let mut fields = columns(line);
    let (Some(value), Some(_), Some(count)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(Problem::Fields { fields: columns(line).count(), expected: "3 or 4" });
    };
    let value = value.parse().map_err(|_| Problem::number(value))?;
    Ok((checked(value, unit)?, count.parse().map_err(|_| Problem::count(count))?))
}
