//! A client that hides nothing: it writes what it is told, and tells what came, whole or not.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Nothing takes that long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Connection(BufReader<TcpStream>);

#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    /// Whether the body was as long as announced.
    pub(crate) whole: bool,
}

impl Head {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| &value[..])
    }

    pub(crate) fn length(&self) -> Option<usize> {
        self.get("content-length").and_then(|length| length.parse().ok())
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Connection {
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        Ok(Self(BufReader::new(soon(TcpStream::connect(address)).await?)))
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        soon(self.0.get_mut().write_all(bytes.as_ref())).await
    }

    /// Sends a request without a body: its first line and headers, each line without its end.
    pub(crate) async fn request(&mut self, request: &str) -> io::Result<()> {
        let mut lines = request.lines();
        let first = lines.next().unwrap_or_default();
        let mut head = format!("{first} HTTP/1.1\r\nHost: test\r\n");
        for line in lines {
            head += &format!("{}\r\n", line.trim());
        }
        self.send(head + "\r\n").await
    }

    pub(crate) async fn ask(&mut self, request: &str) -> io::Result<Answer> {
        self.request(request).await?;
        let head = self.head().await?;
        let without_body = request.starts_with("HEAD") || head.status == 204 || head.status == 304;
        let (body, whole) = if without_body { (Vec::new(), true) } else { self.body(&head).await };
        Ok(Answer { head, body, whole })
    }

    pub(crate) async fn head(&mut self) -> io::Result<Head> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status =
            status.ok_or_else(|| io::Error::other(format!("an answer that begins with {first:?}")))?;
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        Ok(Head { status, headers })
    }

    /// The body as far as it comes, and whether that was all.
    async fn body(&mut self, head: &Head) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        if let Some(length) = head.length() {
            let mut rest = (&mut self.0).take(length as u64);
            let _cut = soon(rest.read_to_end(&mut body)).await;
            return (body.clone(), body.len() == length);
        }
        assert_eq!(head.get("transfer-encoding"), Some("chunked"));
        loop {
            let Ok(line) = self.line().await else { return (body, false) };
            let length = u64::from_str_radix(&line, 16).expect("a chunk's length");
            let mut rest = (&mut self.0).take(length);
            let whole = soon(rest.read_to_end(&mut body)).await.is_ok_and(|read| read as u64 == length);
            if !whole || self.line().await.is_err() {
                return (body, false);
            }
            if length == 0 {
                return (body, true);
            }
        }
    }

    /// Exactly so many bytes of the body.
    pub(crate) async fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        soon(self.0.read_exact(&mut bytes)).await.expect("so many bytes");
        bytes
    }

    /// Whether nothing comes for a while, not even the end.
    pub(crate) async fn is_silent(&mut self) -> bool {
        timeout(Duration::from_millis(200), self.0.fill_buf()).await.is_err()
    }

    /// Whether the other side closes without a further byte, soon.
    pub(crate) async fn is_closed(&mut self) -> bool {
        match timeout(PATIENCE, self.0.fill_buf()).await {
            Ok(Ok(bytes)) => bytes.is_empty(),
            // Closed while bytes of ours lay there unread.
            Ok(Err(_)) => true,
            Err(_) => false,
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if soon(self.0.read_line(&mut line)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// An error if it takes too long.
async fn soon<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(PATIENCE, work).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}
