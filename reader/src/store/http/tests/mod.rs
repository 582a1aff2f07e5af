//! The client against servers written here, which see every connection and every byte.

mod lies;
mod nginx;
mod peer;
mod requests;
mod reuse;
mod stages;
#[cfg(feature = "tls")]
mod tls;
