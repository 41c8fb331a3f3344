//! The way out of topology keys: what Kubernetes has instead, and what that cannot do. Pure and total.
//!
//! Topology keys are a fence: traffic does not leave it, even if nothing is left inside. `trafficDistribution` is a
//! preference: where the zone has no ready endpoint, or an endpoint has no zone, traffic goes everywhere. Only
//! `internalTrafficPolicy: Local` is a fence, around one node.

mod service_keys;
mod service_migration;
#[cfg(test)]
mod tests;
mod zone_labels;

pub use service_keys::{KeySource, ServiceKeys};
pub use service_migration::{Equivalence, ServiceMigration, TrafficTarget};
pub use zone_labels::{ZoneLabels, ZonePatch};

use crate::{
    model::{Service, Text},
    profile::Minor,
};

/// What becomes of all Services with topology keys.
#[derive(Debug)]
pub struct TopologyMigration<'a> {
    /// The Services, in the order given.
    pub services: Vec<ServiceMigration<'a>>,
    /// The label of nodes that becomes their zone.
    pub zone_key: Option<Text>,
    /// Services whose keys cannot be read.
    pub malformed: Vec<&'a Service>,
}

impl<'a> TopologyMigration<'a> {
    /// Plans the migration. `zone_key` is the label that becomes the zone of nodes; without it, the one that most Services
    /// have among their keys, beside those that Kubernetes defines. `compat` is the release that the cluster will have.
    pub fn of(services: impl IntoIterator<Item = &'a Service>, zone_key: Option<Text>, compat: Minor) -> Self {
        let (mut keyed, mut malformed) = (Vec::new(), Vec::new());
        for service in services {
            match ServiceKeys::of(service) {
                Ok(Some(keys)) => keyed.push((service, keys)),
                Ok(None) => {}
                Err(_) => malformed.push(service),
            }
        }
        let zone_key = zone_key.or_else(|| service_keys::most_frequent(keyed.iter().map(|(_, keys)| keys)));
        let migration = |(service, keys)| ServiceMigration::of(service, keys, zone_key.as_ref(), compat);
        Self { services: keyed.into_iter().map(migration).collect(), zone_key, malformed }
    }
}
