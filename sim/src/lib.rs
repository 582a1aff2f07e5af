//! Hedging policies in virtual time: the hedge core, exactly as shipped, over simulated clusters.
//!
//! A [`Scenario`] says what the cluster is ([`Cluster`]), what happens to it ([`Incident`]), and which policies ([`Policy`])
//! are to face it, all on the same random numbers; [`run`] answers with a [`Row`] for each. Two engines drive the same reads
//! through the same machine: [`Engine::Full`] sends every read through queues and nodes; [`Engine::Thinned`] leaves out the reads
//! that meet nothing and are quick by themselves, which changes no figure as long as no read delays another, and makes hundreds
//! of days a matter of seconds.
//!
//! The same seed gives the same figures on every machine: time is whole nanoseconds, and the mathematics are [`libm`]'s, not the
//! platform's.
#![forbid(unsafe_code)]

mod advise;
mod cluster;
mod engine;
mod figures;
mod files;
mod incident;
mod law;
mod policy;
mod profile;
mod random;
mod result;
mod scenario;

pub use advise::{Advice, AdviceError, Choice, Question, advise};
pub use cluster::{Cluster, Code, Queue, Workload};
pub use engine::{Engine, ForkJoin, ForkJoinTimes, Progress, Times, fork_join, run, run_and_watch, speed};
pub use figures::Figure;
pub use files::FileClass;
pub use incident::{Effect, Incident, Often, Where};
pub use law::{Empirical, Law, LawError, Sampler};
pub use policy::{Kind, Policy, PolicyError};
pub use profile::{Format, Profile, ProfileError, Unit};
pub use random::Random;
pub use result::{Latencies, Row};
pub use scenario::{Builtin, Published, ReadFile, Scenario, ScenarioError, Shape};
