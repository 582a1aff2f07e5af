//! The figures of a row by their names: as `--json` and `--csv` write them, and published ones are compared.

use serde::Serialize;

use crate::Row;

/// A figure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// How many.
    Count(u64),
    /// How much; none where nothing can be said.
    Number(Option<f64>),
}

impl Figure {
    /// As a number; none where nothing can be said.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(count as f64),
            Self::Number(number) => number,
        }
    }
}

impl From<u64> for Figure {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Figure {
    fn from(number: f64) -> Self {
        Self::Number(Some(number).filter(|number| number.is_finite()))
    }
}

/// Each name, and the figure.
macro_rules! figures {
    ($($name:literal => |$row:ident| $figure:expr,)*) => {
        impl Row {
            /// The names of the figures.
            pub const FIGURES: &'static [&'static str] = &[$($name),*];

            /// The figures, in the order of [`FIGURES`](Self::FIGURES).
            #[must_use]
            pub fn figures(&self) -> Vec<(&'static str, Figure)> {
                vec![$(($name, { let $row = self; Figure::from($figure) })),*]
            }

            /// The figure of a name; none if there is no such name.
            #[must_use]
            pub fn figure(&self, name: &str) -> Option<Figure> {
                match name {
                    $($name => { let $row = self; Some(Figure::from($figure)) })*
                    _ => None,
                }
            }
        }
    };
}

figures! {
    "days" => |row| row.days,
    "reads" => |row| row.reads,
    "host_minutes_over_1s" => |row| row.host_minutes_over_1s,
    "host_minutes_over_5s" => |row| row.host_minutes_over_5s,
    "hedges_per_million" => |row| row.hedges_per_million,
    "win_share" => |row| row.win_share,
    "p50_ms" => |row| row.all.quantile_ms(0.5),
    "p99_ms" => |row| row.all.quantile_ms(0.99),
    "p999_ms" => |row| row.all.quantile_ms(0.999),
    "p9999_ms" => |row| row.all.quantile_ms(0.9999),
    "affected_p99_ms" => |row| row.affected.quantile_ms(0.99),
    "max_ms" => |row| row.max_ms,
    "extra_cell_share" => |row| row.extra_cell_share,
    "failed" => |row| row.failed,
    "hedges" => |row| row.hedges,
    "hedges_per_day" => |row| row.hedges as f64 / row.days,
    "opened" => |row| row.opened,
    "throughput" => |row| row.throughput,
    "threshold_ms" => |row| row.threshold_ms,
    "days_over_5s" => |row| row.days_over_5s,
    "clients_over_5s" => |row| row.clients_over_5s,
    "affected" => |row| row.affected.reads(),
    "affected_p50_ms" => |row| row.affected.quantile_ms(0.5),
    "affected_p999_ms" => |row| row.affected.quantile_ms(0.999),
    "affected_p99_over_threshold" => |row| row.affected.quantile_ms(0.99) / row.threshold_ms,
    "affected_max_ms" => |row| row.affected.max_ms(),
    "slowest_ms" => |row| row.all.max_ms(),
    "p99_mean_ms" => |row| mean(&row.p99_ms),
    "p99_standard_error_ms" => |row| standard_error(&row.p99_ms),
}

/// The mean; not a number if there is nothing.
fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The standard error of the mean; not a number with fewer than two.
fn standard_error(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
    let count = numbers.len() as f64;
    libm::sqrt(squares / (count - 1.0) / count)
}
