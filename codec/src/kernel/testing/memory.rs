//! Memory for the cells of tests: at any alignment with canaries around, or with an inaccessible page beside.

use std::{vec, vec::Vec};

/// Canaries on each side of a cell, at least.
pub(super) const MARGIN: usize = 128;

const CANARY: u8 = 0xc5;
const CANARIES: [u8; 3 * MARGIN] = [CANARY; 3 * MARGIN];

/// A cell with canaries before and behind.
pub(super) struct Cell {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Cell {
    /// A cell that holds `bytes` and starts `place` bytes behind a multiple of 64.
    pub(super) fn new(bytes: &[u8], place: usize) -> Self {
        let mut memory = vec![CANARY; 2 * MARGIN + 64 + bytes.len()];
        let start = MARGIN + place.wrapping_sub(memory.as_ptr().addr() + MARGIN) % 64;
        memory[start..start + bytes.len()].copy_from_slice(bytes);
        Self { memory, start, len: bytes.len() }
    }

    /// The cell, with up to [`MARGIN`] canaries before it and behind it.
    pub(super) fn bytes(&self, before: usize, behind: usize) -> &[u8] {
        &self.memory[self.start - before..self.start + self.len + behind]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }

    pub(super) fn nothing_else_is_touched(&self) -> bool {
        let (before, behind) = (&self.memory[..self.start], &self.memory[self.start + self.len..]);
        *before == CANARIES[..before.len()] && *behind == CANARIES[..behind.len()]
    }
}

/// Which end of a cell touches the end of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

#[cfg(not(all(unix, not(miri))))]
pub(super) use boxed::Guarded;
#[cfg(all(unix, not(miri)))]
pub(super) use pages::Guarded;

#[cfg(all(unix, not(miri)))]
mod pages {
    use super::End;

    /// Pages with an inaccessible page before and one behind: touching those ends the test with a fault.
    pub(in super::super) struct Guarded {
        /// The first accessible byte.
        start: *mut u8,
        len: usize,
        page: usize,
    }

    impl Guarded {
        /// Room for `longest` bytes.
        pub(in super::super) fn new(longest: usize) -> Self {
            // SAFETY: asks for a number; then for new memory, and makes the middle of it accessible.
            unsafe {
                let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap();
                let len = longest.next_multiple_of(page);
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let all = libc::mmap(core::ptr::null_mut(), len + 2 * page, libc::PROT_NONE, flags, -1, 0);
                assert_ne!(all, libc::MAP_FAILED);
                let start = all.cast::<u8>().add(page);
                assert_eq!(libc::mprotect(start.cast(), len, libc::PROT_READ | libc::PROT_WRITE), 0);
                Self { start, len, page }
            }
        }

        /// `bytes` where the accessible pages begin or end.
        pub(in super::super) fn place(&mut self, bytes: &[u8], end: End) -> &mut [u8] {
            let at = if end == End::First { 0 } else { self.len - bytes.len() };
            // SAFETY: the pages are accessible, zero or written before, and borrowed with `self`.
            let pages = unsafe { core::slice::from_raw_parts_mut(self.start, self.len) };
            let cell = &mut pages[at..at + bytes.len()];
            cell.copy_from_slice(bytes);
            cell
        }
    }

    impl Drop for Guarded {
        fn drop(&mut self) {
            // SAFETY: the mapping is this one's, and nobody borrows it any more.
            let result = unsafe { libc::munmap(self.start.sub(self.page).cast(), self.len + 2 * self.page) };
            assert_eq!(result, 0);
        }
    }
}

#[cfg(not(all(unix, not(miri))))]
mod boxed {
    use super::End;
    use std::boxed::Box;

    /// An allocation with nothing before or behind the cell, which Miri guards to the byte.
    pub(in super::super) struct Guarded(Box<[u8]>);

    impl Guarded {
        pub(in super::super) fn new(_longest: usize) -> Self {
            Self(Box::new([]))
        }

        pub(in super::super) fn place(&mut self, bytes: &[u8], _: End) -> &mut [u8] {
            self.0 = bytes.into();
            &mut self.0
        }
    }
}
