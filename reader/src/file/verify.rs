//! Reading all of a file, parity too, to find what is missing or wrong.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::copies::Copy;
use super::scan::{GroupScan, Object, SILENCE, Scan};
use super::{FileError, Node, Opened, Progress};

/// How a file is to be verified.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Bytes a second at most, in all; `None`: as fast as it goes.
    pub rate: Option<u64>,
    /// A node that does not answer for so long, or not with all of the 1 MiB that is asked for at most, has failed.
    pub silence: Duration,
}

impl Default for VerifyOptions {
    /// As fast as it goes; a node may take a minute.
    fn default() -> Self {
        Self { rate: None, silence: SILENCE }
    }
}

/// What is wrong with a part of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The node does not have it.
    Missing,
    /// Records of it are wrong: the first, and how many.
    Corrupt {
        /// The first of them.
        first: u64,
        /// How many.
        records: u64,
    },
    /// The object is so long, and should be so long.
    Length {
        /// Found.
        found: u64,
        /// Expected.
        expected: u64,
    },
    /// It could not be read.
    Unreadable(String),
    /// Every record is right by itself, but the cells of a stripe do not agree, and this cell is to blame: without it
    /// all others do.
    Parity {
        /// The first stripe of the group in which it differs.
        stripe: u64,
    },
    /// The same, where nobody can tell which cells are wrong: with one parity cell, or where several are. This is one of those that
    /// are not what the first k make of them.
    Disputed {
        /// The first stripe of the group in which it differs.
        stripe: u64,
    },
    /// The node's copy of the manifest is missing, old or damaged.
    Manifest(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::Corrupt { first, records: 1 } => write!(f, "record {first} is corrupt"),
            Self::Corrupt { first, records } => {
                write!(f, "{records} records are corrupt, the first is {first}")
            }
            Self::Length { found, expected } => {
                write!(f, "{found} bytes long where {expected} were written")
            }
            Self::Unreadable(why) => write!(f, "unreadable: {why}"),
            Self::Parity { stripe } => {
                write!(
                    f,
                    "does not fit the other cells, from stripe {stripe} on, though its checksums are right"
                )
            }
            Self::Disputed { stripe } => write!(
                f,
                "does not fit the other cells, from stripe {stripe} on, and nobody can tell which of them are wrong"
            ),
            Self::Manifest(why) => write!(f, "manifest: {why}"),
        }
    }
}

/// A part of a file with something wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The node's label.
    pub node: String,
    /// The block group and the cell; `None` for the manifest.
    pub cell: Option<(u64, u8)>,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.node)?;
        if let Some((group, cell)) = self.cell {
            write!(f, "cell {cell} of group {group}: ")?;
        }
        write!(f, "{}", self.fault)
    }
}

/// What was verified.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Objects looked at.
    pub objects: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// Block groups that can't be read any more: of some of their bytes, fewer than k cells are left on the nodes that could be reached.
    pub lost: Vec<u64>,
}

/// Reads all of the file, parity too, and compares it.
///
/// Of each group all internal blocks are read at once, 1 MiB of each at a time, so that it takes some 3 MiB of memory for each cell of a
/// stripe. Every length and every record is checked; wherever more than k cells are right, they are compared with each other, parity and
/// data. So are the copies of the manifest on all nodes.
///
/// A node that has not answered three times in a row is not asked again.
///
/// # Errors
///
/// [`FileError`]; what is wrong with the file is no error, but a finding.
pub async fn verify(
    file: &Opened,
    nodes: &[Node],
    options: &VerifyOptions,
    progress: Progress<'_>,
) -> Result<Verified, FileError> {
    let scan = Scan::new(file, nodes, options.rate, options.silence)?;
    let survey = survey(&scan, progress).await?;
    let mut verified = Verified { objects: survey.objects, ..Verified::default() };
    verified.bytes = scan.bytes.load(Ordering::Relaxed);
    verified.findings = survey.findings(&scan);
    verified.lost = survey.lost();
    Ok(verified)
}

/// What was found of a whole file.
pub(super) struct Survey {
    pub(super) objects: u64,
    /// The copies of the manifest on the given nodes.
    pub(super) copies: Vec<Copy>,
    /// Groups with something wrong.
    pub(super) groups: Vec<GroupSurvey>,
}

/// What was found of one group.
pub(super) struct GroupSurvey {
    pub(super) group: u64,
    pub(super) objects: Vec<Object>,
    /// Fewer than k cells are right somewhere.
    pub(super) lost: bool,
}

impl Survey {
    /// Everything that is wrong.
    pub(super) fn findings(&self, scan: &Scan<'_>) -> Vec<Finding> {
        let copies = self.copy_findings(scan).into_iter().map(|(_, finding)| finding);
        copies
            .chain(self.groups.iter().flat_map(|group| group.findings(scan)).map(|(_, finding)| finding))
            .collect()
    }

    /// What is wrong with the copies of the manifest, by the manifest's number of the node.
    pub(super) fn copy_findings(&self, scan: &Scan<'_>) -> Vec<(usize, Finding)> {
        let mut findings = Vec::new();
        for (index, source) in scan.nodes.iter().enumerate() {
            let copy = source.given.and_then(|given| self.copies.get(given));
            let fault = match copy {
                Some(copy) => copy.fault(scan.manifest),
                None => Some(Fault::Manifest("unreadable: the node was not given".into())),
            };
            if let Some(fault) = fault {
                findings.push((index, Finding { node: source.label.to_owned(), cell: None, fault }));
            }
        }
        findings
    }

    /// Groups that can't be read any more.
    pub(super) fn lost(&self) -> Vec<u64> {
        self.groups.iter().filter(|group| group.lost).map(|group| group.group).collect()
    }
}

impl GroupSurvey {
    /// Whether it can't be repaired: it is lost, or nobody knows which of its cells are wrong.
    pub(super) fn is_stuck(&self) -> bool {
        self.lost || self.objects.iter().any(|object| object.state.disputed.is_some())
    }

    /// What is wrong with its cells.
    pub(super) fn findings(&self, scan: &Scan<'_>) -> Vec<(u8, Finding)> {
        let mut findings = Vec::new();
        for (cell, object) in (0_u8..).zip(&self.objects) {
            for fault in object.faults() {
                let node = scan.label(object.node).to_owned();
                findings.push((cell, Finding { node, cell: Some((self.group, cell)), fault }));
            }
        }
        findings
    }
}

impl Object {
    fn faults(&self) -> Vec<Fault> {
        let state = &self.state;
        let expected = self.records.object_length(self.length);
        let faults = [
            state.missing.then_some(Fault::Missing),
            state.length.map(|found| Fault::Length { found, expected }),
            state.corrupt.map(|(first, records)| Fault::Corrupt { first, records }),
            state.unreadable.clone().map(Fault::Unreadable),
            state.odd.map(|stripe| Fault::Parity { stripe }),
            state.disputed.map(|stripe| Fault::Disputed { stripe }),
        ];
        faults.into_iter().flatten().collect()
    }
}

/// Looks through all of a file.
pub(super) async fn survey(scan: &Scan<'_>, progress: Progress<'_>) -> Result<Survey, FileError> {
    let copies = scan.copies().await;
    let (mut objects, mut groups, mut done) = (0, Vec::new(), 0_u64);
    for number in 0..scan.groups() {
        let mut group = scan.group(number).await?;
        objects += group.objects.iter().filter(|object| object.length > 0).count() as u64;
        let lost = look_through(scan, &mut group, |bytes| {
            done = done.saturating_add(bytes);
            progress(done);
        })
        .await?;
        let survey = GroupSurvey { group: number, objects: group.objects, lost };
        if lost || survey.objects.iter().any(|object| !object.faults().is_empty()) {
            groups.push(survey);
        }
    }
    Ok(Survey { objects, copies, groups })
}

/// Reads and compares a group. Whether it is lost.
async fn look_through(
    scan: &Scan<'_>,
    group: &mut GroupScan<'_>,
    mut done: impl FnMut(u64),
) -> Result<bool, FileError> {
    let mut lost = false;
    while let Some(mut piece) = group.next().await {
        done(piece.cut.file_bytes(&piece.range));
        let code = Arc::clone(&scan.code);
        let (agreement, _) = scan.compute(move || (piece.check(&code), piece)).await?;
        lost |= group.note(&agreement?);
    }
    Ok(lost)
}
