//! NEON: two table look-ups a product, 16 bytes at a time.

use core::arch::aarch64::*;

use super::{Lanes, words};
use crate::kernel::job::{Destination, Form, Group, Job, OutputByte};
use crate::kernel::loops::Part;
use crate::kernel::tables::NIBBLES;

/// NEON is part of the targets that this file is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token(());

impl Token {
    pub(in crate::kernel) const BASELINE: Self = Self(());
}

pub(super) struct Neon;

/// 16 bytes as low and as high nibbles.
#[derive(Clone, Copy)]
pub(super) struct Nibbled {
    pub(super) low: uint8x16_t,
    pub(super) high: uint8x16_t,
}

impl Lanes for Neon {
    const BYTES: usize = 16;
    type Vector = uint8x16_t;
    type Factor = Nibbled;
    type Table = Nibbled;

    #[inline(always)]
    unsafe fn zero() -> uint8x16_t {
        // SAFETY: the instruction set is there.
        unsafe { vdupq_n_u8(0) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> uint8x16_t {
        // SAFETY: the instruction set and 16 bytes are there.
        unsafe { vld1q_u8(from) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, n: usize) -> uint8x16_t {
        // SAFETY: the instruction set and n < 16 bytes are there.
        unsafe {
            let [low, high] = words::load_first(from, n);
            vcombine_u8(vcreate_u8(low), vcreate_u8(high))
        }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: uint8x16_t) {
        // SAFETY: the instruction set and 16 bytes are there.
        unsafe { vst1q_u8(to, vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut u8, vector: uint8x16_t, n: usize) {
        // SAFETY: the instruction set and n < 16 bytes are there.
        unsafe {
            let two = vreinterpretq_u64_u8(vector);
            words::store_first(to, [vgetq_lane_u64::<0>(two), vgetq_lane_u64::<1>(two)], n);
        }
    }

    #[inline(always)]
    unsafe fn xor(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        // SAFETY: the instruction set is there.
        unsafe { veorq_u8(a, b) }
    }

    #[inline(always)]
    unsafe fn table(coefficient: u8) -> Nibbled {
        let (halves, _) = NIBBLES.of(coefficient).as_chunks::<16>();
        // SAFETY: the instruction set is there, and each half has 16 bytes.
        unsafe { Nibbled { low: vld1q_u8(halves[0].as_ptr()), high: vld1q_u8(halves[1].as_ptr()) } }
    }

    #[inline(always)]
    unsafe fn factor(vector: uint8x16_t) -> Nibbled {
        // SAFETY: the instruction set is there.
        unsafe { Nibbled { low: vandq_u8(vector, vdupq_n_u8(15)), high: vshrq_n_u8::<4>(vector) } }
    }

    #[inline(always)]
    unsafe fn add(f: Nibbled, g: Nibbled) -> Nibbled {
        // SAFETY: as for this call.
        unsafe { Nibbled { low: Self::xor(f.low, g.low), high: Self::xor(f.high, g.high) } }
    }

    #[inline(always)]
    unsafe fn product(table: Nibbled, factor: Nibbled) -> uint8x16_t {
        // SAFETY: the instruction set is there.
        unsafe { veorq_u8(vqtbl1q_u8(table.low, factor.low), vqtbl1q_u8(table.high, factor.high)) }
    }
}

entries!(
    Neon, "neon";
    fixed: [3 1: 8 2, 3 2: 2 1, 6 1: 6 2, 6 2: 2 1, 10 1: 4 1], plain: [1: 6 2, 2: 4 1, 3: 2 1, 4: 2 1], dyadic: [2: 4 1, 3: 2 1, 4: 2 1], six3: 1
);

#[cfg(test)]
kernel_tests!("neon");
