//! The manifest: what a file is and where its cells lie.

use std::collections::HashMap;
use std::fmt;

use hedgerow_codec::Layout;
use serde::{Deserialize, Serialize};

use super::Records;
use super::json::VERSION;

/// Most bytes of a manifest as text.
pub(super) const MOST_TEXT: u64 = 16 << 20;
/// Most cells of a stripe, data and parity: reads keep sets of them in 64 bits.
pub(super) const MOST_CELLS: u8 = 64;
const MOST_CELL_BYTES: u64 = 1 << 30;
const RECORD_BYTES: [u64; 2] = [1 << 10, 1 << 20];
/// Most cells of an object.
const MOST_STRIPES: u64 = 64;
pub(super) const MOST_NODES: usize = 1024;
pub(super) const MOST_GROUPS: u64 = 1 << 20;
/// Far beyond what writers reach: so that a copy with a made-up number always leaves room for the next.
pub(super) const MOST_GENERATION: u64 = 1 << 63;
const MOST_LABEL: usize = 255;
const MOST_ADDRESS: usize = 4096;

/// The identity of one written version of a file: random.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub [u8; 16]);

/// As 32 hexadecimal digits.
impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FileId {
    /// A new one.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map(|()| Self(bytes))
    }

    /// From 32 hexadecimal digits, small letters only.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let digits = digits.as_bytes();
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 16];
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Some(Self(bytes))
    }
}

/// What a file is and where its cells lie. A copy of it is on every node.
///
/// # Objects
///
/// The internal block of cell c of block group g is the object `<name>/<id>/g<g>.c<c>` on its node, in [records](Records). A block
/// without bytes, as short files have, has no object; a file of 0 bytes has no group.
///
/// # Bounds
///
/// k and m at least 1, k + m at most 64; records of 1 KiB to 1 MiB; cells of whole records, at most 1 GiB; 1 to 64 stripes
/// a group; k + m to 1,024 nodes, the labels distinct; at most 1,048,576 groups, the k + m cells of each on distinct nodes; 16 MiB of text;
/// generations 1 to 2^63.
///
/// # When it is in force
///
/// A manifest with N nodes is *committed* when N - m of them, and more than half, have a copy of it
/// ([`quorum`](Self::quorum)). So any N - quorum + 1 of its nodes ([`answers`](Self::answers): m + 1 where k > m) include one that
/// has the newest committed one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// This written version of the file.
    pub id: FileId,
    /// Grows by one with each change of the manifest; the highest counts.
    pub generation: u64,
    /// Data cells of a stripe.
    pub k: u8,
    /// Parity cells of a stripe.
    pub m: u8,
    /// Bytes of a full cell.
    pub cell_bytes: u32,
    /// Bytes of a full record: see [`Records`].
    pub record_bytes: u32,
    /// Stripes of a full block group, and so cells of a full object.
    pub stripes_per_group: u32,
    /// Bytes of the file.
    pub length: u64,
    /// The nodes that have a part of the file.
    pub nodes: Vec<NodeEntry>,
    /// For each block group, for each cell of its stripes, the index in `nodes` of the node that has it.
    pub placement: Vec<Vec<u16>>,
}

/// A node in a manifest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeEntry {
    /// What messages call it.
    pub label: String,
    /// Where it was when the file was written, without secrets. Used only when asked.
    pub address: String,
}

impl Manifest {
    /// Cells of a stripe, data and parity.
    #[must_use]
    pub const fn n(&self) -> u8 {
        self.k.saturating_add(self.m)
    }

    /// How the file is cut into cells.
    ///
    /// # Errors
    ///
    /// As [`Layout::new`]; never for a manifest that was read or checked.
    pub const fn layout(&self) -> Result<Layout, hedgerow_codec::Error> {
        Layout::new(self.k as usize, self.m as usize, self.cell_bytes as u64, self.stripes_per_group as u64)
    }

    /// The name of the object of `cell` of block group `group` of this file, which is called `name`.
    #[must_use]
    pub fn object(&self, name: &str, group: u64, cell: u8) -> String {
        format!("{name}/{}/g{group}.c{cell}", self.id)
    }

    /// The records of that object.
    #[must_use]
    pub const fn records(&self, group: u64, cell: u8) -> Records {
        Records::new(self.id, group, cell, self.record_bytes)
    }

    /// Bytes of the internal block `cell` of block group `group`, without checksums. 0: there is no such object.
    #[must_use]
    pub fn block_length(&self, group: u64, cell: u8) -> u64 {
        let length = self
            .layout()
            .and_then(|layout| layout.block_len(layout.group_len(self.length, group), usize::from(cell)));
        length.unwrap_or(0)
    }

    /// Bytes of its object, checksums included. 0: there is no such object.
    #[must_use]
    pub fn object_length(&self, group: u64, cell: u8) -> u64 {
        self.records(group, cell).object_length(self.block_length(group, cell))
    }

    /// The index in [`nodes`](Self::nodes) of the node that has `cell` of block group `group`.
    #[must_use]
    pub fn placed(&self, group: u64, cell: u8) -> Option<usize> {
        let row = self.placement.get(usize::try_from(group).ok()?)?;
        row.get(usize::from(cell)).map(|&node| usize::from(node))
    }

    /// How many copies of a manifest commit it: N - m of its N nodes, and more than half.
    #[must_use]
    pub const fn quorum(&self) -> usize {
        let (some, most) = (self.nodes.len().saturating_sub(self.m as usize), self.nodes.len() / 2 + 1);
        if some > most { some } else { most }
    }

    /// From how many of its nodes one must hear to be sure to hear of the newest committed manifest.
    #[must_use]
    pub const fn answers(&self) -> usize {
        (self.nodes.len() + 1).saturating_sub(self.quorum())
    }

    /// The name of its code, such as `rs-6-3`. Its parity is that of [`Matrix::Cauchy`](hedgerow_codec::Matrix::Cauchy).
    #[must_use]
    pub fn code(&self) -> String {
        format!("rs-{}-{}", self.k, self.m)
    }

    /// Whether all of it is within the [bounds](Self#bounds).
    ///
    /// # Errors
    ///
    /// [`ManifestError`].
    pub fn check(&self) -> Result<(), ManifestError> {
        self.check_shape()?;
        self.check_nodes()?;
        self.check_placement()
    }

    /// Whether the schema and the sizes are within bounds.
    pub(crate) fn check_shape(&self) -> Result<(), ManifestError> {
        let n = u64::from(self.k) + u64::from(self.m);
        limit("generation", self.generation, 1, MOST_GENERATION)?;
        limit("k", self.k.into(), 1, u64::from(MOST_CELLS) - 1)?;
        limit("m", self.m.into(), 1, u64::from(MOST_CELLS) - 1)?;
        limit("k + m", n, 2, MOST_CELLS.into())?;
        limit("record", self.record_bytes.into(), RECORD_BYTES[0], RECORD_BYTES[1])?;
        limit("cell", self.cell_bytes.into(), self.record_bytes.into(), MOST_CELL_BYTES)?;
        limit("stripes", self.stripes_per_group.into(), 1, MOST_STRIPES)?;
        if !self.cell_bytes.is_multiple_of(self.record_bytes) {
            return Err(ManifestError::Records { cell: self.cell_bytes, record: self.record_bytes });
        }
        limit("groups", self.groups(), 0, MOST_GROUPS)
    }

    fn groups(&self) -> u64 {
        self.layout().map_or(0, |layout| layout.groups(self.length))
    }

    pub(crate) fn check_nodes(&self) -> Result<(), ManifestError> {
        limit("nodes", self.nodes.len() as u64, self.n().into(), MOST_NODES as u64)?;
        let mut labels = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            for (text, most) in [(&node.label, MOST_LABEL), (&node.address, MOST_ADDRESS)] {
                if text.is_empty() || text.len() > most || text.contains(char::is_control) {
                    return Err(ManifestError::Node { index, bytes: text.len(), most });
                }
            }
            if let Some(first) = labels.insert(&node.label, index) {
                return Err(ManifestError::SameLabel { label: node.label.clone(), nodes: [first, index] });
            }
        }
        Ok(())
    }

    fn check_placement(&self) -> Result<(), ManifestError> {
        let (expected, found) = (self.groups(), self.placement.len() as u64);
        if found != expected {
            return Err(ManifestError::Groups { found, expected });
        }
        for (group, row) in self.placement.iter().enumerate() {
            let mut taken = [0_u64; MOST_NODES / 64];
            let mut distinct = row.len() == usize::from(self.n());
            for &node in row {
                let bit = 1 << (node % 64);
                distinct &= usize::from(node) < self.nodes.len();
                match taken.get_mut(usize::from(node / 64)) {
                    Some(word) if *word & bit == 0 => *word |= bit,
                    _ => distinct = false,
                }
            }
            if !distinct {
                return Err(ManifestError::Placement { group: group as u64, cells: self.n() });
            }
        }
        Ok(())
    }
}

/// Where the n cells of block group `group` go on `nodes` nodes, of which there are at least n: rotated from group to group, so
/// that all nodes have data as well as parity.
pub(crate) fn rotated(group: u64, n: u8, nodes: usize) -> Vec<u16> {
    let nodes = nodes.max(1) as u64;
    let node = |cell: u8| (group % nodes + u64::from(cell)) % nodes;
    // At most MOST_NODES, so that nothing is cut off.
    (0..n).map(|cell| node(cell) as u16).collect()
}

fn limit(field: &'static str, found: u64, least: u64, most: u64) -> Result<(), ManifestError> {
    if (least..=most).contains(&found) {
        Ok(())
    } else {
        Err(ManifestError::Limit { field, found, least, most })
    }
}

/// What is wrong with a manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ManifestError {
    /// The text is longer than any manifest may be.
    TooLong {
        /// Its bytes.
        bytes: u64,
    },
    /// The text is not that of a manifest: the reader of JSON says where and why.
    Text(String),
    /// Some bytes of the text are not those that were written.
    Damaged {
        /// The checksum at its end, if there is one.
        found: Option<u32>,
        /// The checksum that its bytes have.
        expected: u32,
    },
    /// A manifest of something else.
    Format {
        /// What it says it is, cut short.
        found: String,
    },
    /// Written by a newer Hedgerow.
    Newer {
        /// Its version.
        version: u64,
    },
    /// A value that is not what such a value looks like.
    Value {
        /// Which.
        field: &'static str,
        /// What stands there, cut short.
        found: String,
    },
    /// A number outside its bounds.
    Limit {
        /// Which.
        field: &'static str,
        /// What stands there.
        found: u64,
        /// The least it may be.
        least: u64,
        /// The most it may be.
        most: u64,
    },
    /// Cells that are not made of whole records.
    Records {
        /// Bytes of a cell.
        cell: u32,
        /// Bytes of a record.
        record: u32,
    },
    /// A label or an address of a node that is empty, too long, or has control characters.
    Node {
        /// Which node.
        index: usize,
        /// The bytes of the text.
        bytes: usize,
        /// The most it may have.
        most: usize,
    },
    /// Two nodes of one label.
    SameLabel {
        /// The label.
        label: String,
        /// The two.
        nodes: [usize; 2],
    },
    /// A placement for another number of groups than the file has.
    Groups {
        /// Groups that have a placement.
        found: u64,
        /// Groups of the file.
        expected: u64,
    },
    /// The cells of a group are not each on a node of its own.
    Placement {
        /// The group.
        group: u64,
        /// The cells that it has.
        cells: u8,
    },
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "a manifest of {bytes} bytes, where {MOST_TEXT} are the most")
            }
            Self::Text(why) => write!(f, "not the text of a manifest: {why}"),
            Self::Damaged { found: Some(found), expected } => {
                write!(f, "a damaged manifest: its checksum is {found:08x}, that of its bytes {expected:08x}")
            }
            Self::Damaged { found: None, .. } => {
                write!(f, "a damaged manifest: it does not end in its checksum")
            }
            Self::Format { found } => write!(f, "not a manifest of hedgerow but of {found:?}"),
            Self::Newer { version } => {
                write!(
                    f,
                    "a manifest of version {version}: this program knows version {VERSION} and none after it"
                )
            }
            Self::Value { field, found } => write!(f, "{field} of a manifest can't be {found:?}"),
            Self::Limit { field, found, least, most } => {
                write!(f, "{field} is {found}, where it must be {least} to {most}")
            }
            Self::Records { cell, record } => {
                write!(f, "cells of {cell} bytes are not made of whole records of {record} bytes")
            }
            Self::Node { index, bytes, most } => write!(
                f,
                "label or address of node {index}: {bytes} bytes, where 1 to {most} without control characters are needed"
            ),
            Self::SameLabel { label, nodes: [first, second] } => {
                write!(f, "nodes {first} and {second} are both called {label:?}")
            }
            Self::Groups { found, expected } => {
                write!(f, "the placement of {found} groups for a file of {expected}")
            }
            Self::Placement { group, cells } => {
                write!(f, "the {cells} cells of group {group} are not each on a node of its own")
            }
        }
    }
}

impl std::error::Error for ManifestError {}
