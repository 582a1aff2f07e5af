//! Servers that say one thing and send another: none of it is passed on as the bytes that were asked for.

use super::peer::{OBJECT, Server, Watched};
use crate::store::{Failure, NodeOptions, connect};

/// Asks for bytes 3..10, and is answered with `answer` and the end of the connection.
async fn told(answer: &str) -> (Result<(), Failure>, Vec<u8>) {
    let server = Server::new().await;
    let read = Watched::start(&server.node(), 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say(answer).await;
    drop(peer);
    let (result, said, bytes) = read.end().await;
    assert_eq!(said.last(), Some(&"stopped"));
    (result.map_err(|failed| failed.kind), bytes)
}

#[tokio::test]
async fn a_server_that_lies_about_the_range_is_found_out_before_a_byte_is_passed_on() {
    for (answer, kind) in [
        // Another range, of the same length.
        ("206 P\r\nContent-Range: bytes 4-10/20\r\nContent-Length: 7\r\n\r\n456789a", Failure::Corrupt),
        // Another length, in the head.
        ("206 P\r\nContent-Range: bytes 3-9/20\r\nContent-Length: 6\r\n\r\n345678", Failure::TooShort),
        ("206 P\r\nContent-Range: bytes 3-9/20\r\nContent-Length: 8\r\n\r\n3456789a", Failure::TooLong),
        ("206 P\r\nContent-Range: bytes 3-7/8\r\nContent-Length: 5\r\n\r\n34567", Failure::TooShort),
        // No range, or none that can be read.
        ("206 P\r\nContent-Length: 7\r\n\r\n3456789", Failure::Corrupt),
        ("206 P\r\nContent-Range: bytes three-nine/20\r\nContent-Length: 7\r\n\r\n3456789", Failure::Corrupt),
        // The whole object, with and without its length.
        ("200 OK\r\nContent-Length: 20\r\n\r\n0123456789abcdefghij", Failure::TooLong),
        ("200 OK\r\n\r\n0123456789abcdefghij", Failure::TooLong),
        ("200 OK\r\nContent-Length: 7\r\n\r\n3456789", Failure::TooShort),
        // Several parts.
        (
            "206 P\r\nContent-Type: multipart/byteranges; boundary=x\r\n\r\n--x\r\nContent-Range: bytes 3-9/20\r\n\r\n3456789\r\n--x--\r\n",
            Failure::Corrupt,
        ),
        ("204 No Content\r\n\r\n", Failure::Corrupt),
    ] {
        let (result, bytes) = told(&format!("HTTP/1.1 {answer}")).await;
        assert_eq!(result, Err(kind), "{answer}");
        assert_eq!(bytes, b"", "{answer}");
    }
}

#[tokio::test]
async fn a_server_that_lies_about_the_length_is_found_out_at_the_end() {
    for (answer, result, passed) in [
        // Without a length the end of the connection is the end of the body.
        ("\r\n3456789", Ok(()), 7),
        ("\r\n345", Err(Failure::TooShort), 3),
        ("Transfer-Encoding: chunked\r\n\r\n7\r\n3456789\r\n0\r\n\r\n", Ok(()), 7),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\n345\r\n0\r\n\r\n", Err(Failure::TooShort), 3),
        // A length that is not kept to is a connection that broke.
        ("Content-Length: 7\r\n\r\n345", Err(Failure::Unreachable), 3),
        ("Transfer-Encoding: chunked\r\n\r\n7\r\n345", Err(Failure::Unreachable), 3),
    ] {
        let head = "HTTP/1.1 206 P\r\nContent-Range: bytes 3-9/20\r\n";
        let (got, bytes) = told(&format!("{head}{answer}")).await;
        assert_eq!(got, result, "{answer}");
        assert_eq!(bytes, OBJECT[3..3 + passed], "{answer}");
    }
}

#[tokio::test]
async fn too_many_bytes_are_too_long() {
    for answer in ["\r\n3456789a", "Transfer-Encoding: chunked\r\n\r\n8\r\n3456789a\r\n0\r\n\r\n"] {
        let (result, _) = told(&format!("HTTP/1.1 206 P\r\nContent-Range: bytes 3-9/20\r\n{answer}")).await;
        assert_eq!(result, Err(Failure::TooLong), "{answer}");
    }
}

#[tokio::test]
async fn what_is_not_http_fails_and_passes_nothing_on() {
    let endless = format!("HTTP/1.1 206 P\r\nX: {}", "x".repeat(600 << 10));
    for answer in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "\0\0\0\0\0\0\0\0\r\n\r\n",
        "HTTP/1.1 twohundred OK\r\n\r\n",
        "HTTP/1.1 206 P\r\nContent-Length: 7\r\nContent-Length: 9\r\n\r\n345678900",
        "HTTP/1.1 206 P\r\nContent-Length: minus\r\n\r\n",
        &endless,
    ] {
        let server = Server::new().await;
        let read = Watched::start(&server.node(), 3..10);
        let mut peer = server.accept().await;
        peer.request().await;
        // The client may close before it has taken all of it.
        let said = tokio::spawn({
            let answer = answer.to_owned();
            async move { peer.try_say(answer).await }
        });
        let (result, _, bytes) = read.end().await;
        assert!(matches!(result.unwrap_err().kind, Failure::Other | Failure::Corrupt), "{:.80}", answer);
        assert_eq!(bytes, b"");
        said.await.unwrap();
    }
}

#[tokio::test]
async fn the_whole_object_is_the_range_where_the_range_is_the_whole() {
    let server = Server::new().await;
    let read = Watched::start(&server.node(), 0..20);
    let mut peer = server.accept().await;
    peer.request().await;
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789abcdefghij").await;
    let (result, _, bytes) = read.end().await;
    result.unwrap();
    assert_eq!(bytes, OBJECT);
}

#[tokio::test]
async fn an_answer_that_is_an_error_says_its_status_and_its_code_and_nothing_of_its_body() {
    let server = Server::new().await;
    let read = Watched::start(&server.node(), 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    let body = "<Error><Code>SignatureDoesNotMatch</Code><StringToSign>hush</StringToSign></Error>";
    peer.say(format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\n\r\n{body}", body.len())).await;
    let failed = read.end().await.0.unwrap_err();
    assert_eq!(failed.to_string(), "refused: the server answered 403 Forbidden (SignatureDoesNotMatch)");
}

#[tokio::test]
async fn a_missing_object_is_missing_and_a_range_beyond_it_too_short() {
    for (status, kind) in
        [("404 Not Found", Failure::Missing), ("416 Range Not Satisfiable", Failure::TooShort)]
    {
        let (result, _) = told(&format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")).await;
        assert_eq!(result, Err(kind), "{status}");
    }
}

#[tokio::test]
async fn the_body_of_an_error_is_not_read_for_ever() {
    let server = Server::new().await;
    let node = server.node();
    let read = Watched::start(&node, 3..10);
    let mut peer = server.accept().await;
    peer.request().await;
    let endless = tokio::spawn(async move {
        peer.try_say("HTTP/1.1 500 Internal Server Error\r\n\r\n").await;
        while peer.try_say("x".repeat(1 << 16)).await {}
    });
    assert_eq!(read.end().await.0.unwrap_err().kind, Failure::Refused);
    assert_eq!(node.connector.idle(), 0);
    endless.await.unwrap();
}

/// Answers the next request with a body that never ends.
fn without_end(server: Server) -> tokio::task::JoinHandle<String> {
    tokio::spawn(async move {
        let mut peer = server.accept().await;
        let request = peer.request().await;
        peer.try_say("HTTP/1.1 207 Multi-Status\r\nContent-Type: text/xml\r\n\r\n").await;
        while peer.try_say("x".repeat(1 << 20)).await {}
        request
    })
}

#[tokio::test]
async fn a_listing_is_not_read_for_ever() {
    let server = Server::new().await;
    let address = server.url().parse().unwrap();
    let endless = without_end(server);
    let node = connect(&address, &NodeOptions::default()).unwrap();
    let failed = node.list("").await.unwrap_err();
    assert!(endless.await.unwrap().starts_with("PROPFIND "));
    assert_eq!(failed.kind, Failure::TooLong, "{failed}");
    assert!(failed.to_string().contains("more than 67108864 bytes"), "{failed}");
}

#[cfg(feature = "s3")]
#[tokio::test]
async fn a_listing_of_a_bucket_is_not_read_for_ever() {
    let server = Server::new().await;
    let mut options = NodeOptions { environment: false, ..NodeOptions::default() };
    for (name, value) in [
        ("endpoint", &*server.url()),
        ("allow_http", "true"),
        ("access_key_id", "key"),
        ("secret_access_key", "secret"),
    ] {
        options.settings.push((name.to_owned(), value.to_owned()));
    }
    let endless = without_end(server);
    let node = connect(&"s3://bucket".parse().unwrap(), &options).unwrap();
    let failed = node.list("").await.unwrap_err();
    assert!(endless.await.unwrap().starts_with("GET "));
    assert_eq!(failed.kind, Failure::TooLong, "{failed}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::new().await;
    let answer =
        format!("HTTP/1.1 302 Found\r\nLocation: {}/o\r\nContent-Length: 0\r\n\r\n", elsewhere.url());
    assert_eq!(told(&answer).await.0, Err(Failure::Other));
}
