//! What all pods have in common: they are nobody, and may change nothing.

use serde_json::{Value, json};

/// The user and the group of the image.
const USER: u32 = 65532;

/// The security context of a pod. Its group reads the Secrets that are mounted: the kubelet gives their files to root.
pub(super) fn pod() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}

/// The security context of a container.
pub(super) fn container() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": { "drop": ["ALL"] },
    })
}

/// The probes of a container, which are the same for all servers.
pub(super) struct Probes(Value);

impl Probes {
    /// Probes of the admin listener at this place.
    pub(super) fn at(http: Value) -> Self {
        Self(http)
    }

    pub(super) fn startup(&self) -> Value {
        self.probe("/livez", 1, 60)
    }

    pub(super) fn readiness(&self) -> Value {
        self.probe("/readyz", 5, 1)
    }

    pub(super) fn liveness(&self) -> Value {
        self.probe("/livez", 10, 3)
    }

    fn probe(&self, path: &str, period: u32, failures: u32) -> Value {
        let mut http = self.0.clone();
        http["path"] = path.into();
        json!({ "httpGet": http, "periodSeconds": period, "timeoutSeconds": 2, "failureThreshold": failures })
    }
}
