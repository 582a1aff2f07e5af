//! A server that answers each request as a test says, and remembers what was asked.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

#[cfg(feature = "s3")]
use super::peer::soon;

/// A request as it came: its head, and how long its body was.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) head: String,
    pub(super) body: usize,
}

impl Asked {
    pub(super) fn line(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Runs until it is dropped.
pub(super) struct Script {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Script {
    /// Answers with what `answer` gives: status and reason, headers that each end with a line feed, and the body.
    pub(super) async fn new(
        answer: impl Fn(&Asked) -> (&'static str, String, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&asked), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                tokio::spawn(async move {
                    serve(stream, &seen, &*answer).await;
                });
            }
        });
        Self { port, asked, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked.line().to_owned()).collect()
    }

    /// Waits for a request that begins so.
    #[cfg(feature = "s3")]
    pub(super) async fn is_asked(&self, line: &str) {
        soon(async {
            while !self.lines().iter().any(|asked| asked.starts_with(line)) {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        })
        .await;
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One connection. A request with a broken body ends it and is not counted.
async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<Asked>>,
    answer: &(dyn Fn(&Asked) -> (&'static str, String, String) + Send + Sync),
) -> Option<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let mut asked = Asked { head: String::from_utf8(head).ok()?, body: 0 };
        let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        asked.body = length;
        let (status, headers, body) = answer(&asked);
        let looks = asked.line().starts_with("HEAD");
        seen.lock().unwrap().push(asked);
        let length = if headers.contains("Content-Length") {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        let headers = headers.replace('\n', "\r\n");
        let body = if looks { "" } else { &body };
        let said = format!("HTTP/1.1 {status}\r\n{headers}{length}\r\n{body}");
        stream.write_all(said.as_bytes()).await.ok()?;
    }
}
