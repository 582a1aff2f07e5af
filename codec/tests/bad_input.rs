//! Every error that a caller can get, with its numbers, and that nothing was written then.

mod stripe;

use hedgerow_codec::{
    CellSet, Code, Destination, Error, Inline, Kernel, Matrix, RebuildPlan, ReedSolomon, SUBSETS, code_bytes,
    gf, plan_bytes,
};
use stripe::*;

fn rs(k: usize, m: usize) -> Code<Vec<u8>> {
    code(Kernel::detect(), k, m, Matrix::Cauchy)
}

fn plan_of(code: &Code<Vec<u8>>, lost: &[usize]) -> RebuildPlan<Inline<6, 3>> {
    code.plan_in(lost, [0, 1, 3, 4, 5, 6], CellSet::EMPTY, Inline::default()).unwrap()
}

fn refused_code(k: usize, m: usize, matrix: Matrix<'_>, memory: &mut [u8]) -> Error {
    memory.fill(0xa5);
    let error = Code::new_in(Kernel::SCALAR, k, m, matrix, &mut memory[..]).map(|_| ()).unwrap_err();
    assert!(memory.iter().all(|&byte| byte == 0xa5));
    error
}

#[test]
fn a_schema_without_data_without_parity_or_of_more_than_256_cells_is_refused() {
    let mut memory = vec![0; 1000];
    for (k, m) in [
        (0, 0),
        (0, 1),
        (1, 0),
        (0, 256),
        (256, 0),
        (256, 1),
        (1, 256),
        (129, 128),
        (200, 57),
        (257, 3),
        (3, 257),
        (usize::MAX, 1),
        (1, usize::MAX),
        (usize::MAX, usize::MAX),
        (1 << 32, 3),
        (6, 1 << 32),
        (usize::MAX - 5, 6),
    ] {
        assert_eq!(refused_code(k, m, Matrix::Cauchy, &mut memory), Error::Schema { k, m });
        assert_eq!(refused_code(k, m, Matrix::Rows(&[]), &mut memory), Error::Schema { k, m });
        #[cfg(feature = "alloc")]
        assert_eq!(Code::new(Kernel::SCALAR, k, m, Matrix::Cauchy).map(|_| ()), Err(Error::Schema { k, m }));
    }
    let none = ReedSolomon::<0, 3>::with_matrix(Kernel::SCALAR, Matrix::Cauchy);
    assert_eq!(none, Err(Error::Schema { k: 0, m: 3 }));
    let many = ReedSolomon::<200, 57>::with_matrix(Kernel::SCALAR, Matrix::Vandermonde);
    assert_eq!(many, Err(Error::Schema { k: 200, m: 57 }));
}

#[test]
fn schemas_of_255_and_256_cells_are_codes() {
    for (k, m) in [(1, 1), (1, 254), (254, 1), (1, 255), (255, 1), (128, 128), (252, 3), (253, 3)] {
        for matrix in [Matrix::Cauchy, Matrix::Vandermonde] {
            assert_eq!(
                (code(Kernel::SCALAR, k, m, matrix).k(), code(Kernel::SCALAR, k, m, matrix).m()),
                (k, m)
            );
        }
    }
}

#[test]
fn a_matrix_of_another_size_or_schema_is_refused() {
    let mut memory = vec![0; 70_000];
    for found in [0, 17, 19, 300] {
        let rows = vec![1; found];
        for matrix in [Matrix::Rows(&rows), Matrix::RowsUnproven(&rows)] {
            assert_eq!(refused_code(6, 3, matrix, &mut memory), Error::MatrixSize { expected: 18, found });
        }
    }
    assert_eq!(refused_code(6, 2, Matrix::Xor, &mut memory), Error::MatrixSchema { k: 6, m: 2 });
    assert_eq!(
        refused_code(128, 128, Matrix::HdfsLegacy, &mut memory),
        Error::MatrixSchema { k: 128, m: 128 }
    );
    let rows = vec![1; 128 * 128];
    let unproven = Error::Unproven { subsets: u64::MAX, limit: SUBSETS };
    assert_eq!(refused_code(128, 128, Matrix::Rows(&rows), &mut memory), unproven);
    let unproven = Error::Unproven { subsets: 10_400_600, limit: SUBSETS };
    assert_eq!(refused_code(13, 13, Matrix::Rows(&rows[..169]), &mut memory), unproven);
}

#[test]
fn a_matrix_that_does_not_decode_from_every_k_cells_is_refused() {
    let mut memory = vec![0; 1000];
    // Equal rows, a zero coefficient, and three rows of which only the square of all three is singular.
    let singular = |rank, needed| Error::Singular { rank, needed };
    assert_eq!(refused_code(2, 2, Matrix::Rows(&[1, 2, 1, 2]), &mut memory), singular(1, 2));
    assert_eq!(refused_code(2, 2, Matrix::Rows(&[1, 2, 0, 2]), &mut memory), singular(0, 1));
    let mut three = [1, 1, 1, 1, 2, 3, 0, 0, 0];
    for j in 0..3 {
        three[6 + j] = gf::mul(7, three[j]) ^ gf::mul(9, three[3 + j]);
    }
    assert_eq!(refused_code(3, 3, Matrix::Rows(&three), &mut memory), singular(2, 3));
}

#[test]
fn storage_that_is_too_small_is_refused_with_what_is_needed() {
    for (k, m) in [(1, 1), (6, 3), (10, 4), (128, 128)] {
        let needed = code_bytes(k, m);
        let mut memory = vec![0; needed];
        for found in [0, needed - 1] {
            let refused = refused_code(k, m, Matrix::Cauchy, &mut memory[..found]);
            assert_eq!(refused, Error::Storage { needed, found });
        }
        assert!(Code::new_in(Kernel::SCALAR, k, m, Matrix::Cauchy, &mut memory[..]).is_ok());
    }
    let code = rs(6, 3);
    let mut memory = [0xa5; plan_bytes(6, 2)];
    for found in [0, 5, 6, 7, 8, plan_bytes(6, 2) - 1] {
        let refused = code.plan_in([0, 7], [1, 2, 3, 4, 5, 6], CellSet::EMPTY, &mut memory[..found]);
        assert_eq!(refused.map(|_| ()), Err(Error::Storage { needed: plan_bytes(6, 2), found }));
        assert!(memory.iter().all(|&byte| byte == 0xa5));
    }
    assert!(code.plan_in([0, 7], [1, 2, 3, 4, 5, 6], CellSet::EMPTY, memory).is_ok());
    // Memory in the plan has room for a number of sources and of lost cells.
    let refused = code.plan_in([0, 7], [1, 2, 3, 4, 5, 6], CellSet::EMPTY, Inline::<5, 40>::default());
    assert_eq!(refused, Err(Error::Storage { needed: 6, found: 5 }));
    let refused = code.plan_in([0, 7], [1, 2, 3, 4, 5, 6], CellSet::EMPTY, Inline::<40, 1>::default());
    assert_eq!(refused, Err(Error::Storage { needed: 2, found: 1 }));
}

#[test]
fn cells_that_make_no_plan_are_refused() {
    let code = rs(6, 3);
    let plan = |lost: &[usize], sources: &[usize], zeros: CellSet| {
        code.plan_in(lost, sources, zeros, Inline::<6, 3>::default()).map(|_| ())
    };
    let (good, none) = ([1, 2, 3, 4, 5, 6], CellSet::EMPTY);
    let index = |index| Err(Error::CellIndex { index, cells: 9 });
    let twice = |index| Err(Error::Duplicate { index });
    for huge in [9, 255, 256, 265, 1 << 32, usize::MAX] {
        assert_eq!(plan(&[huge], &good, none), index(huge));
        assert_eq!(plan(&[0, huge], &good, none), index(huge));
        assert_eq!(plan(&[0], &[1, 2, 3, 4, 5, huge], none), index(huge));
    }
    assert_eq!(plan(&[0, 0], &good, none), twice(0));
    assert_eq!(plan(&[8, 0, 8], &good, none), twice(8));
    assert_eq!(plan(&[0], &[1, 2, 3, 4, 5, 1], none), twice(1));
    assert_eq!(plan(&[0], &[0, 2, 3, 4, 5, 6], none), twice(0), "lost and a source");
    assert_eq!(plan(&[], &good, none), Err(Error::LostCount { limit: 3, found: 0 }));
    assert_eq!(plan(&[0, 6, 7, 8], &[1, 2, 3, 4, 5], none), Err(Error::LostCount { limit: 3, found: 4 }));
    for count in 0..6 {
        let found = plan(&[0], &good[..count], none);
        assert_eq!(found, Err(Error::TooFewSources { needed: 6, found: count }));
    }
    assert_eq!(plan(&[0], &[1, 2, 3, 4, 5, 6, 7], none), Err(Error::SourceCount { expected: 6, found: 7 }));
    assert_eq!(plan(&[0], &good, CellSet::first(1)), Err(Error::LostZero { index: 0 }));
    // Endless and very long lists end at the first cell that is named twice.
    assert_eq!(code.plan_in([0], (1..9).cycle(), none, Inline::<6, 3>::default()).map(|_| ()), twice(1));
    assert_eq!(
        code.plan_in(std::iter::repeat(7), good, none, Inline::<6, 3>::default()).map(|_| ()),
        twice(7)
    );
}

#[test]
fn wrong_counts_are_refused_and_nothing_is_written() {
    let code = rs(6, 3);
    let cell = [7; 50];
    let plan = plan_of(&code, &[2, 7]);
    for found in [0, 1, 5, 7, 9, 255, 256, 257, 262, 300] {
        let sources = vec![&cell[..]; found];
        let mut made = patterned(3, 50);
        let refused = Err(Error::SourceCount { expected: 6, found });
        assert_eq!(code.encode(&sources, &mut slices_mut(&mut made)), refused);
        assert_eq!(code.encode_short(&sources, &mut slices_mut(&mut made), Destination::ReadSoon), refused);
        let in_slices =
            code.encode_slices(&sources, &mut slices_mut(&mut made), 10, |_, _, _| panic!("called"));
        assert_eq!(in_slices, refused);
        assert_eq!(code.verify(&sources, &slices(&made)), refused.map(|()| None));
        assert_eq!(plan.run(&sources, &mut slices_mut(&mut made[..2])), refused);
        assert_eq!(plan.run_at(0, &sources, &mut slices_mut(&mut made[..2])), refused);
        assert_eq!(plan.run_to(&sources, &mut slices_mut(&mut made[..2]), Destination::NotReadSoon), refused);
        assert_eq!(plan.verify(&sources, &slices(&made[..2])), refused.map(|()| None));
        assert!(is_patterned(&made));
    }
    let sources = [&cell[..]; 6];
    for found in [0, 1, 2, 4, 8, 255, 256, 258, 259, 300] {
        let mut made = patterned(found, 50);
        let refused = Err(Error::OutputCount { expected: 3, found });
        assert_eq!(code.encode(&sources, &mut slices_mut(&mut made)), refused);
        assert_eq!(code.encode_short(&sources, &mut slices_mut(&mut made), Destination::ReadSoon), refused);
        let in_slices =
            code.encode_slices(&sources, &mut slices_mut(&mut made), 10, |_, _, _| panic!("called"));
        assert_eq!(in_slices, refused);
        assert_eq!(code.verify(&sources, &slices(&made)), refused.map(|()| None));
        assert_eq!(code.update(0, &cell, &cell, &mut slices_mut(&mut made)), refused);
        assert_eq!(code.update_by(0, &cell, &mut slices_mut(&mut made)), refused);
        if found != 2 {
            let refused = Err(Error::OutputCount { expected: 2, found });
            assert_eq!(plan.run(&sources, &mut slices_mut(&mut made)), refused);
            assert_eq!(plan.run_at(0, &sources, &mut slices_mut(&mut made)), refused);
            assert_eq!(plan.verify(&sources, &slices(&made)), refused.map(|()| None));
        }
        assert!(is_patterned(&made));
    }
    let mut made = [0xa5; 50];
    assert_eq!(plan.run_one(&sources, &mut made), Err(Error::OutputCount { expected: 2, found: 1 }));
    assert_eq!(made, [0xa5; 50]);
    let empty = RebuildPlan::<Inline<6, 3>>::empty();
    assert_eq!(empty.run_one(&[], &mut made), Err(Error::OutputCount { expected: 0, found: 1 }));
    assert_eq!(empty.run_one(&sources, &mut made), Err(Error::SourceCount { expected: 0, found: 6 }));
    assert_eq!(empty.run::<u8>(&[], &mut []), Ok(()));
}

#[test]
fn a_source_of_another_length_is_named_and_nothing_is_written() {
    let code = rs(6, 3);
    let plan = plan_of(&code, &[2, 7]);
    let good = [7; 50];
    for (position, found) in [(1, 49), (3, 51), (5, 0), (5, 5000)] {
        let other = vec![7; found];
        let mut sources = [&good[..]; 6];
        sources[position] = &other;
        let mut made = patterned(3, 50);
        let refused = Err(Error::SourceLength { position, expected: 50, found });
        assert_eq!(code.encode(&sources, &mut slices_mut(&mut made)), refused);
        assert_eq!(code.encode_to(&sources, &mut slices_mut(&mut made), Destination::NotReadSoon), refused);
        let in_slices =
            code.encode_slices(&sources, &mut slices_mut(&mut made), 10, |_, _, _| panic!("called"));
        assert_eq!(in_slices, refused);
        assert_eq!(code.verify(&sources, &slices(&made)), refused.map(|()| None));
        assert_eq!(plan.run(&sources, &mut slices_mut(&mut made[..2])), refused);
        assert_eq!(plan.verify(&sources, &slices(&made[..2])), refused.map(|()| None));
        let short = code.encode_short(&sources, &mut slices_mut(&mut made), Destination::ReadSoon);
        if found > 50 {
            assert_eq!(short, refused);
        } else {
            assert_eq!(short, Ok(()));
            made = patterned(3, 50);
        }
        // A range needs sources that reach its end; longer ones will do.
        let found_at = plan.run_at(0, &sources, &mut slices_mut(&mut made[..2]));
        if found < 50 {
            assert_eq!(found_at, refused);
        } else {
            assert_eq!(found_at, Ok(()));
            made = patterned(3, 50);
        }
        assert!(is_patterned(&made));
    }
    let mut made = patterned(3, 50);
    let old = [1; 49];
    let refused = Err(Error::SourceLength { position: 1, expected: 50, found: 49 });
    assert_eq!(code.update(1, &good, &old, &mut slices_mut(&mut made)), refused);
    assert!(is_patterned(&made));
}

#[test]
fn an_output_of_another_length_than_the_others_is_named_and_nothing_is_written() {
    let code = rs(6, 3);
    let plan = plan_of(&code, &[2, 7, 8]);
    let sources = [&[7; 50][..]; 6];
    for (position, found) in [(1, 49), (2, 51), (1, 0), (2, 5000)] {
        let mut made = patterned(3, 50);
        made[position] = vec![0xa5; found];
        let refused = Err(Error::OutputLength { position, expected: 50, found });
        assert_eq!(code.encode(&sources, &mut slices_mut(&mut made)), refused);
        let in_slices =
            code.encode_slices(&sources, &mut slices_mut(&mut made), 10, |_, _, _| panic!("called"));
        assert_eq!(in_slices, refused);
        assert_eq!(code.encode_short(&sources, &mut slices_mut(&mut made), Destination::ReadSoon), refused);
        assert_eq!(code.verify(&sources, &slices(&made)), refused.map(|()| None));
        assert_eq!(code.update(0, &[7; 50], &[8; 50], &mut slices_mut(&mut made)), refused);
        assert_eq!(code.update_by(0, &[7; 50], &mut slices_mut(&mut made)), refused);
        assert_eq!(plan.run(&sources, &mut slices_mut(&mut made)), refused);
        assert_eq!(plan.run_at(0, &sources, &mut slices_mut(&mut made)), refused);
        assert_eq!(plan.verify(&sources, &slices(&made)), refused.map(|()| None));
        assert!(is_patterned(&made));
    }
    // Even the first, in a check, which has no other way to know the length.
    let made = [vec![0xa5; 49], vec![0xa5; 50], vec![0xa5; 50]];
    let refused = Err(Error::OutputLength { position: 0, expected: 50, found: 49 });
    assert_eq!(code.verify(&sources, &slices(&made)), refused);
    assert_eq!(plan.verify(&sources, &slices(&made)), refused);
}

#[test]
fn an_output_that_is_too_short_is_named_even_if_it_is_the_only_one_or_the_first() {
    let data = [&[7; 50][..]; 3];
    let refused = Err(Error::OutputLength { position: 0, expected: 50, found: 49 });
    let (one, two) = (rs(3, 1), rs(3, 2));
    let mut made = [vec![0xa5; 49], vec![0xa5; 50]];
    assert_eq!(one.encode(&data, &mut slices_mut(&mut made[..1])), refused);
    assert_eq!(two.encode(&data, &mut slices_mut(&mut made)), refused);
    assert_eq!(one.update(0, data[0], data[0], &mut slices_mut(&mut made[..1])), refused);
    let plan = one.plan_in([0], [1, 2, 3], CellSet::EMPTY, Inline::<3, 1>::default()).unwrap();
    assert_eq!(plan.run_one(&data, &mut made[0]), refused);
    assert!(is_patterned(&made));
}

#[test]
fn a_range_beyond_the_sources_or_beyond_what_can_be_addressed_is_refused() {
    let code = rs(6, 3);
    let plan = plan_of(&code, &[2, 7]);
    let sources = [&[7; 50][..]; 6];
    let mut made = patterned(2, 10);
    for at in [41, 50, 51, 1 << 40, usize::MAX - 10] {
        let refused = Error::SourceLength { position: 0, expected: at + 10, found: 50 };
        assert_eq!(plan.run_at(at, &sources, &mut slices_mut(&mut made)), Err(refused));
    }
    for start in [usize::MAX - 9, usize::MAX] {
        let refused = Err(Error::Range { start, len: 10 });
        assert_eq!(plan.run_at(start, &sources, &mut slices_mut(&mut made)), refused);
    }
    assert!(is_patterned(&made));
    let nothing = plan.run_at(51, &sources, &mut slices_mut(&mut patterned(2, 0)));
    assert_eq!(nothing, Err(Error::SourceLength { position: 0, expected: 51, found: 50 }));
    assert_eq!(plan.run_at(50, &sources, &mut slices_mut(&mut patterned(2, 0))), Ok(()));
}

#[test]
fn an_update_of_a_cell_that_is_not_data_is_refused() {
    let code = rs(6, 3);
    let mut parity = patterned(3, 20);
    for index in [6, 8, 9, 256, usize::MAX] {
        let refused = Err(Error::CellIndex { index, cells: 6 });
        assert_eq!(code.update(index, &[1; 20], &[2; 20], &mut slices_mut(&mut parity)), refused);
        assert_eq!(code.update_by(index, &[1; 20], &mut slices_mut(&mut parity)), refused);
    }
    assert!(is_patterned(&parity));
}

#[test]
fn slices_of_nothing_are_refused() {
    let mut parity = patterned(3, 20);
    let refused = rs(6, 3)
        .encode_slices(&[&[1; 20][..]; 6], &mut slices_mut(&mut parity), 0, |_, _, _| panic!("called"));
    assert_eq!(refused, Err(Error::SliceLength));
    assert!(is_patterned(&parity));
}

#[test]
fn a_choice_of_sources_among_too_few_or_misnamed_cells_is_refused() {
    let code = rs(6, 3);
    let lost = CellSet::first(1);
    for found in [0, 8, 10, 256, 300] {
        let refused = Err(Error::SourceCount { expected: 9, found });
        assert_eq!(code.cheapest(lost, &vec![Some(1); found]), refused);
        assert_eq!(code.minimum_to_read(lost, &vec![Some(1); found]), refused);
    }
    for index in [9, 64, 255] {
        let refused = Err(Error::CellIndex { index, cells: 9 });
        assert_eq!(code.cheapest(lost.with(index), &[Some(1); 9]), refused);
        assert_eq!(code.minimum_to_read(lost.with(index), &[Some(1); 9]), refused);
    }
    let mut costs = [Some(1); 9];
    (costs[0], costs[3], costs[5], costs[8]) = (None, None, None, None);
    let refused = Err(Error::TooFewSources { needed: 6, found: 5 });
    assert_eq!(code.cheapest(lost, &costs), refused);
    assert_eq!(code.minimum_to_read(lost, &costs), refused);
    assert_eq!(code.cheapest(CellSet::EMPTY, &costs), refused);
    let few = code.cheapest(CellSet::first(4), &[Some(1); 9]);
    assert_eq!(few, Err(Error::TooFewSources { needed: 6, found: 5 }));

    let rows = [1, 1, 0, 1, 1, 0];
    let local = stripe::code(Kernel::SCALAR, 3, 2, Matrix::RowsUnproven(&rows));
    let costs = [Some(1), None, Some(1), Some(1), Some(1)];
    assert!(local.cheapest(CellSet::EMPTY, &costs).is_ok());
    let costs = [None, None, Some(1), Some(1), Some(1)];
    let refused = Err(Error::Singular { rank: 2, needed: 3 });
    assert_eq!(local.cheapest(CellSet::first(2), &costs), refused);
    assert_eq!(local.minimum_to_read(CellSet::first(2), &costs), refused);
    let plan = local.plan_in([0, 1], [2, 3, 4], CellSet::EMPTY, Inline::<3, 2>::default());
    assert_eq!(plan.map(|_| ()), Err(Error::Singular { rank: 1, needed: 2 }));
}

#[test]
fn every_message_has_its_numbers() {
    let all = [
        (Error::Schema { k: 250, m: 7 }, &["250", "7", "256"][..]),
        (Error::Storage { needed: 45, found: 44 }, &["45", "44"]),
        (Error::MatrixSize { expected: 18, found: 17 }, &["18", "17"]),
        (Error::MatrixSchema { k: 61, m: 23 }, &["61", "23"]),
        (Error::Singular { rank: 41, needed: 42 }, &["41", "42"]),
        (Error::Unproven { subsets: 10_400_600, limit: SUBSETS }, &["10400600", "2763520"]),
        (Error::SourceCount { expected: 61, found: 73 }, &["61", "73"]),
        (Error::OutputCount { expected: 31, found: 23 }, &["31", "23"]),
        (Error::SourceLength { position: 5, expected: 61, found: 73 }, &["5", "61", "73"]),
        (Error::OutputLength { position: 5, expected: 61, found: 73 }, &["5", "61", "73"]),
        (Error::Range { start: usize::MAX, len: 73 }, &[&usize::MAX.to_string(), "73"]),
        (Error::CellIndex { index: 91, cells: 83 }, &["91", "83"]),
        (Error::Duplicate { index: 71 }, &["71"]),
        (Error::TooFewSources { needed: 61, found: 52 }, &["61", "52"]),
        (Error::LostCount { limit: 31, found: 42 }, &["31", "42"]),
        (Error::LostZero { index: 71 }, &["71"]),
        (Error::Gap { source: 2, expected: 60, found: 71 }, &["2", "60", "71"]),
        (Error::Overlap { source: 2, expected: 60, found: 51 }, &["2", "60", "51"]),
        (Error::PastEnd { source: 2, end: 101, len: 100 }, &["2", "101", "100"]),
        (Error::SliceLength, &["0"]),
        (Error::Layout { cell: 33, stripes: 44 }, &["33", "44"]),
        (Error::Outside { start: 33, end: 55, len: 44 }, &["33", "55", "44"]),
    ];
    for (error, numbers) in all {
        let text = error.to_string();
        assert!(numbers.iter().all(|number| text.contains(number)), "{text}");
        assert!(std::error::Error::source(&error).is_none());
    }
}

#[cfg(not(miri))]
mod any_call {
    use super::*;
    use proptest::prelude::*;

    type Call<'a> = dyn Fn(&mut [&mut [u8]]) -> Result<(), Error> + 'a;

    fn cells() -> impl Strategy<Value = Vec<usize>> {
        let index = prop_oneof![20 => 0..12_usize, 1 => Just(256), 1 => Just(usize::MAX)];
        prop::collection::vec(index, 0..10)
    }

    fn lens() -> impl Strategy<Value = Vec<usize>> {
        prop::collection::vec(prop_oneof![8 => Just(40_usize), 1 => 0..80_usize], 0..9)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_refused_writes_nothing_and_nothing_panics(
            k in 1..7_usize, m in 1..5_usize, lost in cells(), sources in cells(), zeros in any::<u64>(),
            source_lens in lens(), output_lens in lens(), at in prop_oneof![0..60_usize, Just(usize::MAX)],
            cell in 0..9_usize, slice in 0..50_usize,
        ) {
            let code = rs(k, m);
            let inputs: Vec<Vec<u8>> = source_lens.iter().map(|&len| vec![3; len]).collect();
            let inputs = slices(&inputs);
            let mut made: Vec<Vec<u8>> = output_lens.iter().map(|&len| vec![0xa5; len]).collect();
            let plan = code.plan_in(&lost, &sources, CellSet::from_mask(zeros & zeros >> 7), [0; plan_bytes(6, 4)]);
            let mut calls: Vec<Box<Call<'_>>> = vec![
                Box::new(|outputs| code.encode(&inputs, outputs)),
                Box::new(|outputs| code.encode_short(&inputs, outputs, Destination::NotReadSoon)),
                Box::new(|outputs| code.encode_slices(&inputs, outputs, slice, |_, _, _| ())),
                Box::new(|outputs| code.update_by(cell, inputs.first().copied().unwrap_or(&[]), outputs)),
            ];
            if let Ok(plan) = &plan {
                calls.push(Box::new(|outputs| plan.run(&inputs, outputs)));
                calls.push(Box::new(|outputs| plan.run_at(at, &inputs, outputs)));
            }
            for call in calls {
                match call(&mut slices_mut(&mut made)) {
                    Ok(()) => made.iter_mut().for_each(|cell| cell.fill(0xa5)),
                    Err(_) => prop_assert!(is_patterned(&made)),
                }
            }
        }
    }
}
