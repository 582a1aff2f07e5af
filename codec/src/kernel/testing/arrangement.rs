//! Coefficients in every form that kernels know, together with the rows that they stand for.

use core::fmt;
use std::{vec, vec::Vec};

use crate::dyadic::{arrange, groups};
use crate::kernel::{Form, Group};
use crate::matrix::{Matrix, fill};

/// Coefficients: as they are defined, and as kernels read them.
pub(super) struct Arrangement {
    /// One row an output, one coefficient a source.
    pub(super) rows: Vec<Vec<u8>>,
    pub(super) groups: Vec<OwnedGroup>,
}

/// A [`Group`] that owns its coefficients.
pub(super) struct OwnedGroup {
    pub(super) form: Form,
    rows: usize,
    order: Vec<u8>,
    quads: usize,
    pairs: usize,
    pub(super) stream: Vec<u8>,
}

impl OwnedGroup {
    pub(super) fn group(&self) -> Group<'_> {
        let Self { form, rows, ref order, quads, pairs, ref stream } = *self;
        Group { form, rows, order, quads, pairs, stream }
    }
}

impl Arrangement {
    /// Plain groups of up to four rows, from columns of one coefficient an output.
    pub(super) fn plain(columns: Vec<Vec<u8>>) -> Self {
        let m = columns.first().map_or(0, Vec::len);
        Self::plain_rows((0..m).map(|i| columns.iter().map(|column| column[i]).collect()).collect())
    }

    pub(super) fn plain_rows(rows: Vec<Vec<u8>>) -> Self {
        let k = rows[0].len();
        let group = |rows: &[Vec<u8>]| OwnedGroup {
            form: Form::Plain,
            rows: rows.len(),
            order: vec![],
            quads: 0,
            pairs: 0,
            stream: (0..k).flat_map(|j| rows.iter().map(move |row| row[j])).collect(),
        };
        Self { groups: rows.chunks(4).map(group).collect(), rows }
    }

    pub(super) fn random(k: usize, m: usize) -> Self {
        Self::plain_rows((0..m).map(|i| random_bytes(100 * k + i, k)).collect())
    }

    /// m = 2 to 4 rows in dyadic form, over sources in any order, from the pictures of `dyadic.rs`.
    pub(super) fn dyadic(m: usize, quads: usize, pairs: usize, singles: usize) -> Self {
        let k = 4 * quads + 2 * pairs + singles;
        let mut order: Vec<u8> = (0..k as u8).collect();
        for (i, r) in random_bytes(k, k).into_iter().enumerate() {
            order.swap(i, usize::from(r) % k);
        }
        let mut rows = vec![vec![0; k]; m];
        let (mut stream, mut columns) = (vec![], order.iter());
        let blocks = [(4, quads), (2, pairs), (1, singles)].map(|(width, count)| vec![width; count]).concat();
        let coefficients = random_bytes(1000 + k, 4 * blocks.len());
        for (width, &[a, b, c, d]) in blocks.into_iter().zip(coefficients.as_chunks().0) {
            let picture = [[a, b, c, d], [b, a, d, c], [c, d, a, b], [d, c, b, a]];
            for i in 0..width {
                let Some(&column) = columns.next() else { break };
                for (row, picture) in rows.iter_mut().zip(&picture) {
                    row[usize::from(column)] = picture[i];
                }
            }
            let wanted = if width == 1 || m == 2 { m } else { 4 };
            stream.extend_from_slice(&[a, a ^ b, a ^ c, a ^ b ^ c ^ d][..wanted]);
        }
        Self { rows, groups: vec![OwnedGroup { form: Form::Dyadic, rows: m, order, quads, pairs, stream }] }
    }

    /// Three rows in dyadic form if taken in the order 1, 2, 0.
    pub(super) fn rotated(quads: usize, pairs: usize, singles: usize) -> Self {
        let mut arrangement = Self::dyadic(3, quads, pairs, singles);
        arrangement.rows.rotate_right(1);
        arrangement.groups[0].form = Form::DyadicRotated;
        arrangement
    }

    /// The rows of RS-k-m, arranged as codes do it.
    pub(super) fn cauchy(k: usize, m: usize) -> Self {
        let mut rows = vec![0; k * m];
        fill(k, m, Matrix::Cauchy, &mut rows).unwrap();
        Self::arranged(rows.chunks(k).map(<[u8]>::to_vec).collect())
    }

    /// Any rows, arranged as codes do it.
    pub(super) fn arranged(rows: Vec<Vec<u8>>) -> Self {
        let (k, m) = (rows[0].len(), rows.len());
        let (mut stream, mut order) = (vec![0; k * m], vec![0; k * groups(m)]);
        let mut shapes = vec![[0; 4]; groups(m)];
        arrange(k, m, &rows.concat(), &mut stream, &mut order, &mut shapes);
        let group = |(g, &[form, count, quads, pairs]): (usize, &[u8; 4])| OwnedGroup {
            form: Form::from_number(form),
            rows: usize::from(count),
            order: order[g * k..][..k].to_vec(),
            quads: usize::from(quads),
            pairs: usize::from(pairs),
            stream: stream[4 * g * k..][..k * usize::from(count)].to_vec(),
        };
        Self { groups: shapes.iter().enumerate().map(group).collect(), rows }
    }

    pub(super) fn k(&self) -> usize {
        self.rows[0].len()
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = Group<'_>> + Clone {
        self.groups.iter().map(OwnedGroup::group)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.groups.iter().all(|group| group.form == Form::Plain)
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sources", self.k())?;
        self.groups.iter().try_for_each(|OwnedGroup { form, rows, quads, pairs, .. }| {
            write!(f, ", {form:?} with {rows} rows, {quads} quads, {pairs} pairs")
        })
    }
}

/// `len` bytes that are the same for the same seed.
pub(super) fn random_bytes(seed: usize, len: usize) -> Vec<u8> {
    let (mut state, mut bytes) = (seed as u64, Vec::with_capacity(len + 8));
    while bytes.len() < len {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(z ^ z >> 31).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
