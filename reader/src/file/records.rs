//! Records: how the bytes of an internal block lie in its object, so that wrong bytes are noticed.
//!
//! An object is a sequence of records: up to `record_bytes` bytes of the internal block (fewer only in the last), and
//! then four bytes, little-endian: the CRC32C of these bytes, exclusive-or the record's *seed*. The seed is the CRC32C of the
//! file's id (16 bytes), the block group (8 bytes, little-endian), the cell (1 byte) and the number of the record in
//! the object (8 bytes, little-endian). So a record is right only in its own place of its own file: old, moved and
//! exchanged bytes fail like damaged ones. A CRC finds every change within 32 neighbouring bits, so the seeds of two records of one
//! object always differ if their numbers do within four neighbouring bytes.

use std::fmt;
use std::ops::Range;

use bytes::{BufMut, BytesMut};
use crc_fast::{CrcAlgorithm, Digest, checksum};

use super::FileId;

/// Bytes of a record's checksum.
const SUM: u64 = 4;

pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// The records of one object.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    bytes: u32,
    id: FileId,
    group: u64,
    cell: u8,
}

impl Records {
    /// The records of `cell` of block group `group` of the file `id`, each of `bytes` bytes: 1 to 1 MiB, others count as the
    /// nearest of these.
    #[must_use]
    pub const fn new(id: FileId, group: u64, cell: u8, bytes: u32) -> Self {
        let bytes = match bytes {
            0 => 1,
            1..=0x10_0000 => bytes,
            _ => 0x10_0000,
        };
        Self { bytes, id, group, cell }
    }

    /// Bytes of the internal block in a full record.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// The length of the object of an internal block of `length` bytes; `u64::MAX` if there is no such number.
    #[must_use]
    pub const fn object_length(&self, length: u64) -> u64 {
        length.saturating_add(length.div_ceil(self.bytes()).saturating_mul(SUM))
    }

    /// What of an internal block of `length` bytes must be read to check `range` of it: whole records.
    #[must_use]
    pub const fn widened(&self, range: &Range<u64>, length: u64) -> Range<u64> {
        let start = range.start - range.start % self.bytes();
        let end = match range.end.checked_next_multiple_of(self.bytes()) {
            Some(end) if end < length => end,
            _ => length,
        };
        start..end
    }

    /// Where `range` of an internal block, made of whole records, lies in the object.
    #[must_use]
    pub const fn in_object(&self, range: &Range<u64>) -> Range<u64> {
        let start = range.start / self.bytes();
        let end = range.end.div_ceil(self.bytes());
        range.start.saturating_add(start.saturating_mul(SUM))
            ..range.end.saturating_add(end.saturating_mul(SUM))
    }

    /// The four last bytes of record `number`, which holds `data`.
    #[must_use]
    pub fn sum(&self, number: u64, data: &[u8]) -> [u8; 4] {
        (crc32c(data) ^ self.seed(number)).to_le_bytes()
    }

    fn seed(&self, number: u64) -> u32 {
        let mut place = [0; 33];
        place[..16].copy_from_slice(&self.id.0);
        place[16..24].copy_from_slice(&self.group.to_le_bytes());
        place[24] = self.cell;
        place[25..].copy_from_slice(&number.to_le_bytes());
        crc32c(&place)
    }

    /// To write the object from its first byte.
    #[must_use]
    pub fn sealer(&self) -> Sealer {
        Sealer { records: *self, number: 0, sum: Digest::new(CrcAlgorithm::Crc32Iscsi), filled: 0 }
    }

    /// To read back `range` of the internal block, which should be made of [whole records](Self::widened): if it begins within one, it
    /// is taken to begin where the record does.
    #[must_use]
    pub fn opener(&self, range: Range<u64>) -> Opener {
        let range = range.start - range.start % self.bytes()..range.end;
        let room = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let number = range.start / self.bytes();
        Opener { records: *self, range, number, data: Vec::with_capacity(room), sum: [0; 4], sum_bytes: 0 }
    }
}

/// Turns the bytes of an internal block into those of its object.
#[derive(Debug)]
pub struct Sealer {
    records: Records,
    number: u64,
    /// Of the record that is not full yet.
    sum: Digest,
    filled: u64,
}

impl Sealer {
    /// Appends to `object` what `data` makes of it; pieces of any length.
    pub fn seal(&mut self, mut data: &[u8], object: &mut BytesMut) {
        while !data.is_empty() {
            let room = usize::try_from(self.records.bytes() - self.filled).unwrap_or(usize::MAX);
            let (piece, rest) = data.split_at(room.min(data.len()));
            object.put_slice(piece);
            self.sum.update(piece);
            self.filled += piece.len() as u64;
            data = rest;
            if self.filled == self.records.bytes() {
                self.finish(object);
            }
        }
    }

    /// Ends the record that is not full, if there is one: the last of the object.
    pub fn finish(&mut self, object: &mut BytesMut) {
        if self.filled > 0 {
            let sum = self.sum.finalize_reset() as u32 ^ self.records.seed(self.number);
            object.put_u32_le(sum);
            self.number += 1;
            self.filled = 0;
        }
    }
}

/// Turns the bytes of an object back into those of its internal block, and checks them as they come.
#[derive(Debug)]
pub struct Opener {
    records: Records,
    range: Range<u64>,
    /// The record that is being filled.
    number: u64,
    data: Vec<u8>,
    sum: [u8; 4],
    sum_bytes: usize,
}

impl Opener {
    /// Takes the next bytes of the object, in pieces of any length; bytes beyond the range are ignored. Each record that is wrong is given
    /// to `bad`, and what it holds stands in [`data`](Self::data) all the same.
    pub fn push(&mut self, mut object: &[u8], mut bad: impl FnMut(BadRecord)) {
        while !object.is_empty() && self.checked() < self.range.end {
            let (start, end) = self.record();
            let have = self.range.start + self.data.len() as u64;
            if have < end {
                let room = usize::try_from(end - have).unwrap_or(usize::MAX);
                let (piece, rest) = object.split_at(room.min(object.len()));
                self.data.extend_from_slice(piece);
                object = rest;
                continue;
            }
            let (piece, rest) = object.split_at((4 - self.sum_bytes).min(object.len()));
            self.sum[self.sum_bytes..self.sum_bytes + piece.len()].copy_from_slice(piece);
            self.sum_bytes += piece.len();
            object = rest;
            if self.sum_bytes == 4 {
                let data = &self.data[self.place(start)..];
                let right = self.records.sum(self.number, data);
                if right != self.sum {
                    let (found, expected) = (u32::from_le_bytes(self.sum), u32::from_le_bytes(right));
                    bad(BadRecord { number: self.number, range: start..end, found, expected });
                }
                self.number += 1;
                self.sum_bytes = 0;
            }
        }
    }

    /// The bytes of the internal block so far, from the start of the range on. Trust those before [`checked`](Self::checked).
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The bytes of the internal block, without a copy.
    #[must_use]
    pub fn into_data(self) -> Vec<u8> {
        self.data
    }

    /// The offset in the internal block up to which every record has been looked at.
    #[must_use]
    pub const fn checked(&self) -> u64 {
        let start = self.number.saturating_mul(self.records.bytes());
        if start < self.range.end { start } else { self.range.end }
    }

    /// The range of the internal block that is being read.
    #[must_use]
    pub const fn range(&self) -> &Range<u64> {
        &self.range
    }

    /// Start and end, in the internal block, of the record that is being filled.
    const fn record(&self) -> (u64, u64) {
        let start = self.checked();
        let end = start.saturating_add(self.records.bytes());
        (start, if end < self.range.end { end } else { self.range.end })
    }

    fn place(&self, offset: u64) -> usize {
        usize::try_from(offset - self.range.start).unwrap_or(usize::MAX).min(self.data.len())
    }
}

/// A record whose bytes are not those that were written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BadRecord {
    /// Its number in the object, from 0.
    pub number: u64,
    /// Where its bytes belong in the internal block.
    pub range: Range<u64>,
    /// The checksum that the object holds.
    pub found: u32,
    /// The checksum that its bytes have.
    pub expected: u32,
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, range, found, expected } = self;
        let (start, end) = (range.start, range.end);
        write!(
            f,
            "record {number} (bytes {start} to {end} of the block) has checksum {found:08x} where its bytes have {expected:08x}"
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(bytes: u32) -> Records {
        Records::new(FileId([7; 16]), 3, 2, bytes)
    }

    fn sealed(records: &Records, data: &[u8], pieces: usize) -> BytesMut {
        let (mut sealer, mut object) = (records.sealer(), BytesMut::new());
        for piece in data.chunks(pieces) {
            sealer.seal(piece, &mut object);
        }
        sealer.finish(&mut object);
        object
    }

    fn opened(
        records: &Records,
        range: Range<u64>,
        object: &[u8],
        pieces: usize,
    ) -> (Vec<u8>, Vec<u64>, u64) {
        let (mut opener, mut bad) = (records.opener(range), Vec::new());
        for piece in object.chunks(pieces) {
            opener.push(piece, |record| bad.push(record.number));
        }
        let checked = opener.checked();
        (opener.into_data(), bad, checked)
    }

    proptest! {
        #[test]
        fn any_whole_records_read_back_as_written_in_pieces_of_any_length(
            length in 0_usize..600, bytes in 1_u32..80, range in any::<(u16, u16)>(), cut in 1_usize..200, piece in 1_usize..200
        ) {
            let records = records(bytes);
            let data: Vec<u8> = (0..length).map(|i| (i * 31 + i / 251) as u8).collect();
            let object = sealed(&records, &data, cut);
            prop_assert_eq!(object.len() as u64, records.object_length(length as u64));
            let ends = [range.0, range.1].map(|end| u64::from(end) % (length as u64 + 1));
            let range = ends[0].min(ends[1])..ends[0].max(ends[1]);
            let wide = records.widened(&range, length as u64);
            prop_assert!(wide.start <= range.start && range.end <= wide.end);
            let at = records.in_object(&wide);
            let (start, end) = (wide.start as usize, wide.end as usize);
            let (read, bad, checked) = opened(&records, wide, &object[at.start as usize..at.end as usize], piece);
            prop_assert_eq!(&read[..], &data[start..end]);
            prop_assert!(bad.is_empty());
            prop_assert_eq!(checked as usize, end);
        }
    }

    #[test]
    fn each_flipped_bit_is_found_in_its_record() {
        let records = records(16);
        let object = sealed(&records, &[5; 40], 40);
        for bit in 0..object.len() * 8 {
            let mut damaged = object.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let (_, bad, checked) = opened(&records, 0..40, &damaged, 7);
            assert_eq!(bad, [bit as u64 / 8 / 20]);
            assert_eq!(checked, 40);
        }
    }

    #[test]
    fn a_range_that_begins_within_a_record_is_read_from_the_start_of_the_record() {
        let records = records(16);
        let object = sealed(&records, &[5; 40], 40);
        let (data, bad, checked) = opened(&records, 21..40, &object[20..], 3);
        assert_eq!((data, bad, checked), (vec![5; 24], vec![], 40));
        #[expect(clippy::reversed_empty_ranges, reason = "a caller may be wrong")]
        let backwards = 30..20;
        assert_eq!(opened(&records, backwards, &object[20..], 3).2, 20);
    }

    #[test]
    fn a_record_of_another_file_group_cell_or_place_is_found() {
        let records = records(16);
        let object = sealed(&records, &[5; 48], 48);
        let others = [
            Records::new(FileId([8; 16]), 3, 2, 16),
            Records::new(FileId([7; 16]), 4, 2, 16),
            Records::new(FileId([7; 16]), 3, 1, 16),
        ];
        for other in others {
            assert_eq!(opened(&other, 0..48, &object, 48).1, [0, 1, 2]);
        }
        let mut exchanged = object.to_vec();
        exchanged.rotate_left(20);
        assert_eq!(opened(&records, 0..48, &exchanged, 48).1, [0, 1, 2]);
    }
}
