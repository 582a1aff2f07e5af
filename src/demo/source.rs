//! The bytes of the file: what is written to the nodes, and what every read is compared with.

use std::fs::File;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::random::word_at;

/// Where the bytes come from. A handle: clones are the same bytes.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Made up from a seed, so that nothing has to keep them.
    Generated {
        /// The seed.
        seed: u64,
        /// How many.
        length: u64,
    },
    /// A file of the user's.
    File {
        /// The file, open.
        file: Arc<File>,
        /// Its length when it was opened.
        length: u64,
    },
}

impl Source {
    /// The file at `path`.
    ///
    /// # Errors
    ///
    /// As the system says, and for what is not an ordinary file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        Ok(Self::File { file: Arc::new(file), length: about.len() })
    }

    /// How many bytes.
    pub(crate) const fn length(&self) -> u64 {
        match *self {
            Self::Generated { length, .. } | Self::File { length, .. } => length,
        }
    }

    /// The bytes from the start.
    pub(crate) fn reader(&self) -> Box<dyn AsyncRead + Send + Unpin> {
        match self {
            &Self::Generated { seed, length } => Box::new(Generated { seed, length, offset: 0 }),
            Self::File { file, .. } => Box::new(Pieces { file: Arc::clone(file), offset: 0 }),
        }
    }

    /// In how many bytes `found` differs from the `length` bytes at `offset`; each that is missing or too many counts.
    ///
    /// # Errors
    ///
    /// If the user's file can't be read any more.
    pub(crate) fn differences(&self, offset: u64, length: u64, found: &[u8]) -> io::Result<u64> {
        let wanted = self.bytes(offset, length)?;
        let differ = wanted.iter().zip(found).filter(|(wanted, found)| wanted != found).count();
        Ok(differ as u64 + wanted.len().abs_diff(found.len()) as u64)
    }

    fn bytes(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a range that is too long");
        let mut bytes = vec![0; usize::try_from(length).map_err(too_long)?];
        match self {
            &Self::Generated { seed, .. } => generate(seed, offset, &mut bytes),
            Self::File { file, .. } => read_exact_at(file, &mut bytes, offset)?,
        }
        Ok(bytes)
    }
}

/// Fills `bytes` with what is at `offset` of the sequence of `seed`.
fn generate(seed: u64, offset: u64, bytes: &mut [u8]) {
    let (mut index, skip) = (offset / 8, (offset % 8) as usize);
    let word = |index| word_at(seed, index).to_le_bytes();
    let (first, rest) = bytes.split_at_mut(((8 - skip) % 8).min(bytes.len()));
    if !first.is_empty() {
        for (byte, made) in first.iter_mut().zip(word(index).into_iter().skip(skip)) {
            *byte = made;
        }
        index += 1;
    }
    for piece in rest.chunks_mut(8) {
        for (byte, made) in piece.iter_mut().zip(word(index)) {
            *byte = made;
        }
        index = index.wrapping_add(1);
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match read_at(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = bytes.get_mut(read..).unwrap_or_default();
                offset = offset.saturating_add(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct Generated {
    seed: u64,
    length: u64,
    offset: u64,
}

impl AsyncRead for Generated {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = usize::try_from(self.length.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let bytes = buffer.initialize_unfilled_to(left.min(buffer.remaining()));
        generate(self.seed, self.offset, bytes);
        let made = bytes.len();
        buffer.advance(made);
        self.offset = self.offset.saturating_add(made as u64);
        Poll::Ready(Ok(()))
    }
}

/// Reads a file by position, so that its handle can be shared.
struct Pieces {
    file: Arc<File>,
    offset: u64,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // On the runtime's thread, as nothing is measured while the file is written.
        let read = read_at(&self.file, buffer.initialize_unfilled(), self.offset)?;
        buffer.advance(read);
        self.offset = self.offset.saturating_add(read as u64);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tokio::io::AsyncReadExt;

    use super::*;

    async fn whole(source: &Source) -> Vec<u8> {
        let mut bytes = Vec::new();
        source.reader().read_to_end(&mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test]
    async fn every_range_is_what_was_written() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&(0..=255).collect::<Vec<u8>>()).unwrap();
        for source in [Source::Generated { seed: 5, length: 100 }, Source::open(file.path()).unwrap()] {
            let written = whole(&source).await;
            assert_eq!(written.len() as u64, source.length());
            for start in 0..30 {
                for length in 0..40 {
                    let range = &written[start..start + length];
                    assert_eq!(source.differences(start as u64, length as u64, range).unwrap(), 0);
                }
            }
        }
    }

    #[test]
    fn every_byte_that_is_wrong_missing_or_too_many_is_counted() {
        let source = Source::Generated { seed: 5, length: 1_000 };
        let right = source.bytes(3, 500).unwrap();
        let count = |found: &[u8]| source.differences(3, 500, found).unwrap();
        assert_eq!(count(&right), 0);
        let mut wrong = right.clone();
        wrong[0] ^= 1;
        wrong[499] ^= 0x80;
        assert_eq!(count(&wrong), 2);
        assert_eq!(count(&right[..490]), 10);
        assert_eq!(count(&[&right[..], &[0; 7]].concat()), 7);
        assert_eq!(count(&[]), 500);
    }

    #[test]
    fn a_folder_is_no_source() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Source::open(folder.path()).is_err());
        assert!(Source::open(&folder.path().join("nothing")).is_err());
    }
}
