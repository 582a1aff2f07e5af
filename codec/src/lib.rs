//! Reed-Solomon over GF(2^8), byte for byte what HDFS, ISA-L and Ozone write: `no_std`, without allocation, at the speed of
//! memory.
//!
//! A *stripe* has k *data cells* and m *parity cells* of one length; any k of them determine the rest. Cells are numbered 0 to k - 1
//! (data) and k to k + m - 1 (parity) everywhere.
//!
//! - [`ReedSolomon`] is a code with k and m in its type, [`Code`] one with k and m chosen at run time; [`Matrix`] says which
//!   bytes they write.
//! - [`RebuildPlan`] says how lost cells are computed from others; it runs on any byte range. [`Absorber`] and [`Frontier`] do it while the
//!   sources still arrive.
//! - [`Kernel`] is the instruction set that computes, detected once by the caller.
//! - [`Layout`] is the striped layout of HDFS: which byte of a file lies in which cell, and what to read for a byte range.
//!
//! Nothing is assumed of the caller's buffers: any alignment, any length (0 too), and sources may be the same slice twice. A call
//! that returns an [`Error`] has written nothing.
//!
//! Where speed matters: cells of which all start at the same offset modulo 64 are fastest, aligned or not; a cell that is not read soon is
//! written past the caches ([`Destination::NotReadSoon`]); a parity cell that is checksummed at once is made in slices
//! ([`ReedSolomon::encode_slices`]).
//!
//! # Features
//! - `alloc`: codes and plans in boxes.
//! - `std`: finds the three-way XOR of arm64 at run time; includes `alloc`.
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

pub use absorb::{Absorber, AbsorberInto, Frontier};
pub use cells::{CellIter, CellSet};
pub use code::{Code, ReedSolomon};
pub use error::Error;
pub use kernel::{Destination, Kernel, OutputByte};
pub use layout::{Band, Bands, GroupRead, GroupReads, Layout, Piece, Pieces, Position};
pub use matrix::{Matrix, SUBSETS};
pub use plan::RebuildPlan;
pub use storage::{Inline, PlanStorage, code_bytes, plan_bytes};
pub use view::Mismatch;
