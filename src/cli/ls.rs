//! `hedgerow ls`: which files there are.

use clap::Args;
use hedgerow::reader::{self, Address, Node};
use serde::Serialize;

use super::exit::{Outcome, Stop, causes, complain};
use super::nodes::NodeArgs;
use super::{Context, failure, say};

/// List the files on the nodes
///
/// Folders can list what they have, and buckets of S3, Google Cloud Storage and Azure. A server of plain HTTP can if it answers
/// PROPFIND, as WebDAV and `hedgerow serve` do. Nodes that can't, or don't answer, are named, and the exit code is 1: files that
/// only they know of are missing in the list.
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
    let listing = listed.await?;
    for file in &listing.files {
        let (name, copies) = (&file.name[..], file.copies);
        match (args.json, args.long) {
            (true, _) => say::json(&Line { name, copies, nodes: nodes.len() })?,
            (false, true) => say::line(format_args!("{copies} of {}  {name}", nodes.len()))?,
            (false, false) => say::line(name)?,
        }
    }
    let mut unlisted = 0;
    for failure in &listing.failed {
        complain(&format!("can't list {}: {}", failure.node, causes(&failure.failed)));
        unlisted += 1;
    }
    for node in nodes.iter().filter(|node| is_missing_folder(node)) {
        complain(&format!("can't list {}: there is no folder {}", node.label, node.store.address()));
        unlisted += 1;
    }
    if unlisted == 0 {
        return Ok(());
    }
    Err(Stop::failed(format!("{unlisted} of {} nodes could not be listed", nodes.len())))
}

/// Whether the node is a folder that is not there: a store takes that for an empty one, which the first write makes.
fn is_missing_folder(node: &Node) -> bool {
    let address = node.store.address();
    let folder = address.parse::<Address>().is_ok_and(|address| !address.is_remote());
    let missing = || match std::fs::metadata(address) {
        Ok(found) => !found.is_dir(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    folder && missing()
}
