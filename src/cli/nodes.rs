//! Which nodes a command works on, what each is called, and what is needed to get in.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use hedgerow::reader::{Address, AddressError, Node, NodeOptions, connect};

use super::exit::{Exit, Stop};
use super::failure;

#[derive(Args, Debug)]
#[command(next_help_heading = "Nodes")]
pub(crate) struct NodeArgs {
    /// A node: a folder, or http://, https://, s3://, gs:// or az:// and what follows; once for each. What stands before a `=` is its
    /// label, by which messages and manifests know it
    #[arg(long, value_name = "[LABEL=]NODE")]
    node: Vec<Words>,
    /// A file that lists nodes, one a line, as --node takes them; indented lines below a node are its options; # begins a remark
    #[arg(long, value_name = "FILE", env = "HEDGEROW_NODES_FILE")]
    nodes_file: Option<PathBuf>,
    /// An option of the node LABEL, or of all for `*`; once for each. A VALUE of env:NAME is taken from the environment, one of
    /// file:PATH from a file, and is not seen in the list of processes
    #[arg(long, value_name = "LABEL:KEY=VALUE", long_help = OPTIONS)]
    node_option: Vec<Words>,
}

const OPTIONS: &str = "\
An option of the node LABEL, or of all for `*`; once for each. A VALUE of env:NAME is taken from the environment, one of file:PATH \
from a file: so secrets are not seen in the list of processes, and none is ever printed.

  token                 the token of Authorization: Bearer
  user, password        those of Authorization: Basic
  header.NAME           a header that goes with every request to the node
  roots                 a file of PEM certificates to trust besides those of the system
  certificate, key      files of the PEM certificate that this side shows, and of its key
  environment           false: variables such as AWS_ACCESS_KEY_ID don't count for this node

Buckets have more, by the names that object_store gives them: access_key_id, secret_access_key, region, endpoint, allow_http ...

In a nodes file, the options of a node stand indented below it, and begin with # where they are remarks:

  n1 = https://host1:8443/cells
      roots = ca.pem
      token = env:HEDGEROW_TOKEN
  n2 = s3://bucket/cells
      region = eu-central-1";

/// Words that may hold a secret, so that nothing prints them.
#[derive(Clone)]
struct Words(String);

impl From<String> for Words {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("...")
    }
}

/// A node as it was given.
struct Given {
    label: Option<String>,
    address: Address,
    options: Vec<Setting>,
}

/// An option as it was given.
struct Setting {
    key: String,
    value: String,
}

impl NodeArgs {
    /// The nodes, ready for use; nothing is sent to them yet.
    pub(crate) fn connect(&self) -> Result<Vec<Node>, Stop> {
        let mut given = match &self.nodes_file {
            Some(file) => listed(file)?,
            None => Vec::new(),
        };
        for words in &self.node {
            given.push(Given::parse(&words.0).map_err(|why| Stop::usage(format!("--node: {why}")))?);
        }
        if given.is_empty() {
            return Err(Stop::usage("no nodes: give --node for each, or --nodes-file"));
        }
        let labels = labels(&given)?;
        for words in &self.node_option {
            self.option(&words.0, &labels, &mut given)
                .map_err(|why| Stop::usage(format!("--node-option: {why}")))?;
        }
        given.iter().zip(labels).map(|(given, label)| given.connect(label)).collect()
    }

    fn option(&self, words: &str, labels: &[String], given: &mut [Given]) -> Result<(), String> {
        // A label may have a colon, a key has none.
        let (before, value) = words.split_once('=').ok_or("LABEL:KEY=VALUE is wanted")?;
        let (label, key) = before.rsplit_once(':').ok_or("LABEL:KEY=VALUE is wanted")?;
        let mut found = false;
        for (given, own) in given.iter_mut().zip(labels) {
            if label == "*" || label == own {
                given.options.push(Setting::new(key, value)?);
                found = true;
            }
        }
        if found {
            Ok(())
        } else {
            Err(format!("no node is called `{label}`: there are {}", labels.join(", ")))
        }
    }
}

impl Given {
    fn parse(text: &str) -> Result<Self, String> {
        // As much as HOST:PORT needs, and [ADDRESS]:PORT.
        let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '[' | ']');
        let plain = |label: &str| !label.is_empty() && label.chars().all(legal);
        let (label, address) = match text.split_once('=') {
            Some((label, address)) if plain(label.trim()) => (Some(label.trim().to_owned()), address.trim()),
            _ => (None, text.trim()),
        };
        let mut address: Address =
            address.parse().map_err(|error: AddressError| match text.split_once("://") {
                Some((before, _)) if label.is_none() && before.contains('=') => {
                    format!("{error}; a label has letters, digits and - _ . : [ ] only")
                }
                _ => error.to_string(),
            })?;
        // A file remembers where its nodes were, and the same folder is to be known again from anywhere.
        if !address.is_remote() {
            let path =
                std::path::absolute(address.to_string()).map_err(|error| format!("{address}: {error}"))?;
            address = Address::folder(path);
        }
        Ok(Self { label, address, options: Vec::new() })
    }

    fn connect(&self, label: String) -> Result<Node, Stop> {
        let wrong = |why: String| Stop::usage(format!("node {label}: {why}"));
        let mut options = NodeOptions::default();
        for Setting { key, value } in &self.options {
            set(&mut options, &self.address, key, value).map_err(wrong)?;
        }
        if options.basic.as_ref().is_some_and(|(user, _)| user.is_empty()) {
            return Err(wrong("a password needs a user".to_owned()));
        }
        if options.identity.as_ref().is_some_and(|(certificate, key)| is_empty(certificate) || is_empty(key))
        {
            return Err(wrong("a certificate and its key go together".to_owned()));
        }
        let store = connect(&self.address, &options)
            .map_err(|error| Stop::because(Exit::Usage, format!("node {label}"), &error))?;
        Ok(Node { label, store })
    }
}

impl Setting {
    /// Fetches the value where it is elsewhere.
    fn new(key: &str, value: &str) -> Result<Self, String> {
        let key = key.trim().to_owned();
        let value = if let Some(name) = value.strip_prefix("env:") {
            std::env::var(name).map_err(|_| format!("{key}: the environment has no {name}"))?
        } else if let Some(path) = value.strip_prefix("file:") {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("{key}: can't read {path}: {error}"))?;
            text.trim_end_matches(['\r', '\n']).to_owned()
        } else {
            value.to_owned()
        };
        Ok(Self { key, value })
    }
}

/// The nodes that a file lists.
fn listed(file: &Path) -> Result<Vec<Given>, Stop> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| failure::of_path(format!("can't read {}", file.display()), &error))?;
    lines(&text).map_err(|(line, why)| Stop::usage(format!("{}, line {line}: {why}", file.display())))
}

fn lines(text: &str) -> Result<Vec<Given>, (usize, String)> {
    let mut nodes: Vec<Given> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |why: String| (index + 1, why);
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            nodes.push(Given::parse(words).map_err(at)?);
            continue;
        }
        let node = nodes.last_mut().ok_or_else(|| at("an option, and no node above it".to_owned()))?;
        let (key, value) = words.split_once('=').ok_or_else(|| at("an option is KEY=VALUE".to_owned()))?;
        node.options.push(Setting::new(key, value.trim()).map_err(at)?);
    }
    Ok(nodes)
}

/// What each node is called: its label; without one, what its address suggests, or all of the address where two would be called
/// the same.
fn labels(given: &[Given]) -> Result<Vec<String>, Stop> {
    let short = |node: &Given| node.label.clone().unwrap_or_else(|| node.address.label());
    let labels = given.iter().map(|node| {
        let label = short(node);
        let same = given.iter().filter(|other| short(other) == label).count();
        if node.label.is_none() && same > 1 { node.address.to_string() } else { label }
    });
    let labels: Vec<String> = labels.collect();
    let mut seen = HashSet::new();
    match labels.iter().find(|label| !seen.insert(&label[..])) {
        Some(twice) => Err(Stop::usage(format!("two nodes are called {twice}: label them, LABEL=NODE"))),
        None => Ok(labels),
    }
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// Puts one option where it belongs.
fn set(options: &mut NodeOptions, address: &Address, key: &str, value: &str) -> Result<(), String> {
    let value = || value.to_owned();
    let bucket = ["s3://", "gs://", "az://"].iter().any(|scheme| address.to_string().starts_with(scheme));
    match key {
        "token" => options.bearer = Some(value()),
        "user" => options.basic.get_or_insert_default().0 = value(),
        "password" => options.basic.get_or_insert_default().1 = value(),
        "roots" => options.roots = Some(value().into()),
        "certificate" => options.identity.get_or_insert_default().0 = value().into(),
        "key" => options.identity.get_or_insert_default().1 = value().into(),
        "environment" => {
            options.environment = value().parse().map_err(|_| "environment is true or false".to_owned())?;
        }
        _ => match key.strip_prefix("header.") {
            Some(name) => options.headers.push((name.to_owned(), value())),
            None if bucket => options.settings.push((key.to_owned(), value())),
            None => return Err(format!("there is no option `{key}` for {address}")),
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(texts: &[&str]) -> Vec<Given> {
        texts.iter().map(|text| Given::parse(text).expect(text)).collect()
    }

    #[test]
    fn a_label_stands_before_the_first_equals_sign_unless_that_is_part_of_the_address() {
        let nodes = given(&[
            "n-1=/data",
            "http://host/a=b",
            "./a=b/c",
            "host1:8080=http://host1:8080/x",
            "x.y = s3://bucket/p",
        ]);
        let label = |node: &Given| node.label.clone();
        let labels: Vec<_> = nodes.iter().map(label).collect();
        let some = |label: &str| Some(label.to_owned());
        assert_eq!(labels, [some("n-1"), None, None, some("host1:8080"), some("x.y")]);
        assert_eq!(nodes.last().map(|node| node.address.to_string()), Some("s3://bucket/p".to_owned()));
    }

    #[test]
    fn a_label_that_can_not_be_is_refused_and_not_taken_for_a_folder() {
        for text in ["rack 1 = https://u:hunter2@host/x", "rack/1=http://u:hunter2@host"] {
            let why = Given::parse(text).err().expect(text);
            assert!(why.contains("a label has") && !why.contains("hunter2"), "{why}");
        }
    }

    #[test]
    fn no_two_nodes_have_one_label() {
        let of = |texts: &[&str]| labels(&given(texts)).map_err(|stop| stop.exit);
        assert_eq!(of(&["/a/data", "/b/other"]), Ok(vec!["data".to_owned(), "other".to_owned()]));
        assert_eq!(of(&["/a/data", "/b/data"]), Ok(vec!["/a/data".to_owned(), "/b/data".to_owned()]));
        assert_eq!(of(&["n=/a", "n=/b"]), Err(Exit::Usage));
        assert_eq!(of(&["/a/data", "/a/data"]), Err(Exit::Usage));
    }

    #[test]
    fn a_nodes_file_has_options_below_their_node_and_says_in_which_line_it_is_wrong() {
        let text =
            "# nodes\nn1 = http://host/a\n  token = abc=d\n\theader.X-Key = v\n\n  # remark\nhttp://host/b\n";
        let nodes = lines(text).unwrap_or_else(|(line, why)| panic!("line {line}: {why}"));
        let options = |node: &Given| {
            let option = |Setting { key, value }: &Setting| format!("{key}: {value}");
            node.options.iter().map(option).collect::<Vec<_>>()
        };
        let all: Vec<_> = nodes.iter().map(options).collect();
        assert_eq!(all, [vec!["token: abc=d", "header.X-Key: v"], vec![]]);
        for (text, line) in [("  token = x\n", 1), ("/a\n  token\n", 2), ("/a\n\ngopher://x\n", 3)] {
            assert_eq!(lines(text).map(|nodes| nodes.len()).map_err(|(line, _)| line), Err(line), "{text}");
        }
    }

    #[test]
    fn an_option_goes_where_it_belongs_or_is_refused() {
        let mut options = NodeOptions::default();
        let server: Address = "http://host".parse().expect("an address");
        let bucket: Address = "s3://bucket".parse().expect("an address");
        for (key, value) in [("token", "t"), ("user", "u"), ("password", "p"), ("header.X-Key", "v")] {
            set(&mut options, &server, key, value).expect(key);
        }
        assert_eq!(options.bearer.as_deref(), Some("t"));
        assert_eq!(options.basic, Some(("u".to_owned(), "p".to_owned())));
        assert_eq!(options.headers, [("X-Key".to_owned(), "v".to_owned())]);
        set(&mut options, &bucket, "region", "r").expect("a setting of a bucket");
        assert_eq!(options.settings, [("region".to_owned(), "r".to_owned())]);
        assert!(set(&mut options, &server, "tokn", "t").is_err());
        assert!(set(&mut options, &server, "environment", "maybe").is_err());
    }
}
