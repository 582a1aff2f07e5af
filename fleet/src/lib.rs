//! Decisions over a whole storage cluster, which feed the [`hedge_core`]: who is slow, whom to ask, and where to put data.
//!
//! Pure functions and machines without I/O: the caller brings the clock, the numbers and the transport.
//!
//! - **Who is slow.** [`Times`] keeps what a node sees of its peers, [`judge`] finds those that stand out, [`SlowNodes`] weighs the reports of all and answers
//!   with the slow set: as evidence for the hedge core ([`SlowNodes::accusations`]), as factors for the weights ([`SlowNodes::slowed`]), for the order of
//!   locations ([`order_locations`]) and the targets of writes ([`write_targets`]).
//! - **Whom to ask, and where to put it.** A [`Problem`] is nodes with their [`Service`] times and classes of files; [`plan`] finds weights and a placement for a
//!   [`Policy`], and the [`Plan`] tells bounds, tails, which nodes hold them, and the weights that [`hedge_core::draw_read`] draws sources with.
//! - **How long the tail is.** [`tail_bound`], [`tail_exact`] and [`mean_sojourn`] of one node.
//! - **Volumes.** [`parse_diskstats`] and [`utilisation`], [`slow_volumes`], and [`least_busy`] for the next write.
//!
//! The crate is `no_std` and allocates; the feature `std` adds reading `/proc/diskstats`. Its mathematics are those of `libm`, so that all machines come to the same
//! answers, to the last bit.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod slow;
mod tail;
mod volume;
mod weights;

pub use slow::{
    Change, Condition, Entry, Exit, Judgement, Measured, NodeFacts, Outlier, Rank, Report, ReportError, Rule,
    RuleError, SlowConfig, SlowConfigError, SlowEvidence, SlowNode, SlowNodes, Standing, Suspect, Times,
    TimesConfig, TimesConfigError, condition, judge, order_locations, write_targets,
};
pub use tail::{Bound, Method, Service, ServiceError, ServiceLaw, mean_sojourn, tail_bound, tail_exact};
pub use volume::{
    AvailableSpace, Disk, DiskReading, DiskstatsError, DiskstatsFault, NoUtilisation, NoVolume, Operation,
    RoundRobin, SlowVolume, StorageType, Volume, Write, least_busy, parse_diskstats, slow_volumes,
    utilisation, utilisations,
};
#[cfg(feature = "std")]
pub use volume::{ReadDiskstatsError, read_diskstats};
pub use weights::{
    Class, FleetError, NodeShare, Options, Placing, Plan, Policy, Problem, Scheme, Sharing, Tail, plan,
    replan,
};
