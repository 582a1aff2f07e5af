//! Sets of cells of one stripe: which are lost, which can be read, which are known to be zero.

use core::fmt;

/// A set of cell indices, 0 to 255, in 32 bytes.
///
/// Data cells come first (0 to k-1), parity cells after them (k to k+m-1), as everywhere in this crate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CellSet([u64; 4]);

impl CellSet {
    /// No cell.
    pub const EMPTY: Self = Self([0; 4]);

    /// Cells 0 to 63 from a mask: bit i stands for cell i.
    #[must_use]
    pub const fn from_mask(mask: u64) -> Self {
        Self([mask, 0, 0, 0])
    }

    /// Cells 0 to `n` - 1. `n` above 256 counts as 256.
    #[must_use]
    pub const fn first(n: usize) -> Self {
        let (mut set, mut i) = (Self::EMPTY, 0);
        while i < n && i < 256 {
            set.0[i / 64] |= 1 << (i % 64);
            i += 1;
        }
        set
    }

    /// This set and `cell`. An index above 255 names no cell and changes nothing.
    #[must_use]
    pub const fn with(mut self, cell: usize) -> Self {
        if cell < 256 {
            self.0[cell / 64] |= 1 << (cell % 64);
        }
        self
    }

    /// Puts `cell` in; false if it was in already, or names no cell.
    #[inline]
    pub const fn insert(&mut self, cell: usize) -> bool {
        if cell >= 256 {
            return false;
        }
        let (word, bit) = (&mut self.0[cell / 64], 1 << (cell % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// This set without `cell`.
    #[must_use]
    pub const fn without(mut self, cell: usize) -> Self {
        if cell < 256 {
            self.0[cell / 64] &= !(1 << (cell % 64));
        }
        self
    }

    /// Whether `cell` is in the set.
    #[must_use]
    #[inline]
    pub const fn contains(&self, cell: usize) -> bool {
        cell < 256 && self.0[cell / 64] >> (cell % 64) & 1 == 1
    }

    /// How many cells are in the set.
    #[must_use]
    pub const fn len(&self) -> usize {
        (self.0[0].count_ones() + self.0[1].count_ones() + self.0[2].count_ones() + self.0[3].count_ones())
            as usize
    }

    /// Whether no cell is in the set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    /// Cells in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]])
    }

    /// Cells in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]])
    }

    /// Cells of this set that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] & !b[0], a[1] & !b[1], a[2] & !b[2], a[3] & !b[3]])
    }

    /// Whether every cell of this set is in `other`.
    #[must_use]
    pub const fn is_subset(self, other: Self) -> bool {
        self.difference(other).is_empty()
    }

    /// The lowest cell.
    #[must_use]
    pub const fn lowest(&self) -> Option<usize> {
        let mut word = 0;
        while word < 4 {
            if self.0[word] != 0 {
                return Some(word * 64 + self.0[word].trailing_zeros() as usize);
            }
            word += 1;
        }
        None
    }

    /// The mask of cells 0 to 63; `None` if a higher cell is in the set.
    #[must_use]
    pub const fn mask(&self) -> Option<u64> {
        if self.0[1] | self.0[2] | self.0[3] == 0 { Some(self.0[0]) } else { None }
    }

    /// The cells in ascending order.
    #[must_use]
    pub const fn iter(&self) -> CellIter {
        CellIter(*self)
    }
}

impl FromIterator<usize> for CellSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cells: I) -> Self {
        cells.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl IntoIterator for CellSet {
    type Item = usize;
    type IntoIter = CellIter;
    fn into_iter(self) -> CellIter {
        self.iter()
    }
}

impl fmt::Debug for CellSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The cells of a [`CellSet`] in ascending order.
#[derive(Clone, Debug)]
pub struct CellIter(CellSet);

impl Iterator for CellIter {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let cell = self.0.lowest()?;
        self.0 = self.0.without(cell);
        Some(cell)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl ExactSizeIterator for CellIter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserting_tells_whether_the_cell_is_new() {
        let mut set = CellSet::EMPTY;
        assert!(set.insert(200) && !set.insert(200) && !set.insert(256));
        assert_eq!(set, CellSet::EMPTY.with(200));
    }

    #[test]
    fn a_set_holds_what_was_put_in_and_nothing_else() {
        let set: CellSet = [3, 64, 255, 3, 256, 1000].into_iter().collect();
        assert_eq!(set.iter().collect::<std::vec::Vec<_>>(), [3, 64, 255]);
        assert_eq!((set.len(), set.lowest(), set.mask()), (3, Some(3), None));
        assert!((0..300).all(|i| set.contains(i) == [3, 64, 255].contains(&i)));
        assert_eq!(set.without(64).without(255).mask(), Some(8));
        assert_eq!(CellSet::first(256).len(), 256);
        assert_eq!(CellSet::first(9).difference(CellSet::first(6)), CellSet::from_mask(0b1_1100_0000));
        assert!(CellSet::EMPTY.is_subset(set) && set.is_subset(CellSet::first(300)));
    }
}
