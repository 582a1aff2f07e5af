//! What the terminal can show.

use std::env;
use std::io::{IsTerminal as _, stdout};

/// What standard output can show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// Characters beyond ASCII.
    pub(crate) unicode: bool,
    /// Colours.
    pub(crate) colour: bool,
}

/// How a text is to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// What matters.
    Bold,
    /// What explains.
    Dim,
    /// With hedging off.
    Off,
    /// With hedging on.
    On,
    /// As others do it.
    Other,
    /// What went wrong, or was to be seen going wrong.
    Bad,
}

impl Look {
    /// What it is called in a chart's style.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Bold | Self::Dim => "mark",
            Self::Off => "off",
            Self::On => "on",
            Self::Other => "other",
            Self::Bad => "bad",
        }
    }
}

impl Terminal {
    /// As the environment says: the locale, `NO_COLOR`, `TERM`.
    pub(crate) fn detect() -> Self {
        let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        Self {
            unicode: cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8"),
            colour: stdout().is_terminal() && set("NO_COLOR").is_none() && !dumb,
        }
    }

    /// The text, looking so.
    pub(crate) fn paint(self, look: Look, text: &str) -> String {
        if !self.colour || text.trim().is_empty() {
            return text.to_owned();
        }
        let code = match look {
            Look::Bold => "1",
            Look::Dim => "2",
            Look::Off => "33",
            Look::On => "32",
            Look::Other => "34",
            Look::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
