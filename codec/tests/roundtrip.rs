//! Any schema, matrix, erasure, byte range, kernel and alignment: what was encoded comes back, and every way to say
//! the same gives the same bytes.
#![cfg(not(miri))] // Thousands of cases; the other files run the same code on a few.

mod stripe;

use std::mem::MaybeUninit;

use hedgerow_codec::{
    CellSet, Code, Destination, Error, Inline, Kernel, Matrix, Mismatch, ReedSolomon, code_bytes, gf,
    plan_bytes,
};
use proptest::prelude::*;
use stripe::*;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Cauchy,
    Vandermonde,
    HdfsLegacy,
    Own,
    Unproven,
}

#[derive(Clone, Debug)]
struct Case {
    k: usize,
    m: usize,
    kind: Kind,
    kernel: Kernel,
    len: usize,
    seed: u64,
}

impl Case {
    fn rows(&self) -> Vec<u8> {
        // Cauchy rows of other points: any distinct x and y, so that every square is invertible.
        let points = Random::new(self.seed).shuffled(0..=255_u8);
        let (x, y) = points.split_at(self.m);
        x.iter().flat_map(|x| y[..self.k].iter().map(move |y| gf::inv(x ^ y))).collect()
    }

    fn code(&self) -> Code<Vec<u8>> {
        let own = self.rows();
        let matrix = match self.kind {
            Kind::Cauchy => Matrix::Cauchy,
            Kind::Vandermonde => Matrix::Vandermonde,
            Kind::HdfsLegacy if self.k + self.m < 256 => Matrix::HdfsLegacy,
            Kind::Own if self.k + self.m <= 12 => Matrix::Rows(&own),
            _ => Matrix::RowsUnproven(&own),
        };
        code(self.kernel, self.k, self.m, matrix)
    }
}

fn schema() -> impl Strategy<Value = (usize, usize)> {
    let rest = |most: usize| (1..most).prop_flat_map(move |k| (Just(k), 1..=most - k));
    prop_oneof![
        8 => (1..=13_usize, 1..=5_usize),
        4 => (1..=20_usize, 1..=12_usize),
        2 => rest(60),
        1 => rest(256),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![
        3 => Just(Kind::Cauchy),
        1 => Just(Kind::Vandermonde),
        1 => Just(Kind::HdfsLegacy),
        1 => Just(Kind::Own),
        1 => Just(Kind::Unproven),
    ];
    let len = prop_oneof![6 => 0..=300_usize, 2 => 300..=3000_usize, 2 => 4000..=20_000_usize];
    (schema(), kind, prop::sample::select(kernels()), len, any::<u64>()).prop_map(
        |((k, m), kind, kernel, len, seed)| {
            let len = len.min((4_000_000 / (k * m)).max(200));
            Case { k, m, kind, kernel, len, seed }
        },
    )
}

/// Cells at random offsets modulo 64; half of the time all at the same.
fn placed(cells: &[Vec<u8>], random: &mut Random) -> Vec<Guarded> {
    let (same, offset) = (random.below(2) == 0, random.below(64));
    cells.iter().map(|cell| Guarded::of(if same { offset } else { random.below(64) }, cell)).collect()
}

fn views(cells: &[Guarded]) -> Vec<&[u8]> {
    cells.iter().map(Guarded::cell).collect()
}

fn views_mut(cells: &mut [Guarded]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(Guarded::cell_mut).collect()
}

fn holds(outputs: &[Guarded], truth: &[Vec<u8>]) -> bool {
    outputs.len() == truth.len()
        && outputs.iter().zip(truth).all(|(output, truth)| output.cell() == truth && output.is_guarded())
}

fn destination(random: &mut Random) -> Destination {
    [Destination::ReadSoon, Destination::NotReadSoon][random.below(2)]
}

/// # Safety
/// Every byte has been written.
unsafe fn written(cell: &[MaybeUninit<u8>]) -> Vec<u8> {
    // SAFETY: by this function's contract.
    cell.iter().map(|byte| unsafe { byte.assume_init() }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 700, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parity_is_the_sum_of_products_however_cells_lie(case in case()) {
        let (code, mut random) = (case.code(), Random::new(case.seed));
        let cells = stripe(&code, case.len, &mut random);
        let (data, parity) = cells.split_at(case.k);
        let data = placed(data, &mut random);
        let mut made = placed(&patterned(case.m, case.len), &mut random);
        code.encode(&views(&data), &mut views_mut(&mut made)).unwrap();
        prop_assert!(holds(&made, parity));

        let mut made = placed(&patterned(case.m, case.len), &mut random);
        code.encode_to(&views(&data), &mut views_mut(&mut made), destination(&mut random)).unwrap();
        prop_assert!(holds(&made, parity));

        let mut made = vec![vec![MaybeUninit::uninit(); case.len]; case.m];
        let mut outputs: Vec<&mut [MaybeUninit<u8>]> = made.iter_mut().map(|cell| &mut cell[..]).collect();
        code.encode_to(&views(&data), &mut outputs, destination(&mut random)).unwrap();
        // SAFETY: the call wrote every byte.
        let made: Vec<Vec<u8>> = made.iter().map(|cell| unsafe { written(cell) }).collect();
        prop_assert_eq!(made, parity);
    }

    #[test]
    fn what_was_lost_comes_back_over_any_range(case in case()) {
        let (code, mut random) = (case.code(), Random::new(case.seed));
        let n = case.k + case.m;
        let order = random.cells(n, n);
        let count = 1 + random.below(case.m);
        let (lost, there) = order.split_at(count);
        let sources = &there[..case.k];
        let zeros: CellSet = sources.iter().copied().filter(|&cell| cell < case.k && random.below(4) == 0).collect();
        let cells = stripe_with(&code, case.len, zeros, &mut random);
        let plan = code.plan_in(lost, sources, zeros, vec![0; plan_bytes(case.k, case.m)]).unwrap();
        prop_assert!(plan.lost().iter().map(|&cell| usize::from(cell)).eq(lost.iter().copied()));
        prop_assert!(plan.sources().iter().all(|&cell| !zeros.contains(usize::from(cell))));
        let truth = wanted(&plan, &cells);
        let all = placed(&cells, &mut random);
        let sources: Vec<&[u8]> = plan.sources().iter().map(|&cell| all[usize::from(cell)].cell()).collect();

        let mut made = placed(&patterned(count, case.len), &mut random);
        plan.run_to(&sources, &mut views_mut(&mut made), destination(&mut random)).unwrap();
        prop_assert!(holds(&made, &truth));
        prop_assert_eq!(plan.verify(&sources, &views(&made)), Ok(None));

        let start = random.below(case.len + 1);
        let len = random.below(case.len - start + 1);
        let part: Vec<Vec<u8>> = truth.iter().map(|cell| cell[start..start + len].to_vec()).collect();
        let mut made = placed(&patterned(count, len), &mut random);
        plan.run_at(start, &sources, &mut views_mut(&mut made)).unwrap();
        prop_assert!(holds(&made, &part));

        let cut: Vec<&[u8]> = sources.iter().map(|source| &source[start..start + len]).collect();
        let mut made = placed(&patterned(count, len), &mut random);
        plan.run(&cut, &mut views_mut(&mut made)).unwrap();
        prop_assert!(holds(&made, &part));

        if count == 1 {
            let mut made = vec![MaybeUninit::uninit(); len];
            plan.run_one(&cut, &mut made).unwrap();
            // SAFETY: the call wrote every byte.
            prop_assert_eq!(unsafe { written(&made) }, part[0].clone());
        }
    }

    #[test]
    fn short_data_cells_count_as_padded_with_zeros(case in case()) {
        let (code, mut random) = (case.code(), Random::new(case.seed));
        // Like the last stripe of a file, or any lengths at all; what follows in the buffers is dirty.
        let like_a_file = random.below(2) == 0;
        let end = random.below(case.k * case.len + 1);
        let lens: Vec<usize> = (0..case.k)
            .map(|cell| {
                if like_a_file { end.saturating_sub(cell * case.len).min(case.len) } else { random.below(case.len + 1) }
            })
            .collect();
        let dirty: Vec<Vec<u8>> = lens.iter().map(|_| random.bytes(case.len + 64)).collect();
        let padded: Vec<Vec<u8>> = dirty
            .iter()
            .zip(&lens)
            .map(|(cell, &len)| (0..case.len).map(|i| if i < len { cell[i] } else { 0 }).collect())
            .collect();
        let short: Vec<&[u8]> = dirty.iter().zip(&lens).map(|(cell, &len)| &cell[..len]).collect();
        let mut made = placed(&patterned(case.m, case.len), &mut random);
        code.encode_short(&short, &mut views_mut(&mut made), destination(&mut random)).unwrap();
        prop_assert!(holds(&made, &parity_of(&code, &padded)));
    }

    #[test]
    fn slices_are_handed_over_once_in_order_and_final(case in case(), slice in prop_oneof![1..200_usize, 1000..40_000_usize, Just(usize::MAX)]) {
        let (code, mut random) = (case.code(), Random::new(case.seed));
        let slice = slice.max(case.len / 200);
        let cells = stripe(&code, case.len, &mut random);
        let (data, parity) = cells.split_at(case.k);
        let data = slices(data);
        let mut made = placed(&patterned(case.m, case.len), &mut random);
        let (mut next, mut good) = (0, true);
        code.encode_slices(&data, &mut views_mut(&mut made), slice, |range, seen_data, seen_parity| {
            good &= range.start == next && range.len() == slice.min(case.len - next) && seen_data == data;
            good &= seen_parity.iter().zip(parity).all(|(made, truth)| made[..range.end] == truth[..range.end]);
            next = range.end;
        })
        .unwrap();
        prop_assert!(good && next == case.len && holds(&made, parity));
    }

    #[test]
    fn an_update_is_an_encode_of_the_changed_data(case in case()) {
        let (code, mut random) = (case.code(), Random::new(case.seed));
        let cells = stripe(&code, case.len, &mut random);
        let cell = random.below(case.k);
        let (old, new) = (Guarded::of(random.below(64), &cells[cell]), Guarded::of(random.below(64), &random.bytes(case.len)));
        let difference: Vec<u8> = old.cell().iter().zip(new.cell()).map(|(a, b)| a ^ b).collect();
        let mut changed = cells[..case.k].to_vec();
        changed[cell] = new.cell().to_vec();
        let truth = parity_of(&code, &changed);
        let mut parity = placed(&cells[case.k..], &mut random);
        code.update(cell, old.cell(), new.cell(), &mut views_mut(&mut parity)).unwrap();
        prop_assert!(holds(&parity, &truth));
        let mut parity = placed(&cells[case.k..], &mut random);
        code.update_by(cell, &difference, &mut views_mut(&mut parity)).unwrap();
        prop_assert!(holds(&parity, &truth));
    }

    #[test]
    fn one_flipped_bit_is_found_where_it_is(case in case()) {
        let (code, mut random) = (case.code(), Random::new(case.seed));
        let mut cells = stripe(&code, case.len.max(1), &mut random);
        let len = cells[0].len();
        let check = |cells: &[Vec<u8>]| code.verify(&slices(&cells[..case.k]), &slices(&cells[case.k..])).unwrap();
        prop_assert_eq!(check(&cells), None);
        let (cell, offset, bit) = (random.below(case.k + case.m), random.below(len), 1 << random.below(8));
        cells[cell][offset] ^= bit;
        // A flipped bit in a data cell shows in the first parity cell that depends on it.
        let shows = if cell < case.k { case.k } else { cell };
        let dependent = cell >= case.k || code.coefficient(0, cell) != Some(0);
        prop_assert!(dependent);
        prop_assert_eq!(check(&cells), Some(Mismatch { cell: shows, offset }));
        cells[cell][offset] ^= bit;

        let lost = random.below(case.k + case.m);
        let sources = random.shuffled((0..case.k + case.m).filter(|&cell| cell != lost)).into_iter().take(case.k);
        let plan = code.plan_in([lost], sources, CellSet::EMPTY, vec![0; plan_bytes(case.k, 1)]).unwrap();
        let (mut made, truth) = (cells[lost].clone(), read(&plan, &cells));
        prop_assert_eq!(plan.verify(&truth, &[&made]), Ok(None));
        made[offset] ^= bit;
        prop_assert_eq!(plan.verify(&truth, &[&made]), Ok(Some(Mismatch { cell: lost, offset })));
    }

    #[test]
    fn sources_may_be_the_same_slice(case in case()) {
        let (code, mut random) = (case.code(), Random::new(case.seed));
        let cell = random.bytes(case.len);
        let truth = parity_of(&code, &vec![cell.clone(); case.k]);
        let mut made = patterned(case.m, case.len);
        code.encode(&vec![&cell[..]; case.k], &mut slices_mut(&mut made)).unwrap();
        prop_assert_eq!(&made, &truth);
        code.update(0, &cell, &cell, &mut slices_mut(&mut made)).unwrap();
        prop_assert_eq!(made, truth);
    }
}

#[test]
fn a_code_is_the_same_in_the_type_in_an_array_in_borrowed_memory_and_in_a_vector() {
    macro_rules! same {
        ($($k:literal $m:literal),+) => {$({
            let mut random = Random::new($k * 1000 + $m);
            for kernel in kernels() {
                let fixed = ReedSolomon::<$k, $m>::new(kernel);
                let mut memory = [0xee; code_bytes($k, $m) + 9];
                let borrowed = Code::new_in(kernel, $k, $m, Matrix::Cauchy, &mut memory[..]).unwrap();
                let array = Code::new_in(kernel, $k, $m, Matrix::Cauchy, [0xee; code_bytes($k, $m)]).unwrap();
                let vector = code(kernel, $k, $m, Matrix::Cauchy);
                assert!(array == vector && borrowed == array);
                let cells = stripe(&vector, 333, &mut random);
                let (data, parity) = cells.split_at($k);
                let data = slices(data);
                let mut made = patterned(4 * $m, 333);
                let (a, rest) = made.split_at_mut($m);
                let (b, rest) = rest.split_at_mut($m);
                let (c, d) = rest.split_at_mut($m);
                fixed.encode(&data, &mut slices_mut(a)).unwrap();
                borrowed.encode(&data, &mut slices_mut(b)).unwrap();
                array.encode(&data, &mut slices_mut(c)).unwrap();
                vector.encode(&data, &mut slices_mut(d)).unwrap();
                assert!(made.chunks($m).all(|made| made == parity));

                let order = random.cells($k + $m, $k + $m);
                let (lost, sources) = order.split_at($m);
                let plan = fixed.plan(lost, sources, CellSet::EMPTY).unwrap();
                let mut memory = [0xee; plan_bytes($k, $m) + 5];
                assert_eq!(plan, borrowed.plan_in(lost, sources, CellSet::EMPTY, &mut memory[..]).unwrap());
                assert_eq!(plan, array.plan_in(lost, sources, CellSet::EMPTY, Inline::<$k, $m>::default()).unwrap());
                assert_eq!(plan, vector.plan_in(lost, sources, CellSet::EMPTY, vec![0; plan_bytes($k, $m)]).unwrap());
                #[cfg(feature = "alloc")]
                {
                    assert_eq!(plan, vector.plan_boxed(lost, sources, CellSet::EMPTY).unwrap());
                    assert!(Code::new(kernel, $k, $m, Matrix::Cauchy).unwrap() == vector);
                }
                let mut made = patterned($m, 333);
                plan.run(&read(&plan, &cells), &mut slices_mut(&mut made)).unwrap();
                assert_eq!(made, wanted(&plan, &cells));
            }
        })+};
    }
    same!(1 1, 2 1, 3 2, 4 2, 5 3, 6 3, 7 3, 9 5, 10 4, 12 3, 5 8, 17 20);
}

/// Generator rows of cells, one element at a time.
fn rank(code: &Code<Vec<u8>>, cells: impl IntoIterator<Item = usize>) -> usize {
    let k = code.k();
    let mut rows: Vec<Vec<u8>> = cells
        .into_iter()
        .map(|cell| {
            (0..k)
                .map(|j| if cell < k { u8::from(cell == j) } else { code.coefficient(cell - k, j).unwrap() })
                .collect()
        })
        .collect();
    let mut rank = 0;
    for column in 0..k {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let inverse = gf::inv(rows[rank][column]);
        let pivot = rows[rank].clone();
        for row in &mut rows[rank + 1..] {
            let factor = gf::mul(row[column], inverse);
            row.iter_mut().zip(&pivot).for_each(|(x, &y)| *x ^= gf::mul(factor, y));
        }
        rank += 1;
    }
    rank
}

/// RS-4-2, RS-3-3, and two locally repairable codes: two local parity cells of two data cells each, then one or two global.
fn small_codes() -> Vec<Code<Vec<u8>>> {
    let local = [1, 1, 0, 0, 0, 0, 1, 1, 1, 2, 4, 8, 1, 3, 5, 15];
    vec![
        code(Kernel::SCALAR, 4, 2, Matrix::Cauchy),
        code(Kernel::SCALAR, 3, 3, Matrix::Vandermonde),
        code(Kernel::SCALAR, 4, 3, Matrix::RowsUnproven(&local[..12])),
        code(Kernel::SCALAR, 4, 4, Matrix::RowsUnproven(&local)),
    ]
}

fn subsets(n: usize) -> impl Iterator<Item = CellSet> {
    (0_u64..1 << n).map(CellSet::from_mask)
}

#[test]
fn the_cheapest_sources_are_as_cheap_as_the_best_of_all_that_decode() {
    let mut random = Random::new(7);
    for code in small_codes() {
        let (k, n) = (code.k(), code.k() + code.m());
        for _ in 0..300 {
            let costs: Vec<Option<u32>> =
                (0..n).map(|_| (random.below(5) > 0).then(|| [0, 1, 5, u32::MAX][random.below(4)])).collect();
            let lost = CellSet::from_mask(random.next() & ((1 << n) - 1) & random.next());
            let cost = |cells: CellSet| cells.iter().map(|cell| u64::from(costs[cell].unwrap())).sum::<u64>();
            let usable: CellSet =
                (0..n).filter(|&cell| costs[cell].is_some() && !lost.contains(cell)).collect();
            let best = subsets(n)
                .filter(|cells| cells.is_subset(usable) && cells.len() == k && rank(&code, *cells) == k)
                .map(cost)
                .min();
            match code.cheapest(lost, &costs) {
                Ok(cells) => {
                    assert!(cells.is_subset(usable) && cells.len() == k && rank(&code, cells) == k);
                    assert_eq!(Some(cost(cells)), best);
                }
                Err(Error::TooFewSources { needed, found }) => {
                    assert_eq!((needed, found, best), (k, usable.len(), None));
                    assert!(usable.len() < k);
                }
                Err(error) => {
                    assert_eq!(error, Error::Singular { rank: rank(&code, usable), needed: k });
                    assert_eq!(best, None);
                }
            }
        }
    }
}

#[test]
fn the_minimum_to_read_is_what_is_wanted_or_as_cheap_as_the_best_that_has_it_and_decodes() {
    let mut random = Random::new(8);
    for code in small_codes() {
        let (k, n) = (code.k(), code.k() + code.m());
        for _ in 0..300 {
            let costs: Vec<Option<u32>> =
                (0..n).map(|_| (random.below(4) > 0).then(|| [0, 1, 5, u32::MAX][random.below(4)])).collect();
            let wanted = CellSet::from_mask(random.next() & random.next() & ((1 << n) - 1));
            let cost = |cells: CellSet| cells.iter().map(|cell| u64::from(costs[cell].unwrap())).sum::<u64>();
            let usable: CellSet = (0..n).filter(|&cell| costs[cell].is_some()).collect();
            let have = wanted.intersection(usable);
            let found = code.minimum_to_read(wanted, &costs);
            if wanted.is_subset(usable) {
                assert_eq!(found, Ok(wanted));
                continue;
            }
            let best = subsets(n)
                .filter(|cells| cells.is_subset(usable) && have.is_subset(*cells) && rank(&code, *cells) == k)
                .map(cost)
                .min();
            match found {
                Ok(cells) => {
                    assert!(cells.is_subset(usable) && have.is_subset(cells) && rank(&code, cells) == k);
                    assert_eq!(Some(cost(cells)), best, "{code:?} {wanted:?} {costs:?}: {cells:?}");
                }
                Err(_) => assert!(best.is_none()),
            }
        }
    }
}

#[test]
fn a_plan_is_refused_exactly_when_its_sources_do_not_determine_all_data() {
    let mut random = Random::new(9);
    for code in small_codes() {
        let (k, n) = (code.k(), code.k() + code.m());
        let cells = stripe(&code, 40, &mut random);
        for sources in subsets(n).filter(|cells| cells.len() == k) {
            let lost = CellSet::first(n).difference(sources);
            let rank = rank(&code, sources);
            match code.plan_in(lost, sources, CellSet::EMPTY, Inline::<4, 4>::default()) {
                Ok(plan) => {
                    assert_eq!(rank, k);
                    let mut made = patterned(lost.len(), 40);
                    plan.run(&read(&plan, &cells), &mut slices_mut(&mut made)).unwrap();
                    assert_eq!(made, wanted(&plan, &cells));
                }
                Err(Error::Singular { rank: found, needed }) => {
                    assert!(rank < k && found < needed);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_cell_of_a_local_group_is_rebuilt_without_reading_the_other_group() {
    let code = &small_codes()[2];
    let plan = code.plan_in([0], [1, 2, 3, 4], CellSet::EMPTY, Inline::<4, 3>::default()).unwrap();
    assert_eq!(plan.sources(), [1, 4]);
}
