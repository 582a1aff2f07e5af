//! Nodes behind HTTP: our own client, whose requests tell how they are getting on, and reads through `object_store` on it.

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod buckets;
mod connector;
mod dial;
mod exchange;
mod failures;
mod listing;
mod nodes;
mod objects;
mod pool;
mod ranges;
mod request;
mod server;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod settings;
mod tls;
mod write;

#[cfg(test)]
mod tests;

pub use connector::{Connector, ConnectorOptions};
pub(super) use nodes::{bucket_node, server_node};
pub use objects::{ObjectNode, quiet};
