//! What a Service says about near and far: to Kubernetes, to SuperEdge, to OpenYurt.

use crate::{
    admission::{
        Rule,
        findings::{About, Findings},
        kinds::Subject,
    },
    engine::{
        compat::Minor,
        endpointslice::{asks_for_zones, knows_distribution},
    },
    model::{Service, ServiceType, dns, names},
};

/// SuperEdge's annotation: a JSON list of node labels.
const SUPEREDGE: &str = "topologyKeys";
/// OpenYurt's annotation: one of [`OPENYURT_VALUES`].
const OPENYURT: &str = "openyurt.io/topologyKeys";
/// What yurthub's filter reads; any other text filters nothing.
const OPENYURT_VALUES: [&str; 3] = ["kubernetes.io/hostname", "openyurt.io/nodepool", "kubernetes.io/zone"];

/// The two topology annotations.
pub(super) fn mode(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    let annotations = &subject.object.meta.annotations;
    for key in [names::TOPOLOGY_MODE, names::TOPOLOGY_HINTS] {
        let Some(value) = annotations.get(key) else { continue };
        if !matches!(value.as_str(), "Auto" | "auto" | "Disabled" | "disabled") {
            findings.add(
                Rule::TopologyMode,
                About::Text(value),
                format_args!("metadata.annotations[{key}]"),
                format_args!("{value:?} means Disabled: use Auto or Disabled"),
            );
        }
    }
    if let (Some(new), Some(old)) = (annotations.get(names::TOPOLOGY_MODE), annotations.get(names::TOPOLOGY_HINTS))
        && new != old
    {
        findings.add(
            Rule::TopologyMode,
            About::Text(&format!("{new} {old}")),
            format_args!("metadata.annotations[{}]", names::TOPOLOGY_MODE),
            format_args!("{new:?} has no effect: topology-aware-hints says {old:?}, and counts"),
        );
    }
}

/// `spec.trafficDistribution`, and what is stronger.
pub(super) fn distribution(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    let service = subject.object;
    let Some(value) = service.traffic_distribution.as_deref() else { return };
    let newest = Minor::NEWEST.profile();
    let why = if !knows_distribution(value, newest) {
        "is none of PreferClose, PreferSameZone and PreferSameNode"
    } else if asks_for_zones(service, newest) {
        "has no effect: the annotation topology-mode: Auto wins"
    } else if service.internal_traffic_policy == "Local" {
        "has no effect: internalTrafficPolicy: Local wins"
    } else if service.kind == ServiceType::ExternalName {
        "has no effect: an ExternalName has no endpoints"
    } else {
        return;
    };
    findings.add(
        Rule::TrafficDistribution,
        About::Text(&format!("{value} {why}")),
        format_args!("spec.trafficDistribution"),
        format_args!("{value:?} {why}"),
    );
}

/// What the application-grid-wrapper makes of its annotation: an unreadable list filters nothing, and a key that
/// no node can have matches nothing.
pub(super) fn superedge(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    let Some(text) = subject.object.meta.annotations.get(SUPEREDGE) else { return };
    let field = format_args!("metadata.annotations[{SUPEREDGE}]");
    // `null` is no list at all, and reads as one without keys.
    let Ok(keys) = serde_json::from_str::<Option<Vec<String>>>(text) else {
        let message = format_args!("is no JSON list of strings: SuperEdge filters nothing");
        findings.add(Rule::SuperedgeKeys, About::Text(text), field, message);
        return;
    };
    for key in keys.into_iter().flatten().filter(|k| !is_label_key(k)) {
        let message = format_args!("no node has a label {key:?}; it matches nothing, and is no wildcard");
        findings.add(Rule::SuperedgeKeys, About::Text(&key), field, message);
    }
}

/// What yurthub makes of its annotation: one value, matched exactly; the empty one asks for nothing.
pub(super) fn openyurt(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    let Some(value) = subject.object.meta.annotations.get(OPENYURT) else { return };
    if value.is_empty() || OPENYURT_VALUES.contains(&value.as_str()) {
        return;
    }
    let list = if value.trim_start().starts_with('[') { "one value, no list" } else { "hostname, nodepool or zone" };
    findings.add(
        Rule::OpenyurtKeys,
        About::Text(value),
        format_args!("metadata.annotations[{OPENYURT}]"),
        format_args!("yurthub reads {list}; {value:?} filters nothing"),
    );
}

/// Whether a node can have this label key: a qualified name (`IsQualifiedName`).
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(p, n)| (Some(p), n));
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()].iter().all(|b| b.is_some_and(u8::is_ascii_alphanumeric));
    let inner = bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b));
    ends && inner && bytes.len() <= dns::MAX_LABEL && prefix.is_none_or(|p| dns::is_subdomain(p.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::is_label_key;

    #[test]
    fn label_keys_are_qualified_names() {
        for key in ["zone", "kubernetes.io/hostname", "A_b.c-9", "x"] {
            assert!(is_label_key(key), "{key}");
        }
        for key in ["", "*", "a/b/c", "/a", "a/", "Upper.io/a", "-a", "a-", "a b", &"x".repeat(64)] {
            assert!(!is_label_key(key), "{key}");
        }
    }
}
