//! What a code does, over borrowed coefficients: the one implementation behind the types of `code.rs`.

use core::ops::Range;

use crate::dyadic::{Shape, groups};
use crate::kernel::{Form, Group, Job};
use crate::plan::independent;
use crate::{CellSet, Destination, Error, Kernel, OutputByte};

/// Bytes of each cell that [`View::verify`] computes at a time.
const VERIFY_STEP: usize = 1024;

/// Where a check found a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mismatch {
    /// The cell (0 to k + m - 1) whose bytes differ from what the other cells say.
    pub cell: usize,
    /// The first byte of it that differs.
    pub offset: usize,
}

/// A code's coefficients, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) k: usize,
    pub(crate) m: usize,
    /// Every k cells are known to decode.
    pub(crate) decodes_from_any: bool,
    /// m rows of k.
    pub(crate) rows: &'a [u8],
    /// The same as kernels read them; see `dyadic.rs`.
    pub(crate) stream: &'a [u8],
    pub(crate) order: &'a [u8],
    pub(crate) shapes: &'a [Shape],
}

impl<'a> View<'a> {
    /// Coefficient of data cell `j` in parity row `i`.
    #[inline]
    pub(crate) fn at(&self, i: usize, j: usize) -> u8 {
        self.rows[i * self.k + j]
    }

    /// The parity rows, in groups of up to four.
    #[inline]
    fn groups(&self) -> impl Iterator<Item = Group<'a>> + Clone + use<'a> {
        let (k, stream, order) = (self.k, self.stream, self.order);
        self.shapes.iter().enumerate().map(move |(g, &[form, rows, quads, pairs])| Group {
            form: Form::from_number(form),
            rows: usize::from(rows),
            order: order.get(g * k..(g + 1) * k).unwrap_or(&[]),
            quads: usize::from(quads),
            pairs: usize::from(pairs),
            stream: stream.get(4 * g * k..(4 * g + usize::from(rows)) * k).unwrap_or(&[]),
        })
    }

    #[inline]
    fn check_counts(&self, data: usize, parity: usize) -> Result<(), Error> {
        check_counts(data, self.k, parity, self.m)
    }

    #[inline]
    pub(crate) fn encode<B: OutputByte>(
        &self,
        data: &[&[u8]],
        parity: &mut [&mut [B]],
        to: Destination,
    ) -> Result<(), Error> {
        self.check_counts(data.len(), parity.len())?;
        Job::whole(data, parity, |job| self.kernel.write(self.groups(), job, to))
    }

    pub(crate) fn encode_slices(
        &self,
        data: &[&[u8]],
        parity: &mut [&mut [u8]],
        slice: usize,
        mut finished: impl FnMut(Range<usize>, &[&[u8]], &[&mut [u8]]),
    ) -> Result<(), Error> {
        self.check_counts(data.len(), parity.len())?;
        if slice == 0 {
            return Err(Error::SliceLength);
        }
        Job::whole(data, parity, |_| ())?;
        let len = parity.first().map_or(0, |cell| cell.len());
        let mut start = 0_usize;
        while start < len {
            let end = len.min(start.saturating_add(slice));
            Job::window((start, start, end - start), data, parity, |job| {
                self.kernel.write(self.groups(), job, Destination::ReadSoon);
            })?;
            finished(start..end, data, parity);
            start = end;
        }
        Ok(())
    }

    pub(crate) fn encode_short<B: OutputByte>(
        &self,
        data: &[&[u8]],
        parity: &mut [&mut [B]],
        to: Destination,
    ) -> Result<(), Error> {
        self.check_counts(data.len(), parity.len())?;
        let len = parity.first().map_or(0, |cell| cell.len());
        if let Some(position) = parity.iter().position(|cell| cell.len() != len) {
            return Err(Error::OutputLength { position, expected: len, found: parity[position].len() });
        }
        if let Some(position) = data.iter().position(|cell| cell.len() > len) {
            return Err(Error::SourceLength { position, expected: len, found: data[position].len() });
        }
        // Between two lengths that occur, the same cells have bytes: the others are zero there and are left out.
        let mut start = 0_usize;
        while start < len {
            let end = data.iter().map(|cell| cell.len()).filter(|&end| end > start).min().unwrap_or(len);
            let (mut present, mut columns, mut n) = ([&[][..]; 256], [0; 256], 0);
            for (j, cell) in data.iter().enumerate().filter(|(_, cell)| cell.len() > start) {
                (present[n], columns[n]) = (cell, j as u8);
                n += 1;
            }
            for g in 0..groups(self.m) {
                let count = (self.m - 4 * g).min(4);
                let mut stream = [0; 4 * 256];
                for (column, &j) in stream.chunks_exact_mut(count).zip(&columns[..n]) {
                    for (i, coefficient) in column.iter_mut().enumerate() {
                        *coefficient = self.at(4 * g + i, usize::from(j));
                    }
                }
                let group = core::iter::once(Group::plain(count, &stream[..n * count]));
                let rows = &mut parity[4 * g..4 * g + count];
                Job::window((start, start, end - start), &present[..n], rows, |job| {
                    self.kernel.write(group, job, to);
                })?;
            }
            start = end;
        }
        Ok(())
    }

    pub(crate) fn update(
        &self,
        cell: usize,
        changes: &[&[u8]],
        parity: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        if cell >= self.k {
            return Err(Error::CellIndex { index: cell, cells: self.k });
        }
        check_counts(changes.len(), changes.len(), parity.len(), self.m)?;
        Job::whole(changes, parity, |_| ())?;
        // Old and new bytes are two sources with the same coefficients: their sum is the difference.
        for (g, rows) in parity.chunks_mut(4).enumerate() {
            let (mut stream, count) = ([0; 8], rows.len());
            for (i, coefficient) in stream.iter_mut().take(changes.len() * count).enumerate() {
                *coefficient = self.at(4 * g + i % count, cell);
            }
            let group = core::iter::once(Group::plain(count, &stream[..changes.len() * count]));
            Job::whole(changes, rows, |job| self.kernel.add(group, job))?;
        }
        Ok(())
    }

    pub(crate) fn verify(&self, data: &[&[u8]], parity: &[&[u8]]) -> Result<Option<Mismatch>, Error> {
        self.check_counts(data.len(), parity.len())?;
        let found = compare(self.kernel, self.groups(), data, parity)?;
        Ok(found.map(|(position, offset)| Mismatch { cell: self.k + position, offset }))
    }

    pub(crate) fn cheapest(&self, lost: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error> {
        let n = self.k + self.m;
        if costs.len() != n {
            return Err(Error::SourceCount { expected: n, found: costs.len() });
        }
        if let Some(index) = lost.difference(CellSet::first(n)).lowest() {
            return Err(Error::CellIndex { index, cells: n });
        }
        self.cheapest_by(lost, |cell| costs[cell])
    }

    /// The k cells not in `lost` that come first by `cost`, lowest index first, and that determine all data cells.
    fn cheapest_by<C: Ord>(
        &self,
        lost: CellSet,
        cost: impl Fn(usize) -> Option<C>,
    ) -> Result<CellSet, Error> {
        // Each time the next cheapest by a pass over the costs: there is no memory to sort in.
        let mut passed = lost;
        let by_cost = core::iter::from_fn(|| {
            let left = (0..self.k + self.m).filter(|&cell| !passed.contains(cell));
            let (_, cell) = left.filter_map(|cell| cost(cell).map(|cost| (cost, cell))).min()?;
            passed = passed.with(cell);
            Some(cell)
        });
        if !self.decodes_from_any {
            return independent(self, by_cost);
        }
        let chosen: CellSet = by_cost.take(self.k).collect();
        if chosen.len() < self.k {
            return Err(Error::TooFewSources { needed: self.k, found: chosen.len() });
        }
        Ok(chosen)
    }

    pub(crate) fn minimum(&self, wanted: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error> {
        let n = self.k + self.m;
        if let Some(index) = wanted.difference(CellSet::first(n)).lowest() {
            return Err(Error::CellIndex { index, cells: n });
        }
        if costs.len() != n {
            return Err(Error::SourceCount { expected: n, found: costs.len() });
        }
        if wanted.iter().all(|cell| costs[cell].is_some()) {
            return Ok(wanted);
        }
        // What is wanted and there is read in any case, so it comes first as a source.
        let there: CellSet = wanted.iter().filter(|&cell| costs[cell].is_some()).collect();
        let cost = |cell: usize| costs[cell].map(|cost| (!there.contains(cell), cost));
        Ok(self.cheapest_by(wanted.difference(there), cost)?.union(there))
    }
}

#[inline]
pub(crate) fn check_counts(
    sources: usize,
    expected_sources: usize,
    outputs: usize,
    expected_outputs: usize,
) -> Result<(), Error> {
    if sources != expected_sources {
        return Err(Error::SourceCount { expected: expected_sources, found: sources });
    }
    if outputs != expected_outputs {
        return Err(Error::OutputCount { expected: expected_outputs, found: outputs });
    }
    Ok(())
}

/// Computes what `outputs` should be, a piece at a time, and says where (output, offset) they differ: the lowest output that differs
/// in the first piece in which one does, and its first byte that does.
pub(crate) fn compare<'a>(
    kernel: Kernel,
    groups: impl Iterator<Item = Group<'a>> + Clone,
    sources: &'a [&'a [u8]],
    outputs: &[&[u8]],
) -> Result<Option<(usize, usize)>, Error> {
    let len = sources.iter().chain(outputs).next().map_or(0, |cell| cell.len());
    if let Some(position) = outputs.iter().position(|output| output.len() != len) {
        return Err(Error::OutputLength { position, expected: len, found: outputs[position].len() });
    }
    if let Some(position) = sources.iter().position(|source| source.len() != len) {
        return Err(Error::SourceLength { position, expected: len, found: sources[position].len() });
    }
    let mut buffers = [[0; VERIFY_STEP]; 4];
    let mut start = 0_usize;
    while start < len {
        let step = VERIFY_STEP.min(len - start);
        let mut row = 0;
        for group in groups.clone() {
            let mut parts = buffers.each_mut().map(|buffer| &mut buffer[..step]);
            Job::range(start, sources, &mut parts[..group.rows], |job| {
                kernel.write(core::iter::once(group), job, Destination::ReadSoon);
            })?;
            for (i, part) in parts[..group.rows].iter().enumerate() {
                let there = &outputs[row + i][start..start + step];
                if there != &part[..] {
                    let offset = there.iter().zip(&part[..]).position(|(a, b)| a != b).unwrap_or(0);
                    return Ok(Some((row + i, start + offset)));
                }
            }
            row += group.rows;
        }
        start += step;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use crate::{CellSet, Destination, Kernel, ReedSolomon, gf};

    /// A cell that costs nothing is cheaper than one that costs 1, whichever has the lower index.
    #[test]
    fn what_is_there_already_is_taken_before_what_must_be_fetched() {
        let code = ReedSolomon::<3, 2>::new(Kernel::SCALAR);
        let costs = [None, Some(1), Some(1), Some(1), Some(0)];
        let (wanted, cheapest) = (CellSet::from_mask(0b00001), CellSet::from_mask(0b10110));
        assert_eq!(code.minimum_to_read(wanted, &costs), Ok(cheapest));
        assert_eq!(code.cheapest(wanted, &costs), Ok(cheapest));
        // Wanted cells that are there count among the k at any cost.
        let (wanted, costs) = (CellSet::from_mask(0b00011), [None, Some(9), Some(1), Some(1), Some(0)]);
        assert_eq!(code.minimum_to_read(wanted, &costs), Ok(CellSet::from_mask(0b10110)));
    }

    /// A group's coefficients end with its last source: with an odd number of sources that one is taken by itself.
    #[test]
    fn an_odd_number_of_sources_counts_in_full_in_every_group_and_every_short_stripe() {
        const K: usize = 3;
        const M: usize = 8;
        for kernel in Kernel::available() {
            let code = ReedSolomon::<K, M>::new(kernel);
            let data = [[0x35; 70], [0x81; 70], [0xfe; 70]];
            let data: [&[u8]; K] = core::array::from_fn(|j| &data[j][..]);
            let expected: [u8; M] = core::array::from_fn(|i| {
                (0..K).fold(0, |sum, j| sum ^ gf::mul(code.coefficient(i, j).unwrap_or(0), data[j][0]))
            });
            let mut parity = [[0; 70]; M];
            let [a, b, c, d, e, f, g, h] = &mut parity;
            code.encode(&data, &mut [a, b, c, d, e, f, g, h]).unwrap();
            assert_eq!(parity, expected.map(|byte| [byte; 70]), "{kernel}");

            let plan = code.plan(K..K + M, 0..K, CellSet::EMPTY).unwrap();
            let mut rebuilt = [[0; 70]; M];
            let [a, b, c, d, e, f, g, h] = &mut rebuilt;
            plan.run(&data, &mut [a, b, c, d, e, f, g, h]).unwrap();
            assert_eq!(rebuilt, parity, "{kernel}");

            let code = ReedSolomon::<1, 1>::new(kernel);
            let mut parity = [0; 70];
            code.encode_short(&data[..1], &mut [&mut parity], Destination::ReadSoon).unwrap();
            let factor = code.coefficient(0, 0).unwrap_or(0);
            assert_eq!(parity, [gf::mul(factor, 0x35); 70], "{kernel}");
        }
    }
}
