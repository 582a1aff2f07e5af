//! A folder as a node: objects are files, read from handles that stay open, and written so that none is ever half there.

mod draft;
mod folder;
mod handles;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{Error, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::Fuse;
use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use self::draft::Draft;
use self::folder::{Folder, check, failed};
use self::handles::Handles;
use super::memory::{check_length, too_long};
use super::{Body, CellStore, Entry, Existing, Failed, Failure, Leg, NodeStore, Work};

/// Bytes of a step of a read. Between steps it looks whether it is still wanted.
const STEP: u64 = 64 << 10;

/// Bytes that are gathered for one write.
const GATHERED: usize = 256 << 10;

/// Files that stay open, unless told otherwise: few enough that nine nodes stay below the 1,024 that Linux allows
/// a process at first.
const HANDLES: usize = 64;

/// A folder as a node: each object is a file of its name. Clones are the same node.
///
/// The folder need not exist: before the first [`put`](NodeStore::put), which creates it, it has no objects.
///
/// # Reading
///
/// A read is one piece of work on tokio's blocking threads, in steps of 64 KiB (the last may be half as long again) between
/// which a cancelled one ends. Files stay open for the next read, so what *others* do to a file is seen a
/// second later at the latest, by a read that begins then; until then reads return the old file, whole. What is
/// done through this store or its clones is seen at once. `get` and `length` always open the file.
///
/// # Writing
///
/// A file is written under a temporary name in the folder of its object, made to last (`fsync`), renamed, and then the
/// folder is made to last. [`Existing::Keep`] is one step, too: of two that write the same object at the same time one fails.
/// Whatever fails or is dropped leaves nothing, except that a put that fails in its very last step, at making the folder last, has
/// put the file in its place. What a killed process left is removed with the last object beside it.
///
/// # Names and links
///
/// Nothing leads out of the folder: `..`, absolute names, backslashes are refused, and so are links that lead out
/// ([`Failure::Refused`]), by the operating system itself where it can (`openat2` on Linux), and else a part of the path at a time.
/// Links that stay inside work, but `list` follows none to a folder. The folder itself may be reached by links.
#[derive(Clone)]
pub struct LocalStore(Arc<Shared>);

struct Shared {
    folder: Arc<Folder>,
    address: String,
    handles: Handles,
}

impl LocalStore {
    /// The objects under the folder `root`, with at most 64 of its files open between reads.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::with_handles(root, HANDLES)
    }

    /// As [`new`](Self::new), with at most `handles` files open between reads.
    #[must_use]
    pub fn with_handles(root: impl Into<PathBuf>, handles: usize) -> Self {
        let root = root.into();
        let address = root.display().to_string();
        Self(Arc::new(Shared { folder: Arc::new(Folder(root)), address, handles: Handles::new(handles) }))
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStore")
            .field("root", &self.0.folder.0)
            .field("handles", &self.0.handles)
            .finish()
    }
}

impl CellStore for LocalStore {
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Work<()> {
        let (shared, object) = (Arc::clone(&self.0), object.to_owned());
        // The leg goes along: it has stopped when the thread has let go of it.
        Box::pin(blocking(move || shared.read(&object, range, leg)))
    }
}

impl NodeStore for LocalStore {
    fn get(&self, object: &str, most: u64) -> Work<Bytes> {
        let (shared, object) = (Arc::clone(&self.0), object.to_owned());
        Box::pin(blocking(move || {
            let file = shared.open(&object)?;
            let mut bytes = Vec::new();
            let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|error| failed(&object, error))?;
            let length = bytes.len() as u64;
            if length > most { Err(too_long(length, most)) } else { Ok(bytes.into()) }
        }))
    }

    fn length(&self, object: &str) -> Work<u64> {
        let (shared, object) = (Arc::clone(&self.0), object.to_owned());
        Box::pin(blocking(move || {
            let about = shared.open(&object)?.metadata();
            about.map(|about| about.len()).map_err(|error| failed(&object, error))
        }))
    }

    fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64> {
        let (shared, object) = (Arc::clone(&self.0), object.to_owned());
        Box::pin(async move {
            let (folder, name) = (Arc::clone(&shared.folder), object.clone());
            let mut draft = blocking(move || {
                check(&name)?;
                Draft::new(folder, name, existing)
            })
            .await?;
            let (mut body, mut written) = (body.fuse(), 0);
            while let Some(pieces) = gather(&mut body).await? {
                written =
                    pieces.iter().fold(written, |sum: u64, piece| sum.saturating_add(piece.len() as u64));
                // A body without an end must not fill the disk.
                if length.is_some_and(|length| written > length) {
                    check_length(length, written)?;
                }
                draft = blocking(move || draft.write(pieces)).await?;
            }
            check_length(length, written)?;
            let dropped = CancellationToken::new();
            let _guard = dropped.clone().drop_guard();
            blocking(move || {
                let placed = draft.place(existing, || !dropped.is_cancelled());
                shared.handles.forget(&object);
                placed
            })
            .await?;
            Ok(written)
        })
    }

    fn delete(&self, object: &str) -> Work<()> {
        let (shared, object) = (Arc::clone(&self.0), object.to_owned());
        Box::pin(blocking(move || {
            check(&object)?;
            let deleted = shared.folder.delete(&object);
            shared.handles.forget(&object);
            deleted.map_err(|error| failed(&object, error))
        }))
    }

    fn list(&self, prefix: &str) -> Work<Vec<Entry>> {
        let (shared, prefix) = (Arc::clone(&self.0), prefix.to_owned());
        Box::pin(async move {
            let dropped = CancellationToken::new();
            let _guard = dropped.clone().drop_guard();
            blocking(move || {
                if !prefix.is_empty() {
                    check(&prefix)?;
                }
                shared.folder.list(&prefix, &dropped)
            })
            .await
        })
    }

    fn address(&self) -> &str {
        &self.0.address
    }

    fn close(&self) {
        self.0.handles.clear();
    }
}

impl Shared {
    fn read(&self, object: &str, range: Range<u64>, leg: Leg) -> Result<(), Failed> {
        if leg.is_cancelled() {
            return Err(Failure::Cancelled.into());
        }
        leg.connected();
        let file = self.handle(object)?;
        read_steps(object, range, leg, |at, length| read_at(&file, at, length))
    }

    fn handle(&self, object: &str) -> Result<Arc<File>, Failed> {
        match self.handles.find(object) {
            Ok(file) => Ok(file),
            Err(before) => {
                let file = Arc::new(self.open(object)?);
                self.handles.keep(object.to_owned(), Arc::clone(&file), before);
                Ok(file)
            }
        }
    }

    fn open(&self, object: &str) -> Result<File, Failed> {
        check(object)?;
        let opened = match self.folder.open(object) {
            Err(error) if no_handles_left(&error) => {
                self.handles.clear();
                self.folder.open(object)
            }
            opened => opened,
        };
        opened.map_err(|error| failed(object, error))
    }
}

/// Runs `work` on a thread that may block. It goes on when the future is dropped, unless it looks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failed> + Send + 'static,
) -> Result<T, Failed> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_cancelled() => Err(Failed::because(Failure::Cancelled, error)),
        Err(error) => Err(Failed::because(Failure::Other, error)),
    }
}

/// The next pieces of a body, as many as are there already, up to about [`GATHERED`] bytes; `None` at its end.
async fn gather(body: &mut Fuse<Body>) -> Result<Option<Vec<Bytes>>, Failed> {
    let Some(first) = body.next().await.transpose()? else { return Ok(None) };
    let mut length = first.len();
    let mut pieces = vec![first];
    while length < GATHERED
        && let Some(Some(piece)) = body.next().now_or_never()
    {
        let piece = piece?;
        length = length.saturating_add(piece.len());
        pieces.push(piece);
    }
    Ok(Some(pieces))
}

/// Reads `range` of `object` with `read_at`, step by step, until it is cancelled.
fn read_steps(
    object: &str,
    range: Range<u64>,
    mut leg: Leg,
    read_at: impl Fn(u64, usize) -> std::io::Result<Vec<u8>>,
) -> Result<(), Failed> {
    let (start, end) = (range.start, range.end);
    let mut at = start;
    while at < end {
        if leg.is_cancelled() {
            return Err(Failure::Cancelled.into());
        }
        let step = step(end - at);
        let bytes = read_at(at, step).map_err(|error| failed(object, error))?;
        let came = bytes.len();
        at = at.saturating_add(came as u64);
        leg.data(bytes.into())?;
        if came < step {
            let why = format!("{object} has no byte {at}, where bytes {start} to {end} were wanted");
            return Err(Failed::because(Failure::TooShort, why));
        }
    }
    leg.finish()
}

/// Bytes of the next step, with `left` to come. Checksums make a read of 64 KiB a little longer, which is not worth another step.
fn step(left: u64) -> usize {
    let step = if left <= STEP + STEP / 2 { left } else { STEP };
    usize::try_from(step).unwrap_or(usize::MAX)
}

/// `length` bytes from `offset` on; fewer only where the file ends.
#[cfg(unix)]
fn read_at(file: &File, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let at = offset.saturating_add(bytes.len() as u64);
        // No file is that long, and the system would call it an invalid argument.
        if i64::try_from(at).is_err() {
            break;
        }
        // Memory is not zeroed before it is filled.
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), at) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// As above.
#[cfg(windows)]
fn read_at(file: &File, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
    use std::os::windows::fs::FileExt;
    let (mut bytes, mut filled) = (vec![0; length], 0);
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.seek_read(room, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Whether the process, or the system, has as many files open as it may.
fn no_handles_left(error: &Error) -> bool {
    #[cfg(unix)]
    return [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|limit| error.raw_os_error() == Some(limit.raw_os_error()));
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}
