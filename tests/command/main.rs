//! The command as a person runs it: real processes, on folders, pipes, servers and signals.

mod damage;
mod machines;
mod refusals;
mod roundtrip;
mod secrets;
mod setup;
#[cfg(unix)]
mod signals;
