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
pub(crate) use files::{at, new_file};
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
    fn times_have_three_digits() {
        let times = [0.12, 1.0, 9.99, 10.0, 99.9, 100.0, 999.0, 1_000.0, 9_990.0, 12_345.0].map(time);
        let wanted = [
            "0.12 ms", "1.00 ms", "9.99 ms", "10.0 ms", "99.9 ms", "100 ms", "999 ms", "1.00 s", "9.99 s",
            "12.3 s",
        ];
        assert_eq!(times, wanted);
    }
}
