//! Kernels for x86-64, and which of them this CPU can run.

pub(super) mod avx2;
pub(super) mod avx2_gfni;
pub(super) mod avx512_gfni;
mod cpuid;
pub(super) mod ssse3;

pub(super) use cpuid::Features;

use super::lanes::Lanes;
use super::words;

/// Asks for the line at `from`, which may be any address.
#[inline(always)]
fn prefetch(from: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // Miri has no such instruction.
    if !cfg!(miri) {
        // SAFETY: every x86-64 has the instruction, and it never faults.
        #[allow(unused_unsafe, reason = "safe in later standard libraries")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(from.cast());
        }
    }
}

/// Orders streaming stores before whatever comes next.
#[inline(always)]
fn fence() {
    if !cfg!(miri) {
        // SAFETY: every x86-64 has the instruction.
        #[allow(unused_unsafe, reason = "safe in later standard libraries")]
        unsafe {
            core::arch::x86_64::_mm_sfence();
        }
    }
}
