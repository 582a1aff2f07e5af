//! Profiles of every format, and of none.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer, V2Serializer};
use proptest::prelude::*;

use super::*;
use crate::{Random, Sampler};

/// A million latencies in nanoseconds.
fn measured() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 1 << 40, 3).unwrap();
    let sampler = Sampler::new(&Law::named("heavy").unwrap());
    let mut random = Random::new(9);
    for _ in 0..1_000_000 {
        histogram.record(sampler.sample(random.bits())).unwrap();
    }
    histogram
}

fn plain(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
    bytes
}

fn compressed(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
    bytes
}

fn recognized(bytes: impl AsRef<[u8]>) -> Profile {
    Profile::parse(bytes.as_ref(), None, None).unwrap()
}

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, line: Option<u64>, message: &str) {
    let error = Profile::parse(bytes.as_ref(), None, None).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.line()), (message, line));
}

#[test]
fn every_encoding_of_a_histogram_makes_the_same_profile() {
    let histogram = measured();
    let raw = recognized(plain(&histogram));
    assert_eq!((raw.samples(), raw.format(), raw.unit()), (1_000_000, Format::Hdr, Unit::Nanos));
    for quantile in [0.01, 0.5, 0.99, 0.999, 0.99999, 1.0] {
        let expected = histogram.value_at_quantile(quantile) as f64 / 1e6;
        assert!((raw.quantile_ms(quantile) / expected - 1.0).abs() < 2e-3, "{quantile}");
    }
    assert_eq!(recognized(compressed(&histogram)), raw);
    assert_eq!(recognized(STANDARD.encode(plain(&histogram))), raw);
    assert_eq!(recognized(format!("\n  {}\r\n\n", STANDARD.encode(compressed(&histogram)))), raw);
}

#[test]
fn intervals_and_lines_are_added_whatever_their_tags() {
    let histogram = measured();
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("a comment")
        .begin_log_with(&mut log, &mut serializer)
        .unwrap();
    let second = std::time::Duration::from_secs(1);
    writer.write_histogram(&histogram, second, second, None).unwrap();
    writer.write_histogram(&histogram, 2 * second, second, Tag::new("reads")).unwrap();
    let profile = recognized(&log);
    assert_eq!((profile.samples(), profile.format()), (2_000_000, Format::Log));
    let line = STANDARD.encode(compressed(&histogram));
    assert_eq!(profile.law(), recognized(format!("{line}\n{line}")).law());

    let text = String::from_utf8(log).unwrap();
    let line = text.lines().count() as u64;
    refused(
        format!("{text}1,2,HISTFAAA\n"),
        Some(line + 1),
        &format!("line {}: has 3 fields where 4 are expected", line + 1),
    );
    refused(format!("{text}1,2,3,HIST*\n"), Some(line + 1), &format!("line {}: is not base64", line + 1));
}

#[test]
fn histograms_of_any_digits_and_least_value_are_understood() {
    for digits in 0..=5 {
        for least in [1, 2, 1_000, 1 << 20] {
            let mut histogram = Histogram::<u64>::new_with_bounds(least, 1 << 49, digits).unwrap();
            let mut random = Random::new(u64::from(digits));
            for _ in 0..300 {
                histogram.record(random.bits() >> (15 + random.below(40))).unwrap();
            }
            let mut expected = Gather::new(Unit::Nanos);
            for step in histogram.iter_recorded() {
                let low = histogram.lowest_equivalent(step.value_iterated_to());
                let middle = low as f64 + (step.value_iterated_to() - low) as f64 / 2.0;
                expected.add(middle, step.count_since_last_iteration()).unwrap();
            }
            let profile = recognized(compressed(&histogram));
            assert_eq!(Some(profile.histogram), expected.finish(), "{digits} digits from {least}");
        }
    }
}

#[test]
fn the_unit_scales_every_value() {
    let histogram = measured();
    let nanos = recognized(plain(&histogram));
    let micros = Profile::parse(&plain(&histogram), None, Some(Unit::Micros)).unwrap();
    assert!((micros.quantile_ms(0.99) / nanos.quantile_ms(0.99) / 1e3 - 1.0).abs() < 1e-3);
    for (name, unit) in [
        ("ns", Unit::Nanos),
        ("us", Unit::Micros),
        ("\u{b5}s", Unit::Micros),
        ("ms", Unit::Millis),
        ("s", Unit::Seconds),
    ] {
        let profile = recognized(format!("{name},count\n2,1\n4,1\n"));
        assert_eq!((profile.unit(), profile.quantile_ms(1.0)), (unit, 4.0 * unit.nanos() / 1e6));
    }
    assert_eq!(Unit::named("minutes"), None);
}

#[test]
fn percentiles_are_found_amid_other_lines() {
    let text = "\
Running 10s test @ http://127.0.0.1:80
  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       1.000     0.000000            4         1.00
       2.000     0.500000           50         2.00
       4.000     0.750000           75         4.00
       8.000     1.000000          100          inf
#[Mean    =        2.139, StdDeviation   =        2.168]
#[Max     =        8.000, Total count    =          100]
----------------------------------------------------------
  1000 requests in 10.00s, 1.00MB read
";
    let profile = recognized(text);
    assert_eq!(
        (profile.samples(), profile.format(), profile.unit()),
        (100, Format::Percentiles, Unit::Millis)
    );
    assert_eq!([0.5, 0.625, 0.75, 1.0].map(|quantile| profile.quantile_ms(quantile)), [2.0, 3.0, 4.0, 8.0]);
    assert!(profile.quantile_ms(0.0) > 0.98);
    let quoted =
        "\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\"\n1.0,0.0,4,1.0\n8.0,1.0,100,Infinity\n";
    assert_eq!(recognized(quoted).quantile_ms(1.0), 8.0);

    let falls = text.replace("   75   ", "   40   ");
    refused(falls, Some(7), "line 7: the count falls from 50 to 40");
    refused(text.replace("4.000 ", "1.500 "), Some(7), "line 7: the value falls from 2 to 1.5");
    refused(
        text.replace("0.750000           75         4.00", ""),
        Some(7),
        "line 7: has 1 fields where 3 or 4 are expected",
    );
    let none = Profile::parse(b"1,2\n", Some(Format::Percentiles), None).unwrap_err();
    assert_eq!(none.to_string(), "no line has the columns Value, Percentile and TotalCount");
}

#[test]
fn lines_of_csv_are_counts_up_to_a_value_in_any_order() {
    let profile = recognized("# a comment\n\nms, count\n10, 10\n1,80\n5,10\n10,0\n");
    assert_eq!((profile.samples(), profile.format()), (100, Format::Csv));
    let quarters = recognized("1,2\n3,1\n10,1\n");
    assert_eq!([0.25, 0.5, 0.625, 1.0].map(|quantile| quarters.quantile_ms(quantile)), [0.5, 1.0, 2.0, 10.0]);
    assert_eq!(recognized("\u{feff}1,80\n5,10\n10,10\n").law(), profile.law());
    assert_eq!(recognized("0,1\n").quantile_ms(1.0), 1e-6);
}

#[test]
fn lines_of_one_value_are_latencies() {
    let values: String = (1..=1_000).map(|value| format!("{value}\n")).collect();
    let profile = recognized(format!("us\n{values}"));
    assert_eq!((profile.samples(), profile.unit()), (1_000, Unit::Micros));
    for quantile in [0.5, 0.9, 0.99] {
        assert!((profile.quantile_ms(quantile) / quantile - 1.0).abs() < 2e-3);
    }
    // What lies far apart keeps its gap.
    let profile = recognized("1\n1\n1\n100\n");
    assert!(profile.quantile_ms(0.74) < 1.01 && profile.quantile_ms(0.76) > 98.0);
}

#[test]
fn what_is_wrong_with_a_text_is_said_with_its_line() {
    refused("", None, "there is no latency in it");
    refused("# nothing\n", None, "there is no latency in it");
    refused("ms,count\n", None, "there is no latency in it");
    refused("1,0\n", None, "there is no latency in it");
    refused("1,1\n2;2\n", Some(2), "line 2: has 1 fields where 2 are expected");
    refused("1,1\n2,-2\n", Some(2), "line 2: \"-2\" is not a count");
    refused("1,1\n2,99999999999999999999\n", Some(2), "line 2: \"99999999999999999999\" is not a count");
    refused("1\nx\n", Some(2), "line 2: \"x\" is not a number");
    refused("1\n\n-1\n", Some(3), "line 3: a latency is -1.0, but must be from 0 to 1.125899906842624e9 ms");
    refused("1\nNaN\n", Some(2), "line 2: a latency is NaN, but must be from 0 to 1.125899906842624e9 ms");
    refused(
        "1\n1e300\n",
        Some(2),
        "line 2: a latency is 1e300, but must be from 0 to 1.125899906842624e9 ms",
    );
    refused(
        "min,count\n",
        Some(1),
        "line 1: \"min\" is not a number, and not a header either: that begins with ns, us, ms or s",
    );
    refused("1,2,3\n", Some(1), "line 1: has 3 fields where 1 or 2 are expected");
    refused(b"1\n\xff\n", None, "neither a histogram's first bytes nor text: byte 2 is not UTF-8");
    refused(format!("1,{0}\n2,{0}\n", u64::MAX), None, "has counts that add up to more than 64 bits hold");
    let many: String = (0..=1 << 20).map(|value| format!("{value},1\n")).collect();
    refused(many, Some((1 << 20) + 1), "line 1048577: has more than 1048576 different values");
}

/// An uncompressed histogram.
fn forged(offset: u32, digits: u32, least: u64, ratio: f64, length: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x1c, 0x84, 0x93, 0x13];
    bytes.extend(length.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(digits.to_be_bytes());
    bytes.extend(least.to_be_bytes());
    bytes.extend(u64::MAX.to_be_bytes());
    bytes.extend(ratio.to_be_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn a_histogram_that_claims_what_it_has_not_is_refused() {
    assert_eq!(recognized(forged(0, 5, 1, 1.0, 1, &[2])).samples(), 1);
    refused(forged(7, 3, 1, 1.0, 1, &[2]), None, "is shifted by 7; only histograms that are not can be read");
    refused(forged(0, 6, 1, 1.0, 1, &[2]), None, "has 6 significant digits; 0 to 5 are possible");
    refused(
        forged(0, 3, 1, 0.5, 1, &[2]),
        None,
        "has a conversion ratio of 0.5; only histograms of whole numbers (ratio 1) can be read",
    );
    for least in [0, 1 << 60] {
        let message = format!("its lowest discernible value is {least}, which leaves no room for its digits");
        refused(forged(0, 3, least, 1.0, 1, &[2]), None, &message);
    }
    refused(forged(0, 3, 1, 1.0, u32::MAX, &[2]), None, "the histogram is damaged or cut short");
    refused(forged(0, 3, 1, 1.0, 1, &[2, 2, 2]), None, "has 2 bytes after its end");
    // The number with all bits set: as many empty counts as there are numbers.
    refused(
        forged(0, 3, 1, 1.0, 9, &[0xff; 9]),
        None,
        "has a count number 9223372036854775808, but no more than 56320 are possible",
    );
    let many = [[0xfe; 8].as_slice(), &[0xff]].concat();
    let twice = [many.clone(), many.clone(), many].concat();
    refused(forged(0, 3, 1, 1.0, 27, &twice), None, "has counts that add up to more than 64 bits hold");
    refused(
        [0x1c, 0x84, 0x93, 0x01, 0, 0, 0, 0],
        None,
        "begins with 0x1c849301, which is not HdrHistogram's V2 encoding of whole numbers",
    );
    refused(
        [0x1c, 0x84, 0x93, 0x14, 0xff, 0, 0, 0, 9],
        None,
        "has 1 bytes of compressed data where it says 4278190080",
    );
    let bytes = compressed(&measured());
    for length in 3..bytes.len() {
        assert!(Profile::parse(&bytes[..length], None, None).is_err(), "{length} bytes");
    }
}

#[test]
fn a_histogram_that_inflates_without_end_is_refused() {
    use std::io::Write as _;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&forged(0, 3, 1, 1.0, u32::MAX, &vec![0; 1 << 24])).unwrap();
    let body = zlib.finish().unwrap();
    let mut bytes = vec![0x1c, 0x84, 0x93, 0x14];
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    refused(bytes, None, "has a count number 56321, but no more than 56320 are possible");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), start in 0_usize..4) {
        let starts: [&[u8]; 4] = [b"", b"\x1c\x84\x93\x13", b"\x1c\x84\x93\x14\0\0\0\x20\x78\x9c", b"Value Percentile TotalCount\n"];
        let bytes = [starts[start], &bytes].concat();
        let _ = Profile::parse(&bytes, None, None);
    }

    #[test]
    fn no_text_does_harm(text in "([0-9.,eE+ -]{0,9}|HIST|Tag=a|#|ms|count|inf|nan|\n){0,40}") {
        for format in [None, Some(Format::Hdr), Some(Format::Log), Some(Format::Percentiles), Some(Format::Csv)] {
            if let Ok(profile) = Profile::parse(text.as_bytes(), format, None) {
                prop_assert!(profile.samples() > 0);
                prop_assert!(profile.law().check().is_ok());
                prop_assert!(profile.quantile_ms(0.5) <= profile.quantile_ms(1.0));
            }
        }
    }
}
