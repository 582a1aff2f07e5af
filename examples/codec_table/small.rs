//! Calls so short that what surrounds the arithmetic counts: nanoseconds a call.

use std::hint::black_box;
use std::time::Duration;

use hedgerow::codec::{CellSet, Kernel, ReedSolomon};

use crate::harness::{Effort, interleave, timed};
use crate::job::{LOST, Schema};
use crate::memory::fill;
use crate::options::Options;

const RS_6_3: Schema = Schema { k: 6, m: 3 };

/// Bytes that HDFS takes one checksum of.
const CHECKSUM_CHUNK: usize = 512;

/// A row of the table: what is called, with which kernel, and the call many times over.
struct Row {
    what: String,
    kernel: &'static str,
    run: Box<dyn FnMut(u64) -> Duration>,
}

impl Row {
    fn new(what: impl Into<String>, kernel: &'static str, mut call: impl FnMut() + 'static) -> Self {
        Self { what: what.into(), kernel, run: Box::new(move |calls| timed(calls, &mut call)) }
    }
}

/// Prints the table of small calls.
pub(crate) fn print(options: &Options) {
    let mut rows: Vec<Row> = Kernel::available().flat_map(of_kernel).collect();
    rows.push(Row::new("Kernel::detect", "", || {
        black_box(Kernel::detect());
    }));
    let rounds = if options.quick { 101 } else { 1001 };
    let effort = Effort { time: Duration::from_secs(20), least: rounds, most: rounds };
    let timings = interleave(&mut rows, effort, true, |row, calls| (row.run)(calls));
    println!("ns a call, RS-6-3\n\n{:38}{:13}{:>9}{:>9}{:>12}", "call", "kernel", "min", "median", "max");
    for (row, timing) in rows.iter().zip(timings) {
        println!(
            "{:38}{:13}{:>9.1}{:>9.1}{:>12.1}",
            row.what, row.kernel, timing.min, timing.median, timing.max
        );
    }
}

fn of_kernel(kernel: Kernel) -> Vec<Row> {
    let code = ReedSolomon::<6, 3>::new(kernel);
    let survivors = RS_6_3.survivors();
    let plan = code.plan(&[LOST], &survivors, CellSet::EMPTY).expect("k survivors");
    let name = kernel.name();
    let mut rows = Vec::new();
    rows.push(Row::new("plan for one lost cell", name, move || {
        let (lost, survivors) = (black_box(&[LOST]), black_box(&survivors));
        black_box(black_box(&code).plan(lost, survivors, CellSet::EMPTY).expect("k survivors"));
    }));
    for len in [1, 7, 16, 31, 33, 63, 64, CHECKSUM_CHUNK] {
        // The memory of a row lives as long as the program: the row's slices borrow it.
        let cells: &'static mut [u8] = vec![0; (RS_6_3.k + RS_6_3.m) * len].leak();
        fill(cells, 1);
        let (data, parity) = cells.split_at_mut(RS_6_3.k * len);
        let data: Vec<&'static [u8]> = data.chunks(len).collect();
        let mut parity: Vec<&'static mut [u8]> = parity.chunks_mut(len).collect();
        let sources = data.clone();
        let mut lost = vec![0; len];
        rows.push(Row::new(format!("rebuild {len} bytes, plan ready"), name, move || {
            black_box(&plan).run_one(black_box(&sources), black_box(&mut lost)).expect("equal lengths");
        }));
        let code = ReedSolomon::<6, 3>::new(kernel);
        rows.push(Row::new(format!("encode {len} bytes"), name, move || {
            black_box(&code).encode(black_box(&data), black_box(&mut parity)).expect("equal lengths");
        }));
    }
    rows
}
