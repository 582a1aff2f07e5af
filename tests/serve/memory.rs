//! Objects in memory, and workers that are exchanged at run time: what the demo and tests of whole clusters use.

use std::path::Path;
use std::time::Instant;

use super::client::Connection;
use super::{HEDGEROW, ServerProcess, pattern};

async fn start() -> ServerProcess {
    ServerProcess::start(Path::new(HEDGEROW), ["--memory", "--write"]).await.expect("a server")
}

async fn connect(server: &ServerProcess) -> Connection {
    let address = server.url().strip_prefix("http://").expect("an address");
    Connection::open(address).await.expect("a connection")
}

async fn put(connection: &mut Connection, path: &str, headers: &str, bytes: &[u8]) -> u16 {
    let head = format!("PUT {path}\nContent-Length: {}\n{headers}", bytes.len());
    connection.request(&head).await.expect("a request");
    connection.send(bytes).await.expect("a body");
    connection.head().await.expect("an answer").status
}

#[tokio::test]
async fn objects_in_memory_are_written_read_kept_and_deleted() {
    let server = start().await;
    let bytes = pattern(300_000);
    let mut connection = connect(&server).await;
    assert_eq!(connection.ask("GET /a/o").await.expect("an answer").head.status, 404);
    assert_eq!(put(&mut connect(&server).await, "/a/o", "", &bytes).await, 201);
    assert_eq!(put(&mut connect(&server).await, "/a/o", "If-None-Match: *", b"other").await, 412);
    let mut connection = connect(&server).await;
    assert!(connection.ask("GET /a/o").await.expect("an answer").body == bytes);
    let part = connection.ask("GET /a/o\nRange: bytes=65530-131080").await.expect("an answer");
    assert!(part.head.status == 206 && part.body == bytes[65_530..=131_080]);
    assert_eq!(connection.ask("HEAD /a/o").await.expect("an answer").head.length(), Some(300_000));
    assert_eq!(connection.ask("DELETE /a/o").await.expect("an answer").head.status, 204);
    let mut connection = connect(&server).await;
    assert_eq!(connection.ask("GET /a/o").await.expect("an answer").head.status, 404);
}

#[tokio::test]
async fn a_stale_answer_from_memory_has_the_length_and_not_the_bytes() {
    let mut server = start().await;
    for (name, seed) in [("/f/a", 1), ("/f/b", 2)] {
        assert_eq!(put(&mut connect(&server).await, name, "", &[seed; 1_000]).await, 201);
    }
    server.fault("stale").await.expect("another fault");
    let answer = connect(&server).await.ask("GET /f/a").await.expect("an answer");
    assert_eq!(answer.body, [2; 1_000]);
    server.fault("corrupt").await.expect("another fault");
    let answer = connect(&server).await.ask("GET /f/a").await.expect("an answer");
    assert_eq!(answer.body.iter().filter(|&&byte| byte != 1).count(), 1);
    server.fault("none").await.expect("no fault");
    // What was flipped is a copy.
    assert_eq!(connect(&server).await.ask("GET /f/a").await.expect("an answer").body, [1; 1_000]);
}

#[tokio::test]
async fn workers_are_exchanged_while_the_server_runs() {
    let mut server = start().await;
    assert_eq!(put(&mut connect(&server).await, "/o", "", b"o").await, 201);
    server.workers("1 100ms").await.expect("a worker");
    let start = Instant::now();
    assert_eq!(connect(&server).await.ask("GET /o").await.expect("an answer").body, b"o");
    assert!(start.elapsed().as_millis() >= 100);
    server.workers("any").await.expect("no workers");
    assert_eq!(connect(&server).await.ask("GET /o").await.expect("an answer").body, b"o");
    for wrong in ["0 1ms", "1", "many 1ms", "1 soon"] {
        assert!(server.workers(wrong).await.is_err(), "{wrong}");
    }
}
