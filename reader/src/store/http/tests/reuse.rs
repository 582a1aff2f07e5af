//! When a connection serves a second request, and what happens when it can't.

use std::time::Duration;

use http::header::IF_MATCH;
use http::{HeaderValue, Request};

use super::peer::{OBJECT, Peer, Server, Watched, node, right_head, soon};
use crate::store::http::request::RequestBody;
use crate::store::http::{Connector, ConnectorOptions, ObjectNode};
use crate::store::{Failed, Failure};

/// A node with one idle connection, and the other end of that.
async fn after_a_read(server: &Server, node: &ObjectNode) -> Peer {
    let read = Watched::start(node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.answer(3..10).await;
    read.end().await.0.unwrap();
    assert_eq!(node.connector.idle(), 1);
    peer
}

#[tokio::test]
async fn a_connection_read_to_its_end_serves_the_next_read() {
    let server = Server::new().await;
    let node = server.node();
    let mut peer = after_a_read(&server, &node).await;
    for _ in 0..3 {
        let read = Watched::start(&node, 0..4);
        peer.request().await;
        peer.answer(0..4).await;
        let (result, said, bytes) = read.end().await;
        result.unwrap();
        assert_eq!(said, ["connected", "data", "stopped"], "there is nothing to connect");
        assert_eq!(bytes, OBJECT[0..4]);
    }
}

#[tokio::test]
async fn a_chunked_answer_gives_its_connection_back() {
    let server = Server::new().await;
    let node = server.node();
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say("HTTP/1.1 206 P\r\nContent-Range: bytes 3-9/20\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    peer.say("3\r\n345\r\n4\r\n6789\r\n0\r\n\r\n").await;
    let (result, _, bytes) = read.end().await;
    result.unwrap();
    assert_eq!(bytes, OBJECT[3..10]);
    assert_eq!(node.connector.idle(), 1);
}

#[tokio::test]
async fn a_connection_that_the_server_wants_closed_is_not_kept() {
    let server = Server::new().await;
    let node = server.node();
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say(right_head(&(3..10)).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n3456789")).await;
    read.end().await.0.unwrap();
    assert_eq!(node.connector.idle(), 0);
    peer.gone().await;
}

#[tokio::test]
async fn bytes_behind_an_answer_reach_nobody() {
    let server = Server::new().await;
    let node = server.node();
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say(format!("{}3456789{}WRONG!!", right_head(&(3..10)), right_head(&(3..10)))).await;
    let (result, _, bytes) = read.end().await;
    result.unwrap();
    assert_eq!(bytes, OBJECT[3..10]);
    let read = Watched::start(&node, 3..10);
    let mut fresh = server.accept().await;
    fresh.request().await;
    fresh.answer(3..10).await;
    assert_eq!(read.end().await.2, OBJECT[3..10]);
}

#[tokio::test]
async fn an_idle_connection_that_dies_before_the_answer_is_replaced_once_and_blames_nobody() {
    let server = Server::new().await;
    let node = server.node();
    let mut old = after_a_read(&server, &node).await;
    let read = Watched::start(&node, 3..10);
    old.request().await;
    drop(old);
    let mut fresh = server.accept().await;
    fresh.request().await;
    fresh.answer(3..10).await;
    let (result, said, bytes) = read.end().await;
    result.unwrap();
    assert_eq!(said, ["connected", "connecting", "connected", "data", "stopped"]);
    assert_eq!(bytes, OBJECT[3..10]);
}

#[tokio::test]
async fn the_replacement_is_not_replaced() {
    let server = Server::new().await;
    let node = server.node();
    let mut old = after_a_read(&server, &node).await;
    let read = Watched::start(&node, 3..10);
    old.request().await;
    drop(old);
    let mut fresh = server.accept().await;
    fresh.request().await;
    drop(fresh);
    let (result, said, _) = read.end().await;
    assert_eq!(result.unwrap_err().kind, Failure::Unreachable);
    assert_eq!(said, ["connected", "connecting", "connected", "stopped"]);
}

#[tokio::test]
async fn a_connection_closed_while_idle_is_not_used() {
    let server = Server::new().await;
    let node = server.node();
    drop(after_a_read(&server, &node).await);
    let read = Watched::start(&node, 3..10);
    let mut fresh = server.accept().await;
    fresh.request().await;
    fresh.answer(3..10).await;
    read.end().await.0.unwrap();
}

#[tokio::test]
async fn what_may_have_been_done_is_not_done_twice() {
    let server = Server::new().await;
    let node = server.node();
    let mut old = after_a_read(&server, &node).await;
    let connector = node.connector.clone();
    let request = Request::post(format!("{}/o", server.url())).body(RequestBody::empty()).unwrap();
    let post = tokio::spawn(async move { connector.send(request).await.map(drop) });
    assert!(old.request().await.starts_with("POST "));
    drop(old);
    assert_eq!(soon(post).await.unwrap().unwrap_err().kind, Failure::Unreachable);
}

#[tokio::test]
async fn a_delete_whose_idle_connection_dies_is_sent_again_unless_it_has_a_condition() {
    for condition in [None, Some("\"version\"")] {
        let server = Server::new().await;
        let node = server.node();
        let mut old = after_a_read(&server, &node).await;
        let connector = node.connector.clone();
        let mut request = Request::delete(format!("{}/o", server.url())).body(RequestBody::empty()).unwrap();
        if let Some(version) = condition {
            request.headers_mut().insert(IF_MATCH, HeaderValue::from_static(version));
        }
        let delete = tokio::spawn(async move { Ok::<_, Failed>(connector.send(request).await?.status()) });
        assert!(old.request().await.starts_with("DELETE "));
        drop(old);
        if condition.is_none() {
            let mut fresh = server.accept().await;
            assert!(fresh.request().await.starts_with("DELETE "));
            fresh.say("HTTP/1.1 204 No Content\r\n\r\n").await;
            assert_eq!(soon(delete).await.unwrap().unwrap(), 204);
        } else {
            assert_eq!(soon(delete).await.unwrap().unwrap_err().kind, Failure::Unreachable);
        }
    }
}

#[tokio::test]
async fn a_connection_idle_for_too_long_is_closed() {
    let server = Server::new().await;
    let node = server.node();
    let peer = after_a_read(&server, &node).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(29)).await;
    assert_eq!(node.connector.idle(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::task::yield_now().await;
    assert_eq!(node.connector.idle(), 0);
    tokio::time::resume();
    peer.gone().await;
}

#[tokio::test]
async fn no_more_connections_are_idle_than_allowed_and_the_oldest_goes() {
    let server = Server::new().await;
    let options = ConnectorOptions { idle_per_host: 1, ..ConnectorOptions::default() };
    let node = node(&server.url(), Connector::new(options).unwrap());
    let first = Watched::start(&node, 3..10);
    let mut one = server.accept().await;
    one.request().await;
    let second = Watched::start(&node, 3..10);
    let mut two = server.accept().await;
    two.request().await;
    one.answer(3..10).await;
    first.end().await.0.unwrap();
    two.answer(3..10).await;
    second.end().await.0.unwrap();
    assert_eq!(node.connector.idle(), 1);
    one.gone().await;
}

#[tokio::test]
async fn closing_closes_what_is_idle() {
    let server = Server::new().await;
    let node = server.node();
    let peer = after_a_read(&server, &node).await;
    node.connector.close();
    assert_eq!(node.connector.idle(), 0);
    peer.gone().await;
}

#[tokio::test]
async fn the_last_handle_closes_what_is_idle() {
    let server = Server::new().await;
    let node = server.node();
    let peer = after_a_read(&server, &node).await;
    drop(node);
    peer.gone().await;
}

#[tokio::test]
async fn an_answer_that_is_an_error_gives_its_connection_back() {
    let server = Server::new().await;
    let node = server.node();
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say("HTTP/1.1 503 Slow Down\r\nContent-Length: 4\r\n\r\nbusy").await;
    assert_eq!(read.end().await.0.unwrap_err().kind, Failure::Refused);
    assert_eq!(node.connector.idle(), 1);
}
