//! The layout against what Hadoop's own `StripedBlockUtil` printed.
//!
//! The file has one fact a line. `group` starts a block group: schema, cell size, bytes of data, then the length of
//! every internal block (data before parity) and the sum of them. The lines after it are about that group. `range A..B`
//! lists, for a read of bytes A to B, pieces `[offset+span:...]` of the internal blocks with one letter a data cell: `r`
//! wanted, `z` beyond the end of the data, `-` neither. `block I offset O` names a byte by its place in an internal
//! block, and gives its offset in the group. Hadoop splits a read more often than it has to, and also lists pieces of
//! which nothing is wanted; the wanted bytes and the zeros must be the same.

use hedgerow_codec::{Band, Layout, Position};

const GOLDEN: &str = include_str!("golden/striped-layout.golden.txt");

/// The longest group of the file has five stripes.
const STRIPES: u64 = 5;

#[test]
#[cfg_attr(miri, ignore = "a minute of parsing, and no unsafe code")]
fn every_line_of_hadoops_own_layout_agrees() {
    let (mut groups, mut ranges, mut blocks) = (0, 0, 0);
    let mut group: Option<(Layout, u64)> = None;
    for line in GOLDEN.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or_else(|| panic!("unknown line: {line}"));
        match (kind, group) {
            ("group", _) => {
                group = Some(check_group(rest));
                groups += 1;
            }
            ("range", Some((layout, len))) => {
                check_range(layout, len, rest);
                ranges += 1;
            }
            ("block", Some((layout, _))) => {
                check_block(layout, rest);
                blocks += 1;
            }
            _ => panic!("unknown line: {line}"),
        }
    }
    assert_eq!((groups, ranges, blocks), (60, 480, 184));
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

/// `k=6 m=3 cell=4096 length=1 blocks=1,0,... space=4`: the values in this order.
fn check_group(line: &str) -> (Layout, u64) {
    let keys = ["k=", "m=", "cell=", "length=", "blocks=", "space="];
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words.len(), keys.len(), "{line}");
    let fields: Vec<&str> = words
        .into_iter()
        .zip(keys)
        .map(|(word, key)| word.strip_prefix(key).unwrap_or_else(|| panic!("no {key} in {line}")))
        .collect();
    let [k, m, cell, len, blocks, space] = fields[..] else { panic!("fields missing: {line}") };
    let layout = Layout::new(number(k), number(m), number(cell), STRIPES).unwrap();
    let len = number(len);
    let expected: Vec<u64> = blocks.split(',').map(number).collect();
    assert_eq!(expected.len(), layout.k() + layout.m(), "{line}");
    for (block, &expected) in expected.iter().enumerate() {
        assert_eq!(layout.block_len(len, block), Ok(expected), "block {block} of {line}");
    }
    assert_eq!(layout.group_space(len), Ok(number(space)), "{line}");
    assert_eq!((layout.groups(len), layout.group_len(len, 0)), (1, len), "{line}");
    (layout, len)
}

/// `I offset O = group offset G`.
fn check_block(layout: Layout, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let [block, "offset", offset, "=", "group", "offset", in_group] = words[..] else {
        panic!("unknown line: {line}")
    };
    let position = Position { group: 0, block: number(block), offset: number(offset) };
    assert_eq!(layout.file_offset(position), Ok(number(in_group)), "{line}");
    assert_eq!(layout.locate(number(in_group)), position, "{line}");
}

struct Aligned<'a> {
    start: u64,
    end: u64,
    cells: Vec<&'a str>,
}

/// `A..B => [offset+span:r,z,-,...] ...`.
fn check_range(layout: Layout, len: u64, line: &str) {
    let (range, pieces) = line.split_once(" => ").unwrap();
    let (start, end) = range.split_once("..").unwrap();
    let hadoop: Vec<Aligned<'_>> = pieces.split(' ').map(|piece| parse_aligned(layout, piece)).collect();
    let reads: Vec<_> = layout.read(len, number(start)..number(end)).unwrap().collect();
    assert_eq!(reads.len(), 1, "{line}");
    let bands: Vec<Band> = reads[0].bands().collect();
    assert!(!bands.is_empty() && bands.len() <= hadoop.len(), "{line}");

    let mut cuts: Vec<u64> = hadoop.iter().flat_map(|piece| [piece.start, piece.end]).collect();
    cuts.extend(bands.iter().flat_map(|band| [band.range().start, band.range().end]));
    cuts.sort_unstable();
    cuts.dedup();
    // Nothing changes between two cuts, so their starts stand for every byte.
    for offset in cuts {
        let piece = hadoop.iter().find(|piece| (piece.start..piece.end).contains(&offset));
        match (bands.iter().find(|band| band.range().contains(&offset)), piece) {
            (Some(band), Some(piece)) => {
                for (cell, &letter) in piece.cells.iter().enumerate() {
                    let ours = match (band.wanted().contains(cell), band.zeros().contains(cell)) {
                        (true, false) => "r",
                        (false, true) => "z",
                        (false, false) => "-",
                        (true, true) => panic!("{line}: cell {cell} at {offset} is both wanted and zero"),
                    };
                    assert_eq!(ours, letter, "{line}: cell {cell} at {offset}");
                }
            }
            (None, Some(piece)) => assert!(!piece.cells.contains(&"r"), "{line}: not read at {offset}"),
            (Some(_), None) => panic!("{line}: nothing to read at {offset}"),
            (None, None) => {}
        }
    }
}

fn parse_aligned(layout: Layout, text: &str) -> Aligned<'_> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap();
    let (place, cells) = inner.split_once(':').unwrap();
    let (offset, span) = place.split_once('+').unwrap();
    let cells: Vec<&str> = cells.split(',').collect();
    assert_eq!(cells.len(), layout.k(), "{text}");
    let start = number(offset);
    Aligned { start, end: start + number::<u64>(span), cells }
}
