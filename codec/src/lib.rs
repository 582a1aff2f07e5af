//! Reed-Solomon over GF(2^8), byte for byte what HDFS, ISA-L and Ozone write.
#![no_std]
#![deny(unsafe_code)]

#[cfg(any(test, feature = "alloc"))]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod cells;
mod error;
mod layout;

pub use cells::{CellIter, CellSet};
pub use error::Error;
pub use layout::{Band, Bands, GroupRead, GroupReads, Layout, Piece, Pieces, Position};
