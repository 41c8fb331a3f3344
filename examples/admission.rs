//! What the validating webhook answers for an `AdmissionReview`: `cargo run --example admission`.

use std::{error::Error, fs::File};

use roster_admission::{self as admission, Mode, Rule, Settings, Stage};
use roster_manifests::{
    decode::{self, Source},
    inventory::{Answers, Inventory, Snapshot},
};

/// An Endpoints object with an address that a cluster must never publish.
const REVIEW: &str = r#"{
    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
    "request": {
        "uid": "7d7cd6f0-4e4d-4b3a-a8a8-5fa1a3ea1b6c",
        "kind": { "group": "", "version": "v1", "kind": "Endpoints" },
        "namespace": "shop", "name": "warehouse", "operation": "CREATE",
        "userInfo": { "username": "jane" },
        "object": {
            "apiVersion": "v1", "kind": "Endpoints", "metadata": { "namespace": "shop", "name": "warehouse" },
            "subsets": [{ "addresses": [{ "ip": "169.254.169.254" }], "ports": [{ "port": 80 }] }]
        }
    }
}"#;

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", answer("examples/shop.yaml")?);
    Ok(())
}

/// The webhook's answer to [`REVIEW`] in a cluster with the objects of a file.
pub(crate) fn answer(path: &str) -> Result<String, Box<dyn Error>> {
    // Rules ask the cluster which pods, nodes and Services there are.
    let mut inventory = Inventory::default();
    #[expect(clippy::disallowed_methods, reason = "only the core has no I/O")]
    decode::read(File::open(path)?, &Source::file(path), &mut inventory)?;
    let cluster = Snapshot::of(&inventory);

    // Every rule denies what it finds.
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Enforce);
    }
    let (version, request) = admission::read_review(REVIEW.as_bytes()).map_err(|e| e.to_string())?;
    let decision = admission::decide(&request, Stage::Validate, &settings, &Answers(cluster))?;
    Ok(String::from_utf8(admission::answer_review(version, &request.uid, &decision))? + "\n")
}
