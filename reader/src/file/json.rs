//! The manifest as text: JSON, its own checksum at the end.
//!
//! One object, written without white space, then a line feed. Fields: `format` ("hedgerow"), `version` (1), `id` (32 hexadecimal digits),
//! `generation`, `code` ("rs-6-3"), `matrix` ("cauchy"), `cell`, `record`, `stripes` (of a group), `length`, `nodes` (each a
//! `label` and an `address`), `placement` (for each group, for each cell, an index in `nodes`), `this` (the index of the node that this copy
//! is for). Unknown fields are ignored. The last field is `checksum`: eight hexadecimal digits, the CRC32C of all bytes of
//! the text before the comma in front of it. So it covers the text as it stands, unknown fields included.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::FileId;
use super::manifest::{MOST_GROUPS, MOST_NODES, MOST_TEXT, Manifest, ManifestError, NodeEntry};
use super::records::crc32c;

const FORMAT: &str = "hedgerow";
/// The newest version of the text that is known here.
pub(super) const VERSION: u64 = 1;
const MATRIX: &str = "cauchy";

const BEFORE_SUM: &str = ",\"checksum\":\"";
const AFTER_SUM: &str = "\"}\n";

#[derive(Serialize)]
struct Written<'a> {
    format: &'a str,
    version: u64,
    id: String,
    generation: u64,
    code: String,
    matrix: &'a str,
    cell: u32,
    record: u32,
    stripes: u32,
    length: u64,
    nodes: &'a [NodeEntry],
    placement: &'a [Vec<u16>],
    this: usize,
}

#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

#[derive(Deserialize)]
struct Read {
    id: String,
    generation: u64,
    code: String,
    matrix: String,
    cell: u64,
    record: u64,
    stripes: u64,
    length: u64,
    #[serde(deserialize_with = "nodes")]
    nodes: Vec<NodeEntry>,
    #[serde(deserialize_with = "rows")]
    placement: Rows,
    this: u64,
}

impl Manifest {
    /// Reads a copy of a manifest, and for which of its nodes the copy is. Everything is checked against the
    /// [bounds](Self#bounds) before memory is taken by it.
    ///
    /// # Errors
    ///
    /// [`ManifestError`].
    pub fn parse(text: &[u8]) -> Result<(Self, usize), ManifestError> {
        if text.len() as u64 > MOST_TEXT {
            return Err(ManifestError::TooLong { bytes: text.len() as u64 });
        }
        let undamaged = check_sum(text);
        match (serde_json::from_slice::<Head>(text), &undamaged) {
            (Ok(head), _) if head.format != FORMAT => {
                return Err(ManifestError::Format { found: short(&head.format) });
            }
            (Ok(Head { version, .. }), _) if version > VERSION => {
                return Err(ManifestError::Newer { version });
            }
            (Err(error), Ok(())) => return Err(not_text(&error)),
            _ => undamaged?,
        }
        let read: Read = serde_json::from_slice(text).map_err(|error| not_text(&error))?;
        let (this, manifest) = (read.this, read.manifest()?);
        manifest.check()?;
        let last = manifest.nodes.len() as u64 - 1;
        match usize::try_from(this) {
            Ok(index) if this <= last => Ok((manifest, index)),
            _ => Err(ManifestError::Limit { field: "this", found: this, least: 0, most: last }),
        }
    }

    /// The copy for the node `this` of its nodes, as text.
    ///
    /// # Errors
    ///
    /// [`ManifestError`] for a manifest that is out of bounds.
    pub fn to_bytes(&self, this: usize) -> Result<Vec<u8>, ManifestError> {
        self.check()?;
        if this >= self.nodes.len() {
            let most = self.nodes.len() as u64 - 1;
            return Err(ManifestError::Limit { field: "this", found: this as u64, least: 0, most });
        }
        let written = Written {
            format: FORMAT,
            version: VERSION,
            id: self.id.to_string(),
            generation: self.generation,
            code: self.code(),
            matrix: MATRIX,
            cell: self.cell_bytes,
            record: self.record_bytes,
            stripes: self.stripes_per_group,
            length: self.length,
            nodes: &self.nodes,
            placement: &self.placement,
            this,
        };
        let mut text = serde_json::to_vec(&written).map_err(|error| not_text(&error))?;
        // The closing brace comes after the checksum.
        text.pop();
        let sum = crc32c(&text);
        text.extend_from_slice(format!("{BEFORE_SUM}{sum:08x}{AFTER_SUM}").as_bytes());
        if text.len() as u64 > MOST_TEXT {
            return Err(ManifestError::TooLong { bytes: text.len() as u64 });
        }
        Ok(text)
    }
}

impl Read {
    fn manifest(self) -> Result<Manifest, ManifestError> {
        let id = FileId::parse(&self.id);
        let id = id.ok_or_else(|| ManifestError::Value { field: "id", found: short(&self.id) })?;
        let schema = schema(&self.code);
        let (k, m) =
            schema.ok_or_else(|| ManifestError::Value { field: "code", found: short(&self.code) })?;
        if self.matrix != MATRIX {
            return Err(ManifestError::Value { field: "matrix", found: short(&self.matrix) });
        }
        let manifest = Manifest {
            id,
            generation: self.generation,
            k,
            m,
            cell_bytes: small("cell", self.cell)?,
            record_bytes: small("record", self.record)?,
            stripes_per_group: small("stripes", self.stripes)?,
            length: self.length,
            nodes: self.nodes,
            placement: Vec::new(),
        };
        manifest.check_shape()?;
        // Only now is it known that rows have cells, and how many rows there may be.
        let placement = self.placement.0.chunks(usize::from(manifest.n())).map(<[u16]>::to_vec).collect();
        if self.placement.1.is_some_and(|width| width != usize::from(manifest.n())) {
            return Err(ManifestError::Placement { group: 0, cells: manifest.n() });
        }
        Ok(Manifest { placement, ..manifest })
    }
}

/// How many bytes of text a row of the placement takes, at most.
pub(super) fn row_bytes(row: &[u16]) -> usize {
    let digits = |node: u16| node.checked_ilog10().map_or(1, |log| log as usize + 1);
    row.iter().map(|&node| digits(node) + 1).sum::<usize>() + 2
}

/// k and m of a name such as `rs-6-3`.
fn schema(code: &str) -> Option<(u8, u8)> {
    let (k, m) = code.strip_prefix("rs-")?.split_once('-')?;
    let (k, m) = (k.parse().ok()?, m.parse().ok()?);
    (format!("rs-{k}-{m}") == code).then_some((k, m))
}

fn small(field: &'static str, found: u64) -> Result<u32, ManifestError> {
    let most = u32::MAX.into();
    u32::try_from(found).map_err(|_| ManifestError::Limit { field, found, least: 1, most })
}

/// What stood in the text, short enough for a message.
fn short(found: &str) -> String {
    found.chars().take(40).collect()
}

fn not_text(error: &serde_json::Error) -> ManifestError {
    ManifestError::Text(error.to_string().chars().take(200).collect())
}

fn check_sum(text: &[u8]) -> Result<(), ManifestError> {
    let sum = |text: &str| {
        let digits = text.strip_prefix(BEFORE_SUM)?.strip_suffix(AFTER_SUM)?;
        let sum = u32::from_str_radix(digits, 16).ok()?;
        (format!("{sum:08x}") == digits).then_some(sum)
    };
    let at = text.len().saturating_sub(BEFORE_SUM.len() + 8 + AFTER_SUM.len());
    let (before, end) = text.split_at(at);
    let (found, expected) = (std::str::from_utf8(end).ok().and_then(sum), crc32c(before));
    if found == Some(expected) { Ok(()) } else { Err(ManifestError::Damaged { found, expected }) }
}

fn nodes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NodeEntry>, D::Error> {
    from.deserialize_seq(NodesVisitor)
}

struct NodesVisitor;

impl<'de> Visitor<'de> for NodesVisitor {
    type Value = Vec<NodeEntry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST_NODES} nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut nodes = Vec::new();
        while nodes.len() < MOST_NODES {
            match list.next_element()? {
                Some(node) => nodes.push(node),
                None => return Ok(nodes),
            }
        }
        match list.next_element::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom(format!("more than {MOST_NODES} nodes"))),
            None => Ok(nodes),
        }
    }
}

/// The rows of the placement, one after another, all of one length: a `Vec` for each row of a hostile text would take many times
/// the memory of the text.
struct Rows(Vec<u16>, Option<usize>);

fn rows<'de, D: Deserializer<'de>>(from: D) -> Result<Rows, D::Error> {
    from.deserialize_seq(RowsVisitor)
}

struct RowsVisitor;

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = Rows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST_GROUPS} lists of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Rows, A::Error> {
        let (mut flat, mut width, mut groups) = (Vec::new(), None, 0);
        while let Some(cells) = list.next_element_seed(RowVisitor(&mut flat))? {
            groups += 1;
            if cells == 0 || *width.get_or_insert(cells) != cells {
                return Err(A::Error::custom("groups of the placement with different numbers of cells"));
            }
            if groups > MOST_GROUPS {
                return Err(A::Error::custom(format!("more than {MOST_GROUPS} groups")));
            }
        }
        Ok(Rows(flat, width))
    }
}

/// Appends one row, and says how many cells it has.
struct RowVisitor<'a>(&'a mut Vec<u16>);

impl<'de> DeserializeSeed<'de> for RowVisitor<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RowVisitor<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let before = self.0.len();
        while let Some(node) = list.next_element()? {
            self.0.push(node);
        }
        Ok(self.0.len() - before)
    }
}

#[cfg(test)]
mod tests;
