//! Profiles: latencies that were measured elsewhere, from the files of HdrHistogram or from CSV.

mod csv;
mod error;
mod gather;
mod hdr;
mod log;
mod percentiles;
#[cfg(test)]
mod tests;

use crate::{Empirical, Law};

use error::Problem;
pub use error::ProfileError;
use gather::Gather;

/// A latency histogram from outside.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    histogram: Empirical,
    format: Format,
    unit: Unit,
}

/// How latencies are written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// [HdrHistogram](https://hdrhistogram.github.io/HdrHistogram/)'s V2 encoding, compressed or not: as it is, or in lines of base64, of which
    /// each is a histogram; they are added.
    Hdr,
    /// HdrHistogram's log of intervals, `.hlog`. All intervals are added, whatever their tags.
    Log,
    /// HdrHistogram's text of percentiles, `.hgrm`, also amid other lines, as `wrk2` prints it.
    Percentiles,
    /// Lines of `value,count`: so many took no longer than the value, and longer than the next lower one; or lines of one value each. A header may
    /// name the unit: `ms,count`, `us,count`, `ns,count`, `s,count`.
    Csv,
}

/// The unit of the values of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// The unit that is written `ns`, `us`, `ms` or `s`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "ns" => Some(Self::Nanos),
            "us" | "\u{b5}s" | "\u{3bc}s" => Some(Self::Micros),
            "ms" => Some(Self::Millis),
            "s" => Some(Self::Seconds),
            _ => None,
        }
    }

    fn nanos(self) -> f64 {
        match self {
            Self::Nanos => 1.0,
            Self::Micros => 1e3,
            Self::Millis => 1e6,
            Self::Seconds => 1e9,
        }
    }
}

impl Profile {
    /// The latencies in `bytes`; their format is recognized if none is given. If no unit is given, it is what the file itself says, or else
    /// nanoseconds in binary histograms and logs, and milliseconds in texts.
    ///
    /// Memory stays within a few times the size of `bytes` and some megabytes, whatever they claim.
    ///
    /// # Errors
    /// If the bytes are not of the format or hold no latency; the error says what is wrong, in which line.
    pub fn parse(bytes: &[u8], format: Option<Format>, unit: Option<Unit>) -> Result<Self, ProfileError> {
        let format = match format {
            Some(format) => format,
            None => recognize(bytes)?,
        };
        let (histogram, unit) = match format {
            Format::Hdr => {
                let unit = unit.unwrap_or(Unit::Nanos);
                let mut gather = Gather::new(unit);
                if hdr::is_binary(bytes) {
                    hdr::decode(bytes, &mut gather).map_err(|problem| problem.in_the_whole())?;
                } else {
                    for (number, line) in lines(text(bytes)?) {
                        hdr::decode_base64(line, &mut gather).map_err(|problem| problem.in_line(number))?;
                    }
                }
                (gather.finish(), unit)
            }
            Format::Log => {
                let unit = unit.unwrap_or(Unit::Nanos);
                let mut gather = Gather::new(unit);
                log::parse(text(bytes)?, &mut gather)?;
                (gather.finish(), unit)
            }
            Format::Percentiles => {
                let unit = unit.unwrap_or(Unit::Millis);
                (percentiles::parse(text(bytes)?, unit)?, unit)
            }
            Format::Csv => csv::parse(text(bytes)?, unit)?,
        };
        let histogram = histogram.ok_or(Problem::Nothing.in_the_whole())?;
        Ok(Self { histogram, format, unit })
    }

    /// The law of these latencies.
    #[must_use]
    pub fn law(&self) -> Law {
        Law::Empirical(self.histogram.clone())
    }

    /// How many latencies were measured.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.histogram.samples()
    }

    /// The time in milliseconds that this share of the latencies, 0 to 1, did not exceed.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        self.histogram.quantile_above(1.0 - quantile)
    }

    /// The format that the profile was read from.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The unit that its values were taken to be in.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }
}

/// The format that bytes are in, by what each cannot do without; what is none of the others is taken for CSV.
fn recognize(bytes: &[u8]) -> Result<Format, ProfileError> {
    if hdr::is_binary(bytes) {
        return Ok(Format::Hdr);
    }
    let text = text(bytes)?;
    let first = lines(text).map(|(_, line)| line).find(|line| !line.starts_with('#'));
    if first.is_some_and(|line| line.starts_with(hdr::BASE64)) {
        return Ok(Format::Hdr);
    }
    if first.is_some_and(log::is_legend_or_interval) {
        return Ok(Format::Log);
    }
    if lines(text).any(|(_, line)| percentiles::is_header(line)) {
        return Ok(Format::Percentiles);
    }
    Ok(Format::Csv)
}

fn text(bytes: &[u8]) -> Result<&str, ProfileError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| Problem::NotText { at: error.valid_up_to() }.in_the_whole())
}

/// The lines that are not blank, without the space around them, numbered from 1.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty())
}
