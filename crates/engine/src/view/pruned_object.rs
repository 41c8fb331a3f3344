//! Objects with endpoints on nodes, from which a scheme removes some.

use crate::{
    model::{
        Endpoint, EndpointAddress, EndpointPort, EndpointSlice, EndpointSubset, Endpoints, Labels, ObjectKey,
        SlicePort, Text,
    },
    reason::Reason,
};

/// The Service of the API server, whose endpoints a node may reach by another address.
const API_SERVER: (&str, &str) = ("default", "kubernetes");
/// The name of its port.
const API_SERVER_PORT: &str = "https";

/// What a scheme leaves of an object, and why the rest is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedObject<T> {
    /// The object, without the endpoints that were removed.
    pub object: T,
    /// Why the object is as it is, where that does not concern a single endpoint.
    pub reason: Option<Reason>,
    /// The endpoints that were removed.
    pub removed: Vec<RemovedEndpoint>,
}

/// An endpoint that a scheme removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedEndpoint {
    /// Its first address.
    pub address: Text,
    /// Its node.
    pub node: Option<Text>,
    /// Whether it is ready.
    pub ready: bool,
    /// Why.
    pub reason: Reason,
}

/// Endpoints or an EndpointSlice: slices of v1beta1 are read as v1, with `topology["kubernetes.io/hostname"]` as the node.
pub trait EndpointObject: Clone {
    /// Its namespace.
    fn namespace(&self) -> &Text;

    /// Its name.
    fn name(&self) -> &Text;

    /// Its annotations, at least those of the API server's own endpoints.
    fn annotations(&self) -> &Labels;

    /// Kind, namespace and name.
    fn key(&self) -> ObjectKey;

    /// The name of its Service.
    fn service_name(&self) -> Option<&Text>;

    /// Calls `keep` with the first address, the node and the readiness of each endpoint, and removes those for which it is
    /// false.
    fn retain(&mut self, keep: impl FnMut(EndpointPlace<'_>) -> bool);

    /// Replaces all endpoints by one with this address and port.
    fn replace(&mut self, address: Text, port: i32);

    /// Whether it belongs to the Service of the API server.
    fn is_of_api_server(&self) -> bool {
        (self.namespace().as_str(), self.name().as_str()) == API_SERVER
    }

    /// Calls `see` with each endpoint.
    fn each(&self, see: impl FnMut(EndpointPlace<'_>));
}

/// Where an endpoint is.
#[derive(Clone, Copy, Debug)]
pub struct EndpointPlace<'a> {
    /// Its first address; empty if it has none.
    pub address: &'a str,
    /// Its node.
    pub node: Option<&'a Text>,
    /// Whether it is ready.
    pub ready: bool,
}

impl EndpointObject for Endpoints {
    fn namespace(&self) -> &Text {
        &self.meta.namespace
    }

    fn name(&self) -> &Text {
        &self.meta.name
    }

    fn annotations(&self) -> &Labels {
        &self.meta.annotations
    }

    fn key(&self) -> ObjectKey {
        self.key()
    }

    fn service_name(&self) -> Option<&Text> {
        Some(&self.meta.name)
    }

    fn retain(&mut self, mut keep: impl FnMut(EndpointPlace<'_>) -> bool) {
        // A subset stays, even without addresses.
        for subset in &mut self.subsets {
            subset.addresses.retain(|a| keep(EndpointPlace::of_address(a, true)));
            subset.not_ready_addresses.retain(|a| keep(EndpointPlace::of_address(a, false)));
        }
    }

    fn replace(&mut self, address: Text, port: i32) {
        let name = Text::new_static(API_SERVER_PORT);
        self.subsets = vec![EndpointSubset {
            addresses: vec![EndpointAddress { ip: address, ..EndpointAddress::default() }],
            not_ready_addresses: Vec::new(),
            ports: vec![EndpointPort { name, port, protocol: Text::new_static("TCP"), app_protocol: None }],
        }];
    }

    fn each(&self, mut see: impl FnMut(EndpointPlace<'_>)) {
        for subset in &self.subsets {
            subset.addresses.iter().for_each(|a| see(EndpointPlace::of_address(a, true)));
            subset.not_ready_addresses.iter().for_each(|a| see(EndpointPlace::of_address(a, false)));
        }
    }
}

impl EndpointObject for EndpointSlice {
    fn namespace(&self) -> &Text {
        &self.meta.namespace
    }

    fn name(&self) -> &Text {
        &self.meta.name
    }

    fn annotations(&self) -> &Labels {
        &self.meta.annotations
    }

    fn key(&self) -> ObjectKey {
        self.key()
    }

    fn service_name(&self) -> Option<&Text> {
        self.service_name().filter(|name| !name.is_empty())
    }

    fn retain(&mut self, mut keep: impl FnMut(EndpointPlace<'_>) -> bool) {
        self.endpoints.retain(|e| keep(EndpointPlace::of_endpoint(e)));
    }

    fn replace(&mut self, address: Text, port: i32) {
        self.endpoints = vec![Endpoint { addresses: smallvec::smallvec![address], ..Endpoint::default() }];
        self.ports = Some(vec![SlicePort {
            name: Some(Text::new_static(API_SERVER_PORT)),
            protocol: Some(Text::new_static("TCP")),
            port: Some(port),
            app_protocol: None,
        }]);
    }

    fn each(&self, mut see: impl FnMut(EndpointPlace<'_>)) {
        self.endpoints.iter().for_each(|e| see(EndpointPlace::of_endpoint(e)));
    }
}

impl<'a> EndpointPlace<'a> {
    fn of_address(address: &'a EndpointAddress, ready: bool) -> Self {
        Self { address: &address.ip, node: address.node_name.as_ref(), ready }
    }

    fn of_endpoint(endpoint: &'a Endpoint) -> Self {
        let address = endpoint.addresses.first().map_or("", |a| a);
        Self { address, node: endpoint.node_name.as_ref(), ready: endpoint.ready() }
    }
}

impl<T: EndpointObject> PrunedObject<T> {
    /// An object of which everything stays.
    pub(super) fn whole(object: &T, reason: Option<Reason>) -> Self {
        Self { object: object.clone(), reason, removed: Vec::new() }
    }

    /// The same, with a reason; the first reason stays.
    pub(super) fn because(self, reason: Reason) -> Self {
        Self { reason: self.reason.or(Some(reason)), ..self }
    }

    /// Removes the endpoints for which `why` has a reason.
    pub(super) fn without(object: &T, why: impl FnMut(EndpointPlace<'_>) -> Option<Reason>) -> Self {
        Self::whole(object, None).without_more(why)
    }

    /// Removes more endpoints.
    pub(super) fn without_more(mut self, mut why: impl FnMut(EndpointPlace<'_>) -> Option<Reason>) -> Self {
        let removed = &mut self.removed;
        self.object.retain(|place| {
            let Some(reason) = why(place) else { return true };
            let EndpointPlace { address, node, ready } = place;
            removed.push(RemovedEndpoint { address: address.into(), node: node.cloned(), ready, reason });
            false
        });
        self
    }
}
