//! The layout: no parameters, offsets or ranges make it panic, and what it says of short files agrees with a file
//! written byte by byte.
#![no_main]

use arbitrary::Arbitrary;
use hedgerow_codec::{Error, GroupRead, Layout, Position};
use libfuzzer_sys::fuzz_target;

#[path = "../../codec/tests/layout_model/mod.rs"]
mod layout_model;

#[derive(Debug, Arbitrary)]
enum Input {
    Any {
        k: usize,
        m: usize,
        cell: u64,
        stripes: u64,
        file_len: u64,
        start: u64,
        end: u64,
        at: (u64, usize, u64),
    },
    Short {
        k: u8,
        m: u8,
        cell: u8,
        stripes: u8,
        file_len: u16,
        start: u16,
        len: u16,
    },
}

fuzz_target!(|input: Input| match input {
    Input::Any { k, m, cell, stripes, file_len, start, end, at: (group, block, offset) } => {
        // Mostly schemas that exist, but not only.
        let (k, m) = if k % 8 == 0 { (k, m) } else { (k % 20, m % 8) };
        let Ok(layout) = Layout::new(k, m, cell, stripes) else { return };
        positions(layout, file_len, Position { group, block: block % (2 * (k + m)), offset });
        lengths(layout, file_len, group, block % (2 * (k + m)));
        match layout.read(file_len, start..end) {
            Ok(reads) => reads.take(16).for_each(|read| bands(layout, read)),
            Err(error) => {
                assert!(start > end || end > file_len);
                assert_eq!(error, Error::Outside { start, end, len: file_len });
            }
        }
    }
    Input::Short { k, m, cell, stripes, file_len, start, len } => {
        let (k, m) = (1 + usize::from(k % 14), 1 + usize::from(m % 6));
        let layout = Layout::new(k, m, 1 + u64::from(cell % 12), 1 + u64::from(stripes % 6)).unwrap();
        let file_len = u64::from(file_len % 1000);
        let start = u64::from(start).min(file_len);
        layout_model::check(layout, file_len, start, file_len.min(start + u64::from(len)));
    }
});

fn positions(layout: Layout, file_offset: u64, position: Position) {
    let there = layout.locate(file_offset);
    assert!(there.block < layout.k() && there.offset < layout.block_bytes());
    assert_eq!(layout.file_offset(there), Ok(file_offset));
    match layout.file_offset(position) {
        Ok(file_offset) => assert_eq!(layout.locate(file_offset), position),
        Err(Error::CellIndex { index, cells }) => assert!(index >= cells && cells == layout.k()),
        Err(Error::Outside { start, len, .. }) => assert!(start >= len && len <= layout.block_bytes()),
        Err(error) => panic!("{error}"),
    }
}

fn lengths(layout: Layout, file_len: u64, group: u64, block: usize) {
    let groups = layout.groups(file_len);
    let len = layout.group_len(file_len, group);
    assert_eq!(len == 0, group >= groups);
    assert_eq!(layout.block_len(len, block).is_ok(), block < layout.k() + layout.m());
    assert_eq!(layout.group_space(file_len).is_ok(), file_len <= layout.group_bytes());
    let blocks = (0..layout.k() + layout.m()).map(|block| layout.block_len(len, block).unwrap());
    assert_eq!(layout.group_space(len), Ok(blocks.sum()));
}

fn bands(layout: Layout, read: GroupRead) {
    let (mut count, mut bytes, mut last_end) = (0, 0, 0);
    for band in read.bands() {
        let range = band.range();
        assert!(!range.is_empty() && last_end <= range.start);
        assert!(range.end <= layout.block_len(read.group_len(), layout.k()).unwrap());
        assert!(!band.wanted().is_empty() && band.wanted().intersection(band.zeros()).is_empty());
        for cell in band.wanted().iter() {
            let wanted = read.wanted(cell).unwrap();
            assert!(wanted.start <= range.start && range.end <= wanted.end);
            for piece in band.pieces(cell).take(16) {
                let position = Position { group: read.group(), block: cell, offset: piece.range.start };
                assert_eq!(layout.file_offset(position), Ok(piece.file_offset));
            }
        }
        for cell in band.zeros().iter() {
            assert!(layout.block_len(read.group_len(), cell).unwrap() <= range.start);
        }
        (count, last_end) = (count + 1, range.end);
        bytes += (range.end - range.start) * band.wanted().len() as u64;
    }
    assert!((1..=6).contains(&count));
    assert_eq!(bytes, read.file_range().end - read.file_range().start);
}
