//! Sums of products over the sources of a stripe, for one place in the cells: plainly, and with fewer products where the
//! matrix allows it.

#![allow(
    clippy::needless_range_loop,
    reason = "counted loops over const arrays are what the compiler unrolls best"
)]

use super::job::Group;
use super::lanes::Lanes;
use super::loops::Read;

/// A way to compute M output vectors from the sources.
pub(super) trait Sum<L: Lanes, const M: usize> {
    /// U vectors of each output, from `at` on in the sources.
    ///
    /// # Safety
    /// The CPU has the instruction set of L, and every source has the bytes that `read` takes, U times, from `at` on.
    unsafe fn sum<R: Read<L>, const U: usize>(&self, at: usize, read: R) -> [[L::Vector; U]; M];
}

/// U vectors of one source, ready for products.
///
/// # Safety
/// As [`Sum::sum`].
#[inline(always)]
unsafe fn fetch<L: Lanes, R: Read<L>, const U: usize>(from: *const u8, at: usize, read: R) -> [L::Factor; U] {
    // SAFETY: the bytes are inside the source, by this function's contract.
    unsafe {
        let mut x = [L::factor(L::zero()); U];
        for (u, x) in x.iter_mut().enumerate() {
            *x = L::factor(read.read(from.add(at + u * L::BYTES)));
        }
        x
    }
}

/// # Safety
/// The CPU has the instruction set of L.
#[inline(always)]
unsafe fn added<L: Lanes, const U: usize>(mut x: [L::Factor; U], y: [L::Factor; U]) -> [L::Factor; U] {
    for u in 0..U {
        // SAFETY: the instruction set is there.
        x[u] = unsafe { L::add(x[u], y[u]) };
    }
    x
}

/// One coefficient for each source and output, source after source.
pub(super) struct Plain<'a, const M: usize> {
    sources: &'a [&'a [u8]],
    coefficients: &'a [[u8; M]],
}

impl<'a, const M: usize> Plain<'a, M> {
    #[inline(always)]
    pub(super) fn new(sources: &'a [&'a [u8]], stream: &'a [u8]) -> Self {
        // What follows belongs to other outputs: with it the last of an odd number of sources would look like the first of two.
        let coefficients = stream.as_chunks().0;
        Self { sources, coefficients: coefficients.get(..sources.len()).unwrap_or(coefficients) }
    }
}

impl<L: Lanes, const M: usize> Sum<L, M> for Plain<'_, M> {
    #[inline(always)]
    unsafe fn sum<R: Read<L>, const U: usize>(&self, at: usize, read: R) -> [[L::Vector; U]; M] {
        // Two sources a step: their products and the sum meet in one three-way XOR where there is one.
        let (twos, last) = self.sources.as_chunks::<2>();
        let (columns, last_column) = self.coefficients.as_chunks::<2>();
        // SAFETY: by this function's contract.
        unsafe {
            let mut sums = [[L::zero(); U]; M];
            for ([source, other], [column, next]) in twos.iter().zip(columns) {
                let x = fetch::<L, R, U>(source.as_ptr(), at, read);
                let y = fetch::<L, R, U>(other.as_ptr(), at, read);
                for i in 0..M {
                    let (t, v) = (L::table(column[i]), L::table(next[i]));
                    for u in 0..U {
                        sums[i][u] = L::plus_two(sums[i][u], (t, x[u]), (v, y[u]));
                    }
                }
            }
            if let ([source], [column]) = (last, last_column) {
                let x = fetch::<L, R, U>(source.as_ptr(), at, read);
                for i in 0..M {
                    let t = L::table(column[i]);
                    for u in 0..U {
                        sums[i][u] = L::plus(sums[i][u], t, x[u]);
                    }
                }
            }
            sums
        }
    }
}

/// K sources and M outputs, few enough that pointers and tables stay in registers.
pub(super) struct Fixed<L: Lanes, const K: usize, const M: usize> {
    from: [*const u8; K],
    tables: [[L::Table; M]; K],
}

impl<L: Lanes, const K: usize, const M: usize> Fixed<L, K, M> {
    /// # Safety
    /// The CPU has the instruction set of L.
    #[inline(always)]
    pub(super) unsafe fn new(sources: &[&[u8]; K], coefficients: &[[u8; M]; K]) -> Self {
        // SAFETY: the instruction set is there.
        unsafe {
            let mut tables = [[L::table(0); M]; K];
            for j in 0..K {
                for i in 0..M {
                    tables[j][i] = L::table(coefficients[j][i]);
                }
            }
            Self { from: sources.map(<[u8]>::as_ptr), tables }
        }
    }
}

impl<L: Lanes, const K: usize, const M: usize> Sum<L, M> for Fixed<L, K, M> {
    #[inline(always)]
    unsafe fn sum<R: Read<L>, const U: usize>(&self, at: usize, read: R) -> [[L::Vector; U]; M] {
        // SAFETY: by this function's contract.
        unsafe {
            let mut sums = [[L::zero(); U]; M];
            let mut j = 0;
            while j + 1 < K {
                let x = fetch::<L, R, U>(self.from[j], at, read);
                let y = fetch::<L, R, U>(self.from[j + 1], at, read);
                for i in 0..M {
                    let (t, v) = (self.tables[j][i], self.tables[j + 1][i]);
                    for u in 0..U {
                        sums[i][u] = L::plus_two(sums[i][u], (t, x[u]), (v, y[u]));
                    }
                }
                j += 2;
            }
            if j < K {
                let x = fetch::<L, R, U>(self.from[j], at, read);
                for i in 0..M {
                    for u in 0..U {
                        sums[i][u] = L::plus(sums[i][u], self.tables[j][i], x[u]);
                    }
                }
            }
            sums
        }
    }
}

/// Rows that are each other's permutation by a group of column exchanges; see `dyadic.rs` for the algebra and the order of the
/// stream. Four sums are kept: r (output 0), d (outputs 0 + 1), t (outputs 0 + 2) and w (all four).
pub(super) struct Dyadic<'a, const M: usize> {
    sources: &'a [&'a [u8]],
    quads: &'a [[u8; 4]],
    pairs: &'a [[u8; 2]],
    singles: &'a [u8],
    quad_coefficients: &'a [[u8; 4]],
    pair_coefficients: &'a [u8],
    single_coefficients: &'a [[u8; M]],
}

impl<'a, const M: usize> Dyadic<'a, M> {
    /// Coefficients of a pair of sources: two for two rows, four for three or four.
    const OF_A_PAIR: usize = if M == 2 { 2 } else { 4 };

    #[inline(always)]
    pub(super) fn new(sources: &'a [&'a [u8]], group: &Group<'a>) -> Self {
        let cut = |bytes: &'a [u8], at: usize| bytes.split_at(at.min(bytes.len()));
        let (quads, order) = cut(group.order, 4 * group.quads);
        let (pairs, singles) = cut(order, 2 * group.pairs);
        let (quad_coefficients, stream) = cut(group.stream, 4 * group.quads);
        let (pair_coefficients, stream) = cut(stream, Self::OF_A_PAIR * group.pairs);
        Self {
            sources,
            quads: quads.as_chunks().0,
            pairs: pairs.as_chunks().0,
            singles,
            quad_coefficients: quad_coefficients.as_chunks().0,
            pair_coefficients,
            single_coefficients: stream.as_chunks().0,
        }
    }
}

impl<L: Lanes, const M: usize> Sum<L, M> for Dyadic<'_, M> {
    #[inline(always)]
    unsafe fn sum<R: Read<L>, const U: usize>(&self, at: usize, read: R) -> [[L::Vector; U]; M] {
        let source = |j: u8| self.sources[usize::from(j)].as_ptr();
        // SAFETY: by this function's contract.
        unsafe {
            let zero = [L::zero(); U];
            let (mut r, mut d, mut t, mut w) = (zero, zero, zero, zero);
            for (&[j0, j1, j2, j3], &[a, g, e, h]) in self.quads.iter().zip(self.quad_coefficients) {
                let (x2, x3) =
                    (fetch::<L, R, U>(source(j2), at, read), fetch::<L, R, U>(source(j3), at, read));
                let x0 = added::<L, U>(fetch::<L, R, U>(source(j0), at, read), x2);
                let x1 = added::<L, U>(fetch::<L, R, U>(source(j1), at, read), x3);
                let (v, y) = (added::<L, U>(x0, x1), added::<L, U>(x2, x3));
                let (a, g, e, h) = (L::table(a), L::table(g), L::table(e), L::table(h));
                for u in 0..U {
                    r[u] = L::plus_two(r[u], (a, v[u]), (g, x1[u]));
                    r[u] = L::plus_two(r[u], (e, y[u]), (h, x3[u]));
                    d[u] = L::plus_two(d[u], (g, v[u]), (h, y[u]));
                    t[u] = L::plus_two(t[u], (e, v[u]), (h, x1[u]));
                    if M == 4 {
                        w[u] = L::plus(w[u], h, v[u]);
                    }
                }
            }
            let pair_coefficients = self.pair_coefficients.chunks_exact(Self::OF_A_PAIR);
            for (&[j0, j1], coefficients) in self.pairs.iter().zip(pair_coefficients) {
                let x1 = fetch::<L, R, U>(source(j1), at, read);
                let v = added::<L, U>(fetch::<L, R, U>(source(j0), at, read), x1);
                let (a, g) = (L::table(coefficients[0]), L::table(coefficients[1]));
                for u in 0..U {
                    r[u] = L::plus_two(r[u], (a, v[u]), (g, x1[u]));
                    d[u] = L::plus(d[u], g, v[u]);
                }
                if M > 2 {
                    let (e, h) = (L::table(coefficients[2]), L::table(coefficients[3]));
                    for u in 0..U {
                        t[u] = L::plus_two(t[u], (e, v[u]), (h, x1[u]));
                        if M == 4 {
                            w[u] = L::plus(w[u], h, v[u]);
                        }
                    }
                }
            }
            for (&j, coefficients) in self.singles.iter().zip(self.single_coefficients) {
                let x = fetch::<L, R, U>(source(j), at, read);
                for (i, sum) in [&mut r, &mut d, &mut t, &mut w].into_iter().enumerate().take(M) {
                    let table = L::table(coefficients[i]);
                    for u in 0..U {
                        sum[u] = L::plus(sum[u], table, x[u]);
                    }
                }
            }
            let mut sums = [zero; M];
            for u in 0..U {
                sums[0][u] = r[u];
                if M > 1 {
                    sums[1][u] = L::xor(r[u], d[u]);
                }
                if M > 2 {
                    sums[2][u] = L::xor(r[u], t[u]);
                }
                if M > 3 {
                    sums[3][u] = L::xor(L::xor(r[u], d[u]), L::xor(t[u], w[u]));
                }
            }
            sums
        }
    }
}

/// RS-6-3 with twelve products: rows 6 and 7 as a dyadic pair (nine), row 8 from what they leave behind (three).
pub(super) struct Six3<L: Lanes> {
    from: [*const u8; 6],
    tables: [L::Table; 12],
}

/// Row 6; the sums of its pairs of columns; then three coefficients with which, found by search,
/// row 8 = 3d x2 + 47 (x5 + x0 + x1 + p7) + 40 (x3 + x5 + c0 (x0 + x1)).
const SIX3: [u8; 12] =
    [0x7a, 0xba, 0x47, 0xa7, 0x8e, 0xf4, 0x7a ^ 0xba, 0x47 ^ 0xa7, 0x8e ^ 0xf4, 0x3d, 0x47, 0x40];

impl<L: Lanes> Six3<L> {
    /// # Safety
    /// The CPU has the instruction set of L.
    #[inline(always)]
    pub(super) unsafe fn new(sources: &[&[u8]; 6]) -> Self {
        // SAFETY: the instruction set is there.
        unsafe {
            let mut tables = [L::table(0); 12];
            for (table, coefficient) in tables.iter_mut().zip(SIX3) {
                *table = L::table(coefficient);
            }
            Self { from: sources.map(<[u8]>::as_ptr), tables }
        }
    }
}

impl<L: Lanes> Sum<L, 3> for Six3<L> {
    #[inline(always)]
    unsafe fn sum<R: Read<L>, const U: usize>(&self, at: usize, read: R) -> [[L::Vector; U]; 3] {
        let t = &self.tables;
        // SAFETY: by this function's contract.
        unsafe {
            let mut x = [[L::factor(L::zero()); U]; 6];
            for (x, from) in x.iter_mut().zip(self.from) {
                *x = fetch::<L, R, U>(from, at, read);
            }
            let mut sums = [[L::zero(); U]; 3];
            for u in 0..U {
                let pair = L::add(x[0][u], x[1][u]);
                let scaled = L::product(t[6], pair);
                let difference =
                    L::plus_two(scaled, (t[7], L::add(x[2][u], x[3][u])), (t[8], L::add(x[4][u], x[5][u])));
                let mut p6 = L::product(t[0], x[0][u]);
                p6 = L::plus_two(p6, (t[1], x[1][u]), (t[2], x[2][u]));
                p6 = L::xor(L::plus(p6, t[3], x[3][u]), L::plus(L::product(t[4], x[4][u]), t[5], x[5][u]));
                let p7 = L::xor(difference, p6);
                let p8 = L::plus_two(
                    L::product(t[9], x[2][u]),
                    (t[10], L::add(x[5][u], L::add(pair, L::factor(p7)))),
                    (t[11], L::add(x[3][u], L::add(x[5][u], L::factor(scaled)))),
                );
                (sums[0][u], sums[1][u], sums[2][u]) = (p6, p7, p8);
            }
            sums
        }
    }
}
