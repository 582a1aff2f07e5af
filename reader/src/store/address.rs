//! The address of a node: a folder, an HTTP server, or a bucket, with what it says of secrets kept to itself.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a node is.
///
/// | written | means |
/// |---|---|
/// | `/data/1`, `data/1`, `file:///data/1` | a folder |
/// | `http://host:port/prefix`, `https://…` | a server of plain HTTP; below `prefix`, if there is one |
/// | `s3://bucket/prefix` | a bucket of S3, or of another store that speaks its protocol |
/// | `gs://bucket/prefix` | a bucket of Google Cloud Storage |
/// | `az://container/prefix` | a container of Azure Blob Storage |
///
/// Paths of `file:` and `http:` are percent-encoded, those of buckets are as they are. A user and a password in front of
/// an HTTP host are used, and never shown: not by `Display`, not by `Debug`, not in errors.
///
/// ```
/// use hedgerow_reader::Address;
///
/// let address: Address = "https://reader:secret@node-4:8443/cold".parse()?;
/// assert_eq!(address.to_string(), "https://node-4:8443/cold");
/// assert_eq!(address.label(), "node-4:8443");
/// # Ok::<(), hedgerow_reader::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address(Place);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Folder(PathBuf),
    Server(Server),
    Bucket(Bucket),
}

/// An HTTP server, and the folder on it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    pub(crate) tls: bool,
    /// The host, and the port if one was given.
    pub(crate) authority: String,
    /// Names joined by slashes, not encoded.
    pub(crate) prefix: String,
    /// The user and the password.
    pub(crate) user: Option<(String, String)>,
}

/// A bucket, and the folder in it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    pub(crate) cloud: Cloud,
    pub(crate) name: String,
    /// Names joined by slashes.
    pub(crate) prefix: String,
}

/// Who keeps a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cloud {
    S3,
    Gcs,
    Azure,
}

impl Cloud {
    pub(crate) const fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
        }
    }

    /// The feature of this crate that it needs.
    #[cfg(not(all(feature = "s3", feature = "gcs", feature = "azure")))]
    pub(crate) const fn feature(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gcs",
            Self::Azure => "azure",
        }
    }
}

impl Address {
    /// The address of a folder, whatever its name looks like.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        // Slashes in a row count as one, and must not make the path look like a URL.
        let url = path.to_string_lossy().contains("://");
        Self(Place::Folder(if url { path.components().collect() } else { path }))
    }

    /// What to call the node where nobody has named it: the host with its port, the bucket, or the last name of the folder.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.0 {
            Place::Folder(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().into_owned()
            }
            Place::Server(server) => server.authority.clone(),
            Place::Bucket(bucket) => bucket.name.clone(),
        }
    }

    /// Whether bytes to and from this node travel over a network.
    #[must_use]
    pub const fn is_remote(&self) -> bool {
        !matches!(self.0, Place::Folder(_))
    }

    pub(crate) const fn place(&self) -> &Place {
        &self.0
    }
}

/// Reads an address as it is written in a command.
impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |reason| AddressError::Malformed { address: shown(text), reason };
        if text.is_empty() {
            return Err(wrong("it is empty"));
        }
        if text.contains('\0') {
            return Err(wrong("it has a zero byte in it"));
        }
        let scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let (scheme, rest) = match text.split_once("://") {
            Some((before, rest)) if before.chars().all(scheme) => (before, rest),
            // As a folder it would have the URL, password and all, for its name.
            Some((before, _)) => {
                return Err(AddressError::Malformed { address: cut(before), reason: NO_SCHEME });
            }
            None => return Ok(Self::folder(text)),
        };
        let place = match &*scheme.to_ascii_lowercase() {
            "file" => folder(rest).map(|path| Self::folder(path).0),
            "http" => server(rest, false).map(Place::Server),
            "https" => server(rest, true).map(Place::Server),
            "s3" => bucket(rest, Cloud::S3).map(Place::Bucket),
            "gs" => bucket(rest, Cloud::Gcs).map(Place::Bucket),
            "az" => bucket(rest, Cloud::Azure).map(Place::Bucket),
            _ => return Err(AddressError::Scheme { scheme: scheme.to_owned() }),
        };
        place.map(Self).map_err(wrong)
    }
}

/// The address without user and password, in a form that can be parsed again.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, prefix) = match &self.0 {
            Place::Folder(path) => return path.display().fmt(f),
            Place::Server(server) => (server.root(), encoded(&server.prefix)),
            Place::Bucket(bucket) => {
                (format!("{}://{}", bucket.cloud.scheme(), bucket.name), bucket.prefix.clone())
            }
        };
        f.write_str(&before)?;
        if prefix.is_empty() { Ok(()) } else { write!(f, "/{prefix}") }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl Server {
    /// The server itself: scheme, host and port.
    pub(crate) fn root(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

fn folder(rest: &str) -> Result<PathBuf, &'static str> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err("a folder of another machine can't be read; file:///folder has three slashes");
    }
    let path = decoded(path).ok_or(BAD_ESCAPE)?;
    if path.contains('\0') {
        return Err("it has a zero byte in it");
    }
    Ok(Path::new(&path).to_path_buf())
}

fn server(rest: &str, tls: bool) -> Result<Server, &'static str> {
    // The first of these ends the authority; an at sign after it belongs to the path.
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if path.contains(['?', '#']) {
        return Err("a query or a fragment can't be part of it; write ? as %3F and # as %23");
    }
    let (user, authority) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    check_authority(authority)?;
    let user = user.map(|user| {
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        Some((decoded(user)?, decoded(password)?))
    });
    let user = match user {
        Some(user) => Some(user.ok_or(BAD_ESCAPE)?),
        None => None,
    };
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let name = decoded(name).ok_or(BAD_ESCAPE)?;
        if name.contains('/') {
            return Err("a slash in a name (%2F) can't be told from one between names");
        }
        names.push(name);
    }
    let prefix = names.join("/");
    check_prefix(&prefix)?;
    Ok(Server { tls, authority: authority.to_ascii_lowercase(), prefix, user })
}

fn bucket(rest: &str, cloud: Cloud) -> Result<Bucket, &'static str> {
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$');
    if name.is_empty() {
        return Err("there is no bucket in it");
    }
    if !name.chars().all(legal) || name.chars().all(|c| c == '.') {
        return Err("the name of its bucket has letters, digits, dots, hyphens and underscores only");
    }
    let names: Vec<_> = path.split('/').filter(|name| !name.is_empty()).collect();
    let prefix = names.join("/");
    check_prefix(&prefix)?;
    Ok(Bucket { cloud, name: name.to_owned(), prefix })
}

const NO_SCHEME: &str =
    "what stands before :// is no scheme; a folder with such a name is written as file:///, its colon as %3A";
const BAD_ESCAPE: &str = "a percent sign in it is not followed by two hexadecimal digits that make UTF-8";

fn check_authority(authority: &str) -> Result<(), &'static str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(literal) => {
            let (host, after) = literal.split_once(']').ok_or("a bracket is not closed")?;
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err("what stands in brackets is no IPv6 address");
            }
            let port = match after {
                "" => None,
                after => Some(after.strip_prefix(':').ok_or("after the bracket only a port may follow")?),
            };
            (host, port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err("there is no host in it");
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if !host.chars().all(legal) {
        return Err("its host has letters, digits, dots, hyphens and underscores only");
    }
    match port {
        // Digits only: a sign in front would be parsed too.
        Some(port) if !port.bytes().all(|b| b.is_ascii_digit()) || port.parse::<u16>().is_err() => {
            Err("its port is not a number from 0 to 65535")
        }
        _ => Ok(()),
    }
}

fn check_prefix(prefix: &str) -> Result<(), &'static str> {
    if prefix.split('/').any(|name| matches!(name, "." | "..")) {
        return Err("its path has . or .. in it");
    }
    if prefix.chars().any(|c| c.is_ascii_control()) {
        return Err("its path has a control character in it");
    }
    Ok(())
}

/// As much of a malformed address as may be shown: where its secrets end can't be known.
fn shown(text: &str) -> String {
    match text.split_once("://") {
        Some((before, rest)) if rest.contains(['@', '?', '#']) => cut(before),
        _ => text.to_owned(),
    }
}

/// What stands before `://`, and nothing of what follows.
fn cut(before: &str) -> String {
    if before.contains('@') { "…://…".to_owned() } else { format!("{before}://…") }
}

/// Undoes percent-encoding; `None` where it is broken, or the result is not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Percent-encodes all but the unreserved characters of RFC 3986 and slashes.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Why an address, or what was given with it, leads to no node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AddressError {
    /// It can't be understood.
    Malformed {
        /// The address, cut short where it may hold secrets.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It begins with a scheme that nobody here knows.
    Scheme {
        /// What stands before `://`.
        scheme: String,
    },
    /// It needs a feature that this build lacks.
    Feature {
        /// The address.
        address: String,
        /// The feature of `hedgerow-reader`.
        feature: &'static str,
    },
    /// One of the options is wrong, or is not for this node.
    Option {
        /// The address.
        address: String,
        /// The option; never its value.
        option: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate or a key could not be read.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The node could not be set up.
    Node {
        /// The address.
        address: String,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { address, reason } => write!(f, "the address {address:?} is wrong: {reason}"),
            Self::Scheme { scheme } => write!(
                f,
                "an address beginning with {scheme}:// is not known: there are file, http, https, s3, gs and az"
            ),
            Self::Feature { address, feature } => {
                write!(
                    f,
                    "{address} needs the feature {feature:?} of hedgerow-reader, which this build lacks"
                )
            }
            Self::Option { address, option, reason } => {
                write!(f, "the option {option} for {address} is wrong: {reason}")
            }
            Self::File { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Node { address, reason } => write!(f, "{address} can't be used: {reason}"),
        }
    }
}

impl Error for AddressError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Address {
        text.parse().expect(text)
    }

    #[test]
    fn every_form_of_address_is_understood_and_said_again() {
        let rows = [
            ("/data/1", "/data/1", "1"),
            ("data/1/", "data/1/", "1"),
            (".", ".", "."),
            ("/", "/", "/"),
            ("C:\\data", "C:\\data", "C:\\data"),
            ("file:///data/a%20b", "/data/a b", "a b"),
            #[cfg(unix)]
            ("file:///data/a%3A//b", "/data/a:/b", "b"),
            ("file://localhost/data", "/data", "data"),
            ("http://host", "http://host", "host"),
            ("http://HOST:8080/", "http://host:8080", "host:8080"),
            ("HTTPS://host//a%20b/c+d/", "https://host/a%20b/c%2Bd", "host"),
            ("http://[::1]:9000/x", "http://[::1]:9000/x", "[::1]:9000"),
            ("http://user:pass@host/x", "http://host/x", "host"),
            ("http://u@v:p@host/x@y", "http://host/x%40y", "host"),
            ("s3://bucket", "s3://bucket", "bucket"),
            ("s3://bucket/a b/c%20d?e", "s3://bucket/a b/c%20d?e", "bucket"),
            ("gs://bucket/x/", "gs://bucket/x", "bucket"),
            ("az://container/x", "az://container/x", "container"),
        ];
        for (text, shown, label) in rows {
            let address = parsed(text);
            assert_eq!(address.to_string(), shown, "{text}");
            assert_eq!(address.label(), label, "{text}");
            assert_eq!(parsed(shown).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn user_and_password_are_decoded_for_use() {
        let address = parsed("https://a%40b:p%3Aw%2F@host/x");
        let Place::Server(server) = address.place() else { panic!("{address}") };
        assert_eq!(server.user, Some(("a@b".to_owned(), "p:w/".to_owned())));
    }

    #[test]
    fn a_wrong_address_is_refused_with_its_reason() {
        let rows = [
            ("", "empty"),
            ("ftp://host", "ftp"),
            ("://host", "not known"),
            ("/data/a://b", "no scheme"),
            ("host1:8080=http://host1:8080/x", "no scheme"),
            ("file://other/x", "another machine"),
            ("file:///a%2", "percent"),
            ("file:///a%00", "zero byte"),
            ("a\0b", "zero byte"),
            ("http://", "no host"),
            ("http:///x", "no host"),
            ("http://:80", "no host"),
            ("http://host:port", "port"),
            ("http://host:65536", "port"),
            ("http://host:+80", "port"),
            ("http://host:", "port"),
            ("http://[::1", "bracket"),
            ("http://[nine]", "IPv6"),
            ("http://[::1]80", "bracket"),
            ("http://ho st/", "letters"),
            ("http://höst/", "letters"),
            ("http://host?x", "query"),
            ("http://host/x#y", "fragment"),
            ("http://host/%zz", "percent"),
            ("http://host/%ff", "percent"),
            ("http://host/a%2Fb", "slash"),
            ("http://host/a/../b", ".."),
            ("http://host/%2e%2e", ".."),
            ("http://host/a%0Ab", "control"),
            ("http://%zz@host/", "percent"),
            ("s3://", "bucket"),
            ("s3:///x", "bucket"),
            ("s3://../x", "bucket"),
            ("s3://buck et/x", "bucket"),
            ("s3://bucket/./x", ". or .."),
        ];
        for (text, reason) in rows {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn no_error_of_an_address_shows_its_user_or_password() {
        let wrong = [
            "http://zaphod:hunter2@host:port/",
            "http://zaphod:hunter2@/x",
            "http://zaphod:hun/hunter2@host/x",
            "http://zaphod:hun?hunter2@host/x",
            "http://zaphod:hun#hunter2@host/x",
            "http://zaphod:hunter2@host/%zz",
            "http://zaphod:hunter2%zz@host/",
            "https://host/x?token=hunter2",
            "ftp://zaphod:hunter2@host/",
            "s3://zaphod:hunter2@bucket/",
            "file://zaphod:hunter2@host/",
            "host1:8080=http://zaphod:hunter2@host1:8080/x",
            "rack 1 = https://zaphod:hunter2@host/x",
            "/rack/1=https://host/hunter2",
            "x=http:/zaphod:hunter2@host/x://y",
        ];
        for text in wrong {
            let error = text.parse::<Address>().expect_err(text);
            let said = format!("{error} {error:?}");
            assert!(!said.contains("hunter2") && !said.contains("zaphod"), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_and_what_is_parsed_is_said_so_that_it_can_be_parsed(text in "\\PC{0,40}") {
            for text in [text.clone(), format!("http://{text}"), format!("s3://b/{text}"), format!("http://h/{text}")] {
                if let Ok(address) = text.parse::<Address>() {
                    let said = address.to_string();
                    prop_assert_eq!(parsed(&said).to_string(), said);
                }
            }
        }

        #[test]
        fn encoding_and_decoding_give_the_text_back(text in any::<String>()) {
            prop_assert_eq!(decoded(&encoded(&text)), Some(text));
        }
    }
}
