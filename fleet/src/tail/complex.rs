//! Complex numbers, as far as transforms need them.

use core::ops::{Add, Mul, Neg, Sub};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    pub(super) const ONE: Self = Self::real(1.0);

    pub(super) const fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }

    pub(super) const fn real(re: f64) -> Self {
        Self { re, im: 0.0 }
    }

    pub(super) fn scale(self, by: f64) -> Self {
        Self::new(self.re * by, self.im * by)
    }

    pub(super) fn square_of_length(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    pub(super) fn inverse(self) -> Self {
        let by = 1.0 / self.square_of_length();
        Self::new(self.re * by, -self.im * by)
    }

    pub(super) fn over(self, other: Self) -> Self {
        self * other.inverse()
    }

    pub(super) fn exponential(self) -> Self {
        let (sin, cos) = libm::sincos(self.im);
        Self::new(cos, sin).scale(libm::exp(self.re))
    }

    /// exp - 1, accurate near 0.
    pub(super) fn expm1(self) -> Self {
        let less = libm::expm1(self.re);
        if self.im == 0.0 {
            return Self::real(less);
        }
        let (sin, cos) = libm::sincos(self.im);
        let half = libm::sin(0.5 * self.im);
        Self::new(less * cos - 2.0 * half * half, (less + 1.0) * sin)
    }

    /// The principal value.
    pub(super) fn logarithm(self) -> Self {
        if self.im == 0.0 && self.re > 0.0 {
            return Self::real(libm::log(self.re));
        }
        Self::new(0.5 * libm::log(self.square_of_length()), libm::atan2(self.im, self.re))
    }

    /// ln(1 + self), accurate near 0.
    pub(super) fn logarithm_1p(self) -> Self {
        let real = self.re + 1.0;
        // Where 1 + self is small there is nothing to lose, and 2 re + |self|^2 would cancel.
        if self.re.abs() > 0.5 || self.im.abs() > 0.5 {
            return Self::new(real, self.im).logarithm();
        }
        let more = 2.0 * self.re + self.square_of_length();
        Self::new(0.5 * libm::log1p(more), libm::atan2(self.im, real))
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Neg for Complex {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.re, -self.im)
    }
}

#[cfg(test)]
mod tests {
    use super::Complex;

    #[test]
    fn the_functions_that_are_accurate_near_nought_agree_with_the_plain_ones_and_with_their_series() {
        for (re, im) in [(0.3, -2.0), (-1.5, 0.4), (2.0, 40.0), (-0.4, 0.2), (0.1, 0.0), (-0.9, 0.01)] {
            let z = Complex::new(re, im);
            let gap = z.expm1() + Complex::ONE - z.exponential();
            assert!(gap.square_of_length() <= 1e-30 * z.exponential().square_of_length(), "{z:?}: {gap:?}");
            let gap = z.logarithm_1p().exponential() - z - Complex::ONE;
            assert!(gap.square_of_length() <= 1e-28, "{z:?}: {gap:?}");
        }
        for (re, im) in [(1e-9, 1e-8), (-3e-12, 2e-12), (1e-14, 0.0)] {
            let z = Complex::new(re, im);
            let half = (z * z).scale(0.5);
            let gap = z.expm1() - z - half;
            assert!(gap.square_of_length() <= 1e-31 * z.square_of_length(), "{z:?}: {gap:?}");
            let gap = z.logarithm_1p() - z + half;
            assert!(gap.square_of_length() <= 1e-31 * z.square_of_length(), "{z:?}: {gap:?}");
        }
    }
}
