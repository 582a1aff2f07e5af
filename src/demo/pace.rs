//! Reads that arrive when they arrive, however long those before them take, and what became of them.

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::random::Random;
use super::source::Source;

/// Something that is read from.
pub(crate) trait Reads: Send + Sync + 'static {
    /// `length` bytes at `offset`, or why not.
    fn read(&self, offset: u64, length: u64) -> impl Future<Output = Result<Bytes, String>> + Send;
}

/// A read that is to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// When, from the start.
    pub(crate) at: Duration,
    /// Where it begins.
    pub(crate) offset: u64,
    /// How many bytes.
    pub(crate) length: u64,
}

/// When reads arrive and what they want: the same for the same values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Reads a second, in the mean; they know nothing of each other.
    pub(crate) rate: f64,
    /// For how long.
    pub(crate) span: Duration,
    /// Bytes of the file.
    pub(crate) file: u64,
    /// Bytes of a read; all of a file that is shorter.
    pub(crate) length: u64,
    /// The seed.
    pub(crate) seed: u64,
}

impl Schedule {
    /// The reads in the order of their arrival.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        let mut random = Random::new(self.seed);
        let length = self.length.min(self.file);
        let starts = self.file.saturating_sub(length).saturating_add(1);
        let (mut arrivals, mut seconds) = (Vec::new(), 0.0);
        loop {
            seconds += random.gap() / self.rate;
            match Duration::try_from_secs_f64(seconds) {
                Ok(at) if at < self.span => {
                    arrivals.push(Arrival { at, offset: random.below(starts), length });
                }
                _ => return arrivals,
            }
        }
    }
}

/// What became of reads.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Microseconds from the instant when each read was to begin to its end, well or not.
    pub(crate) micros: Histogram<u64>,
    /// Bytes that were not those of the file.
    pub(crate) wrong_bytes: u64,
    /// Reads that failed.
    pub(crate) failed: u64,
    /// Why the first did.
    pub(crate) failure: Option<String>,
}

impl Measured {
    fn new() -> Self {
        // The bounds are constants that the histogram takes: a microsecond to an hour, three digits.
        let micros = Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("bounds in order");
        Self { micros, wrong_bytes: 0, failed: 0, failure: None }
    }

    /// How many reads.
    pub(crate) fn reads(&self) -> u64 {
        self.micros.len()
    }
}

struct Ended {
    latency: Duration,
    result: Result<u64, String>,
}

/// Lets the reads of `arrivals` happen, each at its time, and compares every byte with `source`.
///
/// A read that can't begin in time, because this process is busy, is as late as its caller would see it.
pub(crate) async fn drive<R: Reads>(reads: Arc<R>, source: Source, arrivals: Vec<Arrival>) -> Measured {
    let (ended, mut all) = mpsc::unbounded_channel();
    let runtime = Handle::current();
    // A thread, because the runtime's timers have a tick of a millisecond, which is more than many reads take.
    let pace = thread::spawn(move || {
        let start = Instant::now();
        for arrival in arrivals {
            let due = start + arrival.at;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if ended.is_closed() {
                return;
            }
            let (reads, source, ended) = (Arc::clone(&reads), source.clone(), ended.clone());
            runtime.spawn(async move {
                tokio::select! {
                    () = ended.closed() => {}
                    result = reads.read(arrival.offset, arrival.length) => {
                        let latency = due.elapsed();
                        let result = compare(source, arrival, result).await;
                        // Whoever no longer listens needs no answer.
                        let _ = ended.send(Ended { latency, result });
                    }
                }
            });
        }
    });
    let mut measured = Measured::new();
    while let Some(Ended { latency, result }) = all.recv().await {
        measured.micros.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
        match result {
            Ok(wrong) => measured.wrong_bytes = measured.wrong_bytes.saturating_add(wrong),
            Err(failure) => {
                measured.failed += 1;
                measured.failure.get_or_insert(failure);
            }
        }
    }
    if pace.join().is_err() {
        measured.failed += 1;
        measured.failure.get_or_insert("the thread that starts the reads has ended early".into());
    }
    measured
}

/// How many bytes are wrong.
async fn compare(source: Source, arrival: Arrival, result: Result<Bytes, String>) -> Result<u64, String> {
    let bytes = result?;
    let compare = move || source.differences(arrival.offset, arrival.length, &bytes);
    let compared = tokio::task::spawn_blocking(compare).await.map_err(|error| error.to_string())?;
    compared.map_err(|error| format!("the file can't be read to compare with it: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    const SOURCE: Source = Source::Generated { seed: 9, length: 10_000 };

    fn schedule(rate: f64, millis: u64) -> Schedule {
        Schedule { rate, span: Duration::from_millis(millis), file: 10_000, length: 100, seed: 1 }
    }

    struct Right;

    impl Reads for Right {
        async fn read(&self, offset: u64, length: u64) -> Result<Bytes, String> {
            Ok(right(offset, length).into())
        }
    }

    fn right(offset: u64, length: u64) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        let whole = (0..10_000_u64)
            .map(|at| super::super::random::word_at(9, at / 8).to_le_bytes()[(at % 8) as usize]);
        for (byte, made) in bytes.iter_mut().zip(whole.skip(offset as usize)) {
            *byte = made;
        }
        bytes
    }

    #[test]
    fn a_schedule_is_the_same_for_the_same_seed_and_has_the_rate_that_was_asked_for() {
        let arrivals = schedule(1_000.0, 10_000).arrivals();
        assert_eq!(arrivals, schedule(1_000.0, 10_000).arrivals());
        assert!((9_700..10_300).contains(&arrivals.len()), "{}", arrivals.len());
        assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
        assert!(arrivals.iter().all(|arrival| arrival.offset + arrival.length <= 10_000));
        let other = Schedule { seed: 2, ..schedule(1_000.0, 10_000) };
        assert_ne!(arrivals, other.arrivals());
    }

    #[test]
    fn a_short_file_is_read_whole() {
        let short = Schedule { file: 7, ..schedule(100.0, 1_000) };
        assert!(short.arrivals().iter().all(|arrival| (arrival.offset, arrival.length) == (0, 7)));
    }

    #[tokio::test]
    async fn right_bytes_are_counted_as_right() {
        let arrivals = schedule(2_000.0, 50).arrivals();
        let measured = drive(Arc::new(Right), SOURCE, arrivals.clone()).await;
        assert_eq!(measured.reads(), arrivals.len() as u64);
        assert_eq!((measured.wrong_bytes, measured.failed, measured.failure), (0, 0, None));
    }

    struct Wrong(AtomicUsize);

    impl Reads for Wrong {
        async fn read(&self, offset: u64, length: u64) -> Result<Bytes, String> {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => Err("no such luck".into()),
                1 => {
                    let mut bytes = right(offset, length);
                    bytes[3] ^= 4;
                    Ok(bytes.into())
                }
                2 => Ok(right(offset, length - 1).into()),
                _ => Ok(right(offset, length).into()),
            }
        }
    }

    #[tokio::test]
    async fn every_wrong_byte_and_every_failure_is_counted() {
        let arrivals = schedule(2_000.0, 50).arrivals();
        let measured = drive(Arc::new(Wrong(AtomicUsize::new(0))), SOURCE, arrivals.clone()).await;
        assert_eq!(measured.reads(), arrivals.len() as u64);
        assert_eq!((measured.wrong_bytes, measured.failed), (2, 1));
        assert_eq!(measured.failure.as_deref(), Some("no such luck"));
    }

    /// Ends no read before all have begun.
    struct Together(Semaphore, AtomicUsize, usize);

    impl Reads for Together {
        async fn read(&self, offset: u64, length: u64) -> Result<Bytes, String> {
            if self.1.fetch_add(1, Ordering::Relaxed) + 1 == self.2 {
                self.0.add_permits(self.2);
            }
            let _permit = self.0.acquire().await.map_err(|error| error.to_string())?;
            Ok(right(offset, length).into())
        }
    }

    #[tokio::test]
    async fn reads_do_not_wait_for_each_other_and_their_waiting_is_measured() {
        let arrivals = schedule(1_000.0, 100).arrivals();
        let together = Together(Semaphore::new(0), AtomicUsize::new(0), arrivals.len());
        let measured = drive(Arc::new(together), SOURCE, arrivals.clone()).await;
        assert_eq!((measured.reads(), measured.failed), (arrivals.len() as u64, 0));
        // The first has waited until the last arrived.
        let waited = (arrivals[arrivals.len() - 1].at - arrivals[0].at).as_micros() as u64;
        assert!(measured.micros.max() >= waited, "{} of {waited}", measured.micros.max());
    }

    /// Keeps the only thread of the runtime busy.
    struct Busy;

    impl Reads for Busy {
        async fn read(&self, offset: u64, length: u64) -> Result<Bytes, String> {
            thread::sleep(Duration::from_millis(20));
            Ok(right(offset, length).into())
        }
    }

    #[tokio::test]
    async fn latency_counts_from_the_scheduled_instant() {
        let arrivals = (0..5).map(|_| Arrival { at: Duration::ZERO, offset: 0, length: 10 }).collect();
        let measured = drive(Arc::new(Busy), SOURCE, arrivals).await;
        // Five at once, one after the other: the last has waited for all.
        assert!(measured.micros.max() >= 99_000, "{}", measured.micros.max());
    }
}
