//! Lists of a cluster, page by page: the resources that decide about endpoints. Every request is a GET.

use std::{fmt::Write, time::Duration};

use kube::Client;
use roster_engine::{
    model::{Resource, defaults::Defaults},
    profile::Minor,
};
use roster_manifests::{
    decode::{self, InputFormat, Source},
    inventory::Inventory,
};
use serde::Deserialize;

use super::connect::{LiveError, Target, connect};

/// Objects in a page: as `kubectl` asks for. A page of pods is then a few megabytes.
const PAGE: usize = 500;

/// What is read, in this order.
const READ: [Resource; 5] =
    [Resource::Service, Resource::Pod, Resource::Node, Resource::Endpoints, Resource::EndpointSlice];

/// What a page says beside its objects.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// What is known of a cluster that was read, besides its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCluster {
    /// The release, if there is a profile of it.
    pub release: Option<Minor>,
    /// Why Nodes are missing, if the caller may not list them: no role for one namespace allows it.
    pub no_nodes: Option<String>,
    /// Why pools of nodes are missing, if they were wanted.
    pub no_node_pools: Option<String>,
}

/// Reads Services, Pods, Nodes, Endpoints and EndpointSlices into `into`, and pools of nodes if they are wanted, with what
/// else was read. `progress` gets the number of bytes of each answer.
pub fn read(
    target: &Target,
    wants_node_pools: impl FnOnce(&Inventory) -> bool,
    into: &mut Inventory,
    progress: impl Fn(u64),
) -> Result<ReadCluster, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Runtime)?;
    let done = runtime.block_on(async {
        let client = connect(target).await?;
        let release = server_version(&client, target.timeout).await?.parse().ok();
        let no_nodes = all(&client, target, into, &progress).await?;
        let no_node_pools =
            if wants_node_pools(into) { node_pools(&client, target, into, &progress).await? } else { None };
        Ok(ReadCluster { release, no_nodes, no_node_pools })
    });
    // A name look-up that hangs must not hold the program.
    runtime.shutdown_background();
    done
}

/// Reads the lists of all resources. Returns why there are no Nodes, if the caller may not list them.
async fn all(
    client: &Client,
    target: &Target,
    into: &mut Inventory,
    progress: &impl Fn(u64),
) -> Result<Option<String>, LiveError> {
    let mut no_nodes = None;
    for resource in READ {
        match whole(client, target, resource, into, progress).await {
            Err(LiveError::Request(_, kube::Error::Api(status)))
                if status.code == 403 && resource == Resource::Node =>
            {
                no_nodes = Some(status.message.clone());
            }
            done => done?,
        }
    }
    Ok(no_nodes)
}

/// Reads the pools of nodes of OpenYurt, or returns why there are none: a cluster without OpenYurt does not have the resource, and an
/// API server may refuse to list one that it does not have.
async fn node_pools(
    client: &Client,
    target: &Target,
    into: &mut Inventory,
    progress: &impl Fn(u64),
) -> Result<Option<String>, LiveError> {
    match whole(client, target, Resource::NodePool, into, progress).await {
        Ok(()) => Ok(None),
        Err(LiveError::Request(_, kube::Error::Api(status))) if status.code == 404 => {
            let (resource, group) = (Resource::NodePool.plural(), Resource::NodePool.group());
            Ok(Some(format!("the cluster has no resource {resource} of {group}")))
        }
        Err(LiveError::Request(_, kube::Error::Api(status))) if status.code == 403 => Ok(Some(status.message.clone())),
        Err(error) => Err(error),
    }
}

/// Reads all objects of a resource into `into`, page by page.
async fn whole(
    client: &Client,
    target: &Target,
    resource: Resource,
    into: &mut Inventory,
    progress: &impl Fn(u64),
) -> Result<(), LiveError> {
    match list(client, target, resource, Some(PAGE), into.sibling(), progress).await {
        Ok(part) => into.merge(part),
        // The list is older than what the API server remembers: it must be read again, in one piece.
        Err(LiveError::Request(_, kube::Error::Api(status))) if status.code == 410 => {
            into.merge(list(client, target, resource, None, into.sibling(), progress).await?);
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Adds all objects of a resource to `all`.
async fn list(
    client: &Client,
    target: &Target,
    resource: Resource,
    limit: Option<usize>,
    mut all: Inventory,
    progress: &impl Fn(u64),
) -> Result<Inventory, LiveError> {
    let doing = format!("listing {}", resource.plural());
    let mut next: Option<String> = None;
    loop {
        let path = path(resource, target.namespace.as_deref(), limit, next.as_deref());
        let text = get(client, &path, &doing, target.timeout).await?;
        progress(u64::try_from(text.len()).unwrap_or_default());
        // The list names the kind of its items: they read like any other list.
        let source = Source { format: InputFormat::Json, defaults: Defaults::NEVER, ..Source::file(&path) };
        decode::read(text.as_bytes(), &source, &mut all).map_err(|e| LiveError::List(doing.clone(), e))?;
        let page: Page = serde_json::from_str(&text).map_err(|e| LiveError::Answer(doing.clone(), e))?;
        next = page.metadata.next.filter(|n| !n.is_empty());
        if next.is_none() {
            return Ok(all);
        }
    }
}

/// Path and query of a page.
fn path(resource: Resource, namespace: Option<&str>, limit: Option<usize>, next: Option<&str>) -> String {
    let mut path = resource.path(namespace.map(escaped).as_deref());
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

async fn get(client: &Client, path: &str, doing: &str, timeout: Duration) -> Result<String, LiveError> {
    let request = http::Request::get(path)
        .header(http::header::ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(|e| LiveError::Request(doing.to_owned(), kube::Error::HttpError(e)))?;
    match tokio::time::timeout(timeout, client.request_text(request)).await {
        Ok(answer) => answer.map_err(|e| LiveError::Request(doing.to_owned(), e)),
        Err(_) => Err(LiveError::Timeout(doing.to_owned(), timeout.as_secs())),
    }
}

/// The version of an API server, such as `v1.30.4`, without what a vendor has added.
pub(crate) async fn server_version(client: &Client, timeout: Duration) -> Result<String, LiveError> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    const DOING: &str = "asking for the version";
    let text = get(client, "/version", DOING, timeout).await?;
    let version: Version = serde_json::from_str(&text).map_err(|e| LiveError::Answer(DOING.to_owned(), e))?;
    // v1.30.4-gke.100, v1.28.5+k3s1
    let numbers = version.git_version.split(['-', '+']).next().unwrap_or_default();
    Ok(numbers.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for_as_the_api_wants_it() {
        for (resource, namespace, limit, next, want) in [
            (Resource::Pod, None, Some(500), None, "/api/v1/pods?limit=500"),
            (Resource::Pod, Some("a b"), None, None, "/api/v1/namespaces/a%20b/pods"),
            (Resource::Node, Some("shop"), Some(500), None, "/api/v1/nodes?limit=500"),
            (
                Resource::EndpointSlice,
                Some("shop"),
                Some(2),
                Some("eyJ2=="),
                "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?limit=2&continue=eyJ2%3D%3D",
            ),
        ] {
            assert_eq!(path(resource, namespace, limit, next), want);
        }
    }
}
