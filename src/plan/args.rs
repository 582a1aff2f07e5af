//! The arguments of `hedgerow plan`, and what its help teaches.

use std::num::NonZero;
use std::path::PathBuf;

use hedgerow::fleet::Policy;

/// Plan whom to ask and where to place, so that few reads take long
///
/// For a fleet of nodes with known service times: with which probability each read should ask each node that holds its file, and on which nodes files
/// should lie. Policies stand side by side over a range of times: a bound on the share of reads that take so long, the share itself as theory has it, and what a
/// simulation of the queues counts.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    /// The fleet: its nodes, its files, and the times that are asked about (docs/planning.md says how it is written)
    #[arg(value_name = "FILE.toml")]
    pub(crate) scenario: PathBuf,
    /// Only this policy; may be repeated
    #[arg(long, value_name = "NAME", value_parser = policy)]
    pub(crate) policy: Vec<Policy>,
    /// Only this time, in milliseconds; may be repeated
    #[arg(long, value_name = "MS", value_parser = positive)]
    pub(crate) x: Vec<f64>,
    /// The time that weights are written for, in milliseconds; the tables of plans and nodes are of it, too, if it is among those that are asked about [default: the
    /// scenario's]
    #[arg(long, value_name = "MS", value_parser = positive)]
    pub(crate) plan_for: Option<f64>,
    /// A node that is slow, and how many times: what is known of it enters the plan; may be repeated
    #[arg(long, value_name = "NODE=TIMES", value_parser = slow)]
    pub(crate) slow: Vec<(u32, f64)>,
    /// The load, as a share of what all nodes together can do [default: the scenario's]
    #[arg(long, value_name = "SHARE", value_parser = positive)]
    pub(crate) load: Option<f64>,
    /// What is drawn is drawn from this [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Simulated reads of each plan; 0: none [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) reads: Option<u64>,
    /// Threads; the figures don't depend on it [default: as many as there are]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// One object of JSON a line, policy and time, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// A chart, written to this file, which must not be there yet
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// The placement, and the weights that sources are to be drawn with, written to this file, which must not be there yet: the plan of the first policy, which is
    /// `optimised` unless --policy or the scenario names others
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
}

impl PlanArgs {
    /// How many threads are to work.
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get), usize::from)
    }
}

fn policy(name: &str) -> Result<Policy, String> {
    Policy::named(name).ok_or_else(|| {
        let names: Vec<&str> = Policy::ALL.iter().map(|policy| policy.name()).collect();
        format!("there are {}", names.join(", "))
    })
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "it must be a positive number".into())
}

fn slow(text: &str) -> Result<(u32, f64), String> {
    let parts =
        text.split_once('=').and_then(|(node, times)| Some((node.parse().ok()?, positive(times).ok()?)));
    parts.ok_or_else(|| "write a node's number and how many times it is slower, such as 11=5".into())
}

const EXAMPLES: &str = "\
Examples:
  Twelve nodes of unequal speed, a thousand files; all policies:
    hedgerow plan fleet/scenarios/heterogeneous.toml

  Weights for a client that draws its sources, for files that stay where they are:
    hedgerow plan fleet.toml --policy optimised-random-placement --weights weights.jsonl

  Node 11 is found to be five times as slow: the same fleet, planned anew:
    hedgerow plan fleet.toml --slow 11=5

  A chart; and for programs:
    hedgerow plan fleet.toml --svg fleet.svg
    hedgerow plan fleet.toml --json | jq 'select(.x == 700) | {policy, exact}'";
