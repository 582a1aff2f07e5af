//! The plans that are compared, and how long their tails are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hedgerow::fleet::{self, FleetError, NodeShare, Options, Placing, Plan, Policy, Sharing, Tail};

use super::scenario::Fleet;
use super::simulated::{self, Counted};

/// One policy, at one time.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) policy: Policy,
    pub(super) x: f64,
    pub(super) outcome: Result<Outcome, FleetError>,
}

/// What is told of the plan for that time, and what comes of it. The plan itself is too large to be kept for every row.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) x_fit: f64,
    pub(super) objective: f64,
    pub(super) gap: Option<f64>,
    pub(super) busiest: f64,
    pub(super) capped: Option<f64>,
    pub(super) steps: u32,
    pub(super) tail: Tail,
    /// Which nodes hold the tail; only where that is shown.
    pub(super) holders: Vec<NodeShare>,
    /// What was counted, or why nothing could be; `None` if nothing was to be.
    pub(super) simulated: Option<Result<Counted, String>>,
}

impl Outcome {
    /// What was counted.
    pub(super) fn counted(&self) -> Option<Counted> {
        self.simulated.as_ref()?.as_ref().ok().copied()
    }

    /// Why nothing could be counted.
    pub(super) fn not_simulated(&self) -> Option<&str> {
        self.simulated.as_ref()?.as_ref().err().map(String::as_str)
    }
}

/// Plans for each policy and each time, and simulates the plans. `tell` is told how many steps of how many are done.
pub(super) fn rows(fleet: &Fleet, threads: usize, tell: &(dyn Fn(u64, u64) + Sync)) -> Vec<Row> {
    let pieces: Vec<(Policy, &[f64])> = fleet
        .policies
        .iter()
        .flat_map(|&policy| {
            // What is the same for all times is simulated once.
            let size = if regards_x(policy) { 1 } else { fleet.x.len().max(1) };
            fleet.x.chunks(size).map(move |times| (policy, times))
        })
        .collect();
    let all = pieces.len() as u64;
    let rows =
        each(&pieces, threads, &|done| tell(done, all), |&(policy, times)| piece(fleet, policy, times));
    rows.into_iter().flatten().collect()
}

/// Whether weights or placement depend on the time that is planned for.
fn regards_x(policy: Policy) -> bool {
    let by_rule = matches!(policy.sharing, Sharing::Equal | Sharing::Proportional);
    !(by_rule && policy.placing == Placing::AsGiven)
}

/// The rows of one policy at times that have the same weights.
fn piece(fleet: &Fleet, policy: Policy, times: &[f64]) -> Vec<Row> {
    let mut counted = None;
    let row = |(place, &x): (usize, &f64)| {
        let outcome = plan(fleet, policy, x).map(|plan| {
            let simulated = (fleet.reads > 0).then(|| {
                let counted = counted.get_or_insert_with(|| simulated::count(&plan, fleet, times));
                counted.as_ref().map(|counted| counted[place]).map_err(String::clone)
            });
            Outcome {
                x_fit: plan.x_fit,
                objective: plan.objective,
                gap: plan.gap,
                busiest: plan.busiest,
                capped: plan.capped,
                steps: plan.steps,
                tail: plan.tail(x),
                holders: if x == fleet.shown() { plan.holders(x) } else { Vec::new() },
                simulated,
            }
        });
        Row { policy, x, outcome }
    };
    times.iter().enumerate().map(row).collect()
}

/// The plan of one policy for one time.
pub(super) fn plan(fleet: &Fleet, policy: Policy, x: f64) -> Result<Plan, FleetError> {
    let mut options: Options = fleet.options;
    options.x = x;
    fleet::plan(&fleet.problem, policy, &options)
}

/// What `work` makes of each of them, on so many threads, in their order.
fn each<T: Sync, R: Send>(
    inputs: &[T],
    threads: usize,
    tell: &(dyn Fn(u64) + Sync),
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let keep = |place, result| {
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        results.push((place, result));
        tell(results.len() as u64);
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, inputs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(input) = inputs.get(place) else { break };
                    keep(place, work(input));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|&(place, _)| place);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_once_for_each_and_comes_back_in_order() {
        let inputs: Vec<u64> = (0..100).collect();
        for threads in [0, 1, 3, 200] {
            let told = AtomicUsize::new(0);
            let tell = |_| {
                told.fetch_add(1, Ordering::Relaxed);
            };
            let squares = each(&inputs, threads, &tell, |input| input * input);
            assert_eq!(squares, inputs.iter().map(|input| input * input).collect::<Vec<u64>>());
            assert_eq!(told.into_inner(), 100);
        }
        assert!(each(&[] as &[u8], 2, &|_| {}, |&input| input).is_empty());
    }
}
