//! Keeps long work that nobody waits for from taking a whole network or disk.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A rate in bytes a second, shared by all that is read and written at once.
#[derive(Debug)]
pub(super) struct Pace {
    per_second: Option<u64>,
    begun: Instant,
    /// When everything that was let through so far will have had its time, since the beginning.
    booked: Mutex<Duration>,
}

impl Pace {
    /// `None`: as fast as it goes.
    pub(super) fn new(per_second: Option<u64>) -> Self {
        Self { per_second, begun: Instant::now(), booked: Mutex::default() }
    }

    /// Waits until `bytes` more may be moved. At no time have more been let through than the rate makes since the
    /// beginning; time in which nothing moved is not made up for.
    pub(super) async fn take(&self, bytes: u64) {
        let Some(per_second) = self.per_second else { return };
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(per_second.max(1));
        let cost = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        let elapsed = self.begun.elapsed();
        let booked = {
            let mut booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
            *booked = (*booked).max(elapsed).saturating_add(cost);
            *booked
        };
        sleep(booked.saturating_sub(elapsed)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn never_more_than_the_rate_and_no_pause_is_made_up_for() {
        let (pace, start) = (Pace::new(Some(1000)), Instant::now());
        let (a, b, c) = (pace.take(500), pace.take(1500), pace.take(0));
        tokio::join!(a, b, c);
        assert_eq!(start.elapsed().as_millis(), 2000);
        sleep(Duration::from_secs(60)).await;
        let later = Instant::now();
        pace.take(3000).await;
        assert_eq!(later.elapsed().as_millis(), 3000);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_nothing_waits() {
        let start = Instant::now();
        Pace::new(None).take(u64::MAX).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
