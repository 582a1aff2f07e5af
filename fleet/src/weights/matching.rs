//! Which node each cell of a class had best lie on: matching of least cost.

use alloc::vec;
use alloc::vec::Vec;

/// For each of `rows` rows a column of its own, so that the costs add up to the least. `costs` has the costs of row 0 first, finite; there are no
/// fewer columns than rows.
///
/// Source: the Hungarian method with shortest augmenting paths, R. Jonker and A. Volgenant, "A Shortest Augmenting Path Algorithm for Dense and
/// Sparse Linear Assignment Problems" (1987): rows^2 * columns steps.
pub(super) fn least_matching(costs: &[f64], rows: usize) -> Vec<usize> {
    let columns = costs.len().checked_div(rows).unwrap_or(0);
    debug_assert!(columns >= rows);
    let mut row_price = vec![0.0; rows];
    let mut column_price = vec![0.0; columns];
    let mut row_at: Vec<Option<usize>> = vec![None; columns];
    let mut column_of = vec![0; rows];
    let mut from = vec![0; columns];
    for first in 0..rows {
        let mut nearest = vec![f64::INFINITY; columns];
        let mut seen = vec![false; columns];
        let (mut row, mut distance) = (first, 0.0);
        let last = loop {
            let mut next: Option<usize> = None;
            for column in 0..columns {
                if seen[column] {
                    continue;
                }
                let through =
                    distance + costs[row * columns + column] - row_price[row] - column_price[column];
                if through < nearest[column] {
                    nearest[column] = through;
                    from[column] = row;
                }
                if next.is_none_or(|best| nearest[column] < nearest[best]) {
                    next = Some(column);
                }
            }
            // A column is left as long as there are no more rows than columns.
            let Some(column) = next else { return column_of };
            distance = nearest[column];
            seen[column] = true;
            match row_at[column] {
                Some(taken) => row = taken,
                None => break column,
            }
        };
        for column in 0..columns {
            if seen[column] && column != last {
                if let Some(row) = row_at[column] {
                    row_price[row] += distance - nearest[column];
                }
                column_price[column] -= distance - nearest[column];
            }
        }
        row_price[first] += distance;
        let mut column = last;
        loop {
            let row = from[column];
            let before = column_of[row];
            row_at[column] = Some(row);
            column_of[row] = column;
            if row == first {
                break;
            }
            column = before;
        }
    }
    column_of
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The least cost of rows from `row` on, with the columns that are left, by trying all.
    fn tried(costs: &[f64], rows: usize, row: usize, free: &mut Vec<bool>) -> f64 {
        if row == rows {
            return 0.0;
        }
        let columns = costs.len() / rows;
        let mut best = f64::INFINITY;
        for column in 0..columns {
            if free[column] {
                free[column] = false;
                best = best.min(costs[row * columns + column] + tried(costs, rows, row + 1, free));
                free[column] = true;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_matching_costs_less(
            (rows, costs) in (1..5_usize, 0..3_usize).prop_flat_map(|(rows, more)| {
                let cost = prop_oneof![-10.0..10.0_f64, Just(0.0), Just(1e30)];
                (Just(rows), prop::collection::vec(cost, rows * (rows + more)))
            }),
        ) {
            let columns = costs.len() / rows;
            let chosen = least_matching(&costs, rows);
            let mut free = vec![true; columns];
            let mut sum = 0.0;
            for (row, &column) in chosen.iter().enumerate() {
                prop_assert!(free[column], "column {column} twice");
                free[column] = false;
                sum += costs[row * columns + column];
            }
            let least = tried(&costs, rows, 0, &mut vec![true; columns]);
            prop_assert!(sum <= least + 1e-9 * least.abs().max(1.0), "{sum} {least}");
        }
    }
}
