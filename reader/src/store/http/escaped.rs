//! A bucket of Google Cloud Storage with names that may hold anything: `object_store` puts them into URLs as they are, where a
//! percent sign means something else, and a space makes it panic.

use std::fmt;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::store::address::encoded;

/// Percent-encodes what goes into a URL. Listing has its names elsewhere.
#[derive(Debug)]
pub(super) struct Escaped<S>(pub(super) S);

fn escaped(path: &Path) -> Result<Path> {
    Ok(Path::parse(encoded(path.as_ref()))?)
}

impl<S> fmt::Display for Escaped<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Escaped")
    }
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for Escaped<S> {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.0.put_opts(&escaped(path)?, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(&escaped(path)?, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let mut got = self.0.get_opts(&escaped(path)?, options).await?;
        got.meta.location = path.clone();
        Ok(got)
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(paths.map(|path| escaped(&path?)).boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(&escaped(from)?, &escaped(to)?, options).await
    }
}
