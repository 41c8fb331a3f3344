//! Horizontal pod autoscalers: how far the number of pods of a workload may change.

use roster_engine::model::{
    OwnerReference, Text,
    wire::{Present, lenient, nullable},
};
use serde::Deserialize;

use super::workload::Workload;

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
    /// The metrics of the CPU and memory that pods use.
    pub metrics: Vec<ResourceMetric>,
}

/// A metric of a resource that pods use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceMetric {
    /// The JSON pointer to it.
    pub pointer: String,
    /// The resource, such as `cpu`.
    pub resource: Text,
    /// The container that counts; `None` if all count.
    pub container: Option<Text>,
    /// Whether its target is a part of what the containers ask for.
    pub is_utilization: bool,
}

impl Autoscaler {
    /// Whether it scales this workload.
    pub fn scales(&self, workload: &Workload) -> bool {
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
            metrics: spec.metrics(),
            namespace: metadata.namespace,
            name: metadata.name,
            target: spec.scale_target_ref,
            min_replicas: spec.min_replicas.unwrap_or(1),
            max_replicas: spec.max_replicas,
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
    #[serde(deserialize_with = "lenient")]
    metrics: Vec<RawMetric>,
    /// Of version v1.
    #[serde(rename = "targetCPUUtilizationPercentage")]
    cpu_percentage: Present,
}

impl RawSpec {
    fn metrics(&self) -> Vec<ResourceMetric> {
        let of_percentage = self.cpu_percentage.0.then(|| ResourceMetric {
            pointer: "/spec/targetCPUUtilizationPercentage".to_owned(),
            resource: Text::new_static("cpu"),
            container: None,
            is_utilization: true,
        });
        let listed = self.metrics.iter().enumerate().filter_map(|(i, metric)| metric.read(i));
        of_percentage.into_iter().chain(listed).collect()
    }
}

/// A metric. Its type says which field counts.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawMetric {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Text,
    #[serde(deserialize_with = "lenient")]
    resource: RawResourceMetric,
    #[serde(deserialize_with = "lenient")]
    container_resource: RawResourceMetric,
}

impl RawMetric {
    /// The metric at a place of the list, if it is one of a resource that pods use.
    fn read(&self, place: usize) -> Option<ResourceMetric> {
        let (field, metric) = match self.kind.as_str() {
            "Resource" => ("resource", &self.resource),
            "ContainerResource" => ("containerResource", &self.container_resource),
            _ => return None,
        };
        Some(ResourceMetric {
            pointer: format!("/spec/metrics/{place}/{field}"),
            resource: metric.name.clone(),
            container: (field != "resource").then(|| metric.container.clone()),
            is_utilization: metric.target.average_utilization.0 || metric.target_average_utilization.0,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawResourceMetric {
    #[serde(deserialize_with = "lenient")]
    name: Text,
    #[serde(deserialize_with = "lenient")]
    container: Text,
    #[serde(deserialize_with = "lenient")]
    target: RawTarget,
    /// Of versions before v2.
    target_average_utilization: Present,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawTarget {
    average_utilization: Present,
}
