//! The table of the endpoints of a Service, as one node uses them.

use std::{cmp::Reverse, collections::BTreeSet};

use roster_engine::{
    explain::{Explanation, PodVerdict, PortName},
    model::protocol_or_tcp,
    phrase::counted,
    record::Scope,
    view::{PortView, ServiceView, UnseenEndpoint, ViewedEndpoint},
};

use crate::{html::Html, limits::MAX_ROWS, plain_words::port_text};

/// The endpoints, those that the node uses first.
pub(crate) fn write(html: &mut Html, view: &ServiceView<'_>, removed: &[UnseenEndpoint], explanation: &Explanation) {
    let mut all: Vec<(&PortView<'_>, &ViewedEndpoint<'_>)> =
        view.ports().flat_map(|(_, port)| port.endpoints.iter().map(move |endpoint| (port, endpoint))).collect();
    // Stable: endpoints stay in order of ports and addresses.
    all.sort_by_key(|(_, endpoint)| Reverse(endpoint.uses.any()));
    if all.is_empty() && removed.is_empty() {
        return;
    }
    let unpublished = unpublished(view, removed, explanation);
    html.leaf("h3", &[], "Endpoints");
    html.element(
        "div",
        &[("class", "scroll"), ("tabindex", "0"), ("role", "group"), ("aria-label", "Endpoints")],
        |html| {
            html.element("table", &[], |html| {
                html.head_row(&["Endpoint", "Port", "Node", "Used"]);
                html.element("tbody", &[], |html| {
                    for (port, endpoint) in all.iter().take(MAX_ROWS) {
                        write_endpoint(html, port, endpoint);
                    }
                    for endpoint in removed.iter().take(MAX_ROWS) {
                        write_removed(html, endpoint);
                    }
                    for (row, port) in unpublished.iter().take(MAX_ROWS) {
                        write_unpublished(html, row, *port);
                    }
                });
            });
        },
    );
    let more: usize =
        [all.len(), removed.len(), unpublished.len()].map(|rows| rows.saturating_sub(MAX_ROWS)).iter().sum();
    if more > 0 {
        html.leaf("p", &[("class", "more")], format_args!("and {}", counted(more, "more endpoint")));
    }
}

fn write_endpoint(html: &mut Html, port: &PortView<'_>, viewed: &ViewedEndpoint<'_>) {
    let endpoint = viewed.endpoint.endpoint;
    let target =
        endpoint.target_ref.as_ref().map_or_else(|| viewed.endpoint.ip.to_string(), |target| target.name.to_string());
    let name = if port.port.name.is_empty() { String::new() } else { format!("{} ", port.port.name) };
    html.element("tr", &[], |html| {
        html.leaf(
            "th",
            &[("scope", "row")],
            format_args!("{target} ({}:{})", viewed.endpoint.ip, viewed.endpoint.port),
        );
        html.leaf("td", &[], format_args!("{name}{}/{}", port.port.port, protocol_or_tcp(&port.port.protocol)));
        html.leaf("td", &[], endpoint.node_name.as_ref().map_or("", |node| node));
        html.element("td", &[], |html| {
            let is_used = viewed.uses.any();
            html.leaf("b", &[("class", if is_used { "ok" } else { "no" })], if is_used { "yes" } else { "no" });
            if let Some(reason) = viewed.reason {
                html.text(" ");
                html.leaf("code", &[], reason);
            }
        });
    });
}

fn write_removed(html: &mut Html, endpoint: &UnseenEndpoint) {
    html.element("tr", &[], |html| {
        html.leaf("th", &[("scope", "row")], &endpoint.address);
        html.leaf("td", &[], "");
        html.leaf("td", &[], endpoint.node.as_ref().map_or("", |node| node));
        html.element("td", &[], |html| {
            html.leaf("b", &[("class", "no")], "no");
            html.text(" ");
            html.leaf("code", &[], endpoint.reason);
        });
    });
}

/// The pod ports without an endpoint: those that the sums count as well.
fn unpublished<'e>(
    view: &ServiceView<'_>,
    removed: &[UnseenEndpoint],
    explanation: &'e Explanation,
) -> Vec<(&'e PodVerdict, Option<&'e PortName>)> {
    let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (_, port) in view.ports() {
        for viewed in &port.endpoints {
            known.extend(viewed.endpoint.endpoint.target_ref.as_ref().map(|of| (of.name.as_str(), &*port.port.name)));
        }
    }
    let removed: BTreeSet<&str> =
        removed.iter().filter_map(|endpoint| endpoint.target.as_deref()?.strip_prefix("Pod/")).collect();
    let rows =
        explanation.rows.iter().filter(|row| row.scope != Scope::Endpoints && !removed.contains(row.pod.as_str()));
    // A pod port of two families counts once.
    rows.flat_map(|row| row.ports.each().map(move |port| (row, port)))
        .filter(|(row, port)| known.insert((&row.pod, port.map_or("", |port| &port.name))))
        .collect()
}

fn write_unpublished(html: &mut Html, row: &PodVerdict, port: Option<&PortName>) {
    html.element("tr", &[], |html| {
        html.leaf("th", &[("scope", "row")], &row.pod);
        html.leaf("td", &[], port.map(port_text).unwrap_or_default());
        html.leaf("td", &[], "");
        html.element("td", &[], |html| {
            html.leaf("b", &[("class", "no")], "no");
            if let Some(cause) = row.reasons.first() {
                html.text(" ");
                html.leaf("code", &[], cause.code);
            }
        });
    });
}
