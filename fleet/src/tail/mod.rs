//! How long a node's queue makes requests wait: bounds on the tail, and the tail itself.
//!
//! A node serves one request after the other, in the order in which they come; they come as a Poisson process of `rate`. Times are in any
//! one unit, rates in requests per that unit.

mod bound;
mod complex;
mod error;
mod exact;
mod pareto;
mod search;
mod service;
mod tilt;

pub use bound::{Bound, Method, tail_bound};
pub(crate) use bound::{Cost, Goal, cost};
pub use error::ServiceError;
pub use exact::tail_exact;
pub use service::{Service, ServiceLaw};

/// The mean time in the system, waiting and service: Pollaczek and Khinchine's formula. Infinite if the node is overloaded, or the second
/// moment of its service is infinite and the rate not 0. A rate below 0 counts as 0.
#[must_use]
pub fn mean_sojourn(service: &Service, rate: f64) -> f64 {
    let rate = bound::positive(rate);
    if bound::overloaded(service, rate) {
        return f64::INFINITY;
    }
    if rate == 0.0 {
        return service.mean();
    }
    service.mean() + rate * service.second_moment() / (2.0 * (1.0 - rate * service.mean()))
}
