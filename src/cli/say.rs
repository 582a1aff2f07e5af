//! Standard output: lines for people, JSON for machines.

use std::fmt::Display;
use std::io::{Write as _, stdout};

use serde::Serialize;

use super::exit::{Exit, Outcome, Stop};

/// Prints a line.
pub(crate) fn line(text: impl Display) -> Outcome {
    Ok(writeln!(stdout().lock(), "{text}")?)
}

/// Prints an object of JSON as a line.
pub(crate) fn json(object: &impl Serialize) -> Outcome {
    line(json_text(object)?)
}

/// An object of JSON in one line.
pub(crate) fn json_text(object: &impl Serialize) -> Result<String, Stop> {
    serde_json::to_string(object).map_err(|error| Stop::because(Exit::Failed, "can't write JSON", &error))
}

/// A number and its noun.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A size for people, and the exact number where that says less.
pub(crate) fn bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return count(bytes, "byte");
    }
    format!("{} ({bytes} bytes)", indicatif::HumanBytes(bytes))
}
