//! The client against servers written here, which see every connection and every byte.

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod buckets;
mod lies;
mod nginx;
mod peer;
mod requests;
mod reuse;
mod script;
mod secrets;
mod stages;
#[cfg(feature = "tls")]
mod tls;
mod writes;
