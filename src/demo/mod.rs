//! `hedgerow demo`: nine servers, faults one after the other, and what reads see of them with hedging off and on.

mod chart;
mod closing;
mod cluster;
mod limits;
mod pace;
mod picture;
mod plan;
mod random;
mod reads;
mod report;
mod source;
mod table;

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _, stdout};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hedge_core::Span;
use hedgerow_reader::{Client, Opened};
use indicatif::ProgressBar;

use cluster::Cluster;
use pace::{Arrival, Schedule, drive};
use plan::{Hedging, Load, NODES, SCENARIOS, Scenario};
use reads::{SILENCE, Striped};
use report::{Run, Spent};
use source::Source;

use crate::show::{Look, Terminal, at, new_file, progress};

/// Bytes of a read.
const RANGE: u64 = 64 << 10;
/// Bytes of the file that is made up: with cells of 1 MiB, twelve data cells on each node.
const MADE_UP: u64 = 108 << 20;
/// The longest file: its cells, half as much again, are kept in memory.
const LONGEST: u64 = 1 << 30;
/// Reads of a fresh client before anything is measured: they open connections, and give it a memory of nodes that were well,
/// as a client has that runs for longer than a demo.
const WARM_UP: Duration = Duration::from_millis(250);
/// How many of them a second.
const WARM_UP_RATE: f64 = 1_600.0;
/// How long each of the busy nodes takes for a request.
const SERVICE: Duration = Duration::from_millis(4);
/// The share of what busy nodes can do that is asked of them.
const BUSY: f64 = 0.85;
/// Where nodes are busy a leg is late after so many service times, which tempts to hedge one in ten.
const TEMPTING: u32 = 5;

/// See reads survive nodes that are slow, silent, gone, or lie
///
/// Nine servers on this machine are given one fault after the other, and read from with hedging off and on.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  hedgerow demo                          all scenarios, in less than a minute
  hedgerow demo --scenario stall         one of them
  hedgerow demo big.iso --svg chart.svg  on a file of yours, with a chart

The file is written as RS-6-3 to nine servers, which are processes of this program on this machine. They keep their \
cells in memory and end with this program, whatever ends it: nothing is left behind.

Reads arrive at random instants at the given rate, however long those before them take, and a read's latency counts \
from the instant when it was to begin. Every byte is compared with the file.

  off         no hedging, and no node is avoided: what fails is rebuilt, what is slow is waited for
  on          the defaults of this library, with a fixed threshold
  no-breaker  every late leg is hedged at any price: without breaker, budget and rate")]
pub(crate) struct DemoArgs {
    /// The file to read [default: 108 MiB made up]
    file: Option<PathBuf>,
    /// Only this scenario; may be repeated
    #[arg(long, value_name = "NAME", value_parser = plan::scenario)]
    scenario: Vec<&'static Scenario>,
    /// How long reads arrive in each run, in seconds
    #[arg(long, default_value_t = 1.3, value_parser = seconds)]
    seconds: f64,
    /// Reads a second, where nodes are not to be busy
    #[arg(long, default_value_t = 800.0, value_parser = rate)]
    rate: f64,
    /// When a leg is late, where nodes are not busy
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = threshold)]
    threshold: Duration,
    /// Where reads begin and when they arrive
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One object of JSON a line and run, and nothing else
    #[arg(long)]
    json: bool,
    /// A chart of all runs, written to this file, which must not be there yet
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    within(text, 0.1, 600.0)
}

fn rate(text: &str) -> Result<f64, String> {
    within(text, 1.0, 10_000.0)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(number) => Err(format!("{number} is not between {least} and {most}")),
        Err(_) => Err("not a number".into()),
    }
}

fn threshold(text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_millis(2), SILENCE);
    match humantime::parse_duration(text) {
        Ok(time) if (least..=most).contains(&time) => Ok(time),
        Ok(_) => Err(format!("not between {least:?} and {most:?}")),
        Err(error) => Err(format!("not a time such as 20ms: {error}")),
    }
}

/// Why the demo did not show what it should have.
#[derive(Debug)]
pub(crate) enum DemoError {
    /// Something went wrong on the way.
    Broken(io::Error),
    /// Bytes were wrong, or reads failed that had enough nodes.
    Wrong {
        /// So many bytes.
        bytes: u64,
        /// So many reads.
        reads: u64,
    },
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(error) => write!(f, "{error}"),
            Self::Wrong { bytes, reads } => {
                write!(f, "{bytes} bytes were wrong, and {reads} reads failed that had enough nodes")
            }
        }
    }
}

impl Error for DemoError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Said already.
            Self::Broken(error) => error.source(),
            Self::Wrong { .. } => None,
        }
    }
}

impl From<io::Error> for DemoError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Shows what hedging does; with `quiet` without a progress bar and closing remarks. Dropped, it ends its servers.
///
/// # Errors
///
/// [`DemoError`].
pub(crate) async fn run(args: DemoArgs, quiet: bool) -> Result<(), DemoError> {
    let args = &args;
    let source = source(args)?;
    let chart = args.svg.as_deref().map(new_file).transpose()?;
    let terminal = Terminal::detect();
    let scenarios: Vec<&Scenario> =
        if args.scenario.is_empty() { SCENARIOS.iter().collect() } else { args.scenario.clone() };
    let steps = scenarios.iter().map(|scenario| scenario.modes().len()).sum::<usize>() as u64;
    let bar = if quiet { ProgressBar::hidden() } else { progress(steps) };
    bar.set_message("starting nine servers");
    let mut cluster = Cluster::start().await?;
    bar.set_message("writing the file to them");
    let opened = cluster.write(&source).await?;

    let print = |text: &str| -> io::Result<()> {
        if args.json { Ok(()) } else { bar.suspend(|| writeln!(stdout().lock(), "{text}")) }
    };
    let about = about(args, &source);
    print(&format!("{about}\n\n{}", table::head(terminal)))?;
    let mut runs = Vec::new();
    for scenario in scenarios {
        print(&table::story(terminal, scenario))?;
        for &hedging in scenario.modes() {
            bar.set_message(format!("{}, hedging {}", scenario.name, hedging.name()));
            let run = one(args, &mut cluster, &opened, &source, scenario, hedging).await?;
            if args.json {
                bar.suspend(|| writeln!(stdout().lock(), "{}", run.json()))?;
            } else {
                print(&table::row(terminal, &run))?;
            }
            runs.push(run);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    cluster.stop().await?;
    print(&format!("\n{}", picture::picture(terminal, &runs)))?;
    if !quiet {
        print(&format!("\n{}", terminal.paint(Look::Bold, &closing::closing(&runs))))?;
    }
    if let Some((mut file, path)) = chart {
        file.write_all(chart::chart(&runs, &about).as_bytes()).map_err(|error| at(&path, &error))?;
        let path = path.keep().map_err(|error| at(&error.path, &error.error))?;
        if !quiet {
            print(&format!("The chart is in {}.", path.display()))?;
        }
    }
    let bad = || runs.iter().filter(|run| !run.is_well());
    if bad().next().is_none() {
        return Ok(());
    }
    Err(DemoError::Wrong {
        bytes: bad().map(|run| run.measured.wrong_bytes).fold(0, u64::saturating_add),
        reads: bad().map(|run| run.measured.failed).fold(0, u64::saturating_add),
    })
}

/// One scenario with one kind of hedging.
async fn one(
    args: &DemoArgs,
    cluster: &mut Cluster,
    opened: &Opened,
    source: &Source,
    scenario: &'static Scenario,
    hedging: Hedging,
) -> io::Result<Run> {
    let heavy = scenario.load == Load::Heavy;
    let late = if heavy { SERVICE * TEMPTING } else { args.threshold };
    let late = Span::from_nanos(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    let client = Client::new(reads::client(hedging, late, scenario.load, cluster.requests))
        .map_err(io::Error::other)?;
    let reader = opened.reader(&client, &cluster.nodes).map_err(io::Error::other)?;
    let striped = Striped::new(reader, hedging);
    let arrivals =
        |rate, span, seed| Schedule { rate, span, file: source.length(), length: RANGE, seed }.arrivals();

    let first: Vec<Arrival> = arrivals(WARM_UP_RATE, WARM_UP, args.seed.wrapping_add(1));
    let warmed = drive(Arc::clone(&striped), source.clone(), first).await;
    cluster.faults(scenario.faults).await?;
    cluster.service_time(heavy.then_some(SERVICE)).await?;
    let before = client.snapshot();
    let edges = RANGE as f64 / f64::from(opened.manifest.cell_bytes);
    let rate = if heavy { busy_rate(edges) } else { args.rate };
    let span = Duration::from_secs_f64(args.seconds);
    let mut measured = drive(striped, source.clone(), arrivals(rate, span, args.seed)).await;
    let spent = Spent::between(&before, &client.snapshot());
    cluster.faults(&[]).await?;
    cluster.service_time(None).await?;
    reads::shut_down(&client).await;

    // Nothing was wrong with the nodes yet: what went wrong counts, though its latency does not.
    measured.wrong_bytes = measured.wrong_bytes.saturating_add(warmed.wrong_bytes);
    measured.failed = measured.failed.saturating_add(warmed.failed);
    measured.failure = warmed.failure.or(measured.failure);
    Ok(Run { scenario, hedging, measured, spent })
}

/// Reads a second that keep the nodes as busy as they are to be, if one in `1 / edges` needs a second cell.
fn busy_rate(edges: f64) -> f64 {
    BUSY * NODES as f64 / SERVICE.as_secs_f64() / (1.0 + edges)
}

fn source(args: &DemoArgs) -> io::Result<Source> {
    let Some(path) = &args.file else { return Ok(Source::Generated { seed: args.seed, length: MADE_UP }) };
    let source = Source::open(path).map_err(|error| at(path, &error))?;
    let wrong = match source.length() {
        0 => "it is empty: there is nothing to read".into(),
        length if length > LONGEST => {
            format!("it has {length} bytes, and the demo keeps it in memory: at most {LONGEST}")
        }
        _ => return Ok(source),
    };
    Err(at(path, &io::Error::new(io::ErrorKind::InvalidInput, wrong)))
}

/// How all is measured, in a line.
fn about(args: &DemoArgs, source: &Source) -> String {
    format!(
        "{} MiB as RS-6-3 on nine servers; {} KiB at random, {} reads a second; late after {:?}; failed after {SILENCE:?} of silence",
        source.length().div_ceil(1 << 20),
        RANGE >> 10,
        args.rate,
        args.threshold,
    )
}
