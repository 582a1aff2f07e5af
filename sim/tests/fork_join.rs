//! Fork and join without hedging, against what is known in closed form.
//!
//! `HEDGEROW_SIM_READS` says how many reads the longest of these counts; a million if it is not set.

use hedgerow_sim::{
    Cluster, Code, FileClass, ForkJoin, ForkJoinTimes, Law, Queue, Scenario, Workload, fork_join, run,
};

fn reads() -> u64 {
    std::env::var("HEDGEROW_SIM_READS").map_or(1_000_000, |reads| reads.parse().expect("a number"))
}

fn class(k: u8, nodes: &[u32], weights: &[u32]) -> FileClass {
    FileClass { share: 1.0, k, nodes: nodes.to_vec(), weights: weights.to_vec() }
}

fn simulated(laws: &[Law], classes: &[FileClass], rate: f64, xs: &[f64], reads: u64) -> ForkJoinTimes {
    fork_join(&ForkJoin { laws, classes, rate, xs, reads, warm_up: 20_000, seed: 7 }).expect("an input")
}

fn close(what: &str, found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() < within, "{what}: {found}, expected {expected}");
}

/// Twelve nodes whose speeds differ by three, and classes of four of seven nodes each, drawn in proportion to the speeds.
fn heterogeneous() -> (Vec<Law>, Vec<FileClass>) {
    let speed = |node: u32| 10 + 2 * node;
    let laws = (0..12).map(|node| {
        let mean = 1e3 / f64::from(speed(node));
        Law::ShiftedExponential { shift: 0.3 * mean, mean: 0.7 * mean }
    });
    let classes = (0..12).map(|first| {
        let nodes: Vec<u32> = [0, 1, 2, 4, 7, 8, 10].iter().map(|offset| (first + offset) % 12).collect();
        let weights: Vec<u32> = nodes.iter().map(|&node| speed(node)).collect();
        class(4, &nodes, &weights)
    });
    (laws.collect(), classes.collect())
}

#[test]
fn a_node_with_exponential_service_keeps_requests_as_long_as_theory_says() {
    let (mean, rate) = (2.0, 350.0);
    let stays = mean / (1.0 - rate * mean / 1e3);
    let xs = [0.0, stays, 4.0 * stays];
    let times = simulated(&[Law::Exponential { mean }], &[class(1, &[0], &[1])], rate, &xs, reads());
    close("mean", times.all.mean_ms, stays, 0.015);
    assert_eq!(times.all.reached[0], times.all.count);
    for (place, expected) in [(1, (-1.0_f64).exp()), (2, (-4.0_f64).exp())] {
        let share = times.all.reached[place] as f64 / times.all.count as f64;
        close("tail", share, expected, 0.05);
    }
    assert_eq!((&times.nodes[0], &times.classes[0]), (&times.all, &times.all), "one node, one class");
}

#[test]
fn each_node_keeps_requests_as_long_as_pollaczek_and_khinchine_say() {
    let (laws, classes) = heterogeneous();
    let rate = 0.5 * 252.0 / 4.0;
    let times = simulated(&laws, &classes, rate, &[], reads());
    let mut requests = 0;
    for (node, (law, found)) in laws.iter().zip(&times.nodes).enumerate() {
        // Its share of each of seven classes.
        let asked: f64 = classes
            .iter()
            .filter_map(|class| {
                let cell = class.nodes.iter().position(|&other| other as usize == node)?;
                let sum: u32 = class.weights.iter().sum();
                Some(4.0 * f64::from(class.weights[cell]) / f64::from(sum) / 12.0)
            })
            .sum();
        close("requests", found.count as f64, asked * times.all.count as f64, 0.01);
        let arrivals = asked * rate / 1e3;
        let wait = arrivals * law.second_moment() / (2.0 * (1.0 - arrivals * law.mean()));
        close("mean", found.mean_ms, law.mean() + wait, 0.015);
        requests += found.count;
    }
    assert_eq!(requests, 4 * times.all.count);
    assert_eq!(times.classes.iter().map(|class| class.count).sum::<u64>(), times.all.count);
}

#[test]
fn the_full_engine_without_hedging_finds_the_same_for_the_same_reads() {
    let (laws, files) = heterogeneous();
    let rate = 40.0;
    let cluster = Cluster {
        nodes: 12,
        racks: 1,
        clients: 1,
        code: Code { k: 1, m: 1 },
        service: Law::Constant(1.0),
        laws: laws.clone(),
        queue: Queue::Fifo { servers: 1 },
        rate,
        workload: vec![Workload { name: "files".into(), share: 1.0, cells: 1, fan_out: 1, hedged: true }],
        files: files.clone(),
        new_connections: 0.0,
        connect: Law::Constant(0.0),
        rebuild: Law::Constant(0.0),
    };
    let mut scenario = Scenario::parse(
        "files",
        "title = \"files\"\nengine = \"full\"\nseconds = 1500\nseed = 7\npolicies = [\"none\"]",
        false,
    )
    .expect("a scenario");
    scenario.shapes[0].cluster = cluster;
    scenario.check().expect("a scenario");
    let row = run(&scenario, 1, &|_| {}).remove(0);
    assert!(row.reads > 50_000);

    // Where the histogram's steps end, so that the comparison is exact.
    let xs: Vec<f64> = [0.1, 0.5, 0.9, 0.99, 0.999].map(|quantile| row.all.quantile_ms(quantile)).to_vec();
    let input =
        ForkJoin { laws: &laws, classes: &files, rate, xs: &xs, reads: row.reads, warm_up: 0, seed: 7 };
    let times = fork_join(&input).expect("an input");
    close("mean", row.all.mean_ms(), times.all.mean_ms, 1e-3);
    for (&x, &reached) in xs.iter().zip(&times.all.reached) {
        let slower = row.all.steps().filter(|&(micros, _)| micros as f64 > x * 1e3).map(|(_, reads)| reads);
        let slower = slower.sum::<u64>();
        assert!(slower.abs_diff(reached) <= 1, "{x}: {slower}, {reached}");
    }
    assert_eq!(row.extra_cell_share, 0.0);
}

#[test]
fn no_more_reads_are_late_than_requests_and_no_fewer_than_of_any_node() {
    let (laws, classes) = heterogeneous();
    let xs = [400.0, 50.0, 150.0, 0.0, 1e6];
    let times = simulated(&laws, &classes, 40.0, &xs, 100_000);
    for (place, x) in xs.iter().enumerate() {
        let late = times.all.reached[place];
        let of_nodes = times.nodes.iter().map(|node| node.reached[place]);
        assert!(late <= of_nodes.clone().sum::<u64>(), "{x}");
        assert!(late >= of_nodes.max().unwrap_or_default(), "{x}");
        assert_eq!(late, times.classes.iter().map(|class| class.reached[place]).sum::<u64>());
    }
    assert_eq!([times.all.reached[3], times.all.reached[4]], [times.all.count, 0]);
}

#[test]
fn a_seed_gives_the_same_times_on_every_machine_and_another_seed_others() {
    let (laws, classes) = heterogeneous();
    let run = |seed| {
        let (laws, classes) = (&laws, &classes);
        let input =
            ForkJoin { laws, classes, rate: 40.0, xs: &[200.0, 100.0], reads: 20_000, warm_up: 100, seed };
        fork_join(&input).expect("an input")
    };
    let times = run(3);
    assert_eq!(times, run(3));
    assert_ne!(times, run(4));
    assert_eq!((times.all.mean_ms, times.all.reached), (224.411_537_683_3, vec![8_767, 16_597]));
}

#[test]
fn the_weights_change_neither_arrivals_nor_classes_nor_services() {
    // Without load all is service: the same cells take the same, however likely they were to be drawn.
    let laws = vec![Law::Exponential { mean: 1.0 }; 3];
    let run = |weights: &[u32]| simulated(&laws, &[class(3, &[0, 1, 2], weights)], 0.001, &[1.0], 5_000);
    assert_eq!(run(&[1, 1, 1]), run(&[1, 2, 3]));
}

#[test]
fn what_can_not_be_simulated_is_refused_with_its_place_and_its_numbers() {
    let laws = vec![Law::Constant(1.0); 3];
    let good = class(2, &[0, 1, 2], &[1, 0, 1]);
    let classes = std::slice::from_ref(&good);
    let input = ForkJoin { laws: &laws, classes, rate: 1.0, xs: &[1.0], reads: 1, warm_up: 0, seed: 0 };
    assert!(fork_join(&input).is_ok());
    let refused = |input: &ForkJoin<'_>, expected: &str| {
        let error = fork_join(input).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    refused(&ForkJoin { laws: &[], ..input }, "laws: must be from 1 to 1024: it is 0");
    refused(&ForkJoin { laws: &[Law::Exponential { mean: f64::NAN }], ..input }, "laws, node 0: the mean");
    refused(&ForkJoin { classes: &[], ..input }, "classes: must be from 1 to 1000000: it is 0");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(&ForkJoin { rate: bad, ..input }, "rate: must be above 0");
        let class = FileClass { share: bad, ..good.clone() };
        refused(
            &ForkJoin { classes: &[good.clone(), class], ..input },
            "classes, class 1: share: must be above 0",
        );
    }
    refused(&ForkJoin { xs: &[1.0, -1.0], ..input }, "xs: must be from 0");
    refused(&ForkJoin { xs: &[f64::NAN], ..input }, "xs: must be from 0");
    refused(&ForkJoin { reads: 0, ..input }, "reads: must be from 1");
    // Beyond, all reads would come at the end of time, and take nothing.
    refused(&ForkJoin { rate: 1e-9, reads: 9, ..input }, "rate: is 0.000000001, at which 9 reads take");
    let many = vec![good.clone(); 1_000_000];
    refused(
        &ForkJoin { classes: &many, xs: &[1.0; 125], ..input },
        "xs: 125 for 1000000 classes and 3 nodes make 126000378 counts",
    );
    for (class, expected) in [
        (class(0, &[0, 1], &[1, 1]), "classes, class 0: k: is 0, of 2 nodes"),
        (class(3, &[0, 1], &[1, 1]), "classes, class 0: k: is 3, of 2 nodes"),
        (class(1, &[], &[]), "classes, class 0: k: is 1, of 0 nodes"),
        (class(2, &[0, 1], &[1, 1, 1]), "classes, class 0: weights: there are 3 for 2 nodes"),
        (
            class(2, &[0, 1], &[1, 0]),
            "classes, class 0: weights: only 1 are above 0, and a read asks 2 nodes",
        ),
        (class(2, &[0, 3], &[1, 1]), "classes, class 0: nodes: there is no node 3: they are 0 to 2"),
        (class(2, &[0, 1, 0], &[1, 1, 1]), "classes, class 0: nodes: node 0 has two cells"),
    ] {
        refused(&ForkJoin { classes: &[class], ..input }, expected);
    }
}
