//! The folder under a local store: every path is looked up so that nothing leads out of it.

use std::fs::{File, TryLockError};
use std::io::{self, Error, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;
use std::{error, fmt};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use tokio_util::sync::CancellationToken;

use super::super::name::folder_of;
use super::super::{Entry, Failed, Failure, check_name};

/// How the names of files begin that are still being written. No object is called so.
const TEMPORARY: &str = ".hedgerow-put-";

/// A file that is being written is locked; one that is younger than this may not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder of objects. It is opened anew for each operation, so that it may be moved, unmounted and mounted meanwhile.
#[derive(Debug)]
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    /// Opens the file of an object for reading.
    pub(super) fn open(&self, object: &str) -> io::Result<File> {
        let root = self.root()?;
        let mut options = OpenOptions::new();
        options.read(true);
        // A pipe of this name must not hold the thread until somebody writes to it.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(
            &mut options,
            rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
        );
        let file = root.open_with(object, &options)?.into_std();
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(Error::new(ErrorKind::NotFound, "there is something, but it is not a file"))
    }

    /// Creates a file that is to become `object`, locked, and the folders above it. Also the folder that the file is in, and its name there.
    pub(super) fn create(&self, object: &str) -> io::Result<(Dir, String, File)> {
        std::fs::create_dir_all(&self.0)?;
        let root = self.root()?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(Error::other)?;
        let name = format!("{TEMPORARY}{:016x}", u64::from_le_bytes(random));
        // A delete at the same time may remove the empty folders again.
        let mut tries = 8;
        loop {
            tries -= 1;
            let created = make_folder(&root, folder_of(object)).and_then(|folder| {
                let file = folder.open_with(&name, OpenOptions::new().write(true).create_new(true))?;
                Ok((folder, file.into_std()))
            });
            match created {
                Ok((folder, file)) => {
                    // Where there are no locks, what a killed process left is never swept.
                    let _ = file.try_lock();
                    return Ok((folder, name, file));
                }
                Err(error) if error.kind() == ErrorKind::NotFound && tries > 0 => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes the file of an object, and the folders that this leaves empty.
    pub(super) fn delete(&self, object: &str) -> io::Result<()> {
        let root = self.root()?;
        if root.symlink_metadata(object)?.is_dir() {
            return Err(Error::new(ErrorKind::NotFound, "there is something, but it is a folder"));
        }
        root.remove_file(object)?;
        prune(&root, object);
        Ok(())
    }

    /// Removes the folders above `object` that are empty.
    pub(super) fn prune(&self, object: &str) {
        if let Ok(root) = self.root() {
            prune(&root, object);
        }
    }

    /// The objects under the folder `prefix`, sorted. Links to folders are not followed, so that none is listed twice; what is in a folder
    /// that may not be read is none of our objects.
    pub(super) fn list(&self, prefix: &str, cancelled: &CancellationToken) -> Result<Vec<Entry>, Failed> {
        let root = match self.root() {
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            root => root.map_err(|error| failed("the folder itself", error))?,
        };
        let (mut found, mut folders) = (Vec::new(), vec![prefix.to_owned()]);
        while let Some(folder) = folders.pop() {
            let within = if folder.is_empty() { "." } else { &folder };
            let entries = match root.read_dir(within) {
                // Deleted meanwhile, or never there.
                Err(error) if is_missing(&error) => continue,
                // As `lost+found` at the top of a disk.
                Err(error) if error.kind() == ErrorKind::PermissionDenied && folder != prefix => continue,
                entries => entries.map_err(|error| failed(within, error))?,
            };
            for entry in entries {
                if cancelled.is_cancelled() {
                    return Err(Failure::Cancelled.into());
                }
                let entry = entry.map_err(|error| failed(within, error))?;
                // No object has such a name.
                let Ok(name) = entry.file_name().into_string() else { continue };
                let object = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if check(&object).is_err() {
                    continue;
                }
                let kind = match entry.file_type() {
                    Err(error) if is_missing(&error) => continue,
                    kind => kind.map_err(|error| failed(&object, error))?,
                };
                if kind.is_dir() {
                    folders.push(object);
                    continue;
                }
                let about = if kind.is_symlink() { root.metadata(&object) } else { entry.metadata() };
                match about {
                    Ok(about) if about.is_file() => found.push(Entry { object, length: about.len() }),
                    Ok(_) => {}
                    Err(error) if is_missing(&error) || kind.is_symlink() => {}
                    Err(error) => return Err(failed(&object, error)),
                }
            }
        }
        found.sort_unstable_by(|one, other| one.object.cmp(&other.object));
        Ok(found)
    }

    fn root(&self) -> io::Result<Dir> {
        Dir::open_ambient_dir(&self.0, ambient_authority())
    }
}

/// Whether an object may be called so.
pub(super) fn check(object: &str) -> Result<(), Failed> {
    check_name(object)?;
    if object.split('/').any(|part| part.starts_with(TEMPORARY)) {
        let why = format!("the object name {object:?} is one of a file that is still being written");
        return Err(Failed::because(Failure::Refused, why));
    }
    Ok(())
}

/// Makes the entries of a folder lasting.
pub(super) fn sync(folder: &Dir) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    match folder.open(".")?.sync_all() {
        // Some file systems have no such thing.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

fn make_folder(root: &Dir, folder: &str) -> io::Result<Dir> {
    if folder.is_empty() {
        return root.try_clone();
    }
    match root.open_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    let mut above = root.try_clone()?;
    for folder in ends.filter_map(|end| folder.get(..end)) {
        match root.create_dir(folder) {
            Ok(()) => sync(&above)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        above = root.open_dir(folder)?;
    }
    Ok(above)
}

fn prune(root: &Dir, object: &str) {
    let mut folder = folder_of(object);
    while !folder.is_empty() {
        let removed = match root.remove_dir(folder) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && sweep(root, folder).is_ok() => {
                root.remove_dir(folder)
            }
            removed => removed,
        };
        if removed.is_err() {
            return;
        }
        folder = folder_of(folder);
    }
}

/// Removes from a folder what killed processes left half-written, as long as there is nothing else in it.
fn sweep(root: &Dir, folder: &str) -> io::Result<()> {
    let folder = root.open_dir(folder)?;
    for entry in folder.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| name.starts_with(TEMPORARY)) || !entry.file_type()?.is_file() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        let file = entry.open()?.into_std();
        let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
        if age < YOUNG {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        match file.try_lock() {
            Ok(()) => folder.remove_file(name)?,
            Err(TryLockError::WouldBlock) => return Err(ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the error says that there is no such file.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What an error at `object` means.
pub(super) fn failed(object: &str, error: Error) -> Failed {
    let kind = match error.kind() {
        _ if is_missing(&error) => Failure::Missing,
        ErrorKind::PermissionDenied => Failure::Refused,
        ErrorKind::AlreadyExists => Failure::Exists,
        ErrorKind::UnexpectedEof => Failure::TooShort,
        _ => Failure::Other,
    };
    Failed::because(kind, At { object: object.to_owned(), error })
}

/// Where an error happened.
#[derive(Debug)]
struct At {
    object: String,
    error: Error,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.object)
    }
}

impl error::Error for At {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.error)
    }
}
