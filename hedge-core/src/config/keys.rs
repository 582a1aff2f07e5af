//! The one list of configuration names: where each value lives, its range, and what it means.

use core::fmt;

use super::error::{ConfigError, Range};
use super::value::Value;
use super::{Adaptive, Budget, Config, Factor, Probes, Record, Threshold, Useful};
use crate::Span;

/// One name.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// Where it is kept.
    pub(super) place: Place,
    /// The least and the greatest number; spans in nanoseconds.
    pub(super) least: u64,
    pub(super) most: u64,
    /// Whether a word may stand instead of the number.
    pub(super) switch: Option<Switch>,
    /// The name whose value decides whether this one has a meaning.
    pub(super) part: Option<&'static str>,
    /// For the documentation.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test that checks the documentation"))]
    pub(super) meaning: &'static str,
}

/// The field of a value; none if its part is not there.
pub(super) enum Place {
    Flag(fn(&mut Config) -> Option<&mut bool>),
    U8(fn(&mut Config) -> Option<&mut u8>),
    U16(fn(&mut Config) -> Option<&mut u16>),
    U32(fn(&mut Config) -> Option<&mut u32>),
    Span(fn(&mut Config) -> Option<&mut Span>),
    Record(fn(&mut Config) -> Option<&mut Record>),
}

/// A name that makes a part, or unmakes it.
pub(super) struct Switch {
    /// The word for "no number".
    pub(super) word: &'static str,
    /// Makes the place for the number (true), or what the word stands for (false). What is there already
    /// stays as it is.
    pub(super) turn: fn(&mut Config, bool),
    /// Parts of parts are switched after their whole.
    pub(super) depth: u8,
}

impl Switch {
    /// The value that the word stands for.
    pub(super) fn value(&self) -> Value {
        if self.word == OFF { Value::Off } else { Value::Word(self.word) }
    }
}

impl Key {
    /// A number as this name's value.
    pub(super) fn value_of(&self, number: u64) -> Value {
        match self.place {
            Place::Span(_) => Value::Millis(Span::from_nanos(number)),
            _ => Value::Number(number),
        }
    }

    /// The number, if this name has one at present.
    pub(super) fn number(&self, config: &Config) -> Option<u64> {
        let config = &mut { *config };
        match self.place {
            Place::U8(at) => at(config).map(|n| u64::from(*n)),
            Place::U16(at) => at(config).map(|n| u64::from(*n)),
            Place::U32(at) => at(config).map(|n| u64::from(*n)),
            Place::Span(at) => at(config).map(|span| span.as_nanos()),
            Place::Flag(_) | Place::Record(_) => None,
        }
    }

    /// Writes a number; false if there is no place for it, or it does not fit there.
    pub(super) fn write(&self, config: &mut Config, number: u64) -> bool {
        fn fit<T: TryFrom<u64>>(place: Option<&mut T>, number: u64) -> bool {
            match (place, T::try_from(number)) {
                (Some(place), Ok(number)) => {
                    *place = number;
                    true
                }
                _ => false,
            }
        }
        match self.place {
            Place::U8(at) => fit(at(config), number),
            Place::U16(at) => fit(at(config), number),
            Place::U32(at) => fit(at(config), number),
            Place::Span(at) => match at(config) {
                Some(span) => {
                    *span = Span::from_nanos(number);
                    true
                }
                None => false,
            },
            Place::Flag(_) | Place::Record(_) => false,
        }
    }

    pub(super) fn value(&self, config: &Config) -> Value {
        let copy = &mut { *config };
        let value = match self.place {
            Place::Flag(at) => at(copy).map(|flag| Value::Flag(*flag)),
            Place::Record(at) => at(copy).map(|record| Value::Word(record.word())),
            _ => self.number(config).map(|number| self.value_of(number)),
        };
        value.unwrap_or_else(|| match &self.switch {
            // A factor of a threshold that is not there is as absent as its floor.
            Some(switch) if matches!(config.threshold, Threshold::Adaptive(_)) => switch.value(),
            _ => Value::Off,
        })
    }

    /// Which values there are, in words.
    pub(super) fn takes(&self) -> Takes<'_> {
        Takes(self)
    }

    pub(super) fn out_of_range(&self, number: u64) -> Option<ConfigError> {
        (number < self.least || number > self.most).then(|| ConfigError::OutOfRange {
            name: self.name,
            value: self.value_of(number),
            least: self.value_of(self.least),
            most: self.value_of(self.most),
        })
    }
}

pub(super) struct Takes<'a>(&'a Key);

impl fmt::Display for Takes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key) = self;
        match key.place {
            Place::Flag(_) => f.write_str("true or false")?,
            Place::Record(_) => write!(f, "{} or {}", Record::Always.word(), Record::WhenGranted.word())?,
            _ => Range(key.value_of(key.least), key.value_of(key.most)).fmt(f)?,
        }
        match &key.switch {
            Some(switch) => write!(f, ", or {}", switch.word),
            None => Ok(()),
        }
    }
}

impl Record {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::WhenGranted => "when.granted",
        }
    }
}

pub(super) const OFF: &str = "off";

/// The key of a name without prefix.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

impl Config {
    /// Whether every value is in its range, and they go together.
    ///
    /// # Errors
    ///
    /// The first that is not, with its name, its value and what is allowed. Windows, cooldown and lease of
    /// zero are among them: each would switch a safeguard off without saying so.
    pub fn check(&self) -> Result<(), ConfigError> {
        for key in &KEYS {
            if let Some(error) = key.number(self).and_then(|number| key.out_of_range(number)) {
                return Err(error);
            }
        }
        for (name, bound) in [
            ("threshold.floor.millis", "threshold.ceiling.millis"),
            ("threshold.spend.least.milli", "threshold.spend.most.milli"),
            ("useful.least.won", "useful.outcomes"),
            ("health.hold.millis", "health.hold.max.millis"),
        ] {
            let (Some(key), Some(limit)) = (find(name), find(bound)) else { continue };
            if key.number(self) > limit.number(self) {
                let (value, most) = (key.value(self), limit.value(self));
                return Err(ConfigError::Above { name, value, bound, most });
            }
        }
        Ok(())
    }
}

fn adaptive(config: &mut Config) -> Option<&mut Adaptive> {
    match &mut config.threshold {
        Threshold::Adaptive(adaptive) => Some(adaptive),
        Threshold::Fixed(_) => None,
    }
}

/// Places within a factor that spends a target.
macro_rules! spend {
    ($field:ident) => {
        |config| match adaptive(config) {
            Some(Adaptive { factor: Factor::Spend { $field, .. }, .. }) => Some($field),
            _ => None,
        }
    };
}

const ANY_SPAN: (u64, u64) = (0, u64::MAX);
const SOME_SPAN: (u64, u64) = (1, u64::MAX);
const MILLION: u64 = 1_000_000;

const fn key(
    name: &'static str,
    place: Place,
    (least, most): (u64, u64),
    part: Option<&'static str>,
    meaning: &'static str,
) -> Key {
    Key { name, place, least, most, switch: None, part, meaning }
}

const fn switch(key: Key, word: &'static str, depth: u8, turn: fn(&mut Config, bool)) -> Key {
    Key { switch: Some(Switch { word, turn, depth }), ..key }
}

const THRESHOLD: Option<&str> = Some("threshold.millis");
const FACTOR: Option<&str> = Some("threshold.factor.milli");
const PROBE: Option<&str> = Some("probe.count");
const USEFUL: Option<&str> = Some("useful.outcomes");
const BUDGET: Option<&str> = Some("budget.share.ppm");
const FLAG: (u64, u64) = (0, 1);
const U16: (u64, u64) = (0, u16::MAX as u64);
const U32: (u64, u64) = (0, u32::MAX as u64);

/// All names, in the order in which they are listed. A part's switch stands before the part.
pub(super) static KEYS: [Key; 47] = [
    key("enabled", Place::Flag(|c| Some(&mut c.enabled)), FLAG, None, "hedge at all"),
    key("dry.run", Place::Flag(|c| Some(&mut c.dry_run)), FLAG, None, "decide and count, but grant nothing"),
    switch(
        key(
            "threshold.millis",
            Place::Span(|c| match &mut c.threshold {
                Threshold::Fixed(span) => Some(span),
                Threshold::Adaptive(_) => None,
            }),
            ANY_SPAN,
            None,
            "a leg is late so long after its start; 0: never; `adaptive`: as the legs of its size class tell",
        ),
        "adaptive",
        0,
        |c, number| match (number, c.threshold) {
            (true, Threshold::Adaptive(_)) => c.threshold = Threshold::Fixed(Span::ZERO),
            (false, Threshold::Fixed(_)) => c.threshold = Threshold::Adaptive(Adaptive::DEFAULT),
            _ => {}
        },
    ),
    key(
        "threshold.quantile.ppm",
        Place::U32(|c| adaptive(c).map(|a| &mut a.quantile_ppm)),
        (0, MILLION - 1),
        THRESHOLD,
        "the quantile that it follows, in millionths: 990000 is p99",
    ),
    switch(
        key(
            "threshold.factor.milli",
            Place::U32(|c| match adaptive(c) {
                Some(Adaptive { factor: Factor::Fixed { milli }, .. }) => Some(milli),
                _ => None,
            }),
            (1, MILLION),
            THRESHOLD,
            "what the quantile is multiplied with, in thousandths; `spend`: what makes hedges spend a target",
        ),
        "spend",
        1,
        |c, number| {
            if let Some(Adaptive { factor, .. }) = adaptive(c) {
                match (number, *factor) {
                    (true, Factor::Spend { until_known_milli, .. }) => {
                        *factor = Factor::Fixed { milli: until_known_milli };
                    }
                    (false, Factor::Fixed { .. }) => *factor = Factor::SPEND,
                    _ => {}
                }
            }
        },
    ),
    key(
        "threshold.spend.target.ppm",
        Place::U32(spend!(target_ppm)),
        (1, MILLION),
        FACTOR,
        "extra cells to spend, in millionths of the cells read",
    ),
    key("threshold.spend.cells", Place::U8(spend!(cells)), (1, 64), FACTOR, "cells of a hedge"),
    key(
        "threshold.spend.least.milli",
        Place::U32(spend!(least_milli)),
        (1, MILLION),
        FACTOR,
        "the least factor, in thousandths; at most the greatest",
    ),
    key(
        "threshold.spend.most.milli",
        Place::U32(spend!(most_milli)),
        (1, MILLION),
        FACTOR,
        "the greatest factor, in thousandths",
    ),
    key(
        "threshold.spend.until.known.milli",
        Place::U32(spend!(until_known_milli)),
        (1, MILLION),
        FACTOR,
        "the factor until enough is known, in thousandths",
    ),
    key(
        "threshold.floor.millis",
        Place::Span(|c| adaptive(c).map(|a| &mut a.floor)),
        ANY_SPAN,
        THRESHOLD,
        "never lower than this; at most the ceiling",
    ),
    key(
        "threshold.ceiling.millis",
        Place::Span(|c| adaptive(c).map(|a| &mut a.ceiling)),
        SOME_SPAN,
        THRESHOLD,
        "never higher than this",
    ),
    key(
        "threshold.until.known.millis",
        Place::Span(|c| adaptive(c).map(|a| &mut a.until_known)),
        SOME_SPAN,
        THRESHOLD,
        "the threshold while there are too few samples",
    ),
    key(
        "threshold.hedge.legs.at.quantile",
        Place::Flag(|c| adaptive(c).map(|a| &mut a.hedge_legs_at_quantile)),
        FLAG,
        THRESHOLD,
        "hedge legs are late at the bare quantile",
    ),
    key(
        "threshold.suspects.at.quantile",
        Place::Flag(|c| adaptive(c).map(|a| &mut a.suspects_at_quantile)),
        FLAG,
        THRESHOLD,
        "legs to suspected nodes are late at the bare quantile",
    ),
    switch(
        key(
            "stall.millis",
            Place::Span(|c| c.stall.as_mut()),
            SOME_SPAN,
            None,
            "a leg without a sign of life for so long is late",
        ),
        OFF,
        0,
        |c, number| c.stall = number.then(|| c.stall.unwrap_or(Span::MAX)),
    ),
    key(
        "connect.counts",
        Place::Flag(|c| Some(&mut c.connect_counts)),
        FLAG,
        None,
        "a leg's clock runs while it connects",
    ),
    key(
        "spare",
        Place::U8(|c| Some(&mut c.spare)),
        (0, 64),
        None,
        "sources more than needed, where a hedge costs more than one cell",
    ),
    key(
        "retry.floor.millis",
        Place::Span(|c| Some(&mut c.retry_floor)),
        SOME_SPAN,
        None,
        "a refused leg asks again no earlier than this",
    ),
    key(
        "impaired.window.millis",
        Place::Span(|c| Some(&mut c.impaired.window)),
        SOME_SPAN,
        None,
        "for so long a late leg counts against its node",
    ),
    key(
        "impaired.legs",
        Place::U16(|c| Some(&mut c.impaired.legs)),
        (1, u16::MAX as u64),
        None,
        "at least so many late legs make an impaired node ...",
    ),
    key(
        "impaired.share.percent",
        Place::U8(|c| Some(&mut c.impaired.share_percent)),
        (0, 99),
        None,
        "... that are more than this share of its started legs",
    ),
    key(
        "impaired.record",
        Place::Record(|c| Some(&mut c.impaired.record)),
        FLAG,
        None,
        "which late legs count: all, or those whose hedge was granted",
    ),
    key(
        "max.impaired.nodes",
        Place::U16(|c| Some(&mut c.breaker.max_impaired_nodes)),
        U16,
        None,
        "more impaired nodes than this stop hedging ...",
    ),
    key(
        "max.impaired.percent",
        Place::U8(|c| Some(&mut c.breaker.max_impaired_percent)),
        (0, 100),
        None,
        "... if they are more than this share of the nodes seen",
    ),
    key(
        "cooldown.millis",
        Place::Span(|c| Some(&mut c.breaker.cooldown)),
        SOME_SPAN,
        None,
        "how long hedging stops",
    ),
    switch(
        key(
            "probe.count",
            Place::U8(|c| c.breaker.probes.as_mut().map(|p| &mut p.count)),
            (1, 8),
            None,
            "so many hedges try it out after a stop; `off`: all may, at once",
        ),
        OFF,
        0,
        |c, number| c.breaker.probes = number.then(|| c.breaker.probes.unwrap_or(Probes::DEFAULT)),
    ),
    key(
        "probe.lease.millis",
        Place::Span(|c| c.breaker.probes.as_mut().map(|p| &mut p.lease)),
        SOME_SPAN,
        PROBE,
        "a probe not settled after so long is given up",
    ),
    switch(
        key(
            "useful.outcomes",
            Place::U8(|c| c.breaker.useful.as_mut().map(|u| &mut u.outcomes)),
            (1, 64),
            None,
            "of so many last hedges ...",
        ),
        OFF,
        0,
        |c, number| c.breaker.useful = number.then(|| c.breaker.useful.unwrap_or(Useful::DEFAULT)),
    ),
    key(
        "useful.least.won",
        Place::U8(|c| c.breaker.useful.as_mut().map(|u| &mut u.least_won)),
        (0, 64),
        USEFUL,
        "... so many must be won, or hedging stops; at most all of them",
    ),
    key(
        "useful.spend.ppm",
        Place::U32(|c| c.breaker.useful.as_mut().map(|u| &mut u.spend_ppm)),
        U32,
        USEFUL,
        "asked only while hedges cost more than this, in millionths of the cells read",
    ),
    key(
        "max.per.second",
        Place::U32(|c| Some(&mut c.max_per_second)),
        U32,
        None,
        "grants in any one second; 0: none",
    ),
    switch(
        key(
            "budget.share.ppm",
            Place::U32(|c| c.budget.as_mut().map(|b| &mut b.share_ppm)),
            (0, MILLION),
            None,
            "cells that hedges may cost without use, in millionths of the cells of finished reads; `off`: any number",
        ),
        OFF,
        0,
        |c, number| c.budget = number.then(|| c.budget.unwrap_or(Budget::DEFAULT)),
    ),
    key(
        "budget.burst.cells",
        Place::U16(|c| c.budget.as_mut().map(|b| &mut b.burst_cells)),
        U16,
        BUDGET,
        "and so many cells at once: at least what one hedge costs ...",
    ),
    key(
        "budget.burst.millis",
        Place::Span(|c| c.budget.as_mut().map(|b| &mut b.burst_span)),
        ANY_SPAN,
        BUDGET,
        "... or what the client itself reads in so long, if that is more",
    ),
    key(
        "budget.alone.cells",
        Place::U16(|c| c.budget.as_mut().map(|b| &mut b.alone_cells)),
        U16,
        BUDGET,
        "so many cells more for a late leg while original legs to at most one other node were late ...",
    ),
    key(
        "budget.alone.millis",
        Place::Span(|c| c.budget.as_mut().map(|b| &mut b.alone_span)),
        ANY_SPAN,
        BUDGET,
        "... within so long",
    ),
    key(
        "budget.gross.percent",
        Place::U16(|c| c.budget.as_mut().map(|b| &mut b.gross_percent)),
        U16,
        BUDGET,
        "cells that hedges may cost at all, in percent of the cells of finished reads, beyond ten bursts",
    ),
    key(
        "health.window.millis",
        Place::Span(|c| Some(&mut c.health.window)),
        SOME_SPAN,
        None,
        "for so long a slow leg counts against its node",
    ),
    key(
        "health.limit",
        Place::U16(|c| Some(&mut c.health.limit)),
        U16,
        None,
        "more slow legs than this make a slow node",
    ),
    key(
        "health.slow.leg.millis",
        Place::Span(|c| Some(&mut c.health.slow_leg)),
        SOME_SPAN,
        None,
        "a leg that took longer is slow",
    ),
    key(
        "health.slow.connect.millis",
        Place::Span(|c| Some(&mut c.health.slow_connect)),
        SOME_SPAN,
        None,
        "a connection that took longer to open is slow",
    ),
    key(
        "health.demote",
        Place::Flag(|c| Some(&mut c.health.demote)),
        FLAG,
        None,
        "do not wait for impaired and slow nodes of which more than half of the legs are late or slow",
    ),
    key(
        "health.max.demoted.percent",
        Place::U8(|c| Some(&mut c.health.max_demoted_percent)),
        (0, 100),
        None,
        "at most this share of the nodes seen is demoted",
    ),
    key(
        "health.probe.every",
        Place::U16(|c| Some(&mut c.health.probe_every)),
        (1, u16::MAX as u64),
        None,
        "one read in so many goes to a demoted node all the same",
    ),
    key(
        "health.hold.millis",
        Place::Span(|c| Some(&mut c.health.hold)),
        SOME_SPAN,
        None,
        "a node stays demoted for so long, twice as long each time it comes back slow ...",
    ),
    key(
        "health.hold.max.millis",
        Place::Span(|c| Some(&mut c.health.hold_max)),
        SOME_SPAN,
        None,
        "... up to this",
    ),
];
