//! When a late read is worth a rebuild.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod cells;
mod config;
mod governor;
mod measure;
mod pipeline;
mod plan;
mod time;
mod words;

pub use cells::{CellSet, Cells};
pub use config::{
    Adaptive, Breaking, Budget, Config, Factor, Health, Impaired, Probes, Record, Threshold, Useful,
};
pub use governor::{NodeHealth, NodeState};
pub use pipeline::{AckTimes, Eject, PipelineConfig, PipelineConfigError, PipelineWatch, WriteHealth};
pub use plan::{Clocks, Mode, PlanError, ReadPlan};
pub use time::{Instant, Span};
pub use words::{
    Cause, Evidence, HedgeResult, Input, LegEnd, LegId, NodeId, Outcome, Output, Permit, Petition, Reason,
    RequestId, Subject, Verdict, Why,
};
