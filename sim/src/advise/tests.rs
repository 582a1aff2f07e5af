//! Advice on the three forms of healthy latencies, and on others.

use hedge_core::{Config, Factor, Threshold as CoreThreshold};

use super::*;
use crate::{Random, Sampler};

const FORMS: [&str; 3] = ["lognormal", "mixture", "heavy"];
const ENOUGH: u64 = 1_000_000_000;

/// One spare and 0.1 %, for which the numbers here were found.
fn usual() -> Question {
    Question { spare: 1, target: 0.001, ..Question::default() }
}

fn advice(law: &Law, question: &Question) -> Advice {
    advise_on(law, ENOUGH, question).unwrap()
}

fn named(form: &str) -> Law {
    Law::named(form).unwrap()
}

#[track_caller]
fn near(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value}, but {expected} was expected");
}

/// The lines must be ones that the core takes.
fn configured(advice: &Advice) -> Config {
    let mut config = Config::default();
    config.set_all(advice.config.iter().map(|(name, value)| (*name, value.as_str()))).unwrap();
    config
}

#[test]
fn the_recommended_threshold_spends_the_target() {
    for form in FORMS {
        for target in [1e-4, 1e-3, 7e-3] {
            let advice = advice(&named(form), &Question { target, ..usual() });
            let choice = &advice.table[advice.recommended];
            assert_eq!(choice.name, "target");
            near(choice.extra_cells, target, 1e-9);
        }
    }
}

/// Affected p99, without overhead, of the quantile that spends 0.1 %: 38, 30 and 47 ms, simulated.
#[test]
fn reads_from_a_dead_node_take_what_was_simulated() {
    for (form, factor, dead_p99) in [("lognormal", 2.9, 38.0), ("mixture", 2.1, 30.0), ("heavy", 3.8, 47.0)] {
        let advice = advice(&named(form), &usual());
        let choice = &advice.table[advice.recommended];
        near(choice.threshold_ms / named(form).quantile_above(0.01), factor, 0.05);
        near(choice.dead_p99_ms, dead_p99, 0.05);
    }
}

/// Extra cells of p99 x 3: 0.087, 0.007 and 0.191 %, simulated.
#[test]
fn a_multiple_of_p99_spends_what_was_simulated() {
    for (form, spent) in [("lognormal", 0.087e-2), ("mixture", 0.007e-2), ("heavy", 0.191e-2)] {
        let advice = advice(&named(form), &usual());
        let choice = advice.table.iter().find(|choice| choice.name == "p99 x 3").unwrap();
        near(choice.extra_cells, spent, 0.1);
    }
}

/// A hundred thousand slow reads, drawn leg by leg.
#[test]
fn the_closed_forms_agree_with_draws() {
    const READS: u32 = 100_000;
    let law = named("lognormal");
    let question = Question { target: 0.05, ..usual() };
    let advice = advice(&law, &question);
    let choice = &advice.table[advice.recommended];
    let sampler = Sampler::new(&law);
    let mut random = Random::new(2);
    let floor = (choice.threshold_ms * 1e6) as u64;
    let (mut won, mut slower) = (0, 0);
    for _ in 0..READS {
        let original = sampler.sample_above(floor, random.bits());
        let mut legs: [u64; 7] = std::array::from_fn(|_| sampler.sample(random.bits()));
        legs.sort_unstable();
        let hedged = floor + legs[5];
        won += u32::from(hedged < original);
        slower += u32::from(hedged.min(original) as f64 > choice.p9999_ms * 1e6);
    }
    let reads = f64::from(READS);
    // Four standard errors of a share.
    let error = |share: f64| 4.0 * libm::sqrt(share * (1.0 - share) / reads);
    let share = choice.won.unwrap();
    assert!((f64::from(won) / reads - share).abs() < error(share), "{won}, {share}");
    let share = 1e-4 / choice.hedged;
    assert!((f64::from(slower) / reads - share).abs() < error(share), "{slower}, {share}");
}

#[test]
fn a_lower_threshold_costs_more_and_buys_quicker_reads_from_dead_nodes() {
    for form in FORMS {
        let advice = advice(&named(form), &usual());
        assert!(advice.table.len() > 10);
        for pair in advice.table.windows(2) {
            assert!(pair[1].threshold_ms < pair[0].threshold_ms);
            assert!(pair[1].extra_cells > pair[0].extra_cells);
            assert!(pair[1].dead_p99_ms < pair[0].dead_p99_ms);
            assert!(pair[1].p999_ms <= pair[0].p999_ms * (1.0 + 1e-12));
            assert!(pair[1].p99999_ms <= pair[0].p99999_ms * (1.0 + 1e-12));
        }
    }
}

#[test]
fn the_knee_is_the_lowest_threshold_that_is_worth_lowering() {
    for form in FORMS {
        let advice = advice(&named(form), &usual());
        let knee = advice.knee.unwrap();
        assert_eq!(advice.table[knee].name, "p99.9", "{form}");
        for (place, choice) in advice.table.iter().enumerate().filter(|(_, choice)| choice.hedged > 0.0) {
            assert_eq!(choice.gain >= 1.0, place <= knee, "{form}: {choice:?}");
        }
    }
    // One read in a hundred waits 4 ms less; one cell in a thousand takes 2.1 ms of work.
    let advice = advice(&named("lognormal"), &usual());
    near(advice.table[advice.recommended].gain, 0.01 * 4.0 / (0.001 * 2.0917), 0.01);
    let never = Question { impaired: 0.0, ..usual() };
    assert_eq!(advise_on(&named("lognormal"), ENOUGH, &never).unwrap().knee, None);
}

#[test]
fn the_lines_make_the_configuration_that_was_advised() {
    let advice = advice(&named("lognormal"), &usual());
    let config = configured(&advice);
    let CoreThreshold::Adaptive(adaptive) = config.threshold else { panic!("{:?}", config.threshold) };
    let Factor::Spend { target_ppm, cells, until_known_milli, .. } = adaptive.factor else {
        panic!("{adaptive:?}")
    };
    assert_eq!((target_ppm, cells), (1_000, 7));
    assert!((2_800..3_000).contains(&until_known_milli));
    assert_eq!((config.budget.unwrap().share_ppm, config.budget.unwrap().burst_cells), (5_000, 7));
    assert_eq!((advice.budget_share, advice.burst_cells), (0.005, 7));
    assert_eq!(config.budget.unwrap().alone_cells, 14);
    assert_eq!((config.spare, config.max_per_second), (1, 200));
    assert_eq!(advice.cautions, Vec::<String>::new());
}

#[test]
fn what_is_usually_asked_is_what_the_default_of_the_core_does() {
    let default = Config::default();
    let question = Question::default();
    let CoreThreshold::Adaptive(adaptive) = default.threshold else { panic!("{:?}", default.threshold) };
    let Factor::Spend { target_ppm, cells, .. } = adaptive.factor else { panic!("{adaptive:?}") };
    assert_eq!((question.spare, question.hedge_cells()), (default.spare, cells));
    near(question.target, f64::from(target_ppm) / 1e6, 1e-12);
    // So the advice differs from the default in what the profile says, and in nothing else.
    let config = configured(&advice(&named("lognormal"), &question));
    let differ = config.pairs().filter(|(name, value)| default.get(name) != Some(*value));
    let differ: Vec<&str> = differ.map(|(name, _)| name).collect();
    assert_eq!(differ, ["threshold.spend.until.known.milli", "threshold.until.known.millis"]);
}

#[test]
fn a_code_with_fewer_parity_cells_is_asked_for_fewer_spares() {
    for (m, spare) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2)] {
        assert_eq!(Question::of(Code { k: 10, m }).spare, spare);
    }
    advise_on(&named("lognormal"), ENOUGH, &Question::of(Code { k: 2, m: 1 })).unwrap();
}

#[test]
fn the_configuration_fits_any_question_and_scale() {
    let mut random = Random::new(8);
    for round in 0..100 {
        let median = libm::exp2(40.0 * random.unit() - 14.0);
        let law = Law::Lognormal { median, sigma: 0.05 + 3.0 * random.unit() };
        let k = 1 + random.below(12) as u8;
        let m = 1 + random.below(6) as u8;
        let question = Question {
            code: Code { k, m },
            reads_per_second: libm::exp2(38.0 * random.unit() - 10.0),
            target: libm::exp2(-19.0 * random.unit()),
            spare: random.below(u32::from(m)) as u8,
            impaired: random.unit(),
            stall_ms: 5_000.0,
        };
        let advice = advise_on(&law, 1 + random.bits() % 1_000_000, &question);
        let advice = advice.unwrap_or_else(|error| panic!("round {round}: {error}: {question:?}"));
        let config = configured(&advice);
        config.check().unwrap();
        assert!(config.budget.unwrap().burst_cells >= u16::from(question.hedge_cells()));
    }
}

#[test]
fn replicas_are_hedged_without_a_spare() {
    let question = Question { code: Code { k: 1, m: 2 }, ..usual() };
    let advice = advice(&named("lognormal"), &question);
    let choice = &advice.table[advice.recommended];
    near(choice.hedged, 0.001, 1e-9);
    near(choice.dead_median_ms, choice.threshold_ms + 1.5, 1e-9);
    assert_eq!((configured(&advice).spare, advice.burst_cells), (0, 1));
}

#[track_caller]
fn cautioned(law: &Law, samples: u64, question: &Question, beginning: &str) {
    let cautions = advise_on(law, samples, question).unwrap().cautions;
    assert!(cautions.iter().any(|caution| caution.starts_with(beginning)), "{cautions:?}");
    let usual = advise_on(&named("lognormal"), ENOUGH, &usual()).unwrap().cautions;
    assert!(!usual.iter().any(|caution| caution.starts_with(beginning)), "{usual:?}");
}

#[test]
fn what_makes_advice_doubtful_is_said() {
    let usual = usual();
    let lognormal = named("lognormal");
    cautioned(
        &lognormal,
        69_999,
        &usual,
        "The profile has 69999 latencies, of which 10.0 are beyond the threshold: at least 70000",
    );
    let part = |median| Law::Lognormal { median, sigma: 0.3 };
    let two = Law::Mixture(vec![(0.7, part(0.2)), (0.3, part(4.0))]);
    cautioned(&two, ENOUGH, &usual, "The latencies have two peaks, near 0.");
    let heavy = Law::Lognormal { median: 0.1, sigma: 2.5 };
    cautioned(&heavy, ENOUGH, &Question { target: 1e-5, ..usual.clone() }, "The threshold is ");
    let light = Law::ShiftedExponential { shift: 50.0, mean: 1.0 };
    cautioned(&light, ENOUGH, &usual, "Hedges of reads that are slow by themselves hardly win");
    cautioned(
        &lognormal,
        ENOUGH,
        &Question { target: 0.5, ..usual.clone() },
        "The tail is so heavy that one hedge in a hundred",
    );
    cautioned(&lognormal, ENOUGH, &Question { target: 0.5, ..usual.clone() }, "A budget above 1 %");
    cautioned(
        &lognormal,
        ENOUGH,
        &Question { stall_ms: 30.0, ..usual.clone() },
        "A read that is hedged takes up to",
    );
    let coarse = Law::Empirical(crate::Empirical::new(0.0, &[10.0, 100.0], &[999_000, 1_000]).unwrap());
    cautioned(&coarse, 1_000_000, &usual, "The profile is coarse: ");
    let rare = |reads_per_second| Question { reads_per_second, ..usual.clone() };
    cautioned(&lognormal, ENOUGH, &rare(9.0), "With 9 reads a second a client learns its p99 within minutes");
    cautioned(&lognormal, ENOUGH, &rare(15.0), "With 15 reads a second a client does not see 70000 legs");
    cautioned(&lognormal, ENOUGH, &rare(0.2), "With 0.2 reads a second a client never knows");
    cautioned(
        &lognormal,
        ENOUGH,
        &rare(1e5),
        "A node that is impaired may need more than 200 hedges a second",
    );
    for form in ["lognormal", "heavy"] {
        assert_eq!(modes_of(form), None);
    }
}

fn modes_of(form: &str) -> Option<String> {
    let cautions = advise_on(&named(form), ENOUGH, &usual()).unwrap().cautions;
    cautions.into_iter().find(|caution| caution.contains("two peaks"))
}

#[test]
fn a_client_that_reads_rarely_gets_a_number_for_a_threshold() {
    let advice = advice(&named("lognormal"), &Question { reads_per_second: 0.2, ..usual() });
    let CoreThreshold::Fixed(span) = configured(&advice).threshold else { panic!("{:?}", advice.config) };
    near(span.as_nanos() as f64 / 1e6, advice.table[advice.recommended].threshold_ms, 1e-4);
}

#[test]
fn advice_on_a_profile_is_advice_on_its_law() {
    let sampler = Sampler::new(&named("lognormal"));
    let mut random = Random::new(6);
    let mut text = String::from("ns\n");
    for _ in 0..200_000 {
        text.push_str(&format!("{}\n", sampler.sample(random.bits())));
    }
    let profile = Profile::parse(text.as_bytes(), None, None).unwrap();
    let measured = advise(&profile, &Question { target: 0.01, ..usual() }).unwrap();
    let exact = advice(&named("lognormal"), &Question { target: 0.01, ..usual() });
    let (measured, exact) = (&measured.table[measured.recommended], &exact.table[exact.recommended]);
    near(measured.threshold_ms, exact.threshold_ms, 0.03);
    near(measured.dead_p99_ms, exact.dead_p99_ms, 0.03);
    near(measured.extra_cells, 0.01, 1e-6);
}

#[test]
fn a_question_that_makes_no_sense_is_refused() {
    let refused = |question: Question, message: &str| {
        let error = advise_on(&named("lognormal"), ENOUGH, &question).unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    let usual = usual();
    for code in [Code { k: 0, m: 3 }, Code { k: 6, m: 0 }, Code { k: 200, m: 100 }] {
        let message = format!(
            "a code of {} data and {} parity cells; each must be 1 or more, both together at most 64",
            code.k, code.m
        );
        refused(Question { code, ..usual.clone() }, &message);
    }
    refused(
        Question { spare: 3, ..usual.clone() },
        "3 spare sources, but beside a late cell a stripe with 3 parity cells has 2 to spare",
    );
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(
            Question { reads_per_second: bad, ..usual.clone() },
            &format!("reads a second must be above 0 and at most 1000000000: it is {bad:?}"),
        );
        refused(
            Question { target: bad, ..usual.clone() },
            &format!("the target of extra cells must be a share from 0.000001 to 1: it is {bad:?}"),
        );
    }
    refused(
        Question { impaired: 1.5, ..usual.clone() },
        "the share of reads on impaired nodes must be from 0 to 1: it is 1.5",
    );
    refused(
        Question { stall_ms: -5.0, ..usual },
        "the time of a read from an impaired node must be above 0 and at most 1000000000000 ms: it is -5.0",
    );
}
