//! Where cells go when nodes are given up: the next manifest's nodes and placement.

use std::collections::BTreeSet;

use super::copies::Copy;
use super::repair::not_given;
use super::{FileError, Manifest, Node, NodeEntry, NodeFailure, Opened, RepairError};

/// The nodes and the placement of the manifest to come.
pub(super) struct Placing<'a> {
    file: &'a Opened,
    /// The nodes of the file, and then the other given ones, which may be taken in.
    slots: Vec<Slot>,
    /// For each group, for each cell, its slot.
    placement: Vec<Vec<u16>>,
}

/// A node that may have cells.
struct Slot {
    entry: NodeEntry,
    /// Which of the given nodes it is.
    given: Option<usize>,
    /// To be given up.
    left: bool,
    /// Given, and answers.
    usable: bool,
    /// Cells placed on it.
    cells: u64,
}

/// The nodes of the file to be given up: by their labels in the manifest, else by how they were given, else by their addresses.
pub(super) fn left_nodes(
    file: &Opened,
    nodes: &[Node],
    leave: &[String],
) -> Result<BTreeSet<usize>, FileError> {
    let entries = || file.manifest.nodes.iter().enumerate();
    let given = |index: usize| nodes.get(file.node.get(index).copied().flatten()?);
    let mut left = BTreeSet::new();
    for said in leave {
        let by_label = entries().filter(|(_, entry)| entry.label == *said);
        let by_given = entries().filter(|(index, _)| given(*index).is_some_and(|node| node.label == *said));
        let by_address = entries().filter(|(index, entry)| {
            entry.address == *said || given(*index).is_some_and(|node| node.store.address() == said)
        });
        let ways: [Vec<usize>; 3] = [
            by_label.map(|(index, _)| index).collect(),
            by_given.map(|(index, _)| index).collect(),
            by_address.map(|(index, _)| index).collect(),
        ];
        match ways.iter().find(|found| !found.is_empty()).map(Vec::as_slice) {
            Some(&[index]) => left.insert(index),
            found => {
                let nodes = found.map_or(0, <[usize]>::len);
                return Err(RepairError::NotOneNode { said: said.clone(), nodes }.into());
            }
        };
    }
    Ok(left)
}

impl<'a> Placing<'a> {
    /// The placement as it is; `copies` tells which of the given nodes answer.
    pub(super) fn new(file: &'a Opened, nodes: &[Node], leave: &BTreeSet<usize>, copies: &[Copy]) -> Self {
        let answers = |given: usize| copies.get(given).is_some_and(|copy| !matches!(copy, Copy::Unknown(_)));
        let mut slots = Vec::new();
        for (index, entry) in file.manifest.nodes.iter().enumerate() {
            let given = file.node.get(index).copied().flatten();
            let usable = given.is_some_and(answers);
            slots.push(Slot { entry: entry.clone(), given, left: leave.contains(&index), usable, cells: 0 });
        }
        for (given, node) in nodes.iter().enumerate() {
            if slots.iter().all(|slot| slot.given != Some(given)) {
                let entry = NodeEntry { label: node.label.clone(), address: node.store.address().to_owned() };
                slots.push(Slot { entry, given: Some(given), left: false, usable: answers(given), cells: 0 });
            }
        }
        let placement = file.manifest.placement.clone();
        for &slot in placement.iter().flatten() {
            if let Some(slot) = slots.get_mut(usize::from(slot)) {
                slot.cells += 1;
            }
        }
        Self { file, slots, placement }
    }

    /// Whether the node of the file is to be given up.
    pub(super) fn is_left(&self, node: usize) -> bool {
        self.slots.get(node).is_some_and(|slot| slot.left)
    }

    /// Whether the node of the file is none of the file to come.
    pub(super) fn is_gone(&self, node: usize) -> bool {
        self.slots.get(node).is_some_and(|slot| !slot.is_in(true))
    }

    /// Which of the given nodes has a cell.
    pub(super) fn given(&self, group: u64, cell: u8) -> Option<usize> {
        self.slots.get(self.slot(group, cell)?)?.given
    }

    fn slot(&self, group: u64, cell: u8) -> Option<usize> {
        let row = self.placement.get(usize::try_from(group).ok()?)?;
        row.get(usize::from(cell)).map(|&slot| usize::from(slot))
    }

    /// Moves a cell if its node is to be given up: to which of the given nodes.
    pub(super) fn moves(&mut self, group: u64, cell: u8) -> Result<Option<usize>, FileError> {
        let Some(from) = self.slot(group, cell).filter(|&slot| self.is_left(slot)) else { return Ok(None) };
        let row = usize::try_from(group).ok().and_then(|group| self.placement.get_mut(group));
        let Some(row) = row else { return Ok(None) };
        let usable = |slot: &Slot| slot.usable && !slot.left;
        let count = self.file.manifest.nodes.len();
        // Slots are numbered like nodes, of which there are too few for numbers of more than 16 bits.
        let free = (0_u16..).zip(&self.slots).filter(|(index, slot)| usable(slot) && !row.contains(index));
        let Some((to, given)) = free
            .min_by_key(|(index, slot)| (!slot.is_in(usize::from(*index) < count), slot.cells, *index))
            .and_then(|(index, slot)| Some((index, slot.given?)))
        else {
            let usable = self.slots.iter().filter(|slot| usable(slot)).count();
            return Err(RepairError::NoNode { group, cell, usable }.into());
        };
        if let Some(place) = row.get_mut(usize::from(cell)) {
            *place = to;
        }
        if let Some(slot) = self.slots.get_mut(from) {
            slot.cells = slot.cells.saturating_sub(1);
        }
        if let Some(slot) = self.slots.get_mut(usize::from(to)) {
            slot.cells += 1;
        }
        Ok(Some(given))
    }

    /// Whether nodes leave the file, or join it.
    pub(super) fn is_changed(&self) -> bool {
        let old = self.file.manifest.nodes.len();
        self.slots.iter().enumerate().any(|(index, slot)| (index < old) != slot.is_in(index < old))
    }

    /// Nodes of the file that stay in it, and can be reached.
    pub(super) fn staying(&self) -> usize {
        let old = self.slots.iter().take(self.file.manifest.nodes.len());
        old.filter(|slot| slot.usable && slot.is_in(true)).count()
    }

    /// The manifest of this placement, and for each of its nodes which of the given ones it is.
    pub(super) fn manifest(&self, generation: u64) -> Result<(Manifest, Vec<Option<usize>>), FileError> {
        let old = &self.file.manifest;
        let count = old.nodes.len();
        let mut kept: Vec<usize> = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            // A file without cells needs nodes for its manifest all the same.
            let needed = kept.len() < usize::from(old.n()) && slot.usable && !slot.left;
            if slot.is_in(index < count) || index >= count && needed {
                kept.push(index);
            }
        }
        if kept.len() < usize::from(old.n()) {
            return Err(FileError::TooFewNodes { given: kept.len(), needed: old.n().into() });
        }
        let number = |slot: &u16| kept.binary_search(&usize::from(*slot)).unwrap_or(usize::MAX);
        // At most as many as a manifest may have nodes; `check` says so if there are more.
        let row =
            |row: &Vec<u16>| row.iter().map(|slot| u16::try_from(number(slot)).unwrap_or(u16::MAX)).collect();
        let slots = kept.iter().filter_map(|&slot| self.slots.get(slot));
        let manifest = Manifest {
            generation,
            nodes: slots.clone().map(|slot| slot.entry.clone()).collect(),
            placement: self.placement.iter().map(row).collect(),
            ..old.clone()
        };
        manifest.check()?;
        Ok((manifest, slots.map(|slot| slot.given).collect()))
    }

    /// What nodes that were given up still have: the given node, the group and the cell of each object that has moved. Nodes that were not
    /// given are told apart.
    pub(super) fn left_behind(&self) -> (Vec<(usize, u64, u8)>, Vec<NodeFailure>) {
        let (mut objects, mut unknown) = (Vec::new(), BTreeSet::new());
        for (group, (old, new)) in (0_u64..).zip(self.file.manifest.placement.iter().zip(&self.placement)) {
            for (cell, (old, new)) in (0_u8..).zip(old.iter().zip(new)) {
                if old == new || self.file.manifest.block_length(group, cell) == 0 {
                    continue;
                }
                match self.slots.get(usize::from(*old)) {
                    Some(Slot { given: Some(given), .. }) => objects.push((*given, group, cell)),
                    Some(Slot { entry, .. }) => {
                        unknown.insert(entry.label.as_str());
                    }
                    None => {}
                }
            }
        }
        (objects, unknown.into_iter().map(not_given).collect())
    }
}

impl Slot {
    /// Whether it is a node of the file to come, if it is one (or not) of the file that is.
    const fn is_in(&self, old: bool) -> bool {
        self.cells > 0 || old && !self.left
    }
}
