//! Cells to work on: their memory, and how they lie in it.
//!
//! Cells that all start at the same offset within a page compete for the same few sets of the L1 cache, and a load looks
//! like a match for an earlier store to another cell. That would be measured instead of the contenders, so by default
//! each cell starts an odd number of cache lines further into its page than the one before.

/// A huge page on x86-64 and on most arm64 systems.
const HUGE_PAGE: usize = 2 << 20;
const PAGE: usize = 4096;
const LINE: usize = 64;

/// Lines between cells: odd, so that the cells of a stripe spread over all sets. Which odd number matters little, but for
/// RS-6-3 with cells of 4 KiB where the L1 cache has 32 KiB: nine cells just don't fit.
const STAGGER: usize = 3;

/// Bytes filled with noise, so that every page is there before the clock runs.
pub(crate) struct Memory {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Memory {
    /// At least `len` bytes, on huge pages where the system gives them: with small ones, which sets of the L2 cache
    /// the cells share is luck, and differs from run to run.
    pub(crate) fn new(len: usize, huge_pages: bool) -> Self {
        let len = len.next_multiple_of(HUGE_PAGE);
        let bytes = vec![0; len + HUGE_PAGE];
        let start = bytes.as_ptr().align_offset(HUGE_PAGE);
        let mut memory = Self { bytes, start, len };
        if huge_pages {
            ask_for_huge_pages(memory.bytes());
        }
        fill(memory.bytes(), 1);
        memory
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// Overwrites `bytes` with noise that depends on `seed`.
pub(crate) fn fill(bytes: &mut [u8], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for chunk in bytes.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let noise = state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
        chunk.copy_from_slice(&noise[..chunk.len()]);
    }
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages(bytes: &mut [u8]) {
    use core::ffi::{c_int, c_void};
    const MADV_HUGEPAGE: c_int = 14;
    // SAFETY: madvise of the C library, which std links on Linux, has this signature.
    unsafe extern "C" {
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    // SAFETY: the range is whole pages of ours, and this advice changes no byte of it. A refusal changes nothing.
    let _refused_or_not = unsafe { madvise(bytes.as_mut_ptr().cast(), bytes.len(), MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: &mut [u8]) {}

/// How cells lie in their memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Placement {
    /// Every cell on the start of a page, then `offset`.
    pub(crate) page_aligned: bool,
    /// Bytes by which every cell is off a line's start.
    pub(crate) offset: usize,
    /// Every cell off by another number of bytes.
    pub(crate) mixed: bool,
}

impl Placement {
    /// Bytes from one cell's start to the next one's.
    fn stride(self, len: usize) -> usize {
        if self.page_aligned {
            (len + LINE).next_multiple_of(PAGE)
        } else {
            len.next_multiple_of(LINE) + STAGGER * LINE
        }
    }

    fn offset(self, cell: usize) -> usize {
        if self.mixed { (7 * cell + 1) % LINE } else { self.offset % LINE }
    }

    /// Bytes that `cells` cells of `len` bytes take.
    pub(crate) fn size(self, cells: usize, len: usize) -> usize {
        cells * self.stride(len)
    }

    /// As many stripes as there is room for, and no more than `limit`.
    pub(crate) fn stripes(self, mut bytes: &mut [u8], shape: Shape, limit: usize) -> Vec<Stripe<'_>> {
        let stride = self.stride(shape.len);
        let cells = shape.sources + shape.outputs + shape.spare;
        let count = (bytes.len() / (cells * stride)).min(limit);
        let mut cell = |index: usize| {
            let (room, rest) = core::mem::take(&mut bytes).split_at_mut(stride);
            bytes = rest;
            &mut room[self.offset(index)..][..shape.len]
        };
        let mut stripe = || {
            let mut cells = (0..cells).map(&mut cell);
            Stripe {
                sources: cells.by_ref().take(shape.sources).collect(),
                outputs: cells.by_ref().take(shape.outputs).collect(),
                spare: cells.collect(),
            }
        };
        (0..count).map(|_| stripe()).collect()
    }
}

/// Cells of one stripe and their length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) sources: usize,
    pub(crate) outputs: usize,
    /// Cells for memcpy to write.
    pub(crate) spare: usize,
    pub(crate) len: usize,
}

/// What a contender works on: k cells to read and m to write, in this order in memory.
///
/// A rebuild stripe has the surviving cells in the order of their indices as sources, and the lost cell as first output;
/// the other outputs stand in for parity cells that nobody has.
pub(crate) struct Stripe<'a> {
    pub(crate) sources: Vec<&'a mut [u8]>,
    pub(crate) outputs: Vec<&'a mut [u8]>,
    pub(crate) spare: Vec<&'a mut [u8]>,
}

/// The cells as what a codec reads.
pub(crate) fn shared<'b>(cells: &'b [&mut [u8]]) -> Vec<&'b [u8]> {
    cells.iter().map(|cell| &**cell).collect()
}
