//! Volumes of one storage node: which are slow, how busy they are, and which takes the next write.

mod choose;
mod diskstats;
mod slow;
mod utilisation;

pub use choose::{AvailableSpace, NoVolume, RoundRobin, StorageType, Volume, Write, least_busy};
pub use diskstats::{Disk, DiskstatsError, DiskstatsFault, parse_diskstats};
#[cfg(feature = "std")]
pub use diskstats::{ReadDiskstatsError, read_diskstats};
pub use slow::{Operation, SlowVolume, slow_volumes};
pub use utilisation::{DiskReading, NoUtilisation, utilisation, utilisations};
