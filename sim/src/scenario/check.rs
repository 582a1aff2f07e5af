//! Whether a scenario makes sense: every number within its bounds, and all that is named there.

use super::{Published, Scenario, ScenarioError, Shape};
use crate::{
    Cluster, Effect, Engine, FileClass, ForkJoin, Incident, Law, Often, Queue, Row, Where, Workload,
};

/// A hundred years, in seconds.
const MOST_SECONDS: f64 = 36_525.0 * 86_400.0;
const MOST_SEEDS: f64 = 10_000.0;
const MOST_NODES: f64 = 1_024.0;
/// Each has a governor, with what it knows of each node.
const MOST_CLIENTS: f64 = 10_000.0;
const MOST_CELLS: u16 = 32;
const MOST_CLASSES: f64 = 1e6;
const MOST_READS: f64 = 1e12;
/// Numbers that are counted, for each class and node and each time to compare with: a gigabyte.
const MOST_COUNTS: f64 = 1.25e8;
const MOST_RATE: f64 = 1e8;
const MOST_SHARE: f64 = 1e9;
const MOST_FAN_OUT: f64 = 10_000.0;
const MOST_SERVERS: f64 = 64.0;
const MOST_PER_DAY: f64 = 1e6;
const MOST_FACTOR: f64 = 1e6;
const MOST_DAY_FACTOR: f64 = 3.0;
/// Of each incident in a run: how often it comes, times the pieces it comes in, times the nodes it befalls. All are drawn beforehand.
const MOST_HAPPENINGS: f64 = 1e7;
/// Nodes and clients of all shapes and seeds: each has a timeline, and all are there at one time.
const MOST_TIMELINES: f64 = 1e8;
/// Kinds of reads, incidents, shapes, policies.
const MOST_OF_A_KIND: usize = 256;
/// A year in milliseconds: nothing lasts longer.
const MOST_MS: f64 = 365.25 * 86_400e3;

type Checked = Result<(), ScenarioError>;

/// A number within its bounds, both allowed.
fn within(key: &str, number: f64, least: f64, most: f64) -> Checked {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    Err(ScenarioError::at(key, format!("must be from {least} to {most}: it is {number}")))
}

/// A number above 0.
fn positive(key: &str, number: f64, most: f64) -> Checked {
    if number > 0.0 && number <= most {
        return Ok(());
    }
    Err(ScenarioError::at(key, format!("must be above 0 and at most {most}: it is {number}")))
}

fn law(key: &str, law: &Law) -> Checked {
    law.check().map_err(|error| ScenarioError::at(key, error))
}

/// What each node takes.
fn laws(key: &str, laws: &[Law]) -> Checked {
    laws.iter().enumerate().try_for_each(|(node, of_node)| law(&format!("{key}, node {node}"), of_node))
}

/// At least one of a kind, not too many, and no name twice.
fn names<'n>(key: &str, all: impl Iterator<Item = &'n str>) -> Checked {
    let mut seen: Vec<&str> = Vec::new();
    for name in all {
        if name.trim().is_empty() {
            return Err(ScenarioError::at(key, "one has no name"));
        }
        if seen.contains(&name) {
            return Err(ScenarioError::at(key, format!("there are two of the name {name:?}")));
        }
        if seen.len() == MOST_OF_A_KIND {
            return Err(ScenarioError::at(key, format!("there are more than {MOST_OF_A_KIND}")));
        }
        seen.push(name);
    }
    if seen.is_empty() { Err(ScenarioError::at(key, "there is none")) } else { Ok(()) }
}

impl Scenario {
    /// Whether all this makes sense. Engines take no other scenario.
    ///
    /// # Errors
    ///
    /// A number is out of its bounds, something that is named is not there, or what is asked for can't be simulated.
    pub fn check(&self) -> Result<(), ScenarioError> {
        positive("seconds", self.seconds, MOST_SECONDS)?;
        within("warm_up_seconds", self.warm_up, 0.0, MOST_SECONDS)?;
        if self.warm_up >= self.seconds {
            let what = format!("must be less than the whole, {} s: it is {}", self.seconds, self.warm_up);
            return Err(ScenarioError::at("warm_up_seconds", what));
        }
        if let Some((seconds, warm_up)) = self.learning {
            // What happens is drawn for the longer time.
            positive("learning_seconds", seconds, self.seconds)?;
            within("learning_warm_up_seconds", warm_up, 0.0, MOST_SECONDS)?;
            if warm_up >= seconds {
                let what = format!("must be less than the whole, {seconds} s: it is {warm_up}");
                return Err(ScenarioError::at("learning_warm_up_seconds", what));
            }
        }
        within("seeds", self.seeds.into(), 1.0, MOST_SEEDS)?;
        within("day_factor", self.day_factor, 0.0, MOST_DAY_FACTOR)?;
        names("policies", self.policies.iter().map(|policy| &policy.name[..]))?;
        names("shape", self.shapes.iter().map(|shape| &shape.name[..]))?;
        for shape in &self.shapes {
            self.shape(shape)?;
        }
        let each =
            self.shapes.iter().map(|shape| f64::from(shape.cluster.nodes) + f64::from(shape.cluster.clients));
        let all = f64::from(self.seeds) * each.sum::<f64>();
        if all <= MOST_TIMELINES {
            return Ok(());
        }
        let what = format!(
            "times the nodes and clients of all shapes they must be at most {MOST_TIMELINES}: it is {all}"
        );
        Err(ScenarioError::at("seeds", what))
    }

    /// Whether what was published is said of something that is simulated. It need not be any more, once a part of it was left out.
    pub(super) fn check_published(&self) -> Checked {
        self.published.iter().try_for_each(|published| self.published(published))
    }

    fn shape(&self, shape: &Shape) -> Checked {
        let at = format!("shape {:?}: ", shape.name);
        cluster(&shape.cluster, &format!("{at}cluster."))?;
        if self.engine == Engine::Thinned && shape.cluster.queue != Queue::None {
            return Err(ScenarioError::at(
                format!("{at}cluster.queue"),
                "in a queue each read delays others, so none may be left out: engine must be \"full\"",
            ));
        }
        if self.engine == Engine::Thinned && !shape.cluster.laws.is_empty() {
            return Err(ScenarioError::at(
                format!("{at}cluster.laws"),
                "only nodes that are all alike may be left out: engine must be \"full\"",
            ));
        }
        if self.engine == Engine::Thinned && !shape.cluster.files.is_empty() {
            return Err(ScenarioError::at(
                format!("{at}cluster.files"),
                "only reads of one cell may be left out: engine must be \"full\"",
            ));
        }
        let plain = |kind: &&Workload| kind.cells == 1 && kind.fan_out == 1 && kind.hedged;
        if self.engine == Engine::Thinned
            && let Some(kind) = shape.cluster.workload.iter().find(|kind| !plain(kind))
        {
            return Err(ScenarioError::at(
                format!("{at}cluster.workload {:?}", kind.name),
                "only hedged requests of one read of one cell may be left out: engine must be \"full\"",
            ));
        }
        let other = self.policies.iter().find(|policy| policy.code.is_some());
        if let Some(policy) = other.filter(|_| !shape.cluster.files.is_empty()) {
            let what = format!("say where data lies, and policy {:?} keeps it elsewhere", policy.name);
            return Err(ScenarioError::at(format!("{at}cluster.files"), what));
        }
        for policy in &self.policies {
            let nodes = shape.cluster.nodes;
            let Some(code) = policy.code.filter(|code| u32::from(code.k) + u32::from(code.m) > nodes) else {
                continue;
            };
            let what = format!(
                "is {nodes}, and policy {:?} keeps {} cells of a stripe",
                policy.name,
                u32::from(code.k) + u32::from(code.m)
            );
            return Err(ScenarioError::at(format!("{at}cluster.nodes"), what));
        }
        if shape.incidents.len() > MOST_OF_A_KIND {
            return Err(ScenarioError::at(
                format!("{at}incident"),
                format!("there are more than {MOST_OF_A_KIND}"),
            ));
        }
        shape.incidents.iter().try_for_each(|incident| self.incident(incident, &shape.cluster, &at))
    }

    fn incident(&self, incident: &Incident, cluster: &Cluster, at: &str) -> Checked {
        let at = |key: &str| format!("{at}incident {:?}: {key}", incident.name);
        match &incident.effect {
            Effect::Freeze | Effect::NoConnect | Effect::Refuse => {}
            Effect::Slow(factor) => positive(&at("effect.slow"), *factor, MOST_FACTOR)?,
            Effect::Extra { share, law: extra } => {
                within(&at("effect.extra.share"), *share, 0.0, 1.0)?;
                law(&at("effect.extra.law"), extra)?;
            }
            Effect::Dead(millis) => positive(&at("effect.dead-after-ms"), *millis, MOST_MS)?,
        }
        match incident.place {
            Where::AnyNode | Where::AnyRack | Where::AllNodes => {}
            Where::Node(node) if node >= cluster.nodes => {
                let what = format!("there is no node {node}: they are 0 to {}", cluster.nodes - 1);
                return Err(ScenarioError::at(at("place.node"), what));
            }
            Where::Node(_) => {}
            Where::Nodes(nodes) => {
                within(&at("place.nodes"), nodes.into(), 1.0, cluster.nodes.into())?;
            }
            Where::AnyClient if incident.effect == Effect::Freeze => {}
            Where::AnyClient => {
                return Err(ScenarioError::at(at("place"), "a client can only freeze"));
            }
        }
        match incident.often {
            Often::PerDay(times) => {
                within(&at("per_day"), times, 0.0, MOST_PER_DAY)?;
            }
            Often::At(millis) => within(&at("at_seconds"), millis / 1_000.0, 0.0, self.seconds)?,
        }
        law(&at("lasts"), &incident.length)?;
        if let Some((there, away)) = incident.flapping {
            positive(&at("flapping.there_ms"), there, MOST_MS)?;
            positive(&at("flapping.away_ms"), away, MOST_MS)?;
        }
        self.happenings(incident, cluster, &at("happenings"))
    }

    /// Whether what an incident amounts to can be kept.
    fn happenings(&self, incident: &Incident, cluster: &Cluster, key: &str) -> Checked {
        let times = match incident.often {
            // With the mean of the factor of a day; and one that is rare may come all the same.
            Often::PerDay(times) => {
                let factor = libm::exp(self.day_factor * self.day_factor / 2.0);
                (times * self.seconds / 86_400.0 * factor).max(1.0)
            }
            Often::At(_) => 1.0,
        };
        let pieces = incident.flapping.map_or(1.0, |(there, away)| {
            1.0 + incident.length.mean().min(self.seconds * 1_000.0) / (there + away)
        });
        let nodes = match incident.place {
            Where::AnyNode | Where::Node(_) | Where::AnyClient => 1,
            Where::Nodes(nodes) => nodes,
            Where::AnyRack => cluster.nodes.div_ceil(cluster.racks),
            Where::AllNodes => cluster.nodes,
        };
        let all = times * pieces * f64::from(nodes);
        if all <= MOST_HAPPENINGS {
            return Ok(());
        }
        let what = format!(
            "must be at most {MOST_HAPPENINGS}: there are about {all:.0}, {times:.0} times {pieces:.0} pieces on {nodes} nodes"
        );
        Err(ScenarioError::at(key, what))
    }

    fn published(&self, published: &Published) -> Checked {
        let at = |what: String| Err(ScenarioError::at(format!("published {:?}", published.text), what));
        if !Row::FIGURES.contains(&&published.figure[..]) {
            let figures = Row::FIGURES.join(", ");
            return at(format!("there is no figure {:?}: there are {figures}", published.figure));
        }
        if let Some(shape) = &published.shape
            && !self.shapes.iter().any(|known| known.name == *shape)
        {
            return at(format!("there is no shape {shape:?}"));
        }
        for policy in published.over.iter().chain([&published.policy]) {
            if !self.policies.iter().any(|known| known.name == *policy) {
                return at(format!("there is no policy {policy:?}"));
            }
        }
        if published.least.partial_cmp(&published.most).is_none_or(std::cmp::Ordering::is_gt) {
            return at(format!("from {} to {} there is nothing", published.least, published.most));
        }
        Ok(())
    }
}

fn cluster(cluster: &Cluster, at: &str) -> Checked {
    let at = |key: &str| format!("{at}{key}");
    let (k, m) = (u16::from(cluster.code.k), u16::from(cluster.code.m));
    if k == 0 || m == 0 || k + m > MOST_CELLS {
        let what = format!("k is {k} and m is {m}: both at least 1, together at most {MOST_CELLS}");
        return Err(ScenarioError::at(at("code"), what));
    }
    within(&at("nodes"), cluster.nodes.into(), 1.0, MOST_NODES)?;
    if cluster.nodes < u32::from(k + m) {
        let what = format!("is {}, and a stripe has {} cells, each on another node", cluster.nodes, k + m);
        return Err(ScenarioError::at(at("nodes"), what));
    }
    within(&at("racks"), cluster.racks.into(), 1.0, cluster.nodes.into())?;
    within(&at("clients"), cluster.clients.into(), 1.0, MOST_CLIENTS)?;
    law(&at("service"), &cluster.service)?;
    laws(&at("laws"), &cluster.laws)?;
    if !cluster.laws.is_empty() && cluster.laws.len() != cluster.nodes as usize {
        let what = format!("there are {} for {} nodes", cluster.laws.len(), cluster.nodes);
        return Err(ScenarioError::at(at("laws"), what));
    }
    law(&at("connect"), &cluster.connect)?;
    law(&at("rebuild"), &cluster.rebuild)?;
    within(&at("new_connections"), cluster.new_connections, 0.0, 1.0)?;
    if let Queue::Fifo { servers } = cluster.queue {
        within(&at("queue.fifo.servers"), servers.into(), 1.0, MOST_SERVERS)?;
    }
    names(&at("workload"), cluster.workload.iter().map(|kind| &kind.name[..]))?;
    for kind in &cluster.workload {
        workload(kind, k, |key| at(&format!("workload {:?}: {key}", kind.name)))?;
    }
    within(&at("files"), cluster.files.len() as f64, 0.0, MOST_CLASSES)?;
    files(&at("files"), &cluster.files, cluster.nodes, MOST_CELLS)?;
    positive(&at("reads_per_second"), cluster.rate, MOST_RATE)
}

/// Whether reads can be simulated by [`fork_join`](crate::fork_join).
pub(crate) fn fork_join(input: &ForkJoin<'_>) -> Checked {
    within("laws", input.laws.len() as f64, 1.0, MOST_NODES)?;
    laws("laws", input.laws)?;
    within("classes", input.classes.len() as f64, 1.0, MOST_CLASSES)?;
    files("classes", input.classes, input.laws.len() as u32, 64)?;
    positive("rate", input.rate, MOST_RATE)?;
    for &x in input.xs {
        within("xs", x, 0.0, MOST_MS)?;
    }
    let counts = (input.classes.len() + input.laws.len()) as f64 * (input.xs.len() as f64 + 1.0);
    if counts > MOST_COUNTS {
        let what = format!(
            "{} for {} classes and {} nodes make {counts} counts: they must be at most {MOST_COUNTS}",
            input.xs.len(),
            input.classes.len(),
            input.laws.len()
        );
        return Err(ScenarioError::at("xs", what));
    }
    within("reads", input.reads as f64, 1.0, MOST_READS)?;
    within("warm_up", input.warm_up as f64, 0.0, MOST_READS)?;
    let reads = input.reads as f64 + input.warm_up as f64;
    let seconds = reads / input.rate;
    if seconds > MOST_SECONDS {
        let what = format!(
            "is {}, at which {reads} reads take {seconds} s: they must take at most {MOST_SECONDS} s",
            input.rate
        );
        return Err(ScenarioError::at("rate", what));
    }
    Ok(())
}

/// Whether classes of files can be read.
fn files(key: &str, classes: &[FileClass], nodes: u32, most_cells: u16) -> Checked {
    for (place, class) in classes.iter().enumerate() {
        let FileClass { share, k, nodes: of_cells, weights } = class;
        let at = || format!("{key}, class {place}: ");
        positive(&(at() + "share"), *share, MOST_SHARE)?;
        let wrong = |key: &str, what: String| Err(ScenarioError::at(at() + key, what));
        let cells = of_cells.len();
        if cells > usize::from(most_cells) || *k == 0 || usize::from(*k) > cells {
            return wrong(
                "k",
                format!("is {k}, of {cells} nodes: from 1 to their number, which is at most {most_cells}"),
            );
        }
        if weights.len() != cells {
            return wrong("weights", format!("there are {} for {cells} nodes", weights.len()));
        }
        let drawable = weights.iter().filter(|&&weight| weight > 0).count();
        if drawable < usize::from(*k) {
            return wrong("weights", format!("only {drawable} are above 0, and a read asks {k} nodes"));
        }
        for (cell, &node) in of_cells.iter().enumerate() {
            if node >= nodes {
                return wrong(
                    "nodes",
                    format!("there is no node {node}: they are 0 to {}", nodes.saturating_sub(1)),
                );
            }
            if of_cells[..cell].contains(&node) {
                return wrong("nodes", format!("node {node} has two cells"));
            }
        }
    }
    Ok(())
}

fn workload(kind: &Workload, k: u16, at: impl Fn(&str) -> String) -> Checked {
    positive(&at("share"), kind.share, MOST_SHARE)?;
    within(&at("cells"), kind.cells.into(), 1.0, k.into())?;
    within(&at("fan_out"), kind.fan_out.into(), 1.0, MOST_FAN_OUT)
}
