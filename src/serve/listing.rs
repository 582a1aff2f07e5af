//! Listings: the answer to PROPFIND (RFC 4918), as much of it as clients of object stores read.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use cap_std::fs::{Dir, Metadata, ReadDir};
use futures_util::stream;

use super::body::Pieces;
use super::folder::blocking;
use super::path::{HIDDEN, encode};

/// Bytes of a listing that are made in one step.
const PIECE: usize = 32 << 10;

/// How far below a folder a listing goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    Itself,
    Children,
    All,
}

impl Depth {
    /// By the header; without one it is all.
    pub(super) fn parse(header: Option<&str>) -> Option<Self> {
        match header.map(str::trim) {
            Some("0") => Some(Self::Itself),
            Some("1") => Some(Self::Children),
            None => Some(Self::All),
            Some(other) => other.eq_ignore_ascii_case("infinity").then_some(Self::All),
        }
    }
}

/// A listing under way: the folders that are being gone through, from the outermost in.
struct Listing {
    folder: Arc<Dir>,
    depth: Depth,
    open: Vec<(String, ReadDir)>,
    text: String,
    ended: bool,
}

/// Begins the listing of an object or folder; the empty name is the whole folder. Blocks.
pub(super) fn begin(folder: Arc<Dir>, name: &str, depth: Depth) -> io::Result<Pieces> {
    let text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n");
    let mut listing = Listing { folder, depth, open: Vec::new(), text, ended: false };
    let metadata =
        if name.is_empty() { listing.folder.dir_metadata()? } else { listing.folder.metadata(name)? };
    if !metadata.is_dir() && !metadata.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    listing.add(name, &metadata);
    if metadata.is_dir() && depth != Depth::Itself {
        listing.enter(name.to_owned())?;
    }
    Ok(Box::pin(stream::try_unfold(listing, |mut listing| async move {
        if listing.ended {
            return Ok(None);
        }
        let (listing, piece) = blocking(move || {
            let piece = listing.piece()?;
            Ok((listing, piece))
        })
        .await?;
        Ok(Some((piece, listing)))
    })))
}

impl Listing {
    fn enter(&mut self, name: String) -> io::Result<()> {
        let entries = self.folder.read_dir(if name.is_empty() { "." } else { &name })?;
        self.open.push((name, entries));
        Ok(())
    }

    fn piece(&mut self) -> io::Result<Bytes> {
        while self.text.len() < PIECE {
            let Some((around, entries)) = self.open.last_mut() else {
                self.text.push_str("</D:multistatus>\n");
                self.ended = true;
                break;
            };
            let Some(entry) = entries.next().transpose()? else {
                self.open.pop();
                continue;
            };
            // A name that is not UTF-8 can't be asked for.
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with(HIDDEN) {
                continue;
            }
            let name = if around.is_empty() { name } else { format!("{around}/{name}") };
            let link = entry.file_type()?.is_symlink();
            match self.one(name, link) {
                // It leads nowhere, outside, or round in circles.
                Err(_) if link => {}
                // Deleted or replaced since its folder was read, or not to be read.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound
                            | io::ErrorKind::NotADirectory
                            | io::ErrorKind::PermissionDenied
                    ) => {}
                done => done?,
            }
        }
        Ok(std::mem::take(&mut self.text).into())
    }

    fn one(&mut self, name: String, link: bool) -> io::Result<()> {
        let metadata = self.folder.metadata(&name)?;
        if metadata.is_file() {
            self.add(&name, &metadata);
        }
        // Links to folders may lead round in circles.
        if metadata.is_dir() && !link {
            self.add(&name, &metadata);
            if self.depth == Depth::All {
                self.enter(name)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, metadata: &Metadata) {
        let slash = if metadata.is_dir() && !name.is_empty() { "/" } else { "" };
        let modified = date(metadata.modified().map(cap_std::time::SystemTime::into_std));
        // An escaped path holds nothing that means something in XML.
        let _written = write!(
            self.text,
            "<D:response><D:href>{}{slash}</D:href><D:propstat><D:prop><D:getlastmodified>{modified}</D:getlastmodified>",
            encode(name)
        );
        self.text.push_str(&if metadata.is_dir() {
            "<D:resourcetype><D:collection/></D:resourcetype>".to_owned()
        } else {
            format!("<D:getcontentlength>{}</D:getcontentlength><D:resourcetype/>", metadata.len())
        });
        self.text.push_str("</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\n");
    }
}

/// A date in the form of HTTP, which has no years before 1970 and after 9999 here.
fn date(time: io::Result<SystemTime>) -> String {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let since = since.filter(|since| *since < YEAR_10000).unwrap_or_default();
    httpdate::fmt_http_date(UNIX_EPOCH + since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_http_can_not_say_is_the_first() {
        let first = "Thu, 01 Jan 1970 00:00:00 GMT";
        assert_eq!(date(Ok(UNIX_EPOCH)), first);
        assert_eq!(date(Ok(UNIX_EPOCH - Duration::from_secs(1))), first);
        assert_eq!(date(Ok(UNIX_EPOCH + Duration::from_secs(253_402_300_800))), first);
        assert_eq!(
            date(Ok(UNIX_EPOCH + Duration::from_secs(253_402_300_799))),
            "Fri, 31 Dec 9999 23:59:59 GMT"
        );
    }
}
