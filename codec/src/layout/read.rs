//! A read of a byte range of a file, block group by block group.

use core::ops::Range;

use super::{Bands, Layout, min};

/// The block groups that a read touches, in the order of the file. See [`Layout::read`].
#[derive(Clone, Debug)]
pub struct GroupReads {
    layout: Layout,
    file_len: u64,
    start: u64,
    end: u64,
}

impl GroupReads {
    /// `start` <= `end` <= `file_len` must hold.
    pub(super) const fn new(layout: Layout, file_len: u64, start: u64, end: u64) -> Self {
        Self { layout, file_len, start, end }
    }
}

impl Iterator for GroupReads {
    type Item = GroupRead;

    fn next(&mut self) -> Option<GroupRead> {
        if self.start == self.end {
            return None;
        }
        let group = self.start / self.layout.group_bytes();
        let file_start = group * self.layout.group_bytes();
        let len = self.layout.group_len(self.file_len, group);
        let (start, end) = (self.start - file_start, min(self.end - file_start, len));
        self.start = file_start + end;
        Some(GroupRead { layout: self.layout, group, file_start, len, start, end })
    }
}

/// What a read wants of one block group: at least one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRead {
    pub(super) layout: Layout,
    group: u64,
    pub(super) file_start: u64,
    pub(super) len: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl GroupRead {
    /// The block group, counted from the start of the file.
    #[must_use]
    pub const fn group(&self) -> u64 {
        self.group
    }

    /// Data bytes of the block group: what [`Layout::block_len`] asks for.
    #[must_use]
    pub const fn group_len(&self) -> u64 {
        self.len
    }

    /// The wanted bytes, as offsets in the file.
    #[must_use]
    pub const fn file_range(&self) -> Range<u64> {
        self.file_start + self.start..self.file_start + self.end
    }

    /// The bytes wanted of one internal block, as offsets in it: always one interval. `None` if none is wanted, so for
    /// every parity block, and for an index beyond k + m.
    #[must_use]
    pub const fn wanted(&self, block: usize) -> Option<Range<u64>> {
        if block >= self.layout.k() {
            return None;
        }
        let (start, end) = (self.layout.share(self.start, block), self.layout.share(self.end, block));
        if start < end { Some(start..end) } else { None }
    }

    /// The bands of the read, in ascending order: at least one, at most six. See [`Band`](crate::Band).
    #[must_use]
    pub fn bands(&self) -> Bands {
        Bands::new(*self)
    }
}
