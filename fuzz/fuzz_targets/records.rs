//! Records: what was sealed in any pieces opens in any others, each damaged byte is found in its record, and no bytes at all make
//! the opener panic or hold more than its range.
#![no_main]

use std::ops::Range;

use arbitrary::Arbitrary;
use bytes::BytesMut;
use hedgerow_reader::{FileId, Opener, Records};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    id: [u8; 16],
    group: u64,
    cell: u8,
    record: u16,
    data: Vec<u8>,
    range: (u16, u16),
    /// Lengths of pieces, again and again.
    pieces: Vec<u8>,
    damage: Option<(u16, u8)>,
    /// The data is no block, but what stands in an object that nobody sealed.
    raw: bool,
}

fuzz_target!(|input: Input| {
    let records = Records::new(FileId(input.id), input.group, input.cell, u32::from(input.record % 300));
    let length = input.data.len() as u64;
    let ends = [input.range.0, input.range.1].map(|end| u64::from(end) % (length + 1));
    let range = records.widened(&(ends[0].min(ends[1])..ends[0].max(ends[1])), length);
    if input.raw {
        any_bytes(&records, range, &input);
    } else {
        sealed(&records, range, &input);
    }
});

fn any_bytes(records: &Records, range: Range<u64>, input: &Input) {
    let mut opener = records.opener(range.clone());
    let mut next = range.start / records.bytes();
    for piece in pieces(&input.data, &input.pieces) {
        opener.push(piece, |bad| {
            assert!(bad.number >= next && bad.range.start == bad.number * records.bytes());
            assert!(range.start <= bad.range.start && bad.range.end <= range.end);
            assert_ne!(bad.found, bad.expected);
            next = bad.number + 1;
        });
        inside(&opener, &range);
    }
}

fn sealed(records: &Records, range: Range<u64>, input: &Input) {
    let (mut sealer, mut object) = (records.sealer(), BytesMut::new());
    for piece in pieces(&input.data, &input.pieces) {
        sealer.seal(piece, &mut object);
    }
    sealer.finish(&mut object);
    assert_eq!(object.len() as u64, records.object_length(input.data.len() as u64));

    let at = records.in_object(&range);
    let mut read = object[at.start as usize..at.end as usize].to_vec();
    let mut expected = Vec::new();
    if let Some((place, change)) = input.damage
        && change != 0
        && !read.is_empty()
    {
        let place = usize::from(place) % read.len();
        read[place] ^= change;
        expected.push((at.start + place as u64) / (records.bytes() + 4));
    }
    let (mut opener, mut bad) = (records.opener(range.clone()), Vec::new());
    for piece in pieces(&read, &input.pieces) {
        opener.push(piece, |record| bad.push(record.number));
        inside(&opener, &range);
    }
    assert_eq!(bad, expected);
    assert_eq!(opener.checked(), range.end);
    if bad.is_empty() {
        assert_eq!(opener.into_data(), &input.data[range.start as usize..range.end as usize]);
    }
}

fn inside(opener: &Opener, range: &Range<u64>) {
    assert!(opener.data().len() as u64 <= range.end - range.start);
    assert!(range.start <= opener.checked() && opener.checked() <= range.end);
}

/// `bytes` in pieces of these lengths, again and again; in one if there are none.
fn pieces<'a>(mut bytes: &'a [u8], lengths: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut lengths = lengths.iter().cycle();
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let length = lengths.next().map_or(bytes.len(), |&length| usize::from(length).max(1));
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        bytes = rest;
        Some(piece)
    })
}
