//! Writing files, and what lies on the nodes then.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::*;

const SIZES: [u64; 13] = [
    0,
    1,
    CELL - 1,
    CELL,
    CELL + 1,
    2 * CELL + 1,
    STRIPE - 1,
    STRIPE,
    STRIPE + 1,
    GROUP - 1,
    GROUP,
    GROUP + 1,
    4 * GROUP + 5000,
];

/// A source that gives a few bytes at a time, and counts them.
struct Source {
    bytes: Vec<u8>,
    at: usize,
    most: usize,
    given: Arc<AtomicU64>,
    /// Fails instead of giving the bytes from here on.
    fails_at: usize,
}

impl Source {
    fn new(bytes: Vec<u8>, most: usize) -> Self {
        Self { bytes, at: 0, most, given: Arc::default(), fails_at: usize::MAX }
    }
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.at >= self.fails_at {
            return Poll::Ready(Err(std::io::Error::other("the disk is on fire")));
        }
        let end = self.bytes.len().min(self.at + self.most.min(out.remaining())).min(self.fails_at);
        out.put_slice(&self.bytes[self.at..end]);
        self.given.fetch_add((end - self.at) as u64, Ordering::Relaxed);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn files_of_every_length_read_back_with_the_parity_of_the_codec() {
    for (size, nodes) in SIZES.into_iter().flat_map(|size| [(size, 5), (size, 8)]) {
        for announced in [None, Some(size)] {
            let (odds, nodes) = odd(nodes);
            let bytes = content(size, size);
            let options = PutOptions { length: announced, ..small() };
            let manifest = write("a/b", &nodes, &bytes, &options).await.unwrap();
            assert_eq!((manifest.length, manifest.generation), (size, 1));
            assert!(read_back("a/b", &nodes).await == bytes, "{size}");
            assert_eq!(strays("a/b", &odds, Some(&manifest)), [""; 0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_of_small_pieces_makes_the_same_file() {
    let (_, nodes) = odd(5);
    let bytes = content(2 * GROUP + 17, 3);
    let mut source = Source::new(bytes.clone(), 1000);
    put("a", &nodes, &mut source, &small(), &|_| ()).await.unwrap();
    assert!(read_back("a", &nodes).await == bytes);
}

#[tokio::test(start_paused = true)]
async fn progress_ends_at_the_length_of_the_file() {
    let (_, nodes) = odd(5);
    let (last, calls) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |done| {
        assert!(last.swap(done, Ordering::Relaxed) < done);
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let bytes = content(2 * GROUP + 17, 3);
    put("a", &nodes, &mut &bytes[..], &small(), &progress).await.unwrap();
    assert_eq!((last.into_inner(), calls.into_inner()), (2 * GROUP + 17, 5));
}

#[tokio::test(start_paused = true)]
async fn cells_rotate_over_all_nodes() {
    let (_, nodes) = odd(7);
    let manifest = write("a", &nodes, &content(7 * GROUP, 0), &small()).await.unwrap();
    for node in 0..7 {
        let cells = manifest.placement.iter().filter_map(|row| row.iter().position(|&found| found == node));
        let mut cells = cells.collect::<Vec<_>>();
        cells.sort_unstable();
        assert_eq!(cells, [0, 1, 2, 3, 4]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_not_as_long_as_announced_leaves_nothing() {
    for (announced, size) in [(GROUP, GROUP - 1), (GROUP, GROUP + 1), (0, 1), (1, 0), (STRIPE, 5 * GROUP)] {
        let (odds, nodes) = odd(5);
        let options = PutOptions { length: Some(announced), ..small() };
        let error = write("a", &nodes, &content(size, 0), &options).await.unwrap_err();
        let FileError::SourceLength { announced: found, read } = error else { panic!("{error}") };
        assert!(found == announced && read == size.min(announced + 1), "{read} of {size}");
        assert_eq!(strays("a", &odds, None), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_leaves_nothing_and_says_where() {
    for at in [0, 1, STRIPE, 3 * GROUP + 5] {
        let (odds, nodes) = odd(5);
        let mut source = Source::new(content(5 * GROUP, 0), 999);
        source.fails_at = at as usize;
        let error = put("a", &nodes, &mut source, &small(), &|_| ()).await.unwrap_err();
        assert!(matches!(error, FileError::Source { read, .. } if read == at), "{error}");
        assert!(error.to_string().contains("the disk is on fire"));
        assert_eq!(strays("a", &odds, None), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_nothing_stops_the_source_after_three_stripes() {
    let (odds, nodes) = odd(5);
    odds[2].rule(|op, object| (op == Op::Put && object.contains("/g")).then_some(Instead::Hang));
    let mut source = Source::new(content(10 * GROUP, 0), 5000);
    let given = Arc::clone(&source.given);
    let begun = tokio::time::Instant::now();
    let options = small();
    let (done, held) = tokio::join!(put("a", &nodes, &mut source, &options, &|_| ()), async {
        tokio::time::sleep(Duration::from_secs(59)).await;
        given.load(Ordering::Relaxed)
    });
    assert_eq!(held, 3 * STRIPE);
    let error = done.unwrap_err();
    assert!(
        matches!(&error, FileError::Node { failure, .. }
        if failure.node == "n2" && failure.failed.kind == Failure::TimedOut),
        "{error}"
    );
    assert_eq!(begun.elapsed().as_secs(), 60);
    assert_eq!(strays("a", &odds, None), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_source_is_not_taken_for_silent_nodes() {
    struct Slow<'a>(&'a [u8], Pin<Box<tokio::time::Sleep>>);
    impl AsyncRead for Slow<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            out: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            std::task::ready!(self.1.as_mut().poll(context));
            self.1.set(tokio::time::sleep(Duration::from_secs(100)));
            let (now, later) = self.0.split_at(out.remaining().min(self.0.len()));
            self.0 = later;
            out.put_slice(now);
            Poll::Ready(Ok(()))
        }
    }
    let (_, nodes) = odd(5);
    let bytes = content(2 * GROUP + 1, 0);
    let mut source = Slow(&bytes, Box::pin(tokio::time::sleep(Duration::from_secs(700))));
    put("a", &nodes, &mut source, &small(), &|_| ()).await.unwrap();
    assert!(read_back("a", &nodes).await == bytes);
}

#[tokio::test(start_paused = true)]
async fn what_no_file_can_be_is_refused_before_anything_is_written() {
    let (odds, mut nodes) = odd(5);
    let shapes = [
        PutOptions { k: 0, ..small() },
        PutOptions { m: 0, ..small() },
        PutOptions { k: 40, m: 25, ..small() },
        PutOptions { cell_bytes: 0, ..small() },
        PutOptions { cell_bytes: 4097, ..small() },
        PutOptions { record_bytes: 1000, ..small() },
        PutOptions { stripes_per_group: 65, ..small() },
        PutOptions { length: Some(u64::MAX), ..small() },
    ];
    for options in shapes {
        let error = write("a", &nodes, b"x", &options).await.unwrap_err();
        assert!(matches!(error, FileError::Shape(_)), "{error}");
    }
    for name in ["", "a//b", "../a", "manifest.json"] {
        let error = write(name, &nodes, b"x", &small()).await.unwrap_err();
        assert!(matches!(error, FileError::Name { .. }), "{error}");
    }
    let error = write("a", &nodes[..4], b"x", &small()).await.unwrap_err();
    assert!(matches!(error, FileError::TooFewNodes { given: 4, needed: 5 }), "{error}");
    nodes[4].label = "n0".to_owned();
    let error = write("a", &nodes, b"x", &small()).await.unwrap_err();
    assert!(matches!(error, FileError::Shape(ManifestError::SameLabel { .. })), "{error}");
    // 16 MiB of text hold the placement of some 1.4 million groups, but 1,048,576 is the most.
    let options = PutOptions { length: Some((1 << 20) * GROUP + 1), ..small() };
    let error = write("a", &nodes[..], b"x", &options).await.unwrap_err();
    assert!(matches!(error, FileError::Shape(ManifestError::Limit { field: "groups", .. })), "{error}");
    assert_eq!(strays("a", &odds, None), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_existing_file_is_kept_or_replaced_as_a_whole() {
    let (odds, nodes) = odd(5);
    let (first, second) = (content(2 * GROUP, 1), content(STRIPE + 1, 2));
    let old = write("a", &nodes, &first, &small()).await.unwrap();
    let error = write("a", &nodes, &second, &small()).await.unwrap_err();
    assert!(matches!(error, FileError::Exists { generation: 1, .. }), "{error}");
    assert!(read_back("a", &nodes).await == first);
    assert_eq!(strays("a", &odds, Some(&old)), [""; 0]);
    let new = write("a", &nodes, &second, &replacing()).await.unwrap();
    assert_eq!(new.generation, 2);
    assert_ne!(new.id, old.id);
    assert!(read_back("a", &nodes).await == second);
    assert_eq!(strays("a", &odds, Some(&new)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn replacing_works_on_nodes_that_can_not_list() {
    let (odds, nodes) = odd(6);
    for odd in &odds {
        odd.rule(|op, _| (op == Op::List).then_some(Instead::Fail(Failure::Unsupported)));
    }
    write("a", &nodes, &content(9 * GROUP, 1), &replacing()).await.unwrap();
    let new = write("a", &nodes, &content(5, 2), &replacing()).await.unwrap();
    assert_eq!(strays("a", &odds, Some(&new)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn one_of_two_writers_at_once_wins_and_the_other_leaves_nothing() {
    let (odds, nodes) = odd(5);
    let (first, second) = (content(2 * GROUP, 1), content(3 * GROUP, 2));
    let (one, other) = (small(), small());
    let (one, other) = tokio::join!(write("a", &nodes, &first, &one), write("a", &nodes, &second, &other));
    let (manifest, bytes) = match (one, other) {
        (Ok(manifest), Err(FileError::Busy { .. } | FileError::Exists { .. })) => (manifest, first),
        (Err(FileError::Busy { .. } | FileError::Exists { .. }), Ok(manifest)) => (manifest, second),
        other => panic!("{other:?}"),
    };
    assert!(read_back("a", &nodes).await == bytes);
    assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn writers_that_meet_nodes_in_different_order_do_not_both_win() {
    for slow in 0..32_u32 {
        let (odds, nodes) = odd(5);
        // The first writer comes first to some nodes, the second to the others.
        let views = |first: bool| {
            let odds = odds.iter().enumerate().map(|(index, odd)| {
                let view = Odd { rule: Arc::default(), ..odd.clone() };
                let late = (slow >> index & 1 == 1) == first;
                let once = std::sync::atomic::AtomicBool::new(late);
                view.rule(move |op, object| {
                    let intent = op == Op::Put && object.ends_with("intent.json");
                    (intent && once.swap(false, Ordering::Relaxed))
                        .then_some(Instead::Wait(Duration::from_millis(5)))
                });
                node(index, &view)
            });
            odds.collect::<Vec<_>>()
        };
        let (first, second) = (views(true), views(false));
        let (one, other) = (content(GROUP, 1), content(GROUP, 2));
        let options = small();
        let (one, other) =
            tokio::join!(write("a", &first, &one, &options), write("a", &second, &other, &options));
        let won = [&one, &other].into_iter().filter_map(|done| done.as_ref().ok()).collect::<Vec<_>>();
        assert_eq!(won.len(), 1, "{slow}: {one:?} {other:?}");
        read_back("a", &nodes).await;
        assert_eq!(strays("a", &odds, Some(won[0])), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_put_on_some_of_the_nodes_of_a_file_leaves_the_file() {
    let (odds, nodes) = odd(8);
    let bytes = content(GROUP, 1);
    let manifest = write("a", &nodes[..5], &bytes, &small()).await.unwrap();
    for options in [small(), replacing()] {
        let error = write("a", &nodes[3..], b"new", &options).await.unwrap_err();
        assert!(matches!(error, FileError::NotCommitted { copies: 2, .. }), "{error}");
    }
    assert!(read_back("a", &nodes[..5]).await == bytes);
    assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_file_of_which_nodes_are_not_mounted_is_kept() {
    // RS-3-1 on 5 nodes would be in force with 4 copies; two of them are gone, and 3 cells are enough to read it.
    let (odds, nodes) = odd(5);
    let options = PutOptions { m: 1, ..small() };
    let bytes = content(GROUP, 1);
    write("a", &nodes, &bytes, &options).await.unwrap();
    let away = odds[..2].iter().map(|odd| std::mem::take(&mut *odd.memory.objects())).collect::<Vec<_>>();
    let before = strays("a", &odds, None);
    let error = write("a", &nodes, b"new", &options).await.unwrap_err();
    assert!(matches!(error, FileError::NotCommitted { copies: 3, needed: 4, .. }), "{error}");
    assert_eq!(strays("a", &odds, None), before);
    for (odd, objects) in odds.iter().zip(away) {
        *odd.memory.objects() = objects;
    }
    assert!(read_back("a", &nodes).await == bytes);
}

#[tokio::test(start_paused = true)]
async fn two_writers_that_begin_at_once_leave_the_name_free() {
    let (odds, _) = odd(5);
    // The first writer gets four nodes, the second one, which is slow to withdraw.
    let views = |first: bool| {
        let views = odds.iter().enumerate().map(|(index, odd)| {
            let view = Odd { rule: Arc::default(), ..odd.clone() };
            let wins = (index < 4) == first;
            let mut puts = 0;
            view.rule(move |op, object| match op {
                Op::Put if object.ends_with("intent.json") => {
                    puts += 1;
                    (puts == 1 && !wins).then_some(Instead::Wait(Duration::from_millis(5)))
                }
                Op::Delete if object.ends_with("intent.json") && !first => {
                    Some(Instead::Wait(Duration::from_secs(1)))
                }
                _ => None,
            });
            node(index, &view)
        });
        views.collect::<Vec<_>>()
    };
    let (first, second, options) = (views(true), views(false), small());
    let (one, other) =
        tokio::join!(write("a", &first, b"one", &options), write("a", &second, b"other", &options));
    assert!(matches!(other, Err(FileError::Busy { .. })), "{other:?}");
    let manifest = one.unwrap();
    assert_eq!(strays("a", &odds, Some(&manifest)), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn one_storage_given_as_two_nodes_is_refused() {
    let (odds, nodes) = odd(5);
    for address in ["memory:4", "http://localhost:1/", "http://127.0.0.1:1/"] {
        for other in ["memory:1", "http://127.0.0.1:1/"] {
            let mut nodes = nodes.clone();
            let alike = |address: &str| Odd { address: address.into(), ..odds[1].clone() };
            nodes[1] = node(1, &alike(other));
            nodes[4] = node(4, &alike(address));
            match write("a", &nodes, b"x", &small()).await {
                Err(FileError::SameNode { mut given, .. }) => {
                    given.sort();
                    assert_eq!(given, ["n1", "n4"]);
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(strays("a", &odds, None), [""; 0]);
        }
    }
    // Many stores in memory have one address, and are not one.
    let memory = |index: usize| Node { label: format!("m{index}"), store: Arc::new(MemoryStore::new()) };
    write("a", &(0..5).map(memory).collect::<Vec<_>>(), b"x", &small()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_silence_without_end_is_waited_for() {
    let (_, nodes) = odd(5);
    let options = PutOptions { silence: Duration::MAX, ..small() };
    write("a", &nodes, b"x", &options).await.unwrap();
    assert!(read_back("a", &nodes).await == b"x");
}
