//! HTTPS, with certificates made here.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::peer::{OBJECT, Server, Watched, node, right_head, soon};
use crate::store::Failure;
use crate::store::http::{Connector, ConnectorOptions};

struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    fn pem(&self) -> Vec<u8> {
        self.issuer.pem().into_bytes()
    }

    /// A certificate for this name and its key, as PEM.
    fn issue(&self, name: &str) -> String {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        format!("{}{}", certificate.pem(), key.serialize_pem())
    }

    /// Serves as `name`, to clients with a certificate of this authority if `asks`.
    fn acceptor(&self, name: &str, asks: bool) -> TlsAcceptor {
        let pem = self.issue(name);
        let chain = vec![CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let config = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(&self.pem()).unwrap()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            config.unwrap().with_client_cert_verifier(verifier)
        } else {
            config.unwrap().with_no_client_auth()
        };
        let mut config = config.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Reads from a server behind `acceptor`, twice over one connection, as long as it works.
async fn read_twice(
    host: &str,
    acceptor: TlsAcceptor,
    options: ConnectorOptions,
) -> Result<(), (Failure, String)> {
    let server = Server::new().await;
    let node = node(&format!("https://{host}:{}", server.port()), Connector::new(options).unwrap());
    let serve = tokio::spawn(async move {
        let (stream, _) = server.listener.accept().await?;
        let mut stream = acceptor.accept(stream).await?;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        for _ in 0..2 {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await?);
            }
            stream.write_all(right_head(&(3..10)).as_bytes()).await?;
            stream.write_all(&OBJECT[3..10]).await?;
            stream.flush().await?;
        }
        std::io::Result::Ok(())
    });
    for stages in [&["connecting", "connected", "data", "stopped"][..], &["connected", "data", "stopped"]] {
        let (result, said, bytes) = Watched::start(&node, 3..10).end().await;
        if let Err(failed) = result {
            serve.abort();
            return Err((failed.kind, failed.to_string()));
        }
        assert_eq!(said, stages);
        assert_eq!(bytes, OBJECT[3..10]);
    }
    soon(serve).await.unwrap().unwrap();
    Ok(())
}

fn trusting(authority: &Authority) -> ConnectorOptions {
    ConnectorOptions { root_certificates: vec![authority.pem()], ..ConnectorOptions::default() }
}

#[tokio::test]
async fn a_root_of_ones_own_is_trusted_and_the_connection_used_again() {
    let authority = Authority::new();
    for host in ["localhost", "127.0.0.1"] {
        read_twice(host, authority.acceptor(host, false), trusting(&authority)).await.unwrap();
    }
}

#[tokio::test]
async fn a_certificate_of_a_stranger_is_not_trusted() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let (kind, text) =
        read_twice("localhost", theirs.acceptor("localhost", false), trusting(&ours)).await.unwrap_err();
    assert_eq!(kind, Failure::Other);
    assert!(text.contains("no TLS with localhost:") && text.contains("certificate"), "{text}");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_trusted() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("elsewhere", false);
    let (kind, text) = read_twice("localhost", acceptor, trusting(&authority)).await.unwrap_err();
    assert_eq!(kind, Failure::Other);
    assert!(text.contains("certificate"), "{text}");
}

#[tokio::test]
async fn a_server_that_asks_is_shown_the_client_certificate() {
    let authority = Authority::new();
    let options = ConnectorOptions {
        client_certificate: Some(authority.issue("client").into_bytes()),
        ..trusting(&authority)
    };
    read_twice("localhost", authority.acceptor("localhost", true), options).await.unwrap();
    let without = read_twice("localhost", authority.acceptor("localhost", true), trusting(&authority)).await;
    assert!(without.is_err());
}

#[tokio::test]
async fn a_read_dropped_in_the_handshake_closes_its_socket() {
    let server = Server::new().await;
    let authority = Authority::new();
    let connector = Connector::new(trusting(&authority)).unwrap();
    let mut read = Watched::start(&node(&format!("https://localhost:{}", server.port()), connector), 3..10);
    let peer = server.accept().await;
    assert_eq!(read.next().await, Some("connecting"));
    assert_eq!(read.drop().await, ["stopped"]);
    // What is left is the client's part of the handshake, and the end.
    peer.rest().await;
}

#[test]
fn what_is_no_certificate_is_an_error_that_shows_no_key() {
    let authority = Authority::new();
    let other = authority.issue("other");
    let (certificate, _) = other.split_once("-----BEGIN PRIVATE").unwrap();
    let (_, key) = authority
        .issue("client")
        .split_once("-----BEGIN PRIVATE")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let mixed = format!("{certificate}-----BEGIN PRIVATE{key}");
    for options in [
        ConnectorOptions { root_certificates: vec![b"nothing".to_vec()], ..ConnectorOptions::default() },
        ConnectorOptions { client_certificate: Some(certificate.into()), ..ConnectorOptions::default() },
        ConnectorOptions { client_certificate: Some(mixed.into_bytes()), ..ConnectorOptions::default() },
    ] {
        let text = Connector::new(options).unwrap_err().to_string();
        assert!(text.contains("is not usable"), "{text}");
        assert!(key.lines().all(|line| line.len() < 10 || !text.contains(line)), "{text}");
    }
}
