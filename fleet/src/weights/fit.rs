//! Weights that leave every node with less than it can do, as near as can be to those that a policy wishes for.

use alloc::vec::Vec;

use super::FleetError;
use super::capacity::{Tightest, hold, tightest};
use super::demand::Demand;

/// Rounds in which weights that break a limit are pulled back before maximum flows have to tell.
const HOLDING: u32 = 400;

impl From<Tightest> for FleetError {
    fn from(set: Tightest) -> Self {
        Self::Overloaded { nodes: set.nodes, needed: set.needed, able: set.able }
    }
}

/// Weights with which no node is busier than `cap` of what it is able to do.
pub(super) struct Fitted {
    pub(super) weights: Vec<f64>,
    pub(super) cap: f64,
    /// Whether other weights were wished for.
    pub(super) touched: bool,
}

/// The nearest weights to those wished for that leave every node with at most `most_busy` of what it is able to do. Where none do: half way between
/// the least that can be held and all.
pub(super) fn fit(demand: &Demand, able: &[f64], wish: Vec<f64>, most_busy: f64) -> Result<Fitted, Tightest> {
    let busiest = |weights: &[f64]| {
        let loads = demand.loads(weights, able.len());
        loads
            .iter()
            .zip(able)
            .map(|(&load, able)| if load > 0.0 { load / able } else { 0.0 })
            .fold(0.0, f64::max)
    };
    let limits = |cap: f64| -> Vec<f64> { able.iter().map(|able| able * cap).collect() };
    if busiest(&wish) <= most_busy {
        return Ok(Fitted { weights: wish, cap: most_busy, touched: false });
    }
    let mut weights = wish.clone();
    if hold(demand, &mut weights, &limits(most_busy), HOLDING) {
        return Ok(Fitted { weights, cap: most_busy, touched: true });
    }
    let mut evenly = weights.clone();
    let set = tightest(demand, able, &mut evenly);
    let least = busiest(&evenly).max(set.busy());
    // Also where the flow could not tell the set from its capacity.
    if !(set.busy() < 1.0 - 1e-9 && least < 1.0) {
        return Err(set);
    }
    let cap = if least < most_busy { most_busy } else { f64::midpoint(least, 1.0) };
    if busiest(&wish) <= cap {
        return Ok(Fitted { weights: wish, cap, touched: false });
    }
    weights = wish;
    if !hold(demand, &mut weights, &limits(cap), HOLDING) {
        // Near, but not there: as far towards the weights that leave the most room as needed.
        let over = busiest(&weights);
        let part = ((over - cap) / (over - least)).clamp(0.0, 1.0);
        let part = if part.is_nan() { 1.0 } else { part };
        for (weight, even) in weights.iter_mut().zip(evenly) {
            *weight += part * (even - *weight);
        }
    }
    Ok(Fitted { weights, cap, touched: true })
}
