//! The ports of containers, and those of the host that they take.

use std::collections::{BTreeSet, HashSet};

use roster_engine::{model::HashSeed, reason::Reason};

use super::PodPlace;
use crate::{
    faults::{Faults, quoted},
    field::{Field, PROTOCOLS, Presence},
    values::{is_port, not_port_name},
};

/// Checks the ports of one container.
pub(super) fn check(ports: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let mut names = BTreeSet::new();
    for port in ports.items() {
        PROTOCOLS.check(&port.key("protocol"), Presence::Optional, faults);
        let (number, host) = (port.key("containerPort"), port.key("hostPort"));
        for (field, unset) in [(number, None), (host, Some(0))] {
            if let Some(number) = field.number().filter(|n| Some(*n) != unset && !is_port(*n)) {
                faults.add(Reason::InvalidPort, field.at, format!("port {number} is not from 1 to 65535"));
            }
        }
        let name = port.key("name");
        if name.text().is_empty() {
            continue;
        }
        if let Some(why) = not_port_name(name.text()) {
            name.refuse(format!("{} is not the name of a container port: {why}", quoted(name.text())), faults);
        } else if !names.insert(name.text()) {
            name.refuse(format!("the port name {} is repeated in the container", quoted(name.text())), faults);
        }
    }
}

/// The ports of the host that containers take.
pub(super) struct HostPorts<'v> {
    host_network: bool,
    place: PodPlace,
    /// Protocol, address and number.
    taken: HashSet<(&'v str, &'v str, i64), HashSeed>,
}

impl<'v> HostPorts<'v> {
    pub(super) fn new(host_network: bool, place: PodPlace) -> Self {
        Self { host_network, place, taken: HashSet::default() }
    }

    /// Reports the ports that are taken already. A Pod in the network of the host takes all ports of its containers.
    pub(super) fn check(&mut self, container: &Field<'v, '_>, faults: &mut Faults<'_>) {
        for port in container.key("ports").items() {
            let field = port.key("hostPort");
            let number = match field.number().unwrap_or(0) {
                0 if self.host_network && self.place == PodPlace::Pod => port.key("containerPort").number(),
                number => Some(number),
            };
            let Some(number) = number.filter(|n| is_port(*n)) else { continue };
            let protocol = if port.key("protocol").text().is_empty() { "TCP" } else { port.key("protocol").text() };
            if !self.taken.insert((protocol, port.key("hostIP").text(), number)) {
                field.refuse(format!("the port {number}/{protocol} of the host is repeated"), faults);
            }
        }
    }

    /// Reports ports of the host that differ from those of the container: in the network of the host they are one.
    pub(super) fn check_numbers(&self, container: &Field<'v, '_>, faults: &mut Faults<'_>) {
        for port in container.key("ports").items().filter(|_| self.host_network) {
            let (host, number) = (port.key("hostPort"), port.key("containerPort").number());
            if host.number().is_some_and(|n| n != 0 && Some(n) != number) {
                host.refuse("with hostNetwork: true, it is the containerPort", faults);
            }
        }
    }
}
