//! What is timed: the jobs, the schemas, and where the cells lie.

/// The data cell that the rebuild job has lost. It is rebuilt from the other data cells and the first parity cell.
pub(crate) const LOST: usize = 2;

/// What a contender does to a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Job {
    /// All parity cells from all data cells.
    Encode,
    /// Data cell `LOST` from k others.
    Rebuild,
}

impl Job {
    pub(crate) const ALL: [Self; 2] = [Self::Encode, Self::Rebuild];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::Rebuild => "rebuild",
        }
    }

    /// Cells written.
    pub(crate) fn outputs(self, schema: Schema) -> usize {
        match self {
            Self::Encode => schema.m,
            Self::Rebuild => 1,
        }
    }
}

/// k data cells and m parity cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Schema {
    pub(crate) k: usize,
    pub(crate) m: usize,
}

impl Schema {
    pub(crate) const ALL: [Self; 4] =
        [Self { k: 6, m: 3 }, Self { k: 10, m: 4 }, Self { k: 12, m: 3 }, Self { k: 3, m: 2 }];

    pub(crate) fn name(self) -> String {
        format!("rs-{}-{}", self.k, self.m)
    }

    /// The cells that rebuild the lost one, in the order in which a rebuild stripe holds them.
    pub(crate) fn survivors(self) -> Vec<usize> {
        (0..=self.k).filter(|&cell| cell != LOST).collect()
    }
}

/// Where the cells are when the call begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// In whichever cache they fit, from the call before.
    Hot,
    /// In memory: every call has another stripe of a pool much larger than the last cache.
    Dram,
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Dram => "dram",
        }
    }
}

/// Cell lengths and places of the table.
pub(crate) const CELLS: [(usize, Place); 4] =
    [(4 << 10, Place::Hot), (64 << 10, Place::Hot), (1 << 20, Place::Hot), (1 << 20, Place::Dram)];
