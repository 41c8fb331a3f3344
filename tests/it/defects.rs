//! The known defects of SuperEdge's application-grid-wrapper: each has a test of the node proxy that names it, or cannot occur
//! in it.

use std::{collections::BTreeMap, fs, path::Path};

/// The rows of the list of defects: a letter, and how many rows it has. P: the protocol; T: topology; L: lifecycle; S: security;
/// K: kins; C: configuration; G: the controllers of grids.
const ROWS: [(char, usize); 7] = [('p', 23), ('t', 17), ('l', 8), ('s', 5), ('k', 10), ('c', 4), ('g', 4)];

/// Rows about what this proxy does not have.
const IMPOSSIBLE: [(&str, &str); 18] = [
    (
        "p18",
        "a watch waits for the cache, which lives as long as it does: there is no channel that another task closes",
    ),
    ("t14", "slices of v1beta1 are not served"),
    ("t17", "the annotation is SuperEdge's; `roster migrate topology` replaces it"),
    ("k1", "no kins: nothing is made of a reference to credentials"),
    ("k2", "no kins: tasks end when they are dropped, and no value is sent to stop them"),
    ("k3", "no kins: only the API server's own objects are cached, under their own names"),
    ("k4", "no kins: one API server is watched"),
    ("k5", "no kins: no object is written"),
    ("k6", "no kins: what is cached stays while a watch fails"),
    ("k7", "no kins: the scheme and the node are fixed at the start"),
    ("k8", "no kins: no unit is looked up by a label"),
    ("k9", "no kins: no Node is deleted"),
    ("k10", "no kins: lists and watches are of one cache"),
    ("c3", "a flag that nothing reads does not compile: dead code is an error"),
    ("g1", "no controller of grids"),
    ("g2", "no controller of grids: no object is written"),
    ("g3", "no controller of grids; objects of the cache cannot be changed"),
    ("g4", "no controller of grids"),
];

/// The rows in the names of tests below a folder.
fn named(folder: &Path, rows: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named(&path, rows);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for name in text.split(concat!("fn a", "15_")).skip(1) {
                let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let is_row = |word: &&str| word.split_at_checked(1).is_some_and(|(_, number)| is_number(number));
                for row in name.split('_').take_while(is_row) {
                    *rows.entry(row.to_owned()).or_default() += 1;
                }
            }
        }
    }
}

#[test]
fn every_known_defect_has_a_test_or_cannot_occur() {
    let all: Vec<String> =
        ROWS.iter().flat_map(|(letter, count)| (1..=*count).map(move |row| format!("{letter}{row}"))).collect();
    let mut tested = BTreeMap::new();
    for folder in ["crates", "src", "tests"] {
        named(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut tested);
    }
    let impossible: BTreeMap<&str, &str> = IMPOSSIBLE.into();
    assert!(tested.len() > 40 && impossible.len() == IMPOSSIBLE.len());
    for row in &all {
        let places = (tested.contains_key(row), impossible.contains_key(row.as_str()));
        assert!(places.0 != places.1, "{row}: tested, impossible: {places:?}");
    }
    let unknown: Vec<&String> = tested.keys().filter(|row| !all.contains(row)).collect();
    assert_eq!(unknown, Vec::<&String>::new());
}
