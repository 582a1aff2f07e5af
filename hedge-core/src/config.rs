//! What an operator decides: the governor's limits, and the profiles.

use crate::Span;

/// The governor's configuration: plain data with public fields.
///
/// Start from a profile ([`Config::default`], [`Config::hubspot`], [`Config::replicated`]) and change what
/// should differ.
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

/// A threshold that follows what legs take: a quantile of the last minute times a factor.
///
/// With [`Factor::Spend`] the factor is the ratio of a far quantile to that quantile over the last forty
/// minutes: the scale follows at once, the shape slowly.
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
    /// The threshold while there are fewer than `10 / (1 - quantile)` samples.
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

/// When hedges count as useless: fewer than `least_won` of the last `outcomes` were won, while hedges cost
/// more than `spend_ppm` of the cells read.
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
/// the burst and a share of the cells of finished reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Millionths of the cells of finished reads: 5 000 is 0.5 %.
    pub share_ppm: u32,
    /// The burst, in cells: at least what one hedge costs, or none is ever granted.
    pub burst_cells: u16,
    /// The burst is what the client itself reads in so long, if that is more.
    pub burst_span: Span,
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
    /// Whether impaired and slow nodes are demoted: reads around them start rebuilt.
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
