//! EndpointSlices → Endpoints: all slices of a Service in one object, as far as it can hold them.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use super::lost::Losses;
use crate::{
    engine::{compat::Minor, subsets},
    model::{
        AddressType, Endpoint, EndpointAddress, EndpointPort, EndpointSlice, EndpointSubset, Endpoints, Labels,
        ObjectMeta, SlicePort, Text, names,
    },
};

/// A slice that was read: what of it Endpoints can hold, and what is lost.
pub(super) struct Source {
    meta: ObjectMeta,
    subset: Option<EndpointSubset>,
    pub(super) losses: Losses,
}

impl Source {
    /// Reads a slice of v1.
    pub(super) fn read(raw: &RawValue, mut losses: Losses) -> Result<Self, String> {
        let slice: EndpointSlice = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
        let source: Value = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
        losses.note_unread(&source, &serde_json::to_value(&slice).map_err(|e| e.to_string())?);
        if slice.service_name().is_none_or(Text::is_empty) {
            return Err("it has no label kubernetes.io/service-name: it belongs to no Service".to_owned());
        }
        tell_metadata(&slice.meta, &mut losses);
        let subset = subset(&slice, &mut losses);
        Ok(Self { meta: slice.meta, subset, losses })
    }

    /// Namespace and name of the Service.
    pub(super) fn service(&self) -> (Text, Text) {
        (self.meta.namespace.clone(), self.meta.labels.get(names::SERVICE_NAME).cloned().unwrap_or_default())
    }
}

/// The Endpoints of one Service. Slices count in the order of their names.
pub(super) fn from_slices(sources: &mut [Source]) -> Result<Endpoints, String> {
    sources.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    let mut meta = ObjectMeta::default();
    let (mut labels, mut annotations) = (BTreeMap::new(), BTreeMap::new());
    let mut subsets = Vec::with_capacity(sources.len());
    for source in sources {
        (meta.namespace, meta.name) = source.service();
        let Source { meta: of_slice, subset, losses } = source;
        merge(&mut labels, &of_slice.labels, "metadata.labels", losses);
        merge(&mut annotations, &of_slice.annotations, "metadata.annotations", losses);
        subsets.extend(subset.take());
    }
    (meta.labels, meta.annotations) = (labels.into_iter().collect(), annotations.into_iter().collect());
    let subsets = subsets::repack(Minor::NEWEST.profile().hash, &subsets)
        .map_err(|_| "the slices of the Service repeat addresses under too many ports".to_owned())?;
    Ok(Endpoints { meta, subsets })
}

fn tell_metadata(meta: &ObjectMeta, losses: &mut Losses) {
    if !meta.finalizers.is_empty() {
        losses.note("metadata.finalizers", "they hold the slice, and not the Endpoints");
    }
    // Whoever writes for a Service or its Endpoints owns slices; Endpoints need no owner for that.
    if meta.owner_references.iter().any(|o| o.kind != "Service" && o.kind != "Endpoints") {
        losses.note("metadata.ownerReferences", "the owner of a slice does not own the Endpoints");
    }
}

/// Adds labels or annotations; where slices differ, the first one counts.
fn merge(into: &mut BTreeMap<Text, Text>, more: &Labels, field: &str, losses: &mut Losses) {
    let own = [names::SERVICE_NAME, names::SLICE_MANAGED_BY, names::TRIGGER_TIME, names::LAST_APPLIED];
    for (key, value) in more.iter().filter(|(k, _)| !own.contains(&k.as_str())) {
        match into.get(key) {
            None => drop(into.insert(key.clone(), value.clone())),
            Some(before) if before == value => {}
            Some(_) => losses.note(format!("{field}[{key:?}]"), "an earlier slice of the Service has another value"),
        }
    }
}

fn subset(slice: &EndpointSlice, losses: &mut Losses) -> Option<EndpointSubset> {
    if let AddressType::Other(kind) = &slice.address_type {
        losses.note("endpoints", &format!("Endpoints hold IP addresses only, and these are of type {kind}"));
        return None;
    }
    let mut subset = EndpointSubset::default();
    for (i, port) in slice.ports.iter().flatten().enumerate() {
        match endpoint_port(port) {
            Some(port) => subset.ports.push(port),
            None => losses.note(format!("ports[{i}]"), "it has no number, which means every port"),
        }
    }
    if subset.ports.is_empty() && slice.ports.as_ref().is_some_and(|p| !p.is_empty()) {
        // Without ports the subset would say that there are none.
        losses.note("endpoints", "no port is left for them");
        return None;
    }
    for (i, endpoint) in slice.endpoints.iter().enumerate() {
        tell_endpoint(endpoint, i, losses);
        let Some(address) = address(endpoint) else { continue };
        let list = if endpoint.ready() { &mut subset.addresses } else { &mut subset.not_ready_addresses };
        list.push(address);
    }
    Some(subset)
}

fn endpoint_port(port: &SlicePort) -> Option<EndpointPort> {
    Some(EndpointPort {
        name: port.name.clone().unwrap_or_default(),
        port: port.port?,
        // The default of both kinds.
        protocol: port.protocol.clone().unwrap_or_else(|| Text::new_static("TCP")),
        app_protocol: port.app_protocol.clone(),
    })
}

fn address(endpoint: &Endpoint) -> Option<EndpointAddress> {
    Some(EndpointAddress {
        ip: endpoint.addresses.first()?.clone(),
        hostname: endpoint.hostname.clone().unwrap_or_default(),
        node_name: endpoint.node_name.clone(),
        target_ref: endpoint.target_ref.clone(),
    })
}

fn tell_endpoint(endpoint: &Endpoint, i: usize, losses: &mut Losses) {
    let conditions = endpoint.conditions;
    for (lost, field, why) in [
        (endpoint.addresses.is_empty(), "addresses", "an endpoint without address is none"),
        (endpoint.addresses.len() > 1, "addresses", "of several addresses of an endpoint, clients use the first"),
        (endpoint.zone.is_some(), "zone", "Endpoints have no zones"),
        (endpoint.hints.is_some(), "hints", "Endpoints have no hints"),
        (endpoint.deprecated_topology.is_some(), "deprecatedTopology", "Endpoints have no topology"),
        (
            conditions.serving.is_some_and(|s| s != endpoint.ready()),
            "conditions.serving",
            "Endpoints know ready and not ready only",
        ),
        (conditions.terminating == Some(true), "conditions.terminating", "Endpoints do not know it"),
    ] {
        if lost {
            losses.note(format!("endpoints[{i}].{field}"), why);
        }
    }
}
