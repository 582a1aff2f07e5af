//! The manifest: what a file is and where its cells lie.

use std::fmt;

use hedgerow_codec::Layout;

use super::Records;

/// The identity of one written version of a file: random.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub [u8; 16]);

/// As 32 hexadecimal digits.
impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a file is and where its cells lie. A copy of it is on every node.
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
#[derive(Clone, PartialEq, Eq, Debug)]
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
}
