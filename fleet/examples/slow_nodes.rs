//! Which rule finds slow nodes, how soon, and at what price; and which policy for volumes bears a busy one. Prints Markdown tables.
//!
//! `cargo run --release -p hedgerow-fleet --example slow_nodes`

#[path = "../tests/slow_world/mod.rs"]
mod slow_world;

use slow_world::volumes::{Chooser, Space, serve};
use slow_world::{Found, Scene, Way, run, ways};

/// How many seeds: those with a window of three hours take most of the time.
fn seeds(way: &Way) -> u64 {
    if way.buckets > 6 { 2 } else { 4 }
}

fn main() {
    println!(
        "1,000 nodes with 30 downstream peers each; times in minutes; 2 seeds where the window is 3 h, 4 where it is less."
    );
    for factor in [4.0, 10.0] {
        println!("\n### Ten nodes {factor} times as slow, for four hours\n");
        println!(
            "| rule | found after, median | most | missed | healthy accused by anybody, most | healthy demoted, mean | most | gone after recovery, median | most |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        for (way, found) in all(Scene::new(1_000, factor), &ways()) {
            println!(
                "| {} | {} | {} | {} of {} | {} | {:.1} | {} | {} | {} |",
                way.name,
                middle(&found.delays).map_or("-".into(), |delay| delay.to_string()),
                found.delays.last().map_or("-".into(), u32::to_string),
                found.missed,
                found.missed as usize + found.delays.len(),
                found.accused,
                found.demoted_sum as f64 / found.rounds as f64,
                found.demoted,
                stay(middle(&found.leaving)),
                stay(found.leaving.last()),
            );
        }
    }
    let troubles = [4.0, 10.0].into_iter().flat_map(|factor| troubles(factor).map(|one| (factor, one)));
    for (factor, (title, scene)) in troubles {
        println!("\n### {title}, x{factor}, for an hour\n");
        println!(
            "| rule | slow found | healthy accused by anybody, most | healthy demoted, most | demoted, most | once it lasted as long as the window | rounds in which nobody was, for too many were accused |"
        );
        println!("|---|---|---|---|---|---|---|");
        for (way, found) in all(scene, &ways()) {
            println!(
                "| {} | {} of {} | {} | {} | {} | {} | {} of {} |",
                way.name,
                found.delays.len(),
                found.missed as usize + found.delays.len(),
                found.accused,
                found.demoted,
                found.most,
                if scene.from + way.buckets < scene.until {
                    found.most_steady.to_string()
                } else {
                    "-".into()
                },
                found.fleet_wide,
                found.rounds,
            );
        }
    }
    println!(
        "\n### Volumes: eight disks, 35 % busy with writes of 8 MiB, one of them with foreign I/O for another 50 %\n"
    );
    println!(
        "| space | policy | statistics read every, s | median, ms | p99 | most | writes to the busy one, % | it is busy, % | the others, % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (space, space_name) in [(Space::Even, "even"), (Space::NewIsBusy, "the busy one is the emptiest")] {
        for (chooser, name, reading) in [
            (Chooser::RoundRobin, "round robin", 5.0),
            (Chooser::AvailableSpace, "available space", 5.0),
            (Chooser::LeastBusy, "least busy, by the last reading alone", 5.0),
            (Chooser::LeastBusy, "least busy, by the last reading alone", 0.5),
            (Chooser::LeastBusyReckoning, "least busy, with its own writes reckoned in", 5.0),
        ] {
            let served = serve(chooser, space, 1e3 * reading, 200_000, 1);
            let (p99, most) = if served.busy > 0.995 {
                ("grows".into(), "grows".into())
            } else {
                (format!("{:.0}", served.p99), format!("{:.0}", served.most))
            };
            println!(
                "| {space_name} | {name} | {reading} | {:.0} | {p99} | {most} | {:.1} | {:.0} | {:.0} |",
                served.median,
                100.0 * served.to_busy,
                100.0 * served.busy,
                100.0 * served.others
            );
        }
    }
}

/// What else may be wrong.
fn troubles(factor: f64) -> [(&'static str, Scene); 6] {
    let base = Scene::new(1_000, factor).short();
    [
        ("Five liars, and ten slow nodes", Scene { liars: 5, ..base }),
        (
            "20 reporters that see a third of the fleet 10 times as slow, and ten slow nodes",
            Scene { cut_off: 20, ..base },
        ),
        ("All nodes slow", Scene { fleet: factor, slow: 0, ..base }),
        ("All nodes slow, and ten of them once more", Scene { fleet: factor, ..base }),
        ("30 % of the fleet slow", Scene { slow: 300, ..base }),
        ("Half of the fleet slow", Scene { slow: 500, ..base }),
    ]
}

/// All seeds of a scene, together.
fn all(scene: Scene, ways: &[Way]) -> Vec<(Way, Found)> {
    let mut sum: Vec<(Way, Found)> = ways.iter().map(|way| (*way, Found::default())).collect();
    for seed in 1..=4 {
        let (ways, mut sums): (Vec<Way>, Vec<&mut Found>) =
            sum.iter_mut().filter(|(way, _)| seed <= seeds(way)).map(|(way, found)| (*way, found)).unzip();
        for (sum, found) in sums.iter_mut().zip(run(scene, seed, &ways)) {
            sum.add(&found);
        }
    }
    sum
}

fn middle<T>(sorted: &[T]) -> Option<&T> {
    sorted.get(sorted.len() / 2)
}

fn stay(minutes: Option<&u32>) -> String {
    match minutes {
        None => "-".into(),
        Some(&u32::MAX) => "more than 240".into(),
        Some(minutes) => minutes.to_string(),
    }
}
