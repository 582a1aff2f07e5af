//! Every public call with whatever numbers, lengths and memory: none panics, what a call refuses it says rightly and has
//! not touched, and what it accepts is right.
#![no_main]

#[macro_use]
mod common;

use std::cell::Cell as Counter;
use std::fmt::Debug;

use arbitrary::Arbitrary;
use common::{Coder, Kind, Random, Spec, generator_row, kernel, parity_of, rank};
use hedgerow_codec::{
    CellSet, Code, Destination, Error, Inline, Kernel, Matrix, PlanStorage, RebuildPlan, ReedSolomon,
    SUBSETS, code_bytes, gf, plan_bytes,
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    spec: Spec,
    kernel: u8,
    seed: u64,
    make: Make,
    calls: Vec<Call>,
}

/// A number: mostly small.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Size {
    Small(u8),
    Any(usize),
}

impl Size {
    fn get(self) -> usize {
        match self {
            Self::Small(n) => usize::from(n),
            Self::Any(n) => n,
        }
    }
}

/// Slices: the right number or about that, of one length or not.
#[derive(Clone, Debug, Arbitrary)]
struct Slices {
    more: i8,
    odd: Option<(u8, u16)>,
}

impl Slices {
    fn lens(&self, expected: usize, len: u16) -> Vec<usize> {
        let more = if self.more % 4 == 0 { 0 } else { isize::from(self.more) / 4 };
        let mut lens = vec![usize::from(len) % 300; expected.saturating_add_signed(more).min(300)];
        if let Some((position, len)) = self.odd
            && !lens.is_empty()
        {
            let position = usize::from(position) % lens.len();
            lens[position] = usize::from(len) % 300;
        }
        lens
    }
}

#[derive(Debug, Arbitrary)]
struct Make {
    k: Size,
    m: Size,
    kind: OwnKind,
    numbers: Vec<u8>,
    memory: i8,
}

#[derive(Debug, Arbitrary)]
enum OwnKind {
    Of(Kind),
    Rows,
    RowsUnproven,
}

#[derive(Debug, Arbitrary)]
enum Call {
    Encode { sources: Slices, outputs: Slices, len: u16, how: How },
    Update { cell: Size, old: u16, new: Option<u16>, outputs: Slices, len: u16 },
    Verify { sources: Slices, outputs: Slices, len: u16, right: bool },
    Coefficient { parity: Size, data: Size },
    Plan(PlanCall),
    Cheapest { cells: Vec<Size>, costs: Vec<Option<u32>>, more: i8, minimum: bool },
    Endless,
    Fickle { first: u8, second: u8, seed: u64 },
    Names(String),
    Sets(Vec<Size>),
    Field { a: u8, b: u8, exponent: u32 },
}

#[derive(Debug, Arbitrary)]
enum How {
    To(bool),
    Short,
    Slices(Size),
}

#[derive(Debug, Arbitrary)]
struct PlanCall {
    /// Cells as they are, or some of those there are in a shuffled order.
    named: Option<(Vec<Size>, Vec<Size>)>,
    order: u64,
    lost: u8,
    more: i8,
    zeros: Vec<Size>,
    memory: Memory,
    sources: Slices,
    outputs: Slices,
    len: u16,
    at: Option<Size>,
}

#[derive(Debug, Arbitrary)]
enum Memory {
    Bytes(i8),
    Small,
    Large,
    Boxed,
}

fuzz_target!(|input: Input| {
    let kernel = kernel(input.kernel);
    make(&input.make, kernel);
    with_code!(input.spec, kernel, |code, kind| {
        let tested = Tested { code, kind, rows: common::rows_of(code, kind), k: code.k(), m: code.m() };
        assert_eq!(code.kernel(), kernel);
        say(code);
        let mut random = Random(input.seed);
        for call in input.calls.iter().take(6) {
            tested.call(call, &mut random, kernel);
        }
    });
});

/// Whatever is formatted doesn't panic and says something.
fn say(what: &impl Debug) {
    assert!(!format!("{what:?} {what:#?}").is_empty());
}

fn fill(lens: &[usize], random: &mut Random) -> Vec<Vec<u8>> {
    lens.iter().map(|&len| random.bytes(len)).collect()
}

fn refs(cells: &[Vec<u8>]) -> Vec<&[u8]> {
    cells.iter().map(|cell| &cell[..]).collect()
}

fn refs_mut(cells: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(|cell| &mut cell[..]).collect()
}

/// Codes in memory of the caller's, from any schema, matrix and memory.
fn make(make: &Make, kernel: Kernel) {
    let (k, m) = match (make.k, make.m) {
        // Schemas that exist, but for a few.
        (Size::Small(k), Size::Small(m)) if k % 32 != 0 => (usize::from(k) % 18, usize::from(m) % 8),
        (k, m) => (k.get(), m.get()),
    };
    let valid = k >= 1 && m >= 1 && k <= 256 && m <= 256 && k + m <= 256;
    let needed = code_bytes(k, m);
    assert!(plan_bytes(k, m) >= k.max(m));
    let mut numbers = make.numbers.clone();
    let (kind, rows) = match make.kind {
        OwnKind::Of(kind @ (Kind::Scaled(_) | Kind::Unproven(..))) if valid && k * m <= 600 => {
            (kind, Spec::rows(kind, k, m))
        }
        OwnKind::Of(kind) => (kind, vec![]),
        OwnKind::Rows | OwnKind::RowsUnproven => {
            // As many as are needed, where that is near.
            if valid && k * m <= 64 && !numbers.len().is_multiple_of(4) {
                numbers.resize(k * m, 1);
            }
            (Kind::Scaled(0), numbers)
        }
    };
    let matrix = match make.kind {
        OwnKind::RowsUnproven => Matrix::RowsUnproven(&rows),
        _ => Spec::matrix(kind, &rows),
    };
    // Proving a matrix takes up to seconds.
    let proves = matches!(matrix, Matrix::Rows(_)) && valid && rows.len() == k * m;
    let subsets = if proves { subsets(k, m) } else { 0 };
    if proves && k + m > 10 && subsets <= u128::from(SUBSETS) {
        return;
    }
    let found = needed.saturating_add_signed(isize::from(make.memory) % 4).min(70_000);
    let mut bytes = vec![0xa5; found];
    let result = Code::new_in(kernel, k, m, matrix, &mut bytes[..]);
    let error = if !valid {
        Error::Schema { k, m }
    } else if found < needed {
        Error::Storage { needed, found }
    } else {
        match (matrix, &result) {
            (Matrix::Xor, _) if m != 1 => Error::MatrixSchema { k, m },
            (Matrix::HdfsLegacy, _) if k + m > 255 => Error::MatrixSchema { k, m },
            (Matrix::Rows(_) | Matrix::RowsUnproven(_), _) if rows.len() != k * m => {
                Error::MatrixSize { expected: k * m, found: rows.len() }
            }
            (Matrix::Rows(_), Err(error @ Error::Unproven { subsets: found, limit })) => {
                assert!(subsets > u128::from(SUBSETS) && *limit == SUBSETS);
                assert!(*found == u64::MAX || u128::from(*found) == subsets);
                *error
            }
            (Matrix::Rows(_), Err(error @ Error::Singular { rank, needed })) => {
                assert!(rank < needed && *needed <= k.min(m) && !decodes_from_any(&rows, k, m));
                *error
            }
            _ => {
                let code = result.unwrap();
                if let Matrix::Rows(_) = matrix {
                    assert!(decodes_from_any(&rows, k, m));
                }
                if !rows.is_empty() {
                    let rows = rows.iter().copied().map(Some);
                    assert!(rows.eq((0..k * m).map(|at| code.coefficient(at / k, at % k))));
                }
                say(&code);
                assert_eq!(
                    (code.k(), code.m(), code.coefficient(m, 0), code.coefficient(0, k)),
                    (k, m, None, None)
                );
                assert!(code == Code::new(Kernel::SCALAR, k, m, matrix).unwrap());
                let _ = code;
                assert!(bytes[needed..].iter().all(|&byte| byte == 0xa5));
                return;
            }
        }
    };
    say(&error);
    assert!(!error.to_string().is_empty());
    assert_eq!(result.err(), Some(error));
    assert!(bytes.iter().all(|&byte| byte == 0xa5));
    // The same from types: schemas that can't be are refused at run time, too.
    let (legacy, own) = (Matrix::HdfsLegacy, Matrix::RowsUnproven(&rows));
    assert_eq!(ReedSolomon::<0, 1>::with_matrix(kernel, own).err(), Some(Error::Schema { k: 0, m: 1 }));
    assert_eq!(ReedSolomon::<2, 0>::with_matrix(kernel, own).err(), Some(Error::Schema { k: 2, m: 0 }));
    assert_eq!(
        ReedSolomon::<250, 7>::with_matrix(kernel, legacy).err(),
        Some(Error::Schema { k: 250, m: 7 })
    );
    assert_eq!(ReedSolomon::<3, 2>::with_matrix(kernel, own).is_ok(), rows.len() == 6);
}

fn subsets(k: usize, m: usize) -> u128 {
    let few = k.min(m) as u128;
    (0..few)
        .try_fold(1_u128, |count, i| Some(count.checked_mul((k + m) as u128 - i)? / (i + 1)))
        .unwrap_or(u128::MAX)
}

/// Tries every k cells of a small code.
fn decodes_from_any(rows: &[u8], k: usize, m: usize) -> bool {
    let rows: Vec<Vec<u8>> = rows.chunks(k).map(<[u8]>::to_vec).collect();
    let subsets = (0..1_u64 << (k + m)).filter(|subset| subset.count_ones() as usize == k);
    let cells = |subset: u64| (0..k + m).filter(move |cell| subset >> cell & 1 == 1);
    subsets
        .into_iter()
        .all(|subset| rank(cells(subset).map(|cell| generator_row(&rows, k, cell)).collect(), k) == k)
}

/// What a call with these numbers of slices and these lengths must say.
fn judge<T: Debug>(
    result: &Result<T, Error>,
    (sources, expected_sources): (&[usize], usize),
    (outputs, expected_outputs): (&[usize], usize),
    fits: impl Fn(usize, usize) -> bool,
) -> bool {
    if let Err(error) = result {
        say(error);
        assert!(!error.to_string().is_empty());
    }
    let len = outputs.first().copied().unwrap_or(0);
    if sources.len() != expected_sources {
        let error = Error::SourceCount { expected: expected_sources, found: sources.len() };
        assert_eq!(result.as_ref().err(), Some(&error));
    } else if outputs.len() != expected_outputs {
        let error = Error::OutputCount { expected: expected_outputs, found: outputs.len() };
        assert_eq!(result.as_ref().err(), Some(&error));
    } else {
        match *result {
            Ok(_) => {
                assert!(outputs.iter().all(|&output| output == len));
                assert!(sources.iter().all(|&source| fits(source, len)));
            }
            Err(Error::OutputLength { position, expected, found }) => {
                assert!(outputs[position] == found && found != expected && expected == len);
            }
            Err(Error::SourceLength { position, found, expected }) => {
                assert!(sources[position] == found && found != expected && !fits(found, len));
            }
            Err(error) => panic!("{error}"),
        }
    }
    result.is_ok()
}

struct Tested<'a, C> {
    code: &'a C,
    kind: Kind,
    rows: Vec<Vec<u8>>,
    k: usize,
    m: usize,
}

impl<C: Coder> Tested<'_, C> {
    fn call(&self, call: &Call, random: &mut Random, kernel: Kernel) {
        let (k, m) = (self.k, self.m);
        match call {
            Call::Encode { sources, outputs, len, how } => {
                self.encode(&sources.lens(k, *len), &outputs.lens(m, *len), how, random);
            }
            Call::Update { cell, old, new, outputs, len } => {
                let lens = outputs.lens(m, *len);
                // The right length, mostly.
                let near =
                    |n: u16| if n.is_multiple_of(4) { usize::from(n) % 300 } else { usize::from(*len) % 300 };
                let changes: Vec<usize> = [Some(near(*old)), new.map(near)].into_iter().flatten().collect();
                self.update(cell.get(), &changes, &lens, random);
            }
            Call::Verify { sources, outputs, len, right } => {
                let data = fill(&sources.lens(k, *len), random);
                let mut parity = fill(&outputs.lens(m, *len), random);
                if *right {
                    let _ = self.code.encode(&refs(&data), &mut refs_mut(&mut parity));
                }
                let result = self.code.verify(&refs(&data), &refs(&parity));
                let (data_lens, parity_lens) = (lens(&data), lens(&parity));
                if judge(&result, (&data_lens, k), (&parity_lens, m), |source, len| source == len) {
                    let expected = parity_of(&self.rows, &refs(&data), parity_lens[0]);
                    match result.unwrap() {
                        None => assert!(expected == parity),
                        Some(found) => {
                            let (there, right) = (&parity[found.cell - k], &expected[found.cell - k]);
                            let first = there.iter().zip(right).position(|(a, b)| a != b);
                            assert_eq!(first, Some(found.offset));
                        }
                    }
                }
            }
            Call::Coefficient { parity, data } => {
                let (parity, data) = (parity.get(), data.get());
                let expected = self.rows.get(parity).and_then(|row| row.get(data));
                assert_eq!(self.code.coefficient(parity, data), expected.copied());
            }
            Call::Plan(call) => self.plan(call, random),
            Call::Cheapest { cells, costs, more, minimum } => {
                let more = if more % 4 == 0 { 0 } else { isize::from(*more) / 4 };
                let n = (k + m).saturating_add_signed(more);
                let cost = |cell: usize| if costs.is_empty() { Some(1) } else { costs[cell % costs.len()] };
                let costs: Vec<Option<u32>> = (0..n).map(cost).collect();
                let cells = cells.iter().map(|cell| match cell {
                    Size::Small(cell) if cell % 16 != 0 => usize::from(*cell) % (k + m),
                    cell => cell.get(),
                });
                self.cheapest(cells.collect(), &costs, *minimum);
            }
            Call::Endless => {
                let plan = |lost: usize| self.code.plan_boxed(&[lost], &[], CellSet::EMPTY);
                assert_eq!(plan(k + m).unwrap_err(), Error::CellIndex { index: k + m, cells: k + m });
                // What never ends names a cell twice, or one that isn't, soon enough.
                let code = ReedSolomon::<3, 2>::new(kernel);
                let (twice, all) = (std::iter::repeat(1), 0_usize..);
                let zeros = CellSet::EMPTY;
                assert_eq!(code.plan(twice, [0], zeros).unwrap_err(), Error::Duplicate { index: 1 });
                assert_eq!(code.plan([4], all, zeros).unwrap_err(), Error::Duplicate { index: 4 });
                assert_eq!(
                    code.plan(0_usize.., [0], zeros).unwrap_err(),
                    Error::CellIndex { index: 5, cells: 5 }
                );
            }
            Call::Fickle { first, second, seed } => fickle(kernel, *first, *second, *seed),
            Call::Names(name) => {
                let found = Kernel::by_name(name);
                assert!(found.is_none_or(|kernel| kernel.name() == name));
                assert_eq!(Kernel::by_name(kernel.name()), Some(kernel));
                assert_eq!(format!("{kernel} {kernel:?}"), format!("{0} {0}", kernel.name()));
            }
            Call::Sets(cells) => sets(cells),
            Call::Field { a, b, exponent } => {
                let (a, b) = (*a, *b);
                assert_eq!(gf::mul(a, b), gf::mul_bitwise(a, b));
                assert_eq!(gf::mul_bitwise(gf::inv(a), a), u8::from(a != 0));
                let next = gf::pow(a, exponent.wrapping_add(1));
                assert!(*exponent == u32::MAX || next == gf::mul_bitwise(gf::pow(a, *exponent), a));
            }
        }
    }

    fn encode(&self, data_lens: &[usize], parity_lens: &[usize], how: &How, random: &mut Random) {
        let data = fill(data_lens, random);
        let data = refs(&data);
        let before = fill(parity_lens, random);
        let mut after = before.clone();
        let mut outputs = refs_mut(&mut after);
        let short = matches!(how, How::Short);
        let result = match how {
            How::To(true) => self.code.encode(&data, &mut outputs),
            How::To(false) => self.code.encode_to(&data, &mut outputs, Destination::NotReadSoon),
            How::Short => self.code.encode_short(&data, &mut outputs, Destination::ReadSoon),
            How::Slices(slice) => {
                let mut done = 0;
                let result = self.code.encode_slices(&data, &mut outputs, slice.get(), |range, _, _| {
                    assert!(range.start == done && range.end - done <= slice.get());
                    done = range.end;
                });
                assert_eq!(done, if result.is_ok() { parity_lens[0] } else { 0 });
                result
            }
        };
        // Of no slices there is no first problem but their numbers.
        let slice_is_zero = matches!(how, How::Slices(slice) if slice.get() == 0);
        if slice_is_zero && data_lens.len() == self.k && parity_lens.len() == self.m {
            assert_eq!(result, Err(Error::SliceLength));
            assert!(after == before);
            return;
        }
        let fits = |source, len| if short { source <= len } else { source == len };
        if judge(&result, (data_lens, self.k), (parity_lens, self.m), fits) {
            assert!(after == parity_of(&self.rows, &data, parity_lens[0]));
        } else {
            assert!(after == before);
        }
    }

    fn update(&self, cell: usize, changes: &[usize], parity_lens: &[usize], random: &mut Random) {
        let cell = if cell % 8 == 7 { cell } else { cell % self.k };
        let (changes, before) = (fill(changes, random), fill(parity_lens, random));
        let mut after = before.clone();
        let mut outputs = refs_mut(&mut after);
        let result = match &changes[..] {
            [old, new] => self.code.update(cell, old, new, &mut outputs),
            [difference, ..] => self.code.update_by(cell, difference, &mut outputs),
            [] => return,
        };
        if cell >= self.k {
            assert_eq!(result, Err(Error::CellIndex { index: cell, cells: self.k }));
            assert!(after == before);
            return;
        }
        let change_lens = lens(&changes);
        let n = changes.len();
        if judge(&result, (&change_lens, n), (parity_lens, self.m), |change, len| change == len) {
            for ((after, mut before), row) in after.iter().zip(before).zip(&self.rows) {
                changes.iter().for_each(|change| common::add_product(&mut before, row[cell], change));
                assert!(*after == before);
            }
        } else {
            assert!(after == before);
        }
    }

    fn plan(&self, call: &PlanCall, random: &mut Random) {
        let (k, m) = (self.k, self.m);
        let (lost, sources): (Vec<usize>, Vec<usize>) = match &call.named {
            Some((lost, sources)) => {
                let cell = |cell: &Size| match cell {
                    Size::Small(cell) if cell % 8 != 0 => usize::from(*cell) % (k + m),
                    cell => cell.get(),
                };
                (lost.iter().map(cell).collect(), sources.iter().map(cell).collect())
            }
            None => {
                let mut cells: Vec<usize> = (0..k + m).collect();
                Random(call.order).shuffle(&mut cells);
                let more = if call.more % 4 == 0 { 0 } else { isize::from(call.more) / 16 };
                let mut sources = cells.split_off(usize::from(call.lost) % (m + 1));
                sources.truncate(k.saturating_add_signed(more));
                (cells, sources)
            }
        };
        let zeros: CellSet = call.zeros.iter().map(|cell| cell.get()).collect();
        let expected = self.plan_error(&lost, &sources, zeros);
        let n = CellSet::from_iter(sources.iter().copied()).difference(zeros).len();
        let needed = plan_bytes(n, lost.len());
        let ok = expected.is_none();
        match call.memory {
            Memory::Bytes(more) => {
                let found = needed.saturating_add_signed(isize::from(more) % 4).min(70_000);
                let mut bytes = vec![0xa5; found];
                let plan = self.code.plan_in(&lost, &sources, zeros, &mut bytes[..]);
                match plan {
                    Ok(plan) => self.run(&plan, call, random),
                    Err(error) => {
                        assert!(bytes.iter().all(|&byte| byte == 0xa5));
                        if ok && found < needed && !matches!(error, Error::Singular { .. }) {
                            // With a matrix of any numbers fewer sources may be needed, and less memory.
                            assert!(matches!(error, Error::Storage { needed, found: is }
                                if is == found && needed > found));
                        } else {
                            self.refused(error, expected, &sources);
                        }
                        return;
                    }
                }
                assert!(ok && (found >= needed || matches!(self.kind, Kind::Unproven(..))));
                let used = needed.min(found);
                assert!(bytes[used..].iter().all(|&byte| byte == 0xa5));
            }
            Memory::Small => {
                let plan = self.code.plan_in(&lost, &sources, zeros, Inline::<4, 2>::default());
                match plan {
                    Ok(plan) => self.run(&plan, call, random),
                    Err(Error::Storage { .. }) if ok => assert!(n > 4 || lost.len() > 2),
                    Err(error) => self.refused(error, expected, &sources),
                }
            }
            Memory::Large if k <= 14 && m <= 7 => {
                let plan = self.code.plan_in(&lost, &sources, zeros, Inline::<14, 7>::default());
                match plan {
                    Ok(plan) => self.run(&plan, call, random),
                    Err(error) => self.refused(error, expected, &sources),
                }
            }
            _ => match self.code.plan_boxed(&lost, &sources, zeros) {
                Ok(plan) => self.run(&plan, call, random),
                Err(error) => self.refused(error, expected, &sources),
            },
        }
    }

    fn refused(&self, error: Error, expected: Option<Error>, sources: &[usize]) {
        say(&error);
        assert!(!error.to_string().is_empty());
        if let (Error::Singular { rank, needed }, None) = (error, expected) {
            assert!(matches!(self.kind, Kind::Unproven(..)) && rank < needed);
            let generator = sources.iter().map(|&cell| generator_row(&self.rows, self.k, cell));
            assert!(common::rank(generator.collect(), self.k) < self.k);
        } else {
            assert_eq!(Some(error), expected);
        }
    }

    /// Why these cells make no plan, as far as their names tell.
    fn plan_error(&self, lost: &[usize], sources: &[usize], zeros: CellSet) -> Option<Error> {
        let (k, m) = (self.k, self.m);
        let mut seen = vec![];
        for &index in lost.iter().chain(sources) {
            if index >= k + m {
                return Some(Error::CellIndex { index, cells: k + m });
            }
            if seen.contains(&index) {
                return Some(Error::Duplicate { index });
            }
            seen.push(index);
        }
        if lost.is_empty() || lost.len() > m {
            return Some(Error::LostCount { limit: m, found: lost.len() });
        }
        if sources.len() < k {
            return Some(Error::TooFewSources { needed: k, found: sources.len() });
        }
        if sources.len() > k {
            return Some(Error::SourceCount { expected: k, found: sources.len() });
        }
        lost.iter().find(|&&cell| zeros.contains(cell)).map(|&index| Error::LostZero { index })
    }

    fn run<S: PlanStorage>(&self, plan: &RebuildPlan<S>, call: &PlanCall, random: &mut Random) {
        say(plan);
        let (n, lost) = (plan.sources().len(), plan.lost().len());
        assert_eq!((plan.coefficient(lost, 0), plan.coefficient(0, n)), (None, None));
        let (source_lens, output_lens) = (call.sources.lens(n, call.len), call.outputs.lens(lost, call.len));
        let (sources, before) = (fill(&source_lens, random), fill(&output_lens, random));
        let sources = refs(&sources);
        let mut after = before.clone();
        let mut outputs = refs_mut(&mut after);
        let (result, at) = match call.at {
            Some(at) => (plan.run_at(at.get(), &sources, &mut outputs), at.get()),
            None if outputs.len() == 1 => (plan.run_one(&sources, outputs[0]), 0),
            None => (plan.run_to(&sources, &mut outputs, Destination::NotReadSoon), 0),
        };
        let len = output_lens.first().copied().unwrap_or(0);
        let counts = sources.len() == n && output_lens.len() == lost;
        if counts && at.checked_add(len).is_none() {
            assert_eq!(result, Err(Error::Range { start: at, len }));
            assert!(after == before);
            return;
        }
        let ranged = call.at.is_some();
        let fits = |source, len| if ranged { source >= at + len } else { source == len };
        if judge(&result, (&source_lens, n), (&output_lens, lost), fits) {
            let row = |o| (0..n).map(|j| plan.coefficient(o, j).unwrap()).collect();
            let rows: Vec<Vec<u8>> = (0..lost).map(row).collect();
            let ranges: Vec<&[u8]> = sources.iter().map(|source| &source[at..at + len]).collect();
            assert!(after == parity_of(&rows, &ranges, len));
            assert_eq!(plan.verify(&ranges, &refs(&after)), Ok(None));
        } else {
            assert!(after == before);
            let result = plan.verify(&sources, &refs(&after));
            judge(&result, (&source_lens, n), (&output_lens, lost), |source, len| source == len);
        }
    }

    fn cheapest(&self, cells: CellSet, costs: &[Option<u32>], minimum: bool) {
        let (k, n) = (self.k, self.k + self.m);
        let result =
            if minimum { self.code.minimum_to_read(cells, costs) } else { self.code.cheapest(cells, costs) };
        let outside = cells.iter().find(|&cell| cell >= n);
        if costs.len() != n || outside.is_some() {
            match result.unwrap_err() {
                Error::SourceCount { expected, found } => assert!(expected == n && found == costs.len()),
                Error::CellIndex { index, cells } => assert!(Some(index) == outside && cells == n),
                error => panic!("{error}"),
            }
            return;
        }
        let readable = |&cell: &usize| costs[cell].is_some();
        let there: CellSet = if minimum { cells.iter().filter(readable).collect() } else { CellSet::EMPTY };
        if minimum && there == cells {
            assert_eq!(result, Ok(cells));
            return;
        }
        let mut others: Vec<usize> = (0..n).filter(|&cell| !cells.contains(cell)).filter(readable).collect();
        others.sort_by_key(|&cell| (costs[cell], cell));
        let order: Vec<usize> = there.iter().chain(others).collect();
        let unproven = matches!(self.kind, Kind::Unproven(..));
        let (mut chosen, mut basis): (Vec<usize>, Vec<Vec<u8>>) = (vec![], vec![]);
        for &cell in &order {
            if chosen.len() == k {
                break;
            }
            if unproven {
                basis.push(generator_row(&self.rows, k, cell));
                if rank(basis.clone(), k) < basis.len() {
                    basis.pop();
                    continue;
                }
            }
            chosen.push(cell);
        }
        let expected = if chosen.len() == k {
            Ok(there.union(chosen.into_iter().collect()))
        } else if order.len() < k {
            Err(Error::TooFewSources { needed: k, found: order.len() })
        } else {
            Err(Error::Singular { rank: chosen.len(), needed: k })
        };
        assert_eq!(result, expected);
    }
}

fn lens(cells: &[Vec<u8>]) -> Vec<usize> {
    cells.iter().map(Vec::len).collect()
}

/// Memory that is other bytes, and another number of them, each time it is asked for. What comes out doesn't matter;
/// nothing else is read or written.
struct Fickle {
    bytes: [Vec<u8>; 2],
    asked: Counter<usize>,
}

impl Fickle {
    /// `first` and `second` 128ths of `bytes`.
    fn new(bytes: &[u8], first: u8, second: u8) -> Self {
        let part = |n: u8| bytes[..(bytes.len() * usize::from(n) / 128).min(bytes.len())].to_vec();
        Self { bytes: [part(first), part(second)], asked: Counter::new(0) }
    }

    fn next(&self) -> usize {
        self.asked.set(self.asked.get() + 1);
        self.asked.get() % 2
    }
}

impl AsRef<[u8]> for Fickle {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.next()]
    }
}

impl AsMut<[u8]> for Fickle {
    fn as_mut(&mut self) -> &mut [u8] {
        let next = self.next();
        &mut self.bytes[next]
    }
}

fn fickle(kernel: Kernel, first: u8, second: u8, seed: u64) {
    let mut random = Random(seed);
    let (k, m) = (1 + random.below(14), 1 + random.below(7));
    let len = random.below(700);
    let cells = fill(&vec![len; k + m], &mut random);
    let mut outputs = fill(&vec![len; m], &mut random);
    // Other bytes here are zeros: the order of columns is checked as an index, which is safe but panics.
    let memory = Fickle::new(&vec![0; code_bytes(k, m)], first, second);
    if let Ok(code) = Code::new_in(kernel, k, m, Matrix::Cauchy, memory) {
        for _ in 0..2 {
            code.encode(&refs(&cells[..k]), &mut refs_mut(&mut outputs)).unwrap();
        }
    }
    let memory = Fickle::new(&random.bytes(plan_bytes(k, m)), first, second);
    let code = Code::new(kernel, k, m, Matrix::Cauchy).unwrap();
    if let Ok(plan) = code.plan_in(0..m, m..m + k, CellSet::EMPTY, memory) {
        for _ in 0..2 {
            plan.run(&refs(&cells[..k]), &mut refs_mut(&mut outputs)).unwrap();
            say(&plan);
        }
    }
}

fn sets(cells: &[Size]) {
    let mut model = std::collections::BTreeSet::new();
    let mut set = CellSet::EMPTY;
    for (i, cell) in cells.iter().enumerate().take(100) {
        let cell = cell.get();
        if i % 3 == 2 {
            set = set.without(cell);
            model.remove(&cell);
        } else {
            set = set.with(cell);
            if cell < 256 {
                model.insert(cell);
            }
        }
        assert_eq!(set.contains(cell), model.contains(&cell));
        let first = CellSet::first(cell);
        assert_eq!(first.len(), cell.min(256));
        assert_eq!(set.intersection(first).union(set.difference(first)), set);
        assert!(set.intersection(first).is_subset(set) && set.iter().len() == set.len());
    }
    assert!(set.iter().eq(model.iter().copied()));
    assert_eq!((set.lowest(), set.is_empty()), (model.first().copied(), model.is_empty()));
    assert_eq!(set.mask().map(CellSet::from_mask), model.iter().all(|&cell| cell < 64).then_some(set));
    say(&set);
}
