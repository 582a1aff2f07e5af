//! Encode, lose, rebuild: any schema and matrix, on every kernel, at any length and place in memory, gives the bytes
//! that multiplication by shifting and adding gives, and writes nothing else.
#![no_main]

#[macro_use]
mod common;

use arbitrary::Arbitrary;
use common::{Cell, Coder, Kind, Place, Random, Spec, add_product, kernel, slices, slices_mut, uninit};
use hedgerow_codec::{
    CellSet, Destination, Error, Inline, Kernel, Mismatch, PlanStorage, RebuildPlan, plan_bytes,
};
use libfuzzer_sys::fuzz_target;

#[derive(Clone, Debug, Arbitrary)]
struct Input {
    spec: Spec,
    kernel: u8,
    len: (u8, u16),
    seed: u64,
    /// All cells start equally far past a multiple of 64.
    together: bool,
    /// Which data cells are zero, if any.
    zero: Option<u64>,
    to: To,
    then: Then,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
struct To {
    not_read_soon: bool,
    uninit: bool,
}

#[derive(Clone, Debug, Arbitrary)]
enum Then {
    Verify { cell: u8, offset: u16 },
    Short,
    Slices { slice: u16 },
    Update { cell: u8, by: bool },
    Rebuild { lost: u8, order: u64, tell_zeros: bool, storage: Storage, run: Run, other: u8 },
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Storage {
    Exact,
    Boxed,
    Inline,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Run {
    Whole,
    Range(u16, u16),
    One,
}

impl To {
    fn destination(self) -> Destination {
        if self.not_read_soon { Destination::NotReadSoon } else { Destination::ReadSoon }
    }
}

fuzz_target!(|input: Input| with_code!(input.spec, kernel(input.kernel), |code, kind| {
    check(code, kind, &input);
}));

fn length(input: &Input, k: usize, m: usize) -> usize {
    let n = usize::from(input.len.1);
    let len = match input.len.0 % 6 {
        0 => n % 130,
        1 => n % 1100,
        2 => (64 * (n % 80) + n / 80 % 5).saturating_sub(2),
        3 => 4000 + n % 5000,
        4 => n % 9000,
        _ => 16_300 + n % 4200,
    };
    // Large schemas get short cells.
    len.min(700_000 / (k * m)).min(100_000 / (k + m))
}

/// Cells at places that the input says.
struct Memory<'a> {
    random: Random,
    input: &'a Input,
}

impl Memory<'_> {
    fn cell(&mut self, contents: &[u8]) -> Cell {
        let word = if self.input.together { self.input.seed } else { self.random.next() };
        Cell::new(contents, Place { offset: (word % 64) as usize, at_the_end: word >> 32 & 3 == 0 })
    }

    /// Outputs, full of something else.
    fn outputs(&mut self, n: usize, len: usize) -> Vec<Cell> {
        let garbage = self.random.bytes(len);
        (0..n).map(|_| self.cell(&garbage)).collect()
    }
}

fn check<C: Coder>(code: &C, kind: Kind, input: &Input) {
    let (k, m) = (code.k(), code.m());
    let rows = common::rows_of(code, kind);
    let len = length(input, k, m);
    let mut memory = Memory { random: Random(input.seed), input };
    let is_zero = |cell: usize| input.zero.is_some_and(|mask| mask.rotate_right(cell as u32) & 1 == 1);
    let contents = |random: &mut Random, cell| if is_zero(cell) { vec![0; len] } else { random.bytes(len) };
    let data: Vec<Cell> = (0..k)
        .map(|cell| {
            let bytes = contents(&mut memory.random, cell);
            memory.cell(&bytes)
        })
        .collect();
    let data = slices(&data);
    let expected = common::parity_of(&rows, &data, len);
    let mut parity = memory.outputs(m, len);
    if input.to.uninit {
        let mut outputs: Vec<_> = slices_mut(&mut parity).into_iter().map(uninit).collect();
        code.encode_to(&data, &mut outputs, input.to.destination()).unwrap();
    } else {
        code.encode_to(&data, &mut slices_mut(&mut parity), input.to.destination()).unwrap();
    }
    equal(&parity, &expected);

    match input.then {
        Then::Verify { cell, offset } => {
            assert_eq!(code.verify(&data, &slices(&parity)), Ok(None));
            if len > 0 {
                let (cell, offset) = (usize::from(cell) % m, usize::from(offset) % len);
                parity[cell].get_mut()[offset] ^= 1 + (input.seed % 255) as u8;
                let found = code.verify(&data, &slices(&parity));
                assert_eq!(found, Ok(Some(Mismatch { cell: k + cell, offset })));
            }
        }
        Then::Short => {
            let ends: Vec<usize> =
                (0..k).map(|_| memory.random.below(3) * memory.random.below(len)).collect();
            let short: Vec<&[u8]> = data.iter().zip(ends).map(|(cell, end)| &cell[..end.min(len)]).collect();
            let mut outputs = memory.outputs(m, len);
            if input.to.uninit {
                let mut outputs: Vec<_> = slices_mut(&mut outputs).into_iter().map(uninit).collect();
                code.encode_short(&short, &mut outputs, input.to.destination()).unwrap();
            } else {
                code.encode_short(&short, &mut slices_mut(&mut outputs), input.to.destination()).unwrap();
            }
            equal(&outputs, &common::parity_of(&rows, &short, len));
        }
        Then::Slices { slice } => {
            let slice = (1 + usize::from(slice)).max(len / 64);
            let mut outputs = memory.outputs(m, len);
            let mut done = 0;
            code.encode_slices(&data, &mut slices_mut(&mut outputs), slice, |range, given, finished| {
                assert_eq!((range.start, range.end), (done, len.min(done + slice)));
                assert_eq!(given, data);
                let now = finished.iter().map(|cell| &cell[range.clone()]);
                assert!(now.eq(expected.iter().map(|cell| &cell[range.clone()])));
                done = range.end;
            })
            .unwrap();
            assert_eq!(done, len);
            equal(&outputs, &expected);
        }
        Then::Update { cell, by } => {
            let cell = usize::from(cell) % k;
            let new = memory.random.bytes(len);
            let difference: Vec<u8> = data[cell].iter().zip(&new).map(|(a, b)| a ^ b).collect();
            let new = memory.cell(&new);
            if by {
                code.update_by(cell, &difference, &mut slices_mut(&mut parity)).unwrap();
            } else {
                code.update(cell, data[cell], new.get(), &mut slices_mut(&mut parity)).unwrap();
            }
            let mut expected = expected;
            for (sum, row) in expected.iter_mut().zip(&rows) {
                add_product(sum, row[cell], &difference);
            }
            equal(&parity, &expected);
        }
        Then::Rebuild { lost, order, tell_zeros, storage, run, other } => {
            let mut random = Random(order);
            let mut cells: Vec<usize> = (0..k + m).collect();
            random.shuffle(&mut cells);
            let (lost, rest) = cells.split_at(1 + usize::from(lost) % m.min(9));
            let sources = &rest[..k];
            let all: Vec<&[u8]> = data.iter().copied().chain(slices(&parity)).collect();
            let zeros: CellSet = (0..k + m)
                .filter(|cell| tell_zeros && !lost.contains(cell) && all[*cell].iter().all(|&byte| byte == 0))
                .filter(|_| random.below(4) > 0)
                .collect();
            let stripe = Stripe { all: &all, rows: &rows, k, kind, lost, sources, zeros };
            let other = kernel(other);
            match storage {
                Storage::Boxed => {
                    stripe.check(code.plan_boxed(lost, sources, zeros), run, other, &mut memory);
                }
                Storage::Inline if k <= 14 && lost.len() <= 4 => {
                    let plan = code.plan_in(lost, sources, zeros, Inline::<14, 4>::default());
                    if let Ok(plan) = &plan {
                        assert!(*plan == code.plan_boxed(lost, sources, zeros).unwrap());
                    }
                    stripe.check(plan, run, other, &mut memory);
                }
                _ => {
                    let mut bytes = memory.random.bytes(plan_bytes(k, lost.len()));
                    stripe.check(code.plan_in(lost, sources, zeros, &mut bytes[..]), run, other, &mut memory);
                }
            }
        }
    }
}

fn equal(cells: &[Cell], expected: &[Vec<u8>]) {
    assert_eq!(cells.len(), expected.len());
    for (cell, expected) in cells.iter().zip(expected) {
        cell.check_canaries();
        assert!(cell.get() == expected);
    }
}

/// A stripe of which some cells are lost.
struct Stripe<'a> {
    all: &'a [&'a [u8]],
    rows: &'a [Vec<u8>],
    k: usize,
    kind: Kind,
    lost: &'a [usize],
    sources: &'a [usize],
    zeros: CellSet,
}

impl Stripe<'_> {
    fn check<S: PlanStorage>(
        &self,
        plan: Result<RebuildPlan<S>, Error>,
        run: Run,
        other: Kernel,
        memory: &mut Memory<'_>,
    ) {
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                assert!(matches!(self.kind, Kind::Unproven(..)), "{error}");
                assert!(matches!(error, Error::Singular { .. }), "{error}");
                let sources = self.sources.iter();
                let generator = sources.map(|&cell| common::generator_row(self.rows, self.k, cell));
                assert!(common::rank(generator.collect(), self.k) < self.k);
                return;
            }
        };
        self.coefficients(&plan);
        let input = memory.input;
        let len = self.all[0].len();
        let (at, end) = match run {
            Run::Range(start, end) if len > 0 => {
                let (start, end) = (usize::from(start) % (len + 1), usize::from(end) % (len + 1));
                (start.min(end), start.max(end))
            }
            _ => (0, len),
        };
        let expected: Vec<Vec<u8>> =
            plan.lost().iter().map(|&cell| self.all[usize::from(cell)][at..end].to_vec()).collect();
        let whole: Vec<&[u8]> = plan.sources().iter().map(|&cell| self.all[usize::from(cell)]).collect();
        // Sources of a range may end anywhere after it.
        let longer: Vec<&[u8]> =
            whole.iter().map(|cell| &cell[..end + memory.random.below(len - end + 1)]).collect();
        let mut outputs = memory.outputs(plan.lost().len(), end - at);
        {
            let mut outputs = slices_mut(&mut outputs);
            match run {
                Run::One if outputs.len() == 1 => {
                    if input.to.uninit {
                        plan.run_one(&whole, uninit(outputs[0])).unwrap();
                    } else {
                        plan.run_one(&whole, outputs[0]).unwrap();
                    }
                }
                Run::Range(..) if input.to.uninit => {
                    let mut outputs: Vec<_> = outputs.into_iter().map(uninit).collect();
                    plan.run_at(at, &longer, &mut outputs).unwrap();
                }
                Run::Range(..) => plan.run_at(at, &longer, &mut outputs).unwrap(),
                _ if input.to.uninit => {
                    let mut outputs: Vec<_> = outputs.into_iter().map(uninit).collect();
                    plan.run_to(&whole, &mut outputs, input.to.destination()).unwrap();
                }
                _ => plan.run_to(&whole, &mut outputs, input.to.destination()).unwrap(),
            }
        }
        equal(&outputs, &expected);

        let range: Vec<&[u8]> = whole.iter().map(|cell| &cell[at..end]).collect();
        let plan = plan.with_kernel(other);
        assert_eq!(plan.verify(&range, &slices(&outputs)), Ok(None));
        if at < end {
            let (position, offset) = (memory.random.below(outputs.len()), memory.random.below(end - at));
            outputs[position].get_mut()[offset] ^= 1 + memory.random.below(255) as u8;
            let mismatch = Mismatch { cell: usize::from(plan.lost()[position]), offset };
            assert_eq!(plan.verify(&range, &slices(&outputs)), Ok(Some(mismatch)));
        }
    }

    /// The plan names the cells that were named, and its coefficients times the sources' rows are the lost cells' rows.
    fn coefficients<S: PlanStorage>(&self, plan: &RebuildPlan<S>) {
        assert!(plan.lost().iter().map(|&cell| usize::from(cell)).eq(self.lost.iter().copied()));
        let read = self.sources.iter().filter(|&&cell| !self.zeros.contains(cell));
        if let Kind::Unproven(..) = self.kind {
            // Some may contribute nothing and are left out; the order stays.
            let mut read = read;
            assert!(plan.sources().iter().all(|&cell| read.any(|&named| named == usize::from(cell))));
        } else {
            assert!(plan.sources().iter().map(|&cell| usize::from(cell)).eq(read.copied()));
        }
        if self.k > 24 || !self.zeros.is_empty() {
            return;
        }
        for (position, &cell) in self.lost.iter().enumerate() {
            let mut sum = vec![0; self.k];
            for (source, &from) in plan.sources().iter().enumerate() {
                let row = common::generator_row(self.rows, self.k, usize::from(from));
                add_product(&mut sum, plan.coefficient(position, source).unwrap(), &row);
            }
            assert_eq!(sum, common::generator_row(self.rows, self.k, cell));
        }
    }
}
