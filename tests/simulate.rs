//! `hedgerow simulate` as a user runs it: what it lists, prints and writes, and what it refuses.

#[path = "support/shown.rs"]
mod shown;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use hedgerow::sim::Scenario;
use serde_json::Value;

use shown::{done, run, text};

/// The keys that a line begins with, as they are documented.
const FIRST_KEYS: [&str; 15] = [
    "policy",
    "shape",
    "days",
    "reads",
    "host_minutes_over_1s",
    "host_minutes_over_5s",
    "hedges_per_million",
    "win_share",
    "p50_ms",
    "p99_ms",
    "p999_ms",
    "p9999_ms",
    "affected_p99_ms",
    "max_ms",
    "extra_cell_share",
];

/// A small scenario: one dead node of twenty, for a while.
const SMALL: &str = r#"
title = "one dead node"
about = "for tests"
seconds = 20
warm_up_seconds = 2
policies = ["none", "hubspot-250", { name = "mine", set = { "threshold.millis" = 40 } }]

[quick]
seconds = 8
only_policies = ["none", "mine"]

[cluster]
nodes = 20
racks = 4
clients = 4
reads_per_second = 2000

[[shape]]
name = "healthy"

[[shape]]
name = "dead"

[[shape.incident]]
name = "dead"
effect = { dead-after-ms = 5000 }
place = { nodes = 1 }
at_seconds = 3
lasts = 3000

[[published]]
text = "the tail is cut"
policy = "mine"
shape = "dead"
over = "none"
figure = "affected_p99_ms"
expected = [0, 0.2]

[[published]]
text = "never true"
policy = "none"
figure = "p99_ms"
expected = [0, 0.001]
"#;

fn simulate(folder: &Path, arguments: &[&str]) -> Output {
    run("simulate", folder, arguments)
}

fn lines(output: &Output) -> Vec<Value> {
    shown::lines(done(output))
}

/// A folder with the small scenario in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

#[test]
fn all_scenarios_and_policies_are_listed_and_each_scenario_is_shown_as_a_file() {
    let folder = folder();
    let output = simulate(folder.path(), &["--list"]);
    let list = done(&output);
    assert_eq!(list, done(&simulate(folder.path(), &[])));
    for name in [
        "case-study",
        "failing-nodes",
        "better",
        "impaired",
        "overload",
        "onset",
        "threshold",
        "compare",
        "parts",
        "flapping",
        "one-of-nine",
        "speed",
        "hubspot-MS",
        "demotion",
    ] {
        assert!(list.lines().any(|line| line.starts_with(&format!("  {name} "))), "{name}: {list}");
    }
    let output = simulate(folder.path(), &["case-study", "--show"]);
    let shown = done(&output);
    assert!(shown.contains("[[published]]") && shown.contains("650 million"), "{shown}");
    // What is shown is a scenario of one's own at once, the same to the last number.
    std::fs::write(folder.path().join("mine.toml"), shown).unwrap();
    let short = ["--json", "--days", "0.01", "--policy", "none", "--shape", "fitted"];
    let of = |name: &str| simulate(folder.path(), &[&[name][..], &short].concat());
    assert_eq!(done(&of("mine.toml")), done(&of("case-study")));
}

#[test]
fn a_line_of_json_has_the_documented_keys_and_the_same_seed_the_same_bytes() {
    let folder = folder();
    let run = |rest: &[&str]| simulate(folder.path(), &[&["small.toml", "--quick", "--json"], rest].concat());
    let output = run(&[]);
    for line in done(&output).lines() {
        let mut rest = line;
        for key in FIRST_KEYS {
            let at = rest.find(&format!("\"{key}\":"));
            assert!(at.is_some_and(|at| at <= 1), "{key}: {line}");
            rest = &rest[at.unwrap() + key.len()..];
            rest = rest.split_once(',').unwrap().1;
        }
    }
    let rows = lines(&output);
    let names: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["policy"].as_str().unwrap(), row["shape"].as_str().unwrap())).collect();
    assert_eq!(names, [("none", "healthy"), ("mine", "healthy"), ("none", "dead"), ("mine", "dead")]);
    for row in &rows {
        assert!((11_000..13_000).contains(&row["reads"].as_u64().unwrap()), "{row}");
        let quantiles = ["p50_ms", "p99_ms", "p999_ms", "p9999_ms"].map(|key| row[key].as_f64().unwrap());
        assert!(quantiles.is_sorted() && quantiles[0] > 0.0, "{row}");
        assert!(row["policy"] == "mine" || row["hedges"] == 0, "{row}");
    }
    // The same requests and healthy times for each policy.
    assert_eq!(rows[2]["reads"], rows[3]["reads"]);
    assert!(rows[2]["affected_p99_ms"].as_f64().unwrap() > 4_000.0);
    assert!(rows[3]["affected_p99_ms"].as_f64().unwrap() < 200.0);

    assert_eq!(output.stdout, run(&["--threads", "3"]).stdout);
    assert_ne!(output.stdout, run(&["--seed", "2"]).stdout);
}

#[test]
fn people_get_a_table_a_picture_and_how_it_compares() {
    let folder = folder();
    let output = simulate(folder.path(), &["small.toml", "--quick"]);
    let shown = done(&output);
    for part in [
        "one dead node",
        "8 s, the first 2 s not counted; seed 1; every read simulated",
        "hedges/M",
        "  mine ",
        "how long reads took",
        "Compared with what was published or is expected: 1 of 3 as expected",
        "ok  dead, mine: affected_p99_ms over that of none 0.0",
        "NO  healthy, none: p99_ms",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\x1b'), "colours where there is no terminal");
}

#[test]
fn figures_that_are_not_as_expected_fail_a_strict_run_only() {
    let folder = folder();
    let output = simulate(folder.path(), &["small.toml", "--quick", "--json", "--strict"]);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(text(&output.stderr), "hedgerow: 2 figures are not as expected\n");
    assert_eq!(text(&output.stdout).lines().count(), 4);
    // What is not simulated is not compared.
    let output =
        simulate(folder.path(), &["small.toml", "--quick", "--json", "--strict", "--policy", "mine"]);
    assert_eq!(done(&output).lines().count(), 2);
}

#[test]
fn options_take_the_place_of_what_the_scenario_says() {
    let folder = folder();
    let output = simulate(
        folder.path(),
        &[
            "small.toml",
            "--json",
            "--policy",
            "mine",
            "--policy",
            "p99x3",
            "--shape",
            "dead",
            "--seconds",
            "6",
            "--seeds",
            "2",
        ],
    );
    let rows = lines(&output);
    let names: Vec<&str> = rows.iter().map(|row| row["policy"].as_str().unwrap()).collect();
    assert_eq!(names, ["mine", "p99x3"]);
    for row in &rows {
        assert_eq!(row["shape"], "dead");
        // Twice four seconds are counted.
        assert!((15_000..17_000).contains(&row["reads"].as_u64().unwrap()), "{row}");
        assert!(row["p99_standard_error_ms"].is_number(), "{row}");
    }
}

#[test]
fn what_a_quick_run_leaves_out_is_simulated_if_it_is_named() {
    let folder = folder();
    let shortened = SMALL.replace("seconds = 8\n", "seconds = 8\nonly_shapes = [\"healthy\"]\n");
    std::fs::write(folder.path().join("shortened.toml"), shortened).unwrap();
    let run = |rest: &[&str]| {
        let output = simulate(folder.path(), &[&["shortened.toml", "--quick", "--json"], rest].concat());
        let names = |row: Value| {
            assert!((11_000..13_000).contains(&row["reads"].as_u64().unwrap()), "{row}");
            format!("{} {}", row["policy"].as_str().unwrap(), row["shape"].as_str().unwrap())
        };
        lines(&output).into_iter().map(names).collect::<Vec<String>>()
    };
    assert_eq!(run(&[]), ["none healthy", "mine healthy"]);
    assert_eq!(run(&["--shape", "dead"]), ["none dead", "mine dead"]);
    assert_eq!(run(&["--policy", "hubspot-250"]), ["hubspot-250 healthy"]);
}

#[test]
fn policies_that_learn_from_every_read_keep_their_shorter_time() {
    let folder = folder();
    let thinned = "title = \"t\"\nengine = \"thinned\"\ndays = 2\nlearning_seconds = 200\npolicies = [\"hubspot-250\", \"default\"]\n\
                   [cluster]\nreads_per_second = 100";
    std::fs::write(folder.path().join("thinned.toml"), thinned).unwrap();
    let seconds = |rest: &[&str]| {
        let output = simulate(folder.path(), &[&["thinned.toml", "--json"], rest].concat());
        lines(&output)
            .iter()
            .map(|row| (row["days"].as_f64().unwrap() * 86_400.0).round())
            .collect::<Vec<f64>>()
    };
    assert_eq!(seconds(&[]), [172_800.0, 200.0]);
    assert_eq!(seconds(&["--days", "3"]), [259_200.0, 200.0]);
    assert_eq!(seconds(&["--seconds", "100"]), [100.0, 100.0]);
    assert_eq!(seconds(&["--days", "1", "--learning-days", "0.005"]), [86_400.0, 432.0]);
    let output = simulate(folder.path(), &["thinned.toml"]);
    let shown = done(&output);
    for part in ["; 200 s only of policies that learn from every read", "    of 0.00231 days only: it learns"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn the_example_of_the_documentation_is_a_scenario() {
    let page = include_str!("../docs/simulating.md");
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    for quick in [false, true] {
        let scenario = Scenario::parse("example.toml", example, quick).unwrap();
        assert_eq!((scenario.shapes.len(), scenario.policies.len()), (2, if quick { 2 } else { 3 }));
    }
}

#[cfg(unix)]
#[test]
fn a_scenario_may_have_any_name_that_a_file_has() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = folder();
    let name = std::ffi::OsStr::from_bytes(b"\xff.toml");
    std::fs::copy(folder.path().join("small.toml"), folder.path().join(name)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hedgerow"));
    command.current_dir(folder.path()).arg("simulate").arg(name).args(["--quick", "--json"]);
    assert_eq!(lines(&command.stdin(Stdio::null()).output().unwrap()).len(), 4);
}

#[test]
fn tables_and_charts_go_to_new_files() {
    let folder = folder();
    let run = |rest: &[&str]| simulate(folder.path(), &[&["small.toml", "--quick"], rest].concat());
    done(&run(&["--csv", "rows.csv", "--svg", "chart.svg"]));
    let csv = std::fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(names[..FIRST_KEYS.len()], FIRST_KEYS);
    assert!(csv.lines().all(|line| line.split(',').count() == names.len()), "{csv}");
    assert_eq!(csv.lines().count(), 5);
    let chart = std::fs::read_to_string(folder.path().join("chart.svg")).unwrap();
    assert!(chart.starts_with("<svg") && chart.ends_with("</svg>\n"));

    for (option, name) in [("--csv", "rows.csv"), ("--svg", "chart.svg")] {
        let output = run(&[option, name]);
        assert_eq!(output.status.code(), Some(6));
        assert!(text(&output.stderr).contains(name) && output.stdout.is_empty());
    }
    // What is to be written twice is refused before the run, and a run that does not begin leaves no file.
    let output = run(&["--csv", "new.csv", "--svg", "new.csv"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(6), &b""[..]));
    assert!(!folder.path().join("new.csv").exists());
    let output = run(&["--csv", "none/rows.csv"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

#[test]
fn what_can_not_be_simulated_is_refused_with_its_name_and_its_numbers() {
    let folder = folder();
    let file = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    file("bad.toml", SMALL.replace("nodes = 20", "nodes = 5").as_bytes());
    file("typo.toml", SMALL.replace("clients", "clinets").as_bytes());
    file("bytes.toml", b"title = \"\xff\"");
    file(
        "histogram.toml",
        format!("{SMALL}\n[cluster.service]\nhistogram = {{ file = \"none.csv\" }}").as_bytes(),
    );
    for (arguments, code, why) in [
        (&["fire"][..], 2, "there is no scenario \"fire\": there are case-study, "),
        (&["none.toml"], 3, "none.toml: No such file"),
        (&["."], 2, "there is no scenario \".\""),
        (&["bad.toml"], 1, "bad.toml: shape \"healthy\": cluster.nodes: is 5, and a stripe has 9 cells"),
        (&["typo.toml"], 1, "typo.toml: line 15, column 1: unknown field `clinets`"),
        (&["bytes.toml"], 1, "bytes.toml: it is no text: byte 9 is not UTF-8"),
        (&["histogram.toml"], 1, "none.csv"),
        (&["small.toml", "--policy", "luck"], 2, "there is no policy \"luck\""),
        (&["small.toml", "--shape", "round"], 2, "there is no \"round\": there are \"healthy\", \"dead\""),
        (&["small.toml", "--seconds", "1"], 2, "warm_up_seconds: must be less than the whole, 1 s: it is 2"),
        (&["small.toml", "--seconds", "-1"], 2, ""),
        (&["small.toml", "--seconds", "nan"], 2, "seconds: must be above 0"),
        (&["small.toml", "--days", "1", "--seconds", "1"], 2, "cannot be used with"),
        (&["small.toml", "--seeds", "0"], 2, "seeds: must be from 1 to 10000: it is 0"),
        (&["small.toml", "--threads", "0"], 2, "0"),
        (&["--show"], 2, "SCENARIO"),
        (&["--quick"], 2, "SCENARIO"),
        (&["--csv", "rows.csv"], 2, "SCENARIO"),
        (&["--policy", "none", "--strict"], 2, "SCENARIO"),
        (&["--json"], 2, "there is neither"),
        (&["--list", "--json"], 2, "cannot be used with"),
        (&["small.toml", "--learning-days", "1"], 2, "--learning-days needs a thinned scenario"),
        (&["better", "--learning-days", "21"], 2, "learning_seconds: must be above 0 and at most 1728000"),
    ] {
        let output = simulate(folder.path(), arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(why) && output.stdout.is_empty(), "{arguments:?}: {error}");
    }
}

#[test]
fn a_law_can_be_a_histogram_beside_the_scenario() {
    let folder = folder();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("measured.csv"), "ms,count\n1,50\n2,49\n3,1\n").unwrap();
    let text =
        SMALL.replace("nodes = 20\n", "nodes = 20\nservice = { histogram = { file = \"measured.csv\" } }\n");
    std::fs::write(inner.join("mine.toml"), text).unwrap();
    let rows = lines(&simulate(
        folder.path(),
        &["inner/mine.toml", "--quick", "--json", "--policy", "none", "--shape", "healthy"],
    ));
    let p50 = rows[0]["p50_ms"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&p50), "{}", rows[0]);
}

#[test]
fn advice_names_a_threshold_for_a_histogram_and_what_to_set() {
    let folder = folder();
    let mut csv = String::from("ms,count\n");
    for tenth in 1..=400_u64 {
        // About a lognormal: most at 1.5 ms, one in ten thousand beyond 30.
        let ms = tenth as f64 / 10.0;
        let log = (ms / 1.5).ln() / 0.815;
        csv += &format!("{ms},{}\n", (1e6 / ms * (-log * log / 2.0).exp()).round());
    }
    std::fs::write(folder.path().join("l.csv"), csv).unwrap();
    let run = |rest: &[&str]| simulate(folder.path(), &[&["--advise", "l.csv"], rest].concat());
    let output = run(&[]);
    let shown = done(&output);
    for part in ["<- recommended", "<- the knee", "threshold.", "RS-6-3, 75 reads"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let of = |rest: &[&str]| lines(&run(&[&["--json"], rest].concat())).remove(0);
    let threshold = |advice: &Value| {
        let table = advice["table"].as_array().unwrap();
        let choice = table.iter().find(|choice| choice["threshold"] == advice["recommended"]).unwrap();
        choice["threshold_ms"].as_f64().unwrap()
    };
    let (usual, dear, micros) = (of(&[]), of(&["--target", "1%"]), of(&["--unit", "us"]));
    assert!((20.0..40.0).contains(&threshold(&usual)), "{usual}");
    assert!(threshold(&dear) < threshold(&usual), "{dear}");
    // Nobody asked for spares that such a code does not have.
    for (schema, spare) in [("rs-2-1", "0"), ("rs-4-2", "1"), ("rs-10-4", "2")] {
        assert_eq!(of(&["--schema", schema])["config"]["spare"], spare, "{schema}");
    }
    // A unit that is given goes before what the file says.
    assert!((threshold(&usual) / threshold(&micros) / 1_000.0 - 1.0).abs() < 0.01, "{micros}");
    assert!(
        usual["config"].as_object().unwrap().keys().any(|name| name.starts_with("threshold.")),
        "{usual}"
    );

    std::fs::write(folder.path().join("bad.csv"), "ms,count\n1,2\nthree,4\n").unwrap();
    for (arguments, code, why) in [
        (&["--advise", "bad.csv"][..], 1, "bad.csv: "),
        (&["--advise", "none.csv"], 3, "none.csv"),
        (&["--advise", "l.csv", "--target", "0.1"], 2, "a percentage"),
        (
            &["--advise", "l.csv", "--target", "0%"],
            2,
            "the target of extra cells must be a share from 0.000001 to 1",
        ),
        (&["--advise", "l.csv", "--quick"], 2, "cannot be used with"),
        (&["--advise", "l.csv", "--svg", "l.svg"], 2, "cannot be used with"),
        (&["--advise", "l.csv", "--unit", "h"], 2, "ns, us, ms and s"),
        (&["--advise", "l.csv", "--spare", "3"], 2, "3 spare sources"),
        (&["--advise", "l.csv", "compare"], 2, "cannot be used with"),
        (&["small.toml", "--rate", "3"], 2, "--rate says something of --advise"),
    ] {
        let output = simulate(folder.path(), arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(why), "{arguments:?}: {error}");
    }
}

#[test]
fn the_speed_of_the_engine_is_told() {
    let folder = folder();
    let rows = lines(&simulate(folder.path(), &["speed", "--quick", "--json"]));
    assert!(rows[0]["reads_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(rows[0].as_object().unwrap().len(), 1);
}
