//! HdrHistogram's log of intervals: a histogram a line, in base64.

use super::error::{Problem, ProfileError};
use super::gather::Gather;
use super::{hdr, lines};

/// Begin, length, maximum, histogram; a tag may stand before them.
const FIELDS: usize = 4;

/// Whether a line is the legend of a log, or one of its intervals.
pub(super) fn is_legend_or_interval(line: &str) -> bool {
    is_legend(line)
        || line.rsplit_once(',').is_some_and(|(_, last)| last.trim_start().starts_with(hdr::BASE64))
}

fn is_legend(line: &str) -> bool {
    line.starts_with("\"StartTimestamp\"")
}

/// Adds all intervals.
pub(super) fn parse(text: &str, gather: &mut Gather) -> Result<(), ProfileError> {
    for (number, line) in lines(text) {
        if line.starts_with('#') || is_legend(line) {
            continue;
        }
        let fields = line.split(',').filter(|field| !field.starts_with("Tag=")).count();
        let Some((_, histogram)) = line.rsplit_once(',').filter(|_| fields == FIELDS) else {
            return Err(Problem::Fields { fields, expected: "4" }.in_line(number));
        };
        hdr::decode_base64(histogram.trim(), gather).map_err(|problem| problem.in_line(number))?;
    }
    Ok(())
}
