//! Reading.

use futures_util::future::join_all;
use hedgerow_reader::Failure;

use super::{Made, bytes};

/// Longer than the steps and the buffers that stores are likely to have.
const LENGTH: u64 = 3 * (64 << 10) + 5;

pub(crate) async fn ranges_at_all_edges_read_back(made: Made) {
    let written = bytes(1, LENGTH as usize);
    made.put("folder/object", &written).await;
    let step = 64 << 10;
    let edges = [
        0,
        1,
        4095,
        4096,
        step - 1,
        step,
        step + 1,
        step * 3 / 2,
        step * 3 / 2 + 1,
        2 * step,
        LENGTH - 1,
        LENGTH,
    ];
    for start in edges {
        for end in edges.into_iter().filter(|end| start <= *end) {
            let read = made.read("folder/object", start..end).await.unwrap();
            assert!(read == written[start as usize..end as usize], "{start} to {end}: {} bytes", read.len());
        }
    }
}

pub(crate) async fn a_range_past_the_end_is_too_short(made: Made) {
    made.put("object", &bytes(2, 1000)).await;
    for range in [999..1001, 0..1001, 1000..1001, 1001..1002, 5000..9000, 1 << 40..(1 << 40) + 1, 0..1 << 40]
    {
        let failed = made.read("object", range.clone()).await.unwrap_err();
        assert_eq!(failed.kind, Failure::TooShort, "{range:?}: {failed}");
    }
    assert_eq!(made.read("object", 999..1000).await.unwrap(), bytes(2, 1000)[999..]);
}

pub(crate) async fn a_missing_object_is_missing(made: Made) {
    made.put("folder/there", b"1").await;
    for object in ["missing", "folder/missing", "missing/object", "folder/there2"] {
        assert_eq!(made.read(object, 0..1).await.unwrap_err().kind, Failure::Missing, "{object}");
        assert_eq!(made.store.get(object, 10).await.unwrap_err().kind, Failure::Missing, "{object}");
        assert_eq!(made.store.length(object).await.unwrap_err().kind, Failure::Missing, "{object}");
    }
}

pub(crate) async fn an_empty_object_has_no_bytes(made: Made) {
    made.put("empty", b"").await;
    assert_eq!(made.store.length("empty").await.unwrap(), 0);
    assert!(made.store.get("empty", 0).await.unwrap().is_empty());
    assert!(made.store.get("empty", 1000).await.unwrap().is_empty());
    assert_eq!(made.read("empty", 0..1).await.unwrap_err().kind, Failure::TooShort);
}

pub(crate) async fn get_reads_the_whole_object_within_its_limit(made: Made) {
    let written = bytes(3, 100_000);
    made.put("object", &written).await;
    for most in [100_000, 100_001, u64::MAX] {
        assert!(made.store.get("object", most).await.unwrap() == written, "{most}");
    }
    for most in [0, 1, 99_999] {
        assert_eq!(made.store.get("object", most).await.unwrap_err().kind, Failure::TooLong, "{most}");
    }
    assert_eq!(made.store.length("object").await.unwrap(), 100_000);
}

pub(crate) async fn reads_at_the_same_time_do_not_mix(made: Made) {
    let written: Vec<_> = (0..4).map(|seed| bytes(seed, 200_000)).collect();
    for (seed, written) in written.iter().enumerate() {
        made.put(&format!("object{seed}"), written).await;
    }
    let reads = (0..96_usize).map(|i| {
        let (made, written) = (&made, &written[i % 4]);
        async move {
            let start = i * 997;
            let end = start + 1 + i * 1000;
            let read = made.read(&format!("object{}", i % 4), start as u64..end as u64).await.unwrap();
            assert!(read == written[start..end], "read {i}");
        }
    });
    join_all(reads).await;
}
