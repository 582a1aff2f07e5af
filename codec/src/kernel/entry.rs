//! The functions through which a kernel's loops are entered: one for each form and number of outputs, each with the
//! instruction set enabled, and the safe function that picks one.

/// Instantiates the loops for one instruction set.
///
/// `fixed`: numbers of sources and outputs known at compile time, and vectors of each source a round, first and second choice;
/// `plain`: the same for one to four outputs and any sources; `dyadic`: for two to four; `six3`: the same for the twelve products of RS-6-3.
macro_rules! entries {
    ($lanes:ident $(, $features:tt)? ;
     fixed: [$($fk:literal $fm:literal: $fu:literal $fv:literal),*],
     plain: [$($m:literal: $u:literal $v:literal),+], dyadic: [$($dm:literal: $du:literal $dv:literal),+], six3: $su:literal) => {
        /// # Safety
        /// The CPU has the instruction set; with ADD the outputs have been written before.
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn plain<const M: usize, const U: usize, const V: usize, const ADD: bool>(part: &Part<'_, M>) {
            // SAFETY: by this function's contract.
            unsafe { part.plain::<$lanes, U, V, ADD>() }
        }

        /// # Safety
        /// The CPU has the instruction set.
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn dyadic<const M: usize, const U: usize, const V: usize>(part: &Part<'_, M>) {
            // SAFETY: by this function's contract.
            unsafe { part.dyadic::<$lanes, U, V>() }
        }

        /// # Safety
        /// The CPU has the instruction set.
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn six3(part: &Part<'_, 3>) {
            // SAFETY: by this function's contract.
            unsafe { part.six3::<$lanes, $su>() }
        }

        /// # Safety
        /// The CPU has the instruction set.
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        #[allow(dead_code, reason = "not every instruction set has the registers")]
        unsafe fn fixed<const K: usize, const M: usize, const U: usize, const V: usize>(part: &Part<'_, M>) {
            // SAFETY: by this function's contract.
            unsafe { part.fixed::<$lanes, K, U, V>() }
        }

        // Streaming has functions of its own, so that the others are short and need little stack.

        /// # Safety
        /// The CPU has the instruction set; the part streams.
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn stream_plain<const M: usize>(part: &mut Part<'_, M>) {
            // SAFETY: by this function's contract.
            unsafe { part.stream_plain::<$lanes>() }
        }

        /// # Safety
        /// The CPU has the instruction set; the part streams.
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn stream_dyadic<const M: usize>(part: &mut Part<'_, M>) {
            // SAFETY: by this function's contract.
            unsafe { part.stream_dyadic::<$lanes>() }
        }

        /// Outputs from `row` on, as `group` says.
        #[inline]
        pub(in crate::kernel) fn write<B: OutputByte>(
            _: Token,
            job: &mut Job<'_, '_, B>,
            row: usize,
            group: &Group<'_>,
            to: Destination,
        ) {
            // SAFETY: the token proves the instruction set.
            unsafe {
                match (group.form, group.rows) {
                    $((Form::Plain, $fm) if job.sources().len() == $fk && group.stream.len() >= $fk * $fm && to == Destination::ReadSoon => {
                        fixed::<$fk, $fm, $fu, $fv>(&Part::new(job, row, group));
                    })*
                    $((Form::Plain, $m) => {
                        let mut part = Part::<$m>::new(job, row, group);
                        if part.streams::<$lanes>(to) {
                            stream_plain(&mut part);
                        }
                        plain::<$m, $u, $v, false>(&part);
                    })+
                    (Form::Six3, 3) if to == Destination::ReadSoon => six3(&Part::new(job, row, group)),
                    $((_, $dm) => {
                        let mut part = Part::<$dm>::new(job, row, group);
                        if part.streams::<$lanes>(to) {
                            stream_dyadic(&mut part);
                        }
                        dyadic::<$dm, $du, $dv>(&part);
                    })+
                    _ => {}
                }
            }
        }

        /// The same, added to what the outputs hold; `group` is plain.
        #[inline]
        pub(in crate::kernel) fn add(_: Token, job: &mut Job<'_, '_, u8>, row: usize, group: &Group<'_>) {
            // SAFETY: the token proves the instruction set; outputs of `u8` hold values.
            unsafe {
                match group.rows {
                    $($m => plain::<$m, $u, $v, true>(&Part::new(job, row, group)),)+
                    _ => {}
                }
            }
        }
    };
}
