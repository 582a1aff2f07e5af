//! What the CPU can do and the operating system saves, without the standard library.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

/// Instruction sets that kernels need.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::kernel) struct Features {
    pub(super) ssse3: bool,
    pub(super) avx2: bool,
    /// GFNI, in the vectors that the other fields allow.
    pub(super) gfni: bool,
    /// AVX-512 F, BW and VL.
    pub(super) avx512: bool,
}

impl Features {
    /// Asks the CPU. In a virtual machine each question goes to the host: some 10 microseconds in all.
    pub(in crate::kernel) fn detect() -> Self {
        // Miri has no CPUID: what the build enables is what there is.
        if cfg!(miri) {
            return Self {
                ssse3: cfg!(target_feature = "ssse3"),
                avx2: cfg!(target_feature = "avx2"),
                gfni: cfg!(target_feature = "gfni"),
                avx512: cfg!(all(
                    target_feature = "avx512f",
                    target_feature = "avx512bw",
                    target_feature = "avx512vl"
                )),
            };
        }
        let bit = |register: u32, bit: u32| register >> bit & 1 == 1;
        // SAFETY: every x86-64 has CPUID and its leaves 0 and 1.
        #[allow(unused_unsafe, reason = "safe in later standard libraries")]
        let (leaves, basic) = unsafe { (__cpuid(0).eax, __cpuid(1)) };
        let mut features = Self { ssse3: bit(basic.ecx, 9), ..Self::default() };
        let (saves_state, avx) = (bit(basic.ecx, 27), bit(basic.ecx, 28));
        if leaves < 7 || !saves_state || !avx {
            return features;
        }
        // SAFETY: XGETBV exists where the operating system saves extended state.
        let state = unsafe { extended_state() };
        // SAFETY: leaf 7 exists, as compared above.
        #[allow(unused_unsafe, reason = "safe in later standard libraries")]
        let extended = unsafe { __cpuid_count(7, 0) };
        let (ymm, zmm) = (state & 0x06 == 0x06, state & 0xe6 == 0xe6);
        features.avx2 = ymm && bit(extended.ebx, 5);
        features.gfni = bit(extended.ecx, 8);
        features.avx512 =
            features.avx2 && zmm && bit(extended.ebx, 16) && bit(extended.ebx, 30) && bit(extended.ebx, 31);
        features
    }
}

/// Register states that the operating system saves (XCR0).
#[target_feature(enable = "xsave")]
fn extended_state() -> u64 {
    // SAFETY: the instruction set is enabled here.
    #[allow(unused_unsafe, reason = "safe in later standard libraries")]
    unsafe {
        _xgetbv(0)
    }
}
