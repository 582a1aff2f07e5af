//! What is to be simulated: a scenario that comes along or a file, and what the command line says instead.

use std::path::Path;

use hedgerow::sim::{Builtin, Engine, Policy, Scenario};

use super::{SimulateArgs, SimulateError};
use crate::show::{Look, Terminal, bytes_of, text_of};

/// Instead of a scenario: how fast the engine is.
const SPEED: &str = "speed";

/// What the command line asks for.
#[derive(Debug)]
pub(super) enum Chosen {
    /// Which scenarios and policies there are.
    List,
    /// A scenario's file as it is.
    Text(String),
    /// How fast the engine is.
    Speed,
    /// A run.
    Scenario(Box<Scenario>),
}

pub(super) fn choose(args: &SimulateArgs) -> Result<Chosen, SimulateError> {
    let name = match &args.scenario {
        Some(name) if !args.list => name,
        _ => return Ok(Chosen::List),
    };
    let shown = name.to_string_lossy();
    if shown == SPEED {
        return Ok(Chosen::Speed);
    }
    let builtin = Scenario::builtin().iter().find(|builtin| builtin.name == shown);
    let text = match builtin {
        Some(builtin) => builtin.text.into(),
        None if is_path(&shown) => text_of(name).map_err(SimulateError::Unread)?,
        None => {
            let names: Vec<&str> = Scenario::builtin().iter().map(|builtin| builtin.name).collect();
            return Err(SimulateError::Usage(format!(
                "there is no scenario {shown:?}: there are {}, {SPEED}, and files whose names end with .toml",
                names.join(", ")
            )));
        }
    };
    if args.show {
        return Ok(Chosen::Text(text));
    }
    let folder = name.parent().unwrap_or_else(|| Path::new(""));
    let read = |file: &str| bytes_of(&folder.join(file)).map_err(|error| error.to_string());
    let parse = |quick| Scenario::parse_with(&shown, &text, quick, &read).map_err(SimulateError::Scenario);
    let mut scenario = parse(args.quick)?;
    if args.quick {
        // What is named is taken from the whole scenario, also what a quick run leaves out.
        let whole = parse(false)?;
        if !args.policy.is_empty() {
            scenario.policies = whole.policies;
        }
        if !args.shape.is_empty() {
            scenario.shapes = whole.shapes;
        }
    }
    Ok(Chosen::Scenario(Box::new(with_options(scenario, args)?)))
}

/// A file's name, and not a scenario's.
fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains(std::path::is_separator)
}

/// The scenario, with what the command line says instead.
fn with_options(mut scenario: Scenario, args: &SimulateArgs) -> Result<Scenario, SimulateError> {
    if !args.policy.is_empty() {
        scenario.take_policies(&args.policy).map_err(SimulateError::Options)?;
    }
    if !args.shape.is_empty() {
        scenario.keep_shapes(&args.shape).map_err(SimulateError::Options)?;
    }
    let seconds = args.days.map(|days| days * 86_400.0).or(args.seconds);
    if let Some(seconds) = seconds {
        scenario.seconds = seconds;
        // As long as for the others, if that is no longer than it was.
        scenario.learning = scenario
            .learning
            .map(|(learning, warm_up)| (learning.min(seconds), warm_up))
            .filter(|&(learning, warm_up)| warm_up < learning);
    }
    if let Some(days) = args.learning_days {
        if scenario.engine == Engine::Full {
            return Err(SimulateError::Usage(
                "--learning-days needs a thinned scenario: in this one all policies are simulated for the same time".into(),
            ));
        }
        let warm_up = scenario.learning.map_or(scenario.warm_up, |(_, warm_up)| warm_up);
        scenario.learning = Some((days * 86_400.0, warm_up));
    }
    scenario.seeds = args.seeds.unwrap_or(scenario.seeds);
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    scenario.check().map_err(SimulateError::Options)?;
    Ok(scenario)
}

/// The scenarios that come along, and what policies are called.
pub(super) fn list(terminal: Terminal) -> String {
    let width = |names: &mut dyn Iterator<Item = &str>| names.map(str::len).max().unwrap_or_default() + 2;
    let heading = |text: &str| terminal.paint(Look::Bold, text);
    let mut lines = vec![heading("Scenarios, for hedgerow simulate NAME")];
    let all = Scenario::builtin();
    let columns = width(&mut all.iter().map(|builtin| builtin.name));
    lines.extend(all.iter().map(|Builtin { name, title, .. }| format!("  {name:columns$}{title}")));
    lines.push(format!("  {SPEED:columns$}How many reads a second are simulated on this machine"));
    lines.push(format!("\n{}", heading("Policies, for --policy NAME and in scenarios")));
    let columns = width(&mut Policy::forms().iter().map(|&(form, _)| form));
    lines.extend(Policy::forms().iter().map(|(form, about)| format!("  {form:columns$}{about}")));
    lines.push(format!("\n{}", heading("Parts of the default that can be left out")));
    let columns = width(&mut Policy::parts().map(|(part, _)| part));
    lines.extend(Policy::parts().map(|(part, without)| format!("  {part:columns$}without it {without}")));
    lines.join("\n")
}
