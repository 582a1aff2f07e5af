//! What is served: a folder, as nothing can get out of, or memory. Objects are opened, written and deleted through it alone.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, OpenOptions};

use super::memory::Memory;
use super::path::HIDDEN;

/// How the names of files begin that are still being written.
const DRAFT: &str = ".hedgerow-put-";

/// A file that is being written is locked; one that is younger than this may not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder, or what stands for it. Every method but [`open`](Self::open) takes names relative to it, and blocks.
#[derive(Clone, Debug)]
pub(super) enum Folder {
    Disk(Arc<Dir>),
    Memory(Memory),
}

/// An open object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    content: Content,
    /// In bytes, when it was opened.
    pub(super) length: u64,
    /// Byte 0 of what is read is this byte of the file; behind the file's last byte comes its first.
    shift: u64,
}

#[derive(Clone, Debug)]
enum Content {
    File(Arc<File>),
    Memory(Bytes),
}

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::Disk(Arc::new(Dir::open_ambient_dir(path, ambient_authority())?)))
    }

    pub(super) fn object(&self, name: &str) -> io::Result<Object> {
        let dir = match self {
            Self::Disk(dir) => dir,
            Self::Memory(memory) => return memory.get(name).map(Object::in_memory),
        };
        // Looked at before it is opened: opening a pipe would wait for its other end.
        if !dir.metadata(name)?.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = dir.open(name)?.into_std();
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Object { content: Content::File(Arc::new(file)), length: metadata.len(), shift: 0 })
    }

    /// Whether there is anything of this name.
    pub(super) fn has(&self, name: &str) -> io::Result<bool> {
        match self {
            Self::Disk(dir) => match dir.symlink_metadata(name) {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            },
            Self::Memory(memory) => Ok(memory.has(name)),
        }
    }

    /// An object that a server could mistake for this one: the next in the same folder that is as long, else this one with
    /// its halves exchanged.
    pub(super) fn stale(&self, name: &str, object: &Object) -> io::Result<Object> {
        let halves_exchanged = Object { shift: object.length / 2, ..object.clone() };
        let dir = match self {
            Self::Disk(dir) => dir,
            Self::Memory(memory) => {
                let next = memory.next_as_long(name, object.length);
                return Ok(next.map_or(halves_exchanged, Object::in_memory));
            }
        };
        let (folder, own) = name.rsplit_once('/').unwrap_or((".", name));
        let mut others = Vec::new();
        for entry in dir.read_dir(folder)? {
            let other = entry?.file_name().into_string();
            others.extend(other.ok().filter(|other| other != own && !other.starts_with(HIDDEN)));
        }
        others.sort();
        let next = others.partition_point(|other| &other[..] < own);
        others.rotate_left(next);
        for other in others {
            match self.object(&format!("{folder}/{other}")) {
                Ok(other) if other.length == object.length => return Ok(other),
                _ => {}
            }
        }
        Ok(halves_exchanged)
    }

    /// Deletes an object, and the folders around it that are empty then.
    pub(super) fn delete(&self, name: &str) -> io::Result<()> {
        let dir = match self {
            Self::Disk(dir) => dir,
            Self::Memory(memory) => return memory.delete(name),
        };
        if dir.symlink_metadata(name)?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        dir.remove_file(name)?;
        let mut folder = name;
        while let Some((around, _)) = folder.rsplit_once('/') {
            if dir.remove_dir(around).is_err() {
                break;
            }
            folder = around;
        }
        Ok(())
    }

    /// A new object to write to, hidden until it gets its name.
    pub(super) fn draft(&self) -> io::Result<Draft> {
        let dir = match self {
            Self::Disk(dir) => dir,
            Self::Memory(memory) => return Ok(Draft::Memory(memory.clone(), BytesMut::new())),
        };
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("{DRAFT}{:016x}", u64::from_le_bytes(random));
        let file = dir.open_with(&name, OpenOptions::new().write(true).create_new(true))?.into_std();
        // Where there are no locks, what a killed server left is never swept.
        let _ = file.try_lock();
        Ok(Draft::File(FileDraft { dir: Arc::clone(dir), name: Some(name), file }))
    }

    /// Removes what killed servers left half-written, as far as that can be done.
    pub(super) fn sweep(&self) {
        let Self::Disk(dir) = self else { return };
        let Ok(entries) = dir.entries() else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(DRAFT)) {
                // It stays, and harms nobody.
                let _ = sweep(&entry);
            }
        }
    }
}

/// Removes a draft that nobody writes.
fn sweep(draft: &DirEntry) -> io::Result<()> {
    // A pipe would wait for its other end.
    if !draft.file_type()?.is_file() {
        return Ok(());
    }
    let file = draft.open()?.into_std();
    let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
    if age >= YOUNG && file.try_lock().is_ok() { draft.remove_file() } else { Ok(()) }
}

impl Object {
    fn in_memory(bytes: Bytes) -> Self {
        Self { length: bytes.len() as u64, content: Content::Memory(bytes), shift: 0 }
    }

    /// Whether reading may wait for a disk.
    pub(super) const fn blocks(&self) -> bool {
        matches!(self.content, Content::File(_))
    }

    /// Up to `most` bytes from byte `at` on; fewer where they can't be had in one step.
    pub(super) fn read(&self, at: u64, most: usize) -> io::Result<Bytes> {
        let place = at.checked_add(self.shift).map(|place| place % self.length.max(1));
        let Some(place) = place else { return Err(io::ErrorKind::InvalidInput.into()) };
        let most = most.min(usize::try_from(self.length.saturating_sub(place)).unwrap_or(most));
        let file = match &self.content {
            Content::File(file) => file,
            Content::Memory(bytes) => {
                // In memory already: its length fits.
                let place = usize::try_from(place).unwrap_or(usize::MAX);
                let end = place.saturating_add(most);
                let inside = place < end && end <= bytes.len();
                return if inside {
                    Ok(bytes.slice(place..end))
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        };
        let mut bytes = vec![0; most];
        let read = read_at(file, &mut bytes, place)?;
        if read == 0 {
            let short = format!("the file ends at byte {place} where it was {} bytes long", self.length);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, short));
        }
        bytes.truncate(read);
        Ok(bytes.into())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, place)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, place)
}

/// An object under way, hidden until it gets its name. Dropped before that, it is gone.
#[derive(Debug)]
pub(super) enum Draft {
    File(FileDraft),
    Memory(Memory, BytesMut),
}

impl Draft {
    /// Appends these bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(draft) => io::Write::write_all(&mut draft.file, bytes),
            Self::Memory(_, all) => {
                all.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Gives it its name, in one step. False, and nothing has changed, if there is such an object already and it is to be kept.
    pub(super) fn publish(self, object: &str, keep_existing: bool) -> io::Result<bool> {
        match self {
            Self::File(draft) => draft.publish(object, keep_existing),
            Self::Memory(memory, all) => Ok(memory.put(object, all.freeze(), keep_existing)),
        }
    }
}

/// A file under way. Dropped before it has its name, it is removed.
#[derive(Debug)]
pub(super) struct FileDraft {
    dir: Arc<Dir>,
    name: Option<String>,
    file: File,
}

impl FileDraft {
    fn publish(mut self, object: &str, keep_existing: bool) -> io::Result<bool> {
        self.file.sync_all()?;
        let Some(draft) = &self.name else { return Err(io::ErrorKind::NotFound.into()) };
        let (dir, around) = (&self.dir, object.rsplit_once('/').map(|(around, _)| around));
        let mut tries = 0;
        loop {
            let made = around.map_or(Ok(()), |around| make_folders(dir, around));
            // A link fails where there is such a name, a renaming replaces it.
            let done = made.and_then(|()| {
                if keep_existing { dir.hard_link(draft, dir, object) } else { dir.rename(draft, dir, object) }
            });
            match done {
                Ok(()) => break,
                Err(error) if keep_existing && error.kind() == io::ErrorKind::AlreadyExists => {
                    return Ok(false);
                }
                // Whoever deletes the last object of a folder removes it, perhaps just now.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 10 => tries += 1,
                Err(error) => return Err(error),
            }
        }
        if !keep_existing {
            self.name = None;
        }
        sync(&self.dir, around.unwrap_or("."))?;
        Ok(true)
    }
}

/// Makes a folder and those around it, and makes them last.
fn make_folders(dir: &Dir, folder: &str) -> io::Result<()> {
    if dir.is_dir(folder) {
        return Ok(());
    }
    let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    let mut around = ".";
    for folder in ends.filter_map(|end| folder.get(..end)) {
        match dir.create_dir(folder) {
            Ok(()) => sync(dir, around)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        around = folder;
    }
    Ok(())
}

/// Makes the entries of a folder last.
fn sync(dir: &Dir, folder: &str) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    match dir.open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems have no such thing.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        // Deleted just now, with all that was in it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            // Whoever looks finds nothing under this name; there is nobody to tell.
            let _removed = self.dir.remove_file(name);
        }
    }
}

/// Runs work on files where it keeps nobody waiting.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn drafts_of_killed_servers_are_swept_and_no_others() {
        let here = tempfile::tempdir().expect("a folder");
        let long_ago = SystemTime::now() - 2 * YOUNG;
        let file = |name: &str, modified| {
            let file = File::create_new(here.path().join(name)).expect("a file");
            file.set_modified(modified).expect("a time");
            file
        };
        drop(file(".hedgerow-put-left", long_ago));
        drop(file(".hedgerow-put-young", SystemTime::now()));
        drop(file("object", long_ago));
        let folder = Folder::open(here.path()).expect("the folder");
        let Draft::File(draft) = folder.draft().expect("a draft") else { panic!("a folder on a disk") };
        draft.file.set_modified(long_ago).expect("a time");
        folder.sweep();
        let mut left: Vec<_> = std::fs::read_dir(here.path()).expect("the folder").flatten().collect();
        left.retain(|entry| draft.name.as_ref().is_none_or(|name| **name != *entry.file_name()));
        let mut left: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, [".hedgerow-put-young", "object"]);
        assert!(draft.publish("a/b/object", true).expect("an object"));
        assert!(folder.has("a/b/object").expect("an object"));
    }
}
