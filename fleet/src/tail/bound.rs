//! The bounds on a node's tail, and what they cost a plan.

use super::{Service, mean_sojourn, search};

/// Which bound it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Chernoff's, by the moment generating function: bound 1.
    Chernoff,
    /// By the transform alone: bound 2, for laws without a moment generating function.
    Transform,
}

/// A bound on the probability that a request is in a node's system for x or longer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// The bound: at most 1, or infinite if the node is overloaded.
    pub probability: f64,
    /// The lower of both.
    pub method: Method,
    /// Its parameter, at its best: t, or s, per unit of time. At 0, bound 1 is 1 and bound 2 is Markov's, mean / x.
    pub t: f64,
}

/// The least of both bounds.
///
/// With the load `rho = rate * E[X]` and M the moment generating function of the service time X:
/// bound 1 is `exp(-t x) (1 - rho) t M(t) / (t - rate (M(t) - 1))`, for t > 0 where M is finite and `rate (M(t) - 1) < t`;
/// bound 2 is `(1 - E[exp(-s Q)]) / (1 - exp(-s x))`, where `E[exp(-s Q)] = (1 - rho) s M(-s) / (s - rate (1 - M(-s)))`. Deep in the tail
/// bound 1 is the lower one, where x is near the mean bound 2; for laws with heavy tails there is bound 2 alone.
///
/// A rate below 0 counts as 0, one that is no number as too much. An x that is no number counts as 0, one beyond 10^100 times the mean as that.
#[must_use]
pub fn tail_bound(service: &Service, rate: f64, x: f64) -> Bound {
    let found = least(service, rate, x, None);
    Bound { probability: found.value, method: found.method, t: found.t }
}

/// What a plan minimises: the sum of [`Cost::cost`] over the nodes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Goal {
    /// The mean time in the system. Where the second moment is infinite, the law counts as exponential with the same mean.
    Mean,
    /// The least bound at x.
    Tail { x: f64 },
    /// Bound 1 at x, with t given, not capped at one; for laws without a moment generating function bound 2, with s = t.
    TailAt { x: f64, t: f64 },
}

/// rate * (what [`Goal`] says), and its derivative by the rate, t held at its best (the envelope).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cost {
    /// Infinite if the node is overloaded, or the bound does not exist.
    pub(crate) cost: f64,
    pub(crate) slope: f64,
    /// The t (or s) that was best; 0 for the mean.
    pub(crate) t: f64,
}

/// `near` is a t that was best for a similar rate: where the search begins.
///
/// For a plan that is not hopeless (bounds well below 1), the cost is convex in the rate.
pub(crate) fn cost(service: &Service, rate: f64, goal: Goal, near: Option<f64>) -> Cost {
    let rate = positive(rate);
    let found = match goal {
        Goal::Mean => mean(service, rate),
        Goal::Tail { x } => least(service, rate, x, near),
        Goal::TailAt { x, t } => {
            let x = in_reach(service, x);
            if overloaded(service, rate) || t.is_nan() || t <= 0.0 {
                Found::infinite(t)
            } else if service.mgf_end() > 0.0 {
                chernoff_at(service, rate, x, t)
            } else {
                transform_at(service, rate, x, t)
            }
        }
    };
    if found.value == f64::INFINITY {
        return Cost { cost: f64::INFINITY, slope: f64::INFINITY, t: found.t };
    }
    // Without load, Markov's bound can be finite and its derivative not.
    let more = if rate > 0.0 { rate * found.by_rate } else { 0.0 };
    Cost { cost: rate * found.value, slope: found.value + more, t: found.t }
}

/// A bound at one t, or the mean.
#[derive(Clone, Copy)]
struct Found {
    value: f64,
    /// Its derivative by the rate, t held.
    by_rate: f64,
    method: Method,
    t: f64,
}

impl Found {
    fn infinite(t: f64) -> Self {
        Self { value: f64::INFINITY, by_rate: f64::INFINITY, method: Method::Chernoff, t }
    }

    /// What is always true.
    fn one() -> Self {
        Self { value: 1.0, by_rate: 0.0, method: Method::Chernoff, t: 0.0 }
    }
}

/// A rate below 0 counts as 0, as rounding makes it.
pub(super) fn positive(rate: f64) -> f64 {
    if rate < 0.0 { 0.0 } else { rate }
}

/// Also if the rate is no number.
pub(super) fn overloaded(service: &Service, rate: f64) -> bool {
    let load = rate * service.mean();
    load.is_nan() || load >= 1.0
}

/// x, where squares of it, in units of the mean, neither overflow nor vanish. 0 if it is no number.
pub(super) fn in_reach(service: &Service, x: f64) -> f64 {
    const REACH: f64 = 1e100;
    if x > 0.0 { x.clamp(service.mean() / REACH, service.mean() * REACH) } else { 0.0 }
}

fn mean(service: &Service, rate: f64) -> Found {
    let mean = service.mean();
    let second = service.second_moment();
    let second = if second < f64::INFINITY { second } else { 2.0 * mean * mean };
    if overloaded(service, rate) {
        return Found::infinite(0.0);
    }
    let idle = 1.0 - rate * mean;
    Found {
        value: mean + rate * second / (2.0 * idle),
        by_rate: second / (2.0 * idle * idle),
        method: Method::Transform,
        t: 0.0,
    }
}

fn least(service: &Service, rate: f64, x: f64, near: Option<f64>) -> Found {
    let rate = positive(rate);
    if overloaded(service, rate) {
        return Found::infinite(0.0);
    }
    let x = in_reach(service, x);
    if x == 0.0 {
        return Found::one();
    }
    let mean = mean_sojourn(service, rate);
    let first = if service.mgf_end() > 0.0 { chernoff(service, rate, x, mean, near) } else { Found::one() };
    // Bound 2 is at least E[min(Q, x)] / x, as 1 - exp(-s q) is concave in q; and by bound 1 the part of the mean beyond x is at most
    // bound / t. So in the tail there is nothing to look for.
    if first.t > 0.0 && first.value <= (mean - first.value / first.t) / x {
        return first;
    }
    let second = transform(service, rate, x, mean, near);
    if second.value < first.value { second } else { first }
}

/// The best t of bound 1: 0 where there is none, or none that helps.
pub(super) fn best_tilt(service: &Service, rate: f64, x: f64) -> f64 {
    if service.mgf_end() > 0.0 {
        chernoff(service, rate, x, mean_sojourn(service, rate), None).t
    } else {
        0.0
    }
}

/// Bound 1 at its best t.
///
/// Its logarithm is convex in t; its slope is the mean of Q, tilted by exp(t Q), less x. One over that mean is nearly linear (with
/// exponential service it is), so that Newton's method on it needs few steps.
fn chernoff(service: &Service, rate: f64, x: f64, mean: f64, near: Option<f64>) -> Found {
    const MOST_STEPS: u32 = 100;
    /// The step of t, in units of the curvature, at which the bound is known to a part of 10^12.
    const CLOSE: f64 = 1e-6;
    /// The logarithm of what counts as nothing.
    const NOTHING: f64 = -800.0;
    if mean >= x {
        return Found::one();
    }
    let (mut low, mut high) = (0.0, service.mgf_end());
    let mut t = near.filter(|&near| near > low && near < high).unwrap_or(0.0);
    for _ in 0..MOST_STEPS {
        let tilt = service.tilt(t);
        let share = if rate > 0.0 { rate * tilt.excess } else { 0.0 };
        let left = 1.0 - share;
        if left.is_nan() || left <= 0.0 {
            high = t;
            t = between(low, high, x);
            continue;
        }
        let (more_mean, more_variance) = if rate > 0.0 {
            let pull = rate * tilt.excess_slope / left;
            (pull, rate * tilt.excess_bend / left + pull * pull)
        } else {
            (0.0, 0.0)
        };
        let tilted = tilt.mean + more_mean;
        let variance = tilt.variance + more_variance;
        if tilted < x {
            low = t;
        } else {
            high = t;
        }
        let mut next = t + tilted / variance * (1.0 - tilted / x);
        if !(next > low && next < high) {
            // Without an end, as for bounded laws at rate 0, t grows until nothing is left.
            next = if high < f64::INFINITY { between(low, high, x) } else { 2.0 * low.max(1.0 / x) };
        }
        let step = (next - t).abs();
        t = next;
        // Without variance, the step says nothing.
        let converged = (variance > 0.0 && step * libm::sqrt(variance) <= CLOSE) || step <= 1e-15 * t;
        if converged || (rate == 0.0 && service.log_mgf(t) - t * x < NOTHING) {
            break;
        }
    }
    let found = chernoff_at(service, rate, x, t);
    // One step too far, or a t that is not better than none at all.
    if found.value == f64::INFINITY {
        let found = chernoff_at(service, rate, x, low);
        return if found.value < 1.0 { found } else { Found::one() };
    }
    if found.value < 1.0 { found } else { Found::one() }
}

/// Halves a range, or its logarithm if it is a wide one for times near x.
fn between(low: f64, high: f64, x: f64) -> f64 {
    let from = low.max(1e-3 / x);
    if high > 4.0 * from { libm::sqrt(from) * libm::sqrt(high) } else { 0.5 * (low + high) }
}

fn chernoff_at(service: &Service, rate: f64, x: f64, t: f64) -> Found {
    if t >= service.mgf_end() {
        return Found::infinite(t);
    }
    let mean = service.mean();
    let excess = if rate > 0.0 { service.excess(t) } else { 0.0 };
    let left = 1.0 - rate * excess;
    if left.is_nan() || left <= 0.0 {
        return Found::infinite(t);
    }
    let idle = 1.0 - rate * mean;
    let value = libm::exp(service.log_mgf(t) - t * x + libm::log(idle / left));
    let excess = if rate > 0.0 { excess } else { service.excess(t) };
    // At rate 0 the excess can be infinite where the bound is 0.
    let by_rate = if value > 0.0 { value * (excess / left - mean / idle) } else { 0.0 };
    Found { value, by_rate, method: Method::Chernoff, t }
}

/// Bound 2 at its best s.
fn transform(service: &Service, rate: f64, x: f64, mean: f64, near: Option<f64>) -> Found {
    /// ln(s), to so much.
    const WIDTH: f64 = 1e-6;
    /// ln(s x) from here in so many steps to the end.
    const FROM: f64 = -10.0;
    const STEP: f64 = 1.4;
    const STEPS: u32 = 10;
    let value_at = |log: f64| transform_at(service, rate, x, libm::exp(log)).value;
    let markov = || {
        let idle = 1.0 - rate * service.mean();
        let by_rate = service.second_moment() / (2.0 * idle * idle * x);
        Found { value: mean / x, by_rate, method: Method::Transform, t: 0.0 }
    };
    let better = |s: f64| {
        let found = transform_at(service, rate, x, s);
        if mean / x <= found.value { markov() } else { found }
    };
    let origin = FROM - libm::log(x);
    let place = |step: u32| origin + STEP * f64::from(step);
    // Beyond the ends the bound is flat.
    let near = near.filter(|&near| near > 0.0).map(libm::log);
    if let Some(middle) = near.filter(|near| (place(0)..=place(STEPS)).contains(near)) {
        const ASIDE: f64 = 0.3;
        let (low, high) = (middle - ASIDE, middle + ASIDE);
        let value = value_at(middle);
        if value < value_at(low) && value < value_at(high) {
            let (log, _) = search::least(value_at, low, (middle, value), high, WIDTH);
            return better(libm::exp(log));
        }
    }
    let mut best = (0, f64::INFINITY);
    for step in 0..=STEPS {
        let value = value_at(place(step));
        if value < best.1 {
            best = (step, value);
        }
    }
    let (step, value) = best;
    let middle = place(step);
    let (log, _) = search::least(value_at, middle - STEP, (middle, value), middle + STEP, WIDTH);
    better(libm::exp(log))
}

fn transform_at(service: &Service, rate: f64, x: f64, s: f64) -> Found {
    let idle = 1.0 - rate * service.mean();
    let (excess, deficit) = service.excess_and_deficit(s);
    let left = idle + rate * deficit;
    let below = -libm::expm1(-s * x);
    let value = (rate * deficit + idle * s * excess) / (left * below);
    let served = (1.0 - s * excess).max(0.0);
    let by_rate = deficit * served / (left * left * below);
    // Where s x is next to nothing and the mean infinite, so is this.
    if value.is_nan() || value == f64::INFINITY {
        return Found::infinite(s);
    }
    Found { value, by_rate, method: Method::Transform, t: s }
}

#[cfg(test)]
mod tests;
