//! Nine folders, and runs of the command on them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The smallest shape with all that files have: a stripe of 24 KiB, a block group of two stripes.
pub(crate) const SHAPE: [&str; 6] = ["--cell", "4KiB", "--record", "1KiB", "--stripes", "2"];
pub(crate) const CELL: usize = 4096;
pub(crate) const STRIPE: usize = 6 * CELL;
pub(crate) const GROUP: usize = 2 * STRIPE;

/// A place with nine empty folders `n1` to `n9`, which are nodes; gone when dropped.
pub(crate) struct Nine(TempDir);

impl Nine {
    pub(crate) fn new() -> Self {
        let nine = Self(tempfile::tempdir().expect("a temporary folder"));
        for number in 1..=9 {
            fs::create_dir(nine.node(number)).expect("a folder for a node");
        }
        nine
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn node(&self, number: usize) -> PathBuf {
        self.path().join(format!("n{number}"))
    }

    /// Writes bytes to a file here that is no node's, and says where.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path().join(name);
        fs::write(&path, bytes).expect("a file");
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    /// The command, here, without nodes.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hedgerow"));
        command.current_dir(self.path()).env_remove("HEDGEROW_NODES_FILE").env_remove("HEDGEROW_LOG");
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// The command on the nine nodes.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare(arguments);
        for number in 1..=9 {
            command.arg("--node").arg(format!("n{number}={}", self.node(number).display()));
        }
        command
    }

    /// Runs the command on the nine nodes.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments))
    }

    /// Runs it, and it must end well.
    pub(crate) fn done(&self, arguments: &[&str]) -> Ran {
        self.run(arguments).with(0)
    }

    /// Writes `bytes` as the file `name`, in the small shape.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let source = self.file("source", bytes);
        self.done(&[&["put", &source, name][..], &SHAPE].concat());
    }

    /// Everything that the nodes have, as paths below this place.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for number in 1..=9 {
            walk(&self.node(number), &mut found);
        }
        found
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// How a run of the command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        command.output().expect("the command runs").into()
    }

    /// Runs it with `input` on its standard input.
    pub(crate) fn fed(mut command: Command, input: &[u8]) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut stdin = child.stdin.take().expect("its standard input");
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || stdin.write_all(&input));
        let ran = Self::wait(child);
        feeder.join().expect("the feeder").expect("all of the input is taken");
        ran
    }

    pub(crate) fn wait(child: Child) -> Self {
        child.wait_with_output().expect("the command ends").into()
    }

    /// It must have ended with this code.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.text(), self.err);
        self
    }

    /// It must have said one line on standard error, with all of these in it.
    #[track_caller]
    pub(crate) fn saying(self, parts: &[&str]) -> Self {
        assert!(self.err.starts_with("hedgerow: ") && self.err.lines().count() == 1, "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "no {part} in: {}", self.err);
        }
        self
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Standard output, as one object of JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Standard output, as one object of JSON a line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let text = self.text();
        let parsed = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        text.lines().map(parsed).collect()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { code: output.status.code(), out: output.stdout, err }
    }
}

/// Bytes that differ from place to place.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(next).collect()
}
