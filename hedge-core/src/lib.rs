//! When a late read is worth a rebuild: the decisions of hedged reads of erasure-coded data, as a machine without I/O.
//!
//! With Reed-Solomon k of n every byte lies on one node, and a read waits for the slowest node it needs. A *hedge* reads
//! other cells of the stripe and rebuilds the late one; whichever is ready first ends the read. This crate
//! decides when that is done, from which cells, and when it had better stop. It has two machines, and an executor between
//! them that brings the clock, the sockets and the buffers:
//!
//! - [`StripeRead`]: one read of one byte range of one stripe. It knows cells, not bytes.
//! - [`Governor`]: one a client. Threshold, breaker, rate, budget, what is known of each node, counters.
//!
//! They exchange plain values ([`Petition`], [`Verdict`], [`Evidence`]), so that the governor may sit in the same struct, behind
//! a mutex, or on another thread. Beside them: [`PipelineWatch`] for slow nodes of a write pipeline, [`draw_sources`] and [`draw_read`] for sources in given
//! shares, [`EventLog`] to write a run down and replay it.
//!
//! `no_std`, without allocation, unsafe code, clock or randomness; no input panics. Replicated data is the case k = 1.
//!
//! # An executor
//!
//! Complete but for the reading and the decoding: threads for legs, a channel for what they report.
//!
//! ```
//! use std::sync::mpsc::channel;
//! use std::{thread, time};
//!
//! use hedge_core::{
//!     Cause, CellSet, Config, Governor, Input, Instant, NodeId, Outcome, Output, PlanError, ReadPlan, RequestId, Span, StripeRead,
//!     Threshold,
//! };
//!
//! /// Reads the cells that `plan` wants; `fetch` reads one cell into its buffer and says whether it is there and right.
//! fn read(
//!     governor: &mut Governor<64>, mut plan: ReadPlan<9>, fetch: fn(u8) -> bool, decode: fn(CellSet, CellSet) -> bool,
//! ) -> Result<Outcome, PlanError> {
//!     let origin = time::Instant::now();
//!     let now = || Instant::ZERO + Span::from(origin.elapsed());
//!     governor.prepare(now(), &mut plan);
//!     let mut read = StripeRead::new(now(), &plan)?;
//!     let (events, inbox) = channel();
//!     loop {
//!         while let Some(output) = read.poll_output() {
//!             match output {
//!                 Output::Launch { leg, .. } => {
//!                     let events = events.clone();
//!                     thread::spawn(move || {
//!                         let _ = events.send(Input::Started { leg, request: RequestId::NONE });
//!                         let delivered = fetch(leg.cell);
//!                         let end = if delivered { Input::Delivered(leg) } else { Input::Failed(leg, Cause::Unreachable) };
//!                         let _ = events.send(end);
//!                     });
//!                 }
//!                 Output::Decode { wanted, sources } => read.handle(now(), Input::Decoded(decode(wanted, sources))),
//!                 Output::Petition(petition) => {
//!                     let verdict = governor.decide(now(), &petition);
//!                     read.handle(now(), Input::Verdict { id: petition.id, verdict });
//!                 }
//!                 Output::Tell(evidence) => governor.record(now(), &evidence),
//!                 // An executor with sockets closes them on `Cancel`, and reuses a buffer on `Release`.
//!                 Output::Cancel(_) | Output::Release(_) | Output::Plan { .. } | Output::Finish(_) => {}
//!             }
//!         }
//!         // The bytes are there at `Finish`; this one stays until every thread has ended.
//!         if let (true, Some(outcome)) = (read.drained(), read.outcome()) {
//!             return Ok(outcome);
//!         }
//!         let input = match read.next_deadline() {
//!             Some((at, _)) => inbox.recv_timeout((at - now()).into()).unwrap_or(Input::Timeout),
//!             None => inbox.recv().unwrap_or(Input::Abort),
//!         };
//!         read.handle(now(), input);
//!     }
//! }
//!
//! // RS-6-3, cell 0 wanted, and its node is slow.
//! let mut config = Config::default();
//! config.threshold = Threshold::Fixed(Span::from_millis(5));
//! let mut governor = Governor::new(config).expect("a valid configuration");
//! let mut plan = ReadPlan::new(6, 9);
//! plan.wanted = CellSet::from([0]);
//! plan.node = core::array::from_fn(|cell| NodeId(cell as u32));
//! let fetch = |cell| {
//!     thread::sleep(time::Duration::from_millis(if cell == 0 { 400 } else { 1 }));
//!     true
//! };
//! let outcome = read(&mut governor, plan, fetch, |_, _| true)?;
//! assert_eq!(outcome, Outcome::Ok { delivered: CellSet::EMPTY, decoded: CellSet::from([0]) });
//! # Ok::<(), PlanError>(())
//! ```
//!
//! # Promises
//!
//! Each is tested in every state that small stripes can reach, in every order of events:
//!
//! 1. A read finishes once, and [`Outcome::Ok`] means that each wanted cell was delivered, or decoded from delivered cells.
//! 2. Nothing is launched after the finish, or after an abort.
//! 3. A leg ends once; what is said of it later is ignored and counted.
//! 4. A buffer is released once, after its leg has ended, after the finish if it was delivered, and after a decode that reads it.
//! 5. Nothing hangs and nothing spins: a read that is not over waits for a leg, a verdict, a decode, or an instant that it names.
//! 6. A hedge never makes a read worse: whatever is granted, refused or fails, a read that would have succeeded without leave
//!    succeeds, and no later.
//! 7. Hedging spends no more than the budget, nor more grants in any second than the rate; what is not used is given back.
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
    BreakerState, Counters, Estimate, Governor, GovernorInner, GovernorView, NodeHealth, NodeState, Outlook,
    Snapshot,
};
pub use log::{EventError, EventLog, GovernorEvent, GovernorStep, LogError, ReadEvent, ReadStep, Reply};
pub use pipeline::{AckTimes, Eject, PipelineConfig, PipelineConfigError, PipelineWatch, WriteHealth};
pub use plan::{CheckedPlan, Clocks, Mode, PlanError, ReadPlan};
#[cfg(feature = "testing")]
pub use read::Fault;
pub use read::{Abandoned, Due, Slot, StripeRead, StripeReadInner, StripeReadView, Tally};
pub use time::{Instant, Span};
pub use weights::{DrawError, draw_read, draw_sources};
pub use words::{
    Cause, Evidence, HedgeResult, Input, LegEnd, LegId, NodeId, Outcome, Output, Permit, Petition, Reason,
    RequestId, Subject, Verdict, Why,
};
