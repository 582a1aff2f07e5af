//! What the clients of one cluster learn together: when hedging is worth its price.

#![allow(dead_code, reason = "until the governor joins its parts")]

mod breaker;
mod budget;
mod counters;
mod nodes;
mod rate;
mod threshold;

pub use breaker::BreakerState;
pub use counters::Counters;
pub use nodes::{NodeHealth, NodeState};
