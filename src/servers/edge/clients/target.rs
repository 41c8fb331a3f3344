//! What a request asks for: something that is cached here, or something of the API server.

use axum::http::{Method, StatusCode, Uri};
use roster_engine::model::{Resource, ResourceScope};

use super::{
    discovery::DiscoveryDocument,
    list_options::{ListOptions, bad},
    request_path::{ApiVersion, RequestPath},
};
use crate::runtime::status_error::StatusError;
use crate::servers::edge::{
    cache::{raw_object::ObjectName, selection::Selection},
    permissions::CACHED,
};

/// The version of slices that API servers served up to 1.24.
const OLD_SLICES: [&str; 3] = ["apis", "discovery.k8s.io", "v1beta1"];

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    /// Whether the server lives.
    Live,
    /// Whether the server can answer.
    Ready,
    /// Objects that are cached.
    Read(CachedRead),
    /// What the API server says of its resources; while it is away, of those that are cached.
    Discovery(DiscoveryDocument),
    /// Anything else.
    Upstream,
}

/// A read of objects that are cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CachedRead {
    pub(crate) resource: Resource,
    pub(crate) scope: ReadScope,
    pub(crate) options: ListOptions,
}

/// Which objects of the resource are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadScope {
    /// One object.
    Object(ObjectName),
    /// Those of the selection in the options.
    Selection,
}

impl CachedRead {
    /// The verb of the read, as RBAC names it.
    pub(crate) fn verb(&self) -> &'static str {
        match self.scope {
            ReadScope::Object(_) => "get",
            ReadScope::Selection if self.options.is_watch => "watch",
            ReadScope::Selection => "list",
        }
    }

    /// Namespace and name as far as the request names them: what RBAC decides about.
    pub(crate) fn object(&self) -> ObjectName {
        match &self.scope {
            // A Namespace is in itself (`RequestInfoFactory.NewRequestInfo`): a role in it may allow to read it.
            ReadScope::Object(ObjectName { name, .. }) if self.resource == Resource::Namespace => {
                ObjectName { namespace: name.clone(), name: name.clone() }
            }
            ReadScope::Object(name) => name.clone(),
            ReadScope::Selection => {
                let Selection { namespace, .. } = &self.options.selection;
                let name = self.options.selection.only_name().cloned();
                ObjectName { namespace: namespace.clone().unwrap_or_default(), name: name.unwrap_or_default() }
            }
        }
    }
}

impl RequestTarget {
    /// The name of the span of such a request. It names no object.
    pub(super) fn span_name(&self) -> String {
        match self {
            Self::Live | Self::Ready => "probe".to_owned(),
            Self::Read(read) => format!("{} {}", read.verb(), read.resource.plural()),
            Self::Discovery(_) => "discover".to_owned(),
            Self::Upstream => "forward".to_owned(),
        }
    }

    /// Reads a request. `node` is the node whose Node is cached; the others are not.
    pub(crate) fn read(method: &Method, uri: &Uri, node: &str) -> Result<Self, StatusError> {
        if [Method::CONNECT, Method::TRACE].contains(method) {
            return Err(StatusError::method(format!("{method} is not supported")));
        }
        let path = RequestPath::read(uri.path()).map_err(bad)?;
        let segments = path.segments();
        if segments[..] == OLD_SLICES || segments.starts_with(&OLD_SLICES) {
            return Err(not_found("discovery.k8s.io/v1beta1 is not served here: use v1"));
        }
        if let Some(read) = deprecated_watch(&segments) {
            return Err(not_found(format!("{read} is not served here: use the query watch=true")));
        }
        if method != Method::GET {
            return Ok(Self::Upstream);
        }
        if let Some(document) = DiscoveryDocument::at(&segments) {
            // An API server answers with a slash at the end as it does without.
            return Ok(Self::Discovery(document));
        }
        if path.ends_with_slash {
            let is_ours = CachedPath::read(&segments).is_some();
            return if is_ours { Err(not_found("the path ends with a slash")) } else { Ok(Self::Upstream) };
        }
        match segments[..] {
            ["healthz" | "livez"] => return Ok(Self::Live),
            ["readyz"] => return Ok(Self::Ready),
            _ => {}
        }
        let Some(cached) = CachedPath::read(&segments) else { return Ok(Self::Upstream) };
        cached.with_options(uri, node)
    }
}

/// A path of a resource that is cached.
struct CachedPath<'a> {
    resource: Resource,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
}

impl<'a> CachedPath<'a> {
    fn read(segments: &[&'a str]) -> Option<Self> {
        let (version, rest) = ApiVersion::split(segments)?;
        let named = |plural: &str| CACHED.into_iter().find(|r| version.has(*r) && r.plural() == plural);
        let of = |plural: &str, scope: ResourceScope| named(plural).filter(|r| r.scope() == scope);
        let (resource, namespace, name) = match *rest {
            ["namespaces", namespace, plural] => (of(plural, ResourceScope::Namespaced), Some(namespace), None),
            ["namespaces", namespace, plural, name] => {
                (of(plural, ResourceScope::Namespaced), Some(namespace), Some(name))
            }
            [plural] => (named(plural), None, None),
            [plural, name] => (of(plural, ResourceScope::Cluster), None, Some(name)),
            _ => return None,
        };
        Some(Self { resource: resource?, namespace, name })
    }

    fn with_options(self, uri: &Uri, node: &str) -> Result<RequestTarget, StatusError> {
        let Self { resource, namespace, name } = self;
        if resource == Resource::Node && name.is_some_and(|name| name != node) {
            return Ok(RequestTarget::Upstream);
        }
        let mut options = ListOptions::read(uri)?;
        options.selection.check_fields(resource).map_err(bad)?;
        options.selection.namespace = namespace.map(Into::into);
        // Of other nodes, only the labels are known.
        if resource == Resource::Node && name.is_none() && options.selection.only_name().is_none_or(|name| name != node)
        {
            return Ok(RequestTarget::Upstream);
        }
        let scope = match name {
            Some(name) => ReadScope::Object(ObjectName::new(namespace.unwrap_or_default(), name)),
            None => ReadScope::Selection,
        };
        Ok(RequestTarget::Read(CachedRead { resource, scope, options }))
    }
}

/// The resource of a path such as `/api/v1/watch/services`, an old form of a watch, if it is cached.
fn deprecated_watch(segments: &[&str]) -> Option<&'static str> {
    let at = match segments {
        ["api", _, "watch", ..] => 2,
        ["apis", _, _, "watch", ..] => 3,
        _ => return None,
    };
    let mut plain = segments.to_vec();
    plain.remove(at);
    CachedPath::read(&plain).map(|_| "a path with /watch/")
}

fn not_found(message: impl Into<String>) -> StatusError {
    StatusError::new(StatusCode::NOT_FOUND, "NotFound", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::edge::cache::selection::FieldTest;

    fn target(method: &str, path: &str) -> Result<RequestTarget, u16> {
        let (method, uri) = (method.parse().map_err(|_| 0_u16)?, path.parse().map_err(|_| 0_u16)?);
        RequestTarget::read(&method, &uri, "edge-1").map_err(|e| e.code.as_u16())
    }

    fn read(path: &str) -> (Resource, &'static str, String) {
        let Ok(RequestTarget::Read(read)) = target("GET", path) else { panic!("{path}") };
        let ObjectName { namespace, name } = read.object();
        (read.resource, read.verb(), format!("{namespace}/{name}"))
    }

    #[test]
    fn reads_of_cached_resources_are_exact_paths() {
        for (path, resource, verb, object) in [
            ("/api/v1/services", Resource::Service, "list", "/"),
            ("/api/v1/services?watch=true", Resource::Service, "watch", "/"),
            ("/api/v1/services?watch=false", Resource::Service, "list", "/"),
            ("/api/v1/%73ervices", Resource::Service, "list", "/"),
            ("/api/v1/namespaces/shop/services", Resource::Service, "list", "shop/"),
            ("/api/v1/namespaces/shop/services/web", Resource::Service, "get", "shop/web"),
            ("/api/v1/namespaces/shop/endpoints?watch=1", Resource::Endpoints, "watch", "shop/"),
            ("/apis/discovery.k8s.io/v1/endpointslices", Resource::EndpointSlice, "list", "/"),
            (
                "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1",
                Resource::EndpointSlice,
                "get",
                "shop/web-1",
            ),
            ("/api/v1/namespaces", Resource::Namespace, "list", "/"),
            ("/api/v1/namespaces/shop", Resource::Namespace, "get", "shop/shop"),
            ("/api/v1/nodes/edge-1", Resource::Node, "get", "/edge-1"),
            ("/api/v1/nodes?fieldSelector=metadata.name%3Dedge-1&watch=true", Resource::Node, "watch", "/edge-1"),
            ("/api/v1/services?fieldSelector=metadata.name=a", Resource::Service, "list", "/a"),
            ("/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone", Resource::Service, "list", "/"),
        ] {
            assert_eq!(read(path), (resource, verb, object.to_owned()), "{path}");
        }
    }

    #[test]
    fn everything_that_is_cached_has_a_path_and_is_discovered() {
        for resource in CACHED {
            let (path, name) = (resource.path(Some("shop")), "edge-1");
            let object = read(&format!("{path}/{name}"));
            assert_eq!((object.0, object.1), (resource, "get"), "{path}");
            let prefix = if resource.group().is_empty() { "/api" } else { "/apis" };
            let version = format!("{prefix}/{}", resource.api_version());
            let Ok(RequestTarget::Discovery(document)) = target("GET", &version) else { panic!("{version}") };
            let resources = &document.offline()["resources"];
            let is_listed = resources.as_array().unwrap().iter().any(|row| row["name"] == resource.plural());
            assert!(is_listed, "{resource} in {resources}");
        }
    }

    #[test]
    fn a15_p10_everything_else_is_of_the_api_server() {
        for path in [
            "/",
            "/api/v1/servicesfoo",
            "/api/v1/services/web",
            "/api/v1/namespaces/shop/services/web/status",
            "/api/v1/namespaces/shop/services/https:web:443/proxy/a//b%2Fc",
            "/api/v1/namespaces/shop/pods",
            "/api/v1/namespaces/shop/nodes",
            "/api/v1/namespaces/shop/endpointslices",
            "/api/v1/nodes",
            "/api/v1/nodes/other",
            "/api/v1/nodes/edge-1/status",
            "/api/v1/nodes/edge-1/proxy/pods/",
            "/api/v1/nodes?fieldSelector=metadata.name=other",
            "/api/v1/nodes?fieldSelector=metadata.name!=edge-1",
            "/api/v1/watch/pods",
            "/apis/apps/v1/deployments",
            "/apis/discovery.k8s.io/v2/endpointslices",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
            "/version",
            "/openapi/v3/",
        ] {
            assert_eq!(target("GET", path), Ok(RequestTarget::Upstream), "{path}");
        }
        for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
            assert_eq!(target(method, "/api/v1/namespaces/shop/services"), Ok(RequestTarget::Upstream), "{method}");
        }
    }

    #[test]
    fn discovery_ends_with_a_slash_or_not() {
        for (path, document) in [
            ("/api", DiscoveryDocument::CoreVersions),
            ("/api/v1", DiscoveryDocument::Resources("v1")),
            ("/apis", DiscoveryDocument::Groups),
            ("/apis/discovery.k8s.io", DiscoveryDocument::Group("discovery.k8s.io")),
            ("/apis/discovery.k8s.io/v1", DiscoveryDocument::Resources("discovery.k8s.io/v1")),
        ] {
            for path in [path.to_owned(), format!("{path}/")] {
                assert_eq!(target("GET", &path), Ok(RequestTarget::Discovery(document)), "{path}");
            }
        }
    }

    #[test]
    fn a15_p16_p17_what_another_server_may_read_otherwise_is_refused() {
        for (path, code) in [
            ("//api/v1/services", 400),
            ("/api//v1/services", 400),
            ("/api/v1/./services", 400),
            ("/api/v1/../v1/services", 400),
            ("/api/v1/%2e%2e/v1/services", 400),
            ("/api/v1/%2E/services", 400),
            ("/api%2fv1/services", 400),
            ("/api/v1%2Fservices", 400),
            ("/api/v1/%252e%252e/services", 400),
            ("/api/v1/services%00", 400),
            ("/api/v1/services%0a", 400),
            ("/api/v1/serv%ffices", 400),
            ("/api/v1/services%zz", 400),
            ("/api/v1/namespaces/a%5Cb/services", 400),
            ("/api/v1/namespaces/n/services/web/proxy/../../../../../services", 400),
            ("/api/v1/namespaces/n/services/web/proxy/%2e%2e%2f%2e%2e/services", 400),
            ("/api/v1/services/", 404),
            ("/api/v1/namespaces/shop/endpoints/", 404),
            ("/api/v1/watch/services", 404),
            ("/api/v1/watch/namespaces/shop/endpoints/web", 404),
            ("/apis/discovery.k8s.io/v1/watch/endpointslices", 404),
            ("/apis/discovery.k8s.io/v1beta1/endpointslices", 404),
            ("/apis/discovery.k8s.io/v1beta1", 404),
        ] {
            assert_eq!(target("GET", path), Err(code), "{path}");
        }
        assert_eq!(target("TRACE", "/api/v1/services"), Err(405));
    }

    #[test]
    fn a15_p11_a_path_with_a_namespace_selects_it() {
        let Ok(RequestTarget::Read(read)) =
            target("GET", "/api/v1/namespaces/shop/endpoints?labelSelector=!headless&fieldSelector=metadata.name!=a")
        else {
            panic!("not a read");
        };
        let want = Selection {
            namespace: Some("shop".into()),
            fields: FieldTest::read_all("metadata.name!=a").unwrap(),
            labels: "!headless".parse().unwrap(),
        };
        assert_eq!(read.options.selection, want);
    }
}
