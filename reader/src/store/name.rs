//! Names of objects: the one rule that all stores share.

use super::{Failed, Failure};

/// Whether `object` is a path of names and slashes that means the same thing everywhere and leads nowhere else.
///
/// # Errors
///
/// [`Failure::Refused`] for empty parts (so for a slash at either end, too), `.`, `..`, and what holds a backslash or a NUL.
pub(crate) fn check_name(object: &str) -> Result<(), Failed> {
    let why = match object {
        _ if object.contains('\0') => "a NUL",
        _ if object.contains('\\') => "a backslash",
        _ if object.split('/').any(str::is_empty) => "an empty part",
        _ if object.split('/').any(|part| part == "." || part == "..") => "a part of only dots",
        _ => return Ok(()),
    };
    Err(Failed::because(Failure::Refused, format!("the object name {object:?} has {why}")))
}

/// The folder that `object` is in; empty for the top.
pub(crate) fn folder_of(object: &str) -> &str {
    object.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let hostile =
            ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a/../../b", "a\\b", "a\0"];
        for object in hostile {
            assert_eq!(check_name(object).unwrap_err().kind, Failure::Refused, "{object:?}");
        }
    }

    #[test]
    fn odd_names_are_names() {
        for object in ["a", "a/b", "...", ".a/b.", " ", "a b/ü%2e+#?&=\n", "~", "-"] {
            assert!(check_name(object).is_ok(), "{object:?}");
        }
    }
}
