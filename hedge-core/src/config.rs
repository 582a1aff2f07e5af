//! What an operator decides: the governor's limits, and the profiles.

mod error;
mod keys;
mod names;
mod value;

pub use error::ConfigError;
pub use names::Pairs;
pub use value::{Excerpt, Value};

use crate::Span;

/// The governor's configuration: plain data with public fields.
///
/// Start from a profile ([`Config::default`], [`Config::hubspot`], [`Config::replicated`]) and change what
/// should differ, field by field or by [names and values](Config::set). [`Config::check`] tells whether the
/// whole makes sense; a governor takes no other.
///
/// # Names
///
#[doc = include_str!("config/names.md")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Whether anything is hedged at all.
    pub enabled: bool,
    /// Decide and count, but grant nothing.
    pub dry_run: bool,
    /// When a leg is late.
    pub threshold: Threshold,
    /// A leg without a sign of life for so long is late, too.
    pub stall: Option<Span>,
    /// Whether a leg's clock runs while it connects.
    pub connect_counts: bool,
    /// How many sources more than needed a hedge takes, where it costs more than one cell.
    pub spare: u8,
    /// A refused leg asks again no earlier than this after the refusal.
    pub retry_floor: Span,
    /// When a node counts as impaired.
    pub impaired: Impaired,
    /// When hedging stops for all.
    pub breaker: Breaking,
    /// At most so many grants in any one second; 0 grants none.
    pub max_per_second: u32,
    /// How many cells hedging may spend; `None`: any number.
    pub budget: Option<Budget>,
    /// When a node counts as slow, and what follows.
    pub health: Health,
}

/// When a leg is late.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Threshold {
    /// So long after its start; zero: never.
    Fixed(Span),
    /// As the legs of its size class tell.
    Adaptive(Adaptive),
}

/// A threshold that follows what legs take: a quantile of the last minute times a factor (of the last
/// two hours, for clients that read too rarely).
///
/// A far quantile of a minute is uncertain, so where two hours are known it is a nearer one of the minute, times what lies between the two
/// in these hours; unless the minute itself shows it elsewhere by more than a quarter.
///
/// With [`Factor::Spend`] the factor is the ratio of a far quantile to that quantile over the last two
/// hours: the scale follows at once, the shape slowly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Adaptive {
    /// The quantile, in millionths: 990 000 is p99. 0 to 999 999.
    pub quantile_ppm: u32,
    /// What it is multiplied with.
    pub factor: Factor,
    /// Never lower than this.
    pub floor: Span,
    /// Never higher than this.
    pub ceiling: Span,
    /// The threshold while there are fewer than `10 / (1 - quantile)` samples, also in two hours.
    pub until_known: Span,
    /// Hedge legs are late at the bare quantile, without the factor.
    pub hedge_legs_at_quantile: bool,
    /// Legs to suspected nodes are late at the bare quantile, without the factor.
    pub suspects_at_quantile: bool,
}

/// What the quantile of an adaptive threshold is multiplied with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Factor {
    /// A constant, in thousandths: 3 000 is 3.
    Fixed {
        /// Thousandths.
        milli: u32,
    },
    /// What makes hedges of so many cells spend the target: the quantile `1 - target / cells`, over the bare
    /// quantile, within the bounds.
    Spend {
        /// Extra cells, in millionths of the cells read: 1 000 is 0.1 %.
        target_ppm: u32,
        /// Cells of a hedge.
        cells: u8,
        /// The least factor, in thousandths.
        least_milli: u32,
        /// The greatest factor, in thousandths.
        most_milli: u32,
        /// The factor until enough is known, in thousandths.
        until_known_milli: u32,
    },
}

/// When a node counts as impaired: within the window at least so many of its started legs were late, and
/// more than such a share of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Impaired {
    /// The window.
    pub window: Span,
    /// At least so many late legs: 1 or more.
    pub legs: u16,
    /// More than this share of the node's started legs, in percent: 0 to 99.
    pub share_percent: u8,
    /// Which late legs count.
    pub record: Record,
}

/// Which late legs count as evidence against their node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Record {
    /// All, before any gate.
    Always,
    /// Those whose hedge was granted.
    WhenGranted,
}

/// When hedging stops for all, for how long, and how it starts again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Breaking {
    /// Open when more than so many nodes are impaired ...
    pub max_impaired_nodes: u16,
    /// ... and more than this share of the nodes seen in the window, in percent.
    pub max_impaired_percent: u8,
    /// How long it stays open.
    pub cooldown: Span,
    /// How it closes again after the cooldown; `None`: at once, and what was seen before still counts.
    pub probes: Option<Probes>,
    /// Open when hedges are of no use; `None`: never for that.
    pub useful: Option<Useful>,
}

/// How a half-open breaker tries hedging out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Probes {
    /// So many hedges at one time, and so many that must settle before it closes: 1 to 8.
    pub count: u8,
    /// A probe not settled after so long is given up.
    pub lease: Span,
}

/// When hedges count as useless: fewer than `least_won` of the last `outcomes` were won, none of them longer than the window of
/// [`Impaired`] before the next, while hedges cost more than `spend_ppm` of the cells read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Useful {
    /// How many outcomes are looked at: 1 to 64.
    pub outcomes: u8,
    /// How many of them must be won: at most `outcomes`.
    pub least_won: u8,
    /// Only while more than this is spent, in millionths of the cells read.
    pub spend_ppm: u32,
}

/// A loss budget, in cells: what is granted, less what won hedges cost, less what is refunded, stays within
/// the burst, what there is beyond it for legs that are late alone, and a share of the cells of finished reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Millionths of the cells of finished reads: 5 000 is 0.5 %.
    pub share_ppm: u32,
    /// The burst, in cells: at least what one hedge costs, or none is ever granted.
    pub burst_cells: u16,
    /// The burst is what the client itself reads in so long, if that is more.
    pub burst_span: Span,
    /// So many cells beyond the burst for a late leg that is alone: original legs to no two other nodes were late lately. Single
    /// nodes that freeze are thus hedged even if the burst was just spent, while a slowdown of all gets little more than the burst.
    pub alone_cells: u16,
    /// How long two other nodes must not both have been late.
    pub alone_span: Span,
    /// Whatever is won back: at most this share of the cells of finished reads, in percent, and ten bursts.
    pub gross_percent: u16,
}

/// When a node counts as slow, and what follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Health {
    /// The window.
    pub window: Span,
    /// More than so many slow legs within the window make a slow node.
    pub limit: u16,
    /// A leg that took longer is slow.
    pub slow_leg: Span,
    /// A connection that took longer to open is slow.
    pub slow_connect: Span,
    /// Whether impaired and slow nodes are demoted once more than half of their requests were late or slow: reads around them start
    /// rebuilt, as long as no more nodes are impaired or slow than the breaker's limits of impaired ones.
    pub demote: bool,
    /// At most this share of the nodes seen may be demoted, in percent.
    pub max_demoted_percent: u8,
    /// One read in so many goes to a demoted node all the same, to see how it does: 1 or more.
    pub probe_every: u16,
    /// A node stays demoted for at least so long, twice as long each time it comes back slow ...
    pub hold: Span,
    /// ... up to this.
    pub hold_max: Span,
}

impl Config {
    const DEFAULT: Self = Self {
        enabled: true,
        dry_run: false,
        threshold: Threshold::Adaptive(Adaptive::DEFAULT),
        stall: None,
        connect_counts: true,
        spare: 2,
        retry_floor: Span::from_millis(5),
        impaired: Impaired {
            window: Span::from_secs(60),
            legs: 3,
            share_percent: 20,
            record: Record::Always,
        },
        breaker: Breaking {
            max_impaired_nodes: 2,
            max_impaired_percent: 20,
            cooldown: Span::from_secs(10),
            probes: Some(Probes::DEFAULT),
            useful: Some(Useful::DEFAULT),
        },
        max_per_second: 200,
        budget: Some(Budget::DEFAULT),
        health: Health::DEFAULT,
    };

    /// The rules of HubSpot's hedged striped reads for HDFS, as its client's source has them.
    ///
    /// More than 2 nodes late within 60 s stop hedging for 30 s, at most 200 hedges a second are granted, and
    /// legs are late after the given threshold; zero: never, which is also that client's own default. One late
    /// leg makes an impaired node. After the cooldown hedging is simply on again, and what was seen before
    /// still counts. There is no budget, no test of usefulness, no spare, no count of slow legs, no demotion;
    /// but sources on impaired nodes are taken last, as with every profile.
    ///
    /// That client starts a leg's clock after its connection is open, so `connect_counts` is false, and no leg is ever late of which
    /// the executor does not say [`Connected`](crate::Input::Connected), also on a connection that was open before. And it asks
    /// again for a refused leg each time its threshold has passed once more, so that is the retry floor. It
    /// records a straggler only when its hedge is granted ([`Record::WhenGranted`]); the article about it reads
    /// as if every straggler were recorded, and whoever wants that sets `impaired.record = Record::Always`.
    ///
    /// ```
    /// use hedge_core::{Config, Span};
    ///
    /// let config = Config::hubspot(Span::from_millis(250));
    /// assert_eq!(config.breaker.max_impaired_nodes, 2);
    /// ```
    #[must_use]
    pub const fn hubspot(threshold: Span) -> Self {
        let again = if threshold.as_nanos() == 0 { Span::from_millis(1) } else { threshold };
        Self {
            threshold: Threshold::Fixed(threshold),
            connect_counts: false,
            spare: 0,
            retry_floor: again,
            impaired: Impaired {
                window: Span::from_secs(60),
                legs: 1,
                share_percent: 0,
                record: Record::WhenGranted,
            },
            breaker: Breaking {
                max_impaired_nodes: 2,
                max_impaired_percent: 0,
                cooldown: Span::from_secs(30),
                probes: None,
                useful: None,
            },
            max_per_second: 200,
            budget: None,
            health: Health::OFF,
            ..Self::DEFAULT
        }
    }

    /// HDFS's own hedged reads of replicated blocks
    /// ([HDFS-5776](https://issues.apache.org/jira/browse/HDFS-5776)), for reads with k = 1: whatever is late
    /// may be hedged, and nothing judges nodes.
    ///
    /// | there | here |
    /// |---|---|
    /// | `dfs.client.hedged.read.threshold.millis`, 500 if not set | `threshold`; zero is off here, there it hedges at once |
    /// | `dfs.client.hedged.read.threadpool.size`, 0 (off) if not set | the executor's: how many legs it runs at one time. Here hedging is on |
    /// | the clock of a read includes opening its connection | `connect_counts` |
    /// | one hedge a read; a further replica only after a failure | a hedge leg that is late may be hedged, too, up to n - 1 of them. For one only, give the read's plan two cells |
    /// | losers run to their end, their results dropped | the executor's answer to [`Output::Cancel`](crate::Output::Cancel) |
    /// | no rate, no budget, no breaker | limits out of reach: any rate, no budget, no node impaired or slow with fewer than 65,535 such legs within a minute; beyond that its copies are read last |
    #[must_use]
    pub const fn replicated(threshold: Span) -> Self {
        let hubspot = Self::hubspot(threshold);
        Self {
            connect_counts: true,
            impaired: Impaired { legs: u16::MAX, share_percent: 99, ..hubspot.impaired },
            breaker: Breaking { max_impaired_nodes: u16::MAX, max_impaired_percent: 100, ..hubspot.breaker },
            max_per_second: u32::MAX,
            ..hubspot
        }
    }
}

impl Default for Config {
    /// The best we know, for erasure-coded data in one data centre.
    ///
    /// The threshold is p99 times what makes hedges of 8 cells (k + 2 of RS-6-3) spend 0.105 % of the cells
    /// read, between 5 ms and 2 s, and 250 ms until it is known; hedge legs and legs to suspects are late at
    /// p99. Two spares: of eight fresh legs the sixth is there by half the time that the sixth of six takes, which is worth more than the
    /// slightly lower threshold that six cells would allow. A loss budget of 0.5 %, with a burst of one hedge or of 20 ms of the client's
    /// own reads, and two hedges more for legs that are late while at most one other node was within 1 s: with the burst alone a
    /// hundredth of the reads that meet a frozen node would find it spent on a straggler of some seconds before.
    /// 200 hedges a second as a fuse. A node is impaired after 3 late legs that are more than 20 % of its legs
    /// within 60 s; more than 2 impaired nodes that are more than 20 % of those seen stop hedging for 10 s, as
    /// do fewer than 8 hedges won of the last 32 while they spend more than 1 %; then 4 probes try it out.
    /// What is refused asks again after 5 ms at the earliest: sooner than that nothing is late.
    ///
    /// Node health: a leg is slow beyond 250 ms, 25 times a common p99 of 10 ms, so that no healthy tail
    /// gets there; a connection is slow beyond 100 ms, many times a round trip within a data centre, yet
    /// well below the second after which a lost SYN is sent again. A node is slow with its sixth such leg within
    /// 60 s: a client that froze for a moment sees one or two slow legs of each node, and must not accuse them
    /// all. It is demoted once more than half of its requests were late or slow, at most half a minute after it died; nodes
    /// that are only busy are not, since to read around them makes the others busy. At most 20 % of the nodes are demoted, so that enough cells remain to read from. Of the reads that
    /// would wait for a demoted node one in 32 does, which shows within seconds to minutes that it is well
    /// again, and costs 3 % of such reads. A node stays demoted for 30 s, half a window, and twice as long
    /// each time that it comes back slow, up to 15 minutes.
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Adaptive {
    const DEFAULT: Self = Self {
        quantile_ppm: 990_000,
        factor: Factor::SPEND,
        floor: Span::from_millis(5),
        ceiling: Span::from_secs(2),
        until_known: Span::from_millis(250),
        hedge_legs_at_quantile: true,
        suspects_at_quantile: true,
    };
}

impl Factor {
    const SPEND: Self = Self::Spend {
        target_ppm: 1_050,
        cells: 8,
        least_milli: 1_500,
        most_milli: 6_000,
        until_known_milli: 3_000,
    };
}

impl Probes {
    const DEFAULT: Self = Self { count: 4, lease: Span::from_secs(10) };
}

impl Useful {
    const DEFAULT: Self = Self { outcomes: 32, least_won: 8, spend_ppm: 10_000 };
}

impl Budget {
    const DEFAULT: Self = Self {
        share_ppm: 5_000,
        burst_cells: 8,
        burst_span: Span::from_millis(20),
        alone_cells: 16,
        alone_span: Span::from_secs(1),
        gross_percent: 100,
    };
}

impl Health {
    const DEFAULT: Self = Self {
        window: Span::from_secs(60),
        limit: 5,
        slow_leg: Span::from_millis(250),
        slow_connect: Span::from_millis(100),
        demote: true,
        max_demoted_percent: 20,
        probe_every: 32,
        hold: Span::from_secs(30),
        hold_max: Span::from_secs(15 * 60),
    };

    /// No node is ever slow, none demoted.
    const OFF: Self = Self { limit: u16::MAX, demote: false, ..Self::DEFAULT };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_valid() {
        Config::default().check().unwrap();
        for threshold in [Span::ZERO, Span::from_nanos(1), Span::from_millis(250), Span::MAX] {
            Config::hubspot(threshold).check().unwrap();
            Config::replicated(threshold).check().unwrap();
        }
    }

    #[test]
    fn the_published_limits_are_those_of_the_hubspot_profile() {
        let config = Config::hubspot(Span::from_millis(250));
        for (name, value) in [
            ("threshold.millis", Value::Millis(Span::from_millis(250))),
            ("max.impaired.nodes", Value::Number(2)),
            ("max.impaired.percent", Value::Number(0)),
            ("impaired.window.millis", Value::Millis(Span::from_secs(60))),
            ("impaired.legs", Value::Number(1)),
            ("impaired.share.percent", Value::Number(0)),
            ("impaired.record", Value::Word("when.granted")),
            ("cooldown.millis", Value::Millis(Span::from_secs(30))),
            ("max.per.second", Value::Number(200)),
            ("connect.counts", Value::Flag(false)),
            ("spare", Value::Number(0)),
            ("budget.share.ppm", Value::Off),
            ("probe.count", Value::Off),
            ("useful.outcomes", Value::Off),
            ("health.demote", Value::Flag(false)),
        ] {
            assert_eq!(config.get(name), Some(value), "{name}");
        }
        assert_eq!(Config::hubspot(Span::ZERO).threshold, Threshold::Fixed(Span::ZERO));
    }

    #[test]
    fn nothing_but_the_threshold_limits_replicated_reads() {
        let config = Config::replicated(Span::from_millis(500));
        assert_eq!(config.threshold, Threshold::Fixed(Span::from_millis(500)));
        assert_eq!((config.max_per_second, config.budget), (u32::MAX, None));
        assert_eq!((config.breaker.max_impaired_nodes, config.breaker.useful), (u16::MAX, None));
        assert!(config.connect_counts && !config.health.demote);
    }
}
