//! Volumes of one node, one of which is busy with I/O that is not the node's own, in virtual time: what each policy makes of it.

use hedge_core::{Instant, Span};
use hedgerow_fleet::{
    AvailableSpace, Disk, DiskReading, RoundRobin, StorageType, Volume, Write, least_busy, utilisations,
};
use hedgerow_sim::Random;

const VOLUMES: usize = 8;
const CELL: u64 = 8 << 20;
/// What a write of a cell takes: a seek of 8 ms, and 8 MiB at 150 MB/s, of which half is as good as constant.
const WRITE_MILLIS: f64 = 64.0;
/// What a foreign request takes.
const FOREIGN_MILLIS: f64 = 15.0;
/// Who chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chooser {
    RoundRobin,
    AvailableSpace,
    /// By the utilisation alone.
    LeastBusy,
    /// By the utilisation, with the node's own writes reckoned in.
    LeastBusyReckoning,
}

/// How the space is at the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    /// Every volume has 2 TiB.
    Even,
    /// The busy volume is new and has 4 TiB; the others have 1 TiB.
    NewIsBusy,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// Milliseconds from a write's beginning to its end.
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) most: f64,
    /// The share of the writes that went to the busy volume.
    pub(crate) to_busy: f64,
    /// The share of the time that the busy volume, and the others on average, were busy.
    pub(crate) busy: f64,
    pub(crate) others: f64,
}

/// `writes` writes of cells, that alone would keep each volume busy for 35 % of the time; the first volume is busy
/// with foreign requests for another 50 %. The kernel's statistics are read every `reading` milliseconds.
pub(crate) fn serve(chooser: Chooser, space: Space, reading: f64, writes: u32, seed: u64) -> Served {
    let mut write_stream = Random::of(seed, 0, 0);
    let mut foreign_stream = Random::of(seed, 1, 0);
    let mut choices = Random::of(seed, 2, 0);
    let write_every = WRITE_MILLIS / 0.35 / VOLUMES as f64;
    let foreign_every = FOREIGN_MILLIS / 0.5;
    let mut node = Node::new(space);
    let write = Write { storage: StorageType::Disk, bytes: CELL, reserve: 10 << 30 };
    let (mut turns, mut available) = (RoundRobin::default(), AvailableSpace::default());
    let (mut next_foreign, mut next_reading) = (0.0, reading);
    let mut now = 0.0;
    let (mut took, mut to_busy) = (Vec::new(), 0);
    for _ in 0..writes {
        now += write_every * write_stream.exponential();
        while next_foreign < now || next_reading < now {
            if next_foreign < next_reading {
                node.serve(0, next_foreign, FOREIGN_MILLIS * foreign_stream.exponential());
                next_foreign += foreign_every * foreign_stream.exponential();
            } else {
                node.read(next_reading);
                next_reading += reading;
            }
        }
        let volumes = &node.volumes;
        let random = choices.unit();
        let place = match chooser {
            Chooser::RoundRobin => turns.choose(volumes, &write),
            Chooser::AvailableSpace => available.choose(volumes, &write, random),
            Chooser::LeastBusy => least_busy(volumes, &write, 0.0),
            Chooser::LeastBusyReckoning => least_busy(volumes, &write, WRITE_MILLIS / reading),
        }
        .unwrap();
        let length = WRITE_MILLIS * (0.5 + 0.5 * write_stream.exponential());
        took.push(node.serve(place, now, length) - now);
        node.volumes[place].begun += 1;
        node.volumes[place].free -= CELL;
        to_busy += u32::from(place == 0);
    }
    took.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    let share = |place: usize| node.busy_until(place, now) / now;
    Served {
        median: at(0.5),
        p99: at(0.99),
        most: at(1.0),
        to_busy: f64::from(to_busy) / f64::from(writes),
        busy: share(0),
        others: (1..VOLUMES).map(share).sum::<f64>() / (VOLUMES - 1) as f64,
    }
}

/// Disks that serve one request after the other.
struct Node {
    volumes: Vec<Volume>,
    idle_at: [f64; VOLUMES],
    served: [f64; VOLUMES],
    requests: [u64; VOLUMES],
    last: DiskReading,
}

impl Node {
    fn new(space: Space) -> Self {
        let free = |place| match (space, place) {
            (Space::Even, _) => 2_u64 << 40,
            (Space::NewIsBusy, 0) => 4 << 40,
            (Space::NewIsBusy, _) => 1 << 40,
        };
        let volume = |place| Volume {
            storage: StorageType::Disk,
            free: free(place),
            utilisation: None,
            measured: 0,
            begun: 0,
            slow: false,
        };
        let mut node = Self {
            volumes: (0..VOLUMES).map(volume).collect(),
            idle_at: [0.0; VOLUMES],
            served: [0.0; VOLUMES],
            requests: [0; VOLUMES],
            last: DiskReading { at: Instant::ZERO, disks: Vec::new() },
        };
        node.last = node.statistics(0.0);
        node
    }

    /// When a request ends.
    fn serve(&mut self, place: usize, now: f64, length: f64) -> f64 {
        self.idle_at[place] = self.idle_at[place].max(now) + length;
        self.served[place] += length;
        self.requests[place] += 1;
        self.idle_at[place]
    }

    fn busy_until(&self, place: usize, now: f64) -> f64 {
        self.served[place] - (self.idle_at[place] - now).max(0.0)
    }

    /// What the kernel would say.
    fn statistics(&self, now: f64) -> DiskReading {
        let disk = |place: usize| Disk {
            major: 8,
            minor: 16 * place as u32,
            name: format!("sd{place}"),
            reads: 0,
            writes: self.requests[place],
            busy_millis: Some(self.busy_until(place, now) as u64),
        };
        let at = Instant::ZERO + Span::from_micros((now * 1e3) as u64);
        DiskReading { at, disks: (0..VOLUMES).map(disk).collect() }
    }

    fn read(&mut self, now: f64) {
        let reading = self.statistics(now);
        for (volume, (_, answer)) in self.volumes.iter_mut().zip(utilisations(&self.last, &reading)) {
            volume.utilisation = answer.ok();
            (volume.measured, volume.begun) = (volume.begun, 0);
        }
        self.last = reading;
    }
}
