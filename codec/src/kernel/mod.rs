//! Kernels: the loops that turn coefficients and sources into outputs, one for each instruction set.
//!
//! All `unsafe` of the crate is below this folder. A [`Kernel`] can be had only where the CPU runs it, so safe code
//! can't call an instruction that is not there.
#![allow(unsafe_code)]

#[macro_use]
mod entry;
#[cfg(test)]
#[macro_use]
mod testing;
#[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
mod arm;
mod job;
mod lanes;
mod loops;
mod outputs;
mod scalar;
mod sums;
mod tables;
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
mod words;
#[cfg(target_arch = "x86_64")]
mod x86;

use core::fmt;

pub use job::{Destination, OutputByte};
pub(crate) use job::{Form, Group, Job};
pub(crate) use outputs::Outputs;

/// Bytes of each cell that are computed at a time where there are more outputs than one pass makes.
const STEP: usize = 16 * 1024;

/// Which instruction set computes. Bytes are the same with every kernel; the speed is not.
///
/// A kernel is a small value to detect once and pass on: asking the CPU takes some 10 microseconds in a virtual
/// machine, so no other call of this crate does it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Scalar(scalar::Token),
    #[cfg(target_arch = "x86_64")]
    Ssse3(x86::ssse3::Token),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::avx2::Token),
    #[cfg(target_arch = "x86_64")]
    Avx2Gfni(x86::avx2_gfni::Token),
    #[cfg(target_arch = "x86_64")]
    Avx512Gfni(x86::avx512_gfni::Token),
    #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
    Neon(arm::neon::Token),
    #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
    NeonEor3(arm::neon_eor3::Token),
}

/// Calls `$function` of the kernel's own file with its token and the arguments.
macro_rules! dispatch {
    ($kernel:expr, $function:ident($($argument:expr),*)) => {
        match $kernel.0 {
            Kind::Scalar(token) => scalar::$function(token, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Kind::Ssse3(token) => x86::ssse3::$function(token, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => x86::avx2::$function(token, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2Gfni(token) => x86::avx2_gfni::$function(token, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Gfni(token) => x86::avx512_gfni::$function(token, $($argument),*),
            #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
            Kind::Neon(token) => arm::neon::$function(token, $($argument),*),
            #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
            Kind::NeonEor3(token) => arm::neon_eor3::$function(token, $($argument),*),
        }
    };
}

impl Kernel {
    /// The portable kernel, which every CPU runs.
    pub const SCALAR: Self = Self(Kind::Scalar(scalar::Token));

    /// The fastest kernel that this CPU and operating system run. Without the feature `std` the three-way XOR of arm64 is found only
    /// where the build enables `sha3`.
    #[must_use]
    pub fn detect() -> Self {
        Self::available().last().unwrap_or(Self::SCALAR)
    }

    /// Every kernel that this CPU and operating system run, the slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let found = {
            let features = x86::Features::detect();
            [
                x86::ssse3::Token::new(&features).map(Kind::Ssse3),
                x86::avx2::Token::new(&features).map(Kind::Avx2),
                x86::avx2_gfni::Token::new(&features).map(Kind::Avx2Gfni),
                x86::avx512_gfni::Token::new(&features).map(Kind::Avx512Gfni),
            ]
        };
        #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
        let found =
            [Some(Kind::Neon(arm::neon::Token::BASELINE)), arm::neon_eor3::Token::new().map(Kind::NeonEor3)];
        #[cfg(not(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_endian = "little", target_feature = "neon")
        )))]
        let found: [Option<Kind>; 0] = [];
        core::iter::once(Self::SCALAR).chain(found.into_iter().flatten().map(Self))
    }

    /// The kernel's name: `scalar`, `ssse3`, `avx2`, `avx2-gfni`, `avx512-gfni`, `neon` or `neon-eor3`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar(_) => "scalar",
            #[cfg(target_arch = "x86_64")]
            Kind::Ssse3(_) => "ssse3",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2Gfni(_) => "avx2-gfni",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Gfni(_) => "avx512-gfni",
            #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
            Kind::Neon(_) => "neon",
            #[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
            Kind::NeonEor3(_) => "neon-eor3",
        }
    }

    /// The kernel with this name, where this CPU and operating system run it.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::available().find(|kernel| kernel.name() == name)
    }

    /// outputs = coefficients x sources. The groups stand for the outputs in order.
    #[inline(always)]
    pub(crate) fn write<'a, B: OutputByte>(
        self,
        groups: impl Iterator<Item = Group<'a>> + Clone,
        job: &mut Job<'_, '_, B>,
        to: Destination,
    ) {
        if job.outputs() <= 4 {
            return self.write_groups(groups, job, to);
        }
        // Each group reads all sources: a step at a time, so that all but the first find them in the cache.
        job.in_steps(STEP, |job| self.write_groups(groups.clone(), job, to));
    }

    #[inline(always)]
    fn write_groups<'a, B: OutputByte>(
        self,
        groups: impl Iterator<Item = Group<'a>>,
        job: &mut Job<'_, '_, B>,
        to: Destination,
    ) {
        let mut row = 0;
        for group in groups {
            if row + group.rows > job.outputs() {
                return;
            }
            dispatch!(self, write(job, row, &group, to));
            row += group.rows;
        }
    }

    /// outputs += coefficients x sources, for plain groups.
    #[inline(always)]
    pub(crate) fn add<'a>(self, groups: impl Iterator<Item = Group<'a>>, job: &mut Job<'_, '_, u8>) {
        let mut row = 0;
        for group in groups {
            if row + group.rows > job.outputs() {
                return;
            }
            dispatch!(self, add(job, row, &group));
            row += group.rows;
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
