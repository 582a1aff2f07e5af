//! From cells to the caller's bytes: decoding what was late or lost, and putting the pieces in order.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use hedge_core::CellSet;
use hedgerow_codec::Error as CodecError;
use tracing::error;

use super::window::Window;
use crate::client::count;

/// A decode gives way to others after so many bytes of each cell.
const SLICE: usize = 256 << 10;

fn cells(set: CellSet) -> hedgerow_codec::CellSet {
    hedgerow_codec::CellSet::from_mask(set.bits())
}

impl Window<'_> {
    /// Rebuilds `wanted` of a band from `sources`; false if that failed.
    pub(super) async fn decode(&mut self, index: usize, wanted: CellSet, sources: CellSet) -> bool {
        let counters = &self.shared.counters;
        let turn = counters.decodes.fetch_add(1, Ordering::Relaxed);
        metrics::counter!("hedgerow_decodes_total").increment(1);
        let decoded = match self.rebuild(index, wanted, sources).await {
            Ok(decoded) => decoded,
            Err(error) => {
                error!(file = %self.file.name, %wanted, %sources, "decoding failed: {error}");
                return false;
            }
        };
        let every = u64::from(self.shared.config.check_decodes);
        if every > 0 && turn.is_multiple_of(every) {
            count(&counters.decodes_checked, 1);
            if !matches!(self.decodes_back(index, wanted, sources, &decoded), Ok(true)) {
                count(&counters.decodes_wrong, 1);
                metrics::counter!("hedgerow_wrong_decodes_total").increment(1);
                error!(file = %self.file.name, %wanted, %sources, "decoded bytes don't decode back to their sources");
                return false;
            }
        }
        self.bands[index].decoded = decoded;
        true
    }

    async fn rebuild(
        &mut self,
        index: usize,
        wanted: CellSet,
        sources: CellSet,
    ) -> Result<Vec<(u8, Vec<u8>)>, CodecError> {
        let band = &self.bands[index];
        let plan = self.file.code.plan_boxed(cells(wanted), cells(sources), cells(band.zeros & sources))?;
        let from: Vec<&[u8]> = plan.sources().iter().map(|&cell| self.cell(index, cell)).collect();
        let length = band.len();
        let mut decoded: Vec<(u8, Vec<u8>)> =
            plan.lost().iter().map(|&cell| (cell, vec![0; length])).collect();
        let mut at = 0;
        while at < length {
            let end = length.min(at + SLICE);
            let mut outputs: Vec<&mut [u8]> =
                decoded.iter_mut().filter_map(|(_, bytes)| bytes.get_mut(at..end)).collect();
            plan.run_at(at, &from, &mut outputs)?;
            at = end;
            if at < length {
                tokio::task::yield_now().await;
            }
        }
        Ok(decoded)
    }

    /// Computes one source from the decoded cells and the other sources, and compares.
    fn decodes_back(
        &self,
        index: usize,
        wanted: CellSet,
        sources: CellSet,
        decoded: &[(u8, Vec<u8>)],
    ) -> Result<bool, CodecError> {
        let zeros = self.bands[index].zeros & sources;
        let (Some(back), Some(instead)) = ((sources - zeros).first(), wanted.first()) else {
            return Ok(true);
        };
        let from = (sources - CellSet::one(back)) | CellSet::one(instead);
        let plan = self.file.code.plan_boxed([usize::from(back)], cells(from), cells(zeros))?;
        let bytes = |cell: u8| match decoded.iter().find(|(of, _)| *of == cell) {
            Some((_, bytes)) => &bytes[..],
            None => self.cell(index, cell),
        };
        let from: Vec<&[u8]> = plan.sources().iter().map(|&cell| bytes(cell)).collect();
        Ok(plan.verify(&from, &[self.cell(index, back)])?.is_none())
    }

    /// The bytes of a delivered cell.
    fn cell(&self, index: usize, cell: u8) -> &[u8] {
        let band = &self.bands[index];
        match band.fetch.get(usize::from(cell)).copied().flatten() {
            Some((fetch, _)) => self.fetches[fetch].bytes(&band.range),
            None => &[],
        }
    }

    /// The wanted bytes in the order of the file, once all bands have ended well.
    pub(super) fn assemble(&mut self, length: usize) -> Bytes {
        if let Some(bytes) = self.take_whole(length) {
            return bytes;
        }
        let mut pieces: Vec<(u64, &[u8])> = Vec::new();
        for (index, band) in self.bands.iter().enumerate() {
            for cell in band.layout.wanted().iter().map(|cell| cell as u8) {
                let bytes = match band.decoded.iter().find(|(of, _)| *of == cell) {
                    Some((_, bytes)) => &bytes[..],
                    None => self.cell(index, cell),
                };
                for piece in band.layout.pieces(usize::from(cell)) {
                    let place = |offset: u64| (offset - band.range.start) as usize;
                    let piece_bytes = bytes.get(place(piece.range.start)..place(piece.range.end));
                    pieces.push((piece.file_offset, piece_bytes.unwrap_or_default()));
                }
            }
        }
        pieces.sort_unstable_by_key(|&(offset, _)| offset);
        let mut all = Vec::with_capacity(length);
        for (_, piece) in pieces {
            all.extend_from_slice(piece);
        }
        all.into()
    }

    /// The bytes of a read of one cell, without a copy.
    fn take_whole(&mut self, length: usize) -> Option<Bytes> {
        let [band] = &mut self.bands[..] else { return None };
        if band.layout.wanted().len() != 1 || band.len() != length {
            return None;
        }
        let cell = band.layout.wanted().lowest()?;
        // In one piece in the file, too.
        if band.layout.pieces(cell).nth(1).is_some() {
            return None;
        }
        if let Some((_, bytes)) = band.decoded.pop() {
            return Some(bytes.into());
        }
        let (fetch, _) = band.fetch.get(cell).copied().flatten()?;
        let range = band.range.clone();
        Some(self.fetches.get_mut(fetch)?.take_bytes(&range))
    }
}
