//! Both ends of a connection in the hands of a test: a server that does nothing by itself, and a read that is watched.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use object_store::http::HttpBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::store::http::{Connector, ConnectorOptions, ObjectNode, quiet};
use crate::store::leg::{Event, Holds};
use crate::store::{CellStore, Failed, Leg, Said};

/// Longer than anything here takes, so that a broken promise fails and does not hang.
const DEADLINE: Duration = Duration::from_secs(10);

pub(super) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("it does not happen")
}

/// A port that is listened on.
pub(super) struct Server {
    pub(super) listener: TcpListener,
}

impl Server {
    pub(super) async fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub(super) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    pub(super) fn node(&self) -> ObjectNode {
        node(&self.url(), Connector::new(ConnectorOptions::default()).unwrap())
    }

    pub(super) async fn accept(&self) -> Peer {
        Peer { stream: soon(self.listener.accept()).await.unwrap().0 }
    }
}

pub(super) fn node(url: &str, connector: Connector) -> ObjectNode {
    let (retry, client) = quiet();
    let store = HttpBuilder::new()
        .with_url(url)
        .with_retry(retry)
        .with_client_options(client)
        .with_http_connector(connector.clone())
        .build()
        .unwrap();
    ObjectNode::new(Arc::new(store), connector, url.to_owned())
}

/// The server's end of one connection.
pub(super) struct Peer {
    stream: TcpStream,
}

impl Peer {
    /// The head of the next request.
    pub(super) async fn request(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(soon(self.stream.read_u8()).await.expect("a whole request"));
        }
        String::from_utf8(head).unwrap()
    }

    /// The next bytes.
    pub(super) async fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        soon(self.stream.read_exact(&mut bytes)).await.expect("so many bytes");
        bytes
    }

    pub(super) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Whether the client took this.
    pub(super) async fn try_say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        soon(self.stream.write_all(bytes.as_ref())).await.is_ok()
    }

    /// A right answer: these bytes of an object that is 20 bytes long.
    pub(super) async fn answer(&mut self, range: Range<usize>) {
        self.say(right_head(&range)).await;
        self.say(&OBJECT[range]).await;
    }

    /// Everything up to the end, which is what is awaited.
    pub(super) async fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is as much of an end as any.
        let _ = soon(self.stream.read_to_end(&mut rest)).await;
        rest
    }

    /// Returns once the client's socket is closed.
    pub(super) async fn gone(self) {
        assert_eq!(self.rest().await, b"", "nothing but the end");
    }
}

pub(super) const OBJECT: &[u8] = b"0123456789abcdefghij";

pub(super) fn right_head(range: &Range<usize>) -> String {
    format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/20\r\nContent-Length: {}\r\n\r\n",
        range.start,
        range.end - 1,
        range.len()
    )
}

/// A read under way, and what is said of it.
pub(super) struct Watched {
    task: JoinHandle<Result<(), Failed>>,
    events: mpsc::UnboundedReceiver<Event>,
    pub(super) bytes: Vec<u8>,
}

impl Watched {
    pub(super) fn start(node: &ObjectNode, range: Range<u64>) -> Self {
        let (say, events) = mpsc::unbounded_channel();
        let (leg, _control) = Leg::new(7, range.end - range.start, say, Holds::default());
        let task = tokio::spawn(node.read("o", range, leg));
        Self { task, events, bytes: Vec::new() }
    }

    /// What is said next; nothing more after "stopped".
    pub(super) async fn next(&mut self) -> Option<&'static str> {
        let event = soon(self.events.recv()).await?;
        Some(match event.said {
            Said::Started => "started",
            Said::Connecting => "connecting",
            Said::Connected => "connected",
            Said::Data(bytes) => {
                self.bytes.extend_from_slice(&bytes);
                "data"
            }
            Said::Stopped => "stopped",
        })
    }

    /// Waits until this is said.
    pub(super) async fn until(&mut self, said: &str) {
        while self.next().await.expect("it is said before the end") != said {}
    }

    /// How the read ended, and all that was said until it had stopped; "data" once, however many pieces came.
    pub(super) async fn end(mut self) -> (Result<(), Failed>, Vec<&'static str>, Vec<u8>) {
        let result = soon(&mut self.task).await.unwrap();
        let mut said = Vec::new();
        while let Some(next) = self.next().await {
            said.push(next);
        }
        said.dedup();
        (result, said, self.bytes)
    }

    /// Drops the future; what is said after that.
    pub(super) async fn drop(mut self) -> Vec<&'static str> {
        self.task.abort();
        let mut said = Vec::new();
        while let Some(next) = self.next().await {
            said.push(next);
        }
        said
    }
}
