//! Cells arrive in pieces. RS-6-3, one cell lost, hot: a rebuild piece by piece as they come, against one run when all
//! are there.

use std::time::Duration;

use hedgerow::codec::{CellSet, Inline, Kernel, RebuildPlan, ReedSolomon};

use crate::harness::{Effort, interleave, timed};
use crate::job::{LOST, Schema};
use crate::memory::{Memory, Shape, Stripe, shared};
use crate::options::Options;

const RS_6_3: Schema = Schema { k: 6, m: 3 };

/// Less than this is not worth a run.
const FRONTIER: usize = 8 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    OneShot,
    /// Pieces of this length, all of a source before the next source.
    AfterEachOther(usize),
    /// Pieces of this length, one of every source in turn.
    RoundRobin(usize),
    /// As round robin, but run over what is complete: the bytes stay in memory until then.
    Frontier(usize),
}

impl Way {
    fn all() -> Vec<Self> {
        let pieces = [1 << 10, 8 << 10, 64 << 10];
        let mut all = vec![Self::OneShot];
        all.extend(pieces.map(Self::RoundRobin));
        all.extend(pieces.map(Self::AfterEachOther));
        all.extend(pieces.map(Self::Frontier));
        all
    }

    fn name(self) -> String {
        match self {
            Self::OneShot => "one run".into(),
            Self::AfterEachOther(piece) => format!("absorb, source after source, {} KiB", piece >> 10),
            Self::RoundRobin(piece) => format!("absorb, round robin, {} KiB", piece >> 10),
            Self::Frontier(piece) => format!("frontier, round robin, {} KiB", piece >> 10),
        }
    }
}

/// Prints the table.
pub(crate) fn print(options: &Options) {
    let code = ReedSolomon::<6, 3>::new(Kernel::detect());
    let plan = code.plan(&[LOST], &RS_6_3.survivors(), CellSet::EMPTY).expect("k survivors");
    let rounds = if options.quick { 101 } else { 1001 };
    let effort = Effort { time: Duration::from_secs(20), least: rounds, most: rounds };
    println!("GB/s of input, RS-6-3, one data cell lost, hot\n");
    println!("{:>9}  {:36}{:>8}{:>8}{:>8}{:>7}", "cell", "", "min", "median", "max", "ratio");
    for len in [64 << 10, 1 << 20] {
        let shape = Shape { sources: RS_6_3.k, outputs: RS_6_3.m, spare: 0, len };
        let mut memory = Memory::new(options.placement.size(9, len), options.huge_pages);
        let mut stripes = options.placement.stripes(memory.bytes(), shape, 1);
        let stripe = &mut stripes[0];

        run(&plan, Way::OneShot, stripe);
        let expected = stripe.outputs[0].to_vec();
        let mut ways = Way::all();
        for &way in &ways {
            stripe.outputs[0].fill(0);
            run(&plan, way, stripe);
            assert!(*stripe.outputs[0] == expected, "{}: other bytes", way.name());
        }

        let timings =
            interleave(&mut ways, effort, true, |&mut way, calls| timed(calls, || run(&plan, way, stripe)));
        let input = (RS_6_3.k * len) as f64;
        for (way, timing) in ways.iter().zip(&timings) {
            println!(
                "{len:>9}  {:36}{:>8.1}{:>8.1}{:>8.1}{:>7.2}",
                way.name(),
                input / timing.max,
                input / timing.median,
                input / timing.min,
                timings[0].median / timing.median
            );
        }
        println!();
    }
}

/// Rebuilds the lost cell into the first output.
fn run(plan: &RebuildPlan<Inline<6, 3>>, way: Way, stripe: &mut Stripe<'_>) {
    let sources = shared(&stripe.sources);
    let outputs = &mut stripe.outputs[..1];
    let len = sources[0].len();
    match way {
        Way::OneShot => plan.run(&sources, outputs).expect("equal lengths"),
        Way::AfterEachOther(piece) => {
            let mut absorber = plan.absorber(len);
            for (source, cell) in sources.iter().enumerate() {
                for (index, bytes) in cell.chunks(piece).enumerate() {
                    absorber.absorb(source, index * piece, bytes, outputs).expect("in order");
                }
            }
        }
        Way::RoundRobin(piece) => {
            let mut absorber = plan.absorber(len);
            for start in (0..len).step_by(piece) {
                let end = len.min(start + piece);
                for (source, cell) in sources.iter().enumerate() {
                    absorber.absorb(source, start, &cell[start..end], outputs).expect("in order");
                }
            }
        }
        Way::Frontier(piece) => {
            let mut frontier = plan.frontier(len);
            for start in (0..len).step_by(piece) {
                for source in 0..sources.len() {
                    frontier.arrived(source, start, piece.min(len - start)).expect("in order");
                    if let Some(range) = frontier.take(FRONTIER) {
                        let at = range.start;
                        plan.run_at(at, &sources, &mut [&mut outputs[0][range]]).expect("inside the cells");
                    }
                }
            }
        }
    }
}
