//! Schemas for `kubeconform`, made of the API server's own description: the usual ones are fetched from elsewhere.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::kubectl_well;
use crate::{control_plane::ControlPlane, wait};

/// The files of the kinds of other projects in the chart.
const OF_OTHERS: [&str; 5] = [
    "monitoring.coreos.com_v1_podmonitor.json",
    "monitoring.coreos.com_v1_prometheusrule.json",
    "monitoring.coreos.com_v1_servicemonitor.json",
    "cert-manager.io_v1_certificate.json",
    "cert-manager.io_v1_issuer.json",
];

/// A folder with a schema for each kind.
pub(super) struct Schemas(PathBuf);

impl Schemas {
    /// Of all kinds that the API server has. It publishes those of a CRD a while after the CRD is established.
    pub(super) fn of(plane: &ControlPlane, folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        wait("the schemas of the CRDs are published", || {
            Self::write(plane, folder);
            OF_OTHERS.iter().all(|file| folder.join(file).exists()).then_some(())
        });
        Self(folder.to_owned())
    }

    /// Writes those that are published.
    fn write(plane: &ControlPlane, folder: &Path) {
        let index: Value = serde_json::from_str(&kubectl_well(plane, "get --raw /openapi/v3", "")).unwrap();
        for place in index["paths"].as_object().unwrap().values() {
            let url = place["serverRelativeURL"].as_str().unwrap();
            let document: Value = serde_json::from_str(&kubectl_well(plane, &format!("get --raw {url}"), "")).unwrap();
            let Some(mut components) = document["components"]["schemas"].as_object().cloned() else { continue };
            components.values_mut().for_each(close);
            let names: BTreeMap<String, Vec<Value>> = components
                .iter()
                .filter_map(|(name, schema)| {
                    Some((name.clone(), schema["x-kubernetes-group-version-kind"].as_array()?.clone()))
                })
                .collect();
            let components = Value::from(components);
            for (name, kinds) in names.iter().filter(|(_, kinds)| kinds.len() == 1) {
                let [group, version, kind] = ["group", "version", "kind"].map(|part| kinds[0][part].as_str().unwrap());
                let group = if group.is_empty() { version } else { group };
                let schema = json!({
                    "$ref": format!("#/components/schemas/{name}"),
                    "components": { "schemas": components },
                });
                let file = format!("{group}_{version}_{}.json", kind.to_lowercase());
                fs::write(folder.join(file), schema.to_string()).unwrap();
            }
        }
    }

    /// Fails unless so many objects are valid.
    pub(super) fn check(&self, text: &str, objects: usize) {
        let place =
            format!("{}/{{{{ .Group }}}}_{{{{ .ResourceAPIVersion }}}}_{{{{ .ResourceKind }}}}.json", self.0.display());
        let mut kubeconform = Command::new("kubeconform")
            .args(["-strict", "-output", "json", "-summary", "-schema-location", &place, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        kubeconform.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let out = kubeconform.wait_with_output().unwrap();
        let told = String::from_utf8(out.stdout).unwrap();
        let answer: Value = serde_json::from_str(&told).unwrap();
        assert!(out.status.success() && answer["summary"]["valid"] == objects, "{objects} objects: {told}");
    }
}

/// Allows no unknown fields in the objects of a schema, as API servers do with `fieldValidation=Strict`.
fn close(schema: &mut Value) {
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true || !schema["additionalProperties"].is_null();
    if schema["properties"].is_object() && !is_open {
        schema["additionalProperties"] = false.into();
    }
    // Not in `allOf` and the like, whose parts are about the same object.
    for place in ["items", "additionalProperties"] {
        if schema[place].is_object() {
            close(&mut schema[place]);
        }
    }
    // An index would add the field.
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(close);
    }
}
