//! Writing and deleting, where the server may.

use std::path::Path;
use std::time::Duration;

use super::client::PATIENCE;
use super::{Server, pattern};

async fn put(server: &Server, path: &str, headers: &str, bytes: &[u8]) -> u16 {
    let mut connection = server.connect().await;
    connection
        .request(&format!("PUT {path}\nContent-Length: {}\n{headers}", bytes.len()))
        .await
        .expect("a request");
    // A server that refuses may close before it has read all.
    let _refused = connection.send(bytes).await;
    connection.head().await.expect("an answer").status
}

/// Every file and folder below, hidden ones too, while the server may be deleting some.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.expect("an entry");
        found.push(entry.file_name().to_string_lossy().into_owned());
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        }
    }
    found.sort();
    found
}

/// Waits until the folder has just these files.
async fn comes_to(folder: &Path, expected: &[&str]) {
    let until = tokio::time::Instant::now() + PATIENCE;
    while files(folder) != expected {
        assert!(tokio::time::Instant::now() < until, "{:?} where {expected:?} were to be", files(folder));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_is_put_is_what_is_got() {
    let server = Server::start(&["--write"]).await;
    let bytes = pattern(3 << 20);
    assert_eq!(put(&server, "/a/b/some%20object", "", &bytes).await, 201);
    assert!(server.ask("GET /a/b/some%20object").await.body == bytes);
    assert_eq!(put(&server, "/a/b/some%20object", "", b"new").await, 204);
    assert_eq!(server.ask("GET /a/b/some%20object").await.body, b"new");
    assert_eq!(put(&server, "/empty", "", b"").await, 201);
    assert_eq!(files(server.folder.path()), ["a", "b", "empty", "some object"]);
}

#[tokio::test]
async fn a_body_in_chunks_is_put_whole() {
    let server = Server::start(&["--write"]).await;
    let mut connection = server.connect().await;
    connection.request("PUT /o\nTransfer-Encoding: chunked").await.expect("a request");
    connection.send("4\r\n0123\r\n").await.expect("a chunk");
    connection.send("6\r\n456789\r\n0\r\n\r\n").await.expect("the last chunks");
    assert_eq!(connection.head().await.expect("an answer").status, 201);
    assert_eq!(server.ask("GET /o").await.body, b"0123456789");
}

#[tokio::test]
async fn creating_never_replaces() {
    let server = Server::start(&["--write"]).await;
    assert_eq!(put(&server, "/f/o", "If-None-Match: *", b"first").await, 201);
    assert_eq!(put(&server, "/f/o", "If-None-Match: *", b"second").await, 412);
    assert_eq!(server.ask("GET /f/o").await.body, b"first");

    // Both see that there is none; one of them is too late.
    let (mut one, mut other) = (server.connect().await, server.connect().await);
    for connection in [&mut one, &mut other] {
        connection.request("PUT /f/both\nContent-Length: 2\nIf-None-Match: *").await.expect("a request");
        connection.send("x").await.expect("half of the body");
    }
    one.send("1").await.expect("the rest");
    assert_eq!(one.head().await.expect("an answer").status, 201);
    other.send("2").await.expect("the rest");
    assert_eq!(other.head().await.expect("an answer").status, 412);
    assert_eq!(server.ask("GET /f/both").await.body, b"x1");
    comes_to(server.folder.path(), &["both", "f", "o"]).await;
}

#[tokio::test]
async fn what_is_half_written_is_neither_served_nor_left() {
    let server = Server::start(&["--write"]).await;
    server.add("o", b"old");
    let mut connection = server.connect().await;
    connection.request("PUT /o\nContent-Length: 10").await.expect("a request");
    connection.send("12345").await.expect("half of the body");
    let until = tokio::time::Instant::now() + PATIENCE;
    let draft = loop {
        let found = files(server.folder.path()).into_iter().find(|name| name.starts_with(".hedgerow-"));
        match found {
            Some(draft) => break draft,
            None => assert!(tokio::time::Instant::now() < until, "no draft"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(server.ask("GET /o").await.body, b"old");
    assert_eq!(server.ask(&format!("GET /{draft}")).await.head.status, 400);
    assert_eq!(server.ask(&format!("DELETE /{draft}")).await.head.status, 400);
    assert!(!server.ask("PROPFIND /\nDepth: 1").await.text().contains(&draft));
    drop(connection);
    comes_to(server.folder.path(), &["o"]).await;
    assert_eq!(server.ask("GET /o").await.body, b"old");
}

#[tokio::test]
async fn what_can_not_be_written_is_refused_and_changes_nothing() {
    let server = Server::start(&["--write"]).await;
    server.add("folder/o", b"old");
    assert_eq!(put(&server, "/folder", "", b"new").await, 409);
    assert_eq!(put(&server, "/folder/", "", b"new").await, 409);
    assert_eq!(put(&server, "/folder/o/p", "", b"new").await, 409);
    assert_eq!(put(&server, "/folder/o", "Content-Range: bytes 0-2/3", b"new").await, 400);
    assert_eq!(put(&server, "/folder/o", "If-Match: \"1\"", b"new").await, 412);
    assert_eq!(put(&server, &format!("/{}", "x".repeat(300)), "", b"new").await, 400);
    assert_eq!(server.ask("GET /folder/o").await.body, b"old");
    comes_to(server.folder.path(), &["folder", "o"]).await;
}

#[tokio::test]
async fn what_is_deleted_is_gone_with_the_folders_that_are_empty_then() {
    let server = Server::start(&["--write"]).await;
    server.add("a/b/c/o", b"o");
    server.add("a/p", b"p");
    assert_eq!(server.ask("DELETE /a/b").await.head.status, 409);
    assert_eq!(server.ask("DELETE /a/b/c/none").await.head.status, 404);
    assert_eq!(server.ask("DELETE /a/b/c/o").await.head.status, 204);
    assert_eq!(server.ask("DELETE /a/b/c/o").await.head.status, 404);
    assert_eq!(files(server.folder.path()), ["a", "p"]);
    assert_eq!(server.ask("DELETE /a/p").await.head.status, 204);
    assert!(server.folder.path().exists());
}

#[tokio::test]
async fn a_client_that_stops_in_mid_put_is_given_up_and_leaves_nothing() {
    let server = Server::start(&["--write", "--client-timeout", "1s"]).await;
    let mut connection = server.connect().await;
    // In one piece: a pause on a busy machine must not look like a client that stops earlier.
    connection
        .send("PUT /o HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12345")
        .await
        .expect("a half");
    assert_eq!(connection.head().await.expect("an answer").status, 408);
    comes_to(server.folder.path(), &[]).await;
}
