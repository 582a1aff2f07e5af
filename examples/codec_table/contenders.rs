//! Who takes part, and how each is called.

use std::hint::black_box;
use std::time::Duration;

use crate::harness::timed;
use crate::job::{Job, Place, Schema};
use crate::memory::{Stripe, shared};
use crate::{limits, own, peers};

/// Somebody who can do the job it was made for.
pub(crate) trait Contender {
    /// Does the job `calls` times. Says how long the calls took, without what has to be set up before them.
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration;

    /// Does the job once and leaves the result in the outputs, also where `run` leaves it elsewhere.
    fn fetch(&mut self, stripe: &mut Stripe<'_>) {
        self.run(stripe, 1);
    }
}

/// What must be in the outputs after a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expect {
    /// The bytes of the Cauchy matrix.
    Cauchy,
    /// The bytes of the Vandermonde matrix in Backblaze's form.
    Vandermonde,
    /// Bytes of its own; what was lost comes back.
    Own,
    /// Output i is the sum of the sources j with j mod m = i.
    Sums,
    /// The spare cells equal the sources.
    Copies,
    /// It only reads, and checks that itself.
    Nothing,
}

/// A contender, its name in the table, and what is expected of it.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The codec's kernel; empty for others.
    pub(crate) kernel: &'static str,
    pub(crate) expect: Expect,
    pub(crate) contender: Box<dyn Contender>,
}

impl Entry {
    pub(crate) fn new(
        name: &'static str,
        kernel: &'static str,
        expect: Expect,
        contender: impl Contender + 'static,
    ) -> Self {
        Self { name, kernel, expect, contender: Box::new(contender) }
    }
}

/// Everybody who can do `job` on cells of `len` bytes. `aligned`: all outputs start on cache lines.
pub(crate) fn entries(job: Job, schema: Schema, len: usize, place: Place, aligned: bool) -> Vec<Entry> {
    let mut entries = own::entries(job, schema, place);
    let limits = limits::entries(job, schema);
    entries.extend(limits.into_iter().filter(|limit| aligned || limit.name != "xor-streaming"));
    entries.extend(peers::entries(job, schema, len));
    entries
}

/// A contender that takes sources and outputs apart from each other.
pub(crate) struct Split<F>(pub(crate) F);

impl<F: FnMut(&[&[u8]], &mut [&mut [u8]])> Contender for Split<F> {
    fn run(&mut self, stripe: &mut Stripe<'_>, calls: u64) -> Duration {
        let sources = shared(&stripe.sources);
        let outputs = &mut stripe.outputs[..];
        timed(calls, || (self.0)(black_box(&sources), black_box(&mut *outputs)))
    }
}
