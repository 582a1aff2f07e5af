//! What a simulation of the nodes' queues counts, beside what theory says.

use hedgerow::fleet::{Plan, Service, ServiceLaw};
use hedgerow::sim::{Empirical, FileClass, ForkJoin, Law, fork_join};

use super::scenario::Fleet;

/// The share of reads that took so long, of so many.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Counted {
    pub(super) share: f64,
    pub(super) reads: u64,
    pub(super) reached: u64,
}

/// Simulates a plan: what was counted at each of the times, or why it can't be simulated.
pub(super) fn count(plan: &Plan, fleet: &Fleet, times: &[f64]) -> Result<Vec<Counted>, String> {
    let problem = &plan.problem;
    let services = problem.services().iter().enumerate();
    let laws = services.map(|(node, service)| law(service).map_err(|error| format!("node {node}: {error}")));
    let laws: Vec<Law> = laws.collect::<Result<_, _>>()?;
    let class = |class| {
        let k = problem.k_of(class);
        Ok(FileClass {
            share: problem.rate_of(class),
            k: u8::try_from(k).map_err(|_| format!("class {class}: a read asks {k} nodes"))?,
            nodes: problem.nodes_of(class).to_vec(),
            weights: plan.draw_weights(class),
        })
    };
    let classes = (0..problem.classes()).map(class).collect::<Result<Vec<_>, String>>()?;
    let rate = classes.iter().map(|class| class.share).sum::<f64>() * 1e3;
    let input = ForkJoin {
        laws: &laws,
        classes: &classes,
        rate,
        xs: times,
        reads: fleet.reads,
        warm_up: fleet.reads / 10,
        seed: fleet.seed,
    };
    let all = fork_join(&input).map_err(|error| error.to_string())?.all;
    let counted = |&reached: &u64| Counted {
        share: reached as f64 / all.count.max(1) as f64,
        reads: all.count,
        reached,
    };
    Ok(all.reached.iter().map(counted).collect())
}

/// A node's law, as the simulator draws from it.
fn law(service: &Service) -> Result<Law, String> {
    Ok(match service.law() {
        ServiceLaw::ShiftedExponential { shift, mean } => Law::ShiftedExponential { shift, mean },
        ServiceLaw::Gamma { shape, mean } => Law::Gamma { shape, mean },
        ServiceLaw::Pareto { least, index } => Law::Pareto { least, index },
        ServiceLaw::Histogram { bins } => {
            // All that is in a bin lies at its upper edge, as the plan has it.
            let (mut edges, mut counts, mut last) = (Vec::new(), Vec::new(), 0.0);
            for &(edge, share) in bins {
                let begin = edge * (1.0 - NARROW);
                if begin > last {
                    edges.push(begin);
                    counts.push(0);
                }
                edges.push(edge);
                counts.push((share * WHOLE) as u64);
                last = edge;
            }
            Law::Empirical(Empirical::new(0.0, &edges, &counts).map_err(|error| error.to_string())?)
        }
        _ => return Err("its law is none of the simulator's".into()),
    })
}

/// How wide the bins are that stand for a point, and how many times are shared out among them.
const NARROW: f64 = 1e-6;
const WHOLE: f64 = (1_u64 << 40) as f64;
