//! Metrics of the controller.

use std::sync::Arc;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
    registry::Registry,
};

use super::cluster_copy::ClusterCopy;

/// The metrics, read from the copy when they are asked for.
#[derive(Debug)]
pub(super) struct ControllerMetrics(Arc<ClusterCopy>);

impl ControllerMetrics {
    pub(super) fn new(copy: Arc<ClusterCopy>) -> Self {
        Self(copy)
    }

    pub(super) fn register(self, registry: &mut Registry) {
        registry.register_collector(Box::new(self));
    }
}

impl Collector for ControllerMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (depth, failing) = self.0.backlog();
        let contested = self.0.contested();
        for (name, help, value) in [
            ("roster_controller_queue_depth", "Services that wait for a sync", depth),
            (
                "roster_controller_failing_services",
                "Services of which more than fifteen syncs in a row have failed, after which kube-controller-manager forgets them",
                failing,
            ),
            (
                "roster_controller_contested_services",
                "Services that are left alone because another program changes what the controller writes",
                contested,
            ),
        ] {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}
