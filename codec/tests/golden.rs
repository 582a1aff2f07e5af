//! Hadoop's own parity bytes, made by its raw coders, in both directions and on every kernel.
//!
//! `<POLICY>.golden.txt` has blocks of `len=N`, `data<j>=<hex>` and `parity<i>=<hex>`; `<POLICY>.matrix.txt` has one line of
//! hex coefficients for each parity cell.

use hedgerow_codec::{CellSet, Code, Inline, Kernel, Matrix, ReedSolomon, code_bytes};

struct Policy {
    k: usize,
    m: usize,
    matrix: Matrix<'static>,
    golden: &'static str,
    rows: &'static str,
}

macro_rules! policy {
    ($name:literal, $k:literal, $m:literal, $matrix:expr) => {
        Policy {
            k: $k,
            m: $m,
            matrix: $matrix,
            golden: include_str!(concat!("golden/", $name, ".golden.txt")),
            rows: include_str!(concat!("golden/", $name, ".matrix.txt")),
        }
    };
}

const POLICIES: [Policy; 8] = [
    policy!("RS-3-2", 3, 2, Matrix::Cauchy),
    policy!("RS-6-3", 6, 3, Matrix::Cauchy),
    policy!("RS-10-4", 10, 4, Matrix::Cauchy),
    policy!("RS-12-3", 12, 3, Matrix::Cauchy),
    policy!("RS-LEGACY-3-2", 3, 2, Matrix::HdfsLegacy),
    policy!("RS-LEGACY-6-3", 6, 3, Matrix::HdfsLegacy),
    policy!("RS-LEGACY-10-4", 10, 4, Matrix::HdfsLegacy),
    policy!("XOR-2-1", 2, 1, Matrix::Xor),
];

const STORAGE: usize = code_bytes(12, 4);

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The stripes of a file, each k + m cells.
fn stripes(policy: &Policy) -> Vec<Vec<Vec<u8>>> {
    let mut stripes: Vec<Vec<Vec<u8>>> = vec![];
    for line in policy.golden.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (name, value) = line.split_once('=').unwrap();
        if name == "len" {
            stripes.push(vec![]);
            continue;
        }
        let stripe = stripes.last_mut().unwrap();
        let cells = stripe.len();
        let expected =
            if cells < policy.k { format!("data{cells}") } else { format!("parity{}", cells - policy.k) };
        assert_eq!(name, expected);
        stripe.push(hex(value));
    }
    assert_eq!(stripes.iter().map(|stripe| stripe[0].len()).collect::<Vec<_>>(), [1, 17, 64, 1000]);
    assert!(stripes.iter().all(|stripe| stripe.len() == policy.k + policy.m));
    stripes
}

fn code(policy: &Policy, kernel: Kernel) -> Code<[u8; STORAGE]> {
    Code::new_in(kernel, policy.k, policy.m, policy.matrix, [0; STORAGE]).unwrap()
}

#[test]
fn coefficients_are_those_that_hadoop_uses() {
    for policy in &POLICIES {
        let code = code(policy, Kernel::SCALAR);
        let lines: Vec<_> = policy.rows.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), policy.m);
        for (i, line) in lines.iter().enumerate() {
            let row: Vec<_> = (0..policy.k).map(|j| code.coefficient(i, j).unwrap()).collect();
            assert_eq!(row, hex(&line.replace(' ', "")));
        }
    }
}

#[test]
fn parity_is_hadoops_byte_for_byte_on_every_kernel() {
    for kernel in Kernel::available() {
        for policy in &POLICIES {
            let code = code(policy, kernel);
            for stripe in stripes(policy) {
                let (data, parity) = stripe.split_at(policy.k);
                let data: Vec<&[u8]> = data.iter().map(|cell| &cell[..]).collect();
                let mut made = vec![vec![0xaa; data[0].len()]; policy.m];
                let mut outputs: Vec<&mut [u8]> = made.iter_mut().map(|cell| &mut cell[..]).collect();
                code.encode(&data, &mut outputs).unwrap();
                assert_eq!(made, parity, "{kernel} {}-{}", policy.k, policy.m);
            }
        }
    }
}

#[test]
fn every_loss_of_hadoops_cells_comes_back_on_every_kernel() {
    for kernel in Kernel::available() {
        for policy in &POLICIES {
            let (code, n) = (code(policy, kernel), policy.k + policy.m);
            for stripe in stripes(policy) {
                for lost in (1_u64..1 << n).map(CellSet::from_mask).filter(|lost| lost.len() <= policy.m) {
                    let sources = CellSet::first(n).difference(lost).iter().take(policy.k);
                    let plan =
                        code.plan_in(lost, sources, CellSet::EMPTY, Inline::<12, 4>::default()).unwrap();
                    let sources: Vec<&[u8]> =
                        plan.sources().iter().map(|&cell| &stripe[usize::from(cell)][..]).collect();
                    let mut made = vec![vec![0xaa; stripe[0].len()]; lost.len()];
                    let mut outputs: Vec<&mut [u8]> = made.iter_mut().map(|cell| &mut cell[..]).collect();
                    plan.run(&sources, &mut outputs).unwrap();
                    for (cell, made) in lost.iter().zip(&made) {
                        assert_eq!(*made, stripe[cell], "{kernel} {}-{} {lost:?}", policy.k, policy.m);
                    }
                }
            }
        }
    }
}

#[test]
fn compile_time_and_run_time_codes_are_the_same() {
    let kernel = Kernel::SCALAR;
    let run_time = |k, m, matrix| Code::new_in(kernel, k, m, matrix, [0; STORAGE]).unwrap();
    macro_rules! same {
        ($k:literal, $m:literal) => {
            for (fixed, matrix) in [
                (ReedSolomon::<$k, $m>::new(kernel), Matrix::Cauchy),
                (ReedSolomon::<$k, $m>::vandermonde(kernel), Matrix::Vandermonde),
                (ReedSolomon::<$k, $m>::with_matrix(kernel, Matrix::HdfsLegacy).unwrap(), Matrix::HdfsLegacy),
            ] {
                let run_time = run_time($k, $m, matrix);
                for i in 0..$m {
                    assert!((0..$k).all(|j| fixed.coefficient(i, j) == run_time.coefficient(i, j)));
                }
                let lost = [1, $k];
                let sources: Vec<usize> = (0..$k + $m).filter(|cell| !lost.contains(cell)).take($k).collect();
                assert_eq!(
                    fixed.plan(&lost, &sources, CellSet::EMPTY).unwrap(),
                    run_time
                        .plan_in(&lost, &sources, CellSet::EMPTY, [0; hedgerow_codec::plan_bytes($k, $m)])
                        .unwrap()
                );
            }
        };
    }
    same!(3, 2);
    same!(6, 3);
    same!(10, 4);
    same!(12, 3);
}
