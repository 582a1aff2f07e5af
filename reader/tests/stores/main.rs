//! What every store promises, tried on each. Another store is one more line here.

mod makers;
#[cfg(feature = "http")]
mod servers;
mod suite;

conformance!(memory, makers::memory);
conformance!(local, makers::local);
#[cfg(feature = "http")]
conformance!(nginx, servers::nginx);
#[cfg(feature = "s3")]
conformance!(s3s, servers::s3s);
