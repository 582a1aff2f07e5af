//! The command line: what is understood, and who does it.

mod bench;
mod exit;
mod failure;
mod findings;
mod get;
mod hedging;
mod interrupt;
mod ls;
mod nodes;
mod progress;
mod put;
mod repair;
mod rm;
mod say;
mod stat;
mod stats;
mod target;
pub(crate) mod units;
mod verify;

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use hedgerow::reader::FileError;
use tracing_subscriber::EnvFilter;

use self::exit::{Exit, Outcome, Stop};
use self::interrupt::Interrupt;
use crate::demo::{self, DemoArgs};
use crate::plan::{self, PlanArgs};
use crate::serve::{self, ServeArgs};
use crate::simulate::{self, SimulateArgs};

/// Erasure-coded files whose reads don't wait for the slow node
///
/// A file is cut into stripes of k data cells and m parity cells, each cell on another node: a folder, an HTTP server, or a bucket. When
/// a node is slow, its cells are rebuilt from the others, and whichever is ready first is taken.
#[derive(Parser, Debug)]
#[command(name = "hedgerow", version, after_help = format!("{EXAMPLES}\n\n{}", exit::HELP), max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say more on standard error: -v what goes wrong and is got around, -vv each hedge, -vvv everything; or what HEDGEROW_LOG says,
    /// such as hedgerow_reader=debug
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Messages")]
    verbose: u8,
    /// No progress bars, no closing remarks
    #[arg(short, long, global = true, help_heading = "Messages")]
    quiet: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    Demo(DemoArgs),
    Put(put::PutArgs),
    Get(get::GetArgs),
    Ls(ls::LsArgs),
    Stat(stat::StatArgs),
    Rm(rm::RmArgs),
    Verify(verify::VerifyArgs),
    Repair(repair::RepairArgs),
    Serve(ServeArgs),
    Bench(bench::BenchArgs),
    Simulate(SimulateArgs),
    Plan(PlanArgs),
}

const EXAMPLES: &str = "\
Examples:
  See reads survive nodes that are slow, silent, broken or lying, on this machine:
    hedgerow demo

  See what each policy of hedging would buy and cost, without touching production:
    hedgerow simulate case-study --quick

  Plan whom to ask and where to place, for a fleet of unequal nodes:
    hedgerow plan fleet.toml

  Write a file to nine folders, read it back, and look whether it is whole:
    hedgerow put film.mkv --node=/mnt/disk{1..9}
    hedgerow get film.mkv --node=/mnt/disk{1..9} -o copy.mkv
    hedgerow verify film.mkv --node=/mnt/disk{1..9}

  The same with nodes elsewhere, which a file lists (hedgerow put --help says how):
    hedgerow get film.mkv --nodes-file nodes.txt -o -";

/// What every command gets beside its arguments.
struct Context {
    quiet: bool,
    interrupt: Interrupt,
}

impl Context {
    /// Does what keeps its thread busy, unless the command is interrupted.
    async fn busy(&self, work: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
        let done = tokio::task::spawn_blocking(work);
        let done = async {
            done.await
                .unwrap_or_else(|error| Err(Stop::because(Exit::Failed, "the computation failed", &error)))
        };
        self.interrupt.unless(done).await
    }

    /// What went wrong with a file; where that is no more than a signal, the signal.
    fn stop(&self, what: impl Display, error: &FileError) -> Stop {
        match (error, self.interrupt.stop()) {
            (FileError::Cancelled, Some(stop)) => stop,
            (FileError::Left { because, .. }, Some(stop)) if matches!(**because, FileError::Cancelled) => {
                Stop::because(stop.exit, what, error)
            }
            _ => failure::of_file(what, error),
        }
    }
}

/// Does what the command line says.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    log(cli.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Stop::failed(format!("can't start: {error}")).report(),
    };
    let done = runtime.block_on(run(&cli));
    // A read of standard input can't be stopped, and must not keep the process.
    runtime.shutdown_timeout(Duration::from_millis(200));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.report(),
    }
}

async fn run(cli: &Cli) -> Outcome {
    let interrupt = Interrupt::listen()?;
    let context = Context { quiet: cli.quiet, interrupt };
    match &cli.command {
        Command::Demo(args) => {
            let shown = async {
                demo::run(args.clone(), context.quiet).await.map_err(|error| failure::of_demo(&error))
            };
            context.interrupt.unless(shown).await
        }
        Command::Put(args) => put::run(args, &context).await,
        Command::Get(args) => get::run(args, &context).await,
        Command::Ls(args) => ls::run(args, &context).await,
        Command::Stat(args) => stat::run(args, &context).await,
        Command::Rm(args) => rm::run(args, &context).await,
        Command::Verify(args) => verify::run(args, &context).await,
        Command::Repair(args) => repair::run(args, &context).await,
        Command::Serve(args) => {
            let served = serve::run(args.clone(), context.interrupt.token().clone()).await;
            served.map_err(|error| Stop::because(Exit::Failed, "can't serve", &error))
        }
        Command::Bench(args) => bench::run(args, &context),
        Command::Simulate(args) => {
            let (args, quiet) = (args.clone(), context.quiet);
            context
                .busy(move || simulate::run(&args, quiet).map_err(|error| failure::of_simulate(&error)))
                .await
        }
        Command::Plan(args) => {
            let (args, quiet) = (args.clone(), context.quiet);
            context.busy(move || plan::run(&args, quiet).map_err(|error| failure::of_plan(&error))).await
        }
    }
}

/// Ends the process with what the parser says: help on standard output, and errors.
fn refuse(error: &clap::Error) -> ! {
    // The parser repeats what it does not understand, and that may be a node, or an option of one, in the wrong place.
    let secret = |kind, value: &ContextValue| {
        kind == ContextKind::InvalidArg && value.to_string().contains(['=', ':', '@'])
    };
    if error.kind() == ErrorKind::UnknownArgument && error.context().any(|(kind, value)| secret(kind, value))
    {
        eprintln!(
            "hedgerow: an argument is not expected where it stands; it is not shown, for it may hold a secret"
        );
        std::process::exit(i32::from(Exit::Usage as u8));
    }
    error.exit()
}

/// Messages on standard error: what the environment asks for, or as many as there are -v.
fn log(verbose: u8) {
    let level = match verbose {
        0 => None,
        1 => Some("info"),
        2 => Some("debug"),
        _ => Some("trace"),
    };
    let asked = std::env::var("HEDGEROW_LOG").ok().filter(|text| !text.is_empty());
    let Some(filter) =
        asked.or_else(|| level.map(|level| format!("hedgerow={level},hedgerow_reader={level}")))
    else {
        return;
    };
    tracing_subscriber::fmt().with_env_filter(EnvFilter::new(filter)).with_writer(std::io::stderr).init();
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
