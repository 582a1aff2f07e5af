//! What the demo does: which faults on which nodes, with hedging how.

use hedge_core::{Config, Span, Threshold};

/// Data cells, parity cells, and with them the nodes.
pub(crate) const K: u8 = 6;
/// Parity cells of a stripe.
pub(crate) const M: u8 = 3;
/// One server a cell.
pub(crate) const NODES: usize = (K + M) as usize;

/// What befalls the nodes in one part of the demo.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Scenario {
    /// What output and `--scenario` call it.
    pub(crate) name: &'static str,
    /// What happens, for people.
    pub(crate) story: &'static str,
    /// Nodes, and the faults that they are given.
    pub(crate) faults: &'static [(usize, &'static str)],
    /// How the nodes are used.
    pub(crate) load: Load,
}

/// How much is asked of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// Far less than they can do.
    Light,
    /// Most of what they can do: one request at a time each, for a stated time.
    Heavy,
}

/// All parts of the demo, in their order.
pub(crate) const SCENARIOS: [Scenario; 11] = [
    light("healthy", "all nodes are well", &[]),
    light("slow-body", "one node sends its answers in ten writes, 30 ms apart", &[(4, "slow-body")]),
    light("stall", "one node sends the head and 4 KiB, then nothing more", &[(4, "stall")]),
    light("no-answer", "one node takes connections and never answers", &[(4, "no-answer")]),
    light("not-accepted", "one node takes no connection: SYNs get no answer", &[(4, "not-accepted")]),
    light("refuse", "one node refuses connections", &[(4, "refuse")]),
    light(
        "corrupt",
        "one node flips a bit of each answer, one sends a stale block",
        &[(4, "corrupt"), (7, "stale")],
    ),
    light("mid-body", "one node closes the connection in the middle of its answers", &[(4, "mid-body")]),
    light("two-stall", "two nodes stall", &[(4, "stall"), (7, "stall")]),
    light(
        "three-slow",
        "three nodes are slow, which is more than the breaker's two",
        &[(1, "slow-body"), (4, "slow-body"), (7, "slow-body")],
    ),
    Scenario {
        name: "overload",
        story: "nothing is broken, but every node is busy most of the time",
        faults: &[],
        load: Load::Heavy,
    },
];

const fn light(
    name: &'static str,
    story: &'static str,
    faults: &'static [(usize, &'static str)],
) -> Scenario {
    Scenario { name, story, faults, load: Load::Light }
}

/// The scenario of this name.
///
/// # Errors
///
/// The names that there are.
pub(crate) fn scenario(name: &str) -> Result<&'static Scenario, String> {
    SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or_else(|| {
        let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        format!("no scenario; there are {}", names.join(", "))
    })
}

impl Scenario {
    /// With hedging how it is run.
    pub(crate) const fn modes(&self) -> &'static [Hedging] {
        match self.load {
            Load::Light => &[Hedging::Off, Hedging::On],
            Load::Heavy => &[Hedging::Off, Hedging::On, Hedging::NoBreaker],
        }
    }
}

/// What is done about late legs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hedging {
    /// Nothing.
    Off,
    /// What this library does.
    On,
    /// Each is hedged, at any price.
    NoBreaker,
}

impl Hedging {
    /// What output calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::NoBreaker => "no-breaker",
        }
    }

    /// The governor's configuration, with late legs hedged after `threshold`.
    pub(crate) fn governor(self, threshold: Span) -> Config {
        let mut config = Config::default();
        config.threshold = Threshold::Fixed(threshold);
        match self {
            Self::On => {}
            Self::Off => {
                config.enabled = false;
                config.health.demote = false;
            }
            Self::NoBreaker => {
                config.breaker.max_impaired_nodes = u16::MAX;
                config.breaker.max_impaired_percent = 100;
                config.breaker.useful = None;
                config.budget = None;
                config.max_per_second = u32::MAX;
                config.health.demote = false;
            }
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_is_one_that_a_governor_takes() {
        for hedging in [Hedging::Off, Hedging::On, Hedging::NoBreaker] {
            hedging.governor(Span::from_millis(20)).check().unwrap();
        }
    }

    #[test]
    fn every_scenario_leaves_enough_nodes_to_read_from() {
        for scenario in &SCENARIOS {
            let mut nodes: Vec<_> = scenario.faults.iter().map(|&(node, _)| node).collect();
            nodes.dedup();
            assert_eq!(nodes.len(), scenario.faults.len(), "{}", scenario.name);
            assert!(nodes.len() <= usize::from(M), "{}", scenario.name);
            assert!(nodes.iter().all(|&node| node < NODES), "{}", scenario.name);
        }
    }

    #[test]
    fn scenarios_are_found_by_their_names_alone() {
        for wanted in &SCENARIOS {
            assert_eq!(scenario(wanted.name), Ok(wanted));
        }
        assert!(scenario("fire").unwrap_err().contains("two-stall"));
    }
}
