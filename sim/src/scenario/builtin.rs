//! The scenarios that come with this crate: the files of `sim/scenarios/`.

use super::Builtin;

macro_rules! builtin {
    ($($name:literal: $title:literal,)*) => {
        &[$(Builtin { name: $name, title: $title, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),*]
    };
}

/// In the order in which they are best read.
pub(super) const ALL: &[Builtin] = builtin! {
    "case-study": "The published case study: 650 million reads a day, with and without hedging at 250 ms",
    "failing-nodes": "A node fails: hedging of connections, and of transfers only",
    "better": "Better than the publication: the slowest reads, and what they cost, on three forms of latency",
    "impaired": "One, two, three of a hundred nodes impaired at once, ten of a thousand, all, and too many",
    "overload": "No harm: nodes busy for 90 % of their time, with the default and with a threshold far too low",
    "onset": "A slowdown begins: load from 0.3 to 0.9 for 30 s",
    "threshold": "A sensitivity picture: threshold against the slowest reads and what they cost",
    "compare": "All policies, the same load: rows, multiGets of fifty, scans; all kinds of trouble",
    "parts": "The parts of the default: each left out in turn",
    "flapping": "A node that comes and goes",
    "one-of-nine": "One of nine nodes is dead: the threshold stays near the healthy quantile",
};
