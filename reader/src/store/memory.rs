//! A node in memory, for tests and examples.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use super::{Body, CellStore, Entry, Existing, Failed, Failure, Leg, NodeStore, Work, check_name};

/// A node in memory, for tests and examples. Clones are the same node.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<BTreeMap<String, Bytes>>>);

impl MemoryStore {
    /// A node without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The objects, to look at and to tamper with.
    pub fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, object: &str) -> Result<Bytes, Failed> {
        check_name(object)?;
        self.objects().get(object).cloned().ok_or_else(|| Failure::Missing.into())
    }
}

impl CellStore for MemoryStore {
    fn read(&self, object: &str, range: Range<u64>, mut leg: Leg) -> Work<()> {
        let found = self.find(object);
        Box::pin(async move {
            leg.connected();
            let found = found?;
            let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(found.len());
            let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
            leg.data(found.slice(start..end))?;
            leg.finish()
        })
    }
}

impl NodeStore for MemoryStore {
    fn get(&self, object: &str, most: u64) -> Work<Bytes> {
        let found = self.find(object).and_then(|found| {
            let length = found.len() as u64;
            if length > most { Err(too_long(length, most)) } else { Ok(found) }
        });
        Box::pin(async move { found })
    }

    fn length(&self, object: &str) -> Work<u64> {
        let found = self.find(object).map(|found| found.len() as u64);
        Box::pin(async move { found })
    }

    fn put(&self, object: &str, existing: Existing, length: Option<u64>, mut body: Body) -> Work<u64> {
        let (store, object) = (self.clone(), object.to_owned());
        Box::pin(async move {
            check_name(&object)?;
            let mut bytes = BytesMut::new();
            while let Some(piece) = body.next().await {
                bytes.extend_from_slice(&piece?);
            }
            let written = bytes.len() as u64;
            check_length(length, written)?;
            let mut objects = store.objects();
            if existing == Existing::Keep && objects.contains_key(&object) {
                return Err(Failure::Exists.into());
            }
            objects.insert(object, bytes.freeze());
            Ok(written)
        })
    }

    fn delete(&self, object: &str) -> Work<()> {
        let found = check_name(object)
            .and_then(|()| self.objects().remove(object).map(drop).ok_or_else(|| Failure::Missing.into()));
        Box::pin(async move { found })
    }

    fn list(&self, prefix: &str) -> Work<Vec<Entry>> {
        let inside = |object: &str| {
            prefix.is_empty() || object.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
        };
        let objects = self.objects();
        let found = objects.iter().filter(|(object, _)| inside(object));
        let found = found
            .map(|(object, bytes)| Entry { object: object.clone(), length: bytes.len() as u64 })
            .collect();
        Box::pin(async move { Ok(found) })
    }

    fn address(&self) -> &str {
        "memory"
    }
}

/// An object that is longer than its reader wants.
pub(crate) fn too_long(length: u64, most: u64) -> Failed {
    Failed::because(Failure::TooLong, format!("{length} bytes where at most {most} were expected"))
}

/// Whether a body had the length that was announced.
pub(crate) fn check_length(announced: Option<u64>, written: u64) -> Result<(), Failed> {
    match announced {
        Some(length) if length != written => {
            let kind = if written < length { Failure::TooShort } else { Failure::TooLong };
            Err(Failed::because(
                kind,
                format!("{written} bytes were to be written where {length} were announced"),
            ))
        }
        _ => Ok(()),
    }
}
