//! Sets of cells of one stripe.

use core::fmt;
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub, SubAssign};

/// A set of cells of one stripe, 0 to 63, in one word: bit i stands for cell i.
///
/// Data cells come first (0 to k-1), parity cells after them (k to n-1). `a - b` is the cells of `a` that are not in `b`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CellSet(u64);

impl CellSet {
    /// No cell.
    pub const EMPTY: Self = Self(0);

    /// The cells whose bits are set in `bits`.
    #[must_use]
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word: bit i stands for cell i.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Cells 0 to `n` - 1; `n` above 64 counts as 64.
    #[must_use]
    #[inline]
    pub const fn first_n(n: u8) -> Self {
        if n >= 64 { Self(u64::MAX) } else { Self((1 << n) - 1) }
    }

    /// The set of `cell` alone; empty if `cell` is above 63, which names no cell.
    #[must_use]
    #[inline]
    pub const fn one(cell: u8) -> Self {
        if cell < 64 { Self(1 << cell) } else { Self::EMPTY }
    }

    /// Whether `cell` is in the set.
    #[must_use]
    #[inline]
    pub const fn contains(self, cell: u8) -> bool {
        cell < 64 && self.0 >> cell & 1 == 1
    }

    /// Puts `cell` in; a cell above 63 changes nothing.
    #[inline]
    pub const fn insert(&mut self, cell: u8) {
        self.0 |= Self::one(cell).0;
    }

    /// Takes `cell` out.
    #[inline]
    pub const fn remove(&mut self, cell: u8) {
        self.0 &= !Self::one(cell).0;
    }

    /// How many cells are in the set.
    #[must_use]
    #[inline]
    pub const fn len(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// Whether no cell is in the set.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every cell of this set is in `other`.
    #[must_use]
    #[inline]
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The lowest cell.
    #[must_use]
    #[inline]
    pub const fn first(self) -> Option<u8> {
        if self.0 == 0 { None } else { Some(self.0.trailing_zeros() as u8) }
    }

    /// Takes the lowest cell out and returns it.
    #[inline]
    pub const fn pop(&mut self) -> Option<u8> {
        let cell = self.first();
        self.0 &= self.0.wrapping_sub(1);
        cell
    }

    /// The cells, lowest first.
    #[inline]
    pub const fn iter(self) -> Cells {
        Cells(self)
    }
}

/// The cells of a [`CellSet`], lowest first.
#[derive(Clone, Debug)]
pub struct Cells(CellSet);

impl Iterator for Cells {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::from(self.0.len());
        (len, Some(len))
    }
}

impl ExactSizeIterator for Cells {}

impl IntoIterator for CellSet {
    type Item = u8;
    type IntoIter = Cells;
    #[inline]
    fn into_iter(self) -> Cells {
        self.iter()
    }
}

impl FromIterator<u8> for CellSet {
    fn from_iter<I: IntoIterator<Item = u8>>(cells: I) -> Self {
        let mut set = Self::EMPTY;
        for cell in cells {
            set.insert(cell);
        }
        set
    }
}

impl<const LEN: usize> From<[u8; LEN]> for CellSet {
    fn from(cells: [u8; LEN]) -> Self {
        cells.into_iter().collect()
    }
}

impl BitOr for CellSet {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for CellSet {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for CellSet {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitAndAssign for CellSet {
    #[inline]
    fn bitand_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

impl Sub for CellSet {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl SubAssign for CellSet {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

impl fmt::Debug for CellSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

impl fmt::Display for CellSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_exactly_the_cells_put_in() {
        let mut set = CellSet::from([0, 5, 63, 64, 255]);
        assert_eq!(set, CellSet::from_bits(1 | 1 << 5 | 1 << 63));
        assert_eq!((set.len(), set.first()), (3, Some(0)));
        for cell in 0..=255 {
            assert_eq!(set.contains(cell), [0, 5, 63].contains(&cell), "cell {cell}");
        }
        set.remove(0);
        set.remove(200);
        assert!(set.iter().eq([5, 63]));
        assert_eq!(set.iter().len(), 2);
        assert_eq!((set.pop(), set.pop(), set.pop()), (Some(5), Some(63), None));
        assert!(set.is_empty());
    }

    #[test]
    fn first_n_never_names_a_cell_beyond_the_word() {
        for n in 0..=255 {
            assert_eq!(CellSet::first_n(n).len(), n.min(64));
        }
    }

    #[test]
    fn operators_are_those_of_sets() {
        let (a, b) = (CellSet::from([1, 2, 3]), CellSet::from([3, 4]));
        assert_eq!(a | b, CellSet::from([1, 2, 3, 4]));
        assert_eq!(a & b, CellSet::from([3]));
        assert_eq!(a - b, CellSet::from([1, 2]));
        let mut c = a;
        c |= b;
        c -= CellSet::from([1]);
        c &= CellSet::from([1, 2, 3]);
        assert_eq!(c, CellSet::from([2, 3]));
        assert!(c.is_subset(a) && !a.is_subset(c) && CellSet::EMPTY.is_subset(c));
    }
}
