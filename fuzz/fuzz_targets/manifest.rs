//! Manifests: no text makes the parser panic, what it takes is within bounds, and is the same when it is written and read
//! again.
#![no_main]

use arbitrary::Arbitrary;
use hedgerow_reader::{FileId, Manifest, NodeEntry};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Input {
    /// Any text.
    Text(Vec<u8>),
    /// Any text before the checksum, which is right.
    Summed(Vec<u8>),
    /// A manifest with a part of its text replaced, and then with a right checksum.
    Changed { built: Built, at: u16, removed: u8, put: Vec<u8> },
    /// A manifest as it may be in memory.
    Built(Built),
}

#[derive(Debug, Arbitrary)]
struct Built {
    id: [u8; 16],
    generation: u64,
    schema: (u8, u8),
    records: (u8, u8),
    stripes: u8,
    length: u64,
    labels: Vec<String>,
    spare: u8,
    this: u8,
    /// Changes of the placement.
    moves: Vec<(u8, u8, u16)>,
}

fuzz_target!(|input: Input| match input {
    Input::Text(text) => parse(&text),
    Input::Summed(text) => parse(&summed(text)),
    Input::Changed { built, at, removed, put } => {
        let (manifest, this) = built.manifest();
        let Ok(mut text) = manifest.to_bytes(this) else { return };
        text.truncate(text.len() - summed(Vec::new()).len());
        let start = usize::from(at) % (text.len() + 1);
        let end = (start + usize::from(removed)).min(text.len());
        text.splice(start..end, put);
        parse(&summed(text));
    }
    Input::Built(built) => {
        let (manifest, this) = built.manifest();
        match manifest.to_bytes(this) {
            Ok(text) => assert_eq!(Manifest::parse(&text), Ok((manifest, this))),
            Err(error) => assert!(manifest.check().is_err() || this >= manifest.nodes.len(), "{error}"),
        }
    }
});

fn parse(text: &[u8]) {
    let Ok((manifest, this)) = Manifest::parse(text) else { return };
    manifest.check().unwrap();
    manifest.layout().unwrap();
    assert_eq!(Manifest::parse(&manifest.to_bytes(this).unwrap()), Ok((manifest, this)));
}

impl Built {
    /// Mostly what can be, and a placement that is rotated.
    fn manifest(self) -> (Manifest, usize) {
        let (k, m) = (self.schema.0 % 16, self.schema.1 % 8);
        let record_bytes = 1024_u32 << (self.records.0 % 12);
        let (n, nodes) = (usize::from(k + m), usize::from(k + m) + usize::from(self.spare % 4));
        let entry = |index: usize| {
            let label = self.labels.get(index).cloned().unwrap_or_else(|| format!("node-{index}"));
            NodeEntry { address: format!("/{label}"), label }
        };
        let mut manifest = Manifest {
            id: FileId(self.id),
            generation: self.generation,
            k,
            m,
            cell_bytes: record_bytes.saturating_mul(self.records.1.into()),
            record_bytes,
            stripes_per_group: self.stripes.into(),
            length: self.length,
            nodes: (0..nodes).map(entry).collect(),
            placement: Vec::new(),
        };
        let groups = manifest.layout().map_or(0, |layout| layout.groups(self.length));
        let row = |group: usize| (0..n).map(|cell| ((group + cell) % nodes.max(1)) as u16).collect();
        manifest.placement = (0..groups.min(64) as usize).map(row).collect();
        for (group, cell, node) in self.moves {
            let row = manifest.placement.get_mut(usize::from(group));
            if let Some(place) = row.and_then(|row| row.get_mut(usize::from(cell))) {
                *place = node;
            }
        }
        (manifest, self.this.into())
    }
}

/// `text` and its checksum, as a manifest ends.
fn summed(mut text: Vec<u8>) -> Vec<u8> {
    let sum = text.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    });
    text.extend_from_slice(format!(",\"checksum\":\"{:08x}\"}}\n", !sum).as_bytes());
    text
}
