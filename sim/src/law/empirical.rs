//! A law that was measured: a histogram.

use super::{LawError, not_negative, positive};

/// A histogram of times in milliseconds: bins side by side, with the mass of each spread evenly over it.
#[derive(Clone, PartialEq, Debug)]
pub struct Empirical {
    /// Where the first bin begins.
    from: f64,
    /// Where each bin ends: rising.
    edges: Vec<f64>,
    /// How many lie above each edge: never rising, 0 at the end; the first is less than `total`.
    beyond: Vec<u64>,
    /// How many there are: at least 1.
    total: u64,
}

impl Empirical {
    /// The histogram whose first bin begins at `from` and whose bins end at the rising `edges`, in milliseconds, with so many times in each.
    ///
    /// # Errors
    /// If the edges do not rise from `from`, which is 0 or more, if there is not one count for each edge, or if the counts are all 0 or
    /// their sum does not fit.
    pub fn new(from: f64, edges: &[f64], counts: &[u64]) -> Result<Self, LawError> {
        if edges.len() != counts.len() {
            return Err(LawError::Uneven { edges: edges.len(), counts: counts.len() });
        }
        not_negative("the beginning of a histogram", from)?;
        let mut last = from;
        for &edge in edges {
            positive("an edge of a histogram", edge)?;
            if edge <= last {
                return Err(LawError::NotRising { edge, last });
            }
            last = edge;
        }
        let total =
            counts.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count)).ok_or(LawError::TooMany)?;
        // Empty bins at the ends only widen the range.
        let (Some(first), Some(end)) =
            (counts.iter().position(|&count| count > 0), counts.iter().rposition(|&count| count > 0))
        else {
            return Err(LawError::Empty { what: "a histogram" });
        };
        let from = first.checked_sub(1).and_then(|before| edges.get(before)).copied().unwrap_or(from);
        let mut left = total;
        let (edges, beyond) = edges
            .iter()
            .zip(counts)
            .take(end + 1)
            .skip(first)
            .map(|(&edge, &count)| {
                left -= count;
                (edge, left)
            })
            .unzip();
        Ok(Self { from, edges, beyond, total })
    }

    /// How many times were measured.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.total
    }

    /// The bins: where each begins and ends in milliseconds, and how many are in it.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let begins = std::iter::once(self.from).chain(self.edges.iter().copied());
        let before = std::iter::once(self.total).chain(self.beyond.iter().copied());
        let ends = self.edges.iter().zip(&self.beyond);
        begins.zip(before).zip(ends).map(|((from, before), (&to, &beyond))| (from, to, before - beyond))
    }

    /// Where bin number `place` begins, and how many lie above that point.
    fn beginning(&self, place: usize) -> (f64, u64) {
        let before = place.checked_sub(1);
        before
            .and_then(|before| Some((*self.edges.get(before)?, *self.beyond.get(before)?)))
            .unwrap_or((self.from, self.total))
    }

    /// The share above `x`.
    pub(super) fn above(&self, x: f64) -> f64 {
        if x < self.from {
            return 1.0;
        }
        let place = self.edges.partition_point(|&edge| edge <= x);
        let (Some(&to), Some(&beyond)) = (self.edges.get(place), self.beyond.get(place)) else { return 0.0 };
        let (from, before) = self.beginning(place);
        (beyond as f64 + (before - beyond) as f64 * ((to - x) / (to - from))) / self.total as f64
    }

    /// The least point above which no more than the share `p` lies.
    pub(crate) fn quantile_above(&self, p: f64) -> f64 {
        let wanted = p.clamp(0.0, 1.0) * self.total as f64;
        let place = self.beyond.partition_point(|&beyond| beyond as f64 > wanted);
        let (Some(&to), Some(&beyond)) = (self.edges.get(place), self.beyond.get(place)) else {
            return self.from;
        };
        let (from, before) = self.beginning(place);
        to - (to - from) * ((wanted - beyond as f64) / (before - beyond) as f64)
    }

    /// The mean of the `power`-th power (1 or 2) of those that do not exceed `most`, times their share.
    pub(super) fn part(&self, power: u32, most: f64) -> f64 {
        let piece = |(from, to, count): (f64, f64, u64)| {
            let end = to.min(most);
            if end <= from {
                return 0.0;
            }
            let share = count as f64 / self.total as f64 * ((end - from) / (to - from));
            let mean =
                if power == 1 { (from + end) / 2.0 } else { (from * from + from * end + end * end) / 3.0 };
            share * mean
        };
        self.bins().map(piece).sum()
    }
}
