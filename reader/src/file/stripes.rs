//! The first half of writing a file: its bytes are read a stripe at a time, and the parity is added.

use std::sync::Arc;

use bytes::{BufMut, Bytes};
use hedgerow_codec::{Code, Destination, Kernel, Matrix};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{FileError, Manifest};

/// Stripes in memory at a time: one that is read, one that is encoded, one that is written.
pub(super) const STRIPES: usize = 3;

/// The cells of a stripe, data and parity, as long as they are in the file.
pub(super) struct Stripe {
    /// Its number in the file.
    pub(super) number: u64,
    pub(super) cells: Vec<Bytes>,
    /// Bytes of the file up to its end.
    pub(super) end: u64,
}

/// Memory that counts as a stripe until the last of its cells is written.
struct Held {
    bytes: Vec<u8>,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads `source` to its end, and gives its stripes to `stripes`. Returns its length, which must be `announced`, if that is known.
pub(super) async fn read_stripes(
    source: &mut (dyn AsyncRead + Send + Unpin),
    shape: &Manifest,
    announced: Option<u64>,
    stripes: mpsc::Sender<Stripe>,
) -> Result<u64, FileError> {
    let code = Code::new(Kernel::detect(), shape.k.into(), shape.m.into(), Matrix::Cauchy)?;
    let (code, room) = (Arc::new(code), Arc::new(Semaphore::new(STRIPES)));
    let cell = usize::try_from(shape.cell_bytes).map_err(|_| no_room(shape.cell_bytes.into()))?;
    let full = cell.checked_mul(shape.k.into()).ok_or_else(|| no_room(u64::MAX))?;
    let mut end = 0_u64;
    for number in 0.. {
        let permit = Arc::clone(&room).acquire_owned().await;
        let permit = Arc::new(permit.map_err(|_| FileError::Cancelled)?);
        let bytes = read_stripe(source, full, announced, end).await?;
        let length = bytes.len();
        end = end.saturating_add(length as u64);
        if let Some(announced) = announced.filter(|announced| *announced < end) {
            return Err(FileError::SourceLength { announced, read: end });
        }
        if length > 0 {
            let code = Arc::clone(&code);
            let cells = tokio::task::spawn_blocking(move || encode(&code, bytes, cell, permit)).await;
            let cells = cells.map_err(|error| FileError::Other(format!("encoding: {error}")))??;
            if stripes.send(Stripe { number, cells, end }).await.is_err() {
                return Err(FileError::Cancelled);
            }
        }
        if length < full {
            break;
        }
    }
    match announced {
        Some(announced) if announced != end => Err(FileError::SourceLength { announced, read: end }),
        _ => Ok(end),
    }
}

/// As many bytes as a stripe has, or as the source still has; `before` it gave so many.
async fn read_stripe(
    source: &mut (dyn AsyncRead + Send + Unpin),
    full: usize,
    announced: Option<u64>,
    before: u64,
) -> Result<Vec<u8>, FileError> {
    // One byte more than announced, to see whether the source ends there.
    let expected = announced.map_or(u64::MAX, |announced| announced.saturating_sub(before).saturating_add(1));
    let room = usize::try_from(expected).unwrap_or(full).min(full);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(|_| no_room(room as u64))?;
    while bytes.len() < room {
        let left = room - bytes.len();
        match source.read_buf(&mut (&mut bytes).limit(left)).await {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                return Err(FileError::Source { read: before.saturating_add(bytes.len() as u64), error });
            }
        }
    }
    Ok(bytes)
}

/// The cells of a stripe that begins with these bytes of data.
fn encode(
    code: &Code<Box<[u8]>>,
    data: Vec<u8>,
    cell: usize,
    permit: Arc<OwnedSemaphorePermit>,
) -> Result<Vec<Bytes>, FileError> {
    // Parity is as long as the longest data cell, which is the first.
    let longest = cell.min(data.len());
    let size = longest.saturating_mul(code.m());
    let mut parity = Vec::new();
    parity.try_reserve_exact(size).map_err(|_| no_room(size as u64))?;
    parity.resize(size, 0);
    let mut short = data.chunks(cell).collect::<Vec<_>>();
    short.resize(code.k(), &[]);
    let mut outputs = parity.chunks_mut(longest.max(1)).collect::<Vec<_>>();
    code.encode_short(&short, &mut outputs, Destination::ReadSoon)?;
    let data = Bytes::from_owner(Held { bytes: data, _permit: Arc::clone(&permit) });
    let parity = Bytes::from_owner(Held { bytes: parity, _permit: permit });
    let cut = |bytes: &Bytes, cell: usize, index: usize| {
        let start = cell.saturating_mul(index).min(bytes.len());
        bytes.slice(start..start.saturating_add(cell).min(bytes.len()))
    };
    let cells = (0..code.k()).map(|index| cut(&data, cell, index));
    Ok(cells.chain((0..code.m()).map(|index| cut(&parity, longest, index))).collect())
}

fn no_room(bytes: u64) -> FileError {
    FileError::Other(format!("no memory for {bytes} bytes of a stripe"))
}
