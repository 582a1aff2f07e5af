//! Reading: ranges, lists, and what is not to be had.

use super::{Server, pattern};

const LENGTH: u32 = 200_001;

#[tokio::test]
async fn a_range_has_the_bytes_of_the_file_at_every_edge() {
    let server = Server::start(&[]).await;
    let bytes = pattern(LENGTH);
    server.add("folder/some file", &bytes);
    let edges = [0, 1, 2, 4095, 4096, 65_535, 65_536, 65_537, 131_072, LENGTH - 2, LENGTH - 1];
    let mut connection = server.connect().await;
    let mut ranges = Vec::new();
    for start in edges {
        ranges.push((format!("{start}-"), start..LENGTH));
        ranges.push((format!("{start}-9999999999"), start..LENGTH));
        ranges.push((format!("-{}", LENGTH - start), start..LENGTH));
        let ends = edges.iter().filter(|end| **end >= start);
        ranges.extend(ends.map(|end| (format!("{start}-{end}"), start..end + 1)));
    }
    ranges.push(("-9999999999".to_owned(), 0..LENGTH));
    for (asked, range) in ranges {
        let answer = connection.ask(&format!("GET /folder/some%20file\nRange: bytes={asked}")).await;
        let answer = answer.expect("an answer on the same connection");
        assert_eq!(answer.head.status, 206, "{asked}");
        let said = format!("bytes {}-{}/{LENGTH}", range.start, range.end - 1);
        assert_eq!(answer.head.get("content-range"), Some(&said[..]));
        assert!(answer.body == bytes[range.start as usize..range.end as usize], "{asked}");
    }
}

#[tokio::test]
async fn a_whole_object_and_its_length_are_to_be_had_without_a_range() {
    let server = Server::start(&[]).await;
    server.add("o", &pattern(LENGTH));
    server.add("empty", b"");
    let mut connection = server.connect().await;
    for (name, bytes) in [("o", pattern(LENGTH)), ("empty", Vec::new())] {
        for method in ["GET", "HEAD"] {
            let answer = connection.ask(&format!("{method} /{name}?query=ignored")).await.expect("an answer");
            assert_eq!(answer.head.status, 200);
            assert_eq!(answer.head.length(), Some(bytes.len()));
            assert_eq!(answer.head.get("accept-ranges"), Some("bytes"));
            assert_eq!(answer.head.get("content-range"), None);
            if method == "GET" {
                assert!(answer.body == bytes);
            }
        }
    }
}

#[tokio::test]
async fn a_range_beyond_the_end_is_refused_with_the_length() {
    let server = Server::start(&[]).await;
    server.add("o", b"0123456789");
    server.add("empty", b"");
    let mut connection = server.connect().await;
    for (name, range, length) in [("o", "10-", 10), ("o", "10-12", 10), ("o", "-0", 10), ("empty", "0-0", 0)]
    {
        let answer = connection.ask(&format!("GET /{name}\nRange: bytes={range}")).await.expect("an answer");
        assert_eq!(answer.head.status, 416, "{range}");
        assert_eq!(answer.head.get("content-range"), Some(&format!("bytes */{length}")[..]));
    }
}

#[tokio::test]
async fn a_range_that_need_not_be_heeded_is_answered_with_the_whole() {
    let server = Server::start(&[]).await;
    server.add("o", b"0123456789");
    for headers in
        ["Range: bytes=0-1,3-4", "Range: items=0-1", "Range: bytes=2-1", "Range: bytes=0-1\nIf-Range: \"x\""]
    {
        let answer = server.ask(&format!("GET /o\n{headers}")).await;
        assert_eq!((answer.head.status, &answer.body[..]), (200, &b"0123456789"[..]), "{headers}");
    }
    let head = server.ask("HEAD /o\nRange: bytes=0-1").await.head;
    assert_eq!((head.status, head.length()), (200, Some(10)));
}

#[tokio::test]
async fn conditions_that_no_object_meets_are_not_met() {
    let server = Server::start(&[]).await;
    server.add("o", b"0123456789");
    let statuses = [
        ("If-Match: \"x\"", 412),
        ("If-Match: *", 200),
        ("If-None-Match: *", 304),
        ("If-None-Match: \"x\"", 200),
    ];
    for (condition, status) in statuses {
        assert_eq!(server.ask(&format!("GET /o\n{condition}")).await.head.status, status, "{condition}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_outside_of_the_folder_is_reached() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("secret"), b"secret").expect("a file");
    let server = Server::start(&["--write"]).await;
    server.add("inside/o", b"inside");
    let at = |name: &str| server.folder.path().join(name);
    symlink(outside.path().join("secret"), at("file")).expect("a link");
    symlink(outside.path(), at("folder")).expect("a link");
    let up = outside.path().file_name().expect("a name").to_str().expect("a name in UTF-8");
    symlink(format!("../{up}/secret"), at("relative")).expect("a link");
    symlink("inside/o", at("within")).expect("a link");

    assert_eq!(server.ask("GET /within").await.body, b"inside");
    let escapes = [
        "/file".to_owned(),
        "/folder/secret".to_owned(),
        "/relative".to_owned(),
        format!("/../{up}/secret"),
        format!("/%2e%2e/{up}/secret"),
        format!("/.%2E/{up}/secret"),
        format!("/..%2f{up}%2fsecret"),
        format!("/inside/../../{up}/secret"),
        format!("//{up}/secret"),
        format!("/%2f{up}/secret"),
        format!("/{}", outside.path().join("secret").display()),
        "/o%00".to_owned(),
        "/%ff".to_owned(),
        "/%zz".to_owned(),
    ];
    for path in &escapes {
        for method in ["GET", "HEAD", "PROPFIND", "DELETE", "PUT"] {
            // A link itself is the folder's, and may be replaced or deleted there.
            if matches!(method, "DELETE" | "PUT") && matches!(&path[..], "/file" | "/relative") {
                continue;
            }
            let answer = server.ask(&format!("{method} {path}\nContent-Length: 0\nDepth: 1")).await;
            assert!(matches!(answer.head.status, 400 | 403 | 404 | 409), "{method} {path}: {answer:?}");
            assert!(!answer.text().contains("secret"), "{method} {path}");
        }
    }
    assert_eq!(server.ask("PUT /file\nContent-Length: 0").await.head.status, 204);
    assert_eq!(server.ask("DELETE /relative").await.head.status, 204);
    let left = std::fs::read(outside.path().join("secret")).expect("the file outside");
    assert_eq!(left, b"secret");
    assert_eq!(std::fs::read_dir(outside.path()).expect("the folder outside").count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn only_files_are_objects() {
    let server = Server::start(&[]).await;
    server.add("folder/o", b"o");
    let pipe = server.folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    for path in ["/", "/folder", "/folder/", "/folder/o/", "/folder/o/p", "/pipe", "/none"] {
        assert_eq!(server.ask(&format!("GET {path}")).await.head.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_server_that_may_not_write_does_not() {
    let server = Server::start(&[]).await;
    server.add("o", b"old");
    for method in ["PUT", "DELETE", "POST", "MKCOL", "COPY", "OPTIONS"] {
        let answer = server.ask(&format!("{method} /o\nContent-Length: 0")).await;
        assert_eq!(answer.head.status, 405, "{method}");
        assert_eq!(answer.head.get("allow"), Some("GET, HEAD, PROPFIND"));
    }
    assert_eq!(server.ask("GET /o").await.body, b"old");
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_and_the_server_goes_on() {
    let server = Server::start(&[]).await;
    server.add("o", b"o");
    let long = format!("GET /o\nX-Long: {}", "x".repeat(40 << 10));
    assert_eq!(server.ask(&long).await.head.status, 431);
    let many: String = (0..200).map(|n| format!("X-{n}: 1\n")).collect();
    assert_eq!(server.ask(&format!("GET /o\n{many}")).await.head.status, 431);
    assert_eq!(server.ask("GET /o").await.body, b"o");
}

#[tokio::test]
async fn a_list_has_every_object_and_its_length() {
    let server = Server::start(&[]).await;
    server.add("name/id/g0.c0", b"1234");
    server.add("name/id/g0.c1", b"");
    server.add("name/manifest & more.json", b"12");
    server.add("other", b"1");
    server.add(".hedgerow-put-1", b"hidden");
    #[cfg(unix)]
    for (to, link) in
        [("..", "name/up"), (".", "name/round"), ("nowhere", "name/broken"), ("loop", "name/loop")]
    {
        std::os::unix::fs::symlink(to, server.folder.path().join(link)).expect("a link");
    }
    let list = async |path: &str, depth: &str| {
        let answer = server.ask(&format!("PROPFIND {path}\nDepth: {depth}")).await;
        assert_eq!((answer.head.status, answer.whole), (207, true), "{path}");
        let text = answer.text();
        let mut found: Vec<String> = text
            .split("<D:response>")
            .skip(1)
            .map(|response| {
                let between = |open: &str, close: &str| {
                    response
                        .split_once(open)
                        .and_then(|(_, rest)| rest.split_once(close))
                        .map(|(value, _)| value)
                };
                assert!(response.contains("<D:status>HTTP/1.1 200 OK</D:status>"));
                assert!(between("<D:getlastmodified>", "</").is_some_and(|date| date.ends_with(" GMT")));
                let length = between("<D:getcontentlength>", "</").unwrap_or("folder");
                format!("{} {length}", between("<D:href>", "</").expect("a path"))
            })
            .collect();
        found.sort();
        found
    };
    assert_eq!(list("/other", "0").await, ["/other 1"]);
    assert_eq!(list("/", "0").await, ["/ folder"]);
    assert_eq!(list("/", "1").await, ["/ folder", "/name/ folder", "/other 1"]);
    let below = ["/name/ folder", "/name/id/ folder", "/name/id/g0.c0 4", "/name/id/g0.c1 0"];
    let below = [&below[..], &["/name/manifest%20%26%20more.json 2"]].concat();
    assert_eq!(list("/name", "infinity").await, below);
    assert_eq!(list("/", "Infinity").await, [&["/ folder"], &below[..], &["/other 1"]].concat());
    assert_eq!(server.ask("PROPFIND /none\nDepth: 1").await.head.status, 404);
    assert_eq!(server.ask("PROPFIND /\nDepth: 2").await.head.status, 400);
}

#[tokio::test]
async fn a_list_of_many_objects_comes_whole() {
    let server = Server::start(&[]).await;
    for number in 0..1000 {
        server.add(&format!("many/{number}"), b"x");
    }
    let answer = server.ask("PROPFIND /many\nDepth: infinity").await;
    assert!(answer.whole);
    assert_eq!(answer.text().matches("<D:getcontentlength>1<").count(), 1000);
    assert!(answer.text().ends_with("</D:multistatus>\n"));
}
