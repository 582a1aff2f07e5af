//! Paths of requests and names of objects: each name between slashes is decoded by itself, and none can lead elsewhere.

use std::fmt::Write as _;

/// Names that begin so are this server's own: half-written files, which nobody is to see.
pub(super) const HIDDEN: &str = ".hedgerow-";

/// The name that a request's path stands for, without a slash at either end; empty for the folder itself.
///
/// `None` where there is no such name: escapes that are none, an empty name, `.` and `..`, a slash or NUL within a
/// name, bytes that are not UTF-8, and names that are hidden.
pub(super) fn decode(path: &str) -> Option<String> {
    let path = path.strip_prefix('/')?;
    let mut object = String::with_capacity(path.len());
    if path.is_empty() {
        return Some(object);
    }
    let path = path.strip_suffix('/').unwrap_or(path);
    for part in path.split('/') {
        let name = String::from_utf8(unescape(part)?).ok()?;
        let stray = |c| c == '\0' || c == '/' || std::path::is_separator(c);
        if name.is_empty() || name == "." || name == ".." || name.contains(stray) || name.starts_with(HIDDEN)
        {
            return None;
        }
        if !object.is_empty() {
            object.push('/');
        }
        object.push_str(&name);
    }
    Some(object)
}

fn unescape(part: &str) -> Option<Vec<u8>> {
    let mut bytes = part.bytes();
    let mut out = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => 16 * digit(bytes.next()?)? + digit(bytes.next()?)?,
            byte => byte,
        });
    }
    Some(out)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The path of an object: everything but slashes and RFC 3986's unreserved characters is escaped.
pub(super) fn encode(object: &str) -> String {
    let mut path = String::with_capacity(object.len() + 1);
    path.push('/');
    for byte in object.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => path.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => path.push(char::from(byte)),
            byte => {
                let _written = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_once_and_exactly() {
        let decoded = [
            ("/", ""),
            ("/a", "a"),
            ("/a/b.c/", "a/b.c"),
            ("/a%20b%2Bc+d", "a b+c+d"),
            ("/%2541", "%41"),
            ("/%c3%A4", "ä"),
            ("/ä", "ä"),
            ("/...", "..."),
            ("/..a/.b", "..a/.b"),
        ];
        for (path, object) in decoded {
            assert_eq!(decode(path).as_deref(), Some(object), "{path}");
        }
    }

    #[test]
    fn what_leads_elsewhere_or_is_no_name_is_none() {
        let bad = [
            "",
            "a",
            "*",
            "//",
            "//a",
            "/a//b",
            "/.",
            "/..",
            "/a/..",
            "/../a",
            "/%2e%2E",
            "/.%2e/a",
            "/a%2Fb",
            "/a%2f..%2fb",
            "/a%00",
            "/%",
            "/%4",
            "/%4g",
            "/%zz",
            "/%+1",
            "/%ff",
            "/%c3",
            "/.hedgerow-1",
            "/a/%2ehedgerow-1",
        ];
        for path in bad {
            assert_eq!(decode(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_encoded_decodes_to_itself() {
        let every: String = (1..=0x2ff_u32).filter_map(char::from_u32).filter(|c| *c != '/').collect();
        for object in ["a", "a/b c", "%41", "ä&<>\"'", &every] {
            let path = encode(object);
            assert!(path.bytes().all(|b| b.is_ascii_graphic() && !b"<>&\"'".contains(&b)), "{path}");
            assert_eq!(decode(&path).as_deref(), Some(object));
        }
    }
}
