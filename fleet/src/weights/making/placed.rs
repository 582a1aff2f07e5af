//! Plans with a placement of their own.

use alloc::vec;
use alloc::vec::Vec;

use super::{Maker, UNTIL, gap};
use crate::tail::Goal;
use crate::weights::alternate::alternate;
use crate::weights::demand::Demand;
use crate::weights::descent::{Aim, Found, descend, lower_bound};
use crate::weights::placing::{Moves, Rule, draw};
use crate::weights::{FleetError, Plan, Problem, Scheme, Sharing};

/// Above this gap classes with weights of their own are moved one by one.
const NEAR: f64 = 1e-2;
/// The same for classes whose weights follow a rule, and cannot make up for where they lie; and what a round of moves must win.
const CLOSE: f64 = 1e-4;
/// Rounds of moving all classes.
const ROUNDS: u32 = 10;
/// How many evaluations of a node's cost moving classes may take: some seconds.
const EVALUATIONS: u64 = 4_000_000;

/// What a placement should bring about.
struct Wanted {
    loads: Vec<f64>,
    goal: Goal,
    /// No placement costs less.
    least: f64,
}

impl Maker<'_> {
    pub(super) fn placed(&self) -> Result<Plan, FleetError> {
        let demand = self.problem.demand();
        let nodes = self.services().len();
        let anywhere = demand.anywhere(nodes, demand.reads());
        let start = self.start(&anywhere)?;
        let least_mean = self.least_mean(&anywhere, start.weights);
        let x_fit = self.x_fit(&least_mean.loads);
        let wanted = self.wanted(x_fit, start.cap, anywhere, least_mean.weights)?;
        let rule = match self.sharing {
            Sharing::Optimised | Sharing::FixedT => Rule::Free,
            Sharing::Proportional => Rule::Share(&self.able),
            Sharing::Equal => Rule::Share(&vec![1.0; nodes]),
        };
        let drawn = draw(demand, &wanted.loads, rule, self.options.seed);
        let drawn = self.settled(self.problem.placed(drawn.nodes), x_fit, &wanted);
        if drawn.as_ref().is_ok_and(|plan| self.above(plan, &wanted) <= NEAR) {
            return drawn;
        }
        // Sampling did not get near: perhaps where the classes lie is better, or a better place to begin.
        let given = self.settled(self.problem.clone(), x_fit, &wanted);
        match (drawn, given) {
            (Ok(drawn), Ok(given)) if drawn.objective <= given.objective => Ok(drawn),
            (Ok(drawn), Err(_)) => Ok(drawn),
            (_, given) => given,
        }
    }

    /// The loads that would be best if every read could go anywhere.
    fn wanted(&self, x_fit: f64, cap: f64, anywhere: Demand, start: Vec<f64>) -> Result<Wanted, FleetError> {
        let services = self.services();
        let tail = Goal::Tail { x: x_fit };
        let limits: Vec<f64> = self.able.iter().map(|able| able * cap).collect();
        let (goal, anywhere, start) = match self.sharing {
            Sharing::Optimised | Sharing::Proportional => (tail, anywhere, start),
            Sharing::FixedT => {
                let start = self.start_with_t(&anywhere)?;
                (self.fixed_goal(x_fit), anywhere, start.weights)
            }
            Sharing::Equal => {
                // A node gets k / n of the reads of each class at most.
                let demand = self.problem.demand();
                let most = (0..demand.classes())
                    .map(|class| demand.rates[class] * demand.k[class] / demand.cells_of(class).len() as f64)
                    .sum();
                let anywhere = demand.anywhere(services.len(), most);
                let start = self.start(&anywhere)?;
                let least_mean = self.least_mean(&anywhere, start.weights);
                (tail, anywhere, least_mean.weights)
            }
        };
        let best = descend(&anywhere, services, Aim::All(goal), start, UNTIL);
        let least = lower_bound(&anywhere, services, goal, &best, &limits);
        Ok(Wanted { loads: best.loads, goal, least })
    }

    /// By what part a plan with a placement of its own is above what no placement can do better than.
    fn above(&self, plan: &Plan, wanted: &Wanted) -> f64 {
        let demand = plan.problem.demand();
        let total = match wanted.goal {
            Goal::Tail { .. } => plan.objective * demand.reads(),
            goal => Found::at(demand, self.services(), Aim::All(goal), plan.weights.clone()).total,
        };
        gap(total, wanted.least)
    }

    /// The plan of this policy from where the classes lie, classes moved one by one if that is needed and pays.
    fn settled(&self, problem: Problem, x_fit: f64, wanted: &Wanted) -> Result<Plan, FleetError> {
        let by = match self.sharing {
            Sharing::Equal => vec![1.0; self.able.len()],
            Sharing::Proportional => self.able.clone(),
            Sharing::Optimised | Sharing::FixedT => return self.settled_freely(problem, x_fit, wanted),
        };
        let services = self.services();
        let aim = Aim::All(wanted.goal);
        let mut demand = problem.demand().clone();
        let mut weights = demand.by_rule(|node| by[node]);
        let total = Found::at(&demand, services, aim, weights.clone()).total;
        if gap(total, wanted.least) > CLOSE {
            Moves::new(services, aim, EVALUATIONS).exchange(&mut demand, &mut weights, &by);
        }
        self.finish(problem.placed(demand.nodes), x_fit, weights, self.options.most_busy, (0, None))
    }

    fn settled_freely(&self, problem: Problem, x_fit: f64, wanted: &Wanted) -> Result<Plan, FleetError> {
        let services = self.services();
        let plan_at = |problem: Problem| {
            let start = self.start(problem.demand())?;
            self.weights_for(problem, x_fit, start, None)
        };
        let mut plan = plan_at(problem)?;
        let mut moves = Moves::new(services, Aim::All(wanted.goal), EVALUATIONS);
        for _ in 0..ROUNDS {
            if self.above(&plan, wanted) <= NEAR {
                break;
            }
            let mut demand = plan.problem.demand().clone();
            let moved = if self.options.scheme == Scheme::Alternating {
                alternate(&mut demand, services, wanted.goal, plan.weights.clone(), true, |_, _| {});
                demand.nodes != plan.problem.demand().nodes
            } else {
                moves.rematch(&mut demand, &plan.weights)
            };
            if !moved {
                break;
            }
            let next = plan_at(plan.problem.placed(demand.nodes))?;
            let better = next.objective < plan.objective * (1.0 - CLOSE);
            if next.objective < plan.objective {
                plan = next;
            }
            if !better {
                break;
            }
        }
        if self.sharing == Sharing::Optimised {
            plan.gap = Some(self.above(&plan, wanted));
        }
        Ok(plan)
    }
}
