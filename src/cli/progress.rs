//! What a user sees while long work goes on: a bar on standard error, if that is a terminal.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts bytes; nothing at all where nobody would see it. Gone when dropped.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar for `what`, of `length` bytes if that is known.
    pub(crate) fn bytes(what: &str, length: Option<u64>, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let (bar, template) = match length {
            Some(length) => (
                ProgressBar::new(length),
                "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            ),
            None => (ProgressBar::new_spinner(), "{msg} {spinner} {bytes}, {bytes_per_sec}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self(bar)
    }

    /// So many bytes are done, in all.
    pub(crate) fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// So many more bytes are done.
    pub(crate) fn add(&self, more: u64) {
        self.0.inc(more);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
