//! Against a server that nobody here wrote. `HEDGEROW_NGINX` names the binary; without it these say so and do nothing.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::peer::{Server, Watched, node, soon};
use crate::store::http::{Connector, ConnectorOptions, ObjectNode};
use crate::store::{Failure, read_object};

/// nginx over a temporary folder: as fast as it goes under `/`, and slow under `/slow/`.
struct Nginx {
    child: Child,
    folder: TempDir,
    url: String,
}

impl Nginx {
    async fn start() -> Option<Self> {
        let Some(binary) = std::env::var_os("HEDGEROW_NGINX") else {
            println!("not run: HEDGEROW_NGINX names no nginx");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("files")).unwrap();
        // Free a moment ago, and ours now but for bad luck.
        let port = Server::new().await.port();
        std::fs::write(folder.path().join("nginx.conf"), configuration(folder.path(), port)).unwrap();
        let child = Command::new(PathBuf::from(binary))
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(folder.path().join("nginx.conf"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Self { child, folder, url: format!("http://127.0.0.1:{port}") };
        soon(async {
            while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        Some(nginx)
    }

    /// A node of this server, and the bytes of its object "o".
    fn node(&self, under: &str, length: usize) -> (ObjectNode, Vec<u8>) {
        let bytes: Vec<u8> = (0..length).map(|at| (at / 3 + at / 251) as u8).collect();
        std::fs::write(self.folder.path().join("files/o"), &bytes).unwrap();
        let connector = Connector::new(ConnectorOptions::default()).unwrap();
        (node(&format!("{}{under}", self.url), connector), bytes)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "daemon off;
        master_process off;
        pid {folder}/pid;
        error_log {folder}/error.log;
        events {{}}
        http {{
            access_log off;
            client_body_temp_path {folder}/body;
            proxy_temp_path {folder}/proxy;
            fastcgi_temp_path {folder}/fastcgi;
            uwsgi_temp_path {folder}/uwsgi;
            scgi_temp_path {folder}/scgi;
            server {{
                listen 127.0.0.1:{port};
                root {folder}/files;
                location /slow/ {{
                    alias {folder}/files/;
                    limit_rate 64k;
                }}
            }}
        }}"
    )
}

#[tokio::test]
async fn ranges_of_a_file_are_read_over_one_connection() {
    let Some(nginx) = Nginx::start().await else { return };
    let (node, bytes) = nginx.node("", 1 << 20);
    for (start, end) in
        [(0, 1), (0, 65_536), (65_535, 65_537), (1, 1 << 20), ((1 << 20) - 1, 1 << 20), (0, 1 << 20)]
    {
        let (result, said, read) = Watched::start(&node, start as u64..end as u64).end().await;
        result.unwrap();
        assert!(read == bytes[start..end], "{start}..{end}");
        assert_eq!(said.contains(&"connecting"), (start, end) == (0, 1), "{start}..{end}: {said:?}");
    }
    assert_eq!(node.connector.idle(), 1);
}

#[tokio::test]
async fn what_is_not_there_is_missing_or_too_short() {
    let Some(nginx) = Nginx::start().await else { return };
    let (node, _) = nginx.node("", 100);
    assert_eq!(read_object(&node, "other", 0..10).await.unwrap_err().kind, Failure::Missing);
    assert_eq!(read_object(&node, "o", 90..110).await.unwrap_err().kind, Failure::TooShort);
    assert_eq!(read_object(&node, "o", 100..110).await.unwrap_err().kind, Failure::TooShort);
    assert_eq!(read_object(&node, "o", 0..110).await.unwrap_err().kind, Failure::TooShort);
}

#[tokio::test]
async fn a_slow_read_is_dropped_in_the_middle_and_the_next_one_gets_its_own_bytes() {
    let Some(nginx) = Nginx::start().await else { return };
    // Ten seconds' worth, of which the first second's comes at once.
    let (node, bytes) = nginx.node("/slow", 640 << 10);
    let mut slow = Watched::start(&node, 0..640 << 10);
    slow.until("data").await;
    assert!(bytes.starts_with(&slow.bytes));
    assert_eq!(slow.drop().await.last(), Some(&"stopped"));
    assert_eq!(node.connector.idle(), 0);
    let read = read_object(&node, "o", 1000..2000).await.unwrap();
    assert_eq!(read, bytes[1000..2000]);
}
