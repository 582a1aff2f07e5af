//! Latencies in CSV: values with their counts, or values alone.

use super::error::{Problem, ProfileError};
use super::gather::{Gather, Steps, checked};
use super::{Unit, lines};
use crate::Empirical;

/// The histogram (none if there was no latency), and the unit of the values: `unit`, or the header's.
pub(super) fn parse(text: &str, unit: Option<Unit>) -> Result<(Option<Empirical>, Unit), ProfileError> {
    let mut all = lines(text).filter(|(_, line)| !line.starts_with('#')).peekable();
    let Some(&(number, first)) = all.peek() else {
        return Err(Problem::Nothing.in_the_whole());
    };
    let columns = fields(first).count();
    if columns > 2 {
        return Err(Problem::Fields { fields: columns, expected: "1 or 2" }.in_line(number));
    }
    let mut named = None;
    let name = fields(first).next().unwrap_or_default();
    if name.parse::<f64>().is_err() {
        named = Some(Unit::named(name).ok_or_else(|| Problem::header(name).in_line(number))?);
        all.next();
    }
    let unit = unit.or(named).unwrap_or(Unit::Millis);
    let histogram = if columns == 1 { values(all, unit)? } else { counts(all, unit)? };
    Ok((histogram, unit))
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

fn values<'a>(
    lines: impl Iterator<Item = (u64, &'a str)>,
    unit: Unit,
) -> Result<Option<Empirical>, ProfileError> {
    let mut gather = Gather::new(unit);
    for (number, line) in lines {
        let value = line.parse().map_err(|_| Problem::number(line).in_line(number))?;
        gather.add(value, 1).map_err(|problem| problem.in_line(number))?;
    }
    Ok(gather.finish())
}

fn counts<'a>(
    lines: impl Iterator<Item = (u64, &'a str)>,
    unit: Unit,
) -> Result<Option<Empirical>, ProfileError> {
    let mut steps = Steps::default();
    for (number, line) in lines {
        let mut add = || {
            let mut columns = fields(line);
            let (Some(value), Some(count), None) = (columns.next(), columns.next(), columns.next()) else {
                return Err(Problem::Fields { fields: fields(line).count(), expected: "2" });
            };
            let value = value.parse().map_err(|_| Problem::number(value))?;
            steps.add(checked(value, unit)?, count.parse().map_err(|_| Problem::count(count))?)
        };
        add().map_err(|problem| problem.in_line(number))?;
    }
    steps.finish(0.0).map_err(Problem::in_the_whole)
}
