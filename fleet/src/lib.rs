//! Decisions over a whole storage cluster, which feed the [`hedge_core`]: who is slow, whom to ask, and where to put data.
//!
//! Pure functions and machines without I/O: the caller brings the clock, the numbers and the transport.
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
