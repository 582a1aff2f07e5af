//! Outputs that are filled piece by piece: which of their bytes hold values, so that they may be added to, and read.

use super::Kernel;
use super::job::{Destination, Group, Job, OutputByte};
use crate::Error;

/// Outputs of one length, of which the first `touched` bytes hold values.
pub(crate) struct Outputs<'o, 'b, B> {
    cells: &'o mut [&'b mut [B]],
    touched: usize,
}

impl<'o, 'b> Outputs<'o, 'b, u8> {
    /// Outputs of which `touched` bytes have been written before.
    #[inline]
    pub(crate) fn touched_before(cells: &'o mut [&'b mut [u8]], touched: usize) -> Self {
        Self { cells, touched }
    }
}

impl<'o, 'b, B: OutputByte> Outputs<'o, 'b, B> {
    /// Nothing has been written.
    pub(crate) fn untouched(cells: &'o mut [&'b mut [B]]) -> Self {
        Self { cells, touched: 0 }
    }

    /// How many leading bytes of every output hold values.
    #[inline]
    pub(crate) fn touched(&self) -> usize {
        self.touched
    }

    /// The cells.
    #[inline]
    pub(crate) fn cells(&self) -> &[&'b mut [B]] {
        self.cells
    }

    /// The bytes of output `i` that hold values.
    pub(crate) fn written(&self, i: usize) -> Option<&[u8]> {
        let (bytes, _) = self.cells.get(i)?.split_at_checked(self.touched)?;
        // SAFETY: B has the layout of `u8` (the trait is sealed), and these bytes hold values: `touched` grows only behind what
        // `absorb` and `write` wrote to every output, or all bytes of the outputs are `u8`.
        Some(unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) })
    }

    /// Whole outputs without any source: zeros.
    pub(crate) fn write_zeros(&mut self) -> Result<(), Error> {
        let len = self.cells.first().map_or(0, |cell| cell.len());
        for cells in self.cells.chunks_mut(4) {
            let group = core::iter::once(Group::plain(cells.len(), &[]));
            let kernel = Kernel::SCALAR;
            Job::whole(&[], cells, |job| kernel.write(group, job, Destination::ReadSoon))?;
        }
        self.touched = len;
        Ok(())
    }

    /// Adds the products of one source's bytes to the outputs from `offset` on, which is at most `touched`: bytes that hold values
    /// are added to, others are overwritten. The groups have coefficients for this source alone, and stand for all outputs.
    #[inline]
    pub(crate) fn absorb<'a>(
        &mut self,
        kernel: Kernel,
        groups: impl Iterator<Item = Group<'a>> + Clone,
        piece: &[u8],
        offset: usize,
    ) -> Result<(), Error> {
        // What follows relies on it: every output is written without a gap.
        if offset > self.touched {
            return Err(Error::Range { start: offset, len: piece.len() });
        }
        let (expected, found) = (self.cells.len(), groups.clone().map(|group| group.rows).sum());
        if expected != found {
            return Err(Error::OutputCount { expected, found });
        }
        let end = offset.checked_add(piece.len()).ok_or(Error::Range { start: offset, len: piece.len() })?;
        let old = self.touched.min(end) - offset;
        let fresh = piece.len() - old;
        for (group, cells) in groups.zip(self.cells.chunks_mut(4)) {
            let one = || core::iter::once(group);
            if old > 0 {
                let mut seen: [&mut [u8]; 4] = Default::default();
                for (seen, cell) in seen.iter_mut().zip(cells.iter_mut()) {
                    let Some(bytes) = cell.get_mut(offset..offset + old) else { continue };
                    // SAFETY: B has the layout of `u8`, and these bytes hold values, as they lie before `touched`; kernels write
                    // values only.
                    *seen = unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), old) };
                }
                Job::whole(&[&piece[..old]], &mut seen[..group.rows.min(4)], |job| kernel.add(one(), job))?;
            }
            if fresh > 0 {
                Job::window((old, offset + old, fresh), &[piece], cells, |job| {
                    kernel.write(one(), job, Destination::ReadSoon);
                })?;
            }
        }
        self.touched = self.touched.max(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;
    use std::boxed::Box;
    use std::vec::Vec;

    use super::*;
    use crate::gf;

    const COEFFICIENTS: [[u8; 5]; 2] = [[1, 2, 0x53, 0xff, 7], [9, 0, 0x8e, 1, 0x1d]];

    fn byte(source: usize, at: usize) -> u8 {
        (at * 31 + source * 101 + at / 7) as u8
    }

    /// What output `i` is once the first source has come to `ends[0]` and the second to `ends[1]`.
    fn expected(i: usize, at: usize, ends: [usize; 2]) -> u8 {
        (0..2)
            .filter(|&j| at < ends[j])
            .fold(0, |sum, j| sum ^ gf::mul_bitwise(COEFFICIENTS[j][i], byte(j, at)))
    }

    #[test]
    fn memory_that_held_nothing_is_written_before_it_is_added_to_or_read() {
        let len = 150;
        for kernel in [Kernel::SCALAR, Kernel::detect()] {
            let mut memory: Vec<Box<[MaybeUninit<u8>]>> =
                (0..5).map(|_| Box::new_uninit_slice(len)).collect();
            let mut cells: Vec<&mut [MaybeUninit<u8>]> =
                memory.iter_mut().map(|cell| &mut cell[..]).collect();
            let mut outputs = Outputs::untouched(&mut cells);
            let mut ends = [0; 2];
            for (j, bytes) in [(0, 40), (1, 70), (0, 1), (0, 64), (1, 0), (1, 80), (0, 45)] {
                let piece: Vec<u8> = (0..bytes).map(|at| byte(j, ends[j] + at)).collect();
                let groups = [0..4, 4..5].map(|rows| Group::plain(rows.len(), &COEFFICIENTS[j][rows]));
                outputs.absorb(kernel, groups.into_iter(), &piece, ends[j]).unwrap();
                ends[j] += bytes;
                assert_eq!(outputs.touched(), ends[0].max(ends[1]));
                for i in 0..5 {
                    let found = outputs.written(i).unwrap();
                    assert_eq!(found.len(), outputs.touched());
                    assert!(found.iter().enumerate().all(|(at, &found)| found == expected(i, at, ends)));
                }
            }
            assert_eq!((ends, outputs.touched()), ([len; 2], len));
        }
    }

    #[test]
    fn a_gap_and_outputs_without_coefficients_are_refused() {
        let mut memory = [[MaybeUninit::uninit(); 20]; 2];
        let [a, b] = &mut memory;
        let mut cells = [&mut a[..], &mut b[..]];
        let mut outputs = Outputs::untouched(&mut cells);
        let groups = |rows| core::iter::once(Group::plain(rows, &[1, 1]));
        let refused = Err(Error::Range { start: 1, len: 3 });
        assert_eq!(outputs.absorb(Kernel::SCALAR, groups(2), &[0; 3], 1), refused);
        let refused = Err(Error::OutputCount { expected: 2, found: 1 });
        assert_eq!(outputs.absorb(Kernel::SCALAR, groups(1), &[0; 3], 0), refused);
        assert!(outputs.absorb(Kernel::SCALAR, groups(2), &[0; 21], 0).is_err());
        assert_eq!((outputs.touched(), outputs.written(1)), (0, Some(&[][..])));
        assert_eq!(outputs.written(2), None);
    }
}
