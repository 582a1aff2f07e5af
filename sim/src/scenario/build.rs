//! From what stands in a file to a scenario: defaults, overrides, laws and rates.

use super::file::{
    ClusterTable, EffectEntry, EngineName, File, FilesTable, HistogramTable, IncidentTable, LawEntry,
    LawForm, PlaceEntry, PolicyEntry, PublishedTable, QueueEntry, Quick, ShapeTable, WorkloadTable,
};
use super::{Published, ReadFile, Scenario, ScenarioError, Shape};
use crate::{
    Cluster, Code, Effect, Engine, FileClass, Incident, Law, Often, Policy, Profile, Queue, Unit, Where,
    Workload,
};

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// What a cluster is where a file says nothing: a hundred nodes and as many clients, RS-6-3, 650 million reads a day of one cell, and
/// healthy legs with a 99th percentile of 10 ms.
mod usual {
    pub(super) const NODES: u32 = 100;
    pub(super) const RACKS: u32 = 10;
    pub(super) const CLIENTS: u32 = 100;
    pub(super) const READS_PER_DAY: f64 = 650e6;
    pub(super) const NEW_CONNECTIONS: f64 = 0.011;
    pub(super) const SERVICE: &str = "lognormal";
    /// Half a round trip more or less, within one data centre.
    pub(super) const CONNECT_MS: (f64, f64) = (0.3, 0.5);
    /// Decoding 64 KiB takes less; what is left is for connections.
    pub(super) const REBUILD_MS: f64 = 1.0;
}

/// Makes scenarios of files.
#[derive(Clone, Copy)]
pub(super) struct Builder<'a> {
    /// The file, which names a shape where it has none.
    pub(super) name: &'a str,
    /// Fetches other files.
    pub(super) read: ReadFile<'a>,
}

impl Builder<'_> {
    /// The scenario, checked.
    pub(super) fn scenario(self, file: File, quick: bool) -> Result<Scenario, ScenarioError> {
        let shapes = if file.shapes.is_empty() { vec![self.only_shape()] } else { file.shapes };
        let shapes = shapes.into_iter().map(|shape| self.shape(shape, &file.cluster, &file.incidents));
        let mut scenario = Scenario {
            title: file.title,
            about: file.about.trim().into(),
            engine: match file.engine {
                EngineName::Full => Engine::Full,
                EngineName::Thinned => Engine::Thinned,
            },
            seconds: length(file.days, file.seconds, "")?.ok_or_else(|| {
                ScenarioError::at("days", "is missing, and so is seconds: give one of them")
            })?,
            warm_up: file.warm_up_seconds,
            learning: length(file.learning_days, file.learning_seconds, "learning_")?
                .map(|seconds| (seconds, file.learning_warm_up_seconds.unwrap_or(file.warm_up_seconds))),
            seeds: file.seeds,
            seed: file.seed,
            day_factor: file.day_factor,
            shapes: shapes.collect::<Result<_, _>>()?,
            policies: file.policies.into_iter().map(policy).collect::<Result<_, _>>()?,
            published: file.published.into_iter().map(published).collect(),
        };
        // A fault in what a quick run leaves out is a fault all the same.
        scenario.check()?;
        scenario.check_published()?;
        if quick {
            shorten(&mut scenario, file.quick)?;
            scenario.check()?;
        }
        Ok(scenario)
    }

    /// The shape of a file that has none: the cluster, and what happens to it.
    fn only_shape(self) -> ShapeTable {
        ShapeTable {
            name: self.name.strip_suffix(".toml").unwrap_or(self.name).into(),
            about: String::new(),
            cluster: ClusterTable::default(),
            incidents: Vec::new(),
        }
    }

    fn shape(
        self,
        table: ShapeTable,
        base: &ClusterTable,
        common: &[IncidentTable],
    ) -> Result<Shape, ScenarioError> {
        let at = format!("shape {:?}: ", table.name);
        let incidents = common.iter().cloned().chain(table.incidents);
        Ok(Shape {
            cluster: self.cluster(table.cluster.over(base), &format!("{at}cluster."))?,
            incidents: incidents.map(|table| self.incident(table, &at)).collect::<Result<_, _>>()?,
            name: table.name,
            about: table.about.trim().into(),
        })
    }

    fn cluster(self, table: ClusterTable, at: &str) -> Result<Cluster, ScenarioError> {
        let law = |entry: Option<LawEntry>, key: &str, usual: Law| {
            entry.map_or(Ok(usual), |entry| self.law(entry, &format!("{at}{key}")))
        };
        let (median, sigma) = usual::CONNECT_MS;
        let service = LawEntry::Named(usual::SERVICE.into());
        let service = self.law(table.service.unwrap_or(service), &format!("{at}service"))?;
        let laws = table.laws.unwrap_or_default().into_iter().enumerate();
        let laws = laws.map(|(node, entry)| self.law(entry, &format!("{at}laws, node {node}")));
        let mut cluster = Cluster {
            nodes: table.nodes.unwrap_or(usual::NODES),
            racks: table.racks.unwrap_or(usual::RACKS),
            clients: table.clients.unwrap_or(usual::CLIENTS),
            code: table.code.map_or(Code { k: 6, m: 3 }, |code| Code { k: code.k, m: code.m }),
            service,
            laws: laws.collect::<Result<_, _>>()?,
            queue: match table.queue {
                None | Some(QueueEntry::None) => Queue::None,
                Some(QueueEntry::Fifo(fifo)) => Queue::Fifo { servers: fifo.servers },
                Some(QueueEntry::Dropping) => Queue::Dropping,
            },
            rate: 0.0,
            workload: table.workload.map_or_else(
                || vec![workload(WorkloadTable::usual())],
                |kinds| kinds.into_iter().map(workload).collect(),
            ),
            files: table.files.unwrap_or_default().into_iter().map(file_class).collect(),
            new_connections: table.new_connections.unwrap_or(usual::NEW_CONNECTIONS),
            connect: law(table.connect, "connect", Law::Lognormal { median, sigma })?,
            rebuild: law(table.rebuild, "rebuild", Law::Constant(usual::REBUILD_MS))?,
        };
        cluster.rate = match (table.reads_per_day, table.reads_per_second, table.load) {
            (None, None, None) => usual::READS_PER_DAY / DAY,
            (Some(reads), None, None) => reads / DAY,
            (None, Some(reads), None) => reads,
            (None, None, Some(load)) => rate(&cluster, load, &format!("{at}load"))?,
            _ => {
                let key = format!("{at}reads_per_day");
                return Err(ScenarioError::at(
                    key,
                    "only one of reads_per_day, reads_per_second and load says how much is read",
                ));
            }
        };
        Ok(cluster)
    }

    fn incident(self, table: IncidentTable, at: &str) -> Result<Incident, ScenarioError> {
        let at = format!("{at}incident {:?}: ", table.name);
        Ok(Incident {
            effect: match table.effect {
                EffectEntry::Freeze => Effect::Freeze,
                EffectEntry::NoConnect => Effect::NoConnect,
                EffectEntry::Refuse => Effect::Refuse,
                EffectEntry::Slow(factor) => Effect::Slow(factor),
                EffectEntry::DeadAfterMs(millis) => Effect::Dead(millis),
                EffectEntry::Extra(extra) => Effect::Extra {
                    share: extra.share,
                    law: self.law(extra.law, &format!("{at}effect.extra.law"))?,
                },
            },
            place: match table.place {
                PlaceEntry::AnyNode => Where::AnyNode,
                PlaceEntry::AnyRack => Where::AnyRack,
                PlaceEntry::AllNodes => Where::AllNodes,
                PlaceEntry::AnyClient => Where::AnyClient,
                PlaceEntry::Nodes(nodes) => Where::Nodes(nodes),
                PlaceEntry::Node(node) => Where::Node(node),
            },
            often: match (table.per_day, table.at_seconds) {
                (Some(times), None) => Often::PerDay(times),
                (None, Some(seconds)) => Often::At(seconds * 1_000.0),
                _ => {
                    return Err(ScenarioError::at(
                        format!("{at}per_day"),
                        "an incident has either per_day, how often it comes, or at_seconds, when",
                    ));
                }
            },
            length: self.law(table.lasts, &format!("{at}lasts"))?,
            flapping: table.flapping.map(|flapping| (flapping.there_ms, flapping.away_ms)),
            name: table.name,
        })
    }

    fn law(self, entry: LawEntry, at: &str) -> Result<Law, ScenarioError> {
        let form = match entry {
            LawEntry::Constant(millis) => return Ok(Law::Constant(millis)),
            LawEntry::Named(name) => {
                let unknown = || {
                    ScenarioError::at(
                        at,
                        format!("there is no law {name:?}: there are lognormal, mixture, heavy"),
                    )
                };
                return Law::named(&name).ok_or_else(unknown);
            }
            LawEntry::Form(form) => form,
        };
        Ok(match *form {
            LawForm::Exponential(table) => Law::Exponential { mean: table.mean_ms },
            LawForm::ShiftedExponential(table) => {
                Law::ShiftedExponential { shift: table.shift_ms, mean: table.mean_ms }
            }
            LawForm::Gamma(table) => Law::Gamma { shape: table.shape, mean: table.mean_ms },
            LawForm::Lognormal(table) => match (table.sigma, table.p99_ms) {
                (Some(sigma), None) => Law::Lognormal { median: table.median_ms, sigma },
                (None, Some(p99)) if p99 > table.median_ms && table.median_ms > 0.0 => {
                    Law::lognormal_p99(table.median_ms, p99)
                }
                (None, Some(p99)) => {
                    let median = table.median_ms;
                    let what = format!(
                        "p99_ms is {p99}, and must be above median_ms, which is {median} and must be above 0"
                    );
                    return Err(ScenarioError::at(at, what));
                }
                _ => {
                    return Err(ScenarioError::at(
                        at,
                        "lognormal has either sigma or p99_ms beside median_ms",
                    ));
                }
            },
            LawForm::Mixture(parts) => {
                let parts = parts.into_iter().map(|part| Ok((part.weight, self.law(part.law, at)?)));
                Law::Mixture(parts.collect::<Result<_, ScenarioError>>()?)
            }
            LawForm::Pareto(table) => Law::Pareto { least: table.least_ms, index: table.index },
            LawForm::ParetoTail(table) => Law::ParetoTail {
                body: Box::new(self.law(table.body, at)?),
                beyond: table.beyond,
                index: table.index,
            },
            LawForm::Histogram(HistogramTable { file, unit }) => {
                let wrong = |why: String| ScenarioError::at(at, format!("{file}: {why}"));
                let named = |name: String| {
                    let no_unit = || wrong(format!("there is no unit {name:?}: there are ns, us, ms and s"));
                    Unit::named(&name).ok_or_else(no_unit)
                };
                let unit = unit.map(named).transpose()?;
                let bytes = (self.read)(&file).map_err(wrong)?;
                Profile::parse(&bytes, None, unit).map_err(|error| wrong(error.to_string()))?.law()
            }
        })
    }
}

/// A length in days or seconds.
fn length(days: Option<f64>, seconds: Option<f64>, at: &str) -> Result<Option<f64>, ScenarioError> {
    match (days, seconds) {
        (Some(_), Some(_)) => {
            let what = format!("only one of {at}days and {at}seconds says how long");
            Err(ScenarioError::at(format!("{at}days"), what))
        }
        (days, seconds) => Ok(days.map(|days| days * DAY).or(seconds)),
    }
}

fn shorten(scenario: &mut Scenario, quick: Quick) -> Result<(), ScenarioError> {
    let at = |error: ScenarioError| error.inside("quick");
    if let Some(seconds) = length(quick.days, quick.seconds, "quick.")? {
        scenario.seconds = seconds;
    }
    scenario.warm_up = quick.warm_up_seconds.unwrap_or(scenario.warm_up);
    let learning = length(quick.learning_days, quick.learning_seconds, "quick.learning_")?;
    if let Some(seconds) = learning.or(scenario.learning.map(|(seconds, _)| seconds)) {
        let warm_up = scenario.learning.map_or(scenario.warm_up, |(_, warm_up)| warm_up);
        scenario.learning = Some((seconds, quick.learning_warm_up_seconds.unwrap_or(warm_up)));
    }
    scenario.seeds = quick.seeds.unwrap_or(scenario.seeds);
    if let Some(names) = quick.only_policies {
        scenario.take_policies(&names).map_err(at)?;
    }
    if let Some(names) = quick.only_shapes {
        scenario.keep_shapes(&names).map_err(at)?;
    }
    Ok(())
}

fn policy(entry: PolicyEntry) -> Result<Policy, ScenarioError> {
    let made = match entry {
        PolicyEntry::Name(name) => Policy::named(&name),
        PolicyEntry::Table(table) => Policy::named(&table.base).and_then(|base| {
            let set: Vec<(String, String)> =
                table.set.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
            let about = table.about.unwrap_or_else(|| {
                let values: Vec<String> = set.iter().map(|(name, value)| format!("{name} {value}")).collect();
                format!("{}, with {}", table.base, values.join(", "))
            });
            base.with(&table.name, &about, set.iter().map(|(name, value)| (&name[..], &value[..])))
        }),
    };
    made.map_err(ScenarioError::policy)
}

fn published(table: PublishedTable) -> Published {
    let [least, most] = table.expected;
    let PublishedTable { policy, shape, figure, over, text, .. } = table;
    Published { policy, shape, figure, over, least, most, text }
}

fn workload(table: WorkloadTable) -> Workload {
    let WorkloadTable { name, share, cells, fan_out, hedged } = table;
    Workload { name, share, cells, fan_out, hedged }
}

/// Cells that a read of a file wants in the mean; none if there are no classes.
fn mean_k(files: &[FileClass]) -> Option<f64> {
    let shares: f64 = files.iter().map(|class| class.share).sum();
    let cells: f64 = files.iter().map(|class| class.share * f64::from(class.k)).sum();
    (!files.is_empty()).then_some(cells / shares)
}

fn file_class(table: FilesTable) -> FileClass {
    let FilesTable { share, k, nodes, weights } = table;
    FileClass { share, k, weights: weights.unwrap_or_else(|| vec![1; nodes.len()]), nodes }
}

/// Requests a second that keep the nodes busy for this share of their time, if nothing is hedged.
fn rate(cluster: &Cluster, load: f64, at: &str) -> Result<f64, ScenarioError> {
    let servers = match cluster.queue {
        Queue::None => return Err(ScenarioError::at(at, "needs a queue: without one nodes are never busy")),
        Queue::Fifo { servers } => f64::from(servers),
        Queue::Dropping => 1.0,
    };
    let shares: f64 = cluster.workload.iter().map(|kind| kind.share).sum();
    let of_files = mean_k(&cluster.files);
    let of_read = |kind: &Workload| of_files.unwrap_or_else(|| f64::from(kind.cells));
    let cells = cluster.workload.iter().map(|kind| kind.share * f64::from(kind.fan_out) * of_read(kind));
    let cells = cells.sum::<f64>() / shares;
    let mean = cluster.service.mean() / 1_000.0;
    let rate = if cluster.laws.is_empty() {
        load * f64::from(cluster.nodes) * servers / mean / cells
    } else {
        load * servers * cluster.laws.iter().map(|law| 1_000.0 / law.mean()).sum::<f64>() / cells
    };
    if !(rate.is_finite() && rate > 0.0) {
        let takes = match cluster.laws.as_slice() {
            [] => format!("nodes take {} ms in the mean", mean * 1_000.0),
            laws => format!("there are {} nodes with laws of their own", laws.len()),
        };
        let what = format!("is {load}, of which no rate follows: {takes}, a request reads {cells} cells");
        return Err(ScenarioError::at(at, what));
    }
    Ok(rate)
}
