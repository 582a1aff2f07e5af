//! AVX-512 with GFNI: one affine instruction a product, 64 bytes at a time, masked heads and tails.

use core::arch::x86_64::*;

use super::{Features, Lanes};
use crate::kernel::job::{Destination, Form, Group, Job, OutputByte};
use crate::kernel::loops::Part;
use crate::kernel::tables::BIT_MATRIX;

/// Proof that the CPU has AVX-512 F, BW and VL, and GFNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token(());

impl Token {
    pub(in crate::kernel) fn new(features: &Features) -> Option<Self> {
        (features.avx512 && features.gfni).then_some(Self(()))
    }
}

pub(super) struct Avx512;

/// The first `n` < 64 bytes.
#[inline(always)]
fn first(n: usize) -> __mmask64 {
    !(!0 << n)
}

impl Lanes for Avx512 {
    const BYTES: usize = 64;
    const MASKED: bool = true;
    const STREAMS: bool = true;
    type Vector = __m512i;
    type Factor = __m512i;
    type Table = __m512i;

    #[inline(always)]
    unsafe fn zero() -> __m512i {
        // SAFETY: the instruction set is there.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m512i {
        // SAFETY: the instruction set and 64 bytes are there.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, n: usize) -> __m512i {
        // SAFETY: the instruction set and n bytes are there; the mask names no other.
        unsafe { _mm512_maskz_loadu_epi8(first(n), from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m512i) {
        // SAFETY: the instruction set and 64 bytes are there.
        unsafe { _mm512_storeu_si512(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut u8, vector: __m512i, n: usize) {
        // SAFETY: the instruction set and n bytes are there; the mask names no other.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), first(n), vector) }
    }

    #[inline(always)]
    unsafe fn stream(to: *mut u8, vector: __m512i) {
        // SAFETY: the instruction set and 64 aligned bytes are there. Miri lacks the streaming store.
        unsafe {
            if cfg!(miri) {
                _mm512_store_si512(to.cast(), vector);
            } else {
                _mm512_stream_si512(to.cast(), vector);
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
    unsafe fn xor(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the instruction set is there. Two of these become one three-way XOR.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    unsafe fn table(coefficient: u8) -> __m512i {
        // SAFETY: the instruction set is there.
        unsafe { _mm512_set1_epi64(BIT_MATRIX[usize::from(coefficient)] as i64) }
    }

    #[inline(always)]
    unsafe fn factor(vector: __m512i) -> __m512i {
        vector
    }

    #[inline(always)]
    unsafe fn add(f: __m512i, g: __m512i) -> __m512i {
        // SAFETY: the instruction set is there.
        unsafe { _mm512_xor_si512(f, g) }
    }

    #[inline(always)]
    unsafe fn product(table: __m512i, factor: __m512i) -> __m512i {
        // SAFETY: the instruction set is there.
        unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(factor, table) }
    }
}

entries!(
    Avx512, "avx512f,avx512bw,avx512vl,gfni";
    fixed: [6 1: 4 1, 3 1: 4 1, 10 1: 4 1, 12 1: 4 1, 3 2: 4 1, 6 2: 2 1], plain: [1: 8 2, 2: 4 2, 3: 4 2, 4: 4 2], dyadic: [2: 4 2, 3: 2 1, 4: 2 1], six3: 2
);

#[cfg(test)]
kernel_tests!("avx512-gfni");
