//! Arithmetic of GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1 (0x11d), the field that HDFS, ISA-L, Ozone and the
//! Backblaze family use. Addition is XOR.

/// The reducing polynomial, bit 8 included.
pub const POLYNOMIAL: u16 = 0x11d;

struct Tables {
    /// Powers of 2, twice over, so that a sum of two logarithms (at most 508) needs no reduction.
    exp: [u8; 510],
    /// Logarithms to base 2; entry 0 is never used.
    log: [u8; 256],
}

const TABLES: &Tables = &{
    let (mut exp, mut log, mut x, mut i) = ([0; 510], [0; 256], 1, 0);
    while i < 255 {
        exp[i] = x;
        exp[i + 255] = x;
        log[x as usize] = i as u8;
        x = mul_bitwise(x, 2);
        i += 1;
    }
    Tables { exp, log }
};

/// The product by shifting and adding: what every table is made from, and what tests compare against.
#[must_use]
pub const fn mul_bitwise(a: u8, b: u8) -> u8 {
    let (mut a, mut b, mut product) = (a as u16, b, 0);
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a <<= 1;
        if a & 0x100 != 0 {
            a ^= POLYNOMIAL;
        }
        b >>= 1;
    }
    product as u8
}

/// The product of two elements.
#[must_use]
#[inline]
pub const fn mul(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    TABLES.exp[TABLES.log[a as usize] as usize + TABLES.log[b as usize] as usize]
}

/// The inverse of a non-zero element; 0 for 0.
#[must_use]
#[inline]
pub const fn inv(a: u8) -> u8 {
    if a == 0 { 0 } else { TABLES.exp[255 - TABLES.log[a as usize] as usize] }
}

/// `base` to the power `exponent`; 1 for exponent 0, also of base 0.
#[must_use]
pub const fn pow(base: u8, exponent: u32) -> u8 {
    if exponent == 0 {
        return 1;
    }
    if base == 0 {
        return 0;
    }
    TABLES.exp[((TABLES.log[base as usize] as u64 * exponent as u64) % 255) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "65,536 products; other tests run the same tables")]
    fn every_product_through_the_tables_is_the_bitwise_product() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(mul(a, b), mul_bitwise(a, b), "{a:#x} * {b:#x}");
            }
        }
    }

    #[test]
    fn every_element_times_its_inverse_is_one() {
        assert_eq!(inv(0), 0);
        for a in 1..=255 {
            assert_eq!(mul_bitwise(a, inv(a)), 1, "{a:#x}");
        }
    }

    #[test]
    fn powers_are_repeated_products_and_wrap_at_255() {
        for base in [0, 1, 2, 3, 0x1d, 255] {
            let mut product = 1;
            for exponent in 0..600 {
                assert_eq!(pow(base, exponent), product, "{base:#x} to the {exponent}");
                product = mul_bitwise(product, base);
            }
        }
        assert_eq!(pow(2, u32::MAX), 1, "2^32 - 1 is a multiple of 255");
    }
}
