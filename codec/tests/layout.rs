//! The layout against a naive model: a file written byte by byte.

mod layout_model;

use hedgerow_codec::Layout;
use layout_model::check;

#[test]
fn every_read_of_every_short_file_agrees_with_a_file_written_byte_by_byte() {
    // Two groups of two stripes; long enough for a range to start in one group and end in the other.
    let shapes: &[(usize, u64)] = if cfg!(miri) { &[(2, 1)] } else { &[(1, 2), (2, 2), (3, 2), (2, 3)] };
    for &(k, cell) in shapes {
        let layout = Layout::new(k, 1, cell, 2).unwrap();
        for len in 0..=2 * layout.group_bytes() {
            for start in 0..=len {
                (start..=len).for_each(|end| check(layout, len, start, end));
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "slow, and the same code paths as the short files")]
fn reads_that_begin_and_end_near_borders_agree_with_a_file_written_byte_by_byte() {
    let layout = Layout::new(6, 3, 5, 3).unwrap();
    // A cell is 5, a stripe 30, a group 90 bytes.
    let near = [0, 1, 4, 5, 6, 29, 30, 31, 59, 60, 63, 89, 90, 91, 179, 180, 181];
    for len in [1, 5, 33, 90, 93, 117, 180, 181] {
        let points = || near.into_iter().filter(|&point| point <= len).chain([len]);
        for start in points() {
            points().filter(|&end| start <= end).for_each(|end| check(layout, len, start, end));
        }
    }
}

#[cfg(not(miri))]
proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(600))]

    #[test]
    fn any_read_of_any_file_agrees_with_a_file_written_byte_by_byte(
        (k, m) in (1usize..=12, 1usize..=4),
        (cell, stripes) in (1u64..=9, 1u64..=5),
        (file_len, start, len) in (0u64..=700, 0u64..=700, 0u64..=700),
    ) {
        let start = start.min(file_len);
        let end = file_len.min(start + len);
        check(Layout::new(k, m, cell, stripes).unwrap(), file_len, start, end);
    }

    #[test]
    fn wide_schemas_agree_with_a_file_written_byte_by_byte(
        k in 60usize..=255,
        (cell, stripes) in (1u64..=2, 1u64..=2),
        (file_len, start, len) in (0u64..=1500, 0u64..=1500, 0u64..=1500),
    ) {
        let start = start.min(file_len);
        let end = file_len.min(start + len);
        check(Layout::new(k, 256 - k, cell, stripes).unwrap(), file_len, start, end);
    }
}
