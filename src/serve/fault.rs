//! The faults that a server can be told to have, and how they are written.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

/// What is wrong with a server. Those about connecting concern every request, delays and errors too, the others reads alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// The body comes in so many writes with a pause between them.
    SlowBody { writes: NonZeroU32, pause: Duration },
    /// The head and 4 KiB come, never the last byte.
    Stall,
    /// Connections are accepted and never read from.
    NoAnswer,
    /// Connections are not accepted: the queue for them is full, and their first packets are dropped.
    NotAccepted,
    /// Connections are refused; the port stays taken.
    Refuse,
    /// The lowest bit of the byte in the middle of the body is flipped.
    Corrupt,
    /// The bytes of another object of the same folder and length, or where there is none of the wrong half of this one.
    Stale,
    /// Half of the body comes, then the connection is closed.
    MidBody,
    /// Every request is answered with status 503.
    Status503,
    /// Time before anything is done.
    Delay(Duration),
    /// So many bytes more or fewer than asked for are announced and sent.
    LieLength(i64),
    /// Bytes of another range, which the head admits.
    LieRange,
}

/// All faults, as `--help` lists them.
pub(crate) const HELP: &str = "\
Faults, for --fault and for `fault NAME` with --control:
  none                      back to normal
  slow-body [WRITES PAUSE]  the body in so many writes so far apart; ten and 30ms if not said
  stall                     the head and 4 KiB, then nothing
  no-answer                 connections are accepted and never read from
  not-accepted              connections are not accepted: connecting hangs
  refuse                    connections are refused
  corrupt                   one bit in the middle of the body is flipped
  stale                     bytes of another object of the folder, else of this one's other half
  mid-body                  half of the body, then the connection is closed
  status-503                every request is answered with status 503
  delay TIME                time before anything is done
  lie-length [BYTES]        so many bytes too many (3) or too few (-3); -1 if not said
  lie-range                 bytes of another range than asked for

Stalled answers and unanswered connections are closed when the fault changes. Other answers under way go on as they began, \
whatever the fault; connections without a request are closed by faults about connecting.";

impl Fault {
    /// Whether nobody is to be let in, or answered.
    pub(crate) const fn is_about_connecting(self) -> bool {
        matches!(self, Self::NoAnswer | Self::NotAccepted | Self::Refuse)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::SlowBody { writes, pause } => write!(f, "slow-body {writes} {}", Short(*pause)),
            Self::Stall => f.write_str("stall"),
            Self::NoAnswer => f.write_str("no-answer"),
            Self::NotAccepted => f.write_str("not-accepted"),
            Self::Refuse => f.write_str("refuse"),
            Self::Corrupt => f.write_str("corrupt"),
            Self::Stale => f.write_str("stale"),
            Self::MidBody => f.write_str("mid-body"),
            Self::Status503 => f.write_str("status-503"),
            Self::Delay(time) => write!(f, "delay {}", Short(*time)),
            Self::LieLength(by) => write!(f, "lie-length {by}"),
            Self::LieRange => f.write_str("lie-range"),
        }
    }
}

/// A duration as one word, in whole units.
struct Short(Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let units = [("s", 1_000_000_000_u128), ("ms", 1_000_000), ("us", 1000)];
        match units.iter().find(|(_, unit)| nanos.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", nanos / unit),
            None => write!(f, "{nanos}ns"),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let fault = match words[..] {
            ["none"] => Self::None,
            ["slow-body"] => Self::SlowBody { writes: TEN, pause: Duration::from_millis(30) },
            ["slow-body", writes, pause] => {
                let bad = |_| format!("`{writes}` is no number of writes: 1 or more");
                Self::SlowBody { writes: writes.parse().map_err(bad)?, pause: time(pause)? }
            }
            ["stall"] => Self::Stall,
            ["no-answer"] => Self::NoAnswer,
            ["not-accepted"] => Self::NotAccepted,
            ["refuse"] => Self::Refuse,
            ["corrupt"] => Self::Corrupt,
            ["stale"] => Self::Stale,
            ["mid-body"] => Self::MidBody,
            ["status-503"] => Self::Status503,
            ["delay", by] => Self::Delay(time(by)?),
            ["lie-length"] => Self::LieLength(-1),
            ["lie-length", by] => match by.parse() {
                Ok(0) | Err(_) => {
                    return Err(format!("`{by}` is no number of bytes to lie by, such as 3 or -3"));
                }
                Ok(by) => Self::LieLength(by),
            },
            ["lie-range"] => Self::LieRange,
            _ => return Err(format!("`{}` is no fault: see `hedgerow serve --help`", text.trim())),
        };
        Ok(fault)
    }
}

const TEN: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

/// A fault lasts no longer than this in one place: timers of years are of no use.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A time such as `30ms`.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time <= LONGEST => Ok(time),
        Ok(_) => Err(format!("`{text}` is longer than a day")),
        Err(error) => Err(format!("`{text}` is no time such as 30ms: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_back_as_it_is_written() {
        let faults = [
            "none",
            "slow-body 10 30ms",
            "slow-body 3 1500us",
            "stall",
            "no-answer",
            "not-accepted",
            "refuse",
            "corrupt",
            "stale",
            "mid-body",
            "status-503",
            "delay 2s",
            "lie-length -1",
            "lie-length 4096",
            "lie-range",
        ];
        for text in faults {
            assert_eq!(text.parse::<Fault>().map(|fault| fault.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("slow-body".parse::<Fault>(), "slow-body 10 30ms".parse());
        assert_eq!("lie-length".parse::<Fault>(), "lie-length -1".parse());
    }

    #[test]
    fn what_is_no_fault_is_refused_with_what_was_wrong() {
        let bad = [
            ("", "`` is no fault"),
            ("slow", "`slow` is no fault"),
            ("stall 3", "`stall 3` is no fault"),
            ("delay", "`delay` is no fault"),
            ("delay 3", "`3` is no time"),
            ("delay 2days", "longer than a day"),
            ("slow-body 0 1ms", "`0` is no number of writes"),
            ("lie-length 0", "`0` is no number of bytes"),
        ];
        for (text, why) in bad {
            let error = text.parse::<Fault>().expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
