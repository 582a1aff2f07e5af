//! The options that decide when a read is hedged, and what it may use.

use std::time::Duration;

use clap::{Args, ValueEnum};
use hedgerow::hedge_core::{Config, Mode, Span, Threshold};
use hedgerow::reader::ClientConfig;

use super::exit::{Exit, Stop};
use super::units;

#[derive(Args, Debug)]
#[command(next_help_heading = "Hedging")]
pub(crate) struct HedgeArgs {
    /// A request is late after so long; 0s: never [default: follows what requests take]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    threshold: Option<Duration>,
    /// Where the other limits come from
    #[arg(long, value_enum, default_value_t = Profile::Default)]
    profile: Profile,
    /// One limit, by its name: see docs/operating.md; once for each
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Memory for cells that are read or wait to be decoded
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::size)]
    memory: u64,
    /// A read that took so long has failed; 0s: never
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration)]
    deadline: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Profile {
    /// An adaptive threshold, a breaker, a budget, and slow nodes that are no longer waited for
    Default,
    /// The rules of HubSpot's HDFS client; needs --threshold
    Hubspot,
    /// For whole copies instead of parity; needs --threshold
    Replicated,
    /// No hedging; what is missing or damaged is still rebuilt
    Off,
}

impl HedgeArgs {
    /// What a client is to do.
    pub(crate) fn client(&self) -> Result<ClientConfig, Stop> {
        let mut config = ClientConfig::default();
        config.governor = self.governor()?;
        config.memory = self.memory;
        config.reserve = self.memory / 4;
        config.deadline = Some(self.deadline).filter(|deadline| !deadline.is_zero());
        config.check().map_err(|error| Stop::because(Exit::Usage, "can't read so", &error))?;
        Ok(config)
    }

    pub(crate) fn mode(&self) -> Mode {
        if self.profile == Profile::Off { Mode::Off } else { Mode::Hedge }
    }

    fn governor(&self) -> Result<Config, Stop> {
        let threshold = self.threshold.map(Span::from);
        let mut config = match self.profile {
            Profile::Default | Profile::Off => Config::default(),
            Profile::Hubspot => Config::hubspot(threshold.unwrap_or_default()),
            Profile::Replicated => Config::replicated(threshold.unwrap_or_default()),
        };
        if let Some(threshold) = threshold {
            config.threshold = Threshold::Fixed(threshold);
        }
        let pairs: Option<Vec<_>> = self.set.iter().map(|pair| pair.split_once('=')).collect();
        let pairs =
            pairs.ok_or_else(|| Stop::usage("--set wants NAME=VALUE, such as --set max.per.second=20"))?;
        config
            .set_all(pairs.iter().map(|(name, value)| (name.trim(), *value)))
            .map_err(|error| Stop::because(Exit::Usage, "--set", &error))?;
        let never = config.threshold == Threshold::Fixed(Span::default());
        if never && threshold.is_none() && matches!(self.profile, Profile::Hubspot | Profile::Replicated) {
            return Err(Stop::usage(
                "this profile hedges nothing without a --threshold, such as --threshold 250ms",
            ));
        }
        Ok(config)
    }
}
