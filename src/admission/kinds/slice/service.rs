//! A slice, its Service, and the other slices of it.

use std::collections::BTreeSet;

use super::Listed;
use crate::{
    admission::{
        Known, Place, Rule,
        findings::{About, Findings},
        kinds::Subject,
    },
    model::names,
};

/// The label that slices of a multi-cluster Service have instead (KEP-1645): kube-proxy must not use them.
const MULTICLUSTER: &str = "multicluster.kubernetes.io/service-name";

/// The label, and the Service that it names.
pub(super) fn check(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let labels = &subject.object.metadata.labels;
    let field = format_args!("metadata.labels[{}]", names::SERVICE_NAME);
    let Some(name) = service_name(subject.object) else {
        if !labels.contains_key(MULTICLUSTER) {
            let message = format_args!("is missing: nobody uses the slice");
            findings.add(Rule::SliceLabels, About::Text(""), field, message);
        }
        return;
    };
    match subject.cluster.service(subject.namespace, name) {
        Known::Yes(Some(_)) => {}
        Known::Yes(None) => {
            let message = format_args!("there is no Service {name:?} in namespace {}", subject.namespace);
            findings.add(Rule::SliceService, About::Text(name), field, message);
        }
        Known::No(why) => findings.unchecked(Rule::SliceService, why),
    }
}

fn service_name(slice: &Listed) -> Option<&str> {
    slice.metadata.labels.get(names::SERVICE_NAME).map(AsRef::as_ref).filter(|name: &&str| !name.is_empty())
}

/// Endpoints that are listed twice: in this slice, or in another one of the Service.
pub(super) fn duplicates(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let mut seen = BTreeSet::new();
    let mut blind = None;
    let ports: Vec<_> = subject.object.ports.iter().map(|p| p.name.clone()).collect();
    for listed in subject.object.addresses() {
        let (text, field) = (listed.text, listed.field);
        let (field, about) = (format_args!("{field}"), About::Text(text));
        if !seen.insert(text) {
            findings.add(Rule::DuplicateEndpoint, about, field, format_args!("{text} is listed twice"));
            continue;
        }
        let Some(service) = service_name(subject.object) else { continue };
        let (namespace, slice) = (subject.namespace, subject.name);
        match subject.cluster.other_slice(&Place { namespace, service, slice, ports: &ports, address: text }) {
            Known::Yes(Some(other)) => {
                findings.add(Rule::DuplicateEndpoint, about, field, format_args!("{text} is in slice {other} as well"));
            }
            Known::Yes(None) => {}
            Known::No(why) => blind = Some(why),
        }
    }
    if let Some(why) = blind {
        findings.unchecked(Rule::DuplicateEndpoint, why);
    }
}
