//! Writes to an API server, and hears all that it says: kube's own API hides warnings.

use std::{path::Path, time::Duration};

use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use roster_engine::model::Resource;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::control_plane::ControlPlane;

/// How many requests to send concurrently when there are many.
const AT_ONCE: usize = 16;
/// Everything is checked, and nothing stored.
const DRY_RUN: &str = "?dryRun=All";
/// Longest time of a watch.
const LONG: Duration = Duration::from_mins(2);

/// What an API server answered.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) warnings: Vec<String>,
    /// The object as it was stored, or a `metav1.Status`.
    pub(crate) body: Value,
}

/// A connection to the API server.
pub(crate) struct ApiServer {
    runtime: Runtime,
    client: Client,
}

impl ApiServer {
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        Self::with(&plane.kubeconfig())
    }

    /// A connection as the user of a kubeconfig.
    pub(crate) fn with(kubeconfig: &Path) -> Self {
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(async {
            let config = Kubeconfig::read_from(kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
            Client::try_from(config).unwrap()
        });
        Self { runtime, client }
    }

    /// Creates an object. The audit log knows the request as `id`.
    pub(crate) fn create(&self, object: &Value, id: &str, dry_run: bool) -> Told {
        let path = collection(object) + if dry_run { DRY_RUN } else { "" };
        self.send("POST", &path, id, "application/json", object.to_string())
    }

    /// Creates an object as a controller, whose writes are sent to no webhook.
    pub(crate) fn create_unseen(&self, object: &Value) -> Told {
        let mut request = request("POST", &collection(object), "", "application/json", object.to_string());
        for (name, value) in [("user", roster_admission::CONTROLLER_USERS[0]), ("group", "system:masters")] {
            let name = http::HeaderName::from_bytes(format!("impersonate-{name}").as_bytes()).unwrap();
            request.headers_mut().insert(name, http::HeaderValue::from_static(value));
        }
        self.runtime.block_on(told(&self.client, request))
    }

    /// Creates all objects, some at once.
    pub(crate) fn create_all(&self, objects: &[Value]) {
        let create = |object: &Value| {
            let request = request("POST", &collection(object), "", "application/json", object.to_string());
            async move { told(&self.client, request).await }
        };
        let all = stream::iter(objects.iter().map(create)).buffer_unordered(AT_ONCE).collect::<Vec<Told>>();
        let all = self.runtime.block_on(all);
        assert!(all.iter().all(|t| t.status == 201), "{:?}", all.iter().find(|t| t.status != 201));
    }

    /// Creates objects, some at once. The answers are in the order of the objects.
    pub(crate) fn create_each(&self, objects: &[Value]) -> Vec<Told> {
        let create = |object: &Value| {
            let request = request("POST", &collection(object), "", "application/json", object.to_string());
            async move { told(&self.client, request).await }
        };
        let all = stream::iter(objects.iter().map(create)).buffered(AT_ONCE).collect::<Vec<Told>>();
        self.runtime.block_on(all)
    }

    /// Binds a pod to a node, as the scheduler does.
    pub(crate) fn bind(&self, pod: &Value, node: &str) -> Told {
        let target = serde_json::json!({"apiVersion": "v1", "kind": "Node", "name": node});
        let binding = serde_json::json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"]},
            "target": target});
        self.send("POST", &(path(pod) + "/binding"), "", "application/json", binding.to_string())
    }

    /// Creates objects at a path as dry runs, some at once. The answers are in the order of the objects.
    pub(crate) fn try_all(&self, objects: &[(String, Value)]) -> Vec<Told> {
        let create = |(path, object): &(String, Value)| {
            let request = request("POST", &(path.clone() + DRY_RUN), "", "application/json", object.to_string());
            async move { told(&self.client, request).await }
        };
        let all = stream::iter(objects.iter().map(create)).buffered(AT_ONCE).collect::<Vec<Told>>();
        self.runtime.block_on(all)
    }

    /// What is at a path, or why it cannot be read.
    pub(crate) fn get(&self, path: &str) -> Told {
        self.send("GET", path, "", "", String::new())
    }

    /// Replaces an object.
    pub(crate) fn replace(&self, object: &Value, dry_run: bool) -> Told {
        let path = path(object) + if dry_run { DRY_RUN } else { "" };
        self.send("PUT", &path, "", "application/json", object.to_string())
    }

    /// The events of a watch, until `last` says that it was the last one.
    pub(crate) fn watch(&self, path: &str, mut last: impl FnMut(&Value) -> bool) -> Vec<Value> {
        let watched = async {
            let response = self.client.send(request("GET", path, "", "", String::new())).await.unwrap();
            assert_eq!(response.status(), 200, "{path}");
            let (mut body, mut text, mut events) = (response.into_body(), Vec::new(), Vec::new());
            loop {
                let frame = body.frame().await.expect("the watch goes on").unwrap();
                text.extend_from_slice(&frame.into_data().unwrap_or_default());
                let complete = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
                for line in text[..complete].split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
                    events.push(serde_json::from_slice(line).unwrap());
                    if last(&events[events.len() - 1]) {
                        return events;
                    }
                }
                text.drain(..complete);
            }
        };
        self.runtime.block_on(async { tokio::time::timeout(LONG, watched).await.expect("all events in time") })
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, object: &Value) {
        let told = self.send("DELETE", &path(object), "", "application/json", String::new());
        assert_eq!(told.status, 200, "{told:?}");
    }

    /// Deletes an object that may be missing. Returns the status.
    pub(crate) fn remove(&self, object: &Value) -> u16 {
        self.send("DELETE", &path(object), "", "application/json", String::new()).status
    }

    /// Asks the containers of a pod to end within a minute.
    pub(crate) fn delete_with_grace(&self, pod: &Value) -> Told {
        let path = path(pod) + "?gracePeriodSeconds=60";
        self.send("DELETE", &path, "", "application/json", String::new())
    }

    /// Deletes a pod without waiting for its containers, which nobody runs.
    pub(crate) fn delete_now(&self, pod: &Value) {
        let path = path(pod) + "?gracePeriodSeconds=0";
        let told = self.send("DELETE", &path, "", "application/json", String::new());
        assert_eq!(told.status, 200, "{told:?}");
    }

    /// Merges `patch` into the status of an object.
    pub(crate) fn patch_status(&self, object: &Value, patch: &Value) -> Told {
        let path = path(object) + "/status";
        self.send("PATCH", &path, "", "application/merge-patch+json", patch.to_string())
    }

    /// Merges `patch` into an object.
    pub(crate) fn patch(&self, object: &Value, patch: &Value) -> Told {
        self.send("PATCH", &path(object), "", "application/merge-patch+json", patch.to_string())
    }

    fn send(&self, method: &str, path: &str, id: &str, content: &str, body: String) -> Told {
        self.runtime.block_on(told(&self.client, request(method, path, id, content, body)))
    }
}

fn request(method: &str, path: &str, id: &str, content: &str, body: String) -> http::Request<Body> {
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in [("content-type", content), ("audit-id", id)] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    request.body(Body::from(body.into_bytes())).unwrap()
}

async fn told(client: &Client, request: http::Request<Body>) -> Told {
    let (head, body) = client.send(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let warnings = head.headers.get_all("warning").into_iter().map(|w| warning(w.as_bytes())).collect();
    Told { status: head.status.as_u16(), warnings, body: serde_json::from_slice(&body).unwrap() }
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
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version == "v1" { "api" } else { "apis" };
    let namespace = object["metadata"]["namespace"].as_str().map(|n| format!("/namespaces/{n}")).unwrap_or_default();
    format!("/{root}/{version}{namespace}/{}", plural(object))
}

/// The path of an object.
pub(crate) fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), object["metadata"]["name"].as_str().unwrap())
}

/// The resource of an object.
pub(crate) fn plural(object: &Value) -> &'static str {
    let [version, kind] = ["apiVersion", "kind"].map(|field| object[field].as_str().unwrap());
    if kind == "ConfigMap" {
        return "configmaps";
    }
    // The table has one of the two versions of policies.
    Resource::of(version, kind).map_or("endpointpolicies", Resource::plural)
}
