//! This project's codec as a contender: with every kernel of the CPU, as a type and as a run-time schema.

use std::hint::black_box;

use hedgerow::codec::{
    CellSet, Code, Destination, Inline, Kernel, Matrix, ReedSolomon, code_bytes, plan_bytes,
};

use crate::contenders::{Entry, Expect, Split};
use crate::job::{Job, LOST, Place, Schema};

/// No schema of the table has more data or more parity cells.
const LARGEST: Schema = Schema { k: 12, m: 4 };

/// The codec's entries: `hedgerow` with each kernel, `hedgerow-runtime` with the best one, and where the output is
/// declared as not read soon, `hedgerow-cached` without that.
pub(crate) fn entries(job: Job, schema: Schema, place: Place) -> Vec<Entry> {
    let destination = match place {
        Place::Hot => Destination::ReadSoon,
        Place::Dram => Destination::NotReadSoon,
    };
    let best = Kernel::detect();
    let mut entries: Vec<Entry> =
        Kernel::available().map(|kernel| by_type("hedgerow", job, schema, kernel, destination)).collect();
    entries.push(at_run_time(job, schema, best, destination));
    if place == Place::Dram {
        entries.push(by_type("hedgerow-cached", job, schema, best, Destination::ReadSoon));
    }
    entries
}

fn by_type(name: &'static str, job: Job, schema: Schema, kernel: Kernel, destination: Destination) -> Entry {
    match (schema.k, schema.m) {
        (6, 3) => fixed::<6, 3>(name, job, kernel, destination),
        (10, 4) => fixed::<10, 4>(name, job, kernel, destination),
        (12, 3) => fixed::<12, 3>(name, job, kernel, destination),
        (3, 2) => fixed::<3, 2>(name, job, kernel, destination),
        shape => unreachable!("no type for {shape:?}"),
    }
}

/// An entry that encodes with `$code` or runs a plan of it, which is kept in `$storage`.
macro_rules! entry {
    ($name:expr, $job:expr, $schema:expr, $code:expr, $storage:expr, $destination:expr) => {{
        let (code, destination) = ($code, $destination);
        let kernel = code.kernel().name();
        match $job {
            Job::Encode => Entry::new(
                $name,
                kernel,
                Expect::Cauchy,
                Split(move |data: &[&[u8]], parity: &mut [&mut [u8]]| {
                    black_box(&code).encode_to(data, parity, destination).expect("equal lengths");
                }),
            ),
            Job::Rebuild => {
                let survivors = $schema.survivors();
                let plan = code.plan_in([LOST], &survivors, CellSet::EMPTY, $storage).expect("k survivors");
                assert!(plan.sources().iter().map(|&cell| usize::from(cell)).eq(survivors));
                Entry::new(
                    $name,
                    kernel,
                    Expect::Cauchy,
                    Split(move |sources: &[&[u8]], outputs: &mut [&mut [u8]]| {
                        black_box(&plan)
                            .run_to(sources, &mut outputs[..1], destination)
                            .expect("equal lengths");
                    }),
                )
            }
        }
    }};
}

fn fixed<const K: usize, const M: usize>(
    name: &'static str,
    job: Job,
    kernel: Kernel,
    destination: Destination,
) -> Entry {
    let code = ReedSolomon::<K, M>::new(kernel);
    entry!(name, job, Schema { k: K, m: M }, code, Inline::<K, M>::default(), destination)
}

fn at_run_time(job: Job, schema: Schema, kernel: Kernel, destination: Destination) -> Entry {
    let storage = [0; code_bytes(LARGEST.k, LARGEST.m)];
    let code = Code::new_in(kernel, schema.k, schema.m, Matrix::Cauchy, storage).expect("a schema");
    entry!("hedgerow-runtime", job, schema, code, [0; plan_bytes(LARGEST.k, 1)], destination)
}
