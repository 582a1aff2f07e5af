//! The axis of latencies that pictures and charts share: logarithmic, whole decades.

/// From a tenth of a millisecond, which nothing here beats by much.
const FIRST_DECADE: i32 = -1;
/// At least to a second, so that pictures of different runs look alike.
const LEAST_LAST_DECADE: i32 = 3;
/// At most to a hundred seconds.
const MOST_LAST_DECADE: i32 = 5;

/// Decades of milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    last: i32,
}

impl Axis {
    /// The axis on which latencies up to `millis` have a place.
    pub(crate) fn up_to(millis: f64) -> Self {
        let last = if millis > 0.0 { millis.log10().ceil() as i32 } else { 0 };
        Self { last: last.clamp(LEAST_LAST_DECADE, MOST_LAST_DECADE) }
    }

    /// How many decades it has.
    pub(crate) const fn decades(self) -> u32 {
        self.last.abs_diff(FIRST_DECADE)
    }

    /// Where a latency lies: from 0 at the start to 1 at the end.
    pub(crate) fn place(self, millis: f64) -> f64 {
        let decades = millis.max(f64::MIN_POSITIVE).log10() - f64::from(FIRST_DECADE);
        (decades / f64::from(self.decades())).clamp(0.0, 1.0)
    }

    /// Where each decade begins, in milliseconds, and what is written there.
    pub(crate) fn marks(self) -> impl Iterator<Item = (f64, String)> {
        (FIRST_DECADE..=self.last).map(|decade| {
            let millis = 10_f64.powi(decade);
            let text = if decade < 3 { format!("{millis} ms") } else { format!("{} s", millis / 1_000.0) };
            (millis, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_room_for_the_slowest_and_at_least_a_second() {
        for (millis, decades) in [(0.0, 4), (0.5, 4), (1_000.0, 4), (1_001.0, 5), (9e9, 6)] {
            assert_eq!(Axis::up_to(millis).decades(), decades, "{millis}");
        }
        let axis = Axis::up_to(800.0);
        assert_eq!(
            [0.0, 0.01, 0.1, 10.0, 1_000.0, 1e9].map(|millis| axis.place(millis)),
            [0.0, 0.0, 0.0, 0.5, 1.0, 1.0]
        );
    }

    #[test]
    fn each_decade_has_its_mark() {
        let marks: Vec<String> = Axis::up_to(1_500.0).marks().map(|(_, text)| text).collect();
        assert_eq!(marks, ["0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
    }
}
