//! `hedgerow repair`: rebuilds what is missing or damaged.

use std::time::{Duration, Instant};

use clap::Args;
use hedgerow::reader::{self, RepairOptions, Repaired};
use serde::Serialize;

use super::exit::{Exit, Outcome, Stop};
use super::findings::Found;
use super::nodes::NodeArgs;
use super::progress::Bar;
use super::{Context, failure, say, units};

/// Rebuild what is missing or damaged
///
/// Cells are rebuilt onto the node that should have them, or onto another of the given nodes where that one is left or can't be reached.
/// Readers may go on meanwhile: what moves is put in force in one step, at the end. Interrupted, it leaves the file as it was, or better.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RepairArgs {
    /// What the file is called
    name: String,
    /// Give up the node of this label: what it has is rebuilt onto others; once for each
    #[arg(long, value_name = "LABEL")]
    leave: Vec<String>,
    /// Read and write no more than this, all nodes together [default: as fast as it goes]
    #[arg(long, value_name = "SIZE/s", value_parser = units::rate)]
    rate: Option<u64>,
    /// Don't wait until a writer that was killed is given up, ten minutes after its last sign of life. Only if it is gone for sure
    #[arg(long)]
    force: bool,
    /// One JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    nodes: NodeArgs,
}

const EXAMPLES: &str = "\
Examples:
  A disk was replaced, and is empty:
    hedgerow repair film.mkv --node=/mnt/disk{1..9}

  Move what node n4 has onto a tenth node:
    hedgerow repair film.mkv --leave n4 --nodes-file nodes.txt --node n10=http://host10/cells";

#[derive(Serialize)]
struct Report<'a> {
    name: &'a str,
    findings: Vec<Found<'a>>,
    unrepaired: Vec<Found<'a>>,
    lost_groups: &'a [u64],
    left: Vec<String>,
    objects: u64,
    bytes: u64,
    generation: Option<u64>,
    seconds: f64,
}

pub(crate) async fn run(args: &RepairArgs, context: &Context) -> Outcome {
    let name = &args.name[..];
    let nodes = args.nodes.connect()?;
    let began = Instant::now();
    let mut options = RepairOptions::default();
    options.leave.clone_from(&args.leave);
    options.rate = args.rate;
    if args.force {
        options.abandoned = Duration::ZERO;
    }
    options.cancel = context.interrupt.token().clone();
    let opened = context.interrupt.unless(async {
        let opened = reader::open(name, &nodes).await;
        opened.map_err(|error| failure::of_file(format!("can't open {name}"), &error))
    });
    let opened = opened.await?;
    let bar = Bar::bytes("repair", Some(opened.manifest.length), context.quiet);
    let repaired = reader::repair(&opened, &nodes, &options, &|done| bar.set(done)).await;
    drop(bar);
    let repaired = repaired.map_err(|error| context.stop(format!("can't repair {name}"), &error))?;
    report(args, &repaired, began.elapsed().as_secs_f64(), context)?;
    if !repaired.lost.is_empty() {
        let lost = say::count(repaired.lost.len() as u64, "block group");
        return Err(Stop::new(Exit::Lost, format!("{name}: {lost} can't be read any more")));
    }
    match &repaired.unrepaired[..] {
        [] => Ok(()),
        [first, ..] => {
            let still = say::count(repaired.unrepaired.len() as u64, "finding");
            Err(Stop::new(
                Exit::Findings,
                format!("{name}: {still} could not be repaired, the first: {first}"),
            ))
        }
    }
}

fn report(args: &RepairArgs, repaired: &Repaired, seconds: f64, context: &Context) -> Outcome {
    let name = &args.name[..];
    let generation = repaired.manifest.as_ref().map(|manifest| manifest.generation);
    if args.json {
        return say::json(&Report {
            name,
            findings: Found::all(&repaired.findings),
            unrepaired: Found::all(&repaired.unrepaired),
            lost_groups: &repaired.lost,
            left: repaired.left.iter().map(ToString::to_string).collect(),
            objects: repaired.objects,
            bytes: repaired.bytes,
            generation,
            seconds,
        });
    }
    for finding in &repaired.findings {
        say::line(finding)?;
    }
    if context.quiet {
        return Ok(());
    }
    for left in &repaired.left {
        say::line(format_args!("left on a node that was given up: {left}"))?;
    }
    let objects = say::count(repaired.objects, "object");
    match generation {
        Some(generation) => say::line(format_args!(
            "{name}: {objects} rebuilt, {}; now of generation {generation}",
            say::bytes(repaired.bytes)
        )),
        None => say::line(format_args!("{name}: nothing was repaired")),
    }
}
