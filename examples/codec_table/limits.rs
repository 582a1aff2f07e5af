//! Kernels that set the limits: what the same reads and writes cost when there is next to nothing to compute.
//!
//! Each exists in several variants (vector widths, columns a step, prefetch distances), as which one is fastest differs
//! between CPUs, caches and schemas. The table keeps the best.

use std::hint::black_box;
use std::time::Duration;

use crate::contenders::{Contender, Entry, Expect};
use crate::harness::timed;
use crate::job::{Job, Schema};
use crate::memory::Stripe;

/// Reads `sources` and writes `outputs`, all of `len` bytes.
///
/// # Safety
/// The counts are those that the kernel was made for, every cell is valid for `len` bytes, nothing else uses the outputs
/// meanwhile, the CPU has the kernel's features; where it streams, outputs start on cache lines. The reading kernel has
/// one output of 64 bytes.
type Kernel = unsafe fn(sources: &[*const u8], outputs: &[*mut u8], len: usize);

/// The kernels of one vector width.
macro_rules! width {
    ($name:ident, $vector:ty, $load:expr, $store:expr, $stream:expr, $xor:expr $(, #[$feature:meta])?) => {
        mod $name {
            #[allow(clippy::wildcard_imports, reason = "the module is written once for several vector types")]
            use super::*;

            const WIDTH: usize = size_of::<$vector>();

            /// `C` vectors of every source into every output: output i is the sum of the sources j with j mod M = i.
            $(#[$feature])?
            #[inline]
            unsafe fn step<const K: usize, const M: usize, const C: usize, const STREAM: bool>(
                sources: &[*const u8; K],
                outputs: &[*mut u8; M],
                at: usize,
            ) {
                // SAFETY: the caller has seen to it that C vectors from `at` on lie in every cell.
                unsafe {
                    for i in 0..M {
                        let mut sums = [$load(sources[i].add(at).cast()); C];
                        for c in 1..C {
                            sums[c] = $load(sources[i].add(at + c * WIDTH).cast());
                        }
                        let mut j = i + M;
                        while j < K {
                            for c in 0..C {
                                sums[c] = $xor(sums[c], $load(sources[j].add(at + c * WIDTH).cast()));
                            }
                            j += M;
                        }
                        for c in 0..C {
                            let to = outputs[i].add(at + c * WIDTH).cast();
                            if STREAM { $stream(to, sums[c]) } else { $store(to, sums[c]) }
                        }
                    }
                }
            }

            /// The XOR kernel. `AHEAD` 0 stores and loads plainly, another distance streams and prefetches.
            $(#[$feature])?
            pub(super) unsafe fn xor<const K: usize, const M: usize, const C: usize, const AHEAD: usize>(
                sources: &[*const u8],
                outputs: &[*mut u8],
                len: usize,
            ) {
                let sources: &[*const u8; K] = sources.try_into().expect("K sources");
                let outputs: &[*mut u8; M] = outputs.try_into().expect("M outputs");
                let mut at = 0;
                // SAFETY: every step ends within the cells, which the caller says are `len` long.
                unsafe {
                    while at + C * WIDTH <= len {
                        if AHEAD > 0 {
                            for source in sources {
                                for line in 0..(C * WIDTH).div_ceil(64) {
                                    prefetch(source.wrapping_add(at + AHEAD + 64 * line));
                                }
                            }
                            step::<K, M, C, true>(sources, outputs, at);
                        } else {
                            step::<K, M, C, false>(sources, outputs, at);
                        }
                        at += C * WIDTH;
                    }
                    while at + WIDTH <= len {
                        step::<K, M, 1, false>(sources, outputs, at);
                        at += WIDTH;
                    }
                    if at < len {
                        assert!(len >= WIDTH, "cells of at least one vector");
                        step::<K, M, 1, false>(sources, outputs, len - WIDTH);
                    }
                }
                if AHEAD > 0 {
                    fence();
                }
            }

            /// The reading kernel: the sum of all whole vectors of all sources, in the first bytes of the one output.
            $(#[$feature])?
            pub(super) unsafe fn read<const K: usize, const C: usize>(
                sources: &[*const u8],
                outputs: &[*mut u8],
                len: usize,
            ) {
                let sources: &[*const u8; K] = sources.try_into().expect("K sources");
                // SAFETY: every load ends within the cells, which the caller says are `len` long; the output has
                // room for the widest vector.
                unsafe {
                    let mut sums = [$load([0u8; WIDTH].as_ptr().cast()); C];
                    let mut at = 0;
                    while at + C * WIDTH <= len {
                        for source in sources {
                            for c in 0..C {
                                sums[c] = $xor(sums[c], $load(source.add(at + c * WIDTH).cast()));
                            }
                        }
                        at += C * WIDTH;
                    }
                    while at + WIDTH <= len {
                        for source in sources {
                            sums[0] = $xor(sums[0], $load(source.add(at).cast()));
                        }
                        at += WIDTH;
                    }
                    for c in 1..C {
                        sums[0] = $xor(sums[0], sums[c]);
                    }
                    $store(outputs[0].cast(), sums[0]);
                }
            }

            /// All variants for one schema and job.
            pub(super) fn variants<const K: usize, const M: usize>() -> Vec<(Limit, Kernel)> {
                let mut variants: Vec<(Limit, Kernel)> = vec![
                    (Limit::Xor, xor::<K, M, 1, 0>),
                    (Limit::Xor, xor::<K, M, 2, 0>),
                    (Limit::Xor, xor::<K, M, 4, 0>),
                    (Limit::Read, read::<K, 1>),
                    (Limit::Read, read::<K, 2>),
                    (Limit::Read, read::<K, 4>),
                ];
                if STREAMS {
                    variants.extend([
                        (Limit::XorStreaming, xor::<K, M, 1, 512> as Kernel),
                        (Limit::XorStreaming, xor::<K, M, 1, 1024>),
                        (Limit::XorStreaming, xor::<K, M, 2, 512>),
                        (Limit::XorStreaming, xor::<K, M, 2, 1024>),
                        (Limit::XorStreaming, xor::<K, M, 4, 1024>),
                    ]);
                }
                variants
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::{Kernel, Limit};
    use core::arch::x86_64::{
        __m128i, __m256i, __m512i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_sfence, _mm_storeu_si128,
        _mm_stream_si128, _mm_xor_si128, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_stream_si256,
        _mm256_xor_si256, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_stream_si512, _mm512_xor_si512,
    };

    const STREAMS: bool = true;

    fn prefetch(line: *const u8) {
        // SAFETY: a prefetch of any address is allowed, and reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
    }

    fn fence() {
        // SAFETY: part of SSE, which every x86-64 CPU has.
        unsafe { _mm_sfence() }
    }

    width!(sse2, __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm_stream_si128, _mm_xor_si128);
    width!(
        avx2,
        __m256i,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_stream_si256,
        _mm256_xor_si256,
        #[target_feature(enable = "avx2")]
    );
    width!(
        avx512,
        __m512i,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_stream_si512,
        _mm512_xor_si512,
        #[target_feature(enable = "avx512f")]
    );

    /// What this CPU can run.
    pub(super) fn variants<const K: usize, const M: usize>() -> Vec<(Limit, Kernel)> {
        let mut all = Vec::new();
        if is_x86_feature_detected!("avx512f") {
            all.extend(avx512::variants::<K, M>());
        }
        if is_x86_feature_detected!("avx2") {
            all.extend(avx2::variants::<K, M>());
        }
        if all.is_empty() {
            all.extend(sse2::variants::<K, M>());
        }
        all
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use super::{Kernel, Limit};
    use core::arch::aarch64::{uint8x16_t, veorq_u8, vld1q_u8, vst1q_u8};

    // Rust has no streaming store for this architecture.
    const STREAMS: bool = false;

    fn prefetch(_: *const u8) {}

    fn fence() {}

    width!(neon, uint8x16_t, vld1q_u8, vst1q_u8, vst1q_u8, veorq_u8);

    pub(super) fn variants<const K: usize, const M: usize>() -> Vec<(Limit, Kernel)> {
        neon::variants::<K, M>()
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    use super::{Kernel, Limit};

    const STREAMS: bool = false;

    fn prefetch(_: *const u8) {}

    fn fence() {}

    unsafe fn load(from: *const u128) -> u128 {
        // SAFETY: the caller's promise.
        unsafe { from.read_unaligned() }
    }

    unsafe fn store(to: *mut u128, value: u128) {
        // SAFETY: the caller's promise.
        unsafe { to.write_unaligned(value) }
    }

    width!(portable, u128, load, store, store, core::ops::BitXor::bitxor);

    pub(super) fn variants<const K: usize, const M: usize>() -> Vec<(Limit, Kernel)> {
        portable::variants::<K, M>()
    }
}

/// What a kernel of this file is the limit of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    /// The same reads and writes.
    Xor,
    /// The same, past the caches on the way out.
    XorStreaming,
    /// The same reads.
    Read,
}

/// A kernel and room for what the reading one writes.
struct Runner {
    limit: Limit,
    outputs: usize,
    kernel: Kernel,
    sum: [u64; 8],
}

impl Contender for Runner {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        let len = stripe.sources[0].len();
        let sources: Vec<*const u8> = stripe.sources.iter().map(|cell| cell.as_ptr()).collect();
        let outputs: Vec<*mut u8> = match self.limit {
            Limit::Read => vec![self.sum.as_mut_ptr().cast()],
            _ => stripe.outputs.iter_mut().take(self.outputs).map(|cell| cell.as_mut_ptr()).collect(),
        };
        assert!(stripe.sources.iter().all(|cell| cell.len() == len));
        assert!(stripe.outputs.iter().all(|cell| cell.len() == len));
        assert!(self.limit != Limit::XorStreaming || outputs.iter().all(|output| output.addr() % 64 == 0));
        // SAFETY: the kernel was chosen for this CPU; counts are compared by the kernel, lengths and alignment were
        // just now; the stripe is borrowed mutably, so nothing else uses its cells.
        timed(calls, || unsafe { (self.kernel)(&sources, &outputs, len) })
    }

    fn fetch(&mut self, stripe: &mut Stripe<'_>) {
        self.run(stripe, 1);
        if self.limit == Limit::Read && stripe.sources[0].len().is_multiple_of(64) {
            let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
            let all = stripe
                .sources
                .iter()
                .flat_map(|cell| cell.chunks_exact(8))
                .fold(0, |sum, bytes| sum ^ word(bytes));
            assert_eq!(self.sum.iter().fold(0, |sum, word| sum ^ word), all, "the reading kernel reads all");
        }
    }
}

/// The limits of a job: XOR kernels, the reading kernel, memcpy.
pub(crate) fn entries(job: Job, schema: Schema) -> Vec<Entry> {
    let variants = match (schema.k, job.outputs(schema)) {
        (6, 3) => arch::variants::<6, 3>(),
        (6, 1) => arch::variants::<6, 1>(),
        (10, 4) => arch::variants::<10, 4>(),
        (10, 1) => arch::variants::<10, 1>(),
        (12, 3) => arch::variants::<12, 3>(),
        (12, 1) => arch::variants::<12, 1>(),
        (3, 2) => arch::variants::<3, 2>(),
        (3, 1) => arch::variants::<3, 1>(),
        shape => unreachable!("no limits for {shape:?}"),
    };
    let outputs = job.outputs(schema);
    let mut entries: Vec<Entry> = variants
        .into_iter()
        .map(|(limit, kernel)| {
            let (name, expect) = match limit {
                Limit::Xor => ("xor", Expect::Sums),
                Limit::XorStreaming => ("xor-streaming", Expect::Sums),
                Limit::Read => ("read", Expect::Nothing),
            };
            Entry::new(name, "", expect, Runner { limit, outputs, kernel, sum: [0; 8] })
        })
        .collect();
    entries.push(Entry::new("memcpy", "", Expect::Copies, Copier));
    entries
}

/// Copies every source.
struct Copier;

impl Contender for Copier {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        timed(calls, || {
            for (to, from) in black_box(&mut stripe.spare).iter_mut().zip(black_box(&stripe.sources)) {
                to.copy_from_slice(from);
            }
        })
    }
}
