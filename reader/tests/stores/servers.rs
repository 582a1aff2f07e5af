//! Servers that nobody here wrote, one for each test: nginx with WebDAV, and s3s-fs, which speaks the protocol of S3.
//! `HEDGEROW_NGINX` and `HEDGEROW_S3S` name their binaries; a test whose server is not there says so and does nothing.
//! `.ci/servers` runs them all.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use hedgerow_reader::{NodeOptions, connect};
use tempfile::TempDir;

use crate::suite::{Able, Made};

/// A process, and the folder that it serves. Both are gone afterwards.
struct Server {
    process: Child,
    _folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn binary(variable: &str) -> Option<std::ffi::OsString> {
    let found = std::env::var_os(variable).filter(|binary| !binary.is_empty());
    if found.is_none() {
        println!("not run: {variable} names no server");
    }
    found
}

/// Asks until there is an answer.
fn wait<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "{what} does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server of plain HTTP that ignores `If-None-Match`, and a folder on it whose name needs escapes.
pub(crate) async fn nginx() -> Option<Made> {
    let binary = binary("HEDGEROW_NGINX")?;
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let (config, log) = (folder.path().join("config"), folder.path().join("log"));
    std::fs::create_dir(folder.path().join("files")).unwrap();
    std::fs::write(&config, nginx_config(folder.path(), free)).unwrap();
    let process = Command::new(&binary)
        .args(["-e", "stderr", "-c"])
        .arg(&config)
        .stderr(File::create(log).unwrap())
        .spawn()
        .unwrap();
    let server = Server { process, _folder: folder };
    wait("nginx", || TcpStream::connect(free).ok());
    let address = format!("http://{free}/node%201/%C3%BC%25+");
    let store = connect(&address.parse().unwrap(), &NodeOptions::default()).unwrap();
    Some(Made::of(store, Able { create_only: false, list_dots: false, ..Able::ALL }, server))
}

fn nginx_config(folder: &Path, address: SocketAddr) -> String {
    let folder = folder.display();
    // Debian's place of modules; elsewhere the variable says.
    let modules = std::env::var("HEDGEROW_NGINX_MODULES").unwrap_or("/usr/lib/nginx/modules".to_owned());
    format!(
        "load_module {modules}/ngx_http_dav_ext_module.so;
        daemon off;
        master_process off;
        pid {folder}/pid;
        error_log stderr;
        events {{}}
        http {{
            access_log off;
            client_body_temp_path {folder}/bodies;
            proxy_temp_path {folder}/proxy;
            fastcgi_temp_path {folder}/fastcgi;
            uwsgi_temp_path {folder}/uwsgi;
            scgi_temp_path {folder}/scgi;
            client_max_body_size 0;
            server {{
                listen {address};
                root {folder}/files;
                dav_methods PUT DELETE;
                dav_ext_methods PROPFIND;
                create_full_put_path on;
            }}
        }}"
    )
}

/// A bucket of a server that speaks the protocol of S3, and a folder in it.
#[cfg(feature = "s3")]
pub(crate) async fn s3s() -> Option<Made> {
    let binary = binary("HEDGEROW_S3S")?;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("root/bucket")).unwrap();
    let log = folder.path().join("log");
    let process = Command::new(&binary)
        .args([
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--access-key",
            "hedgerow",
            "--secret-key",
            "a secret of tests",
        ])
        .arg(folder.path().join("root"))
        .env("RUST_LOG", "s3s_fs=info")
        .stdout(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let server = Server { process, _folder: folder };
    let url = wait("s3s-fs", || {
        let said = std::fs::read_to_string(&log).ok()?;
        let url = said.split_whitespace().find(|word| word.starts_with("http://"))?;
        said.contains(&format!("{url}\n")).then(|| url.to_owned())
    });
    let mut options = NodeOptions::default();
    let settings = [
        ("endpoint", &*url),
        ("allow_http", "true"),
        ("region", "us-east-1"),
        ("access_key_id", "hedgerow"),
        ("secret_access_key", "a secret of tests"),
    ];
    options.settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    options.environment = false;
    let store = connect(&"s3://bucket/node 1".parse().unwrap(), &options).unwrap();
    Some(Made::of(store, Able { miss_deletes: false, ..Able::ALL }, server))
}
