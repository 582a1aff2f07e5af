//! What is shown of latencies, whoever measured them: strips in the terminal, charts, and times for people.

mod axis;
mod bars;
mod files;
mod page;
mod strips;
mod terminal;

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use axis::Axis;
pub(crate) use bars::{Bar, Bars};
pub(crate) use files::{at, bytes_of, new_file, text_of, write_new};
pub(crate) use page::{LEFT_EDGE, RIGHT_EDGE, escape, page};
pub(crate) use strips::{Strip, strips};
pub(crate) use terminal::{Look, Terminal};

/// A time for people: three digits and the unit.
pub(crate) fn time(millis: f64) -> String {
    match millis {
        ..9.995 => format!("{millis:.2} ms"),
        ..99.95 => format!("{millis:.1} ms"),
        ..999.5 => format!("{millis:.0} ms"),
        ..9_995.0 => format!("{:.2} s", millis / 1_000.0),
        _ => format!("{:.1} s", millis / 1_000.0),
    }
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// A number with three digits, or all of those before the point.
pub(crate) fn three_digits(number: f64) -> String {
    let decimals = match number.abs() {
        0.0 => 0,
        ..0.000_999_5 => return format!("{number:.1e}"),
        ..0.009_995 => 5,
        ..0.099_95 => 4,
        ..0.999_5 => 3,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let text = format!("{number:.decimals$}");
    // 100 and not 100.0, 2.5 and not 2.50.
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// How wide text is set.
const TEXT_WIDTH: usize = 110;

/// Running text in lines, broken between words; a word that is too long has a line of its own.
pub(crate) fn wrap(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= TEXT_WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines.join("\n")
}

/// A bar of so many steps on standard error, if that is a terminal.
pub(crate) fn progress(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len}, {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words() {
        let text = "one two\n  three ".repeat(20);
        let lines = wrap(&text);
        assert!(lines.lines().all(|line| line.len() <= TEXT_WIDTH) && lines.lines().count() > 1);
        assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        assert_eq!(wrap(""), "");
        assert_eq!(wrap(&"x".repeat(200)).len(), 200);
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.0, 0.000_123, 0.001_234, 0.099, 0.5, 2.5, 9.996, 99.96, 660.4, 123_456.0, f64::NAN];
        let texts = ["0", "1.2e-4", "0.00123", "0.099", "0.5", "2.5", "10", "100", "660", "123456", "NaN"];
        assert_eq!(numbers.map(three_digits), texts);
    }

    #[test]
    fn times_have_three_digits() {
        let times = [0.12, 1.0, 9.99, 10.0, 99.9, 100.0, 999.0, 1_000.0, 9_990.0, 12_345.0].map(time);
        let wanted = [
            "0.12 ms", "1.00 ms", "9.99 ms", "10.0 ms", "99.9 ms", "100 ms", "999 ms", "1.00 s", "9.99 s",
            "12.3 s",
        ];
        assert_eq!(times, wanted);
    }
}
