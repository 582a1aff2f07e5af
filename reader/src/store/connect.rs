//! From the address of a node, and what belongs to it, to the node.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::address::{Address, AddressError, Place};
use super::{LocalStore, NodeStore};

/// What belongs to a node besides its address: credentials, headers, certificates. `Debug` shows names, never values.
#[derive(Clone)]
#[non_exhaustive]
pub struct NodeOptions {
    /// Options of S3, Google Cloud Storage and Azure, by the names that `object_store` has for them: `access_key_id`,
    /// `secret_access_key`, `region`, `endpoint`, `allow_http`, `virtual_hosted_style_request`… Names that begin with
    /// `aws_`, `google_` or `azure_` count for that cloud alone. Other nodes ignore them.
    pub settings: Vec<(String, String)>,
    /// Whether the variables of the environment count too (`AWS_…`, `GOOGLE_…`, `AZURE_…`), where [`settings`](Self::settings)
    /// do not say otherwise. Credentials come from one of the two, never from both. Yes by default.
    pub environment: bool,
    /// Headers that go with every request to the node, and nowhere else. Ignored by folders.
    pub headers: Vec<(String, String)>,
    /// The token of `Authorization: Bearer`, for plain HTTP.
    pub bearer: Option<String>,
    /// User and password of `Authorization: Basic`, for plain HTTP; before those of the address.
    pub basic: Option<(String, String)>,
    /// A file of PEM certificates to trust besides those of the system.
    pub roots: Option<PathBuf>,
    /// Files of the PEM certificate that this client shows, and of its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            settings: Vec::new(),
            environment: true,
            headers: Vec::new(),
            bearer: None,
            basic: None,
            roots: None,
            identity: None,
        }
    }
}

impl fmt::Debug for NodeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("NodeOptions")
            .field("settings", &names(&self.settings))
            .field("environment", &self.environment)
            .field("headers", &names(&self.headers))
            .field("bearer", &self.bearer.is_some())
            .field("basic", &self.basic.is_some())
            .field("roots", &self.roots)
            .field("identity", &self.identity)
            .finish()
    }
}

/// The node at `address`. Opens no connection: whether there is such a node shows with its first use.
///
/// # Errors
///
/// [`AddressError`]: an option that can't be right, a file of certificates that can't be read, a feature that this build
/// lacks.
pub fn connect(address: &Address, options: &NodeOptions) -> Result<Arc<dyn NodeStore>, AddressError> {
    match address.place() {
        Place::Folder(path) => Ok(Arc::new(LocalStore::new(path))),
        #[cfg(feature = "http")]
        Place::Server(server) => super::http::server_node(address, server, options),
        #[cfg(feature = "http")]
        Place::Bucket(bucket) => super::http::bucket_node(address, bucket, options),
        #[cfg(not(feature = "http"))]
        Place::Server(_) => Err(AddressError::Feature { address: address.to_string(), feature: "http" }),
        #[cfg(not(feature = "http"))]
        Place::Bucket(bucket) => {
            Err(AddressError::Feature { address: address.to_string(), feature: bucket.cloud.feature() })
        }
    }
}
