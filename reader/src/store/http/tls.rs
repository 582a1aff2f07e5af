//! TLS for the connector: rustls with ring, the roots of the system and one's own, certificates of one's own.

#[cfg(feature = "tls")]
pub(super) use with::Tls;
#[cfg(not(feature = "tls"))]
pub(super) use without::Tls;

#[cfg(feature = "tls")]
mod with {
    use std::sync::Arc;

    use rustls_platform_verifier::Verifier;
    use tokio::net::TcpStream;
    use tokio::sync::OnceCell;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use crate::store::http::dial::{Stream, Target};
    use crate::store::http::failures;
    use crate::store::{Failed, Failure};

    /// How TLS is spoken.
    pub(crate) struct Tls {
        provider: Arc<CryptoProvider>,
        roots: Vec<CertificateDer<'static>>,
        client: Option<Arc<CertifiedKey>>,
        /// Made when first needed: it reads all the certificates of the system.
        connector: OnceCell<TlsConnector>,
    }

    impl Tls {
        pub(crate) fn new(roots: &[Vec<u8>], client: Option<&[u8]>) -> Result<Self, Failed> {
            let provider = Arc::new(ring::default_provider());
            let mut trusted = Vec::new();
            for pem in roots {
                trusted.extend(certificates("a root certificate", pem)?);
            }
            let mut acceptable = RootCertStore::empty();
            for root in &trusted {
                acceptable.add(root.clone()).map_err(|error| bad("a root certificate", error))?;
            }
            let client = client.map(|pem| identity(pem, &provider)).transpose()?;
            Ok(Self { provider, roots: trusted, client, connector: OnceCell::new() })
        }

        /// Whether there can be TLS at all.
        #[allow(clippy::unused_self, clippy::unnecessary_wraps)]
        pub(crate) fn check(&self, _: &Target) -> Result<(), Failed> {
            Ok(())
        }

        pub(crate) async fn handshake(&self, target: &Target, stream: TcpStream) -> Result<Stream, Failed> {
            let connector = self.connector.get_or_try_init(|| self.connector()).await?;
            let name = ServerName::try_from(target.host.clone())
                .map_err(|error| Failed::because(Failure::Unsupported, error))?;
            match connector.connect(name, stream).await {
                Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
                Err(error) => {
                    let kind = failures::of_io(error.kind());
                    Err(Failed::because(kind, format!("no TLS with {target}: {error}")))
                }
            }
        }

        async fn connector(&self) -> Result<TlsConnector, Failed> {
            let (provider, roots) = (Arc::clone(&self.provider), self.roots.clone());
            let verifier =
                tokio::task::spawn_blocking(move || Verifier::new_with_extra_roots(roots, provider));
            let verifier = verifier.await.map_err(|error| Failed::because(Failure::Other, error))?;
            let verifier = verifier.map_err(|error| bad("a trusted certificate", error))?;
            let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
                .with_safe_default_protocol_versions()
                .map_err(|error| Failed::because(Failure::Other, error))?
                // Not dangerous: it is the verifier of the platform.
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier));
            let mut config = match &self.client {
                None => config.with_no_client_auth(),
                Some(client) => {
                    config.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(client))))
                }
            };
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok(TlsConnector::from(Arc::new(config)))
        }
    }

    fn identity(pem: &[u8], provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Failed> {
        let what = "the client certificate";
        let chain = certificates(what, pem)?;
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|error| bad(what, error))?;
        let identity = CertifiedKey::from_der(chain, key, provider);
        Ok(Arc::new(identity.map_err(|error| bad(what, error))?))
    }

    fn certificates(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Failed> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match read {
            Ok(read) if read.is_empty() => Err(bad(what, "there is none in the PEM")),
            Ok(read) => Ok(read),
            Err(error) => Err(bad(what, error)),
        }
    }

    fn bad(what: &str, why: impl std::fmt::Display) -> Failed {
        Failed::because(Failure::Other, format!("{what} is not usable: {why}"))
    }
}

#[cfg(not(feature = "tls"))]
mod without {
    use tokio::net::TcpStream;

    use crate::store::http::dial::{Stream, Target};
    use crate::store::{Failed, Failure};

    /// No TLS.
    pub(crate) struct Tls;

    impl Tls {
        pub(crate) fn new(roots: &[Vec<u8>], client: Option<&[u8]>) -> Result<Self, Failed> {
            if roots.is_empty() && client.is_none() { Ok(Self) } else { Err(missing("certificates")) }
        }

        /// Whether there can be TLS at all.
        pub(crate) fn check(&self, target: &Target) -> Result<(), Failed> {
            Err(missing(&format!("https to {target}")))
        }

        pub(crate) async fn handshake(&self, target: &Target, _: TcpStream) -> Result<Stream, Failed> {
            Err(missing(&format!("https to {target}")))
        }
    }

    fn missing(what: &str) -> Failed {
        Failed::because(Failure::Unsupported, format!("{what}: this build has no TLS (feature `tls`)"))
    }
}
