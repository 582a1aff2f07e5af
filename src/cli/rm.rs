//! `hedgerow rm`: removes a file from its nodes.

use std::time::Duration;

use clap::Args;
use hedgerow::reader::{self, RemoveOptions};
use serde::Serialize;

use super::exit::{Outcome, Stop};
use super::nodes::NodeArgs;
use super::{Context, failure, say};

/// Remove a file from its nodes
///
/// The manifests go first: from then on there is no such file. What a node that can't be reached has of it stays there, and the
/// command fails and names it; the same command removes the rest once the node is back.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RmArgs {
    /// What the file is called
    name: String,
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
    hedgerow rm film.mkv --node=/mnt/disk{1..9}
    hedgerow rm backup/photos.tar --nodes-file nodes.txt --json";

#[derive(Serialize)]
struct Gone<'a> {
    name: &'a str,
    objects: u64,
    left: Vec<Left<'a>>,
}

#[derive(Serialize)]
struct Left<'a> {
    node: &'a str,
    why: &'a str,
}

pub(crate) async fn run(args: &RmArgs, context: &Context) -> Outcome {
    let name = &args.name[..];
    let nodes = args.nodes.connect()?;
    // Not stopped by a signal: half-removed, the file would be nobody's for a while. A second signal ends the process.
    let mut options = RemoveOptions::default();
    if args.force {
        options.abandoned = Duration::ZERO;
    }
    let removed = reader::remove(name, &nodes, &options)
        .await
        .map_err(|error| failure::of_file(format!("can't remove {name}"), &error))?;
    let left = || removed.left.iter();
    if args.json {
        let left = left().map(|(node, why)| Left { node, why }).collect();
        say::json(&Gone { name, objects: removed.objects, left })?;
    } else if !context.quiet {
        say::line(format_args!("{name}: {} removed", say::count(removed.objects, "object")))?;
    }
    if removed.left.is_empty() {
        return Ok(());
    }
    let left: Vec<_> = left().map(|(node, why)| format!("{node} ({why})")).collect();
    Err(Stop::failed(format!("what these nodes have of {name} is still there: {}", left.join(", "))))
}
