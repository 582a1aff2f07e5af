//! The command as a user runs it: what it is told, what it says, and what that means.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs a subcommand in a folder.
pub(crate) fn run(subcommand: &str, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hedgerow"));
    command.current_dir(folder).arg(subcommand).args(arguments).env_remove("RUST_LOG");
    command.stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What it said on standard output; it succeeded, and said nothing else.
pub(crate) fn done(output: &Output) -> &str {
    assert!(output.status.success(), "{}\n{}", text(&output.stderr), text(&output.stdout));
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout)
}

/// Lines of JSON.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
