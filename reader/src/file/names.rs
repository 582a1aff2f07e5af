//! What a file may be called, and what our own objects beside it are called.

use std::fmt;

/// Most bytes of a name: with the longest name of an object behind it, it stays under the 1,024 bytes that object stores allow.
const MOST_BYTES: usize = 900;

/// Most bytes of a part: what file systems allow.
const MOST_PART_BYTES: usize = 255;

/// The rule of names that a name breaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NameRule {
    /// Between slashes, and at both ends, stands a part that is not empty.
    EmptyPart,
    /// No part is `.` or `..`.
    Dots,
    /// No control characters.
    Control,
    /// No backslash.
    Backslash,
    /// A part has at most 255 bytes.
    PartLength {
        /// The bytes that it has.
        bytes: usize,
    },
    /// All parts and slashes together have at most 900 bytes.
    Length {
        /// The bytes that they have.
        bytes: usize,
    },
    /// No part is called as we call our own objects: `manifest.json`, `intent.json`, or 32 hexadecimal digits. Small and
    /// capital letters are the same here, as some file systems take them to be.
    Ours,
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyPart => write!(f, "no part between slashes may be empty"),
            Self::Dots => write!(f, "no part may be . or .."),
            Self::Control => write!(f, "control characters are not allowed"),
            Self::Backslash => write!(f, "backslashes are not allowed"),
            Self::PartLength { bytes } => {
                write!(f, "a part has at most {MOST_PART_BYTES} bytes, this one has {bytes}")
            }
            Self::Length { bytes } => {
                write!(f, "a name has at most {MOST_BYTES} bytes, this one has {bytes}")
            }
            Self::Ours => write!(f, "no part may be manifest.json, intent.json or 32 hexadecimal digits"),
        }
    }
}

/// Whether a file may be called `name`: one or more parts between slashes.
pub(crate) fn check_name(name: &str) -> Result<(), NameRule> {
    if name.len() > MOST_BYTES {
        return Err(NameRule::Length { bytes: name.len() });
    }
    name.split('/').try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), NameRule> {
    let ours = ["manifest.json", "intent.json"].iter().any(|ours| part.eq_ignore_ascii_case(ours))
        || part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    match part {
        "" => Err(NameRule::EmptyPart),
        "." | ".." => Err(NameRule::Dots),
        _ if part.contains(char::is_control) => Err(NameRule::Control),
        _ if part.contains('\\') => Err(NameRule::Backslash),
        _ if part.len() > MOST_PART_BYTES => Err(NameRule::PartLength { bytes: part.len() }),
        _ if ours => Err(NameRule::Ours),
        _ => Ok(()),
    }
}

/// The object that holds the manifest of the file `name`.
pub(crate) fn manifest_object(name: &str) -> String {
    format!("{name}/manifest.json")
}

/// The object that says that the file `name` is being written.
///
/// Its name is the same for all writers, so that it is found on nodes that can't list, and so that of two writers only one
/// can create it.
pub(crate) fn intent_object(name: &str) -> String {
    format!("{name}/intent.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_of_names_is_named_by_the_name_that_breaks_it() {
        for empty in ["", "/", "a/", "/a", "a//b"] {
            assert_eq!(check_name(empty), Err(NameRule::EmptyPart), "{empty:?}");
        }
        for dots in [".", "..", "a/..", "./a", "a/./b"] {
            assert_eq!(check_name(dots), Err(NameRule::Dots), "{dots:?}");
        }
        for control in ["a\nb", "\0", "a/\u{7f}", "\u{85}"] {
            assert_eq!(check_name(control), Err(NameRule::Control), "{control:?}");
        }
        assert_eq!(check_name("a\\b"), Err(NameRule::Backslash));
        assert_eq!(check_name(&"x".repeat(256)), Err(NameRule::PartLength { bytes: 256 }));
        assert_eq!(check_name(&"x/".repeat(451)), Err(NameRule::Length { bytes: 902 }));
        let ours = ["manifest.json", "a/Manifest.JSON/b", "intent.json", "0123456789abcdef0123456789ABCDEF"];
        for ours in ours {
            assert_eq!(check_name(ours), Err(NameRule::Ours), "{ours:?}");
        }
    }

    #[test]
    fn ordinary_names_are_allowed() {
        let long = ["x".repeat(255), "y".repeat(255), "z".repeat(255)].join("/");
        let names =
            ["a", "a/b.bin", "...", "with space", "100% + #?", "snow ❄", "0123456789abcdef", long.as_str()];
        for name in names {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }
}
