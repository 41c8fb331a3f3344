//! The bill of materials: what the program is made of, as CycloneDX.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::crates::{self, Crate, Id};
use super::{Release, files, linked};
use crate::steps::Outcome;

/// Writes the bill of materials.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let crates = crates::of_program()?;
    let document = document(release, &files::package()?, &crates)?;
    let file = release.bill_of_materials();
    println!("    {file}: {} components", document["components"].as_array().map_or(0, Vec::len));
    release.write(&file, serde_json::to_vec_pretty(&document)?)?;
    Ok(Outcome::Passed)
}

fn document(release: &Release, package: &Value, crates: &BTreeMap<Id, Crate>) -> Result<Value> {
    let root = ("roster".to_owned(), release.version.clone());
    let mut components: Vec<Value> =
        crates.iter().filter(|(id, _)| **id != root).map(|(id, c)| component("library", id, c)).collect();
    let beside = linked::beside(crates);
    components.extend(beside.iter().map(|linked| {
        json!({
            "type": "library", "bom-ref": linked.purl(), "name": linked.name, "version": linked.version,
            "purl": linked.purl(), "licenses": [{ "expression": linked.license }],
        })
    }));
    let mut dependencies: Vec<Value> = Vec::new();
    for (id, crate_) in crates {
        let mut needs: Vec<String> = crate_.dependencies.iter().map(purl).collect();
        if *id == root {
            needs.extend(beside.iter().map(|linked| linked.purl()));
        }
        dependencies.push(json!({ "ref": purl(id), "dependsOn": needs }));
    }
    let mut subject = component("application", &root, crates.get(&root).context("no crate `roster`")?);
    subject["externalReferences"] = json!([{ "type": "vcs", "url": package["repository"], "comment": release.commit }]);
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "timestamp": release.time()?, "component": subject },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component(kind: &str, id: &Id, crate_: &Crate) -> Value {
    // The older way to write a choice.
    let license = crate_.package["license"].as_str().unwrap_or_default().replace('/', " OR ");
    let mut component = json!({
        "type": kind, "bom-ref": purl(id), "name": id.0, "version": id.1, "purl": purl(id),
        "licenses": [{ "expression": license }],
    });
    if let Some(checksum) = &crate_.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// The package URL. A version may have build metadata, whose `+` is escaped.
fn purl((name, version): &Id) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}
