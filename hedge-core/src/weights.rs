//! Which cells a rebuild reads, drawn so that each is read with the share that the embedder wants for its node.

use core::fmt;

use crate::{CellSet, PlanError, ReadPlan};

/// Draws the sources of a read, and puts them first in [`ReadPlan::order`]. To draw what a read reads in the first place, wanted
/// cells included, use [`draw_read`].
///
/// `weights` has one weight for each cell of the stripe, 0 to n-1. Drawn are as many cells as a rebuild takes: k, less
/// the cells of zeros, less the wanted cells that come by themselves. If wanted cells are missing or to be avoided, that is the
/// rebuild which the read starts with, and the other wanted cells come; else it is a hedge, and all but the straggler do.
/// Candidates are the cells that are neither wanted, zeros nor missing. Of c cells drawn, cell j is one with the
/// probability `c * weight[j] / (sum of the candidates' weights)`: if the weights are probabilities that add up to c,
/// in any unit, with just those. A cell for which that is 1 or more is certain, and the others share what is left in
/// the same way.
/// A cell of weight zero, or to be avoided, is drawn only if nothing else is left, and then in the plan's order.
///
/// Drawn cells come first, all others after them, both in the order that they had. `random` is a uniform random
/// number: the same number draws the same cells. The probabilities are exact, except that 2^64 random
/// numbers can't always be shared out evenly (an error below 2^-20).
///
/// To use it together with [`Governor::prepare`](crate::GovernorView::prepare), call this first.
///
/// Source: systematic sampling with unequal probabilities, W. G. Madow, "On the Theory of Systematic Sampling, II"
/// (1949). One random offset decides everything, so cells that are neighbours in the stripe are drawn together more
/// rarely than chance would have it.
///
/// Returns the cells that were drawn.
///
/// ```
/// use hedge_core::{CellSet, ReadPlan, draw_sources};
///
/// // RS-3-2, cell 0 is lost. Cell 4 lies on a new node, which should serve every read; the others share the rest.
/// let mut plan = ReadPlan::<5>::new(3, 5);
/// plan.wanted = CellSet::from([0]);
/// plan.missing = CellSet::from([0]);
/// let drawn = draw_sources(&mut plan, &[0, 2, 2, 2, 3], 0x7fff_ffff_ffff_ffff)?;
/// assert_eq!(drawn, CellSet::from([1, 3, 4]));
/// assert_eq!(plan.order, [1, 3, 4, 0, 2]);
/// # Ok::<(), hedge_core::DrawError>(())
/// ```
///
/// # Errors
///
/// The plan would be refused by a read, or there is not one weight for each cell. The plan is as it was.
pub fn draw_sources<const N: usize>(
    plan: &mut ReadPlan<N>,
    weights: &[u32],
    random: u64,
) -> Result<CellSet, DrawError> {
    check(plan, weights)?;
    // Nobody reads a cell of zeros, so it does not matter where it lies.
    let coming = plan.wanted - plan.missing - (plan.avoid - plan.zero);
    let straggler = u8::from(coming == plan.wanted);
    let held = (plan.zero | coming).len().saturating_sub(straggler);
    let candidates = CellSet::first_n(plan.n) - plan.wanted - plan.zero - plan.missing;
    Ok(put_first(plan, candidates, plan.k.saturating_sub(held), weights, random))
}

/// Draws which cells a read reads, and has it start with those: any k cells of a stripe are as good as the wanted ones, if rebuilding
/// costs less than waiting in the longer queue. Wanted cells that were not drawn go to [`ReadPlan::avoid`], those that were leave it.
///
/// The candidates are all cells that are neither zeros nor missing, as many are drawn as with the zeros make k, and the rest is as for
/// [`draw_sources`]: with weights that add up to that number, each cell is read with exactly its probability. If all wanted cells are
/// drawn, nothing is rebuilt, and of the others only those are read that a hedge takes.
///
/// Returns the cells that were drawn.
///
/// # Errors
///
/// As [`draw_sources`].
pub fn draw_read<const N: usize>(
    plan: &mut ReadPlan<N>,
    weights: &[u32],
    random: u64,
) -> Result<CellSet, DrawError> {
    check(plan, weights)?;
    let candidates = CellSet::first_n(plan.n) - plan.zero - plan.missing;
    let count = plan.k.saturating_sub(plan.zero.len());
    let drawn = put_first(plan, candidates, count, weights, random);
    plan.avoid = (plan.avoid - (plan.wanted & drawn)) | (plan.wanted - plan.zero - plan.missing - drawn);
    Ok(drawn)
}

fn check<const N: usize>(plan: &ReadPlan<N>, weights: &[u32]) -> Result<(), DrawError> {
    plan.check().map_err(DrawError::Plan)?;
    if weights.len() != usize::from(plan.n) {
        return Err(DrawError::Length { weights: weights.len(), n: plan.n });
    }
    Ok(())
}

/// Draws `count` of the candidates, those to avoid and those without weight last, and puts them first in the order.
fn put_first<const N: usize>(
    plan: &mut ReadPlan<N>,
    candidates: CellSet,
    count: u8,
    weights: &[u32],
    random: u64,
) -> CellSet {
    let n = usize::from(plan.n);
    let count = count.min(candidates.len());
    let mut drawn = draw(candidates - plan.avoid, count, weights, random);
    for pool in [candidates - plan.avoid, candidates] {
        for &cell in &plan.order[..n] {
            if drawn.len() < count && pool.contains(cell) {
                drawn.insert(cell);
            }
        }
    }
    let old = plan.order;
    let in_old_order = |first| old[..n].iter().filter(move |&&cell| drawn.contains(cell) == first);
    for (entry, &cell) in plan.order.iter_mut().zip(in_old_order(true).chain(in_old_order(false))) {
        *entry = cell;
    }
    drawn
}

/// Draws `count` of the candidates, or all with a weight if those are fewer.
fn draw(candidates: CellSet, count: u8, weights: &[u32], random: u64) -> CellSet {
    let weight = |cell: u8| weights.get(usize::from(cell)).copied().map_or(0, u64::from);
    let mut open: CellSet = candidates.iter().filter(|&cell| weight(cell) > 0).collect();
    let mut drawn = CellSet::EMPTY;
    loop {
        let left = count.saturating_sub(drawn.len());
        if open.len() <= left {
            return drawn | open;
        }
        // 64 weights below 2^32, 64 times: all that follows stays below 2^44.
        let (left, sum) = (u64::from(left), open.iter().map(weight).sum::<u64>());
        // Fewer than `left` of them, or nothing would be left for the others, which have weights too.
        let certain: CellSet = open.iter().filter(|&cell| weight(cell) * left >= sum).collect();
        if left > 0 && !certain.is_empty() {
            drawn |= certain;
            open -= certain;
            continue;
        }
        // Each cell has a stretch of `weight * left` on a line, and there is a mark every `sum`, the first at
        // the offset. A stretch is shorter than the distance of two marks: it holds one or none.
        let mut mark = ((u128::from(random) * u128::from(sum)) >> 64) as u64;
        let mut end = 0;
        for cell in open {
            end += weight(cell) * left;
            if mark < end {
                drawn.insert(cell);
                mark += sum;
            }
        }
        return drawn;
    }
}

/// Why no sources can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DrawError {
    /// There must be one weight for each cell of the stripe.
    Length {
        /// Weights given.
        weights: usize,
        /// Cells of the stripe.
        n: u8,
    },
    /// No read can be created from the plan.
    Plan(PlanError),
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { weights, n } => write!(f, "{weights} weights for a stripe of {n} cells"),
            Self::Plan(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DrawError {}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// Cell 0 is wanted and lost, unless told otherwise.
    fn plan(k: u8, n: u8) -> ReadPlan<9> {
        let mut plan = ReadPlan::new(k, n);
        plan.wanted = CellSet::from([0]);
        plan.missing = CellSet::from([0]);
        plan
    }

    /// The cells that a read of this plan starts with.
    fn launched<const N: usize>(plan: &ReadPlan<N>) -> CellSet {
        let mut read = crate::StripeRead::new(crate::Instant::ZERO, plan).unwrap();
        core::iter::from_fn(|| read.poll_output())
            .map_while(|output| match output {
                crate::Output::Launch { leg, .. } => Some(leg.cell),
                _ => None,
            })
            .collect()
    }

    /// The first random number for which the offset is `offset` of `sum`.
    fn random_for(offset: u64, sum: u64) -> u64 {
        ((u128::from(offset) << 64).div_ceil(u128::from(sum))) as u64
    }

    /// How many of the offsets below `sum` draw each cell, found by stepping through all of them.
    fn measure(candidates: CellSet, count: u8, weights: &[u32], sum: u64) -> Vec<u64> {
        let mut measure = vec![0; weights.len()];
        for offset in 0..sum {
            for cell in draw(candidates, count, weights, random_for(offset, sum)) {
                measure[usize::from(cell)] += 1;
            }
        }
        measure
    }

    #[test]
    fn weights_that_add_up_to_the_count_are_the_probabilities() {
        // In units of 1/100; 300 is a count of 3.
        let weights = [10, 20, 30, 100, 5, 95, 0, 40];
        let measure = measure(CellSet::first_n(8), 3, &weights, 300 - 100);
        // Cell 3 is certain, so 200 offsets are told apart.
        assert_eq!(measure, [20, 40, 60, 200, 10, 190, 0, 80]);
    }

    #[test]
    fn weights_that_do_not_add_up_are_scaled_and_none_counts_for_more_than_one() {
        let all = CellSet::first_n(4);
        // 10 of 13, twice: certain. The others share one draw.
        assert_eq!(measure(all, 2, &[10, 1, 1, 1], 3), [3, 1, 1, 1]);
        // Once cell 0 is certain, cell 1 is (2 * 6 >= 9), and then nothing more.
        assert_eq!(measure(all, 3, &[100, 6, 2, 1], 3), [3, 3, 2, 1]);
        assert_eq!(measure(all, 1, &[1, 2, 3, 4], 10), [1, 2, 3, 4]);
        assert_eq!(measure(all, 2, &[1, 2, 3, 4], 10), [2, 4, 6, 8]);
    }

    #[test]
    fn only_candidates_are_drawn_and_only_their_weights_count() {
        assert_eq!(measure(CellSet::from([1, 2]), 1, &[90, 1, 2, 90], 3), [0, 1, 2, 0]);
        assert_eq!(measure(CellSet::from([0, 63]), 1, &[1], 1), [1]);
    }

    #[test]
    fn weights_at_their_greatest_are_as_exact_as_any() {
        let weights = [u32::MAX; 64];
        let sum = 64 * u64::from(u32::MAX);
        for count in [1, 63] {
            for random in [0, 1, 1 << 63, u64::MAX] {
                assert_eq!(draw(CellSet::first_n(64), count, &weights, random).len(), count);
            }
            // Cell 0 is drawn by the offsets below `weight * count` and no other.
            let end = u64::from(u32::MAX) * u64::from(count);
            for (offset, is_drawn) in [(0, true), (end - 1, true), (end, false), (sum - 1, false)] {
                let drawn = draw(CellSet::first_n(64), count, &weights, random_for(offset, sum));
                assert_eq!(drawn.contains(0), is_drawn, "{count}: {offset}");
            }
        }
        assert_eq!(draw(CellSet::first_n(64), 64, &weights, 5), CellSet::first_n(64));
        assert_eq!(draw(CellSet::first_n(64), 0, &weights, 5), CellSet::EMPTY);
    }

    #[test]
    fn a_degraded_read_draws_k_and_a_read_that_holds_cells_draws_the_rest() {
        let weights = [1; 9];
        let mut degraded = plan(6, 9);
        assert_eq!(draw_sources(&mut degraded, &weights, 7).map(CellSet::len), Ok(6));
        // Cells 1 and 2 come anyhow, cell 8 is zeros: three more.
        let mut partly = plan(6, 9);
        partly.wanted = CellSet::from([0, 1, 2]);
        partly.zero = CellSet::from([8]);
        let drawn = draw_sources(&mut partly, &weights, 7).unwrap();
        assert_eq!(drawn.len(), 3);
        assert!(drawn.is_subset(CellSet::from([3, 4, 5, 6, 7])));
        // A wanted cell that is not waited for does not come.
        partly.avoid = CellSet::from([1]);
        let drawn = draw_sources(&mut partly, &weights, 7).unwrap();
        assert_eq!(drawn.len(), 4);
        assert!(drawn.is_subset(CellSet::from([3, 4, 5, 6, 7])));
    }

    #[test]
    fn a_read_that_holds_all_it_needs_draws_nothing() {
        let mut held = plan(3, 9);
        held.missing = CellSet::EMPTY;
        held.wanted = CellSet::from([0, 1, 2]);
        held.zero = CellSet::from([8]);
        let before = held;
        assert_eq!(draw_sources(&mut held, &[1; 9], 7), Ok(CellSet::EMPTY));
        assert_eq!(held, before);
    }

    #[test]
    fn a_hedge_draws_what_it_takes_without_the_straggler() {
        // RS-6-3: one of one wanted is late: six; one of six: one.
        for (wanted, sources) in [(1, 6), (2, 5), (6, 1)] {
            let mut hedged = plan(6, 9);
            hedged.missing = CellSet::EMPTY;
            hedged.wanted = CellSet::first_n(wanted);
            let drawn = draw_sources(&mut hedged, &[1; 9], 7).unwrap();
            assert_eq!(drawn.len(), sources);
            assert!((drawn & hedged.wanted).is_empty());
            assert_eq!(hedged.order[..usize::from(sources)].iter().copied().collect::<CellSet>(), drawn);
        }
    }

    #[test]
    fn a_drawn_read_reads_each_cell_with_its_share_and_not_the_wanted_ones_that_were_not_drawn() {
        // RS-3-2 in units of 1/100: 300 is k.
        let (weights, random) = ([90, 60, 30, 100, 20], 300 - 100);
        let mut read_of = [0; 5];
        for offset in 0..random {
            let mut plan = ReadPlan::<5>::new(3, 5);
            plan.wanted = CellSet::from([0, 1, 2]);
            let drawn = draw_read(&mut plan, &weights, random_for(offset, random)).unwrap();
            assert_eq!(drawn.len(), 3);
            assert_eq!(plan.avoid, plan.wanted - drawn);
            // The read launches exactly those, and no more.
            assert_eq!(launched(&plan), drawn);
            for cell in drawn {
                read_of[usize::from(cell)] += 1;
            }
        }
        assert_eq!(read_of, [180, 120, 60, 200, 40]);
    }

    #[test]
    fn a_wanted_cell_of_zeros_is_there_wherever_it_lies() {
        let mut zeros = plan(6, 9);
        zeros.missing = CellSet::EMPTY;
        zeros.wanted = CellSet::from([0, 1]);
        zeros.zero = CellSet::from([0]);
        zeros.avoid = CellSet::from([0]);
        // A hedge of cell 1.
        assert_eq!(draw_sources(&mut zeros, &[1; 9], 7).map(CellSet::len), Ok(5));
    }

    #[test]
    fn a_drawn_read_reads_what_was_drawn_also_where_it_should_be_avoided() {
        let mut scarce = ReadPlan::<5>::new(3, 5);
        scarce.wanted = CellSet::from([0, 1]);
        scarce.avoid = CellSet::from([0, 1, 2]);
        let drawn = draw_read(&mut scarce, &[1; 5], 7).unwrap();
        assert_eq!((drawn, scarce.avoid), (CellSet::from([0, 3, 4]), CellSet::from([1, 2])));
        assert_eq!(launched(&scarce), drawn);
    }

    #[test]
    fn a_drawn_read_of_replicas_reads_one_of_them() {
        let mut plan = ReadPlan::<3>::new(1, 3);
        plan.wanted = CellSet::from([0]);
        assert_eq!(draw_read(&mut plan, &[0, 0, 1], 7), Ok(CellSet::from([2])));
        assert_eq!((plan.avoid, plan.order), (CellSet::from([0]), [2, 0, 1]));
        assert_eq!(draw_read(&mut plan, &[1, 1], 7), Err(DrawError::Length { weights: 2, n: 3 }));
    }

    #[test]
    fn cells_of_weight_zero_and_cells_to_avoid_come_last_and_in_the_order_of_the_plan() {
        let mut scarce = plan(6, 9);
        scarce.order = [8, 7, 6, 5, 4, 3, 2, 1, 0];
        scarce.avoid = CellSet::from([8, 7]);
        let weights = [9, 1, 0, 1, 0, 1, 0, 100, 100];
        for random in [0, 1 << 63, u64::MAX] {
            let mut plan = scarce;
            assert_eq!(draw_sources(&mut plan, &weights, random), Ok(CellSet::from([1, 3, 5, 6, 4, 2])));
            assert_eq!(plan.order, [6, 5, 4, 3, 2, 1, 8, 7, 0]);
            // One source fewer: cell 8 comes before cell 7.
            let mut plan = scarce;
            plan.missing.insert(1);
            assert_eq!(draw_sources(&mut plan, &weights, random), Ok(CellSet::from([3, 5, 6, 4, 2, 8])));
            assert_eq!(plan.order, [8, 6, 5, 4, 3, 2, 7, 1, 0]);
        }
    }

    #[test]
    fn without_any_weight_the_order_of_the_plan_stands() {
        for random in [0, 12_345, u64::MAX] {
            let mut plan = plan(3, 6);
            plan.order = [5, 0, 3, 1, 4, 2, 77, 78, 79];
            assert_eq!(draw_sources(&mut plan, &[0; 6], random), Ok(CellSet::from([5, 3, 1])));
            assert_eq!(plan.order, [5, 3, 1, 0, 4, 2, 77, 78, 79]);
        }
    }

    #[test]
    fn a_stripe_that_is_lost_draws_what_there_is() {
        let mut lost = plan(6, 9);
        lost.missing = CellSet::from([0, 1, 2, 3, 4]);
        assert_eq!(draw_sources(&mut lost, &[1; 9], 7), Ok(CellSet::from([5, 6, 7, 8])));
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_numbers_and_changes_nothing() {
        let mut short = plan(6, 9);
        let before = short;
        for len in [0, 8, 10] {
            let error = draw_sources(&mut short, &vec![1; len], 7).unwrap_err();
            assert_eq!(error, DrawError::Length { weights: len, n: 9 });
        }
        assert_eq!(DrawError::Length { weights: 8, n: 9 }.to_string(), "8 weights for a stripe of 9 cells");
        assert_eq!(short, before);
        short.order[3] = 4;
        let error = draw_sources(&mut short, &[1; 9], 7).unwrap_err();
        assert_eq!(error, DrawError::Plan(PlanError::OrderTwice { cell: 4 }));
        assert_eq!(error.to_string(), "order names cell 4 twice");
        let mut large = plan(6, 200);
        let error = draw_sources(&mut large, &[1; 200], 7).unwrap_err();
        assert_eq!(error, DrawError::Plan(PlanError::TooManyCells { n: 200, capacity: 9 }));
    }

    const ONE: u32 = 1 << 31;

    /// Probabilities in units of 2^-31 that add up to a count, for 2 to 16 cells.
    fn probabilities() -> impl Strategy<Value = (u8, Vec<u32>)> {
        (2usize..=16).prop_flat_map(|n| {
            let moves = proptest::collection::vec((0..n, 0..n, 0..=ONE), 0..60);
            (1..=n, moves).prop_map(move |(count, moves)| {
                let mut probabilities: Vec<u32> =
                    (0..n).map(|cell| if cell < count { ONE } else { 0 }).collect();
                for (from, to, amount) in moves {
                    let amount = amount.min(probabilities[from]).min(ONE - probabilities[to]);
                    probabilities[from] -= amount;
                    probabilities[to] += amount;
                }
                (count as u8, probabilities)
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 4 } else { 512 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// The line of offsets is cut where any cell's stretch begins or ends; between two cuts nothing changes.
        #[test]
        fn each_cell_is_drawn_with_its_probability((count, probabilities) in probabilities()) {
            let all = CellSet::first_n(probabilities.len() as u8);
            let open = probabilities.iter().filter(|&&probability| probability < ONE);
            let sum: u64 = open.clone().map(|&probability| u64::from(probability)).sum();
            let left = sum / u64::from(ONE);
            prop_assert_eq!(sum % u64::from(ONE), 0);
            let line = sum.max(1);
            let mut cuts = vec![0, line];
            let mut end = 0;
            for &probability in open {
                end += u64::from(probability) * left;
                cuts.push(end % line);
            }
            cuts.sort_unstable();
            let mut measure = vec![0; probabilities.len()];
            for ends in cuts.windows(2) {
                let (first, end) = (ends[0], ends[1]);
                if first == end {
                    continue;
                }
                let drawn = draw(all, count, &probabilities, random_for(first, line));
                prop_assert_eq!(drawn.len(), count);
                prop_assert_eq!(drawn, draw(all, count, &probabilities, random_for(end - 1, line)));
                for cell in drawn {
                    measure[usize::from(cell)] += end - first;
                }
            }
            for (measure, probability) in measure.into_iter().zip(probabilities) {
                // Exactly: measure / line = probability / ONE.
                prop_assert_eq!(
                    u128::from(measure) * u128::from(ONE),
                    u128::from(probability) * u128::from(line)
                );
            }
        }

        #[test]
        fn whatever_is_drawn_the_order_names_each_cell_once(
            k in 1u8..=6,
            sets in proptest::array::uniform4(0u64..512),
            weights in proptest::array::uniform9(prop_oneof![Just(0), 1..4u32, any::<u32>()]),
            order in Just([0, 1, 2, 3, 4, 5, 6, 7, 8]).prop_shuffle(),
            random: u64,
        ) {
            let [wanted, zero, missing, avoid] = sets.map(CellSet::from_bits);
            let mut plan = ReadPlan::<9>::new(k, 9);
            plan.wanted = wanted;
            plan.zero = zero - missing;
            plan.missing = missing;
            plan.avoid = avoid;
            plan.order = order;
            prop_assume!(!wanted.is_empty());
            let before = plan;
            let drawn = draw_sources(&mut plan, &weights, random).unwrap();
            let candidates = CellSet::first_n(9) - wanted - plan.zero - missing;
            prop_assert!(drawn.is_subset(candidates));
            let coming = wanted - missing - (avoid - plan.zero);
            let held = (plan.zero | coming).len() - u8::from(coming == wanted);
            prop_assert_eq!(drawn.len(), k.saturating_sub(held).min(candidates.len()));
            // Drawn first, each part in its old order.
            let part = |drawn_ones: bool| order.into_iter().filter(move |&cell| drawn.contains(cell) == drawn_ones);
            prop_assert!(plan.order.into_iter().eq(part(true).chain(part(false))));
            plan.order = before.order;
            prop_assert_eq!(plan, before);
            // Weightless cells and cells to avoid only where all others are drawn.
            let better: CellSet =
                candidates.iter().filter(|&cell| weights[usize::from(cell)] > 0 && !avoid.contains(cell)).collect();
            prop_assert!(drawn.is_subset(better) || better.is_subset(drawn));
        }
    }
}
