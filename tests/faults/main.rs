//! Reads from real servers, as processes of their own, that have every fault: right bytes, without waiting for the bad nodes, and nothing left.

mod each;
mod edges;
mod lost;
mod manifests;
mod midway;
mod writes;

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/cluster.rs"]
#[allow(dead_code)] // Each test file uses a part.
mod cluster;
