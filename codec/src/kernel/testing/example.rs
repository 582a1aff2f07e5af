//! Sources with the outputs that their coefficients make, placed in memory and run on a kernel.

use core::fmt;
use std::sync::OnceLock;
use std::{vec, vec::Vec};

use super::arrangement::{Arrangement, random_bytes};
use super::memory::{Cell, End, Guarded};
use crate::gf::{mul, mul_bitwise};
use crate::kernel::{Destination, Job, Kernel};

/// How the cells of a run lie to each other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Alignment {
    AllAgree,
    FirstSourceDiffers,
    LastSourceDiffers,
    FirstOutputDiffers,
    LastOutputDiffers,
    /// The outputs agree, and the sources agree with none.
    OutputsAgree,
    /// The sources agree, and the outputs with none.
    SourcesAgree,
    /// Outputs agree to a short vector, but not to a line.
    OutputsAgreeToSixteen,
    AllDiffer,
}

pub(super) const ALIGNMENTS: [Alignment; 9] = [
    Alignment::AllAgree,
    Alignment::FirstSourceDiffers,
    Alignment::LastSourceDiffers,
    Alignment::FirstOutputDiffers,
    Alignment::LastOutputDiffers,
    Alignment::OutputsAgree,
    Alignment::SourcesAgree,
    Alignment::OutputsAgreeToSixteen,
    Alignment::AllDiffer,
];

/// Where cells start, modulo 64.
#[derive(Clone, Debug)]
pub(super) struct Places {
    sources: Vec<usize>,
    outputs: Vec<usize>,
}

impl Places {
    pub(super) fn new(alignment: Alignment, offset: usize, k: usize, m: usize) -> Self {
        let all = |n: usize, each: fn(usize) -> usize| (0..n).map(|i| offset + each(i)).collect();
        let (mut sources, mut outputs): (Vec<_>, Vec<_>) = (all(k, |_| 0), all(m, |_| 0));
        match alignment {
            Alignment::AllAgree => {}
            Alignment::FirstSourceDiffers => sources.iter_mut().take(1).for_each(|at| *at += 9),
            Alignment::LastSourceDiffers => sources.iter_mut().rev().take(1).for_each(|at| *at += 32),
            Alignment::FirstOutputDiffers => outputs.iter_mut().take(1).for_each(|at| *at += 8),
            Alignment::LastOutputDiffers => outputs.iter_mut().rev().take(1).for_each(|at| *at += 33),
            Alignment::OutputsAgree => sources = all(k, |j| 7 * j + 3),
            Alignment::SourcesAgree => outputs = all(m, |i| 13 * i + 5),
            Alignment::OutputsAgreeToSixteen => outputs = all(m, |i| 16 * i),
            Alignment::AllDiffer => (sources, outputs) = (all(k, |j| 5 * j), all(m, |i| 31 * i + 3)),
        }
        Self { sources, outputs }
    }
}

/// How one job is run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) len: usize,
    /// Bytes of the sources before those that are read; with any, there are as many behind.
    pub(super) at: usize,
    pub(super) to: Destination,
    pub(super) places: Places,
}

impl Run {
    pub(super) fn of(len: usize) -> Self {
        let places = Places { sources: vec![], outputs: vec![] };
        Self { len, at: 0, to: Destination::ReadSoon, places }
    }
}

/// Coefficients, sources, and the outputs that they make. A prefix of all cells is an example again.
pub(super) struct Example {
    pub(super) arrangement: Arrangement,
    pub(super) sources: Vec<Vec<u8>>,
    pub(super) outputs: Vec<Vec<u8>>,
    /// What the outputs hold before: not a byte of it is right.
    pub(super) wrong: Vec<Vec<u8>>,
}

impl Example {
    pub(super) fn random(arrangement: Arrangement, longest: usize) -> Self {
        // Miri has no time to multiply much: a prime number of bytes, again and again.
        let len = if cfg!(miri) { longest.min(67) } else { longest };
        let sources = (0..arrangement.k()).map(|j| random_bytes(j, len)).collect();
        let mut example = Self::with_length(arrangement, sources, len);
        for cell in [&mut example.sources, &mut example.outputs, &mut example.wrong].into_iter().flatten() {
            *cell = cell.repeat(longest.div_ceil(len));
            cell.truncate(longest);
        }
        example
    }

    pub(super) fn new(arrangement: Arrangement, sources: Vec<Vec<u8>>) -> Self {
        let len = sources[0].len();
        Self::with_length(arrangement, sources, len)
    }

    pub(super) fn with_length(arrangement: Arrangement, sources: Vec<Vec<u8>>, len: usize) -> Self {
        let mut outputs = vec![vec![0; len]; arrangement.rows.len()];
        let mut wrong = vec![vec![255; len]; outputs.len()];
        for ((row, output), wrong) in arrangement.rows.iter().zip(&mut outputs).zip(&mut wrong) {
            for (&coefficient, source) in row.iter().zip(&sources) {
                add_products(&mut output[..len], products(coefficient), &source[..len]);
                add_products(&mut wrong[..len], products(coefficient), &source[..len]);
            }
        }
        Self { arrangement, sources, outputs, wrong }
    }

    /// Sources and outputs.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.sources.len(), self.outputs.len())
    }

    pub(super) fn write(&self, kernel: Kernel, run: &Run) {
        let mut outputs = self.output_cells(run);
        self.job(run, &mut outputs, |job| kernel.write(self.arrangement.groups(), job, run.to));
        self.compare(&outputs, &self.outputs, format_args!("{kernel}, {run:?}"));
    }

    pub(super) fn add(&self, kernel: Kernel, run: &Run) {
        let mut outputs = self.output_cells(run);
        // What is there is the complement of the sum: added to it, all ones.
        self.job(run, &mut outputs, |job| kernel.add(self.arrangement.groups(), job));
        let ones = vec![vec![255; run.len]; self.outputs.len()];
        self.compare(&outputs, &ones, format_args!("{kernel}, added once, {run:?}"));
        self.job(run, &mut outputs, |job| kernel.add(self.arrangement.groups(), job));
        self.compare(&outputs, &self.wrong, format_args!("{kernel}, added twice, {run:?}"));
    }

    pub(super) fn output_cells(&self, run: &Run) -> Vec<Cell> {
        let place = |i: usize| run.places.outputs.get(i).copied().unwrap_or(0);
        self.wrong.iter().enumerate().map(|(i, wrong)| Cell::new(&wrong[..run.len], place(i))).collect()
    }

    pub(super) fn job(&self, run: &Run, outputs: &mut [Cell], job: impl FnOnce(&mut Job<'_, '_, u8>)) {
        let place = |j: usize| run.places.sources.get(j).copied().unwrap_or(0);
        let sources = self.sources.iter().enumerate();
        let sources: Vec<Cell> = sources.map(|(j, bytes)| Cell::new(&bytes[..run.len], place(j))).collect();
        let from: Vec<&[u8]> = sources.iter().map(|source| source.bytes(run.at, run.at)).collect();
        let mut into: Vec<&mut [u8]> = outputs.iter_mut().map(Cell::bytes_mut).collect();
        let done = if run.at == 0 {
            Job::whole(&from, &mut into, job)
        } else {
            Job::range(run.at, &from, &mut into, job)
        };
        done.unwrap();
    }

    /// Outputs hold the first bytes of `expected`, and nothing around them has changed.
    pub(super) fn compare(&self, found: &[Cell], expected: &[Vec<u8>], run: fmt::Arguments<'_>) {
        for (i, (cell, expected)) in found.iter().zip(expected).enumerate() {
            let found = cell.bytes(0, 0);
            if *found != expected[..found.len()] {
                let at = found.iter().zip(expected).position(|(a, b)| a != b);
                panic!("{}: output {i} is wrong from byte {at:?} on; {run}", self.arrangement);
            }
            assert!(cell.nothing_else_is_touched(), "{}: bytes beside output {i}; {run}", self.arrangement);
        }
    }

    pub(super) fn write_guarded(
        &self,
        kernel: Kernel,
        len: usize,
        to: Destination,
        sources: (&mut [Guarded], End),
        outputs: (&mut [Guarded], End),
    ) {
        let (from, mut into) = self.guarded(len, sources, outputs);
        Job::whole(&from, &mut into, |job| kernel.write(self.arrangement.groups(), job, to)).unwrap();
        for (found, expected) in into.into_iter().zip(&self.outputs) {
            assert!(*found == expected[..len], "{kernel}, {}, {len} bytes, {to:?}", self.arrangement);
        }
    }

    pub(super) fn add_guarded(
        &self,
        kernel: Kernel,
        len: usize,
        sources: (&mut [Guarded], End),
        outputs: (&mut [Guarded], End),
    ) {
        let (from, mut into) = self.guarded(len, sources, outputs);
        Job::whole(&from, &mut into, |job| kernel.add(self.arrangement.groups(), job)).unwrap();
        let right = into.iter().all(|found| **found == vec![255; len]);
        assert!(right, "{kernel}, {}, {len} bytes added", self.arrangement);
    }

    pub(super) fn guarded<'a>(
        &self,
        len: usize,
        sources: (&'a mut [Guarded], End),
        outputs: (&'a mut [Guarded], End),
    ) -> (Vec<&'a [u8]>, Vec<&'a mut [u8]>) {
        let from = sources.0.iter_mut().zip(&self.sources);
        let into = outputs.0.iter_mut().zip(&self.wrong);
        (
            from.map(|(cell, bytes)| &*cell.place(&bytes[..len], sources.1)).collect(),
            into.map(|(cell, bytes)| cell.place(&bytes[..len], outputs.1)).collect(),
        )
    }
}

/// sum += the products of the bytes of `source`. A plain loop: Miri takes a while for every call of an iterator.
fn add_products(sum: &mut [u8], products: &[u8; 256], source: &[u8]) {
    let mut i = 0;
    while i < sum.len() {
        sum[i] ^= products[source[i] as usize];
        i += 1;
    }
}

/// The products of a coefficient with every byte, by the definition.
fn products(coefficient: u8) -> &'static [u8; 256] {
    static PRODUCTS: [OnceLock<[u8; 256]>; 256] = [const { OnceLock::new() }; 256];
    PRODUCTS[usize::from(coefficient)].get_or_init(|| {
        let (mut products, mut byte) = ([0; 256], 0);
        while byte < 256 {
            // Under Miri by the logarithms, which tests of `gf.rs` compare with the bitwise products.
            let multiply = if cfg!(miri) { mul } else { mul_bitwise };
            products[byte] = multiply(coefficient, byte as u8);
            byte += 1;
        }
        products
    })
}
