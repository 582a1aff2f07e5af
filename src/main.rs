//! The command `hedgerow`.
#![forbid(unsafe_code)]

mod demo;

fn main() {}
