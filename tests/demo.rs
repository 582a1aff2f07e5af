//! `hedgerow demo` as a user runs it: what it prints, and that nothing is left of it, however it ends.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The keys of a line, as they are documented.
const KEYS: [&str; 13] = [
    "scenario",
    "hedging",
    "reads",
    "wrong_bytes",
    "failed",
    "p50_ms",
    "p99_ms",
    "p999_ms",
    "max_ms",
    "hedges",
    "wins",
    "extra_cells",
    "refused",
];

const SCENARIOS: [&str; 11] = [
    "healthy",
    "slow-body",
    "stall",
    "no-answer",
    "not-accepted",
    "refuse",
    "corrupt",
    "mid-body",
    "two-stall",
    "three-slow",
    "overload",
];

/// The demo, with `folder` for temporary files.
fn demo(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hedgerow"));
    command.arg("demo").args(arguments).env("TMPDIR", folder).env_remove("RUST_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path(), arguments).output().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is left");
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn every_scenario_is_shown_and_no_byte_of_it_is_wrong() {
    let output = run(&["--json", "--seconds", "0.3", "--rate", "300"]);
    let (lines, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{errors}\n{lines}");
    assert_eq!(errors, "");
    let mut shown = Vec::new();
    for line in lines.lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
        assert_eq!(keys.iter().copied().collect::<BTreeSet<_>>(), KEYS.map(String::from).iter().collect());
        shown.push((
            object["scenario"].as_str().unwrap().to_owned(),
            object["hedging"].as_str().unwrap().to_owned(),
        ));
        assert_eq!(object["wrong_bytes"], 0, "{line}");
        if object["hedging"] != "no-breaker" {
            assert_eq!(object["failed"], 0, "{line}");
        }
        let reads = object["reads"].as_u64().unwrap();
        assert!(reads > 30, "{line}");
        assert_eq!(object["p999_ms"].is_null(), reads < 1_000, "{line}");
        let quantiles = ["p50_ms", "p99_ms", "max_ms"].map(|key| object[key].as_f64().unwrap());
        assert!(quantiles.is_sorted() && quantiles[0] > 0.0, "{line}");
        if object["hedging"] == "off" {
            assert_eq!(
                (&object["hedges"], &object["extra_cells"]),
                (&Value::from(0), &Value::from(0)),
                "{line}"
            );
        }
    }
    let modes = |name| if name == "overload" { &["off", "on", "no-breaker"][..] } else { &["off", "on"] };
    let all = SCENARIOS
        .iter()
        .flat_map(|&name| modes(name).iter().map(move |mode| (name.into(), mode.to_string())));
    assert_eq!(shown, all.collect::<Vec<(String, String)>>());
}

#[test]
fn a_stalled_node_is_hedged_and_the_slowest_read_comes_before_silence_would_end_it() {
    let output = run(&["--json", "--seconds", "1", "--rate", "300", "--scenario", "stall"]);
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [off, on] = &lines[..] else { panic!("{lines:?}") };
    // A second of silence fails a request; only then does a read without hedging go on.
    assert!(off["p99_ms"].as_f64().unwrap() >= 1_000.0, "{off}");
    assert!(on["wins"].as_u64().unwrap() > 0, "{on}");
    assert!(on["p99_ms"].as_f64().unwrap() < off["p99_ms"].as_f64().unwrap(), "{on}");
}

#[test]
fn people_get_a_table_a_picture_and_a_chart_of_their_own_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, chart) = (folder.path().join("file"), folder.path().join("chart.svg"));
    std::fs::write(&file, (0..3_000_001_u32).map(|n| (n % 251) as u8).collect::<Vec<u8>>()).unwrap();
    let (file, chart) = (file.to_str().unwrap(), chart.to_str().unwrap());
    let output =
        run(&[file, "--seconds", "0.2", "--scenario", "healthy", "--scenario", "refuse", "--svg", chart]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}\n{shown}", text(&output.stderr));
    for part in ["p99.9", "extra cells", "all nodes are well", "how long reads took", "0 wrong"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\x1b'), "colours where there is no terminal");
    let chart = std::fs::read_to_string(chart).unwrap();
    assert!(chart.starts_with("<svg") && chart.ends_with("</svg>\n"));
}

#[test]
fn what_can_not_be_read_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, b"").unwrap();
    for (path, why) in [(empty, "it is empty"), (folder.path().join("nothing"), "No such file")] {
        let path = path.to_str().unwrap();
        let output = run(&[path]);
        assert_eq!(output.status.code(), Some(1));
        let error = text(&output.stderr);
        assert!(error.contains(path) && error.contains(why), "{error}");
    }
    let output = run(&["--scenario", "fire"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_chart_replaces_no_file_and_a_demo_without_a_place_for_it_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let (old, nowhere) = (folder.path().join("old.svg"), folder.path().join("none/chart.svg"));
    std::fs::write(&old, b"mine").unwrap();
    for (path, code) in [(&old, 6), (&nowhere, 1)] {
        let path = path.to_str().unwrap();
        let output = run(&["--svg", path]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(path) && output.stdout.is_empty());
    }
    assert_eq!(std::fs::read(&old).unwrap(), b"mine");
}

/// A demo under way, and its servers.
#[cfg(target_os = "linux")]
struct UnderWay {
    demo: Child,
    servers: Vec<u32>,
    folder: tempfile::TempDir,
}

#[cfg(target_os = "linux")]
impl UnderWay {
    /// Starts a demo, and returns once it has nine servers, or has measured something.
    fn start(measured: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments =
            ["--json", "--seconds", "1", "--rate", "50", "--scenario", "healthy", "--scenario", "stall"];
        let mut demo = demo(folder.path(), &arguments).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut servers = children(demo.id());
        while servers.len() < 9 {
            assert!(Instant::now() < deadline, "there are {} servers", servers.len());
            std::thread::sleep(Duration::from_millis(5));
            servers = children(demo.id());
        }
        if measured {
            let mut line = String::new();
            BufReader::new(demo.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert!(line.contains("healthy"), "{line}");
        }
        Self { demo, servers, folder }
    }

    /// Checks that nothing is left, soon.
    fn nothing_is_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Some(left) = self.servers.iter().find(|&&server| is_running(server)) {
            assert!(Instant::now() < deadline, "server {left} is still running");
            std::thread::sleep(Duration::from_millis(5));
        }
        let left: Vec<_> = std::fs::read_dir(self.folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The state of a process and its parent.
#[cfg(target_os = "linux")]
fn state(process: u32) -> Option<(char, u32)> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    let (_, rest) = line.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|&process| state(process).is_some_and(|(_, of)| of == parent)).collect()
}

/// A zombie has ended, and waits only for its parent to ask.
#[cfg(target_os = "linux")]
fn is_running(process: u32) -> bool {
    state(process).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_demo_leaves_no_process_and_no_file() {
    for measured in [false, true] {
        let mut under_way = UnderWay::start(measured);
        under_way.demo.kill().unwrap();
        under_way.demo.wait().unwrap();
        under_way.nothing_is_left();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_demo_says_so_by_its_exit_code_and_leaves_nothing() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut under_way = UnderWay::start(true);
        let sent =
            Command::new("kill").args(["-s", signal, &under_way.demo.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(under_way.demo.wait().unwrap().code(), Some(code));
        under_way.nothing_is_left();
    }
}
