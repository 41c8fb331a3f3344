//! The list of Services, problems first.

use std::convert::Infallible;

use roster_engine::{model::Text, phrase::counted, reason::Severity};
use roster_manifests::inventory::{Entry, Index, whole};

use crate::{
    cluster::Cluster,
    code_note::severity_word,
    html::Html,
    limits::{MAX_POD_PORTS, MAX_SERVICES},
    patch::Patch,
    service_line::{KnownLine, ServiceLine},
};

/// The lines of all Services: the worst first, else in order of namespace and name.
pub(crate) fn lines(cluster: &Cluster<'_>) -> Vec<ServiceLine> {
    let end = end_of_room(cluster.index, MAX_POD_PORTS, |entry| 1 + pod_ports(cluster.index, entry));
    let line = |entry: &Entry<'_>| {
        let is_known = end.is_none_or(|end| key(entry) < end) && !cluster.source.interrupt.is_requested();
        ServiceLine {
            namespace: entry.namespace.clone(),
            name: entry.name.clone(),
            known: is_known.then(|| KnownLine::of(cluster.explain(entry))),
        }
    };
    let mut lines = Vec::with_capacity(cluster.index.entries().len());
    let listed = whole::each(cluster.index, cluster.source.threads, line, |line| {
        lines.push(line);
        Ok::<(), Infallible>(())
    });
    match listed {
        Ok(()) => {}
    }
    // Stable: Services stay in order of namespace and name.
    lines.sort_by_key(ServiceLine::rank);
    lines
}

/// The namespace and the name, by which entries are in order.
pub(crate) fn key<'e>(entry: &Entry<'e>) -> (&'e Text, &'e Text) {
    (entry.namespace, entry.name)
}

/// How many pods may be selected, each once for every port.
pub(crate) fn pod_ports(index: &Index<'_>, entry: &Entry<'_>) -> usize {
    let ports = entry.service.map_or(1, |service| service.ports.len().max(1));
    index.state(entry).pods.len().saturating_mul(ports)
}

/// The first Service that is not looked at, because those before it and it cost more than `most`.
pub(crate) fn end_of_room<'i>(
    index: &'i Index<'_>,
    most: usize,
    cost: impl Fn(&Entry<'_>) -> usize,
) -> Option<(&'i Text, &'i Text)> {
    let mut room = most;
    let fits = |entry: &&Entry<'_>| {
        let rest = room.checked_sub(cost(entry));
        room = rest.unwrap_or_default();
        rest.is_some()
    };
    index.entries().iter().skip_while(fits).map(key).next()
}

/// Writes the list. `filter` is a part of the names that are listed. The script marks the Service that is shown, so that the list
/// stays the same when another one is chosen.
pub(crate) fn write(html: &mut Html, lines: &[ServiceLine], filter: &str) {
    let listed: Vec<&ServiceLine> = lines.iter().filter(|line| line.title().contains(filter)).collect();
    if listed.is_empty() {
        let what = if lines.is_empty() { "The input has no Service." } else { "No Service has this in its name." };
        return html.leaf("p", &[("class", "empty")], what);
    }
    html.element("ul", &[], |html| {
        for line in listed.iter().take(MAX_SERVICES) {
            html.element("li", &[], |html| write_line(html, line));
        }
    });
    if let Some(more) = listed.len().checked_sub(MAX_SERVICES).filter(|more| *more > 0) {
        html.leaf(
            "p",
            &[("class", "more")],
            format_args!("and {}: type a part of a name", counted(more, "more Service")),
        );
    }
}

fn write_line(html: &mut Html, line: &ServiceLine) {
    let title = line.title();
    let severity = line.known.as_ref().map_or(Severity::Info, KnownLine::severity);
    let class = match &line.known {
        Some(known) if severity == Severity::Info && known.is_served() => "ok",
        _ => severity_word(severity),
    };
    let patch = Patch::service(&title).to_string();
    html.element(
        "button",
        &[("type", "button"), ("class", class), ("data-service", &title), ("data-set", &patch)],
        |html| {
            html.leaf("span", &[("class", "name")], &title);
            let Some(known) = &line.known else {
                return html.leaf("span", &[("class", "served")], "too many pods to list: choose it");
            };
            html.leaf("span", &[("class", "served")], &known.served);
            match (class, known.reasons.first()) {
                ("ok", _) => html.leaf("span", &[("class", "state")], "ok"),
                (_, Some(lead)) => html.element("span", &[("class", "state")], |html| {
                    html.leaf("b", &[], severity_word(severity));
                    html.text(" ");
                    html.text(lead.code);
                }),
                (_, None) => {}
            }
        },
    );
}

/// `2 Services have errors, 1 has warnings`: the list in a sentence.
pub(crate) fn in_short(lines: &[ServiceLine]) -> String {
    let count = |severity| {
        let of = |line: &&ServiceLine| line.known.as_ref().is_some_and(|known| known.severity() == severity);
        lines.iter().filter(of).count()
    };
    let all = counted(lines.len(), "Service");
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => format!("{all}, none with problems"),
        (0, warnings) => format!("{all}, {warnings} with warnings"),
        (errors, 0) => format!("{all}, {errors} with errors"),
        (errors, warnings) => format!("{all}, {errors} with errors and {warnings} with warnings"),
    }
}
