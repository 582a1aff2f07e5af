//! Every kind of failure has its exit code and one line that says why; nothing is lost by it.

use std::fs;

use crate::setup::{Nine, Ran};

#[test]
fn what_cannot_be_understood_is_a_usage_error() {
    let nine = Nine::new();
    let source = nine.file("source", b"bytes");
    let wrong: [(&[&str], &str); 8] = [
        (&["put", &source, "--schema", "rs-9-9"], "9 nodes for 18 cells"),
        (&["put", &source, "../up"], "no name"),
        (&["put", "-"], "NAME"),
        (&["put", &source, "--node", "n1=elsewhere"], "n1"),
        (&["put", &source, "--node", "gopher://host/"], "gopher"),
        (&["put", &source, "--node-option", "n44:token=x"], "n44"),
        (&["get", "file", "--set", "no.such.name=1"], "no.such.name"),
        (&["get", "file", "--profile", "hubspot"], "--threshold"),
    ];
    for (arguments, why) in wrong {
        nine.run(arguments).with(2).saying(&[why]);
    }
    for arguments in
        [&["put", &source, "--cell", "1M"][..], &["get", "file", "--range", "9-1"], &["frobnicate"], &[]]
    {
        let ran = Ran::of(nine.bare(arguments)).with(2);
        assert!(!ran.err.is_empty() && ran.out.is_empty(), "{arguments:?}");
    }
    Ran::of(nine.bare(&["ls"])).with(2).saying(&["--node"]);
    assert!(nine.objects().is_empty());
}

#[test]
fn a_file_that_is_not_there_is_not_found() {
    let nine = Nine::new();
    for command in ["get", "stat", "rm", "verify", "repair"] {
        nine.run(&[command, "no/such/file"]).with(3).saying(&["no/such/file"]);
    }
    nine.run(&["put", "no-such-source"]).with(3).saying(&["no-such-source"]);
    assert!(nine.objects().is_empty());
}

#[test]
fn an_output_that_is_there_is_kept_unless_it_may_be_replaced() {
    let nine = Nine::new();
    nine.put("file", b"from the nodes");
    nine.file("file", b"mine");
    nine.run(&["get", "file"]).with(6).saying(&["file", "--overwrite"]);
    assert_eq!(fs::read(nine.path().join("file")).expect("it is there"), b"mine");
    nine.done(&["get", "file", "--overwrite"]);
    assert_eq!(fs::read(nine.path().join("file")).expect("it is there"), b"from the nodes");
    nine.run(&["get", "file", "-o", "no/such/folder/file"]).with(3).saying(&["no/such/folder"]);
    nine.run(&["get", "file", "-o", "n1"]).with(1).saying(&["folder"]);
    nine.done(&["get", "file", "-o", "/dev/null"]);
}

#[cfg(unix)]
#[test]
fn what_replaces_a_private_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let nine = Nine::new();
    nine.put("file", b"from the nodes");
    let mine = nine.file("file", b"mine");
    for mode in [0o600, 0o640] {
        fs::set_permissions(&mine, fs::Permissions::from_mode(mode)).expect("a mode");
        nine.done(&["get", "file", "--overwrite"]);
        assert_eq!(fs::metadata(&mine).expect("it is there").permissions().mode() & 0o777, mode);
    }
}

#[test]
fn a_put_that_a_node_refuses_fails_and_leaves_nothing() {
    let nine = Nine::new();
    let source = nine.file("source", b"bytes");
    fs::remove_dir(nine.node(5)).expect("the folder goes");
    fs::write(nine.node(5), b"no folder").expect("a file in its place");
    nine.run(&["put", &source, "file"]).with(1).saying(&["n5"]);
    assert!(nine.objects().is_empty(), "{:?}", nine.objects());
}

#[test]
fn a_list_names_the_nodes_that_are_missing_in_it_and_fails() {
    let nine = Nine::new();
    nine.put("file", b"bytes");
    fs::remove_dir_all(nine.node(2)).expect("a folder goes");
    fs::remove_dir_all(nine.node(7)).expect("a folder goes");
    fs::write(nine.node(7), b"no folder").expect("a file in its place");
    let ran = nine.run(&["ls", "--long"]).with(1);
    assert_eq!(ran.text(), "7 of 9  file\n");
    for named in ["can't list n2: ", "can't list n7: ", "2 of 9 nodes"] {
        assert!(ran.err.contains(named), "no {named:?} in: {}", ran.err);
    }
}

#[test]
fn a_listing_whose_reader_has_gone_ends_without_a_word() {
    let nine = Nine::new();
    nine.put("file", b"bytes");
    let mut command = nine.command(&["ls"]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer);
    let ran = Ran::of(command).with(141);
    assert_eq!(ran.err, "");
}
