//! Intel's ISA-L, as Debian's libisal-dev installs it, linked with the feature `isa-l`.

use core::ffi::c_int;

// SAFETY: these are the declarations of <isa-l/erasure_code.h>.
#[link(name = "isal")]
unsafe extern "C" {
    fn ec_init_tables(k: c_int, rows: c_int, matrix: *mut u8, tables: *mut u8);
    fn ec_encode_data(
        len: c_int,
        k: c_int,
        rows: c_int,
        tables: *mut u8,
        sources: *mut *mut u8,
        outputs: *mut *mut u8,
    );
}

/// Bytes of table that ISA-L makes of one coefficient.
const TABLE: usize = 32;

/// Coefficients as ISA-L wants them.
pub(crate) struct Tables {
    k: usize,
    rows: usize,
    tables: Vec<u8>,
}

impl Tables {
    /// One row of `k` coefficients for each output.
    pub(crate) fn new(k: usize, rows: &[Vec<u8>]) -> Self {
        let mut matrix = rows.concat();
        assert_eq!(matrix.len(), k * rows.len());
        let mut tables = vec![0; TABLE * matrix.len()];
        // SAFETY: `matrix` holds k x rows coefficients and `tables` 32 bytes for each.
        unsafe {
            ec_init_tables(count(k), count(rows.len()), matrix.as_mut_ptr(), tables.as_mut_ptr());
        }
        Self { k, rows: rows.len(), tables }
    }

    /// Writes all outputs. ISA-L takes its arguments as mutable but writes only to the cells behind `outputs`.
    ///
    /// # Safety
    /// k sources and as many outputs as rows, all valid for `len` bytes, and nothing else uses the outputs meanwhile.
    pub(crate) unsafe fn run(&mut self, sources: &mut [*mut u8], outputs: &mut [*mut u8], len: usize) {
        assert!(sources.len() == self.k && outputs.len() == self.rows);
        // SAFETY: counts were compared just now, the tables are of these counts, the rest is the caller's promise.
        unsafe {
            ec_encode_data(
                count(len),
                count(self.k),
                count(self.rows),
                self.tables.as_mut_ptr(),
                sources.as_mut_ptr(),
                outputs.as_mut_ptr(),
            );
        }
    }
}

/// ISA-L returns with the upper halves of vector registers in use, which makes SSE code that runs after it some three times
/// slower. Compilers clean up behind AVX code; here it has to be done by hand, once all calls are timed.
pub(crate) fn clean_up() {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx")]
        fn clear() {
            core::arch::x86_64::_mm256_zeroupper();
        }
        if is_x86_feature_detected!("avx") {
            // SAFETY: the CPU has AVX.
            unsafe { clear() }
        }
    }
}

fn count(n: usize) -> c_int {
    n.try_into().expect("a cell shorter than 2 GiB")
}
