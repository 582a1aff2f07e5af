//! The codes: k and m in the type with tables made at compile time, or chosen at run time over any memory.

use core::borrow::Borrow;
use core::ops::Range;

use crate::dyadic::{Shape, arrange, groups};
use crate::matrix::{Matrix, check_schema, fill};
use crate::plan::RebuildPlan;
use crate::storage::{Inline, PlanStorage, code_bytes};
use crate::view::{Mismatch, View};
use crate::{CellSet, Destination, Error, Kernel, OutputByte};

/// The Reed-Solomon code RS-K-M: K data cells and M parity cells a stripe, its tables computed at compile time.
///
/// ```
/// use hedgerow_codec::{CellSet, Kernel, ReedSolomon};
///
/// let code = ReedSolomon::<6, 3>::new(Kernel::detect());
/// let data = [[1; 100], [2; 100], [3; 100], [4; 100], [5; 100], [6; 100]];
/// let data: [&[u8]; 6] = core::array::from_fn(|i| &data[i][..]);
/// let mut parity = [[0; 100]; 3];
/// let [p0, p1, p2] = &mut parity;
/// code.encode(&data, &mut [p0, p1, p2])?;
///
/// // Cell 2 is late: rebuild bytes 40 to 60 of it from the others and parity cell 6.
/// let plan = code.plan([2], [0, 1, 3, 4, 5, 6], CellSet::EMPTY)?;
/// let sources = [data[0], data[1], data[3], data[4], data[5], &parity[0]];
/// let mut bytes = [0; 20];
/// plan.run_at(40, &sources, &mut [&mut bytes])?;
/// assert_eq!(bytes, [3; 20]);
/// # Ok::<(), hedgerow_codec::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ReedSolomon<const K: usize, const M: usize> {
    kernel: Kernel,
    tables: Tables<K, M>,
    decodes_from_any: bool,
}

#[derive(Clone, Copy)]
struct Tables<const K: usize, const M: usize> {
    rows: [[u8; K]; M],
    stream: [[u8; K]; M],
    // One line a group is used: the number of groups can't be named in the type.
    order: [[u8; K]; M],
    shapes: [Shape; M],
}

impl<const K: usize, const M: usize> Tables<K, M> {
    const fn new(matrix: Matrix<'_>) -> Result<Self, Error> {
        if let Err(error) = check_schema(K, M) {
            return Err(error);
        }
        let (mut rows, mut stream, mut order, mut shapes) =
            ([[0; K]; M], [[0; K]; M], [[0; K]; M], [[0; 4]; M]);
        if let Err(error) = fill(K, M, matrix, rows.as_flattened_mut()) {
            return Err(error);
        }
        arrange(K, M, rows.as_flattened(), stream.as_flattened_mut(), order.as_flattened_mut(), &mut shapes);
        Ok(Self { rows, stream, order, shapes })
    }
}

impl<const K: usize, const M: usize> ReedSolomon<K, M> {
    const CAUCHY: Tables<K, M> = match Tables::new(Matrix::Cauchy) {
        Ok(tables) => tables,
        Err(_) => panic!("a schema needs 1 data cell, 1 parity cell and at most 256 cells in all"),
    };
    const VANDERMONDE: Tables<K, M> = match Tables::new(Matrix::Vandermonde) {
        Ok(tables) => tables,
        Err(_) => panic!("a schema needs 1 data cell, 1 parity cell and at most 256 cells in all"),
    };

    /// The code that HDFS, Ozone and ISA-L call RS-K-M: [`Matrix::Cauchy`]. A schema that doesn't exist doesn't compile.
    #[must_use]
    pub const fn new(kernel: Kernel) -> Self {
        Self { kernel, tables: Self::CAUCHY, decodes_from_any: true }
    }

    /// The code of the Backblaze family: [`Matrix::Vandermonde`]. A schema that doesn't exist doesn't compile.
    #[must_use]
    pub const fn vandermonde(kernel: Kernel) -> Self {
        Self { kernel, tables: Self::VANDERMONDE, decodes_from_any: true }
    }

    /// A code with any matrix; in a `const`, at compile time.
    ///
    /// # Errors
    /// As [`Code::new_in`].
    pub const fn with_matrix(kernel: Kernel, matrix: Matrix<'_>) -> Result<Self, Error> {
        match Tables::new(matrix) {
            Ok(tables) => Ok(Self { kernel, tables, decodes_from_any: matrix.decodes_from_any() }),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn view(&self) -> View<'_> {
        View {
            kernel: self.kernel,
            k: K,
            m: M,
            decodes_from_any: self.decodes_from_any,
            rows: self.tables.rows.as_flattened(),
            stream: self.tables.stream.as_flattened(),
            order: self.tables.order.as_flattened(),
            shapes: &self.tables.shapes[..groups(M)],
        }
    }

    /// A plan to rebuild `lost` from k `sources`, in memory of the plan's own: see [`Self::plan_in`].
    ///
    /// # Errors
    /// As [`Self::plan_in`].
    #[inline]
    pub fn plan(
        &self,
        lost: impl IntoIterator<Item: Borrow<usize>>,
        sources: impl IntoIterator<Item: Borrow<usize>>,
        zeros: CellSet,
    ) -> Result<RebuildPlan<Inline<K, M>>, Error> {
        self.plan_in(lost, sources, zeros, Inline::default())
    }
}

/// A code whose schema is known at run time only, in memory of the caller's: `[u8; N]`, `&mut [u8]`, or with the feature `alloc` a
/// box (`Code::new`); [`code_bytes`] says how much. It runs the same kernels and makes the same plans as
/// [`ReedSolomon`].
///
/// ```
/// use hedgerow_codec::{Code, Inline, Kernel, Matrix, code_bytes};
///
/// const K: usize = 10;
/// const M: usize = 4;
/// let code = Code::new_in(Kernel::detect(), K, M, Matrix::Cauchy, [0; code_bytes(K, M)])?;
/// let lost = [3, 12];
/// let sources = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10];
/// let plan = code.plan_in(lost, sources, Default::default(), Inline::<K, M>::default())?;
/// assert_eq!(plan.lost(), [3, 12]);
/// # Ok::<(), hedgerow_codec::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Code<S> {
    kernel: Kernel,
    k: u8,
    m: u8,
    decodes_from_any: bool,
    storage: S,
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Code<S> {
    /// A code of k data and m parity cells in `storage`, at least [`code_bytes`] of them.
    ///
    /// # Errors
    /// [`Error::Schema`]; [`Error::Storage`]; [`Error::MatrixSchema`] for a matrix that is not defined for k and m;
    /// [`Error::MatrixSize`], and with [`Matrix::Rows`] [`Error::Singular`] and [`Error::Unproven`], for a matrix of the caller's.
    pub fn new_in(kernel: Kernel, k: usize, m: usize, matrix: Matrix<'_>, storage: S) -> Result<Self, Error> {
        check_schema(k, m)?;
        let mut code =
            Self { kernel, k: k as u8, m: m as u8, decodes_from_any: matrix.decodes_from_any(), storage };
        let (needed, found) = (code_bytes(k, m), code.storage.as_ref().len());
        let bytes = code.storage.as_mut();
        let Some(bytes) = bytes.get_mut(..needed) else { return Err(Error::Storage { needed, found }) };
        let (rows, rest) = bytes.split_at_mut(k * m);
        let (stream, rest) = rest.split_at_mut(k * m);
        let (order, shapes) = rest.split_at_mut(groups(m) * k);
        fill(k, m, matrix, rows)?;
        arrange(k, m, rows, stream, order, shapes.as_chunks_mut().0);
        Ok(code)
    }

    #[inline]
    fn view(&self) -> View<'_> {
        let (k, m) = (usize::from(self.k), usize::from(self.m));
        let (rows, rest) = split(self.storage.as_ref(), k * m);
        let (stream, rest) = split(rest, k * m);
        let (order, rest) = split(rest, groups(m) * k);
        View {
            kernel: self.kernel,
            k,
            m,
            decodes_from_any: self.decodes_from_any,
            rows,
            stream,
            order,
            shapes: split(rest.as_chunks().0, groups(m)).0,
        }
    }
}

#[inline]
fn split<T>(all: &[T], at: usize) -> (&[T], &[T]) {
    all.split_at(at.min(all.len()))
}

#[cfg(feature = "alloc")]
impl Code<alloc::boxed::Box<[u8]>> {
    /// A code in a box.
    ///
    /// # Errors
    /// As [`Code::new_in`].
    pub fn new(kernel: Kernel, k: usize, m: usize, matrix: Matrix<'_>) -> Result<Self, Error> {
        check_schema(k, m)?;
        Self::new_in(kernel, k, m, matrix, alloc::vec![0; code_bytes(k, m)].into_boxed_slice())
    }
}

/// What every code does; the same text for both types.
macro_rules! methods {
    ($($head:tt)*) => {
        $($head)* {
            /// Data cells of a stripe.
            #[must_use]
            pub fn k(&self) -> usize {
                self.view().k
            }

            /// Parity cells of a stripe.
            #[must_use]
            pub fn m(&self) -> usize {
                self.view().m
            }

            /// The kernel that runs.
            #[must_use]
            pub fn kernel(&self) -> Kernel {
                self.kernel
            }

            /// The same code on another kernel.
            #[must_use]
            pub fn with_kernel(mut self, kernel: Kernel) -> Self {
                self.kernel = kernel;
                self
            }

            /// The coefficient of data cell `data` in parity cell `parity` (0 to m - 1).
            #[must_use]
            pub fn coefficient(&self, parity: usize, data: usize) -> Option<u8> {
                let view = self.view();
                (parity < view.m && data < view.k).then(|| view.at(parity, data))
            }

            /// Computes the m parity cells of the k data cells; all of one length, which may be anything.
            ///
            /// # Errors
            /// [`Error::SourceCount`], [`Error::OutputCount`], [`Error::SourceLength`], [`Error::OutputLength`].
            #[inline]
            pub fn encode<B: OutputByte>(&self, data: &[&[u8]], parity: &mut [&mut [B]]) -> Result<(), Error> {
                self.view().encode(data, parity, Destination::ReadSoon)
            }

            /// [`Self::encode`], told what happens to the parity next.
            ///
            /// # Errors
            /// As [`Self::encode`].
            #[inline]
            pub fn encode_to<B: OutputByte>(
                &self,
                data: &[&[u8]],
                parity: &mut [&mut [B]],
                to: Destination,
            ) -> Result<(), Error> {
                self.view().encode(data, parity, to)
            }

            /// [`Self::encode`] in slices of `slice` bytes of each cell: after each, `finished` is given its byte range, the data and the
            /// parity cells, while both are still in the cache. So a writer checksums or sends what was just computed without
            /// fetching it from memory again; some 32 KiB suit most CPUs.
            ///
            /// # Errors
            /// As [`Self::encode`], and [`Error::SliceLength`] for slices of 0 bytes.
            pub fn encode_slices(
                &self,
                data: &[&[u8]],
                parity: &mut [&mut [u8]],
                slice: usize,
                finished: impl FnMut(Range<usize>, &[&[u8]], &[&mut [u8]]),
            ) -> Result<(), Error> {
                self.view().encode_slices(data, parity, slice, finished)
            }

            /// [`Self::encode`] for the last stripe of a file: data cells may be shorter than the parity cells, or
            /// empty; the bytes they lack are zero, and nobody has to write them.
            ///
            /// # Errors
            /// [`Error::SourceCount`], [`Error::OutputCount`], [`Error::OutputLength`] for parity cells of different lengths,
            /// [`Error::SourceLength`] for a data cell longer than them.
            pub fn encode_short<B: OutputByte>(
                &self,
                data: &[&[u8]],
                parity: &mut [&mut [B]],
                to: Destination,
            ) -> Result<(), Error> {
                self.view().encode_short(data, parity, to)
            }

            /// Changes all m parity cells for a change of one data cell from `old` to `new`.
            ///
            /// # Errors
            /// [`Error::CellIndex`] for a cell that is not data, and those of [`Self::encode`].
            pub fn update(
                &self,
                cell: usize,
                old: &[u8],
                new: &[u8],
                parity: &mut [&mut [u8]],
            ) -> Result<(), Error> {
                self.view().update(cell, &[old, new], parity)
            }

            /// [`Self::update`], given the difference (XOR) of old and new bytes.
            ///
            /// # Errors
            /// As [`Self::update`].
            pub fn update_by(&self, cell: usize, difference: &[u8], parity: &mut [&mut [u8]]) -> Result<(), Error> {
                self.view().update(cell, &[difference], parity)
            }

            /// Whether the parity cells are those of the data cells: the first difference, or `None`. Nothing is written.
            ///
            /// # Errors
            /// As [`Self::encode`].
            pub fn verify(&self, data: &[&[u8]], parity: &[&[u8]]) -> Result<Option<Mismatch>, Error> {
                self.view().verify(data, parity)
            }

            /// A plan to rebuild `lost` (1 to m cells) from exactly k `sources`, in `storage`, at least
            /// [`plan_bytes`](crate::plan_bytes). Cells may be named in any order; arrays, slices, iterators and [`CellSet`]s
            /// do. Sources in `zeros` are known to be zero (they lie beyond the end of the file): they count among the k, but are
            /// neither read nor passed.
            ///
            /// # Errors
            /// [`Error::CellIndex`], [`Error::Duplicate`], [`Error::LostCount`], [`Error::TooFewSources`], [`Error::SourceCount`],
            /// [`Error::LostZero`], [`Error::Storage`]; [`Error::Singular`] if these sources do not determine all data cells, which
            /// happens only with [`Matrix::RowsUnproven`].
            #[inline]
            pub fn plan_in<P: PlanStorage>(
                &self,
                lost: impl IntoIterator<Item: Borrow<usize>>,
                sources: impl IntoIterator<Item: Borrow<usize>>,
                zeros: CellSet,
                storage: P,
            ) -> Result<RebuildPlan<P>, Error> {
                RebuildPlan::new(&self.view(), lost, sources, zeros, storage)
            }

            /// [`Self::plan_in`] with memory in a box.
            ///
            /// # Errors
            /// As [`Self::plan_in`].
            #[cfg(feature = "alloc")]
            pub fn plan_boxed(
                &self,
                lost: impl IntoIterator<Item: Borrow<usize>>,
                sources: impl IntoIterator<Item: Borrow<usize>>,
                zeros: CellSet,
            ) -> Result<RebuildPlan<alloc::boxed::Box<[u8]>>, Error> {
                let view = self.view();
                let storage = alloc::vec![0; crate::plan_bytes(view.k, view.m)].into_boxed_slice();
                self.plan_in(lost, sources, zeros, storage)
            }

            /// The cheapest k cells from which `lost` can be rebuilt. `costs` has one entry for each of the k + m cells: `None` for a cell
            /// that can't be read, 0 for one that is there already or known to be zero. Of equal costs the lower cell is
            /// taken.
            ///
            /// # Errors
            /// [`Error::SourceCount`] for another number of costs, [`Error::CellIndex`], [`Error::TooFewSources`];
            /// [`Error::Singular`] if all cells that can be read do not decode, only with [`Matrix::RowsUnproven`].
            pub fn cheapest(&self, lost: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error> {
                self.view().cheapest(lost, costs)
            }

            /// The cheapest cells to read to have all of `wanted`: those themselves if all can be read; else those of them that can, and the
            /// cheapest others that make k. `costs` as for [`Self::cheapest`].
            ///
            /// # Errors
            /// As [`Self::cheapest`].
            pub fn minimum_to_read(&self, wanted: CellSet, costs: &[Option<u32>]) -> Result<CellSet, Error> {
                self.view().minimum(wanted, costs)
            }
        }
    };
}

methods!(impl<const K: usize, const M: usize> ReedSolomon<K, M>);
methods!(impl<S: AsRef<[u8]> + AsMut<[u8]>> Code<S>);

impl<const K: usize, const M: usize> PartialEq for ReedSolomon<K, M> {
    fn eq(&self, other: &Self) -> bool {
        self.tables.rows == other.tables.rows
    }
}

impl<const K: usize, const M: usize> Eq for ReedSolomon<K, M> {}

impl<S, T> PartialEq<Code<T>> for Code<S>
where
    S: AsRef<[u8]> + AsMut<[u8]>,
    T: AsRef<[u8]> + AsMut<[u8]>,
{
    fn eq(&self, other: &Code<T>) -> bool {
        self.k == other.k && self.m == other.m && self.view().rows == other.view().rows
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Eq for Code<S> {}

impl<const K: usize, const M: usize> core::fmt::Debug for ReedSolomon<K, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ReedSolomon")
            .field("k", &K)
            .field("m", &M)
            .field("kernel", &self.kernel)
            .finish_non_exhaustive()
    }
}

impl<S> core::fmt::Debug for Code<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Code")
            .field("k", &self.k)
            .field("m", &self.m)
            .field("kernel", &self.kernel)
            .finish_non_exhaustive()
    }
}
