//! SSSE3: two shuffles a product, 16 bytes at a time.

use core::arch::x86_64::*;

use super::{Features, Lanes, words};
use crate::kernel::job::{Destination, Form, Group, Job, OutputByte};
use crate::kernel::loops::Part;
use crate::kernel::tables::NIBBLES;

/// Proof that the CPU has SSSE3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token(());

impl Token {
    pub(in crate::kernel) fn new(features: &Features) -> Option<Self> {
        features.ssse3.then_some(Self(()))
    }
}

pub(super) struct Ssse3;

/// 16 bytes as low and as high nibbles.
#[derive(Clone, Copy)]
pub(super) struct Nibbled {
    low: __m128i,
    high: __m128i,
}

impl Lanes for Ssse3 {
    const BYTES: usize = 16;
    const STREAMS: bool = true;
    type Vector = __m128i;
    type Factor = Nibbled;
    type Table = Nibbled;

    #[inline(always)]
    unsafe fn zero() -> __m128i {
        // SAFETY: the instruction set is there.
        unsafe { _mm_setzero_si128() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m128i {
        // SAFETY: the instruction set and 16 bytes are there.
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, n: usize) -> __m128i {
        // SAFETY: the instruction set and n < 16 bytes are there.
        unsafe {
            let [low, high] = words::load_first(from, n);
            _mm_set_epi64x(high as i64, low as i64)
        }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m128i) {
        // SAFETY: the instruction set and 16 bytes are there.
        unsafe { _mm_storeu_si128(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut u8, vector: __m128i, n: usize) {
        // SAFETY: the instruction set and n < 16 bytes are there.
        unsafe {
            let (low, high) =
                (_mm_cvtsi128_si64(vector), _mm_cvtsi128_si64(_mm_unpackhi_epi64(vector, vector)));
            words::store_first(to, [low as u64, high as u64], n);
        }
    }

    #[inline(always)]
    unsafe fn stream(to: *mut u8, vector: __m128i) {
        // SAFETY: the instruction set and 16 aligned bytes are there. Miri lacks the streaming store.
        unsafe {
            if cfg!(miri) {
                _mm_store_si128(to.cast(), vector);
            } else {
                _mm_stream_si128(to.cast(), vector);
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
    unsafe fn xor(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: the instruction set is there.
        unsafe { _mm_xor_si128(a, b) }
    }

    #[inline(always)]
    unsafe fn table(coefficient: u8) -> Nibbled {
        let (halves, _) = NIBBLES.of(coefficient).as_chunks::<16>();
        // SAFETY: the instruction set is there, and each half has 16 bytes.
        unsafe {
            let half = |i: usize| _mm_loadu_si128(halves[i].as_ptr().cast());
            Nibbled { low: half(0), high: half(1) }
        }
    }

    #[inline(always)]
    unsafe fn factor(vector: __m128i) -> Nibbled {
        // SAFETY: the instruction set is there.
        unsafe {
            let mask = _mm_set1_epi8(15);
            Nibbled {
                low: _mm_and_si128(vector, mask),
                high: _mm_and_si128(_mm_srli_epi64::<4>(vector), mask),
            }
        }
    }

    #[inline(always)]
    unsafe fn add(f: Nibbled, g: Nibbled) -> Nibbled {
        // SAFETY: as for this call.
        unsafe { Nibbled { low: Self::xor(f.low, g.low), high: Self::xor(f.high, g.high) } }
    }

    #[inline(always)]
    unsafe fn product(table: Nibbled, factor: Nibbled) -> __m128i {
        // SAFETY: the instruction set is there.
        unsafe {
            Self::xor(_mm_shuffle_epi8(table.low, factor.low), _mm_shuffle_epi8(table.high, factor.high))
        }
    }
}

entries!(
    Ssse3, "ssse3";
    fixed: [], plain: [1: 4 2, 2: 2 1, 3: 2 1, 4: 1 1], dyadic: [2: 2 1, 3: 1 1, 4: 1 1], six3: 1
);

#[cfg(test)]
kernel_tests!("ssse3");
