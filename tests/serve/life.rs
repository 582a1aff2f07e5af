//! How a server begins and ends, what it says, and how much it does at a time.

use std::io;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::client::{Connection, PATIENCE};
use super::{HEDGEROW, Server, pattern};

/// A run of the command that ends by itself.
fn run(arguments: &[&str]) -> Output {
    Command::new(HEDGEROW).arg("serve").args(arguments).stdin(Stdio::null()).output().expect("a run")
}

#[tokio::test]
async fn a_server_ends_when_its_input_does_and_at_once() {
    let server = Server::start(&["--fault", "stall"]).await;
    server.add("o", &pattern(10_000));
    let mut stalled = server.connect().await;
    stalled.request("GET /o").await.expect("a request");
    stalled.head().await.expect("a head");
    stalled.exactly(4096).await;
    let address = server.address().to_owned();
    let status = server.process.stop().await.expect("an end");
    assert!(status.success(), "{status}");
    assert!(stalled.is_closed().await);
    let error = Connection::open(&address).await.err().map(|error| error.kind());
    assert_eq!(error, Some(io::ErrorKind::ConnectionRefused));
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_is_terminated_lets_answers_under_way_end() {
    let server = Server::start(&["--fault", "slow-body 5 60ms"]).await;
    let bytes = pattern(10_000);
    server.add("o", &bytes);
    let mut connection = server.connect().await;
    connection.request("GET /o").await.expect("a request");
    connection.head().await.expect("a head");
    let id = server.process.id().expect("a process").to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill").success());
    assert!(connection.exactly(10_000).await == bytes);
    assert!(server.process.stop().await.expect("an end").success());
}

#[test]
fn a_server_without_control_prints_its_address_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(HEDGEROW);
    command
        .arg("serve")
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut server = command.spawn().expect("a server");
    let mut line = String::new();
    let mut output = io::BufReader::new(server.stdout.take().expect("a pipe"));
    io::BufRead::read_line(&mut output, &mut line).expect("a line");
    let url = line.trim_end();
    assert!(url.starts_with("http://127.0.0.1:") && !url.ends_with(":0"), "{line:?}");
    std::net::TcpStream::connect(url.trim_start_matches("http://")).expect("a connection");
    server.kill().expect("a kill");
    let end = server.wait_with_output().expect("an end");
    assert_eq!(String::from_utf8_lossy(&end.stderr), "");
}

#[test]
fn what_can_not_be_served_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().to_str().expect("a path in UTF-8");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("an address").to_string();
    let none = format!("{here}/none");
    let cases: [(&[&str], &str); 5] = [
        (&[&none], &none),
        (&[here, "--listen", &taken], &taken),
        (&[here, "--fault", "stal"], "`stal` is no fault"),
        (&[here, "--workers", "0"], "1 to 1024 workers"),
        (&[here, "--skip-gone"], "--workers"),
    ];
    for (arguments, named) in cases {
        let end = run(arguments);
        let said = String::from_utf8_lossy(&end.stderr).into_owned();
        assert!(!end.status.success() && said.contains(named), "{arguments:?}: {said}");
    }
}

#[test]
fn the_log_has_a_line_a_request_and_no_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("o"), b"01234").expect("an object");
    let mut command = Command::new(HEDGEROW);
    command.arg("serve").arg(folder.path()).args(["--log", "--control"]);
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut output = io::BufReader::new(server.stdout.take().expect("a pipe"));
    let mut line = String::new();
    io::BufRead::read_line(&mut output, &mut line).expect("a line");
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let address = line["listening"].as_str().expect("an address").trim_start_matches("http://").to_owned();
    let mut connection = std::net::TcpStream::connect(address).expect("a connection");
    connection.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request =
        "GET /o?key=secret HTTP/1.1\r\nHost: test\r\nAuthorization: secret\r\nConnection: close\r\n\r\n";
    io::Write::write_all(&mut connection, request.as_bytes()).expect("a request");
    io::Read::read_to_end(&mut connection, &mut Vec::new()).expect("an answer");
    drop(server.stdin.take());
    let end = server.wait_with_output().expect("an end");
    let log = String::from_utf8_lossy(&end.stderr).into_owned();
    assert!(log.starts_with("GET /o 200 5 bytes ") && log.lines().count() == 1, "{log:?}");
    assert!(!log.contains("secret"));
}

#[tokio::test]
async fn a_server_of_limited_capacity_serves_who_has_gone_too() {
    let server = Server::start(&["--workers", "1", "--service-time", "100ms"]).await;
    server.add("o", b"o");
    let (mut first, mut gone) = (server.connect().await, server.connect().await);
    let began = Instant::now();
    first.request("GET /o").await.expect("a request");
    gone.request("GET /o").await.expect("a request");
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(gone);
    assert_eq!(server.ask("GET /o").await.body, b"o");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(first.head().await.expect("an answer").status, 200);
}
