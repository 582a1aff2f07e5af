//! Where secrets go, and where they don't.

use std::fmt::Write;

use super::script::Script;
use crate::store::{Existing, Failed, NodeOptions, NodeStore, connect, read_object};

const SECRETS: [&str; 8] = [
    "hunter2",
    "the-bearer",
    "the-header",
    "the-access-key",
    "the-secret-key",
    "the-session-token",
    // The user's name and password as they go over the wire: zaphod:hunter2.
    "emFwaG9kOmh1bnRlcjI=",
    "zaphod",
];

fn options(change: impl FnOnce(&mut NodeOptions)) -> NodeOptions {
    let mut options = NodeOptions { environment: false, ..NodeOptions::default() };
    change(&mut options);
    options
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Everything that a node says about failures of all its operations, in every way in which it can be printed.
async fn failures(node: &dyn NodeStore) -> String {
    let body = crate::store::body_of(bytes::Bytes::from_static(b"x"));
    let failed: [Option<Failed>; 6] = [
        read_object(node, "object", 0..10).await.err(),
        node.get("object", 10).await.err(),
        node.length("object").await.err(),
        node.put("object", Existing::Replace, Some(1), body).await.err(),
        node.delete("object").await.err(),
        node.list("").await.err(),
    ];
    let mut said = node.address().to_owned();
    for failed in failed {
        let failed = failed.expect("this server fails at everything");
        write!(said, "\n{failed} {failed:?} {failed:#?}").unwrap();
    }
    said
}

fn assert_discreet(said: &str) {
    for secret in SECRETS {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
}

/// A server that fails at everything and repeats what it was asked, wherever it can.
async fn echo() -> Script {
    Script::new(|asked| {
        let all = asked.head.replace("\r\n", " ");
        let headers = format!("Content-Range: {all}\nLocation: {all}\nX-Echo: {all}\n");
        let body = format!("<Error><Code>AccessDenied</Code><Message>{all}</Message></Error>");
        let status = if asked.header("range").is_some() { "206 Partial Content" } else { "403 Forbidden" };
        (status, headers, body)
    })
    .await
}

#[tokio::test]
async fn a_server_that_repeats_what_it_was_told_gets_no_secret_into_a_message() {
    let server = echo().await;
    let with_password = format!("http://zaphod:hunter2@127.0.0.1:{}/x", server.port);
    let none = options(|_| {});
    let bearer = options(|options| {
        options.bearer = Some("the-bearer".to_owned());
        options.headers = pairs(&[("X-Key", "the-header")]);
    });
    let s3 = options(|options| {
        options.settings = pairs(&[
            ("access_key_id", "the-access-key"),
            ("secret_access_key", "the-secret-key"),
            ("session_token", "the-session-token"),
            ("endpoint", &server.url()),
            ("allow_http", "true"),
        ]);
        options.headers = pairs(&[("X-Key", "the-header")]);
    });
    for (address, options) in
        [(&*with_password, &none), (&format!("{}/x", server.url()), &bearer), ("s3://bucket/x", &s3)]
    {
        if cfg!(not(feature = "s3")) && address.starts_with("s3") {
            continue;
        }
        let address = address.parse().unwrap();
        let before = server.asked().len();
        let node = connect(&address, options).unwrap();
        assert_discreet(&failures(&*node).await);
        assert_discreet(&format!("{address} {address:?} {options:?}"));
        // The secrets were told to the server itself.
        for asked in &server.asked()[before..] {
            assert!(asked.header("authorization").is_some(), "{}", asked.head);
            assert_eq!(asked.header("x-key").is_some(), !options.headers.is_empty(), "{}", asked.head);
        }
    }
}

#[tokio::test]
async fn credentials_go_to_their_own_node_alone() {
    let (one, two) = (echo().await, echo().await);
    let first = format!("http://zaphod:hunter2@127.0.0.1:{}", one.port).parse().unwrap();
    let first = connect(&first, &options(|_| {})).unwrap();
    let second = options(|options| options.bearer = Some("the-bearer".to_owned()));
    let second = connect(&two.url().parse().unwrap(), &second).unwrap();
    failures(&*first).await;
    failures(&*second).await;
    assert!(one.asked().len() >= 6 && two.asked().len() >= 6);
    for asked in one.asked() {
        assert_eq!(asked.header("authorization"), Some("Basic emFwaG9kOmh1bnRlcjI="), "{}", asked.head);
    }
    for asked in two.asked() {
        assert_eq!(asked.header("authorization"), Some("Bearer the-bearer"), "{}", asked.head);
    }
}

#[test]
fn a_refused_option_is_named_and_its_value_is_not() {
    let set = |name: &'static str, value: &'static str| {
        options(|options| options.settings = pairs(&[(name, value)]))
    };
    let header = |name: &'static str, value: &'static str| {
        options(|options| options.headers = pairs(&[(name, value)]))
    };
    let (http, s3) = ("http://zaphod:hunter2@host", "s3://bucket");
    for (address, options, named) in [
        (http, header("x y", "the-header"), "header"),
        (http, header("x-key", "the-header\n"), "x-key"),
        (http, header("Host", "the-header"), "Host"),
        (http, header("Transfer-Encoding", "the-header"), "Transfer-Encoding"),
        (http, header("Authorization", "the-header"), "authorization"),
        (http, options(|options| options.bearer = Some("the-bearer".to_owned())), "bearer"),
        ("http://host", options(|options| options.bearer = Some("the-bearer\n".to_owned())), "bearer"),
        ("http://zaph%3Aod:hunter2@host", options(|_| {}), "basic"),
        (s3, options(|options| options.bearer = Some("the-bearer".to_owned())), "bearer"),
        (s3, header("x-key", "the-header"), "header"),
        (s3, header("Authorization", "the-header"), "authorization"),
        (s3, set("acess_key_id", "the-access-key"), "acess_key_id"),
        (s3, set("access_key_id", "the-access-key\r\n"), "access_key_id"),
        (s3, set("access_key_id", ""), "access_key_id"),
        (s3, set("session_token", "the-session-token é"), "session_token"),
        (s3, set("region", "the-secret-key/"), "region"),
        (s3, set("endpoint", "http://zaphod:hunter2@host"), "endpoint"),
        (s3, set("endpoint", "http://host"), "allow_http"),
        (s3, set("endpoint", "https://ho st"), "endpoint"),
        (s3, set("endpoint", "hunter2"), "endpoint"),
        (s3, set("endpoint", "ftp://hunter2"), "endpoint"),
        (s3, set("endpoint_url_sts", "https://hun ter2"), "endpoint_url_sts"),
        (s3, set("container_credentials_relative_uri", "/hun ter2"), "container_credentials_relative_uri"),
        (s3, set("bucket", "hunter2"), "bucket"),
        (s3, set("proxy_url", "http://zaphod:hunter2@host"), "proxy_url"),
        (s3, set("allow_invalid_certificates", "true"), "allow_invalid_certificates"),
        (s3, set("allow_http", "hunter2"), "allow_http"),
        (s3, set("access_key_id", "the-access-key"), "s3://bucket"),
        (s3, set("virtual_hosted_style_request", "hunter2 perhaps"), "s3://bucket"),
    ] {
        if cfg!(not(feature = "s3")) && address == s3 {
            continue;
        }
        let error = connect(&address.parse().unwrap(), &options).map(|_| ()).expect_err(named);
        let said = format!("{error} {error:?}");
        assert!(said.contains(named), "{named}: {said}");
        assert_discreet(&said);
    }
}

#[test]
fn options_for_another_cloud_do_not_count() {
    let options = options(|options| {
        options.settings = pairs(&[("azure_storage_account_key", "x"), ("google_service_account", "y")]);
        options.settings.extend(pairs(&[("aws_access_key_id", "a"), ("AWS_SECRET_ACCESS_KEY", "b")]));
    });
    let node = connect(&"s3://bucket/x".parse().unwrap(), &options);
    assert_eq!(node.is_ok(), cfg!(feature = "s3"));
    assert!(connect(&"/folder".parse().unwrap(), &options).is_ok());
    assert!(connect(&"http://host".parse().unwrap(), &options).is_ok());
}

#[test]
fn a_file_of_certificates_that_is_not_there_is_named() {
    let options = options(|options| options.roots = Some("/nowhere/roots.pem".into()));
    let error = connect(&"https://host".parse().unwrap(), &options).map(|_| ()).unwrap_err();
    let named = if cfg!(feature = "tls") { "/nowhere/roots.pem" } else { "tls" };
    assert!(error.to_string().contains(named), "{error}");
}
