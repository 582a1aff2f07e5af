//! Writing to buckets, and what goes over the wire to each of the clouds.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::peer::soon;
use super::script::{Asked, Script};
use crate::store::{Body, Existing, Failed, Failure, NodeOptions, NodeStore, connect, read_object};

const MIB: usize = 1 << 20;

fn node(address: &str, settings: &[(&str, &str)]) -> Arc<dyn NodeStore> {
    let mut options = NodeOptions { environment: false, ..NodeOptions::default() };
    options.settings =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    connect(&address.parse().unwrap(), &options).unwrap()
}

fn body(length: usize) -> Body {
    let pieces = (0..length.div_ceil(MIB)).map(move |i| Ok(Bytes::from(vec![7; MIB.min(length - i * MIB)])));
    Box::pin(stream::iter(pieces))
}

#[cfg(feature = "s3")]
mod s3 {
    use super::*;

    fn s3(url: &str) -> Arc<dyn NodeStore> {
        let settings = [
            ("endpoint", url),
            ("allow_http", "true"),
            ("access_key_id", "key"),
            ("secret_access_key", "secret"),
        ];
        node("s3://bucket/folder", &settings)
    }

    /// What S3 answers where all goes well, and there is no such object yet.
    fn well(asked: &Asked) -> (&'static str, String, String) {
        let none = String::new;
        match asked.line().split_once(' ').unwrap() {
            ("HEAD", _) => ("404 Not Found", none(), none()),
            ("POST", url) if url.ends_with("uploads") || url.ends_with("uploads=") => (
                "200 OK",
                none(),
                "<InitiateMultipartUploadResult><UploadId>U1</UploadId></InitiateMultipartUploadResult>"
                    .into(),
            ),
            ("POST", _) => (
                "200 OK",
                none(),
                "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>".into(),
            ),
            ("DELETE", _) => ("204 No Content", none(), none()),
            _ => ("200 OK", "ETag: \"e\"\n".into(), none()),
        }
    }

    fn methods(server: &Script) -> Vec<String> {
        let methods = server.lines().into_iter().map(|line| line.split(' ').next().unwrap().to_owned());
        methods.collect()
    }

    #[tokio::test]
    async fn up_to_one_part_is_one_request_and_more_is_an_upload_of_parts() {
        for (length, announced, parts) in [
            (0, true, &[0][..]),
            (8 * MIB, true, &[8 * MIB]),
            (8 * MIB, false, &[8 * MIB]),
            (8 * MIB + 1, true, &[8 * MIB, 1]),
            (17 * MIB, false, &[8 * MIB, 8 * MIB, MIB]),
        ] {
            let server = Script::new(well).await;
            let announced = announced.then_some(length as u64);
            let put = s3(&server.url()).put("object", Existing::Keep, announced, body(length)).await;
            assert_eq!(put.unwrap(), length as u64);
            let asked = server.asked();
            let puts: Vec<_> = asked.iter().filter(|asked| asked.line().starts_with("PUT")).collect();
            assert_eq!(puts.iter().map(|put| put.body).collect::<Vec<_>>(), parts);
            if let [put] = puts[..] {
                assert_eq!(put.line(), "PUT /bucket/folder/object");
                assert_eq!(put.header("if-none-match"), Some("*"));
                assert_eq!(asked.len(), 1);
            } else {
                let mut expected = vec!["HEAD", "POST"];
                expected.extend(parts.iter().map(|_| "PUT"));
                expected.extend(["HEAD", "POST"]);
                assert_eq!(methods(&server), expected);
            }
        }
    }

    #[tokio::test]
    async fn what_is_there_is_kept() {
        let there = |asked: &Asked| match asked.line().split_once(' ').unwrap() {
            ("HEAD", _) => ("200 OK", "Content-Length: 5\n".to_owned(), String::new()),
            ("PUT", _) => ("412 Precondition Failed", String::new(), String::new()),
            _ => well(asked),
        };
        let server = Script::new(there).await;
        for length in [1, 9 * MIB] {
            let put = s3(&server.url()).put("object", Existing::Keep, None, body(length)).await;
            assert_eq!(put.unwrap_err().kind, Failure::Exists);
        }
        assert_eq!(methods(&server), ["PUT", "HEAD"]);
    }

    #[tokio::test]
    async fn what_appears_during_an_upload_is_kept_too() {
        let late = Script::new({
            let looks = std::sync::atomic::AtomicUsize::new(0);
            move |asked: &Asked| match asked.line().starts_with("HEAD") {
                true if looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1 => {
                    ("200 OK", "Content-Length: 5\n".to_owned(), String::new())
                }
                _ => well(asked),
            }
        })
        .await;
        let put = s3(&late.url()).put("object", Existing::Keep, None, body(9 * MIB)).await;
        assert_eq!(put.unwrap_err().kind, Failure::Exists);
        assert_eq!(methods(&late), ["HEAD", "POST", "PUT", "PUT", "HEAD", "DELETE"]);
    }

    #[tokio::test]
    async fn an_upload_that_fails_is_aborted() {
        let broken = |asked: &Asked| match asked.line() {
            line if line.starts_with("PUT") && line.contains("partNumber=2") => {
                ("503 Service Unavailable", String::new(), "<Error><Code>SlowDown</Code></Error>".into())
            }
            _ => well(asked),
        };
        let server = Script::new(broken).await;
        let failed =
            s3(&server.url()).put("object", Existing::Replace, None, body(17 * MIB)).await.unwrap_err();
        assert_eq!(failed.kind, Failure::Refused, "{failed}");
        assert!(failed.to_string().contains("SlowDown"), "{failed}");
        let last = server.lines().pop().unwrap();
        assert!(last.starts_with("DELETE /bucket/folder/object?uploadId=U1"), "{last}");

        let server = Script::new(well).await;
        let pieces = body(9 * MIB).chain(stream::iter([Err(Failed::from(Failure::TimedOut))]));
        let put = s3(&server.url()).put("object", Existing::Replace, None, Box::pin(pieces)).await;
        assert_eq!(put.unwrap_err().kind, Failure::TimedOut);
        assert!(server.lines().pop().unwrap().starts_with("DELETE "));

        let server = Script::new(well).await;
        let put =
            s3(&server.url()).put("object", Existing::Replace, Some(10 * MIB as u64), body(9 * MIB)).await;
        assert_eq!(put.unwrap_err().kind, Failure::TooShort);
        assert!(server.lines().pop().unwrap().starts_with("DELETE "));
    }

    #[tokio::test]
    async fn an_upload_that_is_dropped_is_aborted() {
        let server = Script::new(well).await;
        let endless = body(9 * MIB).chain(stream::pending());
        let putting =
            tokio::spawn(s3(&server.url()).put("object", Existing::Replace, None, Box::pin(endless)));
        server.is_asked("PUT /bucket/folder/object?partNumber=1").await;
        putting.abort();
        server.is_asked("DELETE /bucket/folder/object?uploadId=U1").await;
        assert!(!server.lines().iter().any(|line| line.starts_with("POST") && line.contains("uploadId")));
    }

    #[tokio::test]
    async fn a_body_that_fails_in_its_first_part_asks_nobody() {
        let server = Script::new(well).await;
        let pieces = body(MIB).chain(stream::iter([Err(Failed::from(Failure::TimedOut))]));
        let put = s3(&server.url()).put("object", Existing::Replace, None, Box::pin(pieces)).await;
        assert_eq!(put.unwrap_err().kind, Failure::TimedOut);
        let put = s3(&server.url()).put("object", Existing::Replace, Some(5), body(MIB)).await;
        assert_eq!(put.unwrap_err().kind, Failure::TooLong);
        assert!(server.asked().is_empty());
    }
}

#[cfg(any(feature = "gcs", feature = "azure"))]
const ODD: &str = "a b%20/ü+#?";

/// Puts, reads and looks at an object of an odd name. The lines of the requests.
#[cfg(any(feature = "gcs", feature = "azure"))]
async fn life(server: &Script, node: &dyn NodeStore) -> Vec<String> {
    node.put(ODD, Existing::Keep, Some(3), body(3)).await.unwrap();
    assert_eq!(read_object(node, ODD, 0..3).await.unwrap(), "abc");
    assert_eq!(node.length(ODD).await.unwrap(), 3);
    assert_eq!(node.get(ODD, 3).await.unwrap(), "abc");
    server.lines()
}

#[cfg(any(feature = "gcs", feature = "azure"))]
fn object(asked: &Asked) -> (&'static str, String, String) {
    let mut headers = "ETag: \"e\"\nLast-Modified: Mon, 12 Jan 1998 09:25:56 GMT\n".to_owned();
    let (status, body) = match asked.line().split_once(' ').unwrap() {
        ("PUT", _) => ("201 Created", ""),
        ("DELETE", _) => ("202 Accepted", ""),
        _ if asked.header("range").is_some() => {
            headers += "Content-Range: bytes 0-2/3\n";
            ("206 Partial Content", "abc")
        }
        _ => {
            headers += "Content-Length: 3\n";
            ("200 OK", "abc")
        }
    };
    (status, headers, body.to_owned())
}

#[cfg(feature = "gcs")]
#[tokio::test]
async fn names_for_google_are_written_as_they_must_be() {
    let server = Script::new(object).await;
    let settings = [("base_url", &*server.url()), ("allow_http", "true"), ("bearer_token", "token")];
    let node = node("gs://bucket/folder 1", &settings);
    let lines = life(&server, &*node).await;
    let url = "/bucket/folder%201%2Fa%20b%2520%2F%C3%BC%2B%23%3F";
    assert_eq!(lines, ["PUT", "GET", "HEAD", "GET"].map(|method| format!("{method} {url}")));
    assert_eq!(server.asked()[0].header("authorization"), Some("Bearer token"));
    assert_eq!(server.asked()[0].header("x-goog-if-generation-match"), Some("0"));
    let long = "x".repeat(2000);
    assert_eq!(soon(node.length(&long)).await.unwrap_err().kind, Failure::Refused);
}

#[cfg(feature = "azure")]
#[tokio::test]
async fn names_for_azure_are_written_as_they_must_be() {
    let server = Script::new(object).await;
    let settings = [
        ("azure_storage_endpoint", &*server.url()),
        ("allow_http", "true"),
        ("skip_signature", "true"),
        ("account_name", "account"),
    ];
    let node = node("az://container/folder 1", &settings);
    let lines = life(&server, &*node).await;
    let url = "/container/folder%201/a%20b%2520/%C3%BC+%23%3F";
    assert_eq!(lines, ["PUT", "GET", "HEAD", "GET"].map(|method| format!("{method} {url}")));
    assert_eq!(server.asked()[0].header("if-none-match"), Some("*"));
}
