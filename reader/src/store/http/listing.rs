//! All objects below a folder, from stores that list everything at once and from those that list a folder at a time. What a
//! server says is taken only as far as it can be true.

use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use super::{failures, objects};
use crate::store::{Entry, Failed, Failure};

/// More objects, and more folders, than this are not taken.
const MOST: usize = 1_000_000;

/// Their names have at most so many bytes in all.
const MOST_BYTES: usize = 256 << 20;

/// Folders in folders, at most.
const DEEPEST: usize = 64;

/// One request, or one a page.
pub(super) async fn at_once(store: Arc<dyn ObjectStore>, prefix: String) -> Result<Vec<Entry>, Failed> {
    let mut found = Found::new(String::new(), &prefix)?;
    let mut metas = store.list(found.path.as_ref());
    while let Some(meta) = metas.try_next().await.map_err(|error| failures::failed(&error))? {
        found.take(meta)?;
    }
    Ok(found.finish())
}

/// One request a folder. The node is what lies below `root`, which is left out of the names.
pub(super) async fn by_folders(
    store: Arc<dyn ObjectStore>,
    root: String,
    prefix: String,
) -> Result<Vec<Entry>, Failed> {
    let mut found = Found::new(root, &prefix)?;
    let mut folders = vec![(found.path.clone(), 0)];
    let mut seen = 1;
    while let Some((folder, depth)) = folders.pop() {
        let listed = match store.list_with_delimiter(folder.as_ref()).await {
            Ok(listed) => listed,
            Err(error) => match failures::failed(&error) {
                // It was deleted in the meantime, or never was.
                failed if failed.kind == Failure::Missing => continue,
                failed => return Err(failed),
            },
        };
        for meta in listed.objects {
            found.take(meta)?;
        }
        let folder = folder.as_ref().map_or("", AsRef::as_ref);
        for inner in listed.common_prefixes {
            // A server that leads upwards or in circles would never end.
            if below(inner.as_ref(), folder).is_some_and(|name| !name.contains('/')) {
                seen += 1;
                if depth == DEEPEST {
                    return Err(too_many(DEEPEST, "folders in one another"));
                }
                if seen > MOST {
                    return Err(too_many(MOST, "folders"));
                }
                found.hold(inner.as_ref())?;
                folders.push((Some(inner), depth + 1));
            }
        }
    }
    Ok(found.finish())
}

struct Found {
    root: String,
    /// What is asked for: all that lies below; `None` for everything there is.
    path: Option<Path>,
    entries: Vec<Entry>,
    /// How many bytes all names have.
    bytes: usize,
}

impl Found {
    fn new(root: String, prefix: &str) -> Result<Self, Failed> {
        let path = match (&*root, prefix) {
            ("", "") => None,
            ("", prefix) => Some(objects::path_of(prefix)?),
            (root, "") => Some(objects::path_of(root)?),
            (root, prefix) => {
                objects::path_of(prefix)?;
                Some(objects::path_of(&format!("{root}/{prefix}"))?)
            }
        };
        Ok(Self { root, path, entries: Vec::new(), bytes: 0 })
    }

    /// Counts the bytes of a name that is kept.
    fn hold(&mut self, name: &str) -> Result<(), Failed> {
        self.bytes = self.bytes.saturating_add(name.len());
        if self.bytes > MOST_BYTES { Err(too_many(MOST_BYTES, "bytes of names")) } else { Ok(()) }
    }

    fn take(&mut self, meta: ObjectMeta) -> Result<(), Failed> {
        let asked = self.path.as_ref().map_or("", AsRef::as_ref);
        let object =
            below(meta.location.as_ref(), asked).and_then(|_| below(meta.location.as_ref(), &self.root));
        if let Some(object) = object {
            if self.entries.len() == MOST {
                return Err(too_many(MOST, "objects"));
            }
            self.hold(object)?;
            self.entries.push(Entry { object: object.to_owned(), length: meta.size });
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<Entry> {
        self.entries.sort_by(|a, b| a.object.cmp(&b.object));
        self.entries.dedup_by(|a, b| a.object == b.object);
        self.entries
    }
}

/// What of `object` is left below `folder`; all of it below the empty one.
fn below<'a>(object: &'a str, folder: &str) -> Option<&'a str> {
    let rest = match folder {
        "" => object,
        folder => object.strip_prefix(folder)?.strip_prefix('/')?,
    };
    (!rest.is_empty()).then_some(rest)
}

fn too_many(most: usize, what: &str) -> Failed {
    Failed::because(Failure::TooLong, format!("the server lists more than {most} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(name: String) -> ObjectMeta {
        let last_modified = Default::default();
        ObjectMeta { location: Path::from(name), last_modified, size: 1, e_tag: None, version: None }
    }

    #[test]
    fn no_more_objects_are_taken_than_memory_is_meant_for() {
        let mut found = Found::new(String::new(), "").unwrap();
        for at in 0..MOST {
            found.take(meta(at.to_string())).unwrap();
        }
        let failed = found.take(meta("one more".to_owned())).unwrap_err();
        assert_eq!(failed.to_string(), "too long: the server lists more than 1000000 objects");
    }

    #[test]
    fn no_more_bytes_of_names_are_taken_than_memory_is_meant_for() {
        let mut found = Found::new(String::new(), "").unwrap();
        let mebibyte = "x".repeat(1 << 20);
        for _ in 0..MOST_BYTES >> 20 {
            found.hold(&mebibyte).unwrap();
        }
        let failed = found.take(meta("y".to_owned())).unwrap_err();
        assert_eq!(failed.to_string(), "too long: the server lists more than 268435456 bytes of names");
    }
}
