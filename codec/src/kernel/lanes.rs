//! What an instruction set must be able to do for the loops of `loops.rs` to run on it.

/// Vectors of bytes of one instruction set.
///
/// # Safety
/// Every method may be called only where the CPU has the instruction set; pointers must be valid for the bytes named.
/// Implementations must touch no byte outside them.
pub(super) trait Lanes {
    /// Bytes in a vector.
    const BYTES: usize;
    /// Whether a part of a vector is loaded and stored as fast as a whole one.
    const MASKED: bool = false;
    /// Whether there are stores that go past the caches.
    const STREAMS: bool = false;
    type Vector: Copy;
    /// A vector prepared for products: itself, or split into nibbles.
    type Factor: Copy;
    /// What a coefficient is looked up as.
    type Table: Copy;

    unsafe fn zero() -> Self::Vector;
    /// `BYTES` bytes at `from`, at any alignment.
    unsafe fn load(from: *const u8) -> Self::Vector;
    /// `n` < `BYTES` bytes at `from`, the rest zero.
    unsafe fn load_first(from: *const u8, n: usize) -> Self::Vector;
    unsafe fn store(to: *mut u8, vector: Self::Vector);
    /// The first `n` < `BYTES` bytes of `vector`.
    unsafe fn store_first(to: *mut u8, vector: Self::Vector, n: usize);
    /// Stores past the caches; `to` is aligned to `BYTES`.
    #[inline(always)]
    unsafe fn stream(to: *mut u8, vector: Self::Vector) {
        // SAFETY: as for this call.
        unsafe { Self::store(to, vector) }
    }
    /// Orders streaming stores before whatever comes next.
    #[inline(always)]
    unsafe fn fence() {}
    /// Asks for the line at `from`, which need not be readable.
    #[inline(always)]
    unsafe fn prefetch(_from: *const u8) {}
    unsafe fn xor(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn table(coefficient: u8) -> Self::Table;
    unsafe fn factor(vector: Self::Vector) -> Self::Factor;
    /// The factor of the sum.
    unsafe fn add(f: Self::Factor, g: Self::Factor) -> Self::Factor;
    unsafe fn product(table: Self::Table, factor: Self::Factor) -> Self::Vector;
    /// sum + table x factor.
    #[inline(always)]
    unsafe fn plus(sum: Self::Vector, table: Self::Table, factor: Self::Factor) -> Self::Vector {
        // SAFETY: as for this call.
        unsafe { Self::xor(sum, Self::product(table, factor)) }
    }
    /// sum + t x f + u x g.
    #[inline(always)]
    unsafe fn plus_two(
        sum: Self::Vector,
        (t, f): (Self::Table, Self::Factor),
        (u, g): (Self::Table, Self::Factor),
    ) -> Self::Vector {
        // SAFETY: as for this call.
        unsafe { Self::xor(sum, Self::xor(Self::product(t, f), Self::product(u, g))) }
    }
}
