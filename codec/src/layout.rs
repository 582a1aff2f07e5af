//! The striped layout of HDFS: which byte of a file lies where in the internal blocks of its block groups, and what
//! must be fetched to read a range of it. Arithmetic only.

mod band;
mod read;

pub use band::{Band, Bands, Piece, Pieces};
pub use read::{GroupRead, GroupReads};

use crate::Error;

/// How a file is cut into block groups, stripes and cells.
///
/// A file is a sequence of block groups. A block group is `stripes_per_group` stripes of k data cells and m parity
/// cells. Internal block i of a group holds cell i of each of its stripes, one after another: data in internal blocks 0
/// to k-1, parity in k to k+m-1. All groups but the last are full. In the last stripe the data cells end where the file
/// ends, and the parity cells are as long as the longest data cell; what lies beyond the data counts as zeros.
///
/// This is what HDFS does (`StripedBlockUtil`), where `stripes_per_group` is block size / cell size. A file whose groups
/// in the middle are not full (concat can make such files) is read group by group, each as a file of its own.
///
/// Sizes and offsets are bytes. A layout is plain numbers: copy it freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    k: usize,
    m: usize,
    cell: u64,
    stripes: u64,
}

/// Where one byte of a file is stored. See [`Layout::locate`] and [`Layout::file_offset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The block group, counted from the start of the file.
    pub group: u64,
    /// The internal block of that group, which is also the index of the cell in its stripe.
    pub block: usize,
    /// The offset in that internal block.
    pub offset: u64,
}

impl Layout {
    /// The layout of k data cells and m parity cells of `cell_bytes`, with `stripes_per_group` stripes in a full group.
    ///
    /// # Errors
    /// [`Error::Schema`] unless k >= 1, m >= 1 and k + m <= 256. [`Error::Layout`] if a cell has no byte, a group no
    /// stripe, or the data and parity of a full group together have more than `u64::MAX` bytes.
    pub const fn new(k: usize, m: usize, cell_bytes: u64, stripes_per_group: u64) -> Result<Self, Error> {
        if k == 0 || m == 0 || k > 256 || m > 256 - k {
            return Err(Error::Schema { k, m });
        }
        let layout = Self { k, m, cell: cell_bytes, stripes: stripes_per_group };
        // Every length and offset inside a group is at most this product, so nothing below can overflow.
        let fits = match cell_bytes.checked_mul(stripes_per_group) {
            Some(block) => block != 0 && block.checked_mul((k + m) as u64).is_some(),
            None => false,
        };
        if fits { Ok(layout) } else { Err(Error::Layout { cell: cell_bytes, stripes: stripes_per_group }) }
    }

    /// Data cells of a stripe.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Parity cells of a stripe.
    #[must_use]
    pub const fn m(&self) -> usize {
        self.m
    }

    /// Bytes of a full cell.
    #[must_use]
    pub const fn cell_bytes(&self) -> u64 {
        self.cell
    }

    /// Bytes of an internal block of a full group.
    #[must_use]
    pub const fn block_bytes(&self) -> u64 {
        self.cell * self.stripes
    }

    /// Data bytes of a full group.
    #[must_use]
    pub const fn group_bytes(&self) -> u64 {
        self.stripe_bytes() * self.stripes
    }

    /// Data bytes of a full stripe.
    const fn stripe_bytes(&self) -> u64 {
        self.cell * self.k as u64
    }

    /// Block groups of a file of `file_len` bytes. An empty file has none.
    #[must_use]
    pub const fn groups(&self, file_len: u64) -> u64 {
        file_len.div_ceil(self.group_bytes())
    }

    /// Data bytes of block group `group` of a file of `file_len` bytes; 0 for a group after the last.
    #[must_use]
    pub const fn group_len(&self, file_len: u64, group: u64) -> u64 {
        match group.checked_mul(self.group_bytes()) {
            Some(start) => min(file_len.saturating_sub(start), self.group_bytes()),
            None => 0,
        }
    }

    /// Bytes of internal block `block`, data or parity, of a group that holds `group_len` bytes of data:
    /// `getInternalBlockLength` of HDFS's `StripedBlockUtil`.
    ///
    /// # Errors
    /// [`Error::CellIndex`] unless `block` < k + m. [`Error::Outside`] if no group holds that much.
    pub const fn block_len(&self, group_len: u64, block: usize) -> Result<u64, Error> {
        if block >= self.k + self.m {
            return Err(Error::CellIndex { index: block, cells: self.k + self.m });
        }
        if group_len > self.group_bytes() {
            return Err(Error::Outside { start: 0, end: group_len, len: self.group_bytes() });
        }
        // Cell 0 is the longest of every stripe.
        Ok(self.share(group_len, if block < self.k { block } else { 0 }))
    }

    /// Bytes that all internal blocks, data and parity, of a group with `group_len` bytes of data have together:
    /// `spaceConsumedByStripedBlock` of HDFS's `StripedBlockUtil`.
    ///
    /// # Errors
    /// [`Error::Outside`] if no group holds that much.
    pub const fn group_space(&self, group_len: u64) -> Result<u64, Error> {
        match self.block_len(group_len, self.k) {
            Ok(parity) => Ok(group_len + parity * self.m as u64),
            Err(error) => Err(error),
        }
    }

    /// Where byte `file_offset` of a file is stored, whatever the length of the file.
    #[must_use]
    pub const fn locate(&self, file_offset: u64) -> Position {
        let (group, in_group) = (file_offset / self.group_bytes(), file_offset % self.group_bytes());
        let (stripe, in_stripe) = (in_group / self.stripe_bytes(), in_group % self.stripe_bytes());
        // Less than k, so the cast keeps it whole.
        let block = (in_stripe / self.cell) as usize;
        Position { group, block, offset: stripe * self.cell + in_stripe % self.cell }
    }

    /// The offset in the file of the byte stored at `position`: the exact inverse of [`locate`](Self::locate). With
    /// group 0 it is the offset in the block group.
    ///
    /// # Errors
    /// [`Error::CellIndex`] (with `cells` = k) for a parity cell, which has no file offset, and for no cell at all.
    /// [`Error::Outside`] for an offset that is not inside a full internal block, or whose file offset is beyond
    /// `u64::MAX`; its `len` is how much of that internal block can be addressed.
    pub const fn file_offset(&self, position: Position) -> Result<u64, Error> {
        let Position { group, block, offset } = position;
        if block >= self.k {
            return Err(Error::CellIndex { index: block, cells: self.k });
        }
        let (start, addressable) = match group.checked_mul(self.group_bytes()) {
            Some(start) => (start, min((u64::MAX - start).saturating_add(1), self.group_bytes())),
            None => (0, 0),
        };
        let len = self.share(addressable, block);
        if offset >= len {
            return Err(Error::Outside { start: offset, end: offset.saturating_add(1), len });
        }
        Ok(start + self.group_offset(block, offset))
    }

    /// What must be fetched to read bytes `range` of a file of `file_len` bytes: one [`GroupRead`] for each block group
    /// that the range touches, in the order of the file. An empty range touches none.
    ///
    /// # Errors
    /// [`Error::Outside`] if the range ends beyond the file or before its own start.
    ///
    /// ```
    /// # use hedgerow_codec::Layout;
    /// // RS-6-3 with cells of 1 MiB and blocks of 128 MiB; 5 bytes from the border of the first two cells.
    /// let layout = Layout::new(6, 3, 1 << 20, 128)?;
    /// let read = layout.read(2_000_000, 1_048_574..1_048_579)?.next().unwrap();
    /// assert_eq!(read.wanted(0), Some(1_048_574..1_048_576));
    /// assert_eq!(read.wanted(1), Some(0..3));
    /// let bands: Vec<_> = read.bands().map(|b| (b.range(), b.wanted().mask(), b.zeros().mask())).collect();
    /// let zeros = Some(0b11_1100);
    /// assert_eq!(bands[0], (0..3, Some(0b10), zeros));
    /// assert_eq!(bands[1], (1_048_574..1_048_576, Some(0b01), Some(0b11_1110)));
    /// # Ok::<(), hedgerow_codec::Error>(())
    /// ```
    pub const fn read(&self, file_len: u64, range: core::ops::Range<u64>) -> Result<GroupReads, Error> {
        if range.start > range.end || range.end > file_len {
            return Err(Error::Outside { start: range.start, end: range.end, len: file_len });
        }
        Ok(GroupReads::new(*self, file_len, range.start, range.end))
    }

    /// How many of the first `bytes` of a group are in data block `block`.
    const fn share(&self, bytes: u64, block: usize) -> u64 {
        let (stripes, rest) = (bytes / self.stripe_bytes(), bytes % self.stripe_bytes());
        stripes * self.cell + min(rest.saturating_sub(block as u64 * self.cell), self.cell)
    }

    /// The offset in the group of byte `offset` of data block `block`.
    const fn group_offset(&self, block: usize, offset: u64) -> u64 {
        offset / self.cell * self.stripe_bytes() + block as u64 * self.cell + offset % self.cell
    }

    /// How many data blocks have their byte at `offset` among the first `bytes` of the group. They are the first ones,
    /// because within a stripe a later cell lies later in the file.
    const fn reach(&self, bytes: u64, offset: u64) -> usize {
        let beyond = bytes.saturating_sub(self.group_offset(0, offset));
        min(beyond.div_ceil(self.cell), self.k as u64) as usize
    }

    /// The offsets in the internal blocks at which [`reach`](Self::reach) of `bytes` changes: nowhere else.
    const fn edges(&self, bytes: u64) -> [u64; 3] {
        let stripe = bytes / self.stripe_bytes() * self.cell;
        // No overflow past a full group either: a block and a cell are at most the k + m >= 2 blocks of a group.
        [stripe, stripe + bytes % self.cell, stripe + self.cell]
    }
}

const fn min(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests;
