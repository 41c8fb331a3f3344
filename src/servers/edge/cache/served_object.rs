//! An object as it is served: the text of the API server, without the endpoints that the scheme removes.

use std::{
    io::Write,
    sync::{Arc, OnceLock},
};

use roster_engine::model::{Labels, Resource};
use serde_json::{Value, json};

use super::{
    endpoint_lists::EndpointLists,
    endpoint_selection::{EndpointSelection, Removals, ServedEndpoints},
    raw_object::{ObjectName, RawObject, ServiceFields},
};

/// The name of the port of the API server.
const API_SERVER_PORT: &str = "https";

/// An object as clients see it. It shares its text with what was read from the API server, and has no version: that is
/// the one of the event which brought it.
#[derive(Clone, Debug)]
pub(crate) struct ServedObject {
    resource: Resource,
    raw: Arc<RawObject>,
    served: ServedEndpoints,
    removals: Removals,
    /// What it takes as an item of a protobuf list with a version, once it was measured.
    item_size: OnceLock<(u64, usize)>,
}

impl ServedObject {
    /// The whole object.
    pub(crate) fn whole(resource: Resource, raw: Arc<RawObject>) -> Self {
        Self::new(resource, raw, ServedEndpoints::All, Removals::default())
    }

    /// What is left of an object with endpoints.
    pub(crate) fn of(mut selection: EndpointSelection) -> Self {
        let (resource, raw, removals) = (selection.resource, selection.raw.clone(), selection.take_removals());
        Self::new(resource, raw, selection.served(), removals)
    }

    fn new(resource: Resource, raw: Arc<RawObject>, served: ServedEndpoints, removals: Removals) -> Self {
        Self { resource, raw, served, removals, item_size: OnceLock::new() }
    }

    /// How many bytes it takes as an item of a protobuf list, if it was measured with this version.
    pub(crate) fn item_size(&self, version: u64) -> Option<usize> {
        self.item_size.get().filter(|(measured, _)| *measured == version).map(|(_, size)| *size)
    }

    /// Remembers that size. An object is listed with one version: that of the event which brought it.
    pub(crate) fn remember_item_size(&self, version: u64, size: usize) {
        // Two lists may measure it at the same time.
        let _ = self.item_size.set((version, size));
    }

    /// Why endpoints were removed.
    pub(crate) fn removals(&self) -> &Removals {
        &self.removals
    }

    pub(crate) fn name(&self) -> ObjectName {
        self.raw.name.clone()
    }

    pub(super) fn object_name(&self) -> &ObjectName {
        &self.raw.name
    }

    #[cfg(test)]
    pub(crate) fn resource(&self) -> Resource {
        self.resource
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.raw.labels
    }

    /// The fields by which Services are selected; empty for other objects.
    pub(super) fn service_fields(&self) -> &ServiceFields {
        self.raw.service_fields()
    }

    /// About the size of its text.
    pub(crate) fn size(&self) -> usize {
        self.raw.text.len()
    }

    /// Whether clients see the same text.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let shares_text = Arc::ptr_eq(&self.raw, &other.raw) || self.raw.text == other.raw.text;
        if shares_text && self.served == other.served {
            return true;
        }
        let text = |object: &Self| {
            let mut out = Vec::with_capacity(object.size());
            object.write(0, &mut out);
            out
        };
        // Another endpoint may have been removed, and what is left is the same.
        text(self) == text(other)
    }

    /// Appends the JSON text with this version.
    pub(crate) fn write(&self, version: u64, out: &mut Vec<u8>) {
        let (text, at) = (self.raw.text.as_bytes(), self.raw.version_at);
        out.extend_from_slice(&text[..at]);
        // Writing to memory does not fail.
        let _ = write!(out, r#""resourceVersion":"{version}","#);
        let none = EndpointLists::default();
        let lists = self.raw.endpoints.as_ref().unwrap_or(&none);
        match &self.served {
            ServedEndpoints::All => out.extend_from_slice(&text[at..]),
            ServedEndpoints::Without(removed) => write_without(&text[at..], at, lists, removed, out),
            ServedEndpoints::Replaced(endpoint) => {
                out.extend_from_slice(&text[at..lists.tail_at]);
                self.write_replacement(&endpoint.0, endpoint.1, true, out);
            }
            ServedEndpoints::Nothing(endpoint) => {
                out.extend_from_slice(&text[at..lists.tail_at]);
                self.write_replacement(&endpoint.0, endpoint.1, false, out);
            }
        }
    }

    /// Writes the end of an object whose endpoints were replaced by one, which may be removed in turn.
    fn write_replacement(&self, address: &str, port: i32, is_left: bool, out: &mut Vec<u8>) {
        let ports = json!([{ "name": API_SERVER_PORT, "port": port, "protocol": "TCP" }]);
        let one = |endpoint: Value| Value::from(if is_left { vec![endpoint] } else { Vec::new() });
        let _ = match self.resource {
            Resource::Endpoints => {
                let subset = json!({ "addresses": one(json!({ "ip": address })), "ports": ports });
                write!(out, r#","subsets":[{subset}]}}"#)
            }
            _ => write!(out, r#","ports":{ports},"endpoints":{}}}"#, one(json!({ "addresses": [address] }))),
        };
    }
}

/// Writes a text, which begins at an offset, without the endpoints of these indexes.
fn write_without(text: &[u8], offset: usize, lists: &EndpointLists, removed: &[usize], out: &mut Vec<u8>) {
    let part = |from: usize, to: usize| &text[from - offset..to - offset];
    let (mut at, mut removed) = (offset, removed.iter().copied().peekable());
    for list in &lists.lists {
        out.extend_from_slice(part(at, list.text.start));
        let mut is_first = true;
        for index in list.endpoints.clone() {
            if removed.next_if_eq(&index).is_some() {
                continue;
            }
            if !is_first {
                out.push(b',');
            }
            is_first = false;
            let endpoint = &lists.endpoints[index].text;
            out.extend_from_slice(part(endpoint.start, endpoint.end));
        }
        at = list.text.end;
    }
    out.extend_from_slice(&text[at - offset..]);
}

#[cfg(test)]
mod tests {
    use roster_engine::view::EndpointObject;

    use super::*;

    fn read(resource: Resource, text: &str) -> Arc<RawObject> {
        Arc::new(RawObject::read(resource, text).unwrap())
    }

    fn text(object: &ServedObject) -> String {
        let mut out = Vec::new();
        object.write(7, &mut out);
        String::from_utf8(out).unwrap()
    }

    const SLICE: &str = r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"3","managedFields":[{"x":1}],
        "future":{"k":[1e400]}},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],"nodeName":"x","new":1},
        {"addresses":["10.0.0.2"],"nodeName":"y"}, {"addresses":["10.0.0.3"]}],"ports":[{"port":80}],"more":"é\u00e9"}"#;

    #[test]
    fn removed_endpoints_leave_every_other_byte() {
        let head = r#"{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"7","name":"a","namespace":"n","future":{"k":[1e400]}},"addressType":"IPv4","more":"é\u00e9","ports":[{"port":80}],"endpoints":["#;
        let one = r#"{"addresses":["10.0.0.1"],"nodeName":"x","new":1}"#;
        let two = r#"{"addresses":["10.0.0.2"],"nodeName":"y"}"#;
        let three = r#"{"addresses":["10.0.0.3"]}"#;
        for (kept, want) in [
            (&["10.0.0.1", "10.0.0.2", "10.0.0.3"][..], format!("{one},{two},{three}")),
            (&["10.0.0.1"], one.to_owned()),
            (&["10.0.0.3"], three.to_owned()),
            (&["10.0.0.1", "10.0.0.3"], format!("{one},{three}")),
            (&[], String::new()),
        ] {
            let mut selection = EndpointSelection::all(Resource::EndpointSlice, read(Resource::EndpointSlice, SLICE));
            selection.retain(|place| kept.contains(&place.address));
            assert_eq!(text(&ServedObject::of(selection)), format!("{head}{want}]}}"), "{kept:?}");
        }
    }

    #[test]
    fn the_subsets_of_endpoints_stay_even_without_addresses() {
        let object = r#"{"kind":"Endpoints","metadata":{"name":"a","namespace":"n"},"subsets":[
            {"addresses":[{"ip":"10.0.0.1","nodeName":"x"}],"notReadyAddresses":[{"ip":"10.0.0.2","nodeName":"y"}],"ports":[{"port":80}]},
            {"notReadyAddresses":[{"ip":"10.0.0.3"}]}]}"#;
        let head = r#"{"kind":"Endpoints","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a","namespace":"n"},"subsets":["#;
        for (kept, want) in [
            (
                &["10.0.0.2"][..],
                r#"{"addresses":[],"notReadyAddresses":[{"ip":"10.0.0.2","nodeName":"y"}],"ports":[{"port":80}]},{"notReadyAddresses":[]}]}"#,
            ),
            (
                &["10.0.0.1", "10.0.0.3"],
                r#"{"addresses":[{"ip":"10.0.0.1","nodeName":"x"}],"notReadyAddresses":[],"ports":[{"port":80}]},{"notReadyAddresses":[{"ip":"10.0.0.3"}]}]}"#,
            ),
        ] {
            let mut selection = EndpointSelection::all(Resource::Endpoints, read(Resource::Endpoints, object));
            selection.retain(|place| kept.contains(&place.address));
            assert_eq!(text(&ServedObject::of(selection)), format!("{head}{want}"), "{kept:?}");
        }
    }

    #[test]
    fn a15_t11_a_local_api_server_replaces_the_endpoints_and_may_be_removed() {
        let object = r#"{"metadata":{"name":"kubernetes","namespace":"default"},"addressType":"IPv4","endpoints":[{"addresses":["192.0.2.1"]}],"ports":[{"port":6443}]}"#;
        let head = r#"{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"7","name":"kubernetes","namespace":"default"},"addressType":"IPv4","ports":[{"name":"https","port":51003,"protocol":"TCP"}],"endpoints":"#;
        for (is_left, want) in [(true, r#"[{"addresses":["169.254.20.11"]}]}"#), (false, "[]}")] {
            let mut selection = EndpointSelection::all(Resource::EndpointSlice, read(Resource::EndpointSlice, object));
            selection.replace("169.254.20.11".into(), 51003);
            selection.retain(|_| is_left);
            assert_eq!(text(&ServedObject::of(selection)), format!("{head}{want}"));
        }
    }

    #[test]
    fn an_object_that_cannot_be_read_says_why() {
        for (resource, text, want) in [
            (Resource::Service, "[]", "Service is not a JSON object"),
            (Resource::Service, "{}", "Service has no metadata"),
            (Resource::Service, r#"{"metadata":{"labels":{}}}"#, "Service has no name"),
            (Resource::Service, r#"{"metadata":{"name":"a","labels":[]}}"#, "Service has metadata that cannot be read"),
            (
                Resource::EndpointSlice,
                r#"{"metadata":{"name":"a"},"endpoints":{}}"#,
                "EndpointSlice has endpoints that are not a list",
            ),
            (
                Resource::Endpoints,
                r#"{"metadata":{"name":"a"},"subsets":[{"addresses":[{"nodeName":1}]}]}"#,
                "Endpoints has addresses that cannot be read",
            ),
        ] {
            assert_eq!(RawObject::read(resource, text).map(|_| ()).unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn the_text_is_the_same_if_another_endpoint_was_removed() {
        let other =
            SLICE.replace("10.0.0.2", "10.0.0.9").replace("\"resourceVersion\":\"3\"", "\"resourceVersion\":\"4\"");
        let without_node_y = |text: &str| {
            let mut selection = EndpointSelection::all(Resource::EndpointSlice, read(Resource::EndpointSlice, text));
            selection.retain(|place| place.node.is_none_or(|node| node != "y"));
            ServedObject::of(selection)
        };
        assert!(without_node_y(SLICE).is_same(&without_node_y(&other)));
        let whole = |text| ServedObject::whole(Resource::EndpointSlice, read(Resource::EndpointSlice, text));
        assert!(!whole(SLICE).is_same(&whole(&other)));
    }
}
