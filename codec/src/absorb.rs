//! Rebuilding while the sources still arrive, each as a stream of its own.

use crate::kernel::Outputs;
use crate::plan::RebuildPlan;
use crate::storage::{Inline, PlanStorage};
use crate::{Error, OutputByte};

/// How far each source has come. Pieces of one source come in order; between sources any order will do.
#[derive(Clone, Copy, Debug)]
struct Positions<A> {
    sources: usize,
    len: usize,
    at: A,
}

impl<A: AsRef<[usize]> + AsMut<[usize]>> Positions<A> {
    fn new(sources: usize, len: usize, mut at: A) -> Result<Self, Error> {
        let found = at.as_ref().len();
        let Some(used) = at.as_mut().get_mut(..sources) else {
            return Err(Error::Storage { needed: sources, found });
        };
        used.fill(0);
        Ok(Self { sources, len, at })
    }

    /// Where a piece of `piece` bytes at `offset` of a source would end, if it is the next one.
    fn end(&self, source: usize, offset: usize, piece: usize) -> Result<usize, Error> {
        let Some(&expected) = self.at.as_ref().get(..self.sources).and_then(|at| at.get(source)) else {
            return Err(Error::CellIndex { index: source, cells: self.sources });
        };
        if offset > expected {
            return Err(Error::Gap { source, expected, found: offset });
        }
        if offset < expected {
            return Err(Error::Overlap { source, expected, found: offset });
        }
        match offset.checked_add(piece) {
            Some(end) if end <= self.len => Ok(end),
            _ => Err(Error::PastEnd { source, end: offset.saturating_add(piece), len: self.len }),
        }
    }

    fn advance(&mut self, source: usize, end: usize) {
        if let Some(at) = self.at.as_mut().get_mut(source) {
            *at = end;
        }
    }

    fn restart(&mut self) {
        self.at.as_mut().iter_mut().take(self.sources).for_each(|at| *at = 0);
    }

    fn complete(&self) -> usize {
        self.at.as_ref().iter().take(self.sources).copied().min().unwrap_or(self.len)
    }
}

/// A rebuild that takes source bytes as they arrive and keeps none of them: each piece is multiplied into the outputs at once.
///
/// The outputs are lent for each call and must be the same memory with the same contents each time; what they hold at first
/// does not matter. [`Absorber::into_outputs`] takes them once, and uninitialised. `A` holds one position for each source: `[usize; N]`, or any memory.
///
/// A plan whose sources are all known to be zero has nothing to absorb: [`Absorber::write_zeros`] makes its outputs final.
///
/// Where the pieces stay in memory anyway, a [`Frontier`] is faster.
#[derive(Clone, Copy)]
pub struct Absorber<S, A> {
    plan: RebuildPlan<S>,
    positions: Positions<A>,
    /// Outputs have been written up to here.
    touched: usize,
}

impl<S: PlanStorage, A: AsRef<[usize]> + AsMut<[usize]>> Absorber<S, A> {
    /// Absorbs cells, or byte ranges of cells, of `len` bytes; `positions` has room for the plan's sources.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn new_in(plan: RebuildPlan<S>, len: usize, positions: A) -> Result<Self, Error> {
        let positions = Positions::new(plan.sources().len(), len, positions)?;
        Ok(Self { plan, positions, touched: 0 })
    }

    /// Takes the next bytes of one source: `source` is its position in [`RebuildPlan::sources`], `offset` must be where its
    /// last piece ended, `outputs` are whole: one for each lost cell, `len` bytes long.
    ///
    /// # Errors
    /// [`Error::CellIndex`], [`Error::Gap`], [`Error::Overlap`], [`Error::PastEnd`], [`Error::OutputCount`],
    /// [`Error::OutputLength`]. Neither the absorber nor the outputs have changed then.
    pub fn absorb(
        &mut self,
        source: usize,
        offset: usize,
        piece: &[u8],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        self.check_outputs(outputs)?;
        self.absorb_into(source, offset, piece, &mut Outputs::touched_before(outputs, self.touched))
    }

    fn absorb_into<B: OutputByte>(
        &mut self,
        source: usize,
        offset: usize,
        piece: &[u8],
        outputs: &mut Outputs<'_, '_, B>,
    ) -> Result<(), Error> {
        let end = self.positions.end(source, offset, piece.len())?;
        outputs.absorb(self.plan.kernel(), self.plan.column(source), piece, offset)?;
        self.positions.advance(source, end);
        self.touched = outputs.touched();
        Ok(())
    }

    /// Writes the outputs of a plan without sources, which are zero.
    ///
    /// # Errors
    /// [`Error::SourceCount`] for a plan with sources, [`Error::OutputCount`], [`Error::OutputLength`]. Nothing has changed then.
    pub fn write_zeros(&mut self, outputs: &mut [&mut [u8]]) -> Result<(), Error> {
        self.check_outputs(outputs)?;
        self.plan.check_counts(0, outputs.len())?;
        let mut outputs = Outputs::touched_before(outputs, self.touched);
        outputs.write_zeros()?;
        self.touched = outputs.touched();
        Ok(())
    }

    /// The same rebuild, from its beginning, into outputs that are lent once and may be uninitialised memory.
    ///
    /// # Errors
    /// [`Error::OutputCount`], [`Error::OutputLength`].
    pub fn into_outputs<'o, 'b, B: OutputByte>(
        mut self,
        outputs: &'o mut [&'b mut [B]],
    ) -> Result<AbsorberInto<'o, 'b, S, A, B>, Error> {
        self.check_outputs(outputs)?;
        self.restart();
        let mut outputs = Outputs::untouched(outputs);
        if self.positions.sources == 0 {
            outputs.write_zeros()?;
            self.touched = outputs.touched();
        }
        Ok(AbsorberInto { absorber: self, outputs })
    }

    fn check_outputs<B>(&self, outputs: &[&mut [B]]) -> Result<(), Error> {
        self.plan.check_counts(self.positions.sources, outputs.len())?;
        let expected = self.positions.len;
        match outputs.iter().position(|output| output.len() != expected) {
            Some(position) => Err(Error::OutputLength { position, expected, found: outputs[position].len() }),
            None => Ok(()),
        }
    }

    /// How many leading bytes of every output are final.
    #[must_use]
    pub fn ready(&self) -> usize {
        if self.positions.sources == 0 { self.touched } else { self.positions.complete() }
    }

    /// Whether every byte has been absorbed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.ready() == self.positions.len
    }

    /// Where the next piece of a source must start; `None` for a position that is no source.
    #[must_use]
    pub fn expected(&self, source: usize) -> Option<usize> {
        self.positions.at.as_ref().get(..self.positions.sources)?.get(source).copied()
    }

    /// The plan that is being run.
    #[must_use]
    pub fn plan(&self) -> &RebuildPlan<S> {
        &self.plan
    }

    /// Starts again, for the next stripe.
    pub fn restart(&mut self) {
        self.positions.restart();
        self.touched = 0;
    }
}

impl<S: PlanStorage, A: AsRef<[usize]> + AsMut<[usize]>> core::fmt::Debug for Absorber<S, A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Absorber")
            .field("plan", &self.plan)
            .field("len", &self.positions.len)
            .field("ready", &self.ready())
            .finish_non_exhaustive()
    }
}

/// An [`Absorber`] that has its outputs: nobody zeroes them before, and final bytes are read through it.
pub struct AbsorberInto<'o, 'b, S, A, B> {
    absorber: Absorber<S, A>,
    outputs: Outputs<'o, 'b, B>,
}

impl<S, A, B> AbsorberInto<'_, '_, S, A, B>
where
    S: PlanStorage,
    A: AsRef<[usize]> + AsMut<[usize]>,
    B: OutputByte,
{
    /// Takes the next bytes of one source: see [`Absorber::absorb`].
    ///
    /// # Errors
    /// [`Error::CellIndex`], [`Error::Gap`], [`Error::Overlap`], [`Error::PastEnd`]. Nothing has changed then.
    pub fn absorb(&mut self, source: usize, offset: usize, piece: &[u8]) -> Result<(), Error> {
        self.absorber.absorb_into(source, offset, piece, &mut self.outputs)
    }

    /// The leading bytes of one output, by its position in [`RebuildPlan::lost`], that are final; all of it when
    /// [`AbsorberInto::is_done`]. `None` for a position that is no output.
    #[must_use]
    pub fn ready(&self, lost: usize) -> Option<&[u8]> {
        self.outputs.written(lost)?.get(..self.absorber.ready())
    }

    /// Whether every byte of every output is final.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.absorber.is_done()
    }

    /// Where the next piece of a source must start; `None` for a position that is no source.
    #[must_use]
    pub fn expected(&self, source: usize) -> Option<usize> {
        self.absorber.expected(source)
    }
}

impl<S, A, B> core::fmt::Debug for AbsorberInto<'_, '_, S, A, B>
where
    S: PlanStorage,
    A: AsRef<[usize]> + AsMut<[usize]>,
    B: OutputByte,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AbsorberInto")
            .field("absorber", &self.absorber)
            .field("outputs", &self.outputs.cells().len())
            .finish()
    }
}

impl<const K: usize, const M: usize> RebuildPlan<Inline<K, M>> {
    /// Absorbs cells, or byte ranges of cells, of `len` bytes by this plan.
    #[must_use]
    pub fn absorber(&self, len: usize) -> Absorber<Inline<K, M>, [usize; K]> {
        let positions = Positions { sources: self.sources().len().min(K), len, at: [0; K] };
        Absorber { plan: *self, positions, touched: 0 }
    }

    /// Tells which byte ranges this plan can be run on, for cells of `len` bytes that stay in memory.
    #[must_use]
    pub fn frontier(&self, len: usize) -> Frontier<[usize; K]> {
        let positions = Positions { sources: self.sources().len().min(K), len, at: [0; K] };
        Frontier { positions, taken: 0 }
    }
}

/// Which bytes all sources have reached, for sources that are kept in memory as they arrive: run the plan on each range that
/// [`Frontier::take`] gives ([`RebuildPlan::run_at`]).
#[derive(Clone, Copy, Debug)]
pub struct Frontier<A> {
    positions: Positions<A>,
    taken: usize,
}

impl<A: AsRef<[usize]> + AsMut<[usize]>> Frontier<A> {
    /// For a number of sources of `len` bytes; `positions` has room for one each.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn new_in(sources: usize, len: usize, positions: A) -> Result<Self, Error> {
        Ok(Self { positions: Positions::new(sources, len, positions)?, taken: 0 })
    }

    /// Bytes `offset` to `offset` + `bytes` of one source are there; `offset` must be where its last piece ended.
    ///
    /// # Errors
    /// [`Error::CellIndex`], [`Error::Gap`], [`Error::Overlap`], [`Error::PastEnd`]. The frontier has not changed then.
    pub fn arrived(&mut self, source: usize, offset: usize, bytes: usize) -> Result<(), Error> {
        let end = self.positions.end(source, offset, bytes)?;
        self.positions.advance(source, end);
        Ok(())
    }

    /// Leading bytes that all sources have reached.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.positions.complete()
    }

    /// The bytes that all sources have reached since the last call; `None` if there are fewer than `least` of them, unless they
    /// are the last.
    #[must_use]
    pub fn take(&mut self, least: usize) -> Option<core::ops::Range<usize>> {
        let (start, end) = (self.taken, self.ready());
        if end == start || (end - start < least && end < self.positions.len) {
            return None;
        }
        self.taken = end;
        Some(start..end)
    }
}
