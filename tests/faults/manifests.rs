//! Manifests that are cut short, newer than this program, or hostile, on real servers: clear errors that name the nodes, and a file that
//! opens as long as enough of its copies are good.

use std::fs;
use std::time::Duration;

use hedgerow_reader::{FileError, open};
use serde_json::{Value, json};

use crate::cluster::{Cluster, NAME, NODES, Reading, hedging_after, label, pattern, shape};

/// Copies that may be bad: from four that answer it is sure which manifest is in force.
const MOST_BAD: usize = 5;

/// A change of a manifest's text, and what the error says of it.
type Forgery = (&'static str, fn(&str) -> Vec<u8>, &'static str);

const FORGERIES: &[Forgery] = &[
    ("empty", |_| Vec::new(), "damaged manifest"),
    ("cut in half", |text| text.as_bytes()[..text.len() / 2].to_vec(), "damaged manifest"),
    ("without its last byte", |text| text.as_bytes()[..text.len() - 1].to_vec(), "damaged manifest"),
    ("another generation", |text| text.replacen("\"generation\":1", "\"generation\":9", 1).into(), "damaged"),
    ("17 MiB of zeros", |_| vec![0; 17 << 20], "too long"),
    ("brackets", |_| summed(&"[".repeat(100_000)), "not the text of a manifest"),
    ("newer", |text| forged(text, |it| it["version"] = json!(2)), "version 2"),
    ("something else", |text| forged(text, |it| it["format"] = json!("other")), "\"other\""),
    ("too few nodes", |text| forged(text, |it| it["nodes"] = json!([it["nodes"][0]])), "nodes is 1"),
    ("no data cells", |text| forged(text, |it| it["code"] = json!("rs-0-3")), "k is 0"),
    ("too many cells", |text| forged(text, |it| it["code"] = json!("rs-60-60")), "k + m is 120"),
    ("another code", |text| forged(text, |it| it["code"] = json!("xor-6")), "\"xor-6\""),
    ("another matrix", |text| forged(text, |it| it["matrix"] = json!("magic")), "\"magic\""),
    ("no record", |text| forged(text, |it| it["record"] = json!(0)), "record is 0"),
    ("a huge cell", |text| forged(text, |it| it["cell"] = json!(u64::MAX)), "cell is 18446744073709551615"),
    ("cells of half records", |text| forged(text, |it| it["cell"] = json!(65_537)), "whole records"),
    ("many stripes", |text| forged(text, |it| it["stripes"] = json!(65)), "stripes is 65"),
    ("a huge file", |text| forged(text, |it| it["length"] = json!(u64::MAX)), "groups is"),
    ("a longer file", |text| forged(text, |it| it["length"] = json!(1 << 30)), "the placement of 1 groups"),
    ("a name of its own", |text| forged(text, |it| it["id"] = json!("../../../../../etc/passwd")), "id of a"),
    ("a label of lines", |text| forged(text, |it| it["nodes"][3]["label"] = json!("a\nb")), "node 3"),
    ("nowhere", |text| forged(text, |it| it["placement"][0][2] = json!(65_535)), "group 0"),
    (
        "all in one place",
        |text| forged(text, |it| it["placement"] = json!([[1, 1, 1, 1, 1, 1, 1, 1, 1]])),
        "group 0",
    ),
    ("minus one", |text| forged(text, |it| it["placement"][0][0] = json!(-1)), "not the text of a manifest"),
    ("a node beyond", |text| forged(text, |it| it["this"] = json!(9)), "this is 9"),
];

/// The text with a change, and the right checksum.
fn forged(text: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut fields: Value = serde_json::from_str(text).expect("a manifest");
    fields.as_object_mut().expect("fields").remove("checksum");
    change(&mut fields);
    let text = fields.to_string();
    summed(text.strip_suffix('}').expect("an object"))
}

fn summed(text: &str) -> Vec<u8> {
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, text.as_bytes());
    format!("{text},\"checksum\":\"{sum:08x}\"}}\n").into()
}

#[tokio::test]
async fn a_bad_manifest_is_a_clear_error_and_a_minority_of_them_is_none() {
    let cluster = Cluster::start().await;
    let data = pattern(300_000, 6);
    cluster.put(NAME, &data, shape(64 << 10, 4096, 2)).await;
    let path = |node: usize| cluster.folder(node).join(NAME).join("manifest.json");
    let good: Vec<String> =
        (0..NODES).map(|node| fs::read_to_string(path(node)).expect("a manifest")).collect();
    // As this test writes it, it is read.
    fs::write(path(0), forged(&good[0], |_| ())).expect("a copy");
    open(NAME, &cluster.nodes()).await.expect("opened");
    for (what, forge, says) in FORGERIES {
        for (node, good) in good.iter().enumerate() {
            let bytes = if node < MOST_BAD { forge(good) } else { good.clone().into_bytes() };
            fs::write(path(node), bytes).expect("a copy");
        }
        let reading = Reading::of(NAME, cluster.nodes(), hedging_after(Duration::from_secs(5))).await;
        assert!(reading.reader.read_at(0, data.len() as u64).await.expect("read") == data, "{what}");
        reading.end().await;

        fs::write(path(MOST_BAD), forge(&good[MOST_BAD])).expect("a copy");
        let error = open(NAME, &cluster.nodes()).await.err().expect(what);
        let FileError::TooFewAnswers { heard, needed, failed, .. } = &error else {
            panic!("{what}: {error:?}")
        };
        assert_eq!((*heard, *needed), (3, 4), "{what}: {error}");
        let named: Vec<&str> = failed.iter().map(|failed| &*failed.node).collect();
        assert_eq!(named, (0..=MOST_BAD).map(label).collect::<Vec<_>>(), "{what}: {error}");
        for failed in failed {
            assert!(failed.to_string().contains(says), "no {says} for {what}: {failed}");
        }
    }
}

#[tokio::test]
async fn servers_with_faults_keep_a_file_from_being_opened_only_when_too_many_have_them() {
    let mut cluster = Cluster::start().await;
    let data = pattern(300_000, 7);
    cluster.put(NAME, &data, shape(64 << 10, 4096, 2)).await;
    for fault in ["refuse", "status-503", "mid-body", "corrupt", "lie-length -1", "lie-length 1", "lie-range"]
    {
        cluster.only(&[0, 2, 4, 6, 8], fault).await;
        let opened = open(NAME, &cluster.nodes()).await.unwrap_or_else(|error| panic!("{fault}: {error}"));
        assert_eq!(opened.manifest.length, data.len() as u64);
        cluster.fault(1, fault).await;
        let error = open(NAME, &cluster.nodes()).await.err().expect(fault);
        let FileError::TooFewAnswers { heard: 3, needed: 4, failed, .. } = &error else {
            panic!("{fault}: {error:?}")
        };
        let named: Vec<&str> = failed.iter().map(|failed| &*failed.node).collect();
        assert_eq!(named, [0, 1, 2, 4, 6, 8].map(label), "{fault}: {error}");
    }
    // Those that let nothing be heard are not waited for while the others suffice.
    for fault in ["stall", "no-answer", "not-accepted", "delay 60s"] {
        cluster.only(&[1, 3, 5], fault).await;
        let open = tokio::time::timeout(Duration::from_secs(15), async {
            open(NAME, &cluster.nodes()).await.map(|opened| opened.manifest)
        });
        let manifest = open.await.unwrap_or_else(|_| panic!("{fault} is waited for"));
        assert_eq!(manifest.expect("opened").length, data.len() as u64);
    }
}
