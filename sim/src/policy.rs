//! The policies that are compared, and their names.

mod error;
#[cfg(test)]
mod tests;

pub use error::PolicyError;

use hedge_core::{Config, ConfigError, Span, Threshold};

use crate::Code;

/// A policy, and what it is called.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// Its name: short, in small letters.
    pub name: String,
    /// What it is, for people.
    pub about: String,
    /// How it decides.
    pub kind: Kind,
    /// Reads begin with so many cells more than they need, if the governor gives leave.
    pub eager: u8,
    /// The data is written with another code than the cluster's: replicas for replicated hedging.
    pub code: Option<Code>,
}

/// How a policy decides.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// Nothing is hedged.
    None,
    /// The governor of the hedge core.
    Core(Box<Config>),
    /// As the `hedge` of the `tower` library does it: late at a quantile of what legs took that came, in two rotating windows; one hedge a read, no limit.
    Quantile {
        /// The quantile, 0 to 1.
        quantile: f64,
        /// No hedge before so many legs came.
        samples: u64,
        /// How long a window is, in seconds.
        period_s: f64,
    },
    /// As Finagle's backup requests: late at the quantile that makes this share of reads late, in a window; a token bucket holds the backups to
    /// this share.
    Backup {
        /// The share of reads that may be hedged.
        share: f64,
    },
}

/// The forms of names that are understood, with a word on each.
const FORMS: [(&str, &str); 11] = [
    ("none", "nothing is hedged"),
    ("default", "Hedgerow's default"),
    ("default-no-PART", "the default without one of its parts, which are listed below"),
    ("default-target-S%", "the default that spends S percent extra cells, such as 0.7"),
    ("fixed-MS", "the default, with a fixed threshold of MS milliseconds"),
    ("pQxF", "the default, with a threshold of the Qth percentile times F, such as p99x3"),
    ("eager-D", "the default, whose reads begin with D cells more than they need"),
    ("hubspot-MS", "HubSpot's published client; hubspot-MS-transfer-only waits for connections"),
    ("replicated-MS", "HDFS's hedged reads of data that is replicated three times"),
    ("tower-pQ", "late at the Qth percentile, as tower's hedge layer, without a limit"),
    ("finagle-S%", "S percent backup requests, as Finagle"),
];

/// A part of the default that can be left out.
struct Part {
    name: &'static str,
    /// What is set for that.
    set: &'static [(&'static str, &'static str)],
    /// What it is without.
    without: &'static str,
}

const PARTS: [Part; 9] = [
    Part {
        name: "spare",
        // A hedge then costs six cells of RS-6-3, and the target allows more of them.
        set: &[("spare", "0"), ("threshold.spend.cells", "6")],
        without: "a hedge reads k cells, without the two spares",
    },
    Part {
        name: "budget",
        set: &[("budget.share.ppm", "off")],
        without: "hedges may cost any number of cells",
    },
    Part {
        name: "alone",
        set: &[("budget.alone.cells", "0")],
        without: "a late leg has no more than the burst, even if it is alone",
    },
    Part {
        name: "breaker",
        set: &[("max.impaired.nodes", "65535"), ("max.impaired.percent", "100"), ("useful.outcomes", "off")],
        without: "nothing stops hedging for all, neither slow nodes nor useless hedges",
    },
    Part {
        name: "usefulness",
        set: &[("useful.outcomes", "off")],
        without: "hedges that are of no use don't open the breaker",
    },
    Part {
        name: "demotion",
        set: &[("health.demote", "false")],
        without: "reads wait for nodes that are known to be slow",
    },
    Part {
        name: "hedge-leg-clock",
        set: &[("threshold.hedge.legs.at.quantile", "false")],
        without: "legs of hedges are late no earlier than originals",
    },
    Part {
        name: "suspect-clock",
        set: &[("threshold.suspects.at.quantile", "false")],
        without: "legs to suspected nodes are late no earlier than others",
    },
    Part { name: "adaptive", set: &[("threshold.millis", "250")], without: "the threshold is fixed, 250 ms" },
];

/// The quantile windows of tower have no length of their own, nor does it say how many samples it takes; these are assumed.
const TOWER_PERIOD_S: f64 = 10.0;
const TOWER_SAMPLES: u64 = 100;

/// Copies of replicated data: one, and two more.
const REPLICAS: Code = Code { k: 1, m: 2 };

impl Policy {
    /// The policy of a name. [`forms`](Self::forms) and [`parts`](Self::parts) say which there are.
    ///
    /// ```
    /// use hedgerow_sim::Policy;
    ///
    /// assert_eq!(Policy::named("hubspot-250")?.eager, 0);
    /// assert!(Policy::named("hubspot-fast").is_err());
    /// # Ok::<(), hedgerow_sim::PolicyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No form fits the name, or its number is out of range.
    pub fn named(name: &str) -> Result<Self, PolicyError> {
        let named = Named(name);
        if let Some(policy) = named.of_the_default()? {
            return Ok(policy);
        }
        if let Some(policy) = named.of_others()? {
            return Ok(policy);
        }
        Err(PolicyError::Unknown { name: name.into() })
    }

    /// Another policy that differs from this one in values of the governor's [configuration](Config#names).
    ///
    /// # Errors
    ///
    /// This policy has no such configuration, or does not take the values.
    pub fn with<'a, I>(&self, name: &str, about: &str, set: I) -> Result<Self, PolicyError>
    where
        I: IntoIterator<Item = (&'a str, &'a str), IntoIter: Clone>,
    {
        let set = set.into_iter();
        let mut kind = self.kind.clone();
        if let Kind::Core(config) = &mut kind {
            config.set_all(set).map_err(|error| PolicyError::Config { name: name.into(), error })?;
        } else if set.clone().next().is_some() {
            return Err(PolicyError::NoConfig { name: name.into(), base: self.name.clone() });
        }
        Ok(Self { name: name.into(), about: about.into(), kind, ..self.clone() })
    }

    /// The forms of names that [`named`](Self::named) takes, and what each is.
    #[must_use]
    pub const fn forms() -> &'static [(&'static str, &'static str)] {
        &FORMS
    }

    /// The parts of the default that can be left out, and what it is without each.
    pub fn parts() -> impl Iterator<Item = (&'static str, &'static str)> {
        PARTS.iter().map(|part| (part.name, part.without))
    }
}

/// A name that is looked at.
#[derive(Clone, Copy)]
struct Named<'a>(&'a str);

impl Named<'_> {
    /// The default, and what differs from it in a few values.
    fn of_the_default(self) -> Result<Option<Policy>, PolicyError> {
        let name = self.0;
        if name == "default" {
            return self.default("Hedgerow's default", &[]).map(Some);
        }
        if let Some(left_out) = name.strip_prefix("default-no-") {
            let Some(part) = PARTS.iter().find(|part| part.name == left_out) else {
                return Err(PolicyError::NoPart { name: name.into(), part: left_out.into() });
            };
            return self.default(&format!("the default, but {}", part.without), part.set).map(Some);
        }
        if let Some(target) = name.strip_prefix("default-target-") {
            let ppm = percent(target).ok_or_else(|| self.no_number(target, "a percentage such as 0.7%"))?;
            let about = format!("the default that spends {target} extra cells");
            let target = ppm.to_string();
            // The budget limits what is lost, and must let the target through; whether hedges are of use is asked, as by default,
            // where ten times as much is spent.
            let share = ppm.saturating_mul(5).min(1_000_000).to_string();
            let spend = ppm.saturating_mul(10).max(10_000).to_string();
            // More hedges of quiet times are out at once in proportion.
            let usual =
                Config::default().budget.map_or((0, 0), |budget| (budget.burst_cells, budget.alone_cells));
            let times = ppm.div_ceil(1_050).max(1);
            let cells = |usual: u16| (u64::from(usual) * times).min(u64::from(u16::MAX)).to_string();
            let (burst, alone) = (cells(usual.0), cells(usual.1));
            let set = [
                ("threshold.spend.target.ppm", &target[..]),
                ("budget.burst.cells", &burst),
                ("budget.alone.cells", &alone),
                ("budget.share.ppm", &share),
                ("useful.spend.ppm", &spend),
            ];
            return self.default(&about, &set).map(Some);
        }
        if let Some(millis) = name.strip_prefix("fixed-") {
            self.threshold(millis)?;
            let about = format!("the default, with a fixed threshold of {millis} ms");
            return self.default(&about, &[("threshold.millis", millis)]).map(Some);
        }
        if let Some(more) = name.strip_prefix("eager-") {
            let eager = more.parse().ok().filter(|eager| (1..=8).contains(eager));
            let eager = eager.ok_or_else(|| self.no_number(more, "a number of cells, 1 to 8"))?;
            let about = format!("the default, whose reads begin with {more} more cells than they need");
            return Ok(Some(Policy { eager, ..self.default(&about, &[])? }));
        }
        if let Some((quantile, factor)) = name.strip_prefix('p').and_then(|rest| rest.split_once('x')) {
            let ppm =
                scaled(quantile, 4).ok_or_else(|| self.no_number(quantile, "a percentile such as 99.9"))?;
            let milli = scaled(factor, 3).ok_or_else(|| self.no_number(factor, "a factor such as 1.5"))?;
            let about = format!("the default, with a threshold of p{quantile} times {factor}");
            let (ppm, milli) = (ppm.to_string(), milli.to_string());
            let set = [("threshold.quantile.ppm", &ppm[..]), ("threshold.factor.milli", &milli)];
            return self.default(&about, &set).map(Some);
        }
        Ok(None)
    }

    /// Nothing, and what others do.
    fn of_others(self) -> Result<Option<Policy>, PolicyError> {
        let name = self.0;
        if name == "none" {
            return Ok(Some(self.policy("nothing is hedged", Kind::None)));
        }
        if let Some(rest) = name.strip_prefix("hubspot-") {
            let (millis, connect_counts) =
                rest.strip_suffix("-transfer-only").map_or((rest, true), |millis| (millis, false));
            let mut config = Config::hubspot(self.threshold(millis)?);
            config.connect_counts = connect_counts;
            let about = if connect_counts {
                format!(
                    "HubSpot's published client: {millis} ms, connections hedged too; more than 2 late nodes within 60 s stop it for 30 s, \
                     at most 200 hedges a second"
                )
            } else {
                format!(
                    "HubSpot's client without hedging of connections: the clock of {millis} ms starts when the connection is open"
                )
            };
            return Ok(Some(self.policy(&about, Kind::Core(Box::new(config)))));
        }
        if let Some(millis) = name.strip_prefix("replicated-") {
            let config = Config::replicated(self.threshold(millis)?);
            let about = format!(
                "three replicas, a read late after {millis} ms goes to the next, as HDFS-5776 does it; no limit"
            );
            let policy = self.policy(&about, Kind::Core(Box::new(config)));
            return Ok(Some(Policy { code: Some(REPLICAS), ..policy }));
        }
        if let Some(quantile) = name.strip_prefix("tower-p") {
            let ppm = scaled(quantile, 4).filter(|ppm| (1..1_000_000).contains(ppm));
            let ppm = ppm
                .ok_or_else(|| self.no_number(quantile, "a percentile above 0 and below 100, such as 95"))?;
            let about = format!(
                "as tower's hedge layer: one hedge, once a read has waited for p{quantile} of what came in the {TOWER_PERIOD_S} s window before \
                 this one, if {TOWER_SAMPLES} or more came; no limit, and what is cancelled is not seen. Simplified: tower sends the same request once more, \
                 here k other cells are read; it counts whole milliseconds, here microseconds. Window and samples are assumed: tower has no defaults"
            );
            let kind = Kind::Quantile {
                quantile: ppm as f64 / 1e6,
                samples: TOWER_SAMPLES,
                period_s: TOWER_PERIOD_S,
            };
            return Ok(Some(self.policy(&about, kind)));
        }
        if let Some(share) = name.strip_prefix("finagle-") {
            let ppm = percent(share).filter(|ppm| (1..1_000_000).contains(ppm));
            let ppm =
                ppm.ok_or_else(|| self.no_number(share, "a percentage above 0 and below 100, such as 1%"))?;
            let about = format!(
                "as Finagle's backup requests: one backup, once a read has waited for the quantile that {share} of the reads of the last window exceeded, paid from a \
                 bucket into which each read puts {share} of one and which forgets after 10 s. Simplified: Finagle sends the same request once more, here k other \
                 cells are read; it looks at its quantile every 3 s over three windows of 10 s, here it is that of the 30 s before; it rounds to whole milliseconds and sends none \
                 from 2 s on; and its bucket always has room for 10 backups a second more, which is left out"
            );
            return Ok(Some(self.policy(&about, Kind::Backup { share: ppm as f64 / 1e6 })));
        }
        Ok(None)
    }

    fn policy(self, about: &str, kind: Kind) -> Policy {
        Policy { name: self.0.into(), about: about.into(), kind, eager: 0, code: None }
    }

    fn default(self, about: &str, set: &[(&str, &str)]) -> Result<Policy, PolicyError> {
        let base = self.policy(about, Kind::Core(Box::default()));
        base.with(self.0, about, set.iter().copied())
    }

    /// A fixed threshold of more than 0.
    fn threshold(self, millis: &str) -> Result<Span, PolicyError> {
        let mut config = Config::default();
        let set = config.set("threshold.millis", millis);
        match (set, config.threshold) {
            (Ok(()), Threshold::Fixed(span)) if span > Span::ZERO => Ok(span),
            (Err(error @ ConfigError::Negative { .. }), _) => {
                Err(PolicyError::Config { name: self.0.into(), error })
            }
            _ => Err(self.no_number(millis, "a number of milliseconds above 0")),
        }
    }

    fn no_number(self, text: &str, wanted: &'static str) -> PolicyError {
        PolicyError::Number { name: self.0.into(), text: text.into(), wanted }
    }
}

/// A percentage, in millionths.
fn percent(text: &str) -> Option<u64> {
    scaled(text.strip_suffix('%')?, 4)
}

/// A decimal number without a sign, times ten to the power of `digits`: it may have so many decimals.
fn scaled(text: &str, digits: usize) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').map_or((text, "0"), |(whole, decimals)| (whole, decimals));
    let digit = |byte: u8| byte.is_ascii_digit();
    let fits = !whole.is_empty() && !decimals.is_empty() && whole.len() <= 9 && decimals.len() <= digits;
    if !fits || !whole.bytes().all(digit) || !decimals.bytes().all(digit) {
        return None;
    }
    format!("{whole}{decimals:0<digits$}").parse().ok()
}
