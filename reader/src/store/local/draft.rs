//! A file that is being written: nothing of it stays unless it is put in its place.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use bytes::Bytes;
use cap_std::fs::Dir;

use super::super::{Existing, Failed, Failure};
use super::folder::{Folder, failed, sync};

/// A file that is being written, under a temporary name in the folder of its object.
pub(super) struct Draft {
    root: Arc<Folder>,
    object: String,
    folder: Dir,
    temporary: String,
    file: File,
    placed: bool,
}

impl Draft {
    /// An empty one. Fails at once where there is something that is to be kept.
    pub(super) fn new(root: Arc<Folder>, object: String, existing: Existing) -> Result<Self, Failed> {
        let created = root.create(&object).map_err(|error| unwritten(&object, error));
        let (folder, temporary, file) = created?;
        let draft = Self { root, object, folder, temporary, file, placed: false };
        if existing == Existing::Keep && draft.folder.symlink_metadata(draft.name()).is_ok() {
            return Err(unwritten(&draft.object, ErrorKind::AlreadyExists.into()));
        }
        Ok(draft)
    }

    /// Appends `pieces`.
    pub(super) fn write(mut self, pieces: Vec<Bytes>) -> Result<Self, Failed> {
        for piece in pieces {
            self.file.write_all(&piece).map_err(|error| unwritten(&self.object, error))?;
        }
        Ok(self)
    }

    /// Makes it last, gives it its name, and makes that last; unless by then it is not `wanted`.
    pub(super) fn place(mut self, existing: Existing, wanted: impl FnOnce() -> bool) -> Result<(), Failed> {
        self.file.sync_all().map_err(|error| unwritten(&self.object, error))?;
        if !wanted() {
            return Err(Failure::Cancelled.into());
        }
        let renamed = match existing {
            Existing::Replace => self.folder.rename(&self.temporary, &self.folder, self.name()),
            Existing::Keep => place_new(&self.folder, &self.temporary, self.name()),
        };
        self.placed = renamed.is_ok();
        renamed.and_then(|()| sync(&self.folder)).map_err(|error| unwritten(&self.object, error))
    }

    fn name(&self) -> &str {
        self.object.rsplit('/').next().unwrap_or(&self.object)
    }
}

impl Drop for Draft {
    // On the spot, though it may take a moment: a runtime that is going down would not come to it.
    fn drop(&mut self) {
        if !self.placed {
            let _ = self.folder.remove_file(&self.temporary);
            self.root.prune(&self.object);
        }
    }
}

/// Renames where there is no file of the name, in one step.
fn place_new(folder: &Dir, temporary: &str, name: &str) -> io::Result<()> {
    // First the way that file systems without hard links may have.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::EXIST) => return Err(ErrorKind::AlreadyExists.into()),
            Err(_) => {}
        }
    }
    folder.hard_link(temporary, folder, name)?;
    folder.remove_file(temporary)
}

/// What an error of a write means: never that the object is missing.
fn unwritten(object: &str, error: io::Error) -> Failed {
    let mut failed = failed(object, error);
    if failed.kind == Failure::Missing {
        failed.kind = Failure::Other;
    }
    failed
}
