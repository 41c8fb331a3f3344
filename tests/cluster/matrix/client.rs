//! Writes to an API server, and hears all that it says: kube's own API hides warnings.

use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::control_plane::ControlPlane;

/// What an API server answered.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) status: u16,
    pub(super) warnings: Vec<String>,
    /// The object as it was stored, or a `metav1.Status`.
    pub(super) body: Value,
}

/// A connection as the administrator.
pub(crate) struct ApiServer {
    runtime: Runtime,
    client: Client,
}

impl ApiServer {
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(async {
            let config = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
            let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
            Client::try_from(config).unwrap()
        });
        Self { runtime, client }
    }

    /// Creates an object. The audit log knows the request as `id`.
    pub(super) fn create(&self, object: &Value, id: &str, dry_run: bool) -> Told {
        let path = collection(object) + if dry_run { "?dryRun=All" } else { "" };
        self.send("POST", &path, id, "application/json", object.to_string())
    }

    /// Deletes an object that is there.
    pub(super) fn delete(&self, object: &Value) {
        let told = self.send("DELETE", &path(object), "", "application/json", String::new());
        assert_eq!(told.status, 200, "{told:?}");
    }

    /// Merges `patch` into an object that is there.
    pub(super) fn patch(&self, object: &Value, patch: &Value) -> Told {
        self.send("PATCH", &path(object), "", "application/merge-patch+json", patch.to_string())
    }

    fn send(&self, method: &str, path: &str, id: &str, content: &str, body: String) -> Told {
        let mut request = http::Request::builder().method(method).uri(path).header("content-type", content);
        if !id.is_empty() {
            request = request.header("audit-id", id);
        }
        let request = request.body(Body::from(body.into_bytes())).unwrap();
        self.runtime.block_on(async {
            let response = self.client.send(request).await.unwrap();
            let (head, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let warnings = head.headers.get_all("warning").into_iter().map(|w| warning(w.as_bytes())).collect();
            Told { status: head.status.as_u16(), warnings, body: serde_json::from_slice(&body).unwrap() }
        })
    }
}

/// The text of `299 - "text"`.
fn warning(header: &[u8]) -> String {
    let header = String::from_utf8(header.to_vec()).unwrap();
    let quoted =
        header.strip_prefix("299 - \"").and_then(|h| h.strip_suffix('"')).unwrap_or_else(|| panic!("{header}"));
    quoted.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// The path of the objects of this kind and namespace.
fn collection(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let version = text(&object["apiVersion"]);
    let root = if version == "v1" { "api" } else { "apis" };
    format!("/{root}/{version}/namespaces/{}/{}", text(&object["metadata"]["namespace"]), plural(object))
}

fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), object["metadata"]["name"].as_str().unwrap())
}

/// The resource of an object of the table of kinds.
pub(super) fn plural(object: &Value) -> &'static str {
    roster::admission::KINDS.iter().find(|k| object["kind"] == k.kind).unwrap().resource
}
