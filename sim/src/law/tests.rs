//! What every law promises, and draws from it.

use proptest::prelude::*;

use super::*;
use crate::Random;
use crate::random::unit;

/// Laws of every kind, some within others, some with points of mass.
fn every_kind() -> Vec<Law> {
    let named = ["lognormal", "mixture", "heavy"].map(|name| Law::named(name).unwrap());
    let histogram = Empirical::new(0.5, &[1.0, 2.0, 4.0, 50.0, 51.0], &[10, 70, 19, 0, 1]).unwrap();
    let mut laws = vec![
        Law::Constant(3.0),
        Law::Exponential { mean: 2.0 },
        Law::ShiftedExponential { shift: 1.0, mean: 0.25 },
        Law::Pareto { least: 0.7, index: 4.5 },
        Law::Empirical(histogram),
        Law::Mixture(vec![(3.0, Law::Constant(1.0)), (1.0, Law::Exponential { mean: 8.0 })]),
        Law::Mixture(vec![(1.0, Law::Constant(1.0)), (1.0, Law::Constant(2.0))]),
        Law::ParetoTail { body: Box::new(Law::Constant(2.0)), beyond: 0.01, index: 5.0 },
        Law::ParetoTail { body: Box::new(named[1].clone()), beyond: 0.05, index: 6.0 },
    ];
    laws.extend(named);
    laws.extend([0.5, 3.0].map(|shape| Law::Gamma { shape, mean: 2.0 }));
    laws
}

fn some_leaf() -> impl Strategy<Value = Law> {
    let length = || 1e-3_f64..1e5;
    let bins = proptest::collection::vec((1e-3_f64..1e3, 0_u64..1_000), 1..20);
    prop_oneof![
        length().prop_map(Law::Constant),
        length().prop_map(|mean| Law::Exponential { mean }),
        (0.0_f64..1e3, length()).prop_map(|(shift, mean)| Law::ShiftedExponential { shift, mean }),
        (length(), 0.01_f64..3.0).prop_map(|(median, sigma)| Law::Lognormal { median, sigma }),
        (length(), 0.2_f64..8.0).prop_map(|(least, index)| Law::Pareto { least, index }),
        (0.05_f64..50.0, length()).prop_map(|(shape, mean)| Law::Gamma { shape, mean }),
        (0.0_f64..10.0, bins).prop_filter_map("an empty histogram", |(from, bins)| {
            let mut edge = from;
            let (edges, counts): (Vec<_>, Vec<_>) = bins
                .into_iter()
                .map(|(width, count)| {
                    edge += width;
                    (edge, count)
                })
                .unzip();
            Empirical::new(from, &edges, &counts).ok().map(Law::Empirical)
        }),
    ]
}

fn some_law() -> impl Strategy<Value = Law> {
    let mixture = || proptest::collection::vec((0.01_f64..10.0, some_leaf()), 1..4).prop_map(Law::Mixture);
    let tail = (prop_oneof![some_leaf(), mixture()], 1e-6_f64..0.5, 0.2_f64..8.0)
        .prop_map(|(body, beyond, index)| Law::ParetoTail { body: Box::new(body), beyond, index });
    prop_oneof![some_leaf(), mixture(), tail]
}

/// Probabilities near 0, near 1, and between.
fn some_share() -> impl Strategy<Value = f64> {
    let far = (1.0_f64..40.0).prop_map(|halvings| libm::exp2(-halvings));
    prop_oneof![far.clone(), far.prop_map(|share| 1.0 - share)]
}

#[track_caller]
fn close(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= share * expected.abs(), "{value}, but {expected} was expected");
}

#[test]
fn the_named_laws_are_the_three_forms_of_a_healthy_leg() {
    let quantile = |name: &str, p| Law::named(name).unwrap().quantile_above(p);
    close(quantile("lognormal", 0.5), 1.5, 1e-12);
    close(quantile("lognormal", 0.01), 10.0, 1e-12);
    close(quantile("lognormal", 0.001), 18.644, 1e-4);
    close(quantile("mixture", 0.5), 1.361, 1e-3);
    close(quantile("mixture", 0.01), 10.0, 2e-3);
    close(quantile("mixture", 0.001), 15.695, 1e-4);
    for p in [0.5, 0.01, 0.001] {
        close(quantile("heavy", p), quantile("lognormal", p), 1e-12);
    }
    // A hundredth of the tail is 100^(1 / 2.7) times as far.
    close(quantile("heavy", 1e-5), 18.644 * 5.5047, 1e-4);
    assert_eq!(Law::named("normal"), None);
}

#[test]
fn every_kind_of_law_passes_its_own_check() {
    for law in every_kind() {
        law.check().unwrap();
    }
}

#[test]
fn moments_agree_with_a_million_draws() {
    const DRAWS: u32 = 1_000_000;
    for (number, law) in every_kind().iter().enumerate() {
        let sampler = Sampler::new(law);
        let mut random = Random::of(11, 0, number as u64);
        let (mut first, mut second, mut fourth) = (0.0, 0.0, 0.0);
        for _ in 0..DRAWS {
            let length = sampler.sample(random.bits()) as f64 / 1e6;
            let square = length * length;
            first += length;
            second += square;
            fourth += square * square;
        }
        let [first, second, fourth] = [first, second, fourth].map(|sum| sum / f64::from(DRAWS));
        // Four standard errors, and what the table and whole nanoseconds are off by.
        let allowed =
            |variance: f64, of: f64| 4.0 * libm::sqrt(variance.max(0.0) / f64::from(DRAWS)) + 1e-5 * of;
        let (mean, square) = (law.mean(), law.second_moment());
        let error = allowed(square - mean * mean, mean);
        assert!((first - mean).abs() <= error, "{law:?}: {first}, {mean} +- {error}");
        // The fourth moment is infinite with a tail of index 2.7: what was drawn tells nothing of the error then.
        if *law != Law::named("heavy").unwrap() {
            let error = allowed(fourth - second * second, square);
            assert!((second - square).abs() <= error, "{law:?}: {second}, {square} +- {error}");
        }
    }
}

#[test]
fn moments_are_infinite_where_the_tail_makes_them() {
    let pareto = |index| Law::Pareto { least: 1.0, index };
    assert_eq!(pareto(1.0).mean(), f64::INFINITY);
    assert_eq!((pareto(1.5).mean(), pareto(1.5).second_moment()), (3.0, f64::INFINITY));
    close(pareto(3.0).second_moment(), 3.0, 1e-15);
    let tail = |index| Law::ParetoTail { body: Box::new(Law::Exponential { mean: 1.0 }), beyond: 0.1, index };
    assert_eq!((tail(0.9).mean(), tail(2.0).second_moment()), (f64::INFINITY, f64::INFINITY));
    assert_eq!(Law::Mixture(vec![(1.0, Law::Constant(1.0)), (1.0, tail(1.0))]).mean(), f64::INFINITY);
}

/// A tail whose body goes on as the tail does changes nothing; neither does a mixture of a law with itself.
#[test]
fn moments_of_composed_laws_agree_with_the_plain_one() {
    let pareto = Law::Pareto { least: 2.0, index: 3.5 };
    let twice = Law::Mixture(vec![(1.0, pareto.clone()), (4.0, pareto.clone())]);
    for beyond in [0.9, 0.1, 1e-6] {
        let tail = Law::ParetoTail { body: Box::new(twice.clone()), beyond, index: 3.5 };
        close(tail.mean(), pareto.mean(), 1e-12);
        close(tail.second_moment(), pareto.second_moment(), 1e-12);
    }
    let tail = |body: Law| Law::ParetoTail { body: Box::new(body), beyond: 0.2, index: 3.5 };
    // Under a further tail the moments are those up to a point.
    close(tail(tail(pareto.clone())).mean(), pareto.mean(), 1e-12);
    let histogram = Empirical::new(0.0, &[1.0, 3.0], &[1, 1]).unwrap();
    let cut =
        |beyond| Law::ParetoTail { body: Box::new(Law::Empirical(histogram.clone())), beyond, index: 1e6 };
    // A quarter of the mass moves to the middle of the second bin, a point.
    close(cut(0.25).mean(), 0.5 * 0.5 + 0.25 * 1.5 + 0.25 * 2.0, 1e-5);
    close(cut(0.25).second_moment(), 0.5 / 3.0 + 0.25 * 7.0 / 3.0 + 0.25 * 4.0, 1e-5);
    // With a shape of 1 it is exponential.
    let tail = |body: Law| Law::ParetoTail { body: Box::new(body), beyond: 0.2, index: 3.5 };
    let (gamma, exponential) = (Law::Gamma { shape: 1.0, mean: 2.0 }, Law::Exponential { mean: 2.0 });
    close(tail(gamma.clone()).mean(), tail(exponential.clone()).mean(), 1e-12);
    close(tail(gamma).second_moment(), tail(exponential).second_moment(), 1e-12);
    let shifted = Law::ShiftedExponential { shift: 3.0, mean: 2.0 };
    close(shifted.mean(), 5.0, 1e-15);
    close(shifted.second_moment(), 29.0, 1e-15);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_quantile_is_the_least_length_that_is_exceeded_so_rarely(law in some_law(), p in some_share()) {
        law.check().unwrap();
        let length = law.quantile_above(p);
        let (less, more) = (length * (1.0 - 1e-9), length * (1.0 + 1e-9));
        prop_assert!(law.above(more) <= p * (1.0 + 1e-9), "{more}: {}", law.above(more));
        prop_assert!(law.above(less) >= p * (1.0 - 1e-9), "{less}: {}", law.above(less));
    }

    #[test]
    fn a_length_is_no_less_than_the_quantile_of_its_share(law in some_law(), length in 1e-3_f64..1e5) {
        let share = law.above(length);
        prop_assert!((0.0..=1.0 + 1e-15).contains(&share));
        // Nearer to 1 the share says little of the length.
        if share > 1e-300 && share < 1.0 - 1e-6 {
            let back = law.quantile_above(share);
            prop_assert!(back <= length * (1.0 + 1e-6), "{share}: {back}");
        }
    }

    #[test]
    fn rarer_lengths_are_longer(law in some_law(), p in some_share(), q in some_share()) {
        let (rare, common) = (p.min(q), p.max(q));
        prop_assert!(law.quantile_above(rare) >= law.quantile_above(common) * (1.0 - 1e-12));
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_is_close_to_the_law(law in some_law(), draws in proptest::collection::vec(any::<u64>(), 64)) {
        let sampler = Sampler::new(&law);
        for bits in draws {
            // Far draws, too.
            for bits in [bits, bits >> (bits & 31), !(bits >> (bits & 31))] {
                let exact = law.quantile_above(unit(!bits)) * 1e6;
                if exact < 1e18 {
                    let draw = sampler.sample(bits) as f64;
                    prop_assert!((draw - exact).abs() <= 5e-4 * exact + 1.0, "{bits:#x}: {draw}, {exact}");
                }
            }
        }
    }

    #[test]
    fn more_bits_draw_longer(law in some_law(), draws in proptest::collection::vec(any::<u64>(), 64)) {
        let sampler = Sampler::new(&law);
        let mut all: Vec<u64> = draws.iter().flat_map(|&bits| [bits, bits >> (bits & 31), !(bits >> (bits & 31))]).collect();
        all.sort_unstable();
        let draws: Vec<f64> = all.iter().map(|&bits| sampler.sample(bits) as f64).collect();
        prop_assert!(draws.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-9)), "{draws:?}");
    }

    #[test]
    fn conditional_draws_keep_to_their_side(law in some_law(), bits: u64, bound in 0_u64..1 << 40) {
        let sampler = Sampler::new(&law);
        prop_assert!(sampler.sample_above(bound, bits) > bound);
        prop_assert!((1..=bound.max(1)).contains(&sampler.sample_within(bound, bits)));
    }
}

#[test]
fn conditional_draws_follow_the_rest_of_the_law() {
    let mut random = Random::new(4);
    for name in ["lognormal", "mixture", "heavy"] {
        let sampler = Sampler::new(&Law::named(name).unwrap());
        for bound in [800_000, 3_000_000, 20_000_000, 90_000_000] {
            for _ in 0..200 {
                let bits = random.bits();
                let above = sampler.above(bound);
                let rest = sampler.above(sampler.sample_above(bound, bits)) / above;
                assert!((rest - unit(!bits)).abs() < 1e-5, "{name} above {bound}: {rest}");
                let rest = (sampler.above(sampler.sample_within(bound, bits)) - above) / (1.0 - above);
                assert!((rest - unit(!bits)).abs() < 1e-5, "{name} within {bound}: {rest}");
            }
        }
    }
}

#[test]
fn the_least_and_the_greatest_bits_draw_ends_of_the_law() {
    for law in every_kind() {
        let sampler = Sampler::new(&law);
        for bits in [0, u64::MAX] {
            let exact = libm::round(law.quantile_above(unit(!bits)) * 1e6).max(1.0) as u64;
            assert!(sampler.sample(bits).abs_diff(exact) <= 1, "{law:?}");
        }
    }
    let nothing = Sampler::new(&Law::Constant(0.0));
    assert_eq!(
        (nothing.sample(0), nothing.sample(1_000_000_000_000_000_000), nothing.sample_above(0, 7)),
        (1, 1, 1)
    );
    assert_eq!((nothing.sample_within(0, 7), nothing.sample_above(u64::MAX, 7)), (1, u64::MAX));
    // Longer than any clock tells: thirty years are the most.
    let endless = Sampler::new(&Law::Pareto { least: 1e12, index: 0.01 });
    assert_eq!(
        (endless.sample(1 << 63), endless.sample(u64::MAX)),
        (1_000_000_000_000_000_000, 1_000_000_000_000_000_000)
    );
}

#[test]
fn hostile_numbers_make_no_law() {
    let bad = [0.0, -1.0, f64::NAN, f64::INFINITY, -f64::INFINITY, 1e13];
    for bad in bad {
        for law in [
            Law::Exponential { mean: bad },
            Law::ShiftedExponential { shift: 1.0, mean: bad },
            Law::Gamma { shape: bad, mean: 1.0 },
            Law::Gamma { shape: 1.0, mean: bad },
            Law::Lognormal { median: bad, sigma: 1.0 },
            Law::Lognormal { median: 1.0, sigma: bad },
            Law::Mixture(vec![(bad, Law::Constant(1.0))]),
            Law::Mixture(vec![(1.0, Law::Constant(1.0)), (1.0, Law::Exponential { mean: bad })]),
            Law::Pareto { least: bad, index: 1.0 },
            Law::Pareto { least: 1.0, index: bad },
            Law::ParetoTail { body: Box::new(Law::Constant(1.0)), beyond: bad, index: 1.0 },
            Law::ParetoTail { body: Box::new(Law::Constant(1.0)), beyond: 0.1, index: bad },
            Law::ParetoTail { body: Box::new(Law::Constant(bad)), beyond: 0.1, index: 1.0 },
        ] {
            assert!(law.check().is_err(), "{law:?}");
        }
        if bad != 0.0 {
            assert!(Law::Constant(bad).check().is_err());
            assert!(Law::ShiftedExponential { shift: bad, mean: 1.0 }.check().is_err());
            assert!(Empirical::new(bad, &[2.0], &[1]).is_err());
        }
        assert!(Empirical::new(0.0, &[1.0, bad], &[1, 1]).is_err());
    }
    assert!(Law::lognormal_p99(10.0, 1.5).check().is_err());
    assert_eq!(Law::Mixture(vec![]).check(), Err(LawError::Empty { what: "a mixture" }));
    assert_eq!(
        Law::Mixture(vec![(1.0, Law::Constant(1.0)); 65]).check(),
        Err(LawError::Parts { parts: 65, most: 64 })
    );
    let mut nested = Law::Constant(1.0);
    for _ in 0..9 {
        nested = Law::ParetoTail { body: Box::new(nested), beyond: 0.5, index: 3.0 };
    }
    assert_eq!(nested.check(), Err(LawError::Nested { most: 3 }));
    assert_eq!(Empirical::new(0.0, &[1.0], &[]), Err(LawError::Uneven { edges: 1, counts: 0 }));
    assert_eq!(Empirical::new(0.0, &[2.0, 2.0], &[1, 1]), Err(LawError::NotRising { edge: 2.0, last: 2.0 }));
    assert_eq!(Empirical::new(0.0, &[], &[]), Err(LawError::Empty { what: "a histogram" }));
    assert_eq!(Empirical::new(0.0, &[1.0, 2.0], &[0, 0]), Err(LawError::Empty { what: "a histogram" }));
    assert_eq!(Empirical::new(0.0, &[1.0, 2.0], &[u64::MAX, 1]), Err(LawError::TooMany));
}

#[test]
fn an_error_names_the_number_and_its_range() {
    let error = Law::Exponential { mean: -3.0 }.check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the mean of an exponential law is -3.0, but must be above 0 and at most 1e12"
    );
}

#[test]
fn a_histogram_spreads_the_mass_of_a_bin_evenly() {
    let histogram = Empirical::new(0.0, &[1.0, 2.0, 4.0, 8.0], &[0, 6, 2, 0]).unwrap();
    assert_eq!(histogram.samples(), 8);
    assert_eq!(histogram.bins().collect::<Vec<_>>(), [(1.0, 2.0, 6), (2.0, 4.0, 2)]);
    let law = Law::Empirical(histogram);
    assert_eq!(
        [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0].map(|x| law.above(x)),
        [1.0, 1.0, 0.625, 0.25, 0.125, 0.0, 0.0]
    );
    assert_eq!([1.0, 0.625, 0.25, 0.125, 0.0].map(|p| law.quantile_above(p)), [1.0, 1.5, 2.0, 3.0, 4.0]);
}

/// These numbers must come out on every machine.
#[test]
fn draws_are_the_same_on_every_machine() {
    let bits =
        [0, 1 << 20, 1 << 50, 0x1234_5678_9abc_def0, 1 << 63, 0xf123_4567_89ab_cdef, !(1 << 30), u64::MAX];
    let mut draws = Vec::new();
    for law in every_kind() {
        let sampler = Sampler::new(&law);
        draws.push(bits.map(|bits| sampler.sample(bits)));
        draws.push(bits.map(|bits| sampler.sample_above(5_000_000, bits)));
    }
    #[rustfmt::skip]
    let golden: [[u64; 8]; 28] = [
        [3_000_000, 3_000_000, 3_000_000, 3_000_000, 3_000_000, 3_000_000, 3_000_000, 3_000_000],
        [5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001],
        [1, 1, 122, 147_532, 1_386_294, 5_692_713, 47_134_004, 73_473_601],
        [5_000_001, 5_000_001, 5_000_122, 5_147_532, 6_386_294, 10_692_710, 52_134_004, 78_473_601],
        [1_000_000, 1_000_000, 1_000_015, 1_018_442, 1_173_287, 1_711_589, 6_891_751, 10_184_200],
        [5_000_001, 5_000_001, 5_000_015, 5_018_442, 5_173_287, 5_711_589, 10_891_751, 14_184_200],
        [700_000, 700_000, 700_009, 711_569, 816_570, 1_317_649, 131_688_155, 2_457_889_948],
        [5_000_001, 5_000_001, 5_000_068, 5_082_638, 5_832_645, 9_411_772, 940_629_676, 17_556_356_769],
        [500_000, 500_000, 500_305, 855_556, 1_571_429, 3_494_152, 51_000_000, 51_000_000],
        [50_000_000, 50_000_000, 50_000_061, 50_071_111, 50_500_000, 50_941_944, 51_000_000, 51_000_000],
        [1, 1, 1_953, 1_000_000, 1_000_000, 11_680_496, 177_445_663, 282_804_050],
        [5_000_001, 5_000_001, 5_000_488, 5_590_129, 10_545_177, 27_770_839, 193_536_018, 298_894_405],
        [1_000_000, 1_000_000, 1_000_000, 1_000_000, 2_000_000, 2_000_000, 2_000_000, 2_000_000],
        [5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001, 5_000_001],
        [2_000_000, 2_000_000, 2_000_000, 2_000_000, 2_000_000, 2_000_000, 88_722_506, 1_235_799_314],
        [5_000_001, 5_000_001, 5_000_061, 5_074_313, 5_743_492, 8_834_892, 557_152_148, 7_760_468_821],
        [45_869, 62_331, 263_841, 699_934, 1_360_671, 5_884_228, 192_455_379, 1_728_191_424],
        [5_000_001, 5_000_001, 5_000_156, 5_187_315, 6_439_701, 9_219_770, 291_427_529, 2_616_931_559],
        [1_856, 3_523, 65_376, 453_244, 1_500_000, 5_402_470, 287_277_085, 1_212_309_969],
        [5_000_001, 5_000_001, 5_000_130, 5_157_899, 6_576_342, 12_989_626, 395_529_189, 1_565_626_471],
        [45_869, 62_331, 263_841, 699_934, 1_360_671, 5_884_228, 90_808_575, 219_395_301],
        [5_000_001, 5_000_001, 5_000_156, 5_187_315, 6_683_896, 11_733_371, 109_235_513, 253_824_166],
        [1_856, 3_523, 65_376, 453_244, 1_500_000, 5_402_470, 8_916_143_826, 1_170_945_281_826],
        [5_000_001, 5_000_001, 5_000_130, 5_157_899, 6_576_342, 12_989_626, 23_883_533_156, 3_136_592_568_183],
        [1, 1, 1, 15_929, 909_873, 7_184_164, 85_759_656, 137_526_504],
        [5_000_001, 5_000_001, 5_000_192, 5_233_208, 7_249_674, 14_752_322, 94_269_670, 146_100_369],
        [6, 47, 48_572, 632_465, 1_782_707, 4_060_256, 19_816_715, 29_094_321],
        [5_000_001, 5_000_001, 5_000_053, 5_063_935, 5_593_196, 7_356_663, 22_585_092, 31_810_221],
    ];
    assert_eq!(draws, golden);
}
