//! What scenario files mean, and what is refused.

use proptest::prelude::*;

use super::*;
use crate::{Code, Effect, FileClass, Law, Often, Queue, Where, Workload};

/// A file with everything in it.
const WHOLE: &str = r#"
title = "everything"
about = "  all keys  "
engine = "full"
seconds = 600
warm_up_seconds = 60
seeds = 3
seed = 7
day_factor = 0.3
policies = ["none", { name = "mine", base = "hubspot-250", set = { spare = 2, "budget.share.ppm" = "1000", "dry.run" = true } }]

[quick]
seconds = 30
warm_up_seconds = 5
seeds = 1
only_policies = ["none"]
only_shapes = ["two"]

[cluster]
nodes = 20
racks = 4
clients = 5
code = { k = 4, m = 2 }
service = { exponential = { mean_ms = 2 } }
queue = { fifo = { servers = 3 } }
load = 0.5
workload = [{ name = "rows", share = 3 }, { name = "scans", cells = 4, fan_out = 10, hedged = false }]
new_connections = 0.25
connect = 0.5
rebuild = { shifted_exponential = { shift_ms = 1, mean_ms = 2 } }

[[incident]]
name = "everywhere"
effect = "refuse"
place = { nodes = 2 }
at_seconds = 5
lasts = 1000

[[shape]]
name = "one"
about = "as it is"

[[shape]]
name = "two"

[shape.cluster]
queue = "dropping"
reads_per_second = 100
service = { mixture = [{ weight = 1, law = "heavy" }, { weight = 2, law = { pareto_tail = { body = { lognormal = { median_ms = 1, p99_ms = 5 } }, beyond = 0.01, index = 3 } } }] }

[[shape.incident]]
name = "now and then"
effect = { extra = { share = 0.2, law = { pareto = { least_ms = 10, index = 1.5 } } } }
place = "any-rack"
per_day = 36
lasts = { lognormal = { median_ms = 240, sigma = 0.95 } }
flapping = { there_ms = 500, away_ms = 1500 }

[[published]]
text = "less than before"
policy = "mine"
shape = "two"
figure = "p99_ms"
over = "none"
expected = [0, 1.5]
"#;

/// A short file with something in it.
fn with(rest: &str) -> String {
    format!("title = \"t\"\nseconds = 10\npolicies = [\"none\"]\n{rest}")
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse("s.toml", text, false).map_err(|error| error.to_string())
}

#[test]
fn every_key_arrives_where_it_belongs() {
    let scenario = parse(WHOLE).unwrap();
    assert_eq!((&scenario.title[..], &scenario.about[..]), ("everything", "all keys"));
    assert_eq!((scenario.seconds, scenario.warm_up, scenario.day_factor), (600.0, 60.0, 0.3));
    assert_eq!((scenario.seeds, scenario.seed, scenario.engine), (3, 7, Engine::Full));
    let mine = &scenario.policies[1];
    assert_eq!(mine.about, "hubspot-250, with budget.share.ppm 1000, dry.run true, spare 2");

    let [one, two] = &scenario.shapes[..] else { panic!("{:?}", scenario.shapes) };
    assert_eq!((one.cluster.nodes, one.cluster.racks, one.cluster.clients), (20, 4, 5));
    assert_eq!(one.cluster.code, Code { k: 4, m: 2 });
    assert_eq!((one.cluster.queue, two.cluster.queue), (Queue::Fifo { servers: 3 }, Queue::Dropping));
    assert_eq!(one.cluster.service, Law::Exponential { mean: 2.0 });
    assert_eq!((&one.cluster.connect, one.cluster.new_connections), (&Law::Constant(0.5), 0.25));
    assert_eq!(one.cluster.rebuild, Law::ShiftedExponential { shift: 1.0, mean: 2.0 });
    let scans = Workload { name: "scans".into(), share: 1.0, cells: 4, fan_out: 10, hedged: false };
    assert_eq!(one.cluster.workload[1], scans);
    // 20 nodes of 3 servers, 2 ms a cell, (3 x 1 + 1 x 40) / 4 cells a request, half busy.
    let wanted = 0.5 * 60.0 / 0.002 / 10.75;
    assert!((one.cluster.rate / wanted - 1.0).abs() < 1e-12, "{}", one.cluster.rate);
    assert_eq!(two.cluster.rate, 100.0);
    let tail = Law::ParetoTail { body: Box::new(Law::lognormal_p99(1.0, 5.0)), beyond: 0.01, index: 3.0 };
    assert_eq!(two.cluster.service, Law::Mixture(vec![(1.0, Law::named("heavy").unwrap()), (2.0, tail)]));

    assert_eq!(one.incidents.len(), 1);
    let [everywhere, own] = &two.incidents[..] else { panic!("{:?}", two.incidents) };
    assert_eq!((everywhere.place, everywhere.often), (Where::Nodes(2), Often::At(5_000.0)));
    assert_eq!((&everywhere.effect, &everywhere.length), (&Effect::Refuse, &Law::Constant(1_000.0)));
    assert_eq!((own.place, own.often), (Where::AnyRack, Often::PerDay(36.0)));
    assert_eq!(own.effect, Effect::Extra { share: 0.2, law: Law::Pareto { least: 10.0, index: 1.5 } });
    assert_eq!(own.length, Law::Lognormal { median: 240.0, sigma: 0.95 });
    assert_eq!(own.flapping, Some((500.0, 1_500.0)));

    let published = &scenario.published[0];
    assert_eq!((published.least, published.most, published.over.as_deref()), (0.0, 1.5, Some("none")));
}

#[test]
fn what_a_file_does_not_say_is_as_usual() {
    let scenario = parse(&with("")).unwrap();
    let [shape] = &scenario.shapes[..] else { panic!("{:?}", scenario.shapes) };
    assert_eq!(shape.name, "s");
    assert_eq!((shape.cluster.nodes, shape.cluster.clients), (100, 100));
    assert_eq!((shape.cluster.code, shape.cluster.queue), (Code { k: 6, m: 3 }, Queue::None));
    assert!((shape.cluster.rate - 7_523.148).abs() < 0.001);
    assert_eq!(shape.cluster.workload.len(), 1);
    assert_eq!(scenario.seeds, 1);
}

#[test]
fn a_quick_run_takes_what_its_table_says() {
    let scenario = Scenario::parse("s.toml", WHOLE, true).unwrap();
    assert_eq!((scenario.seconds, scenario.warm_up, scenario.seeds), (30.0, 5.0, 1));
    assert_eq!(scenario.policies.len(), 1);
    assert_eq!((scenario.shapes.len(), &scenario.shapes[0].name[..]), (1, "two"));
    // What is compared with something left out stays, for whoever asks for it again.
    assert_eq!(scenario.published.len(), 1);
}

#[test]
fn a_fault_is_named_with_its_file_its_place_and_its_numbers() {
    let incident = |line: &str| {
        format!(
            "[[incident]]\nname = \"i\"\neffect = \"freeze\"\nplace = \"any-node\"\nper_day = 1\nlasts = 5\n{line}"
        )
    };
    for (text, why) in [
        ("[cluster]\nnodez = 3", "s.toml: line 5, column 1: unknown field `nodez`"),
        ("[cluster]\nnodes = \"many\"", "s.toml: line 5, column 9: invalid type: string \"many\""),
        ("[cluster]\nnodes = -3", "line 5, column 9: "),
        ("[cluster", "s.toml: line 4, column "),
        ("engine = \"fast\"", "unknown variant `fast`, expected `full` or `thinned`"),
        ("days = 2", "only one of days and seconds"),
        ("warm_up_seconds = 10", "warm_up_seconds: must be less than the whole, 10 s: it is 10"),
        ("warm_up_seconds = -1", "warm_up_seconds: must be from 0 to 3155760000: it is -1"),
        ("seeds = 0", "seeds: must be from 1 to 10000: it is 0"),
        ("day_factor = nan", "day_factor: must be from 0 to 3: it is NaN"),
        ("[cluster]\nnodes = 8", "shape \"s\": cluster.nodes: is 8, and a stripe has 9 cells"),
        ("[cluster]\nnodes = 1025", "cluster.nodes: must be from 1 to 1024: it is 1025"),
        ("[cluster]\nracks = 101", "cluster.racks: must be from 1 to 100: it is 101"),
        ("[cluster]\nclients = 0", "cluster.clients: must be from 1 to 10000: it is 0"),
        ("[cluster]\ncode = { k = 0, m = 3 }", "cluster.code: k is 0 and m is 3"),
        (
            "[cluster]\ncode = { k = 30, m = 3 }",
            "cluster.code: k is 30 and m is 3: both at least 1, together at most 32",
        ),
        (
            "[cluster]\nreads_per_second = -1",
            "cluster.reads_per_second: must be above 0 and at most 100000000: it is -1",
        ),
        (
            "[cluster]\nreads_per_second = 1\nload = 0.5",
            "only one of reads_per_day, reads_per_second and load",
        ),
        ("[cluster]\nload = 0.5", "cluster.load: needs a queue"),
        (
            "[cluster]\nload = 0.5\nqueue = \"dropping\"\nservice = { pareto = { least_ms = 1, index = 0.5 } }",
            "no rate follows",
        ),
        (
            "[cluster]\nqueue = { fifo = { servers = 0 } }",
            "cluster.queue.fifo.servers: must be from 1 to 64: it is 0",
        ),
        ("engine = \"thinned\"\n[cluster]\nqueue = \"dropping\"", "engine must be \"full\""),
        (
            "engine = \"thinned\"\n[cluster]\nworkload = [{ name = \"rows\", fan_out = 2 }]",
            "cluster.workload \"rows\": only hedged",
        ),
        ("[cluster]\nnew_connections = 1.1", "cluster.new_connections: must be from 0 to 1: it is 1.1"),
        ("[cluster]\nworkload = []", "cluster.workload: there is none"),
        (
            "[cluster]\nworkload = [{ name = \"a\", cells = 7 }]",
            "workload \"a\": cells: must be from 1 to 6: it is 7",
        ),
        ("[cluster]\nworkload = [{ name = \"a\", share = 0 }]", "workload \"a\": share: must be above 0"),
        ("[cluster]\nworkload = [{ name = \"a\", fan_out = 0 }]", "workload \"a\": fan_out: must be from 1"),
        ("[cluster]\nservice = \"weibull\"", "cluster.service: there is no law \"weibull\""),
        ("[cluster]\nservice = true", "a number of milliseconds, the name of a law, or a table"),
        ("[cluster]\nservice = -1", "shape \"s\": cluster.service: "),
        (
            "[cluster]\nservice = { lognormal = { median_ms = 5, p99_ms = 5 } }",
            "p99_ms is 5, and must be above median_ms, which is 5",
        ),
        ("[cluster]\nservice = { lognormal = { median_ms = 5 } }", "either sigma or p99_ms"),
        ("[cluster]\nservice = { lognormal = { median = 5 } }", "unknown field `median`"),
        (
            "[cluster]\nservice = { histogram = { file = \"h.csv\" } }",
            "cluster.service: h.csv: files are not read here",
        ),
        ("[[shape]]\nname = \"a\"\n[[shape]]\nname = \"a\"", "shape: there are two of the name \"a\""),
        ("[[shape]]\nname = \" \"", "shape: one has no name"),
        (&incident("at_seconds = 1"), "shape \"s\": incident \"i\": per_day: an incident has either"),
        (&incident("").replace("per_day = 1", ""), "incident \"i\": per_day: an incident has either"),
        (
            &incident("").replace("per_day = 1", "per_day = -1"),
            "per_day: must be from 0 to 1000000: it is -1",
        ),
        (
            &incident("").replace("per_day = 1", "at_seconds = 11"),
            "at_seconds: must be from 0 to 10: it is 11",
        ),
        (
            &incident("").replace("\"any-node\"", "{ nodes = 101 }"),
            "place.nodes: must be from 1 to 100: it is 101",
        ),
        (
            &incident("").replace("\"any-node\"", "{ nodes = 0 }"),
            "place.nodes: must be from 1 to 100: it is 0",
        ),
        (
            &incident("").replace("\"any-node\"", "\"any-client\"").replace("\"freeze\"", "\"refuse\""),
            "place: a client can only freeze",
        ),
        (&incident("").replace("\"freeze\"", "{ slow = 0 }"), "effect.slow: must be above 0"),
        (
            &incident("").replace("\"freeze\"", "{ dead-after-ms = -1 }"),
            "effect.dead-after-ms: must be above 0",
        ),
        (
            &incident("").replace("\"freeze\"", "{ extra = { share = 2, law = 1 } }"),
            "effect.extra.share: must be from 0 to 1: it is 2",
        ),
        (&incident("").replace("\"freeze\"", "\"explode\""), "unknown variant `explode`"),
        (&incident("").replace("lasts = 5", "lasts = -5"), "incident \"i\": lasts: "),
        (&incident("flapping = { there_ms = 0, away_ms = 1 }"), "flapping.there_ms: must be above 0"),
        (
            &incident("flapping = { there_ms = 1e-9, away_ms = 1e-9 }"),
            "happenings: must be at most 10000000: there are about ",
        ),
        (
            &incident("flapping = { there_ms = 0.05, away_ms = 0.05 }")
                .replace("per_day = 1", "at_seconds = 0")
                .replace("lasts = 5", "lasts = 200_000")
                .replace("\"any-node\"", "\"all-nodes\""),
            "happenings: must be at most 10000000: there are about 10000100, 1 times 100001 pieces on 100 nodes",
        ),
        (
            "seeds = 10000\n[cluster]\nnodes = 1024\nclients = 10000",
            "seeds: times the nodes and clients of all shapes they must be at most 100000000: it is 110240000",
        ),
        (
            "[quick]\nonly_shapes = [\"x\"]\n[[published]]\ntext = \"p\"\npolicy = \"none\"\nfigure = \"speed\"\nexpected = [0, 1]",
            "published \"p\": there is no figure \"speed\": there are days, reads",
        ),
        (
            "[[published]]\ntext = \"p\"\npolicy = \"all\"\nfigure = \"p99_ms\"\nexpected = [0, 1]",
            "published \"p\": there is no policy \"all\"",
        ),
        (
            "[[published]]\ntext = \"p\"\npolicy = \"none\"\nshape = \"x\"\nfigure = \"p99_ms\"\nexpected = [0, 1]",
            "published \"p\": there is no shape \"x\"",
        ),
        (
            "[[published]]\ntext = \"p\"\npolicy = \"none\"\nfigure = \"p99_ms\"\nexpected = [1, 0]",
            "published \"p\": from 1 to 0 there is nothing",
        ),
    ] {
        let error = parse(&with(text)).unwrap_err();
        assert!(error.starts_with("s.toml: ") && error.contains(why), "{text}\n{error}");
    }
    let policies = |list: &str| parse(&format!("title = \"t\"\ndays = 1\npolicies = [{list}]")).unwrap_err();
    for (list, why) in [
        ("", "policies: there is none"),
        ("\"none\", \"none\"", "policies: there are two of the name \"none\""),
        ("\"nine\"", "s.toml: there is no policy \"nine\""),
        ("3", "the name of a policy, or a table"),
        ("{ name = \"m\", set = { spare = 65 } }", "policy \"m\": spare must be 0 to 64: it is 65"),
        ("{ name = \"m\", set = { sparse = 1 } }", "policy \"m\": there is no configuration name"),
        ("{ name = \"m\", base = \"none\", set = { spare = 1 } }", "none has no governor"),
    ] {
        let error = policies(list);
        assert!(error.contains(why), "{list}\n{error}");
    }
    let error = parse("title = \"t\"\npolicies = [\"none\"]").unwrap_err();
    assert!(error.contains("days: is missing"), "{error}");
}

#[test]
fn a_law_can_be_a_histogram_of_another_file() {
    let text =
        |rest: &str| with(&format!("[cluster]\nservice = {{ histogram = {{ file = \"h.csv\"{rest} }} }}"));
    let read =
        |file: &str| if file == "h.csv" { Ok(b"ms,count\n1,1\n2,1\n".to_vec()) } else { Err("no".into()) };
    let parse =
        |text: &str| Scenario::parse_with("s.toml", text, false, &read).map_err(|error| error.to_string());
    let law = |rest: &str| parse(&text(rest)).unwrap().shapes[0].cluster.service.clone();
    assert!(matches!(law(""), Law::Empirical(_)));
    assert!((law("").mean() / law(", unit = \"us\"").mean() / 1_000.0 - 1.0).abs() < 1e-9);
    for (rest, why) in
        [(", unit = \"h\"", "h.csv: there is no unit \"h\""), (", units = 1", "unknown field `units`")]
    {
        let error = parse(&text(rest)).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let error = parse(&text("").replace("h.csv", "i.csv")).unwrap_err();
    assert!(error.contains("cluster.service: i.csv: no"), "{error}");
}

#[test]
fn nodes_that_differ_and_classes_of_files_arrive_and_tell_the_load() {
    let text = with(
        r#"[cluster]
        nodes = 3
        racks = 1
        code = { k = 1, m = 1 }
        laws = [2, { gamma = { shape = 3, mean_ms = 4 } }, { exponential = { mean_ms = 8 } }]
        queue = { fifo = { servers = 2 } }
        load = 0.5
        files = [
            { share = 3, k = 1, nodes = [2, 0], weights = [5, 6] },
            { k = 2, nodes = [0, 1] },
        ]
        [[incident]]
        name = "one node"
        effect = { slow = 2 }
        place = { node = 2 }
        at_seconds = 0
        lasts = 1"#,
    );
    let scenario = parse(&text).unwrap();
    let cluster = &scenario.shapes[0].cluster;
    let gamma = Law::Gamma { shape: 3.0, mean: 4.0 };
    assert_eq!(cluster.laws, [Law::Constant(2.0), gamma, Law::Exponential { mean: 8.0 }]);
    let first = FileClass { share: 3.0, k: 1, nodes: vec![2, 0], weights: vec![5, 6] };
    assert_eq!(
        cluster.files,
        [first, FileClass { share: 1.0, k: 2, nodes: vec![0, 1], weights: vec![1, 1] }]
    );
    // Half of what six servers can do, at 1.25 cells a read.
    let wanted = 0.5 * 2.0 * (500.0 + 250.0 + 125.0) / 1.25;
    assert!((cluster.rate / wanted - 1.0).abs() < 1e-12, "{}", cluster.rate);
    assert_eq!(scenario.shapes[0].incidents[0].place, Where::Node(2));

    for (from, to, why) in [
        ("seconds = 10", "engine = \"thinned\"\nseconds = 10", "engine must be \"full\""),
        ("laws = [2, ", "laws = [", "cluster.laws: there are 2 for 3 nodes"),
        ("laws = [2, ", "laws = [1e99, ", "cluster.laws, node 0: a constant is 1e99"),
        ("mean_ms = 8", "mean_ms = 1e99", "cluster.laws, node 2: the mean of an exponential law"),
        ("shape = 3", "shape = 1e5", "cluster.laws, node 1: the shape of a gamma law is 100000.0"),
        ("weights = [5, 6]", "weights = [5]", "cluster.files, class 0: weights: there are 1 for 2 nodes"),
        ("nodes = [2, 0]", "nodes = [2, 3]", "cluster.files, class 0: nodes: there is no node 3"),
        (
            "k = 2, nodes = [0, 1]",
            "k = 2, nodes = [1, 1]",
            "cluster.files, class 1: nodes: node 1 has two cells",
        ),
        ("k = 2, nodes = [0, 1]", "k = 3, nodes = [1, 1]", "cluster.files, class 1: k: is 3, of 2 nodes"),
        ("node = 2", "node = 3", "incident \"one node\": place.node: there is no node 3: they are 0 to 2"),
        ("policies = [\"none\"]", "policies = [\"replicated-9\"]", "cluster.files: say where data lies"),
        (
            "load = 0.5",
            "load = -1",
            "load: is -1, of which no rate follows: there are 3 nodes with laws of their own",
        ),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(text, changed, "{from}");
        let error = parse(&changed).unwrap_err();
        assert!(error.contains(why), "{to}\n{error}");
    }
    let without = text.replace("files", "file");
    assert!(parse(&without).unwrap_err().contains("unknown field `file`"));
}

#[test]
fn replicas_need_nodes_of_their_own() {
    let text = "title = \"t\"\ndays = 1\npolicies = [\"replicated-250\"]\n[cluster]\nnodes = 2\nracks = 1\ncode = { k = 1, m = 1 }";
    let error = parse(text).unwrap_err();
    assert!(error.contains("is 2, and policy \"replicated-250\" keeps 3 cells"), "{error}");
}

#[test]
fn a_fault_that_a_quick_run_leaves_out_is_found_all_the_same() {
    let text = with(
        "[quick]\nonly_shapes = [\"good\"]\n[[shape]]\nname = \"good\"\n[[shape]]\nname = \"bad\"\ncluster = { nodes = 1 }",
    );
    let error = Scenario::parse("s.toml", &text, true).unwrap_err().to_string();
    assert!(error.contains("shape \"bad\": cluster.nodes"), "{error}");
    for (quick, why) in [
        ("only_shapes = [\"ugly\"]", "quick.shapes: there is no \"ugly\": there are \"t\""),
        ("only_policies = [\"ugly\"]", "quick: there is no policy \"ugly\""),
        ("seconds = -1", "seconds: must be above 0"),
        ("seconds = 1\ndays = 1", "quick.days: only one of"),
    ] {
        let text = with(&format!("[quick]\n{quick}\n[[shape]]\nname = \"t\""));
        let error = Scenario::parse("s.toml", &text, true).unwrap_err().to_string();
        assert!(error.contains(why), "{quick}\n{error}");
    }
}

#[test]
fn policies_are_taken_from_the_scenario_or_by_name() {
    let mut scenario = parse(WHOLE).unwrap();
    scenario.take_policies(&["mine", "fixed-50"]).unwrap();
    let names: Vec<&str> = scenario.policies.iter().map(|policy| &policy.name[..]).collect();
    assert_eq!(names, ["mine", "fixed-50"]);
    assert!(scenario.take_policies(&["yours"]).is_err());
    assert!(scenario.keep_shapes(&["three"]).unwrap_err().to_string().contains("there are \"one\", \"two\""));
    scenario.keep_shapes(&["two"]).unwrap();
    assert_eq!(scenario.shapes.len(), 1);
}

#[test]
fn every_scenario_that_comes_along_makes_sense_and_has_the_title_that_is_listed() {
    for builtin in Scenario::builtin() {
        for quick in [false, true] {
            let scenario = Scenario::parse(builtin.name, builtin.text, quick).unwrap();
            assert_eq!(scenario.title, builtin.title);
            assert!(!scenario.about.is_empty(), "{}", builtin.name);
        }
    }
    let mut names: Vec<&str> = Scenario::builtin().iter().map(|builtin| builtin.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Scenario::builtin().len());
}

/// Lines of the file with everything, some of them gone, doubled, or with other numbers.
fn damaged() -> impl Strategy<Value = String> {
    let lines = WHOLE.lines().count();
    let number = prop::sample::select(vec![
        "0",
        "-1",
        "1e308",
        "nan",
        "inf",
        "4294967296",
        "\"\"",
        "[]",
        "{}",
        "true",
    ]);
    prop::collection::vec((0..lines, 0..3_u8, number), 1..4).prop_map(|damages| {
        let mut lines: Vec<String> = WHOLE.lines().map(String::from).collect();
        for (at, kind, number) in damages {
            let Some(line) = lines.get_mut(at) else { continue };
            match kind {
                0 => line.clear(),
                1 => *line = format!("{line}\n{line}"),
                _ => {
                    if let Some((key, _)) = line.split_once('=') {
                        *line = format!("{key}= {number}");
                    }
                }
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #[test]
    fn any_text_is_a_scenario_that_makes_sense_or_an_error(text in "\\PC{0,60}", quick: bool) {
        if let Ok(scenario) = Scenario::parse("s.toml", &text, quick) {
            prop_assert_eq!(scenario.check(), Ok(()));
        }
    }

    #[test]
    fn a_damaged_file_is_a_scenario_that_makes_sense_or_an_error(text in damaged(), quick: bool) {
        match Scenario::parse("s.toml", &text, quick) {
            Ok(scenario) => prop_assert_eq!(scenario.check(), Ok(())),
            Err(error) => prop_assert!(error.to_string().starts_with("s.toml: ")),
        }
    }
}
