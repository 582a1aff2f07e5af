//! NEON with the three-way XOR of the SHA3 extension: both look-ups of a product meet the sum in one instruction.

use core::arch::aarch64::*;

use super::Lanes;
use super::neon::{Neon, Nibbled};
use crate::kernel::job::{Destination, Form, Group, Job, OutputByte};
use crate::kernel::loops::Part;

/// Proof that the CPU has the SHA3 extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token(());

impl Token {
    /// Asks the operating system where the standard library is at hand; else what the build enables is what there is.
    pub(in crate::kernel) fn new() -> Option<Self> {
        #[cfg(all(feature = "std", not(miri)))]
        let there = std::arch::is_aarch64_feature_detected!("sha3");
        #[cfg(not(all(feature = "std", not(miri))))]
        let there = cfg!(target_feature = "sha3");
        there.then_some(Self(()))
    }
}

pub(super) struct NeonEor3;

/// The three-way XOR. It has the features itself, so that it is inlined where they are enabled.
#[inline]
#[target_feature(enable = "neon,sha3")]
fn three(a: uint8x16_t, b: uint8x16_t, c: uint8x16_t) -> uint8x16_t {
    // SAFETY: the instruction set is enabled here. Miri lacks the instruction.
    #[allow(unused_unsafe, reason = "safe in later standard libraries")]
    unsafe {
        if cfg!(miri) { veorq_u8(veorq_u8(a, b), c) } else { veor3q_u8(a, b, c) }
    }
}

impl Lanes for NeonEor3 {
    const BYTES: usize = Neon::BYTES;
    type Vector = uint8x16_t;
    type Factor = Nibbled;
    type Table = Nibbled;

    #[inline(always)]
    unsafe fn zero() -> uint8x16_t {
        // SAFETY: as for this call.
        unsafe { Neon::zero() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> uint8x16_t {
        // SAFETY: as for this call.
        unsafe { Neon::load(from) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, n: usize) -> uint8x16_t {
        // SAFETY: as for this call.
        unsafe { Neon::load_first(from, n) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: uint8x16_t) {
        // SAFETY: as for this call.
        unsafe { Neon::store(to, vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut u8, vector: uint8x16_t, n: usize) {
        // SAFETY: as for this call.
        unsafe { Neon::store_first(to, vector, n) }
    }

    #[inline(always)]
    unsafe fn xor(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        // SAFETY: as for this call.
        unsafe { Neon::xor(a, b) }
    }

    #[inline(always)]
    unsafe fn table(coefficient: u8) -> Nibbled {
        // SAFETY: as for this call.
        unsafe { Neon::table(coefficient) }
    }

    #[inline(always)]
    unsafe fn factor(vector: uint8x16_t) -> Nibbled {
        // SAFETY: as for this call.
        unsafe { Neon::factor(vector) }
    }

    #[inline(always)]
    unsafe fn add(f: Nibbled, g: Nibbled) -> Nibbled {
        // SAFETY: as for this call.
        unsafe { Neon::add(f, g) }
    }

    #[inline(always)]
    unsafe fn product(table: Nibbled, factor: Nibbled) -> uint8x16_t {
        // SAFETY: as for this call.
        unsafe { Neon::product(table, factor) }
    }

    #[inline(always)]
    unsafe fn plus(sum: uint8x16_t, table: Nibbled, factor: Nibbled) -> uint8x16_t {
        // SAFETY: the instruction set is there.
        unsafe { three(sum, vqtbl1q_u8(table.low, factor.low), vqtbl1q_u8(table.high, factor.high)) }
    }

    #[inline(always)]
    unsafe fn plus_two(
        sum: uint8x16_t,
        (t, f): (Nibbled, Nibbled),
        (u, g): (Nibbled, Nibbled),
    ) -> uint8x16_t {
        // SAFETY: as for this call.
        unsafe { Self::plus(Self::plus(sum, t, f), u, g) }
    }
}

entries!(
    NeonEor3, "neon,sha3";
    fixed: [3 1: 8 2, 3 2: 2 1, 6 1: 6 2, 6 2: 2 1, 10 1: 4 1], plain: [1: 6 2, 2: 4 1, 3: 3 1, 4: 2 1], dyadic: [2: 3 1, 3: 2 1, 4: 2 1], six3: 1
);

#[cfg(test)]
kernel_tests!("neon-eor3");
