//! What a kernel is given: buffers whose lengths have been compared, and coefficients in the order they are read.

use core::mem::MaybeUninit;

use crate::Error;

/// A byte of an output: `u8`, or `MaybeUninit<u8>` where nobody should have to zero what is about to be written.
pub trait OutputByte: sealed::Sealed {}
impl OutputByte for u8 {}
impl OutputByte for MaybeUninit<u8> {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for core::mem::MaybeUninit<u8> {}
}

/// What happens to the outputs after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Destination {
    /// They are read soon, or fit a cache: ordinary stores.
    #[default]
    ReadSoon,
    /// They are larger than the caches and not read soon: stores that go past the caches, and sources fetched ahead.
    /// A loss for anything that fits a cache. Cells under 4 KiB are always written as [`Destination::ReadSoon`].
    NotReadSoon,
}

/// Sources and outputs of one call. Only the constructors make one, and they compare the lengths that kernels trust:
/// every output has `start + len` bytes, every source at least `at + len`.
pub(crate) struct Job<'j, 'd, B> {
    sources: &'j [&'j [u8]],
    outputs: &'j mut [&'d mut [B]],
    at: usize,
    len: usize,
    /// First byte of the outputs to write.
    start: usize,
}

impl<'j, 'd, B: OutputByte> Job<'j, 'd, B> {
    /// Runs `work` on whole cells: all sources and outputs have the same length.
    ///
    /// The job is lent, not returned: a copy of it would cost as much as rebuilding a short range.
    #[inline(always)]
    pub(crate) fn whole(
        sources: &'j [&'j [u8]],
        outputs: &'j mut [&'d mut [B]],
        work: impl FnOnce(&mut Self),
    ) -> Result<(), Error> {
        let len = outputs.first().map_or(0, |output| output.len());
        for source in sources {
            if source.len() != len {
                return Err(unequal(sources, outputs, len));
            }
        }
        for output in outputs.iter() {
            if output.len() != len {
                return Err(unequal(sources, outputs, len));
            }
        }
        work(&mut Self { sources, outputs, at: 0, len, start: 0 });
        Ok(())
    }

    /// Runs `work` on bytes `at..at + len` of the sources, where `len` is the length of every output.
    #[inline(always)]
    pub(crate) fn range(
        at: usize,
        sources: &'j [&'j [u8]],
        outputs: &'j mut [&'d mut [B]],
        work: impl FnOnce(&mut Self),
    ) -> Result<(), Error> {
        let len = outputs.first().map_or(0, |output| output.len());
        for (position, output) in outputs.iter().enumerate() {
            if output.len() != len {
                return Err(Error::OutputLength { position, expected: len, found: output.len() });
            }
        }
        Self::window((at, 0, len), sources, outputs, work)
    }

    /// Runs `work` on `len` bytes from `at` on in the sources and from `start` on in the outputs.
    #[inline(always)]
    pub(crate) fn window(
        (at, start, len): (usize, usize, usize),
        sources: &'j [&'j [u8]],
        outputs: &'j mut [&'d mut [B]],
        work: impl FnOnce(&mut Self),
    ) -> Result<(), Error> {
        let Some(end) = at.checked_add(len) else { return Err(Error::Range { start: at, len }) };
        let Some(output_end) = start.checked_add(len) else { return Err(Error::Range { start, len }) };
        for (position, output) in outputs.iter().enumerate() {
            if output.len() < output_end {
                return Err(Error::OutputLength { position, expected: output_end, found: output.len() });
            }
        }
        for (position, source) in sources.iter().enumerate() {
            if source.len() < end {
                return Err(Error::SourceLength { position, expected: end, found: source.len() });
            }
        }
        work(&mut Self { sources, outputs, at, len, start });
        Ok(())
    }

    /// Runs `work` on `step` bytes of the cells at a time.
    pub(super) fn in_steps(&mut self, step: usize, mut work: impl FnMut(&mut Self)) {
        let (at, len, start) = (self.at, self.len, self.start);
        let mut done = 0;
        while done < len {
            (self.at, self.len, self.start) = (at + done, step.min(len - done), start + done);
            work(self);
            done += self.len;
        }
        (self.at, self.len, self.start) = (at, len, start);
    }

    /// How many outputs.
    #[inline]
    pub(super) fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// The sources, with at least [`Job::at`] + [`Job::len`] bytes each.
    #[inline]
    pub(super) fn sources(&self) -> &'j [&'j [u8]] {
        self.sources
    }

    /// First byte of the sources to read.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes of every output.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where output `i` starts: [`Job::len`] bytes that only this job may write, and that hold values where B is `u8`.
    #[inline]
    pub(super) fn output(&mut self, i: usize) -> *mut u8 {
        self.outputs[i].as_mut_ptr().cast::<u8>().wrapping_add(self.start)
    }
}

/// Which cell is at fault: the sources say what is expected, the outputs are looked at first.
#[cold]
fn unequal<B>(sources: &[&[u8]], outputs: &[&mut [B]], len: usize) -> Error {
    let expected = sources.first().map_or(len, |source| source.len());
    for (position, output) in outputs.iter().enumerate() {
        if output.len() != expected {
            return Error::OutputLength { position, expected, found: output.len() };
        }
    }
    let other = sources.iter().enumerate().find(|(_, source)| source.len() != expected);
    let (position, found) = other.map_or((0, expected), |(position, source)| (position, source.len()));
    Error::SourceLength { position, expected, found }
}

/// How the coefficients of up to four outputs are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Form {
    /// Source after source, one coefficient for each output.
    Plain = 0,
    /// Fewer products: see `dyadic.rs`.
    Dyadic = 1,
    /// Dyadic, with the outputs in the order 1, 2, 0.
    DyadicRotated = 2,
    /// Dyadic, and the rows are those of RS-6-3, for which there is a schedule of twelve products.
    Six3 = 3,
}

impl Form {
    /// The form with this number; plain for a number that is none.
    #[inline]
    pub(crate) const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Dyadic,
            2 => Self::DyadicRotated,
            3 => Self::Six3,
            _ => Self::Plain,
        }
    }
}

/// The coefficients of up to four outputs, in the order that kernels read them. A stream that is too short computes
/// less, never reads elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    /// Arrangement.
    pub(crate) form: Form,
    /// Outputs: 1 to 4.
    pub(crate) rows: usize,
    /// Dyadic: which source each coefficient belongs to.
    pub(crate) order: &'a [u8],
    /// Dyadic: blocks of four sources, then blocks of two; the rest are single.
    pub(crate) quads: usize,
    pub(crate) pairs: usize,
    /// The stream.
    pub(crate) stream: &'a [u8],
}

impl<'a> Group<'a> {
    /// A plain group.
    #[inline]
    pub(crate) const fn plain(rows: usize, stream: &'a [u8]) -> Self {
        Self { form: Form::Plain, rows, order: &[], quads: 0, pairs: 0, stream }
    }
}
