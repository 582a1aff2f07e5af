//! What a read took, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hedgerow::reader::ClientSnapshot;
use serde::Serialize;

use super::say;

/// What `get --stats` says.
#[derive(Serialize)]
pub(crate) struct Stats<'a> {
    name: &'a str,
    offset: u64,
    bytes: u64,
    seconds: f64,
    hedges: u64,
    wins: u64,
    lost: u64,
    extra_cells: u64,
    refused: BTreeMap<&'static str, u64>,
    bad_records: u64,
    breaker: String,
    thresholds_ms: Vec<Option<f64>>,
    nodes_seen: u32,
    nodes_impaired: u32,
    nodes_demoted: u32,
}

impl<'a> Stats<'a> {
    pub(crate) fn of(
        name: &'a str,
        offset: u64,
        bytes: u64,
        seconds: f64,
        snapshot: &ClientSnapshot,
    ) -> Self {
        let governor = &snapshot.governor;
        let counters = &governor.counters;
        let refused = snapshot.refused().map(|(reason, count)| (reason.name(), count));
        Self {
            name,
            offset,
            bytes,
            seconds,
            hedges: counters.granted,
            wins: counters.won,
            lost: counters.lost,
            extra_cells: snapshot.hedge_cells,
            refused: refused.collect(),
            bad_records: snapshot.bad_records,
            breaker: governor.breaker.to_string(),
            thresholds_ms: governor
                .threshold
                .iter()
                .map(|span| span.map(|span| milliseconds(span.into())))
                .collect(),
            nodes_seen: governor.seen,
            nodes_impaired: governor.impaired,
            nodes_demoted: governor.demoted,
        }
    }
}

impl fmt::Display for Stats<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, seconds, hedges, wins, extra_cells, bad_records, breaker, .. } = self;
        let rate = indicatif::HumanBytes((*bytes as f64 / seconds.max(1e-9)) as u64);
        writeln!(f, "{name}: {} in {seconds:.3} s, {rate}/s", say::bytes(*bytes))?;
        let cells = say::count(*extra_cells, "extra cell");
        writeln!(f, "  hedges: {hedges} granted, {wins} won, {cells}")?;
        let refused: Vec<_> =
            self.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let refused = if refused.is_empty() { "none".to_owned() } else { refused.join(", ") };
        writeln!(f, "  hedges refused: {refused}")?;
        let thresholds: Vec<_> = self
            .thresholds_ms
            .iter()
            .map(|threshold| match threshold {
                Some(milliseconds) => format!("{milliseconds:.1} ms"),
                None => "never".to_owned(),
            })
            .collect();
        writeln!(f, "  late after: {} (short requests, long requests)", thresholds.join(", "))?;
        let (seen, impaired, demoted) = (self.nodes_seen, self.nodes_impaired, self.nodes_demoted);
        writeln!(f, "  nodes: {seen} seen, {impaired} impaired, {demoted} demoted; breaker {breaker}")?;
        writeln!(f, "  records with a wrong checksum: {bad_records}")
    }
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
