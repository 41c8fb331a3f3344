//! The `CustomResourceDefinition` of `EndpointPolicy`.

use roster_engine::model::{
    Resource,
    installed::{CRD, POLICY_GROUP, POLICY_KIND},
};
use serde_json::{Value, json};

use super::{schema, version::PolicyVersion};

/// The definition, without the client configuration of its conversion webhook, which is part of an installation.
pub fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {
            "group": POLICY_GROUP,
            "scope": "Cluster",
            "names": {
                "kind": POLICY_KIND,
                "listKind": format!("{POLICY_KIND}List"),
                "plural": Resource::EndpointPolicy.plural(),
                "singular": "endpointpolicy",
                "shortNames": ["epol"],
                "categories": ["roster"],
            },
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1", "v1beta1"]},
            },
            // kubectl asks for the first one.
            "versions": PolicyVersion::ALL.iter().rev().map(|v| version(*v)).collect::<Vec<_>>(),
        },
    })
}

fn version(version: PolicyVersion) -> Value {
    let capacity = match version {
        PolicyVersion::V1 => ".spec.capacity.action",
        PolicyVersion::V1alpha1 => ".spec.capacityAction",
    };
    let condition = |name: &str| {
        let path = format!(".status.conditions[?(@.type==\"{name}\")].status");
        json!({"name": name, "type": "string", "jsonPath": path})
    };
    json!({
        "name": version.name(),
        "served": true,
        "storage": version == PolicyVersion::V1,
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
