//! `hedgerow plan` as a user runs it: what it prints and writes, and what it refuses.

#[path = "support/shown.rs"]
mod shown;

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use shown::{done, lines, run, text};

/// The keys that a line begins with, as they are documented.
const FIRST_KEYS: [&str; 5] = ["policy", "x", "bound", "exact", "simulated"];

const POLICIES: [&str; 7] = [
    "optimised",
    "optimised-random-placement",
    "fixed-t",
    "equal",
    "equal-random-placement",
    "proportional",
    "proportional-random-placement",
];

/// Six nodes, every law.
const SMALL: &str = r#"
title = "six nodes & more"
load = 0.3
x_ms = [400, 200]
plan_for_ms = 400
fixed_t_per_ms = 0.004
simulated_reads = 20000

[[nodes]]
count = 3
mean_ms = [60, 30]
law = { shifted-exponential = { shift_share = 0.3 } }

[[nodes]]
mean_ms = 40
law = "exponential"

[[nodes]]
rate_per_ms = 0.02
law = { gamma = { shape = 2 } }

[[nodes]]
law = { histogram = [[20, 30], [40, 60], [80, 10]] }

[[files]]
classes = 20
n = 5
k = 3
zipf = 0.5
"#;

fn plan(folder: &Path, arguments: &[&str]) -> Output {
    run("plan", folder, arguments)
}

/// A folder with the small fleet in it, in which `from` is replaced by `to`.
fn folder_with(from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    assert!(SMALL.contains(from));
    std::fs::write(folder.path().join("small.toml"), SMALL.replace(from, to)).unwrap();
    folder
}

fn folder() -> tempfile::TempDir {
    folder_with("", "")
}

#[test]
fn json_has_one_object_a_policy_and_time_and_the_bound_is_never_below_the_rest() {
    let folder = folder();
    let output = plan(folder.path(), &["small.toml", "--json"]);
    let said = done(&output);
    let rows = lines(said);
    assert_eq!(rows.len(), 14);
    for (line, row) in said.lines().zip(&rows) {
        let places = FIRST_KEYS.map(|key| line.find(&format!("\"{key}\":")).unwrap());
        assert!(places.is_sorted() && places[0] == 1, "{line}");
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} of {line}"));
        let (bound, exact, simulated) = (number("bound"), number("exact"), number("simulated"));
        assert!(exact <= bound * (1.0 + 1e-6) && bound <= 1.0, "{line}");
        let error = (exact / number("simulated_reads")).sqrt();
        assert!(simulated > 0.0 && simulated <= exact + 6.0 * error, "{line}");
    }
    // Policies in their order, times rising.
    let policies: Vec<&str> = rows.iter().step_by(2).map(|row| row["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, POLICIES);
    for pair in rows.chunks(2) {
        assert_eq!((&pair[0]["x"], &pair[1]["x"]), (&Value::from(200.0), &Value::from(400.0)));
        assert!(pair[0]["exact"].as_f64() > pair[1]["exact"].as_f64());
    }
}

#[test]
fn the_same_seed_prints_the_same_bytes_on_any_number_of_threads() {
    let folder = folder();
    let said = |threads| {
        text(&plan(folder.path(), &["small.toml", "--json", "--threads", threads]).stdout).to_owned()
    };
    assert_eq!(said("1"), said("3"));
    assert!(!said("1").is_empty());
}

#[test]
fn people_see_each_policy_in_three_tables_and_who_holds_the_tail() {
    let folder = folder();
    let output = plan(folder.path(), &["small.toml"]);
    let said = done(&output);
    for policy in POLICIES {
        let lines = said
            .lines()
            .filter(|line| line.strip_prefix("  ").and_then(|line| line.split(' ').next()) == Some(policy))
            .count();
        // Bound, exact, simulated, and how the plan was come by.
        assert_eq!(lines, 4, "{policy}: {said}");
    }
    assert!(said.contains("who holds the tail at 400 ms, optimised"), "{said}");
    let silent = plan(folder.path(), &["small.toml", "--reads", "0"]);
    assert!(!done(&silent).contains("simulated so many did"));
}

#[test]
fn each_row_tells_of_the_plan_for_its_own_time() {
    let folder = folder();
    let arguments = ["small.toml", "--json", "--reads", "0"];
    for row in lines(done(&plan(folder.path(), &arguments))) {
        // What is planned for the time itself has the bound there for its objective, also where the weights are the same for all times.
        if row["planned_for"] == row["x"] {
            let [bound, objective] = ["bound", "objective"].map(|key| row[key].as_f64().unwrap());
            assert!((objective / bound - 1.0).abs() < 1e-6, "{row}");
        } else {
            assert_eq!(row["x"], 200.0, "{row}");
        }
    }
}

#[test]
fn a_policy_that_is_named_twice_stands_there_once() {
    let folder = folder();
    let arguments = ["small.toml", "--json", "--reads", "0", "--policy", "equal", "--policy", "equal"];
    assert_eq!(lines(done(&plan(folder.path(), &arguments))).len(), 2);
}

#[test]
fn what_can_not_be_simulated_is_planned_all_the_same_and_it_is_said_why() {
    let folder = folder_with("load = 0.3", "reads_per_second = 1e-9");
    let policy = ["small.toml", "--policy", "equal-random-placement"];
    for row in lines(done(&plan(folder.path(), &[&policy[..], &["--json"]].concat()))) {
        assert!(row["exact"].as_f64() > Some(0.0) && row["simulated"].is_null(), "{row}");
        assert!(row["not_simulated"].as_str().unwrap().starts_with("rate: is 0.00000000"), "{row}");
    }
    let output = plan(folder.path(), &policy);
    assert!(done(&output).contains("not simulated: rate: is 0.00000000"));
}

#[test]
fn bins_that_lie_next_to_each_other_are_simulated() {
    let folder = folder_with("[[20, 30], [40, 60],", "[[20, 30], [20.000001, 60],");
    let output = plan(folder.path(), &["small.toml", "--json", "--policy", "equal"]);
    assert!(lines(done(&output)).iter().all(|row| row["simulated"].as_f64() > Some(0.0)));
}

#[test]
fn weights_are_written_with_the_placement_and_add_up_to_k() {
    let folder = folder();
    let policy = "optimised-random-placement";
    let arguments = ["small.toml", "--policy", policy, "--weights", "weights.jsonl", "--reads", "0"];
    done(&plan(folder.path(), &arguments));
    let written = std::fs::read_to_string(folder.path().join("weights.jsonl")).unwrap();
    let lines = lines(&written);
    assert_eq!((&lines[0]["policy"], &lines[0]["plan_for_ms"]), (&policy.into(), &400.0.into()));
    assert_eq!(lines.len(), 21);
    let unit = lines[0]["unit"].as_u64().unwrap();
    for (class, line) in lines[1..].iter().enumerate() {
        let list = |key: &str| -> Vec<u64> {
            line[key].as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
        };
        let (nodes, weights) = (list("nodes"), list("weights"));
        assert_eq!((line["class"].as_u64(), nodes.len(), weights.len()), (Some(class as u64), 5, 5));
        assert_eq!(weights.iter().sum::<u64>(), 3 * unit);
        assert!(weights.iter().all(|&weight| weight <= unit) && nodes.iter().all(|&node| node < 6));
        let [bound, exact] = ["bound", "exact"].map(|key| line[key].as_f64().unwrap());
        assert!(0.0 < exact && exact <= bound && bound < 0.1, "{line}");
    }
    // Nothing is written over.
    let again = plan(folder.path(), &arguments);
    assert_eq!(again.status.code(), Some(6));
    assert_eq!(std::fs::read_to_string(folder.path().join("weights.jsonl")).unwrap(), written);
}

#[test]
fn a_node_that_is_known_to_be_slow_is_asked_less() {
    let folder = folder();
    let load = |arguments: &[&str]| -> f64 {
        let file = format!("{}.jsonl", arguments.len());
        let mut all =
            vec!["small.toml", "--policy", "optimised-random-placement", "--reads", "0", "--weights", &file];
        all.extend(arguments);
        done(&plan(folder.path(), &all));
        let written = std::fs::read_to_string(folder.path().join(&file)).unwrap();
        lines(&written)[1..]
            .iter()
            .map(|line| {
                let of_two = |place: usize| {
                    (line["nodes"][place] == 2).then(|| line["weights"][place].as_f64().unwrap())
                };
                line["reads_per_second"].as_f64().unwrap() * (0..5).filter_map(of_two).sum::<f64>()
            })
            .sum()
    };
    let (before, after) = (load(&[]), load(&["--slow", "2=4"]));
    assert!(after < 0.7 * before, "{before} {after}");
}

#[test]
fn the_chart_has_a_line_for_each_policy() {
    let folder = folder();
    done(&plan(folder.path(), &["small.toml", "--svg", "chart.svg"]));
    let svg = std::fs::read_to_string(folder.path().join("chart.svg")).unwrap();
    assert!(svg.contains("six nodes &amp; more"));
    // The tail itself and the bound.
    assert_eq!(svg.matches("<polyline").count(), 14);
    assert_eq!(svg.matches("class=\"dot\"").count(), 14);
    assert!(!svg.contains("no plan"));
}

#[test]
fn a_chart_of_tails_below_its_field_has_all_names_on_the_page_and_tells_which_policy_has_no_plan() {
    let folder = folder_with("fixed_t_per_ms = 0.004", "fixed_t_per_ms = 10");
    let arguments = ["small.toml", "--reads", "0", "--x", "5000", "--x", "9000", "--svg", "chart.svg"];
    done(&plan(folder.path(), &arguments));
    let svg = std::fs::read_to_string(folder.path().join("chart.svg")).unwrap();
    let number = |text: &str, key: &str| -> f64 {
        let after = &text[text.find(key).unwrap() + key.len()..];
        after[..after.find('"').unwrap()].parse().unwrap()
    };
    let height = number(&svg, "height=\"");
    let names: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text x=")).collect();
    assert_eq!(names.len(), POLICIES.len());
    let mut places: Vec<f64> = names.iter().map(|name| number(name, " y=\"")).collect();
    places.sort_by(f64::total_cmp);
    assert!(places.iter().all(|&place| place > 0.0 && place < height - 20.0), "{places:?} of {height}");
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 12.0), "{places:?}");
    assert!(svg.contains(">fixed-t: no plan<"));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place_and_numbers() {
    for (from, to, wanted) in [
        ("load = 0.3", "load = 1.5", "must serve at least"),
        ("load = 0.3", "load = -1", "load: -1 is not a positive number"),
        ("load = 0.3", "", "load: it takes either load or reads_per_second"),
        ("title =", "titel =", "line 2: unknown field `titel`"),
        ("k = 3", "k = 6", "asks 6 of 5 nodes"),
        ("n = 5", "n = 9", "asks 3 of 9 nodes, and there are 6"),
        ("x_ms = [400, 200]", "x_ms = []", "x_ms: 0 times"),
        ("x_ms = [400, 200]", "x_ms = [nan]", "x_ms: NaN is not a positive number"),
        ("mean_ms = 40\n", "", "nodes, group 2: law: it needs rate_per_ms or mean_ms"),
        ("mean_ms = 40\n", "mean_ms = \"fast\"\n", "line 15: it must be a number, or two: [first, last]"),
        ("count = 3\n", "", "nodes, group 1: mean_ms: from 60 to 30 takes a count of 2 at least"),
        ("mean_ms = 40\n", "mean_ms = 0\n", "nodes, group 2: mean_ms: 0 is not a positive number"),
        ("shift_share = 0.3", "shift_share = 1.0", "shift_share: 1"),
        (
            "\"exponential\"",
            "{ pareto = { index = 1.0 } }",
            "nodes, group 2: law: Pareto's law: the index is 1.0",
        ),
        ("zipf = 0.5", "nodes = [0, 1, 2]", "files, group 1: nodes: it takes either nodes, or classes and n"),
        ("zipf = 0.5", "zipf = inf", "files, group 1: zipf: inf is not between 0 and 10"),
        (
            "[400, 200]",
            "[400, 200]\npolicies = [\"fastest\"]",
            "policies: there is no \"fastest\": there are optimised,",
        ),
        ("[400, 200]", "[400, 200]\npolicies = []", "policies: there is none"),
        (
            "zipf = 0.5",
            "share = 1e308\n[[files]]\nclasses = 1\nn = 5\nk = 3\nshare = 1e308",
            "files: the sum of all shares is too large a number",
        ),
    ] {
        let folder = folder_with(from, to);
        let output = plan(folder.path(), &["small.toml", "--reads", "0"]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{to}: {error}");
        assert!(error.starts_with("hedgerow: ") && error.contains(wanted), "{to}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let folder = folder();
    let missing = plan(folder.path(), &["missing.toml"]);
    assert_eq!(missing.status.code(), Some(3));
    for arguments in [
        ["--policy", "best"],
        ["--slow", "2"],
        ["--slow", "2=-1"],
        ["--x", "soon"],
        ["--x", "nan"],
        ["--load", "0"],
        ["--plan-for", "inf"],
    ] {
        let output = plan(folder.path(), &[&["small.toml"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let slow = plan(folder.path(), &["small.toml", "--slow", "6=2"]);
    assert!(text(&slow.stderr).contains("node 6"), "{}", text(&slow.stderr));
}
