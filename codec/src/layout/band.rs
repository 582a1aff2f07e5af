//! Bands: the parts of a read of one block group that can each be fetched, decoded and decided as a whole.

use core::ops::Range;

use super::{GroupRead, Layout, min};
use crate::CellSet;

/// A range of internal-block offsets over which the set of wanted data cells stays the same, and so does the set of
/// those that lie beyond the end of the file.
///
/// A band may span many stripes: internal block i then stands for cell i of each of them. Every cell that is not zero,
/// parity included, has bytes over the whole range, so any k cells, zeros counted, decode a band.
///
/// How many there can be: the wanted cells change where the first stripe of the read begins, at the read's first byte,
/// where that stripe ends, where the last stripe begins, at the read's last byte, and where that stripe ends. These six
/// borders enclose at most five bands. The zeros add at most one border, where the last data cell of a group ends in
/// the last stripe: six bands. Neighbours with equal sets are one band, and where nothing is wanted there is none (so
/// two bands need not touch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    layout: Layout,
    file_start: u64,
    start: u64,
    end: u64,
    cells: Cells,
}

/// Which cells a band wants and which are zero. In every stripe the wanted ones are neighbours, and the zeros the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cells {
    first_wanted: usize,
    after_wanted: usize,
    first_zero: usize,
}

impl Band {
    /// The offsets in the internal blocks, the same for every cell. Never empty.
    #[must_use]
    pub const fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// The data cells whose bytes over this range are all wanted. Of the others none is. Never empty.
    #[must_use]
    pub const fn wanted(&self) -> CellSet {
        CellSet::first(self.cells.after_wanted).difference(CellSet::first(self.cells.first_wanted))
    }

    /// The data cells that lie beyond the end of the file over this range: zeros that nobody has to fetch, and that no
    /// internal block holds. Of the other data cells every byte is there.
    #[must_use]
    pub const fn zeros(&self) -> CellSet {
        CellSet::first(self.layout.k()).difference(CellSet::first(self.cells.first_zero))
    }

    /// Where the bytes of a wanted cell belong: one piece for each stripe that the band touches, in ascending order. No
    /// piece for a cell that is not wanted.
    #[must_use]
    pub const fn pieces(&self, cell: usize) -> Pieces {
        let wanted = self.cells.first_wanted <= cell && cell < self.cells.after_wanted;
        let start = if wanted { self.start } else { self.end };
        Pieces { layout: self.layout, file_start: self.file_start, cell, start, end: self.end }
    }
}

/// The bands of a [`GroupRead`] in ascending order.
#[derive(Clone, Debug)]
pub struct Bands {
    read: GroupRead,
    /// Offsets between which nothing changes; unsorted.
    edges: [[u64; 3]; 3],
    at: u64,
    end: u64,
}

impl Bands {
    pub(super) const fn new(read: GroupRead) -> Self {
        let edges = [read.layout.edges(read.start), read.layout.edges(read.end), read.layout.edges(read.len)];
        let (at, end) = (edges[0][0], edges[1][2]);
        Self { read, edges, at, end }
    }

    fn cells_at(&self, offset: u64) -> Cells {
        let GroupRead { layout, start, end, len, .. } = self.read;
        Cells {
            first_wanted: layout.reach(start, offset),
            after_wanted: layout.reach(end, offset),
            first_zero: layout.reach(len, offset),
        }
    }

    fn next_edge(&self, offset: u64) -> u64 {
        self.edges.iter().flatten().copied().filter(|&edge| edge > offset).fold(self.end, min)
    }
}

impl Iterator for Bands {
    type Item = Band;

    fn next(&mut self) -> Option<Band> {
        while self.at < self.end {
            let (start, cells) = (self.at, self.cells_at(self.at));
            self.at = self.next_edge(self.at);
            while self.at < self.end && self.cells_at(self.at) == cells {
                self.at = self.next_edge(self.at);
            }
            if cells.first_wanted < cells.after_wanted {
                let GroupRead { layout, file_start, .. } = self.read;
                return Some(Band { layout, file_start, start, end: self.at, cells });
            }
        }
        None
    }
}

/// One stretch of a wanted cell that is in one piece both in its internal block and in the file. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The offsets in the internal block, within the band's range.
    pub range: Range<u64>,
    /// The offset in the file of the first of these bytes. Less the start of the read, it is the place in a buffer that
    /// holds the bytes read.
    pub file_offset: u64,
}

/// The pieces of one wanted cell of a [`Band`] in ascending order.
#[derive(Clone, Debug)]
pub struct Pieces {
    layout: Layout,
    file_start: u64,
    cell: usize,
    start: u64,
    end: u64,
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.start == self.end {
            return None;
        }
        let (start, cell_bytes) = (self.start, self.layout.cell_bytes());
        self.start = min(start - start % cell_bytes + cell_bytes, self.end);
        let file_offset = self.file_start + self.layout.group_offset(self.cell, start);
        Some(Piece { range: start..self.start, file_offset })
    }
}
