//! `hedgerow verify`: looks for what is missing or damaged.

use std::time::Instant;

use clap::Args;
use hedgerow::reader::{self, VerifyOptions};
use serde::Serialize;

use super::exit::{Exit, Outcome, Stop};
use super::findings::Found;
use super::nodes::NodeArgs;
use super::progress::Bar;
use super::{Context, failure, say, units};

/// Read all of a file, parity too, and name what is missing or damaged
///
/// Each finding names the node, the block group and the cell. Exit code 5 if there is any, 4 if there are block groups that can't be read
/// any more. Nothing is changed: that is what repair is for.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// What the file is called
    name: String,
    /// Read no more than this, from all nodes together [default: as fast as it goes]
    #[arg(long, value_name = "SIZE/s", value_parser = units::rate)]
    rate: Option<u64>,
    /// One JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    nodes: NodeArgs,
}

const EXAMPLES: &str = "\
Examples:
    hedgerow verify film.mkv --node=/mnt/disk{1..9}

  At night, and without getting in the way; then mend what was found:
    hedgerow verify film.mkv --rate 50MiB/s --nodes-file nodes.txt || hedgerow repair film.mkv --nodes-file nodes.txt";

#[derive(Serialize)]
struct Report<'a> {
    name: &'a str,
    objects: u64,
    bytes: u64,
    seconds: f64,
    findings: Vec<Found<'a>>,
    lost_groups: &'a [u64],
}

pub(crate) async fn run(args: &VerifyArgs, context: &Context) -> Outcome {
    let name = &args.name[..];
    let nodes = args.nodes.connect()?;
    let began = Instant::now();
    let mut options = VerifyOptions::default();
    options.rate = args.rate;
    let verified = context.interrupt.unless(async {
        let opened = reader::open(name, &nodes)
            .await
            .map_err(|error| failure::of_file(format!("can't open {name}"), &error))?;
        let bar = Bar::bytes("verify", Some(opened.manifest.length), context.quiet);
        let verified = reader::verify(&opened, &nodes, &options, &|done| bar.set(done)).await;
        verified.map_err(|error| failure::of_file(format!("can't verify {name}"), &error))
    });
    let verified = verified.await?;

    if args.json {
        say::json(&Report {
            name,
            objects: verified.objects,
            bytes: verified.bytes,
            seconds: began.elapsed().as_secs_f64(),
            findings: Found::all(&verified.findings),
            lost_groups: &verified.lost,
        })?;
    } else {
        for finding in &verified.findings {
            say::line(finding)?;
        }
        if !context.quiet && verified.findings.is_empty() {
            let objects = say::count(verified.objects, "object");
            say::line(format_args!("{name}: {objects}, {}: all as written", say::bytes(verified.bytes)))?;
        }
    }
    let found = say::count(verified.findings.len() as u64, "finding");
    match &verified.lost[..] {
        [] if verified.findings.is_empty() => Ok(()),
        [] => Err(Stop::new(Exit::Findings, format!("{name} has {found}, and can be read; repair mends it"))),
        lost => {
            let lost = say::count(lost.len() as u64, "block group");
            Err(Stop::new(Exit::Lost, format!("{name} has {found}: {lost} can't be read any more")))
        }
    }
}
