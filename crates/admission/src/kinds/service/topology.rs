//! Topology settings of a Service, for Kubernetes, SuperEdge and OpenYurt.

use roster_engine::{
    endpointslice::{asks_for_zones, knows_distribution},
    model::{Service, ServiceType, dns, names},
    profile::Minor,
};

use crate::{Rule, fault::Fault, findings::RuleFindings, kinds::object_check::Subject};

/// SuperEdge's annotation: a JSON list of node labels.
const SUPEREDGE: &str = "topologyKeys";
/// OpenYurt's annotation: one of [`OPENYURT_VALUES`].
const OPENYURT: &str = "openyurt.io/topologyKeys";
/// The values that yurthub's filter knows; it ignores any other text.
const OPENYURT_VALUES: [&str; 3] = ["kubernetes.io/hostname", "openyurt.io/nodepool", "kubernetes.io/zone"];

/// [`Rule::TopologyMode`], of both annotations.
pub(super) fn check_mode(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let annotations = &subject.object.meta.annotations;
    for key in [names::TOPOLOGY_MODE, names::TOPOLOGY_HINTS] {
        let Some(value) = annotations.get(key) else { continue };
        if !matches!(value.as_str(), "Auto" | "auto" | "Disabled" | "disabled") {
            findings.add(
                Rule::TopologyMode,
                Fault::Text(&format!("{key} {value}")),
                format_args!("metadata.annotations[{key}]"),
                format_args!("{value:?} is treated as Disabled; use Auto or Disabled"),
            );
        }
    }
    if let (Some(new), Some(old)) = (annotations.get(names::TOPOLOGY_MODE), annotations.get(names::TOPOLOGY_HINTS))
        && new != old
    {
        findings.add(
            Rule::TopologyMode,
            Fault::Text(&format!("{new} {old}")),
            format_args!("metadata.annotations[{}]", names::TOPOLOGY_MODE),
            format_args!("{new:?} has no effect: topology-aware-hints: {old} takes precedence"),
        );
    }
}

/// [`Rule::TrafficDistribution`]: unknown values, and settings that take precedence.
pub(super) fn check_distribution(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let service = subject.object;
    let Some(value) = service.traffic_distribution.as_deref() else { return };
    let newest = Minor::NEWEST.profile();
    let why = if !knows_distribution(value, newest) {
        "is not one of PreferClose, PreferSameZone and PreferSameNode"
    } else if asks_for_zones(service, newest) {
        "has no effect: the annotation topology-mode: Auto takes precedence"
    } else if service.internal_traffic_policy == "Local" {
        "has no effect: internalTrafficPolicy: Local takes precedence"
    } else if service.kind == ServiceType::ExternalName {
        "has no effect: an ExternalName Service does not have endpoints"
    } else {
        return;
    };
    findings.add(
        Rule::TrafficDistribution,
        Fault::Text(&format!("{value} {why}")),
        format_args!("spec.trafficDistribution"),
        format_args!("{value:?} {why}"),
    );
}

/// [`Rule::SuperedgeKeys`]. SuperEdge's application-grid-wrapper ignores a list that it cannot read. A key that no node
/// can have matches nothing.
pub(super) fn check_superedge(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let Some(text) = subject.object.meta.annotations.get(SUPEREDGE) else { return };
    let field = format_args!("metadata.annotations[{SUPEREDGE}]");
    // The application-grid-wrapper reads `null` as an empty list.
    let Ok(keys) = serde_json::from_str::<Option<Vec<String>>>(text) else {
        let message = format_args!("is not a JSON list of strings: SuperEdge ignores it");
        findings.add(Rule::SuperedgeKeys, Fault::Text(text), field, message);
        return;
    };
    for key in keys.into_iter().flatten().filter(|k| !is_label_key(k)) {
        let message = format_args!("{key:?} cannot be a node label and matches nothing; it is not a wildcard");
        findings.add(Rule::SuperedgeKeys, Fault::Text(&key), field, message);
    }
}

/// [`Rule::OpenyurtKeys`]. yurthub matches one value exactly; an empty value means no filter.
pub(super) fn check_openyurt(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let Some(value) = subject.object.meta.annotations.get(OPENYURT) else { return };
    if value.is_empty() || OPENYURT_VALUES.contains(&value.as_str()) {
        return;
    }
    let list = if value.trim_start().starts_with('[') { "one value, not a list" } else { "hostname, nodepool or zone" };
    findings.add(
        Rule::OpenyurtKeys,
        Fault::Text(value),
        format_args!("metadata.annotations[{OPENYURT}]"),
        format_args!("yurthub reads {list}; it ignores {value:?}"),
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
