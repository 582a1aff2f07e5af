//! Slow nodes in a fleet of 200 whose nodes measure each other: what the default promises, and where the published rules fall short.

mod slow_world;

use hedgerow_fleet::{Rule, SlowConfig};
use slow_world::volumes::{Chooser, Served, Space, serve};
use slow_world::{Found, Scene, Way, run, the_default, ways};

const NODES: u32 = 200;
/// 2 % of them.
const CAP: u32 = 4;

fn default_in(scene: Scene) -> Found {
    let mut all = Found::default();
    for seed in 1..=3 {
        all.add(&run(scene, seed, &[the_default()])[0]);
    }
    all
}

#[test]
fn nodes_4_and_10_times_as_slow_are_found_soon_and_nobody_else_is_demoted() {
    // A node that was a quicker one is hardly three times as slow as its peers when it is four times as slow as before.
    for (factor, soon, most) in [(4.0, 10, 90), (10.0, 5, 10)] {
        let found = default_in(Scene::new(NODES, factor));
        assert_eq!((found.missed, found.delays.len()), (0, 6), "x{factor}");
        assert!(found.delays[3] <= soon && found.delays[5] <= most, "x{factor}: {:?}", found.delays);
        assert_eq!(found.demoted, 0, "x{factor}");
        assert_eq!(found.fleet_wide, 0);
    }
}

#[test]
fn a_node_that_recovers_leaves_within_the_window_and_six_clean_rounds() {
    for factor in [4.0, 10.0] {
        let found = default_in(Scene::new(NODES, factor));
        assert_eq!(found.leaving.len(), 6);
        // At once it is not: no round is clean before the first after the recovery.
        assert!(found.leaving.iter().all(|leaving| (30..=45).contains(leaving)), "{:?}", found.leaving);
    }
}

#[test]
fn three_hour_means_are_slow_both_ways_and_mad_alone_accuses_healthy_nodes() {
    let scene = Scene::new(NODES, 4.0);
    let ways = ways();
    let found = run(scene, 1, &ways);
    let [raw, top, scaled, hdfs, half_hour, default] = &found[..] else { panic!() };
    assert!(raw.demoted > scaled.demoted && scaled.demoted > 5, "{} {}", raw.demoted, scaled.demoted);
    for (way, found) in ways.iter().zip([raw, top, scaled, hdfs, half_hour, default]) {
        // Only HDFS's rule leaves the healthy ones alone.
        assert_eq!(found.demoted == 0, way.rule == Rule::HDFS, "{}", way.name);
    }
    assert_eq!((hdfs.missed, half_hour.missed, default.missed), (0, 0, 0));
    assert!(hdfs.delays[0] > 60 && hdfs.leaving[0] > 60, "{:?} {:?}", hdfs.delays, hdfs.leaving);
    assert!(half_hour.delays[1] <= 30, "{:?}", half_hour.delays);
    // The ten with most reporters: never more, and healthy ones among them.
    assert!(top.most == 10 && top.demoted >= 8, "{} {}", top.most, top.demoted);
}

#[test]
fn five_liars_who_agree_demote_nobody() {
    let scene = Scene { liars: 5, ..Scene::new(NODES, 10.0).short() };
    let found = default_in(scene);
    assert!(found.accused >= 20, "the lies arrive: {}", found.accused);
    assert_eq!((found.demoted, found.missed), (0, 0));
    let one_is_enough = Way { config: SlowConfig::published(u32::MAX), ..the_default() };
    assert!(run(scene, 1, &[one_is_enough])[0].demoted >= 20);
}

#[test]
fn reporters_that_are_cut_off_demote_nobody() {
    let scene = Scene { cut_off: 8, ..Scene::new(NODES, 10.0).short() };
    let found = default_in(scene);
    assert!(found.accused >= 40, "they do accuse: {}", found.accused);
    assert_eq!((found.demoted, found.missed), (0, 0));
}

#[test]
fn a_slowdown_of_the_whole_fleet_demotes_nobody_but_the_slow() {
    for slow in [0, NODES / 100] {
        let found = default_in(Scene { fleet: 5.0, slow, ..Scene::new(NODES, 10.0).short() });
        assert_eq!((found.demoted, found.missed), (0, 0));
        assert_eq!(found.most, slow);
    }
}

#[test]
fn whatever_part_of_the_fleet_is_slow_no_more_than_the_cap_are_demoted_and_no_healthy_ones() {
    for slow in [3 * NODES / 10, NODES / 2] {
        for factor in [4.0, 10.0] {
            let found = default_in(Scene { slow, ..Scene::new(NODES, factor).short() });
            assert!(found.most <= CAP, "{slow} x{factor}: {}", found.most);
            assert_eq!(found.demoted, 0, "{slow} x{factor}");
        }
    }
}

#[test]
fn thirty_percent_or_half_of_the_fleet_5_times_as_slow_demotes_nobody_for_long() {
    for slow in [3 * NODES / 10, NODES / 2] {
        let scene = Scene { slow, factor: 5.0, ..Scene::new(NODES, 5.0).short() };
        let found = default_in(scene);
        assert!(found.most <= CAP, "{}", found.most);
        assert_eq!((found.most_steady, found.demoted), (0, 0));
        assert!(found.fleet_wide > 0);
        // Without the share of accused that stops it, the cap would be full of them.
        let mut config = SlowConfig::default();
        config.most_accused = 1.0;
        let found = &run(scene, 1, &[Way { config, ..the_default() }])[0];
        assert_eq!((found.most, found.fleet_wide), (CAP, 0));
    }
}

#[test]
fn more_slow_nodes_than_the_cap_are_demoted_up_to_the_cap() {
    let found = default_in(Scene { slow: 9, ..Scene::new(NODES, 10.0).short() });
    assert_eq!((found.most, found.most_steady, found.demoted), (CAP, CAP, 0));
}

#[test]
fn entering_damped_costs_one_round_for_each_that_is_waited_for() {
    let mut config = SlowConfig::default();
    config.enter_rounds = 3;
    let ways = [the_default(), Way { config, rule: Rule::HDFS, ..the_default() }];
    let found = run(Scene::new(NODES, 10.0).short(), 1, &ways);
    assert_eq!((found[0].delays.as_slice(), found[1].delays.as_slice()), (&[5, 5][..], &[15, 15][..]));
}

#[test]
fn the_same_seed_finds_the_same() {
    let scene = Scene::new(NODES, 4.0).short();
    let found = |seed| format!("{:?}", run(scene, seed, &[the_default()]));
    assert_eq!(found(5), found(5));
    assert_ne!(found(5), found(6));
}

#[test]
fn the_least_busy_volume_bears_a_busy_one_and_the_last_reading_alone_does_not() {
    for space in [Space::Even, Space::NewIsBusy] {
        let by = |chooser| -> Served { serve(chooser, space, 5_000.0, 20_000, 1) };
        let least = by(Chooser::LeastBusyReckoning);
        let turns = by(Chooser::RoundRobin);
        let alone = by(Chooser::LeastBusy);
        let available = by(Chooser::AvailableSpace);
        assert!(least.to_busy < 0.02 && least.busy < 0.6, "{least:?}");
        assert!(least.p99 < 0.9 * turns.p99, "{least:?} {turns:?}");
        assert!(least.median <= turns.median && least.most < turns.most, "{least:?} {turns:?}");
        // All writes between two readings on one volume.
        assert!(alone.p99 > 5.0 * turns.p99 && alone.others > 0.35, "{alone:?} {turns:?}");
        if space == Space::NewIsBusy {
            // 30 % of the writes, on a disk that is half busy already.
            assert!((0.28..0.32).contains(&available.to_busy) && available.busy > 0.99, "{available:?}");
        } else {
            assert_eq!(available.p99, turns.p99);
        }
    }
}
