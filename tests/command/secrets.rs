//! What opens a node is never printed: not in errors, not in events, not in JSON, not by the parser of the command line.

use std::net::TcpListener;

use crate::setup::{Nine, Ran};

#[test]
fn no_output_shows_what_opens_a_node() {
    let nine = Nine::new();
    let source = nine.file("source", b"bytes");
    let token = nine.file("token", b"hunter2-token\n");
    // Nobody listens there any more.
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let nodes: Vec<String> = (1..=9)
        .flat_map(|n| {
            ["--node".to_owned(), format!("http://hunter2-user:hunter2-password@127.0.0.1:{port}/n{n}")]
        })
        .collect();
    let options = [
        "--node-option".to_owned(),
        format!("*:token=file:{token}"),
        "--node-option".to_owned(),
        "*:header.X-Key=env:HEDGEROW_TEST_KEY".to_owned(),
    ];
    let runs: [&[&str]; 9] = [
        &["put", &source, "file"],
        &["get", "file", "-vvv"],
        &["ls", "-v"],
        &["stat", "file", "--json"],
        &["rm", "file"],
        &["verify", "file"],
        &["repair", "file"],
        &["get", "file", "--node", "http://hunter2-user:hunter2-password@host:port/"],
        &["get", "file", "another", "http://hunter2-user:hunter2-password@host/"],
    ];
    for arguments in runs {
        let mut command = nine.bare(arguments);
        command.args(&nodes).args(&options).env("HEDGEROW_TEST_KEY", "hunter2-key");
        let ran = Ran::of(command);
        assert_ne!(ran.code, Some(0), "{arguments:?}");
        assert!(!ran.err.is_empty(), "{arguments:?}");
        let said = ran.text() + &ran.err;
        assert!(!said.contains("hunter2"), "{arguments:?}: {said}");
    }
}
