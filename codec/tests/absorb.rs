//! Absorbers and frontiers: pieces in any interleaving are as good as whole cells, what is said to be final is, and a piece
//! that does not fit changes nothing.

mod stripe;

use core::mem::MaybeUninit;

use hedgerow_codec::{
    Absorber, CellSet, Code, Error, Frontier, Inline, Kernel, Matrix, RebuildPlan, plan_bytes,
};
use stripe::*;

struct Rebuild {
    plan: RebuildPlan<Vec<u8>>,
    sources: Vec<Vec<u8>>,
    truth: Vec<Vec<u8>>,
}

/// A plan for `lost` random cells of a random stripe, its sources in random order; a quarter of the data cells are known to be zero.
fn rebuild(code: &Code<Vec<u8>>, lost: usize, len: usize, random: &mut Random) -> Rebuild {
    let (k, n) = (code.k(), code.k() + code.m());
    let order = random.cells(n, n);
    let (lost, sources) = (&order[..lost], &order[lost..lost + k]);
    let mut zeros: CellSet =
        sources.iter().copied().filter(|&cell| cell < k && random.below(4) == 0).collect();
    if sources.iter().all(|&cell| zeros.contains(cell)) {
        zeros = CellSet::EMPTY;
    }
    let cells = stripe_with(code, len, zeros, random);
    let plan = code.plan_in(lost, sources, zeros, vec![0; plan_bytes(k, code.m())]).unwrap();
    Rebuild {
        sources: read(&plan, &cells).into_iter().map(<[u8]>::to_vec).collect(),
        truth: wanted(&plan, &cells),
        plan,
    }
}

fn absorber(plan: &RebuildPlan<Vec<u8>>, len: usize) -> Absorber<Vec<u8>, Vec<usize>> {
    Absorber::new_in(plan.clone(), len, vec![0; plan.sources().len()]).unwrap()
}

/// Delivers everything in pieces of up to `most` bytes; checks after each what is said to be final.
fn deliver(
    absorber: &mut Absorber<Vec<u8>, Vec<usize>>,
    rebuild: &Rebuild,
    most: usize,
    made: &mut [Vec<u8>],
    random: &mut Random,
) {
    let len = rebuild.truth[0].len();
    let mut at = vec![0; rebuild.sources.len()];
    while !absorber.is_done() {
        let behind: Vec<usize> = (0..at.len()).filter(|&source| at[source] < len).collect();
        let source = behind[random.below(behind.len())];
        let start = at[source];
        assert_eq!(absorber.expected(source), Some(start));
        let end = len.min(start + random.below(most + 1));
        absorber.absorb(source, start, &rebuild.sources[source][start..end], &mut slices_mut(made)).unwrap();
        at[source] = end;
        let ready = absorber.ready();
        assert_eq!(ready, at.iter().copied().min().unwrap());
        assert!(made.iter().zip(&rebuild.truth).all(|(made, truth)| made[..ready] == truth[..ready]));
    }
    assert_eq!(made, rebuild.truth);
    assert_eq!(absorber.ready(), len);
}

#[test]
fn pieces_in_any_interleaving_give_what_whole_cells_give_and_final_bytes_are_final() {
    let mut random = Random::new(1);
    let rounds = if cfg!(miri) { 1 } else { 6 };
    for kernel in kernels() {
        for (k, m) in [(1, 1), (3, 2), (6, 3), (10, 4), (5, 7), (7, 9)] {
            let code = code(kernel, k, m, Matrix::Cauchy);
            for round in 0..rounds {
                let (len, lost) = (1 + random.below(700), 1 + random.below(m));
                let rebuild = rebuild(&code, lost, len, &mut random);
                let mut absorber = absorber(&rebuild.plan, len);
                let most = [1, 7, 64, 100, 333, 1000][(round + k) % 6].max(len / 60);
                deliver(&mut absorber, &rebuild, most, &mut patterned(lost, len), &mut random);
            }
        }
    }
}

#[test]
fn sources_one_after_the_other_give_what_whole_cells_give() {
    let mut random = Random::new(2);
    for kernel in kernels() {
        let code = code(kernel, 6, 6, Matrix::Vandermonde);
        for lost in 1..=6 {
            let rebuild = rebuild(&code, lost, 257, &mut random);
            let mut absorber = absorber(&rebuild.plan, 257);
            let mut made = patterned(lost, 257);
            let last = rebuild.sources.len() - 1;
            for (source, cell) in rebuild.sources.iter().enumerate() {
                absorber.absorb(source, 0, &cell[..100], &mut slices_mut(&mut made)).unwrap();
                absorber.absorb(source, 100, &cell[100..], &mut slices_mut(&mut made)).unwrap();
                assert_eq!(absorber.ready(), if source == last { 257 } else { 0 });
            }
            assert_eq!(made, rebuild.truth);
        }
    }
}

#[test]
fn uninitialised_outputs_are_filled_as_initialised_ones_are() {
    let mut random = Random::new(8);
    for kernel in kernels() {
        for (k, m) in [(1, 1), (3, 2), (6, 3), (5, 7)] {
            let code = code(kernel, k, m, Matrix::Cauchy);
            let (len, lost) = (1 + random.below(700), 1 + random.below(m));
            let rebuild = rebuild(&code, lost, len, &mut random);
            let mut outputs: Vec<Box<[MaybeUninit<u8>]>> =
                (0..lost).map(|_| Box::new_uninit_slice(len)).collect();
            let mut lent: Vec<&mut [MaybeUninit<u8>]> =
                outputs.iter_mut().map(|output| &mut output[..]).collect();
            let mut absorber = absorber(&rebuild.plan, len).into_outputs(&mut lent).unwrap();
            let mut at = vec![0; rebuild.sources.len()];
            while !absorber.is_done() {
                let source = random.below(at.len());
                let start = at[source];
                assert_eq!(absorber.expected(source), Some(start));
                let end = len.min(start + random.below(1 + len / 2));
                absorber.absorb(source, start, &rebuild.sources[source][start..end]).unwrap();
                at[source] = end;
                let refused = absorber.absorb(source, end + 1, &[1]);
                assert_eq!(refused, Err(Error::Gap { source, expected: end, found: end + 1 }));
                let ready = at.iter().copied().min().unwrap();
                for (lost, truth) in rebuild.truth.iter().enumerate() {
                    assert_eq!(absorber.ready(lost), Some(&truth[..ready]));
                }
            }
            assert_eq!(absorber.ready(lost), None);
        }
    }
}

#[test]
fn outputs_that_do_not_fit_are_not_taken() {
    let code = code(Kernel::detect(), 3, 2, Matrix::Cauchy);
    let plan = code.plan_in([0, 4], [1, 2, 3], CellSet::EMPTY, Inline::<3, 2>::default()).unwrap();
    let mut cells = [vec![7; 9], vec![7; 9], vec![7; 8]];
    let [right, other, short] = &mut cells[..] else { unreachable!() };
    let found = plan.absorber(9).into_outputs(&mut [&mut right[..]]).map(|_| ());
    assert_eq!(found, Err(Error::OutputCount { expected: 2, found: 1 }));
    let found = plan.absorber(9).into_outputs(&mut [&mut right[..], &mut short[..]]).map(|_| ());
    assert_eq!(found, Err(Error::OutputLength { position: 1, expected: 9, found: 8 }));
    assert!(plan.absorber(9).into_outputs(&mut [&mut right[..], &mut other[..]]).is_ok());
    assert_eq!(cells, [vec![7; 9], vec![7; 9], vec![7; 8]]);
}

#[test]
fn outputs_of_a_plan_that_reads_nothing_are_zero_at_once() {
    let code = code(Kernel::detect(), 2, 6, Matrix::Cauchy);
    let lost = [2, 3, 4, 5, 6];
    let plan = code.plan_in(lost, [0, 1], CellSet::first(2), Inline::<2, 6>::default()).unwrap();
    let mut outputs = patterned(5, 77);
    let mut lent = slices_mut(&mut outputs);
    let absorber = plan.absorber(77).into_outputs(&mut lent).unwrap();
    assert!(absorber.is_done());
    assert!((0..5).all(|lost| absorber.ready(lost) == Some(&[0; 77][..])));
}

#[test]
fn a_restarted_absorber_keeps_nothing_of_the_stripe_before() {
    let mut random = Random::new(3);
    let code = code(Kernel::detect(), 6, 5, Matrix::Cauchy);
    let sources = [9, 0, 2, 10, 5, 6];
    let plan = code.plan_in([1, 8, 7, 3, 4], sources, CellSet::EMPTY, vec![0; plan_bytes(6, 5)]).unwrap();
    let mut absorber = absorber(&plan, 301);
    let mut made = patterned(5, 301);
    let stripes = if cfg!(miri) { 2 } else { 40 };
    for round in 0..stripes {
        let cells = stripe(&code, 301, &mut random);
        let next = Rebuild {
            plan: plan.clone(),
            sources: sources.map(|cell| cells[cell].clone()).to_vec(),
            truth: wanted(&plan, &cells),
        };
        if round % 3 == 2 {
            // Abandoned half way.
            absorber.absorb(0, 0, &next.sources[0][..random.below(300)], &mut slices_mut(&mut made)).unwrap();
            absorber.restart();
        }
        assert_eq!((absorber.ready(), absorber.is_done()), (0, false));
        deliver(&mut absorber, &next, 50, &mut made, &mut random);
        absorber.restart();
    }
}

#[test]
fn a_piece_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut random = Random::new(4);
    let code = code(Kernel::detect(), 4, 5, Matrix::Cauchy);
    let cells = stripe(&code, 100, &mut random);
    let plan =
        code.plan_in([0, 8, 5, 2, 7], [1, 3, 4, 6], CellSet::EMPTY, vec![0; plan_bytes(4, 5)]).unwrap();
    let (sources, truth) = (read(&plan, &cells), wanted(&plan, &cells));
    let mut absorber = absorber(&plan, 100);
    let mut made = patterned(5, 100);
    absorber.absorb(0, 0, &sources[0][..60], &mut slices_mut(&mut made)).unwrap();
    absorber.absorb(1, 0, &sources[1][..30], &mut slices_mut(&mut made)).unwrap();
    let before = made.clone();
    let huge = [7; 200];
    let refused = [
        (4, 0, 10, Error::CellIndex { index: 4, cells: 4 }),
        (usize::MAX, 0, 10, Error::CellIndex { index: usize::MAX, cells: 4 }),
        (4, 0, 0, Error::CellIndex { index: 4, cells: 4 }),
        (0, 61, 10, Error::Gap { source: 0, expected: 60, found: 61 }),
        (0, 61, 0, Error::Gap { source: 0, expected: 60, found: 61 }),
        (2, 1, 10, Error::Gap { source: 2, expected: 0, found: 1 }),
        (3, usize::MAX, 10, Error::Gap { source: 3, expected: 0, found: usize::MAX }),
        (0, 59, 10, Error::Overlap { source: 0, expected: 60, found: 59 }),
        (0, 0, 0, Error::Overlap { source: 0, expected: 60, found: 0 }),
        (0, 60, 41, Error::PastEnd { source: 0, end: 101, len: 100 }),
        (2, 0, 200, Error::PastEnd { source: 2, end: 200, len: 100 }),
    ];
    for (source, offset, bytes, error) in refused {
        let found = absorber.absorb(source, offset, &huge[..bytes], &mut slices_mut(&mut made));
        assert_eq!(found, Err(error));
        assert!(made == before);
    }
    for count in [0, 1, 4] {
        let found = absorber.absorb(2, 0, &huge[..10], &mut slices_mut(&mut made[..count]));
        assert_eq!(found, Err(Error::OutputCount { expected: 5, found: count }));
    }
    let mut many = patterned(300, 100);
    let found = absorber.absorb(2, 0, &huge[..10], &mut slices_mut(&mut many));
    assert_eq!(found, Err(Error::OutputCount { expected: 5, found: 300 }));
    for (position, len) in [(0, 99), (4, 99), (2, 101), (3, 0)] {
        let mut wrong = patterned(5, 100);
        wrong[position] = vec![0xa5; len];
        let found = absorber.absorb(2, 0, &huge[..10], &mut slices_mut(&mut wrong));
        assert_eq!(found, Err(Error::OutputLength { position, expected: 100, found: len }));
        assert!(is_patterned(&wrong));
    }
    assert!(made == before && is_patterned(&many));
    let expected: Vec<_> = (0..5).map(|source| absorber.expected(source)).collect();
    assert_eq!(expected, [Some(60), Some(30), Some(0), Some(0), None]);
    assert_eq!((absorber.ready(), absorber.is_done()), (0, false));

    // And it goes on as if nothing had happened.
    for (source, from) in [(2, 0), (0, 60), (3, 0), (1, 30)] {
        absorber.absorb(source, from, &sources[source][from..], &mut slices_mut(&mut made)).unwrap();
    }
    assert_eq!(made, truth);
    let found = absorber.absorb(0, 100, &huge[..1], &mut slices_mut(&mut made));
    assert_eq!(found, Err(Error::PastEnd { source: 0, end: 101, len: 100 }));
    absorber.absorb(0, 100, &[], &mut slices_mut(&mut made)).unwrap();
    assert_eq!(made, truth);
}

#[test]
fn empty_pieces_and_empty_cells_are_no_special_case() {
    let mut random = Random::new(5);
    let code = code(Kernel::detect(), 3, 2, Matrix::Cauchy);
    let rebuild = rebuild(&code, 2, 50, &mut random);
    let mut absorber = absorber(&rebuild.plan, 50);
    let mut made = patterned(2, 50);
    for source in 0..rebuild.sources.len() {
        absorber.absorb(source, 0, &[], &mut slices_mut(&mut made)).unwrap();
    }
    assert!(is_patterned(&made) && absorber.ready() == 0);
    deliver(&mut absorber, &rebuild, 9, &mut made, &mut random);

    let mut none = Absorber::new_in(rebuild.plan.clone(), 0, [0; 3]).unwrap();
    assert!(none.is_done() && none.ready() == 0);
    let mut made = patterned(2, 0);
    none.absorb(0, 0, &[], &mut slices_mut(&mut made)).unwrap();
    let found = none.absorb(0, 0, &[1], &mut slices_mut(&mut made));
    assert_eq!(found, Err(Error::PastEnd { source: 0, end: 1, len: 0 }));
}

#[test]
fn positions_with_too_little_room_are_refused() {
    let code = code(Kernel::SCALAR, 6, 3, Matrix::Cauchy);
    let zeros: CellSet = [4].into_iter().collect();
    let plan = code.plan_in([0], 1..=6, zeros, Inline::<6, 3>::default()).unwrap();
    assert_eq!(plan.sources().len(), 5);
    let found = Absorber::new_in(plan, 10, [0; 4]).map(|_| ());
    assert_eq!(found, Err(Error::Storage { needed: 5, found: 4 }));
    let found = Absorber::new_in(plan, 10, []).map(|_| ());
    assert_eq!(found, Err(Error::Storage { needed: 5, found: 0 }));
    assert!(Absorber::new_in(plan, 10, [7; 5]).is_ok_and(|absorber| absorber.expected(4) == Some(0)));
    assert!(Absorber::new_in(plan, 10, [7; 9]).is_ok_and(|absorber| absorber.expected(5).is_none()));
    let found = Frontier::new_in(6, 10, [0; 5]).map(|_| ());
    assert_eq!(found, Err(Error::Storage { needed: 6, found: 5 }));
    let found = Frontier::new_in(usize::MAX, 10, [0; 5]).map(|_| ());
    assert_eq!(found, Err(Error::Storage { needed: usize::MAX, found: 5 }));
}

#[test]
fn an_absorber_keeps_no_piece_so_the_buffer_of_one_may_be_used_again() {
    let mut random = Random::new(6);
    let code = code(Kernel::detect(), 6, 3, Matrix::Cauchy);
    let rebuild = rebuild(&code, 2, 128, &mut random);
    let mut absorber = absorber(&rebuild.plan, 128);
    let mut made = patterned(2, 128);
    let mut buffer = [0; 32];
    for offset in (0..128).step_by(32) {
        for (source, cell) in rebuild.sources.iter().enumerate() {
            buffer.copy_from_slice(&cell[offset..offset + 32]);
            absorber.absorb(source, offset, &buffer, &mut slices_mut(&mut made)).unwrap();
            buffer.fill(0xff);
        }
    }
    assert_eq!(made, rebuild.truth);
}

#[test]
fn a_frontier_gives_each_byte_once_in_order_when_all_sources_have_it() {
    let mut random = Random::new(7);
    let rounds = if cfg!(miri) { 2 } else { 60 };
    for round in 0..rounds {
        let code = code(Kernel::detect(), 5, 6, Matrix::Cauchy);
        let (len, lost) = (random.below(900), 1 + random.below(6));
        let rebuild = rebuild(&code, lost, len, &mut random);
        let count = rebuild.sources.len();
        let mut frontier = Frontier::new_in(count, len, vec![9; count + round % 3]).unwrap();
        // Bytes that have not arrived are wrong, so that reading them shows.
        let mut arrived: Vec<Vec<u8>> =
            rebuild.sources.iter().map(|cell| cell.iter().map(|x| !x).collect()).collect();
        let (mut made, mut at, mut next) = (patterned(lost, len), vec![0; count], 0);
        let least = random.below(200);
        while next < len {
            let behind: Vec<usize> = (0..count).filter(|&source| at[source] < len).collect();
            if !behind.is_empty() {
                let source = behind[random.below(behind.len())];
                let (start, end) = (at[source], len.min(at[source] + random.below(150)));
                arrived[source][start..end].copy_from_slice(&rebuild.sources[source][start..end]);
                frontier.arrived(source, start, end - start).unwrap();
                at[source] = end;
            }
            let ready = at.iter().copied().min().unwrap();
            assert_eq!(frontier.ready(), ready);
            let Some(range) = frontier.take(least) else {
                assert!(ready == next || ready - next < least && ready < len);
                continue;
            };
            assert_eq!(range, next..ready);
            assert!(range.len() >= least || ready == len);
            next = range.end;
            let mut outputs: Vec<&mut [u8]> = made.iter_mut().map(|cell| &mut cell[range.clone()]).collect();
            rebuild.plan.run_at(range.start, &slices(&arrived), &mut outputs).unwrap();
        }
        assert_eq!(made, rebuild.truth);
        assert_eq!((frontier.take(0), frontier.ready()), (None, len));
    }
}

#[test]
fn a_frontier_refuses_what_does_not_fit_and_does_not_change() {
    let mut frontier = Frontier::new_in(3, 100, [0; 3]).unwrap();
    frontier.arrived(0, 0, 60).unwrap();
    frontier.arrived(1, 0, 20).unwrap();
    frontier.arrived(2, 0, 30).unwrap();
    let refused = [
        (3, 0, 1, Error::CellIndex { index: 3, cells: 3 }),
        (usize::MAX, 0, 1, Error::CellIndex { index: usize::MAX, cells: 3 }),
        (0, 61, 0, Error::Gap { source: 0, expected: 60, found: 61 }),
        (1, 19, 1, Error::Overlap { source: 1, expected: 20, found: 19 }),
        (1, 20, 81, Error::PastEnd { source: 1, end: 101, len: 100 }),
        (1, 20, usize::MAX, Error::PastEnd { source: 1, end: usize::MAX, len: 100 }),
        (1, 20, usize::MAX - 20, Error::PastEnd { source: 1, end: usize::MAX, len: 100 }),
    ];
    for (source, offset, bytes, error) in refused {
        assert_eq!(frontier.arrived(source, offset, bytes), Err(error));
        assert_eq!(frontier.ready(), 20);
    }
    assert_eq!(frontier.take(21), None);
    assert_eq!(frontier.take(20), Some(0..20));
    frontier.arrived(1, 20, 80).unwrap();
    assert_eq!(frontier.take(1), Some(20..30));
    frontier.arrived(0, 60, 40).unwrap();
    frontier.arrived(2, 30, 70).unwrap();
    assert_eq!(frontier.take(usize::MAX), Some(30..100), "the last bytes come however few they are");
}

#[test]
fn cells_as_long_as_can_be_named_do_not_overflow() {
    let mut frontier = Frontier::new_in(2, usize::MAX, [0; 2]).unwrap();
    frontier.arrived(0, 0, usize::MAX).unwrap();
    frontier.arrived(0, usize::MAX, 0).unwrap();
    let found = frontier.arrived(0, usize::MAX, 1);
    assert_eq!(found, Err(Error::PastEnd { source: 0, end: usize::MAX, len: usize::MAX }));
    frontier.arrived(1, 0, usize::MAX - 1).unwrap();
    assert_eq!(frontier.take(1), Some(0..usize::MAX - 1));
    assert_eq!(frontier.take(2), None);
    frontier.arrived(1, usize::MAX - 1, 1).unwrap();
    assert_eq!(frontier.take(2), Some(usize::MAX - 1..usize::MAX));
}

#[test]
fn a_plan_that_reads_nothing_is_not_done_before_its_zeros_are_written() {
    let code = code(Kernel::detect(), 2, 2, Matrix::Cauchy);
    let plan = code.plan_in([2, 3], [0, 1], CellSet::first(2), Inline::<2, 2>::default()).unwrap();
    assert!(plan.sources().is_empty());
    let mut made = patterned(2, 77);
    plan.run(&[], &mut slices_mut(&mut made)).unwrap();
    assert!(made.iter().flatten().all(|&byte| byte == 0));
    assert_eq!(plan.frontier(77).take(1), Some(0..77));

    let mut absorber = plan.absorber(77);
    let mut made = patterned(2, 77);
    for _ in 0..2 {
        assert_eq!((absorber.ready(), absorber.is_done()), (0, false));
        absorber.write_zeros(&mut slices_mut(&mut made)).unwrap();
        assert!(made.iter().flatten().all(|&byte| byte == 0));
        assert_eq!((absorber.ready(), absorber.is_done()), (77, true));
        absorber.restart();
        made = patterned(2, 77);
    }
}

#[test]
fn a_plan_with_sources_refuses_to_write_zeros() {
    let code = code(Kernel::detect(), 2, 2, Matrix::Cauchy);
    let plan = code.plan_in([0], [1, 2], CellSet::EMPTY, Inline::<2, 2>::default()).unwrap();
    let mut made = patterned(1, 77);
    let refused = plan.absorber(77).write_zeros(&mut slices_mut(&mut made));
    assert_eq!(refused, Err(Error::SourceCount { expected: 2, found: 0 }));
    assert_eq!(made, patterned(1, 77));
}
