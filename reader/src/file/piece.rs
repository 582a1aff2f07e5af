//! A piece of a block group: the same bytes of all its internal blocks, which of them are right, whether they agree, and
//! what they make of those that are not.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hedgerow_codec::{CellSet, Code, RebuildPlan};

/// A code in memory of its own.
pub(super) type BoxedCode = Code<Box<[u8]>>;

/// How the internal blocks of one group are cut.
#[derive(Debug)]
pub(super) struct Cut {
    /// Data cells of a stripe.
    pub(super) k: usize,
    /// Bytes of a record.
    pub(super) record: u64,
    /// Bytes of each internal block; the parity is as long as the longest.
    pub(super) lengths: Vec<u64>,
}

impl Cut {
    /// Bytes of the longest internal block.
    pub(super) fn longest(&self) -> u64 {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// How many bytes of the file `range` of the internal blocks holds.
    pub(super) fn file_bytes(&self, range: &Range<u64>) -> u64 {
        (0..self.k).map(|cell| self.inside(cell, range)).map(|part| part.end - part.start).sum()
    }

    /// What internal block `cell` has of `range`.
    pub(super) fn inside(&self, cell: usize, range: &Range<u64>) -> Range<u64> {
        let length = self.lengths.get(cell).copied().unwrap_or(0);
        range.start.min(length)..range.end.min(length)
    }
}

/// The same bytes, made of whole records, of all internal blocks of a group.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) cut: Arc<Cut>,
    /// Where, in the internal blocks.
    pub(super) range: Range<u64>,
    /// The bytes of each cell; zeros where its block has ended, and where they could not be read.
    pub(super) cells: Vec<Vec<u8>>,
    /// For each record, the mask of the cells of which it is there and right.
    pub(super) good: Vec<u64>,
}

/// Bytes over which the same cells are right, and the same are zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    pub(super) range: Range<u64>,
    /// Cells that are there, and whose records are right.
    good: CellSet,
    /// Data cells that have ended.
    zeros: CellSet,
}

impl Stretch {
    fn known(&self) -> CellSet {
        self.good.union(self.zeros)
    }

    /// k cells to compute the others from: zeros and data where there are.
    fn sources(&self, k: usize) -> CellSet {
        self.known().iter().take(k).collect()
    }
}

/// What the cells of a piece say of each other.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    /// There are bytes of which fewer than k cells are right: the first such offset, and how many are.
    pub(super) lost: Option<(u64, usize)>,
    /// Cells that are wrong, because without them all others agree; and where that begins.
    pub(super) odd: Vec<(usize, u64)>,
    /// Cells that do not fit the others where nobody can tell which are wrong; and where that begins.
    pub(super) disputed: Vec<(usize, u64)>,
}

/// Why cells could not be rebuilt.
#[derive(Debug)]
pub(super) enum Unbuildable {
    /// Fewer than k cells are right.
    TooFew { offset: u64, found: usize, needed: usize },
    /// The cells that are right do not agree, and nobody can tell which are wrong.
    Disputed { cell: usize, offset: u64 },
    /// Decoded back, they do not give the cell that they were made from.
    DecodedBack { cell: usize, offset: u64 },
    /// The codec would not.
    Codec(hedgerow_codec::Error),
}

impl From<hedgerow_codec::Error> for Unbuildable {
    fn from(error: hedgerow_codec::Error) -> Self {
        Self::Codec(error)
    }
}

impl fmt::Display for Unbuildable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { offset, found, needed } => {
                write!(f, "at byte {offset} of the blocks {found} cells are right where {needed} are needed")
            }
            Self::Disputed { cell, offset } => write!(
                f,
                "at byte {offset} of the blocks cell {cell} does not fit the others, and nobody can tell which are wrong"
            ),
            Self::DecodedBack { cell, offset } => write!(
                f,
                "what was rebuilt does not decode back to cell {cell} at byte {offset}: nothing of it was written"
            ),
            Self::Codec(error) => write!(f, "{error}"),
        }
    }
}

impl Piece {
    /// A piece of which nothing has been read.
    pub(super) fn new(cut: Arc<Cut>, range: Range<u64>) -> Self {
        let bytes = length(&range);
        let cells = vec![Vec::new(); cut.lengths.len()];
        let records = bytes.div_ceil(usize::try_from(cut.record).unwrap_or(usize::MAX).max(1));
        Self { cut, range, cells, good: vec![0; records] }
    }

    /// Puts in what was read of a cell: the bytes of its internal block, and which of its records are right.
    pub(super) fn fill(&mut self, cell: usize, mut data: Vec<u8>, right: impl Iterator<Item = usize>) {
        data.resize(length(&self.range), 0);
        if let Some(slot) = self.cells.get_mut(cell) {
            *slot = data;
        }
        for record in right {
            if let Some(mask) = self.good.get_mut(record) {
                *mask |= bit(cell);
            }
        }
    }

    /// The piece in stretches, each as long as it can be.
    fn stretches(&self, range: &Range<u64>) -> Vec<Stretch> {
        let (cut, data) = (&self.cut, CellSet::first(self.cut.k));
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let row = (at - self.range.start) / cut.record;
            let record_end = self.range.start.saturating_add((row + 1).saturating_mul(cut.record));
            let block_end = cut.lengths.iter().copied().filter(|&end| end > at).min().unwrap_or(range.end);
            let end = record_end.min(block_end).min(range.end);
            let zeros: CellSet =
                data.iter().filter(|&cell| cut.lengths.get(cell).is_some_and(|&end| end <= at)).collect();
            let mask = usize::try_from(row).ok().and_then(|row| self.good.get(row)).copied().unwrap_or(0);
            let good = CellSet::from_mask(mask).difference(zeros);
            match stretches.last_mut() {
                Some(last) if last.good == good && last.zeros == zeros => last.range.end = end,
                _ => stretches.push(Stretch { range: at..end, good, zeros }),
            }
            at = end;
        }
        stretches
    }

    /// Compares all cells that are right with each other, wherever there are more than k of them. A single cell that is wrong in
    /// spite of its checksums is found if two more than k are there; it no longer counts as right.
    pub(super) fn check(&mut self, code: &BoxedCode) -> Result<Agreement, hedgerow_codec::Error> {
        let mut agreement = Agreement::default();
        for stretch in self.stretches(&self.range) {
            if stretch.known().len() < self.cut.k {
                agreement.lost.get_or_insert((stretch.range.start, stretch.known().len()));
            } else if self.differing(code, &stretch, stretch.known())?.is_some() {
                self.blame(code, &stretch, &mut agreement)?;
            }
        }
        Ok(agreement)
    }

    /// Record by record, which cells are to blame.
    fn blame(
        &mut self,
        code: &BoxedCode,
        stretch: &Stretch,
        agreement: &mut Agreement,
    ) -> Result<(), hedgerow_codec::Error> {
        let mut at = stretch.range.start;
        while at < stretch.range.end {
            let row = (at - self.range.start) / self.cut.record;
            let end = self.range.start.saturating_add((row + 1).saturating_mul(self.cut.record));
            let record = Stretch { range: at..end.min(stretch.range.end), ..stretch.clone() };
            at = record.range.end;
            let all = record.known();
            let Some(first) = self.differing(code, &record, all)? else { continue };
            let mut odd = None;
            // Without one cell there must still be one more than k, or nothing is compared.
            if all.len() >= self.cut.k + 2 {
                for cell in record.good {
                    if self.differing(code, &record, all.without(cell))?.is_none() {
                        odd = Some(cell);
                        break;
                    }
                }
            }
            if let Some(cell) = odd {
                note(&mut agreement.odd, cell, record.range.start);
                if let Some(mask) = usize::try_from(row).ok().and_then(|row| self.good.get_mut(row)) {
                    *mask &= !bit(cell);
                }
                continue;
            }
            let sources = record.sources(self.cut.k);
            for cell in all.difference(sources) {
                if cell == first || self.differing(code, &record, sources.with(cell))?.is_some() {
                    note(&mut agreement.disputed, cell, record.range.start);
                }
            }
        }
        Ok(())
    }

    /// The first of `cells` that is not what the lowest k of them make of it.
    fn differing(
        &self,
        code: &BoxedCode,
        stretch: &Stretch,
        cells: CellSet,
    ) -> Result<Option<usize>, hedgerow_codec::Error> {
        let sources: CellSet = cells.iter().take(self.cut.k).collect();
        let others = cells.difference(sources);
        if others.is_empty() {
            return Ok(None);
        }
        self.compare(&code.plan_boxed(others, sources, stretch.zeros)?, &stretch.range)
            .map(|found| found.map(|(cell, _)| cell))
    }

    fn compare(
        &self,
        plan: &RebuildPlan<Box<[u8]>>,
        range: &Range<u64>,
    ) -> Result<Option<(usize, u64)>, hedgerow_codec::Error> {
        let sources: Vec<&[u8]> = plan.sources().iter().map(|&cell| self.bytes(cell.into(), range)).collect();
        let outputs: Vec<&[u8]> = plan.lost().iter().map(|&cell| self.bytes(cell.into(), range)).collect();
        let found = plan.verify(&sources, &outputs)?;
        Ok(found.map(|at| (at.cell, range.start.saturating_add(at.offset as u64))))
    }

    /// Computes what is not right of `targets` from what is right of the others, and decodes it back.
    pub(super) fn rebuild(&mut self, code: &BoxedCode, targets: CellSet) -> Result<(), Unbuildable> {
        let k = self.cut.k;
        for stretch in self.stretches(&self.range) {
            let wanted = targets.difference(stretch.known());
            if wanted.is_empty() {
                continue;
            }
            let sources = stretch.sources(k);
            if sources.len() < k {
                let (offset, found) = (stretch.range.start, stretch.known().len());
                return Err(Unbuildable::TooFew { offset, found, needed: k });
            }
            let plan = code.plan_boxed(wanted, sources, stretch.zeros)?;
            let place = self.place(&stretch.range);
            let mut outputs: Vec<(usize, Vec<u8>)> = Vec::new();
            for cell in plan.lost().iter().map(|&cell| usize::from(cell)) {
                let mut bytes = self.cells.get_mut(cell).map(std::mem::take).unwrap_or_default();
                bytes.resize(length(&self.range), 0);
                outputs.push((cell, bytes));
            }
            let given: Vec<&[u8]> =
                plan.sources().iter().map(|&cell| self.bytes(cell.into(), &stretch.range)).collect();
            let mut into: Vec<&mut [u8]> =
                outputs.iter_mut().filter_map(|(_, bytes)| bytes.get_mut(place.clone())).collect();
            plan.run(&given, &mut into)?;
            for (cell, bytes) in outputs {
                if let Some(slot) = self.cells.get_mut(cell) {
                    *slot = bytes;
                }
            }
            // Back again: from what was rebuilt, and as few of its sources as possible, to the rest of them.
            let fewest = wanted.iter().chain(stretch.zeros).chain(sources.difference(stretch.zeros));
            let back: CellSet = distinct(fewest).take(k).collect();
            let rest = sources.difference(back).difference(stretch.zeros);
            let found = self.compare(&code.plan_boxed(rest, back, stretch.zeros)?, &stretch.range)?;
            if let Some((cell, offset)) = found {
                return Err(Unbuildable::DecodedBack { cell, offset });
            }
        }
        Ok(())
    }

    /// The bytes of a cell's internal block in this piece.
    pub(super) fn block(&self, cell: usize) -> &[u8] {
        self.bytes(cell, &self.cut.inside(cell, &self.range))
    }

    fn bytes(&self, cell: usize, range: &Range<u64>) -> &[u8] {
        self.cells.get(cell).and_then(|bytes| bytes.get(self.place(range))).unwrap_or(&[])
    }

    fn place(&self, range: &Range<u64>) -> Range<usize> {
        let start = length(&(self.range.start..range.start));
        start..start.saturating_add(length(range))
    }
}

const fn bit(cell: usize) -> u64 {
    if cell < 64 { 1 << cell } else { 0 }
}

fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX)
}

/// Remembers where something begins.
fn note(cells: &mut Vec<(usize, u64)>, cell: usize, at: u64) {
    if !cells.iter().any(|&(known, _)| known == cell) {
        cells.push((cell, at));
    }
}

/// Each cell once, where it comes first.
fn distinct(cells: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let mut seen = CellSet::EMPTY;
    cells.filter(move |&cell| seen.insert(cell))
}
