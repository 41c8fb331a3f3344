//! The label that says whether the Service is headless.

use super::Listed;
use crate::{
    admission::{
        Known, PatchOp, Rule,
        findings::Findings,
        kinds::Subject,
        patch::{pointer, set},
    },
    model::{ServiceType, names},
};

/// Slices that mirror the Endpoints inherit the label, and kube-proxy ignores slices that have it.
pub(super) fn check(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let service = match subject.cluster.service(subject.namespace, subject.name) {
        // Without a cluster IP it is not known yet: the Service is in a file, and was never stored.
        Known::Yes(Some(service)) if service.kind != ServiceType::ExternalName && !service.cluster_ip.is_empty() => {
            service
        }
        Known::Yes(_) => return,
        Known::No(why) => return findings.unchecked(Rule::HeadlessLabel, why),
    };
    let path = ["metadata", "labels", names::HEADLESS];
    let field = format_args!("metadata.labels[{}]", names::HEADLESS);
    let there = subject.object.metadata.labels.contains_key(names::HEADLESS);
    match (service.declared_headless(), there) {
        (true, false) => {
            let message = format_args!("is missing, and the Service is headless");
            findings.add_mended(Rule::HeadlessLabel, field, message, || set(subject.raw, &path, ""));
        }
        (false, true) => {
            let message = format_args!("is there, and the Service is not headless");
            findings.add_mended(Rule::HeadlessLabel, field, message, || vec![PatchOp::remove(pointer(&path))]);
        }
        _ => {}
    }
}
