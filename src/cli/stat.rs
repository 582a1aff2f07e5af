//! `hedgerow stat`: what is known of a file.

use clap::Args;
use hedgerow::reader::{self, Manifest, Opened};
use serde::Serialize;

use super::exit::Outcome;
use super::nodes::NodeArgs;
use super::{Context, failure, say};

/// Show what a file is made of, and where it lies
///
/// Reads manifests only, no cells: whether the cells are there and right is what verify finds out.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatArgs {
    /// What the file is called
    name: String,
    /// Also, for each block group, the node of each cell
    #[arg(long)]
    placement: bool,
    /// One JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    nodes: NodeArgs,
}

const EXAMPLES: &str = "\
Examples:
    hedgerow stat film.mkv --node=/mnt/disk{1..9}
    hedgerow stat backup/photos.tar --placement --json --nodes-file nodes.txt";

#[derive(Serialize)]
struct Known<'a> {
    name: &'a str,
    id: String,
    generation: u64,
    bytes: u64,
    schema: String,
    cell_bytes: u32,
    record_bytes: u32,
    stripes_per_group: u32,
    groups: usize,
    nodes: Vec<Place<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<Vec<Vec<&'a str>>>,
}

#[derive(Serialize)]
struct Place<'a> {
    label: &'a str,
    /// Where it was when the file was written.
    address: &'a str,
    /// Whether it is among the nodes that were given.
    given: bool,
    /// The generation of its copy of the manifest, if it was asked and had one.
    generation: Option<u64>,
    /// Why its copy could not be read, if it was asked.
    failed: Option<String>,
}

pub(crate) async fn run(args: &StatArgs, context: &Context) -> Outcome {
    let name = &args.name[..];
    let nodes = args.nodes.connect()?;
    let opened = context.interrupt.unless(async {
        let opened = reader::open(name, &nodes).await;
        opened.map_err(|error| failure::of_file(format!("can't open {name}"), &error))
    });
    let opened = opened.await?;
    let known = known(args, &opened);
    if args.json { say::json(&known) } else { print(&known, &opened.manifest) }
}

fn known<'a>(args: &'a StatArgs, opened: &'a Opened) -> Known<'a> {
    let manifest = &opened.manifest;
    let places = manifest.nodes.iter().enumerate().map(|(index, node)| {
        let given = opened.node.get(index).copied().flatten();
        let copy = given.and_then(|given| opened.copies.get(given)).and_then(Option::as_ref);
        Place {
            label: &node.label,
            address: &node.address,
            given: given.is_some(),
            generation: copy.and_then(|copy| copy.as_ref().ok().copied()),
            failed: copy.and_then(|copy| copy.as_ref().err()).map(ToString::to_string),
        }
    });
    let label = |node: &u16| manifest.nodes.get(usize::from(*node)).map_or("?", |node| &node.label[..]);
    let row = |row: &'a Vec<u16>| row.iter().map(label).collect();
    Known {
        name: &args.name,
        id: manifest.id.to_string(),
        generation: manifest.generation,
        bytes: manifest.length,
        schema: manifest.code(),
        cell_bytes: manifest.cell_bytes,
        record_bytes: manifest.record_bytes,
        stripes_per_group: manifest.stripes_per_group,
        groups: manifest.placement.len(),
        nodes: places.collect(),
        placement: args.placement.then(|| manifest.placement.iter().map(row).collect()),
    }
}

fn print(known: &Known<'_>, manifest: &Manifest) -> Outcome {
    let Known { name, id, generation, schema, .. } = known;
    say::line(format_args!("{name}: {}", say::bytes(known.bytes)))?;
    say::line(format_args!(
        "  schema      {schema}: any {} of {} nodes may be lost",
        manifest.m,
        manifest.n()
    ))?;
    say::line(format_args!("  cell        {}", say::bytes(known.cell_bytes.into())))?;
    say::line(format_args!("  record      {}", say::bytes(known.record_bytes.into())))?;
    let groups = say::count(known.groups as u64, "block group");
    say::line(format_args!("  {groups} of up to {}", say::count(known.stripes_per_group.into(), "stripe")))?;
    say::line(format_args!("  id          {id}, generation {generation}"))?;
    say::line("  nodes")?;
    for Place { label, address, given, generation, failed } in &known.nodes {
        let copy = match (given, generation, failed) {
            (false, ..) => "not given".to_owned(),
            (_, Some(generation), _) => format!("manifest of generation {generation}"),
            (_, _, Some(failed)) => format!("no manifest: {failed}"),
            _ => "not asked".to_owned(),
        };
        say::line(format_args!("    {label} at {address}: {copy}"))?;
    }
    for (group, nodes) in known.placement.iter().flatten().enumerate() {
        say::line(format_args!("  group {group}: {}", nodes.join(" ")))?;
    }
    Ok(())
}
