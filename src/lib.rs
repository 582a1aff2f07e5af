//! Hedgerow: reads of erasure-coded data that never wait for the slow node.
#![forbid(unsafe_code)]

#[doc(inline)]
pub use hedge_core;
#[doc(inline)]
pub use hedgerow_codec as codec;
#[doc(inline)]
pub use hedgerow_fleet as fleet;
#[doc(inline)]
pub use hedgerow_reader as reader;
#[doc(inline)]
pub use hedgerow_sim as sim;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/planning.md")]
struct Planning;
