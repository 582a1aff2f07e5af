//! The builders of `object_store` for buckets, fed with checked settings.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, ObjectStore};

use super::connector::Connector;
use super::objects::quiet;
use super::settings::{Settings, settings};
use crate::store::address::{Address, AddressError, Bucket, Cloud};
use crate::store::connect::NodeOptions;
use crate::store::secrets::Secrets;

/// A bucket that lacks only its connections.
pub(super) struct Open {
    /// Host and port, where the caller or the environment set them.
    pub(super) endpoint: Option<String>,
    pub(super) build: Build,
}

type Build = Box<dyn FnOnce(Connector) -> object_store::Result<Arc<dyn ObjectStore>>>;

/// The bucket, with what the caller and the environment say of it.
pub(super) fn open(
    address: &Address,
    bucket: &Bucket,
    options: &NodeOptions,
    secrets: &mut Secrets,
) -> Result<Open, AddressError> {
    let name = bucket.name.clone();
    let (endpoint, build): (_, Build) = match bucket.cloud {
        #[cfg(feature = "s3")]
        Cloud::S3 => {
            let (endpoint, builder) = filled(
                settings(address, bucket.cloud, options, secrets)?,
                object_store::aws::AmazonS3Builder::new(),
                |builder, key, value| builder.with_config(key, value),
            );
            let build = move |connector: Connector| {
                let (retry, client) = quiet();
                let builder = builder
                    .with_bucket_name(name)
                    // Not every store of this protocol has the request that deletes many.
                    .with_disable_bulk_delete(true)
                    .with_retry(retry)
                    .with_client_options(client)
                    .with_http_connector(Bounded(connector));
                Ok(Arc::new(builder.build()?) as Arc<dyn ObjectStore>)
            };
            (endpoint, Box::new(build))
        }
        #[cfg(feature = "gcs")]
        Cloud::Gcs => {
            let (endpoint, builder) = filled(
                settings(address, bucket.cloud, options, secrets)?,
                object_store::gcp::GoogleCloudStorageBuilder::new(),
                |builder, key, value| builder.with_config(key, value),
            );
            let build = move |connector: Connector| {
                let (retry, client) = quiet();
                let builder = builder
                    .with_bucket_name(name)
                    .with_retry(retry)
                    .with_client_options(client)
                    .with_http_connector(Bounded(connector));
                Ok(Arc::new(builder.build()?) as Arc<dyn ObjectStore>)
            };
            (endpoint, Box::new(build))
        }
        #[cfg(feature = "azure")]
        Cloud::Azure => {
            let (endpoint, builder) = filled(
                settings(address, bucket.cloud, options, secrets)?,
                object_store::azure::MicrosoftAzureBuilder::new(),
                |builder, key, value| builder.with_config(key, value),
            );
            let build = move |connector: Connector| {
                let (retry, client) = quiet();
                let builder = builder
                    .with_container_name(name)
                    .with_retry(retry)
                    .with_client_options(client)
                    .with_http_connector(Bounded(connector));
                Ok(Arc::new(builder.build()?) as Arc<dyn ObjectStore>)
            };
            (endpoint, Box::new(build))
        }
        #[cfg(not(all(feature = "s3", feature = "gcs", feature = "azure")))]
        cloud => {
            return Err(AddressError::Feature { address: address.to_string(), feature: cloud.feature() });
        }
    };
    Ok(Open { endpoint, build })
}

/// The builder with all settings in it, and where the bucket is.
fn filled<B, K>(settings: Settings<K>, builder: B, set: impl Fn(B, K, String) -> B) -> (Option<String>, B) {
    let builder = settings.all.into_iter().fold(builder, |builder, one| set(builder, one.key, one.value));
    (settings.endpoint, builder)
}

/// How long a machine may take to say who it is. Outside the clouds nobody answers.
const WHO: Duration = Duration::from_secs(3);

/// The connector, with a limit for the requests to the machine's own metadata service, which `object_store` marks by a
/// timeout for connections. All others are under the reader's timers.
#[derive(Debug)]
struct Bounded(Connector);

impl HttpConnector for Bounded {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        match options.get_config_value(&ClientConfigKey::ConnectTimeout) {
            Some(_) => Ok(HttpClient::new(Self(self.0.clone()))),
            None => self.0.connect(options),
        }
    }
}

#[async_trait]
impl HttpService for Bounded {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        match tokio::time::timeout(WHO, self.0.call(request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let silent = "no credentials were given, and no metadata service of this machine answers";
                let silent = std::io::Error::new(std::io::ErrorKind::TimedOut, silent);
                Err(HttpError::new(HttpErrorKind::Unknown, silent))
            }
        }
    }
}
