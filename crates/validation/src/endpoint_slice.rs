//! What an API server refuses of an EndpointSlice.

use std::collections::BTreeSet;

use roster_engine::model::Family;

use super::{
    addresses::{not_full_domain_name, not_slice_address},
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, PROTOCOLS, Presence, check_fields},
    values::not_label_value,
};

const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;
const MOST_PORTS: usize = 20_000;
const MOST_HINTS: usize = 8;

const SLICE: &FieldRules = &[("addressType", Presence::Required, FieldRule::OneOf(&["IPv4", "IPv6", "FQDN"]))];

const ENDPOINT: &FieldRules =
    &[("hostname", Presence::Nullable, FieldRule::Label), ("nodeName", Presence::Nullable, FieldRule::Subdomain)];

/// An empty protocol is not filled in, unlike in Endpoints; any number of a port is stored.
const PORT: &FieldRules = &[
    ("name", Presence::Optional, FieldRule::Label),
    ("protocol", Presence::Nullable, PROTOCOLS),
    ("appProtocol", Presence::Nullable, FieldRule::QualifiedName),
];

/// Checks endpoints and ports.
pub(super) fn check(object: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(object, SLICE, faults);
    let address_type = object.key("addressType").text();
    let endpoints = object.key("endpoints");
    endpoints.check_len(MOST_ENDPOINTS, "endpoints", faults);
    for endpoint in endpoints.items() {
        check_addresses(&endpoint.key("addresses"), address_type, faults);
        check_fields(&endpoint, ENDPOINT, faults);
        check_hints(&endpoint.key("hints"), faults);
    }
    check_ports(&object.key("ports"), faults);
}

fn check_addresses(addresses: &Field<'_, '_>, address_type: &str, faults: &mut Faults<'_>) {
    if addresses.is_empty() {
        addresses.require("an endpoint needs an address", faults);
    }
    addresses.check_len(MOST_ADDRESSES, "addresses", faults);
    for address in addresses.items() {
        let Some(text) = address.as_text() else { continue };
        let why = match address_type {
            "IPv4" => not_slice_address(text, Family::V4),
            "IPv6" => not_slice_address(text, Family::V6),
            "FQDN" => not_full_domain_name(text).map(str::to_owned),
            _ => None,
        };
        if let Some(why) = why {
            let message = format!("{} is not allowed in a slice of type {address_type}: {why}", quoted(text));
            address.refuse(message, faults);
        }
    }
}

fn check_hints(hints: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for (list, what) in [("forZones", "zones"), ("forNodes", "nodes")] {
        let list = hints.key(list);
        list.check_len(MOST_HINTS, what, faults);
        let mut seen = BTreeSet::new();
        for hint in list.items() {
            let name = hint.key("name");
            if !seen.insert(name.text()) {
                name.refuse(format!("{} is repeated", quoted(name.text())), faults);
            } else if what == "nodes" {
                FieldRule::Subdomain.check(&name, Presence::Required, faults);
            } else if let Some(why) = not_label_value(name.text()) {
                name.refuse(format!("{} is not the name of a zone: {why}", quoted(name.text())), faults);
            }
        }
    }
}

/// A missing name is an empty one: one port may have it.
fn check_ports(ports: &Field<'_, '_>, faults: &mut Faults<'_>) {
    ports.check_len(MOST_PORTS, "ports", faults);
    let mut names = BTreeSet::new();
    for port in ports.items() {
        check_fields(&port, PORT, faults);
        let name = port.key("name");
        if !names.insert(name.text()) {
            let message = match name.text() {
                "" => "only one port of a slice may be without a name".to_owned(),
                repeated => format!("the port name {} is repeated", quoted(repeated)),
            };
            name.refuse(message, faults);
        }
    }
}
