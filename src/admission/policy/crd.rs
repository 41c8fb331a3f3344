//! The `CustomResourceDefinition` of `EndpointPolicy`.

use serde_json::{Value, json};

use super::{
    schema,
    version::{GROUP, KIND, Version},
};

/// Name of the resource.
const PLURAL: &str = "endpointpolicies";

/// The definition, without the client configuration of its conversion webhook: that belongs to an installation.
pub fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": KIND,
                "listKind": format!("{KIND}List"),
                "plural": PLURAL,
                "singular": "endpointpolicy",
                "shortNames": ["epol"],
                "categories": ["roster"],
            },
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1", "v1beta1"]},
            },
            // The newest first: it is what kubectl asks for.
            "versions": Version::ALL.iter().rev().map(|v| version(*v)).collect::<Vec<_>>(),
        },
    })
}

fn version(version: Version) -> Value {
    let capacity = match version {
        Version::V1 => ".spec.capacity.action",
        Version::V1alpha1 => ".spec.capacityAction",
    };
    let condition = |name: &str| {
        let path = format!(".status.conditions[?(@.type==\"{name}\")].status");
        json!({"name": name, "type": "string", "jsonPath": path})
    };
    json!({
        "name": version.name(),
        "served": true,
        "storage": version == Version::V1,
        "schema": {"openAPIV3Schema": schema::object(version)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Default", "type": "string", "jsonPath": ".spec.defaultMode"},
            {"name": "Capacity", "type": "string", "jsonPath": capacity},
            condition("Accepted"),
            condition("Ready"),
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    })
}
