//! Each fault as a client sees it, switched on and off while the server runs.

use std::io;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::client::{Answer, Connection};
use super::{Server, pattern};

const LENGTH: u32 = 100_000;

async fn with_object(arguments: &[&str]) -> Server {
    let server = Server::start(arguments).await;
    server.add("o", &pattern(LENGTH));
    server
}

/// Bytes 10 to 59,999.
const ASKED: &str = "GET /o\nRange: bytes=10-59999";

fn asked() -> Vec<u8> {
    pattern(LENGTH)[10..60_000].to_vec()
}

async fn is_well(server: &Server) {
    let answer = server.ask(ASKED).await;
    assert_eq!(answer.head.status, 206);
    assert!(answer.whole && answer.body == asked());
}

/// A connection that has been used, and now has no request.
async fn idle(server: &Server) -> Connection {
    let mut idle = server.connect().await;
    assert!(idle.ask(ASKED).await.is_ok_and(|answer| answer.whole));
    idle
}

#[tokio::test]
async fn a_slow_body_comes_whole_in_parts() {
    let mut server = with_object(&[]).await;
    server.fault("slow-body 5 40ms").await;
    let began = Instant::now();
    is_well(&server).await;
    assert!(began.elapsed() >= Duration::from_millis(4 * 40));
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn a_stalled_body_stops_after_4_kib_until_the_fault_is_over() {
    let mut server = with_object(&[]).await;
    server.add("small", b"0123456789");
    server.fault("stall").await;
    for (request, length, sent) in
        [(ASKED, 59_990, 4096), ("GET /small", 10, 9), ("GET /small\nRange: bytes=3-3", 1, 0)]
    {
        let mut connection = server.connect().await;
        connection.request(request).await.expect("a request");
        assert_eq!(connection.head().await.expect("a head").length(), Some(length));
        connection.exactly(sent).await;
        assert!(connection.is_silent().await, "{request}");
        server.fault("none").await;
        assert!(connection.is_closed().await, "{request}");
        is_well(&server).await;
        server.fault("stall").await;
    }
}

#[tokio::test]
async fn an_unanswered_connection_is_accepted_and_hears_nothing() {
    let mut server = with_object(&[]).await;
    let mut idle = idle(&server).await;
    server.fault("no-answer").await;
    assert!(idle.is_closed().await);
    let mut connection = server.connect().await;
    connection.request(ASKED).await.expect("a request");
    assert!(connection.is_silent().await);
    server.fault("none").await;
    assert!(connection.is_closed().await);
    is_well(&server).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn connecting_hangs_while_connections_are_not_accepted() {
    let mut server = with_object(&[]).await;
    let mut idle = idle(&server).await;
    for _ in 0..2 {
        server.fault("not-accepted").await;
        assert!(idle.is_closed().await);
        for _ in 0..2 {
            let connecting = tokio::net::TcpStream::connect(server.address());
            assert!(tokio::time::timeout(Duration::from_millis(200), connecting).await.is_err());
        }
        server.fault("none").await;
        is_well(&server).await;
    }
}

#[tokio::test]
async fn connections_are_refused_and_the_port_is_kept() {
    let mut server = with_object(&[]).await;
    let mut idle = idle(&server).await;
    for fault in ["none", "no-answer", "not-accepted", "none"] {
        server.fault("refuse").await;
        assert!(idle.is_closed().await);
        let error = Connection::open(server.address()).await.err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::ConnectionRefused));
        let address = server.address().parse::<std::net::SocketAddr>().expect("an address");
        let other = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let bound = other.bind(&address.into()).map_err(|error| error.kind());
        assert_eq!(bound, Err(io::ErrorKind::AddrInUse));
        server.fault(fault).await;
    }
    is_well(&server).await;
}

fn differing_bits(one: &[u8], other: &[u8]) -> Vec<(usize, u8)> {
    assert_eq!(one.len(), other.len());
    let pairs = one.iter().zip(other).enumerate();
    pairs.filter(|(_, (a, b))| a != b).map(|(at, (a, b))| (at, a ^ b)).collect()
}

#[tokio::test]
async fn a_corrupt_body_differs_in_one_bit_in_its_middle() {
    let mut server = with_object(&[]).await;
    server.fault("corrupt").await;
    for _ in 0..2 {
        assert_eq!(differing_bits(&server.ask(ASKED).await.body, &asked()), [(29_995, 1)]);
    }
    let one = server.ask("GET /o\nRange: bytes=70000-70000").await.body;
    assert_eq!(one, [pattern(LENGTH)[70_000] ^ 1]);
    let whole = server.ask("GET /o").await.body;
    assert_eq!(differing_bits(&whole, &pattern(LENGTH)), [(50_000, 1)]);
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn a_stale_body_is_that_of_another_object_of_the_same_length() {
    let mut server = with_object(&[]).await;
    let other: Vec<u8> = pattern(LENGTH).iter().map(|byte| !byte).collect();
    server.add("longer", &pattern(LENGTH + 1));
    server.add("a", &other);
    server.fault("stale").await;
    assert!(server.ask(ASKED).await.body == other[10..60_000]);
    assert!(server.ask("GET /a").await.body == pattern(LENGTH));
    // Nothing else is as long: the halves are exchanged.
    let (odd, bytes) = (server.ask("GET /longer").await.body, pattern(LENGTH + 1));
    assert!(odd == [&bytes[50_000..], &bytes[..50_000]].concat());
    let across = server.ask("GET /longer\nRange: bytes=50000-50001").await.body;
    assert_eq!(across, [bytes[100_000], bytes[0]]);
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn half_of_the_body_comes_before_the_connection_is_closed() {
    let mut server = with_object(&[]).await;
    let large = pattern(16 << 20);
    server.add("large", &large);
    server.fault("mid-body").await;
    let Answer { head, body, whole } = server.ask(ASKED).await;
    assert_eq!((head.status, head.length(), whole), (206, Some(59_990), false));
    assert!(body == asked()[..29_995]);
    let Answer { body, whole, .. } = server.ask("GET /large").await;
    assert!(!whole && body == large[..8 << 20], "{} bytes", body.len());
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn a_server_out_of_service_says_so_to_everything() {
    let mut server = with_object(&["--write"]).await;
    server.fault("status-503").await;
    for method in ["GET", "HEAD", "PUT", "DELETE", "PROPFIND"] {
        assert_eq!(server.ask(&format!("{method} /o\nContent-Length: 0")).await.head.status, 503);
    }
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn a_delayed_answer_comes_late_and_whole() {
    let mut server = with_object(&[]).await;
    server.fault("delay 150ms").await;
    let began = Instant::now();
    is_well(&server).await;
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn a_lie_about_length_is_announced_and_sent() {
    let mut server = with_object(&[]).await;
    for (by, length) in [(-1_i32, 59_989_usize), (-59_990, 0), (-99_999, 0), (1, 59_991), (70_000, 129_990)] {
        server.fault(&format!("lie-length {by}")).await;
        let Answer { head, body, whole } = server.ask(ASKED).await;
        assert_eq!(head.get("content-range"), Some("bytes 10-59999/100000"));
        assert_eq!((head.length(), whole), (Some(length), true), "{by}");
        let same = length.min(59_990);
        assert!(body[..same] == asked()[..same] && body[same..].iter().all(|byte| *byte == 0), "{by}");
    }
    assert_eq!(server.ask("HEAD /o").await.head.length(), Some(170_000));
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn a_lie_about_the_range_is_admitted_in_the_head() {
    let mut server = with_object(&[]).await;
    server.fault("lie-range").await;
    let cases = [
        ("GET /o\nRange: bytes=10-59999", 11..60_001),
        ("GET /o\nRange: bytes=10-99999", 9..99_999),
        ("GET /o\nRange: bytes=0-99999", 1..100_000),
        ("GET /o", 1..100_000),
    ];
    for (request, range) in cases {
        let answer = server.ask(request).await;
        assert_eq!(answer.head.status, 206);
        let said = format!("bytes {}-{}/100000", range.start, range.end - 1);
        assert_eq!(answer.head.get("content-range"), Some(&said[..]));
        assert!(answer.body == pattern(LENGTH)[range], "{request}");
    }
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn what_is_no_fault_changes_nothing() {
    let mut server = with_object(&["--fault", "status-503"]).await;
    for bad in ["", "stal", "delay", "delay soon", "slow-body 0 1ms"] {
        let error = server.process.fault(bad).await.expect_err(bad);
        assert!(error.to_string().contains("error"), "{error}");
    }
    assert_eq!(server.ask(ASKED).await.head.status, 503);
    server.fault("none").await;
    is_well(&server).await;
}

#[tokio::test]
async fn an_answer_under_way_goes_on_as_it_began() {
    let mut server = with_object(&["--fault", "slow-body 5 60ms"]).await;
    let mut connection = server.connect().await;
    connection.request(ASKED).await.expect("a request");
    assert_eq!(connection.head().await.expect("a head").status, 206);
    server.fault("refuse").await;
    assert!(connection.exactly(59_990).await == asked());
    assert!(connection.is_closed().await);
}
