//! Ctrl-C at the worst moment: nothing half-written stays.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::setup::{GROUP, Nine, Ran, SHAPE, noise};

fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status();
    assert!(sent.expect("kill runs").success());
}

/// Waits until it is so; a minute is too long.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupted_put_leaves_nothing() {
    let nine = Nine::new();
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let mut command = nine.command(&[&["put", "-", "file"][..], &SHAPE].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        let mut input = child.stdin.take().expect("its standard input");
        // More is to come: the put waits for it.
        input.write_all(&noise(3 * GROUP)).expect("some input");
        until("a cell on a node", || nine.objects().iter().any(|path| path.to_string_lossy().contains("/g")));
        signal(&child, name);
        let ran = Ran::wait(child).with(code).saying(&[]);
        drop(input);
        assert!(nine.objects().is_empty(), "{name}: {:?}, {}", nine.objects(), ran.err);
        nine.run(&["stat", "file"]).with(3);
    }
}

#[test]
fn an_interrupted_get_leaves_no_output() {
    let nine = Nine::new();
    let mut server = nine.bare(&["serve", ".", "--fault", "no-answer"]);
    let mut server = server.stdout(Stdio::piped()).spawn().expect("the server runs");
    let mut url = String::new();
    BufReader::new(server.stdout.take().expect("its output")).read_line(&mut url).expect("its address");
    let mut command = nine.bare(&["get", "file", "-o", "output"]);
    for number in 1..=9 {
        command.arg("--node").arg(format!("n{number}={}/n{number}", url.trim()));
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command runs");
    let parts = || fs::read_dir(nine.path()).expect("the folder").count() - 9;
    until("a file that is being written", || parts() > 0);
    signal(&child, "INT");
    Ran::wait(child).with(130).saying(&["interrupted"]);
    assert_eq!(parts(), 0);
    signal(&server, "INT");
    assert!(server.wait().expect("the server ends").success());
}
