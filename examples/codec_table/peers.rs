//! Other codecs.
//!
//! All are given the same memory and one thread. Rebuilds are timed with what each codec can keep from one call to the
//! next: ISA-L its decode row as tables, `rustfs-erasure-codec`, `reed-solomon-erasure` and `fec-rs` their caches of
//! inverted matrices, `reed-solomon-simd` nothing but its working memory, in which it also leaves its results.

use std::hint::black_box;
use std::time::Duration;

use crate::contenders::{Contender, Entry, Expect, Split};
use crate::field::cauchy_row;
use crate::harness::timed;
use crate::job::{Job, LOST, Schema};
use crate::memory::Stripe;

/// Every other codec that takes cells of `len` bytes.
pub(crate) fn entries(job: Job, schema: Schema, len: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    #[cfg(feature = "isa-l")]
    entries.push(Entry::new("isa-l-2.30", "", Expect::Cauchy, isa_l(job, schema)));
    entries.push(rustfs(job, schema));
    entries.push(erasure(job, schema));
    if len.is_multiple_of(2) {
        entries.push(simd(job, schema, len));
    }
    entries.push(fec(job, schema));
    entries
}

#[cfg(feature = "isa-l")]
fn isa_l(job: Job, schema: Schema) -> IsaL {
    use crate::field::decode_row;
    let rows = match job {
        Job::Encode => (0..schema.m).map(|parity| cauchy_row(schema.k, parity)).collect(),
        Job::Rebuild => vec![decode_row(schema.k, LOST)],
    };
    IsaL { outputs: rows.len(), tables: crate::isa_l::Tables::new(schema.k, &rows) }
}

#[cfg(feature = "isa-l")]
struct IsaL {
    outputs: usize,
    tables: crate::isa_l::Tables,
}

#[cfg(feature = "isa-l")]
impl Contender for IsaL {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        let len = stripe.sources[0].len();
        assert!(stripe.sources.iter().all(|cell| cell.len() == len));
        assert!(stripe.outputs.iter().all(|cell| cell.len() == len));
        let mut sources: Vec<*mut u8> = stripe.sources.iter_mut().map(|cell| cell.as_mut_ptr()).collect();
        let outputs = stripe.outputs.iter_mut().take(self.outputs);
        let mut outputs: Vec<*mut u8> = outputs.map(|cell| cell.as_mut_ptr()).collect();
        // SAFETY: all cells have this length, and the stripe is borrowed mutably, so nothing else uses them.
        let time = timed(calls, || unsafe { self.tables.run(&mut sources, &mut outputs, len) });
        crate::isa_l::clean_up();
        time
    }
}

fn rustfs(job: Job, schema: Schema) -> Entry {
    use rustfs_erasure_codec::{CodecOptions, MatrixMode, galois_8::ReedSolomon};
    let options = CodecOptions::builder().matrix_mode(MatrixMode::Cauchy).max_parallel_jobs(1).build();
    let code = ReedSolomon::with_options(schema.k, schema.m, options).expect("a schema");
    let name = "rustfs-erasure-codec";
    match job {
        Job::Encode => Entry::new(
            name,
            "",
            Expect::Cauchy,
            Split(move |data: &[&[u8]], parity: &mut [&mut [u8]]| {
                code.encode_sep(data, parity).expect("equal lengths");
            }),
        ),
        Job::Rebuild => Entry::new(
            name,
            "",
            Expect::Cauchy,
            Slots(move |cells: &mut [Slot<'_>]| {
                code.reconstruct_data(cells).expect("k survivors");
            }),
        ),
    }
}

/// Parity cells of the Vandermonde matrix, from another codec than the one that is timed with it.
pub(crate) fn vandermonde(schema: Schema, data: &[&[u8]]) -> Vec<Vec<u8>> {
    let code = rustfs_erasure_codec::galois_8::ReedSolomon::new(schema.k, schema.m).expect("a schema");
    let mut parity = vec![vec![0; data[0].len()]; schema.m];
    code.encode_sep(data, &mut parity).expect("equal lengths");
    parity
}

fn erasure(job: Job, schema: Schema) -> Entry {
    use reed_solomon_erasure::galois_8::ReedSolomon;
    let code = ReedSolomon::new(schema.k, schema.m).expect("a schema");
    let name = "reed-solomon-erasure";
    match job {
        Job::Encode => Entry::new(
            name,
            "",
            Expect::Vandermonde,
            Split(move |data: &[&[u8]], parity: &mut [&mut [u8]]| {
                code.encode_sep(data, parity).expect("equal lengths");
            }),
        ),
        Job::Rebuild => Entry::new(
            name,
            "",
            Expect::Vandermonde,
            Slots(move |cells: &mut [Slot<'_>]| {
                code.reconstruct_data(cells).expect("k survivors");
            }),
        ),
    }
}

fn fec(job: Job, schema: Schema) -> Entry {
    let mut code = fec_rs::ReedSolomon::new(schema.k, schema.m).expect("a schema");
    // Its own matrix is another Cauchy matrix. With this one its bytes can be compared; it costs the same.
    let rows: Vec<u8> = (0..schema.m).flat_map(|parity| cauchy_row(schema.k, parity)).collect();
    code.set_parity_matrix(&rows).expect("m rows of k");
    let name = "fec-rs";
    match job {
        Job::Encode => Entry::new(
            name,
            "",
            Expect::Cauchy,
            Split(move |data: &[&[u8]], parity: &mut [&mut [u8]]| {
                code.encode_sep(data, parity).expect("equal lengths");
            }),
        ),
        Job::Rebuild => Entry::new(name, "", Expect::Cauchy, FecRebuild(code)),
    }
}

fn simd(job: Job, schema: Schema, len: usize) -> Entry {
    use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};
    let Schema { k, m } = schema;
    let name = "reed-solomon-simd";
    match job {
        Job::Encode => {
            let code = ReedSolomonEncoder::new(k, m, len).expect("a schema");
            Entry::new(name, "", Expect::Own, SimdEncoder(code))
        }
        Job::Rebuild => {
            let code = ReedSolomonDecoder::new(k, m, len).expect("a schema");
            Entry::new(name, "", Expect::Own, SimdDecoder(code, schema))
        }
    }
}

/// A cell as the codecs want it that rebuild in place: its bytes, and whether they are there.
type Slot<'a> = (&'a mut [u8], bool);

/// The cells of a rebuild stripe in the order of their indices. Only the k survivors are there.
fn slots<'b>(stripe: &'b mut Stripe<'_>) -> Vec<Slot<'b>> {
    let k = stripe.sources.len();
    let mut sources = stripe.sources.iter_mut();
    let mut outputs = stripe.outputs.iter_mut();
    let lost = outputs.next().expect("an output");
    let mut slots: Vec<Slot<'b>> = sources.by_ref().take(LOST).map(|cell| (&mut **cell, true)).collect();
    slots.push((lost, false));
    slots.extend(sources.map(|cell| (&mut **cell, true)));
    slots.extend(outputs.map(|cell| (&mut **cell, false)));
    assert_eq!(slots.iter().filter(|slot| slot.1).count(), k);
    slots
}

/// A codec that rebuilds in place.
struct Slots<F>(F);

impl<F: FnMut(&mut [Slot<'_>])> Contender for Slots<F> {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        let mut slots = slots(stripe);
        timed(calls, || {
            slots[LOST].1 = false;
            (self.0)(black_box(&mut slots));
        })
    }
}

/// `fec-rs` has a trait of its own for cells.
struct FecSlot<'a>(Slot<'a>);

// SAFETY: every slot of a stripe borrows another cell, so no two share memory.
unsafe impl fec_rs::ReconstructShard for FecSlot<'_> {
    fn len(&self) -> Option<usize> {
        self.0.1.then_some(self.0.0.len())
    }

    fn get(&self) -> Option<&[u8]> {
        self.0.1.then_some(&*self.0.0)
    }

    fn get_mut(&mut self) -> Option<&mut [u8]> {
        self.0.1.then_some(&mut *self.0.0)
    }

    fn initialize(&mut self, len: usize) {
        assert_eq!(len, self.0.0.len());
        self.0.1 = true;
    }
}

struct FecRebuild(fec_rs::ReedSolomon);

impl Contender for FecRebuild {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        let mut slots: Vec<FecSlot<'_>> = slots(stripe).into_iter().map(FecSlot).collect();
        timed(calls, || {
            slots[LOST].0.1 = false;
            self.0.reconstruct_data(black_box(&mut slots)).expect("k survivors");
        })
    }
}

struct SimdEncoder(reed_solomon_simd::ReedSolomonEncoder);

impl SimdEncoder {
    fn encode(&mut self, stripe: &Stripe<'_>) -> reed_solomon_simd::EncoderResult<'_> {
        for cell in &stripe.sources {
            self.0.add_original_shard(cell).expect("one of k cells");
        }
        self.0.encode().expect("k cells")
    }
}

impl Contender for SimdEncoder {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        timed(calls, || {
            black_box(self.encode(black_box(stripe)));
        })
    }

    fn fetch(&mut self, stripe: &mut Stripe<'_>) {
        let parity: Vec<Vec<u8>> = self.encode(stripe).recovery_iter().map(<[u8]>::to_vec).collect();
        for (to, from) in stripe.outputs.iter_mut().zip(&parity) {
            to.copy_from_slice(from);
        }
    }
}

struct SimdDecoder(reed_solomon_simd::ReedSolomonDecoder, Schema);

impl SimdDecoder {
    fn decode(&mut self, stripe: &Stripe<'_>) -> reed_solomon_simd::DecoderResult<'_> {
        let Self(code, Schema { k, .. }) = self;
        for (index, cell) in (0..*k).filter(|&index| index != LOST).zip(&stripe.sources) {
            code.add_original_shard(index, cell).expect("one of k cells");
        }
        code.add_recovery_shard(0, &stripe.sources[*k - 1]).expect("one of m cells");
        code.decode().expect("k survivors")
    }
}

impl Contender for SimdDecoder {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        timed(calls, || {
            black_box(self.decode(black_box(stripe)));
        })
    }

    fn fetch(&mut self, stripe: &mut Stripe<'_>) {
        let lost = self.decode(stripe).restored_original(LOST).expect("it was lost").to_vec();
        stripe.outputs[0].copy_from_slice(&lost);
    }
}
