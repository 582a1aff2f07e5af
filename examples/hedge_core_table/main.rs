//! Prints what the hedge core costs: nanoseconds of whole reads' decisions, and bytes of state, beside `tower`'s hedge layer
//! in the same run. `--json`: one object a line.

mod jobs;
mod peer;

use std::hint::black_box;
use std::mem::size_of;
use std::process::ExitCode;
use std::time::Instant as Clock;

use hedge_core::{Governor, Instant, Span, StripeRead};

const ROUNDS: usize = 15;
const CALLS: u32 = 20_000;

struct Row {
    what: &'static str,
    meaning: &'static str,
    value: f64,
    unit: &'static str,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments == ["--json"];
    if !json && !arguments.is_empty() {
        eprintln!("usage: hedge_core_table [--json]");
        return ExitCode::FAILURE;
    }
    let mut rows = timings();
    let mut size = |what, meaning, bytes: usize| {
        rows.push(Row { what, meaning, value: bytes as f64, unit: "bytes" });
    };
    size("stripe-read-9-bytes", "a read of nine cells", size_of::<StripeRead<9>>());
    size("governor-1024-bytes", "a governor for 1,024 nodes", size_of::<Governor<1024>>());
    for row in rows {
        if json {
            println!(r#"{{"what":"{}","value":{:.1},"unit":"{}"}}"#, row.what, row.value, row.unit);
        } else {
            println!("{:>9.0} {:<5}  {:<28} {}", row.value, row.unit, row.what, row.meaning);
        }
    }
    ExitCode::SUCCESS
}

/// Medians over rounds in which every job has its turn.
fn timings() -> Vec<Row> {
    let (one, six) = (jobs::plan(1), jobs::plan(6));
    let mut governors = [jobs::governor::<64>(), jobs::governor::<64>()];
    let mut large = Box::new(jobs::governor::<1024>());
    let [quiet, busy] = &mut governors;
    let runtime = peer::runtime();
    let mut clocks = [Instant::ZERO; 3];
    let [quiet_clock, busy_clock, large_clock] = &mut clocks;
    let tick = |clock: &mut Instant| {
        *clock += Span::from_secs(1);
        *clock
    };
    // Every node is known to the large governor, so that a scan over them is a long one.
    for node in 0..1024 {
        let mut plan = one;
        plan.node = std::array::from_fn(|_| hedge_core::NodeId(node));
        jobs::unhedged(&plan, Some(&mut large), *large_clock);
    }

    type Job<'a> = (&'static str, &'static str, Box<dyn FnMut() -> u32 + 'a>);
    let mut jobs: Vec<Job<'_>> = vec![
        (
            "unhedged-1-cell",
            "a read of one cell, in time",
            repeat(|| jobs::unhedged(&one, None, Instant::ZERO)),
        ),
        (
            "unhedged-6-cells",
            "a read of six cells, in time",
            repeat(|| jobs::unhedged(&six, None, Instant::ZERO)),
        ),
        (
            "unhedged-1-cell-governed",
            "the first, prepared by a governor that hears of it",
            repeat(|| jobs::unhedged(&one, Some(&mut *quiet), tick(quiet_clock))),
        ),
        (
            "hedged-1-cell",
            "a read of one cell, late, hedged, won; governor included",
            repeat(|| jobs::hedged(&one, &mut *busy, tick(busy_clock))),
        ),
        (
            "hedged-1-cell-1024",
            "the same with a governor that has seen 1,024 nodes",
            repeat(|| jobs::hedged(&one, &mut *large, tick(large_clock))),
        ),
        ("tower-1", "one request through tower's hedge layer", Box::new(|| peer::unhedged(&runtime, CALLS))),
    ];
    let mut taken = vec![Vec::with_capacity(ROUNDS); jobs.len()];
    for _ in 0..ROUNDS {
        for ((_, _, job), taken) in jobs.iter_mut().zip(&mut taken) {
            let start = Clock::now();
            black_box(job());
            taken.push(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
        }
    }
    let rows = jobs.iter().zip(&mut taken).map(|((what, meaning, _), taken)| {
        taken.sort_by(f64::total_cmp);
        Row { what, meaning, value: taken[ROUNDS / 2], unit: "ns" }
    });
    rows.collect()
}

fn repeat<'a>(mut read: impl FnMut() -> u32 + 'a) -> Box<dyn FnMut() -> u32 + 'a> {
    Box::new(move || (0..CALLS).fold(0, |sum, _| sum + read()))
}
