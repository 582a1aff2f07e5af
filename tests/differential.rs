//! The codec against other Reed-Solomon implementations: the same parity bytes where the matrix is the same, and the same
//! losses made good where it is not.

use hedgerow_codec::{CellSet, Code, Kernel, Matrix, code_bytes, plan_bytes};

/// Seeded random bytes (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn cells(&mut self, count: usize, len: usize) -> Vec<Vec<u8>> {
        (0..count).map(|_| (0..len).map(|_| self.next() as u8).collect()).collect()
    }

    /// The numbers 0 to n - 1 in random order.
    fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
        order
    }
}

/// Small schemas all, some large ones, each with some lengths.
fn cases() -> Vec<(usize, usize, usize)> {
    let small = (1..=14).flat_map(|k| (1..=6).map(move |m| (k, m)));
    let large =
        [(17, 3), (24, 8), (40, 9), (20, 20), (100, 28), (128, 128), (200, 56), (253, 3), (255, 1), (1, 255)];
    let lengths = [1, 2, 31, 64, 100, 257, 1000, 4098, 20_001];
    small
        .chain(large)
        .flat_map(|(k, m)| {
            lengths.into_iter().filter(move |len| k * m * len < 20_000_000).map(move |len| (k, m, len))
        })
        .collect()
}

fn code(k: usize, m: usize, matrix: Matrix<'_>) -> Code<Vec<u8>> {
    Code::new_in(Kernel::detect(), k, m, matrix, vec![0; code_bytes(k, m)]).unwrap()
}

fn slices(cells: &[Vec<u8>]) -> Vec<&[u8]> {
    cells.iter().map(|cell| &cell[..]).collect()
}

fn parity(code: &Code<Vec<u8>>, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut parity = vec![vec![0; data[0].len()]; code.m()];
    let mut outputs: Vec<&mut [u8]> = parity.iter_mut().map(|cell| &mut cell[..]).collect();
    code.encode(&slices(data), &mut outputs).unwrap();
    parity
}

/// The cells of `lost`, in its order, rebuilt from the first k of `there`.
fn rebuilt(code: &Code<Vec<u8>>, cells: &[Vec<u8>], lost: &[usize], there: &[usize]) -> Vec<Vec<u8>> {
    let memory = vec![0; plan_bytes(code.k(), lost.len())];
    let plan = code.plan_in(lost, &there[..code.k()], CellSet::EMPTY, memory).unwrap();
    let sources: Vec<&[u8]> = plan.sources().iter().map(|&cell| &cells[usize::from(cell)][..]).collect();
    let mut made = vec![vec![0; cells[0].len()]; lost.len()];
    let mut outputs: Vec<&mut [u8]> = made.iter_mut().map(|cell| &mut cell[..]).collect();
    plan.run(&sources, &mut outputs).unwrap();
    made
}

#[test]
fn vandermonde_parity_is_that_of_reed_solomon_erasure_and_each_rebuilds_the_others_cells() {
    use reed_solomon_erasure::galois_8::ReedSolomon;
    let mut random = Random(1);
    for (k, m, len) in cases() {
        let (own, other) = (code(k, m, Matrix::Vandermonde), ReedSolomon::new(k, m).unwrap());
        let data = random.cells(k, len);
        let mut theirs = vec![vec![0; len]; m];
        other.encode_sep(&data, &mut theirs).unwrap();
        assert!(parity(&own, &data) == theirs, "{k} {m} {len}");

        let cells = [data, theirs].concat();
        let order = random.order(k + m);
        let lost = &order[..1 + (random.next() % m as u64) as usize];
        let mut slots: Vec<Option<Vec<u8>>> = cells.iter().cloned().map(Some).collect();
        lost.iter().for_each(|&cell| slots[cell] = None);
        other.reconstruct(&mut slots).unwrap();
        for (&cell, made) in lost.iter().zip(rebuilt(&own, &cells, lost, &order[m..])) {
            assert!(slots[cell].as_ref() == Some(&made) && made == cells[cell], "{k} {m} {len} {lost:?}");
        }
    }
}

#[test]
fn parity_is_that_of_rustfs_erasure_codec_in_both_forms_and_each_rebuilds_the_others_cells() {
    use rustfs_erasure_codec::{CodecOptions, MatrixMode, galois_8::ReedSolomon};
    let mut random = Random(2);
    for (matrix, mode) in
        [(Matrix::Cauchy, MatrixMode::Cauchy), (Matrix::Vandermonde, MatrixMode::Vandermonde)]
    {
        let options = CodecOptions::builder().matrix_mode(mode).max_parallel_jobs(1).build();
        for (k, m, len) in cases() {
            let (own, other) = (code(k, m, matrix), ReedSolomon::with_options(k, m, options).unwrap());
            let data = random.cells(k, len);
            let mut theirs = vec![vec![0; len]; m];
            other.encode_sep(&data, &mut theirs).unwrap();
            assert!(parity(&own, &data) == theirs, "{mode:?} {k} {m} {len}");

            let cells = [data, theirs].concat();
            let order = random.order(k + m);
            let lost = &order[..1 + (random.next() % m as u64) as usize];
            let mut slots: Vec<Option<Vec<u8>>> = cells.iter().cloned().map(Some).collect();
            lost.iter().for_each(|&cell| slots[cell] = None);
            other.reconstruct(&mut slots).unwrap();
            for (&cell, made) in lost.iter().zip(rebuilt(&own, &cells, lost, &order[m..])) {
                assert!(slots[cell].as_ref() == Some(&made) && made == cells[cell], "{mode:?} {k} {m} {len}");
            }
        }
    }
}

#[test]
fn data_lost_in_the_same_places_comes_back_here_and_from_reed_solomon_simd() {
    let mut random = Random(3);
    for (k, m, len) in cases().into_iter().filter(|(_, _, len)| len % 2 == 0) {
        let data = random.cells(k, len);
        let order = random.order(k + m);
        let (lost, there) = order.split_at(m);

        let own = code(k, m, Matrix::Cauchy);
        let cells = [data.clone(), parity(&own, &data)].concat();
        let made = rebuilt(&own, &cells, lost, there);
        assert!(lost.iter().zip(&made).all(|(&cell, made)| *made == cells[cell]), "{k} {m} {len} {lost:?}");

        let recovery = reed_solomon_simd::encode(k, m, &data).unwrap();
        let (there_data, there_parity): (Vec<usize>, Vec<usize>) = there.iter().partition(|&&cell| cell < k);
        let restored = reed_solomon_simd::decode(
            k,
            m,
            there_data.into_iter().map(|cell| (cell, &data[cell])),
            there_parity.into_iter().map(|cell| (cell - k, &recovery[cell - k])),
        )
        .unwrap();
        let lost_data = lost.iter().zip(&made).filter(|&(&cell, _)| cell < k);
        assert_eq!(restored.len(), lost_data.clone().count());
        for (cell, own) in lost_data {
            assert!(restored.get(cell) == Some(own), "{k} {m} {len}");
        }
    }
}
