//! What all pods have in common: they are nobody, and may change nothing.

use serde_json::{Value, json};

/// The user and the group of the image.
const USER: u32 = 65532;

/// The security context of a pod.
pub(super) fn pod() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}

/// The same with files of its volumes for its group.
pub(super) fn pod_with_files() -> Value {
    let mut context = pod();
    context["fsGroup"] = USER.into();
    context
}

/// The security context of a container.
pub(super) fn container() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": { "drop": ["ALL"] },
    })
}

/// A probe of a path of health.
pub(super) fn probe(mut http: Value, path: &str, period: u32, failures: u32) -> Value {
    http["path"] = path.into();
    json!({ "httpGet": http, "periodSeconds": period, "timeoutSeconds": 2, "failureThreshold": failures })
}
