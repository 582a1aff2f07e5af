//! Nobody is timed before its bytes were seen to be right.

use crate::contenders::{self, Entry, Expect};
use crate::field;
use crate::job::{Job, LOST, Place, Schema};
use crate::memory::{Memory, Placement, Shape, Stripe, fill, shared};
use crate::peers;

/// Runs each entry once on cells placed as they will be, and compares what it wrote.
///
/// # Panics
/// Where bytes are wrong: there is no point in timing anything then.
pub(crate) fn check(
    entries: &mut [Entry],
    job: Job,
    schema: Schema,
    shape: Shape,
    place: Place,
    placement: Placement,
) {
    let size = placement.size(shape.sources + shape.outputs + shape.spare, shape.len);
    let mut memory = Memory::new(size, false);
    let mut stripes = placement.stripes(memory.bytes(), shape, 1);
    let stripe = &mut stripes[0];
    match job {
        Job::Encode => encode(entries, schema, stripe),
        Job::Rebuild => rebuild(entries, schema, stripe, place),
    }
}

/// Bytes that no result has by chance, so that an output nobody writes is noticed.
fn spoil(stripe: &mut Stripe<'_>) {
    for (seed, cell) in stripe.outputs.iter_mut().chain(&mut stripe.spare).enumerate() {
        fill(cell, 0xbad + seed as u64);
    }
}

fn encode(entries: &mut [Entry], schema: Schema, stripe: &mut Stripe<'_>) {
    let data = shared(&stripe.sources);
    let cauchy: Vec<Vec<u8>> =
        (0..schema.m).map(|parity| field::combine(&field::cauchy_row(schema.k, parity), &data)).collect();
    let vandermonde = peers::vandermonde(schema, &data);
    for entry in entries {
        spoil(stripe);
        entry.contender.fetch(stripe);
        let found: Vec<Vec<u8>> = stripe.outputs.iter().map(|cell| cell.to_vec()).collect();
        let right = match entry.expect {
            Expect::Cauchy => found == cauchy,
            Expect::Vandermonde => found == vandermonde,
            // Encoded here, decoded in `rebuild`.
            Expect::Own => true,
            Expect::Sums => found == sums(schema.m, stripe),
            Expect::Copies => stripe.spare == stripe.sources,
            Expect::Nothing => true,
        };
        assert!(right, "{} {}: wrong bytes, encode {}", entry.name, entry.kernel, schema.name());
    }
}

fn rebuild(entries: &mut [Entry], schema: Schema, stripe: &mut Stripe<'_>, place: Place) {
    let len = stripe.sources[0].len();
    let mut encoders = contenders::entries(Job::Encode, schema, len, place, false);
    let mut data = vec![vec![0; len]; schema.k];
    let mut parity = vec![vec![0; len]; schema.m];
    for (seed, cell) in data.iter_mut().enumerate() {
        fill(cell, 1 + seed as u64);
    }
    for entry in entries {
        let encoder =
            encoders.iter_mut().find(|other| (other.name, other.kernel) == (entry.name, entry.kernel));
        let codec = matches!(entry.expect, Expect::Cauchy | Expect::Vandermonde | Expect::Own);
        if let Some(encoder) = encoder.filter(|_| codec) {
            let mut whole = Stripe {
                sources: data.iter_mut().map(Vec::as_mut_slice).collect(),
                outputs: parity.iter_mut().map(Vec::as_mut_slice).collect(),
                spare: Vec::new(),
            };
            encoder.contender.fetch(&mut whole);
        }
        for (cell, index) in stripe.sources.iter_mut().zip(schema.survivors()) {
            cell.copy_from_slice(data.get(index).unwrap_or(&parity[0]));
        }
        spoil(stripe);
        entry.contender.fetch(stripe);
        let right = match entry.expect {
            Expect::Cauchy | Expect::Vandermonde | Expect::Own => *stripe.outputs[0] == data[LOST],
            Expect::Sums => *stripe.outputs[0] == sums(1, stripe)[0],
            Expect::Copies => stripe.spare == stripe.sources,
            Expect::Nothing => true,
        };
        assert!(right, "{} {}: wrong bytes, rebuild {}", entry.name, entry.kernel, schema.name());
    }
}

fn sums(outputs: usize, stripe: &Stripe<'_>) -> Vec<Vec<u8>> {
    (0..outputs)
        .map(|output| {
            let row: Vec<u8> = (0..stripe.sources.len()).map(|j| u8::from(j % outputs == output)).collect();
            field::combine(&row, &shared(&stripe.sources))
        })
        .collect()
}
