//! Named policies, and what a plan is made for.

use super::FleetError;

/// A named policy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Policy {
    /// How reads are shared among a class's nodes.
    pub sharing: Sharing,
    /// Where the classes lie.
    pub placing: Placing,
}

/// How reads are shared among a class's nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sharing {
    /// So that the bound at x is least.
    Optimised,
    /// So that the bound at x with the one t that is given is least.
    FixedT,
    /// All nodes of a class alike.
    Equal,
    /// In proportion to the service rates, at most 1: what that cuts off goes to the others in proportion.
    Proportional,
}

/// Where the classes lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Placing {
    /// Where the problem says: drawn at random, or as they are.
    AsGiven,
    /// Placed anew, each on as many nodes as before, so that the bound at x is least.
    Optimised,
}

impl Policy {
    /// All seven: `optimised`, `optimised-random-placement`, `fixed-t`, `equal`, `equal-random-placement`, `proportional`,
    /// `proportional-random-placement`.
    pub const ALL: [Self; 7] = [
        Self { sharing: Sharing::Optimised, placing: Placing::Optimised },
        Self { sharing: Sharing::Optimised, placing: Placing::AsGiven },
        Self { sharing: Sharing::FixedT, placing: Placing::Optimised },
        Self { sharing: Sharing::Equal, placing: Placing::Optimised },
        Self { sharing: Sharing::Equal, placing: Placing::AsGiven },
        Self { sharing: Sharing::Proportional, placing: Placing::Optimised },
        Self { sharing: Sharing::Proportional, placing: Placing::AsGiven },
    ];

    /// Its name. A placement that is as given is called random: that is what the published comparison compares with.
    #[must_use]
    pub fn name(self) -> &'static str {
        match (self.sharing, self.placing) {
            (Sharing::Optimised, Placing::Optimised) => "optimised",
            (Sharing::Optimised, Placing::AsGiven) => "optimised-random-placement",
            (Sharing::FixedT, Placing::Optimised) => "fixed-t",
            (Sharing::FixedT, Placing::AsGiven) => "fixed-t-random-placement",
            (Sharing::Equal, Placing::Optimised) => "equal",
            (Sharing::Equal, Placing::AsGiven) => "equal-random-placement",
            (Sharing::Proportional, Placing::Optimised) => "proportional",
            (Sharing::Proportional, Placing::AsGiven) => "proportional-random-placement",
        }
    }

    /// The policy of a name. `fixed-t-random-placement` has one, too, though it is not among [`ALL`](Self::ALL).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let unlisted = Self { sharing: Sharing::FixedT, placing: Placing::AsGiven };
        Self::ALL.into_iter().chain([unlisted]).find(|policy| policy.name() == name)
    }
}

/// How the weights and the placement are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scheme {
    /// t eliminated by the envelope, exact line search over the node loads; water-filled loads and systematic sampling for the placement.
    #[default]
    Fast,
    /// The published one: t, weights and placement (by matching) in turn. As good, and much slower.
    Alternating,
}

/// What a plan is made for.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The time that few reads should exceed: positive.
    pub x: f64,
    /// The t of [`Sharing::FixedT`], per unit of time: positive. The published value, 0.01, has no unit. A t per millisecond may be too much for
    /// busy nodes, and then the bound exists for no weights; the same number per second makes the bound trivial, and the weights those of the
    /// least mean. So the unit decides whether it means anything.
    pub fixed_t: f64,
    /// No node is planned to be busier than this share of its time: above 0 and below 1. Weights that would make one so are moved to the nearest
    /// that don't ([`Plan::capped`](crate::Plan::capped)). Where no weights hold that, it is half way between the least that can be held and 1.
    pub most_busy: f64,
    /// How the weights are found.
    pub scheme: Scheme,
    /// For what is drawn: placements.
    pub seed: u64,
}

impl Options {
    /// Plans for x, fast, with t fixed at 0.01 per unit of time (meant for milliseconds) where a policy asks for that. A node may be busy for 0.98
    /// of its time: a queue fifty times as long as a read is a cap on what is planned by mistake, not on what is wise.
    #[must_use]
    pub fn new(x: f64) -> Self {
        Self { x, fixed_t: 0.01, most_busy: 0.98, scheme: Scheme::Fast, seed: 1 }
    }

    pub(super) fn check(&self) -> Result<(), FleetError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let wrong = |name, value, allowed| Err(FleetError::Setting { name, value, allowed });
        if !positive(self.x) {
            return wrong("x", self.x, "positive and finite");
        }
        if !positive(self.fixed_t) {
            return wrong("fixed_t", self.fixed_t, "positive and finite");
        }
        if !(positive(self.most_busy) && self.most_busy < 1.0) {
            return wrong("most_busy", self.most_busy, "above 0 and below 1");
        }
        Ok(())
    }
}
