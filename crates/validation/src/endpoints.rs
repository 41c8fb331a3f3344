//! What an API server refuses of Endpoints.

use roster_engine::reason::Reason;

use super::{
    addresses::not_endpoint_address,
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, PROTOCOLS, Presence, check_fields},
    values::is_port,
};

const ADDRESS: &FieldRules =
    &[("hostname", Presence::Optional, FieldRule::Label), ("nodeName", Presence::Nullable, FieldRule::Subdomain)];

const PORT: &FieldRules = &[
    ("name", Presence::Optional, FieldRule::Label),
    ("protocol", Presence::Optional, PROTOCOLS),
    ("appProtocol", Presence::Nullable, FieldRule::QualifiedName),
];

/// Checks the subsets.
pub(super) fn check(object: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for subset in object.key("subsets").items() {
        check_addresses(&subset, faults);
        check_ports(&subset.key("ports"), faults);
    }
}

fn check_addresses(subset: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let lists = ["addresses", "notReadyAddresses"].map(|name| subset.key(name));
    if lists.iter().all(Field::is_empty) {
        subset.require("a subset needs addresses or notReadyAddresses", faults);
    }
    for address in lists.iter().flat_map(Field::items) {
        let ip = address.key("ip");
        if let Some(why) = not_endpoint_address(ip.text()) {
            ip.refuse(format!("{} is not allowed here: {why}", quoted(ip.text())), faults);
        }
        check_fields(&address, ADDRESS, faults);
    }
}

/// Names may be repeated.
fn check_ports(ports: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for port in ports.items() {
        check_fields(&port, PORT, faults);
        let field = port.key("port");
        if let Some(number) = field.number().filter(|number| !is_port(*number)) {
            faults.add(Reason::InvalidPort, field.at, format!("port {number} is not from 1 to 65535"));
        }
        let name = port.key("name");
        if ports.len() > 1 && name.text().is_empty() {
            name.require("a subset with several ports needs a name for each", faults);
        }
    }
}
