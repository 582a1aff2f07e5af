//! `hedgerow simulate --advise FILE`: which threshold and budget a latency histogram asks for, and what they would buy and cost.

use std::path::Path;

use hedgerow::sim::{self, Advice, Choice, Code, Profile, Question};
use serde::Serialize;

use super::SimulateError;
use super::args::AdviseArgs;
use crate::show::{Look, Terminal, bytes_of, percent, three_digits, time, wrap};

/// What is printed of the advice for a file.
pub(super) fn advise(file: &Path, args: &AdviseArgs, json: bool) -> Result<String, SimulateError> {
    let wrong = |error: String| SimulateError::Histogram(format!("{}: {error}", file.display()));
    let bytes = bytes_of(file).map_err(SimulateError::Unread)?;
    let profile = Profile::parse(&bytes, None, args.unit).map_err(|error| wrong(error.to_string()))?;
    let usual =
        args.schema.map_or_else(Question::default, |schema| Question::of(Code { k: schema.k, m: schema.m }));
    let question = Question {
        reads_per_second: args.rate.unwrap_or(usual.reads_per_second),
        target: args.target.unwrap_or(usual.target),
        spare: args.spare.unwrap_or(usual.spare),
        ..usual
    };
    let advice = sim::advise(&profile, &question).map_err(|error| SimulateError::Usage(error.to_string()))?;
    if json {
        // Nothing in it can fail to be written.
        return Ok(serde_json::to_string(&Line::of(&profile, &advice)).unwrap_or_default());
    }
    Ok(told(Terminal::detect(), &file.display().to_string(), &profile, &question, &advice))
}

/// The advice for people.
fn told(terminal: Terminal, file: &str, profile: &Profile, question: &Question, advice: &Advice) -> String {
    let bold = |text: &str| terminal.paint(Look::Bold, text);
    let quantile = |quantile| time(profile.quantile_ms(quantile));
    let Code { k, m } = question.code;
    let mut lines = vec![
        bold(&format!("A threshold for latencies such as those of {file}")),
        format!(
            "{} latencies: p50 {}, p99 {}, p99.9 {}, p99.99 {}",
            profile.samples(),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            quantile(0.9999)
        ),
        format!(
            "RS-{k}-{m}, {} reads of one cell a second and client, {} extra cells to spend",
            three_digits(question.reads_per_second),
            percent(question.target)
        ),
        String::new(),
    ];
    let head = format!(
        "{:14}{:>10}{:>10}{:>11}{:>8}{:>12}{:>10}{:>10}{:>10}{:>10}",
        "threshold", "late", "hedged", "cells", "won", "dead node", "p99", "p99.9", "p99.99", "p99.999"
    );
    lines.push(terminal.paint(Look::Dim, &head));
    for (place, choice) in advice.table.iter().enumerate() {
        let recommended = place == advice.recommended;
        let mark = match (recommended, advice.knee == Some(place)) {
            (true, true) => "  <- recommended, and the knee",
            (true, false) => "  <- recommended",
            (false, true) => "  <- the knee",
            (false, false) => "",
        };
        let look = if recommended { Look::On } else { Look::Other };
        let name = terminal.paint(look, &format!("  {:12}", choice.name));
        lines.push(format!("{name}{}{}", row(choice), bold(mark)));
    }
    lines.push(String::new());
    lines.push(terminal.paint(
        Look::Dim,
        &wrap(
            "hedged: of healthy reads; won: of these; dead node: what a read of a node takes that never answers, the median and the p99; the others: what the reads of a \
             healthy cluster take. The knee is the lowest threshold that is worth lowering further: clients would wait less by more than nodes would work more.",
        ),
    ));
    lines.push(format!("\n{}", bold("To set, over the default: with --set NAME=VALUE, or in a program")));
    lines.extend(advice.config.iter().map(|(name, value)| format!("  {name}={value}")));
    if !advice.cautions.is_empty() {
        lines.push(format!("\n{}", bold("Before you trust it")));
        lines.extend(
            advice.cautions.iter().map(|caution| format!("- {}", wrap(caution).replace('\n', "\n  "))),
        );
    }
    lines.join("\n")
}

fn row(choice: &Choice) -> String {
    format!(
        "{:>10}{:>10}{:>11}{:>8}{:>12}{:>10}{:>10}{:>10}{:>10}",
        time(choice.threshold_ms),
        percent(choice.hedged),
        percent(choice.extra_cells),
        choice.won.map_or_else(|| "-".into(), percent),
        time(choice.dead_median_ms),
        time(choice.dead_p99_ms),
        time(choice.p999_ms),
        time(choice.p9999_ms),
        time(choice.p99999_ms),
    )
}

/// The format of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    samples: u64,
    recommended: &'a str,
    knee: Option<&'a str>,
    budget_share: f64,
    burst_cells: u16,
    config: std::collections::BTreeMap<&'a str, &'a str>,
    cautions: &'a [String],
    table: Vec<Tried<'a>>,
}

#[derive(Serialize)]
struct Tried<'a> {
    threshold: &'a str,
    threshold_ms: f64,
    hedged_share: f64,
    extra_cell_share: f64,
    win_share: Option<f64>,
    dead_node_median_ms: f64,
    dead_node_p99_ms: f64,
    p999_ms: f64,
    p9999_ms: f64,
    p99999_ms: f64,
}

impl<'a> Line<'a> {
    fn of(profile: &Profile, advice: &'a Advice) -> Self {
        let name = |place: usize| advice.table.get(place).map(|choice| &choice.name[..]);
        Self {
            samples: profile.samples(),
            recommended: name(advice.recommended).unwrap_or_default(),
            knee: advice.knee.and_then(name),
            budget_share: advice.budget_share,
            burst_cells: advice.burst_cells,
            config: advice.config.iter().map(|(name, value)| (*name, &value[..])).collect(),
            cautions: &advice.cautions,
            table: advice.table.iter().map(Tried::of).collect(),
        }
    }
}

impl<'a> Tried<'a> {
    fn of(choice: &'a Choice) -> Self {
        Self {
            threshold: &choice.name,
            threshold_ms: choice.threshold_ms,
            hedged_share: choice.hedged,
            extra_cell_share: choice.extra_cells,
            win_share: choice.won,
            dead_node_median_ms: choice.dead_median_ms,
            dead_node_p99_ms: choice.dead_p99_ms,
            p999_ms: choice.p999_ms,
            p9999_ms: choice.p9999_ms,
            p99999_ms: choice.p99999_ms,
        }
    }
}
