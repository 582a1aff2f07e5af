//! A last look at optimised plans: no simpler policy with the same freedom may do better at the x that was asked about, neither in the bound nor in the tail itself.
//!
//! The least bound need not have the least tail, and below [`Plan::x_fit`] not even the least bound at x. Where that shows, optima for other x are
//! looked at, and what lies between them and the plans that do better.

use alloc::vec::Vec;

use super::{Maker, made};
use crate::tail::Goal;
use crate::weights::descent::{Aim, Found};
use crate::weights::plan::{Plan, Tail};
use crate::weights::policy::{Options, Placing, Policy, Sharing};
use crate::weights::{FleetError, Problem};

/// How far from an optimum on the way to another plan: the nearest first.
const PARTS: [f64; 9] = [0.002, 0.01, 0.05, 0.15, 0.35, 0.6, 0.8, 0.92, 0.98];
/// For which multiples of what was planned for optima are looked at.
const ABOUT: [f64; 6] = [1.0, 1.15, 0.85, 1.5, 0.7, 2.5];
/// Ranks of rivals.
const RANKS: usize = 3;
/// How many times a plan is above the rivals of each rank, in the tail and then in the bound: 1 is not at all. In this order it matters.
type Above = [[f64; 2]; RANKS];
const NONE: Above = [[1.0; 2]; RANKS];
/// Problems with more cells are searched no more than once, and have no rivals that search.
const MANY: usize = 100_000;
/// What may be rounding.
const ROUNDING: f64 = 1e-11;

/// The plan, or one near to it that is above none of its rivals, neither in bound nor in tail, if such a one is found; else the one that is least
/// above them. Rivals are first the policies with the same freedom that don't look for the best, then those of them with less, and then those that do
/// look for it.
pub(super) fn unbeaten(own: Plan, problem: &Problem, placing: Placing, options: &Options) -> Plan {
    let x = options.x;
    let tail = own.tail(x);
    let plans = |sharings: &[Sharing], placing| -> Vec<(Plan, Tail)> {
        // Some have none: a fixed t, where no weights have it.
        sharings
            .iter()
            .filter_map(|&sharing| made(problem, Policy { sharing, placing }, options).ok())
            .map(|rival| {
                let tail = rival.tail(x);
                (judged(rival, own.x_fit), tail)
            })
            .collect()
    };
    let plain = [Sharing::Equal, Sharing::Proportional];
    // Another search for many classes takes seconds.
    let few = problem.demand().cells() <= MANY;
    let fixed: &[Sharing] = if few { &[Sharing::FixedT] } else { &[] };
    let ranks = match placing {
        Placing::AsGiven => [plans(&plain, placing), Vec::new(), plans(fixed, placing)],
        Placing::Optimised => {
            let mut searched = plans(fixed, placing);
            if few {
                searched.extend(plans(&[Sharing::FixedT, Sharing::Optimised], Placing::AsGiven));
            }
            [plans(&plain, placing), plans(&plain, Placing::AsGiven), searched]
        }
    };
    let mut least = [Tail { bound: f64::INFINITY, exact: f64::INFINITY }; RANKS];
    let mut lowest = least[0];
    for (least, plans) in least.iter_mut().zip(&ranks) {
        for (_, tail) in plans {
            lowest = Tail { bound: lowest.bound.min(tail.bound), exact: lowest.exact.min(tail.exact) };
        }
        *least = lowest;
    }
    let above = least.map(|least| above(tail, least));
    if above == NONE {
        return own;
    }
    let mut choice = Choice { x, least, above, best: own.clone() };
    for (rival, tail) in ranks.iter().flatten() {
        choice.take_better(rival, *tail);
    }
    // Where the plan's own classes lie, and where those lie that are better in one of both.
    let better =
        |tail: &Tail| least.iter().any(|least| tail.bound <= least.bound || tail.exact <= least.exact);
    let ends: Vec<&Plan> =
        ranks.iter().flatten().filter(|(_, tail)| better(tail)).map(|(rival, _)| rival).collect();
    let mut places: Vec<&Plan> = Vec::new();
    for place in core::iter::once(&own).chain(ends.iter().copied()) {
        if places.iter().all(|known| known.problem != place.problem) {
            places.push(place);
        }
    }
    'search: for place in places {
        let Ok(maker) = Maker::new(&place.problem, Sharing::Optimised, options) else { continue };
        let mut optima: Vec<Plan> = Vec::new();
        let here: Vec<&Plan> = ends.iter().copied().filter(|end| end.problem == place.problem).collect();
        for about in core::iter::once(x).chain(ABOUT.map(|times| times * own.x_fit)) {
            if choice.above == NONE {
                break 'search;
            }
            let from = if about == own.x_fit && place.problem == own.problem {
                own.clone()
            } else if few {
                let Ok(optimum) = optimum(&maker, place, about, own.x_fit) else { continue };
                optimum
            } else {
                continue;
            };
            choice.consider(&from);
            for to in here.iter().copied().chain(&optima) {
                for part in PARTS {
                    if let Ok(between) = between(&maker, &from, to, part) {
                        choice.consider(&between);
                    }
                }
            }
            optima.push(from);
        }
    }
    let Choice { mut best, .. } = choice;
    // The certificate was about the optimum; it holds for what was chosen, less what that is worse by.
    let lowest = own.objective * (1.0 - own.gap.unwrap_or(1.0));
    best.gap = own.gap.map(|_| super::gap(best.objective, lowest));
    (best.x_fit, best.steps) = (own.x_fit, own.steps);
    best
}

/// A rival by its bound where this plan was made: with another placement it was made for another x.
fn judged(mut rival: Plan, x_fit: f64) -> Plan {
    let (services, demand) = (rival.problem.services(), rival.problem.demand());
    let aim = Aim::All(Goal::Tail { x: x_fit });
    rival.objective = Found::at(demand, services, aim, rival.weights.clone()).total / demand.reads();
    rival.x_fit = x_fit;
    rival
}

/// How many times it is above the least in tail and bound; 1: not at all.
fn above(tail: Tail, least: Tail) -> [f64; 2] {
    let ratio = |of: f64, least: f64| if of <= least * (1.0 + ROUNDING) { 1.0 } else { of / least };
    [ratio(tail.exact, least.exact), ratio(tail.bound, least.bound)]
}

struct Choice {
    x: f64,
    /// Of the rivals of each rank, and those before.
    least: [Tail; RANKS],
    above: Above,
    best: Plan,
}

impl Choice {
    /// [Takes](Self::take_better) a plan if it is better.
    fn consider(&mut self, plan: &Plan) {
        // That it is no better can be seen without the tails.
        if self.above == NONE && plan.objective >= self.best.objective {
            return;
        }
        self.take_better(plan, plan.tail(self.x));
    }

    /// Takes what is above rivals by less, and of plans that are above them alike the one with the better objective.
    fn take_better(&mut self, plan: &Plan, tail: Tail) {
        let above = self.least.map(|least| above(tail, least));
        if above < self.above || (above == self.above && plan.objective < self.best.objective) {
            self.above = above;
            self.best = plan.clone();
        }
    }
}

/// Where a plan's classes lie: the weights with the least bound at x.
fn optimum(maker: &Maker<'_>, place: &Plan, x: f64, x_fit: f64) -> Result<Plan, FleetError> {
    let cap = maker.options.most_busy;
    let plan = maker.optimised(place.problem.clone(), x, [place.weights.clone()].into(), cap)?;
    maker.finish(plan.problem, x_fit, plan.weights, cap, (plan.steps, None))
}

/// A part of the way from one plan to another of the same placement.
fn between(maker: &Maker<'_>, from: &Plan, to: &Plan, part: f64) -> Result<Plan, FleetError> {
    let weights = from.weights.iter().zip(&to.weights).map(|(from, to)| from + part * (to - from)).collect();
    maker.finish(from.problem.clone(), from.x_fit, weights, maker.options.most_busy, (0, None))
}
