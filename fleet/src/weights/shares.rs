//! The weights of one class: a point of {0 <= p <= 1, sum p = k}.

use alloc::vec;
use alloc::vec::Vec;

/// What draws and placements count weights in: 2^30 is a weight of one.
pub(super) const UNIT: u64 = 1 << 30;

/// Puts the nearest weights in place of these. `give` is how readily each moves, greater than 0: the distance is the sum of
/// (difference)^2 / give. Exact, but for rounding.
///
/// Source: variable fixing, G. R. Bitran and A. C. Hax, "Disaggregation and Resource Allocation Using Convex Knapsack Problems with Bounded
/// Variables" (1981): at most n rounds, usually two or three.
pub(super) fn project(shares: &mut [f64], give: &[f64], k: f64) {
    // Where everything moves far, the first pass cancels digits: the second begins between 0 and 1.
    for _ in 0..2 {
        project_once(shares, give, k);
        let sum: f64 = shares.iter().sum();
        if (sum - k).abs() <= 1e-13 * k {
            return;
        }
    }
}

fn project_once(shares: &mut [f64], give: &[f64], k: f64) {
    // Fixed coordinates are exactly 0 or 1 in `fixed`; up to 64 of them without a list of their own.
    let mut small = [None; 64];
    let mut large = Vec::new();
    let fixed: &mut [Option<f64>] = if shares.len() <= small.len() {
        &mut small[..shares.len()]
    } else {
        large.resize(shares.len(), None);
        &mut large
    };
    loop {
        let (mut sum, mut gives) = (0.0, 0.0);
        for ((share, give), fixed) in shares.iter().zip(give).zip(&*fixed) {
            match fixed {
                Some(value) => sum += value,
                None => {
                    sum += share;
                    gives += give;
                }
            }
        }
        if gives <= 0.0 {
            break;
        }
        let price = (sum - k) / gives;
        let (mut above, mut below) = (0.0, 0.0);
        for ((share, give), fixed) in shares.iter().zip(give).zip(&*fixed) {
            if fixed.is_none() {
                let moved = share - price * give;
                above += (moved - 1.0).max(0.0);
                below += (-moved).max(0.0);
            }
        }
        if above <= 0.0 && below <= 0.0 {
            for ((share, give), fixed) in shares.iter_mut().zip(give).zip(&*fixed) {
                *share = fixed.unwrap_or(*share - price * give);
            }
            return;
        }
        for ((share, give), fixed) in shares.iter().zip(give).zip(fixed.iter_mut()) {
            let moved = share - price * give;
            if fixed.is_none() && above >= below && moved > 1.0 {
                *fixed = Some(1.0);
            } else if fixed.is_none() && above < below && moved < 0.0 {
                *fixed = Some(0.0);
            }
        }
    }
    for (share, fixed) in shares.iter_mut().zip(&*fixed) {
        *share = fixed.unwrap_or(*share).clamp(0.0, 1.0);
    }
}

/// Weights in proportion to `wish`, none above 1: what is cut off is shared among the others in proportion. Where too few are wished for, the
/// others share the rest alike.
pub(super) fn in_proportion(wish: &[f64], k: f64, shares: &mut [f64]) {
    shares.fill(f64::NAN);
    let greatest = wish.iter().copied().fold(0.0, f64::max);
    let wished = |wish: f64| if greatest > 0.0 { wish.max(0.0) / greatest } else { 0.0 };
    let mut left = k;
    loop {
        let mut sum = 0.0;
        let mut open = 0_usize;
        for (&wish, share) in wish.iter().zip(&*shares) {
            if share.is_nan() {
                sum += wished(wish);
                open += 1;
            }
        }
        let by_wish = sum > 0.0 && sum.is_finite();
        let of = |wish: f64| {
            if by_wish { left * wished(wish) / sum } else { left / open as f64 }
        };
        let mut full = 0;
        for (&wish, share) in wish.iter().zip(shares.iter_mut()) {
            if share.is_nan() && of(wish) >= 1.0 {
                *share = 1.0;
                full += 1;
            }
        }
        if full == 0 || full == open {
            for (&wish, share) in wish.iter().zip(shares.iter_mut()) {
                if share.is_nan() {
                    *share = of(wish).clamp(0.0, 1.0);
                }
            }
            return;
        }
        left = (left - f64::from(full as u32)).max(0.0);
    }
}

/// The least that k nodes' prices can add up to.
pub(super) fn cheapest(prices: &mut [f64], k: f64) -> f64 {
    prices.sort_unstable_by(f64::total_cmp);
    let mut left = k;
    let mut sum = 0.0;
    for price in prices {
        if left <= 0.0 {
            break;
        }
        sum += *price * left.min(1.0);
        left -= 1.0;
    }
    sum
}

/// The weights in units of 2^-30, none above 2^30, their sum exactly k times that: what rounding loses goes to those that it took most from.
pub(super) fn in_units(shares: &[f64], k: u64) -> Vec<u32> {
    let mut units = vec![0_u32; shares.len()];
    let mut order: Vec<(f64, usize)> = Vec::with_capacity(shares.len());
    let mut sum = 0_u64;
    for (at, (share, unit)) in shares.iter().zip(&mut units).enumerate() {
        let exact = (share * UNIT as f64).clamp(0.0, UNIT as f64);
        let whole = libm::floor(exact);
        *unit = whole as u32;
        sum += whole as u64;
        order.push((exact - whole, at));
    }
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let whole = k.min(shares.len() as u64) * UNIT;
    // One each, by what was cut off; should that not be enough, as much as each can take.
    for step in [1, UNIT] {
        for &(_, at) in &order {
            if sum < whole {
                let more = (whole - sum).min(step).min(UNIT - u64::from(units[at]));
                units[at] += more as u32;
                sum += more;
            }
        }
        for &(_, at) in order.iter().rev() {
            if sum > whole {
                let less = (sum - whole).min(step).min(u64::from(units[at]));
                units[at] -= less as u32;
                sum -= less;
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The nearest point, by bisection of the price.
    fn bisected(shares: &[f64], give: &[f64], k: f64) -> Vec<f64> {
        let at = |price: f64| -> Vec<f64> {
            shares.iter().zip(give).map(|(share, give)| (share - price * give).clamp(0.0, 1.0)).collect()
        };
        let (mut low, mut high) = (-1e4, 1e4);
        for _ in 0..200 {
            let price = f64::midpoint(low, high);
            if at(price).iter().sum::<f64>() > k { low = price } else { high = price }
        }
        at(low)
    }

    proptest! {
        #[test]
        fn the_projection_is_the_nearest_point(
            cells in prop::collection::vec((-3.0..3.0_f64, 0.01..10.0_f64), 1..80),
            part in 0.01..1.0_f64,
        ) {
            let (mut shares, give): (Vec<f64>, Vec<f64>) = cells.into_iter().unzip();
            let k = libm::ceil(part * shares.len() as f64);
            let nearest = bisected(&shares, &give, k);
            project(&mut shares, &give, k);
            prop_assert!((shares.iter().sum::<f64>() - k).abs() < 1e-9);
            for (share, nearest) in shares.iter().zip(nearest) {
                prop_assert!((share - nearest).abs() < 1e-9, "{share} {nearest}");
            }
        }

        #[test]
        fn shares_in_proportion_are_capped_at_one_and_add_up_to_k(
            wish in prop::collection::vec(prop_oneof![Just(0.0), 1e-3..1e3_f64], 1..20),
            part in 0.01..1.0_f64,
        ) {
            let k = libm::ceil(part * wish.len() as f64);
            let mut shares = vec![0.0; wish.len()];
            in_proportion(&wish, k, &mut shares);
            prop_assert!((shares.iter().sum::<f64>() - k).abs() < 1e-9, "{shares:?}");
            for (a, b) in wish.iter().zip(&shares) {
                prop_assert!((0.0..=1.0).contains(b));
                for (c, d) in wish.iter().zip(&shares) {
                    if *b < 1.0 && *d < 1.0 && *a > 0.0 && *c > 0.0 {
                        prop_assert!((a * d - b * c).abs() < 1e-9 * (a * c).max(1.0), "{wish:?} {shares:?}");
                    }
                }
            }
        }

        #[test]
        fn units_add_up_exactly_and_are_off_by_one_at_most(
            wish in prop::collection::vec(0.0..1.0_f64, 1..40),
            part in 0.01..1.0_f64,
        ) {
            let k = libm::ceil(part * wish.len() as f64);
            let mut shares = vec![0.0; wish.len()];
            in_proportion(&wish, k, &mut shares);
            let units = in_units(&shares, k as u64);
            prop_assert_eq!(units.iter().map(|&unit| u64::from(unit)).sum::<u64>(), k as u64 * UNIT);
            for (unit, share) in units.into_iter().zip(shares) {
                prop_assert!(u64::from(unit) <= UNIT);
                prop_assert!((f64::from(unit) - share * UNIT as f64).abs() <= 2.0);
            }
        }
    }

    #[test]
    fn units_add_up_even_if_the_shares_do_not() {
        for shares in [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [f64::NAN, 2.0, -1.0]] {
            assert_eq!(in_units(&shares, 2).into_iter().map(u64::from).sum::<u64>(), 2 * UNIT, "{shares:?}");
        }
    }

    #[test]
    fn the_cheapest_nodes_are_taken_whole_and_the_last_in_part() {
        assert_eq!(cheapest(&mut [3.0, 1.0, 2.0], 2.0), 3.0);
        assert_eq!(cheapest(&mut [3.0, 1.0, 2.0], 1.5), 2.0);
    }
}
