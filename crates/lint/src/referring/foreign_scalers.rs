//! The workloads whose number of pods another controller than their own decides: KEDA, Argo Rollouts.

use std::collections::{BTreeMap, BTreeSet};

use roster_engine::model::{ObjectKey, Service, Text, wire::nullable};
use roster_manifests::inventory::{Inventory, workloads::Workload};
use serde::Deserialize;

use super::webhooks::take;
use crate::{options::LintOptions, reviewed_object::ReviewedObject};

/// The workloads that may have pods although their `replicas` are 0, by namespace.
pub(super) struct ForeignScalers<'i>(BTreeMap<&'i Text, Vec<&'i Workload>>);

/// An object that may name a workload to scale. The decoder does not read its kind.
#[derive(Deserialize)]
struct Scaler {
    #[serde(default, deserialize_with = "nullable")]
    spec: ScalerSpec,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScalerSpec {
    /// Of a `ScaledObject` of KEDA, and of most that scale.
    scale_target_ref: Option<WorkloadName>,
    /// Of a Rollout of Argo: it makes the pods of a Deployment that is scaled to 0.
    workload_ref: Option<WorkloadName>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkloadName {
    #[serde(deserialize_with = "nullable")]
    kind: Text,
    #[serde(deserialize_with = "nullable")]
    name: Text,
}

impl<'i> ForeignScalers<'i> {
    /// Those of the objects of a unit.
    pub(super) fn new(items: &[ReviewedObject<'_>], inventory: &'i Inventory, options: &LintOptions<'_>) -> Self {
        // Kubernetes' own autoscaler does not scale a workload with 0 replicas, unless it may scale it to 0 itself.
        let is_foreign = |item: &&ReviewedObject<'_>| item.api_group() != "autoscaling";
        let foreign = items.iter().filter(is_foreign).flat_map(|item| named_by(item, options.namespace));
        let own = inventory.autoscalers.iter().filter(|autoscaler| autoscaler.min_replicas == 0);
        let own = own.map(|of| ObjectKey::new(&of.target.kind, &of.namespace, &of.target.name));
        let named: BTreeSet<ObjectKey> = foreign.chain(own).collect();
        let mut scaled: BTreeMap<&Text, Vec<&Workload>> = BTreeMap::new();
        if !named.is_empty() {
            let key = |workload: &Workload| ObjectKey::new(&workload.kind, &workload.namespace, &workload.name);
            for workload in inventory.workloads.iter().filter(|workload| named.contains(&key(workload))) {
                scaled.entry(&workload.namespace).or_default().push(workload);
            }
        }
        Self(scaled)
    }

    /// Whether a Service selects the pods of one of them; `None` if too many labels would be compared. `left` is
    /// how many may be.
    pub(super) fn make_pods_for(&self, service: &Service, left: &mut usize) -> Option<bool> {
        let workloads = self.0.get(&service.meta.namespace).map(Vec::as_slice).unwrap_or_default();
        let Some(selector) = &service.selector else { return Some(false) };
        take(left, workloads.len().saturating_mul(1 + selector.iter().count()))?;
        Some(workloads.iter().any(|workload| selector.selects(&workload.template.labels)))
    }
}

/// The workloads that an object names to scale them.
fn named_by(item: &ReviewedObject<'_>, namespace: &str) -> Vec<ObjectKey> {
    // What has another form scales nothing.
    let Ok(Scaler { spec }) = serde_json::from_str(item.document.raw.get()) else { return Vec::new() };
    let own = item.key.clone().placed(namespace).namespace;
    let named = [spec.scale_target_ref, spec.workload_ref].into_iter().flatten();
    // KEDA means a Deployment if it names no kind.
    let kind = |of: &WorkloadName| if of.kind.is_empty() { Text::new_static("Deployment") } else { of.kind.clone() };
    named.map(|of| ObjectKey { kind: kind(&of), namespace: own.clone(), name: of.name }).collect()
}
