//! Files that a command makes for what it shows.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::TempPath;

/// A new file, made before anything is measured for it; gone again unless its path is kept.
pub(crate) fn new_file(path: &Path) -> io::Result<(File, TempPath)> {
    let made = File::create_new(path).and_then(|file| Ok((file, TempPath::try_from_path(path)?)));
    made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            io::Error::new(error.kind(), format!("{} is there already", path.display()))
        }
        _ => at(path, &error),
    })
}

/// An error, and the file that it is of.
pub(crate) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
