//! Files that a command reads, or makes for what it shows.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use tempfile::TempPath;

/// No scenario and no histogram is longer.
const LONGEST: u64 = 64 << 20;

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

/// What is in a file, if it is not too long.
pub(crate) fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > LONGEST => {
            let what = format!("it is longer than {} MiB", LONGEST >> 20);
            Err(at(path, &io::Error::new(io::ErrorKind::InvalidData, what)))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err(at(path, &error)),
    }
}

/// What is in a file of text.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    String::from_utf8(bytes_of(path)?).map_err(|error| {
        let what = format!("it is no text: byte {} is not UTF-8", error.utf8_error().valid_up_to());
        at(path, &io::Error::new(io::ErrorKind::InvalidData, what))
    })
}

/// Makes a new file of a text.
pub(crate) fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let (mut file, path) = new_file(path)?;
    file.write_all(text.as_bytes()).map_err(|error| at(&path, &error))?;
    path.keep().map(drop).map_err(|error| at(&error.path, &error.error))
}
