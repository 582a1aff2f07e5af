//! What is wrong with a file, as JSON: `verify` finds it, `repair` mends it.

use hedgerow::reader::{Fault, Finding};
use serde::Serialize;

/// A finding, as JSON has it.
#[derive(Serialize)]
pub(crate) struct Found<'a> {
    node: &'a str,
    group: Option<u64>,
    cell: Option<u8>,
    fault: &'static str,
    detail: String,
}

impl<'a> Found<'a> {
    pub(crate) fn all(findings: &'a [Finding]) -> Vec<Self> {
        findings.iter().map(Self::of).collect()
    }

    fn of(finding: &'a Finding) -> Self {
        let Finding { node, cell, fault } = finding;
        let (group, cell) = cell.unzip();
        Self { node, group, cell, fault: kind(fault), detail: fault.to_string() }
    }
}

const fn kind(fault: &Fault) -> &'static str {
    match fault {
        Fault::Missing => "missing",
        Fault::Corrupt { .. } => "corrupt",
        Fault::Length { .. } => "length",
        Fault::Unreadable(_) => "unreadable",
        Fault::Parity { .. } => "parity",
        Fault::Disputed { .. } => "disputed",
        Fault::Manifest(_) => "manifest",
        _ => "other",
    }
}
