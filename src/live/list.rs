//! Lists, page by page.

use std::{fmt::Write, time::Duration};

use kube::Client;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{LiveError, Target};
use crate::{
    compat::Minor,
    inventory::{Inventory, Object},
    model::{ObjectKey, Text},
    reason::{Problem, Reason},
};

/// Objects in a page: as `kubectl` asks for. A page of pods is then a few megabytes.
const PAGE: usize = 500;

/// One kind: what it is called in messages, and where its list is.
struct Kind {
    /// What is being done, for messages.
    doing: &'static str,
    name: &'static str,
    group: &'static str,
    plural: &'static str,
    namespaced: bool,
    read: fn(&str) -> Result<Object, serde_json::Error>,
}

const fn kind(
    (doing, name): (&'static str, &'static str),
    (group, plural): (&'static str, &'static str),
    namespaced: bool,
    read: fn(&str) -> Result<Object, serde_json::Error>,
) -> Kind {
    Kind { doing, name, group, plural, namespaced, read }
}

fn object<T: DeserializeOwned>(text: &str, wrap: fn(T) -> Object) -> Result<Object, serde_json::Error> {
    serde_json::from_str(text).map(wrap)
}

const KINDS: [Kind; 5] = [
    kind(("listing services", "Service"), ("/api/v1", "services"), true, |t| object(t, Object::Service)),
    kind(("listing pods", "Pod"), ("/api/v1", "pods"), true, |t| object(t, Object::Pod)),
    kind(("listing nodes", "Node"), ("/api/v1", "nodes"), false, |t| object(t, Object::Node)),
    kind(("listing endpoints", "Endpoints"), ("/api/v1", "endpoints"), true, |t| object(t, Object::Endpoints)),
    kind(("listing endpointslices", "EndpointSlice"), ("/apis/discovery.k8s.io/v1", "endpointslices"), true, |t| {
        object(t, Object::EndpointSlice)
    }),
];

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// Name of an object that cannot be read as a whole.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    metadata: NamedMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedMeta {
    namespace: Text,
    name: Text,
}

/// Reads the lists of all kinds.
pub(super) async fn all(
    client: &Client,
    target: &Target,
    into: &mut Inventory,
    progress: impl Fn(u64),
) -> Result<(), LiveError> {
    for kind in &KINDS {
        match list(client, target, kind, Some(PAGE), &progress).await {
            Ok(part) => into.merge(part),
            // The list is older than what the API server remembers: it must be read again, in one piece.
            Err(LiveError::Request(_, kube::Error::Api(status))) if status.code == 410 => {
                into.merge(list(client, target, kind, None, &progress).await?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn list(
    client: &Client,
    target: &Target,
    kind: &Kind,
    limit: Option<usize>,
    progress: &impl Fn(u64),
) -> Result<Inventory, LiveError> {
    let mut all = Inventory::default();
    let mut next: Option<String> = None;
    loop {
        let path = path(kind, target.namespace.as_deref(), limit, next.as_deref());
        let text = get(client, &path, kind.doing, target.timeout).await?;
        progress(u64::try_from(text.len()).unwrap_or_default());
        let page: Page<'_> = serde_json::from_str(&text).map_err(|e| LiveError::Answer(kind.doing, e))?;
        for item in page.items {
            match (kind.read)(item.get()) {
                Ok(object) => all.add(object),
                Err(error) => {
                    let Named { metadata } = serde_json::from_str(item.get()).unwrap_or_default();
                    let key = ObjectKey::new(kind.name, &metadata.namespace, &metadata.name);
                    all.problems.push(Problem::new(Reason::InvalidObject, key, error.to_string()));
                }
            }
        }
        next = page.metadata.next.filter(|n| !n.is_empty());
        if next.is_none() {
            return Ok(all);
        }
    }
}

/// Path and query of a page.
fn path(kind: &Kind, namespace: Option<&str>, limit: Option<usize>, next: Option<&str>) -> String {
    let mut path = kind.group.to_owned();
    if let Some(namespace) = namespace.filter(|_| kind.namespaced) {
        path.push_str("/namespaces/");
        path.push_str(&escaped(namespace));
    }
    path.push('/');
    path.push_str(kind.plural);
    let query = [limit.map(|n| format!("limit={n}")), next.map(|n| format!("continue={}", escaped(n)))];
    for (i, part) in query.into_iter().flatten().enumerate() {
        path.push(if i == 0 { '?' } else { '&' });
        path.push_str(&part);
    }
    path
}

/// Percent-encodes everything but what RFC 3986 leaves unreserved.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, b| {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
        out
    })
}

async fn get(client: &Client, path: &str, doing: &'static str, timeout: Duration) -> Result<String, LiveError> {
    let request = http::Request::get(path)
        .header(http::header::ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(|e| LiveError::Request(doing, kube::Error::HttpError(e)))?;
    match tokio::time::timeout(timeout, client.request_text(request)).await {
        Ok(answer) => answer.map_err(|e| LiveError::Request(doing, e)),
        Err(_) => Err(LiveError::Timeout(doing, timeout.as_secs())),
    }
}

/// Which release the API server is, if there is a profile of it.
pub(super) async fn release(client: &Client, timeout: Duration) -> Result<Option<Minor>, LiveError> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    const DOING: &str = "asking for the version";
    let text = get(client, "/version", DOING, timeout).await?;
    let version: Version = serde_json::from_str(&text).map_err(|e| LiveError::Answer(DOING, e))?;
    // v1.30.4-gke.100, v1.28.5+k3s1: what follows the numbers is a vendor's.
    let end = version.git_version.find(['-', '+']).unwrap_or(version.git_version.len());
    Ok(version.git_version[..end].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for_as_the_api_wants_it() {
        for (kind, namespace, limit, next, want) in [
            (&KINDS[1], None, Some(500), None, "/api/v1/pods?limit=500"),
            (&KINDS[1], Some("a b"), None, None, "/api/v1/namespaces/a%20b/pods"),
            (&KINDS[2], Some("shop"), Some(500), None, "/api/v1/nodes?limit=500"),
            (
                &KINDS[4],
                Some("shop"),
                Some(2),
                Some("eyJ2=="),
                "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?limit=2&continue=eyJ2%3D%3D",
            ),
        ] {
            assert_eq!(path(kind, namespace, limit, next), want);
        }
    }
}
