//! What the layout promises, on fixed cases. The comparison with a file written byte by byte is in `tests/layout.rs`.

use std::vec::Vec;

use super::*;
use crate::CellSet;

/// RS-6-3 as HDFS has it by default: cells of 1 MiB, blocks of 128 MiB.
const HDFS: Layout = match Layout::new(6, 3, 1 << 20, 128) {
    Ok(layout) => layout,
    Err(_) => panic!(),
};

fn small(k: usize, cell: u64, stripes: u64) -> Layout {
    Layout::new(k, 2, cell, stripes).unwrap()
}

fn bands(layout: Layout, file_len: u64, range: core::ops::Range<u64>) -> Vec<Band> {
    layout.read(file_len, range).unwrap().flat_map(|read| read.bands()).collect()
}

#[test]
fn a_schema_without_data_or_parity_or_with_too_many_cells_is_refused() {
    for (k, m) in [(0, 3), (6, 0), (0, 0), (200, 57), (256, 1), (usize::MAX, 1), (1, usize::MAX)] {
        assert_eq!(Layout::new(k, m, 1, 1), Err(Error::Schema { k, m }));
    }
    for (k, m) in [(1, 1), (255, 1), (1, 255), (200, 56)] {
        let layout = Layout::new(k, m, 7, 2).unwrap();
        assert_eq!((layout.k(), layout.m(), layout.cell_bytes()), (k, m, 7));
        assert_eq!((layout.block_bytes(), layout.group_bytes()), (14, 14 * k as u64));
    }
}

#[test]
fn sizes_of_zero_or_beyond_64_bits_are_refused() {
    let half = u64::MAX / 9 + 1;
    for (cell, stripes) in [(0, 1), (1, 0), (0, 0), (half, 1), (1, half), (1 << 32, 1 << 32), (u64::MAX, 1)] {
        assert_eq!(Layout::new(6, 3, cell, stripes), Err(Error::Layout { cell, stripes }));
    }
    assert!(Layout::new(6, 3, half - 1, 1).is_ok() && Layout::new(6, 3, 1, half - 1).is_ok());
}

#[test]
fn the_largest_layouts_and_files_stay_within_64_bits() {
    let end = u64::MAX;
    for layout in [
        Layout::new(6, 3, end / 9, 1).unwrap(),
        Layout::new(6, 3, 1, end / 9).unwrap(),
        Layout::new(1, 1, end / 2, 1).unwrap(),
        Layout::new(255, 1, (1 << 32) / 16, (1 << 32) / 16 - 1).unwrap(),
        HDFS,
    ] {
        let group = layout.group_bytes();
        assert!(layout.group_space(group).unwrap() >= group);
        assert_eq!(layout.file_offset(layout.locate(end)), Ok(end));
        let last = layout.groups(end) - 1;
        assert_eq!(last * group + layout.group_len(end, last), end);
        assert_eq!((layout.group_len(end, last + 1), layout.group_len(end, end)), (0, 0));
        for range in [end - 1..end, end - group..end, end / 2..end / 2 + 1, 0..1] {
            for read in layout.read(end, range.clone()).unwrap() {
                let wanted = read.bands().flat_map(|band| {
                    band.wanted().iter().map(move |_| band.range().end - band.range().start)
                });
                assert_eq!(wanted.sum::<u64>(), read.file_range().end - read.file_range().start);
            }
        }
    }
}

#[test]
fn a_byte_beyond_its_internal_block_or_beyond_64_bits_has_no_file_offset() {
    let outside = |start, len| Err(Error::Outside { start, end: start.saturating_add(1), len });
    let layout = small(3, 4, 2);
    let at = |group, block, offset| layout.file_offset(Position { group, block, offset });
    assert_eq!((at(0, 2, 7), at(1, 0, 0)), (Ok(23), Ok(24)));
    assert_eq!((at(0, 2, 8), at(0, 0, u64::MAX)), (outside(8, 8), outside(u64::MAX, 8)));
    // Group 2^64 / 24 is cut after 16 of its 24 bytes: a stripe of 12, and 4 bytes of the next.
    let last = u64::MAX / 24;
    assert_eq!(at(last, 0, 7), Ok(u64::MAX));
    assert_eq!((at(last, 1, 3), at(last, 1, 4)), (Ok(u64::MAX - 8), outside(4, 4)));
    assert_eq!((at(last + 1, 0, 0), at(u64::MAX, 0, 0)), (outside(0, 0), outside(0, 0)));
}

#[test]
fn parity_cells_have_no_file_offset_and_are_never_wanted() {
    let layout = small(3, 4, 2);
    for block in [3, 4, 5, usize::MAX] {
        let refused = Err(Error::CellIndex { index: block, cells: 3 });
        assert_eq!(layout.file_offset(Position { group: 0, block, offset: 0 }), refused);
        let read = layout.read(24, 0..24).unwrap().next().unwrap();
        assert_eq!(read.wanted(block), None);
        assert!(read.bands().all(|band| band.pieces(block).next().is_none()));
    }
}

#[test]
fn a_length_or_block_that_no_group_has_is_refused_with_the_numbers() {
    let layout = small(3, 4, 2);
    assert_eq!(layout.block_len(24, 4), Ok(8));
    assert_eq!(layout.block_len(24, 5), Err(Error::CellIndex { index: 5, cells: 5 }));
    let outside = Err(Error::Outside { start: 0, end: 25, len: 24 });
    assert_eq!((layout.block_len(25, 0), layout.group_space(25)), (outside, outside));
}

#[test]
fn a_read_beyond_the_end_or_backwards_is_refused_with_the_numbers() {
    for (len, start, end) in [(0, 0, 1), (10, 9, 11), (10, 11, 11), (10, 7, 6), (10, 0, u64::MAX)] {
        assert_eq!(HDFS.read(len, start..end).err(), Some(Error::Outside { start, end, len }));
    }
}

#[test]
fn an_empty_read_and_an_empty_file_touch_nothing() {
    assert_eq!(HDFS.groups(0), 0);
    assert_eq!(HDFS.group_space(0), Ok(0));
    for (len, at) in [(0, 0), (10, 0), (10, 5), (10, 10), (u64::MAX, u64::MAX)] {
        assert_eq!(HDFS.read(len, at..at).unwrap().count(), 0);
    }
}

#[test]
fn borders_of_cells_stripes_and_groups_belong_to_what_begins_there() {
    let (cell, stripe, group) = (1 << 20, 6 << 20, 768 << 20);
    let at = |file_offset| {
        let Position { group, block, offset } = HDFS.locate(file_offset);
        (group, block, offset)
    };
    assert_eq!((at(cell - 1), at(cell)), ((0, 0, cell - 1), (0, 1, 0)));
    assert_eq!((at(stripe - 1), at(stripe)), ((0, 5, cell - 1), (0, 0, cell)));
    assert_eq!((at(group - 1), at(group)), ((0, 5, 128 * cell - 1), (1, 0, 0)));
    for border in [cell, stripe, group] {
        let before = bands(HDFS, 2 * group, border - 1..border);
        let after = bands(HDFS, 2 * group, border..border + 1);
        for (read, file_offset) in [(before, border - 1), (after, border)] {
            let (_, block, offset) = at(file_offset);
            let piece = Piece { range: offset..offset + 1, file_offset };
            assert_eq!(read.len(), 1);
            assert_eq!(read[0].wanted(), CellSet::EMPTY.with(block));
            assert_eq!(read[0].pieces(block).collect::<Vec<_>>(), [piece]);
        }
    }
}

#[test]
fn a_whole_file_of_full_stripes_is_one_band_a_group() {
    let layout = small(6, 4, 5);
    let read = bands(layout, 240, 0..240);
    assert_eq!(read.len(), 2);
    for (band, file_start) in read.iter().zip([0, 120]) {
        assert_eq!((band.range(), band.wanted(), band.zeros()), (0..20, CellSet::first(6), CellSet::EMPTY));
        let offsets: Vec<_> = band.pieces(1).map(|piece| piece.file_offset - file_start).collect();
        assert_eq!(offsets, [4, 28, 52, 76, 100]);
    }
}

/// The bound in the documentation of [`Band`]: five for the wanted cells, six with the zeros, and both are reached.
#[test]
fn there_are_at_most_six_bands_and_the_wanted_cells_alone_make_five() {
    let (mut most, mut most_wanted) = (0, 0);
    for k in if cfg!(miri) { 3..=3 } else { 1..=4 } {
        let layout = small(k, 3, if cfg!(miri) { 3 } else { 4 });
        for len in 1..=layout.group_bytes() {
            let ranges = (0..len).flat_map(|start| (start + 1..=len).map(move |end| start..end));
            for range in ranges.step_by(if cfg!(miri) { 29 } else { 1 }) {
                let read = bands(layout, len, range);
                let changes = read.windows(2).filter(|pair| {
                    pair[0].wanted() != pair[1].wanted() || pair[0].range().end != pair[1].range().start
                });
                (most, most_wanted) = (most.max(read.len()), most_wanted.max(1 + changes.count()));
            }
        }
    }
    assert!(most <= 6 && most_wanted <= 5);
    assert!(cfg!(miri) || (most, most_wanted) == (6, 5));

    // Starts in the middle of cell 1, ends in the middle of cell 1 two stripes later, the file in the middle of cell 2.
    let read = bands(small(3, 4, 3), 34, 6..30);
    let masks: Vec<_> = read.iter().map(|b| (b.range(), b.wanted().mask(), b.zeros().mask())).collect();
    let expected =
        [(0..2, 0b100, 0), (2..4, 0b110, 0), (4..8, 0b111, 0), (8..10, 0b011, 0), (10..12, 0b001, 0b100)];
    assert_eq!(masks, expected.map(|(range, wanted, zeros)| (range, Some(wanted), Some(zeros))));
    assert_eq!(bands(small(3, 4, 3), 35, 6..30).len(), 6);
}

/// A reader or repairer that expects something of an internal block which has nothing in the last stripe, or an empty
/// record of it, fails or leaves one behind.
#[test]
fn a_last_stripe_shorter_than_a_cell_asks_nothing_of_the_blocks_it_does_not_reach() {
    // One full stripe of RS-6-3, then 1 byte, half a cell, a cell, or a cell and 1 byte.
    let layout = Layout::new(6, 3, 100, 10).unwrap();
    for (rest, last) in [(1, [1, 0]), (50, [50, 0]), (100, [100, 0]), (101, [100, 1])] {
        let len = 600 + rest;
        for (block, more) in [last[0], last[1], 0, 0, 0, 0, last[0], last[0], last[0]].into_iter().enumerate()
        {
            assert_eq!(layout.block_len(len, block), Ok(100 + more));
        }
        let read = layout.read(len, 600..len).unwrap().next().unwrap();
        assert_eq!(read.wanted(0), Some(100..100 + last[0]));
        assert_eq!(read.wanted(1), (last[1] > 0).then(|| 100..100 + last[1]));
        assert!((2..6).all(|block| read.wanted(block).is_none()));
        for band in read.bands() {
            assert!(!band.range().is_empty() && !band.wanted().is_empty());
            assert!((2..6).all(|block| band.zeros().contains(block) && band.pieces(block).next().is_none()));
            assert!(
                band.wanted().iter().flat_map(|cell| band.pieces(cell)).all(|piece| !piece.range.is_empty())
            );
        }
        // The stripe before is not touched by that.
        assert!(bands(layout, len, 0..600).iter().all(|band| band.zeros().is_empty()));
    }
}

/// Padding that is left to the caller ends up as whatever a buffer held before.
#[test]
fn what_pads_the_last_stripe_is_named_zero_and_nothing_else_is() {
    let layout = small(3, 4, 3);
    for len in 1..=layout.group_bytes() {
        let read = bands(layout, len, 0..len);
        let parity = layout.block_len(len, 3).unwrap();
        for band in &read {
            assert!(band.range().end <= parity, "{len}: {band:?} is not covered by parity");
            for cell in 0..3 {
                let held = layout.block_len(len, cell).unwrap();
                let (whole, none) = (band.range().end <= held, band.range().start >= held);
                assert!(whole || none, "{len}: cell {cell} ends inside {band:?}");
                assert_eq!(band.zeros().contains(cell), none, "{len}: cell {cell} of {band:?}");
            }
            assert!(band.zeros().is_subset(CellSet::first(3)), "{len}: parity is never zero");
        }
        let covered = |offset| read.iter().any(|band| band.range().contains(&offset));
        assert!((0..parity).all(covered));
    }
}
