//! The functions through which a kernel's loops are entered: one for each form and number of outputs, each with the
//! instruction set enabled, and the safe function that picks one.

/// Instantiates the loops for one instruction set.
///
/// `plain`: vectors of each source a round, first and second choice, for one to four outputs; `dyadic`: the same for two to
/// four; `six3`: the same for the twelve products of RS-6-3.
macro_rules! entries {
    ($lanes:ident $(, $features:tt)? ;
     plain: [$($m:literal: $u:literal $v:literal),+], dyadic: [$($dm:literal: $du:literal $dv:literal),+], six3: $su:literal) => {
        /// # Safety
        /// The CPU has the instruction set; with ADD the outputs have been written before.
        $(#[target_feature(enable = $features)])?
        unsafe fn plain<const M: usize, const U: usize, const V: usize, const ADD: bool>(part: Part<'_, M>, to: Destination) {
            // SAFETY: by this function's contract.
            unsafe { part.plain::<$lanes, U, V, ADD>(to) }
        }

        /// # Safety
        /// The CPU has the instruction set.
        $(#[target_feature(enable = $features)])?
        unsafe fn dyadic<const M: usize, const U: usize, const V: usize>(part: Part<'_, M>, to: Destination) {
            // SAFETY: by this function's contract.
            unsafe { part.dyadic::<$lanes, U, V>(to) }
        }

        /// # Safety
        /// The CPU has the instruction set.
        $(#[target_feature(enable = $features)])?
        unsafe fn six3(part: Part<'_, 3>, to: Destination) {
            // SAFETY: by this function's contract.
            unsafe { part.six3::<$lanes, $su>(to) }
        }

        /// Outputs from `row` on, as `group` says.
        #[inline]
        pub(in crate::kernel) fn write<'a, B: OutputByte>(
            _: Token,
            job: &mut Job<'a, '_, B>,
            row: usize,
            group: Group<'a>,
            to: Destination,
        ) {
            // SAFETY: the token proves the instruction set.
            unsafe {
                match (group.form, group.rows) {
                    $((Form::Plain, $m) => plain::<$m, $u, $v, false>(Part::new(job, row, group), to),)+
                    (Form::Six3, 3) => six3(Part::new(job, row, group), to),
                    $((_, $dm) => dyadic::<$dm, $du, $dv>(Part::new(job, row, group), to),)+
                    _ => {}
                }
            }
        }

        /// The same, added to what the outputs hold; `group` is plain.
        #[inline]
        pub(in crate::kernel) fn add<'a>(_: Token, job: &mut Job<'a, '_, u8>, row: usize, group: Group<'a>) {
            // SAFETY: the token proves the instruction set; outputs of `u8` hold values.
            unsafe {
                match group.rows {
                    $($m => plain::<$m, $u, $v, true>(Part::new(job, row, group), Destination::ReadSoon),)+
                    _ => {}
                }
            }
        }
    };
}
