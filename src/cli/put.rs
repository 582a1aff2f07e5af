//! `hedgerow put`: writes a file to its nodes.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use hedgerow::reader::{self, Existing, Manifest, PutOptions};
use serde::Serialize;
use tokio::io::AsyncRead;

use super::exit::{Outcome, Stop};
use super::failure;
use super::nodes::NodeArgs;
use super::progress::Bar;
use super::units::{self, Schema};
use super::{Context, say};

/// Write a file to its nodes
///
/// Cuts FILE into stripes of k cells, computes m parity cells for each, and writes each cell to another node: any m of the k + m nodes may
/// be lost or late. The file is there once enough nodes hold its manifest; until then nothing of it can be seen, and what
/// an interrupted put leaves is removed at once, or by the next put of that name.
///
/// Memory is a few stripes, however long FILE is.
///
/// On plain HTTP there is no way to create an object only if it is not there. There put looks first and then writes: of two puts of one
/// name at one time, the later may replace the earlier.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PutArgs {
    /// The file to write; `-`: standard input
    file: String,
    /// What to call it: names with slashes between them [default: the name of FILE]
    name: Option<String>,
    /// Replace a file of that name
    #[arg(long)]
    overwrite: bool,
    /// Don't wait until a writer that was killed is given up, ten minutes after its last sign of life. Only if it is gone for sure
    #[arg(long)]
    force: bool,
    /// One JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    nodes: NodeArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Shape of the file")]
struct ShapeArgs {
    /// Data and parity cells of a stripe: rs-K-M; needs at least K + M nodes
    #[arg(long, default_value = "rs-6-3", value_parser = Schema::parse)]
    schema: Schema,
    /// Bytes of a full cell: whole records, at most 1GiB
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = units::small_size)]
    cell: u32,
    /// Bytes that share a checksum, the least that a read takes from a node: 1KiB to 1MiB
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = units::small_size)]
    record: u32,
    /// Stripes of a block group, and so cells of an object on a node: 1 to 64
    #[arg(long, value_name = "NUMBER", default_value = "64", value_parser = clap::value_parser!(u32).range(1..=64))]
    stripes: u32,
}

const EXAMPLES: &str = "\
Examples:
  Nine folders, one a disk:
    hedgerow put film.mkv --node=/mnt/disk{1..9}          (bash writes nine --node out of this)

  From a pipe, under a name, to the nodes of a file:
    tar c photos | hedgerow put - backup/photos.tar --nodes-file nodes.txt

  Smaller, with two parity cells for three data cells:
    hedgerow put log.txt --schema rs-3-2 --cell 64KiB --node a=http://a/cells --node b=http://b/cells ...";

#[derive(Serialize)]
struct Written<'a> {
    name: &'a str,
    id: String,
    generation: u64,
    bytes: u64,
    schema: String,
    cell_bytes: u32,
    record_bytes: u32,
    stripes_per_group: u32,
    groups: usize,
    nodes: Vec<&'a str>,
    seconds: f64,
}

pub(crate) async fn run(args: &PutArgs, context: &Context) -> Outcome {
    let name = name(args)?;
    let nodes = args.nodes.connect()?;
    let (mut source, length) = source(&args.file).await?;

    let bar = Bar::bytes("put", length, context.quiet);
    let mut options = PutOptions::default();
    options.k = args.shape.schema.k;
    options.m = args.shape.schema.m;
    options.cell_bytes = args.shape.cell;
    options.record_bytes = args.shape.record;
    options.stripes_per_group = args.shape.stripes;
    options.existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
    options.length = length;
    if args.force {
        options.abandoned = Duration::ZERO;
    }
    options.cancel = context.interrupt.token().clone();
    let began = Instant::now();
    let written = reader::put(name, &nodes, &mut *source, &options, &|done| bar.set(done)).await;
    drop(bar);
    let manifest = written.map_err(|error| context.stop(format!("can't put {name}"), &error))?;
    report(args, name, &manifest, began.elapsed().as_secs_f64(), context)
}

fn report(args: &PutArgs, name: &str, manifest: &Manifest, seconds: f64, context: &Context) -> Outcome {
    let schema = manifest.code();
    if args.json {
        return say::json(&Written {
            name,
            id: manifest.id.to_string(),
            generation: manifest.generation,
            bytes: manifest.length,
            schema,
            cell_bytes: manifest.cell_bytes,
            record_bytes: manifest.record_bytes,
            stripes_per_group: manifest.stripes_per_group,
            groups: manifest.placement.len(),
            nodes: manifest.nodes.iter().map(|node| &node.label[..]).collect(),
            seconds,
        });
    }
    if context.quiet {
        return Ok(());
    }
    let nodes = say::count(manifest.nodes.len() as u64, "node");
    say::line(format_args!("{name}: {} as {schema} on {nodes}", say::bytes(manifest.length)))
}

fn name(args: &PutArgs) -> Result<&str, Stop> {
    if let Some(name) = &args.name {
        return Ok(name);
    }
    if args.file == "-" {
        return Err(Stop::usage("what comes from standard input needs a NAME: hedgerow put - NAME"));
    }
    let name = Path::new(&args.file).file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| Stop::usage(format!("{} has no name to put it under: give a NAME", args.file)))
}

/// What to read, and its length if it has one.
async fn source(file: &str) -> Result<(Box<dyn AsyncRead + Send + Unpin>, Option<u64>), Stop> {
    if file == "-" {
        return Ok((Box::new(tokio::io::stdin()), None));
    }
    let cannot = |error: std::io::Error| failure::of_path(format!("can't read {file}"), &error);
    let opened = tokio::fs::File::open(file).await.map_err(cannot)?;
    let metadata = opened.metadata().await.map_err(cannot)?;
    if metadata.is_dir() {
        return Err(Stop::failed(format!("can't read {file}: it is a folder")));
    }
    let length = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(opened), length))
}
