//! Certificates of the webhook that Roster does not issue: in files, and from cert-manager.

use serde_json::{Value, json};

use super::names::{NAME, NAMESPACE, SECRET, SERVICE, meta};

/// The flags of a webhook that reads its certificate and key.
pub(super) const FLAGS: [&str; 2] = ["--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key"];

/// The folder of both, in a container.
pub(super) fn mount() -> Value {
    json!({ "name": "tls", "mountPath": "/tls", "readOnly": true })
}

/// The same as the volume of a pod.
pub(super) fn volume(secret: &str) -> Value {
    json!({ "name": "tls", "secret": { "secretName": secret, "defaultMode": 0o440 } })
}

/// The annotation of an object whose `caBundle`s cert-manager keeps.
pub(super) fn injected() -> Value {
    json!({ "cert-manager.io/inject-ca-from": format!("{NAMESPACE}/{SERVICE}") })
}

/// An issuer of certificates that sign themselves.
pub(super) fn issuer() -> Value {
    json!({ "apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": meta(NAME), "spec": { "selfSigned": {} } })
}

/// The certificate of the webhook.
pub(super) fn certificate() -> Value {
    let host = format!("{SERVICE}.{NAMESPACE}.svc");
    json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": meta(SERVICE),
        "spec": {
            "secretName": SECRET,
            "dnsNames": [host, format!("{host}.cluster.local")],
            "issuerRef": { "name": NAME },
            "privateKey": { "algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always" },
        },
    })
}
