//! The routes that name a Service, with what is wrong with them, for its picture.

use std::collections::HashMap;

use roster_engine::{
    model::{HashSeed, Service, Text},
    picture::{Route, RouteFault},
    reason::Severity,
};
use roster_manifests::inventory::{Inventory, ServicePorts, ServiceRoute};

use crate::{
    rule::LintRule,
    rules::{BACKEND_PORT_MISSING, BACKEND_SERVICE_MISSING},
};

/// The routes of an input by the Services that they name.
#[derive(Debug, Default)]
pub struct RoutesByService<'a>(HashMap<(&'a str, &'a str), Vec<&'a ServiceRoute>, HashSeed>);

impl<'a> RoutesByService<'a> {
    /// The routes of an input.
    pub fn of(inventory: &'a Inventory) -> Self {
        let mut routes: HashMap<(&str, &str), Vec<&ServiceRoute>, HashSeed> = HashMap::default();
        for route in inventory.routes.iter() {
            routes.entry((&route.service.0, &route.service.1)).or_default().push(route);
        }
        Self(routes)
    }

    /// The routes that name a Service; `service` is `None` if it does not exist.
    pub fn to(&self, namespace: &Text, name: &Text, service: Option<&Service>) -> Vec<Route> {
        let routes = self.0.get(&(namespace.as_str(), name.as_str())).into_iter().flatten();
        let ports = service.map(ServicePorts::of);
        routes.map(|route| picture_route(route, ports.as_ref())).collect()
    }
}

fn picture_route(of: &ServiceRoute, ports: Option<&ServicePorts<'_>>) -> Route {
    let ServiceRoute { route, matches, port, service: (_, name) } = of;
    let fault =
        |rule: &LintRule, message| RouteFault { code: rule.code, severity: rule.severity, message, fix: rule.fix };
    let missing = || fault(&BACKEND_SERVICE_MISSING, format!("there is no Service {name}"));
    let fault = match (ports, port) {
        (None, _) => Some(missing()),
        (Some(_), None) if route.kind.ends_with("Route") => {
            let message = format!("the reference to the Service {name} needs a port: a number");
            Some(RouteFault { severity: Severity::Error, ..fault(&BACKEND_PORT_MISSING, message) })
        }
        (Some(ports), Some(port)) if !ports.have(port) => Some(fault(&BACKEND_PORT_MISSING, ports.miss(port))),
        _ => None,
    };
    Route {
        kind: route.kind.clone(),
        namespace: route.namespace.clone(),
        name: route.name.clone(),
        matches: matches.clone(),
        port: port.as_ref().map(|port| port.port.clone()),
        fault,
    }
}

#[cfg(test)]
mod tests {
    use roster_manifests::inventory::Referrer;
    use serde_json::json;

    use super::*;

    #[test]
    fn routes_to_what_is_not_there_have_a_fault() {
        let mut inventory = Inventory::default();
        let text =
            json!({ "spec": { "defaultBackend": { "service": { "name": "web", "port": { "number": 8080 } } } } });
        let (text, namespace) = (text.to_string(), "shop");
        let object = Referrer { kind: "Ingress", group: "networking.k8s.io", namespace, text: &text };
        inventory.routes.add(object, &"edge".into());
        let routes = RoutesByService::of(&inventory);
        let service = |port: i32| -> Service {
            serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": { "ports": [{ "port": port }] } }))
                .unwrap()
        };
        for (name, service, want) in [
            ("web", Some(service(8080)), &["Ingress edge: ok"][..]),
            (
                "web",
                Some(service(80)),
                &["Ingress edge: backend-port-missing the Service web has no port 8080; its port is 80"],
            ),
            ("web", None, &["Ingress edge: backend-service-missing there is no Service web"]),
            ("other", None, &[]),
        ] {
            let fault = |route: &Route| route.fault.as_ref().map(|fault| format!("{} {}", fault.code, fault.message));
            let line = |r: &Route| format!("{} {}: {}", r.kind, r.name, fault(r).unwrap_or_else(|| "ok".to_owned()));
            let routes = routes.to(&"shop".into(), &name.into(), service.as_ref());
            assert_eq!(routes.iter().map(line).collect::<Vec<_>>(), want, "{name}");
        }
    }
}
