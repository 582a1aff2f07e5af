//! Generator matrices: which coefficients a schema's parity rows have.
//!
//! A code's generator is the identity (k rows, the data cells) above m parity rows of k coefficients; row i of those, times the
//! data cells, is parity cell i.

use crate::{Error, gf};

/// Which parity rows a code has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Matrix<'a> {
    /// Row i, column j is 1 / ((k + i) xor j): what HDFS (`rs`), Ozone and ISA-L (`gf_gen_cauchy1_matrix`) write. Any schema.
    Cauchy,
    /// The Vandermonde matrix of the points 0 to k + m - 1, its top square turned into the identity: what
    /// klauspost/reedsolomon, MinIO, SeaweedFS, RustFS and the other descendants of Backblaze's coder write by default. Any
    /// schema.
    Vandermonde,
    /// HDFS `rs-legacy`: column j is x^(j + m) modulo the product of (x + 2^i), i from 0 to m - 1. At most 255 cells.
    HdfsLegacy,
    /// HDFS `xor`: the sum of all data cells. One parity cell.
    Xor,
    /// A caller's own m rows of k coefficients, row after row, that must decode from every k cells. Each square
    /// submatrix is tried, at most [`SUBSETS`] of them: see [`Error::Singular`] and [`Error::Unproven`].
    Rows(&'a [u8]),
    /// A caller's own m rows of k coefficients that need not decode from every k cells (locally repairable codes, say). Each
    /// rebuild plan finds out for its own cells.
    RowsUnproven(&'a [u8]),
}

/// The most subsets of cells that are tried for [`Matrix::Rows`]: all schemas of up to 24 cells, and m up to 3 with any k.
pub const SUBSETS: u64 = 2_763_520;

impl Matrix<'_> {
    /// Whether every k cells are known to decode: by the matrix's form, or because all were tried.
    pub(crate) const fn decodes_from_any(&self) -> bool {
        !matches!(self, Self::RowsUnproven(_))
    }
}

/// Refuses schemas that GF(2^8) has no code for.
pub(crate) const fn check_schema(k: usize, m: usize) -> Result<(), Error> {
    if k == 0 || m == 0 || k > 256 || m > 256 || k + m > 256 {
        return Err(Error::Schema { k, m });
    }
    Ok(())
}

/// Fills `rows`, k x m bytes, for a schema that [`check_schema`] takes.
pub(crate) const fn fill(k: usize, m: usize, matrix: Matrix<'_>, rows: &mut [u8]) -> Result<(), Error> {
    match matrix {
        Matrix::Cauchy => cauchy(k, m, rows),
        Matrix::Vandermonde => vandermonde(k, m, rows),
        Matrix::HdfsLegacy if k + m <= 255 => hdfs_legacy(k, m, rows),
        Matrix::Xor if m == 1 => {
            let mut j = 0;
            while j < k {
                rows[j] = 1;
                j += 1;
            }
        }
        Matrix::HdfsLegacy | Matrix::Xor => return Err(Error::MatrixSchema { k, m }),
        Matrix::Rows(own) | Matrix::RowsUnproven(own) => {
            if own.len() != k * m {
                return Err(Error::MatrixSize { expected: k * m, found: own.len() });
            }
            if let Matrix::Rows(_) = matrix
                && let Err(error) = check_every_square(k, m, own)
            {
                return Err(error);
            }
            let mut at = 0;
            while at < k * m {
                rows[at] = own[at];
                at += 1;
            }
        }
    }
    Ok(())
}

const fn cauchy(k: usize, m: usize, rows: &mut [u8]) {
    let mut at = 0;
    while at < k * m {
        rows[at] = gf::inv(((k + at / k) ^ (at % k)) as u8);
        at += 1;
    }
}

/// Row r of the Vandermonde matrix times the inverse of its top square holds the Lagrange polynomials of the points 0 to k - 1
/// at the point r.
const fn vandermonde(k: usize, m: usize, rows: &mut [u8]) {
    let mut j = 0;
    while j < k {
        let (mut denominator, mut l) = (1, 0);
        while l < k {
            if l != j {
                denominator = gf::mul(denominator, (j ^ l) as u8);
            }
            l += 1;
        }
        let mut i = 0;
        while i < m {
            let (mut numerator, mut l) = (1, 0);
            while l < k {
                if l != j {
                    numerator = gf::mul(numerator, ((k + i) ^ l) as u8);
                }
                l += 1;
            }
            rows[i * k + j] = gf::mul(numerator, gf::inv(denominator));
            i += 1;
        }
        j += 1;
    }
}

const fn hdfs_legacy(k: usize, m: usize, rows: &mut [u8]) {
    // The generator polynomial without its leading 1, coefficient of x^i at i.
    let (mut generator, mut degree) = ([0; 256], 0);
    generator[0] = 1;
    while degree < m {
        let root = gf::pow(2, degree as u32);
        let mut i = degree + 1;
        while i > 0 {
            generator[i] = generator[i - 1] ^ gf::mul(generator[i], root);
            i -= 1;
        }
        generator[0] = gf::mul(generator[0], root);
        degree += 1;
    }
    // x^m modulo the generator is the generator without its leading term; each further power is that times x, reduced.
    let (mut remainder, mut j) = (generator, 0);
    while j < k {
        let mut i = 0;
        while i < m {
            rows[i * k + j] = remainder[i];
            i += 1;
        }
        let top = remainder[m - 1];
        i = m - 1;
        while i > 0 {
            remainder[i] = remainder[i - 1] ^ gf::mul(top, generator[i]);
            i -= 1;
        }
        remainder[0] = gf::mul(top, generator[0]);
        j += 1;
    }
}

/// The largest square that [`check_every_square`] meets within its limit.
const LARGEST: usize = 12;

/// k cells of a code determine the rest exactly when the square of coefficients between their parity rows and the absent data
/// columns is invertible: tries them all.
const fn check_every_square(k: usize, m: usize, rows: &[u8]) -> Result<(), Error> {
    let subsets = subsets(k, m);
    if subsets > SUBSETS {
        return Err(Error::Unproven { subsets, limit: SUBSETS });
    }
    let mut size = 1;
    while size <= k && size <= m && size <= LARGEST {
        let mut chosen_rows = Combination::first(size);
        loop {
            let mut chosen_columns = Combination::first(size);
            loop {
                let (mut square, mut r) = ([[0; LARGEST]; LARGEST], 0);
                while r < size {
                    let mut c = 0;
                    while c < size {
                        square[r][c] = rows[chosen_rows.items[r] * k + chosen_columns.items[c]];
                        c += 1;
                    }
                    r += 1;
                }
                let rank = rank(&mut square, size);
                if rank < size {
                    return Err(Error::Singular { rank, needed: size });
                }
                if !chosen_columns.next(k) {
                    break;
                }
            }
            if !chosen_rows.next(m) {
                break;
            }
        }
        size += 1;
    }
    Ok(())
}

/// How many subsets of k cells there are among k + m, saturating.
const fn subsets(k: usize, m: usize) -> u64 {
    let (few, mut count, mut i) = (if k < m { k } else { m }, 1_u64, 0);
    while i < few {
        // Exact: the product of i + 1 successive numbers is a multiple of (i + 1)!.
        count = match count.checked_mul((k + m - i) as u64) {
            Some(product) => product / (i as u64 + 1),
            None => return u64::MAX,
        };
        i += 1;
    }
    count
}

/// `size` indices in ascending order.
struct Combination {
    items: [usize; LARGEST],
    size: usize,
}

impl Combination {
    const fn first(size: usize) -> Self {
        let (mut items, mut i) = ([0; LARGEST], 0);
        while i < size {
            items[i] = i;
            i += 1;
        }
        Self { items, size }
    }

    /// The next in lexical order out of `n`; false after the last.
    const fn next(&mut self, n: usize) -> bool {
        let mut i = self.size;
        while i > 0 {
            i -= 1;
            if self.items[i] < n - self.size + i {
                self.items[i] += 1;
                i += 1;
                while i < self.size {
                    self.items[i] = self.items[i - 1] + 1;
                    i += 1;
                }
                return true;
            }
        }
        false
    }
}

/// The rank of the first `size` rows and columns; stops at the first column without a pivot.
const fn rank(square: &mut [[u8; LARGEST]; LARGEST], size: usize) -> usize {
    let mut c = 0;
    while c < size {
        let mut r = c;
        while r < size && square[r][c] == 0 {
            r += 1;
        }
        if r == size {
            return c;
        }
        (square[r], square[c]) = (square[c], square[r]);
        let inverse = gf::inv(square[c][c]);
        r = c + 1;
        while r < size {
            let factor = gf::mul(square[r][c], inverse);
            if factor != 0 {
                let mut x = c;
                while x < size {
                    square[r][x] ^= gf::mul(factor, square[c][x]);
                    x += 1;
                }
            }
            r += 1;
        }
        c += 1;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn rows(k: usize, m: usize, matrix: Matrix<'_>) -> Result<Vec<u8>, Error> {
        let mut rows = vec![0; k * m];
        fill(k, m, matrix, &mut rows).map(|()| rows)
    }

    /// The Vandermonde form by its definition: invert the top square, multiply.
    fn vandermonde_by_inversion(k: usize, m: usize) -> Vec<u8> {
        let point = |r: usize, c: usize| gf::pow(r as u8, c as u32);
        let mut left: Vec<Vec<u8>> = (0..k).map(|r| (0..k).map(|c| point(r, c)).collect()).collect();
        let mut right: Vec<Vec<u8>> = (0..k).map(|r| (0..k).map(|c| u8::from(r == c)).collect()).collect();
        for c in 0..k {
            let pivot = (c..k).find(|&r| left[r][c] != 0).unwrap();
            left.swap(c, pivot);
            right.swap(c, pivot);
            let inverse = gf::inv(left[c][c]);
            for x in 0..k {
                left[c][x] = gf::mul(left[c][x], inverse);
                right[c][x] = gf::mul(right[c][x], inverse);
            }
            for r in (0..k).filter(|&r| r != c) {
                let factor = left[r][c];
                for x in 0..k {
                    left[r][x] ^= gf::mul(factor, left[c][x]);
                    right[r][x] ^= gf::mul(factor, right[c][x]);
                }
            }
        }
        let mut rows = vec![];
        for r in k..k + m {
            let column = |c: usize| (0..k).fold(0, |sum, x| sum ^ gf::mul(point(r, x), right[x][c]));
            rows.extend((0..k).map(column));
        }
        rows
    }

    #[test]
    #[cfg_attr(miri, ignore = "inverts 200 x 200")]
    fn the_vandermonde_rows_are_those_of_the_definition() {
        for (k, m) in [(1, 1), (2, 1), (3, 2), (6, 3), (10, 4), (17, 3), (50, 20), (200, 56)] {
            assert_eq!(rows(k, m, Matrix::Vandermonde), Ok(vandermonde_by_inversion(k, m)), "{k}-{m}");
        }
    }

    #[test]
    fn schemas_that_have_no_code_are_refused_with_their_numbers() {
        for (k, m) in
            [(0, 0), (0, 3), (6, 0), (255, 2), (256, 1), (1, 256), (usize::MAX, 1), (usize::MAX, usize::MAX)]
        {
            assert_eq!(check_schema(k, m), Err(Error::Schema { k, m }));
        }
        for (k, m) in [(1, 1), (255, 1), (1, 255), (128, 128), (200, 55)] {
            assert_eq!(check_schema(k, m), Ok(()));
        }
        assert_eq!(rows(6, 2, Matrix::Xor), Err(Error::MatrixSchema { k: 6, m: 2 }));
        assert_eq!(rows(250, 6, Matrix::HdfsLegacy), Err(Error::MatrixSchema { k: 250, m: 6 }));
        assert!(rows(250, 5, Matrix::HdfsLegacy).is_ok());
    }

    #[test]
    fn a_matrix_of_the_callers_own_must_have_the_right_size_and_decode_from_every_k_cells() {
        let good = rows(4, 3, Matrix::Cauchy).unwrap();
        assert_eq!(rows(4, 3, Matrix::Rows(&good)), Ok(good.clone()));
        assert_eq!(rows(4, 3, Matrix::Rows(&good[1..])), Err(Error::MatrixSize { expected: 12, found: 11 }));
        let mut bad = good;
        bad[5] = 0;
        assert_eq!(rows(4, 3, Matrix::Rows(&bad)), Err(Error::Singular { rank: 0, needed: 1 }));
        bad.copy_within(0..4, 4);
        assert_eq!(rows(4, 3, Matrix::Rows(&bad)), Err(Error::Singular { rank: 1, needed: 2 }));
        assert_eq!(rows(4, 3, Matrix::RowsUnproven(&bad)), Ok(bad));
        let large = vec![1; 20 * 20];
        let unproven = Error::Unproven { subsets: 137_846_528_820, limit: SUBSETS };
        assert_eq!(rows(20, 20, Matrix::Rows(&large)), Err(unproven));
        assert_eq!(
            rows(128, 128, Matrix::Rows(&[1; 128 * 128])),
            Err(Error::Unproven { subsets: u64::MAX, limit: SUBSETS })
        );
    }

    /// ISA-L's `gf_gen_rs_matrix`: row i holds the powers of 2^i. Not every k cells decode, from some sizes on.
    #[test]
    fn the_form_that_does_not_decode_from_every_k_cells_is_found_out() {
        let powers = |k: usize, m: usize| -> Vec<u8> {
            (0..m).flat_map(|i| (0..k).map(move |j| gf::pow(gf::pow(2, i as u32), j as u32))).collect()
        };
        assert!(rows(6, 3, Matrix::Rows(&powers(6, 3))).is_ok());
        assert!(matches!(rows(9, 9, Matrix::Rows(&powers(9, 9))), Err(Error::Singular { .. })));
    }

    #[test]
    fn the_limit_admits_every_schema_of_24_cells_and_every_k_with_three_parity_cells() {
        for n in 2..=24 {
            assert!((1..n).all(|k| subsets(k, n - k) <= SUBSETS));
        }
        assert!((1..=253).all(|k| subsets(k, 3) <= SUBSETS));
        assert_eq!((subsets(6, 3), subsets(10, 4), subsets(12, 12)), (84, 1001, 2_704_156));
        assert_eq!(subsets(253, 3), SUBSETS);
        assert!(subsets(13, 13) > SUBSETS);
        // No square larger than LARGEST is within the limit.
        assert!((LARGEST + 1..=128).all(|size| subsets(size, size) > SUBSETS));
    }
}
