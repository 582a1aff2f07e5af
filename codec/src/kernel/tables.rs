//! The static tables that kernels look coefficients up in. A coefficient is one byte everywhere else, so codes and
//! plans are the same bytes on every CPU.

use crate::gf::mul_bitwise;

/// For each coefficient the 8x8 bit matrix of "times c" in the bit order of `gf2p8affineqb`: byte 7 - i of the
/// matrix selects the input bits whose sum is output bit i. 2 KiB.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) static BIT_MATRIX: [u64; 256] = {
    let (mut tables, mut c) = ([0; 256], 0);
    while c < 256 {
        let mut bit = 0;
        while bit < 8 {
            let product = mul_bitwise(c as u8, 1 << bit);
            let mut i = 0;
            while i < 8 {
                if product >> i & 1 == 1 {
                    tables[c] |= 1 << (8 * (7 - i) + bit);
                }
                i += 1;
            }
            bit += 1;
        }
        c += 1;
    }
    tables
};

/// Tables for byte shuffles, one line each so that a table never straddles two.
#[repr(align(64))]
pub(super) struct Nibbles([[u8; 32]; 256]);

/// For each coefficient the 16 products with a low nibble, then the 16 products with a high nibble. 8 KiB.
pub(super) static NIBBLES: Nibbles = {
    let (mut tables, mut c) = ([[0; 32]; 256], 0);
    while c < 256 {
        let mut x = 0;
        while x < 16 {
            tables[c][x] = mul_bitwise(c as u8, x as u8);
            tables[c][16 + x] = mul_bitwise(c as u8, (x << 4) as u8);
            x += 1;
        }
        c += 1;
    }
    Nibbles(tables)
};

impl Nibbles {
    /// The 32 products of one coefficient.
    #[inline(always)]
    pub(super) fn of(&self, c: u8) -> &[u8; 32] {
        &self.0[c as usize]
    }
}
