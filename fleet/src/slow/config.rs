//! How the coordinator weighs what reporters say.

use core::fmt;

use hedge_core::Span;

/// What suspects are ranked by; the other one decides among equals, then the factor, then the node's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rank {
    /// By the share of their observers that accuse them.
    #[default]
    Share,
    /// By how many reporters accuse them, as published. A node that many write to comes first, however slow it is.
    Reporters,
}

/// When a node is demoted and when no longer: plain data with public fields.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct SlowConfig {
    /// How often [`round`](crate::SlowNodes::round) is called; more than 0.
    pub round: Span,
    /// A report counts for so long after it came; more than 0.
    pub expiry: Span,
    /// What suspects are ranked by.
    pub rank: Rank,
    /// Only so many suspects count in a round, the first by rank; 1 or more.
    pub top: u32,
    /// With fewer reporters a suspect is not accused; 1 or more.
    pub least_reporters: u32,
    /// With a smaller share of its observers a suspect is not accused; 0 to 1.
    pub least_share: f64,
    /// Rounds in a row that a node must be accused in to be demoted; 1 or more.
    pub enter_rounds: u32,
    /// Rounds in a row without being accused, after which a node is demoted no longer; 1 or more.
    pub clean_rounds: u32,
    /// A node that is demoted again needs twice as many clean rounds as the last time, up to so many; not fewer than `clean_rounds`.
    pub most_clean_rounds: u32,
    /// After so many rounds without being demoted a node needs no more clean rounds than any other; 1 or more.
    pub calm_rounds: u32,
    /// No greater share of the fleet is demoted, but always one node; 0 to 1, and at 0 none at all.
    pub most_demoted: f64,
    /// If more than this share of the fleet is accused, and more than one node, nobody is demoted; 0 to 1.
    pub most_accused: f64,
    /// A report may not judge more peers than so many; 1 or more.
    pub most_peers: u32,
}

impl Default for SlowConfig {
    /// Accused by a third of the observers and three at least; demoted until six clean rounds of five minutes, at most four hours for a
    /// node that comes and goes within half a day; 2 % of the fleet at most, and nobody when more than 10 % are accused.
    fn default() -> Self {
        Self {
            round: Span::from_secs(300),
            expiry: Span::from_secs(900),
            rank: Rank::Share,
            top: u32::MAX,
            least_reporters: 3,
            least_share: 1.0 / 3.0,
            enter_rounds: 1,
            clean_rounds: 6,
            most_clean_rounds: 48,
            calm_rounds: 144,
            most_demoted: 0.02,
            most_accused: 0.10,
            most_peers: 4_096,
        }
    }
}

impl SlowConfig {
    /// As published: the `top` that most reporters accuse are demoted, and only as long as they are accused. One liar is enough.
    #[must_use]
    pub fn published(top: u32) -> Self {
        Self {
            rank: Rank::Reporters,
            top,
            least_reporters: 1,
            least_share: 0.0,
            clean_rounds: 1,
            most_clean_rounds: 1,
            most_demoted: 1.0,
            most_accused: 1.0,
            ..Self::default()
        }
    }

    /// Whether a coordinator can follow it.
    ///
    /// # Errors
    /// The first field that is out of bounds, with its value.
    pub fn check(&self) -> Result<(), SlowConfigError> {
        let zero = [
            ("round", self.round == Span::ZERO),
            ("expiry", self.expiry == Span::ZERO),
            ("top", self.top == 0),
            ("least_reporters", self.least_reporters == 0),
            ("enter_rounds", self.enter_rounds == 0),
            ("clean_rounds", self.clean_rounds == 0),
            ("calm_rounds", self.calm_rounds == 0),
            ("most_peers", self.most_peers == 0),
        ];
        for (field, zero) in zero {
            if zero {
                return Err(SlowConfigError::Zero { field });
            }
        }
        for (field, value) in [
            ("least_share", self.least_share),
            ("most_demoted", self.most_demoted),
            ("most_accused", self.most_accused),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(SlowConfigError::Share { field, value });
            }
        }
        if self.most_clean_rounds < self.clean_rounds {
            let Self { clean_rounds, most_clean_rounds, .. } = *self;
            return Err(SlowConfigError::Holds { clean_rounds, most_clean_rounds });
        }
        Ok(())
    }
}

/// Why a coordinator can't be made.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum SlowConfigError {
    /// The field is 0.
    Zero {
        /// The field of the configuration.
        field: &'static str,
    },
    /// The share is not between 0 and 1.
    Share {
        /// The field of the configuration.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// The most clean rounds are fewer than those of every node.
    Holds {
        /// `clean_rounds`.
        clean_rounds: u32,
        /// `most_clean_rounds`.
        most_clean_rounds: u32,
    },
    /// The fleet has more nodes than a coordinator keeps.
    Nodes {
        /// So many.
        nodes: u32,
        /// No more than this.
        most: u32,
    },
}

impl fmt::Display for SlowConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Zero { field } => write!(f, "{field} must be more than 0: it is 0"),
            Self::Share { field, value } => write!(f, "{field} must be from 0 to 1: it is {value:?}"),
            Self::Holds { clean_rounds, most_clean_rounds } => write!(
                f,
                "most_clean_rounds must not be less than clean_rounds: they are {most_clean_rounds} and {clean_rounds}"
            ),
            Self::Nodes { nodes, most } => {
                write!(f, "a fleet of {nodes} nodes; no more than {most} are possible")
            }
        }
    }
}

impl core::error::Error for SlowConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_out_of_bounds_is_refused_by_name() {
        let says = |change: fn(&mut SlowConfig)| {
            let mut config = SlowConfig::default();
            change(&mut config);
            alloc::format!("{}", config.check().unwrap_err())
        };
        assert_eq!(says(|config| config.round = Span::ZERO), "round must be more than 0: it is 0");
        assert_eq!(says(|config| config.least_reporters = 0), "least_reporters must be more than 0: it is 0");
        assert_eq!(says(|config| config.least_share = 1.5), "least_share must be from 0 to 1: it is 1.5");
        assert_eq!(
            says(|config| config.most_demoted = f64::NAN),
            "most_demoted must be from 0 to 1: it is NaN"
        );
        assert_eq!(
            says(|config| config.most_clean_rounds = 5),
            "most_clean_rounds must not be less than clean_rounds: they are 5 and 6"
        );
        assert_eq!(SlowConfig::default().check(), Ok(()));
        assert_eq!(SlowConfig::published(5).check(), Ok(()));
    }
}
