//! What goes over the wire, and what must not.

use bytes::Bytes;
use futures_util::stream;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Request};

use tokio::task::JoinHandle;

use super::peer::{Server, Watched, node, soon};
use crate::store::http::request::RequestBody;
use crate::store::http::{Connector, ConnectorOptions};
use crate::store::{Failed, Failure};

fn with_a_password(to: String) -> ConnectorOptions {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic c2VjcmV0"));
    ConnectorOptions { headers, headers_to: Some(to), ..ConnectorOptions::default() }
}

#[tokio::test]
async fn headers_go_to_their_host_alone() {
    let (ours, theirs) = (Server::new().await, Server::new().await);
    let connector = Connector::new(with_a_password(format!("127.0.0.1:{}", ours.port()))).unwrap();
    for (server, sent) in [(&ours, true), (&theirs, false)] {
        let _read = Watched::start(&node(&server.url(), connector.clone()), 3..10);
        let request = server.accept().await.request().await.to_ascii_lowercase();
        assert_eq!(request.contains("authorization: basic c2vjcmv0"), sent, "{request}");
    }
}

#[test]
fn headers_for_nobody_are_an_error() {
    let options = ConnectorOptions { headers_to: None, ..with_a_password(String::new()) };
    assert_eq!(Connector::new(options).unwrap_err().kind, Failure::Other);
}

#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn without_tls_https_is_an_error_that_says_so() {
    let server = Server::new().await;
    let connector = Connector::new(ConnectorOptions::default()).unwrap();
    let read = Watched::start(&node(&server.url().replace("http:", "https:"), connector), 3..10);
    let (result, said, _) = read.end().await;
    let failed = result.unwrap_err();
    assert_eq!(failed.kind, Failure::Unsupported);
    assert!(failed.to_string().contains("feature `tls`"), "{failed}");
    assert_eq!(said, ["stopped"]);
}

#[test]
fn nothing_secret_is_in_the_debug_text() {
    let options = ConnectorOptions { client_certificate: None, ..with_a_password("host".to_owned()) };
    let text = format!("{options:?} {:?}", Connector::new(options.clone()).unwrap());
    assert!(!text.contains("c2VjcmV0") && !text.to_lowercase().contains("authorization"), "{text}");
}

#[tokio::test]
async fn a_password_in_the_url_is_neither_sent_on_nor_told() {
    let server = Server::new().await;
    let connector = Connector::new(ConnectorOptions::default()).unwrap();
    let node = node(&format!("http://me:hush@127.0.0.1:{}", server.port()), connector);
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    let request = peer.request().await;
    assert!(!request.contains("hush"), "{request}");
    peer.say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    let failed = read.end().await.0.unwrap_err();
    assert!(!format!("{failed} {failed:?}").contains("hush"), "{failed:?}");
}

/// Starts to put `pieces` as an object of the announced length.
fn put(server: &Server, pieces: &[&'static str], length: Option<u64>) -> JoinHandle<Result<u16, Failed>> {
    let connector = Connector::new(ConnectorOptions::default()).unwrap();
    let pieces = pieces.iter().map(|piece| Ok::<_, Failed>(Bytes::from_static(piece.as_bytes())));
    let body = RequestBody::stream(Box::pin(stream::iter(pieces.collect::<Vec<_>>())), length);
    let request = Request::put(format!("{}/o", server.url())).body(body).unwrap();
    tokio::spawn(async move { Ok(connector.send(request).await?.status().as_u16()) })
}

#[tokio::test]
async fn a_stream_is_sent_with_its_length_or_in_chunks() {
    for (length, header, body) in [
        (Some(7), "content-length: 7", "abcdefg"),
        (None, "transfer-encoding: chunked", "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"),
    ] {
        let server = Server::new().await;
        let sent = put(&server, &["abc", "defg"], length);
        let mut peer = server.accept().await;
        let head = peer.request().await.to_ascii_lowercase();
        assert!(head.contains(&format!("\r\n{header}\r\n")), "{head}");
        assert_eq!(peer.bytes(body.len()).await, body.as_bytes());
        peer.say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await;
        assert_eq!(soon(sent).await.unwrap().unwrap(), 201);
    }
}

#[tokio::test]
async fn a_stream_of_another_length_than_announced_is_never_whole_for_the_server() {
    for (pieces, kind) in [(&["abc"][..], Failure::TooShort), (&["abc", "defgh"], Failure::TooLong)] {
        let server = Server::new().await;
        let sent = put(&server, pieces, Some(7));
        let seen = server.accept().await.rest().await;
        let body = String::from_utf8(seen).unwrap();
        let body = body.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        assert!("abc".starts_with(body), "{body}");
        assert_eq!(soon(sent).await.unwrap().unwrap_err().kind, kind);
    }
}
