//! `hedgerow plan`: whom to ask and where to place, policies side by side.

mod args;
mod chart;
mod machine;
mod rows;
mod scenario;
mod simulated;
mod table;

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _, stdout};

use hedgerow::fleet::{FleetError, Policy};
use indicatif::ProgressBar;

pub(crate) use args::PlanArgs;
use rows::{Outcome, Row};
use scenario::{Fleet, Instead, ScenarioError};

use crate::show::{Look, Terminal, new_file, progress, text_of, three_digits, wrap, write_new};

/// Why there is no plan.
#[derive(Debug)]
pub(crate) enum PlanError {
    /// The file can't be read.
    Unread(io::Error),
    /// The file makes no sense.
    Scenario(String, ScenarioError),
    /// No policy has a plan.
    Impossible(FleetError),
    /// Something could not be written.
    Unwritten(io::Error),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(error) | Self::Unwritten(error) => write!(f, "{error}"),
            Self::Scenario(file, error) => write!(f, "{file}: {error}"),
            Self::Impossible(error) => write!(f, "{error}"),
        }
    }
}

impl Error for PlanError {}

/// Output that could not be written.
impl From<io::Error> for PlanError {
    fn from(error: io::Error) -> Self {
        Self::Unwritten(error)
    }
}

/// Does what the arguments say; with `quiet` without a progress bar. It keeps its threads busy.
///
/// # Errors
///
/// [`PlanError`].
pub(crate) fn run(args: &PlanArgs, quiet: bool) -> Result<(), PlanError> {
    let text = text_of(&args.scenario).map_err(PlanError::Unread)?;
    let instead = Instead {
        policies: &args.policy,
        x: &args.x,
        plan_for: args.plan_for,
        slow: &args.slow,
        load: args.load,
        seed: args.seed,
        reads: args.reads,
    };
    let fleet = Fleet::parse(&text, &instead)
        .map_err(|error| PlanError::Scenario(args.scenario.display().to_string(), error))?;
    // Whoever ends the run early shall not find empty files: these are gone again at once.
    let proved: io::Result<Vec<_>> =
        [&args.svg, &args.weights].into_iter().flatten().map(|file| new_file(file)).collect();
    drop(proved?);
    let terminal = Terminal::detect();
    let about = about(&fleet);
    if !args.json {
        let title = terminal.paint(Look::Bold, &fleet.title);
        print(&format!("{title}\n{}\n{}", wrap(&fleet.about), terminal.paint(Look::Dim, &wrap(&about))))?;
    }
    let bar = if quiet { ProgressBar::hidden() } else { progress(0).with_message("planned and simulated") };
    let rows = rows::rows(&fleet, args.threads(), &|done, all| {
        bar.set_length(all);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    // If nothing can be planned, the first reason is as good as any.
    if rows.iter().all(|row| row.outcome.is_err())
        && let Some(error) = rows.iter().find_map(|row| row.outcome.as_ref().err())
    {
        return Err(PlanError::Impossible(error.clone()));
    }
    if let Some(file) = &args.weights {
        let policy = written(&fleet);
        let plan = rows::plan(&fleet, policy, fleet.plan_for).map_err(PlanError::Impossible)?;
        write_new(file, &machine::weights(policy, &plan, fleet.plan_for))?;
    }
    if let Some(file) = &args.svg {
        write_new(file, &chart::chart(&fleet, &rows, &about))?;
    }
    if args.json {
        rows.iter().try_for_each(|row| print(&machine::json(row)))?;
    } else {
        print(&people(terminal, &fleet, &rows))?;
    }
    Ok(())
}

/// The policy whose weights are written: the first.
fn written(fleet: &Fleet) -> Policy {
    fleet.policies.first().copied().unwrap_or(Policy::ALL[0])
}

/// All that people are shown.
fn people(terminal: Terminal, fleet: &Fleet, rows: &[Row]) -> String {
    let mut parts = vec![table::figures(terminal, fleet, rows)];
    parts.extend(table::gains(fleet, rows));
    parts.push(table::plans(terminal, fleet, rows));
    let shown = rows.iter().filter(|row| row.x == fleet.shown());
    if let Some((row, outcome)) = shown.filter_map(|row| Some((row, row.outcome.as_ref().ok()?))).next() {
        parts.push(table::holders(terminal, row, &outcome.holders));
    }
    let outcomes = rows.iter().filter_map(|row| row.outcome.as_ref().ok());
    if let Some(why) = outcomes.filter_map(Outcome::not_simulated).next() {
        parts.push(terminal.paint(Look::Bad, &wrap(&format!("not simulated: {why}"))));
    }
    format!("\n{}", parts.join("\n\n"))
}

/// What is planned, and how, in a line.
fn about(fleet: &Fleet) -> String {
    let simulated = match fleet.reads {
        0 => "nothing simulated".into(),
        reads => format!("{reads} reads of each plan simulated"),
    };
    format!(
        "{} nodes, {} classes of files, load {}; planned anew for each x; {simulated}; seed {}; fixed t {} per ms",
        fleet.problem.services().len(),
        fleet.problem.classes(),
        three_digits(fleet.load),
        fleet.seed,
        three_digits(fleet.options.fixed_t),
    )
}

fn print(text: &str) -> Result<(), PlanError> {
    Ok(writeln!(stdout().lock(), "{text}")?)
}
