//! What machines read: JSON, exit codes, and nothing else on standard output.

use crate::setup::{CELL, GROUP, Nine, Ran, SHAPE, noise};

#[test]
fn json_has_what_is_promised_of_every_command() {
    let nine = Nine::new();
    let source = nine.file("source", &noise(GROUP + 1));
    let put = nine.done(&[&["put", &source, "a/file", "--json"][..], &SHAPE].concat()).json();
    assert_eq!(put["bytes"], GROUP as u64 + 1);
    assert_eq!(put["schema"], "rs-6-3");
    assert_eq!(put["cell_bytes"], CELL as u64);
    assert_eq!(put["groups"], 2);
    assert_eq!(put["nodes"].as_array().map(Vec::len), Some(9));

    let stat = nine.done(&["stat", "a/file", "--json", "--placement"]).json();
    for field in
        ["id", "generation", "bytes", "schema", "cell_bytes", "record_bytes", "stripes_per_group", "groups"]
    {
        assert_eq!(stat[field], put[field], "{field}");
    }
    let placement = stat["placement"].as_array().expect("placement");
    assert_eq!(placement.len(), 2);
    let mut labels: Vec<_> =
        placement[0].as_array().expect("a row").iter().map(|l| l.as_str().expect("a label")).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"]);

    let listed = nine.done(&["ls", "a", "--json"]).json_lines();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["name"], &listed[0]["copies"]), (&"a/file".into(), &9.into()));

    let got = nine.done(&["get", "a/file", "--json"]).json();
    assert_eq!(got["bytes"], GROUP as u64 + 1);
    for field in ["seconds", "hedges", "wins", "extra_cells", "refused", "breaker", "thresholds_ms"] {
        assert!(!got[field].is_null(), "{field}: {got}");
    }
    let piped = nine.done(&["get", "a/file", "-o", "-", "--json"]);
    assert_eq!(piped.out, noise(GROUP + 1));
    serde_json::from_str::<serde_json::Value>(&piped.err).expect("the object on standard error");

    let verified = nine.done(&["verify", "a/file", "--json"]).json();
    // Nine of the full group; of the other, with one byte, a data cell and three parity cells.
    assert_eq!(verified["objects"], 13);
    assert_eq!(verified["findings"].as_array().map(Vec::len), Some(0));
    let repaired = nine.done(&["repair", "a/file", "--json"]).json();
    assert_eq!((&repaired["objects"], &repaired["generation"]), (&0.into(), &serde_json::Value::Null));
    let removed = nine.done(&["rm", "a/file", "--json"]).json();
    assert_eq!(removed["left"].as_array().map(Vec::len), Some(0));
}

#[test]
fn bench_has_a_row_for_every_job_and_cell() {
    let nine = Nine::new();
    let rows = Ran::of(nine.bare(&["bench", "--quick", "--json"])).with(0).json_lines();
    for job in ["encode", "rebuild", "checksum"] {
        for cell in [4096, 65536, 1 << 20] {
            let row = rows.iter().find(|row| row["job"] == job && row["cell"] == cell);
            let speed = row.and_then(|row| row["gbps_median"].as_f64());
            assert!(speed.is_some_and(|speed| speed > 0.0), "{job} {cell}: {row:?}");
        }
    }
}

#[test]
fn every_command_teaches_by_examples() {
    let nine = Nine::new();
    let top = Ran::of(nine.bare(&["--help"])).with(0).text();
    for code in ["Exit codes", "130"] {
        assert!(top.contains(code), "{top}");
    }
    for command in ["demo", "put", "get", "ls", "stat", "rm", "verify", "repair", "serve", "bench"] {
        assert!(top.contains(&format!("\n  {command} ")), "{command} is not listed: {top}");
        let help = Ran::of(nine.bare(&[command, "--help"])).with(0).text();
        assert!(help.contains("Example") && help.contains(&format!("hedgerow {command}")), "{help}");
    }
}

#[test]
fn quiet_says_nothing_when_all_is_well() {
    let nine = Nine::new();
    let source = nine.file("source", b"bytes");
    for arguments in [
        &["put", &source, "file", "-q"][..],
        &["get", "file", "-q"],
        &["verify", "file", "-q"],
        &["rm", "file", "-q"],
    ] {
        let ran = nine.done(arguments);
        assert_eq!((ran.text(), &ran.err[..]), (String::new(), ""), "{arguments:?}");
    }
}
