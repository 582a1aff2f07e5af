//! Open files of a folder, kept for the next read: a bounded number, each for a bounded time.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a file that others replaced or deleted may still be read: after so long it is opened anew. Cheaper than
/// asking what the name stands for before each read, and not much less fresh.
pub(super) const AGE: Duration = Duration::from_secs(1);

/// Open files by the names of their objects.
pub(super) struct Handles {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    held: HashMap<String, Held>,
    /// Counts finds: the lowest is the least recently used.
    uses: u64,
    /// Counts what was forgotten on purpose, so that a file opened before that is not kept after it.
    changes: u64,
}

struct Held {
    file: Arc<File>,
    opened: Instant,
    used: u64,
}

/// The moment before a file is opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    at: Instant,
    changes: u64,
}

impl Handles {
    /// Room for `most` files.
    pub(super) fn new(most: usize) -> Self {
        Self { most, table: Mutex::default() }
    }

    /// The open file of `object`, or what to [keep](Self::keep) it with once it is open.
    pub(super) fn find(&self, object: &str) -> Result<Arc<File>, Before> {
        let now = Instant::now();
        let mut table = self.table();
        table.uses += 1;
        let (uses, changes) = (table.uses, table.changes);
        match table.held.get_mut(object) {
            Some(held) if now.duration_since(held.opened) < AGE => {
                held.used = uses;
                Ok(Arc::clone(&held.file))
            }
            _ => Err(Before { at: now, changes }),
        }
    }

    /// Keeps the `file` of `object`, unless something was forgotten since it was opened.
    pub(super) fn keep(&self, object: String, file: Arc<File>, before: Before) {
        let now = before.at;
        let mut table = self.table();
        if table.changes != before.changes || self.most == 0 {
            return;
        }
        // Closed only after the lock is given back: on some file systems that takes time.
        let mut closed = Vec::new();
        if table.held.len() >= self.most {
            let old = |_: &String, held: &mut Held| now.duration_since(held.opened) >= AGE;
            closed.extend(table.held.extract_if(old).map(|(_, held)| held));
            if table.held.len() >= self.most {
                let least =
                    table.held.iter().min_by_key(|(_, held)| held.used).map(|(object, _)| object.clone());
                closed.extend(least.and_then(|object| table.held.remove(&object)));
            }
        }
        let used = table.uses;
        closed.extend(table.held.insert(object, Held { file, opened: now, used }));
        drop(table);
        drop(closed);
    }

    /// Opens the next time, because what `object` stands for has changed.
    pub(super) fn forget(&self, object: &str) {
        let mut table = self.table();
        table.changes += 1;
        let closed = table.held.remove(object);
        drop(table);
        drop(closed);
    }

    /// Closes all that nobody reads.
    pub(super) fn clear(&self) {
        let closed = std::mem::take(&mut self.table().held);
        drop(closed);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.table().held.len();
        f.debug_struct("Handles").field("held", &held).field("most", &self.most).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Arc<File> {
        Arc::new(tempfile::tempfile().unwrap())
    }

    fn keep(handles: &Handles, object: &str) {
        if let Err(before) = handles.find(object) {
            handles.keep(object.to_owned(), file(), before);
        }
    }

    #[test]
    fn the_least_recently_used_file_makes_room() {
        let handles = Handles::new(3);
        for object in ["a", "b", "c", "a", "d"] {
            keep(&handles, object);
        }
        let held = ["a", "b", "c", "d"].map(|object| handles.find(object).is_ok());
        assert_eq!(held, [true, false, true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_kept_for_its_age_and_no_longer() {
        let handles = Handles::new(3);
        keep(&handles, "a");
        tokio::time::advance(AGE - Duration::from_millis(1)).await;
        assert!(handles.find("a").is_ok());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(handles.find("a").is_err());
    }

    #[test]
    fn a_file_opened_before_a_change_is_not_kept_after_it() {
        let handles = Handles::new(3);
        let before = handles.find("a").unwrap_err();
        handles.forget("a");
        handles.keep("a".to_owned(), file(), before);
        assert!(handles.find("a").is_err());
    }

    #[test]
    fn no_room_keeps_nothing() {
        let handles = Handles::new(0);
        keep(&handles, "a");
        assert!(handles.find("a").is_err());
    }
}
