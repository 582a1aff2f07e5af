//! Nodes behind HTTP: our own client, whose requests tell how they are getting on, and reads through `object_store` on it.

mod connector;
mod dial;
mod exchange;
mod failures;
mod objects;
mod pool;
mod ranges;
mod request;
mod tls;

#[cfg(test)]
mod tests;

pub use connector::{Connector, ConnectorOptions};
pub use objects::{ObjectNode, quiet};
