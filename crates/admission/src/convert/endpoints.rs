//! EndpointSlices → Endpoints: all slices of a Service in one object, as far as Endpoints can hold them.

use std::collections::BTreeMap;

use roster_engine::{
    model::{
        AddressType, Endpoint, EndpointAddress, EndpointPort, EndpointSlice, EndpointSubset, Endpoints, Labels,
        ObjectMeta, SlicePort, Text, names,
    },
    profile::Minor,
    subsets,
};
use serde_json::{Value, value::RawValue};

use super::losses::Losses;

/// A parsed slice: the part that Endpoints can hold, and the fields that are lost.
pub(super) struct SliceSource {
    meta: ObjectMeta,
    subset: Option<EndpointSubset>,
    pub(super) losses: Losses,
}

impl SliceSource {
    /// Parses a slice of v1.
    pub(super) fn read(raw: &RawValue, mut losses: Losses) -> Result<Self, String> {
        let slice: EndpointSlice = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
        let source: Value = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
        losses.add_unread(&source, &serde_json::to_value(&slice).map_err(|e| e.to_string())?);
        if slice.service_name().is_none_or(Text::is_empty) {
            return Err(
                "the label kubernetes.io/service-name is missing: the slice does not belong to a Service".to_owned()
            );
        }
        note_metadata(&slice.meta, &mut losses);
        let subset = subset(&slice, &mut losses);
        Ok(Self { meta: slice.meta, subset, losses })
    }

    /// Namespace and name of the Service.
    pub(super) fn service(&self) -> (Text, Text) {
        (self.meta.namespace.clone(), self.meta.labels.get(names::SERVICE_NAME).cloned().unwrap_or_default())
    }
}

/// The Endpoints of one Service. The slices are joined in the order of their names.
pub(super) fn from_slices(sources: &mut [SliceSource]) -> Result<Endpoints, String> {
    sources.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    let mut meta = ObjectMeta::default();
    let (mut labels, mut annotations) = (BTreeMap::new(), BTreeMap::new());
    let mut subsets = Vec::with_capacity(sources.len());
    for source in sources {
        (meta.namespace, meta.name) = source.service();
        let SliceSource { meta: of_slice, subset, losses } = source;
        merge(&mut labels, &of_slice.labels, "metadata.labels", losses);
        merge(&mut annotations, &of_slice.annotations, "metadata.annotations", losses);
        subsets.extend(subset.take());
    }
    (meta.labels, meta.annotations) = (labels.into_iter().collect(), annotations.into_iter().collect());
    let subsets = subsets::repack(Minor::NEWEST.profile().hash, &subsets)
        .map_err(|_| "the slices of the Service repeat addresses under too many ports".to_owned())?;
    Ok(Endpoints { meta, subsets })
}

fn note_metadata(meta: &ObjectMeta, losses: &mut Losses) {
    if !meta.finalizers.is_empty() {
        losses.add("metadata.finalizers", "finalizers of a slice do not apply to the Endpoints");
    }
    // Controllers set the Service or its Endpoints as the owner of a slice. Endpoints do not need that owner.
    if meta.owner_references.iter().any(|o| o.kind != "Service" && o.kind != "Endpoints") {
        losses.add("metadata.ownerReferences", "the owner of a slice does not own the Endpoints");
    }
}

/// Adds labels or annotations. If slices differ, the first one counts.
fn merge(into: &mut BTreeMap<String, String>, more: &Labels, field: &str, losses: &mut Losses) {
    let of_controllers = [names::SERVICE_NAME, names::SLICE_MANAGED_BY, names::TRIGGER_TIME, names::LAST_APPLIED];
    for (key, value) in more.iter().filter(|(k, _)| !of_controllers.contains(&k.as_str())) {
        match into.get(key.as_str()) {
            None => drop(into.insert(key.to_string(), value.to_string())),
            Some(before) if *before == *value => {}
            Some(_) => losses.add(format!("{field}[{key:?}]"), "another slice of the Service has a different value"),
        }
    }
}

fn subset(slice: &EndpointSlice, losses: &mut Losses) -> Option<EndpointSubset> {
    if let AddressType::Other(kind) = &slice.address_type {
        losses.add("endpoints", &format!("Endpoints can only hold IP addresses, not addresses of type {kind}"));
        return None;
    }
    let mut subset = EndpointSubset::default();
    for (i, port) in slice.ports.iter().flatten().enumerate() {
        match endpoint_port(port) {
            Some(port) => subset.ports.push(port),
            None => losses
                .add(format!("ports[{i}]"), "a port without a number means every port, which Endpoints cannot express"),
        }
    }
    if subset.ports.is_empty() && slice.ports.as_ref().is_some_and(|p| !p.is_empty()) {
        // A subset without ports would mean endpoints without ports.
        losses.add("endpoints", "none of their ports can be converted");
        return None;
    }
    for (i, endpoint) in slice.endpoints.iter().enumerate() {
        note_endpoint(endpoint, i, losses);
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

fn note_endpoint(endpoint: &Endpoint, i: usize, losses: &mut Losses) {
    let conditions = endpoint.conditions;
    for (lost, field, why) in [
        (endpoint.addresses.is_empty(), "addresses", "Endpoints cannot hold an endpoint without addresses"),
        (endpoint.addresses.len() > 1, "addresses", "Endpoints hold only the first address of an endpoint"),
        (endpoint.zone.is_some(), "zone", "Endpoints do not have zones"),
        (endpoint.hints.is_some(), "hints", "Endpoints do not have hints"),
        (endpoint.deprecated_topology.is_some(), "deprecatedTopology", "Endpoints do not have a topology"),
        (
            conditions.serving.is_some_and(|s| s != endpoint.ready()),
            "conditions.serving",
            "Endpoints only distinguish ready and not ready",
        ),
        (conditions.terminating == Some(true), "conditions.terminating", "Endpoints do not have this condition"),
    ] {
        if lost {
            losses.add(format!("endpoints[{i}].{field}"), why);
        }
    }
}
