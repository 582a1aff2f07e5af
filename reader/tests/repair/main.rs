//! Verifying and repairing files whose objects were tampered with.

mod repairs;
mod verifies;
mod world;
