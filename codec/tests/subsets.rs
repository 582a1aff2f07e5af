//! Every k cells of a stripe decode it: all subsets of all schemas of up to 24 cells, samples of larger ones.
#![cfg(not(miri))] // Millions of plans.

mod stripe;

use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_codec::{
    CellSet, Code, Error, Inline, Kernel, Matrix, PlanStorage, RebuildPlan, gf, plan_bytes,
};
use stripe::{Random, code, times};

/// One stripe for which every plan must hold: eight random bytes of each cell, as one word. A wrong coefficient changes the
/// rebuilt word, or leaves it alone with probability 2^-64.
struct Truth {
    cells: Vec<u64>,
    /// Each cell times every coefficient.
    products: Vec<[u64; 256]>,
}

impl Truth {
    fn new(code: &Code<Vec<u8>>) -> Self {
        let mut random = Random::new((code.k() + code.m()) as u64);
        let cells: Vec<Vec<u8>> = stripe::stripe(code, 8, &mut random);
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let products = cells
            .iter()
            .map(|cell| {
                std::array::from_fn(|c| {
                    let products = times(c as u8);
                    word(&cell.iter().map(|&byte| products[usize::from(byte)]).collect::<Vec<_>>())
                })
            })
            .collect();
        Self { cells: cells.iter().map(|cell| word(cell)).collect(), products }
    }

    fn holds<S: PlanStorage>(&self, plan: &RebuildPlan<S>) -> bool {
        plan.lost().iter().enumerate().all(|(o, &lost)| {
            let sum = plan.sources().iter().enumerate().fold(0, |sum, (j, &source)| {
                sum ^ self.products[usize::from(source)][usize::from(plan.coefficient(o, j).unwrap())]
            });
            sum == self.cells[usize::from(lost)]
        })
    }
}

/// Masks of n bits with k of them set, ascending.
fn masks(n: usize, k: usize) -> impl Iterator<Item = u64> {
    let mut next = Some((1_u64 << k) - 1);
    std::iter::from_fn(move || {
        let mask = next?;
        let low = mask & mask.wrapping_neg();
        let carried = mask + low;
        next = Some(carried | ((mask ^ carried) / low) >> 2).filter(|mask| mask >> n == 0);
        Some(mask)
    })
}

/// Makes the plan for all lost cells from each k-subset of the code's cells and checks it; returns how many there were.
fn check_all(code: &Code<Vec<u8>>) -> u64 {
    let (k, n) = (code.k(), code.k() + code.m());
    let truth = Truth::new(code);
    let mut count = 0;
    for mask in masks(n, k) {
        let sources = CellSet::from_mask(mask);
        let lost = CellSet::first(n).difference(sources);
        let plan = code.plan_in(lost, sources, CellSet::EMPTY, Inline::<23, 23>::default()).unwrap();
        assert!(truth.holds(&plan), "{code:?} from {sources:?}");
        count += 1;
    }
    count
}

/// Runs `check` for each item on all CPUs and sums what it returns.
fn on_all_cpus<T: Sync>(items: &[T], check: impl Fn(&T) -> u64 + Sync) -> u64 {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let work = || {
            let mut count = 0;
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                count += check(item);
            }
            count
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// Schemas of up to `cells` cells, those with the most subsets first, so that no thread is left alone with a large one.
fn schemas(cells: usize) -> Vec<(usize, usize)> {
    let mut schemas: Vec<_> = (2..=cells).flat_map(|n| (1..n).map(move |k| (k, n - k))).collect();
    schemas.sort_by_key(|&(k, m)| std::cmp::Reverse((k + m, k.min(m))));
    schemas
}

/// Every subset of n cells but none and all.
fn subsets_up_to(cells: u32) -> u64 {
    (2..=cells).map(|n| (1 << n) - 2).sum()
}

#[test]
fn every_k_cells_of_every_cauchy_schema_up_to_20_decode() {
    let count = on_all_cpus(&schemas(20), |&(k, m)| check_all(&code(Kernel::SCALAR, k, m, Matrix::Cauchy)));
    assert_eq!(count, subsets_up_to(20));
}

#[test]
fn every_k_cells_of_every_vandermonde_schema_up_to_16_decode() {
    let count =
        on_all_cpus(&schemas(16), |&(k, m)| check_all(&code(Kernel::SCALAR, k, m, Matrix::Vandermonde)));
    assert_eq!(count, subsets_up_to(16));
}

#[test]
fn every_k_cells_of_every_legacy_schema_up_to_14_and_of_every_xor_schema_decode() {
    let count =
        on_all_cpus(&schemas(14), |&(k, m)| check_all(&code(Kernel::SCALAR, k, m, Matrix::HdfsLegacy)));
    assert_eq!(count, subsets_up_to(14));
    for k in 1..=23 {
        assert_eq!(check_all(&code(Kernel::SCALAR, k, 1, Matrix::Xor)), k as u64 + 1);
    }
}

/// The generator's columns that have not been passed, with the rows that no chosen column has taken.
#[derive(Clone, Copy)]
struct Rest {
    rows: [[u8; 24]; 24],
    count: usize,
}

impl Rest {
    fn new(code: &Code<Vec<u8>>) -> Self {
        let k = code.k();
        let mut rows = [[0; 24]; 24];
        for (j, row) in rows.iter_mut().enumerate().take(k) {
            row[j] = 1;
            for i in 0..code.m() {
                row[k + i] = code.coefficient(i, j).unwrap();
            }
        }
        Self { rows, count: k }
    }

    /// What is left when column `column` has been chosen and eliminated.
    fn choose(&self, column: usize, columns: usize) -> Self {
        let row = self.rows[..self.count].iter().position(|row| row[column] != 0);
        let pivot = self.rows[row.expect("these cells decode")];
        let inverse = gf::inv(pivot[column]);
        let mut left = Self { rows: [[0; 24]; 24], count: 0 };
        for (_, other) in self.rows[..self.count].iter().enumerate().filter(|&(r, _)| Some(r) != row) {
            let products = times(gf::mul(other[column], inverse));
            for c in column + 1..columns {
                left.rows[left.count][c] = other[c] ^ products[usize::from(pivot[c])];
            }
            left.count += 1;
        }
        left
    }

    /// How many ways there are to choose a column for each row from column `from` on; each must be independent.
    fn count_choices(&self, from: usize, columns: usize) -> u64 {
        if self.count == 1 {
            assert!(self.rows[0][from..columns].iter().all(|&x| x != 0), "these cells decode");
            return (columns - from) as u64;
        }
        (from..=columns - self.count).map(|c| self.choose(c, columns).count_choices(c + 1, columns)).sum()
    }
}

#[test]
fn every_k_cells_of_every_cauchy_and_vandermonde_schema_up_to_24_are_independent() {
    let schemas: Vec<_> = schemas(24)
        .into_iter()
        .flat_map(|schema| [Matrix::Cauchy, Matrix::Vandermonde].map(|matrix| (schema, matrix)))
        .collect();
    let count = on_all_cpus(&schemas, |&((k, m), matrix)| {
        Rest::new(&code(Kernel::SCALAR, k, m, matrix)).count_choices(0, k + m)
    });
    assert_eq!(count, 2 * subsets_up_to(24));
}

/// Checks plans for up to all lost cells from random k-subsets, the cells in random order.
fn check_some(code: &Code<Vec<u8>>, plans: usize, most_lost: usize, random: &mut Random) {
    let (k, n) = (code.k(), code.k() + code.m());
    let truth = Truth::new(code);
    let mut memory = vec![0; plan_bytes(k, code.m())];
    for _ in 0..plans {
        let order = random.cells(n, n);
        let (sources, lost) = order.split_at(k);
        let lost = &lost[..1 + random.below(lost.len().min(most_lost))];
        let plan = code.plan_in(lost, sources, CellSet::EMPTY, &mut memory[..]).unwrap();
        assert!(truth.holds(&plan), "{code:?}: {lost:?} from {sources:?}");
    }
}

#[test]
fn plans_from_sampled_cells_of_schemas_of_21_to_24_cells_decode() {
    let schemas: Vec<_> = schemas(24).into_iter().filter(|(k, m)| k + m > 20).collect();
    on_all_cpus(&schemas, |&(k, m)| {
        for matrix in [Matrix::Cauchy, Matrix::Vandermonde, Matrix::HdfsLegacy] {
            check_some(&code(Kernel::SCALAR, k, m, matrix), 3000, m, &mut Random::new((k * 256 + m) as u64));
        }
        0
    });
}

#[test]
fn plans_from_sampled_cells_of_sampled_schemas_up_to_256_cells_decode() {
    let mut random = Random::new(256);
    let mut schemas: Vec<_> = (0..60)
        .map(|_| {
            let n = 25 + random.below(232);
            let k = 1 + random.below(n - 1);
            (k, n - k)
        })
        .collect();
    schemas.extend([
        (1, 255),
        (255, 1),
        (128, 128),
        (127, 128),
        (252, 4),
        (253, 3),
        (4, 252),
        (17, 3),
        (200, 56),
    ]);
    on_all_cpus(&schemas, |&(k, m)| {
        let mut random = Random::new((k * 256 + m) as u64);
        for matrix in [Matrix::Cauchy, Matrix::Vandermonde, Matrix::HdfsLegacy] {
            if matrix != Matrix::HdfsLegacy || k + m < 256 {
                let code = code(Kernel::SCALAR, k, m, matrix);
                check_some(&code, 12, 8, &mut random);
                check_some(&code, 2, m, &mut random);
            }
        }
        0
    });
}

#[test]
fn each_single_erasure_of_255_and_256_cells_is_rebuilt() {
    let schemas = [
        (254, 1),
        (255, 1),
        (252, 3),
        (253, 3),
        (251, 4),
        (252, 4),
        (128, 127),
        (128, 128),
        (3, 253),
        (1, 255),
    ];
    on_all_cpus(&schemas, |&(k, m)| {
        let mut random = Random::new((k * 256 + m) as u64);
        for matrix in [Matrix::Cauchy, Matrix::Vandermonde, Matrix::HdfsLegacy] {
            if matrix == Matrix::HdfsLegacy && k + m == 256 {
                continue;
            }
            let code = code(Kernel::SCALAR, k, m, matrix);
            let truth = Truth::new(&code);
            let mut memory = vec![0; plan_bytes(k, 1)];
            for lost in 0..k + m {
                // The others in order, the first k of them; for some cells others, parity among them.
                let others = (0..k + m).filter(|&cell| cell != lost);
                let others = if lost % 16 == 3 { random.shuffled(others) } else { others.collect() };
                let plan = code.plan_in([lost], &others[..k], CellSet::EMPTY, &mut memory[..]).unwrap();
                assert!(truth.holds(&plan), "{code:?}: {lost}");
            }
        }
        0
    });
}

/// Row i holds the powers of 2^i: known not to decode from every k cells for many sizes, these among them.
#[test]
fn subsets_that_do_not_decode_are_refused_never_computed() {
    let (k, m) = (9, 9);
    let rows: Vec<u8> = (0..m).flat_map(|i| (0..k).map(move |j| gf::pow(gf::pow(2, i), j))).collect();
    let code = code(Kernel::SCALAR, k as usize, m as usize, Matrix::RowsUnproven(&rows));
    let truth = Truth::new(&code);
    let (mut good, mut singular) = (0, 0);
    for mask in masks(18, 9) {
        let sources = CellSet::from_mask(mask);
        match code.plan_in(
            CellSet::first(18).difference(sources),
            sources,
            CellSet::EMPTY,
            Inline::<9, 9>::default(),
        ) {
            Ok(plan) => {
                assert!(truth.holds(&plan), "from {sources:?}");
                good += 1;
            }
            Err(Error::Singular { rank, needed }) => {
                assert!(rank < needed && needed <= 9);
                singular += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(good + singular, 48_620);
    assert!(singular > 0);
    let lost = [0, 1, 2, 5, 7, 9, 10, 14, 16];
    let sources = CellSet::first(18).difference(lost.into_iter().collect());
    let refused = code.plan_in(lost, sources, CellSet::EMPTY, Inline::<9, 9>::default());
    assert!(matches!(refused, Err(Error::Singular { .. })));
}
