//! `hedgerow bench`: how fast the codec and the checksums are on this machine.

mod harness;

use std::hint::black_box;
use std::time::Duration;

use clap::Args;
use hedgerow::codec::{CellSet, Code, Kernel, Matrix};
use hedgerow::reader::{FileId, Records};
use serde::Serialize;

use self::harness::{Effort, Timing, interleave, timed};
use super::exit::{Exit, Outcome, Stop};
use super::{Context, say};

/// Time the codec and the checksums of this machine
///
/// GB/s of input on one thread, the median of many samples, of what is in the caches: encode computes all m parity cells from k data cells,
/// rebuild one data cell from k others, checksum is what a read compares. One row for each kernel that the CPU can run; reads
/// use the last. Half a minute; nothing is read from disk or network.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    /// Fewer samples: a few seconds
    #[arg(long)]
    quick: bool,
    /// One JSON object a line and figure, with the slowest and the fastest sample too
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
    hedgerow bench --quick
    hedgerow bench --json | jq 'select(.schema == \"rs-6-3\")'

Other codecs beside this one, from a checkout: cargo run --release --example codec_table";

const SCHEMAS: [(usize, usize); 4] = [(6, 3), (10, 4), (12, 3), (3, 2)];
const CELLS: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
/// The data cell that is rebuilt.
const LOST: usize = 2;
const LINE: usize = 64;

#[derive(Clone, Copy)]
enum Job {
    Encode,
    Rebuild,
}

impl Job {
    const fn name(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::Rebuild => "rebuild",
        }
    }
}

#[derive(Serialize)]
struct Row<'a> {
    job: &'a str,
    schema: Option<&'a str>,
    cell: usize,
    kernel: &'a str,
    gbps_min: f64,
    gbps_median: f64,
    gbps_max: f64,
}

pub(crate) fn run(args: &BenchArgs, context: &Context) -> Outcome {
    let effort = if args.quick {
        Effort { time: Duration::from_millis(80), least: 7, most: 151 }
    } else {
        Effort { time: Duration::from_secs(1), least: 31, most: 1001 }
    };
    let kernels: Vec<Kernel> = Kernel::available().collect();
    if !args.json {
        let cells = CELLS.map(|cell| format!("{:>10}", indicatif::BinaryBytes(cell as u64).to_string()));
        say::line("GB/s of input, one thread, medians")?;
        say::line(format_args!("{:10}{:10}{:14}{}", "job", "schema", "kernel", cells.concat()))?;
    }
    for job in [Job::Encode, Job::Rebuild] {
        for (k, m) in SCHEMAS {
            let schema = format!("rs-{k}-{m}");
            let mut columns = Vec::new();
            for cell in CELLS {
                if let Some(stop) = context.interrupt.stop() {
                    return Err(stop);
                }
                let timings = codec(job, &kernels, k, m, cell, effort).map_err(|error| {
                    Stop::because(Exit::Failed, format!("{} {schema}", job.name()), &error)
                })?;
                columns.push((k * cell, cell, timings));
            }
            let names: Vec<_> = kernels.iter().map(|kernel| kernel.name()).collect();
            print(args, job.name(), Some(&schema), &names, &columns)?;
        }
    }
    let columns: Vec<_> = CELLS.iter().map(|&cell| (cell, cell, vec![checksum(cell, effort)])).collect();
    print(args, "checksum", None, &["crc32c"], &columns)
}

/// Prints the rows of one job and schema. A column is the bytes of input, those of a cell, and a timing for each kernel.
fn print(
    args: &BenchArgs,
    job: &str,
    schema: Option<&str>,
    kernels: &[&str],
    columns: &[(usize, usize, Vec<Timing>)],
) -> Outcome {
    for (index, kernel) in kernels.iter().enumerate() {
        let mut line = format!("{job:10}{:10}{kernel:14}", schema.unwrap_or("-"));
        for (input, cell, timings) in columns {
            let Some(timing) = timings.get(index) else { continue };
            let speed = |nanoseconds: f64| (*input as f64 / nanoseconds * 1e3).round() / 1e3;
            if args.json {
                say::json(&Row {
                    job,
                    schema,
                    cell: *cell,
                    kernel,
                    gbps_min: speed(timing.max),
                    gbps_median: speed(timing.median),
                    gbps_max: speed(timing.min),
                })?;
            }
            line += &format!("{:>10.1}", speed(timing.median));
        }
        if !args.json {
            say::line(line)?;
        }
    }
    Ok(())
}

/// Times all kernels in turn.
fn codec(
    job: Job,
    kernels: &[Kernel],
    k: usize,
    m: usize,
    cell: usize,
    effort: Effort,
) -> Result<Vec<Timing>, hedgerow::codec::Error> {
    let survivors: Vec<usize> = (0..=k).filter(|&index| index != LOST).collect();
    let codes: Result<Vec<_>, _> =
        kernels.iter().map(|&kernel| Code::new(kernel, k, m, Matrix::Cauchy)).collect();
    let codes = codes?;
    let plan = |code: &Code<Box<[u8]>>| code.plan_boxed([LOST], &survivors, CellSet::EMPTY);
    let plans: Result<Vec<_>, _> = codes.iter().map(plan).collect();
    let plans = plans?;

    let outputs = match job {
        Job::Encode => m,
        Job::Rebuild => 1,
    };
    let mut memory = Memory::new(k + outputs, cell);
    let mut cells = memory.cells();
    let mut outputs = cells.split_off(k);
    let sources: Vec<&[u8]> = cells.iter().map(|cell| &**cell).collect();
    let mut failed = None;
    let mut contenders: Vec<_> = codes.iter().zip(&plans).collect();
    let timings = interleave(&mut contenders, effort, true, |(code, plan), calls| {
        timed(calls, || {
            let done = match job {
                Job::Encode => code.encode(black_box(&sources), black_box(&mut outputs)),
                Job::Rebuild => plan.run(black_box(&sources), black_box(&mut outputs)),
            };
            if let Err(error) = done {
                failed = Some(error);
            }
        })
    });
    failed.map_or(Ok(timings), Err)
}

fn checksum(bytes: usize, effort: Effort) -> Timing {
    let mut memory = Memory::new(1, bytes);
    let cells = memory.cells();
    let data: &[u8] = cells.first().map_or(&[], |cell| cell);
    let records = Records::new(FileId([7; 16]), 0, 0, 4096);
    let mut number = 0;
    let timing = interleave(&mut [()], effort, true, |(), calls| {
        timed(calls, || {
            number += 1;
            black_box(records.sum(number, black_box(data)));
        })
    });
    timing.first().copied().unwrap_or(Timing { min: 0.0, median: 0.0, max: 0.0 })
}

/// Cells of one stripe. Each starts an odd number of cache lines further into its page than the one before: cells that all
/// start alike would compete for the same few sets of the first cache.
struct Memory {
    bytes: Vec<u8>,
    cells: usize,
    cell: usize,
}

impl Memory {
    fn new(cells: usize, cell: usize) -> Self {
        let bytes = (0..LINE + cells * Self::stride(cell)).map(|at| (at * 31 + at / 251) as u8).collect();
        Self { bytes, cells, cell }
    }

    fn cells(&mut self) -> Vec<&mut [u8]> {
        let start = self.bytes.as_ptr().align_offset(LINE).min(LINE);
        let cells = self.bytes.get_mut(start..).unwrap_or_default().chunks_mut(Self::stride(self.cell));
        cells.take(self.cells).filter_map(|room| room.get_mut(..self.cell)).collect()
    }

    const fn stride(cell: usize) -> usize {
        cell.next_multiple_of(LINE) + 3 * LINE
    }
}
