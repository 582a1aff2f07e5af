//! Fields of a line: words and `name=value` pairs, written and read without allocation.

use core::fmt::{self, Formatter, Write};

use crate::{
    Cause, CellSet, Config, ConfigError, HedgeResult, Instant, LegEnd, LegId, Mode, NodeId, Reason,
    RequestId, Span, Why,
};

/// Why a line is no event, or no plan. Positions are bytes of the line, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EventError {
    /// The line ends too early.
    Missing {
        /// What should come next.
        field: &'static str,
    },
    /// Another field should stand here.
    Field {
        /// Where.
        at: usize,
        /// Which field should.
        field: &'static str,
    },
    /// A field's value can't be read.
    Value {
        /// Where the field begins.
        at: usize,
        /// The field.
        field: &'static str,
        /// What its value must be.
        expected: &'static str,
    },
    /// There is no event of this name, at least not here.
    Event {
        /// Where the name begins.
        at: usize,
    },
    /// The rest of the line is no configuration.
    Config {
        /// Where that rest begins.
        at: usize,
        /// What is wrong with it.
        error: ConfigError,
    },
    /// The event is complete, but the line goes on.
    Beyond {
        /// From where.
        at: usize,
    },
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Missing { field } => write!(f, "the line ends where {field} should follow"),
            Self::Field { at, field } => write!(f, "at byte {at} should stand {field}"),
            Self::Value { at, field, expected } => write!(f, "{field} at byte {at} must be {expected}"),
            Self::Event { at } => write!(f, "at byte {at} should stand the name of an event"),
            Self::Config { at, error } => write!(f, "at byte {at} should follow a configuration: {error}"),
            Self::Beyond { at } => write!(f, "the line goes on at byte {at}, though all is said"),
        }
    }
}

impl core::error::Error for EventError {}

pub(super) type Result<T> = core::result::Result<T, EventError>;

/// A value that is one word without spaces.
pub(super) trait Value: Sized {
    /// What the word must be.
    const EXPECTED: &str;
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result;
    fn read(word: &str) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty: $expected:literal,)+) => { $(
        impl Value for $type {
            const EXPECTED: &str = $expected;
            fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
            fn read(word: &str) -> Option<Self> {
                // `parse` would take a plus sign.
                if word.bytes().all(|byte| byte.is_ascii_digit()) { word.parse().ok() } else { None }
            }
        }
    )+ };
}

numbers! {
    u8: "a number from 0 to 255",
    u16: "a number from 0 to 65535",
    u32: "a number from 0 to 4294967295",
    u64: "a number from 0 to 18446744073709551615",
}

/// Values that are a number by another name.
macro_rules! wrappers {
    ($($type:ty as $number:ty: $wrap:expr, $unwrap:expr,)+) => { $(
        impl Value for $type {
            const EXPECTED: &str = <$number>::EXPECTED;
            fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
                let unwrap: fn($type) -> $number = $unwrap;
                unwrap(*self).write(f)
            }
            fn read(word: &str) -> Option<Self> {
                <$number>::read(word).map($wrap)
            }
        }
    )+ };
}

wrappers! {
    Instant as u64: Instant::from_nanos, Instant::as_nanos,
    Span as u64: Span::from_nanos, Span::as_nanos,
    RequestId as u32: RequestId, |request| request.0,
}

/// Values that have a name each, in logs and for metrics. A variant without a name does not compile.
macro_rules! names {
    ($($type:ident { $($value:ident = $name:literal,)+ })+) => { $(
        impl $type {
            /// The name in logs and for metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name,)+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl Value for $type {
            const EXPECTED: &str = concat!("one of" $(, " ", $name)+);
            fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
            fn read(word: &str) -> Option<Self> {
                match word { $($name => Some($type::$value),)+ _ => None }
            }
        }
    )+ };
}

names! {
    Why { Original = "original", Degraded = "degraded", Hedge = "hedge", Eager = "eager", }
    Cause {
        Timeout = "timeout",
        Refused = "refused",
        Unreachable = "unreachable",
        Cancelled = "cancelled",
        Missing = "missing",
        Corrupt = "corrupt",
    }
    Reason {
        Off = "off",
        UnknownNode = "unknown-node",
        Breaker = "breaker",
        NoCells = "no-cells",
        DeadlineNear = "deadline-near",
        Rate = "rate",
        Budget = "budget",
        DryRun = "dry-run",
        Memory = "memory",
    }
    HedgeResult { Won = "won", Lost = "lost", Void = "void", Unused = "unused", }
}

impl Value for bool {
    const EXPECTED: &str = "yes or no";
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if *self { "yes" } else { "no" })
    }
    fn read(word: &str) -> Option<Self> {
        match word {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }
}

impl<T: Value> Value for Option<T> {
    const EXPECTED: &str = T::EXPECTED;
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Some(value) => value.write(f),
            None => f.write_char('-'),
        }
    }
    fn read(word: &str) -> Option<Self> {
        if word == "-" { Some(None) } else { T::read(word).map(Some) }
    }
}

impl Value for NodeId {
    const EXPECTED: &str = "a number from 0 to 4294967294, or unknown";
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if *self == Self::UNKNOWN { f.write_str("unknown") } else { self.0.write(f) }
    }
    fn read(word: &str) -> Option<Self> {
        if word == "unknown" {
            Some(Self::UNKNOWN)
        } else {
            u32::read(word).map(Self).filter(|&node| node != Self::UNKNOWN)
        }
    }
}

impl Value for LegId {
    const EXPECTED: &str = "a cell and an attempt, such as 3.1";
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.cell, self.attempt)
    }
    fn read(word: &str) -> Option<Self> {
        let (cell, attempt) = word.split_once('.')?;
        Some(Self { cell: u8::read(cell)?, attempt: u8::read(attempt)? })
    }
}

impl Value for LegEnd {
    const EXPECTED: &str = "delivered, cut, or failed: and a cause";
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered => f.write_str("delivered"),
            Self::Cut => f.write_str("cut"),
            Self::Failed(cause) => {
                f.write_str("failed:")?;
                cause.write(f)
            }
        }
    }
    fn read(word: &str) -> Option<Self> {
        match word {
            "delivered" => Some(Self::Delivered),
            "cut" => Some(Self::Cut),
            _ => Cause::read(word.strip_prefix("failed:")?).map(Self::Failed),
        }
    }
}

impl Value for Mode {
    const EXPECTED: &str = "off, hedge, dry-run, or eager: and a number of cells";
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Hedge => f.write_str("hedge"),
            Self::DryRun => f.write_str("dry-run"),
            Self::Eager(cells) => write!(f, "eager:{cells}"),
        }
    }
    fn read(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "hedge" => Some(Self::Hedge),
            "dry-run" => Some(Self::DryRun),
            _ => u8::read(word.strip_prefix("eager:")?).map(Self::Eager),
        }
    }
}

/// The value of a field that is no more than its name.
pub(super) struct Nothing;

impl Value for Nothing {
    const EXPECTED: &str = "no more than that";
    fn write(&self, _: &mut Formatter<'_>) -> fmt::Result {
        Ok(())
    }
    fn read(word: &str) -> Option<Self> {
        word.is_empty().then_some(Self)
    }
}

/// Values with commas between them.
fn write_list<T: Value>(values: impl IntoIterator<Item = T>, f: &mut Formatter<'_>) -> fmt::Result {
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        value.write(f)?;
    }
    Ok(())
}

impl Value for CellSet {
    const EXPECTED: &str = "cells from 0 to 63 in rising order with commas between them, or -";
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_empty() { f.write_char('-') } else { write_list(*self, f) }
    }
    fn read(word: &str) -> Option<Self> {
        let mut set = Self::EMPTY;
        if word == "-" {
            return Some(set);
        }
        for cell in word.split(',') {
            let cell = Self::one(u8::read(cell)?);
            if cell.bits() <= set.bits() {
                return None;
            }
            set |= cell;
        }
        Some(set)
    }
}

/// Writes ` name=value`; names in this file end with `=`.
pub(super) fn put(f: &mut Formatter<'_>, name: &str, value: &impl Value) -> fmt::Result {
    write!(f, " {name}")?;
    value.write(f)
}

pub(super) fn put_list(f: &mut Formatter<'_>, name: &str, values: &[impl Value + Copy]) -> fmt::Result {
    write!(f, " {name}")?;
    write_list(values.iter().copied(), f)
}

/// What is still to be read of a line.
pub(super) struct Line<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Line<'a> {
    pub(super) const fn new(whole: &'a str) -> Self {
        Self { whole, rest: whole }
    }

    /// Where the next word begins.
    fn at(&mut self) -> usize {
        self.rest = self.rest.trim_ascii_start();
        self.whole.len() - self.rest.len()
    }

    /// The next word, and where it begins.
    fn word(&mut self, field: &'static str) -> Result<(usize, &'a str)> {
        let at = self.at();
        let end = self.rest.find(|char: char| char.is_ascii_whitespace()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(EventError::Missing { field });
        }
        self.rest = rest;
        Ok((at, word))
    }

    /// The value of the field that must come next.
    pub(super) fn take<T: Value>(&mut self, field: &'static str) -> Result<T> {
        let (at, word) = self.word(field)?;
        let value = word.strip_prefix(field).ok_or(EventError::Field { at, field })?;
        T::read(value).ok_or(EventError::Value { at, field, expected: T::EXPECTED })
    }

    /// As [`take`](Self::take), one value for each cell that there is room for.
    pub(super) fn take_list<T: Value + Copy, const N: usize>(
        &mut self,
        field: &'static str,
        blank: T,
    ) -> Result<[T; N]> {
        let (at, word) = self.word(field)?;
        let mut words =
            word.strip_prefix(field).ok_or(EventError::Field { at, field })?.split_terminator(',');
        let mut values = [blank; N];
        let all_read = values.iter_mut().all(|value| {
            let read = words.next().and_then(T::read);
            *value = read.unwrap_or(blank);
            read.is_some()
        });
        if all_read && words.next().is_none() {
            Ok(values)
        } else {
            let expected = "a value for each cell there is room for, with commas between them";
            Err(EventError::Value { at, field, expected })
        }
    }

    /// The instant and the name of an event, and where that begins.
    pub(super) fn head(&mut self) -> Result<(Instant, usize, &'a str)> {
        let field = "the instant";
        let (at, word) = self.word(field)?;
        let instant =
            Instant::read(word).ok_or(EventError::Value { at, field, expected: Instant::EXPECTED })?;
        let (at, name) = self.word("the name of an event")?;
        Ok((instant, at, name))
    }

    /// The rest of the line, as names and values of a configuration. Names that are not there have their default.
    pub(super) fn take_config(&mut self) -> Result<Config> {
        let at = self.at();
        let words = core::mem::take(&mut self.rest).split_ascii_whitespace();
        let pairs = words.map(|word| word.split_once('=').unwrap_or((word, "")));
        let mut config = Config::default();
        config.set_all(pairs).map_err(|error| EventError::Config { at, error })?;
        Ok(config)
    }

    pub(super) fn end(mut self) -> Result<()> {
        let at = self.at();
        if self.rest.is_empty() { Ok(()) } else { Err(EventError::Beyond { at }) }
    }
}
