//! Writing and deleting on plain HTTP, against servers that do what nginx does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::task::JoinHandle;

use super::peer::{Peer, Server, soon};
use super::script::Script;
use crate::store::{Body, Existing, Failed, Failure, NodeOptions, NodeStore, connect};

fn node(url: &str) -> Arc<dyn NodeStore> {
    connect(&url.parse().unwrap(), &NodeOptions::default()).unwrap()
}

fn body(pieces: &[&'static str]) -> Body {
    let pieces = pieces.iter().map(|piece| Ok::<_, Failed>(Bytes::from_static(piece.as_bytes())));
    Box::pin(stream::iter(pieces.collect::<Vec<_>>()))
}

type Putting = JoinHandle<Result<u64, Failed>>;

/// A put of "object" under way, and the server's end of it after the head, which is given, too.
async fn put(existing: Existing, length: Option<u64>, body: Body) -> (Putting, Peer, String) {
    let server = Server::new().await;
    let putting = tokio::spawn(node(&server.url()).put("object", existing, length, body));
    let mut peer = server.accept().await;
    if existing == Existing::Keep {
        assert!(peer.request().await.starts_with("HEAD /object "));
        peer.say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    }
    let head = peer.request().await;
    assert!(head.starts_with("PUT /object "), "{head}");
    (putting, peer, head.to_ascii_lowercase())
}

#[tokio::test]
async fn a_put_that_keeps_looks_first_and_then_says_so() {
    let (putting, mut peer, head) = put(Existing::Keep, Some(7), body(&["abc", "", "defg"])).await;
    assert!(
        head.contains("\r\nif-none-match: *\r\n") && head.contains("\r\ncontent-length: 7\r\n"),
        "{head}"
    );
    assert_eq!(peer.bytes(7).await, b"abcdefg");
    peer.say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(soon(putting).await.unwrap().unwrap(), 7);
}

#[tokio::test]
async fn a_put_that_replaces_is_one_request_in_chunks_where_its_length_is_unknown() {
    let (putting, mut peer, head) = put(Existing::Replace, None, body(&["abc", "defg"])).await;
    assert!(!head.contains("if-none-match") && head.contains("\r\ntransfer-encoding: chunked\r\n"), "{head}");
    let chunks = "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
    assert_eq!(peer.bytes(chunks.len()).await, chunks.as_bytes());
    peer.say("HTTP/1.1 204 No Content\r\n\r\n").await;
    assert_eq!(soon(putting).await.unwrap().unwrap(), 7);
}

#[tokio::test]
async fn what_a_server_says_of_a_put_has_its_kind() {
    // What it answers to HEAD first, to PUT, and to HEAD afterwards.
    for (before, answer, after, existing, kind) in [
        ("404 Not Found", "412 Precondition Failed", "", Existing::Keep, Failure::Exists),
        ("404 Not Found", "409 Conflict", "200 OK", Existing::Keep, Failure::Exists),
        ("404 Not Found", "409 Conflict", "404 Not Found", Existing::Keep, Failure::Unsupported),
        ("200 OK", "", "", Existing::Keep, Failure::Exists),
        ("403 Forbidden", "", "", Existing::Keep, Failure::Refused),
        ("", "409 Conflict", "", Existing::Replace, Failure::Unsupported),
        ("", "412 Precondition Failed", "", Existing::Replace, Failure::Other),
        ("", "404 Not Found", "", Existing::Replace, Failure::Unsupported),
        ("", "405 Method Not Allowed", "", Existing::Replace, Failure::Unsupported),
        ("", "501 Not Implemented", "", Existing::Replace, Failure::Unsupported),
        ("", "401 Unauthorized", "", Existing::Replace, Failure::Refused),
        ("", "413 Content Too Large", "", Existing::Replace, Failure::Other),
        ("", "507 Insufficient Storage", "", Existing::Replace, Failure::Refused),
        ("", "503 Service Unavailable", "", Existing::Replace, Failure::Refused),
        ("", "301 Moved Permanently", "", Existing::Replace, Failure::Other),
    ] {
        let written = Arc::new(AtomicUsize::new(0));
        let server = Script::new(move |asked| {
            let status = if asked.line().starts_with("PUT") {
                written.fetch_add(1, Ordering::Relaxed);
                answer
            } else if written.load(Ordering::Relaxed) == 0 {
                before
            } else {
                after
            };
            (status, String::new(), String::new())
        })
        .await;
        let put = node(&server.url()).put("object", existing, Some(3), body(&["abc"])).await;
        let failed = put.unwrap_err();
        assert_eq!(failed.kind, kind, "{before} {answer} {after}: {failed}");
        if failed.kind == Failure::Unsupported && answer.starts_with('4') && !answer.contains("405") {
            assert!(failed.to_string().contains("folders"), "{failed}");
        }
    }
}

#[tokio::test]
async fn a_refusal_before_the_end_of_the_body_is_heard() {
    let endless = stream::repeat_with(|| Ok(Bytes::from_static(&[7; 4096])));
    let (putting, mut peer, _) = put(Existing::Replace, None, Box::pin(endless)).await;
    peer.say("HTTP/1.1 507 Insufficient Storage\r\nContent-Length: 0\r\n\r\n").await;
    let failed = soon(putting).await.unwrap().unwrap_err();
    assert_eq!(failed.kind, Failure::Refused, "{failed}");
    assert!(failed.to_string().contains("507"), "{failed}");
    peer.rest().await;
}

#[tokio::test]
async fn success_before_the_end_of_the_body_is_none() {
    let endless = stream::repeat_with(|| Ok(Bytes::from_static(&[7; 4096])));
    let (putting, mut peer, _) = put(Existing::Replace, None, Box::pin(endless)).await;
    peer.say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await;
    let failed = soon(putting).await.unwrap().unwrap_err();
    assert_eq!(failed.kind, Failure::Other, "{failed}");
    assert!(failed.to_string().contains("before the end"), "{failed}");
    peer.rest().await;
}

#[tokio::test]
async fn a_server_that_goes_away_during_a_put_is_unreachable() {
    let endless = stream::repeat_with(|| Ok(Bytes::from_static(&[7; 4096])));
    let (putting, mut peer, _) = put(Existing::Replace, None, Box::pin(endless)).await;
    assert_eq!(peer.bytes(6).await, b"1000\r\n");
    drop(peer);
    let failed = soon(putting).await.unwrap().unwrap_err();
    assert_eq!(failed.kind, Failure::Unreachable, "{failed}");
}

#[tokio::test]
async fn a_server_never_sees_the_end_of_a_body_that_is_wrong() {
    let broken = || Err(Failed::because(Failure::TimedOut, "the source is slow"));
    let good = |piece: &'static str| Ok(Bytes::from_static(piece.as_bytes()));
    for (pieces, length, kind) in [
        (vec![good("abc"), broken()], Some(7), Failure::TimedOut),
        (vec![good("abc"), good("defg"), broken()], Some(7), Failure::TimedOut),
        (vec![good("abc"), broken()], None, Failure::TimedOut),
        (vec![good("abc"), good("def")], Some(7), Failure::TooShort),
        (vec![good("abc"), good("defg"), good("h")], Some(7), Failure::TooLong),
        (vec![good("abcdefgh")], Some(7), Failure::TooLong),
    ] {
        let server = Server::new().await;
        let body: Body = Box::pin(stream::iter(pieces));
        let putting = tokio::spawn(node(&server.url()).put("object", Existing::Replace, length, body));
        let seen = String::from_utf8(server.accept().await.rest().await).unwrap();
        let failed = soon(putting).await.unwrap().unwrap_err();
        assert_eq!(failed.kind, kind, "{failed}");
        let body = seen.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        assert!(body.len() < 7 || length.is_none(), "{seen}");
        assert!(!body.ends_with("0\r\n\r\n"), "{seen}");
    }
}

#[tokio::test]
async fn a_body_for_which_there_is_no_room_is_looked_at_all_the_same() {
    let server = Script::new(|_| ("201 Created", String::new(), String::new())).await;
    let node = node(&server.url());
    assert_eq!(node.put("empty", Existing::Replace, Some(0), body(&["", ""])).await.unwrap(), 0);
    assert_eq!(server.asked()[0].header("content-length"), Some("0"));
    let failed = node.put("empty", Existing::Replace, Some(0), body(&["", "x"])).await.unwrap_err();
    assert_eq!(failed.kind, Failure::TooLong);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_does_not_read_stops_the_body() {
    const PIECES: usize = 500;
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let pieces = stream::iter(0..PIECES).then(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(Bytes::from(vec![7; 65_536])))
    });
    let length = PIECES as u64 * 65_536;
    let (putting, mut peer, _) = put(Existing::Replace, Some(length), Box::pin(pieces)).await;
    let mut last = 0;
    soon(async {
        // Until it has come to a stand.
        while last == 0 || last != taken.load(Ordering::Relaxed) {
            last = taken.load(Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert!(last < PIECES, "all of it was taken, though nobody reads");
    assert!(peer.bytes(PIECES * 65_536).await.iter().all(|&byte| byte == 7));
    peer.say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(soon(putting).await.unwrap().unwrap(), length);
}

#[tokio::test]
async fn a_delete_is_of_one_object_and_its_answer_has_its_kind() {
    for (answer, kind) in [
        ("204 No Content", None),
        ("200 OK", None),
        ("202 Accepted", None),
        ("404 Not Found", Some(Failure::Missing)),
        ("410 Gone", Some(Failure::Missing)),
        ("403 Forbidden", Some(Failure::Refused)),
        ("405 Method Not Allowed", Some(Failure::Unsupported)),
        ("500 Internal Server Error", Some(Failure::Refused)),
    ] {
        let server = Script::new(move |_| (answer, String::new(), String::new())).await;
        let deleted = node(&format!("{}/a%20b", server.url())).delete("c d/é").await;
        assert_eq!(deleted.err().map(|failed| failed.kind), kind, "{answer}");
        let asked = server.asked();
        assert_eq!(asked[0].line(), "DELETE /a%20b/c%20d/%C3%A9");
        assert_eq!(asked[0].header("depth"), Some("0"));
    }
}

#[tokio::test]
async fn a_delete_that_is_in_conflict_is_of_nothing_only_where_nothing_or_a_folder_is_there() {
    for (looked, location, kind) in [
        ("404 Not Found", "", Failure::Missing),
        ("410 Gone", "", Failure::Missing),
        ("301 Moved Permanently", "Location: /a%20b/c%20d/%C3%A9/\n", Failure::Missing),
        ("301 Moved Permanently", "Location: http://host/a%20b/c%20d/\u{e9}/\n", Failure::Missing),
        ("302 Found", "Location: http://host/enter/\n", Failure::Other),
        ("301 Moved Permanently", "Location: http://host/a%20b/c%20d/%C3%A9\n", Failure::Other),
        ("301 Moved Permanently", "", Failure::Other),
        ("200 OK", "", Failure::Other),
        ("403 Forbidden", "", Failure::Other),
        ("500 Internal Server Error", "", Failure::Other),
    ] {
        let server = Script::new(move |asked| match asked.line().split_once(' ').unwrap() {
            ("DELETE", _) => ("409 Conflict", String::new(), String::new()),
            _ => (looked, location.to_owned(), String::new()),
        })
        .await;
        let failed = node(&format!("{}/a%20b", server.url())).delete("c d/é").await.unwrap_err();
        assert_eq!(failed.kind, kind, "{looked} {location}");
        assert!(failed.to_string().contains("409"), "{failed}");
        assert_eq!(server.lines(), ["DELETE /a%20b/c%20d/%C3%A9", "HEAD /a%20b/c%20d/%C3%A9"]);
    }
}

fn folder(href: &str) -> String {
    entry(href, "<D:resourcetype><D:collection/></D:resourcetype>")
}

fn file(href: &str, length: u64) -> String {
    entry(href, &format!("<D:resourcetype/><D:getcontentlength>{length}</D:getcontentlength>"))
}

fn entry(href: &str, properties: &str) -> String {
    format!(
        "<D:response><D:href>{href}</D:href><D:propstat><D:prop>{properties}\
         <D:getlastmodified>Mon, 12 Jan 1998 09:25:56 GMT</D:getlastmodified></D:prop>\
         <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    )
}

fn listing(entries: &[String]) -> (&'static str, String, String) {
    let all = entries.concat();
    let xml = format!("<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">{all}</D:multistatus>");
    ("207 Multi-Status", "Content-Type: text/xml\n".to_owned(), xml)
}

#[tokio::test]
async fn a_listing_goes_down_only_and_takes_only_what_is_below() {
    let server = Script::new(|asked| match asked.line() {
        "PROPFIND /top" => listing(&[
            folder("/top/"),
            file("/top/one%201", 5),
            folder("/top/b/"),
            // Above, beside, itself again, and two steps at once.
            folder("/"),
            folder("/other/"),
            folder("/top/"),
            folder("/top/b/c/"),
            file("/elsewhere", 6),
            file("/topmost/x", 6),
        ]),
        "PROPFIND /top/b" => listing(&[file("/top/b/two", 7), file("/top/one%201", 5)]),
        _ => ("404 Not Found", String::new(), String::new()),
    })
    .await;
    let listed = node(&format!("{}/top", server.url())).list("").await.unwrap();
    let listed: Vec<_> = listed.iter().map(|entry| (&*entry.object, entry.length)).collect();
    assert_eq!(listed, [("b/two", 7), ("one 1", 5)]);
    assert_eq!(server.lines(), ["PROPFIND /top", "PROPFIND /top/b"]);
    assert!(server.asked().iter().all(|asked| asked.header("depth") == Some("1")));
}

#[tokio::test]
async fn a_listing_without_an_end_is_given_up() {
    let server = Script::new(|asked| {
        let at = asked.line().trim_start_matches("PROPFIND ").trim_end_matches('/');
        listing(&[folder(&format!("{at}/deeper/"))])
    })
    .await;
    let failed = soon(node(&server.url()).list("")).await.unwrap_err();
    assert_eq!(failed.kind, Failure::TooLong, "{failed}");
}

#[tokio::test]
async fn a_server_that_cannot_list_says_so() {
    for (answer, kind) in [
        ("405 Method Not Allowed", Failure::Unsupported),
        ("501 Not Implemented", Failure::Unsupported),
        ("403 Forbidden", Failure::Refused),
        ("503 Service Unavailable", Failure::Refused),
    ] {
        let server = Script::new(move |_| (answer, String::new(), String::new())).await;
        let failed = node(&server.url()).list("a").await.unwrap_err();
        assert_eq!(failed.kind, kind, "{answer}: {failed}");
    }
    let server = Script::new(|_| ("207 Multi-Status", String::new(), "<half".to_owned())).await;
    assert_eq!(node(&server.url()).list("a").await.unwrap_err().kind, Failure::Other);
}

#[tokio::test]
async fn a_name_that_no_url_can_hold_is_refused_before_anybody_is_asked() {
    let server = Script::new(|_| ("200 OK", String::new(), String::new())).await;
    let node = node(&server.url());
    for name in ["x".repeat(1025), "a\nb".to_owned(), "a\u{7f}b".to_owned()] {
        let refused = [
            node.length(&name).await.err(),
            node.put(&name, Existing::Keep, Some(1), body(&["x"])).await.err(),
            node.put(&name, Existing::Replace, Some(1), body(&["x"])).await.err(),
            node.delete(&name).await.err(),
            node.list(&name).await.err(),
        ];
        assert!(
            refused.iter().flatten().filter(|failed| failed.kind == Failure::Refused).count() == 5,
            "{refused:?}"
        );
    }
    assert!(server.asked().is_empty());
}
