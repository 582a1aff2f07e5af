//! Every order of events for reads of small stripes, with the promises checked in every state.
//!
//! `cargo test -p hedge-core --release --test exhaustive -- --nocapture` prints how many states there are.

mod broken;
mod case;
mod event;
mod explore;
mod outputs;
mod promises;
mod shadow;

use std::collections::BTreeSet;

use hedge_core::{CellSet, Fault, Mode};

use case::Case;
use explore::{Reached, explore};

/// Explores a case in which every promise must hold.
fn reach(case: &Case, raw: bool) -> Reached {
    match explore(case, None, raw) {
        Ok(reached) => reached,
        Err(violation) => panic!("{}\n{}", violation.broken, violation.script),
    }
}

/// Explores each case. Each comes with the number of its states when it was last looked at: it may not shrink unnoticed.
fn promises_hold(cases: &[(usize, Case)]) {
    let mut sum = 0;
    let mut shrunk = Vec::new();
    for (floor, case) in cases {
        let states = reach(case, false).states;
        println!("{case}: {states} states");
        if states < *floor {
            shrunk.push(format!("{case}: {states} states, they were {floor}"));
        }
        sum += states;
    }
    println!("{sum} states in all, every promise held");
    assert!(shrunk.is_empty(), "{}", shrunk.join("\n"));
}

fn cell(cell: u8) -> CellSet {
    CellSet::one(cell)
}

/// Every kind of event and of plan, for stripes small enough to try them all.
fn all_ways(case: Case) -> [Case; 20] {
    [
        case,
        Case { give_up: true, ledger: true, ..case },
        Case { give_up: true, unruly: true, max_tries: 2, ..case },
        Case { partial_polls: true, give_up: true, retries: 0, ..case },
        Case { partial_polls: true, ledger: true, ..case },
        Case { partial_polls: true, unruly: true, ..case },
        Case { partial_polls: true, hints: true, deadline: true, abort: false, ..case },
        Case { oversleep: true, deadline: true, ..case },
        Case { oversleep: true, retries: 2, ..case },
        Case { deadline: true, give_up: true, ..case },
        Case { mode: Mode::Eager(1), hints: true, ledger: true, ..case },
        Case { mode: Mode::Eager(1), hints: true, partial_polls: true, ..case },
        Case { mode: Mode::Off, max_tries: 2, give_up: true, ..case },
        Case { mode: Mode::DryRun, give_up: true, ..case },
        Case { zero: cell(1), hints: true, partial_polls: true, ..case },
        Case { missing: cell(1), hints: true, partial_polls: true, ..case },
        Case { avoid: cell(0), hints: true, partial_polls: true, ..case },
        Case { avoid: cell(1), hints: true, ledger: true, ..case },
        Case { together: Some((0, 1)), hints: true, ledger: true, ..case },
        Case { spare: 1, retries: 2, fewer: true, hints: true, ledger: true, ..case },
    ]
}

fn in_all_ways(case: Case, floors: [usize; 20]) {
    let cases: Vec<_> = floors.into_iter().zip(all_ways(case)).collect();
    promises_hold(&cases);
}

/// Small enough for Miri.
#[test]
fn promises_hold_for_one_cell_of_two_copies() {
    promises_hold(&[(144, Case::new(1, 2, [0]))]);
}

#[test]
#[cfg_attr(miri, ignore)]
fn promises_hold_for_two_copies() {
    in_all_ways(
        Case::new(1, 2, [0]),
        [
            144, 438, 692, 2_416, 1_585, 1_231, 1_627, 1_004, 253, 406, 344, 2_145, 81, 119, 72, 63, 1_452,
            223, 223, 310,
        ],
    );
    in_all_ways(
        Case::new(1, 2, [0, 1]),
        [
            124, 268, 488, 1_944, 1_225, 962, 1_651, 762, 163, 276, 174, 1_104, 143, 193, 72, 87, 2_019, 360,
            174, 174,
        ],
    );
}

#[test]
#[cfg_attr(miri, ignore)]
fn promises_hold_for_three_copies() {
    in_all_ways(
        Case::new(1, 3, [0]),
        [
            1_140, 10_679, 13_729, 57_547, 21_863, 14_053, 18_602, 8_840, 2_099, 7_639, 2_998, 20_016, 659,
            909, 72, 1_269, 20_745, 2_495, 2_335, 3_654,
        ],
    );
    let two = Case::new(1, 3, [0, 1]);
    let three = Case::new(1, 3, [0, 1, 2]);
    promises_hold(&[
        (682, two),
        (5_574, Case { give_up: true, ledger: true, ..two }),
        (2_335, Case { max_tries: 2, ..two }),
        (5_569, Case { partial_polls: true, ..two }),
        (740, Case { mode: Mode::Eager(1), hints: true, ..two }),
        (1_037, three),
        (2_827, Case { give_up: true, ledger: true, ..three }),
        (11_752, Case { partial_polls: true, ..three }),
    ]);
}

#[test]
#[cfg_attr(miri, ignore)]
fn promises_hold_for_two_of_three() {
    in_all_ways(
        Case::new(2, 3, [0]),
        [
            1_146, 5_584, 14_036, 28_923, 21_261, 11_614, 14_722, 8_240, 2_821, 3_502, 3_606, 18_696, 713,
            526, 1_269, 63, 24_582, 2_525, 2_525, 3_684,
        ],
    );
    in_all_ways(
        Case::new(2, 3, [0, 1]),
        [
            2_321, 7_655, 32_327, 41_598, 27_509, 20_484, 42_605, 24_552, 8_013, 9_369, 4_213, 30_655, 999,
            3_412, 1_269, 445, 25_385, 3_703, 3_499, 5_539,
        ],
    );
    in_all_ways(
        Case::new(2, 3, [0, 1, 2]),
        [
            638, 1_459, 6_822, 13_797, 7_036, 5_420, 10_921, 5_701, 1_083, 1_809, 793, 6_444, 1_106, 1_088,
            1_104, 452, 27_336, 3_711, 793, 793,
        ],
    );
}

#[test]
#[cfg_attr(miri, ignore)]
fn promises_hold_for_two_of_four() {
    let one = Case::new(2, 4, [0]);
    let two = Case::new(2, 4, [0, 1]);
    let three = Case::new(2, 4, [0, 1, 2]);
    promises_hold(&[
        (26_556, one),
        (31_666, Case { spare: 1, fewer: true, hints: true, ..one }),
        (18_333, Case { spare: 1, ledger: true, retries: 0, ..one }),
        (52_945, Case { give_up: true, abort: false, retries: 0, ..one }),
        (11_270, Case { deadline: true, retries: 0, ..one }),
        (19_145, Case { mode: Mode::Eager(1), hints: true, retries: 0, ..one }),
        (7_058, Case { mode: Mode::Off, max_tries: 2, give_up: true, ..one }),
        (2_967, Case { mode: Mode::DryRun, ..one }),
        (5_698, Case { zero: cell(1), give_up: true, hints: true, ..one }),
        (2_723, Case { missing: cell(1), give_up: true, hints: true, ..one }),
        (11_136, Case { avoid: cell(0), retries: 0, ..one }),
        (28_056, Case { together: Some((0, 1)), ..one }),
        (11_048, Case { together: Some((1, 2)), avoid: cell(3), retries: 0, ..one }),
        (28_652, Case { max_tries: 2, retries: 0, ..one }),
        (42_587, Case { partial_polls: true, soft: false, retries: 0, ..one }),
        (33_747, two),
        (33_921, Case { spare: 1, ledger: true, retries: 0, hints: true, ..two }),
        (60_155, Case { give_up: true, abort: false, retries: 0, ..two }),
        (17_735, Case { deadline: true, retries: 0, ..two }),
        (21_468, Case { mode: Mode::Eager(1), hints: true, retries: 0, ..two }),
        (9_977, Case { mode: Mode::Off, max_tries: 2, give_up: true, ..two }),
        (5_071, Case { missing: cell(2), give_up: true, ..two }),
        (30_208, Case { avoid: cell(0), ..two }),
        (34_643, Case { together: Some((1, 2)), ..two }),
        (80_040, Case { partial_polls: true, soft: false, retries: 0, ..two }),
        (12_246, three),
        (47_318, Case { give_up: true, ledger: true, retries: 0, ..three }),
    ]);
}

/// Only failures that erase, and refusals for good: where everything would be too much.
fn hard(case: Case) -> Case {
    Case { soft: false, retries: 0, ..case }
}

/// As [`hard`], and reads end by themselves.
fn bare(case: Case) -> Case {
    Case { abort: false, decode_fails: false, ..hard(case) }
}

#[test]
#[cfg_attr(miri, ignore)]
fn promises_hold_for_three_of_five() {
    let one = Case::new(3, 5, [0]);
    let two = Case::new(3, 5, [0, 1]);
    let three = Case::new(3, 5, [0, 1, 2]);
    promises_hold(&[
        (47_817, Case { spare: 1, fewer: true, ledger: true, ..hard(one) }),
        (10_127, Case { missing: cell(3), hints: true, ..one }),
        (12_339, Case { zero: cell(1), hints: true, retries: 0, ..one }),
        (55_253, hard(two)),
        (68_891, hard(three)),
        // A hedge may rest on an eager leg, which nobody replaces.
        (23_136, Case { mode: Mode::Eager(1), ..bare(Case::new(2, 5, [0])) }),
    ]);
}

#[test]
#[cfg_attr(any(miri, debug_assertions), ignore = "large: for tests that are optimized in full (--release)")]
fn promises_hold_for_three_of_five_whatever_happens() {
    promises_hold(&[
        (578_352, Case::new(3, 5, [0])),
        (837_868, Case::new(3, 5, [0, 1])),
        (639_889, Case::new(3, 5, [0, 1, 2])),
    ]);
}

#[test]
#[cfg_attr(any(miri, debug_assertions), ignore = "large: for tests that are optimized in full (--release)")]
fn promises_hold_for_three_of_five_in_all_ways() {
    let one = Case::new(3, 5, [0]);
    let two = Case::new(3, 5, [0, 1]);
    let three = Case::new(3, 5, [0, 1, 2]);
    promises_hold(&[
        (29_680, Case { spare: 1, abort: false, ..hard(two) }),
        (92_829, Case { ledger: true, ..bare(three) }),
        (17_955, Case { deadline: true, ..hard(one) }),
        (46_535, Case { deadline: true, ..hard(two) }),
        (69_457, Case { deadline: true, ..hard(three) }),
        (108_474, Case { mode: Mode::Off, max_tries: 2, give_up: true, ..one }),
        (7_547, Case { mode: Mode::Off, give_up: true, ..two }),
        (8_324, Case { mode: Mode::Off, give_up: true, ..three }),
        (39_679, Case { mode: Mode::Eager(1), ..bare(one) }),
        (74_377, Case { mode: Mode::Eager(1), abort: false, ..hard(two) }),
        (82_407, Case { mode: Mode::Eager(1), ..bare(three) }),
        (1_083_549, Case { give_up: true, ..bare(one) }),
        (1_679_357, Case { give_up: true, ..bare(two) }),
        (943_723, Case { give_up: true, ..bare(three) }),
        (361_017, Case { partial_polls: true, ..bare(one) }),
        (819_439, Case { partial_polls: true, ..bare(two) }),
        (1_067_562, Case { partial_polls: true, ..bare(three) }),
    ]);
}

/// Explores with every state told apart, and compares: what the canonical projection calls equal has an equal future.
fn the_projection_holds(case: &Case) {
    let (raw, reached) = (reach(case, true), reach(case, false));
    println!("{case}: {} raw states, {} projections", raw.states, reached.states);
    if let Some(script) = raw.ambiguous.first() {
        panic!(
            "{} states are not what their projection says, the first is reached by\n{script}",
            raw.ambiguous.len()
        );
    }
    let set = |keys: Vec<u64>| keys.into_iter().collect::<BTreeSet<_>>();
    assert!(set(raw.keys) == set(reached.keys), "{case}: other projections are reached raw");
    assert!(raw.states > reached.states, "{case}: nothing is merged");
}

#[test]
#[cfg_attr(miri, ignore)]
fn equal_projections_have_equal_futures() {
    for case in [Case::new(1, 2, [0]), Case::new(1, 2, [0, 1])] {
        the_projection_holds(&case);
        the_projection_holds(&Case { give_up: true, ledger: true, ..case });
        the_projection_holds(&Case { max_tries: 2, deadline: true, ..case });
        the_projection_holds(&Case { oversleep: true, ..case });
        the_projection_holds(&Case { mode: Mode::Eager(1), hints: true, ..case });
        // Evidence takes polls of its own.
        let partial = Case { partial_polls: true, ledger: true, ..case };
        the_projection_holds(&partial);
        the_projection_holds(&Case { hints: true, avoid: cell(0), ..partial });
    }
    for case in [Case::new(2, 3, [0]), Case::new(2, 3, [0, 1])] {
        let case = Case { retries: 0, abort: false, ..case };
        the_projection_holds(&case);
        the_projection_holds(&Case { deadline: true, ..case });
        the_projection_holds(&Case { mode: Mode::Eager(1), soft: false, hints: true, ..case });
    }
}

#[test]
#[ignore = "ten million states, a minute and a gigabyte or two"]
fn equal_projections_have_equal_futures_with_legs_given_up() {
    for case in [Case::new(2, 3, [0]), Case::new(2, 3, [0, 1])] {
        let case = Case { retries: 0, abort: false, ..case };
        the_projection_holds(&Case { ledger: true, ..case });
        the_projection_holds(&Case { give_up: true, soft: false, ..case });
    }
}

/// Seeds a fault and expects that this promise breaks.
fn caught(fault: Fault, case: Case, promise: &str) {
    let Err(violation) = explore(&case, Some(fault), false) else {
        panic!("{fault:?} goes unnoticed in {case}");
    };
    println!("{fault:?}: {}\n{}", violation.broken, violation.script);
    assert_eq!(violation.broken.promise, promise, "{fault:?}: {}\n{}", violation.broken, violation.script);
}

#[test]
fn a_seeded_fault_is_caught_deaf_while_decoding() {
    caught(Fault::DeafWhileDecoding, Case::new(1, 2, [0]), "Rule 2");
}

#[test]
fn a_seeded_fault_is_caught_a_hedge_failure_spends_the_cell() {
    caught(Fault::HedgeFailureSpendsTheCell, Case::new(1, 2, [0]), "Lost");
}

#[test]
fn a_seeded_fault_is_caught_a_release_ignores_the_decode() {
    caught(Fault::ReleaseIgnoresTheDecode, Case::new(1, 2, [0]), "P5");
}

#[test]
fn a_seeded_fault_is_caught_no_retry_floor() {
    caught(Fault::NoRetryFloor, Case::new(1, 2, [0]), "P6");
}

#[test]
fn a_seeded_fault_is_caught_siblings_rearm_the_clock() {
    caught(Fault::SiblingsRearmTheClock, Case::new(2, 3, [0, 1]), "Rule 6");
}

#[test]
fn a_seeded_fault_is_caught_deliveries_are_counted() {
    caught(Fault::CountsDeliveries, Case::new(2, 3, [0]), "P2");
}

#[test]
fn a_seeded_fault_is_caught_a_cancel_frees_the_buffer() {
    caught(Fault::CancelFreesTheBuffer, Case::new(1, 2, [0]), "P5");
}

#[test]
fn a_seeded_fault_is_caught_launches_after_the_end() {
    caught(Fault::LaunchesAfterTheEnd, Case { partial_polls: true, ..Case::new(2, 4, [0]) }, "P3");
}

#[test]
fn a_seeded_fault_is_caught_a_refund_is_kept() {
    caught(Fault::KeepsTheRefund, Case::new(2, 4, [0]), "P7");
}

#[test]
fn a_seeded_fault_is_caught_an_answer_for_the_next_leg() {
    caught(Fault::AnswersTheNextLeg, Case { max_tries: 2, ..Case::new(1, 2, [0]) }, "Rule 3");
}
