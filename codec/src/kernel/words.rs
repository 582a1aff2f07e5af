//! Parts of a 16-byte vector in two little-endian words, without touching a byte outside them and without a detour over the
//! stack.

/// The `n` < 16 bytes at `from`, the rest zero.
///
/// # Safety
/// `n` bytes can be read.
#[inline(always)]
pub(super) unsafe fn load_first(from: *const u8, n: usize) -> [u64; 2] {
    // SAFETY: every read lies inside the n bytes.
    unsafe {
        let word = |at: usize| u64::from_le_bytes(from.add(at).cast::<[u8; 8]>().read());
        let half = |at: usize| u64::from(u32::from_le_bytes(from.add(at).cast::<[u8; 4]>().read()));
        let byte = |at: usize| u64::from(from.add(at).read()) << (8 * at);
        match n {
            // The upper word is the last eight bytes without those that the lower word has.
            8..16 => [word(0), word(n - 8) >> (8 * (15 - n)) >> 8],
            4..8 => [half(0) | half(n - 4) << (8 * (n - 4)), 0],
            1..4 => [byte(0) | byte(n / 2) | byte(n - 1), 0],
            _ => [0, 0],
        }
    }
}

/// Writes the first `n` < 16 bytes of `words`.
///
/// # Safety
/// `n` bytes can be written.
#[inline(always)]
pub(super) unsafe fn store_first(to: *mut u8, [low, high]: [u64; 2], n: usize) {
    // SAFETY: every write lies inside the n bytes.
    unsafe {
        let word = |at: usize, word: u64| to.add(at).cast::<[u8; 8]>().write(word.to_le_bytes());
        let half = |at: usize, word: u64| to.add(at).cast::<[u8; 4]>().write((word as u32).to_le_bytes());
        let byte = |at: usize| to.add(at).write((low >> (8 * at)) as u8);
        match n {
            8..16 => {
                word(0, low);
                word(n - 8, low >> (8 * (n - 8)) | high << 8 << (8 * (15 - n)));
            }
            4..8 => {
                half(0, low);
                half(n - 4, low >> (8 * (n - 4)));
            }
            1..4 => {
                byte(0);
                byte(n / 2);
                byte(n - 1);
            }
            _ => {}
        }
    }
}
