//! Makes plans: from a policy and a problem to weights, a placement, and how far they are from the best.

mod placed;
mod unbeaten;

use alloc::vec;
use alloc::vec::Vec;

use super::alternate::alternate;
use super::capacity::Tightest;
use super::demand::Demand;
use super::descent::{Aim, Found, Until, descend, lower_bound};
use super::fit::{Fitted, fit};
use super::plan::Plan;
use super::policy::{Options, Placing, Policy, Scheme, Sharing};
use super::{FleetError, Problem};
use crate::Service;
use crate::tail::{Goal, cost};

/// A search ends when nothing can be better by more than this part: about as well as the prices are known.
const UNTIL: Until = Until { gap: 1e-7, steps: 400 };
/// Nothing is left to look for elsewhere.
const BEST: f64 = 1e-4;
/// The bound that the plan of least mean has at the x that is planned for, at most. Where it is higher, most reads are late whatever is done, the
/// bound is trivial at busy nodes, and the least sum of bounds gives some nodes up: worse in truth.
const FIT: f64 = 0.3;

/// Plans.
///
/// [`Sharing::Optimised`] with [`Scheme::Fast`] begins with the weights of least mean, where the cost is convex, and goes down from there with the bound
/// at [`Plan::x_fit`]. As long as the certificate leaves room for something better, it also begins with each of the other policies' weights, and
/// keeps the best.
///
/// With [`Placing::Optimised`] the loads are found that would be best if every read could go anywhere (no placement can do better: that is what
/// [`Plan::gap`] refers to), classes are drawn so that the loads come out like that, and the weights are then polished. Classes are moved one by one
/// where this misses by more than 1 %, and evaluations for it are left: for few or hot classes.
///
/// A plan that is optimised is then held against those of all other policies with no more freedom. The least bound need not have the least tail, and below
/// [`Plan::x_fit`] not even the least bound: where one of them does better at x in the bound or in the tail itself, the plan gives up as
/// much of its optimum as it takes to be above none of them in either, and [`Plan::gap`] tells how much that is.
///
/// ```
/// use hedgerow_fleet::{Options, Placing, Policy, Problem, Service, Sharing, plan};
///
/// // Four nodes, one of them three times as slow; times in milliseconds.
/// let services = [30.0, 10.0, 10.0, 10.0].map(|mean| Service::shifted_exponential(0.3 * mean, 0.7 * mean));
/// let services = services.into_iter().collect::<Result<Vec<_>, _>>()?;
/// // Two hundred files with (3, 2), each read four times in ten seconds.
/// let problem = Problem::placed_at_random(services, &[(4e-4, 3, 2); 200], 1)?;
/// let options = Options::new(200.0);
/// let tail = |sharing| {
///     let plan = plan(&problem, Policy { sharing, placing: Placing::AsGiven }, &options)?;
///     Ok::<_, hedgerow_fleet::FleetError>(plan.tail(200.0).exact)
/// };
/// assert!(tail(Sharing::Optimised)? < 0.1 * tail(Sharing::Equal)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// An option is out of its bounds; some nodes have to take more than they can, and which ([`FleetError::Overloaded`]); the bound exists for no weights
/// with the t that is given ([`FleetError::FixedT`]).
pub fn plan(problem: &Problem, policy: Policy, options: &Options) -> Result<Plan, FleetError> {
    let plan = made(problem, policy, options)?;
    Ok(match policy.sharing {
        Sharing::Optimised => unbeaten::unbeaten(plan, problem, policy.placing, options),
        Sharing::FixedT | Sharing::Equal | Sharing::Proportional => plan,
    })
}

/// The plan of a policy by itself.
fn made(problem: &Problem, policy: Policy, options: &Options) -> Result<Plan, FleetError> {
    let maker = Maker::new(problem, policy.sharing, options)?;
    match policy.placing {
        Placing::AsGiven => maker.as_given(),
        Placing::Optimised => maker.placed(),
    }
}

/// Plans anew, beginning with the weights of an earlier plan: after a node has become slower ([`Problem::slowed`]), or rates have changed. The classes lie
/// where the problem says, and that must be where they lay in the earlier plan. Weights are optimised.
///
/// # Errors
///
/// As for [`plan`]; the earlier plan has other classes or other nodes ([`FleetError::OtherPlan`]).
pub fn replan(problem: &Problem, earlier: &Plan, options: &Options) -> Result<Plan, FleetError> {
    let (new, old) = (problem.demand(), earlier.problem.demand());
    let same = |class: usize| new.nodes_of(class) == old.nodes_of(class) && new.k[class] == old.k[class];
    let shared = new.classes().min(old.classes());
    if let Some(class) = (0..shared).find(|&class| !same(class)) {
        return Err(FleetError::OtherPlan { class });
    }
    if new.classes() != old.classes()
        || problem.services().len() != earlier.problem.services().len()
        || earlier.weights.len() != new.cells()
    {
        return Err(FleetError::OtherPlan { class: shared });
    }
    let maker = Maker::new(problem, Sharing::Optimised, options)?;
    let mut start = earlier.weights.clone();
    // Whatever was done to the plan since: weights again.
    for class in 0..new.classes() {
        let cells = new.cells_of(class);
        let give = vec![1.0; cells.len()];
        for weight in &mut start[cells.clone()] {
            *weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.0 };
        }
        super::shares::project(&mut start[cells], &give, new.k[class]);
    }
    let start = fit(new, &maker.able, start, options.most_busy).map_err(FleetError::from)?;
    let least_mean = maker.least_mean(new, start.weights.clone());
    let x_fit = maker.x_fit(&least_mean.loads);
    let plan = maker.optimised(problem.clone(), x_fit, vec![start.weights, least_mean.weights], start.cap)?;
    Ok(unbeaten::unbeaten(plan, problem, Placing::AsGiven, options))
}

struct Maker<'a> {
    problem: &'a Problem,
    sharing: Sharing,
    options: &'a Options,
    /// Requests per unit of time that each node can serve.
    able: Vec<f64>,
}

impl<'a> Maker<'a> {
    fn new(problem: &'a Problem, sharing: Sharing, options: &'a Options) -> Result<Self, FleetError> {
        options.check()?;
        let able = problem.services().iter().map(|service| 1.0 / service.mean()).collect();
        Ok(Self { problem, sharing, options, able })
    }

    fn services(&self) -> &'a [Service] {
        self.problem.services()
    }

    /// Weights in proportion to the nodes' rates, as far as nodes can take them.
    fn start(&self, demand: &Demand) -> Result<Fitted, FleetError> {
        let wish = demand.by_rule(|node| self.able[node]);
        Ok(fit(demand, &self.able, wish, self.options.most_busy)?)
    }

    fn least_mean(&self, demand: &Demand, start: Vec<f64>) -> Found {
        descend(demand, self.services(), Aim::All(Goal::Mean), start, Until { gap: 1e-6, steps: 100 })
    }

    /// The least x, not below the one asked for, at which loads (of the least mean) have a bound of 0.3.
    fn x_fit(&self, loads: &[f64]) -> f64 {
        let reads = self.problem.demand().reads();
        let mut near: Vec<Option<f64>> = vec![None; loads.len()];
        let mut fits = |x: f64| {
            let mut sum = 0.0;
            for ((service, &load), near) in self.services().iter().zip(loads).zip(&mut near) {
                let cost = cost(service, load, Goal::Tail { x }, *near);
                *near = Some(cost.t).filter(|t| t.is_finite());
                sum += cost.cost / reads;
            }
            sum <= FIT
        };
        let mut low = self.options.x;
        if fits(low) {
            return low;
        }
        let mut high = low * 2.0;
        while !fits(high) {
            low = high;
            high *= 2.0;
            // Tails so heavy that no x helps: what was asked for is as good as any.
            if !high.is_finite() {
                return self.options.x;
            }
        }
        while high - low > 1e-9 * high {
            let x = f64::midpoint(low, high);
            if fits(x) { high = x } else { low = x }
        }
        high
    }

    /// Below what load each node's bound exists with the t that is fixed.
    fn able_with_t(&self) -> Vec<f64> {
        let t = self.options.fixed_t;
        let able = |(service, &able): (&Service, &f64)| {
            if t >= service.mgf_end() {
                return 0.0;
            }
            let limit = 1.0 / service.excess(t);
            if limit.is_finite() { able.min(limit) } else { 0.0 }
        };
        self.services().iter().zip(&self.able).map(able).collect()
    }

    fn fixed_t_error(&self, set: Tightest, able: &[f64]) -> FleetError {
        let part = |node: u32| able[node as usize] / self.able[node as usize];
        let node = set.nodes.iter().copied().min_by(|&a, &b| part(a).total_cmp(&part(b))).unwrap_or(0);
        FleetError::FixedT {
            t: self.options.fixed_t,
            node,
            nodes: set.nodes,
            needed: set.needed,
            able: set.able,
        }
    }

    /// Where a search for weights with t fixed may begin.
    fn start_with_t(&self, demand: &Demand) -> Result<Fitted, FleetError> {
        let able = self.able_with_t();
        let wish = demand.by_rule(|node| able[node]);
        fit(demand, &able, wish, self.options.most_busy).map_err(|set| self.fixed_t_error(set, &able))
    }

    fn fixed_goal(&self, x_fit: f64) -> Goal {
        Goal::TailAt { x: x_fit, t: self.options.fixed_t }
    }

    fn as_given(&self) -> Result<Plan, FleetError> {
        let demand = self.problem.demand();
        let start = self.start(demand)?;
        let least_mean = self.least_mean(demand, start.weights.clone());
        let x_fit = self.x_fit(&least_mean.loads);
        self.weights_for(self.problem.clone(), x_fit, start, Some(least_mean))
    }

    /// The plan of this policy where classes lie as the problem says.
    fn weights_for(
        &self,
        problem: Problem,
        x_fit: f64,
        start: Fitted,
        least_mean: Option<Found>,
    ) -> Result<Plan, FleetError> {
        let demand = problem.demand();
        let rule = match self.sharing {
            Sharing::Optimised => {
                let least_mean = least_mean.unwrap_or_else(|| self.least_mean(demand, start.weights.clone()));
                let starts = vec![least_mean.weights, start.weights];
                return self.optimised(problem, x_fit, starts, start.cap);
            }
            Sharing::FixedT => {
                let begin = self.start_with_t(demand)?;
                let aim = Aim::All(self.fixed_goal(x_fit));
                let found = descend(demand, self.services(), aim, begin.weights, UNTIL);
                return self.finish(problem, x_fit, found.weights, start.cap, (found.steps, None));
            }
            Sharing::Equal => demand.by_rule(|_| 1.0),
            Sharing::Proportional => demand.by_rule(|node| self.able[node]),
        };
        self.finish(problem, x_fit, rule, start.cap, (0, None))
    }

    /// The best weights, from several starts: the rest of them only as long as the certificate leaves room.
    fn optimised(
        &self,
        problem: Problem,
        x_fit: f64,
        starts: Vec<Vec<f64>>,
        cap: f64,
    ) -> Result<Plan, FleetError> {
        let goal = Goal::Tail { x: x_fit };
        let limits: Vec<f64> = self.able.iter().map(|able| able * cap).collect();
        let services = self.services();
        let demand = problem.demand();
        let mut best: Option<(Found, f64)> = None;
        let mut steps = 0;
        let mut consider = |start: Vec<f64>| {
            let room = best.as_ref().is_none_or(|(_, gap)| *gap > BEST);
            let begun = || Found::at(demand, services, Aim::All(goal), start.clone()).total;
            if room || best.as_ref().is_some_and(|(best, _)| begun() < best.total) {
                let found = self.improve(demand, goal, start);
                steps += found.steps;
                if best.as_ref().is_none_or(|(best, _)| found.total < best.total) {
                    let gap = gap(found.total, lower_bound(demand, services, goal, &found, &limits));
                    best = Some((found, gap));
                }
            }
            best.as_ref().is_none_or(|(_, gap)| *gap > BEST)
        };
        let mut room = true;
        for start in starts {
            room = consider(start);
        }
        if let Ok(equal) = fit(demand, &self.able, demand.by_rule(|_| 1.0), cap) {
            room = consider(equal.weights);
        }
        if room && let Ok(begin) = self.start_with_t(demand) {
            let aim = Aim::All(self.fixed_goal(x_fit));
            consider(descend(demand, services, aim, begin.weights, UNTIL).weights);
        }
        let (weights, gap) = match best {
            Some((found, gap)) => (found.weights, Some(gap)),
            None => (demand.by_rule(|_| 1.0), None),
        };
        self.finish(problem, x_fit, weights, cap, (steps, gap))
    }

    fn improve(&self, demand: &Demand, goal: Goal, start: Vec<f64>) -> Found {
        match self.options.scheme {
            Scheme::Fast => descend(demand, self.services(), Aim::All(goal), start, UNTIL),
            Scheme::Alternating => {
                alternate(&mut demand.clone(), self.services(), goal, start, false, |_, _| {})
            }
        }
    }

    /// Holds the cap, and says what the weights are worth.
    fn finish(
        &self,
        problem: Problem,
        x_fit: f64,
        weights: Vec<f64>,
        cap: f64,
        (steps, gap_before): (u32, Option<f64>),
    ) -> Result<Plan, FleetError> {
        let demand = problem.demand();
        let goal = Goal::Tail { x: x_fit };
        let fitted = fit(demand, &self.able, weights, cap)?;
        let found = Found::at(demand, self.services(), Aim::All(goal), fitted.weights);
        let limits: Vec<f64> = self.able.iter().map(|able| able * fitted.cap).collect();
        let gap = match gap_before {
            Some(_) if fitted.touched => {
                Some(gap(found.total, lower_bound(demand, self.services(), goal, &found, &limits)))
            }
            before => before,
        };
        let busiest = found
            .loads
            .iter()
            .zip(self.services())
            .map(|(load, service)| load * service.mean())
            .fold(0.0, f64::max);
        Ok(Plan {
            x_fit,
            busiest,
            capped: fitted.touched.then_some(fitted.cap),
            objective: found.total / demand.reads(),
            gap,
            steps,
            weights: found.weights,
            loads: found.loads,
            problem,
        })
    }
}

/// By what part of it a sum of costs is above what no weights can cost less than.
fn gap(total: f64, least: f64) -> f64 {
    if total <= 0.0 {
        0.0
    } else if total.is_finite() {
        ((total - least) / total).clamp(0.0, 1.0)
    } else {
        1.0
    }
}
