//! What the codec's tests share: seeded random bytes, stripes computed a byte at a time, and cells with guards around them.
#![allow(dead_code)] // Each test file uses a part.

use std::sync::LazyLock;

use hedgerow_codec::{CellSet, Code, Kernel, Matrix, PlanStorage, RebuildPlan, code_bytes, gf};

/// Seeded random numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// The same items in another order.
    pub(crate) fn shuffled<T>(&mut self, items: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut items: Vec<T> = items.into_iter().collect();
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
        items
    }

    /// `count` of the cells 0 to `n` - 1, in random order.
    pub(crate) fn cells(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut cells = self.shuffled(0..n);
        cells.truncate(count);
        cells
    }
}

/// Every product, by shifting and adding.
static PRODUCTS: LazyLock<Vec<[u8; 256]>> =
    LazyLock::new(|| (0..=255).map(|a| std::array::from_fn(|b| gf::mul_bitwise(a, b as u8))).collect());

pub(crate) fn times(a: u8) -> &'static [u8; 256] {
    &PRODUCTS[usize::from(a)]
}

pub(crate) fn kernels() -> Vec<Kernel> {
    Kernel::available().collect()
}

pub(crate) fn code(kernel: Kernel, k: usize, m: usize, matrix: Matrix<'_>) -> Code<Vec<u8>> {
    Code::new_in(kernel, k, m, matrix, vec![0; code_bytes(k, m)]).unwrap()
}

/// The parity cells of `data` by the code's coefficients, a byte at a time.
pub(crate) fn parity_of(code: &Code<Vec<u8>>, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    (0..code.m())
        .map(|i| {
            let mut cell = vec![0; data[0].len()];
            for (j, source) in data.iter().enumerate() {
                let products = times(code.coefficient(i, j).unwrap());
                for (sum, &byte) in cell.iter_mut().zip(source) {
                    *sum ^= products[usize::from(byte)];
                }
            }
            cell
        })
        .collect()
}

/// All cells of a random stripe; those of `zeros` that hold data are zero.
pub(crate) fn stripe_with(
    code: &Code<Vec<u8>>,
    len: usize,
    zeros: CellSet,
    random: &mut Random,
) -> Vec<Vec<u8>> {
    let mut cells: Vec<Vec<u8>> = (0..code.k())
        .map(|cell| if zeros.contains(cell) { vec![0; len] } else { random.bytes(len) })
        .collect();
    cells.extend(parity_of(code, &cells));
    cells
}

pub(crate) fn stripe(code: &Code<Vec<u8>>, len: usize, random: &mut Random) -> Vec<Vec<u8>> {
    stripe_with(code, len, CellSet::EMPTY, random)
}

pub(crate) fn slices(cells: &[Vec<u8>]) -> Vec<&[u8]> {
    cells.iter().map(|cell| &cell[..]).collect()
}

pub(crate) fn slices_mut(cells: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(|cell| &mut cell[..]).collect()
}

/// The cells that a plan reads.
pub(crate) fn read<'a, S: PlanStorage>(plan: &RebuildPlan<S>, cells: &'a [Vec<u8>]) -> Vec<&'a [u8]> {
    plan.sources().iter().map(|&cell| &cells[usize::from(cell)][..]).collect()
}

/// The cells that a plan should write.
pub(crate) fn wanted<S: PlanStorage>(plan: &RebuildPlan<S>, cells: &[Vec<u8>]) -> Vec<Vec<u8>> {
    plan.lost().iter().map(|&cell| cells[usize::from(cell)].clone()).collect()
}

const PATTERN: u8 = 0xa5;

/// Outputs full of a pattern.
pub(crate) fn patterned(count: usize, len: usize) -> Vec<Vec<u8>> {
    vec![vec![PATTERN; len]; count]
}

pub(crate) fn is_patterned(cells: &[Vec<u8>]) -> bool {
    cells.iter().flatten().all(|&byte| byte == PATTERN)
}

/// A cell at a chosen offset modulo 64, with a pattern before, after and in it.
pub(crate) struct Guarded {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Guarded {
    pub(crate) fn new(offset: usize, len: usize) -> Self {
        let memory = vec![PATTERN; len + 256];
        let start = memory.as_ptr().addr().wrapping_neg() % 64 + 64 + offset % 64;
        Self { memory, start, len }
    }

    pub(crate) fn of(offset: usize, bytes: &[u8]) -> Self {
        let mut guarded = Self::new(offset, bytes.len());
        guarded.cell_mut().copy_from_slice(bytes);
        guarded
    }

    pub(crate) fn cell(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    pub(crate) fn cell_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }

    /// Whether nothing outside the cell was written.
    pub(crate) fn is_guarded(&self) -> bool {
        let (before, after) = (&self.memory[..self.start], &self.memory[self.start + self.len..]);
        before.iter().chain(after).all(|&byte| byte == PATTERN)
    }
}
