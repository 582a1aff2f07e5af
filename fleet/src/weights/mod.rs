//! Which nodes to ask, with which probabilities, and where to place data, so that few reads take longer than x.
//!
//! Files of one class have an (n, k) MDS code and lie on the same n nodes. Reads of a class come as a Poisson process, and each asks k
//! different ones of the n nodes: node j with the probability pi_j, of which the sum is k.

mod alternate;
mod capacity;
mod demand;
mod descent;
mod error;
mod fit;
mod making;
mod matching;
mod placing;
mod plan;
mod policy;
mod problem;
mod random;
mod shares;

pub use error::FleetError;
pub use making::{plan, replan};
pub use plan::{NodeShare, Plan, Tail};
pub use policy::{Options, Placing, Policy, Scheme, Sharing};
pub use problem::{Class, Problem};
