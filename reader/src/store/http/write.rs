//! Writing, listing and deleting through `object_store`: buckets.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join;
use futures_util::{StreamExt, TryFutureExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    GetOptions, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};

use super::objects::{ObjectNode, path_of};
use super::{failures, listing};
use crate::store::memory::{check_length, too_long};
use crate::store::{Body, Entry, Existing, Failed, Failure, NodeStore, Work};

/// Objects of up to this many bytes are put in one request, longer ones in parts of this length.
const PART: u64 = 8 << 20;

/// No store takes more parts than this for one object.
const PARTS: u64 = 10_000;

/// How it writes:
///
/// - Up to 8 MiB in one request, more as an upload of parts: of 8 MiB, or of a ten-thousandth of the length if that is
///   more. A put holds at most two parts in memory, one that is on its way and one that fills. An upload that fails, or
///   whose future is dropped, is aborted; a bucket should have a rule all the same that ends old uploads, for clients
///   that die.
/// - [`Existing::Keep`] is one step for objects of one request. No store of `object_store` offers it for uploads: there
///   we look before the first part and once more before the object appears.
/// - Deleting an object that is not there succeeds on S3.
impl NodeStore for ObjectNode {
    fn get(&self, object: &str, most: u64) -> Work<Bytes> {
        let (store, path) = (Arc::clone(&self.store), path_of(object));
        Box::pin(async move {
            let options = GetOptions::default();
            let answer = store.get_opts(&path?, options).await.map_err(|error| failures::failed(&error))?;
            let length = answer.meta.size;
            if length > most {
                return Err(too_long(length, most));
            }
            let mut read = 0_u64;
            let mut pieces = Vec::new();
            let mut body = answer.into_stream();
            while let Some(piece) = body.next().await {
                let piece = piece.map_err(|error| failures::failed(&error))?;
                read = read.saturating_add(piece.len() as u64);
                if read > length {
                    return Err(too_long(read, length));
                }
                pieces.push(piece);
            }
            if read < length {
                let short = format!("{read} bytes of an object of {length}");
                return Err(Failed::because(Failure::TooShort, short));
            }
            match &pieces[..] {
                [one] => Ok(one.clone()),
                _ => Ok(pieces.concat().into()),
            }
        })
    }

    fn length(&self, object: &str) -> Work<u64> {
        let (store, path) = (Arc::clone(&self.store), path_of(object));
        Box::pin(async move {
            let found = store.head(&path?).await.map_err(|error| failures::failed(&error))?;
            Ok(found.size)
        })
    }

    fn put(&self, object: &str, existing: Existing, length: Option<u64>, body: Body) -> Work<u64> {
        let (store, path) = (Arc::clone(&self.store), path_of(object));
        Box::pin(async move {
            let put = Put { store, path: path?, existing, length };
            put.run(body).await
        })
    }

    fn delete(&self, object: &str) -> Work<()> {
        let (store, path) = (Arc::clone(&self.store), path_of(object));
        Box::pin(async move { store.delete(&path?).await.map_err(|error| failures::failed(&error)) })
    }

    fn list(&self, prefix: &str) -> Work<Vec<Entry>> {
        Box::pin(listing::at_once(Arc::clone(&self.store), prefix.to_owned()))
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn close(&self) {
        self.connector.close();
    }
}

struct Put {
    store: Arc<dyn ObjectStore>,
    path: Path,
    existing: Existing,
    length: Option<u64>,
}

impl Put {
    async fn run(self, body: Body) -> Result<u64, Failed> {
        let part = self.length.map_or(PART, |length| length.div_ceil(PARTS).max(PART));
        let mut source =
            Source { body, length: self.length, part, taken: 0, left: Bytes::new(), ended: false };
        let first = source.part().await?;
        if source.ended {
            let mode = match self.existing {
                Existing::Keep => PutMode::Create,
                Existing::Replace => PutMode::Overwrite,
            };
            let options = PutOptions { mode, ..PutOptions::default() };
            let put = self.store.put_opts(&self.path, first, options).await;
            put.map_err(|error| failures::failed(&error))?;
            return Ok(source.taken);
        }
        self.look().await?;
        let upload = self.store.put_multipart(&self.path).await;
        let mut upload = Upload(Some(upload.map_err(|error| failures::failed(&error))?));
        match self.parts(&mut upload, first, &mut source).await {
            Ok(()) => {
                upload.0 = None;
                Ok(source.taken)
            }
            Err(failed) => {
                upload.abort().await;
                Err(failed)
            }
        }
    }

    async fn parts(&self, upload: &mut Upload, first: PutPayload, source: &mut Source) -> Result<(), Failed> {
        let Some(open) = &mut upload.0 else { return Ok(()) };
        let mut part = first;
        while part.content_length() > 0 {
            let sent = open.put_part(part).map_err(|error| failures::failed(&error));
            ((), part) = try_join(sent, source.part()).await?;
        }
        self.look().await?;
        open.complete().await.map_err(|error| failures::failed(&error))?;
        Ok(())
    }

    /// Fails if an object is there that is to be kept.
    async fn look(&self) -> Result<(), Failed> {
        if self.existing == Existing::Replace {
            return Ok(());
        }
        match self.store.head(&self.path).await {
            Ok(_) => Err(Failure::Exists.into()),
            Err(error) => match failures::failed(&error) {
                failed if failed.kind == Failure::Missing => Ok(()),
                failed => Err(failed),
            },
        }
    }
}

/// The body, cut into parts.
struct Source {
    body: Body,
    length: Option<u64>,
    part: u64,
    taken: u64,
    /// What of a piece did not fit into the last part.
    left: Bytes,
    ended: bool,
}

impl Source {
    /// The next part; shorter than the others only at the end, and empty after it.
    async fn part(&mut self) -> Result<PutPayload, Failed> {
        let mut room = usize::try_from(self.part).unwrap_or(usize::MAX);
        let mut pieces = Vec::new();
        // One look beyond a full part tells whether it is the last.
        while room > 0 || self.left.is_empty() {
            if self.left.is_empty() {
                if self.ended {
                    break;
                }
                match self.body.try_next().await? {
                    Some(piece) => {
                        self.taken = self.taken.saturating_add(piece.len() as u64);
                        if self.length.is_some_and(|length| self.taken > length) {
                            check_length(self.length, self.taken)?;
                        }
                        self.left = piece;
                    }
                    None => {
                        check_length(self.length, self.taken)?;
                        self.ended = true;
                    }
                }
            } else {
                let piece = self.left.split_to(room.min(self.left.len()));
                room -= piece.len();
                pieces.push(piece);
            }
        }
        Ok(pieces.into_iter().collect())
    }
}

/// An upload that is aborted unless it is taken out.
struct Upload(Option<Box<dyn MultipartUpload>>);

impl Upload {
    async fn abort(&mut self) {
        if let Some(upload) = &mut self.0 {
            abort(upload).await;
        }
        // Only now: an abort that is dropped on its way is begun again.
        self.0 = None;
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(mut upload) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { abort(&mut upload).await });
        }
    }
}

async fn abort(upload: &mut Box<dyn MultipartUpload>) {
    if let Err(error) = upload.abort().await {
        tracing::warn!(kind = failures::failed(&error).kind.name(), "an upload could not be aborted");
    }
}
