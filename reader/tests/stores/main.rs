//! What every store promises, tried on each. Another store is one more line here.

mod makers;
mod suite;

conformance!(memory, makers::memory);
conformance!(local, makers::local);
