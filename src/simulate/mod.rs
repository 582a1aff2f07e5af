//! `hedgerow simulate`: policies of hedging side by side, in virtual time.

mod advise;
mod args;
mod chart;
mod choose;
mod machine;
mod picture;
mod speed;
mod sweep;
mod table;
mod verdict;

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _, stdout};

use hedgerow::sim::{self, Row, Scenario, ScenarioError};
use indicatif::ProgressBar;

pub(crate) use args::SimulateArgs;
use choose::Chosen;

use crate::show::{Look, Terminal, new_file, progress, wrap, write_new};

/// Why a simulation did not show what it should have.
#[derive(Debug)]
pub(crate) enum SimulateError {
    /// There is no such thing to simulate.
    Usage(String),
    /// A file can't be read.
    Unread(io::Error),
    /// A histogram can't be understood.
    Histogram(String),
    /// A scenario makes no sense.
    Scenario(ScenarioError),
    /// Options make no sense together with the scenario.
    Options(ScenarioError),
    /// Something could not be written.
    Unwritten(io::Error),
    /// So many figures are not as expected, and that was to be an error.
    Unexpected(usize),
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) | Self::Histogram(what) => f.write_str(what),
            Self::Unread(error) | Self::Unwritten(error) => write!(f, "{error}"),
            Self::Scenario(error) => write!(f, "{error}"),
            Self::Options(error) => write!(f, "with these options it makes no sense: {error}"),
            Self::Unexpected(1) => f.write_str("1 figure is not as expected"),
            Self::Unexpected(figures) => write!(f, "{figures} figures are not as expected"),
        }
    }
}

impl Error for SimulateError {}

/// Output that could not be written.
impl From<io::Error> for SimulateError {
    fn from(error: io::Error) -> Self {
        Self::Unwritten(error)
    }
}

/// Does what the arguments say; with `quiet` without a progress bar and closing remarks. It keeps its thread busy.
///
/// # Errors
///
/// [`SimulateError`].
pub(crate) fn run(args: &SimulateArgs, quiet: bool) -> Result<(), SimulateError> {
    if let Some(option) = args.advice.needless() {
        return Err(SimulateError::Usage(format!(
            "{option} says something of --advise FILE, and there is none"
        )));
    }
    if args.json && args.scenario.is_none() && args.advice.advise.is_none() {
        return Err(SimulateError::Usage(
            "--json says how a scenario or --advise FILE is answered, and there is neither".into(),
        ));
    }
    if let Some(file) = &args.advice.advise {
        return print(&advise::advise(file, &args.advice, args.json)?);
    }
    match choose::choose(args)? {
        Chosen::List => print(&choose::list(Terminal::detect())),
        Chosen::Text(text) => print(text.trim_end()),
        Chosen::Speed => print(&speed::measure(args.quick, args.json)),
        Chosen::Scenario(scenario) => simulate(args, &scenario, quiet),
    }
}

fn simulate(args: &SimulateArgs, scenario: &Scenario, quiet: bool) -> Result<(), SimulateError> {
    // Whoever ends the run early shall not find empty files: these are gone again at once.
    let proved: io::Result<Vec<_>> =
        [&args.svg, &args.csv].into_iter().flatten().map(|file| new_file(file)).collect();
    drop(proved?);
    let terminal = Terminal::detect();
    let about = about(scenario);
    if !args.json {
        let title = terminal.paint(Look::Bold, &scenario.title);
        print(&format!("{title}\n{}\n{}", wrap(&scenario.about), terminal.paint(Look::Dim, &about)))?;
    }
    let bar = if quiet { ProgressBar::hidden() } else { progress(0).with_message("simulated") };
    let rows = sim::run(scenario, args.threads(), &|progress| {
        bar.set_length(progress.all);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let verdicts = verdict::verdicts(scenario, &rows);
    if let Some(file) = &args.csv {
        write_new(file, &machine::csv(&rows))?;
    }
    if let Some(file) = &args.svg {
        write_new(file, &chart::chart(scenario, &rows, &about))?;
    }
    if args.json {
        rows.iter().try_for_each(|row| print(&machine::json(row)))?;
    } else {
        print(&people(terminal, scenario, &rows, &verdicts))?;
    }
    match verdicts.iter().filter(|verdict| !verdict.holds()).count() {
        unexpected if unexpected > 0 && args.strict => Err(SimulateError::Unexpected(unexpected)),
        _ => Ok(()),
    }
}

/// All that people are shown of a run.
fn people(
    terminal: Terminal,
    scenario: &Scenario,
    rows: &[Row],
    verdicts: &[verdict::Verdict<'_>],
) -> String {
    let mut parts = Vec::new();
    for shape in &scenario.shapes {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.shape == shape.name).collect();
        parts.push(table::table(terminal, scenario, shape, &rows));
        parts.extend(sweep::sweep(terminal, &rows));
    }
    parts.push(terminal.paint(Look::Dim, &table::legend(scenario)));
    parts.push(picture::picture(terminal, rows));
    parts.extend(verdict::told(terminal, verdicts));
    format!("\n{}", parts.join("\n\n"))
}

/// How all is simulated, in a line.
fn about(scenario: &Scenario) -> String {
    let long = |seconds: f64| {
        if seconds >= 86_400.0 { format!("{} days", seconds / 86_400.0) } else { format!("{seconds} s") }
    };
    let engine = match scenario.engine {
        sim::Engine::Full => "every read simulated",
        sim::Engine::Thinned => "thinned: reads that meet an incident or are slow by themselves",
    };
    let warm_up = match scenario.warm_up {
        0.0 => String::new(),
        warm_up => format!(", the first {} not counted", long(warm_up)),
    };
    let seeds = match scenario.seeds {
        1 => format!("seed {}", scenario.seed),
        seeds => format!("{seeds} seeds from {} on", scenario.seed),
    };
    let learning = match (scenario.engine, scenario.learning) {
        (sim::Engine::Thinned, Some((seconds, _))) if seconds < scenario.seconds => {
            format!("; {} only of policies that learn from every read", long(seconds))
        }
        _ => String::new(),
    };
    format!("{}{warm_up}; {seeds}; {engine}{learning}", long(scenario.seconds))
}

fn print(text: &str) -> Result<(), SimulateError> {
    Ok(writeln!(stdout().lock(), "{text}")?)
}
