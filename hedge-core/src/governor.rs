//! What the clients of one cluster learn together: when hedging is worth its price.

#[allow(dead_code)]
mod threshold;
