//! Slow nodes: who sees them, who says so, and what follows.
//!
//! Each storage node keeps the [`Times`] of its transfers to its downstream peers, lets a [`Rule`] tell which of them stand
//! out, and sends a [`Report`]. The coordinator's [`SlowNodes`] demotes who is accused by enough of its observers.
//! Large HDFS fleets find their slow nodes this way (HDFS-10917, HDFS-11194).

mod board;
mod changes;
mod config;
mod locations;
mod outliers;
mod report;
mod times;

pub use board::SlowNodes;
pub use changes::{Change, Entry, Exit, SlowEvidence, SlowNode, Standing, Suspect};
pub use config::{Rank, SlowConfig, SlowConfigError};
pub use locations::{Condition, NodeFacts, condition, order_locations, write_targets};
pub use outliers::{Judgement, Measured, Outlier, Rule, RuleError, judge};
pub use report::{Report, ReportError};
pub use times::{Times, TimesConfig, TimesConfigError};
