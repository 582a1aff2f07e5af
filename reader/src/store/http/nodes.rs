//! From an address and options to a node behind HTTP.

use std::path::Path as File;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use object_store::ObjectStore;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::prefix::PrefixStore;

use super::connector::{Connector, ConnectorOptions};
use super::objects::{ObjectNode, quiet};
use super::server::ServerNode;
use crate::store::NodeStore;
use crate::store::address::{Address, AddressError, Bucket, Server};
use crate::store::connect::NodeOptions;
use crate::store::secrets::{Discreet, Secrets};

/// The node on a server of plain HTTP.
pub(in crate::store) fn server_node(
    address: &Address,
    server: &Server,
    options: &NodeOptions,
) -> Result<Arc<dyn NodeStore>, AddressError> {
    if server.tls && cfg!(not(feature = "tls")) {
        return Err(AddressError::Feature { address: address.to_string(), feature: "tls" });
    }
    let mut secrets = Secrets::default();
    let mut headers = headers(address, options, &mut secrets)?;
    if let Some(authorization) = authorization(address, server, options, &mut secrets)?
        && headers.insert(header::AUTHORIZATION, authorization).is_some()
    {
        return Err(wrong(address, "authorization", "there is a token or a password, too"));
    }
    let connector = connector(address, options, headers, Some(server.authority.clone()))?;
    let (retry, client) = quiet();
    let store = HttpBuilder::new()
        .with_url(server.root())
        .with_retry(retry)
        .with_client_options(client)
        .with_http_connector(connector.clone())
        .build();
    let all: Arc<dyn ObjectStore> = Arc::new(store.map_err(|error| unusable(address, &secrets, &error))?);
    let store = below(address, Arc::clone(&all), &server.prefix)?;
    let node = ObjectNode::new(store, connector, address.to_string());
    Ok(Arc::new(Discreet::new(ServerNode::new(node, all, server), secrets)))
}

/// The node in a bucket.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub(in crate::store) fn bucket_node(
    address: &Address,
    bucket: &Bucket,
    options: &NodeOptions,
) -> Result<Arc<dyn NodeStore>, AddressError> {
    use super::buckets;
    if options.bearer.is_some() || options.basic.is_some() {
        return Err(wrong(address, "bearer", "requests to a bucket are signed with its own keys"));
    }
    let mut secrets = Secrets::default();
    let headers = headers(address, options, &mut secrets)?;
    if headers.contains_key(header::AUTHORIZATION) {
        return Err(wrong(address, "authorization", "requests to a bucket are signed with its own keys"));
    }
    let open = buckets::open(address, bucket, options, &mut secrets)?;
    if open.endpoint.is_none() && !headers.is_empty() {
        let reason = "for headers to a bucket its endpoint must be set, so that nobody else sees them";
        return Err(wrong(address, "header", reason));
    }
    let connector = connector(address, options, headers, open.endpoint)?;
    let store = (open.build)(connector.clone()).map_err(|error| {
        // Whatever does not fit anywhere may be a secret in the wrong place.
        let mut all = secrets.clone();
        options.settings.iter().for_each(|(_, value)| all.add(value.clone()));
        unusable(address, &all, &error)
    })?;
    let store = below(address, store, &bucket.prefix)?;
    let node = ObjectNode::new(store, connector, address.to_string());
    Ok(Arc::new(Discreet::new(node, secrets)))
}

/// No bucket without the feature for it.
#[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure")))]
pub(in crate::store) fn bucket_node(
    address: &Address,
    bucket: &Bucket,
    _: &NodeOptions,
) -> Result<Arc<dyn NodeStore>, AddressError> {
    Err(AddressError::Feature { address: address.to_string(), feature: bucket.cloud.feature() })
}

/// The same store, of which only what lies below `prefix` is seen.
fn below(
    address: &Address,
    store: Arc<dyn ObjectStore>,
    prefix: &str,
) -> Result<Arc<dyn ObjectStore>, AddressError> {
    if prefix.is_empty() {
        return Ok(store);
    }
    let prefix = Path::parse(prefix)
        .map_err(|error| AddressError::Node { address: address.to_string(), reason: error.to_string() })?;
    Ok(Arc::new(PrefixStore::new(store, prefix)))
}

fn connector(
    address: &Address,
    options: &NodeOptions,
    headers: HeaderMap,
    to: Option<String>,
) -> Result<Connector, AddressError> {
    let mut own = ConnectorOptions { headers, headers_to: to, ..ConnectorOptions::default() };
    if let Some(roots) = &options.roots {
        own.root_certificates.push(read(roots)?);
    }
    if let Some((certificate, key)) = &options.identity {
        let mut pem = read(certificate)?;
        pem.push(b'\n');
        pem.extend(read(key)?);
        own.client_certificate = Some(pem);
    }
    let unusable = |failed: crate::Failed| AddressError::Node {
        address: address.to_string(),
        reason: Secrets::default().hide(&failed.to_string()),
    };
    Connector::new(own).map_err(unusable)
}

fn read(path: &File) -> Result<Vec<u8>, AddressError> {
    std::fs::read(path)
        .map_err(|error| AddressError::File { path: path.to_path_buf(), reason: error.to_string() })
}

/// What the caller wants to be sent, without what would break a request.
fn headers(
    address: &Address,
    options: &NodeOptions,
    secrets: &mut Secrets,
) -> Result<HeaderMap, AddressError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &options.headers {
        let Ok(header) = name.parse::<HeaderName>() else {
            return Err(wrong(address, "header", "its name is none that HTTP knows"));
        };
        let Ok(value) = HeaderValue::from_str(value) else {
            return Err(wrong(address, name, "its value has a character in it that headers can't hold"));
        };
        if OURS.contains(&header.as_str()) {
            return Err(wrong(address, name, "it is set by whoever sends the request"));
        }
        headers.insert(header, value);
        if let Some((_, value)) = options.headers.iter().rfind(|(other, _)| other == name) {
            secrets.add(value.clone());
        }
    }
    Ok(headers)
}

/// Headers that say how a request is sent, or what it asks for.
const OURS: &[&str] = &[
    "connection",
    "content-length",
    "depth",
    "expect",
    "host",
    "if-match",
    "if-none-match",
    "keep-alive",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The token or the password; those of the options go before those of the address.
fn authorization(
    address: &Address,
    server: &Server,
    options: &NodeOptions,
    secrets: &mut Secrets,
) -> Result<Option<HeaderValue>, AddressError> {
    let said = match (&options.bearer, options.basic.as_ref().or(server.user.as_ref())) {
        (Some(_), Some(_)) => return Err(wrong(address, "bearer", "there is a password, too")),
        (Some(token), None) => {
            secrets.add(token.clone());
            format!("Bearer {token}")
        }
        (None, Some((user, password))) => {
            if user.contains(':') {
                return Err(wrong(address, "basic", "the name of the user has a colon in it"));
            }
            secrets.add(password.clone());
            let both = base64(format!("{user}:{password}").as_bytes());
            secrets.add(both.clone());
            format!("Basic {both}")
        }
        (None, None) => return Ok(None),
    };
    match HeaderValue::try_from(said) {
        Ok(mut value) => {
            value.set_sensitive(true);
            Ok(Some(value))
        }
        Err(_) => Err(wrong(address, "bearer", "it has a character in it that headers can't hold")),
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, i| bits << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            out.push(if digit <= three.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    out
}

fn wrong(address: &Address, option: &str, reason: &str) -> AddressError {
    AddressError::Option {
        address: address.to_string(),
        option: option.to_owned(),
        reason: reason.to_owned(),
    }
}

fn unusable(address: &Address, secrets: &Secrets, error: &object_store::Error) -> AddressError {
    AddressError::Node { address: address.to_string(), reason: secrets.hide(&error.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let rows = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, encoded) in rows {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
