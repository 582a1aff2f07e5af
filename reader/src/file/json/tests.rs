//! Manifests that are cut, changed, hostile or from elsewhere.

use proptest::prelude::*;

use super::super::manifest::rotated;
use super::*;

/// A manifest within bounds, of `groups` groups, the last not full.
fn manifest(k: u8, m: u8, nodes: usize, groups: u64) -> Manifest {
    let mut manifest = Manifest {
        id: FileId([0xa5; 16]),
        generation: 7,
        k,
        m,
        cell_bytes: 4096,
        record_bytes: 1024,
        stripes_per_group: 2,
        length: 0,
        nodes: Vec::new(),
        placement: (0..groups).map(|group| rotated(group, k + m, nodes)).collect(),
    };
    let group_bytes = u64::from(k) * 4096 * 2;
    manifest.length = (groups * group_bytes).saturating_sub(group_bytes / 2);
    for node in 0..nodes {
        manifest.nodes.push(NodeEntry { label: format!("n{node}"), address: format!("http://h{node}/é\"") });
    }
    manifest
}

fn example() -> Manifest {
    manifest(3, 2, 6, 4)
}

/// The text with another part, and with the checksum of that.
fn changed(from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(example().to_bytes(1).expect("within bounds")).expect("JSON is text");
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    sealed(text.replace(from, to).as_bytes())
}

/// The text with the right checksum instead of its own.
fn sealed(text: &[u8]) -> Vec<u8> {
    let mut text = text[..text.len() - BEFORE_SUM.len() - 8 - AFTER_SUM.len()].to_vec();
    let sum = crc32c(&text);
    text.extend_from_slice(format!("{BEFORE_SUM}{sum:08x}{AFTER_SUM}").as_bytes());
    text
}

fn refused(from: &str, to: &str) -> ManifestError {
    Manifest::parse(&changed(from, to)).expect_err(to)
}

#[test]
fn a_manifest_reads_back_as_it_was_written_for_each_of_its_nodes() {
    for (k, m, nodes, groups) in [(1, 1, 2, 0), (1, 2, 3, 1), (6, 3, 9, 5), (6, 3, 12, 30), (60, 4, 1024, 3)]
    {
        let manifest = manifest(k, m, nodes, groups);
        for this in [0, nodes - 1] {
            let text = manifest.to_bytes(this).expect("within bounds");
            assert_eq!(Manifest::parse(&text), Ok((manifest.clone(), this)));
        }
        let error = manifest.to_bytes(nodes).expect_err("no such node");
        assert!(matches!(error, ManifestError::Limit { field: "this", .. }), "{error:?}");
    }
}

#[test]
fn a_version_one_text_stays_readable() {
    let text = concat!(
        r#"{"format":"hedgerow","version":1,"id":"000102030405060708090a0b0c0d0e0f","generation":2,"code":"rs-1-1","#,
        r#""matrix":"cauchy","cell":2048,"record":1024,"stripes":1,"length":2049,"nodes":[{"label":"a","address":"/a"},"#,
        r#"{"label":"b","address":"/b"}],"placement":[[0,1],[1,0]],"this":1,"later":{"x":[null]},"checksum":"65604ad7"}"#,
        "\n",
    );
    let (manifest, this) = Manifest::parse(text.as_bytes()).expect("a text of version 1");
    assert_eq!((this, manifest.id.to_string().as_str()), (1, "000102030405060708090a0b0c0d0e0f"));
    assert_eq!((manifest.k, manifest.m, manifest.generation, manifest.length), (1, 1, 2, 2049));
    assert_eq!((manifest.cell_bytes, manifest.record_bytes, manifest.stripes_per_group), (2048, 1024, 1));
    assert_eq!(manifest.nodes[1], NodeEntry { label: "b".into(), address: "/b".into() });
    assert_eq!(manifest.placement, [[0, 1], [1, 0]]);
}

#[test]
fn a_manifest_cut_anywhere_is_damaged() {
    let text = example().to_bytes(0).expect("within bounds");
    for cut in 0..text.len() {
        let error = Manifest::parse(&text[..cut]).expect_err("cut");
        assert!(matches!(error, ManifestError::Damaged { .. }), "{cut}: {error:?}");
    }
}

#[test]
fn each_flipped_bit_of_a_manifest_is_noticed() {
    let text = example().to_bytes(0).expect("within bounds");
    for bit in 0..text.len() * 8 {
        let mut damaged = text.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        Manifest::parse(&damaged).expect_err("damaged");
    }
}

#[test]
fn a_newer_manifest_is_called_newer_whatever_else_is_in_it() {
    let newer = ManifestError::Newer { version: 2 };
    assert_eq!(refused("\"version\":1", "\"version\":2"), newer);
    assert_eq!(Manifest::parse(br#"{"version":2,"format":"hedgerow","nodes":{}}"#), Err(newer));
    let other = ManifestError::Format { found: "sedgerow".into() };
    assert_eq!(refused("\"hedgerow\"", "\"sedgerow\""), other);
}

#[test]
fn hostile_values_are_refused_by_name_and_number() {
    let limits = [
        ("\"generation\":7", "\"generation\":0", "generation"),
        ("\"generation\":7", "\"generation\":9223372036854775809", "generation"),
        ("rs-3-2", "rs-0-2", "k"),
        ("rs-3-2", "rs-3-0", "m"),
        ("rs-3-2", "rs-60-5", "k + m"),
        ("rs-3-2", "rs-4-3", "groups of it"),
        ("\"cell\":4096", "\"cell\":0", "cell"),
        ("\"cell\":4096", "\"cell\":1073742848", "cell"),
        ("\"cell\":4096", "\"cell\":18446744073709551615", "cell"),
        ("\"record\":1024", "\"record\":0", "record"),
        ("\"record\":1024", "\"record\":2097152", "record"),
        ("\"stripes\":2", "\"stripes\":0", "stripes"),
        ("\"stripes\":2", "\"stripes\":65", "stripes"),
        ("\"length\":", "\"length\":99999999999", "groups"),
        ("\"this\":1", "\"this\":6", "this"),
        ("\"this\":1", "\"this\":18446744073709551615", "this"),
    ];
    for (from, to, field) in limits {
        match refused(from, to) {
            ManifestError::Limit { field: found, .. } if found == field => {}
            ManifestError::Groups { .. } | ManifestError::Placement { .. } if field == "groups of it" => {}
            error => panic!("{to}: {error:?}"),
        }
    }
    let records = ManifestError::Records { cell: 4097, record: 1024 };
    assert_eq!(refused("\"cell\":4096", "\"cell\":4097"), records);
    for code in ["", "rs", "rs-3", "rs-+3-2", "rs-03-2", "rs-3-2-1", "rs-300-2", "xor-3-1", "rs--3-2"] {
        let error = refused("rs-3-2", code);
        assert_eq!(error, ManifestError::Value { field: "code", found: code.into() });
    }
    for (from, to, field) in
        [("cauchy", "vandermonde", "matrix"), ("a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5", "a5", "id")]
    {
        assert_eq!(refused(from, to), ManifestError::Value { field, found: to.into() });
    }
}

#[test]
fn a_placement_that_is_not_one_node_a_cell_is_refused() {
    let row = "[0,1,2,3,4]";
    for bad in ["[0,1,2,3,3]", "[0,1,2,3,6]", "[0,1,2,3,65535]"] {
        assert_eq!(refused(row, bad), ManifestError::Placement { group: 0, cells: 5 });
    }
    for bad in ["[0,1,2,3]", "[]", "[0,1,2,3,4,5]", "[0,1,2,3,70000]", "[0,1,2,3,-4]", "7"] {
        assert!(matches!(refused(row, bad), ManifestError::Text(_)), "{bad}");
    }
    assert_eq!(refused("[0,1,2,3,4],", ""), ManifestError::Groups { found: 3, expected: 4 });
}

#[test]
fn nodes_without_names_of_their_own_are_refused() {
    let same = ManifestError::SameLabel { label: "n0".into(), nodes: [0, 5] };
    assert_eq!(refused("\"n5\"", "\"n0\""), same);
    let long = "x".repeat(256);
    for bad in ["", "a\\n", long.as_str()] {
        let error = refused("\"n5\"", &format!("\"{bad}\""));
        assert!(matches!(error, ManifestError::Node { index: 5, most: 255, .. }), "{error:?}");
    }
    let few = ManifestError::Limit { field: "nodes", found: 0, least: 5, most: 1024 };
    let text = String::from_utf8(example().to_bytes(1).expect("within bounds")).expect("JSON is text");
    let (start, end) =
        (text.find("\"nodes\":[").expect("nodes"), text.find(",\"placement\"").expect("placement"));
    let without =
        |nodes: &str| sealed(format!("{}\"nodes\":[{nodes}]{}", &text[..start], &text[end..]).as_bytes());
    assert_eq!(Manifest::parse(&without("")), Err(few));
    let many = vec![r#"{"label":"a","address":"b"}"#; 1025].join(",");
    assert!(matches!(Manifest::parse(&without(&many)), Err(ManifestError::Text(_))));
}

#[test]
fn a_text_that_is_too_long_is_not_read() {
    let text = vec![b' '; MOST_TEXT as usize + 1];
    assert_eq!(Manifest::parse(&text), Err(ManifestError::TooLong { bytes: MOST_TEXT + 1 }));
}

#[test]
fn a_manifest_out_of_bounds_is_not_written() {
    let mut doubled = example();
    doubled.placement[2][1] = doubled.placement[2][0];
    assert_eq!(doubled.to_bytes(0), Err(ManifestError::Placement { group: 2, cells: 5 }));
}

#[test]
fn a_quorum_and_the_answers_that_are_heard_always_meet() {
    for (k, m) in [(1, 1), (1, 2), (1, 8), (2, 2), (3, 2), (6, 3), (10, 4), (40, 24)] {
        for nodes in [k + m, k + m + 1, 100, 1024] {
            let mut manifest = example();
            (manifest.k, manifest.m) = (k as u8, m as u8);
            manifest.nodes = vec![NodeEntry { label: String::new(), address: String::new() }; nodes];
            let (quorum, answers) = (manifest.quorum(), manifest.answers());
            assert_eq!(quorum + answers, nodes + 1);
            assert!(2 * quorum > nodes, "two quorums meet");
            assert!(k <= m || nodes > k + m || (quorum == nodes - m && answers == m + 1));
        }
    }
}

proptest! {
    #[test]
    fn a_changed_manifest_is_refused_or_still_within_bounds(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        inserted in prop::option::of((any::<prop::sample::Index>(), "[0-9\\[\\]{},:\"]{0,6}")),
        seal in any::<bool>(),
    ) {
        let text = example().to_bytes(2).expect("within bounds");
        let mut mutated = text.clone();
        for (at, byte) in changes {
            let at = at.index(mutated.len());
            mutated[at] = byte;
        }
        if let Some((at, new)) = inserted {
            let at = at.index(mutated.len());
            mutated.splice(at..at, new.bytes());
        }
        if seal {
            mutated = sealed(&mutated);
        }
        if let Ok((manifest, this)) = Manifest::parse(&mutated) {
            prop_assert!(seal || mutated == text);
            prop_assert_eq!(manifest.check(), Ok(()));
            let again = manifest.to_bytes(this).expect("within bounds");
            prop_assert_eq!(Manifest::parse(&again), Ok((manifest, this)));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(text in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Manifest::parse(&text).is_err());
    }
}
