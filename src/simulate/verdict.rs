//! What was published or is expected, and how it came out.

use hedgerow::sim::{Published, Row, Scenario};

use super::table::days_differ;
use crate::show::{Look, Terminal, three_digits, time};

/// One figure that came out.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Verdict<'s> {
    published: &'s Published,
    /// The shape in which it came out.
    shape: &'s str,
    /// What came out; none if nothing can be said.
    value: Option<f64>,
    /// The days of the two that are compared, where that tells.
    days: Option<(f64, f64)>,
}

impl Verdict<'_> {
    /// Whether it is as expected.
    pub(super) fn holds(&self) -> bool {
        let Published { least, most, .. } = self.published;
        self.value.is_some_and(|value| (*least..=*most).contains(&value))
    }

    fn told(&self) -> String {
        let Published { policy, figure, over, least, most, .. } = self.published;
        let is_time = figure.ends_with("_ms") && over.is_none();
        let number = |number: f64| if is_time { time(number) } else { three_digits(number) };
        let what = match over {
            Some(over) => format!("{figure} over that of {over}"),
            None => figure.clone(),
        };
        let expected = match (*least, *most) {
            (least, most) if least == most => format!("{} expected", number(least)),
            (least, most) if least <= 0.0 => format!("at most {} expected", number(most)),
            (least, most) if most >= ENDLESS => format!("at least {} expected", number(least)),
            (least, most) => format!("{} to {} expected", number(least), number(most)),
        };
        let value = self.value.map_or_else(|| "nothing can be said".into(), number);
        let days = self.days.map_or_else(String::new, |(part, whole)| {
            format!("; of {} days and of {}", three_digits(part), three_digits(whole))
        });
        format!("{}, {policy}: {what} {value}, {expected}{days}", self.shape)
    }
}

/// From here on a bound is none.
const ENDLESS: f64 = 1e12;

/// All that was published of what was simulated.
pub(super) fn verdicts<'s>(scenario: &'s Scenario, rows: &'s [Row]) -> Vec<Verdict<'s>> {
    let mut verdicts = Vec::new();
    for published in &scenario.published {
        let of_shape = |row: &&Row| published.shape.as_ref().is_none_or(|shape| *shape == row.shape);
        for row in rows.iter().filter(|row| row.policy == published.policy).filter(of_shape) {
            let figure = |row: &Row| row.figure(&published.figure).and_then(|figure| figure.number());
            let mut days = None;
            let value = match &published.over {
                None => figure(row),
                Some(over) => {
                    let Some(base) = rows.iter().find(|base| base.shape == row.shape && base.policy == *over)
                    else {
                        continue;
                    };
                    let both = (row.days, base.days);
                    days =
                        Some(both).filter(|_| by_days(&published.figure) && days_differ(row.days, base.days));
                    figure(row).zip(figure(base)).and_then(|(part, whole)| ratio(part, whole))
                }
            };
            verdicts.push(Verdict { published, shape: &row.shape, value, days });
        }
    }
    verdicts
}

/// Whether a figure is of days, and of more of them another.
fn by_days(figure: &str) -> bool {
    figure == "max_ms" || figure.starts_with("host_minutes_")
}

/// Nothing over nothing is no change.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    match (part, whole) {
        (0.0, 0.0) => Some(1.0),
        (_, 0.0) => None,
        _ => Some(part / whole),
    }
}

/// The verdicts for people, if there are any: what was said, and below it how that came out.
pub(super) fn told(terminal: Terminal, verdicts: &[Verdict<'_>]) -> Option<String> {
    if verdicts.is_empty() {
        return None;
    }
    let held = verdicts.iter().filter(|verdict| verdict.holds()).count();
    let mut lines = vec![terminal.paint(
        Look::Bold,
        &format!("Compared with what was published or is expected: {held} of {} as expected", verdicts.len()),
    )];
    for group in verdicts.chunk_by(|a, b| std::ptr::eq(a.published, b.published)) {
        lines.extend(group.first().map(|first| format!("  {}", first.published.text)));
        for verdict in group {
            let (look, sign) = if verdict.holds() { (Look::On, "ok") } else { (Look::Bad, "NO") };
            lines.push(format!("    {}  {}", terminal.paint(look, sign), verdict.told()));
        }
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{row, scenario};
    use super::*;

    const PLAIN: Terminal = Terminal { unicode: false, colour: false };

    #[test]
    fn each_published_figure_is_compared_in_each_shape_that_was_simulated() {
        let published = |policy, figure, rest| {
            format!("[[published]]\ntext = \"said\"\npolicy = \"{policy}\"\nfigure = \"{figure}\"\n{rest}\n")
        };
        let scenario = scenario(&format!(
            "days = 1\n{}{}{}[[shape]]\nname = \"a\"\n[[shape]]\nname = \"b\"",
            published("none", "p99_ms", "expected = [1, 3]"),
            published("default", "max_ms", "over = \"none\"\nexpected = [0, 0.5]"),
            published("default", "failed", "shape = \"b\"\nexpected = [1, 1e12]"),
        ));
        let rows = [row("none", "a"), row("default", "a"), row("none", "b"), row("default", "b")];
        let verdicts = verdicts(&scenario, &rows);
        assert_eq!(
            told(PLAIN, &verdicts).unwrap(),
            "\
Compared with what was published or is expected: 2 of 5 as expected
  said
    ok  a, none: p99_ms 2.00 ms, 1.00 ms to 3.00 ms expected
    ok  b, none: p99_ms 2.00 ms, 1.00 ms to 3.00 ms expected
  said
    NO  a, default: max_ms over that of none 1, at most 0.5 expected
    NO  b, default: max_ms over that of none 1, at most 0.5 expected
  said
    NO  b, default: failed 0, at least 1 expected"
        );
        // Without what it is compared with, a ratio is not there.
        assert_eq!(super::verdicts(&scenario, &rows[1..2]), []);
        assert_eq!(told(PLAIN, &[]), None);
    }

    #[test]
    fn what_is_of_fewer_days_than_what_it_is_compared_with_says_so() {
        let scenario = scenario(
            "days = 1\n[[published]]\ntext = \"said\"\npolicy = \"default\"\nfigure = \"max_ms\"\nover = \"none\"\nexpected = [0, 1]\n\
             [[published]]\ntext = \"said\"\npolicy = \"default\"\nfigure = \"p99_ms\"\nover = \"none\"\nexpected = [0, 1]",
        );
        let shape = &scenario.shapes[0].name;
        let mut rows = [row("none", shape), row("default", shape)];
        (rows[0].days, rows[1].days) = (20.0, 0.96);
        let verdicts = verdicts(&scenario, &rows);
        assert!(verdicts[0].told().ends_with("at most 1 expected; of 0.96 days and of 20"), "{verdicts:?}");
        assert!(verdicts[1].told().ends_with("at most 1 expected"), "{verdicts:?}");
        rows[1].days = 20.0;
        assert!(super::verdicts(&scenario, &rows)[0].told().ends_with("at most 1 expected"));
    }

    #[test]
    fn nothing_over_nothing_is_no_change_and_something_over_nothing_is_not_as_expected() {
        assert_eq!((ratio(0.0, 0.0), ratio(1.0, 0.0), ratio(1.0, 4.0)), (Some(1.0), None, Some(0.25)));
    }
}
