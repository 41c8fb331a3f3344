//! What an API server refuses of an Ingress: its hosts, paths, backends, certificates and class.

use roster_engine::{
    model::{dns, parse_lenient},
    reason::Reason,
};

use super::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    values::{is_port, not_port_name},
};

/// What was the class before there was a field for it.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

const PATH_TYPES: FieldRule = FieldRule::OneOf(&["Exact", "Prefix", "ImplementationSpecific"]);

/// What no path has that is compared step by step.
const SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const ENDINGS: [&str; 2] = ["/..", "/."];

const RESOURCE: &FieldRules = &[
    ("apiGroup", Presence::Nullable, FieldRule::Subdomain),
    ("kind", Presence::Required, FieldRule::PathSegment),
    ("name", Presence::Required, FieldRule::PathSegment),
];

/// Checks an Ingress.
pub(super) fn check(object: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let spec = object.key("spec");
    let (backend, rules) = (spec.key("defaultBackend"), spec.key("rules"));
    // The schema reports `backend`, which is the name of a version that is gone.
    if !backend.is_set() && rules.is_empty() && !spec.key("backend").is_set() {
        spec.require("an Ingress needs rules or defaultBackend", faults);
    }
    check_backend(&backend, faults);
    for rule in rules.items() {
        check_rule(&rule, faults);
    }
    for tls in spec.key("tls").items() {
        for host in tls.key("hosts").items() {
            check_host(&host, faults);
        }
        FieldRule::Subdomain.check(&tls.key("secretName"), Presence::Optional, faults);
    }
    check_class(object, &spec.key("ingressClassName"), faults);
}

fn check_class(object: &Field<'_, '_>, class: &Field<'_, '_>, faults: &mut Faults<'_>) {
    FieldRule::Subdomain.check(class, Presence::Nullable, faults);
    let metadata = object.key("metadata");
    let annotations = metadata.key("annotations");
    // An API server reads one that is null as an empty text.
    let annotation = annotations.entries().find(|(key, _)| *key == CLASS_ANNOTATION);
    if let (Some((_, annotation)), Some(class)) = (annotation, class.as_text())
        && annotation.text() != class
    {
        annotation.refuse(format!("it differs from ingressClassName, which is {}", quoted(class)), faults);
    }
}

/// An empty host stands for every host.
fn check_rule(rule: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let host = rule.key("host");
    if parse_lenient(host.text()).is_some() {
        host.refuse(format!("{} is an address; a host is a DNS name, such as example.com", host.text()), faults);
    } else if !host.text().is_empty() {
        check_host(&host, faults);
    }
    let http = rule.key("http");
    let paths = http.key("paths");
    if http.is_set() && paths.is_empty() {
        paths.require("it needs a path", faults);
    }
    for path in paths.items() {
        check_path(&path, faults);
    }
}

fn check_host(host: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let Some(text) = host.as_text() else { return };
    let name = text.strip_prefix("*.").unwrap_or(text);
    if text.len() > dns::MAX_SUBDOMAIN || !dns::is_subdomain(name.as_bytes()) {
        let message = "is not a DNS name in lower case, such as example.com or *.example.com";
        host.refuse(format!("{} {message}", quoted(text)), faults);
    }
}

fn check_path(rule: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (kind, path) = (rule.key("pathType"), rule.key("path"));
    PATH_TYPES.check(&kind, Presence::Required, faults);
    match (kind.text(), path.text()) {
        (kind @ ("Exact" | "Prefix"), "") => path.require(format!("pathType {kind} needs a path such as /"), faults),
        ("Exact" | "Prefix" | "ImplementationSpecific", text) if !text.is_empty() && !text.starts_with('/') => {
            path.refuse(format!("{} does not begin with /", quoted(text)), faults);
        }
        (kind @ ("Exact" | "Prefix"), text) => {
            let inside = SEQUENCES.iter().find(|part| text.contains(*part));
            if let Some(part) = inside.or_else(|| ENDINGS.iter().find(|part| text.ends_with(*part))) {
                path.refuse(format!("{} has {part}, which pathType {kind} does not allow", quoted(text)), faults);
            }
        }
        _ => {}
    }
    check_backend(&rule.key("backend"), faults);
}

/// The schema reports a backend that is missing, and the fields of old versions.
fn check_backend(backend: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (service, resource) = (backend.key("service"), backend.key("resource"));
    match (service.is_set(), resource.is_set()) {
        (true, true) => backend.refuse("it has both service and resource", faults),
        (true, false) => check_service(&service, faults),
        (false, true) => check_fields(&resource, RESOURCE, faults),
        (false, false) if backend.is_set() && backend.entries().all(|(_, value)| !value.is_set()) => {
            backend.require("it needs a service or a resource", faults);
        }
        (false, false) => {}
    }
}

fn check_service(service: &Field<'_, '_>, faults: &mut Faults<'_>) {
    FieldRule::Label.check(&service.key("name"), Presence::Required, faults);
    let port = service.key("port");
    let (name, number) = (port.key("name"), port.key("number"));
    let is_named = !name.text().is_empty();
    match number.number().filter(|n| *n != 0) {
        Some(_) if is_named => port.refuse("it has both a name and a number", faults),
        Some(n) if !is_port(n) => {
            faults.add(Reason::InvalidPort, number.at, format!("port {n} is not from 1 to 65535"));
        }
        Some(_) => {}
        None if is_named => check_port_name(&name, faults),
        // The schema reports a number in quotes.
        None if number.as_text().is_some() => {}
        None => port.require("it needs a name or a number", faults),
    }
}

fn check_port_name(name: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let text = name.text();
    if let Some(why) = not_port_name(text) {
        let hint = text.parse::<u16>().map_or(String::new(), |number| format!("; write number: {number}"));
        name.refuse(format!("{} is not the name of a port: {why}{hint}", quoted(text)), faults);
    }
}
