//! The tests that every kernel passes, each a function of a kernel; `kernel_tests!` in the kernel's own file makes them run.
//!
//! Expected bytes come from the definition: a table of bitwise products for each coefficient, one byte at a time. Under Miri,
//! which watches every access but is slow, fewer cases run every loop still.

use core::mem::MaybeUninit;
use std::{boxed::Box, env, eprintln, string::String, vec, vec::Vec};

use super::{Destination, Form, Group, Job, Kernel};

mod arrangement;
mod example;
mod memory;

use arrangement::{Arrangement, random_bytes};
use example::{ALIGNMENTS, Alignment, Example, Places, Run};
use memory::{Cell, End, Guarded, MARGIN};

/// Tests for the kernel with this name, in a module of their own.
macro_rules! kernel_tests {
    ($kernel:literal) => {
        kernel_tests! { $kernel:
            every_coefficient_times_every_byte_is_the_bitwise_product_in_every_lane,
            every_form_writes_the_naive_sum_at_every_length_and_no_other_byte,
            every_form_writes_the_naive_sum_at_every_alignment_and_no_other_byte,
            adding_adds_the_naive_sum_and_adding_again_takes_it_away,
            rows_that_only_look_dyadic_are_computed_right,
            no_form_touches_the_pages_beside_a_cell,
            outputs_may_be_uninitialised_and_every_byte_of_them_is_written,
            the_same_cell_may_be_several_sources,
            no_sources_at_all_make_zeros,
            a_stream_that_is_too_short_computes_less_and_reads_and_writes_nothing_else,
            groups_without_outputs_write_nothing,
        }
    };
    ($kernel:literal: $($promise:ident),+ $(,)?) => {
        mod tests {
            $(
                #[test]
                fn $promise() {
                    crate::kernel::testing::on($kernel, crate::kernel::testing::$promise);
                }
            )+
        }
    };
}

/// Runs a test where the CPU has the kernel. That none is missing in silence, `HEDGEROW_EXPECT_KERNELS` sees to. Miri, where the
/// build says what the CPU has, runs the fastest kernel of each build and leaves the others to their own.
pub(in crate::kernel) fn on(name: &str, test: fn(Kernel)) {
    match Kernel::by_name(name) {
        Some(kernel) if cfg!(miri) && kernel != Kernel::detect() => eprintln!("not the fastest: {name}"),
        Some(kernel) => test(kernel),
        None => eprintln!("this CPU does not run {name}"),
    }
}

#[test]
fn the_kernels_that_should_be_there_are_there_and_no_others() {
    let names: Vec<&str> = Kernel::available().map(Kernel::name).collect();
    assert_eq!(names[0], "scalar", "the slowest comes first");
    assert_eq!(names.last(), Some(&Kernel::detect().name()), "the fastest is last");
    for (i, name) in names.iter().enumerate() {
        assert!(!names[..i].contains(name), "{name} is there twice");
        assert_eq!(Kernel::by_name(name).map(Kernel::name), Some(*name));
    }
    // Miri hides the environment of a run, not that of a build.
    let built_with = option_env!("HEDGEROW_EXPECT_KERNELS").map(String::from);
    let expected = if cfg!(miri) { built_with } else { env::var("HEDGEROW_EXPECT_KERNELS").ok() };
    match expected {
        Some(expected) => assert_eq!(names.join(","), expected),
        None => eprintln!("HEDGEROW_EXPECT_KERNELS is not set; there are {}", names.join(",")),
    }
}

pub(in crate::kernel) fn every_coefficient_times_every_byte_is_the_bitwise_product_in_every_lane(
    kernel: Kernel,
) {
    // Lane l of block b holds b + l: every byte is in every lane of the longest vector, among different neighbours.
    // Products are linear, so that under Miri the sixteen bytes of each nibble will do.
    let blocks = if cfg!(miri) { 1 } else { 256 };
    let ramp = |step: usize| -> Vec<u8> {
        let byte = |i| if cfg!(miri) { [i % 16, (i % 16) << 4][i / 16 % 2] } else { i / 64 + i % 64 * step };
        (0..64 * blocks).map(|i| byte(i) as u8).collect()
    };
    let sources = [ramp(1), ramp(3)];
    for (k, m) in
        if cfg!(miri) { vec![(2, 4)] } else { (1..=2).flat_map(|k| (1..=4).map(move |m| (k, m))).collect() }
    {
        for c in (0..=255_u8).step_by(if cfg!(miri) { 8 } else { 1 }) {
            // Every coefficient is met; if there is time, by both sources and in all rows.
            let columns = (0..k).map(|j| (0..m).map(|i| (c ^ (4 * j as u8)).wrapping_add(i)).collect());
            let arrangement = Arrangement::plain(columns.collect());
            Example::new(arrangement, sources[..k].to_vec()).write(kernel, &Run::of(64 * blocks));
        }
    }
}

pub(in crate::kernel) fn every_form_writes_the_naive_sum_at_every_length_and_no_other_byte(kernel: Kernel) {
    let mut turn = 0_usize;
    let mut check = |example: &Example, len: usize| {
        turn += 1;
        for to in destinations(len) {
            let (k, m) = example.counts();
            let places = Places::new(ALIGNMENTS[turn % ALIGNMENTS.len()], turn * 11 % 64, k, m);
            let at = [0, 1, 64, 0, 17, MARGIN][turn % 6];
            example.write(kernel, &Run { len, at, to, places });
        }
    };
    if cfg!(miri) {
        for (i, example) in examples(800).iter().enumerate() {
            [all_loops(kernel) + i % 8, 1 + i * 5 % 63].into_iter().for_each(|len| check(example, len));
        }
        let example = Example::random(Arrangement::random(1, 1), 100);
        (0..=72).for_each(|len| check(&example, len));
        return;
    }
    for example in &examples(20_000) {
        let long = [1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 6143, 6144, 6145, 8229, 9000];
        let longer = [16383, 16384, 16385, 20_000];
        let lengths = (0..=200).chain((201..2700).step_by(61)).chain(long).chain(longer);
        lengths.for_each(|len| check(example, len));
    }
}

pub(in crate::kernel) fn every_form_writes_the_naive_sum_at_every_alignment_and_no_other_byte(
    kernel: Kernel,
) {
    if cfg!(miri) {
        for (i, alignment) in ALIGNMENTS.into_iter().enumerate() {
            let m = 1 + i % 2;
            let places = Places::new(alignment, 21 * i % 64, 1, m);
            let run = Run { places, ..Run::of(1024 + 7 * i) };
            Example::random(Arrangement::random(1, m), run.len).write(kernel, &run);
        }
        // The rest is about streaming and about heads of long cells, for which longer vectors take less time.
        if ["scalar", "neon", "neon-eor3"].contains(&kernel.name()) {
            return;
        }
        let mut streamed: Vec<_> = (1..=4).map(|m| Arrangement::random(1, m)).collect();
        streamed.extend([Arrangement::dyadic(2, 0, 1, 0), Arrangement::cauchy(6, 3)]);
        for arrangement in streamed {
            let example = Example::random(arrangement, 4096 + 77);
            let (k, m) = example.counts();
            for alignment in [Alignment::OutputsAgree, Alignment::SourcesAgree] {
                // One block through the buffers, and lines without them.
                let places = Places::new(alignment, 37, k, m);
                let run = Run { to: Destination::NotReadSoon, places, ..Run::of(4096 + 77) };
                example.write(kernel, &run);
            }
        }
        if kernel.name() == "avx512-gfni" {
            for m in 1..=2 {
                let run = Run { places: Places::new(Alignment::AllDiffer, 37, 1, m), ..Run::of(16_384) };
                Example::random(Arrangement::random(1, m), run.len).write(kernel, &run);
            }
        }
        return;
    }
    let mut turn = 0;
    for example in &one_example_of_each_form(17_000) {
        let (k, m) = example.counts();
        for alignment in ALIGNMENTS {
            for offset in 0..64 {
                turn += 1;
                let places = Places::new(alignment, offset, k, m);
                // Heads are done first from 1 KiB on where all agree, and from 16 KiB on in any case.
                let lengths = [
                    [65, 130, 257, 1024, 1087, 1500, 4095][turn % 7],
                    [4096, 4160, 6143, 6145, 8229][turn % 5],
                    [16384, 16385, 16449, 17_000][turn / 3 % 4],
                ];
                for len in lengths {
                    for to in destinations(len) {
                        example.write(kernel, &Run { len, at: 0, to, places: places.clone() });
                    }
                }
            }
        }
    }
}

pub(in crate::kernel) fn adding_adds_the_naive_sum_and_adding_again_takes_it_away(kernel: Kernel) {
    let mut turn = 0_usize;
    let mut check = |example: &Example, len: usize| {
        turn += 1;
        let (k, m) = example.counts();
        let places = Places::new(ALIGNMENTS[turn % ALIGNMENTS.len()], turn * 11 % 64, k, m);
        example.add(kernel, &Run { len, at: [0, 64, 17][turn % 3], to: Destination::ReadSoon, places });
    };
    for m in (1..=5).chain([8, 9]) {
        for k in [1, 2, 3, 6].into_iter().take(if cfg!(miri) { 3 } else { 4 }) {
            let example = Example::random(Arrangement::random(k, m), if cfg!(miri) { 800 } else { 20_000 });
            if cfg!(miri) {
                check(&example, if k == 1 { all_loops(kernel) + m } else { 1 + (7 * m + 9 * k) % 63 });
            } else {
                (0..=200).chain((201..2700).step_by(61)).for_each(|len| check(&example, len));
                [1024, 4095, 4096, 4097, 6145, 16385, 20_000]
                    .into_iter()
                    .for_each(|len| check(&example, len));
            }
        }
    }
}

pub(in crate::kernel) fn rows_that_only_look_dyadic_are_computed_right(kernel: Kernel) {
    for (m, quads, pairs, singles) in [(2, 0, 2, 0), (3, 0, 2, 1), (3, 1, 1, 0), (4, 0, 2, 0), (4, 1, 1, 1)] {
        for rotated in [false, true] {
            let dyadic = if rotated && m == 3 {
                Arrangement::rotated(quads, pairs, singles)
            } else {
                Arrangement::dyadic(m, quads, pairs, singles)
            };
            let places = m * dyadic.k();
            for place in (0..=places).step_by(if cfg!(miri) { 8 } else { 1 }) {
                let mut rows = dyadic.rows.clone();
                // As it is, and with one coefficient changed.
                if place < places {
                    rows[place % m][place / m] ^= 0x51;
                }
                let example = Example::random(Arrangement::arranged(rows), 20);
                example.write(kernel, &Run::of(20));
            }
        }
    }
}

pub(in crate::kernel) fn no_form_touches_the_pages_beside_a_cell(kernel: Kernel) {
    let longest = if cfg!(miri) { 200 } else { 20_000 };
    for (i, example) in one_example_of_each_form(longest).iter().enumerate() {
        let (k, m) = example.counts();
        let mut sources: Vec<Guarded> = (0..k).map(|_| Guarded::new(longest)).collect();
        let mut outputs: Vec<Guarded> = (0..m).map(|_| Guarded::new(longest)).collect();
        let lengths: Vec<usize> = if cfg!(miri) {
            // A box of its own has nothing beside it; lengths take turns.
            vec![1 + 7 * i % 64, 65 + i]
        } else {
            let long = [511, 700, 1000, 1024, 1087, 2049, 4095, 4096, 4097, 6143, 6144, 8229, 16384, 20_000];
            (0..=257).chain(long).collect()
        };
        for len in lengths {
            for (from, into) in [
                (End::Last, End::Last),
                (End::First, End::First),
                (End::Last, End::First),
                (End::First, End::Last),
            ] {
                // In a box of its own both ends are at once.
                if cfg!(miri) && (from, into) != (End::Last, End::Last) {
                    continue;
                }
                for to in destinations(len) {
                    example.write_guarded(kernel, len, to, (&mut sources, from), (&mut outputs, into));
                }
                if example.arrangement.is_plain() {
                    example.add_guarded(kernel, len, (&mut sources, from), (&mut outputs, into));
                }
            }
        }
    }
}

pub(in crate::kernel) fn outputs_may_be_uninitialised_and_every_byte_of_them_is_written(kernel: Kernel) {
    for (i, example) in one_example_of_each_form(5000).iter().enumerate() {
        for len in
            [1 + 3 * i, 65 + i, 130 + i, 1024 + i, 5000].into_iter().take(if cfg!(miri) { 2 } else { 5 })
        {
            for to in destinations(len) {
                let sources: Vec<&[u8]> = example.sources.iter().map(|source| &source[..len]).collect();
                let (_, m) = example.counts();
                let mut outputs: Vec<Box<[MaybeUninit<u8>]>> = vec![Box::new_uninit_slice(len); m];
                let mut slices: Vec<&mut [MaybeUninit<u8>]> =
                    outputs.iter_mut().map(|output| &mut output[..]).collect();
                Job::whole(&sources, &mut slices, |job| kernel.write(example.arrangement.groups(), job, to))
                    .unwrap();
                for (found, expected) in outputs.into_iter().zip(&example.outputs) {
                    // SAFETY: writing every byte is what the kernel promises, and what Miri checks here.
                    let found = unsafe { found.assume_init() };
                    assert!(found[..] == expected[..len], "{kernel}, {}, {len} bytes", example.arrangement);
                }
            }
        }
    }
}

pub(in crate::kernel) fn the_same_cell_may_be_several_sources(kernel: Kernel) {
    for arrangement in forms() {
        let cell = random_bytes(7, if cfg!(miri) { 33 } else { 150 });
        let sources = vec![cell.clone(); arrangement.k()];
        let example = Example::new(arrangement, sources);
        let (k, m) = example.counts();
        let cell = Cell::new(&cell, 5);
        let same: Vec<&[u8]> = vec![cell.bytes(0, 0); k];
        let mut outputs: Vec<Cell> = (0..m).map(|i| Cell::new(&example.wrong[i], i)).collect();
        let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(Cell::bytes_mut).collect();
        let groups = example.arrangement.groups();
        Job::whole(&same, &mut slices, |job| kernel.write(groups, job, Destination::ReadSoon)).unwrap();
        example.compare(&outputs, &example.outputs, format_args!("{kernel}, the same cell {k} times"));
    }
}

pub(in crate::kernel) fn no_sources_at_all_make_zeros(kernel: Kernel) {
    for m in 1..=4 {
        let longest = if cfg!(miri) { 100 } else { 17_000 };
        let example = Example::random(Arrangement::random(0, m), longest);
        for len in [0, 1, 15, 64, 100, 700, 1025, 4097, 6200, 17_000] {
            if len <= longest {
                for to in destinations(len) {
                    example.write(kernel, &Run { to, ..Run::of(len) });
                }
            }
        }
        assert!(example.outputs.iter().flatten().all(|&byte| byte == 0));
    }
}

pub(in crate::kernel) fn a_stream_that_is_too_short_computes_less_and_reads_and_writes_nothing_else(
    kernel: Kernel,
) {
    for arrangement in forms().into_iter().filter(|arrangement| arrangement.groups[0].form != Form::Six3) {
        let example = Example::random(arrangement, if cfg!(miri) { 9 } else { 100 });
        let (k, m) = example.counts();
        let sources: Vec<&[u8]> = example.sources.iter().map(|source| &source[..]).collect();
        // Where the stream ends, an allocation of its own ends: Miri would see a byte read behind it.
        for cut in (0..example.arrangement.groups[0].stream.len()).step_by(if cfg!(miri) { 3 } else { 1 }) {
            let short: Box<[u8]> = example.arrangement.groups[0].stream[..cut].into();
            let group = Group { stream: &short, ..example.arrangement.groups[0].group() };
            let mut outputs: Vec<Cell> = (0..m).map(|i| Cell::new(&example.wrong[i], i)).collect();
            let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(Cell::bytes_mut).collect();
            let groups = core::iter::once(group);
            Job::whole(&sources, &mut slices, |job| kernel.write(groups, job, Destination::ReadSoon))
                .unwrap();
            assert!(outputs.iter().all(Cell::nothing_else_is_touched), "{kernel}, {k} sources, {cut} bytes");
            if cut == 0 {
                let mut written = outputs.iter().take(group.rows).flat_map(|output| output.bytes(0, 0));
                assert!(written.all(|&byte| byte == 0), "{kernel}, {k} sources without coefficients");
            }
        }
    }
}

pub(in crate::kernel) fn groups_without_outputs_write_nothing(kernel: Kernel) {
    let example = Example::random(Arrangement::random(3, 8), 100);
    let sources: Vec<&[u8]> = example.sources.iter().map(|source| &source[..]).collect();
    let mut outputs: Vec<Cell> = (0..6).map(|i| Cell::new(&example.wrong[i], i)).collect();
    let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(Cell::bytes_mut).collect();
    let groups = example.arrangement.groups();
    Job::whole(&sources, &mut slices, |job| kernel.write(groups, job, Destination::ReadSoon)).unwrap();
    let expected = [&example.outputs[..4], &example.wrong[4..6]].concat();
    example.compare(&outputs, &expected, format_args!("{kernel}, six of eight outputs"));
}

/// Under Miri: a length that takes all loops of a kernel, which have at most eight vectors, and a tail.
fn all_loops(kernel: Kernel) -> usize {
    let (vector, vectors) = match kernel.name() {
        "scalar" => (8, 3),
        "neon" | "neon-eor3" => (16, 11),
        "ssse3" => (16, 11),
        "avx2" | "avx2-gfni" => (32, 11),
        _ => (64, 11),
    };
    vectors * vector + 1
}

/// Both destinations where they may differ.
fn destinations(len: usize) -> impl Iterator<Item = Destination> {
    [Destination::ReadSoon, Destination::NotReadSoon].into_iter().take(if len < 2048 { 1 } else { 2 })
}

/// One of each form and number of rows, with an odd and an even number of sources.
fn forms() -> Vec<Arrangement> {
    let mut all = vec![
        Arrangement::dyadic(2, 0, 1, 1),
        Arrangement::dyadic(2, 0, 3, 0),
        Arrangement::dyadic(3, 1, 1, 0),
        Arrangement::dyadic(3, 0, 1, 1),
        Arrangement::dyadic(4, 1, 0, 2),
        Arrangement::dyadic(4, 1, 1, 1),
        Arrangement::rotated(0, 3, 1),
        Arrangement::rotated(1, 0, 1),
        Arrangement::cauchy(6, 3),
        Arrangement::cauchy(5, 5),
    ];
    all.extend((1..=4).flat_map(|m| [Arrangement::random(2, m), Arrangement::random(3, m)]));
    assert_eq!(all[8].groups[0].form, Form::Six3);
    all
}

fn one_example_of_each_form(longest: usize) -> Vec<Example> {
    forms().into_iter().map(|arrangement| Example::random(arrangement, longest)).collect()
}

/// All forms with many numbers of sources.
fn examples(longest: usize) -> Vec<Example> {
    let mut all = vec![];
    for k in 1..=20 {
        all.extend(
            (1..=4)
                .filter(|m| !cfg!(miri) || 5 * k + m == 19 || 2 * k + m == 7)
                .map(|m| Arrangement::random(k, m)),
        );
    }
    for (k, m) in [(1, 5), (6, 6), (13, 7), (4, 8), (5, 9)].into_iter().take(if cfg!(miri) { 1 } else { 5 }) {
        all.push(Arrangement::random(k, m));
    }
    for (quads, pairs, singles) in (0..27).map(|i| (i / 9, i / 3 % 3, i % 3)) {
        if quads + pairs == 0 || cfg!(miri) && quads + pairs + singles != 2 {
            continue;
        }
        if quads == 0 {
            all.push(Arrangement::dyadic(2, 0, pairs, singles));
        }
        all.push(Arrangement::dyadic(3, quads, pairs, singles));
        all.push(Arrangement::dyadic(4, quads, pairs, singles));
        all.push(Arrangement::rotated(quads, pairs, singles));
    }
    let codes = [(6, 3), (3, 2), (4, 2), (7, 3), (10, 4), (12, 3), (12, 4), (6, 6)];
    for (k, m) in codes.into_iter().take(if cfg!(miri) { 1 } else { codes.len() }) {
        all.push(Arrangement::cauchy(k, m));
    }
    all.into_iter().map(|arrangement| Example::random(arrangement, longest)).collect()
}
