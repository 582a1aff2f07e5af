//! `hedgerow get`: reads a file, or a part of it, without waiting for slow nodes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use hedgerow::reader::{self, Client, ReadError, ReadOptions, StripedReader, StripedStream};
use tokio::io::AsyncWriteExt as _;

use super::exit::{Exit, Outcome, Stop};
use super::hedging::HedgeArgs;
use super::nodes::NodeArgs;
use super::progress::Bar;
use super::stats::Stats;
use super::target::Target;
use super::units::Part;
use super::{Context, failure, say};

/// A part of a file is read in pieces of so many bytes.
const PIECE: u64 = 16 << 20;

/// How long the end waits for reads that are given up: one on a disk that hangs ends with the process.
const ENDING: Duration = Duration::from_secs(1);

/// Read a file, or a part of it
///
/// A cell that is late, missing or damaged is rebuilt from other cells of its stripe. Every byte is checked against its checksum.
/// The output appears under its name when it is whole, and not before.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetArgs {
    /// What the file is called
    name: String,
    /// Where to write it; `-`: standard output [default: the last part of NAME, in this folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write over an output that is there
    #[arg(long)]
    overwrite: bool,
    /// A part of it: A-B is byte A up to, but not including, byte B; A- goes to the end, -N are the last N. With units as sizes
    #[arg(long, value_name = "A-B", value_parser = Part::parse, allow_hyphen_values = true)]
    range: Option<Part>,
    /// Say at the end what the read took: hedges, wins, refusals, thresholds
    #[arg(long)]
    stats: bool,
    /// --stats as one JSON object: on standard output, or on standard error where that has the file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hedging: HedgeArgs,
    #[command(flatten)]
    nodes: NodeArgs,
}

const EXAMPLES: &str = "\
Examples:
  The whole file, into this folder:
    hedgerow get film.mkv --node=/mnt/disk{1..9}

  A mebibyte of it, to another program:
    hedgerow get backup/photos.tar -o - --range 1GiB-1025MiB --nodes-file nodes.txt | md5sum

  With another idea of late, and figures afterwards:
    hedgerow get film.mkv --threshold 50ms --set max.per.second=20 --stats --nodes-file nodes.txt";

pub(crate) async fn run(args: &GetArgs, context: &Context) -> Outcome {
    let nodes = args.nodes.connect()?;
    let client = Client::new(args.hedging.client()?)
        .map_err(|error| Stop::because(Exit::Failed, "can't read", &error))?;
    let done = context.interrupt.unless(read(args, &nodes, &client, context)).await;
    let _ = tokio::time::timeout(ENDING, client.shutdown()).await;
    done
}

async fn read(args: &GetArgs, nodes: &[reader::Node], client: &Client, context: &Context) -> Outcome {
    let began = Instant::now();
    let name = &args.name;
    // A refusal to write costs no read.
    let target = Target::prepare(args.output.as_deref(), name, args.overwrite)?;
    let opened = reader::open(name, nodes)
        .await
        .map_err(|error| failure::of_file(format!("can't open {name}"), &error))?;
    let file = opened
        .reader(client, nodes)
        .map_err(|error| failure::of_file(format!("can't read {name}"), &error))?;
    let whole = Part::From(0, None);
    let (offset, length) = args.range.unwrap_or(whole).of(file.length()).map_err(Stop::usage)?;

    let options = ReadOptions::default().mode(args.hedging.mode());
    let bar = Bar::bytes("get", Some(length), context.quiet);
    let mut output = target.begin().await?;
    let mut source = Source::of(&file, offset, length, options);
    let broken = |error: ReadError| failure::of_read(format!("can't read {name}"), &error);
    while let Some(bytes) = source.next().await.map_err(broken)? {
        output.write_all(&bytes).await.map_err(|error| target.cannot_write(error))?;
        bar.add(bytes.len() as u64);
    }
    output.flush().await.map_err(|error| target.cannot_write(error))?;
    drop(output);
    drop(bar);
    let on_stdout = target.is_stdout();
    target.finish()?;

    if args.json || args.stats {
        let seconds = began.elapsed().as_secs_f64();
        let stats = Stats::of(name, offset, length, seconds, &client.snapshot());
        match (args.json, on_stdout) {
            (true, false) => say::json(&stats)?,
            (true, true) => eprintln!("{}", say::json_text(&stats)?),
            (false, _) => eprint!("{stats}"),
        }
    }
    Ok(())
}

/// The bytes that are asked for, in order.
enum Source<'a> {
    /// All of them, read ahead.
    Whole(StripedStream),
    /// A part: reading ahead would go beyond it.
    Part { file: &'a StripedReader, offset: u64, left: u64, options: ReadOptions },
}

impl<'a> Source<'a> {
    fn of(file: &'a StripedReader, offset: u64, length: u64, options: ReadOptions) -> Self {
        if length == file.length() {
            Self::Whole(file.stream(options))
        } else {
            Self::Part { file, offset, left: length, options }
        }
    }

    /// The next of them; `None` after the last.
    async fn next(&mut self) -> Result<Option<Bytes>, ReadError> {
        match self {
            Self::Whole(stream) => stream.next_bytes().await,
            Self::Part { left: 0, .. } => Ok(None),
            Self::Part { file, offset, left, options } => {
                let length = PIECE.min(*left);
                let bytes = file.read_with(*offset, length, *options).await?;
                *offset += length;
                *left -= length;
                Ok(Some(bytes))
            }
        }
    }
}
