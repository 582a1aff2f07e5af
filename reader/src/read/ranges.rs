//! Many ranges at once: what lies close together is one read.

use std::ops::Range;

use bytes::Bytes;
use futures_util::StreamExt;

use super::{ReadError, ReadOptions, StripedReader};

/// Ranges with no more than this between them are read as one: a request costs more than so many bytes.
const GAP: u64 = 16 << 10;
/// Ranges are joined across a gap up to so many bytes, so that small answers don't need large reads.
const JOINED: u64 = 4 << 20;
/// Reads of one call that are under way at a time.
const READS: usize = 8;

pub(super) async fn read(
    reader: &StripedReader,
    ranges: &[Range<u64>],
    options: ReadOptions,
) -> Result<Vec<Bytes>, ReadError> {
    let length = reader.length();
    if let Some(range) = ranges.iter().find(|range| range.start > range.end || range.end > length) {
        return Err(ReadError::Outside { range: range.clone(), length });
    }
    let joined = join(ranges);
    let reads = futures_util::stream::iter(&joined)
        .map(|range| async { reader.read_with(range.start, range.end - range.start, options).await });
    let mut reads = std::pin::pin!(reads.buffered(READS));
    let mut parts = Vec::with_capacity(joined.len());
    while let Some(bytes) = reads.next().await {
        parts.push(bytes?);
    }
    Ok(ranges.iter().map(|range| cut(&joined, &parts, range)).collect())
}

/// The ranges, sorted and joined; empty ones are left out.
fn join(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            Some(last) if range.start <= last.end.saturating_add(GAP) && range.end - last.start <= JOINED => {
                last.end = range.end;
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The bytes of one range out of the joined read that has it.
fn cut(joined: &[Range<u64>], parts: &[Bytes], range: &Range<u64>) -> Bytes {
    let index = joined.partition_point(|joined| joined.end < range.end);
    let place = |offset: u64, of: &Range<u64>| usize::try_from(offset - of.start).unwrap_or(usize::MAX);
    match (joined.get(index), parts.get(index)) {
        (Some(of), Some(bytes)) if !range.is_empty() => {
            let part = bytes.slice(place(range.start, of)..place(range.end, of));
            // A small part must not hold on to a large read.
            if part.len() < bytes.len() / 4 { Bytes::copy_from_slice(&part) } else { part }
        }
        _ => Bytes::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_ranges_are_joined_and_far_ones_are_not() {
        let ranges = [100_000..100_010, 0..10, 5..20, 16_404..16_405, 40_000..40_000];
        assert_eq!(join(&ranges), [0..16_405, 100_000..100_010]);
    }

    #[test]
    fn gaps_are_not_read_beyond_a_bound_however_many_ranges_there_are() {
        let ranges: Vec<Range<u64>> = (0..1_000).map(|index| index * 10_000..index * 10_000 + 1).collect();
        let joined = join(&ranges);
        assert!(joined.iter().all(|range| range.end - range.start <= JOINED));
        assert_eq!(joined.len(), 3);
    }

    #[test]
    fn each_range_is_cut_out_of_the_joined_one_that_has_it() {
        let ranges = [100_003..100_006, 3..9, 0..2, 7..7];
        let joined = join(&ranges);
        let parts: Vec<Bytes> =
            joined.iter().map(|range| range.clone().map(|at| at as u8).collect::<Vec<_>>().into()).collect();
        for range in &ranges {
            let expected: Vec<u8> = range.clone().map(|at| at as u8).collect();
            assert_eq!(cut(&joined, &parts, range), expected);
        }
    }
}
