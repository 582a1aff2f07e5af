//! Arranging the coefficients of a code for the kernels, with fewer products where rows are permutations of each other.
//!
//! Two rows over two columns of the form [[a, b], [b, a]] take three products instead of four: with v = x0 + x1 and
//! g = a + b, output 0 is a v + g x1 and output 1 is that + g v. Cauchy rows i and i xor s over columns j and j xor s
//! have this form for every s, because a coefficient depends on i xor j alone.
//!
//! Four rows over four columns of the form
//!
//! ```text
//! a b c d        [A B]        A = [a b]   B = [c d]
//! b a d c    =   [B A]            [b a]       [d c]
//! c d a b
//! d c b a
//! ```
//!
//! are the same again with blocks: with U = X0 + X1 and C = A + B, outputs 0 and 1 are A U + C X1, outputs 2 and 3 are that +
//! C U; three two by two blocks of three products each make nine instead of sixteen (eight if the fourth row is not
//! wanted). Cauchy rows 10 to 13 are such a quad over the columns j, j xor 1, j xor 6, j xor 7: RS-10-4 takes 24
//! products instead of 40, RS-12-3 takes 24 instead of 36.
//!
//! The forms are looked for in the coefficients, so that they are found in any matrix that has them.

use crate::kernel::Form;

/// Bytes that describe one group of up to four rows: form, rows, blocks of four columns, blocks of two.
pub(crate) type Shape = [u8; 4];

/// Rows 6, 7 and 8 of the Cauchy matrix with k = 6, for which the kernels have a schedule of twelve products.
const SIX3: [u8; 18] = [
    0x7a, 0xba, 0x47, 0xa7, 0x8e, 0xf4, //
    0xba, 0x7a, 0xa7, 0x47, 0xf4, 0x8e, //
    0xad, 0x9d, 0xdd, 0x98, 0x3d, 0xaa,
];

/// Groups of up to four rows that m rows make.
pub(crate) const fn groups(m: usize) -> usize {
    m.div_ceil(4)
}

/// Fills `stream` (k x m bytes: group g starts at 4 g k), `order` (k bytes a group) and `shapes` (one a group) for the
/// matrix `rows` (m rows of k).
pub(crate) const fn arrange(
    k: usize,
    m: usize,
    rows: &[u8],
    stream: &mut [u8],
    order: &mut [u8],
    shapes: &mut [Shape],
) {
    let mut group = 0;
    while group < groups(m) {
        let first = 4 * group;
        let count = if m - first < 4 { m - first } else { 4 };
        let (_, group_rows) = rows.split_at(first * k);
        let (_, group_stream) = stream.split_at_mut(first * k);
        let (_, group_order) = order.split_at_mut(group * k);
        let matrix = Rows { k, count, rows: group_rows, rotated: false };
        shapes[group] = matrix.arrange(group_stream, group_order);
        if shapes[group][0] == Form::Plain as u8 && count == 3 {
            let rotated = Rows { rotated: true, ..matrix };
            shapes[group] = rotated.arrange(group_stream, group_order);
        }
        if shapes[group][0] == Form::Plain as u8 {
            matrix.plain(group_stream);
        }
        group += 1;
    }
    if k == 6 && m == 3 && equal(rows, &SIX3) {
        shapes[0][0] = Form::Six3 as u8;
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    a.len() == b.len()
}

/// Up to four rows of a matrix.
#[derive(Clone, Copy)]
struct Rows<'a> {
    k: usize,
    count: usize,
    rows: &'a [u8],
    /// Taken in the order 1, 2, 0.
    rotated: bool,
}

impl Rows<'_> {
    const fn at(&self, row: usize, column: usize) -> u8 {
        let row = if self.rotated { (row + 1) % self.count } else { row };
        self.rows[row * self.k + column]
    }

    /// Column after column.
    const fn plain(&self, stream: &mut [u8]) {
        let mut j = 0;
        while j < self.k {
            let mut i = 0;
            while i < self.count {
                stream[j * self.count + i] = self.at(i, j);
                i += 1;
            }
            j += 1;
        }
    }

    /// Whether column `other` is column `j` with rows 0 and 1, and rows 2 and 3, exchanged.
    const fn swapped(&self, j: usize, other: usize) -> bool {
        self.at(0, j) == self.at(1, other)
            && self.at(1, j) == self.at(0, other)
            && (self.count < 4 || self.at(2, j) == self.at(3, other) && self.at(3, j) == self.at(2, other))
    }

    /// Whether column `other` is column `j` with rows 0 and 2, and rows 1 and 3, exchanged. Of three rows the fourth is what
    /// `fourth` says of column `j`.
    const fn crossed(&self, j: usize, other: usize, fourth: u8) -> bool {
        self.at(0, j) == self.at(2, other)
            && self.at(2, j) == self.at(0, other)
            && self.at(1, other) == fourth
            && (self.count < 4 || self.at(3, other) == self.at(1, j))
    }

    /// The first column that is not used and is the partner of `j`.
    const fn partner(&self, j: usize, used: &[bool; 256]) -> Option<usize> {
        let mut other = j + 1;
        while other < self.k {
            if !used[other] && self.swapped(j, other) {
                return Some(other);
            }
            other += 1;
        }
        None
    }

    /// Columns j1, j2, j3 that make a block of four with `j`.
    const fn quad(&self, j: usize, used: &[bool; 256]) -> Option<[usize; 3]> {
        let Some(j1) = self.partner(j, used) else { return None };
        let fourth = if self.count == 4 { self.at(3, j) } else { self.at(2, j1) };
        let mut j2 = j + 1;
        while j2 < self.k {
            if j2 != j1 && !used[j2] && self.crossed(j, j2, fourth) {
                let mut j3 = j + 1;
                while j3 < self.k {
                    if j3 != j1
                        && j3 != j2
                        && !used[j3]
                        && self.swapped(j2, j3)
                        && self.crossed(j1, j3, self.at(2, j))
                    {
                        return Some([j1, j2, j3]);
                    }
                    j3 += 1;
                }
            }
            j2 += 1;
        }
        None
    }

    /// The first `n` of: a, a + b, a + c, a + b + c + d, for column `j` with partner `other` or its own fourth row.
    const fn put(&self, j: usize, other: Option<usize>, n: usize, stream: &mut [u8], at: usize) {
        let (a, b) = (self.at(0, j), self.at(1, j));
        let c = if self.count > 2 { self.at(2, j) } else { 0 };
        let d = match other {
            _ if self.count == 4 => self.at(3, j),
            Some(other) if self.count == 3 => self.at(2, other),
            _ => 0,
        };
        let all = [a, a ^ b, a ^ c, a ^ b ^ c ^ d];
        let mut i = 0;
        while i < n {
            stream[at + i] = all[i];
            i += 1;
        }
    }

    /// Fills stream and order in dyadic form; says plain, and leaves them in any state, if too few columns have it.
    const fn arrange(&self, stream: &mut [u8], order: &mut [u8]) -> Shape {
        const PLAIN: u8 = Form::Plain as u8;
        if self.count < 2 {
            return [PLAIN, self.count as u8, 0, 0];
        }
        let (mut used, mut n, mut at) = ([false; 256], 0, 0);
        let (mut quads, mut pairs, mut j) = (0, 0, 0);
        while j < self.k && self.count > 2 {
            if !used[j]
                && let Some([j1, j2, j3]) = self.quad(j, &used)
            {
                let columns = [j, j1, j2, j3];
                let mut i = 0;
                while i < 4 {
                    used[columns[i]] = true;
                    order[n + i] = columns[i] as u8;
                    i += 1;
                }
                self.put(j, Some(j1), 4, stream, at);
                (n, at, quads) = (n + 4, at + 4, quads + 1);
            }
            j += 1;
        }
        j = 0;
        while j < self.k {
            if !used[j]
                && let Some(j1) = self.partner(j, &used)
            {
                (used[j], used[j1]) = (true, true);
                (order[n], order[n + 1]) = (j as u8, j1 as u8);
                let coefficients = if self.count == 2 { 2 } else { 4 };
                self.put(j, Some(j1), coefficients, stream, at);
                (n, at, pairs) = (n + 2, at + coefficients, pairs + 1);
            }
            j += 1;
        }
        if 2 * n < self.k {
            return [PLAIN, self.count as u8, 0, 0];
        }
        j = 0;
        while j < self.k {
            if !used[j] {
                order[n] = j as u8;
                self.put(j, None, self.count, stream, at);
                (n, at) = (n + 1, at + self.count);
            }
            j += 1;
        }
        let form = if self.rotated { Form::DyadicRotated } else { Form::Dyadic };
        [form as u8, self.count as u8, quads, pairs]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Matrix, fill};
    use std::vec;
    use std::vec::Vec;

    /// Products a group of a Cauchy code takes, and its blocks.
    fn cauchy(k: usize, m: usize) -> Vec<(Form, usize, usize, usize)> {
        let (mut rows, mut stream, mut order) = (vec![0; k * m], vec![0; k * m], vec![0; k * groups(m)]);
        let mut shapes = vec![[0; 4]; groups(m)];
        fill(k, m, Matrix::Cauchy, &mut rows).unwrap();
        arrange(k, m, &rows, &mut stream, &mut order, &mut shapes);
        shapes
            .iter()
            .map(|&[form, count, quads, pairs]| {
                let (m, quads, pairs) = (count as usize, quads as usize, pairs as usize);
                let products = match Form::from_number(form) {
                    Form::Plain => k * m,
                    _ => {
                        quads * [6, 8, 9][m - 2] + pairs * [3, 5, 6][m - 2] + (k - 4 * quads - 2 * pairs) * m
                    }
                };
                (Form::from_number(form), products, quads, pairs)
            })
            .collect()
    }

    #[test]
    fn cauchy_codes_take_as_few_products_as_their_documentation_says() {
        assert_eq!(cauchy(6, 3), [(Form::Six3, 15, 0, 3)]);
        assert_eq!(cauchy(10, 4), [(Form::Dyadic, 24, 2, 1)]);
        assert_eq!(cauchy(12, 3), [(Form::Dyadic, 24, 3, 0)]);
        assert_eq!(cauchy(12, 4), [(Form::Dyadic, 27, 3, 0)]);
        assert_eq!(cauchy(3, 2), [(Form::Plain, 6, 0, 0)]);
        assert_eq!(cauchy(4, 2), [(Form::Dyadic, 6, 0, 2)]);
        assert_eq!(cauchy(5, 3), [(Form::Dyadic, 11, 1, 0)]);
        assert_eq!(cauchy(7, 3), [(Form::DyadicRotated, 18, 0, 3)]);
        assert_eq!(cauchy(6, 6), [(Form::Dyadic, 18, 0, 3), (Form::Dyadic, 9, 0, 3)]);
        assert_eq!(cauchy(6, 1), [(Form::Plain, 6, 0, 0)]);
    }
}
