//! The full engine: every read through the state machine, the nodes and their queues, in order of time.

use hedge_core::CellSet;

use super::flights::{Arrival, Placements, Run};
use super::tally::Tally;
use super::{ARRIVALS, Length, Piece, READS};
use crate::files::{Shares, draws};
use crate::random::mix;
use crate::{Law, Random, Sampler};

/// Requests that are not over so long after the last one came are not waited for.
const PATIENCE: u64 = 60_000_000_000;

/// One seed of one policy.
pub(super) fn run<const N: usize, const WATCH: bool>(piece: &Piece<'_>, length: Length) -> Tally {
    let &Piece { shape, policy, seed, laws, timeline, .. } = piece;
    let cluster = &shape.cluster;
    let code = policy.code.unwrap_or(cluster.code);
    let placements = Placements::<N>::new(cluster.nodes, code.k + code.m, seed);
    let tally = Tally::new(length);
    let mut run =
        Run::<N, WATCH>::new(cluster, policy, timeline, &placements, laws, 0..cluster.clients, tally);
    let horizon = length.horizon;
    let mut random = Random::of(seed, ARRIVALS, 0);
    let keys = mix(seed ^ READS);
    let shares: Vec<f64> = cluster.workload.iter().map(|work| work.share).collect();
    let all: f64 = shares.iter().sum();
    let classes = Shares::new(&cluster.files);
    let simple = cluster.files.is_empty()
        && matches!(cluster.workload.as_slice(), [work] if work.cells == 1 && work.fan_out <= 1 && work.hedged);
    // Gaps are rounded to whole nanoseconds, to the nearest: the load is what it should be.
    let gap = Sampler::new(&Law::Exponential { mean: 1e3 / cluster.rate });
    let (mut number, mut now) = (0_u64, 0_u64);
    loop {
        now = now.saturating_add(gap.sample(random.bits()));
        if now >= horizon {
            break;
        }
        while run.events.next() <= now {
            run.step();
        }
        number += 1;
        let key = mix(keys ^ number);
        let client = ((u128::from(mix(key ^ 0x3000)) * u128::from(cluster.clients)) >> 64) as u32;
        run.tally.came += u64::from(run.tally.counts(now));
        if simple {
            run.arrive(&Arrival::of_one_cell(now, client, key, code.k, &placements));
            continue;
        }
        let mut left = crate::random::unit(mix(key ^ 0x4000)) * all;
        let place = shares.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        let Some(work) = place.and_then(|place| cluster.workload.get(place)).or(cluster.workload.first())
        else {
            continue;
        };
        let request = run.request(work.fan_out);
        for part in 0..work.fan_out.max(1) {
            let key = if part == 0 { key } else { mix(key ^ u64::from(part) << 16) };
            let class = classes.pick(draws::class(key));
            let mut arrival = if let Some(file) = cluster.files.get(class) {
                Arrival::of_class(now, client, key, class, file)
            } else {
                let mut arrival = Arrival::of_one_cell(now, client, key, code.k, &placements);
                let first = arrival.wanted.first().unwrap_or_default();
                arrival.wanted =
                    (0..work.cells.clamp(1, code.k)).map(|cell| (first + cell) % code.k).collect::<CellSet>();
                arrival
            };
            arrival.hedged = work.hedged;
            arrival.request = request;
            run.arrive(&arrival);
        }
    }
    while run.events.next() <= horizon + PATIENCE {
        run.step();
    }
    run.end(horizon + PATIENCE)
}
