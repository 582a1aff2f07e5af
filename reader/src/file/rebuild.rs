//! Rebuilding the objects of one block group: computed a piece at a time, and streamed to their nodes as they are.

use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::future::try_join_all;
use futures_util::stream;
use hedgerow_codec::CellSet;
use tokio::sync::mpsc;

use super::ask::{failure, limited};
use super::piece::{Agreement, Unbuildable};
use super::scan::Scan;
use super::{FileError, Node, RepairError, Sealer};
use crate::{Existing, Failed, Failure};

/// Pieces of one object that may wait for its node: enough that it writes one while the next is computed.
const WAITING: usize = 1;

/// An object to be written.
pub(super) struct Target<'a> {
    pub(super) cell: u8,
    pub(super) node: &'a Node,
}

/// One object on its way.
struct Pipe<'a> {
    cell: usize,
    node: &'a Node,
    object: String,
    sealer: Sealer,
    pieces: mpsc::Sender<Bytes>,
}

/// Writes the objects of `targets`, all of one group: what is right of them is copied, the rest computed from what is right of the
/// other cells, at each record anew. Returns the bytes written.
pub(super) async fn rebuild(
    scan: &Scan<'_>,
    group: u64,
    targets: &[Target<'_>],
    done: impl FnMut(u64),
) -> Result<u64, FileError> {
    let (mut pipes, mut puts) = (Vec::new(), Vec::new());
    for target in targets {
        let object = scan.manifest.object(scan.name, group, target.cell);
        let length = scan.manifest.object_length(group, target.cell);
        let (pieces, waiting) = mpsc::channel(WAITING);
        let body = stream::unfold(waiting, |mut waiting: mpsc::Receiver<Bytes>| async {
            let piece = waiting.recv().await?;
            Some((Ok::<_, Failed>(piece), waiting))
        });
        let put = target.node.store.put(&object, Existing::Replace, Some(length), Box::pin(body));
        let (node, name) = (target.node, object.clone());
        puts.push(async move {
            match put.await {
                Ok(written) if written == length => Ok(written),
                Ok(written) => {
                    let few = format!("{written} bytes written of {length}");
                    Err(unwritten(node, &name, Failed::because(Failure::TooShort, few)))
                }
                Err(failed) => Err(unwritten(node, &name, failed)),
            }
        });
        let sealer = scan.manifest.records(group, target.cell).sealer();
        pipes.push(Pipe { cell: target.cell.into(), node: target.node, object, sealer, pieces });
    }
    let mut puts = pin!(try_join_all(puts));
    let feed = feed(scan, group, pipes, done);
    tokio::select! {
        biased;
        ended = &mut puts => {
            // Each waits for the last piece, so that none can end well before it.
            let _: Vec<u64> = ended?;
            return Err(RepairError::Stopped.into());
        }
        fed = feed => fed?,
    }
    let late = |_| {
        let nodes = targets.iter().map(|target| target.node.label.clone()).collect();
        RepairError::Late { nodes, silence: scan.silence }
    };
    Ok(tokio::time::timeout(scan.silence, puts).await.map_err(late)??.iter().sum())
}

/// Computes all pieces and hands them to the pipes. Dropping the pipes ends the bodies: too early, unless all went well.
async fn feed(
    scan: &Scan<'_>,
    number: u64,
    mut pipes: Vec<Pipe<'_>>,
    mut done: impl FnMut(u64),
) -> Result<(), FileError> {
    let targets: CellSet = pipes.iter().map(|pipe| pipe.cell).collect();
    let mut group = scan.group(number).await?;
    while let Some(mut piece) = group.next().await {
        let code = Arc::clone(&scan.code);
        let compute = move || -> Result<_, Unbuildable> {
            let agreement = piece.check(&code)?;
            if let Agreement { disputed, .. } = &agreement
                && let Some(&(cell, offset)) = disputed.first()
            {
                return Err(Unbuildable::Disputed { cell, offset });
            }
            piece.rebuild(&code, targets)?;
            Ok(piece)
        };
        let piece = scan.compute(compute).await?.map_err(|why| RepairError::unbuildable(number, &why))?;
        for pipe in &mut pipes {
            let mut object = BytesMut::new();
            pipe.sealer.seal(piece.block(pipe.cell), &mut object);
            if piece.range.end == piece.cut.longest() {
                pipe.sealer.finish(&mut object);
            }
            if object.is_empty() {
                continue;
            }
            scan.pace.take(object.len() as u64).await;
            let (to, piece) = (pipe.pieces.clone(), object.freeze());
            let send = async move {
                if to.send(piece).await.is_err() {
                    // The store has let go of the body, and is about to say why.
                    std::future::pending::<()>().await;
                }
                Ok(())
            };
            let sent = limited(scan.silence, Box::pin(send)).await;
            sent.map_err(|failed| unwritten(pipe.node, &pipe.object, failed))?;
        }
        done(piece.cut.file_bytes(&piece.range));
    }
    Ok(())
}

fn unwritten(node: &Node, object: &str, failed: Failed) -> FileError {
    RepairError::Write { object: object.to_owned(), failure: failure(node, failed) }.into()
}
