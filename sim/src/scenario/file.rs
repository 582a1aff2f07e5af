//! The format of scenario files: what stands in them, before any of it is looked at more closely.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize as Derive;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::ScenarioError;

/// A whole file.
#[derive(Derive, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) title: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) engine: EngineName,
    pub(super) days: Option<f64>,
    pub(super) seconds: Option<f64>,
    #[serde(default)]
    pub(super) warm_up_seconds: f64,
    pub(super) learning_days: Option<f64>,
    pub(super) learning_seconds: Option<f64>,
    pub(super) learning_warm_up_seconds: Option<f64>,
    #[serde(default = "one")]
    pub(super) seeds: u32,
    #[serde(default = "one")]
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) day_factor: f64,
    pub(super) policies: Vec<PolicyEntry>,
    #[serde(default)]
    pub(super) cluster: ClusterTable,
    #[serde(default, rename = "incident")]
    pub(super) incidents: Vec<IncidentTable>,
    #[serde(default, rename = "shape")]
    pub(super) shapes: Vec<ShapeTable>,
    #[serde(default)]
    pub(super) published: Vec<PublishedTable>,
    #[serde(default)]
    pub(super) quick: Quick,
}

fn one<N: From<u8>>() -> N {
    N::from(1)
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text)
            .map_err(|error| ScenarioError::text(text, error.span().map(|span| span.start), error.message()))
    }
}

#[derive(Derive, Clone, Copy, Default, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EngineName {
    #[default]
    Full,
    Thinned,
}

/// What is taken instead for a quick run.
#[derive(Derive, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    pub(super) days: Option<f64>,
    pub(super) seconds: Option<f64>,
    pub(super) warm_up_seconds: Option<f64>,
    pub(super) learning_days: Option<f64>,
    pub(super) learning_seconds: Option<f64>,
    pub(super) learning_warm_up_seconds: Option<f64>,
    pub(super) seeds: Option<u32>,
    pub(super) only_policies: Option<Vec<String>>,
    pub(super) only_shapes: Option<Vec<String>>,
}

/// A policy: its name, or a table.
#[derive(Debug)]
pub(super) enum PolicyEntry {
    Name(String),
    Table(PolicyTable),
}

#[derive(Derive, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyTable {
    pub(super) name: String,
    #[serde(default = "default_policy")]
    pub(super) base: String,
    pub(super) about: Option<String>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, Plain>,
}

fn default_policy() -> String {
    "default".into()
}

/// A value of the governor's configuration: a text, or what TOML has for it.
#[derive(Derive, Debug)]
#[serde(untagged)]
pub(super) enum Plain {
    Flag(bool),
    Whole(i64),
    Decimal(f64),
    Text(String),
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Decimal(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

/// What a file, or one of its shapes, says of the cluster.
#[derive(Derive, Clone, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterTable {
    pub(super) nodes: Option<u32>,
    pub(super) racks: Option<u32>,
    pub(super) clients: Option<u32>,
    pub(super) code: Option<CodeTable>,
    pub(super) service: Option<LawEntry>,
    pub(super) laws: Option<Vec<LawEntry>>,
    pub(super) queue: Option<QueueEntry>,
    pub(super) reads_per_day: Option<f64>,
    pub(super) reads_per_second: Option<f64>,
    pub(super) load: Option<f64>,
    pub(super) workload: Option<Vec<WorkloadTable>>,
    pub(super) files: Option<Vec<FilesTable>>,
    pub(super) new_connections: Option<f64>,
    pub(super) connect: Option<LawEntry>,
    pub(super) rebuild: Option<LawEntry>,
}

impl ClusterTable {
    /// This one, and what `base` says where it says nothing.
    pub(super) fn over(self, base: &Self) -> Self {
        // The rate has three names, of which one is enough.
        let rated = self.reads_per_day.or(self.reads_per_second).or(self.load).is_some();
        let rate = |own: Option<f64>, of_base: Option<f64>| if rated { own } else { of_base };
        Self {
            nodes: self.nodes.or(base.nodes),
            racks: self.racks.or(base.racks),
            clients: self.clients.or(base.clients),
            code: self.code.or(base.code),
            service: self.service.or_else(|| base.service.clone()),
            laws: self.laws.or_else(|| base.laws.clone()),
            queue: self.queue.or(base.queue),
            reads_per_day: rate(self.reads_per_day, base.reads_per_day),
            reads_per_second: rate(self.reads_per_second, base.reads_per_second),
            load: rate(self.load, base.load),
            workload: self.workload.or_else(|| base.workload.clone()),
            files: self.files.or_else(|| base.files.clone()),
            new_connections: self.new_connections.or(base.new_connections),
            connect: self.connect.or_else(|| base.connect.clone()),
            rebuild: self.rebuild.or_else(|| base.rebuild.clone()),
        }
    }
}

#[derive(Derive, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeTable {
    pub(super) k: u8,
    pub(super) m: u8,
}

#[derive(Derive, Clone, Copy, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum QueueEntry {
    None,
    Fifo(FifoTable),
    Dropping,
}

#[derive(Derive, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct FifoTable {
    pub(super) servers: u8,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadTable {
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) share: f64,
    #[serde(default = "one")]
    pub(super) cells: u8,
    #[serde(default = "one")]
    pub(super) fan_out: u16,
    #[serde(default = "yes")]
    pub(super) hedged: bool,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct FilesTable {
    #[serde(default = "one")]
    pub(super) share: f64,
    pub(super) k: u8,
    pub(super) nodes: Vec<u32>,
    pub(super) weights: Option<Vec<u32>>,
}

const fn yes() -> bool {
    true
}

impl WorkloadTable {
    /// What is read where a file says nothing.
    pub(super) fn usual() -> Self {
        Self { name: "reads".into(), share: 1.0, cells: 1, fan_out: 1, hedged: true }
    }
}

#[derive(Derive, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct ShapeTable {
    pub(super) name: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) cluster: ClusterTable,
    #[serde(default, rename = "incident")]
    pub(super) incidents: Vec<IncidentTable>,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct IncidentTable {
    pub(super) name: String,
    pub(super) effect: EffectEntry,
    pub(super) place: PlaceEntry,
    pub(super) per_day: Option<f64>,
    pub(super) at_seconds: Option<f64>,
    pub(super) lasts: LawEntry,
    pub(super) flapping: Option<FlappingTable>,
}

#[derive(Derive, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct FlappingTable {
    pub(super) there_ms: f64,
    pub(super) away_ms: f64,
}

#[derive(Derive, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EffectEntry {
    Freeze,
    NoConnect,
    Refuse,
    Slow(f64),
    DeadAfterMs(f64),
    Extra(ExtraTable),
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtraTable {
    #[serde(default = "one")]
    pub(super) share: f64,
    pub(super) law: LawEntry,
}

#[derive(Derive, Clone, Copy, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PlaceEntry {
    AnyNode,
    AnyRack,
    AllNodes,
    AnyClient,
    Nodes(u32),
    Node(u32),
}

#[derive(Derive, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedTable {
    pub(super) policy: String,
    pub(super) shape: Option<String>,
    pub(super) figure: String,
    pub(super) over: Option<String>,
    pub(super) expected: [f64; 2],
    pub(super) text: String,
}

/// A law: a number of milliseconds, the name of one of the three healthy laws, or a table.
#[derive(Clone, Debug)]
pub(super) enum LawEntry {
    Constant(f64),
    Named(String),
    Form(Box<LawForm>),
}

#[derive(Derive, Clone, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum LawForm {
    Exponential(ExponentialTable),
    ShiftedExponential(ShiftedTable),
    Gamma(GammaTable),
    Lognormal(LognormalTable),
    Mixture(Vec<PartTable>),
    Pareto(ParetoTable),
    ParetoTail(TailTable),
    Histogram(HistogramTable),
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct ExponentialTable {
    pub(super) mean_ms: f64,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct ShiftedTable {
    pub(super) shift_ms: f64,
    pub(super) mean_ms: f64,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct GammaTable {
    pub(super) shape: f64,
    pub(super) mean_ms: f64,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct LognormalTable {
    pub(super) median_ms: f64,
    pub(super) sigma: Option<f64>,
    pub(super) p99_ms: Option<f64>,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct PartTable {
    pub(super) weight: f64,
    pub(super) law: LawEntry,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct ParetoTable {
    pub(super) least_ms: f64,
    pub(super) index: f64,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct TailTable {
    pub(super) body: LawEntry,
    pub(super) beyond: f64,
    pub(super) index: f64,
}

#[derive(Derive, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct HistogramTable {
    pub(super) file: String,
    pub(super) unit: Option<String>,
}

/// A table in the place of what is more often a number or a text.
struct Either<N, T> {
    wanted: &'static str,
    number: fn(f64) -> Option<N>,
    text: fn(String) -> N,
    table: fn(T) -> N,
}

impl<'de, N, T: Deserialize<'de>> Visitor<'de> for Either<N, T> {
    type Value = N;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<N, E> {
        let wrong = de::Unexpected::Signed(number);
        (self.number)(number as f64).ok_or_else(|| E::invalid_type(wrong, &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<N, E> {
        let wrong = de::Unexpected::Float(number);
        (self.number)(number).ok_or_else(|| E::invalid_type(wrong, &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<N, E> {
        Ok((self.text)(text.into()))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<N, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(self.table)
    }
}

impl<'de> Deserialize<'de> for LawEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either {
            wanted: "a number of milliseconds, the name of a law, or a table such as { lognormal = { median_ms = 1.5, p99_ms = 10 } }",
            number: |number| Some(Self::Constant(number)),
            text: Self::Named,
            table: |form| Self::Form(Box::new(form)),
        })
    }
}

impl<'de> Deserialize<'de> for PolicyEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either {
            wanted: "the name of a policy, or a table such as { name = \"mine\", base = \"default\", set = { spare = 2 } }",
            number: |_| None,
            text: Self::Name,
            table: Self::Table,
        })
    }
}
