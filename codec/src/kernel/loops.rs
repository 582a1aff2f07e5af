//! The loops that every kernel runs: heads, whole vectors, tails, streaming stores. Written once over [`Lanes`];
//! everything is inlined into entry functions that enable the instruction set.

#![allow(
    clippy::needless_range_loop,
    reason = "counted loops over const arrays are what the compiler unrolls best"
)]

use core::mem::MaybeUninit;

use super::job::{Destination, Form, Group, Job, OutputByte};
use super::lanes::Lanes;
use super::sums::{Dyadic, Fixed, Plain, Six3, Sum};

/// A cache line: what aligned stores are worth aligning to.
const LINE: usize = 64;
/// How far ahead of the loads lines are fetched when data comes from memory. Cells that start alike modulo the page share sets of
/// the first cache: many sources fetched far ahead drive each other out (12 at 1 KiB: half the speed with 8 ways).
const fn ahead(sources: usize) -> usize {
    if sources > 8 { 256 } else { 384 }
}
/// Shorter cells are never streamed, and their heads are never peeled unless all cells agree.
const STREAM_FROM: usize = 4096;
const PEEL_FROM: usize = 1024;
const PEEL_ALWAYS_FROM: usize = 16384;

/// How source bytes get into a vector.
pub(super) trait Read<L: Lanes>: Copy {
    /// # Safety
    /// The instruction set is there, and `from` has the bytes that this way of reading takes.
    unsafe fn read(self, from: *const u8) -> L::Vector;
}

/// A whole vector.
#[derive(Clone, Copy)]
struct Whole;

impl<L: Lanes> Read<L> for Whole {
    #[inline(always)]
    unsafe fn read(self, from: *const u8) -> L::Vector {
        // SAFETY: as for this call.
        unsafe { L::load(from) }
    }
}

/// A whole vector, and the line that will be needed later is asked for.
#[derive(Clone, Copy)]
struct WholeAhead(usize);

impl<L: Lanes> Read<L> for WholeAhead {
    #[inline(always)]
    unsafe fn read(self, from: *const u8) -> L::Vector {
        // SAFETY: as for this call; a prefetch may name any address.
        unsafe {
            L::prefetch(from.wrapping_add(self.0));
            L::load(from)
        }
    }
}

/// The first bytes of a vector.
#[derive(Clone, Copy)]
struct First(usize);

impl<L: Lanes> Read<L> for First {
    #[inline(always)]
    unsafe fn read(self, from: *const u8) -> L::Vector {
        // SAFETY: as for this call.
        unsafe { L::load_first(from, self.0) }
    }
}

/// The outputs of one group, `len` bytes each.
struct Outputs<const M: usize> {
    start: [*mut u8; M],
    len: usize,
}

impl<const M: usize> Outputs<M> {
    /// # Safety
    /// As [`Lanes`]; `pos + U * BYTES <= len`; with ADD the bytes have been written before.
    #[inline(always)]
    unsafe fn put<L: Lanes, const U: usize, const ADD: bool>(&self, sums: [[L::Vector; U]; M], pos: usize) {
        for i in 0..M {
            for u in 0..U {
                // SAFETY: the bytes are inside the output, by this function's contract.
                unsafe {
                    let to = self.start[i].add(pos + u * L::BYTES);
                    L::store(to, if ADD { L::xor(L::load(to), sums[i][u]) } else { sums[i][u] });
                }
            }
        }
    }

    /// # Safety
    /// As [`Lanes`]; `pos + n <= len`, `n < BYTES`; with ADD the bytes have been written before.
    #[inline(always)]
    unsafe fn put_first<L: Lanes, const ADD: bool>(&self, sums: [[L::Vector; 1]; M], pos: usize, n: usize) {
        for i in 0..M {
            // SAFETY: the bytes are inside the output, by this function's contract.
            unsafe {
                let to = self.start[i].add(pos);
                let sum = if ADD { L::xor(L::load_first(to, n), sums[i][0]) } else { sums[i][0] };
                L::store_first(to, sum, n);
            }
        }
    }

    /// Bytes before the outputs' first line, where all have the same number.
    fn common_head(&self) -> Option<usize> {
        let head = self.start[0].addr().wrapping_neg() % LINE;
        self.start.iter().all(|start| start.addr().wrapping_neg() % LINE == head).then_some(head)
    }
}

/// How many bytes to do first so that the loop runs aligned: to the first output's vector, or with one output, where loads
/// dominate, to the first source's. Worth it when all cells agree, or when there is much to do.
#[inline(always)]
fn head<const M: usize>(sources: &[&[u8]], at: usize, outputs: &Outputs<M>, bytes: usize) -> usize {
    if outputs.len < PEEL_FROM {
        return 0;
    }
    let to = outputs.start[0].addr().wrapping_neg() % bytes;
    let from = |source: &&[u8]| source.as_ptr().addr().wrapping_add(at).wrapping_neg() % bytes;
    if outputs.len < PEEL_ALWAYS_FROM {
        let agree = outputs.start.iter().all(|start| start.addr().wrapping_neg() % bytes == to)
            && sources.iter().all(|source| from(source) == to);
        return if agree { to } else { 0 };
    }
    if M == 1 { sources.first().map_or(to, from) } else { to }
}

/// Runs one group: U vectors of each source a round, then V, then one, then what is left.
///
/// # Safety
/// As [`Lanes`]; `sum` reads sources that have `at + outputs.len` bytes; with ADD the outputs have been written before.
#[inline(always)]
unsafe fn run<L: Lanes, S: Sum<L, M>, const M: usize, const U: usize, const V: usize, const ADD: bool>(
    sum: &S,
    sources: &[&[u8]],
    at: usize,
    outputs: &Outputs<M>,
) {
    let len = outputs.len;
    let mut pos = 0;
    // SAFETY: every step below reads and writes bytes pos to pos + n of cells that have `len`, n as compared before it.
    unsafe {
        if L::MASKED {
            pos = head(sources, at, outputs, L::BYTES);
            if pos > 0 {
                outputs.put_first::<L, ADD>(sum.sum::<_, 1>(at, First(pos)), 0, pos);
            }
        } else if !ADD {
            // Without masks a whole vector is written, and the loop writes some of its bytes again.
            pos = head(sources, at, outputs, L::BYTES);
            if pos > 0 {
                outputs.put::<L, 1, ADD>(sum.sum::<_, 1>(at, Whole), 0);
            }
        }
        while len - pos >= U * L::BYTES {
            outputs.put::<L, U, ADD>(sum.sum::<_, U>(at + pos, Whole), pos);
            pos += U * L::BYTES;
        }
        if V > 1 {
            while len - pos >= V * L::BYTES {
                outputs.put::<L, V, ADD>(sum.sum::<_, V>(at + pos, Whole), pos);
                pos += V * L::BYTES;
            }
        }
        while len - pos >= L::BYTES {
            outputs.put::<L, 1, ADD>(sum.sum::<_, 1>(at + pos, Whole), pos);
            pos += L::BYTES;
        }
        if pos == len {
            return;
        }
        if L::MASKED || ADD || len < L::BYTES {
            outputs.put_first::<L, ADD>(sum.sum::<_, 1>(at + pos, First(len - pos)), pos, len - pos);
        } else {
            // The last whole vector: what it writes again, it writes alike.
            pos = len - L::BYTES;
            outputs.put::<L, 1, ADD>(sum.sum::<_, 1>(at + pos, Whole), pos);
        }
    }
}

/// Streaming stores, which need aligned outputs. Returns how far it came; the caller does the rest.
///
/// # Safety
/// As [`run`]; at least `STREAM_FROM` bytes.
#[inline(always)]
unsafe fn streamed<L: Lanes, S: Sum<L, M>, const M: usize>(
    sum: &S,
    sources: usize,
    at: usize,
    outputs: &Outputs<M>,
) -> usize {
    let (len, read) = (outputs.len, WholeAhead(ahead(sources)));
    let mut pos = 0;
    // SAFETY: every step reads and writes bytes inside cells of `len` bytes, as compared before it; streamed addresses are
    // multiples of a line.
    unsafe {
        if let Some(head) = outputs.common_head() {
            while pos < head {
                // Whole vectors over the head; the loop writes their last bytes again.
                outputs.put::<L, 1, false>(sum.sum::<_, 1>(at + pos, Whole), pos);
                pos += L::BYTES;
            }
            pos = head;
            while len - pos >= 2 * L::BYTES {
                let sums = sum.sum::<_, 2>(at + pos, read);
                for (start, sum) in outputs.start.iter().zip(sums) {
                    L::stream(start.add(pos), sum[0]);
                    L::stream(start.add(pos + L::BYTES), sum[1]);
                }
                pos += 2 * L::BYTES;
            }
        } else {
            while len - pos >= BOUNCE {
                bounced::<L, S, M>(sum, at, outputs, pos, read);
                pos += BOUNCE;
            }
        }
        L::fence();
    }
    pos
}

/// Bytes that go through a buffer at a time where outputs have different offsets.
const BOUNCE: usize = 2048;

#[repr(align(64))]
struct Buffer(MaybeUninit<[u8; BOUNCE]>);

/// Computes `BOUNCE` bytes into aligned buffers and streams each output's whole lines from there.
///
/// # Safety
/// As [`run`]; `pos + BOUNCE <= len`.
#[inline(always)]
unsafe fn bounced<L: Lanes, S: Sum<L, M>, const M: usize>(
    sum: &S,
    at: usize,
    outputs: &Outputs<M>,
    pos: usize,
    read: WholeAhead,
) {
    let mut buffers = [const { Buffer(MaybeUninit::uninit()) }; M];
    let mut start = [core::ptr::null_mut::<u8>(); M];
    for (start, buffer) in start.iter_mut().zip(&mut buffers) {
        *start = buffer.0.as_mut_ptr().cast();
    }
    let buffered = Outputs { start, len: BOUNCE };
    let mut done = 0;
    // SAFETY: the buffers hold BOUNCE bytes, a multiple of every vector; the outputs have BOUNCE bytes from `pos` on.
    unsafe {
        while done < BOUNCE {
            buffered.put::<L, 2, false>(sum.sum::<_, 2>(at + pos + done, read), done);
            done += 2 * L::BYTES;
        }
        for (to, from) in outputs.start.iter().zip(start) {
            let to = to.add(pos);
            let head = to.addr().wrapping_neg() % LINE;
            let lines = (BOUNCE - head) / LINE * LINE;
            core::ptr::copy_nonoverlapping(from, to, head);
            let mut done = head;
            while done < head + lines {
                L::stream(to.add(done), L::load(from.add(done)));
                done += L::BYTES;
            }
            core::ptr::copy_nonoverlapping(from.add(done), to.add(done), BOUNCE - done);
        }
    }
}

/// One group of a job with M outputs from `row` on.
pub(super) struct Part<'a, const M: usize> {
    sources: &'a [&'a [u8]],
    at: usize,
    outputs: Outputs<M>,
    group: &'a Group<'a>,
}

impl<'a, const M: usize> Part<'a, M> {
    /// Outputs `row..row + M` of the job.
    #[inline(always)]
    pub(super) fn new<'j: 'a, B: OutputByte>(
        job: &mut Job<'j, '_, B>,
        row: usize,
        group: &'a Group<'a>,
    ) -> Self {
        let mut start = [core::ptr::null_mut(); M];
        for (i, start) in start.iter_mut().enumerate() {
            *start = job.output(row + if group.form == Form::DyadicRotated { (i + 1) % M } else { i });
        }
        Self { sources: job.sources(), at: job.at(), outputs: Outputs { start, len: job.len() }, group }
    }

    /// Whether there is enough to do for streaming stores.
    #[inline(always)]
    pub(super) fn streams<L: Lanes>(&self, to: Destination) -> bool {
        L::STREAMS && to == Destination::NotReadSoon && self.outputs.len >= STREAM_FROM
    }

    /// Leaves out the first `n` bytes.
    #[inline(always)]
    fn skip(&mut self, n: usize) {
        self.at += n;
        self.outputs.len -= n;
        for start in &mut self.outputs.start {
            *start = start.wrapping_add(n);
        }
    }

    /// outputs = coefficients x sources, with coefficients in plain form; with ADD they are added to the outputs.
    ///
    /// # Safety
    /// The CPU has the instruction set of L; with ADD the outputs have been written before.
    #[inline(always)]
    pub(super) unsafe fn plain<L: Lanes, const U: usize, const V: usize, const ADD: bool>(&self) {
        let sum = Plain::new(self.sources, self.group.stream);
        // SAFETY: the job compared the lengths.
        unsafe { run::<L, _, M, U, V, ADD>(&sum, self.sources, self.at, &self.outputs) }
    }

    /// [`Part::plain`] for K sources; nothing is done if there is another number.
    ///
    /// # Safety
    /// The CPU has the instruction set of L.
    #[inline(always)]
    pub(super) unsafe fn fixed<L: Lanes, const K: usize, const U: usize, const V: usize>(&self) {
        let coefficients = self.group.stream.as_chunks::<M>().0.first_chunk::<K>();
        if let (Ok(sources), Some(coefficients)) = (self.sources.try_into(), coefficients) {
            // SAFETY: the instruction set is there; the job compared the lengths.
            unsafe {
                let sum = Fixed::<L, K, M>::new(sources, coefficients);
                run::<L, _, M, U, V, false>(&sum, self.sources, self.at, &self.outputs);
            }
        }
    }

    /// The same with coefficients in dyadic form.
    ///
    /// # Safety
    /// The CPU has the instruction set of L.
    #[inline(always)]
    pub(super) unsafe fn dyadic<L: Lanes, const U: usize, const V: usize>(&self) {
        let sum = Dyadic::new(self.sources, self.group);
        // SAFETY: the job compared the lengths.
        unsafe { run::<L, _, M, U, V, false>(&sum, self.sources, self.at, &self.outputs) }
    }

    /// Does what can be streamed with coefficients in plain form, and leaves the rest.
    ///
    /// # Safety
    /// The CPU has the instruction set of L, and [`Part::streams`].
    #[inline(always)]
    pub(super) unsafe fn stream_plain<L: Lanes>(&mut self) {
        let sum = Plain::new(self.sources, self.group.stream);
        // SAFETY: the job compared the lengths.
        let done = unsafe { streamed::<L, _, M>(&sum, self.sources.len(), self.at, &self.outputs) };
        self.skip(done);
    }

    /// The same with coefficients in dyadic form.
    ///
    /// # Safety
    /// As [`Part::stream_plain`].
    #[inline(always)]
    pub(super) unsafe fn stream_dyadic<L: Lanes>(&mut self) {
        let sum = Dyadic::new(self.sources, self.group);
        // SAFETY: the job compared the lengths.
        let done = unsafe { streamed::<L, _, M>(&sum, self.sources.len(), self.at, &self.outputs) };
        self.skip(done);
    }
}

impl Part<'_, 3> {
    /// RS-6-3 with twelve products.
    ///
    /// # Safety
    /// The CPU has the instruction set of L.
    #[inline(always)]
    pub(super) unsafe fn six3<L: Lanes, const U: usize>(&self) {
        if let Ok(sources) = <&[&[u8]; 6]>::try_from(self.sources) {
            // SAFETY: the instruction set is there; the job compared the lengths.
            unsafe {
                let sum = Six3::<L>::new(sources);
                run::<L, _, 3, U, 1, false>(&sum, self.sources, self.at, &self.outputs);
            }
        }
    }
}
