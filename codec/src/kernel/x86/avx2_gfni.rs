//! AVX2 with GFNI: one affine instruction a product, 32 bytes at a time.

use core::arch::x86_64::*;

use super::avx2::Avx2;
use super::{Features, Lanes};
use crate::kernel::job::{Destination, Form, Group, Job, OutputByte};
use crate::kernel::loops::Part;
use crate::kernel::tables::BIT_MATRIX;

/// Proof that the CPU has AVX2 and GFNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token(());

impl Token {
    pub(in crate::kernel) fn new(features: &Features) -> Option<Self> {
        (features.avx2 && features.gfni).then_some(Self(()))
    }
}

pub(super) struct Avx2Gfni;

impl Lanes for Avx2Gfni {
    const BYTES: usize = Avx2::BYTES;
    const STREAMS: bool = Avx2::STREAMS;
    type Vector = __m256i;
    type Factor = __m256i;
    type Table = __m256i;

    #[inline(always)]
    unsafe fn zero() -> __m256i {
        // SAFETY: as for this call.
        unsafe { Avx2::zero() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m256i {
        // SAFETY: as for this call.
        unsafe { Avx2::load(from) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, n: usize) -> __m256i {
        // SAFETY: as for this call.
        unsafe { Avx2::load_first(from, n) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m256i) {
        // SAFETY: as for this call.
        unsafe { Avx2::store(to, vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut u8, vector: __m256i, n: usize) {
        // SAFETY: as for this call.
        unsafe { Avx2::store_first(to, vector, n) }
    }

    #[inline(always)]
    unsafe fn stream(to: *mut u8, vector: __m256i) {
        // SAFETY: as for this call.
        unsafe { Avx2::stream(to, vector) }
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
        // SAFETY: as for this call.
        unsafe { Avx2::xor(a, b) }
    }

    #[inline(always)]
    unsafe fn table(coefficient: u8) -> __m256i {
        // SAFETY: the instruction set is there.
        unsafe { _mm256_set1_epi64x(BIT_MATRIX[usize::from(coefficient)] as i64) }
    }

    #[inline(always)]
    unsafe fn factor(vector: __m256i) -> __m256i {
        vector
    }

    #[inline(always)]
    unsafe fn add(f: __m256i, g: __m256i) -> __m256i {
        // SAFETY: as for this call.
        unsafe { Avx2::xor(f, g) }
    }

    #[inline(always)]
    unsafe fn product(table: __m256i, factor: __m256i) -> __m256i {
        // SAFETY: the instruction set is there.
        unsafe { _mm256_gf2p8affine_epi64_epi8::<0>(factor, table) }
    }
}

entries!(
    Avx2Gfni, "avx2,gfni";
    fixed: [6 1: 4 1, 3 1: 4 1, 10 1: 4 1, 12 1: 4 1, 3 2: 2 1], plain: [1: 4 2, 2: 4 1, 3: 2 1, 4: 2 1], dyadic: [2: 2 1, 3: 2 1, 4: 2 1], six3: 1
);

#[cfg(test)]
kernel_tests!("avx2-gfni");
