//! The adapters that allocate, on every way out of an error: what they took is given back, once.
#![cfg(feature = "alloc")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hedgerow_codec::{CellSet, Code, Error, Kernel, Matrix};

/// The system's allocator, with a count of this thread's live bytes.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is the system allocator's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + layout.size() as isize);
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: as for this call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: as for this call.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work`; returns what it says, the bytes it left behind, and how often it took memory.
fn counted<T>(work: impl FnOnce() -> T) -> (T, isize, usize) {
    let (live, taken) = (LIVE.get(), TAKEN.get());
    let result = work();
    (result, LIVE.get() - live, TAKEN.get() - taken)
}

// Seen in leofs 440, fti 11: memory freed twice, or never, on the way out of an error.
#[test]
fn refused_codes_and_plans_leave_no_memory_behind() {
    let singular = [1, 1, 1, 1];
    let codes = [
        (0, 3, Matrix::Cauchy, Error::Schema { k: 0, m: 3 }),
        (3, 0, Matrix::Cauchy, Error::Schema { k: 3, m: 0 }),
        (200, 57, Matrix::Cauchy, Error::Schema { k: 200, m: 57 }),
        (usize::MAX, usize::MAX, Matrix::Cauchy, Error::Schema { k: usize::MAX, m: usize::MAX }),
        (6, 3, Matrix::Xor, Error::MatrixSchema { k: 6, m: 3 }),
        (253, 3, Matrix::HdfsLegacy, Error::MatrixSchema { k: 253, m: 3 }),
        (6, 3, Matrix::Rows(&[1]), Error::MatrixSize { expected: 18, found: 1 }),
        (2, 2, Matrix::Rows(&singular), Error::Singular { rank: 1, needed: 2 }),
    ];
    for (k, m, matrix, error) in codes {
        let (found, left, taken) = counted(|| Code::new(Kernel::SCALAR, k, m, matrix).map(|_| ()));
        assert_eq!((found, left), (Err(error), 0));
        assert!(taken <= 1, "nothing is taken twice");
        if let Error::Schema { .. } = error {
            assert_eq!(taken, 0, "no memory for a schema that does not exist");
        }
    }
    let code = Code::new(Kernel::SCALAR, 2, 2, Matrix::RowsUnproven(&singular)).unwrap();
    let plans: [(&[usize], &[usize], CellSet, Error); 8] = [
        (&[0], &[2, 3], CellSet::EMPTY, Error::Singular { rank: 1, needed: 2 }),
        (&[0], &[1, 1], CellSet::EMPTY, Error::Duplicate { index: 1 }),
        (&[0, 0], &[1, 2], CellSet::EMPTY, Error::Duplicate { index: 0 }),
        (&[4], &[1, 2], CellSet::EMPTY, Error::CellIndex { index: 4, cells: 4 }),
        (&[0], &[1], CellSet::EMPTY, Error::TooFewSources { needed: 2, found: 1 }),
        (&[0], &[1, 2, 3], CellSet::EMPTY, Error::SourceCount { expected: 2, found: 3 }),
        (&[], &[1, 2], CellSet::EMPTY, Error::LostCount { limit: 2, found: 0 }),
        (&[0], &[1, 2], CellSet::first(1), Error::LostZero { index: 0 }),
    ];
    for (lost, sources, zeros, error) in plans {
        let (found, left, taken) = counted(|| code.plan_boxed(lost, sources, zeros).map(|_| ()));
        assert_eq!((found, left), (Err(error), 0));
        assert!(taken <= 1, "nothing is taken twice");
    }
    // What is not refused is given back when it is dropped.
    let (worked, left, _) = counted(|| {
        let code = Code::new(Kernel::SCALAR, 6, 3, Matrix::Cauchy).unwrap();
        code.plan_boxed([0, 7], [1, 2, 3, 4, 5, 6], CellSet::EMPTY).is_ok()
    });
    assert!(worked);
    assert_eq!(left, 0);
}
