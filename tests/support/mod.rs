//! What tests with real processes share.

#[path = "../../src/serve/child.rs"]
#[allow(dead_code)] // Each test file uses a part.
mod child;

pub(crate) use child::ServerProcess;

/// The command under test.
pub(crate) const HEDGEROW: &str = env!("CARGO_BIN_EXE_hedgerow");
