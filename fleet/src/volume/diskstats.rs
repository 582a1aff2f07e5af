//! The kernel's disk statistics: the text of `/proc/diskstats`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The counters of one disk or partition since the machine started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disk {
    /// The driver.
    pub major: u32,
    /// Which of the driver's.
    pub minor: u32,
    /// The name, such as `sda` or `nvme0n1p2`.
    pub name: String,
    /// Reads that were completed.
    pub reads: u64,
    /// Writes that were completed.
    pub writes: u64,
    /// Milliseconds in which at least one request was under way. It wraps at 32 bits. Kernels before 2.6.25 do not count it
    /// for partitions.
    pub busy_millis: Option<u64>,
}

/// The disks that the text of `/proc/diskstats` tells of, in its order.
///
/// A line has 14 fields (major and minor number, name, and 11 counters), 18 since Linux 4.18 (discards), 20 since 5.5
/// (flushes), and for partitions 7 before 2.6.25; further fields of newer kernels are allowed, and must be numbers, too. Empty lines are
/// skipped. See Documentation/admin-guide/iostats.rst of the kernel.
///
/// # Errors
/// The first line that is otherwise, with its number and its text.
///
/// ```
/// let text = "   8       0 sda 20076 3 798556 75864 23573766 4732398 253002144 24887356 0 9814563 24947775\n";
/// let disks = hedgerow_fleet::parse_diskstats(text)?;
/// assert_eq!((disks[0].name.as_str(), disks[0].busy_millis), ("sda", Some(9_814_563)));
/// # Ok::<(), hedgerow_fleet::DiskstatsError>(())
/// ```
pub fn parse_diskstats(text: &str) -> Result<Vec<Disk>, DiskstatsError> {
    let mut disks = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        disks.push(parse_line(text).map_err(|fault| DiskstatsError::new(line, text, fault))?);
    }
    Ok(disks)
}

fn parse_line(text: &str) -> Result<Disk, DiskstatsFault> {
    let fields = text.split_ascii_whitespace().count();
    if !(matches!(fields, 7 | 14 | 18) || fields >= 20) {
        return Err(DiskstatsFault::Fields { fields });
    }
    let mut words = text.split_ascii_whitespace();
    let major = number(words.next(), 1)?;
    let minor = number(words.next(), 2)?;
    let name = String::from(words.next().unwrap_or_default());
    // The counters of fields 4 to 13, of which those wanted are kept.
    let mut counters = [0_u64; 10];
    for (place, word) in words.enumerate() {
        let value = number(Some(word), place + 4)?;
        if let Some(counter) = counters.get_mut(place) {
            *counter = value;
        }
    }
    let [reads, _, third, _, fifth, _, _, _, _, busy] = counters;
    // Of an old partition: reads, sectors read, writes, sectors written.
    let (writes, busy_millis) = if fields == 7 { (third, None) } else { (fifth, Some(busy)) };
    Ok(Disk { major, minor, name, reads, writes, busy_millis })
}

fn number<N: core::str::FromStr>(word: Option<&str>, field: usize) -> Result<N, DiskstatsFault> {
    let digits = word.filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|word| word.parse().ok()).ok_or(DiskstatsFault::Number { field })
}

/// A line of `/proc/diskstats` that can't be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskstatsError {
    /// Its number, from 1.
    pub line: usize,
    /// Its text; of a long one the beginning.
    pub text: String,
    /// What is wrong with it.
    pub fault: DiskstatsFault,
}

impl DiskstatsError {
    const MOST_TEXT: usize = 200;

    fn new(line: usize, text: &str, fault: DiskstatsFault) -> Self {
        Self { line, text: text.chars().take(Self::MOST_TEXT).collect(), fault }
    }
}

/// What is wrong with a line of `/proc/diskstats`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DiskstatsFault {
    /// No kernel writes so many fields.
    Fields {
        /// So many.
        fields: usize,
    },
    /// A field is not a whole number, or one that is too large.
    Number {
        /// Which, from 1.
        field: usize,
    },
}

impl fmt::Display for DiskstatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, text, fault } = self;
        write!(f, "line {line} of the disk statistics ")?;
        match fault {
            DiskstatsFault::Fields { fields } => {
                write!(f, "has {fields} fields, not 7, 14, 18, 20 or more: {text:?}")
            }
            DiskstatsFault::Number { field } => {
                write!(f, "has no number that fits in field {field}: {text:?}")
            }
        }
    }
}

impl core::error::Error for DiskstatsError {}

/// Reads a file like `/proc/diskstats`.
///
/// # Errors
/// If the file can't be read, or one of its lines can't.
#[cfg(feature = "std")]
pub fn read_diskstats(path: &std::path::Path) -> Result<Vec<Disk>, ReadDiskstatsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| ReadDiskstatsError::Unreadable { path: path.into(), error })?;
    parse_diskstats(&text).map_err(|error| ReadDiskstatsError::Malformed { path: path.into(), error })
}

/// Why a file of disk statistics can't be read.
#[cfg(feature = "std")]
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadDiskstatsError {
    /// The file itself.
    Unreadable {
        /// Which.
        path: std::path::PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// One of its lines.
    Malformed {
        /// Of which file.
        path: std::path::PathBuf,
        /// Which line, and why.
        error: DiskstatsError,
    },
}

#[cfg(feature = "std")]
impl fmt::Display for ReadDiskstatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Malformed { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

#[cfg(feature = "std")]
impl core::error::Error for ReadDiskstatsError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Unreadable { error, .. } => Some(error),
            Self::Malformed { error, .. } => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_old_and_new_kernels_are_read() {
        let text = "\
   3       1 hda1 35486 38030 38031 38032
   8       0 sda 1 2 3 4 5 6 7 8 9 10 11

   8      16 sdb 1 2 3 4 5 6 7 8 9 4294967295 11 12 13 14 15
 259       0 nvme0n1 18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17
 253       7 dm-7 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19";
        let disks = parse_diskstats(text).unwrap();
        let seen: Vec<_> = disks
            .iter()
            .map(|disk| {
                (disk.major, disk.minor, disk.name.as_str(), disk.reads, disk.writes, disk.busy_millis)
            })
            .collect();
        assert_eq!(
            seen,
            [
                (3, 1, "hda1", 35_486, 38_031, None),
                (8, 0, "sda", 1, 5, Some(10)),
                (8, 16, "sdb", 1, 5, Some(4_294_967_295)),
                (259, 0, "nvme0n1", u64::MAX, 5, Some(10)),
                (253, 7, "dm-7", 1, 5, Some(10)),
            ]
        );
        assert_eq!(parse_diskstats("").unwrap(), []);
        assert_eq!(parse_diskstats("\n \n").unwrap(), []);
    }

    #[test]
    fn a_malformed_line_is_named_with_its_number_and_text() {
        let says = |line: &str| {
            let text = std::format!("   8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n\n{line}\n");
            parse_diskstats(&text).unwrap_err().to_string()
        };
        assert_eq!(
            says("8 1 sda1 1 2 3"),
            "line 3 of the disk statistics has 6 fields, not 7, 14, 18, 20 or more: \"8 1 sda1 1 2 3\""
        );
        for fields in [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 15, 16, 17, 19] {
            let line =
                ["8", "1", "sda1"].into_iter().chain(["4"; 16]).take(fields).collect::<Vec<_>>().join(" ");
            let error = parse_diskstats(&line).unwrap_err();
            assert_eq!((error.line, error.fault), (1, DiskstatsFault::Fields { fields }));
        }
        for (line, field) in [
            ("x 1 sda1 1 2 3 4", 1),
            ("8 -1 sda1 1 2 3 4", 2),
            ("4294967296 1 sda1 1 2 3 4", 1),
            ("8 1 sda1 1 2 3 4 5 6 7 8 9 1.5 11", 13),
            ("8 1 sda1 +1 2 3 4 5 6 7 8 9 10 11", 4),
            ("8 1 sda1 18446744073709551616 2 3 4 5 6 7 8 9 10 11", 4),
            ("8 1 sda1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 many", 21),
        ] {
            let told = std::format!(
                "line 3 of the disk statistics has no number that fits in field {field}: {line:?}"
            );
            assert_eq!(says(line), told);
        }
    }

    #[test]
    fn an_endless_line_is_told_by_its_beginning() {
        let error = parse_diskstats(&"é ".repeat(100_000)).unwrap_err();
        assert_eq!((error.text.chars().count(), error.fault), (200, DiskstatsFault::Number { field: 1 }));
    }

    #[cfg(all(feature = "std", target_os = "linux"))]
    #[test]
    fn this_machines_statistics_are_read_and_a_missing_file_is_named() {
        use std::path::Path;

        assert!(read_diskstats(Path::new("/proc/diskstats")).is_ok());
        let error = read_diskstats(Path::new("/no/such/file")).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/file: "), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9 a-z\n\t\u{00e9}-]{0,200}") {
            let _ = parse_diskstats(&text);
        }

        #[test]
        fn every_line_of_numbers_is_read(counters in prop::collection::vec(any::<u64>(), 17..=17)) {
            let line = counters.iter().fold(String::from("8 0 sda"), |line, counter| std::format!("{line} {counter}"));
            let disks = parse_diskstats(&line).unwrap();
            prop_assert_eq!((disks[0].reads, disks[0].writes), (counters[0], counters[4]));
            prop_assert_eq!(disks[0].busy_millis, Some(counters[9]));
        }
    }
}
