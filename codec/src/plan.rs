//! Rebuild plans: which sums of the cells that are there give the cells that are lost.

use core::borrow::Borrow;

use crate::gf;
use crate::kernel::{Group, Job};
use crate::storage::{Inline, PlanStorage};
use crate::view::{Mismatch, View, check_counts, compare};
use crate::{CellSet, Destination, Error, Kernel, OutputByte};

/// How to compute lost cells from others: made once, run on any byte range of any number of stripes, by any number of threads.
///
/// A plan is plain bytes: with [`Inline`] memory it is `Copy`. Two plans are equal if they name the same cells with the same
/// coefficients, whatever kernel runs them.
///
/// Only the lost cells that were named are written. They may be cells that are there, too: a plan for a
/// cell that is not lost shows, by [`RebuildPlan::verify`], whether it agrees with the sources.
#[derive(Clone, Copy)]
pub struct RebuildPlan<S> {
    kernel: Kernel,
    sources: u8,
    lost: u8,
    storage: S,
}

impl<S: PlanStorage> RebuildPlan<S> {
    pub(crate) fn new(
        code: &View<'_>,
        lost: impl IntoIterator<Item: Borrow<usize>>,
        sources: impl IntoIterator<Item: Borrow<usize>>,
        zeros: CellSet,
        storage: S,
    ) -> Result<Self, Error> {
        // Small codes, so that little memory is cleared.
        if code.k + code.m <= 32 {
            return Self::with_room::<32>(code, lost, sources, zeros, storage);
        }
        Self::with_room::<256>(code, lost, sources, zeros, storage)
    }

    /// For codes of at most N cells.
    #[inline]
    fn with_room<const N: usize>(
        code: &View<'_>,
        lost: impl IntoIterator<Item: Borrow<usize>>,
        sources: impl IntoIterator<Item: Borrow<usize>>,
        zeros: CellSet,
        storage: S,
    ) -> Result<Self, Error> {
        let (k, m) = (code.k, code.m);
        let mut seen = CellSet::EMPTY;
        let (lost, lost_count) = collect::<N>(lost, k + m, &mut seen)?;
        let (sources, source_count) = collect::<N>(sources, k + m, &mut seen)?;
        if lost_count == 0 || lost_count > m {
            return Err(Error::LostCount { limit: m, found: lost_count });
        }
        if source_count < k {
            return Err(Error::TooFewSources { needed: k, found: source_count });
        }
        if source_count > k {
            return Err(Error::SourceCount { expected: k, found: source_count });
        }
        let (lost, sources) = (&lost[..lost_count], &sources[..k]);
        for &cell in lost {
            if zeros.contains(usize::from(cell)) {
                return Err(Error::LostZero { index: usize::from(cell) });
            }
        }
        // As many parity cells among the sources as data cells that are not.
        let absent = sources.iter().filter(|&&cell| usize::from(cell) >= k).count();
        // A square of the smallest sufficient size: a plan for few lost cells is made in the time of a read from memory.
        match absent {
            0..=1 => solve::<1, S>(code, lost, sources, zeros, storage),
            2..=4 => solve::<4, S>(code, lost, sources, zeros, storage),
            5..=16 => solve::<16, S>(code, lost, sources, zeros, storage),
            _ => solve::<128, S>(code, lost, sources, zeros, storage),
        }
    }

    /// The cells to pass to [`RebuildPlan::run`], in this order: the sources as they were named, without those known to be zero
    /// and those that contribute nothing.
    #[must_use]
    #[inline]
    pub fn sources(&self) -> &[u8] {
        self.storage.parts(usize::from(self.sources), usize::from(self.lost)).sources
    }

    /// The cells that [`RebuildPlan::run`] writes, in this order: as they were named.
    #[must_use]
    #[inline]
    pub fn lost(&self) -> &[u8] {
        self.storage.parts(usize::from(self.sources), usize::from(self.lost)).lost
    }

    /// The coefficient of source position `source` in lost position `lost`.
    #[must_use]
    pub fn coefficient(&self, lost: usize, source: usize) -> Option<u8> {
        let (n, m) = (usize::from(self.sources), usize::from(self.lost));
        (lost < m && source < n).then(|| self.stream()[index(n, m, lost, source)])
    }

    /// The kernel that runs.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The same plan on another kernel.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Rebuilds whole cells, or the same byte range of all of them: `sources` as [`RebuildPlan::sources`] lists them,
    /// `outputs` as [`RebuildPlan::lost`]; all of one length.
    ///
    /// # Errors
    /// [`Error::SourceCount`], [`Error::OutputCount`], [`Error::SourceLength`], [`Error::OutputLength`].
    #[inline]
    pub fn run<B: OutputByte>(&self, sources: &[&[u8]], outputs: &mut [&mut [B]]) -> Result<(), Error> {
        self.run_to(sources, outputs, Destination::ReadSoon)
    }

    /// [`RebuildPlan::run`], told what happens to the outputs next.
    ///
    /// # Errors
    /// As [`RebuildPlan::run`].
    #[inline]
    pub fn run_to<B: OutputByte>(
        &self,
        sources: &[&[u8]],
        outputs: &mut [&mut [B]],
        to: Destination,
    ) -> Result<(), Error> {
        self.check_counts(sources.len(), outputs.len())?;
        Job::whole(sources, outputs, |job| self.kernel.write(self.groups(), job, to))
    }

    /// [`RebuildPlan::run`] for a plan with one lost cell.
    ///
    /// # Errors
    /// As [`RebuildPlan::run`].
    #[inline]
    pub fn run_one<B: OutputByte>(&self, sources: &[&[u8]], output: &mut [B]) -> Result<(), Error> {
        self.run(sources, &mut [output])
    }

    /// Rebuilds a byte range: bytes `at` to `at` + the outputs' length of `sources`, which may be longer (whole cells, say) and of
    /// different lengths.
    ///
    /// # Errors
    /// As [`RebuildPlan::run`], and [`Error::Range`].
    #[inline]
    pub fn run_at<B: OutputByte>(
        &self,
        at: usize,
        sources: &[&[u8]],
        outputs: &mut [&mut [B]],
    ) -> Result<(), Error> {
        self.check_counts(sources.len(), outputs.len())?;
        Job::range(at, sources, outputs, |job| self.kernel.write(self.groups(), job, Destination::ReadSoon))
    }

    /// Computes the lost cells again and compares, without writing: the first difference, or `None`. For cells just rebuilt this is
    /// HDFS's "decode back"; for a cell that is there it tells whether it agrees with the sources.
    ///
    /// # Errors
    /// As [`RebuildPlan::run`].
    pub fn verify(&self, sources: &[&[u8]], outputs: &[&[u8]]) -> Result<Option<Mismatch>, Error> {
        self.check_counts(sources.len(), outputs.len())?;
        let found = compare(self.kernel, self.groups(), sources, outputs)?;
        Ok(found.map(|(position, offset)| Mismatch { cell: usize::from(self.lost()[position]), offset }))
    }

    #[inline]
    pub(crate) fn check_counts(&self, sources: usize, outputs: usize) -> Result<(), Error> {
        check_counts(sources, usize::from(self.sources), outputs, usize::from(self.lost))
    }

    #[inline]
    fn stream(&self) -> &[u8] {
        self.storage.parts(usize::from(self.sources), usize::from(self.lost)).stream
    }

    /// The lost cells in groups of up to four.
    #[inline]
    fn groups(&self) -> impl Iterator<Item = Group<'_>> + Clone {
        let (n, m, stream) = (usize::from(self.sources), usize::from(self.lost), self.stream());
        (0..m.div_ceil(4)).map(move |g| {
            let rows = (m - 4 * g).min(4);
            Group::plain(rows, stream.get(4 * g * n..(4 * g + rows) * n).unwrap_or(&[]))
        })
    }

    /// The lost cells in groups of up to four, for the source at one position alone.
    #[inline]
    pub(crate) fn column(&self, source: usize) -> impl Iterator<Item = Group<'_>> + Clone {
        self.groups().map(move |group| {
            let rows = group.rows;
            Group::plain(rows, group.stream.get(source * rows..(source + 1) * rows).unwrap_or(&[]))
        })
    }
}

impl<const K: usize, const M: usize> RebuildPlan<Inline<K, M>> {
    /// A plan that computes nothing, to be replaced: no sources, no lost cells.
    #[must_use]
    pub fn empty() -> Self {
        Self { kernel: Kernel::SCALAR, sources: 0, lost: 0, storage: Inline::default() }
    }
}

impl<S: PlanStorage, T: PlanStorage> PartialEq<RebuildPlan<T>> for RebuildPlan<S> {
    fn eq(&self, other: &RebuildPlan<T>) -> bool {
        self.sources() == other.sources() && self.lost() == other.lost() && self.stream() == other.stream()
    }
}

impl<S: PlanStorage> Eq for RebuildPlan<S> {}

impl<S: PlanStorage> core::fmt::Debug for RebuildPlan<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RebuildPlan")
            .field("kernel", &self.kernel)
            .field("sources", &self.sources())
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}

/// Where a coefficient stands in the stream of a plan with n sources and m lost cells.
#[inline]
fn index(n: usize, m: usize, lost: usize, source: usize) -> usize {
    let first = lost / 4 * 4;
    first * n + source * (m - first).min(4) + lost % 4
}

/// Cell indices as given, each below `cells`, at most N, and named once in all.
#[inline]
fn collect<const N: usize>(
    given: impl IntoIterator<Item: Borrow<usize>>,
    cells: usize,
    seen: &mut CellSet,
) -> Result<([u8; N], usize), Error> {
    let (mut indices, mut n) = ([0; N], 0);
    for index in given {
        let index = *index.borrow();
        if index >= cells {
            return Err(Error::CellIndex { index, cells });
        }
        if !seen.insert(index) {
            return Err(Error::Duplicate { index });
        }
        indices[n] = index as u8;
        n += 1;
    }
    Ok((indices, n))
}

/// Makes the plan with squares of at most N x N.
///
/// With P the parity cells among the sources and E the data cells that are not, P = A[P, E] E + A[P, others] others, so E is the
/// inverse of A[P, E] times (P - A[P, others] others). Only that small square is inverted.
fn solve<const N: usize, S: PlanStorage>(
    code: &View<'_>,
    lost: &[u8],
    sources: &[u8],
    zeros: CellSet,
    mut storage: S,
) -> Result<RebuildPlan<S>, Error> {
    let k = code.k;
    let (mut parity, mut absent, mut e) = ([0; N], [0; N], 0);
    let (mut there, mut read) = (CellSet::EMPTY, 0);
    for source in sources.iter().map(|&source| usize::from(source)) {
        there.insert(source);
        read += usize::from(!zeros.contains(source));
        if source >= k && e < N {
            parity[e] = source - k;
            e += 1;
        }
    }
    for (slot, cell) in absent.iter_mut().zip((0..k).filter(|&cell| !there.contains(cell))) {
        *slot = cell;
    }
    let (parity, absent) = (&parity[..e], &absent[..e]);
    let mut square = [[0; N]; N];
    for (row, &p) in square.iter_mut().zip(parity) {
        for (slot, &j) in row.iter_mut().zip(absent) {
            *slot = code.at(p, j);
        }
    }
    invert(&mut square, e)?;

    // Sources that are zero, or that no lost cell depends on, are not read. With every k cells decoding, each lost cell depends on all.
    let mut idle = zeros;
    let equations = Equations { code, parity, absent, inverse: &square };
    if !code.decodes_from_any {
        let weights = |cell: &u8| equations.weights(usize::from(*cell));
        for source in sources.iter().map(|&source| usize::from(source)) {
            let unused = |cell: &u8| equations.coefficient(usize::from(*cell), &weights(cell), source) == 0;
            if lost.iter().all(unused) {
                read -= usize::from(idle.insert(source));
            }
        }
    }
    let (n, m) = (read, lost.len());
    let (needed, found) = storage.shortage(n, m);
    let Some(parts) = storage.parts_mut(n, m) else { return Err(Error::Storage { needed, found }) };
    let used = sources.iter().filter(|&&cell| !idle.contains(usize::from(cell)));
    for (slot, source) in parts.sources.iter_mut().zip(used) {
        *slot = *source;
    }
    parts.lost.copy_from_slice(lost);
    for (o, &cell) in lost.iter().enumerate() {
        let weights = equations.weights(usize::from(cell));
        for (j, &source) in parts.sources.iter().enumerate() {
            parts.stream[index(n, m, o, j)] =
                equations.coefficient(usize::from(cell), &weights, usize::from(source));
        }
    }
    Ok(RebuildPlan { kernel: code.kernel, sources: n as u8, lost: m as u8, storage })
}

/// What is known about the absent data cells once the square is inverted.
struct Equations<'a, const N: usize> {
    code: &'a View<'a>,
    /// Parity rows among the sources, in the order they were named.
    parity: &'a [usize],
    /// Data cells that are not among the sources.
    absent: &'a [usize],
    /// Row c: how the parity sources, freed of the data that is there, make absent cell c.
    inverse: &'a [[u8; N]; N],
}

impl<const N: usize> Equations<'_, N> {
    /// What each parity source weighs in a lost cell: lost data is a row of the inverse, lost parity its own row times the inverse.
    #[inline]
    fn weights(&self, cell: usize) -> [u8; N] {
        let mut weights = [0; N];
        for (&j, row) in self.absent.iter().zip(self.inverse) {
            let factor = match cell.checked_sub(self.code.k) {
                None => u8::from(cell == j),
                Some(parity) => self.code.at(parity, j),
            };
            if factor != 0 {
                for (weight, &x) in weights.iter_mut().zip(row).take(self.absent.len()) {
                    *weight ^= gf::mul(factor, x);
                }
            }
        }
        weights
    }

    /// The coefficient of a source in a lost cell with these weights.
    #[inline]
    fn coefficient(&self, cell: usize, weights: &[u8; N], source: usize) -> u8 {
        let k = self.code.k;
        if source >= k {
            let position = self.parity.iter().position(|&p| p == source - k);
            return position.map_or(0, |position| weights[position]);
        }
        let own = if cell < k { 0 } else { self.code.at(cell - k, source) };
        let through = |sum: u8, (&p, &weight): (&usize, &u8)| sum ^ gf::mul(weight, self.code.at(p, source));
        self.parity.iter().zip(weights).fold(own, through)
    }
}

/// Inverts the first `size` rows and columns in place.
#[inline]
fn invert<const N: usize>(square: &mut [[u8; N]; N], size: usize) -> Result<(), Error> {
    let mut exchanged = [0; N];
    for c in 0..size {
        let Some(pivot) = (c..size).find(|&r| square[r][c] != 0) else {
            return Err(Error::Singular { rank: c, needed: size });
        };
        square.swap(pivot, c);
        exchanged[c] = pivot;
        let inverse = gf::inv(square[c][c]);
        square[c][c] = 1;
        for x in &mut square[c][..size] {
            *x = gf::mul(*x, inverse);
        }
        let row = square[c];
        for (_, other) in square.iter_mut().take(size).enumerate().filter(|&(r, _)| r != c) {
            let factor = other[c];
            if factor != 0 {
                other[c] = 0;
                for (x, &y) in other[..size].iter_mut().zip(&row[..size]) {
                    *x ^= gf::mul(factor, y);
                }
            }
        }
    }
    // Rows were exchanged on the way in, so columns are exchanged back, the last first.
    for c in (0..size).rev() {
        for row in square.iter_mut().take(size) {
            row.swap(c, exchanged[c]);
        }
    }
    Ok(())
}

/// The cheapest cells that determine all data cells, for codes that do not decode from every k: cells in ascending cost are taken
/// if they add to the rank of those taken before, which is optimal for linear independence.
pub(crate) fn independent(code: &View<'_>, by_cost: impl Iterator<Item = usize>) -> Result<CellSet, Error> {
    match code.k {
        ..=16 => independent_in::<16>(code, by_cost),
        17..=64 => independent_in::<64>(code, by_cost),
        _ => independent_in::<256>(code, by_cost),
    }
}

fn independent_in<const N: usize>(
    code: &View<'_>,
    by_cost: impl Iterator<Item = usize>,
) -> Result<CellSet, Error> {
    let k = code.k;
    let (mut chosen, mut seen) = (CellSet::EMPTY, 0);
    // Row j is a sum of chosen cells' rows that starts with a 1 at column j.
    let (mut basis, mut has) = ([[0; N]; N], [false; N]);
    for cell in by_cost {
        seen += 1;
        let mut row = [0; N];
        for (j, x) in row.iter_mut().enumerate().take(k) {
            *x = if cell < k { u8::from(j == cell) } else { code.at(cell - k, j) };
        }
        for j in 0..k {
            let factor = row[j];
            if factor == 0 {
                continue;
            }
            if !has[j] {
                let inverse = gf::inv(factor);
                for x in &mut row[..k] {
                    *x = gf::mul(*x, inverse);
                }
                (basis[j], has[j]) = (row, true);
                chosen = chosen.with(cell);
                break;
            }
            for (x, &y) in row[..k].iter_mut().zip(&basis[j][..k]) {
                *x ^= gf::mul(factor, y);
            }
        }
        if chosen.len() == k {
            return Ok(chosen);
        }
    }
    if seen < k {
        return Err(Error::TooFewSources { needed: k, found: seen });
    }
    Err(Error::Singular { rank: chosen.len(), needed: k })
}
