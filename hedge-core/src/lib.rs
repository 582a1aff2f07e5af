//! When a late read is worth a rebuild.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod cells;
mod config;
mod governor;
mod log;
mod measure;
mod pipeline;
mod plan;
mod read;
mod time;
mod weights;
mod words;

pub use cells::{CellSet, Cells};
pub use config::{
    Adaptive, Breaking, Budget, Config, ConfigError, Excerpt, Factor, Health, Impaired, Pairs, Probes,
    Record, Threshold, Useful, Value,
};
pub use governor::{
    BreakerState, Counters, Estimate, Governor, GovernorInner, GovernorView, NodeHealth, NodeState, Snapshot,
};
pub use log::{EventError, EventLog, GovernorEvent, GovernorStep, LogError, ReadEvent, ReadStep};
pub use pipeline::{AckTimes, Eject, PipelineConfig, PipelineConfigError, PipelineWatch, WriteHealth};
pub use plan::{CheckedPlan, Clocks, Mode, PlanError, ReadPlan};
#[cfg(feature = "testing")]
pub use read::Fault;
pub use read::{Abandoned, Due, Slot, StripeRead, StripeReadInner, StripeReadView, Tally};
pub use time::{Instant, Span};
pub use weights::{DrawError, draw_sources};
pub use words::{
    Cause, Evidence, HedgeResult, Input, LegEnd, LegId, NodeId, Outcome, Output, Permit, Petition, Reason,
    RequestId, Subject, Verdict, Why,
};
