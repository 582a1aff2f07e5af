//! A writer needs parity and a CRC32C of every cell. Cold, RS-6-3: cells encoded whole and checksummed after that,
//! against an encode that hands over each finished slice while it is still in cache.

use std::time::Duration;

use crc_fast::{CrcAlgorithm, Digest};
use hedgerow::codec::{Kernel, ReedSolomon};

use crate::harness::{Effort, interleave, timed};
use crate::job::Schema;
use crate::memory::{Memory, Shape, Stripe, shared};
use crate::options::Options;
use crate::table::pool;

const RS_6_3: Schema = Schema { k: 6, m: 3 };
const CELL: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    EncodeOnly,
    ChecksumOnly,
    Whole,
    Slices(usize),
}

impl Way {
    const ALL: [Self; 7] = [
        Self::EncodeOnly,
        Self::ChecksumOnly,
        Self::Whole,
        Self::Slices(8 << 10),
        Self::Slices(16 << 10),
        Self::Slices(32 << 10),
        Self::Slices(64 << 10),
    ];

    fn name(self) -> String {
        match self {
            Self::EncodeOnly => "encode, no checksums".into(),
            Self::ChecksumOnly => "checksums, no encode".into(),
            Self::Whole => "whole cells, then checksums".into(),
            Self::Slices(len) => format!("slices of {} KiB", len >> 10),
        }
    }
}

/// Prints the table.
pub(crate) fn print(options: &Options) {
    let code = ReedSolomon::<6, 3>::new(Kernel::detect());
    let shape = Shape { sources: RS_6_3.k, outputs: RS_6_3.m, spare: 0, len: CELL + options.extra };
    let mut memory = Memory::new(pool(options), options.huge_pages);
    let mut stripes = options.placement.stripes(memory.bytes(), shape, usize::MAX);

    let whole = run(&code, Way::Whole, &mut stripes[0]);
    for way in Way::ALL.into_iter().filter(|way| matches!(way, Way::Slices(_))) {
        stripes[0].outputs.iter_mut().for_each(|cell| cell.fill(0));
        assert_eq!(run(&code, way, &mut stripes[0]), whole, "{}: other checksums", way.name());
    }

    let mut ways = Way::ALL;
    let rounds = if options.quick { 31 } else { 301 };
    let effort = Effort { time: Duration::from_secs(20), least: rounds, most: rounds };
    let mut next = 0;
    let timings = interleave(&mut ways, effort, false, |&mut way, calls| {
        next = (next + 1) % stripes.len();
        let stripe = &mut stripes[next];
        timed(calls, || {
            std::hint::black_box(run(&code, way, stripe));
        })
    });

    let input = (RS_6_3.k * shape.len) as f64;
    let base = Way::ALL.iter().position(|&way| way == Way::Whole).map(|index| timings[index].median);
    println!("GB/s of input, RS-6-3, cells of 1 MiB from DRAM, CRC32C of all nine cells\n");
    println!("{:30}{:>8}{:>8}{:>8}{:>7}", "", "min", "median", "max", "ratio");
    for (way, timing) in ways.iter().zip(&timings) {
        let ratio = base.unwrap_or(timing.median) / timing.median;
        println!(
            "{:30}{:>8.1}{:>8.1}{:>8.1}{ratio:>7.2}",
            way.name(),
            input / timing.max,
            input / timing.median,
            input / timing.min
        );
    }
}

/// Encodes the stripe and takes the checksums that `way` takes.
fn run(code: &ReedSolomon<6, 3>, way: Way, stripe: &mut Stripe<'_>) -> [u64; 9] {
    let mut digests: [Digest; 9] = core::array::from_fn(|_| Digest::new(CrcAlgorithm::Crc32Iscsi));
    let data = shared(&stripe.sources);
    match way {
        Way::EncodeOnly => code.encode(&data, &mut stripe.outputs).expect("equal lengths"),
        Way::ChecksumOnly => update(&mut digests, &data, &stripe.outputs),
        Way::Whole => {
            code.encode(&data, &mut stripe.outputs).expect("equal lengths");
            update(&mut digests, &data, &stripe.outputs);
        }
        Way::Slices(len) => {
            let each = |range: core::ops::Range<usize>, data: &[&[u8]], parity: &[&mut [u8]]| {
                for (digest, cell) in
                    digests.iter_mut().zip(data.iter().copied().chain(parity.iter().map(|cell| &**cell)))
                {
                    digest.update(&cell[range.clone()]);
                }
            };
            code.encode_slices(&data, &mut stripe.outputs, len, each).expect("equal lengths");
        }
    }
    digests.map(|digest| digest.finalize())
}

fn update(digests: &mut [Digest; 9], data: &[&[u8]], parity: &[&mut [u8]]) {
    let cells = data.iter().copied().chain(parity.iter().map(|cell| &**cell));
    for (digest, cell) in digests.iter_mut().zip(cells) {
        digest.update(cell);
    }
}
