//! Kernels for arm64.

pub(super) mod neon;
pub(super) mod neon_eor3;

use super::lanes::Lanes;
use super::words;
