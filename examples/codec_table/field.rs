//! GF(2^8) the slow way: what every contender's bytes are checked against, and decode rows for those that want them given.

/// Product of two elements modulo x^8 + x^4 + x^3 + x^2 + 1.
fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 == 0 { 0 } else { 0x1d };
        b >>= 1;
    }
    product
}

/// The element whose product with `a` is one.
fn invert(a: u8) -> u8 {
    (1..=255).find(|&b| multiply(a, b) == 1).expect("zero has no inverse")
}

/// The Cauchy coefficients of parity cell `parity`: 1 / ((k + parity) xor column).
pub(crate) fn cauchy_row(k: usize, parity: usize) -> Vec<u8> {
    (0..k).map(|column| invert(((k + parity) ^ column) as u8)).collect()
}

/// Coefficients that rebuild data cell `lost` from the other data cells, in order, and the first parity cell.
#[cfg(feature = "isa-l")]
pub(crate) fn decode_row(k: usize, lost: usize) -> Vec<u8> {
    let mut row = cauchy_row(k, 0);
    let scale = invert(row.remove(lost));
    row.push(1);
    row.iter().map(|&coefficient| multiply(coefficient, scale)).collect()
}

/// The sum of the cells, each times its coefficient.
pub(crate) fn combine(row: &[u8], cells: &[&[u8]]) -> Vec<u8> {
    let mut sum = vec![0; cells[0].len()];
    for (&coefficient, cell) in row.iter().zip(cells) {
        let products: Vec<u8> = (0..=255).map(|byte| multiply(coefficient, byte)).collect();
        for (total, &byte) in sum.iter_mut().zip(*cell) {
            *total ^= products[usize::from(byte)];
        }
    }
    sum
}
