//! The arguments of `hedgerow simulate`, and what its help teaches.

use std::num::NonZero;
use std::path::PathBuf;

use hedgerow::sim::Unit;

use crate::cli::units::Schema;

/// Compare policies of hedging in virtual time
///
/// Clusters, queues, connections and incidents are simulated, and each policy faces the same requests, the same healthy times and the same incidents (where reads are
/// left out, the same incidents): to reproduce published figures, and to size a threshold before production sees it. The same seed prints the same figures on
/// every machine.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateArgs {
    /// A scenario that comes along (see --list), a file of your own, FILE.toml, or `speed`: how many reads a second are simulated
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<PathBuf>,
    /// The scenarios that come along, and the policies that can be named
    #[arg(long)]
    pub(crate) list: bool,
    /// The scenario's file, to be changed and kept as one of your own
    #[arg(long, requires = "scenario")]
    pub(crate) show: bool,
    /// Only this policy, of the scenario or another; may be repeated
    #[arg(
        long,
        value_name = "NAME",
        requires = "scenario",
        help_heading = "Instead of what the scenario says"
    )]
    pub(crate) policy: Vec<String>,
    /// Only this shape of the scenario, also one that --quick leaves out; may be repeated
    #[arg(
        long,
        value_name = "NAME",
        requires = "scenario",
        help_heading = "Instead of what the scenario says"
    )]
    pub(crate) shape: Vec<String>,
    /// Simulated days. In thinned scenarios, policies that learn from every read keep the scenario's shorter time: see --learning-days
    #[arg(
        long,
        value_name = "N",
        requires = "scenario",
        conflicts_with = "seconds",
        help_heading = "Instead of what the scenario says"
    )]
    pub(crate) days: Option<f64>,
    /// Simulated seconds, likewise
    #[arg(long, value_name = "N", requires = "scenario", help_heading = "Instead of what the scenario says")]
    pub(crate) seconds: Option<f64>,
    /// Simulated days of policies that learn from every read: each of these reads is drawn, which takes its time
    #[arg(long, value_name = "N", requires = "scenario", help_heading = "Instead of what the scenario says")]
    pub(crate) learning_days: Option<f64>,
    /// How many seeds: the first and those that follow it
    #[arg(long, value_name = "N", requires = "scenario", help_heading = "Instead of what the scenario says")]
    pub(crate) seeds: Option<u32>,
    /// The first seed
    #[arg(long, value_name = "N", requires = "scenario", help_heading = "Instead of what the scenario says")]
    pub(crate) seed: Option<u64>,
    /// The short run that the scenario has for a first look
    #[arg(long, requires = "scenario")]
    pub(crate) quick: bool,
    /// Threads; the figures don't depend on it [default: as many as there are]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// Fail if a figure is not as published or expected
    #[arg(long, requires = "scenario")]
    pub(crate) strict: bool,
    /// One object of JSON a line, shape and policy, and nothing else
    #[arg(long, conflicts_with = "list")]
    pub(crate) json: bool,
    /// The same as CSV, written to this file, which must not be there yet
    #[arg(long, value_name = "FILE", requires = "scenario")]
    pub(crate) csv: Option<PathBuf>,
    /// A chart, written to this file, which must not be there yet
    #[arg(long, value_name = "FILE", requires = "scenario")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) advice: AdviseArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Advice")]
pub(crate) struct AdviseArgs {
    /// Recommend a threshold and a budget for the latencies in this file, those of healthy legs: of HdrHistogram (.hgrm, .hlog, base64), or CSV with
    /// lines of value,count
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "list", "policy", "shape", "days", "seconds", "learning_days", "seeds", "seed", "quick", "strict", "csv", "svg"])]
    pub(crate) advise: Option<PathBuf>,
    /// What the file's values are: ns, us, ms or s [default: what it says, or ns in .hlog and base64, ms elsewhere]
    #[arg(long, value_parser = unit)]
    pub(crate) unit: Option<Unit>,
    /// Data and parity cells of a stripe, rs-K-M [default: rs-6-3]
    #[arg(long, value_parser = Schema::parse)]
    pub(crate) schema: Option<Schema>,
    /// Reads a second of one client, each of one cell [default: 75]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,
    /// Extra cells that hedges may cost on such a day [default: 0.105%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) target: Option<f64>,
    /// Sources of a hedge beyond those needed [default: 2, or as many as the schema has]
    #[arg(long, value_name = "N")]
    pub(crate) spare: Option<u8>,
}

impl AdviseArgs {
    /// An option that is there for nothing, without a file to advise on.
    pub(crate) fn needless(&self) -> Option<&'static str> {
        let given = [
            ("--unit", self.unit.is_some()),
            ("--schema", self.schema.is_some()),
            ("--rate", self.rate.is_some()),
            ("--target", self.target.is_some()),
            ("--spare", self.spare.is_some()),
        ];
        given.into_iter().find(|&(_, given)| given && self.advise.is_none()).map(|(option, _)| option)
    }
}

fn unit(text: &str) -> Result<Unit, String> {
    Unit::named(text).ok_or_else(|| "there are ns, us, ms and s".into())
}

/// A percentage, `0.1%`, as a share.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').ok_or("write a percentage, such as 0.1%")?;
    number.trim().parse().map(|percent: f64| percent / 100.0).map_err(|_| format!("`{number}` is no number"))
}

const EXAMPLES: &str = "\
Examples:
  The published case study, and how its figures come out; a first look takes less than a minute:
    hedgerow simulate case-study --quick
    hedgerow simulate case-study --svg case-study.svg

  All policies under the same load; two of them for longer:
    hedgerow simulate compare
    hedgerow simulate compare --policy default --policy hubspot-100 --seconds 3600

  What each part of the default is for:
    hedgerow simulate parts

  A scenario of your own: begin with one that comes along, and change its numbers:
    hedgerow simulate case-study --show > mine.toml
    hedgerow simulate mine.toml

  A threshold and a budget for your own latencies:
    hedgerow simulate --advise latencies.hgrm
    hedgerow simulate --advise latencies.csv --unit us --schema rs-10-4 --rate 300 --target 0.5%

  For programs:
    hedgerow simulate overload --json | jq '{policy, shape, p99_ms}'

docs/simulating.md explains each figure, and how scenarios are written.";

impl SimulateArgs {
    /// How many threads are to work.
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get), usize::from)
    }
}
