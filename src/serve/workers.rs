//! A server of limited capacity: a few workers, and one queue before them.

use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// Requests that may wait; more are turned away.
const QUEUE: usize = 65_536;

/// The workers of a server, which can be exchanged while it runs; without any all requests are served at once.
#[derive(Debug)]
pub(super) struct Capacity(RwLock<Option<Arc<Workers>>>);

impl Capacity {
    pub(super) fn new(workers: Option<Workers>) -> Self {
        Self(RwLock::new(workers.map(Arc::new)))
    }

    /// Requests to come have these workers; those that wait already keep theirs.
    pub(super) fn exchange(&self, workers: Option<Workers>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = workers.map(Arc::new);
    }

    /// Waits until the request is served. False if too many wait already.
    pub(super) async fn serve(&self) -> bool {
        let workers = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        match workers {
            Some(workers) => workers.serve().await,
            None => true,
        }
    }
}

/// The queue for the workers, first come, first served. Each request occupies a worker for the service time, and is answered
/// after that.
#[derive(Debug)]
pub(super) struct Workers {
    queue: mpsc::Sender<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    served: oneshot::Sender<()>,
}

impl Workers {
    /// So many workers. With `skip_gone` a request whose client has gone takes none of their time.
    pub(super) fn new(workers: NonZeroUsize, service_time: Duration, skip_gone: bool) -> Self {
        let (queue, waiting) = mpsc::channel::<Waiting>(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..workers.get() {
            let waiting = Arc::clone(&waiting);
            tokio::spawn(async move {
                let mut free = Instant::now();
                loop {
                    // The lock is the queue's head: who holds it takes the next request.
                    let next = waiting.lock().await.recv().await;
                    let Some(next) = next else { break };
                    if skip_gone && next.served.is_closed() {
                        continue;
                    }
                    // Counted from when the worker was due to be free, so that late timers cost no capacity.
                    free = free.max(next.since) + service_time;
                    sleep_until(free).await;
                    let _gone = next.served.send(());
                }
            });
        }
        Self { queue }
    }

    /// Waits for a worker, and until it is done. False if too many wait already.
    pub(super) async fn serve(&self) -> bool {
        let (served, done) = oneshot::channel();
        self.queue.try_send(Waiting { since: Instant::now(), served }).is_ok() && done.await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn workers(count: usize, skip_gone: bool) -> Arc<Workers> {
        Arc::new(Workers::new(NonZeroUsize::new(count).expect("a worker"), 10 * MS, skip_gone))
    }

    /// When each of `requests` at one instant is served.
    async fn served(workers: &Arc<Workers>, requests: usize) -> Vec<Duration> {
        let start = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..requests {
            let workers = Arc::clone(workers);
            tasks.spawn(async move {
                assert!(workers.serve().await);
                start.elapsed()
            });
        }
        let mut times = tasks.join_all().await;
        times.sort();
        times
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_are_served_at_a_time_than_there_are_workers() {
        let times = served(&workers(2, false), 5).await;
        assert_eq!(times, [10 * MS, 10 * MS, 20 * MS, 20 * MS, 30 * MS]);
    }

    #[tokio::test(start_paused = true)]
    async fn workers_are_exchanged_for_requests_to_come() {
        let capacity = Arc::new(Capacity::new(None));
        let start = Instant::now();
        assert!(capacity.serve().await);
        assert_eq!(start.elapsed(), Duration::ZERO);
        capacity.exchange(Some(Workers::new(NonZeroUsize::MIN, 10 * MS, false)));
        let waiting = Arc::clone(&capacity);
        let waiting = tokio::spawn(async move { waiting.serve().await });
        tokio::time::sleep(MS).await;
        capacity.exchange(None);
        assert!(capacity.serve().await);
        assert_eq!(start.elapsed(), MS);
        assert!(waiting.await.expect("served"));
        assert_eq!(start.elapsed(), 10 * MS);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_is_not_made_up_for() {
        let workers = workers(1, false);
        assert_eq!(served(&workers, 1).await, [10 * MS]);
        tokio::time::sleep(100 * MS).await;
        assert_eq!(served(&workers, 2).await, [10 * MS, 20 * MS]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_gone_is_served_all_the_same_unless_skipped() {
        for (skip_gone, expected) in [(false, 30 * MS), (true, 20 * MS)] {
            let workers = workers(1, skip_gone);
            let start = Instant::now();
            let (first, gone) = (Arc::clone(&workers), Arc::clone(&workers));
            let first = tokio::spawn(async move { first.serve().await });
            tokio::time::sleep(MS / 4).await;
            let gone = tokio::spawn(async move { gone.serve().await });
            tokio::time::sleep(MS / 4).await;
            gone.abort();
            assert!(workers.serve().await);
            assert_eq!(start.elapsed(), expected, "skip_gone: {skip_gone}");
            assert!(first.await.expect("served"));
        }
    }
}
