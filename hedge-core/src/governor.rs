//! The governor: whether a late leg may be hedged.

#[cfg_attr(not(test), expect(dead_code, reason = "until the governor asks"))]
mod nodes;

pub use nodes::{NodeHealth, NodeState};
