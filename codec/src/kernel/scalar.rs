//! The portable kernel: two table look-ups a byte, eight bytes at a time.

use super::job::{Destination, Form, Group, Job, OutputByte};
use super::lanes::Lanes;
use super::loops::Part;
use super::tables::NIBBLES;

/// Every CPU runs this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token;

pub(super) struct Scalar;

impl Lanes for Scalar {
    const BYTES: usize = 8;
    type Vector = [u8; 8];
    type Factor = [u8; 8];
    type Table = &'static [u8; 32];

    #[inline(always)]
    unsafe fn zero() -> [u8; 8] {
        [0; 8]
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> [u8; 8] {
        // SAFETY: eight bytes can be read; an array of bytes has no alignment.
        unsafe { from.cast::<[u8; 8]>().read() }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, n: usize) -> [u8; 8] {
        let mut vector = [0; 8];
        // SAFETY: n < 8 bytes can be read.
        vector[..n].copy_from_slice(unsafe { core::slice::from_raw_parts(from, n) });
        vector
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: [u8; 8]) {
        // SAFETY: eight bytes can be written; an array of bytes has no alignment.
        unsafe { to.cast::<[u8; 8]>().write(vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut u8, vector: [u8; 8], n: usize) {
        // SAFETY: n < 8 bytes can be written, and a local array is no part of them.
        unsafe { core::ptr::copy_nonoverlapping(vector.as_ptr(), to, n) }
    }

    #[inline(always)]
    unsafe fn xor(a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
        (u64::from_ne_bytes(a) ^ u64::from_ne_bytes(b)).to_ne_bytes()
    }

    #[inline(always)]
    unsafe fn table(coefficient: u8) -> Self::Table {
        NIBBLES.of(coefficient)
    }

    #[inline(always)]
    unsafe fn factor(vector: [u8; 8]) -> [u8; 8] {
        vector
    }

    #[inline(always)]
    unsafe fn add(f: [u8; 8], g: [u8; 8]) -> [u8; 8] {
        // SAFETY: nothing is asked of the CPU.
        unsafe { Self::xor(f, g) }
    }

    #[inline(always)]
    unsafe fn product(table: Self::Table, mut factor: [u8; 8]) -> [u8; 8] {
        for byte in &mut factor {
            *byte = table[usize::from(*byte & 15)] ^ table[16 + usize::from(*byte >> 4)];
        }
        factor
    }
}

entries!(Scalar; fixed: [], plain: [1: 1 1, 2: 1 1, 3: 1 1, 4: 1 1], dyadic: [2: 1 1, 3: 1 1, 4: 1 1], six3: 1);

#[cfg(test)]
kernel_tests!("scalar");
