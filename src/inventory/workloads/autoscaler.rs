//! Horizontal pod autoscalers: how far the number of pods of a workload may change.

use serde::Deserialize;

use super::workload::Workload;
use crate::model::{OwnerReference, Text, wire::nullable};

/// A HorizontalPodAutoscaler: its target and its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Autoscaler {
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
    /// `spec.scaleTargetRef`.
    pub target: OwnerReference,
    /// `spec.minReplicas`; 1 where it is missing.
    pub min_replicas: i32,
    /// `spec.maxReplicas`.
    pub max_replicas: i32,
    /// Whether only some overlays of its workload have it, so that nothing is known of the number of pods.
    pub is_of_overlay: bool,
}

impl Autoscaler {
    /// Whether it scales this workload.
    pub fn scales(&self, workload: &Workload) -> bool {
        !self.is_of_overlay && self.targets(workload)
    }

    /// Whether it names this workload.
    pub fn targets(&self, workload: &Workload) -> bool {
        self.namespace == workload.namespace && workload.replicas().is_some() && workload.is_owner(&self.target)
    }

    /// The number of pods without any metric: `replicas` brought within the limits. A workload with 0 replicas is not
    /// scaled.
    pub fn without_metrics(&self, replicas: i32) -> i32 {
        let most = self.max_replicas.max(self.min_replicas);
        if replicas == 0 { 0 } else { replicas.clamp(self.min_replicas, most) }
    }
}

impl<'de> Deserialize<'de> for Autoscaler {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let RawAutoscaler { metadata, spec } = RawAutoscaler::deserialize(d)?;
        Ok(Self {
            namespace: metadata.namespace,
            name: metadata.name,
            target: spec.scale_target_ref,
            min_replicas: spec.min_replicas.unwrap_or(1),
            max_replicas: spec.max_replicas,
            is_of_overlay: false,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawAutoscaler {
    #[serde(deserialize_with = "nullable")]
    metadata: RawMeta,
    #[serde(deserialize_with = "nullable")]
    spec: RawSpec,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawMeta {
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
    #[serde(deserialize_with = "nullable")]
    name: Text,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec {
    #[serde(deserialize_with = "nullable")]
    scale_target_ref: OwnerReference,
    min_replicas: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    max_replicas: i32,
}
