//! The fleet as a file describes it.

use std::fmt;

use hedgerow::fleet::{Class, Options, Policy, Problem, Scheme, Service};
use serde::Deserialize;

/// No more nodes or classes are planned for, or times asked about.
const MOST_NODES: usize = 100_000;
const MOST_CLASSES: usize = 10_000_000;
const MOST_TIMES: usize = 1_000;

/// What is planned.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    pub(super) title: String,
    pub(super) about: String,
    pub(super) problem: Problem,
    /// As a share of what all nodes together can do.
    pub(super) load: f64,
    pub(super) policies: Vec<Policy>,
    /// In milliseconds, rising.
    pub(super) x: Vec<f64>,
    /// What weights are written for.
    pub(super) plan_for: f64,
    pub(super) options: Options,
    /// Simulated reads of each plan.
    pub(super) reads: u64,
    pub(super) seed: u64,
}

/// What the command line says instead.
#[derive(Clone, Default, Debug)]
pub(super) struct Instead<'a> {
    pub(super) policies: &'a [Policy],
    pub(super) x: &'a [f64],
    pub(super) plan_for: Option<f64>,
    pub(super) slow: &'a [(u32, f64)],
    pub(super) load: Option<f64>,
    pub(super) seed: Option<u64>,
    pub(super) reads: Option<u64>,
}

/// The file.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct FleetFile {
    title: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    seed: u64,
    load: Option<f64>,
    reads_per_second: Option<f64>,
    x_ms: Vec<f64>,
    plan_for_ms: Option<f64>,
    fixed_t_per_ms: Option<f64>,
    most_busy: Option<f64>,
    #[serde(default)]
    scheme: SchemeName,
    policies: Option<Vec<String>>,
    #[serde(default)]
    simulated_reads: u64,
    nodes: Vec<Nodes>,
    files: Vec<Files>,
}

#[derive(Deserialize, Clone, Copy, Default, Debug)]
#[serde(rename_all = "kebab-case")]
enum SchemeName {
    #[default]
    Fast,
    Alternating,
}

/// Some nodes, which follow those before them.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Nodes {
    #[serde(default = "one")]
    count: u32,
    rate_per_ms: Option<Spread>,
    mean_ms: Option<Spread>,
    law: LawName,
}

fn one() -> u32 {
    1
}

/// The same for all of the nodes, or from the first to the last in equal steps.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(untagged, expecting = "it must be a number, or two: [first, last]")]
enum Spread {
    Same(f64),
    Between([f64; 2]),
}

impl Spread {
    fn of(self, key: &str, number: u32, count: u32) -> Result<f64, ScenarioError> {
        let value = match self {
            Self::Same(value) => value,
            Self::Between([first, last]) if count < 2 => {
                return Err(wrong(key, format!("from {first} to {last} takes a count of 2 at least")));
            }
            Self::Between([first, last]) => first + (last - first) * f64::from(number) / f64::from(count - 1),
        };
        positive(key, value)
    }
}

#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum LawName {
    Exponential,
    /// So much of the mean is the least that a request takes.
    ShiftedExponential {
        shift_share: f64,
    },
    Gamma {
        shape: f64,
    },
    Pareto {
        index: f64,
    },
    /// Upper edges of bins in milliseconds, and what was counted in each.
    Histogram(Vec<(f64, u64)>),
}

/// Classes of files.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Files {
    /// Their share of all reads; the shares of all are taken in proportion.
    #[serde(default = "whole")]
    share: f64,
    k: u32,
    /// How many classes, each on n nodes drawn at random.
    classes: Option<u32>,
    n: Option<u32>,
    /// The class of rank i is read in proportion to i to the power of minus so much.
    #[serde(default)]
    zipf: f64,
    /// The nodes of the one class that this is.
    nodes: Option<Vec<u32>>,
}

fn whole() -> f64 {
    1.0
}

/// What is wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ScenarioError(String);

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn wrong(key: impl fmt::Display, what: impl fmt::Display) -> ScenarioError {
    ScenarioError(format!("{key}: {what}"))
}

fn positive(key: impl fmt::Display, value: f64) -> Result<f64, ScenarioError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(wrong(key, format!("{value} is not a positive number")))
    }
}

impl Fleet {
    /// The fleet of a file's text.
    pub(super) fn parse(text: &str, instead: &Instead<'_>) -> Result<Self, ScenarioError> {
        let file: FleetFile = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .and_then(|span| text.get(..span.start))
                .map(|before| before.matches('\n').count() + 1);
            match line {
                Some(line) => wrong(format!("line {line}"), error.message()),
                None => ScenarioError(error.message().into()),
            }
        })?;
        file.fleet(instead)
    }

    /// The time that the tables of plans and nodes are of: the one to plan for, if it is asked about, or else the last.
    pub(super) fn shown(&self) -> f64 {
        let asked = self.x.contains(&self.plan_for);
        if asked { self.plan_for } else { self.x.last().copied().unwrap_or(self.plan_for) }
    }
}

impl FleetFile {
    fn fleet(self, instead: &Instead<'_>) -> Result<Fleet, ScenarioError> {
        let services = self.services()?;
        let capacity: f64 = services.iter().map(|service| 1.0 / service.mean()).sum();
        let seed = instead.seed.unwrap_or(self.seed);
        let problem = self.problem(services, capacity, instead.load, seed)?;
        // What is known of slow nodes changes the plan, and not what is asked of the fleet.
        let problem = if instead.slow.is_empty() {
            problem
        } else {
            problem.slowed(instead.slow).map_err(|error| wrong("--slow", error))?
        };
        let load = (0..problem.classes())
            .map(|class| problem.rate_of(class) * f64::from(problem.k_of(class)))
            .sum::<f64>()
            / capacity;
        let x = self.times(instead.x)?;
        let plan_for = match instead.plan_for.or(self.plan_for_ms) {
            Some(x) => positive("plan_for_ms", x)?,
            None => x.last().copied().unwrap_or_default(),
        };
        let asked = if instead.policies.is_empty() { self.policies()? } else { instead.policies.to_vec() };
        // Each once, in the order of their first names.
        let mut policies = Vec::new();
        for policy in asked {
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
        let mut options = Options::new(plan_for);
        if let Some(t) = self.fixed_t_per_ms {
            options.fixed_t = positive("fixed_t_per_ms", t)?;
        }
        if let Some(busy) = self.most_busy {
            if !(busy > 0.0 && busy < 1.0) {
                return Err(wrong("most_busy", format!("{busy} is not between 0 and 1")));
            }
            options.most_busy = busy;
        }
        options.scheme = match self.scheme {
            SchemeName::Fast => Scheme::Fast,
            SchemeName::Alternating => Scheme::Alternating,
        };
        options.seed = seed;
        Ok(Fleet {
            title: self.title,
            about: self.about,
            problem,
            load,
            policies,
            x,
            plan_for,
            options,
            reads: instead.reads.unwrap_or(self.simulated_reads),
            seed,
        })
    }

    fn services(&self) -> Result<Vec<Service>, ScenarioError> {
        let mut services = Vec::new();
        for (group, nodes) in (1..).zip(&self.nodes) {
            let key = |name: &str| format!("nodes, group {group}: {name}");
            if nodes.count as usize > MOST_NODES - services.len() {
                return Err(wrong(
                    key("count"),
                    format!("{} would make more than {MOST_NODES} nodes", nodes.count),
                ));
            }
            for number in 0..nodes.count {
                let mean = match (nodes.rate_per_ms, nodes.mean_ms, &nodes.law) {
                    (Some(rate), None, _) => Some(1.0 / rate.of(&key("rate_per_ms"), number, nodes.count)?),
                    (None, Some(mean), _) => Some(mean.of(&key("mean_ms"), number, nodes.count)?),
                    (None, None, LawName::Histogram(_)) => None,
                    (None, None, _) => return Err(wrong(key("law"), "it needs rate_per_ms or mean_ms")),
                    (Some(_), Some(_), _) => {
                        return Err(wrong(key("rate_per_ms"), "mean_ms says the same: one of both"));
                    }
                };
                services.push(nodes.law.service(mean).map_err(|error| wrong(key("law"), error))?);
            }
        }
        Ok(services)
    }

    fn problem(
        &self,
        services: Vec<Service>,
        capacity: f64,
        load: Option<f64>,
        seed: u64,
    ) -> Result<Problem, ScenarioError> {
        // Shares of reads, n, k, and the nodes if they are given.
        let mut classes: Vec<(f64, u32, u32, Option<&[u32]>)> = Vec::new();
        for (group, files) in (1..).zip(&self.files) {
            let key = |name: &str| format!("files, group {group}: {name}");
            positive(key("share"), files.share)?;
            match (&files.nodes, files.classes, files.n) {
                (Some(nodes), None, None) => classes.push((files.share, 0, files.k, Some(nodes))),
                (None, Some(count), Some(n)) => {
                    if !(0.0..=10.0).contains(&files.zipf) {
                        return Err(wrong(key("zipf"), format!("{} is not between 0 and 10", files.zipf)));
                    }
                    if count == 0 || count as usize > MOST_CLASSES - classes.len() {
                        return Err(wrong(
                            key("classes"),
                            format!("{count}: there may be 1 to {MOST_CLASSES}"),
                        ));
                    }
                    let weights: Vec<f64> =
                        (1..=count).map(|rank| f64::from(rank).powf(-files.zipf)).collect();
                    let all: f64 = weights.iter().sum();
                    classes
                        .extend(weights.iter().map(|weight| (files.share * weight / all, n, files.k, None)));
                }
                _ => return Err(wrong(key("nodes"), "it takes either nodes, or classes and n")),
            }
        }
        let shares: f64 = classes.iter().map(|class| class.0).sum();
        if !shares.is_finite() {
            return Err(wrong("files", "the sum of all shares is too large a number"));
        }
        let work: f64 = classes.iter().map(|class| class.0 / shares * f64::from(class.2)).sum();
        let rate = match (load.or(self.load), self.reads_per_second.filter(|_| load.is_none())) {
            (Some(load), None) => positive("load", load)? * capacity / work,
            (None, Some(rate)) => positive("reads_per_second", rate)? / 1e3,
            _ => return Err(wrong("load", "it takes either load or reads_per_second")),
        };
        for class in &mut classes {
            class.0 *= rate / shares;
        }
        let given = classes.iter().filter(|class| class.3.is_some()).count();
        let problem = if given == 0 {
            let classes: Vec<(f64, u32, u32)> = classes.iter().map(|&(rate, n, k, _)| (rate, n, k)).collect();
            Problem::placed_at_random(services, &classes, seed)
        } else if given == classes.len() {
            let class = |&(rate, _, k, nodes): &(f64, u32, u32, Option<&[u32]>)| Class {
                rate,
                k,
                nodes: nodes.unwrap_or_default().to_vec(),
            };
            Problem::new(services, classes.iter().map(class))
        } else {
            return Err(wrong("files", "either all classes name their nodes, or none does"));
        };
        problem.map_err(|error| ScenarioError(error.to_string()))
    }

    fn times(&self, instead: &[f64]) -> Result<Vec<f64>, ScenarioError> {
        let mut times = if instead.is_empty() { self.x_ms.clone() } else { instead.to_vec() };
        if times.is_empty() || times.len() > MOST_TIMES {
            return Err(wrong("x_ms", format!("{} times: there may be 1 to {MOST_TIMES}", times.len())));
        }
        for &x in &times {
            positive("x_ms", x)?;
        }
        times.sort_by(f64::total_cmp);
        times.dedup();
        Ok(times)
    }

    fn policies(&self) -> Result<Vec<Policy>, ScenarioError> {
        let Some(names) = &self.policies else { return Ok(Policy::ALL.to_vec()) };
        if names.is_empty() {
            return Err(wrong("policies", "there is none: without this key there are all"));
        }
        let policy = |name: &String| {
            Policy::named(name).ok_or_else(|| {
                let names: Vec<&str> = Policy::ALL.iter().map(|policy| policy.name()).collect();
                wrong("policies", format!("there is no {name:?}: there are {}", names.join(", ")))
            })
        };
        names.iter().map(policy).collect()
    }
}

impl LawName {
    fn service(&self, mean: Option<f64>) -> Result<Service, ScenarioError> {
        let error = |error: hedgerow::fleet::ServiceError| ScenarioError(error.to_string());
        let scaled = |law: Service, mean: f64| law.slowed(mean / law.mean()).map_err(error);
        let mean_or_one = mean.unwrap_or(1.0);
        match self {
            Self::Exponential => Service::exponential(mean_or_one).map_err(error),
            Self::ShiftedExponential { shift_share } => {
                if !(0.0..1.0).contains(shift_share) {
                    return Err(wrong("shift_share", format!("{shift_share} is not from 0 to less than 1")));
                }
                let shift = shift_share * mean_or_one;
                Service::shifted_exponential(shift, mean_or_one - shift).map_err(error)
            }
            Self::Gamma { shape } => Service::gamma(*shape, mean_or_one).map_err(error),
            // An index that is none is told before a least that would follow from it.
            Self::Pareto { index } => scaled(Service::pareto(1.0, *index).map_err(error)?, mean_or_one),
            Self::Histogram(bins) => {
                let measured = Service::histogram(bins).map_err(error)?;
                match mean {
                    Some(mean) => scaled(measured, mean),
                    None => Ok(measured),
                }
            }
        }
    }
}
