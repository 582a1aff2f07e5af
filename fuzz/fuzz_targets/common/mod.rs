//! What the codec's targets share: cells with canaries, codes of every kind behind one trait, and parity computed a
//! second way.
// Every target is a crate of its own and uses a part of this.
#![allow(dead_code)]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use hedgerow_codec::{
    CellSet, Code, Destination, Error, Kernel, Matrix, Mismatch, OutputByte, PlanStorage, RebuildPlan,
    ReedSolomon, gf,
};

/// A kernel that this CPU runs. They are looked for once: asking the CPU traps in virtual machines.
pub fn kernel(choice: u8) -> Kernel {
    static KERNELS: LazyLock<Vec<Kernel>> = LazyLock::new(|| Kernel::available().collect());
    KERNELS[usize::from(choice) % KERNELS.len()]
}

/// All products by shifting and adding.
static PRODUCTS: LazyLock<Vec<[u8; 256]>> =
    LazyLock::new(|| (0..=255).map(|a| std::array::from_fn(|b| gf::mul_bitwise(a, b as u8))).collect());

pub fn product(a: u8, b: u8) -> u8 {
    PRODUCTS[usize::from(a)][usize::from(b)]
}

fn power(base: u8, exponent: usize) -> u8 {
    (0..exponent).fold(1, |power, _| product(power, base))
}

/// `sum` += `coefficient` x `bytes`, over the bytes there are.
pub fn add_product(sum: &mut [u8], coefficient: u8, bytes: &[u8]) {
    let products = &PRODUCTS[usize::from(coefficient)];
    for (sum, &byte) in sum.iter_mut().zip(bytes) {
        *sum ^= products[usize::from(byte)];
    }
}

/// The parity cells of data cells that may be shorter than `len`, byte by byte from the coefficients.
pub fn parity_of(rows: &[Vec<u8>], data: &[&[u8]], len: usize) -> Vec<Vec<u8>> {
    let parity = rows.iter().map(|row| {
        let mut sum = vec![0; len];
        row.iter().zip(data).for_each(|(&coefficient, cell)| add_product(&mut sum, coefficient, cell));
        sum
    });
    parity.collect()
}

/// The rank of rows of k elements.
pub fn rank(mut rows: Vec<Vec<u8>>, k: usize) -> usize {
    let mut rank = 0;
    for column in 0..k {
        let Some(pivot) = (rank..rows.len()).find(|&r| rows[r][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let inverse = (1..=255).find(|&x| product(x, rows[rank][column]) == 1).unwrap();
        let row = rows[rank].clone();
        for other in &mut rows[rank + 1..] {
            let factor = product(other[column], inverse);
            add_product(other, factor, &row);
        }
        rank += 1;
    }
    rank
}

/// The row of the generator matrix that gives `cell`.
pub fn generator_row(rows: &[Vec<u8>], k: usize, cell: usize) -> Vec<u8> {
    if cell < k { (0..k).map(|j| u8::from(j == cell)).collect() } else { rows[cell - k].clone() }
}

/// SplitMix64: contents and orders that the fuzzer need not find byte by byte.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(len).collect()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// A cell somewhere in memory, with canaries before it and either canaries or the end of the allocation after it.
pub struct Cell {
    memory: Vec<u8>,
    range: Range<usize>,
}

/// How many bytes past a multiple of 64 a cell starts, and whether the allocation ends with it.
#[derive(Clone, Copy)]
pub struct Place {
    pub offset: usize,
    pub at_the_end: bool,
}

impl Cell {
    pub fn new(contents: &[u8], place: Place) -> Self {
        let len = contents.len();
        let (mut memory, start) = if place.at_the_end {
            (vec![0; 64 + place.offset + len], 64 + place.offset)
        } else {
            let memory = vec![0; 64 + 63 + 63 + len + 64];
            let start = 64 + memory[64..].as_ptr().align_offset(64) + place.offset;
            (memory, start)
        };
        memory.iter_mut().enumerate().for_each(|(i, byte)| *byte = Self::canary(i));
        let range = start..start + len;
        memory[range.clone()].copy_from_slice(contents);
        Self { memory, range }
    }

    fn canary(i: usize) -> u8 {
        (i as u8).wrapping_mul(31) ^ 0xa5
    }

    pub fn get(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }

    pub fn get_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.range.clone()]
    }

    /// Nothing outside the cell has been written.
    pub fn check_canaries(&self) {
        let outside = self.memory.iter().enumerate().filter(|(i, _)| !self.range.contains(i));
        for (i, &byte) in outside {
            assert_eq!(byte, Self::canary(i), "byte {i} is outside {:?} and was written", self.range);
        }
    }
}

pub fn slices(cells: &[Cell]) -> Vec<&[u8]> {
    cells.iter().map(Cell::get).collect()
}

pub fn slices_mut(cells: &mut [Cell]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(Cell::get_mut).collect()
}

/// Bytes as memory that need not be initialised.
pub fn uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: the same memory; the codec writes initialised bytes only.
    unsafe { &mut *(bytes as *mut [u8] as *mut [MaybeUninit<u8>]) }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Kind {
    Cauchy,
    Vandermonde,
    HdfsLegacy,
    Xor,
    /// The Cauchy matrix with rows and columns multiplied by numbers, which decodes from every k cells too.
    Scaled(u64),
    /// Numbers out of the first few: rows that repeat and swap, zeros, cells that determine nothing.
    Unproven(u64, u8),
}

/// Which code.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Spec {
    pub which: u8,
    k: u8,
    m: u8,
    kind: Kind,
}

impl Spec {
    /// Schema and matrix of the run-time code: small ones mostly.
    pub fn schema(self) -> (usize, usize, Kind) {
        let (mut k, mut m) = (1 + usize::from(self.k) % 14, 1 + usize::from(self.m) % 7);
        let mut kind = self.kind;
        if self.which % 32 == 31 {
            k = 1 + usize::from(self.k) % 255;
            m = 1 + usize::from(self.m) % (256 - k);
            // Proofs, and ranks computed a second way, take long for large schemas.
            if let Kind::Scaled(_) | Kind::Unproven(..) = kind {
                kind = Kind::Cauchy;
            }
        }
        match kind {
            Kind::Xor => m = 1,
            Kind::HdfsLegacy if k + m > 255 => (k, m) = if m > 1 { (k, m - 1) } else { (k - 1, m) },
            Kind::Scaled(_) => (k, m) = (1 + k % 5, 1 + m % 4),
            _ => {}
        }
        (k, m, kind)
    }

    pub fn rows(kind: Kind, k: usize, m: usize) -> Vec<u8> {
        let inverse = |x: usize| (1..=255).find(|&y| product(x as u8, y) == 1).unwrap();
        match kind {
            Kind::Scaled(seed) => {
                let mut random = Random(seed);
                let factors: Vec<u8> = (0..k + m).map(|_| 1 + random.below(255) as u8).collect();
                let scaled = |i, j| product(product(factors[j], factors[k + i]), inverse((k + i) ^ j));
                (0..m).flat_map(|i| (0..k).map(move |j| (i, j))).map(|(i, j)| scaled(i, j)).collect()
            }
            Kind::Unproven(seed, numbers) => {
                let mut random = Random(seed);
                let numbers = [2, 3, 4, 8, 256][usize::from(numbers) % 5];
                (0..k * m).map(|_| random.below(numbers) as u8).collect()
            }
            _ => vec![],
        }
    }

    pub fn matrix(kind: Kind, rows: &[u8]) -> Matrix<'_> {
        match kind {
            Kind::Cauchy => Matrix::Cauchy,
            Kind::Vandermonde => Matrix::Vandermonde,
            Kind::HdfsLegacy => Matrix::HdfsLegacy,
            Kind::Xor => Matrix::Xor,
            Kind::Scaled(_) => Matrix::Rows(rows),
            Kind::Unproven(..) => Matrix::RowsUnproven(rows),
        }
    }
}

/// Runs `$body` with `$code` (a reference) as the code of a [`Spec`], and `$kind` as its matrix.
macro_rules! with_code {
    ($spec:expr, $kernel:expr, |$code:ident, $kind:ident| $body:expr) => {{
        let (spec, kernel): (common::Spec, hedgerow_codec::Kernel) = ($spec, $kernel);
        macro_rules! constant {
            ($kd:expr, $made:expr) => {{
                let ($code, $kind) = (&$made, $kd);
                $body
            }};
        }
        use common::Kind::*;
        use hedgerow_codec::ReedSolomon;
        match spec.which % 32 {
            0 => constant!(Cauchy, ReedSolomon::<6, 3>::new(kernel)),
            1 => constant!(Cauchy, ReedSolomon::<3, 2>::new(kernel)),
            2 => constant!(Cauchy, ReedSolomon::<10, 4>::new(kernel)),
            3 => constant!(Cauchy, ReedSolomon::<12, 3>::new(kernel)),
            4 => constant!(Cauchy, ReedSolomon::<7, 3>::new(kernel)),
            5 => constant!(Vandermonde, ReedSolomon::<6, 3>::vandermonde(kernel)),
            6 => constant!(Vandermonde, ReedSolomon::<8, 6>::vandermonde(kernel)),
            7 => constant!(
                HdfsLegacy,
                ReedSolomon::<6, 3>::with_matrix(kernel, hedgerow_codec::Matrix::HdfsLegacy).unwrap()
            ),
            _ => {
                let (k, m, kind) = spec.schema();
                let rows = common::Spec::rows(kind, k, m);
                let matrix = common::Spec::matrix(kind, &rows);
                let code = hedgerow_codec::Code::new(kernel, k, m, matrix).unwrap();
                let ($code, $kind) = (&code, kind);
                $body
            }
        }
    }};
}

/// The coefficients of a code, which are those of its matrix's definition.
pub fn rows_of<C: Coder>(code: &C, kind: Kind) -> Vec<Vec<u8>> {
    let (k, m) = (code.k(), code.m());
    let row = |i| (0..k).map(|j| code.coefficient(i, j).unwrap()).collect();
    let rows: Vec<Vec<u8>> = (0..m).map(row).collect();
    assert_eq!((code.coefficient(m, 0), code.coefficient(0, k)), (None, None));
    // The definitions of the other two take k m (k + m) steps.
    let small = k + m <= 24;
    for (i, row) in rows.iter().enumerate() {
        match kind {
            Kind::Cauchy => assert!((0..k).all(|j| product(row[j], ((k + i) ^ j) as u8) == 1)),
            Kind::Xor => assert!(row.iter().all(|&x| x == 1)),
            Kind::Scaled(_) | Kind::Unproven(..) => {
                assert_eq!(row, &Spec::rows(kind, k, m)[i * k..(i + 1) * k]);
            }
            // A polynomial of degree below k has the same value at k + i, interpolated from those at 0 to k - 1.
            Kind::Vandermonde if small => {
                for degree in 0..k {
                    let value = (0..k).fold(0, |sum, j| sum ^ product(row[j], power(j as u8, degree)));
                    assert_eq!(value, power((k + i) as u8, degree));
                }
            }
            _ => {}
        }
    }
    if let Kind::HdfsLegacy = kind
        && small
    {
        // x^(j + m) and its remainder agree at the roots of the divisor.
        for (j, root) in (0..k).flat_map(|j| (0..m).map(move |r| (j, power(2, r)))) {
            let remainder = (0..m).fold(0, |sum, i| sum ^ product(rows[i][j], power(root, i)));
            assert_eq!(remainder, power(root, j + m));
        }
    }
    rows
}

/// What both types of codes do.
pub trait Coder {
    fn k(&self) -> usize;
    fn m(&self) -> usize;
    fn coefficient(&self, parity: usize, data: usize) -> Option<u8>;
    fn encode_to<B: OutputByte>(
        &self,
        data: &[&[u8]],
        parity: &mut [&mut [B]],
        to: Destination,
    ) -> Result<(), Error>;
    fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) -> Result<(), Error>;
    fn encode_slices(
        &self,
        data: &[&[u8]],
        parity: &mut [&mut [u8]],
        slice: usize,
        finished: impl FnMut(Range<usize>, &[&[u8]], &[&mut [u8]]),
    ) -> Result<(), Error>;
    fn encode_short<B: OutputByte>(
        &self,
        data: &[&[u8]],
        parity: &mut [&mut [B]],
        to: Destination,
    ) -> Result<(), Error>;
    fn update(&self, cell: usize, old: &[u8], new: &[u8], parity: &mut [&mut [u8]]) -> Result<(), Error>;
    fn update_by(&self, cell: usize, difference: &[u8], parity: &mut [&mut [u8]]) -> Result<(), Error>;
    fn verify(&self, data: &[&[u8]], parity: &[&[u8]]) -> Result<Option<Mismatch>, Error>;
    fn plan_in<P: PlanStorage>(
        &self,
        lost: &[usize],
        sources: &[usize],
        zeros: CellSet,
        storage: P,
    ) -> Result<RebuildPlan<P>, Error>;
    fn plan_boxed(
        &self,
        lost: &[usize],
        sources: &[usize],
        zeros: CellSet,
    ) -> Result<RebuildPlan<Box<[u8]>>, Error>;
    fn cheapest(&self, lost: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error>;
    fn minimum_to_read(&self, wanted: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error>;
}

macro_rules! coder {
    ($($head:tt)*) => {
        $($head)* {
            fn k(&self) -> usize {
                self.k()
            }
            fn m(&self) -> usize {
                self.m()
            }
            fn coefficient(&self, parity: usize, data: usize) -> Option<u8> {
                self.coefficient(parity, data)
            }
            fn encode_to<B: OutputByte>(
                &self,
                data: &[&[u8]],
                parity: &mut [&mut [B]],
                to: Destination,
            ) -> Result<(), Error> {
                self.encode_to(data, parity, to)
            }
            fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) -> Result<(), Error> {
                self.encode(data, parity)
            }
            fn encode_slices(
                &self,
                data: &[&[u8]],
                parity: &mut [&mut [u8]],
                slice: usize,
                finished: impl FnMut(Range<usize>, &[&[u8]], &[&mut [u8]]),
            ) -> Result<(), Error> {
                self.encode_slices(data, parity, slice, finished)
            }
            fn encode_short<B: OutputByte>(
                &self,
                data: &[&[u8]],
                parity: &mut [&mut [B]],
                to: Destination,
            ) -> Result<(), Error> {
                self.encode_short(data, parity, to)
            }
            fn update(
                &self,
                cell: usize,
                old: &[u8],
                new: &[u8],
                parity: &mut [&mut [u8]],
            ) -> Result<(), Error> {
                self.update(cell, old, new, parity)
            }
            fn update_by(
                &self,
                cell: usize,
                difference: &[u8],
                parity: &mut [&mut [u8]],
            ) -> Result<(), Error> {
                self.update_by(cell, difference, parity)
            }
            fn verify(&self, data: &[&[u8]], parity: &[&[u8]]) -> Result<Option<Mismatch>, Error> {
                self.verify(data, parity)
            }
            fn plan_in<P: PlanStorage>(
                &self,
                lost: &[usize],
                sources: &[usize],
                zeros: CellSet,
                storage: P,
            ) -> Result<RebuildPlan<P>, Error> {
                self.plan_in(lost, sources, zeros, storage)
            }
            fn plan_boxed(
                &self,
                lost: &[usize],
                sources: &[usize],
                zeros: CellSet,
            ) -> Result<RebuildPlan<Box<[u8]>>, Error> {
                self.plan_boxed(lost, sources, zeros)
            }
            fn cheapest(&self, lost: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error> {
                self.cheapest(lost, costs)
            }
            fn minimum_to_read(&self, wanted: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error> {
                self.minimum_to_read(wanted, costs)
            }
        }
    };
}

coder!(impl<const K: usize, const M: usize> Coder for ReedSolomon<K, M>);
coder!(impl<S: AsRef<[u8]> + AsMut<[u8]>> Coder for Code<S>);
