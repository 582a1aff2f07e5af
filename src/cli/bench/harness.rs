//! Takes timings of contenders in turn, so that what disturbs the machine disturbs all of them alike.

use std::time::{Duration, Instant};

/// A sample is long enough for the clock, and short enough that most samples see no interrupt.
const SAMPLE: Duration = Duration::from_micros(12);

/// How many rounds to take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Time to spend on one set of contenders.
    pub(crate) time: Duration,
    /// Rounds to take in any case.
    pub(crate) least: usize,
    /// Rounds beyond which nothing is gained.
    pub(crate) most: usize,
}

/// Time of `calls` calls.
#[inline]
pub(crate) fn timed(calls: u64, mut call: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed()
}

/// Nanoseconds a call: the fastest sample, the middle one, the slowest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Timing {
    fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let middle = samples.len() / 2;
        let median = if samples.len() % 2 == 1 {
            samples[middle]
        } else {
            (samples[middle - 1] + samples[middle]) / 2.0
        };
        Self { min: samples[0], median, max: samples[samples.len() - 1] }
    }
}

/// Times all contenders, one sample each a round; every round begins with another one. `run(contender, calls)` says how
/// long the calls took. With `repeat`, a sample is as many calls as make it long enough, after one that isn't counted;
/// without, it is one call.
pub(crate) fn interleave<C>(
    contenders: &mut [C],
    effort: Effort,
    repeat: bool,
    mut run: impl FnMut(&mut C, u64) -> Duration,
) -> Vec<Timing> {
    let begin = Instant::now();
    let calls: Vec<u64> = contenders
        .iter_mut()
        .map(|contender| {
            run(contender, 1);
            if repeat { enough(|calls| run(contender, calls)) } else { 1 }
        })
        .collect();
    let calibration = begin.elapsed().as_secs_f64() / if repeat { 3.0 } else { 1.0 };
    let affordable = (effort.time.as_secs_f64() / calibration) as usize;
    let rounds = affordable.clamp(effort.least, effort.most);

    let mut samples = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let index = (turn + round) % contenders.len();
            if repeat {
                run(&mut contenders[index], 1);
            }
            let time = run(&mut contenders[index], calls[index]);
            samples[index].push(time.as_secs_f64() * 1e9 / calls[index] as f64);
        }
    }
    samples.into_iter().map(Timing::of).collect()
}

/// As many calls as make a sample long enough.
fn enough(mut run: impl FnMut(u64) -> Duration) -> u64 {
    let mut calls = 1;
    loop {
        let time = run(calls);
        if time >= SAMPLE {
            return calls;
        }
        let factor = SAMPLE.as_secs_f64() / time.as_secs_f64().max(1e-9);
        calls = (calls as f64 * factor.clamp(1.2, 100.0)).ceil() as u64;
    }
}
