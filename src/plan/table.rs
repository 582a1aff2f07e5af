//! The tables: policies over times, how each plan was come by, and which nodes hold the tail.

use hedgerow::fleet::{NodeShare, Policy};

use super::rows::{Outcome, Row};
use super::scenario::Fleet;
use crate::show::{Look, Terminal, percent, time, wrap};

/// Columns of a policy's name, and of a number.
const NAME: usize = 33;
const NUMBER: usize = 10;
/// No more nodes are shown.
const NODES: usize = 24;

/// What is shown of each policy and time.
type Figure = fn(&Outcome) -> Option<f64>;

const FIGURES: [(&str, &str, Figure); 3] = [
    ("bound", "no more than so many reads take x or longer", |outcome| Some(outcome.tail.bound)),
    ("exact", "so many at most, from the nodes' tails themselves", |outcome| Some(outcome.tail.exact)),
    ("simulated", "so many did", |outcome| outcome.counted().map(|counted| counted.share)),
];

/// How a policy looks everywhere.
pub(super) fn look(policy: Policy) -> Look {
    if policy == Policy::ALL[0] || policy == Policy::ALL[1] { Look::On } else { Look::Other }
}

/// Policies over times.
pub(super) fn figures(terminal: Terminal, fleet: &Fleet, rows: &[Row]) -> String {
    let mut parts = Vec::new();
    for (name, about, figure) in FIGURES {
        let any = rows.iter().any(|row| row.outcome.as_ref().is_ok_and(|outcome| figure(outcome).is_some()));
        if !any {
            continue;
        }
        let mut head = format!("{:NAME$}", format!("{name}, x ="));
        for &x in &fleet.x {
            head += &format!("{:>NUMBER$}", short(x));
        }
        let mut lines =
            vec![format!("{} {}", terminal.paint(Look::Bold, name), terminal.paint(Look::Dim, about))];
        lines.push(terminal.paint(Look::Dim, &head));
        for of_policy in rows.chunk_by(|a, b| a.policy == b.policy) {
            lines.push(line(terminal, of_policy, figure));
        }
        parts.push(lines.join("\n"));
    }
    parts.join("\n\n")
}

fn line(terminal: Terminal, rows: &[Row], figure: Figure) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut line =
        terminal.paint(look(first.policy), &format!("{:NAME$}", format!("  {}", first.policy.name())));
    for row in rows {
        let number = row.outcome.as_ref().ok().and_then(figure);
        line += &format!("{:>NUMBER$}", number.map_or_else(|| "-".into(), probability));
    }
    line
}

/// A time for a column: 5 ms and not 5.00 ms.
fn short(millis: f64) -> String {
    let text = time(millis);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A probability with two digits.
pub(super) fn probability(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        ..0.095 => format!("{number:.1e}"),
        ..0.995 => format!("{number:.2}"),
        _ => format!("{number:.0}"),
    }
}

/// How many times as many reads take long without the first policy as with it, where that is planned for.
pub(super) fn gains(fleet: &Fleet, rows: &[Row]) -> Option<String> {
    let at = |policy: Policy| {
        let row = rows.iter().find(|row| row.policy == policy && row.x == fleet.plan_for)?;
        row.outcome.as_ref().ok()
    };
    let best = *fleet.policies.first()?;
    let own = at(best)?;
    let others: Vec<String> = fleet
        .policies
        .iter()
        .skip(1)
        .filter_map(|&policy| {
            let ratio = at(policy)?.tail.exact / own.tail.exact;
            Some(format!("{} {}", policy.name(), times(ratio)))
        })
        .collect();
    (!others.is_empty() && own.tail.exact > 0.0).then(|| {
        wrap(&format!(
            "At {} the exact share is {} with {}, and with the others so many times that: {}. The ratio depends on x.",
            time(fleet.plan_for),
            probability(own.tail.exact),
            best.name(),
            others.join(", ")
        ))
    })
}

fn times(ratio: f64) -> String {
    match ratio {
        ..9.95 => format!("{ratio:.2}"),
        ..999_999.5 => format!("{ratio:.0}"),
        _ => format!("{ratio:.1e}"),
    }
}

/// How the plan of each policy for one time was come by.
pub(super) fn plans(terminal: Terminal, fleet: &Fleet, rows: &[Row]) -> String {
    let title = format!("the plans for {}", time(fleet.shown()));
    let head = format!(
        "{:NAME$}{:>NUMBER$}{:>12}{:>NUMBER$}{:>NUMBER$}{:>NUMBER$}",
        "", "bound", "at most off", "planned", "busiest", "steps"
    );
    let mut lines = vec![terminal.paint(Look::Bold, &title), terminal.paint(Look::Dim, &head)];
    for row in rows.iter().filter(|row| row.x == fleet.shown()) {
        let name = terminal.paint(look(row.policy), &format!("{:NAME$}", format!("  {}", row.policy.name())));
        match &row.outcome {
            Ok(outcome) => {
                lines.push(format!(
                    "{name}{:>NUMBER$}{:>12}{:>NUMBER$}{:>NUMBER$}{:>NUMBER$}",
                    probability(outcome.objective),
                    outcome.gap.map_or_else(|| "-".into(), |gap| format!("{} %", probability(gap * 100.0))),
                    short(outcome.x_fit),
                    percent(outcome.busiest),
                    outcome.steps
                ));
                if let Some(cap) = outcome.capped {
                    let note = format!(
                        "    held below {} of each node's time: its own weights would overload one",
                        percent(cap)
                    );
                    lines.push(terminal.paint(Look::Dim, &note));
                }
            }
            Err(error) => {
                lines.push(name);
                lines.push(terminal.paint(Look::Bad, &format!("    {error}")));
            }
        }
    }
    let legend = "bound: the mean of the files' bounds, not capped at 1; at most off: no weights, and where the placement is free no placement either, have \
        a bound that is lower by more than this part; planned: for x itself, or for the least at which planning for a tail makes sense.";
    lines.push(terminal.paint(Look::Dim, &wrap(legend)));
    lines.join("\n")
}

/// Which nodes hold the tail of a plan.
pub(super) fn holders(terminal: Terminal, row: &Row, holders: &[NodeShare]) -> String {
    let title = format!("who holds the tail at {}, {}", time(row.x), row.policy.name());
    let head = format!(
        "{:>8}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "node", "requests/s", "busy", "bound", "exact", "share"
    );
    let mut lines = vec![terminal.paint(Look::Bold, &title), terminal.paint(Look::Dim, &head)];
    for share in holders.iter().take(NODES) {
        lines.push(format!(
            "{:>8}{:>12}{:>12}{:>12}{:>12}{:>12}",
            share.node,
            format!("{:.1}", share.load * 1e3),
            percent(share.busy),
            probability(share.bound.min(1.0)),
            probability(share.exact),
            percent(share.share)
        ));
    }
    if holders.len() > NODES {
        lines.push(terminal.paint(Look::Dim, &format!("    and {} more", holders.len() - NODES)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_loses_the_zeros_at_its_end_and_no_others() {
        let texts =
            [0.001, 5.0, 5.06, 5.5, 10.0, 200.0, 1_000.0, 1_050.0, 1_400.0, 10_000.0, 60_040.0].map(short);
        let wanted = [
            "0 ms", "5 ms", "5.06 ms", "5.5 ms", "10 ms", "200 ms", "1 s", "1.05 s", "1.4 s", "10 s", "60 s",
        ];
        assert_eq!(texts, wanted);
    }

    #[test]
    fn the_longest_name_fits_its_column() {
        assert!(Policy::ALL.iter().all(|policy| policy.name().len() + 2 < NAME));
    }
}
