//! Reed-Solomon over GF(2^8), byte for byte what HDFS, ISA-L and Ozone write.
#![no_std]
#![deny(unsafe_code)]

#[cfg(any(test, feature = "alloc"))]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod absorb;
mod cells;
mod code;
mod dyadic;
mod error;
pub mod gf;
mod kernel;
mod layout;
mod matrix;
mod plan;
mod storage;
mod view;

pub use absorb::{Absorber, Frontier};
pub use cells::{CellIter, CellSet};
pub use code::{Code, ReedSolomon};
pub use error::Error;
pub use kernel::{Destination, Kernel, OutputByte};
pub use layout::{Band, Bands, GroupRead, GroupReads, Layout, Piece, Pieces, Position};
pub use matrix::{Matrix, SUBSETS};
pub use plan::RebuildPlan;
pub use storage::{Inline, PlanStorage, code_bytes, plan_bytes};
pub use view::Mismatch;
