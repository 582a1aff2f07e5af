//! `hedgerow ls`: which files there are.

use clap::Args;
use hedgerow::reader;
use serde::Serialize;

use super::exit::Outcome;
use super::nodes::NodeArgs;
use super::{Context, failure, say};

/// List the files on the nodes
///
/// Asks every node that can list: folders, and buckets of S3, Google Cloud Storage and Azure. A server of plain HTTP can if
/// it answers PROPFIND, as WebDAV and `hedgerow serve` do.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LsArgs {
    /// Only what lies in this folder
    #[arg(default_value = "", hide_default_value = true)]
    prefix: String,
    /// Say beside each name how many nodes have its manifest
    #[arg(short, long)]
    long: bool,
    /// One JSON object a line and file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    nodes: NodeArgs,
}

const EXAMPLES: &str = "\
Examples:
  Everything:
    hedgerow ls --node=/mnt/disk{1..9}

  One folder, and on how many nodes each file is known:
    hedgerow ls backup --long --nodes-file nodes.txt";

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    copies: usize,
    nodes: usize,
}

pub(crate) async fn run(args: &LsArgs, context: &Context) -> Outcome {
    let nodes = args.nodes.connect()?;
    let listed = context.interrupt.unless(async {
        reader::list(&nodes, &args.prefix).await.map_err(|error| failure::of_file("can't list", &error))
    });
    for file in listed.await? {
        let (name, copies) = (&file.name[..], file.copies);
        match (args.json, args.long) {
            (true, _) => say::json(&Line { name, copies, nodes: nodes.len() })?,
            (false, true) => say::line(format_args!("{copies} of {}  {name}", nodes.len()))?,
            (false, false) => say::line(name)?,
        }
    }
    Ok(())
}
