//! The tab `Node`: which endpoints the proxy of one node uses.

use std::{cmp::Reverse, collections::BTreeMap};

use roster_engine::{
    explain::{Explanation, ServedTotals},
    model::Text,
    phrase::counted,
    picture::{NodeAccount, NodeSight},
    reason::Severity,
    view::{KeyOrder, Scheme, ServiceView, UnseenEndpoint, Verdict, ViewedCluster, Viewpoint},
};
use roster_manifests::inventory::{Entry, ViewInput};

use crate::{
    cluster::Cluster,
    code_note::{reason_note, severity_word},
    endpoints,
    html::Html,
    limits::{MAX_CHOICES, MAX_FINDINGS, MAX_NODE_VIEWS, MAX_SERVICES},
    patch::Patch,
    picture,
    request::SchemeChoice,
    service_line::{KnownLine, ServiceLine},
    services,
    what_if::option,
};

/// Whose view is shown of which Service.
pub(crate) struct NodeTab<'a, 'c> {
    pub(crate) cluster: &'a Cluster<'c>,
    pub(crate) entry: &'a Entry<'a>,
    pub(crate) explanation: &'a Explanation,
    /// What is known of all Services.
    pub(crate) lines: &'a [ServiceLine],
    pub(crate) scheme: SchemeChoice,
}

impl NodeTab<'_, '_> {
    /// Writes the tab. `node` is the name of the node; the first one if it is empty.
    pub(crate) fn write(&self, html: &mut Html, node: &Text) {
        let first = || self.cluster.objects.nodes.iter().map(|node| node.name.clone()).min();
        let node = if node.is_empty() { first().unwrap_or_default() } else { node.clone() };
        self.choice(html, &node);
        if node.is_empty() {
            return html.leaf("p", &[("class", "empty")], "The input has no Node. Type the name of one.");
        }
        let index = self.cluster.index;
        let end = services::end_of_room(index, MAX_NODE_VIEWS, |entry| self.cost(entry));
        let is_viewed = |entry: &Entry<'_>| {
            let key = services::key(entry);
            key == services::key(self.entry) || end.is_none_or(|end| key < end)
        };
        let input = ViewInput::of_services(self.cluster.objects, index, &self.cluster.options, Some(&node), is_viewed);
        let at = match input.named_node(&node) {
            Ok(known) => Viewpoint { name: &node, node: known },
            Err(unknown) => return html.leaf("p", &[("class", "problem")], unknown),
        };
        let viewed = input.cluster(self.scheme(), None);
        let Entry { namespace, name, .. } = self.entry;
        match viewed.service(namespace, name) {
            Some(of) => viewed.view(of, at, |view, removed| self.write_view(html, &node, view, removed)),
            None => html.leaf("p", &[("class", "empty")], "Nothing is known of the endpoints of this Service."),
        }
        let not_viewed = index.entries().iter().filter(|entry| entry.service.is_some() && !is_viewed(entry)).count();
        self.others(html, &viewed, at, not_viewed);
        let findings = input.findings();
        let findings = findings.iter().filter(|finding| finding.severity > Severity::Info);
        html.element("ul", &[("class", "causes")], |html| {
            for finding in findings.take(MAX_FINDINGS) {
                html.element("li", &[("class", severity_word(finding.severity))], |html| {
                    reason_note(html, finding.code, finding.severity);
                    html.leaf("p", &[], &finding.message);
                });
            }
        });
    }

    /// What it costs to view a Service, about.
    fn cost(&self, entry: &Entry<'_>) -> usize {
        let ports = entry.service.map_or(1, |service| 1 + service.ports.len());
        let endpoints: usize =
            self.cluster.index.state(entry).slices.iter().map(|slice| 1 + slice.endpoints.len()).sum();
        let pools = if self.scheme == SchemeChoice::Openyurt { self.cluster.objects.node_pools.len() } else { 0 };
        let pod_ports = services::pod_ports(self.cluster.index, entry);
        endpoints.saturating_mul(ports).saturating_add(pod_ports).saturating_add(1 + pools)
    }

    fn scheme(&self) -> Scheme<'_> {
        match self.scheme {
            SchemeChoice::KubeProxy => Scheme::KubeProxy,
            SchemeChoice::Superedge => {
                Scheme::SuperEdge { substitutes_api_server: false, health: None, order: KeyOrder::default() }
            }
            SchemeChoice::Openyurt => Scheme::OpenYurt {
                pools: &self.cluster.objects.node_pools,
                pool_topology: !self.cluster.objects.node_pools.is_empty(),
            },
        }
    }

    fn choice(&self, html: &mut Html, node: &str) {
        html.element("div", &[("class", "form")], |html| {
            html.element("label", &[], |html| {
                html.leaf("span", &[], "Seen from node");
                let field = [
                    ("name", "node"),
                    ("id", "node"),
                    ("data-field", "node"),
                    ("list", "nodes"),
                    ("value", node),
                    ("autocomplete", "off"),
                ];
                html.element("input", &field, |_| ());
            });
            html.element("datalist", &[("id", "nodes")], |html| {
                for node in self.cluster.objects.nodes.iter().take(MAX_CHOICES) {
                    html.element("option", &[("value", &node.name)], |_| ());
                }
            });
            html.element("label", &[], |html| {
                html.leaf("span", &[], "Before kube-proxy");
                html.element("select", &[("data-field", "scheme"), ("id", "scheme")], |html| {
                    for (choice, value, text) in [
                        (SchemeChoice::KubeProxy, "kube-proxy", "nothing"),
                        (SchemeChoice::Superedge, "superedge", "SuperEdge"),
                        (SchemeChoice::Openyurt, "openyurt", "OpenYurt"),
                    ] {
                        option(html, value, text, choice == self.scheme);
                    }
                });
            });
        });
    }

    fn write_view(&self, html: &mut Html, node: &str, view: &ServiceView<'_>, removed: &[UnseenEndpoint]) {
        html.leaf("p", &[("class", "account")], account(view, self.explanation, node));
        html.element("ul", &[("class", "causes")], |html| {
            for finding in view.findings.iter().take(MAX_FINDINGS) {
                html.element("li", &[("class", severity_word(finding.severity))], |html| {
                    reason_note(html, finding.code, finding.severity);
                    html.leaf("p", &[], &finding.message);
                });
            }
        });
        let sight = NodeSight { node, view, removed };
        picture::write(html, &picture::of(self.cluster, self.entry, self.explanation, Some(sight)));
        endpoints::write(html, view, removed, self.explanation);
    }

    /// The Services from this node, those with the fewest endpoints first; `not_viewed` others are not looked at.
    fn others(&self, html: &mut Html, viewed: &ViewedCluster<'_>, at: Viewpoint<'_>, not_viewed: usize) {
        let known: BTreeMap<(&Text, &Text), &KnownLine> =
            self.lines.iter().filter_map(|line| Some(((&line.namespace, &line.name), line.known.as_ref()?))).collect();
        let line = |view: &ServiceView<'_>| {
            let meta = &view.service.meta;
            let known = known.get(&(&meta.namespace, &meta.name));
            let (totals, ports) = known.map(|known| (known.totals, known.ports)).unwrap_or_default();
            let account = NodeAccount::of(view, totals, ports);
            (view.worst_use(), view.severity(), format!("{}/{}", meta.namespace, meta.name), account)
        };
        let interrupt = self.cluster.source.interrupt;
        let services = viewed.services.iter().take_while(|_| !interrupt.is_requested());
        let mut lines: Vec<_> = services.map(|of| viewed.view(of, at, |view, _| line(view))).collect();
        // Stable: Services stay in order of namespace and name.
        lines.sort_by_key(|(uses, severity, ..)| (Reverse(*severity), uses.is_none(), uses.map(|uses| uses.used)));
        html.leaf("h3", &[], "All Services from this node");
        html.element("table", &[], |html| {
            html.head_row(&["Service", "Used"]);
            html.element("tbody", &[], |html| {
                for (_, severity, name, account) in lines.iter().take(MAX_SERVICES) {
                    let patch = Patch::service(name).to_string();
                    html.element("tr", &[], |html| {
                        html.element("th", &[("scope", "row")], |html| {
                            html.leaf("button", &[("type", "button"), ("class", "link"), ("data-set", &patch)], name);
                        });
                        html.element("td", &[], |html| {
                            html.text(account);
                            if *severity > Severity::Info {
                                html.text(" ");
                                html.leaf("b", &[("class", severity_word(*severity))], severity_word(*severity));
                            }
                        });
                    });
                }
            });
        });
        let unlisted = lines.len().saturating_sub(MAX_SERVICES);
        if unlisted > 0 {
            html.leaf("p", &[("class", "more")], format_args!("and {}", counted(unlisted, "more Service")));
        }
        if not_viewed > 0 {
            let services = counted(not_viewed, "other Service");
            let text = format_args!("{services} not looked at, because there are too many endpoints: choose one");
            html.leaf("p", &[("class", "more")], text);
        }
    }
}

/// How a node serves a Service, in a sentence.
fn account(view: &ServiceView<'_>, explanation: &Explanation, node: &str) -> String {
    let account = NodeAccount::of(view, ServedTotals::of(explanation), explanation.summary.ports);
    let NodeAccount::Uses { .. } = account else {
        return format!("From node {node}, the Service is {account}.");
    };
    let what = match view.worst_use().map(|uses| uses.internal) {
        Some(Verdict::Dropped) => "; connections are dropped",
        Some(Verdict::Rejected) => "; connections are rejected",
        Some(Verdict::Forwarded) | None => "",
    };
    format!("Node {node} uses {account}{what}.")
}
