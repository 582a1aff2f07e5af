//! Rows for programs: `--json` and `--csv`.

use hedge_core::Reason;
use hedgerow::sim::{Figure, Row};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// Keys that JSON and CSV begin with, before the figures.
const NAMES: [&str; 2] = ["policy", "shape"];

/// A row as an object: names, figures in their order, and refusals by reason.
struct Line<'r>(&'r Row);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(row) = self;
        let mut line = serializer.serialize_map(None)?;
        for (key, value) in NAMES.into_iter().zip([&row.policy, &row.shape]) {
            line.serialize_entry(key, value)?;
        }
        for (key, figure) in row.figures() {
            line.serialize_entry(key, &figure)?;
        }
        line.serialize_entry("refused", &Refused(row))?;
        line.end()
    }
}

struct Refused<'r>(&'r Row);

impl Serialize for Refused<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(refused(self.0).filter(|&(_, count)| count > 0))
    }
}

/// Why hedges were refused, and how many; those of which there are none, too.
pub(super) fn refused(row: &Row) -> impl Iterator<Item = (&'static str, u64)> {
    Reason::ALL.into_iter().map(Reason::name).zip(row.refused)
}

/// A row as one line of JSON.
pub(super) fn json(row: &Row) -> String {
    // Nothing in it can fail to be written.
    serde_json::to_string(&Line(row)).unwrap_or_default()
}

/// All rows as CSV, with a line of names.
pub(super) fn csv(rows: &[Row]) -> String {
    let reasons = Reason::ALL.map(|reason| format!("refused_{}", reason.name()));
    let names = NAMES.iter().chain(Row::FIGURES).copied().chain(reasons.iter().map(|name| &name[..]));
    let mut lines = vec![names.collect::<Vec<&str>>().join(",")];
    lines.extend(rows.iter().map(|row| {
        let names = [&row.policy, &row.shape].map(|name| quoted(name));
        let figures = row.figures().into_iter().map(|(_, figure)| match figure {
            Figure::Count(count) => count.to_string(),
            Figure::Number(number) => number.map_or_else(String::new, |number| number.to_string()),
        });
        let refused = refused(row).map(|(_, count)| count.to_string());
        names.into_iter().chain(figures).chain(refused).collect::<Vec<String>>().join(",")
    }));
    lines.join("\n") + "\n"
}

/// A field of CSV, in quotes where it needs them.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::row;
    use super::*;

    #[test]
    fn a_line_of_json_begins_with_the_documented_keys_in_their_order() {
        let mut row = row("default", "fitted");
        row.refused[2] = 7;
        let json = json(&row);
        let keys = [
            "policy",
            "shape",
            "days",
            "reads",
            "host_minutes_over_1s",
            "host_minutes_over_5s",
            "hedges_per_million",
            "win_share",
            "p50_ms",
            "p99_ms",
            "p999_ms",
            "p9999_ms",
            "affected_p99_ms",
            "max_ms",
            "extra_cell_share",
        ];
        let mut rest = &json[..];
        for key in keys {
            let begin = format!("\"{key}\":");
            assert!(rest[1..].starts_with(&begin), "{key}: {rest}");
            rest = &rest[1 + begin.len()..];
            rest = &rest[rest.find([',', '}']).unwrap()..];
        }
        assert!(json.ends_with("\"refused\":{\"breaker\":7}}"), "{json}");
    }

    #[test]
    fn what_can_not_be_said_is_null_in_json_and_empty_in_csv() {
        let mut row = row("none", "a, \"b\"");
        row.p99_ms = vec![10.0];
        assert!(json(&row).contains("\"p99_standard_error_ms\":null"));
        let csv = csv(&[row]);
        let (names, fields) = csv.split_once('\n').unwrap();
        assert!(
            names.starts_with("policy,shape,days,reads,") && names.ends_with(",refused_memory"),
            "{names}"
        );
        assert!(fields.starts_with("none,\"a, \"\"b\"\"\","), "{fields}");
        // A comma in a name is none between fields.
        assert_eq!(fields.matches(',').count(), names.matches(',').count() + 1);
    }
}
