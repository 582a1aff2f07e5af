//! Scenarios: what is simulated, for how long, and under which policies; and their files.

mod build;
mod builtin;
pub(crate) mod check;
mod error;
mod file;
#[cfg(test)]
mod tests;

pub use error::ScenarioError;

use crate::{Cluster, Engine, Incident, Policy};

/// A whole experiment: each policy faces each shape, on the same random numbers. The thinned engine draws other reads for policies that
/// learn from every read; the incidents are the same for all.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// A line for people.
    pub title: String,
    /// What it is about, and where its numbers come from.
    pub about: String,
    /// How it is simulated.
    pub engine: Engine,
    /// Simulated time of each seed, in seconds.
    pub seconds: f64,
    /// Simulated time before it, in seconds, of which nothing is counted. Less than `seconds`.
    pub warm_up: f64,
    /// The same two for policies that learn from every read, of which the thinned engine can leave out none: a tenth of a second
    /// of real time for each million reads. None: as the others.
    pub learning: Option<(f64, f64)>,
    /// How many seeds: the first, and those that follow it.
    pub seeds: u32,
    /// The first seed.
    pub seed: u64,
    /// The sigma of a lognormal factor, drawn for each day, on how often incidents come.
    pub day_factor: f64,
    /// What the policies face. Never empty.
    pub shapes: Vec<Shape>,
    /// The policies. Never empty.
    pub policies: Vec<Policy>,
    /// What others published, or what is promised, to be compared with.
    pub published: Vec<Published>,
}

/// One cluster and what happens to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub about: String,
    /// The cluster.
    pub cluster: Cluster,
    /// What happens to it.
    pub incidents: Vec<Incident>,
}

/// A figure to compare with.
#[derive(Clone, PartialEq, Debug)]
pub struct Published {
    /// The policy that it is said of.
    pub policy: String,
    /// The shape; none: every shape.
    pub shape: Option<String>,
    /// Which figure: a key of a [`Row`](crate::Row), as `--json` writes it.
    pub figure: String,
    /// The policy whose same figure it is a ratio to; none: it is the figure itself.
    pub over: Option<String>,
    /// The figure is expected from here ...
    pub least: f64,
    /// ... to here.
    pub most: f64,
    /// What was published, in words.
    pub text: String,
}

/// A scenario that comes with this crate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its file, in TOML.
    pub text: &'static str,
}

/// Fetches a file that a scenario names: a histogram. The error says why that is not possible.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

impl Scenario {
    /// The scenarios that come with this crate.
    #[must_use]
    pub const fn builtin() -> &'static [Builtin] {
        builtin::ALL
    }

    /// The scenario of a file in TOML that names no other file. `name` is the file's, for errors; `quick` takes what its table `[quick]` says instead.
    ///
    /// The format is in `docs/simulating.md`.
    ///
    /// # Errors
    ///
    /// What can't be understood, with its line; or what [`check`](Self::check) finds.
    pub fn parse(name: &str, text: &str, quick: bool) -> Result<Self, ScenarioError> {
        Self::parse_with(name, text, quick, &|_| Err("files are not read here".into()))
    }

    /// The same for a file that may name histograms, which `read` fetches.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), or a histogram can't be fetched or understood.
    pub fn parse_with(
        name: &str,
        text: &str,
        quick: bool,
        read: ReadFile<'_>,
    ) -> Result<Self, ScenarioError> {
        let in_file = |error: ScenarioError| error.of(name);
        let file = file::File::parse(text).map_err(in_file)?;
        build::Builder { name, read }.scenario(file, quick).map_err(in_file)
    }

    /// Keeps only these shapes.
    ///
    /// # Errors
    ///
    /// There is no such shape.
    pub fn keep_shapes<S: AsRef<str>>(&mut self, names: &[S]) -> Result<(), ScenarioError> {
        for name in names.iter().map(AsRef::as_ref) {
            if !self.shapes.iter().any(|shape| shape.name == name) {
                let known: Vec<_> = self.shapes.iter().map(|shape| format!("{:?}", shape.name)).collect();
                let known = known.join(", ");
                return Err(ScenarioError::at("shapes", format!("there is no {name:?}: there are {known}")));
            }
        }
        self.shapes.retain(|shape| names.iter().any(|name| name.as_ref() == shape.name));
        Ok(())
    }

    /// Takes these policies instead of its own: those of its own that have such a name, others by [name](Policy::named).
    ///
    /// # Errors
    ///
    /// There is no such policy.
    pub fn take_policies<S: AsRef<str>>(&mut self, names: &[S]) -> Result<(), ScenarioError> {
        let own = |name: &str| self.policies.iter().find(|policy| policy.name == name).cloned();
        let policies = names.iter().map(|name| {
            let name = name.as_ref();
            own(name).map_or_else(|| Policy::named(name), Ok).map_err(ScenarioError::policy)
        });
        self.policies = policies.collect::<Result<_, _>>()?;
        Ok(())
    }
}
