//! What `roster lint` reports about many objects at once, each in a directory of its own.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::{Value, json};

/// The errors about each object, by its index. Each is in a directory with a Node of the name `node`, which makes the
/// directories clusters of their own.
pub(crate) fn errors<'v>(
    mut roster: Command,
    objects: impl IntoIterator<Item = &'v Value>,
    node: &str,
    families: &str,
) -> BTreeMap<usize, Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } }).to_string();
    for (index, object) in objects.into_iter().enumerate() {
        let of_object = folder.path().join(index.to_string());
        fs::create_dir(&of_object).unwrap();
        fs::write(of_object.join("node.json"), &node).unwrap();
        fs::write(of_object.join("object.json"), object.to_string()).unwrap();
    }
    let output =
        roster.arg("lint").arg(folder.path()).args(["-o", "json", "--ip-families", families]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut errors: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for finding in document["items"].as_array().unwrap().iter().filter(|f| f["severity"] == "error") {
        let file = Path::new(finding["file"].as_str().unwrap());
        let index = file.parent().and_then(|folder| folder.file_name()?.to_str()?.parse().ok()).unwrap();
        errors.entry(index).or_default().push(finding.clone());
    }
    errors
}
