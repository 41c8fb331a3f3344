//! The selectors of monitors and of disruption budgets.

use roster_engine::model::{LabelSelector, Labels, Text, wire::nullable};
use roster_manifests::inventory::workloads::{Comparison, ObjectSelections, ObjectSelector, SelectedObjects};
use serde::Deserialize;

use super::{MONITORING, ReferringObject};

/// Most namespaces in which a monitor is looked for.
const MAX_NAMESPACES: usize = 16;

/// An object that selects others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selecting {
    /// Its document.
    pub(crate) document: usize,
    /// What it is.
    pub(crate) kind: SelectingKind,
    /// Whether the selector is missing.
    pub(crate) is_missing: bool,
    /// The namespaces in which it selects.
    namespaces: Vec<Text>,
    /// The labels of which it asks for one value.
    labels: Labels,
    /// The names of ports that it asks for, with JSON pointers to them.
    pub(crate) ports: Vec<(String, Text)>,
}

/// What selects others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectingKind {
    ServiceMonitor,
    PodMonitor,
    Budget,
}

impl SelectingKind {
    /// The kind of the object.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ServiceMonitor => "ServiceMonitor",
            Self::PodMonitor => "PodMonitor",
            Self::Budget => "PodDisruptionBudget",
        }
    }
}

#[derive(Deserialize)]
struct SelectingObject {
    spec: SelectingSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelectingSpec {
    selector: Option<LabelSelector>,
    #[serde(default, deserialize_with = "nullable")]
    namespace_selector: NamespaceSelector,
    #[serde(default, deserialize_with = "nullable")]
    endpoints: Vec<MonitoredPort>,
    #[serde(default, deserialize_with = "nullable")]
    pod_metrics_endpoints: Vec<MonitoredPort>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NamespaceSelector {
    #[serde(deserialize_with = "nullable")]
    any: bool,
    #[serde(deserialize_with = "nullable")]
    match_names: Vec<Text>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MonitoredPort {
    #[serde(deserialize_with = "nullable")]
    port: Text,
}

/// The selector of an object.
pub(super) fn of(object: ReferringObject<'_>) -> Option<Selecting> {
    let kind = match (object.group, object.kind) {
        (MONITORING, "ServiceMonitor") => SelectingKind::ServiceMonitor,
        (MONITORING, "PodMonitor") => SelectingKind::PodMonitor,
        ("policy", "PodDisruptionBudget") => SelectingKind::Budget,
        _ => return None,
    };
    let SelectingObject { spec } = object.read()?;
    let NamespaceSelector { any, match_names } = spec.namespace_selector;
    let namespaces = match kind {
        SelectingKind::Budget => vec![object.namespace.into()],
        // Those of a cluster are not known.
        _ if any || match_names.len() > MAX_NAMESPACES => Vec::new(),
        _ if match_names.is_empty() => vec![object.namespace.into()],
        _ => match_names,
    };
    let (field, endpoints) = match kind {
        SelectingKind::PodMonitor => ("podMetricsEndpoints", spec.pod_metrics_endpoints),
        _ => ("endpoints", spec.endpoints),
    };
    let ports = endpoints.into_iter().enumerate().filter(|(_, endpoint)| !endpoint.port.is_empty());
    Some(Selecting {
        document: object.document,
        kind,
        is_missing: spec.selector.is_none(),
        namespaces,
        labels: spec.selector.map(|selector| selector.single_values()).unwrap_or_default(),
        ports: ports.map(|(place, endpoint)| (format!("/spec/{field}/{place}/port"), endpoint.port)).collect(),
    })
}

/// The objects with what they select.
pub(super) fn selected<'a>(
    all: Vec<Selecting>,
    comparison: &'a Comparison<'a>,
) -> Vec<(Selecting, Vec<SelectedObjects>)> {
    if all.is_empty() {
        return Vec::new();
    }
    let mut selections = comparison.object_selections();
    all.into_iter()
        .map(|of| {
            let found = of.selected(&mut selections);
            (of, found)
        })
        .collect()
}

impl Selecting {
    /// What it selects in each of its namespaces, unless nothing can be said of one of them.
    fn selected(&self, selections: &mut ObjectSelections<'_>) -> Vec<SelectedObjects> {
        let in_namespace = |namespace| {
            let of =
                ObjectSelector { kind: self.kind.name(), document: self.document, namespace, labels: &self.labels };
            match self.kind {
                SelectingKind::ServiceMonitor => selections.services(&of),
                SelectingKind::PodMonitor | SelectingKind::Budget => selections.pods(&of),
            }
        };
        let found: Vec<SelectedObjects> = self.namespaces.iter().map(in_namespace).collect();
        if found.contains(&SelectedObjects::Unknown) { Vec::new() } else { found }
    }
}
