//! What the environment and the caller say about buckets, checked before `object_store` sees it: some values that it takes
//! make it panic later, others it takes in silence though our connections have no use for them.

use std::str::FromStr;

use http::Uri;

use crate::store::address::{Address, AddressError, Cloud, Place};
use crate::store::connect::NodeOptions;
use crate::store::secrets::Secrets;

/// One setting, by the name that `object_store` has for it.
pub(super) struct Setting<K> {
    pub(super) key: K,
    pub(super) value: String,
}

/// What was set.
pub(super) struct Settings<K> {
    pub(super) all: Vec<Setting<K>>,
    /// Whether connections without TLS are allowed.
    pub(super) plain: bool,
    /// Host and port of where the bucket is, if that was set.
    pub(super) endpoint: Option<String>,
}

/// Something said, before it is understood.
struct Said {
    /// As it was written.
    name: String,
    value: String,
    by_caller: bool,
}

/// All settings for a bucket of `cloud`; the secrets among them are added to `secrets`.
pub(super) fn settings<K: FromStr + AsRef<str>>(
    address: &Address,
    cloud: Cloud,
    options: &NodeOptions,
    secrets: &mut Secrets,
) -> Result<Settings<K>, AddressError> {
    let environment = if options.environment { environment(cloud) } else { Vec::new() };
    let caller = options.settings.iter().filter(|(name, _)| is_for(cloud, name));
    let caller =
        caller.map(|(name, value)| Said { name: name.clone(), value: value.clone(), by_caller: true });
    gather(address, environment.into_iter().chain(caller).collect(), secrets)
}

fn gather<K: FromStr + AsRef<str>>(
    address: &Address,
    said: Vec<Said>,
    secrets: &mut Secrets,
) -> Result<Settings<K>, AddressError> {
    let mut gathered = Settings { all: Vec::new(), plain: false, endpoint: None };
    let mut understood = Vec::new();
    for said in said {
        match said.name.to_ascii_lowercase().parse::<K>() {
            Ok(key) => understood.push((said, key)),
            Err(_) if said.by_caller => {
                return Err(wrong(address, &said.name, "there is no such option for this address"));
            }
            // The environment holds much that is not for us.
            Err(_) => {}
        }
    }
    let own_credentials = understood.iter().any(|(said, key)| said.by_caller && is_credential(key.as_ref()));
    for (said, key) in understood {
        let name = key.as_ref();
        let Said { name: written, value, by_caller } = said;
        if is_credential(name) && own_credentials && !by_caller {
            continue;
        }
        if is_secret(name) {
            secrets.add(value.clone());
        }
        if name == "allow_http" {
            gathered.plain = match &*value.to_ascii_lowercase() {
                "true" | "1" | "yes" | "on" => true,
                "false" | "0" | "no" | "off" => false,
                _ => return Err(wrong(address, &written, "it is neither true nor false")),
            };
            continue;
        }
        let unused = match () {
            () if CONNECTIONS.contains(&name) => "connections are made without it",
            () if name.ends_with("bucket") || name.ends_with("container_name") => {
                "the address names the bucket"
            }
            () => "",
        };
        if !unused.is_empty() {
            if by_caller {
                return Err(wrong(address, &written, unused));
            }
            continue;
        }
        check_value(name, &value).map_err(|reason| wrong(address, &written, reason))?;
        gathered.all.push(Setting { key, value });
    }
    // That of S3 alone goes before that of all services, wherever it was set; of the others the last counts.
    let endpoints = gathered.all.iter().filter(|one| ENDPOINTS.contains(&one.key.as_ref()));
    let endpoint = endpoints.max_by_key(|one| one.key.as_ref() == "aws_endpoint_url_s3");
    gathered.endpoint = endpoint.and_then(|one| endpoint_of(&one.value).ok());
    for Setting { key, value } in &gathered.all {
        let name = key.as_ref();
        if value.starts_with("http://") && !gathered.plain && !LOCAL.contains(&name) {
            return Err(wrong(address, name, "it is an address without TLS; set allow_http to allow that"));
        }
    }
    Ok(gathered)
}

/// Where the bucket itself is.
const ENDPOINTS: &[&str] =
    &["aws_endpoint", "aws_endpoint_url_s3", "azure_storage_endpoint", "google_base_url"];

/// Served inside the machine, without TLS by nature.
const LOCAL: &[&str] = &["aws_metadata_endpoint", "azure_msi_endpoint", "aws_container_credentials_full_uri"];

/// What `object_store` sets of connections, which are ours.
const CONNECTIONS: &[&str] = &[
    "allow_invalid_certificates",
    "disable_system_certificates",
    "connect_timeout",
    "default_content_type",
    "http1_only",
    "http2_keep_alive_interval",
    "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle",
    "http2_max_frame_size",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_url",
    "proxy_ca_certificate",
    "proxy_excludes",
    "randomize_addresses",
    "read_timeout",
    "timeout",
    "user_agent",
];

fn wrong(address: &Address, option: &str, reason: &str) -> AddressError {
    AddressError::Option {
        address: address.to_string(),
        option: option.to_owned(),
        reason: reason.to_owned(),
    }
}

/// What the environment says for `cloud`, where `object_store` looks for it.
fn environment(cloud: Cloud) -> Vec<Said> {
    let more = match cloud {
        Cloud::S3 => "",
        Cloud::Gcs => "SERVICE_ACCOUNT",
        Cloud::Azure => "IDENTITY_ENDPOINT",
    };
    let own = prefix(cloud).to_ascii_uppercase();
    let mut found: Vec<_> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(&own) || name == more)
        .map(|(name, value)| Said { name, value, by_caller: false })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

const fn prefix(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::S3 => "aws_",
        Cloud::Gcs => "google_",
        Cloud::Azure => "azure_",
    }
}

/// Whether an option of this name is not for another cloud.
fn is_for(cloud: Cloud, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let others = [Cloud::S3, Cloud::Gcs, Cloud::Azure].into_iter().filter(|&other| other != cloud);
    others.into_iter().all(|other| !name.starts_with(prefix(other)))
}

/// Whether it says who we are.
fn is_credential(name: &str) -> bool {
    let signs =
        ["access_key", "account_key", "token", "client_", "credential", "role", "sas_key", "skip_signature"];
    name.contains("google_service_account") || signs.iter().any(|sign| name.contains(sign))
}

/// Whether it is not to be seen.
fn is_secret(name: &str) -> bool {
    !names_a_file(name) && ["key", "token", "secret"].iter().any(|sign| name.contains(sign))
}

fn names_a_file(name: &str) -> bool {
    ["token_file", "google_service_account", "application_credentials"]
        .iter()
        .any(|file| name.ends_with(file))
}

/// Values that would end in a malformed request, which `object_store` does not expect.
fn check_value(name: &str, value: &str) -> Result<(), &'static str> {
    // A whole JSON document.
    if name == "google_service_account_key" {
        return Ok(());
    }
    if value.is_empty() {
        return Err("it is empty");
    }
    if value.chars().any(|c| c.is_control()) {
        return Err("it has a control character in it");
    }
    if names_a_file(name) {
        return Ok(());
    }
    if !value.is_ascii() {
        return Err("it has a character in it that is not ASCII");
    }
    if ENDPOINTS.contains(&name) {
        return endpoint_of(value).map(drop);
    }
    if name.ends_with("relative_uri") {
        return format!("http://localhost{value}").parse::<Uri>().map(drop).map_err(|_| "it is no path");
    }
    if ["endpoint", "url", "uri", "host"].iter().any(|place| name.contains(place)) {
        return value.parse::<Uri>().map(drop).map_err(|_| "it is no URL");
    }
    let is_label = value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if (name.ends_with("region") || name.ends_with("account_name")) && !is_label {
        return Err("it has something other than letters, digits and hyphens in it");
    }
    Ok(())
}

/// Host and port of the address of a store's service.
fn endpoint_of(value: &str) -> Result<String, &'static str> {
    match value.parse::<Address>() {
        Ok(address) => match address.place() {
            Place::Server(server) if server.user.is_none() => Ok(server.authority.clone()),
            Place::Server(_) => Err("a user can't be part of it"),
            _ => Err("it begins neither with http:// nor with https://"),
        },
        Err(AddressError::Malformed { reason, .. }) => Err(reason),
        Err(_) => Err("it begins neither with http:// nor with https://"),
    }
}

#[cfg(all(test, feature = "s3"))]
mod tests {
    use object_store::aws::AmazonS3ConfigKey;

    use super::*;

    /// What counts of these settings, each by its name; the environment's come first.
    fn gathered(environment: &[(&str, &str)], caller: &[(&str, &str)]) -> Result<Vec<String>, AddressError> {
        let said = |pairs: &[(&str, &str)], by_caller| -> Vec<_> {
            let said = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            said.map(|(name, value)| Said { name, value, by_caller }).collect()
        };
        let all = said(environment, false).into_iter().chain(said(caller, true)).collect();
        let address = "s3://bucket".parse().unwrap();
        let gathered = gather::<AmazonS3ConfigKey>(&address, all, &mut Secrets::default())?;
        let pairs = gathered.all.iter().map(|one| format!("{}={}", one.key.as_ref(), one.value));
        Ok(pairs.chain(gathered.endpoint.map(|endpoint| format!("at {endpoint}"))).collect())
    }

    #[test]
    fn credentials_come_from_the_caller_or_from_the_environment_never_from_both() {
        let environment = [
            ("AWS_ACCESS_KEY_ID", "environment"),
            ("AWS_SECRET_ACCESS_KEY", "environment"),
            ("AWS_SESSION_TOKEN", "environment"),
            ("AWS_REGION", "eu-1"),
        ];
        let caller = [("access_key_id", "caller"), ("secret_access_key", "caller")];
        assert_eq!(gathered(&environment, &[]).unwrap().len(), 4);
        let both = ["aws_region=eu-1", "aws_access_key_id=caller", "aws_secret_access_key=caller"];
        assert_eq!(gathered(&environment, &caller).unwrap(), both);
        // What is no credential leaves those of the environment in force.
        assert_eq!(gathered(&environment, &[("region", "eu-2")]).unwrap().len(), 5);
    }

    #[test]
    fn the_environment_may_hold_what_is_not_for_us_and_the_caller_may_not() {
        for unknown in ["AWS_PAGER", "AWS_BUCKET", "AWS_PROXY_URL", "AWS_TIMEOUT"] {
            assert_eq!(gathered(&[(unknown, "x")], &[]).unwrap(), [""; 0], "{unknown}");
            assert!(gathered(&[], &[(unknown, "x")]).is_err(), "{unknown}");
        }
    }

    #[test]
    fn the_endpoint_is_the_one_that_requests_go_to() {
        let (all, s3) = (("AWS_ENDPOINT_URL", "https://All"), ("AWS_ENDPOINT_URL_S3", "https://s3:1/x"));
        let at = |environment: &[(&str, &str)], caller: &[(&str, &str)]| {
            gathered(environment, caller).unwrap().pop()
        };
        assert_eq!(at(&[all], &[]).as_deref(), Some("at all"));
        assert_eq!(at(&[all, s3], &[]).as_deref(), Some("at s3:1"));
        assert_eq!(at(&[s3, all], &[]).as_deref(), Some("at s3:1"));
        assert_eq!(at(&[all], &[("endpoint", "https://mine")]).as_deref(), Some("at mine"));
    }

    #[test]
    fn plain_http_has_to_be_allowed_except_inside_the_machine() {
        let plain = ("endpoint", "http://host");
        assert!(gathered(&[], &[plain]).is_err());
        assert!(gathered(&[], &[plain, ("allow_http", "false")]).is_err());
        assert!(gathered(&[], &[plain, ("allow_http", "true")]).is_ok());
        assert!(gathered(&[("AWS_ALLOW_HTTP", "yes")], &[plain]).is_ok());
        assert!(gathered(&[], &[("metadata_endpoint", "http://10.0.0.1")]).is_ok());
    }
}
