//! Faults that other codecs shipped with lists of cells, plans, state and threads, each kept out by a test. A comment says where
//! it was seen and what went wrong.

mod stripe;

use hedgerow_codec::{
    Absorber, CellSet, Destination, Error, Inline, Kernel, Layout, Matrix, Mismatch, RebuildPlan,
    ReedSolomon, gf, plan_bytes,
};
use stripe::*;

/// Every order of three items.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

// Seen in ISA-L 10, 40, 46: some generators had subsets that do not decode, and nobody looked at the inversion's result. (Every
// subset of the offered generators: subsets.rs.)
#[test]
fn a_singular_choice_of_cells_is_a_typed_error_and_writes_nothing() {
    let rows: Vec<u8> = (0..9).flat_map(|i| (0..9).map(move |j| gf::pow(gf::pow(2, i), j))).collect();
    let code = code(Kernel::SCALAR, 9, 9, Matrix::RowsUnproven(&rows));
    let lost = [0, 1, 2, 5, 7, 9, 10, 14, 16];
    let sources = [3, 4, 6, 8, 11, 12, 13, 15, 17];
    let mut memory = vec![0xa5; plan_bytes(9, 9)];
    let refused = code.plan_in(lost, sources, CellSet::EMPTY, &mut memory[..]).map(|_| ());
    assert!(matches!(refused, Err(Error::Singular { rank, needed: 5 }) if rank < 5), "{refused:?}");
    assert!(memory.iter().all(|&byte| byte == 0xa5));
}

// Seen in ISA-L 391, 334: tables made for one instruction set were read by another.
#[test]
fn codes_and_plans_made_with_one_kernel_are_equal_to_and_run_on_every_other() {
    let mut random = Random::new(1);
    for made_with in kernels() {
        for run_on in kernels() {
            let (a, b) = (code(made_with, 10, 4, Matrix::Cauchy), code(run_on, 10, 4, Matrix::Cauchy));
            assert!(a == b);
            assert_eq!((a.kernel(), a.clone().with_kernel(run_on).kernel()), (made_with, run_on));
            let cells = stripe(&a, 333, &mut random);
            let mut made = patterned(4, 333);
            a.clone().with_kernel(run_on).encode(&slices(&cells[..10]), &mut slices_mut(&mut made)).unwrap();
            assert_eq!(made, cells[10..]);
            let plan = a.plan_in([0, 13, 4], 3..13, CellSet::EMPTY, Inline::<10, 4>::default());
            assert!(plan.is_err(), "4 is lost and a source");
            let sources = [1, 2, 3, 5, 6, 7, 8, 9, 10, 12];
            let plan = a.plan_in([0, 13, 4], sources, CellSet::EMPTY, Inline::<10, 4>::default()).unwrap();
            assert_eq!(plan, b.plan_in([0, 13, 4], sources, CellSet::EMPTY, vec![0; 200]).unwrap());
            let mut made = patterned(3, 333);
            let plan = plan.with_kernel(run_on);
            assert_eq!(plan.kernel(), run_on);
            plan.run(&read(&plan, &cells), &mut slices_mut(&mut made)).unwrap();
            assert_eq!(made, wanted(&plan, &cells));
        }
    }
}

// Seen in klauspost 302, 303: a parity cell wanted alone while data cells were missing crashed.
#[test]
fn whatever_is_missing_any_part_of_it_is_rebuilt_alone_and_nothing_else_is_written() {
    let mut random = Random::new(2);
    let code = code(Kernel::detect(), 4, 3, Matrix::Cauchy);
    let cells = stripe(&code, 67, &mut random);
    for missing in (1_u64..1 << 7).map(CellSet::from_mask).filter(|missing| missing.len() <= 3) {
        for wanted in (1_u64..1 << 7).map(CellSet::from_mask).filter(|wanted| wanted.is_subset(missing)) {
            let sources = CellSet::first(7).difference(missing).iter().take(4);
            let plan = code.plan_in(wanted, sources, CellSet::EMPTY, Inline::<4, 3>::default()).unwrap();
            // The missing cells' memory, all of it at hand; only the wanted is lent.
            let mut memory: Vec<Vec<u8>> = (0..7)
                .map(|cell| if missing.contains(cell) { vec![0xa5; 67] } else { cells[cell].clone() })
                .collect();
            let copies = memory.clone();
            let mut outputs: Vec<&mut [u8]> = memory
                .iter_mut()
                .enumerate()
                .filter(|(cell, _)| wanted.contains(*cell))
                .map(|(_, cell)| &mut cell[..])
                .collect();
            plan.run(&read(&plan, &copies), &mut outputs).unwrap();
            for (cell, bytes) in memory.iter().enumerate() {
                let truth = if wanted.contains(cell) { &cells[cell] } else { &copies[cell] };
                assert_eq!(bytes, truth, "missing {missing:?}, wanted {wanted:?}: {cell}");
            }
        }
    }
}

// Seen in HADOOP-19180, HDFS-15186: a list of erased cells with a parity cell before a data cell was decoded wrong.
#[test]
fn the_lost_cells_and_the_sources_may_be_named_in_any_order() {
    let mut random = Random::new(3);
    let code = ReedSolomon::<6, 3>::new(Kernel::detect());
    let cells = stripe(&stripe::code(Kernel::SCALAR, 6, 3, Matrix::Cauchy), 41, &mut random);
    for lost in (0_u64..1 << 9).map(CellSet::from_mask).filter(|lost| lost.len() == 3) {
        let named: Vec<usize> = lost.iter().collect();
        for order in ORDERS {
            let lost_as_named = order.map(|i| named[i]);
            let sources = random.shuffled(CellSet::first(9).difference(lost));
            let plan = code.plan(lost_as_named, &sources, CellSet::EMPTY).unwrap();
            assert!(plan.lost().iter().map(|&cell| usize::from(cell)).eq(lost_as_named));
            assert!(plan.sources().iter().map(|&cell| usize::from(cell)).eq(sources));
            let mut made = patterned(3, 41);
            plan.run(&read(&plan, &cells), &mut slices_mut(&mut made)).unwrap();
            assert_eq!(made, wanted(&plan, &cells), "{lost_as_named:?}");
        }
    }
}

// Seen in HDFS-16422: a decoder shared by two threads mixed up their bytes.
#[test]
fn one_plan_and_one_code_serve_32_threads_at_once() {
    let code = code(Kernel::detect(), 6, 3, Matrix::Cauchy);
    let plan =
        code.plan_in([7, 1, 4], [0, 2, 3, 5, 6, 8], CellSet::EMPTY, vec![0; plan_bytes(6, 3)]).unwrap();
    let stripes = if cfg!(miri) { 1 } else { 30 };
    std::thread::scope(|scope| {
        for thread in 0..32 {
            let (code, plan) = (&code, &plan);
            scope.spawn(move || {
                let mut random = Random::new(1000 + thread);
                for _ in 0..stripes {
                    let len = 1 + random.below(if cfg!(miri) { 40 } else { 5000 });
                    let cells = stripe(code, len, &mut random);
                    let mut made = patterned(3, len);
                    code.encode(&slices(&cells[..6]), &mut slices_mut(&mut made)).unwrap();
                    assert_eq!(made, cells[6..]);
                    plan.run(&read(plan, &cells), &mut slices_mut(&mut made)).unwrap();
                    assert_eq!(made, wanted(plan, &cells));
                }
            });
        }
    });
}

// Seen in HDFS-16538, 16544: after a second failure the decoder was given inputs of the first.
#[test]
fn a_second_and_a_third_failure_some_stripes_later_are_rebuilt_from_what_is_left() {
    let mut random = Random::new(4);
    let code = code(Kernel::detect(), 6, 3, Matrix::Cauchy);
    // One piece of memory for the plans and one for the outputs, as a reader would have.
    let (mut memory, mut made) = ([0; plan_bytes(6, 3)], patterned(3, 90));
    for failures in (0..9_usize).flat_map(|a| (0..9).flat_map(move |b| (0..9).map(move |c| [a, b, c]))) {
        let [a, b, c] = failures;
        if a == b || b == c || a == c {
            continue;
        }
        for stripe_number in 0..if cfg!(miri) { 3 } else { 6 } {
            let cells = stripe(&code, 90, &mut random);
            let lost = &failures[..1 + stripe_number % 3];
            let sources = (0..9).filter(|cell| !lost.contains(cell)).take(6);
            let plan = code.plan_in(lost, sources, CellSet::EMPTY, &mut memory[..]).unwrap();
            plan.run(&read(&plan, &cells), &mut slices_mut(&mut made[..lost.len()])).unwrap();
            assert_eq!(made[..lost.len()], wanted(&plan, &cells));
        }
        if cfg!(miri) && b > 0 {
            break;
        }
    }
}

// Seen in HDFS-16970: a source failed half way and the wrong buffer was handed out.
#[test]
fn a_source_that_fails_after_any_number_of_bytes_is_replaced_and_what_was_final_stays() {
    let mut random = Random::new(5);
    let code = code(Kernel::detect(), 6, 3, Matrix::Cauchy);
    let len = if cfg!(miri) { 20 } else { 200 };
    let cells = stripe(&code, len, &mut random);
    let plan = |sources: [usize; 6]| {
        code.plan_in([2, 7], sources, CellSet::EMPTY, Inline::<6, 3>::default()).unwrap()
    };
    let first = plan([0, 1, 3, 4, 5, 6]);
    for failing in 0..6 {
        for bytes in 0..=len {
            let mut absorber = first.absorber(len);
            let mut made = patterned(2, len);
            for source in random.shuffled(0..6) {
                let end = if source == failing { bytes } else { len };
                let cell = &cells[usize::from(first.sources()[source])][..end];
                absorber.absorb(source, 0, cell, &mut slices_mut(&mut made)).unwrap();
            }
            assert_eq!(absorber.ready(), bytes);
            // The rest from a plan with another source.
            let mut sources = [0, 1, 3, 4, 5, 6];
            sources[failing] = 8;
            let second = plan(sources);
            let mut rest = Absorber::new_in(second, len - bytes, [0; 6]).unwrap();
            let mut outputs: Vec<&mut [u8]> = made.iter_mut().map(|cell| &mut cell[bytes..]).collect();
            for (source, cell) in read(&second, &cells).into_iter().enumerate() {
                rest.absorb(source, 0, &cell[bytes..], &mut outputs).unwrap();
            }
            assert_eq!(made, [cells[2].clone(), cells[7].clone()], "source {failing} after {bytes}");
        }
    }
}

// Seen in HDFS-16776: a list padded with index 0 made cell 0 be rebuilt over others.
#[test]
fn lists_padded_with_a_default_are_refused() {
    let code = ReedSolomon::<6, 3>::new(Kernel::SCALAR);
    let good = [1, 2, 4, 5, 6, 7];
    let refused = Err(Error::Duplicate { index: 0 });
    assert_eq!(code.plan([3, 0, 0], good, CellSet::EMPTY).map(|_| ()), refused);
    assert_eq!(code.plan([0, 0, 0], good, CellSet::EMPTY).map(|_| ()), refused);
    assert_eq!(code.plan([3], [1, 2, 4, 5, 0, 0], CellSet::EMPTY).map(|_| ()), refused);
    assert_eq!(code.plan([3, 0], [1, 2, 4, 5, 6, 0], CellSet::EMPTY).map(|_| ()), refused);
    let none: [usize; 0] = [];
    assert_eq!(
        code.plan(none, good, CellSet::EMPTY).map(|_| ()),
        Err(Error::LostCount { limit: 3, found: 0 })
    );
    // A plan that has not been made writes nothing.
    let empty = RebuildPlan::<Inline<6, 3>>::empty();
    let mut cell = [0xa5; 10];
    assert!(empty.run_one(&[&[1; 10][..]; 6], &mut cell).is_err() && cell == [0xa5; 10]);
}

// Seen in HDFS-15759, as an answer to corruption: decode back and compare.
#[test]
fn decoding_back_finds_any_flipped_bit_of_what_was_rebuilt_and_of_what_it_was_rebuilt_from() {
    let mut random = Random::new(6);
    let code = code(Kernel::detect(), 3, 2, Matrix::Cauchy);
    let cells = stripe(&code, 33, &mut random);
    let plan = code.plan_in([1, 4], [0, 2, 3], CellSet::EMPTY, Inline::<3, 2>::default()).unwrap();
    let back = code.plan_in([0], [1, 4, 2], CellSet::EMPTY, Inline::<3, 2>::default()).unwrap();
    for bit in (0..8 * 33).step_by(if cfg!(miri) { 29 } else { 1 }) {
        for cell in 0..5 {
            let mut broken = cells.clone();
            broken[cell][bit / 8] ^= 1 << (bit % 8);
            let expected = if cell == 4 { 4 } else { 1 };
            let found = plan.verify(&read(&plan, &broken), &[&broken[1], &broken[4]]);
            assert_eq!(found, Ok(Some(Mismatch { cell: expected, offset: bit / 8 })));
            let found = back.verify(&read(&back, &broken), &[&broken[0]]).unwrap();
            assert_eq!(found, (cell != 3).then_some(Mismatch { cell: 0, offset: bit / 8 }));
        }
    }
}

// Seen in commonware 4092: where there was nothing to do the input was not checked.
#[test]
fn calls_with_nothing_to_do_check_their_input_all_the_same() {
    let code = ReedSolomon::<6, 3>::new(Kernel::SCALAR);
    // Named twice, and k of them; or all data there.
    let refused = code.plan([6], [0, 1, 2, 3, 4, 4], CellSet::EMPTY).map(|_| ());
    assert_eq!(refused, Err(Error::Duplicate { index: 4 }));
    let refused = code.plan([6], [0, 1, 2, 3, 4, 5, 5], CellSet::EMPTY).map(|_| ());
    assert_eq!(refused, Err(Error::Duplicate { index: 5 }));
    // Zeros do not hide a bad list, and zeros that are no sources do not stand in for any.
    let refused = code.plan([0], [1, 1, 2, 3, 4, 5], CellSet::first(9).without(0)).map(|_| ());
    assert_eq!(refused, Err(Error::Duplicate { index: 1 }));
    let refused = code.plan([0], [1, 2, 3], CellSet::first(9).without(0)).map(|_| ());
    assert_eq!(refused, Err(Error::TooFewSources { needed: 6, found: 3 }));
    // Cells of no bytes.
    let empty: &[u8] = &[];
    let refused = code.encode::<u8>(&[empty; 5], &mut [&mut [], &mut [], &mut []]);
    assert_eq!(refused, Err(Error::SourceCount { expected: 6, found: 5 }));
    let refused = code.encode::<u8>(&[empty; 6], &mut [&mut [], &mut []]);
    assert_eq!(refused, Err(Error::OutputCount { expected: 3, found: 2 }));
    let refused = code.encode_slices(&[empty; 6], &mut [&mut [], &mut [], &mut []], 0, |_, _, _| ());
    assert_eq!(refused, Err(Error::SliceLength));
    let refused = code.update(6, empty, empty, &mut [&mut [], &mut [], &mut []]);
    assert_eq!(refused, Err(Error::CellIndex { index: 6, cells: 6 }));
    // Everything wanted is there.
    let refused = code.minimum_to_read(CellSet::first(2), &[Some(1); 8]);
    assert_eq!(refused, Err(Error::SourceCount { expected: 9, found: 8 }));
    let refused = code.minimum_to_read(CellSet::EMPTY.with(9), &[Some(1); 9]);
    assert_eq!(refused, Err(Error::CellIndex { index: 9, cells: 9 }));
    // Nothing changed.
    let refused = code.update(0, &[1; 4], &[1; 4], &mut [&mut [0; 4], &mut [0; 4], &mut [0; 3]]);
    assert_eq!(refused, Err(Error::OutputLength { position: 2, expected: 4, found: 3 }));
}

// Seen in par3 13: the list of lost cells was read one past its end.
#[test]
fn as_many_cells_are_lost_as_there_are_parity_cells_or_data_cells() {
    let mut random = Random::new(7);
    for (k, m) in [(1, 1), (2, 2), (4, 4), (5, 5), (3, 5), (5, 3), (8, 9), (1, 6), (17, 17)] {
        let code = code(Kernel::detect(), k, m, Matrix::Cauchy);
        let cells = stripe(&code, 19, &mut random);
        for count in [m, k.min(m)] {
            // All data lost if it may be, else the last cells.
            for first in [0, k + m - count] {
                let lost: Vec<usize> = (first..first + count).collect();
                let sources: Vec<usize> = (0..k + m).filter(|cell| !lost.contains(cell)).take(k).collect();
                let plan =
                    code.plan_in(&lost, &sources, CellSet::EMPTY, vec![0; plan_bytes(k, count)]).unwrap();
                let mut made = patterned(count, 19);
                plan.run(&read(&plan, &cells), &mut slices_mut(&mut made)).unwrap();
                assert_eq!(made, wanted(&plan, &cells));
            }
        }
    }
}

// Seen in seaweedfs 5615, 8631: cells were called missing though they were there.
#[test]
fn a_cell_that_is_there_counts_whatever_its_length_and_cost() {
    let code = ReedSolomon::<3, 2>::new(Kernel::SCALAR);
    let empty: &[u8] = &[];
    let plan = code.plan([0], [1, 2, 3], CellSet::EMPTY).unwrap();
    assert_eq!(plan.run_one::<u8>(&[empty; 3], &mut []), Ok(()));
    assert_eq!(code.encode::<u8>(&[empty; 3], &mut [&mut [], &mut []]), Ok(()));
    assert_eq!(code.verify(&[empty; 3], &[empty; 2]), Ok(None));
    let costs = [None, Some(0), None, Some(u32::MAX), Some(u32::MAX)];
    let all: CellSet = [1, 3, 4].into_iter().collect();
    assert_eq!(code.cheapest(CellSet::first(1), &costs), Ok(all));
    assert_eq!(code.minimum_to_read(CellSet::first(1), &costs), Ok(all));
    // Data that is zero is data.
    let mut made = [[0xa5; 8]; 2];
    let [a, b] = &mut made;
    code.encode(&[&[0; 8][..]; 3], &mut [a, b]).unwrap();
    assert_eq!(made, [[0; 8]; 2]);
}

// Seen in ceph 63522: an encode given no room for parity said that it had worked.
#[test]
fn fewer_outputs_than_parity_cells_are_an_error() {
    let code = ReedSolomon::<3, 2>::new(Kernel::SCALAR);
    let data: [&[u8]; 3] = [&[1; 9]; 3];
    let refused = |found| Err(Error::OutputCount { expected: 2, found });
    assert_eq!(code.encode::<u8>(&data, &mut []), refused(0));
    assert_eq!(code.encode(&data, &mut [&mut [0_u8; 9]]), refused(1));
    assert_eq!(code.encode_short::<u8>(&data, &mut [], Destination::ReadSoon), refused(0));
    assert_eq!(code.encode_slices(&data, &mut [], 4, |_, _, _| panic!("called")), refused(0));
    assert_eq!(code.update(0, &[1; 9], &[2; 9], &mut []), refused(0));
    assert_eq!(code.verify(&data, &[]), Err(Error::OutputCount { expected: 2, found: 0 }));
    let plan = code.plan([0, 4], [1, 2, 3], CellSet::EMPTY).unwrap();
    assert_eq!(plan.run::<u8>(&data, &mut []), refused(0));
    assert_eq!(plan.run_one(&data, &mut [0_u8; 9]), refused(1));
}

// Seen in minio 4905: state of one stripe leaked into the next.
#[test]
fn stripes_of_odd_sizes_one_after_another_in_the_same_memory_do_not_touch_each_other() {
    let mut random = Random::new(8);
    for kernel in kernels() {
        let code = code(kernel, 5, 6, Matrix::Vandermonde);
        let plan = code
            .plan_in([9, 0, 3, 6, 7], [1, 2, 4, 5, 8], CellSet::EMPTY, vec![0; plan_bytes(5, 5)])
            .unwrap();
        let (mut parity, mut made) = (patterned(6, 3000), patterned(5, 3000));
        for _ in 0..if cfg!(miri) { 2 } else { 60 } {
            let len = random.below(if cfg!(miri) { 90 } else { 3000 });
            let cells = stripe(&code, len, &mut random);
            let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(|cell| &mut cell[..len]).collect();
            code.encode(&slices(&cells[..5]), &mut outputs).unwrap();
            assert!(parity.iter().zip(&cells[5..]).all(|(made, truth)| made[..len] == *truth));
            let mut outputs: Vec<&mut [u8]> = made.iter_mut().map(|cell| &mut cell[..len]).collect();
            plan.run(&read(&plan, &cells), &mut outputs).unwrap();
            assert!(made.iter().zip(wanted(&plan, &cells)).all(|(made, truth)| made[..len] == truth));
        }
    }
}

// Seen in ozone 6515: a last stripe shorter than a cell left an empty record behind.
#[test]
fn a_last_stripe_of_any_length_is_encoded_and_each_of_its_cells_rebuilt() {
    const CELL: usize = 8;
    let mut random = Random::new(9);
    let code = code(Kernel::detect(), 3, 2, Matrix::Cauchy);
    let layout = Layout::new(3, 2, CELL as u64, 4).unwrap();
    for len in 1..=3 * CELL {
        let file = random.bytes(len);
        let lens: Vec<usize> =
            (0..5).map(|block| layout.block_len(len as u64, block).unwrap() as usize).collect();
        let data: Vec<&[u8]> = file.chunks(CELL).chain(std::iter::repeat(&[][..])).take(3).collect();
        assert!(data.iter().zip(&lens).all(|(cell, &len)| cell.len() == len));
        let mut parity = patterned(2, lens[3]);
        code.encode_short(&data, &mut slices_mut(&mut parity), Destination::ReadSoon).unwrap();
        let cells: Vec<Vec<u8>> = data.iter().map(|cell| cell.to_vec()).chain(parity).collect();
        // Where one cell ends the plan changes: from there on it counts as zero.
        for lost in (0..5).filter(|&cell| lens[cell] > 0) {
            let mut made = vec![0xa5; lens[lost]];
            let mut ends: Vec<usize> =
                lens.iter().copied().filter(|&end| end > 0 && end <= made.len()).collect();
            ends.sort_unstable();
            let mut start = 0;
            for end in ends.into_iter().filter(|&end| end <= lens[lost]) {
                let zeros: CellSet = (0..3).filter(|&cell| cell != lost && lens[cell] <= start).collect();
                let sources = (0..5).filter(|&cell| cell != lost).take(3);
                let plan = code.plan_in([lost], sources, zeros, Inline::<3, 2>::default()).unwrap();
                plan.run_at(start, &read(&plan, &cells), &mut [&mut made[start..end]]).unwrap();
                start = end;
            }
            assert_eq!(made, cells[lost], "{len}: {lost}");
        }
    }
}
