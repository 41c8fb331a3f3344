//! The Services that a controller serves: all of the cluster, or a part.

use std::fmt;

use roster_engine::model::{
    EndpointSlice, Endpoints, LabelQuery, Service,
    installed::{MANAGER, SELECTOR},
    names,
};

/// The Services that a controller serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceScope {
    /// Only those of this namespace.
    pub namespace: Option<String>,
    /// Only those with such labels.
    pub labels: Option<LabelQuery>,
    /// Only those without a selector that name their pods in an annotation: the built-in controllers run, too.
    pub is_beside: bool,
}

impl ServiceScope {
    /// Why a Service of this namespace is not served, whatever else it is.
    pub(super) fn excludes_namespace(&self, namespace: &str) -> Option<NotServed> {
        let own = self.namespace.as_ref().filter(|own| *own != namespace)?;
        Some(NotServed::OtherNamespace(own.clone()))
    }

    /// Whether another controller may take the same Services for its own.
    pub(super) fn is_part(&self) -> bool {
        *self != Self::default()
    }

    /// The name with which slices of Services with a selector are marked.
    pub(super) fn slice_manager(&self) -> &'static str {
        if self.is_beside { MANAGER } else { names::SLICE_CONTROLLER }
    }

    /// Whether a Service is one of these. One that is gone is known by what is left of it, which has its labels.
    pub(super) fn has<'a>(
        &self,
        service: Option<&Service>,
        endpoints: Option<&Endpoints>,
        mut slices: impl Iterator<Item = &'a EndpointSlice>,
    ) -> bool {
        let Some(query) = &self.labels else { return true };
        match service {
            Some(service) => query.matches(&service.meta.labels),
            None => {
                endpoints.is_some_and(|endpoints| query.matches(&endpoints.meta.labels))
                    || slices.any(|slice| query.matches(&slice.meta.labels))
            }
        }
    }
}

/// Why a controller does not serve a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotServed {
    /// It serves this namespace.
    OtherNamespace(String),
    OtherLabels,
    /// The other reasons are those of a controller beside the built-in ones.
    HasSelector,
    ExternalName,
    NoAnnotation,
    /// The annotation cannot be read, and why.
    Unreadable(String),
    Gone,
}

impl fmt::Display for NotServed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherNamespace(own) => write!(f, "this controller serves namespace {own} only (--namespace)"),
            Self::OtherLabels => write!(f, "--service-selector does not select it"),
            Self::HasSelector => write!(f, "it has a selector: the built-in controllers serve it"),
            Self::ExternalName => write!(f, "it is of type ExternalName, and has no endpoints"),
            Self::NoAnnotation => write!(f, "it has no annotation {SELECTOR}"),
            Self::Unreadable(why) => write!(f, "the annotation {SELECTOR} cannot be read: {why}"),
            Self::Gone => write!(f, "there is no such Service"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_that_is_gone_is_known_by_what_is_left() {
        let labels =
            |team: &str| json!({ "metadata": { "name": "web", "namespace": "shop", "labels": { "team": team } } });
        let scope = |labels: &str| ServiceScope { labels: Some(labels.parse().unwrap()), ..ServiceScope::default() };
        let service = |team: &str| serde_json::from_value::<Service>(labels(team)).unwrap();
        let endpoints = |team: &str| serde_json::from_value::<Endpoints>(labels(team)).unwrap();
        for (query, of_service, of_endpoints, want) in [
            ("team=a", Some("a"), None, true),
            ("team=a", Some("b"), Some("a"), false),
            ("team in (a,b)", Some("b"), None, true),
            ("team=a", None, Some("a"), true),
            ("team=a", None, Some("b"), false),
            ("team=a", None, None, false),
        ] {
            let (service, endpoints) = (of_service.map(service), of_endpoints.map(endpoints));
            let has = scope(query).has(service.as_ref(), endpoints.as_ref(), std::iter::empty());
            assert_eq!(has, want, "{query} {of_service:?} {of_endpoints:?}");
        }
        assert!(ServiceScope::default().has(None, None, std::iter::empty()));
    }
}
