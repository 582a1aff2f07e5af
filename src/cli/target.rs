//! Where `get` writes to: nothing stands under the output's name before it is whole.

use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tokio::io::AsyncWrite;

use super::exit::{Exit, Stop};
use super::failure;

pub(crate) enum Target {
    Stdout,
    /// A device or a pipe, written in place: a rename would put a file where it was.
    Special(PathBuf),
    /// A file, under another name until it is whole; removed when dropped.
    File {
        written: NamedTempFile,
        path: PathBuf,
        overwrite: bool,
        /// Those of the file that is replaced.
        permissions: Option<Permissions>,
    },
}

impl Target {
    /// Makes ready to write to `output`; without one, to the last part of `name` in this folder.
    pub(crate) fn prepare(output: Option<&str>, name: &str, overwrite: bool) -> Result<Self, Stop> {
        let path = match output {
            Some("-") => return Ok(Self::Stdout),
            Some(path) => PathBuf::from(path),
            None => {
                let last =
                    name.rsplit('/').next().filter(|last| !last.is_empty() && *last != "." && *last != "..");
                PathBuf::from(
                    last.ok_or_else(|| Stop::usage(format!("`{name}` names no output: give --output")))?,
                )
            }
        };
        let cannot = |error: io::Error| failure::of_path(format!("can't write {}", path.display()), &error);
        let mut permissions = None;
        let path = match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => {
                return Err(Stop::failed(format!("can't write {}: it is a folder", path.display())));
            }
            Ok(found) if !found.is_file() => return Ok(Self::Special(path)),
            Ok(_) if !overwrite => return Err(exists(&path)),
            // A link stays, and what it leads to is replaced.
            Ok(found) => {
                permissions = Some(found.permissions());
                std::fs::canonicalize(&path).map_err(cannot)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.clone(),
            Err(error) => return Err(cannot(error)),
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".hedgerow-").suffix(".part");
        // As of any new file: what the umask leaves of it. What replaces a file is its owner's alone until it is whole.
        #[cfg(unix)]
        if permissions.is_none() {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let written = builder.tempfile_in(folder).map_err(cannot)?;
        Ok(Self::File { written, path, overwrite, permissions })
    }

    /// What to write the bytes to.
    pub(crate) async fn begin(&self) -> Result<Box<dyn AsyncWrite + Send + Unpin>, Stop> {
        let opened = match self {
            Self::Stdout => return Ok(Box::new(tokio::io::stdout())),
            Self::Special(path) => tokio::fs::OpenOptions::new().write(true).open(path).await,
            Self::File { written, .. } => written.as_file().try_clone().map(tokio::fs::File::from_std),
        };
        Ok(Box::new(opened.map_err(|error| self.cannot_write(error))?))
    }

    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// Everything is written: makes it last, and puts it under its name.
    pub(crate) fn finish(self) -> Result<(), Stop> {
        let Self::File { written, path, overwrite, permissions } = self else { return Ok(()) };
        let file = written.as_file();
        let ready = match permissions {
            Some(permissions) => file.set_permissions(permissions).and_then(|()| file.sync_all()),
            None => file.sync_all(),
        };
        ready.map_err(|error| failure::of_path(format!("can't write {}", path.display()), &error))?;
        let kept = if overwrite { written.persist(&path) } else { written.persist_noclobber(&path) };
        match kept {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(failure::of_path(format!("can't write {}", path.display()), &error.error)),
        }
    }

    pub(crate) fn cannot_write(&self, error: io::Error) -> Stop {
        match self {
            Self::Stdout => error.into(),
            Self::Special(path) | Self::File { path, .. } => {
                failure::of_path(format!("can't write {}", path.display()), &error)
            }
        }
    }
}

fn exists(path: &Path) -> Stop {
    Stop::new(Exit::Exists, format!("{} is there already: --overwrite replaces it", path.display()))
}
