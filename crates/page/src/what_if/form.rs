//! The forms that add a change.

use std::collections::BTreeSet;

use roster_engine::{
    model::{Labels, Pod, Text},
    profile::Minor,
};
use roster_manifests::inventory::{Entry, Inventory};

use crate::{
    html::{Attribute, Html},
    limits::{MAX_CHOICES, MAX_OPTIONS},
};

/// What the forms offer.
pub(crate) struct Choices<'a> {
    pub(crate) objects: &'a Inventory,
    pub(crate) entry: &'a Entry<'a>,
    /// The pods that the Service selects.
    pub(crate) selected: &'a [&'a Pod],
    pub(crate) release: Minor,
    pub(crate) against: Option<Minor>,
}

impl Choices<'_> {
    /// Writes all forms.
    pub(crate) fn write(&self, html: &mut Html) {
        let lists = Lists::of(self);
        lists.write(html);
        let title = format!("{}/{}", self.entry.namespace, self.entry.name);
        let service: Attribute<'_> = ("value", &title);
        html.element("div", &[("class", "forms")], |html| {
            form(html, "pod-readiness", "A pod becomes ready, or not ready", |html| {
                choice(html, "Pod", "pod", "pods", &lists.pods);
                select(html, "becomes", "to", [("not-ready", "not ready"), ("ready", "ready")]);
            });
            form(html, "drain-node", "A node is drained", |html| choice(html, "Node", "node", "nodes", &lists.nodes));
            form(html, "lose-zone", "A zone is lost", |html| choice(html, "Zone", "zone", "zones", &lists.zones));
            form(html, "pod-label", "A label of pods is another one", |html| {
                choice(html, "Pod", "pod", "pods", &lists.pods);
                select(html, "for", "of", [("owner", "all pods of its owner"), ("pod", "this pod only")]);
                field(html, "Label", "key", "keys");
                optional(html, "Value; empty removes it");
            });
            form(html, "selector", "The selector is another one", |html| {
                hidden(html, "service", service);
                field(html, "Label", "key", "keys");
                optional(html, "Value; empty removes it");
            });
            form(html, "target-port", "A port leads elsewhere", |html| {
                hidden(html, "service", service);
                let ports = self.entry.service.map(|service| service.ports.as_slice()).unwrap_or_default();
                let named = |name: &Text, port: i32| if name.is_empty() { port.to_string() } else { name.to_string() };
                let names: Vec<String> = ports.iter().map(|port| named(&port.name, port.port)).collect();
                select(
                    html,
                    "Port of the Service",
                    "port",
                    names.iter().take(MAX_CHOICES).map(|n| (n.as_str(), n.as_str())),
                );
                field(html, "Port of the pods", "target", "targets");
            });
            form(html, "traffic-distribution", "Traffic prefers near pods", |html| {
                hidden(html, "service", service);
                let values = ["PreferSameZone", "PreferSameNode", "PreferClose"].map(|value| (value, value));
                select(html, "trafficDistribution", "value", values.into_iter().chain([("", "none")]));
            });
            self.release(html);
        });
    }

    /// The choice of the release to which the cluster is upgraded.
    fn release(&self, html: &mut Html) {
        html.element("div", &[("class", "form")], |html| {
            html.leaf("h4", &[], "Kubernetes is another release");
            html.element("label", &[], |html| {
                html.leaf("span", &[], "Release");
                html.element("select", &[("data-field", "against"), ("id", "against")], |html| {
                    let chosen = self.against.unwrap_or(self.release);
                    for minor in Minor::all().rev() {
                        option(html, &minor.to_string(), minor, minor == chosen);
                    }
                });
            });
        });
    }
}

/// The values that fields offer or suggest.
struct Lists {
    pods: Vec<String>,
    nodes: Vec<String>,
    zones: Vec<String>,
    /// Keys of labels.
    keys: Vec<String>,
    /// Ports of pods.
    targets: Vec<String>,
}

impl Lists {
    fn of(choices: &Choices<'_>) -> Self {
        let Choices { objects, entry, selected, .. } = choices;
        let first = || selected.iter().take(MAX_CHOICES);
        let near = objects.pods.iter().filter(|pod| pod.namespace() == entry.namespace);
        let mut pods: Vec<String> = first().map(|pod| name(pod)).collect();
        let known: BTreeSet<String> = pods.iter().cloned().collect();
        // Pods that it does not select may get its labels.
        pods.extend(near.map(name).filter(|name| !known.contains(name)).take(MAX_CHOICES - pods.len()));
        let nodes: BTreeSet<&Text> =
            objects.nodes.iter().map(|node| &node.name).chain(first().map(|pod| &pod.node_name)).collect();
        let zones: BTreeSet<&Text> = objects.nodes.iter().filter_map(|node| node.zone()).collect();
        let selector = entry.service.and_then(|service| service.selector.as_ref());
        let labels = selector.into_iter().chain(first().map(|pod| &*pod.labels)).flat_map(Labels::iter);
        let keys: BTreeSet<&Text> = labels.map(|(key, _)| key).collect();
        let ports = first().flat_map(|pod| pod.ports.iter());
        let targets: BTreeSet<String> =
            ports.flat_map(|port| [port.name.to_string(), port.number.to_string()]).collect();
        let texts =
            |texts: BTreeSet<&Text>| texts.into_iter().map(ToString::to_string).filter(|t| !t.is_empty()).collect();
        let targets = targets.into_iter().filter(|target| !target.is_empty()).collect();
        Self { pods, nodes: texts(nodes), zones: texts(zones), keys: texts(keys), targets }
    }

    fn write(&self, html: &mut Html) {
        for (id, values) in [
            ("pods", &self.pods),
            ("nodes", &self.nodes),
            ("zones", &self.zones),
            ("keys", &self.keys),
            ("targets", &self.targets),
        ] {
            list(html, id, values.iter().map(String::as_str));
        }
    }
}

/// Namespace and name of a pod.
fn name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace(), pod.name())
}

fn list<'v>(html: &mut Html, id: &'static str, values: impl Iterator<Item = &'v str>) {
    html.element("datalist", &[("id", id)], |html| {
        values.take(MAX_CHOICES).for_each(|value| html.element("option", &[("value", value)], |_| ()));
    });
}

fn form(html: &mut Html, change: &'static str, title: &'static str, fields: impl FnOnce(&mut Html)) {
    html.element("form", &[("class", "form"), ("data-change", change)], |html| {
        html.leaf("h4", &[], title);
        fields(html);
        html.leaf("button", &[("type", "submit"), ("id", change)], "Try");
    });
}

/// A list to choose from, or a field to type into if there are too many choices or none.
fn choice(html: &mut Html, label: &'static str, name: &'static str, id: &'static str, values: &[String]) {
    if values.is_empty() || values.len() > MAX_OPTIONS {
        return field(html, label, name, id);
    }
    select(html, label, name, values.iter().map(|value| (value.as_str(), value.as_str())));
}

fn field(html: &mut Html, label: &'static str, name: &'static str, list: &'static str) {
    html.element("label", &[], |html| {
        html.leaf("span", &[], label);
        html.element("input", &[("name", name), ("list", list), ("required", ""), ("autocomplete", "off")], |_| ());
    });
}

fn optional(html: &mut Html, label: &'static str) {
    html.element("label", &[], |html| {
        html.leaf("span", &[], label);
        html.element("input", &[("name", "value"), ("autocomplete", "off")], |_| ());
    });
}

fn hidden(html: &mut Html, name: &'static str, value: Attribute<'_>) {
    html.element("input", &[("type", "hidden"), ("name", name), value], |_| ());
}

fn select<'v>(
    html: &mut Html,
    label: &'static str,
    name: &'static str,
    values: impl IntoIterator<Item = (&'v str, &'v str)>,
) {
    html.element("label", &[], |html| {
        html.leaf("span", &[], label);
        html.element("select", &[("name", name)], |html| {
            values.into_iter().for_each(|(value, text)| option(html, value, text, false));
        });
    });
}

/// Writes one choice of a list.
pub(crate) fn option(html: &mut Html, value: &str, text: impl std::fmt::Display, is_chosen: bool) {
    let chosen: &[Attribute<'_>] = if is_chosen { &[("value", value), ("selected", "")] } else { &[("value", value)] };
    html.leaf("option", chosen, text);
}
