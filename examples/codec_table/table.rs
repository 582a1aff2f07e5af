//! The table: every job, schema, cell and place, all contenders in turn.

use std::cmp::Ordering;
use std::time::Duration;

use crate::check;
use crate::contenders::{self, Entry};
use crate::harness::{Effort, Timing, interleave};
use crate::job::{Job, Place, Schema};
use crate::memory::{Memory, Placement, Shape};
use crate::options::Options;

/// The contender that the ratios of medians refer to.
const BASE: &str = if cfg!(feature = "isa-l") { "isa-l-2.30" } else { "rustfs-erasure-codec" };

/// Below this, a pool says nothing about memory.
const LEAST_POOL: usize = 64 << 20;

/// Prints all rows that `options` ask for.
pub(crate) fn print(options: &Options) {
    if !options.json {
        println!("GB/s of input (k x cell / time), one thread; ratio of medians to {BASE}");
        println!("xor, xor-streaming and read are the best of several kernels; memcpy copies the k cells\n");
        println!(
            "{:8}{:10}{:>8}  {:6}{:22}{:13}{:>8}{:>8}{:>8}{:>7}",
            "job", "schema", "cell", "where", "contender", "kernel", "min", "median", "max", "ratio"
        );
    }
    let dram = options.cells.iter().any(|cell| cell.1 == Place::Dram);
    let mut memory = Memory::new(if dram { pool(options) } else { LEAST_POOL }, options.huge_pages);
    for &job in &options.jobs {
        for &schema in &options.schemas {
            for &(cell, place) in &options.cells {
                print_group(options, &mut memory, job, schema, cell, place);
            }
        }
    }
    if !options.json {
        println!(
            "reed-solomon-simd works over GF(2^16) and leaves its results in its own memory; it and fec-rs, \
             reed-solomon-erasure\nand rustfs-erasure-codec take no plan: what they cache of one is found again in \
             every rebuild."
        );
    }
}

/// Times one group of rows and prints them.
fn print_group(options: &Options, memory: &mut Memory, job: Job, schema: Schema, cell: usize, place: Place) {
    let len = cell + options.extra;
    let placement = options.placement;
    let aligned = placement.offset == 0 && !placement.mixed;
    let mut entries = contenders::entries(job, schema, len, place, aligned);
    entries.retain(|entry| options.wants(entry.name));
    let shape = Shape { sources: schema.k, outputs: schema.m, spare: schema.k, len };
    check::check(&mut entries, job, schema, shape, place, placement);

    let input = (schema.k * len) as f64;
    let timings = time(options, memory, &mut entries, shape, place, placement);
    let rows = best(&entries, &timings);
    let base = rows.iter().find(|(entry, _)| entry.name == BASE).map(|(_, timing)| timing.median);
    for (entry, timing) in rows {
        let (slowest, median, fastest) = (input / timing.max, input / timing.median, input / timing.min);
        let (job, schema, place) = (job.name(), schema.name(), place.name());
        let Entry { name, kernel, .. } = entry;
        if options.json {
            println!(
                "{{\"job\":\"{job}\",\"schema\":\"{schema}\",\"cell\":{len},\"where\":\"{place}\",\
                 \"contender\":\"{name}\",\"kernel\":\"{kernel}\",\"gbps_min\":{slowest:.3},\
                 \"gbps_median\":{median:.3},\"gbps_max\":{fastest:.3}}}"
            );
        } else {
            let ratio = base.map_or("-".into(), |base| format!("{:.2}", base / timing.median));
            println!(
                "{job:8}{schema:10}{len:>8}  {place:6}{name:22}{kernel:13}{slowest:>8.1}{median:>8.1}{fastest:>8.1}{ratio:>7}"
            );
        }
    }
    if !options.json {
        println!();
    }
}

fn time(
    options: &Options,
    memory: &mut Memory,
    entries: &mut [Entry],
    shape: Shape,
    place: Place,
    placement: Placement,
) -> Vec<Timing> {
    let limit = if place == Place::Hot { 1 } else { usize::MAX };
    let mut stripes = placement.stripes(memory.bytes(), shape, limit);
    let mut next = 0;
    interleave(entries, effort(options), place == Place::Hot, |entry, calls| {
        next = (next + 1) % stripes.len();
        entry.contender.run(&mut stripes[next], calls)
    })
}

fn effort(options: &Options) -> Effort {
    if options.quick {
        Effort { time: Duration::from_millis(350), least: 7, most: 151 }
    } else {
        Effort { time: Duration::from_secs(3), least: 31, most: 1001 }
    }
}

/// Each contender once: of those with several variants, the one with the best median.
fn best<'e>(entries: &'e [Entry], timings: &[Timing]) -> Vec<(&'e Entry, Timing)> {
    let mut rows: Vec<(&Entry, Timing)> = Vec::new();
    for (entry, &timing) in entries.iter().zip(timings) {
        match rows.iter_mut().find(|(other, _)| (other.name, other.kernel) == (entry.name, entry.kernel)) {
            Some((_, found)) if timing.median.total_cmp(&found.median) == Ordering::Less => *found = timing,
            Some(_) => {}
            None => rows.push((entry, timing)),
        }
    }
    rows
}

/// Bytes to stream through: what was asked for, else 1 GiB and eight times the last cache; less where memory lacks.
pub(crate) fn pool(options: &Options) -> usize {
    let wanted = options.pool.unwrap_or((1 << 30).max(8 * last_cache()));
    let there = available().map_or(wanted, |free| free / 4 * 3);
    let pool = wanted.min(there).max(LEAST_POOL);
    if pool < wanted {
        eprintln!("memory for a pool of {} MiB only: dram rows may show caches", pool >> 20);
    }
    pool
}

/// Size of the last cache in bytes, 0 where the system doesn't say.
fn last_cache() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").unwrap_or_default();
    text.trim().strip_suffix('K').and_then(|size| size.parse::<usize>().ok()).map_or(0, |size| size << 10)
}

/// Bytes of memory that can be had, where the system says.
fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let size: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(size << 10)
}
