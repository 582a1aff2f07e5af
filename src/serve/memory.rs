//! Objects in memory, for servers that are to leave nothing behind however they end.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

/// Objects by name. Clones are the same objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<RwLock<BTreeMap<String, Bytes>>>);

impl Memory {
    pub(super) fn get(&self, name: &str) -> io::Result<Bytes> {
        self.objects().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.objects().contains_key(name)
    }

    /// The next object of the same folder that has this length, from the first again after the last.
    pub(super) fn next_as_long(&self, name: &str, length: u64) -> Option<Bytes> {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let objects = self.objects();
        let beside = |other: &str| other.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
        let after = objects.range::<str, _>((Bound::Excluded(name), Bound::Unbounded));
        let before = objects.range::<str, _>((Bound::Unbounded, Bound::Excluded(name)));
        after
            .chain(before)
            .find(|(other, bytes)| beside(other) && bytes.len() as u64 == length)
            .map(|(_, bytes)| bytes.clone())
    }

    /// False, and nothing has changed, if there is such an object already and it is to be kept.
    pub(super) fn put(&self, name: &str, bytes: Bytes, keep_existing: bool) -> bool {
        let mut objects = self.change();
        if keep_existing && objects.contains_key(name) {
            return false;
        }
        objects.insert(name.to_owned(), bytes);
        true
    }

    pub(super) fn delete(&self, name: &str) -> io::Result<()> {
        self.change().remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    // Nobody leaves the map half changed.
    fn objects(&self) -> RwLockReadGuard<'_, BTreeMap<String, Bytes>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Bytes>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_kept_or_replaced_as_asked() {
        let memory = Memory::default();
        assert!(memory.put("a/b", Bytes::from_static(b"1"), true));
        assert!(!memory.put("a/b", Bytes::from_static(b"2"), true));
        assert_eq!(memory.get("a/b").expect("is there"), "1");
        assert!(memory.put("a/b", Bytes::from_static(b"2"), false));
        assert_eq!(memory.get("a/b").expect("is there"), "2");
        memory.delete("a/b").expect("is there");
        assert!(!memory.has("a/b"));
        assert_eq!(memory.get("a/b").expect_err("is gone").kind(), io::ErrorKind::NotFound);
        assert_eq!(memory.delete("a/b").expect_err("is gone").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_object_is_mistaken_for_the_next_as_long_of_its_folder_only() {
        let memory = Memory::default();
        for (name, bytes) in
            [("f/a", "1"), ("f/b", "22"), ("f/c", "3"), ("f/g/d", "4"), ("g/a", "5"), ("z", "6")]
        {
            assert!(memory.put(name, Bytes::from_static(bytes.as_bytes()), true));
        }
        let next = |name, length| memory.next_as_long(name, length);
        assert_eq!(next("f/a", 1).expect("one"), "3");
        assert_eq!(next("f/c", 1).expect("one"), "1");
        assert_eq!(next("f/b", 2), None);
        assert_eq!(next("z", 1), None);
    }
}
