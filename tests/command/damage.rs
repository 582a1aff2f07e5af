//! What is missing or damaged is named, and mended as long as it can be.

use std::fs;
use std::path::PathBuf;

use crate::setup::{GROUP, Nine, Ran, noise};

/// The objects with cells of node `number`.
fn cells(nine: &Nine, number: usize) -> Vec<PathBuf> {
    let mut cells = nine.objects();
    cells.retain(|path| path.starts_with(nine.node(number)) && path.to_string_lossy().contains("/g"));
    cells
}

#[test]
fn four_of_nine_folders_gone_is_an_error_that_names_them() {
    let nine = Nine::new();
    nine.put("file", &noise(GROUP));
    for number in [1, 3, 6, 8] {
        fs::remove_dir_all(nine.node(number)).expect("the folder goes");
    }
    let ran = nine.run(&["get", "file"]).with(4).saying(&["n1", "n3", "n6", "n8"]);
    assert!(!ran.err.contains("n2") && !ran.err.contains("n9"), "{}", ran.err);
    let written: Vec<_> = fs::read_dir(nine.path()).expect("the folder").collect();
    assert_eq!(written.len(), 5 + 1, "five nodes and the source, no output: {written:?}");
}

#[test]
fn verify_names_what_is_damaged_or_missing_and_repair_mends_it() {
    let nine = Nine::new();
    let bytes = noise(3 * GROUP + 99);
    nine.put("file", &bytes);
    nine.done(&["verify", "file"]);

    let damaged = cells(&nine, 4).pop().expect("a cell");
    let mut object = fs::read(&damaged).expect("the object");
    object[100] ^= 1;
    fs::write(&damaged, object).expect("a flipped bit");
    fs::remove_file(cells(&nine, 7).pop().expect("a cell")).expect("a lost cell");

    let found = nine.run(&["verify", "file", "--json"]).with(5).json();
    let findings: Vec<_> = found["findings"].as_array().expect("findings").iter().collect();
    let of = |node: &str| {
        findings.iter().filter(|f| f["node"] == node).map(|f| f["fault"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(findings.len(), 2, "{found}");
    assert_eq!((of("n4"), of("n7")), (vec!["corrupt".into()], vec!["missing".into()]));
    assert_eq!(nine.done(&["get", "file", "-o", "-"]).out, bytes);

    let repaired = nine.done(&["repair", "file", "--json"]).json();
    assert_eq!(repaired["objects"], 2, "{repaired}");
    nine.done(&["verify", "file", "--rate", "1GiB/s"]);
    assert_eq!(nine.done(&["get", "file", "-o", "-"]).out, bytes);
}

#[test]
fn a_node_is_left_and_another_takes_its_cells() {
    let nine = Nine::new();
    let bytes = noise(2 * GROUP);
    nine.put("file", &bytes);
    let tenth = nine.path().join("n10");
    fs::create_dir(&tenth).expect("a folder");
    let tenth = format!("n10={}", tenth.display());
    nine.done(&["repair", "file", "--leave", "n4", "--node", &tenth]);
    fs::remove_dir_all(nine.node(4)).expect("the folder goes");
    fs::create_dir(nine.node(4)).expect("an empty folder");
    nine.done(&["verify", "file", "--node", &tenth]);
    assert_eq!(nine.done(&["get", "file", "-o", "-", "--node", &tenth]).out, bytes);
}

#[test]
fn a_file_that_is_beyond_repair_is_said_to_be_lost() {
    let nine = Nine::new();
    nine.put("file", &noise(GROUP));
    for number in 1..=4 {
        for object in cells(&nine, number) {
            fs::remove_file(object).expect("a lost cell");
        }
    }
    nine.run(&["verify", "file"]).with(4);
    nine.run(&["repair", "file"]).with(4);
    nine.run(&["get", "file", "-o", "-"]).with(4).saying(&["n1", "n2", "n3", "n4"]);
}

#[test]
fn folders_that_are_empty_now_are_known_again_by_any_path_to_them() {
    let nine = Nine::new();
    let bytes = noise(2 * GROUP);
    nine.put("file", &bytes);
    for number in [3, 8] {
        fs::remove_dir_all(nine.node(number)).expect("the folder goes");
        fs::create_dir(nine.node(number)).expect("an empty one in its place");
    }
    let relative = |arguments: &[&str]| {
        let mut command = nine.bare(arguments);
        command.args((1..=9).map(|number| format!("--node=n{number}")));
        Ran::of(command)
    };
    relative(&["repair", "file"]).with(0);
    relative(&["verify", "file"]).with(0);
    nine.done(&["verify", "file"]);
}
