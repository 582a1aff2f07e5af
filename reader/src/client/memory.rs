//! Memory of cells: a stated number of bytes, handed out as permits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// Permits count pages, so that a `u32` of them is 16 TiB.
const PAGE: u64 = 4096;

/// No panic leaves permits half moved.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pages(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE)).unwrap_or(u32::MAX)
}

/// The memory of a client.
pub(crate) struct Memory {
    main: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    main_bytes: u64,
    reserve_bytes: u64,
}

impl Memory {
    pub(crate) fn new(main_bytes: u64, reserve_bytes: u64) -> Self {
        let semaphore = |bytes: u64| {
            let most = usize::try_from(bytes / PAGE).unwrap_or(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
        };
        Self { main: semaphore(main_bytes), reserve: semaphore(reserve_bytes), main_bytes, reserve_bytes }
    }

    /// What a read may need at most, all its legs and all that could replace them.
    pub(crate) fn most(&self) -> u64 {
        self.main_bytes.min(self.reserve_bytes) / PAGE * PAGE
    }

    /// Bytes in use, rounded up to pages.
    pub(crate) fn used(&self) -> u64 {
        let used =
            |bytes: u64, left: &Semaphore| (bytes / PAGE).saturating_sub(left.available_permits() as u64);
        (used(self.main_bytes, &self.main) + used(self.reserve_bytes, &self.reserve)) * PAGE
    }

    /// So many bytes, after those who asked before. `None`: the client is closed.
    pub(crate) async fn take(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.main).acquire_many_owned(pages(bytes)).await.ok()
    }

    /// So many bytes, if they are free.
    pub(crate) fn try_take(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.main).try_acquire_many_owned(pages(bytes)).ok()
    }
}

/// What one window holds, until the last of its legs has stopped.
pub(crate) struct Held {
    memory: Mutex<Vec<OwnedSemaphorePermit>>,
    /// Everything that the window could still need, taken in one piece: a window that waits for it holds none of it, so
    /// that whoever has it can go on.
    reserve: OnceCell<Mutex<Option<OwnedSemaphorePermit>>>,
    most: u64,
    pool: Arc<Semaphore>,
}

impl Held {
    /// `most`: what the window could need if it must replace all it can.
    pub(crate) fn new(memory: &Memory, first: OwnedSemaphorePermit, most: u64) -> Self {
        Self {
            memory: Mutex::new(vec![first]),
            reserve: OnceCell::new(),
            most,
            pool: Arc::clone(&memory.reserve),
        }
    }

    pub(crate) fn add(&self, permit: OwnedSemaphorePermit) {
        locked(&self.memory).push(permit);
    }

    /// Keeps no more than `bytes`, what legs that have not stopped may still hold, and gives back the rest.
    pub(crate) fn shrink(&self, bytes: u64) {
        let mut memory = locked(&self.memory);
        let all = memory.drain(..).reduce(|mut all, more| {
            all.merge(more);
            all
        });
        if let Some(mut all) = all {
            let keep = (pages(bytes) as usize).min(all.num_permits());
            memory.extend(all.split(keep));
        }
        if let Some(reserve) = self.reserve.get() {
            drop(locked(reserve).take());
        }
    }

    /// Waits until the window may use the reserve. False: the client is closed.
    pub(crate) async fn enter_reserve(&self) -> bool {
        let take = || async {
            let permit = Arc::clone(&self.pool).acquire_many_owned(pages(self.most)).await?;
            Ok::<_, tokio::sync::AcquireError>(Mutex::new(Some(permit)))
        };
        self.reserve.get_or_try_init(take).await.is_ok()
    }
}
