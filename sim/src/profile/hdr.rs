//! HdrHistogram's V2 encoding.
//!
//! Read count by count, since the sizes that it claims may be anything: nothing is allocated for them.

use std::io::{BufReader, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;

use super::error::Problem;
use super::gather::Gather;

/// What V2 histograms begin with in base64.
pub(super) const BASE64: &str = "HIST";
/// What histograms of any version begin with.
const FIRST: &[u8] = &[0x1c, 0x84, 0x93];
const PLAIN: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;
/// Bits that count the values told apart in the first bucket, for 0 to 5 significant digits.
const BUCKET_BITS: [u32; 6] = [1, 5, 8, 11, 15, 18];

/// Whether bytes begin as histograms of some version do.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(FIRST)
}

/// Adds a histogram in base64.
pub(super) fn decode_base64(text: &str, gather: &mut Gather) -> Result<(), Problem> {
    let bytes = STANDARD.decode(text).map_err(|_| Problem::Base64)?;
    decode(&bytes, gather)
}

/// Adds a histogram.
pub(super) fn decode(bytes: &[u8], gather: &mut Gather) -> Result<(), Problem> {
    let mut rest = bytes;
    match u32_of(&mut rest)? {
        PLAIN => {
            rest = bytes;
            decode_plain(&mut rest, gather)?;
        }
        COMPRESSED => {
            let length = u32_of(&mut rest)?;
            let short = Problem::Short { bytes: rest.len(), needed: length };
            let (body, after) = rest.split_at_checked(length as usize).ok_or(short)?;
            decode_plain(&mut BufReader::new(ZlibDecoder::new(body)), gather)?;
            rest = after;
        }
        cookie => return Err(Problem::Cookie { cookie }),
    }
    if rest.is_empty() { Ok(()) } else { Err(Problem::Trailing { bytes: rest.len() }) }
}

fn decode_plain(from: &mut impl Read, gather: &mut Gather) -> Result<(), Problem> {
    let cookie = u32_of(from)?;
    if cookie != PLAIN {
        return Err(Problem::Cookie { cookie });
    }
    let length = u32_of(from)?;
    let offset = u32_of(from)?;
    if offset != 0 {
        return Err(Problem::Offset { offset });
    }
    let digits = u32_of(from)?;
    let bits = *usize::try_from(digits)
        .ok()
        .and_then(|digits| BUCKET_BITS.get(digits))
        .ok_or(Problem::Digits { digits })?;
    let least = u64::from_be_bytes(bytes_of(from)?);
    // The greatest trackable value only sizes the array that we do not have.
    let _most: [u8; 8] = bytes_of(from)?;
    let ratio = f64::from_be_bytes(bytes_of(from)?);
    if ratio != 1.0 {
        return Err(Problem::Ratio { ratio });
    }
    let unit_bits = least.checked_ilog2().filter(|unit| unit + bits <= 63).ok_or(Problem::Least { least })?;
    let buckets = u64::from(64 - bits - unit_bits) + 2;
    let most = buckets << (bits - 1);

    let mut body = from.take(u64::from(length));
    let mut index = 0_u64;
    while body.limit() > 0 {
        // Below 0: so many counts are 0.
        let number = zigzag_of(&mut body)?;
        if number > 0 {
            gather.add(value_of(index, bits - 1, unit_bits), number.unsigned_abs())?;
        }
        index = index.saturating_add(if number < 0 { number.unsigned_abs() } else { 1 });
        if index > most {
            return Err(Problem::TooFar { index, most });
        }
    }
    Ok(())
}

/// The value that a count stands for: the middle of those that are not told apart.
///
/// The first bucket has twice as many counts as each that follows, and each of these is twice as wide as the one before.
fn value_of(index: u64, half_bits: u32, unit_bits: u32) -> f64 {
    let half = 1 << half_bits;
    let (bucket, place) = match (index >> half_bits).checked_sub(1) {
        Some(bucket) => (bucket as u32, (index & (half - 1)) + half),
        None => (0, index),
    };
    let width = libm::scalbn(1.0, (bucket + unit_bits) as i32);
    place as f64 * width + (width - 1.0) / 2.0
}

/// A number of up to nine bytes, the lowest seven bits first; all eight of the last.
fn zigzag_of(from: &mut impl Read) -> Result<i64, Problem> {
    let mut bits = 0_u64;
    for place in 0..9 {
        let [byte] = bytes_of(from)?;
        let value = if place == 8 { byte } else { byte & 0x7f };
        bits |= u64::from(value) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
}

fn u32_of(from: &mut impl Read) -> Result<u32, Problem> {
    Ok(u32::from_be_bytes(bytes_of(from)?))
}

fn bytes_of<const N: usize>(from: &mut impl Read) -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(|_| Problem::Damaged)?;
    Ok(bytes)
}
