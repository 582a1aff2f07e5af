//! Criterion's view of the codec: encode and single-cell rebuild of hot cells, for regressions between two versions.
//! The comparison with others, in turn and from memory as well, is `examples/codec_table`.

#[path = "../examples/codec_table/check.rs"]
mod check;
#[path = "../examples/codec_table/contenders.rs"]
mod contenders;
#[path = "../examples/codec_table/field.rs"]
mod field;
#[allow(dead_code, reason = "criterion does its own timing; only the contenders' clock is needed")]
#[path = "../src/cli/bench/harness.rs"]
mod harness;
#[cfg(feature = "isa-l")]
#[path = "../examples/codec_table/isa_l.rs"]
mod isa_l;
#[allow(dead_code, reason = "what a job is called and which cells the table has, is not all needed")]
#[path = "../examples/codec_table/job.rs"]
mod job;
#[path = "../examples/codec_table/limits.rs"]
mod limits;
#[path = "../examples/codec_table/memory.rs"]
mod memory;
#[path = "../examples/codec_table/own.rs"]
mod own;
#[path = "../examples/codec_table/peers.rs"]
mod peers;

use std::time::Duration;

use contenders::{Expect, entries};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use job::{Job, Place, Schema};
use memory::{Memory, Placement, Shape};

const CELLS: [usize; 2] = [4 << 10, 64 << 10];

fn codec(criterion: &mut Criterion) {
    for job in Job::ALL {
        for schema in Schema::ALL {
            for len in CELLS {
                group(criterion, job, schema, len);
            }
        }
    }
}

fn group(criterion: &mut Criterion, job: Job, schema: Schema, len: usize) {
    let shape = Shape { sources: schema.k, outputs: schema.m, spare: schema.k, len };
    let placement = Placement::default();
    let mut memory = Memory::new(placement.size(2 * schema.k + schema.m, len), true);
    let mut stripes = placement.stripes(memory.bytes(), shape, 1);
    let stripe = &mut stripes[0];
    let mut entries = entries(job, schema, len, Place::Hot, true);
    // Of the limits, XOR with the widest vectors is enough here; it comes first.
    let mut limits = 0;
    entries.retain(|entry| {
        let codec = matches!(entry.expect, Expect::Cauchy | Expect::Vandermonde | Expect::Own);
        limits += usize::from(!codec);
        codec || limits == 1
    });
    check::check(&mut entries, job, schema, shape, Place::Hot, placement);

    let mut group = criterion.benchmark_group(format!("{}/{}/{len}", job.name(), schema.name()));
    group.throughput(Throughput::Bytes((schema.k * len) as u64));
    group
        .sample_size(30)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    for entry in &mut entries {
        let id = match entry.kernel {
            "" => entry.name.into(),
            kernel => format!("{}/{kernel}", entry.name),
        };
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|calls| entry.contender.run(stripe, calls));
        });
    }
    group.finish();
}

criterion_group!(benches, codec);
criterion_main!(benches);
