//! AVX2: two shuffles a product, 32 bytes at a time.

use core::arch::x86_64::*;

use super::{Features, Lanes, words};
use crate::kernel::job::{Destination, Form, Group, Job, OutputByte};
use crate::kernel::loops::Part;
use crate::kernel::tables::NIBBLES;

/// Proof that the CPU has AVX2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token(());

impl Token {
    pub(in crate::kernel) fn new(features: &Features) -> Option<Self> {
        features.avx2.then_some(Self(()))
    }
}

pub(super) struct Avx2;

/// 32 bytes as low and as high nibbles.
#[derive(Clone, Copy)]
pub(super) struct Nibbled {
    low: __m256i,
    high: __m256i,
}

impl Lanes for Avx2 {
    const BYTES: usize = 32;
    const STREAMS: bool = true;
    type Vector = __m256i;
    type Factor = Nibbled;
    type Table = Nibbled;

    #[inline(always)]
    unsafe fn zero() -> __m256i {
        // SAFETY: the instruction set is there.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m256i {
        // SAFETY: the instruction set and 32 bytes are there.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, n: usize) -> __m256i {
        // SAFETY: the instruction set and n < 32 bytes are there.
        unsafe {
            if n < 16 {
                let [low, high] = words::load_first(from, n);
                return _mm256_set_epi64x(0, 0, high as i64, low as i64);
            }
            let [low, high] = words::load_first(from.add(16), n - 16);
            _mm256_set_m128i(_mm_set_epi64x(high as i64, low as i64), _mm_loadu_si128(from.cast()))
        }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m256i) {
        // SAFETY: the instruction set and 32 bytes are there.
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut u8, vector: __m256i, n: usize) {
        // SAFETY: the instruction set and n < 32 bytes are there.
        unsafe {
            let (mut to, mut part, mut n) = (to, _mm256_castsi256_si128(vector), n);
            if n >= 16 {
                _mm_storeu_si128(to.cast(), part);
                (to, part, n) = (to.add(16), _mm256_extracti128_si256::<1>(vector), n - 16);
            }
            let (low, high) = (_mm_cvtsi128_si64(part), _mm_extract_epi64::<1>(part));
            words::store_first(to, [low as u64, high as u64], n);
        }
    }

    #[inline(always)]
    unsafe fn stream(to: *mut u8, vector: __m256i) {
        // SAFETY: the instruction set and 32 aligned bytes are there. Miri lacks the streaming store.
        unsafe {
            if cfg!(miri) {
                _mm256_store_si256(to.cast(), vector);
            } else {
                _mm256_stream_si256(to.cast(), vector);
            }
        }
    }

    #[inline(always)]
    unsafe fn fence() {
        super::fence();
    }

    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        super::prefetch(from);
    }

    #[inline(always)]
    unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the instruction set is there.
        unsafe { _mm256_xor_si256(a, b) }
    }

    #[inline(always)]
    unsafe fn table(coefficient: u8) -> Nibbled {
        let (halves, _) = NIBBLES.of(coefficient).as_chunks::<16>();
        // SAFETY: the instruction set is there, and each half has 16 bytes.
        unsafe {
            let half = |i: usize| _mm256_broadcastsi128_si256(_mm_loadu_si128(halves[i].as_ptr().cast()));
            Nibbled { low: half(0), high: half(1) }
        }
    }

    #[inline(always)]
    unsafe fn factor(vector: __m256i) -> Nibbled {
        // SAFETY: the instruction set is there.
        unsafe {
            let mask = _mm256_set1_epi8(15);
            Nibbled {
                low: _mm256_and_si256(vector, mask),
                high: _mm256_and_si256(_mm256_srli_epi64::<4>(vector), mask),
            }
        }
    }

    #[inline(always)]
    unsafe fn add(f: Nibbled, g: Nibbled) -> Nibbled {
        // SAFETY: as for this call.
        unsafe { Nibbled { low: Self::xor(f.low, g.low), high: Self::xor(f.high, g.high) } }
    }

    #[inline(always)]
    unsafe fn product(table: Nibbled, factor: Nibbled) -> __m256i {
        // SAFETY: the instruction set is there.
        unsafe {
            Self::xor(
                _mm256_shuffle_epi8(table.low, factor.low),
                _mm256_shuffle_epi8(table.high, factor.high),
            )
        }
    }
}

entries!(
    Avx2, "avx2";
    fixed: [], plain: [1: 4 2, 2: 2 1, 3: 2 1, 4: 2 1], dyadic: [2: 2 1, 3: 1 1, 4: 1 1], six3: 1
);

#[cfg(test)]
kernel_tests!("avx2");
