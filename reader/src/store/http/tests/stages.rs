//! What is said of a connection, and when its leg has stopped.

use tokio::net::TcpSocket;

use super::peer::{OBJECT, Server, Watched, node, right_head, soon};
use crate::store::http::{Connector, ConnectorOptions};
use crate::store::{Failure, read_object};

#[tokio::test]
async fn a_fresh_connection_tells_its_stages_in_order() {
    let server = Server::new().await;
    let read = Watched::start(&server.node(), 3..10);
    let mut peer = server.accept().await;
    let request = peer.request().await;
    assert!(request.starts_with("GET /o HTTP/1.1\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("\r\nrange: bytes=3-9\r\n"), "{request}");
    peer.answer(3..10).await;
    let (result, said, bytes) = read.end().await;
    result.unwrap();
    assert_eq!(said, ["connecting", "connected", "data", "stopped"]);
    assert_eq!(bytes, OBJECT[3..10]);
}

#[tokio::test]
async fn bytes_are_passed_on_as_they_come() {
    let server = Server::new().await;
    let mut read = Watched::start(&server.node(), 0..20);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say(right_head(&(0..20))).await;
    for at in 0..20 {
        peer.say(&OBJECT[at..=at]).await;
        read.until("data").await;
        assert_eq!(read.bytes, OBJECT[..=at]);
    }
    read.end().await.0.unwrap();
}

#[tokio::test]
async fn a_request_dropped_before_its_answer_closes_its_socket() {
    let server = Server::new().await;
    let mut read = Watched::start(&server.node(), 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    read.until("connected").await;
    assert_eq!(read.drop().await, ["stopped"]);
    peer.gone().await;
}

#[tokio::test]
async fn a_request_dropped_in_its_body_closes_its_socket() {
    let server = Server::new().await;
    let node = server.node();
    let mut read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say(right_head(&(3..10))).await;
    peer.say(&OBJECT[3..5]).await;
    read.until("data").await;
    assert_eq!(read.drop().await, ["stopped"]);
    peer.gone().await;
    assert_eq!(node.connector.idle(), 0, "what is left of the body must not come to another");
}

#[tokio::test]
async fn a_connection_that_is_never_served_can_be_dropped() {
    let server = Server::new().await;
    let mut read = Watched::start(&server.node(), 3..10);
    // The kernel accepts; nobody reads.
    read.until("connected").await;
    assert_eq!(read.drop().await, ["stopped"]);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.gone().await;
}

/// Linux leaves a connection beyond the backlog unanswered.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_not_accepted_can_be_dropped() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let server = Server { listener: socket.listen(0).unwrap() };
    let _filler = soon(tokio::net::TcpStream::connect(server.listener.local_addr().unwrap())).await.unwrap();
    let mut read = Watched::start(&server.node(), 3..10);
    assert_eq!(read.next().await, Some("connecting"));
    assert_eq!(read.drop().await, ["stopped"]);
}

#[tokio::test]
async fn a_refused_connection_is_refused() {
    let server = Server::new().await;
    let node = server.node();
    drop(server);
    let (result, said, _) = Watched::start(&node, 3..10).end().await;
    let failed = result.unwrap_err();
    assert_eq!(failed.kind, Failure::Refused);
    assert!(failed.to_string().contains("no connection to 127.0.0.1:"), "{failed}");
    assert_eq!(said, ["connecting", "stopped"]);
}

#[tokio::test]
async fn death_in_the_body_is_unreachable() {
    let server = Server::new().await;
    let node = server.node();
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say(right_head(&(3..10))).await;
    peer.say(&OBJECT[3..5]).await;
    drop(peer);
    let (result, said, bytes) = read.end().await;
    assert_eq!(result.unwrap_err().kind, Failure::Unreachable);
    assert_eq!(said, ["connecting", "connected", "data", "stopped"]);
    assert_eq!(bytes, OBJECT[3..5]);
    assert_eq!(node.connector.idle(), 0);
}

#[tokio::test]
async fn death_before_the_answer_is_unreachable() {
    let server = Server::new().await;
    let read = Watched::start(&server.node(), 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    drop(peer);
    let (result, said, _) = read.end().await;
    assert_eq!(result.unwrap_err().kind, Failure::Unreachable);
    assert_eq!(said, ["connecting", "connected", "stopped"]);
}

#[tokio::test]
async fn a_name_without_an_address_is_unreachable() {
    let connector = Connector::new(ConnectorOptions::default()).unwrap();
    // No label is that long, so that nobody has to be asked.
    let node = node(&format!("http://{}", "x".repeat(64)), connector);
    let (result, said, _) = Watched::start(&node, 3..10).end().await;
    assert_eq!(result.unwrap_err().kind, Failure::Unreachable);
    assert_eq!(said, ["connecting", "stopped"]);
}

#[tokio::test]
async fn each_address_of_a_name_is_tried() {
    // "localhost" is often ::1 first, where nobody listens.
    let server = Server::new().await;
    let connector = Connector::new(ConnectorOptions::default()).unwrap();
    let node = node(&format!("http://localhost:{}", server.port()), connector);
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    let request = peer.request().await.to_ascii_lowercase();
    assert!(request.contains(&format!("\r\nhost: localhost:{}\r\n", server.port())), "{request}");
    peer.answer(3..10).await;
    read.end().await.0.unwrap();
}

#[tokio::test]
async fn a_read_without_a_reader_works_too() {
    let server = Server::new().await;
    let node = server.node();
    let serve = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.answer(3..10).await;
    };
    let (read, ()) = tokio::join!(read_object(&node, "o", 3..10), serve);
    assert_eq!(read.unwrap(), OBJECT[3..10]);
}
