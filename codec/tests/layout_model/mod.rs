//! The naive model of the layout: a file is written byte by byte, cell by cell, without a division, and then every
//! answer of the layout is compared with what was written. Shared by the property tests and the fuzz target.

use hedgerow_codec::{GroupRead, Layout, Piece, Position};

/// The file offset of every byte of every data block of one group, and the length of its parity blocks.
struct Group {
    data: Vec<Vec<u64>>,
    parity: u64,
}

fn write(layout: Layout, file_len: u64) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut offset = 0;
    while offset < file_len {
        let mut group = Group { data: vec![Vec::new(); layout.k()], parity: 0 };
        while offset < file_len && (group.data[0].len() as u64) < layout.block_bytes() {
            let mut longest = 0;
            for block in &mut group.data {
                let mut cell = 0;
                while cell < layout.cell_bytes() && offset < file_len {
                    block.push(offset);
                    (offset, cell) = (offset + 1, cell + 1);
                }
                longest = longest.max(cell);
            }
            group.parity += longest;
        }
        groups.push(group);
    }
    groups
}

/// Compares the layout of a file of `file_len` bytes, and the read of `start..end`, with the model. Takes time and
/// memory in proportion to the file.
pub(crate) fn check(layout: Layout, file_len: u64, start: u64, end: u64) {
    let groups = write(layout, file_len);
    assert_eq!(layout.groups(file_len), groups.len() as u64);
    for (number, group) in groups.iter().enumerate() {
        check_lengths_and_positions(layout, file_len, number as u64, group);
    }

    let reads: Vec<GroupRead> = layout.read(file_len, start..end).unwrap().collect();
    let touched: Vec<u64> = groups
        .iter()
        .zip(0..)
        .filter(|(group, _)| group.data.iter().flatten().any(|offset| (start..end).contains(offset)))
        .map(|(_, number)| number)
        .collect();
    assert_eq!(reads.iter().map(GroupRead::group).collect::<Vec<_>>(), touched);
    let mut times_read = vec![0; (end - start) as usize];
    for read in reads {
        check_read(layout, &groups[read.group() as usize], read, start, end, &mut times_read);
    }
    assert!(times_read.iter().all(|&times| times == 1), "every wanted byte is in exactly one piece");
}

fn check_lengths_and_positions(layout: Layout, file_len: u64, number: u64, group: &Group) {
    let len = group.data.iter().map(Vec::len).sum::<usize>() as u64;
    assert_eq!(layout.group_len(file_len, number), len);
    assert_eq!(layout.group_space(len), Ok(len + group.parity * layout.m() as u64));
    for block in 0..layout.k() + layout.m() {
        let expected = group.data.get(block).map_or(group.parity, |data| data.len() as u64);
        assert_eq!(layout.block_len(len, block), Ok(expected));
    }
    for (block, data) in group.data.iter().enumerate() {
        for (&file_offset, offset) in data.iter().zip(0..) {
            let position = Position { group: number, block, offset };
            assert_eq!(layout.locate(file_offset), position);
            assert_eq!(layout.file_offset(position), Ok(file_offset));
        }
    }
}

fn check_read(layout: Layout, group: &Group, read: GroupRead, start: u64, end: u64, times_read: &mut [u32]) {
    let is_wanted = |block: usize, offset: u64| {
        group.data[block].get(offset as usize).is_some_and(|file| (start..end).contains(file))
    };
    let offsets = 0..group.parity;
    let len = group.data.iter().map(Vec::len).sum::<usize>() as u64;
    assert_eq!(read.group_len(), len);

    let mut of_group: Vec<u64> =
        group.data.iter().flatten().copied().filter(|file| (start..end).contains(file)).collect();
    of_group.sort_unstable();
    assert_eq!(read.file_range().collect::<Vec<_>>(), of_group);

    for block in 0..layout.k() {
        let wanted: Vec<u64> = offsets.clone().filter(|&offset| is_wanted(block, offset)).collect();
        assert_eq!(read.wanted(block).map_or(Vec::new(), Iterator::collect), wanted);
    }
    assert!((layout.k()..=layout.k() + layout.m()).all(|block| read.wanted(block).is_none()));

    let bands: Vec<_> = read.bands().collect();
    assert!((1..=6).contains(&bands.len()), "{} bands", bands.len());
    assert!(bands.iter().all(|band| !band.range().is_empty() && band.range().end <= group.parity));
    for pair in bands.windows(2) {
        let (end, start) = (pair[0].range().end, pair[1].range().start);
        assert!(end <= start, "bands overlap or run backwards");
        let same = (pair[0].wanted(), pair[0].zeros()) == (pair[1].wanted(), pair[1].zeros());
        assert!(end < start || !same, "two bands that are one");
    }
    for offset in offsets {
        let band = bands.iter().find(|band| band.range().contains(&offset));
        let any_wanted = (0..layout.k()).any(|block| is_wanted(block, offset));
        assert_eq!(band.is_some(), any_wanted, "a band exactly where something is wanted: {offset}");
        let Some(band) = band else { continue };
        for block in 0..layout.k() + layout.m() {
            let data = group.data.get(block);
            let beyond = data.is_some_and(|data| offset >= data.len() as u64);
            assert_eq!(band.wanted().contains(block), data.is_some() && is_wanted(block, offset));
            assert_eq!(band.zeros().contains(block), beyond);
        }
    }
    for band in &bands {
        for block in 0..=layout.k() + layout.m() {
            let mut at = band.range().start;
            for Piece { range, file_offset } in band.pieces(block) {
                assert!(range.start == at && range.end > at, "pieces follow one another");
                at = range.end;
                for (offset, file) in range.zip(file_offset..) {
                    assert_eq!(group.data[block][offset as usize], file);
                    times_read[(file - start) as usize] += 1;
                }
            }
            let expected = if band.wanted().contains(block) { band.range().end } else { band.range().start };
            assert_eq!(at, expected, "the pieces of a wanted cell fill the band");
        }
    }
}
