//! What is written comes back: whole, in parts, through pipes, and with nodes gone.

use std::fs;

use crate::setup::{CELL, GROUP, Nine, Ran, SHAPE, STRIPE, noise};

#[test]
fn files_of_every_size_come_back_as_they_were_written() {
    let nine = Nine::new();
    for length in [0, 1, CELL, CELL + 1, STRIPE - 1, STRIPE, STRIPE + 1, GROUP, 3 * GROUP + STRIPE + 5] {
        let bytes = noise(length);
        let name = format!("file-{length}");
        nine.put(&name, &bytes);
        nine.done(&["get", &name]);
        assert_eq!(fs::read(nine.path().join(&name)).expect("the output"), bytes, "{length}");
        nine.done(&["verify", &name]);
    }
}

#[test]
fn ranges_across_every_edge_are_the_bytes_of_the_file() {
    let nine = Nine::new();
    let bytes = noise(2 * GROUP + STRIPE + 777);
    nine.put("file", &bytes);
    let edges = [0, 1, 1024, CELL, STRIPE, GROUP, 2 * GROUP, bytes.len()];
    for (index, &start) in edges.iter().enumerate() {
        for &end in &edges[index..] {
            let (start, end) = (start.saturating_sub(1), end);
            let range = format!("{start}-{end}");
            let ran = nine.done(&["get", "file", "-o", "-", "--range", &range]);
            assert_eq!(ran.out, &bytes[start..end], "{range}");
        }
    }
    assert_eq!(nine.done(&["get", "file", "-o", "-", "--range", "1KiB-"]).out, &bytes[1024..]);
    assert_eq!(nine.done(&["get", "file", "-o", "-", "--range", "-100"]).out, &bytes[bytes.len() - 100..]);
    nine.run(&["get", "file", "--range", "5-9999999"]).with(2).saying(&["9999999", &bytes.len().to_string()]);
}

#[test]
fn a_file_goes_through_pipes_in_both_directions() {
    let nine = Nine::new();
    let bytes = noise(GROUP + 12345);
    let put = nine.command(&[&["put", "-", "from/a/pipe"][..], &SHAPE].concat());
    Ran::fed(put, &bytes).with(0);
    let got = nine.done(&["get", "from/a/pipe", "-o", "-"]);
    assert_eq!(got.out, bytes);
    assert_eq!(got.err, "");
}

#[test]
fn other_schemas_and_the_default_shape_come_back_too() {
    let nine = Nine::new();
    let bytes = noise(7_000_000);
    let source = nine.file("source", &bytes);
    nine.done(&["put", &source, "default"]);
    nine.done(&["put", &source, "rs-3-2", "--schema", "rs-3-2", "--cell", "64KiB"]);
    for name in ["default", "rs-3-2"] {
        assert_eq!(nine.done(&["get", name, "-o", "-"]).out, bytes, "{name}");
    }
}

#[test]
fn three_of_nine_folders_gone_are_rebuilt() {
    let nine = Nine::new();
    let bytes = noise(3 * GROUP + 1);
    nine.put("file", &bytes);
    for number in [2, 5, 9] {
        fs::remove_dir_all(nine.node(number)).expect("the folder goes");
    }
    for profile in [&[][..], &["--profile", "off"], &["--threshold", "20ms", "--profile", "hubspot"]] {
        let got = nine.done(&[&["get", "file", "-o", "-"][..], profile].concat());
        assert_eq!(got.out, bytes, "{profile:?}");
    }
}

#[test]
fn a_file_is_replaced_only_when_asked() {
    let nine = Nine::new();
    nine.put("file", b"old");
    let source = nine.file("source", b"new");
    nine.run(&["put", &source, "file"]).with(6).saying(&["file"]);
    assert_eq!(nine.done(&["get", "file", "-o", "-"]).out, b"old");
    nine.done(&["put", &source, "file", "--overwrite"]);
    assert_eq!(nine.done(&["get", "file", "-o", "-"]).out, b"new");
}

#[test]
fn what_is_removed_leaves_nothing() {
    let nine = Nine::new();
    nine.put("some/file", &noise(GROUP));
    nine.put("another", b"kept");
    nine.done(&["rm", "some/file"]);
    assert_eq!(nine.done(&["ls"]).text(), "another\n");
    nine.done(&["rm", "another"]);
    assert_eq!(nine.objects(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn nodes_and_their_labels_come_from_a_file_too() {
    let nine = Nine::new();
    let lines: String = (1..=9).map(|n| format!("n{n} = {}\n", nine.node(n).display())).collect();
    let list = nine.file("nodes.txt", format!("# the nodes\n\n{lines}").as_bytes());
    nine.put("file", b"hello");
    let got = Ran::of(nine.bare(&["get", "file", "-o", "-", "--nodes-file", &list])).with(0);
    assert_eq!(got.out, b"hello");
    let mut by_environment = nine.bare(&["get", "file", "-o", "-"]);
    by_environment.env("HEDGEROW_NODES_FILE", &list);
    assert_eq!(Ran::of(by_environment).with(0).out, b"hello");
}
