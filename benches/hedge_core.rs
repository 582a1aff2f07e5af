//! Criterion's view of the hedge core's decisions, for regressions between two versions. The table with the peer and the
//! sizes is `examples/hedge_core_table`.

#[path = "../examples/hedge_core_table/jobs.rs"]
mod jobs;
#[path = "../examples/hedge_core_table/peer.rs"]
mod peer;

use criterion::{Criterion, criterion_group, criterion_main};
use hedge_core::{Instant, Span};

fn decisions(criterion: &mut Criterion) {
    let (one, six) = (jobs::plan(1), jobs::plan(6));
    let mut group = criterion.benchmark_group("hedge-core");
    group.bench_function("unhedged-1-cell", |bencher| {
        bencher.iter(|| jobs::unhedged(&one, None, Instant::ZERO));
    });
    group.bench_function("unhedged-6-cells", |bencher| {
        bencher.iter(|| jobs::unhedged(&six, None, Instant::ZERO));
    });
    let (mut governor, mut now) = (jobs::governor::<64>(), Instant::ZERO);
    group.bench_function("hedged-1-cell", |bencher| {
        bencher.iter(|| {
            now += Span::from_secs(1);
            jobs::hedged(&one, &mut governor, now)
        });
    });
    let runtime = peer::runtime();
    group.bench_function("tower-1000", |bencher| bencher.iter(|| peer::unhedged(&runtime, 1_000)));
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
