//! What programs are told: a line of JSON for each policy and time, and the file of weights.

use std::fmt::Write as _;

use hedgerow::fleet::{Plan, Policy};
use serde_json::{Value, json};

use super::rows::Row;

/// One policy at one time, as JSON.
pub(super) fn json(row: &Row) -> String {
    let (policy, x) = (row.policy.name(), row.x);
    let outcome = match &row.outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            return line(&[
                ("policy", policy.into()),
                ("x", x.into()),
                ("bound", Value::Null),
                ("exact", Value::Null),
                ("simulated", Value::Null),
                ("error", error.to_string().into()),
            ]);
        }
    };
    let counted = outcome.counted();
    let mut fields = vec![
        ("policy", policy.into()),
        ("x", x.into()),
        ("bound", outcome.tail.bound.into()),
        ("exact", outcome.tail.exact.into()),
        ("simulated", json!(counted.map(|counted| counted.share))),
        ("simulated_reads", counted.map_or(0, |counted| counted.reads).into()),
        ("planned_for", outcome.x_fit.into()),
        ("objective", outcome.objective.into()),
        ("gap", json!(outcome.gap)),
        ("busiest", outcome.busiest.into()),
        ("capped", json!(outcome.capped)),
        ("steps", outcome.steps.into()),
    ];
    fields.extend(outcome.not_simulated().map(|why| ("not_simulated", why.into())));
    line(&fields)
}

/// An object whose keys keep their order.
fn line(fields: &[(&str, Value)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

/// The placement and the weights of a plan, and how long the tails are: a line on the whole, then one for each class, in order.
pub(super) fn weights(policy: Policy, plan: &Plan, x: f64) -> String {
    let nodes = plan.problem.services().len();
    let mut text = line(&[
        ("policy", policy.name().into()),
        ("plan_for_ms", x.into()),
        ("nodes", nodes.into()),
        ("classes", plan.problem.classes().into()),
        ("unit", (1_u32 << 30).into()),
    ]);
    text.push('\n');
    for (class, tail) in plan.tails(x).into_iter().enumerate() {
        let weights = plan.draw_weights(class);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{}",
            line(&[
                ("class", class.into()),
                ("reads_per_second", (plan.problem.rate_of(class) * 1e3).into()),
                ("k", plan.problem.k_of(class).into()),
                ("nodes", json!(plan.problem.nodes_of(class))),
                ("weights", json!(weights)),
                ("bound", tail.bound.into()),
                ("exact", tail.exact.into()),
            ])
        );
    }
    text
}
