//! Which volume of a node takes the next write: the least busy one, or by turns, or by the space that is left.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

/// What a volume stores on, as HDFS names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StorageType {
    /// Memory that is lost with the power.
    RamDisk,
    /// Memory that is not.
    Nvdimm,
    /// Flash.
    Ssd,
    /// Magnetic disks.
    Disk,
    /// Dense and slow ones.
    Archive,
}

impl StorageType {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::RamDisk, Self::Nvdimm, Self::Ssd, Self::Disk, Self::Archive];
}

/// A volume as it was found last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Volume {
    /// What it stores on.
    pub storage: StorageType,
    /// Bytes that may be written to it.
    pub free: u64,
    /// The share of time that it was busy, from [`utilisation`](crate::utilisation()); `None` if that is not known.
    pub utilisation: Option<f64>,
    /// How many writes the node itself began on it while that was measured.
    pub measured: u32,
    /// How many it began since.
    pub begun: u32,
    /// Whether it is a [slow one](crate::slow_volumes).
    pub slow: bool,
}

/// A write that needs a volume.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Write {
    /// The type of storage that it must go to.
    pub storage: StorageType,
    /// How many bytes it may become.
    pub bytes: u64,
    /// How many bytes must be left free after it.
    pub reserve: u64,
}

impl Write {
    fn needs(&self) -> u64 {
        self.bytes.saturating_add(self.reserve)
    }

    fn fits(&self, volume: &Volume) -> bool {
        volume.storage == self.storage && volume.free >= self.needs()
    }
}

/// The place in `volumes` of the least busy volume of the right type that has room; of equally busy ones, the one with the most free
/// space, and then the first. Slow volumes come last, and before them those whose utilisation is not known.
///
/// By the utilisation alone all writes would go to one volume until the next measurement, and to another then. So the node's own writes
/// are reckoned in: each counts as `per_write` of utilisation, which is about the time that it keeps a disk busy over the time between
/// measurements. Those that were measured are subtracted, and those begun since are added. At 0 the utilisation alone decides; far too much
/// makes it turns.
///
/// # Errors
/// If no volume is of the right type, or none of them has room.
///
/// ```
/// use hedgerow_fleet::{StorageType, Volume, Write, least_busy};
///
/// let volume = |free, utilisation| Volume {
///     storage: StorageType::Disk, free, utilisation: Some(utilisation), measured: 0, begun: 0, slow: false,
/// };
/// let volumes = [volume(900, 0.8), volume(500, 0.1), volume(50, 0.0), volume(700, 0.1)];
/// let write = Write { storage: StorageType::Disk, bytes: 128, reserve: 10 };
/// assert_eq!(least_busy(&volumes, &write, 0.01), Ok(3));
/// ```
pub fn least_busy(volumes: &[Volume], write: &Write, per_write: f64) -> Result<usize, NoVolume> {
    volumes
        .iter()
        .enumerate()
        .filter(|(_, volume)| write.fits(volume))
        .min_by(|(_, a), (_, b)| compare(a, b, per_write))
        .map(|(place, _)| place)
        .ok_or_else(|| no_volume(volumes, write))
}

fn compare(a: &Volume, b: &Volume, per_write: f64) -> Ordering {
    let known = |volume: &Volume| volume.utilisation.filter(|share| *share >= 0.0);
    let busy = |volume: &Volume| {
        let others = known(volume).unwrap_or(1.0).min(1.0) - f64::from(volume.measured) * per_write;
        others.max(0.0) + f64::from(volume.begun) * per_write
    };
    a.slow
        .cmp(&b.slow)
        .then(known(a).is_none().cmp(&known(b).is_none()))
        .then_with(|| busy(a).total_cmp(&busy(b)))
        .then(b.free.cmp(&a.free))
}

/// Volumes by turns, for each type of storage apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RoundRobin {
    /// By type: else writes of one could keep another's from the same volume for ever.
    next: [usize; StorageType::ALL.len()],
}

impl RoundRobin {
    /// The place in `volumes` of the next volume of the right type that has room.
    ///
    /// # Errors
    /// If no volume is of the right type, or none of them has room.
    pub fn choose(&mut self, volumes: &[Volume], write: &Write) -> Result<usize, NoVolume> {
        self.choose_among(volumes, write, |_| true)
    }

    fn choose_among(
        &mut self,
        volumes: &[Volume],
        write: &Write,
        among: impl Fn(&Volume) -> bool,
    ) -> Result<usize, NoVolume> {
        let fits = |volume: &Volume| write.fits(volume) && among(volume);
        let Some(next) = self.next.get_mut(write.storage as usize) else {
            return Err(no_volume(volumes, write));
        };
        let from = if *next < volumes.len() { *next } else { 0 };
        let (before, after) = volumes.split_at(from);
        let place = match after.iter().position(fits) {
            Some(place) => from + place,
            None => before.iter().position(fits).ok_or_else(|| no_volume(volumes, write))?,
        };
        *next = place + 1;
        Ok(place)
    }
}

/// Volumes by the space that is left, as HDFS's `AvailableSpaceVolumeChoosingPolicy` does it (HDFS-1804).
///
/// Where the free space of the volumes of the right type differs by less than `threshold`, they take turns. Else those with less than
/// the least and `threshold` are the tight ones, the others the roomy ones: a roomy one is asked `preference / (1 - preference)` times as often as a
/// tight one, and within the groups they take turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AvailableSpace {
    /// In bytes.
    pub threshold: u64,
    /// 0.5 to prefer none, 1 to take roomy volumes alone.
    pub preference: f64,
    balanced: RoundRobin,
    roomy: RoundRobin,
    tight: RoundRobin,
}

impl Default for AvailableSpace {
    /// HDFS's: 10 GiB and 0.75.
    fn default() -> Self {
        Self::new(10 << 30, 0.75)
    }
}

impl AvailableSpace {
    /// With this threshold in bytes, and this preference.
    #[must_use]
    pub fn new(threshold: u64, preference: f64) -> Self {
        let turns = RoundRobin::default();
        Self { threshold, preference, balanced: turns, roomy: turns, tight: turns }
    }

    /// The place in `volumes` of a volume of the right type that has room; `random` is the caller's, from 0 to less than 1, anew for each
    /// write.
    ///
    /// # Errors
    /// If no volume is of the right type, or none of them has room.
    pub fn choose(&mut self, volumes: &[Volume], write: &Write, random: f64) -> Result<usize, NoVolume> {
        let free: Vec<u64> = of_type(volumes, write).map(|volume| volume.free).collect();
        let (Some(&least), Some(&most)) = (free.iter().min(), free.iter().max()) else {
            return Err(no_volume(volumes, write));
        };
        if most - least < self.threshold {
            return self.balanced.choose(volumes, write);
        }
        let border = least.saturating_add(self.threshold);
        let tight = |volume: &Volume| volume.free < border;
        let tight_ones = free.iter().filter(|&&free| free < border).count();
        let wanted = (free.len() - tight_ones) as f64 * self.preference;
        let share = wanted / (wanted + tight_ones as f64 * (1.0 - self.preference));
        let room_in_tight = volumes.iter().any(|volume| write.fits(volume) && tight(volume));
        if !room_in_tight || random < share {
            self.roomy.choose_among(volumes, write, |volume| !tight(volume))
        } else {
            self.tight.choose_among(volumes, write, tight)
        }
    }
}

fn of_type<'a>(volumes: &'a [Volume], write: &'a Write) -> impl Iterator<Item = &'a Volume> {
    volumes.iter().filter(|volume| volume.storage == write.storage)
}

fn no_volume(volumes: &[Volume], write: &Write) -> NoVolume {
    let storage = write.storage;
    match of_type(volumes, write).map(|volume| volume.free).max() {
        Some(most_free) => NoVolume::NoRoom { storage, needed: write.needs(), most_free },
        None => NoVolume::NoneOfType { storage, volumes: volumes.len() },
    }
}

/// Why no volume can take a write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NoVolume {
    /// None is of the right type.
    NoneOfType {
        /// The type.
        storage: StorageType,
        /// How many volumes of other types there are.
        volumes: usize,
    },
    /// None of the right type has room.
    NoRoom {
        /// The type.
        storage: StorageType,
        /// Bytes that the write needs, with the reserve.
        needed: u64,
        /// Bytes that the roomiest volume has.
        most_free: u64,
    },
}

impl fmt::Display for NoVolume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoneOfType { storage, volumes } => {
                write!(f, "none of the {volumes} volumes is of type {storage:?}")
            }
            Self::NoRoom { storage, needed, most_free } => write!(
                f,
                "no volume of type {storage:?} has room for {needed} bytes with the reserve: the most is {most_free}"
            ),
        }
    }
}

impl core::error::Error for NoVolume {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    const GIB: u64 = 1 << 30;

    const WRITE: Write = Write { storage: StorageType::Disk, bytes: GIB, reserve: GIB };

    fn volume(free: u64, utilisation: f64) -> Volume {
        Volume {
            storage: StorageType::Disk,
            free: free * GIB,
            utilisation: Some(utilisation),
            measured: 0,
            begun: 0,
            slow: false,
        }
    }

    fn busy(volumes: &[Volume]) -> Result<usize, NoVolume> {
        least_busy(volumes, &WRITE, 0.05)
    }

    #[test]
    fn the_least_busy_volume_takes_the_write_and_of_equals_the_roomiest() {
        assert_eq!(busy(&[volume(90, 0.5), volume(20, 0.1), volume(30, 0.2)]), Ok(1));
        assert_eq!(busy(&[volume(20, 0.1), volume(90, 0.5), volume(30, 0.1)]), Ok(2));
        assert_eq!(busy(&[volume(30, 0.1), volume(30, 0.1)]), Ok(0));
        // Beyond 1 there is no busier.
        assert_eq!(busy(&[volume(30, 1.0), volume(40, 1.5)]), Ok(1));
    }

    #[test]
    fn only_the_right_type_with_room_and_reserve_is_chosen() {
        let flash = Volume { storage: StorageType::Ssd, ..volume(500, 0.0) };
        let full = Volume { free: 2 * GIB - 1, ..volume(0, 0.0) };
        let just = Volume { free: 2 * GIB, ..volume(0, 0.9) };
        assert_eq!(busy(&[flash, full, just]), Ok(2));
        let error = busy(&[flash, full]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no volume of type Disk has room for 2147483648 bytes with the reserve: the most is 2147483647"
        );
        assert_eq!(busy(&[flash]).unwrap_err().to_string(), "none of the 1 volumes is of type Disk");
        for volumes in [&[][..], &[flash], &[flash, full]] {
            let error = busy(volumes).unwrap_err();
            assert_eq!(RoundRobin::default().choose(volumes, &WRITE), Err(error));
            assert_eq!(AvailableSpace::default().choose(volumes, &WRITE, 0.5), Err(error));
        }
        let endless = Write { bytes: u64::MAX, reserve: u64::MAX, ..WRITE };
        assert!(least_busy(&[volume(1 << 30, 0.0)], &endless, 0.0).is_err());
    }

    #[test]
    fn slow_volumes_and_unknown_ones_come_last() {
        let slow = Volume { slow: true, ..volume(90, 0.0) };
        let unknown = Volume { utilisation: None, ..volume(90, 0.0) };
        let wrong = Volume { utilisation: Some(f64::NAN), ..volume(80, 0.0) };
        assert_eq!(busy(&[slow, unknown, wrong, volume(9, 0.99)]), Ok(3));
        assert_eq!(busy(&[slow, wrong, unknown]), Ok(2));
        assert_eq!(busy(&[slow]), Ok(0));
        // Nothing is known yet: the writes spread all the same.
        let begun = Volume { begun: 1, ..unknown };
        assert_eq!(busy(&[begun, wrong]), Ok(1));
    }

    #[test]
    fn writes_begun_since_the_measurement_spread_over_the_volumes() {
        let spread = |per_write| {
            let mut volumes = [volume(90, 0.9), volume(90, 0.1), volume(90, 0.3)];
            let mut writes = [0; 3];
            for _ in 0..20 {
                let place = least_busy(&volumes, &WRITE, per_write).unwrap();
                volumes[place].begun += 1;
                writes[place] += 1;
            }
            writes
        };
        assert_eq!(spread(0.0), [0, 20, 0]);
        assert_eq!(spread(0.05), [0, 12, 8]);
        assert_eq!(spread(f64::NAN).iter().sum::<i32>(), 20);
    }

    #[test]
    fn a_nodes_own_writes_do_not_make_a_volume_a_busy_one() {
        // Both are 0.6 busy, the first by ten writes of the node's own, which need not come again.
        let volumes = [Volume { measured: 10, ..volume(20, 0.6) }, volume(90, 0.6)];
        assert_eq!(least_busy(&volumes, &WRITE, 0.05), Ok(0));
        assert_eq!(least_busy(&volumes, &WRITE, 0.0), Ok(1));
        // More than was measured is no less than nothing.
        let volumes = [Volume { measured: 30, ..volume(20, 0.6) }, volume(90, 0.0)];
        assert_eq!(least_busy(&volumes, &WRITE, 0.05), Ok(1));
    }

    #[test]
    fn round_robin_skips_volumes_that_do_not_fit_and_survives_their_removal() {
        let flash = Volume { storage: StorageType::Ssd, ..volume(500, 0.0) };
        let volumes = [volume(9, 0.0), flash, volume(1, 0.0), volume(9, 0.9), volume(9, 0.0)];
        let mut turns = RoundRobin::default();
        let order: Vec<_> = (0..6).map(|_| turns.choose(&volumes, &WRITE).unwrap()).collect();
        assert_eq!(order, [0, 3, 4, 0, 3, 4]);
        assert_eq!(turns.choose(&volumes[..2], &WRITE), Ok(0));
    }

    #[test]
    fn writes_of_another_type_take_no_volume_out_of_its_turn() {
        let of = |storage| Volume { storage, ..volume(500, 0.0) };
        let volumes = [of(StorageType::Disk), of(StorageType::Disk), of(StorageType::Ssd)];
        let mut turns = RoundRobin::default();
        let mut space = AvailableSpace::default();
        let mut order = Vec::new();
        for _ in 0..3 {
            for storage in [StorageType::Disk, StorageType::Ssd] {
                let write = Write { storage, ..WRITE };
                let place = turns.choose(&volumes, &write).unwrap();
                assert_eq!(space.choose(&volumes, &write, 0.5), Ok(place));
                order.push(place);
            }
        }
        assert_eq!(order, [0, 2, 1, 2, 0, 2]);
    }

    #[test]
    fn balanced_volumes_take_turns_and_roomy_ones_are_preferred_by_the_random_number() {
        let balanced = [volume(100, 0.0), volume(109, 0.0), volume(105, 0.0)];
        let mut policy = AvailableSpace::default();
        let order: Vec<_> = (0..4).map(|_| policy.choose(&balanced, &WRITE, 0.0).unwrap()).collect();
        assert_eq!(order, [0, 1, 2, 0]);
        // Two roomy ones, three tight ones: 2 x 0.75 of 2 x 0.75 + 3 x 0.25 go to the roomy ones.
        let volumes = [volume(10, 0.0), volume(100, 0.0), volume(19, 0.0), volume(20, 0.0), volume(12, 0.0)];
        let at = |random| -> Vec<_> {
            let mut policy = AvailableSpace::default();
            (0..4).map(|_| policy.choose(&volumes, &WRITE, random).unwrap()).collect()
        };
        let share = 2.0 * 0.75 / (2.0 * 0.75 + 3.0 * 0.25);
        assert_eq!(at(share - 1e-9), [1, 3, 1, 3]);
        assert_eq!(at(share), [0, 2, 4, 0]);
        assert_eq!(at(f64::NAN), [0, 2, 4, 0]);
    }

    #[test]
    fn a_write_that_fits_no_tight_volume_goes_to_a_roomy_one() {
        let volumes = [volume(1, 0.0), volume(100, 0.0), volume(1, 0.0)];
        let mut policy = AvailableSpace::default();
        for _ in 0..3 {
            assert_eq!(policy.choose(&volumes, &WRITE, 0.999), Ok(1));
        }
        // Roomy ones alone.
        let mut policy = AvailableSpace::new(10 * GIB, 1.0);
        assert_eq!(policy.choose(&[volume(50, 0.0), volume(100, 0.0)], &WRITE, 0.999), Ok(1));
    }

    fn any_volume() -> impl Strategy<Value = Volume> {
        let storage = prop_oneof![Just(StorageType::Disk), Just(StorageType::Ssd)];
        let writes = any::<(u32, u32)>();
        let free = prop_oneof![0_u64..100 * GIB, any::<u64>()];
        let utilisation = prop::option::of(prop::num::f64::ANY);
        (storage, free, utilisation, writes, any::<bool>()).prop_map(
            |(storage, free, utilisation, (measured, begun), slow)| Volume {
                storage,
                free,
                utilisation,
                measured,
                begun,
                slow,
            },
        )
    }

    proptest! {
        #[test]
        fn nothing_panics_and_whoever_is_chosen_fits(
            lists in prop::collection::vec(prop::collection::vec(any_volume(), 0..8), 1..8),
            (bytes, reserve) in any::<(u64, u64)>(),
            shift in 0_u32..64,
            (threshold, preference) in (0_u64..50 * GIB, 0.0_f64..=1.0),
            (random, per_write) in (prop::num::f64::ANY, prop::num::f64::ANY),
        ) {
            let write = Write { storage: StorageType::Disk, bytes: bytes >> shift, reserve: reserve >> shift };
            let mut turns = RoundRobin::default();
            let mut space = AvailableSpace::new(threshold, preference);
            for volumes in &lists {
                let possible = volumes.iter().any(|volume| write.fits(volume));
                for chosen in [
                    least_busy(volumes, &write, per_write),
                    turns.choose(volumes, &write),
                    space.choose(volumes, &write, random),
                ] {
                    prop_assert_eq!(chosen.is_ok(), possible);
                    if let Ok(place) = chosen {
                        prop_assert!(write.fits(&volumes[place]));
                    }
                }
            }
        }
    }
}
