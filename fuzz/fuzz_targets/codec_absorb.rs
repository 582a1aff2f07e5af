//! Absorbers and frontiers against a simple model: whatever pieces come, right or wrong, errors change nothing, what is
//! ready is exact, and the bytes are those of the plan run in one go.
#![no_main]

#[macro_use]
mod common;

use arbitrary::Arbitrary;
use common::{Cell, Coder, Place, Random, Spec, kernel, slices_mut};
use hedgerow_codec::{
    Absorber, CellSet, Error, Frontier, Inline, Kernel, PlanStorage, RebuildPlan, ReedSolomon, plan_bytes,
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    code: Choice,
    kernel: u8,
    lost: u8,
    order: u64,
    zeros: u16,
    len: u16,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Choice {
    Six3,
    Three2,
    Ten4,
    /// Plan and positions in memory of the caller's, of which there are this many more or fewer than needed.
    Any(Spec, i8),
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// The next bytes of a source.
    Next(u8, u16),
    /// Bytes from anywhere, of any source.
    Any(usize, usize, u16),
    /// The next bytes, a little off.
    Off(u8, i8, u16),
    /// The next bytes, beyond the end by some.
    Beyond(u8, u8),
    /// The next bytes of a source, with another number of outputs, or one of another length.
    WrongCount(u8, u16, i8),
    WrongLength(u8, u16, u8, i8),
    Take(usize),
    Restart,
}

fuzz_target!(|input: Input| {
    let kernel = kernel(input.kernel);
    match input.code {
        Choice::Six3 => inline(ReedSolomon::<6, 3>::new(kernel), &input),
        Choice::Three2 => inline(ReedSolomon::<3, 2>::new(kernel), &input),
        Choice::Ten4 => inline(ReedSolomon::<10, 4>::new(kernel), &input),
        Choice::Any(spec, more) => with_code!(spec, kernel, |code, _kind| in_storage(code, more, &input)),
    }
});

/// Lost cells, sources and zeros, in any order.
fn choose(k: usize, m: usize, input: &Input) -> (Vec<usize>, Vec<usize>, CellSet) {
    let mut cells: Vec<usize> = (0..k + m).collect();
    Random(input.order).shuffle(&mut cells);
    let sources = cells.split_off(m);
    cells.truncate(1 + usize::from(input.lost) % m);
    let zeros = sources.iter().enumerate().filter(|(i, _)| input.zeros >> (i % 16) & 1 == 1);
    let zeros = zeros.map(|(_, &cell)| cell).collect();
    (cells, sources, zeros)
}

fn inline<const K: usize, const M: usize>(code: ReedSolomon<K, M>, input: &Input) {
    let (lost, sources, zeros) = choose(K, M, input);
    let plan: RebuildPlan<Inline<K, M>> = code.plan(lost, sources, zeros).unwrap();
    let len = usize::from(input.len) % 2000;
    Run::new(&plan, len, input).steps(plan.absorber(len), plan.frontier(len));
}

fn in_storage<C: Coder>(code: &C, more: i8, input: &Input) {
    let (k, m) = (code.k(), code.m());
    let (lost, sources, zeros) = choose(k, m, input);
    let (mut bytes, mut again) = (vec![0; plan_bytes(k, m)], vec![0; plan_bytes(k, m)]);
    // Cells that a matrix of any numbers does not decode from are the other targets' business.
    let Ok(plan) = code.plan_in(&lost, &sources, zeros, &mut bytes[..]) else { return };
    let reference = code.plan_in(&lost, &sources, zeros, &mut again[..]).unwrap();
    let len = usize::from(input.len) % 20_000 / (k + m);
    let n = plan.sources().len();
    let found = n.saturating_add_signed(isize::from(more) % 4);
    let mut positions = vec![usize::MAX; found];
    let mut frontier_positions = positions.clone();
    if found < n {
        let needed = Error::Storage { needed: n, found };
        assert_eq!(Absorber::new_in(plan, len, &mut positions[..]).unwrap_err(), needed);
        assert_eq!(Frontier::new_in(n, len, &mut frontier_positions[..]).unwrap_err(), needed);
        assert!(positions.iter().chain(&frontier_positions).all(|&at| at == usize::MAX));
        return;
    }
    let absorber = Absorber::new_in(plan, len, &mut positions[..]).unwrap();
    let frontier = Frontier::new_in(n, len, &mut frontier_positions[..]).unwrap();
    Run::new(&reference, len, input).steps(absorber, frontier);
}

/// The model: where each source stands. And what there should be in the end.
struct Run<'a> {
    input: &'a Input,
    kernel: Kernel,
    len: usize,
    sources: Vec<Vec<u8>>,
    expected: Vec<Vec<u8>>,
    outputs: Vec<Cell>,
    at: Vec<usize>,
    taken: usize,
}

impl<'a> Run<'a> {
    fn new<S: PlanStorage>(plan: &RebuildPlan<S>, len: usize, input: &'a Input) -> Self {
        let mut random = Random(input.order);
        let sources: Vec<Vec<u8>> = plan.sources().iter().map(|_| random.bytes(len)).collect();
        let slices: Vec<&[u8]> = sources.iter().map(|source| &source[..]).collect();
        let mut expected = vec![vec![0; len]; plan.lost().len()];
        let mut outputs: Vec<&mut [u8]> = expected.iter_mut().map(|output| &mut output[..]).collect();
        plan.run(&slices, &mut outputs).unwrap();
        let mut garbage = || {
            let place = Place { offset: random.below(64), at_the_end: random.below(4) == 0 };
            Cell::new(&random.bytes(len), place)
        };
        let outputs = plan.lost().iter().map(|_| garbage()).collect();
        let at = vec![0; sources.len()];
        Self { input, kernel: plan.kernel(), len, sources, expected, outputs, at, taken: 0 }
    }

    fn ready(&self) -> usize {
        self.at.iter().copied().min().unwrap_or(self.len)
    }

    /// What is wrong with a piece, if anything.
    fn piece(&self, source: usize, offset: usize, bytes: usize) -> Result<(), Error> {
        let Some(&expected) = self.at.get(source) else {
            return Err(Error::CellIndex { index: source, cells: self.at.len() });
        };
        if offset != expected {
            return Err(if offset > expected {
                Error::Gap { source, expected, found: offset }
            } else {
                Error::Overlap { source, expected, found: offset }
            });
        }
        match offset.saturating_add(bytes) {
            end if end > self.len => Err(Error::PastEnd { source, end, len: self.len }),
            _ => Ok(()),
        }
    }

    fn steps<S, A, F>(mut self, mut absorber: Absorber<S, A>, mut frontier: Frontier<F>)
    where
        S: PlanStorage,
        A: AsRef<[usize]> + AsMut<[usize]>,
        F: AsRef<[usize]> + AsMut<[usize]>,
    {
        let input = self.input;
        assert_eq!(absorber.plan().kernel(), self.kernel);
        self.write_zeros(&mut absorber);
        for step in input.steps.iter().take(200) {
            let n = self.at.len();
            let source = |source: u8| usize::from(source) % n.max(1);
            let at = |cell: usize| self.at.get(cell).copied().unwrap_or(0);
            match *step {
                Step::Next(cell, bytes) => {
                    let cell = source(cell);
                    let bytes = usize::from(bytes) % (self.len - at(cell) + 1);
                    self.take(&mut absorber, &mut frontier, cell, at(cell), bytes);
                }
                Step::Any(cell, offset, bytes) => {
                    self.take(&mut absorber, &mut frontier, cell, offset, usize::from(bytes) % 3000);
                }
                Step::Off(cell, by, bytes) => {
                    let cell = source(cell);
                    let offset = at(cell).saturating_add_signed(isize::from(by));
                    self.take(&mut absorber, &mut frontier, cell, offset, usize::from(bytes) % 3000);
                }
                Step::Beyond(cell, by) => {
                    let cell = source(cell);
                    let bytes = self.len - at(cell) + usize::from(by);
                    self.take(&mut absorber, &mut frontier, cell, at(cell), bytes);
                }
                Step::WrongCount(cell, bytes, more) => {
                    let expected = self.outputs.len();
                    let found = expected.saturating_add_signed(isize::from(more) % 4);
                    if n > 0 && found != expected {
                        let wrong = vec![self.len; found];
                        let error = Error::OutputCount { expected, found };
                        self.refused(&mut absorber, source(cell), bytes, wrong, error);
                    }
                }
                Step::WrongLength(cell, bytes, position, more) => {
                    let position = usize::from(position) % self.outputs.len();
                    let (expected, found) = (self.len, self.len.saturating_add_signed(isize::from(more)));
                    if n > 0 && found != expected {
                        let mut wrong = vec![self.len; self.outputs.len()];
                        wrong[position] = found;
                        let error = Error::OutputLength { position, expected, found };
                        self.refused(&mut absorber, source(cell), bytes, wrong, error);
                    }
                }
                Step::Take(least) => self.take_range(&mut frontier, least),
                Step::Restart => {
                    absorber.restart();
                    self.write_zeros(&mut absorber);
                    // A frontier is made anew for each stripe: the model's place of it can only start again with it.
                    if self.at.iter().all(|&at| at == 0) && self.taken == 0 {
                        assert_eq!(absorber.ready(), frontier.ready());
                    } else {
                        self.at.fill(0);
                        self.check(&absorber);
                        return self.finish(absorber, None::<Frontier<F>>);
                    }
                }
            }
            self.check(&absorber);
            assert_eq!(frontier.ready(), self.ready());
        }
        self.finish(absorber, Some(frontier));
    }

    /// A plan without sources has zeros to write, and any other refuses to.
    fn write_zeros<S, A>(&mut self, absorber: &mut Absorber<S, A>)
    where
        S: PlanStorage,
        A: AsRef<[usize]> + AsMut<[usize]>,
    {
        let written = absorber.write_zeros(&mut slices_mut(&mut self.outputs));
        let found = self.at.len();
        let refused = Err(Error::SourceCount { expected: found, found: 0 });
        assert_eq!(written, if found == 0 { Ok(()) } else { refused });
    }

    fn take<S, A, F>(
        &mut self,
        absorber: &mut Absorber<S, A>,
        frontier: &mut Frontier<F>,
        source: usize,
        offset: usize,
        bytes: usize,
    ) where
        S: PlanStorage,
        A: AsRef<[usize]> + AsMut<[usize]>,
        F: AsRef<[usize]> + AsMut<[usize]>,
    {
        let expected = self.piece(source, offset, bytes);
        let wrong = vec![0x5a; if expected.is_err() { bytes } else { 0 }];
        let piece = if expected.is_ok() { &self.sources[source][offset..offset + bytes] } else { &wrong[..] };
        let before: Vec<Vec<u8>> = match expected {
            Ok(()) => vec![],
            Err(_) => self.outputs.iter().map(|output| output.get().to_vec()).collect(),
        };
        assert_eq!(absorber.absorb(source, offset, piece, &mut slices_mut(&mut self.outputs)), expected);
        assert_eq!(frontier.arrived(source, offset, bytes), expected);
        if expected.is_ok() {
            self.at[source] += bytes;
        } else {
            assert!(self.outputs.iter().map(Cell::get).eq(before.iter().map(|output| &output[..])));
        }
    }

    /// A right piece with wrong outputs.
    fn refused<S: PlanStorage, A: AsRef<[usize]> + AsMut<[usize]>>(
        &self,
        absorber: &mut Absorber<S, A>,
        source: usize,
        bytes: u16,
        lens: Vec<usize>,
        error: Error,
    ) {
        let at = self.at[source];
        let piece = &self.sources[source][at..at + usize::from(bytes) % (self.len - at + 1)];
        let mut wrong: Vec<Vec<u8>> = lens.iter().map(|&len| vec![0x5a; len]).collect();
        let mut outputs: Vec<&mut [u8]> = wrong.iter_mut().map(|output| &mut output[..]).collect();
        assert_eq!(absorber.absorb(source, at, piece, &mut outputs), Err(error));
        assert!(wrong.iter().flatten().all(|&byte| byte == 0x5a));
    }

    fn take_range<F: AsRef<[usize]> + AsMut<[usize]>>(&mut self, frontier: &mut Frontier<F>, least: usize) {
        // Mostly a size that pieces have.
        let least = if least.is_multiple_of(8) { least } else { least % 2000 };
        let (start, end) = (self.taken, self.ready());
        let enough = end > start && (end - start >= least || end == self.len);
        assert_eq!(frontier.take(least), enough.then_some(start..end));
        if enough {
            self.taken = end;
        }
    }

    fn check<S: PlanStorage, A: AsRef<[usize]> + AsMut<[usize]>>(&self, absorber: &Absorber<S, A>) {
        let ready = self.ready();
        assert_eq!((absorber.ready(), absorber.is_done()), (ready, ready == self.len));
        for source in 0..self.at.len() + 2 {
            assert_eq!(absorber.expected(source), self.at.get(source).copied());
        }
        for (output, expected) in self.outputs.iter().zip(&self.expected) {
            assert!(output.get()[..ready] == expected[..ready]);
        }
    }

    /// What is missing comes, and all is as if it had come in one go.
    fn finish<S, A, F>(mut self, mut absorber: Absorber<S, A>, mut frontier: Option<Frontier<F>>)
    where
        S: PlanStorage,
        A: AsRef<[usize]> + AsMut<[usize]>,
        F: AsRef<[usize]> + AsMut<[usize]>,
    {
        let mut random = Random(!self.input.order);
        while let Some(source) =
            (0..self.at.len()).filter(|&j| self.at[j] < self.len).min_by_key(|_| random.next())
        {
            let (at, left) = (self.at[source], self.len - self.at[source]);
            let bytes = if random.below(3) == 0 { left } else { left.min(1 + random.below(900)) };
            let piece = &self.sources[source][at..at + bytes];
            absorber.absorb(source, at, piece, &mut slices_mut(&mut self.outputs)).unwrap();
            if let Some(frontier) = &mut frontier {
                frontier.arrived(source, at, bytes).unwrap();
            }
            self.at[source] += bytes;
            self.check(&absorber);
        }
        assert!(absorber.is_done());
        self.outputs.iter().for_each(Cell::check_canaries);
        if let Some(mut frontier) = frontier {
            let rest = self.taken..self.len;
            assert_eq!(frontier.take(usize::MAX), (!rest.is_empty()).then_some(rest));
            assert_eq!(frontier.take(0), None);
        }
    }
}
